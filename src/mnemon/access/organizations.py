"""Organizations: the walls between tenants."""

from mnemon.access import store
from mnemon.access.audit import record_command
from mnemon.db.database import ORG_NAME_PATTERN
from mnemon.db.tx import Tx
from mnemon.errors import Invalid
from mnemon.scope import Scope


def check_organization_name(name: str) -> str:
    """The name, if an organization may be called so."""
    if ORG_NAME_PATTERN.fullmatch(name) is None:
        raise Invalid(
            f"{name!r} cannot name an organization. Use 1 to 40 of a-z, 0-9 and -, a letter or digit at both ends.",
            code="bad_organization_name",
        )
    return name


async def create_organization(tx: Tx) -> bool:
    """The transaction's organization exists; whether it is new. Only commands make one, so its log begins with that."""
    made = await store.insert_organization(tx)
    if made:
        record_command(tx, Scope(org_id=str(tx.org_id)), "orgs create")
    return made


async def list_organizations(owner_tx: Tx) -> list[store.Organization]:
    """Every organization, for the operator: needs a transaction of the owner."""
    return await store.list_organizations(owner_tx)
