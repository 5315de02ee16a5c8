"""Pages and actions of memories: a filtered table, and each memory with its versions and its source messages."""

from fastapi import APIRouter

from mnemon.access.grants import Grant
from mnemon.console.forms import check_fields
from mnemon.console.page_request import PageRequest
from mnemon.console.pages import ActionRedirect, PageContent, action, page
from mnemon.console.rendering import count_with_noun
from mnemon.console.text_diff import version_diffs
from mnemon.custody.forget_memory import forget_memory
from mnemon.db.tx import Tx
from mnemon.errors import Invalid
from mnemon.event_loop import run_off_loop
from mnemon.memory.browse import contradictions_of, get_memory, list_versions, scope_of_memory
from mnemon.memory.edit import MemoryEdit, edit_memory, restore_memory
from mnemon.memory.lifecycle import ArchiveReason, ArchiveStatus
from mnemon.memory.survey import SurveyFilters, survey_memories
from mnemon.memory.trust import Trust
from mnemon.memory.upkeep.curator_report import load_curator_reports
from mnemon.sessions.overview import find_message as message_of
from mnemon.sessions.people import external_name
from mnemon.vectors.text_vectors import embed_texts

router = APIRouter()
PAGE_SIZE = 50
MAX_CONTENT_CHARS = 20_000
MAX_PAGE = 200
"""The last page that can be turned to; narrow the filters to find what is older."""


@page(router, "/memories", "memories.html", grant=Grant.MEMORY_READ)
async def memories(visit: PageRequest) -> PageContent:
    """Show a page of the filtered table of memories, with the number of memories per filter value."""
    filters = _read_filters(visit)
    scope = visit.person_scope(visit.asked("user")) if visit.asked("user") else visit.org_scope
    number = visit.query_number("page", 1, most=MAX_PAGE)
    async with visit.tx() as tx:
        seen = await survey_memories(tx, scope, filters, most=PAGE_SIZE + 1, skip=(number - 1) * PAGE_SIZE)
        curated = await load_curator_reports(tx, scope, most=1) if visit.asked("user") else []
    total, user = seen.facets.total, visit.asked("user")
    # Facets list only the most frequent people, so the chosen one may be missing.
    chosen = {} if user in ("", *seen.facets.by["user"]) else {user: total}
    data = {
        "found": seen.found[:PAGE_SIZE],
        "more": len(seen.found) > PAGE_SIZE and number < MAX_PAGE,
        "page": number,
        "facets": {**seen.facets.by, "user": {**seen.facets.by["user"], **chosen}},
        "total": total,
        "curated": curated,
        "asked": {
            name: visit.asked(name) for name in ("q", "type", "status", "source", "persona", "user", "entity", "pinned")
        },
        "now": tx.now,
    }
    return PageContent(title="Memories", data=data)


@page(router, "/memories/{memory_id}", "memory.html", grant=Grant.MEMORY_READ)
async def memory(visit: PageRequest, memory_id: str) -> PageContent:
    """Show the page of one memory: its text, validity, versions, source messages, and contradicting claims."""
    async with visit.tx() as tx:
        scope = await scope_of_memory(tx, visit.org_scope, memory_id)
        found = await get_memory(tx, scope, memory_id)
        versions = await list_versions(tx, scope, memory_id)
        said = [(one, await message_of(tx, scope, one.message_id)) for one in found.provenance]
        user = await external_name(tx, scope)
        beside = await contradictions_of(tx, scope, found)
    told = ["", *(version.content for version in versions)]
    # Long texts are compared in a thread: the event loop serves everyone.
    words = await run_off_loop(sum(map(len, told)), lambda: version_diffs(told))
    steps = [{"version": later, "words": changed} for later, changed in zip(versions, words, strict=True)]
    data = {
        "memory": found,
        "steps": steps[::-1],
        "said": said,
        "contradicted": beside.contradicted,
        "claims": beside.claims,
        "user": user,
        "now": tx.now,
        "reasons": list(ArchiveReason),
    }
    return PageContent(title=found.content if len(found.content) < 80 else found.content[:79] + "…", data=data)


@action(router, "/memories/{memory_id}/edit", grant=Grant.MEMORY_WRITE, field="content")
async def edit(visit: PageRequest, form: dict[str, str], memory_id: str) -> ActionRedirect:
    """Store the form's text or importance in the memory; the earlier text is kept as a version."""
    content, reason, importance = (form.get(name, "").strip() for name in ("content", "reason", "importance"))
    check_fields(
        content=""
        if 1 <= len(content) <= MAX_CONTENT_CHARS
        else f"A memory needs a text, of at most {MAX_CONTENT_CHARS} characters.",
        importance="" if importance in {"", "0", "1", "2", "3"} else "Importance is 0, 1, 2 or 3.",
        reason="" if len(reason) <= 500 else "Say why in at most 500 characters.",
    )
    # Before the transaction, so that a slow embedder holds no connection and no lock.
    vectors = await embed_texts(visit.services.embedder, [content])
    weight = int(importance) if importance else None
    wanted = MemoryEdit(content=content, importance=weight, reason=reason or None, source=Trust.OPERATOR)
    async with visit.tx() as tx:
        scope = await scope_of_memory(tx, visit.org_scope, memory_id)
        held = await edit_memory(tx, scope, memory_id, wanted, vectors=vectors)
        visit.audit_write(tx, "edit memory", memory_id)
    return ActionRedirect(to=f"/memories/{held.id}", notice="Saved. The earlier text is kept as a version.")


@action(router, "/memories/{memory_id}/pin", grant=Grant.MEMORY_WRITE)
async def pin(visit: PageRequest, form: dict[str, str], memory_id: str) -> ActionRedirect:
    """Pin or unpin the memory, as the form says."""
    pinned = form.get("pinned") == "yes"
    await _change_memory(
        visit, memory_id, MemoryEdit(pinned=pinned, source=Trust.OPERATOR), "pin memory" if pinned else "unpin memory"
    )
    return ActionRedirect(to=form.get("back") or f"/memories/{memory_id}", notice="Pinned." if pinned else "Unpinned.")


@action(router, "/memories/{memory_id}/archive", grant=Grant.MEMORY_WRITE)
async def archive(visit: PageRequest, form: dict[str, str], memory_id: str) -> ActionRedirect:
    """Archive the memory: recall no longer finds it, and it can be restored."""
    wanted = MemoryEdit(status=ArchiveStatus.ARCHIVED, reason=form.get("reason") or "unwanted", source=Trust.OPERATOR)
    await _change_memory(visit, memory_id, wanted, "archive memory")
    return ActionRedirect(to=f"/memories/{memory_id}", notice="Archived.", undo=f"/memories/{memory_id}/restore")


@action(router, "/memories/{memory_id}/restore", grant=Grant.MEMORY_WRITE, undoes="")
async def restore(visit: PageRequest, form: dict[str, str], memory_id: str) -> ActionRedirect:
    """Make the memory active again; with a version, restore that version's text."""
    word = form.get("version", "")
    version = int(word) if word.isascii() and word.isdigit() and len(word) < 10 else None
    async with visit.tx() as tx:
        scope = await scope_of_memory(tx, visit.org_scope, memory_id)
        await restore_memory(
            tx, scope, memory_id, version=version, reason="restored in the console", source=Trust.OPERATOR
        )
        visit.audit_write(tx, "restore memory", memory_id)
    return ActionRedirect(to=f"/memories/{memory_id}", notice="Restored.")


@action(router, "/memories/{memory_id}/forget", grant=Grant.CUSTODY, field="confirm")
async def forget(visit: PageRequest, form: dict[str, str], memory_id: str) -> ActionRedirect:
    """Forget the memory everywhere, if the confirmation word was typed."""
    _check_confirmation(form)
    async with visit.tx() as tx:
        scope = await scope_of_memory(tx, visit.org_scope, memory_id)
        receipt = await forget_memory(tx, scope, memory_id)
        visit.audit_write(tx, "forget memory", memory_id)
    counted = ", ".join(f"{number} {table}" for table, number in receipt.removed.items() if number)
    return ActionRedirect(to="/memories", notice=f"Forgotten. Receipt {receipt.id}: {counted}.")


@action(router, "/memories/bulk", grant=Grant.MEMORY_WRITE, undoes="deed=restore&ids=")
async def bulk(visit: PageRequest, form: dict[str, str]) -> ActionRedirect:
    """Pin, unpin, archive, restore or forget all chosen memories, or none if one of them fails."""
    deed = form.get("deed") or visit.asked("deed")
    chosen = [name.removeprefix("id:") for name in form if name.startswith("id:")] or visit.asked("ids").split(",")
    if deed not in _BULK_EDITS or chosen == [""] or len(chosen) > PAGE_SIZE:
        raise Invalid(f"Choose 1 to {PAGE_SIZE} memories and an action.", code="nothing_chosen")
    if deed == "forget":
        # The route needs memory:write only; forgetting needs more.
        visit.require_grant(Grant.CUSTODY)
        _check_confirmation(form)
    async with visit.tx() as tx:
        for memory_id in chosen:
            await _apply_bulk_edit(visit, tx, memory_id, deed)
    undo = f"/memories/bulk?deed=restore&ids={','.join(chosen)}" if deed == "archive" else None
    notice = f"{_BULK_NOTICES[deed]}: {count_with_noun(len(chosen), 'memory', 'memories')}."
    return ActionRedirect(to=form.get("back") or "/memories", notice=notice, undo=undo)


_BULK_EDITS = {
    "pin": MemoryEdit(pinned=True, source=Trust.OPERATOR),
    "unpin": MemoryEdit(pinned=False, source=Trust.OPERATOR),
    "archive": MemoryEdit(status=ArchiveStatus.ARCHIVED, reason="unwanted", source=Trust.OPERATOR),
    "restore": MemoryEdit(status=ArchiveStatus.ACTIVE, source=Trust.OPERATOR),
    "forget": None,
}
_BULK_NOTICES = {
    "pin": "Pinned",
    "unpin": "Unpinned",
    "archive": "Archived",
    "restore": "Restored",
    "forget": "Forgotten",
}


def _check_confirmation(form: dict[str, str]) -> None:
    """Raise Invalid unless the word `forget` was typed into the form."""
    typed = form.get("confirm", "").strip().lower()
    check_fields(confirm="" if typed == "forget" else "Nothing was forgotten: type the word forget to confirm.")


async def _apply_bulk_edit(visit: PageRequest, tx: Tx, memory_id: str, deed: str) -> None:
    """Apply one bulk action (pin, archive, forget …) to one memory and record it in the audit log."""
    scope = await scope_of_memory(tx, visit.org_scope, memory_id)
    wanted = _BULK_EDITS[deed]
    if wanted is None:
        await forget_memory(tx, scope, memory_id)
    else:
        await edit_memory(tx, scope, memory_id, wanted)
    visit.audit_write(tx, f"{deed} memory", memory_id)


async def _change_memory(visit: PageRequest, memory_id: str, wanted: MemoryEdit, deed: str) -> None:
    """Store the edit of one memory in a transaction of its own and record it in the audit log."""
    async with visit.tx() as tx:
        scope = await scope_of_memory(tx, visit.org_scope, memory_id)
        await edit_memory(tx, scope, memory_id, wanted)
        visit.audit_write(tx, deed, memory_id)


def _read_filters(visit: PageRequest) -> SurveyFilters:
    """Return the filters of the memory table from the page's query parameters; active ones by default."""
    status = visit.asked("status") or "ACTIVE"
    return SurveyFilters(
        type=visit.asked("type") or None,
        status=None if status == "any" else status,
        source=visit.asked("source") or None,
        persona_id=visit.asked("persona") or None,
        entity=visit.asked("entity") or None,
        pinned=True if visit.asked("pinned") else None,
        words=visit.asked("q") or None,
    )
