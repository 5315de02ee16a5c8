"""Sources: who said what is held about a person, and taking back what one of them said."""

from urllib.parse import quote, unquote

from fastapi import APIRouter

from mnemon.access.grants import Grant
from mnemon.console.forms import check_fields
from mnemon.console.page_request import PageRequest, load_person_filter
from mnemon.console.pages import ActionRedirect, PageContent, action, page
from mnemon.console.rendering import count_with_noun
from mnemon.memory.sources.overview import memories_of_source, preview_withdrawal, printable_name, source_overviews
from mnemon.memory.sources.withdrawal import withdraw_source

router = APIRouter()
CONFIRM_WORD = "withdraw"
"""What has to be typed to take a source back."""
MAX_LISTED = 100


@page(router, "/sources", "sources.html", grant=Grant.MEMORY_READ)
async def sources(visit: PageRequest) -> PageContent:
    """The sources of one person's memories and todos, by name."""
    async with visit.tx() as tx:
        chosen = await load_person_filter(visit, tx)
        found = await source_overviews(tx, visit.person_scope(chosen.user)) if chosen.user else []
    rows = [{"one": one, "shown": printable_name(one.origin), "named": _form_value(one.origin)} for one in found]
    may = visit.principal.may(Grant.CUSTODY)
    return PageContent(title="Sources", data={"whom": chosen, "found": found, "rows": rows, "may": may, "now": tx.now})


@page(router, "/sources/withdraw", "sources_withdraw.html", grant=Grant.CUSTODY)
async def ask(visit: PageRequest) -> PageContent:
    """What would be taken back, counted, before it is."""
    user, origin = visit.asked("user"), unquote(visit.asked("source"))
    if not user or not origin:
        return PageContent(title="Take a source back", data={"counted": None, "user": user})
    async with visit.tx() as tx:
        scope = visit.person_scope(user)
        counted = await preview_withdrawal(tx, scope, origin)
        said = await memories_of_source(tx, scope, origin, most=MAX_LISTED)
    names = {"user": user, "shown": printable_name(origin), "named": _form_value(origin), "word": CONFIRM_WORD}
    return PageContent(title="Take a source back", data={**names, "counted": counted, "said": said, "most": MAX_LISTED})


@action(router, "/sources/withdraw", grant=Grant.CUSTODY, field="confirm")
async def withdraw(visit: PageRequest, form: dict[str, str]) -> ActionRedirect:
    """Everything the source said about the person is taken back; what it had replaced is held again."""
    user, origin = form.get("user", ""), unquote(form.get("source", ""))
    right = form.get("confirm", "").strip().lower() == CONFIRM_WORD
    check_fields(confirm="" if right else f"Nothing was taken back: type {CONFIRM_WORD} to confirm.")
    async with visit.tx() as tx:
        done = await withdraw_source(tx, visit.person_scope(user), origin)
        visit.audit_write(tx, "withdraw source", done.id)
    gone = f"{count_with_noun(len(done.archived), 'memory', 'memories')} archived, {len(done.restored)} restored"
    versions = count_with_noun(done.versions, "past version", "past versions")
    kept = f"{versions} and {count_with_noun(done.todos, 'todo', 'todos')} taken back"
    return ActionRedirect(to=f"/sources?user={quote(user)}", notice=f"Taken back. Receipt {done.id}: {gone}, {kept}.")


def _form_value(origin: str) -> str:
    """The name as a form carries it: a browser changes line breaks in a field, and an address loses blanks."""
    return quote(origin, safe="")
