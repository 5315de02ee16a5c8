"""The package stays readable by count: names, lengths and repeated classes (docs/house.md has the last figures)."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "scripts"))

from chat_files import measure_chat  # noqa: E402
from house_figures import (  # noqa: E402
    PACKAGE,
    Function,
    HouseFigures,
    is_forwarder,
    is_participle,
    measure_package,
    takes_scope_first,
)

MOST_CHAT_FILES = 95
"""The files that one chat request runs through, as last measured (docs/house.md); fewer is better."""


@pytest.fixture(scope="module")
def found() -> HouseFigures:
    return measure_package(PACKAGE)


def test_a_public_class_name_stands_once(found: HouseFigures) -> None:
    assert found.repeated_classes == ()


def test_functions_are_named_for_what_they_do_or_give(found: HouseFigures) -> None:
    assert found.one_word_percent <= 45
    assert found.participle_percent <= 1


def test_functions_are_short(found: HouseFigures) -> None:
    assert found.length_p95 <= 25


def test_transactions_come_before_scopes(found: HouseFigures) -> None:
    assert found.scope_first == 0


async def test_a_chat_request_runs_through_no_more_files(database_url: str, tmp_path: Path) -> None:
    files = await measure_chat(database_url, tmp_path)
    assert {"api/chat.py", "chat/turn.py", "llm/remote.py", "chat/seal.py", "api/sse.py"} <= set(files)
    assert len(files) <= MOST_CHAT_FILES, files


@pytest.mark.parametrize(
    ("name", "expected"),
    [("applied", True), ("_kept", True), ("settle_work", False), ("embed", False), ("need", False), ("name", False)],
)
def test_participles_are_told_from_other_words(name: str, expected: bool) -> None:
    assert is_participle(name) is expected


def test_what_is_counted_is_recognized() -> None:
    forwarding, reordering, wrong_way = (_function(text) for text in (
        "async def f(tx, key):\n    return await g(tx, key)",
        "def f(tx, key):\n    return g(key, tx)",
        "def f(scope, tx):\n    ...",
    ))  # fmt: skip
    assert is_forwarder(forwarding)
    assert not is_forwarder(reordering)
    assert takes_scope_first(wrong_way)
    assert not takes_scope_first(forwarding)


def _function(text: str) -> Function:
    function = ast.parse(text).body[0]
    assert isinstance(function, Function)
    return function
