"""Pages of sources: who said what about a person, and the action to withdraw one source."""

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
"""The word to type to confirm a withdrawal."""
MAX_LISTED = 100


@page(router, "/sources", "sources.html", grant=Grant.MEMORY_READ)
async def sources(visit: PageRequest) -> PageContent:
    """Show the page of the sources of one person's memories and todos, by name."""
    async with visit.tx() as tx:
        chosen = await load_person_filter(visit, tx)
        found = await source_overviews(tx, visit.person_scope(chosen.user)) if chosen.user else []
    rows = [{"one": one, "shown": printable_name(one.origin), "named": _form_value(one.origin)} for one in found]
    may = visit.principal.may(Grant.CUSTODY)
    return PageContent(title="Sources", data={"whom": chosen, "found": found, "rows": rows, "may": may, "now": tx.now})


@page(router, "/sources/withdraw", "sources_withdraw.html", grant=Grant.CUSTODY)
async def ask(visit: PageRequest) -> PageContent:
    """Show the page that counts what withdrawing a source would take back, and asks for confirmation."""
    user, origin = visit.asked("user"), unquote(visit.asked("source"))
    if not user or not origin:
        return PageContent(title="Withdraw a source", data={"counted": None, "user": user})
    async with visit.tx() as tx:
        scope = visit.person_scope(user)
        counted = await preview_withdrawal(tx, scope, origin)
        said = await memories_of_source(tx, scope, origin, most=MAX_LISTED)
    names = {"user": user, "shown": printable_name(origin), "named": _form_value(origin), "word": CONFIRM_WORD}
    return PageContent(title="Withdraw a source", data={**names, "counted": counted, "said": said, "most": MAX_LISTED})


@action(router, "/sources/withdraw", grant=Grant.CUSTODY, field="confirm")
async def withdraw(visit: PageRequest, form: dict[str, str]) -> ActionRedirect:
    """Withdraw everything that the source said about the person; memories it changed get their earlier text back."""
    user, origin = form.get("user", ""), unquote(form.get("source", ""))
    right = form.get("confirm", "").strip().lower() == CONFIRM_WORD
    check_fields(confirm="" if right else f"Nothing was withdrawn: type {CONFIRM_WORD} to confirm.")
    async with visit.tx() as tx:
        done = await withdraw_source(tx, visit.person_scope(user), origin)
        visit.audit_write(tx, "withdraw source", done.id)
    gone = f"{count_with_noun(len(done.archived), 'memory', 'memories')} archived, {len(done.restored)} restored"
    versions = count_with_noun(done.versions, "past version", "past versions")
    kept = f"{versions} and {count_with_noun(done.todos, 'todo', 'todos')} withdrawn"
    return ActionRedirect(to=f"/sources?user={quote(user)}", notice=f"Withdrawn. Receipt {done.id}: {gone}, {kept}.")


def _form_value(origin: str) -> str:
    """Return a source's name quoted for a form field: browsers change line breaks, and addresses lose blanks."""
    return quote(origin, safe="")
