"""`mnemon console`: a link that signs you in."""

import typer

from mnemon.cli.terminal import JsonOption, OrgOption, out, print_json, run, settings_from_flags


def register(app: typer.Typer) -> None:
    """The command stands in the program."""
    app.command("console")(console)


def console(org: OrgOption = "local", as_json: JsonOption = False) -> None:
    """Print a link to the console that signs you in once, within 15 minutes."""
    settings = settings_from_flags()

    async def create_link() -> str:
        from mnemon.access.audit import record_command
        from mnemon.access.signin import create_link
        from mnemon.cli.services import open_services, require_organization

        async with open_services(settings) as house:
            scope = await require_organization(house, org)
            async with house.db.tx(scope.org_id) as tx:
                record_command(tx, scope, "console")
                return await create_link(tx, scope, actor="operator")

    from mnemon.cli.server_address import ServerAddress, running_server

    served = running_server(settings.data_dir) or ServerAddress(host=settings.host, port=settings.port)
    link = f"{served.url}/sign-in/{run(create_link())}"
    if as_json:
        print_json({"url": link, "org": org})
    else:
        out.print(link, soft_wrap=True)
