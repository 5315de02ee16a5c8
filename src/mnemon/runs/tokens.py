"""A run's own credential: `mnr_<org>_<secret>`, stored as a hash, valid for its agent's data until the run is over."""

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
    """The run and agent that a token authenticates."""

    scope: Scope
    agent_id: str
    run_id: str
    reviews: bool
    """Whether `get_my_decisions` is offered. It is the only tool, so otherwise there is none."""


def parse_run_token(bearer: str) -> tuple[str, str] | None:
    """Return the organization and the secret of a run's token; None when the text is no such token."""
    match = _TOKEN_PATTERN.fullmatch(bearer)
    if match is None or ORG_NAME_PATTERN.fullmatch(match["org"]) is None:
        return None
    return match["org"], match["secret"]


async def issue_token(tx: Tx, scope: Scope, *, run_id: str, agent_id: str) -> str:
    """Create a token for the run, delete its earlier ones, and return the new one, of which only a hash is kept."""
    secret = secrets.token_hex(32)
    await store.delete_tokens(tx, scope, run_id)
    await store.insert_token(tx, scope, _token_digest(secret), run_id=run_id, agent_id=agent_id)
    return f"mnr_{scope.org_id}_{secret}"


async def authenticate_run_token(tx: Tx, secret: str) -> RunIdentity:
    """Return the run and agent that this secret belongs to in the transaction's organization.

    Raises Unauthenticated when the secret is unknown or its run is over.
    """
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
    """Return the hash under which a token's secret is stored."""
    # A plain hash is enough: 256 random bits cannot be guessed, however fast the hash is.
    return hashlib.sha256(secret.encode()).digest()
