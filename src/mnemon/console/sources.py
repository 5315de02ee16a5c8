"""Sources: who said what is held about a person, and taking back what one of them said."""

from urllib.parse import quote, unquote

from fastapi import APIRouter

from mnemon.access.grants import Grant
from mnemon.console.paper import many
from mnemon.console.sheet import check
from mnemon.console.shell import Shown, Went, action, page
from mnemon.console.visit import Visit
from mnemon.console.whom import whom
from mnemon.memory.sources.names import shown_name
from mnemon.memory.sources.overview import said_by, source_overviews, what_stands
from mnemon.memory.sources.withdrawal import withdraw_source

router = APIRouter()
WORD = "withdraw"
"""What has to be typed to take a source back."""
MOST_LISTED = 100


@page(router, "/sources", "sources.html", grant=Grant.MEMORY_READ)
async def sources(visit: Visit) -> Shown:
    """The sources of one person's memories and todos, by name."""
    async with visit.tx() as tx:
        chosen = await whom(visit, tx)
        found = await source_overviews(tx, visit.person(chosen.user)) if chosen.user else []
    rows = [{"one": one, "shown": shown_name(one.origin), "named": _in_form(one.origin)} for one in found]
    may = visit.principal.may(Grant.CUSTODY)
    return Shown(title="Sources", data={"whom": chosen, "found": found, "rows": rows, "may": may, "now": tx.now})


@page(router, "/sources/withdraw", "sources_withdraw.html", grant=Grant.CUSTODY)
async def ask(visit: Visit) -> Shown:
    """What would be taken back, counted, before it is."""
    user, origin = visit.asked("user"), unquote(visit.asked("source"))
    if not user or not origin:
        return Shown(title="Take a source back", data={"counted": None, "user": user})
    async with visit.tx() as tx:
        scope = visit.person(user)
        counted = await what_stands(tx, scope, origin)
        said = await said_by(tx, scope, origin, most=MOST_LISTED)
    names = {"user": user, "shown": shown_name(origin), "named": _in_form(origin), "word": WORD}
    return Shown(title="Take a source back", data={**names, "counted": counted, "said": said, "most": MOST_LISTED})


@action(router, "/sources/withdraw", grant=Grant.CUSTODY, field="confirm")
async def withdraw(visit: Visit, form: dict[str, str]) -> Went:
    """Everything the source said about the person is taken back; what it had replaced is held again."""
    user, origin = form.get("user", ""), unquote(form.get("source", ""))
    right = form.get("confirm", "").strip().lower() == WORD
    check(confirm="" if right else f"Nothing was taken back: type {WORD} to confirm.")
    async with visit.tx() as tx:
        done = await withdraw_source(tx, visit.person(user), origin)
        visit.note(tx, "withdraw source", done.id)
    gone = f"{many(len(done.archived), 'memory', 'memories')} archived, {len(done.restored)} restored"
    kept = f"{many(done.versions, 'past version', 'past versions')} and {many(done.todos, 'todo', 'todos')} taken back"
    return Went(to=f"/sources?user={quote(user)}", notice=f"Taken back. Receipt {done.id}: {gone}, {kept}.")


def _in_form(origin: str) -> str:
    """The name as a form carries it: a browser changes line breaks in a field, and an address loses blanks."""
    return quote(origin, safe="")
