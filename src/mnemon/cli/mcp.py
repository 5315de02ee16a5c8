"""`mnemon mcp`: the tools over stdin and stdout."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from mnemon.cli.terminal import OrgOption, check_option_name, run, settings_from_flags

if TYPE_CHECKING:
    from mnemon.access.rate import RateLimit
    from mnemon.mcp.caller import McpCaller
    from mnemon.services import Services
    from mnemon.settings import Settings


def register(app: typer.Typer) -> None:
    """The command stands in the program."""
    app.command("mcp")(mcp)


def mcp(
    user: Annotated[
        str, typer.Option("--user", help="The person whose memory it is.", callback=check_option_name)
    ] = "me",
    org: OrgOption = "local",
    persona: Annotated[
        str | None, typer.Option("--persona", help="The persona they speak with.", callback=check_option_name)
    ] = None,
    session: Annotated[str | None, typer.Option("--session", help="A session, for expectations.")] = None,
    key: Annotated[
        str | None,
        typer.Option("--key", envvar="MNEMON_KEY", help="Act with a key's scopes instead of the operator's."),
    ] = None,
    server_memory: Annotated[
        bool, typer.Option("--server-memory", help="Offer the nine tools of the reference server-memory instead.")
    ] = False,
) -> None:
    """Serve the tools over MCP on stdin and stdout."""
    run(_serve_tools(settings_from_flags(), _ServeOptions(user, org, persona, session, key, server_memory)))


@dataclass(frozen=True)
class _ServeOptions:
    """Whom the tools are served to, and which."""

    user: str
    org: str
    persona: str | None
    session: str | None
    key: str | None
    server_memory: bool


async def _serve_tools(settings: "Settings", to: _ServeOptions) -> None:
    from mnemon.access.rate import RateLimit
    from mnemon.cli.services import assert_embedder, open_services, require_organization
    from mnemon.logs import configure_logs
    from mnemon.mcp.server import serve_stdio
    from mnemon.sessions.people import ensure_person
    from mnemon.sessions.record import find_named_session

    configure_logs(settings.log_level)
    async with open_services(settings, migrated=True) as services:
        await assert_embedder(services)
        rate_limit = RateLimit(settings.rate_limit_per_minute)
        if to.key is not None:
            key = to.key
            await _key_caller(services, rate_limit, to, key)  # a key that opens nothing is told at once
            await serve_stdio(services, lambda: _key_caller(services, rate_limit, to, key))
            return
        scope = await require_organization(services, to.org)
        async with services.db.tx(scope.org_id) as tx:
            scope, _ = await find_named_session(tx, await ensure_person(tx, to.org, to.user, to.persona), to.session)
        operator = _operator_caller(to, scope.persona_id)

        async def admit_operator() -> "McpCaller":
            return operator

        await serve_stdio(services, admit_operator)


async def _key_caller(services: "Services", rate_limit: "RateLimit", to: _ServeOptions, key: str) -> "McpCaller":
    """The key's holder as the key stands now."""
    from mnemon.mcp.caller import authenticate_key

    words = {"userId": to.user, "personaId": to.persona, "sessionId": to.session}
    return replace(await authenticate_key(services, rate_limit, key, **words), server_memory=to.server_memory)


def _operator_caller(to: _ServeOptions, persona_id: str | None) -> "McpCaller":
    """Whoever runs the command, who has the database itself."""
    from mnemon.access.audit import CLI_ACTOR
    from mnemon.access.grants import ALL_GRANTS
    from mnemon.mcp.caller import McpCaller

    return McpCaller(
        org_id=to.org,
        grants=ALL_GRANTS,
        actor=CLI_ACTOR,
        user_name=to.user,
        persona_id=persona_id,
        session_id=to.session,
        server_memory=to.server_memory,
    )
