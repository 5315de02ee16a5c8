"""Organizations: which names they may have, and that each is created once and on record."""

import pytest

from mnemon.access import store
from mnemon.access.grants import ALL_GRANTS, PERSONAL_GRANTS, Grant, Principal, missing_scope_error
from mnemon.access.keys import create_key, revoke_key
from mnemon.access.organizations import check_organization_name, create_organization, list_organizations
from mnemon.clock import ManualClock
from mnemon.db.database import Database
from mnemon.errors import Invalid
from mnemon.scope import Scope

ACME = Scope(org_id="acme")


@pytest.mark.parametrize("name", ["a", "acme", "acme-2", "4" * 40])
def test_a_name_of_small_letters_digits_and_hyphens_is_taken(name: str) -> None:
    assert check_organization_name(name) == name


@pytest.mark.parametrize("name", ["", "Acme", "acme_2", "-acme", "acme-", "a b", "a" * 41, "acme\n"])
def test_any_other_name_is_refused(name: str) -> None:
    with pytest.raises(Invalid) as refused:
        check_organization_name(name)
    assert refused.value.code == "bad_organization_name"


async def test_an_organization_is_created_once_and_that_is_on_record(db: Database) -> None:
    async with db.tx("acme") as tx:
        assert not await store.organization_exists(tx, ACME)
        assert await create_organization(tx)
    async with db.tx("acme") as tx:
        assert await store.organization_exists(tx, ACME)
        assert not await create_organization(tx)
    async with db.tx("acme") as tx:
        entries = await store.list_audit_entries(tx, ACME, before=None, most=9)
    assert [(one.actor, one.action, one.target) for one in entries] == [("cli", "mnemon orgs create", None)]


async def test_the_operator_sees_every_organization_with_its_live_keys(db: Database, clock: ManualClock) -> None:
    for name in ("globex", "acme"):
        async with db.tx(name) as tx:
            await create_organization(tx)
    async with db.tx("acme") as tx:
        _, gone = [(await create_key(tx, ACME, name="app"))[0] for _ in range(2)]
        await revoke_key(tx, ACME, gone.id)
    async with db.owner_tx() as tx:
        found = await list_organizations(tx)
    assert [(one.name, one.created_at, one.keys) for one in found] == [
        ("acme", clock.now(), 1),
        ("globex", clock.now(), 0),
    ]


@pytest.mark.parametrize(("bound", "grant", "hint"), [
    (None, Grant.CHAT, "makes one that has it"),
    (None, Grant.ADMIN, "makes one that has it"),
    ("ann", Grant.CHAT, "makes one for its person that has it"),
    ("ann", Grant.ADMIN, "no such key can have"),
])  # fmt: skip
def test_whoever_lacks_a_scope_is_told_which_key_to_make(bound: str | None, grant: Grant, hint: str) -> None:
    principal = Principal(org_id="acme", key_id="key_1", grants=frozenset(), bound_user=bound)
    error = missing_scope_error(principal, grant)
    assert error.code == "missing_scope"
    assert hint in error.detail
    assert f"--scopes {grant}" in error.detail


def test_a_principal_may_do_what_it_was_granted_and_nothing_else() -> None:
    principal = Principal(org_id="acme", key_id="key_1", grants=PERSONAL_GRANTS)
    assert {grant for grant in ALL_GRANTS if principal.may(grant)} == PERSONAL_GRANTS
