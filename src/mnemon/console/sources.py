"""Sources: who said what is held about a person, and taking back what one of them said."""

from urllib.parse import quote

from fastapi import APIRouter

from mnemon.access.grants import Grant
from mnemon.console.paper import many
from mnemon.console.shell import Shown, Went, action, page
from mnemon.console.visit import Visit
from mnemon.console.whom import whom
from mnemon.memory.sources.overview import source_overviews
from mnemon.memory.sources.withdrawal import withdraw_source

router = APIRouter()


@page(router, "/sources", "sources.html", grant=Grant.MEMORY_READ)
async def sources(visit: Visit) -> Shown:
    """The sources of one person's memories and todos, by name."""
    async with visit.tx() as tx:
        chosen = await whom(visit, tx)
        found = await source_overviews(tx, visit.person(chosen.user)) if chosen.user else []
    return Shown(title="Sources", data={"whom": chosen, "found": found, "now": tx.now})


@action(router, "/sources/withdraw", grant=Grant.CUSTODY, field="origin")
async def withdraw(visit: Visit, form: dict[str, str]) -> Went:
    """Everything the source said about the person is taken back; what it had replaced is held again."""
    user, origin = form.get("user", ""), form.get("origin", "")
    async with visit.tx() as tx:
        done = await withdraw_source(tx, visit.person(user), origin)
        visit.note(tx, "withdraw source", done.id)
    gone = f"{many(len(done.archived), 'memory', 'memories')} archived, {len(done.restored)} restored"
    kept = f"{many(done.versions, 'past version', 'past versions')} and {many(done.todos, 'todo', 'todos')} taken back"
    return Went(to=f"/sources?user={quote(user)}", notice=f"Taken back. Receipt {done.id}: {gone}, {kept}.")
