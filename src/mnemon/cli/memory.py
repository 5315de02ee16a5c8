"""`mnemon remember` and `mnemon recall`."""

from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemon.cli.safe_text import safe_markup
from mnemon.cli.terminal import AsJson, Org, Persona, User, chosen, out, print_json, run

if TYPE_CHECKING:
    from mnemon.memory.memory import Memory
    from mnemon.memory.recall.query import Heard, Hit, Recalled
    from mnemon.memory.state import Stated
    from mnemon.memory.todos.todo import Todo
    from mnemon.scope import Scope

_BAR = 16


class Type(StrEnum):
    PROFILE = "PROFILE"
    PEOPLE = "PEOPLE"
    PROJECT = "PROJECT"
    OPEN_LOOP = "OPEN_LOOP"


class How(StrEnum):
    HYBRID = "hybrid"
    BLENDED = "blended"
    SIMILARITY = "similarity"


def register(app: typer.Typer) -> None:
    """Adds the two commands."""
    app.command("remember")(remember)
    app.command("recall")(recall)


def remember(
    content: Annotated[str, typer.Argument(help='What to remember: "Lives in Austin".')],
    user: User = "me",
    persona: Persona = None,
    kind: Annotated[Type, typer.Option("--type", "-t", case_sensitive=False)] = Type.PROFILE,
    about: Annotated[str | None, typer.Option("--about", help="Who or what: `person:John Doe`, `org:Acme`.")] = None,
    fact_type: Annotated[
        str, typer.Option("--fact-type", help="fact, preference, relationship, friction, habit.")
    ] = "fact",
    attribute: Annotated[str | None, typer.Option(help="What it is a value of; a new value replaces the old.")] = None,
    pin: Annotated[bool, typer.Option("--pin", help="Always keep it in mind.")] = False,
    org: Org = "local",
    as_json: AsJson = False,
) -> None:
    """Remember something about a person."""
    from mnemon.access.audit import record_command
    from mnemon.cli.house import opened_house
    from mnemon.memory.state import state, vectors_for
    from mnemon.scope import person

    async def work() -> "Stated":
        scope = person(org, user, persona)
        statement = _statement(content, user, scope, kind, about, fact_type, attribute, pin)
        async with opened_house(chosen(), migrated=True) as house:
            await _there(house, org)
            vectors = await vectors_for(house.embedder, [statement])
            async with house.db.tx(org) as tx:
                made = (await state(tx, [statement], vectors=vectors))[0]
                record_command(tx, scope, "remember", made.thing.id, scope.user_id)
                return made

    made = run(work())
    if as_json:
        print_json({"outcome": made.outcome, **_plain(made.thing, user)})
    else:
        _say(made)


def recall(
    query: Annotated[str, typer.Argument(help='What to look for: "where does Anna live".')],
    user: User = "me",
    persona: Persona = None,
    why: Annotated[bool, typer.Option("--why", help="Show what each score is made of.")] = False,
    messages: Annotated[bool, typer.Option("--messages", help="Search what was said as well.")] = False,
    ranking: Annotated[How, typer.Option("--ranking")] = How.HYBRID,
    as_of: Annotated[str | None, typer.Option("--as-of", help="What was held then: 2026-04-12T15:22:00Z.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=200)] = 10,
    org: Org = "local",
    as_json: AsJson = False,
) -> None:
    """Recall what is known, best first."""
    from mnemon.cli.house import opened_house
    from mnemon.memory.ranking import Ranking
    from mnemon.memory.recall.query import Query, RecallKind
    from mnemon.memory.recall.search import search
    from mnemon.scope import person
    from mnemon.vectors.embed import embed_query

    async def work() -> "tuple[Recalled, datetime]":
        then = _time(as_of)
        async with opened_house(chosen(), migrated=True) as house:
            await _there(house, org)
            kinds = {RecallKind.MEMORIES} | ({RecallKind.MESSAGES} if messages else set())
            wanted = Query(
                text=query,
                vector=await embed_query(house.embedder, query),
                model=house.embedder.model,
                ranking=Ranking(ranking),
                kinds=frozenset(kinds),
                limit=limit,
                as_of=then,
            )
            async with house.db.tx(org) as tx:
                return await search(tx, person(org, user, persona), wanted), tx.now

    found, now = run(work())
    if as_json:
        print_json(_found(found, user))
    else:
        _show(found, now, why=why)


def _statement(
    content: str,
    user: str,
    scope: "Scope",
    kind: Type,
    about: str | None,
    fact_type: str,
    attribute: str | None,
    pin: bool,
) -> Any:
    from mnemon.errors import Invalid
    from mnemon.memory.fact import Entity, EntityType, Fact, FactType, MemoryType
    from mnemon.memory.state import Statement
    from mnemon.memory.todos.store import Draft
    from mnemon.memory.todos.todo import kind_of

    if not content.strip() or fact_type not in set(FactType):
        raise Invalid(f"Say something, and take a fact type out of: {', '.join(FactType)}.")
    if kind is Type.OPEN_LOOP:
        says: Fact | Draft = Draft(kind=kind_of(content, FactType(fact_type)), content=content, source="cli")
        return Statement(external=user, scope=scope, says=says)
    entity = None
    if about is not None:
        named, _, label = about.partition(":")
        if named not in set(EntityType) or not label.strip():
            raise Invalid(f"--about takes a type and a name, like `person:John Doe`; types: {', '.join(EntityType)}.")
        entity = Entity(type=EntityType(named), label=label.strip())
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
    return Statement(external=user, scope=scope, says=says)


async def _there(house: Any, org: str) -> None:
    """The organization exists, `local` being made on first use, and stored vectors are of this embedder."""
    from mnemon.access.organizations import create_organization
    from mnemon.cli.house import organization
    from mnemon.cli.operator import assert_embedder

    await assert_embedder(house)
    if org == "local":
        async with house.db.tx(org) as tx:
            await create_organization(tx)
    await organization(house, org)


def _time(text: str | None) -> datetime | None:
    from mnemon.clock import parse_time
    from mnemon.errors import Invalid

    try:
        return None if text is None else parse_time(text)
    except ValueError:
        raise Invalid("--as-of takes an ISO time, like 2026-04-12 or 2026-04-12T15:22:00Z.") from None


def _plain(thing: "Memory | Todo | Heard", user: str) -> dict[str, Any]:
    """The thing as JSON, as the API gives it."""
    from mnemon.api.memory_shapes import MemoryOut, TodoOut
    from mnemon.api.recall import message_hit
    from mnemon.memory.memory import Memory
    from mnemon.memory.todos.todo import Todo

    shape: MemoryOut | TodoOut | Any
    if isinstance(thing, Memory):
        shape = MemoryOut.of(thing, user)
    else:
        shape = TodoOut.of(thing, user) if isinstance(thing, Todo) else message_hit(thing)
    plain: dict[str, Any] = shape.model_dump(mode="json", by_alias=True)
    return plain


def _found(found: "Recalled", user: str) -> dict[str, Any]:
    from mnemon.memory.memory import Memory

    def hit(one: "Hit") -> dict[str, Any]:
        noun = "memory" if isinstance(one.found, Memory) else "message"
        return {noun: _plain(one.found, user), "score": one.score, "why": dict(one.parts), "weights": dict(one.weights)}

    cards = [{"key": c.key, "label": c.label, "facts": list(c.facts), "text": c.text} for c in found.cards]
    return {"results": [hit(one) for one in found.hits], "entityCards": cards}


def _say(made: "Stated") -> None:
    from mnemon.memory.memory import Memory

    word = {"created": "Remembered", "updated": "Updated"}[made.outcome]
    out.print(f"[bold green]{word}[/] {safe_markup(made.thing.content)}")
    if isinstance(made.thing, Memory):
        times = "once" if made.thing.mentions == 1 else f"{made.thing.mentions} times"
        out.print(f"[dim]{safe_markup(made.thing.memory_key)} · said {times} · {made.thing.id}[/]")
    else:
        out.print(f"[dim]todo · {made.thing.kind} · {made.thing.id}[/]")


def _show(found: "Recalled", now: datetime, *, why: bool) -> None:
    if not found.hits:
        out.print('Nothing is remembered about that yet. Try: [bold]mnemon remember "Lives in Austin"[/]')
        return
    for card in found.cards:
        out.print(f"[cyan]{safe_markup(card.text)}[/]")
    if found.cards:
        out.print()
    for place, hit in enumerate(found.hits, start=1):
        out.print(f"[bold]{place:>2}[/]  {hit.score:6.3f}  {safe_markup(_words(hit))}", soft_wrap=True)
        out.print(f"            [dim]{safe_markup(_context(hit, now))}[/]", soft_wrap=True)
        if why:
            _explain(hit)


def _words(hit: "Hit") -> str:
    """What was found; what is not the person's own has the mark that a prompt gives it."""
    from mnemon.memory.memory import Memory

    return hit.found.line if isinstance(hit.found, Memory) else hit.found.content


def _who_said(heard: "Heard") -> str:
    """The speaker; a tool is called one, whatever name its caller gave it."""
    from mnemon.memory.trust import Trust, source_mark
    from mnemon.turn import Role, speaker_of

    if heard.role is Role.TOOL:
        return f"a tool returned it (external: {source_mark(Trust.TOOL, heard.name or '')})"
    return f"{speaker_of(heard.role, heard.name)} said so"


def _context(hit: "Hit", now: datetime) -> str:
    from mnemon.memory.memory import Memory

    one = hit.found
    if not isinstance(one, Memory):
        return f"{_who_said(one)} · {_ago(one.at, now)}"
    about = f" · {one.entity_label}" if one.entity_label else ""
    pinned = " · pinned" if one.pinned else ""
    return f"{one.type}{about} · importance {one.importance}{pinned} · {_ago(one.updated_at, now)} · {one.id}"


def _explain(hit: "Hit") -> None:
    """The parts of the score, one line each, as long as it weighs."""
    most = max((abs(hit.weights[name] * part) for name, part in hit.parts.items()), default=0.0) or 1.0
    for name, part in hit.parts.items():
        share = hit.weights[name] * part
        bar = "█" * round(_BAR * abs(share) / most)
        colour = "red" if share < 0 else "green"
        out.print(
            f"            {name:<11}[{colour}]{bar:<{_BAR}}[/] {part:7.3f} × {hit.weights[name]:.2f} = {share:7.3f}"
        )


def _ago(at: datetime, now: datetime) -> str:
    seconds = max(0, int((now - at).total_seconds()))
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= size:
            return f"{seconds // size}{unit} ago"
    return "just now"
