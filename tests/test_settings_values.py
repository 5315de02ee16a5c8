"""Settings that name one of a few values refuse any other before anything is started."""

from typing import get_args

import pytest

from mnemon.errors import MnemonError
from mnemon.memory.ranking import Ranking
from mnemon.settings import Settings, load_settings


def test_a_ranking_that_is_none_is_refused_with_the_setting_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNEMON_CHAT_RANKING", "foo")
    with pytest.raises(MnemonError, match="MNEMON_CHAT_RANKING"):
        load_settings()


def test_every_ranking_may_be_chosen_for_chat() -> None:
    assert set(get_args(Settings.model_fields["chat_ranking"].annotation)) == {str(one) for one in Ranking}


TIMEOUTS = ("REQUEST", "DATABASE", "MODEL", "RUN")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((f"MNEMON_{one}_TIMEOUT_S", value) for one in TIMEOUTS for value in ("inf", "1e400", "nan")),
        ("MNEMON_SESSION_BOUNDARY", "P999999999D"), ("MNEMON_RESUME_WINDOW", "99999999999999"),
    ],
)  # fmt: skip
def test_a_time_without_end_is_refused_with_the_setting_named(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(MnemonError, match=name):
        load_settings()
