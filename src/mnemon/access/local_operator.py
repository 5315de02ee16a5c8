"""The local operator: commands on the server's own machine, which prove themselves with a token of its process.

The server notes the token in its data directory, in a file that only its user can read. Whoever reads that directory
has the database itself, so the token gives nothing more. No key is stored for a command: a command that is killed
leaves nothing behind, the token ends with the process, and the audit log names the actor `cli`.
"""

import hmac
import secrets

from structlog.contextvars import bind_contextvars

from mnemon.access import store
from mnemon.access.audit import CLI_ACTOR
from mnemon.access.grants import ALL_GRANTS, Principal
from mnemon.access.keys import parse_key
from mnemon.db.database import Database
from mnemon.errors import NotFound
from mnemon.scope import Scope


def operator_key(org: str, token: str) -> str:
    """Return the bearer token with which the local operator uses this organization; it has the form of a key."""
    return f"mnk_{org}_{token}"


class LocalOperator:
    """The token of one server process."""

    def __init__(self) -> None:
        self.token = secrets.token_hex(32)

    async def authenticate(self, db: Database, bearer: str) -> Principal | None:
        """Return the operator of the organization that the bearer names; None for any other bearer.

        Raises NotFound for an organization that does not exist, Unauthenticated for a bearer of another form.
        """
        org_id, secret = parse_key(bearer)
        if not hmac.compare_digest(secret, self.token):
            return None
        bind_contextvars(org=org_id, key=CLI_ACTOR)
        scope = Scope(org_id=org_id)
        async with db.tx(org_id) as tx:
            if not await store.organization_exists(tx, scope):
                raise organization_not_found(org_id)
        return Principal(org_id=org_id, key_id=CLI_ACTOR, grants=ALL_GRANTS)


def organization_not_found(name: str) -> NotFound:
    """Return the error for an organization that does not exist, with the command that creates it."""
    return NotFound(
        "organization",
        detail=f"There is no organization {name!r}. Create it with `mnemon orgs create {name}`, "
        "or see those that exist with `mnemon orgs list`.",
    )
