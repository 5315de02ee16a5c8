"""Organizations: the tenants, whose data is kept apart."""

from mnemon.access import store
from mnemon.access.audit import record_command
from mnemon.db.database import ORG_NAME_PATTERN
from mnemon.db.tx import Tx
from mnemon.errors import Invalid
from mnemon.scope import Scope


def check_organization_name(name: str) -> str:
    """Return the name if an organization may have it; raise Invalid otherwise."""
    if ORG_NAME_PATTERN.fullmatch(name) is None:
        raise Invalid(
            f"{name!r} cannot name an organization. Use 1 to 40 of a-z, 0-9 and -, a letter or digit at both ends.",
            code="bad_organization_name",
        )
    return name


async def create_organization(tx: Tx) -> bool:
    """Create the transaction's organization unless it exists; return whether it is new.

    Only commands create organizations, so each audit log begins with that command.
    """
    made = await store.insert_organization(tx)
    if made:
        record_command(tx, Scope(org_id=str(tx.org_id)), "orgs create")
    return made


async def list_organizations(owner_tx: Tx) -> list[store.Organization]:
    """Return every organization, for the operator: needs a transaction of the owner."""
    return await store.list_organizations(owner_tx)
