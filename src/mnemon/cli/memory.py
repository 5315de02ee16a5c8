"""`mnemon remember` stores a statement about a person; `mnemon recall` searches what is stored."""

from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemon.cli.safe_text import safe_markup
from mnemon.cli.terminal import (
    JsonOption,
    OrgOption,
    PersonaOption,
    UserOption,
    out,
    print_json,
    run,
    settings_from_flags,
)

if TYPE_CHECKING:
    from mnemon.memory.memory import StoredMemory
    from mnemon.memory.recall.query import FoundMessage, RecallHit, RecallResult
    from mnemon.memory.statements import StatementResult
    from mnemon.memory.todos.todo import Todo
    from mnemon.scope import Scope

_BAR_WIDTH = 16


class MemoryTypeChoice(StrEnum):
    """Values of `--type`; listed here so that `--help` need not import the memory room."""

    PROFILE = "PROFILE"
    PEOPLE = "PEOPLE"
    PROJECT = "PROJECT"
    OPEN_LOOP = "OPEN_LOOP"


class RankingChoice(StrEnum):
    """Values of `--ranking`."""

    HYBRID = "hybrid"
    BLENDED = "blended"
    SIMILARITY = "similarity"


def register(app: typer.Typer) -> None:
    """Add both commands to the program."""
    app.command("remember")(remember)
    app.command("recall")(recall)


def remember(
    content: Annotated[str, typer.Argument(help='What to remember: "Lives in Austin".')],
    user: UserOption = "me",
    persona: PersonaOption = None,
    kind: Annotated[MemoryTypeChoice, typer.Option("--type", "-t", case_sensitive=False)] = MemoryTypeChoice.PROFILE,
    about: Annotated[
        str | None, typer.Option("--about", help="Who or what it is about: `person:John Doe`, `org:Acme`.")
    ] = None,
    fact_type: Annotated[
        str, typer.Option("--fact-type", help="fact, preference, relationship, friction, habit.")
    ] = "fact",
    attribute: Annotated[
        str | None,
        typer.Option(help="The attribute it is a value of, such as `home city`. A new value replaces the old."),
    ] = None,
    pin: Annotated[bool, typer.Option("--pin", help="Pin it: every context includes it (20 at most).")] = False,
    org: OrgOption = "local",
    as_json: JsonOption = False,
) -> None:
    """Store a memory about a person."""
    from mnemon.access.audit import record_command
    from mnemon.cli.services import open_services
    from mnemon.memory.statements import embed_statements, store_statements
    from mnemon.scope import person_scope

    async def store_statement() -> "StatementResult":
        scope = person_scope(org, user, persona)
        statement = _build_statement(content, user, scope, kind, about, fact_type, attribute, pin)
        async with open_services(settings_from_flags(), migrated=True) as services:
            await _ensure_organization(services, org)
            # Embed before the transaction, so that a slow embedder holds no connection and no lock.
            vectors = await embed_statements(services.embedder, [statement])
            async with services.db.tx(org) as tx:
                made = (await store_statements(tx, [statement], vectors=vectors))[0]
                record_command(tx, scope, "remember", made.thing.id, scope.user_id)
                return made

    made = run(store_statement())
    if as_json:
        print_json({"outcome": made.outcome, **_item_json(made.thing, user)})
    else:
        _print_outcome(made)


def recall(
    query: Annotated[str, typer.Argument(help='What to look for: "where does Anna live".')],
    user: UserOption = "me",
    persona: PersonaOption = None,
    why: Annotated[bool, typer.Option("--why", help="Show the parts of each score.")] = False,
    messages: Annotated[bool, typer.Option("--messages", help="Search messages too.")] = False,
    ranking: Annotated[RankingChoice, typer.Option("--ranking")] = RankingChoice.HYBRID,
    as_of: Annotated[
        str | None, typer.Option("--as-of", help="Search the memories of that time: 2026-04-12T15:22:00Z.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=200)] = 10,
    org: OrgOption = "local",
    as_json: JsonOption = False,
) -> None:
    """Search a person's memories, best match first."""
    from mnemon.cli.services import open_services
    from mnemon.memory.ranking import Ranking
    from mnemon.memory.recall.query import RecallKind, RecallQuery
    from mnemon.memory.recall.search import search
    from mnemon.scope import person_scope
    from mnemon.vectors.text_vectors import embed_query

    async def search_memories() -> "tuple[RecallResult, datetime]":
        at = _parse_as_of(as_of)
        async with open_services(settings_from_flags(), migrated=True) as services:
            await _ensure_organization(services, org)
            kinds = {RecallKind.MEMORIES} | ({RecallKind.MESSAGES} if messages else set())
            wanted = RecallQuery(
                text=query,
                vector=await embed_query(services.embedder, query),
                model=services.embedder.model,
                ranking=Ranking(ranking),
                kinds=frozenset(kinds),
                limit=limit,
                as_of=at,
            )
            async with services.db.tx(org) as tx:
                return await search(tx, person_scope(org, user, persona), wanted), tx.now

    found, now = run(search_memories())
    if as_json:
        print_json(_recall_json(found, user))
    else:
        _print_hits(found, now, why=why)


def _build_statement(
    content: str,
    user: str,
    scope: "Scope",
    kind: MemoryTypeChoice,
    about: str | None,
    fact_type: str,
    attribute: str | None,
    pin: bool,
) -> Any:
    from mnemon.errors import Invalid
    from mnemon.memory.fact import EntityType, Fact, FactEntity, FactType, MemoryType
    from mnemon.memory.statements import MemoryStatement
    from mnemon.memory.todos.store import NewTodo
    from mnemon.memory.todos.todo import infer_todo_kind

    if not content.strip() or fact_type not in set(FactType):
        raise Invalid(f"Give a text that is not empty, and as --fact-type one of: {', '.join(FactType)}.")
    if kind is MemoryTypeChoice.OPEN_LOOP:
        says: Fact | NewTodo = NewTodo(
            kind=infer_todo_kind(content, FactType(fact_type)), content=content, source="cli"
        )
        return MemoryStatement(external=user, scope=scope, says=says)
    entity = None
    if about is not None:
        named, _, label = about.partition(":")
        if named not in set(EntityType) or not label.strip():
            raise Invalid(f"--about takes a type and a name, like `person:John Doe`; types: {', '.join(EntityType)}.")
        entity = FactEntity(type=EntityType(named), label=label.strip())
    says = Fact(
        type=MemoryType(kind),
        content=content,
        entity=entity,
        fact_type=FactType(fact_type),
        attribute=attribute,
        pinned=pin or None,
        source="cli",
        private=scope.persona_id is not None,
    )
    return MemoryStatement(external=user, scope=scope, says=says)


async def _ensure_organization(services: Any, org: str) -> None:
    """Check that stored vectors are of this embedder and that the organization exists; create `local` on first use."""
    from mnemon.access.organizations import create_organization
    from mnemon.cli.services import assert_embedder, require_organization

    await assert_embedder(services)
    if org == "local":
        async with services.db.tx(org) as tx:
            await create_organization(tx)
    await require_organization(services, org)


def _parse_as_of(text: str | None) -> datetime | None:
    from mnemon.clock import parse_time
    from mnemon.errors import Invalid

    try:
        return None if text is None else parse_time(text)
    except ValueError:
        raise Invalid("--as-of takes an ISO time, like 2026-04-12 or 2026-04-12T15:22:00Z.") from None


def _item_json(thing: "StoredMemory | Todo | FoundMessage", user: str) -> dict[str, Any]:
    """Return the memory, todo or message in the API's JSON."""
    from mnemon.api.memory_shapes import MemoryOut, TodoOut
    from mnemon.api.recall import message_hit
    from mnemon.memory.memory import StoredMemory
    from mnemon.memory.todos.todo import Todo

    shape: MemoryOut | TodoOut | Any
    if isinstance(thing, StoredMemory):
        shape = MemoryOut.from_memory(thing, user)
    else:
        shape = TodoOut.from_todo(thing, user) if isinstance(thing, Todo) else message_hit(thing)
    plain: dict[str, Any] = shape.model_dump(mode="json", by_alias=True)
    return plain


def _recall_json(found: "RecallResult", user: str) -> dict[str, Any]:
    from mnemon.memory.memory import StoredMemory

    def hit_json(one: "RecallHit") -> dict[str, Any]:
        noun = "memory" if isinstance(one.found, StoredMemory) else "message"
        return {
            noun: _item_json(one.found, user),
            "score": one.score,
            "why": dict(one.parts),
            "weights": dict(one.weights),
        }

    cards = [{"key": c.key, "label": c.label, "facts": list(c.facts), "text": c.text} for c in found.cards]
    return {"results": [hit_json(one) for one in found.hits], "entityCards": cards}


def _print_outcome(made: "StatementResult") -> None:
    from mnemon.memory.memory import StoredMemory

    word = {"created": "Remembered", "updated": "Updated"}[made.outcome]
    out.print(f"[bold green]{word}[/] {safe_markup(made.thing.content)}")
    if isinstance(made.thing, StoredMemory):
        times = "once" if made.thing.mentions == 1 else f"{made.thing.mentions} times"
        out.print(f"[dim]{safe_markup(made.thing.memory_key)} · said {times} · {made.thing.id}[/]")
    else:
        out.print(f"[dim]todo · {made.thing.kind} · {made.thing.id}[/]")


def _print_hits(found: "RecallResult", now: datetime, *, why: bool) -> None:
    if not found.hits:
        out.print('Nothing is remembered about that yet. Try: [bold]mnemon remember "Lives in Austin"[/]')
        return
    for card in found.cards:
        out.print(f"[cyan]{safe_markup(card.text)}[/]")
    if found.cards:
        out.print()
    for place, hit in enumerate(found.hits, start=1):
        out.print(f"[bold]{place:>2}[/]  {hit.score:6.3f}  {safe_markup(_hit_text(hit))}", soft_wrap=True)
        out.print(f"            [dim]{safe_markup(_hit_details(hit, now))}[/]", soft_wrap=True)
        if why:
            _print_score_parts(hit)


def _hit_text(hit: "RecallHit") -> str:
    """Return the text that was found; a claim by another source has the mark that prompts give it."""
    from mnemon.memory.memory import StoredMemory

    return hit.found.line if isinstance(hit.found, StoredMemory) else hit.found.content


def _speaker_text(heard: "FoundMessage") -> str:
    """Return who said the message; a tool is called a tool, whatever name its caller gave it."""
    from mnemon.memory.trust import Trust, source_mark
    from mnemon.turn import Role, speaker_of

    if heard.role is Role.TOOL:
        return f"a tool returned it (external: {source_mark(Trust.TOOL, heard.name or '')})"
    return f"{speaker_of(heard.role, heard.name)} said so"


def _hit_details(hit: "RecallHit", now: datetime) -> str:
    from mnemon.memory.memory import StoredMemory

    one = hit.found
    if not isinstance(one, StoredMemory):
        return f"{_speaker_text(one)} · {_format_age(one.at, now)}"
    about = f" · {one.entity_label}" if one.entity_label else ""
    pinned = " · pinned" if one.pinned else ""
    return f"{one.type}{about} · importance {one.importance}{pinned} · {_format_age(one.updated_at, now)} · {one.id}"


def _print_score_parts(hit: "RecallHit") -> None:
    """Print the parts of the score, one line each, with a bar as long as the part's share."""
    # Bars are relative to the largest part of this hit; `or 1.0` is for a hit whose parts are all zero.
    most = max((abs(hit.weights[name] * part) for name, part in hit.parts.items()), default=0.0) or 1.0
    for name, part in hit.parts.items():
        share = hit.weights[name] * part
        bar = "█" * round(_BAR_WIDTH * abs(share) / most)
        colour = "red" if share < 0 else "green"
        out.print(
            f"            {name:<11}[{colour}]{bar:<{_BAR_WIDTH}}[/] "
            f"{part:7.3f} × {hit.weights[name]:.2f} = {share:7.3f}"
        )


def _format_age(at: datetime, now: datetime) -> str:
    seconds = max(0, int((now - at).total_seconds()))
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= size:
            return f"{seconds // size}{unit} ago"
    return "just now"
