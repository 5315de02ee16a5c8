"""Memories: one table of all that is held, and each memory down to the message it came from."""

from fastapi import APIRouter

from mnemon.access.grants import Grant
from mnemon.aside import read_aside
from mnemon.console.difference import all_changes
from mnemon.console.paper import many
from mnemon.console.sheet import check
from mnemon.console.shell import Shown, Went, action, page
from mnemon.console.visit import Visit
from mnemon.custody.forget_memory import forget_memory
from mnemon.db.tx import Tx
from mnemon.errors import Invalid
from mnemon.memory.browse import beside_memory, get, history, locate
from mnemon.memory.edit import Edit, bring_back, change
from mnemon.memory.lifecycle import ArchiveReason, Status
from mnemon.memory.survey.survey import Filters, survey
from mnemon.memory.trust import Trust
from mnemon.sessions.people import external_name
from mnemon.sessions.survey.survey import message as message_of
from mnemon.vectors.embed import embed_texts

router = APIRouter()
SIZE = 50
LONGEST = 20_000
DEEPEST = 200
"""Pages one may turn to: who looks for something older narrows the filters."""


@page(router, "/memories", "memories.html", grant=Grant.MEMORY_READ)
async def memories(visit: Visit) -> Shown:
    """The table, its facets, and the page asked for."""
    filters = _filters(visit)
    scope = visit.person(visit.asked("user")) if visit.asked("user") else visit.org
    number = visit.number("page", 1, most=DEEPEST)
    async with visit.tx() as tx:
        seen = await survey(tx, scope, filters, most=SIZE + 1, skip=(number - 1) * SIZE)
    total, user = seen.facets.total, visit.asked("user")
    chosen = {} if user in ("", *seen.facets.by["user"]) else {user: total}  # whoever is asked for is counted, too
    data = {
        "found": seen.found[:SIZE],
        "more": len(seen.found) > SIZE and number < DEEPEST,
        "page": number,
        "facets": {**seen.facets.by, "user": {**seen.facets.by["user"], **chosen}},
        "total": total,
        "asked": {
            name: visit.asked(name) for name in ("q", "type", "status", "source", "persona", "user", "entity", "pinned")
        },
        "now": tx.now,
    }
    return Shown(title="Memories", data=data)


@page(router, "/memories/{memory_id}", "memory.html", grant=Grant.MEMORY_READ)
async def memory(visit: Visit, memory_id: str) -> Shown:
    """One memory: what it says, since when, how it changed, and where it was said."""
    async with visit.tx() as tx:
        scope = await locate(tx, visit.org, memory_id)
        found = await get(tx, scope, memory_id)
        versions = await history(tx, scope, memory_id)
        said = [(one, await message_of(tx, scope, one.message_id)) for one in found.provenance]
        user = await external_name(tx, scope)
        beside = await beside_memory(tx, scope, found)
    told = ["", *(version.content for version in versions)]
    words = await read_aside(sum(map(len, told)), lambda: all_changes(told))
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
    return Shown(title=found.content if len(found.content) < 80 else found.content[:79] + "…", data=data)


@action(router, "/memories/{memory_id}/edit", grant=Grant.MEMORY_WRITE, field="content")
async def edit(visit: Visit, form: dict[str, str], memory_id: str) -> Went:
    """Its text or importance is changed; the text before stays as a version."""
    content, reason, importance = (form.get(name, "").strip() for name in ("content", "reason", "importance"))
    check(
        content="" if 1 <= len(content) <= LONGEST else f"A memory needs a text, of at most {LONGEST} characters.",
        importance="" if importance in {"", "0", "1", "2", "3"} else "Importance is 0, 1, 2 or 3.",
        reason="" if len(reason) <= 500 else "Say why in at most 500 characters.",
    )
    vectors = await embed_texts(visit.basement.embedder, [content])
    weight = int(importance) if importance else None
    wanted = Edit(content=content, importance=weight, reason=reason or None, source=Trust.OPERATOR)
    async with visit.tx() as tx:
        scope = await locate(tx, visit.org, memory_id)
        held = await change(tx, scope, memory_id, wanted, vectors=vectors)
        visit.note(tx, "edit memory", memory_id)
    return Went(to=f"/memories/{held.id}", notice="Changed. The text before is kept as a version.")


@action(router, "/memories/{memory_id}/pin", grant=Grant.MEMORY_WRITE)
async def pin(visit: Visit, form: dict[str, str], memory_id: str) -> Went:
    """Pinned or no longer."""
    pinned = form.get("pinned") == "yes"
    await _changed(
        visit, memory_id, Edit(pinned=pinned, source=Trust.OPERATOR), "pin memory" if pinned else "unpin memory"
    )
    return Went(to=form.get("back") or f"/memories/{memory_id}", notice="Pinned." if pinned else "No longer pinned.")


@action(router, "/memories/{memory_id}/archive", grant=Grant.MEMORY_WRITE)
async def archive(visit: Visit, form: dict[str, str], memory_id: str) -> Went:
    """Hidden from recall, kept for the record."""
    wanted = Edit(status=Status.ARCHIVED, reason=form.get("reason") or "unwanted", source=Trust.OPERATOR)
    await _changed(visit, memory_id, wanted, "archive memory")
    return Went(to=f"/memories/{memory_id}", notice="Archived.", undo=f"/memories/{memory_id}/restore")


@action(router, "/memories/{memory_id}/restore", grant=Grant.MEMORY_WRITE, undoes="")
async def restore(visit: Visit, form: dict[str, str], memory_id: str) -> Went:
    """Active again; with a version, its text is what is held."""
    word = form.get("version", "")
    version = int(word) if word.isascii() and word.isdigit() and len(word) < 10 else None
    async with visit.tx() as tx:
        scope = await locate(tx, visit.org, memory_id)
        await bring_back(tx, scope, memory_id, version=version, reason="restored in the console", source=Trust.OPERATOR)
        visit.note(tx, "restore memory", memory_id)
    return Went(to=f"/memories/{memory_id}", notice="Restored.")


@action(router, "/memories/{memory_id}/forget", grant=Grant.CUSTODY, field="confirm")
async def forget(visit: Visit, form: dict[str, str], memory_id: str) -> Went:
    """Gone everywhere, once the word was typed."""
    _confirmed(form)
    async with visit.tx() as tx:
        scope = await locate(tx, visit.org, memory_id)
        receipt = await forget_memory(tx, scope, memory_id)
        visit.note(tx, "forget memory", memory_id)
    counted = ", ".join(f"{number} {table}" for table, number in receipt.removed.items() if number)
    return Went(to="/memories", notice=f"Forgotten. Receipt {receipt.id}: {counted}.")


@action(router, "/memories/bulk", grant=Grant.MEMORY_WRITE, undoes="deed=restore&ids=")
async def bulk(visit: Visit, form: dict[str, str]) -> Went:
    """The same for every chosen memory, all or none."""
    deed = form.get("deed") or visit.asked("deed")
    chosen = [name.removeprefix("id:") for name in form if name.startswith("id:")] or visit.asked("ids").split(",")
    if deed not in _BULK or chosen == [""] or len(chosen) > SIZE:
        raise Invalid(f"Choose 1 to {SIZE} memories, and what to do with them.", code="nothing_chosen")
    if deed == "forget":
        visit.require(Grant.CUSTODY)
        _confirmed(form)
    async with visit.tx() as tx:
        for memory_id in chosen:
            await _done(visit, tx, memory_id, deed)
    undo = f"/memories/bulk?deed=restore&ids={','.join(chosen)}" if deed == "archive" else None
    notice = f"{_DONE[deed]}: {many(len(chosen), 'memory', 'memories')}."
    return Went(to=form.get("back") or "/memories", notice=notice, undo=undo)


_BULK = {
    "pin": Edit(pinned=True, source=Trust.OPERATOR),
    "unpin": Edit(pinned=False, source=Trust.OPERATOR),
    "archive": Edit(status=Status.ARCHIVED, reason="unwanted", source=Trust.OPERATOR),
    "restore": Edit(status=Status.ACTIVE, source=Trust.OPERATOR),
    "forget": None,
}
_DONE = {"pin": "Pinned", "unpin": "Unpinned", "archive": "Archived", "restore": "Restored", "forget": "Forgotten"}


def _confirmed(form: dict[str, str]) -> None:
    typed = form.get("confirm", "").strip().lower()
    check(confirm="" if typed == "forget" else "Nothing was forgotten: type the word forget to confirm.")


async def _done(visit: Visit, tx: Tx, memory_id: str, deed: str) -> None:
    scope = await locate(tx, visit.org, memory_id)
    wanted = _BULK[deed]
    if wanted is None:
        await forget_memory(tx, scope, memory_id)
    else:
        await change(tx, scope, memory_id, wanted)
    visit.note(tx, f"{deed} memory", memory_id)


async def _changed(visit: Visit, memory_id: str, wanted: Edit, deed: str) -> None:
    async with visit.tx() as tx:
        scope = await locate(tx, visit.org, memory_id)
        await change(tx, scope, memory_id, wanted)
        visit.note(tx, deed, memory_id)


def _filters(visit: Visit) -> Filters:
    status = visit.asked("status") or "ACTIVE"
    return Filters(
        type=visit.asked("type") or None,
        status=None if status == "any" else status,
        source=visit.asked("source") or None,
        persona_id=visit.asked("persona") or None,
        entity=visit.asked("entity") or None,
        pinned=True if visit.asked("pinned") else None,
        words=visit.asked("q") or None,
    )
