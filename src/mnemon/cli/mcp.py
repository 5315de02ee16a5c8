"""`mnemon mcp`: the tools over stdin and stdout."""

from dataclasses import replace
from typing import Annotated

import typer

from mnemon.cli.terminal import Org, check_option_name, chosen, run


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
    settings = chosen()

    async def work() -> None:
        from mnemon.access.audit import CLI
        from mnemon.access.grants import ALL_GRANTS
        from mnemon.access.rate import RateLimit
        from mnemon.cli.house import opened_house, organization
        from mnemon.cli.operator import assert_embedder
        from mnemon.logs import configure_logs
        from mnemon.mcp.caller import Visitor, with_key
        from mnemon.mcp.stdio import serve_stdio
        from mnemon.sessions.people import ensure_person
        from mnemon.sessions.record import named_session

        configure_logs(settings.log_level)
        async with opened_house(settings, migrated=True) as basement:
            await assert_embedder(basement)
            rate_limit = RateLimit(settings.rate_limit_per_minute)

            async def admit() -> Visitor:
                """The key's holder as the key stands now, or the operator."""
                if key is not None:
                    words = {"userId": user, "personaId": persona, "sessionId": session}
                    visitor = await with_key(basement, rate_limit, key, **words)
                    return replace(visitor, server_memory=server_memory)
                return Visitor(
                    org_id=org,
                    grants=ALL_GRANTS,
                    actor=CLI,
                    user_name=user,
                    persona_id=scope.persona_id,
                    session_id=session,
                    server_memory=server_memory,
                )

            if key is None:
                scope = await organization(basement, org)
                async with basement.db.tx(scope.org_id) as tx:
                    scope, _ = await named_session(tx, await ensure_person(tx, org, user, persona), session)
            else:
                await admit()  # a key that opens nothing is told at once
            await serve_stdio(basement, admit)

    run(work())
