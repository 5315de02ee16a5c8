"""Programs that change their session never go through a pooler in transaction mode."""

import pytest

from mnemon.cli.services import session_url
from mnemon.errors import Misconfigured
from mnemon.settings import Settings

POOLED, DIRECT = "postgresql://u@pooler/d", "postgresql://u@server/d"


def test_a_backup_is_made_past_the_pooler_or_not_at_all() -> None:
    assert session_url(Settings(), POOLED) == POOLED
    assert session_url(Settings(migration_url=DIRECT, prepared_statements=False), POOLED) == DIRECT
    with pytest.raises(Misconfigured, match="MNEMON_MIGRATION_URL"):
        session_url(Settings(prepared_statements=False), POOLED)
