"""`mnemon console`: a link that signs you in."""

import typer

from mnemon.cli.terminal import AsJson, Org, chosen, out, print_json, run


def register(app: typer.Typer) -> None:
    """The command stands in the program."""
    app.command("console")(console)


def console(org: Org = "local", as_json: AsJson = False) -> None:
    """Print a link to the console that signs you in once, within 15 minutes."""
    settings = chosen()

    async def work() -> str:
        from mnemon.access.audit import record_command
        from mnemon.access.signin import make_link
        from mnemon.cli.house import opened_house, organization

        async with opened_house(settings) as house:
            scope = await organization(house, org)
            async with house.db.tx(scope.org_id) as tx:
                record_command(tx, scope, "console")
                return await make_link(tx, scope, actor="operator")

    from mnemon.cli.serving import Address, running_server

    served = running_server(settings.data_dir) or Address(host=settings.host, port=settings.port)
    link = f"{served.url}/sign-in/{run(work())}"
    if as_json:
        print_json({"url": link, "org": org})
    else:
        out.print(link, soft_wrap=True)
