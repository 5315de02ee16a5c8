"""A run's own credential: `mnr_<org>_<secret>`, kept as a hash, good for this agent's data only, gone with the run."""

import hashlib
import re
import secrets
from dataclasses import dataclass

from structlog.contextvars import bind_contextvars

from mnemon.db.database import ORG_NAME_PATTERN
from mnemon.db.tx import Tx
from mnemon.errors import Unauthenticated
from mnemon.runs import agent_store, store
from mnemon.scope import Scope

_TOKEN_PATTERN = re.compile(r"mnr_(?P<org>[a-z0-9-]{1,40})_(?P<secret>[0-9a-f]{64})")


@dataclass(frozen=True, kw_only=True)
class RunIdentity:
    """Whom a run's token speaks for."""

    scope: Scope
    agent_id: str
    run_id: str
    reviews: bool
    """Whether `get_my_decisions` is offered; otherwise nothing is."""


def parse_run_token(bearer: str) -> tuple[str, str] | None:
    """The organization and the secret that a run's token carries; None when the text is no such token."""
    match = _TOKEN_PATTERN.fullmatch(bearer)
    if match is None or ORG_NAME_PATTERN.fullmatch(match["org"]) is None:
        return None
    return match["org"], match["secret"]


async def issue_token(tx: Tx, scope: Scope, *, run_id: str, agent_id: str) -> str:
    """A fresh token of the run; any earlier one is gone."""
    secret = secrets.token_hex(32)
    await store.delete_tokens(tx, scope, run_id)
    await store.insert_token(tx, scope, _token_digest(secret), run_id=run_id, agent_id=agent_id)
    return f"mnr_{scope.org_id}_{secret}"


async def authenticate_run_token(tx: Tx, secret: str) -> RunIdentity:
    """Whom the secret speaks for, in the transaction's organization. Raises Unauthenticated once its run is over."""
    scope = Scope(org_id=tx.org_id or "")
    holder = await store.find_token_holder(tx, scope, _token_digest(secret))
    if holder is None:
        raise Unauthenticated("The run's token is not known, or its run is over. A token lives as long as its run.")
    run_id, agent_id = holder
    bind_contextvars(org=scope.org_id, run=run_id)
    agent = await agent_store.find_agent(tx, scope, agent_id)
    reviews = agent is not None and agent.config.review_decisions
    return RunIdentity(scope=scope, agent_id=agent_id, run_id=run_id, reviews=reviews)


def _token_digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
