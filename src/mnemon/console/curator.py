"""The page of the curator's runs for one person, and the action that undoes a fold."""

from fastapi import APIRouter

from mnemon.access.grants import Grant
from mnemon.console.page_request import PageRequest, load_person_filter
from mnemon.console.pages import ActionRedirect, PageContent, action, page
from mnemon.console.rendering import count_with_noun
from mnemon.memory.browse import scope_of_memory
from mnemon.memory.upkeep.curator_job import unfold_memory
from mnemon.memory.upkeep.curator_report import load_curator_reports

router = APIRouter()
MAX_SHOWN = 50


@page(router, "/curator", "curator.html", grant=Grant.MEMORY_READ)
async def curator(visit: PageRequest) -> PageContent:
    """Show the page of the curator's runs: what each folded, archived and rejected, and why."""
    async with visit.tx() as tx:
        chosen = await load_person_filter(visit, tx)
        scope = visit.person_scope(chosen.user) if chosen.user else None
        found = await load_curator_reports(tx, scope, most=MAX_SHOWN) if scope else []
    may = visit.principal.may(Grant.MEMORY_WRITE)
    after = visit.services.settings.curator_after
    data = {"whom": chosen, "found": found, "may": may, "after": after, "now": tx.now}
    return PageContent(title="Curator", data=data)


@action(router, "/memories/{memory_id}/unfold", grant=Grant.MEMORY_WRITE)
async def unfold(visit: PageRequest, form: dict[str, str], memory_id: str) -> ActionRedirect:
    """Undo a fold: make its fragments active again and archive the fold."""
    async with visit.tx() as tx:
        scope = await scope_of_memory(tx, visit.org_scope, memory_id)
        undone = await unfold_memory(tx, scope, memory_id)
        visit.audit_write(tx, "unfold memory", memory_id)
    notice = f"Unfolded: {count_with_noun(len(undone.restored), 'memory is', 'memories are')} active again."
    return ActionRedirect(to=f"/memories/{memory_id}", notice=notice)
