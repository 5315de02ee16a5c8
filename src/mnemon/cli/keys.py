"""`mnemon keys …`: create, list and revoke keys."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from mnemon.cli.safe_text import safe_markup
from mnemon.cli.terminal import JsonOption, OrgOption, out, print_json, run, settings_from_flags

if TYPE_CHECKING:
    from mnemon.access.grants import Key

keys = typer.Typer(no_args_is_help=True, help="Create, list and revoke API keys.")


@keys.command("create")
def create(
    name: Annotated[str, typer.Option("--name", help="A name that says where you use the key.")],
    org: OrgOption = "local",
    scopes: Annotated[
        str | None,
        typer.Option(
            "--scopes",
            help="Comma-separated. Default: all; with --user: chat, memory:read, memory:write, custody.",
        ),
    ] = None,
    user: Annotated[str | None, typer.Option("--user", help="Restrict the key to one person.")] = None,
    expires_in_days: Annotated[
        int | None,
        typer.Option("--expires-in-days", min=1, max=36500, help="Days until the key expires. Default: never."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Create a key and print it. You cannot see it again."""
    from mnemon.access.audit import record_command
    from mnemon.access.grants import parse_grants
    from mnemon.access.keys import create_key
    from mnemon.cli.services import open_services, require_organization

    async def make_key() -> tuple[str, str]:
        """Create the key; return its id and its text."""
        grants = None if scopes is None else parse_grants(scopes.split(","))
        async with open_services(settings_from_flags(), migrated=True) as services:
            scope = await require_organization(services, org)
            async with services.db.tx(scope.org_id) as tx:
                expires = tx.now + timedelta(days=expires_in_days) if expires_in_days else None
                key, text = await create_key(tx, scope, name=name, grants=grants, bound_user=user, expires_at=expires)
                record_command(tx, scope, "keys create", key.id)
            return key.id, text

    key_id, text = run(make_key())
    if as_json:
        print_json({"id": key_id, "key": text, "org": org})
    else:
        # Only the key, so that a script can capture stdout.
        out.print(text)


@keys.command("list")
def list_keys(org: OrgOption = "local", as_json: JsonOption = False) -> None:
    """List the keys of an organization, without their secrets."""
    from mnemon.access import store
    from mnemon.cli.services import open_services, require_organization
    from mnemon.clock import format_time

    async def load_keys() -> "tuple[list[Key], datetime]":
        """Return the organization's keys, and the current time."""
        async with open_services(settings_from_flags()) as services:
            scope = await require_organization(services, org)
            async with services.db.tx(scope.org_id) as tx:
                return await store.list_keys(tx, scope), tx.now

    found, now = run(load_keys())
    if as_json:
        shown = [
            {
                "id": key.id,
                "name": key.name,
                "scopes": sorted(key.grants),
                "userId": key.bound_user,
                "createdAt": format_time(key.created_at),
                "expiresAt": format_time(key.expires_at) if key.expires_at else None,
                "revokedAt": format_time(key.revoked_at) if key.revoked_at else None,
                "usedAt": format_time(key.used_at) if key.used_at else None,
            }
            for key in found
        ]
        print_json(shown)
        return
    for key in found:
        out.print(f"{key.id}  {safe_markup(key.name):<24} {safe_markup(_key_state(key, now))}", soft_wrap=True)
        out.print(f"[dim]    may {safe_markup(_key_grants(key))}[/]", soft_wrap=True)


def _key_state(key: "Key", now: datetime) -> str:
    """Return when the key was revoked, or last used and when it expires, and the person it is restricted to."""
    used = f"last used {key.used_at:%Y-%m-%d}" if key.used_at else "not used yet"
    expired = key.expires_at is not None and key.expires_at <= now
    ends = f"{'expired' if expired else 'expires'} {key.expires_at:%Y-%m-%d}" if key.expires_at else "never expires"
    bound = "" if key.bound_user is None else f", only for {key.bound_user}"
    return f"{f'revoked {key.revoked_at:%Y-%m-%d}' if key.revoked_at else f'{used}, {ends}'}{bound}"


def _key_grants(key: "Key") -> str:
    """Return the scopes that the key has in effect, in the words of `--scopes`."""
    from mnemon.access.grants import ALL_GRANTS, effective_grants

    held = effective_grants(key.grants, bound=key.bound_user is not None)
    return "everything" if held == ALL_GRANTS else ", ".join(sorted(held)) or "nothing"


@keys.command("revoke")
def revoke(key_id: str, org: OrgOption = "local", as_json: JsonOption = False) -> None:
    """Revoke a key."""
    from mnemon.access.audit import record_command
    from mnemon.access.keys import revoke_key
    from mnemon.cli.services import open_services, require_organization

    async def revoke_and_record() -> None:
        """Revoke the key and record that in the audit log."""
        async with open_services(settings_from_flags()) as services:
            scope = await require_organization(services, org)
            async with services.db.tx(scope.org_id) as tx:
                await revoke_key(tx, scope, key_id)
                record_command(tx, scope, "keys revoke", key_id)

    run(revoke_and_record())
    if as_json:
        print_json({"id": key_id, "revoked": True})
    else:
        out.print(f"{safe_markup(key_id)} is revoked.")
