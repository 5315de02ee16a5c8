"""`mnemon console`: print a link that signs the operator in to the console."""

import typer

from mnemon.cli.terminal import JsonOption, OrgOption, out, print_json, run, settings_from_flags


def register(app: typer.Typer) -> None:
    """Add the command `console` to the Typer app."""
    app.command("console")(console)


def console(org: OrgOption = "local", as_json: JsonOption = False) -> None:
    """Print a link that signs you in to the console. It works once, within 15 minutes."""
    settings = settings_from_flags()

    async def create_link() -> str:
        """Create a sign-in link for the organization's console and return its token."""
        from mnemon.access.audit import record_command
        from mnemon.access.signin import create_link
        from mnemon.cli.services import open_services, require_organization

        async with open_services(settings) as services:
            scope = await require_organization(services, org)
            async with services.db.tx(scope.org_id) as tx:
                record_command(tx, scope, "console")
                return await create_link(tx, scope, actor="operator")

    from mnemon.cli.server_address import ServerAddress, running_server

    # The server may have been started with another --port; it notes its address in the data directory.
    served = running_server(settings.data_dir) or ServerAddress(host=settings.host, port=settings.port)
    link = f"{served.url}/sign-in/{run(create_link())}"
    if as_json:
        print_json({"url": link, "org": org})
    else:
        out.print(link, soft_wrap=True)
