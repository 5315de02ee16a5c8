"""`mnemon mcp`: serve the tools over MCP on stdin and stdout."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from mnemon.cli.terminal import DEFAULT_USER, OrgOption, check_option_name, run, settings_from_flags

if TYPE_CHECKING:
    from mnemon.access.rate import RateLimit
    from mnemon.mcp.caller import McpCaller
    from mnemon.services import Services
    from mnemon.settings import Settings


def register(app: typer.Typer) -> None:
    """Add the command `mcp` to the Typer app."""
    app.command("mcp")(mcp)


def mcp(
    user: Annotated[
        str | None,
        typer.Option(
            "--user",
            help=f"The person whose memory the tools use. Default: the key's, else `{DEFAULT_USER}`.",
            callback=check_option_name,
        ),
    ] = None,
    org: OrgOption = "local",
    persona: Annotated[
        str | None, typer.Option("--persona", help="The persona the person talks to.", callback=check_option_name)
    ] = None,
    session: Annotated[str | None, typer.Option("--session", help="The session that expectations belong to.")] = None,
    key: Annotated[
        str | None,
        typer.Option("--key", envvar="MNEMON_KEY", help="Act with the scopes of this key instead of all scopes."),
    ] = None,
    server_memory: Annotated[
        bool, typer.Option("--server-memory", help="Serve the nine tools of MCP's reference server-memory instead.")
    ] = False,
) -> None:
    """Serve the tools over MCP on stdin and stdout."""
    run(_serve_tools(settings_from_flags(), _ServeOptions(user, org, persona, session, key, server_memory)))


@dataclass(frozen=True)
class _ServeOptions:
    """The command's options: who calls, and which tools are served."""

    user: str | None
    org: str
    persona: str | None
    session: str | None
    key: str | None
    server_memory: bool


async def _serve_tools(settings: "Settings", to: _ServeOptions) -> None:
    """Serve the MCP tools on stdin and stdout until the client closes them, as the key's caller or the operator."""
    from mnemon.access.rate import RateLimit
    from mnemon.cli.services import assert_embedder, open_services, require_organization
    from mnemon.logs import configure_logs
    from mnemon.mcp.stdio import serve_stdio
    from mnemon.sessions.people import ensure_person
    from mnemon.sessions.record import find_named_session

    configure_logs(settings.log_level)
    async with open_services(settings, migrated=True) as services:
        await assert_embedder(services)
        rate_limit = RateLimit(settings.rate_limit_per_minute)
        if to.key is not None:
            key = to.key
            await _key_caller(services, rate_limit, to, key)  # an invalid key fails here, not at the first tool call
            await serve_stdio(services, lambda: _key_caller(services, rate_limit, to, key))
            return
        scope = await require_organization(services, to.org)
        async with services.db.tx(scope.org_id) as tx:
            scope, _ = await find_named_session(
                tx, await ensure_person(tx, to.org, to.user or DEFAULT_USER, to.persona), to.session
            )
        operator = _operator_caller(to, scope.persona_id)

        async def admit_operator() -> "McpCaller":
            """Return the caller for the local operator, who has all grants."""
            return operator

        await serve_stdio(services, admit_operator)


async def _key_caller(services: "Services", rate_limit: "RateLimit", to: _ServeOptions, key: str) -> "McpCaller":
    """Authenticate the API key and return the caller, whose scopes and person every tool call is limited to.

    Called for each request, so that a revoked key stops working while the process runs.
    """
    from mnemon.mcp.caller import authenticate_key

    names = {"userId": to.user, "personaId": to.persona, "sessionId": to.session}
    caller = await authenticate_key(services, rate_limit, key, default_user=DEFAULT_USER, **names)
    return replace(caller, server_memory=to.server_memory)


def _operator_caller(to: _ServeOptions, persona_id: str | None) -> "McpCaller":
    """Return a caller with all grants, for a command that is run without a key."""
    from mnemon.access.audit import CLI_ACTOR
    from mnemon.access.grants import ALL_GRANTS
    from mnemon.mcp.caller import McpCaller

    return McpCaller(
        org_id=to.org,
        grants=ALL_GRANTS,
        actor=CLI_ACTOR,
        user_name=to.user or DEFAULT_USER,
        persona_id=persona_id,
        session_id=to.session,
        server_memory=to.server_memory,
    )
