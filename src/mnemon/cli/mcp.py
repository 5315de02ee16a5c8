"""`mnemon mcp`: the tools over stdin and stdout."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from mnemon.cli.terminal import Org, check_option_name, chosen, run

if TYPE_CHECKING:
    from mnemon.access.rate import RateLimit
    from mnemon.basement import Basement
    from mnemon.mcp.caller import Visitor
    from mnemon.settings import Settings


def register(app: typer.Typer) -> None:
    """The command stands in the program."""
    app.command("mcp")(mcp)


def mcp(
    user: Annotated[
        str, typer.Option("--user", help="The person whose memory it is.", callback=check_option_name)
    ] = "me",
    org: Org = "local",
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
    run(_serve(chosen(), _Served(user, org, persona, session, key, server_memory)))


@dataclass(frozen=True)
class _Served:
    """Whom the tools are served to, and which."""

    user: str
    org: str
    persona: str | None
    session: str | None
    key: str | None
    server_memory: bool


async def _serve(settings: "Settings", to: _Served) -> None:
    from mnemon.access.rate import RateLimit
    from mnemon.cli.house import opened_house, organization
    from mnemon.cli.operator import assert_embedder
    from mnemon.logs import configure_logs
    from mnemon.mcp.stdio import serve_stdio
    from mnemon.sessions.people import ensure_person
    from mnemon.sessions.record import named_session

    configure_logs(settings.log_level)
    async with opened_house(settings, migrated=True) as basement:
        await assert_embedder(basement)
        rate_limit = RateLimit(settings.rate_limit_per_minute)
        if to.key is not None:
            key = to.key
            await _with_key(basement, rate_limit, to, key)  # a key that opens nothing is told at once
            await serve_stdio(basement, lambda: _with_key(basement, rate_limit, to, key))
            return
        scope = await organization(basement, to.org)
        async with basement.db.tx(scope.org_id) as tx:
            scope, _ = await named_session(tx, await ensure_person(tx, to.org, to.user, to.persona), to.session)
        operator = _operator(to, scope.persona_id)

        async def admit() -> "Visitor":
            return operator

        await serve_stdio(basement, admit)


async def _with_key(basement: "Basement", rate_limit: "RateLimit", to: _Served, key: str) -> "Visitor":
    """The key's holder as the key stands now."""
    from mnemon.mcp.caller import with_key

    words = {"userId": to.user, "personaId": to.persona, "sessionId": to.session}
    return replace(await with_key(basement, rate_limit, key, **words), server_memory=to.server_memory)


def _operator(to: _Served, persona_id: str | None) -> "Visitor":
    """Whoever runs the command, who has the database itself."""
    from mnemon.access.audit import CLI
    from mnemon.access.grants import ALL_GRANTS
    from mnemon.mcp.caller import Visitor

    return Visitor(
        org_id=to.org,
        grants=ALL_GRANTS,
        actor=CLI,
        user_name=to.user,
        persona_id=persona_id,
        session_id=to.session,
        server_memory=to.server_memory,
    )
