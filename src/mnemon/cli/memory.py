"""`mnemon remember` stores a statement about a person; `mnemon recall` searches what is stored."""

import shlex
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemon.cli.safe_text import safe_markup
from mnemon.cli.server_choice import ServerOptions, takes_server
from mnemon.cli.terminal import (
    JsonOption,
    PersonaOption,
    UserOption,
    age_text,
    out,
    parse_as_of,
    person_of,
    print_json,
    report_errors,
)
from mnemon.errors import Invalid

if TYPE_CHECKING:
    from mnemon_client import Mnemon

_BAR_WIDTH = 16


def register(app: typer.Typer) -> None:
    """Add the commands `remember` and `recall` to the Typer app."""
    app.command("remember")(takes_server(remember))
    app.command("recall")(takes_server(recall))


def remember(
    server: ServerOptions,
    content: Annotated[str, typer.Argument(help='What to remember: "Lives in Austin".')],
    user: UserOption = None,
    persona: PersonaOption = None,
    kind: Annotated[str, typer.Option("--type", "-t", help="PROFILE, PEOPLE, PROJECT or OPEN_LOOP.")] = "PROFILE",
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
    as_json: JsonOption = False,
) -> None:
    """Store a memory about a person."""
    from mnemon.cli.connect import call_server

    with report_errors():
        entity = _parse_entity(about)

    async def store_memory(client: "Mnemon") -> Any:
        """Store the memory and return the response."""
        return await client.remember(
            content,
            type=kind.upper(),  # type: ignore[arg-type]  # the server refuses what is no type
            entity=entity,
            fact_type=fact_type,
            attribute=attribute,
            pinned=pin or None,
            source="cli",
            **await person_of(client, user, persona),
        )

    stored = call_server(server, store_memory)
    if as_json:
        print_json(stored)
    else:
        _print_stored(stored)


def recall(
    server: ServerOptions,
    query: Annotated[str, typer.Argument(help='What to look for: "where does Anna live".')],
    user: UserOption = None,
    persona: PersonaOption = None,
    why: Annotated[bool, typer.Option("--why", help="Show the parts of each score.")] = False,
    messages: Annotated[bool, typer.Option("--messages", help="Search messages too.")] = False,
    ranking: Annotated[str, typer.Option("--ranking", help="hybrid, blended or similarity.")] = "hybrid",
    as_of: Annotated[
        str | None, typer.Option("--as-of", help="Search the memories of that time: 2026-04-12T15:22:00Z.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=200)] = 10,
    as_json: JsonOption = False,
) -> None:
    """Search a person's memories, best match first."""
    from mnemon.cli.connect import call_server

    with report_errors():
        at = parse_as_of(as_of)
    kinds = ["memories", *(["messages"] if messages else [])]

    async def search_memories(client: "Mnemon") -> Any:
        """Search the memories and return the response."""
        return await client.recall(
            query,
            limit=limit,
            ranking=ranking,  # type: ignore[arg-type]  # the server refuses what is no ranking
            kinds=kinds,
            as_of=at,
            explain=True,
            **await person_of(client, user, persona),
        )

    found = call_server(server, search_memories)
    if as_json:
        print_json(found)
    elif found["results"]:
        _print_found(found, why=why)
    else:
        _print_none_found({"--user": user, "--persona": persona})


def _parse_entity(about: str | None) -> Any:
    """Return what `--about` names in the API's shape; raise Invalid for a name without a type."""
    if about is None:
        return None
    kind, _, label = about.partition(":")
    if not kind.strip() or not label.strip():
        raise Invalid("--about takes a type and a name, like `person:John Doe`.")
    return {"type": kind.strip(), "label": label.strip()}


def _print_stored(stored: Any) -> None:
    """Print what `remember` stored: a memory or a todo, or why it was not stored."""
    word = {"created": "Remembered", "updated": "Updated"}.get(stored["outcome"], "Not stored:")
    out.print(f"[bold green]{word}[/] {safe_markup(stored['content'])}")
    if "why" in stored:
        out.print(f"[dim]{safe_markup(stored['why'])}[/]")
    elif "memoryKey" in stored:
        times = "once" if stored["mentions"] == 1 else f"{stored['mentions']} times"
        key, said = safe_markup(stored["memoryKey"]), safe_markup(f"said {times} · {stored['id']}")
        # Not wrapped: the id is there to be copied, and a break before it would leave a line that ends in a dot.
        out.print("[dim]" + key + " · " + said + "[/]", soft_wrap=True)
    else:
        out.print(f"[dim]todo · {safe_markup(stored['kind'])} · {safe_markup(stored['id'])}[/]", soft_wrap=True)


def _print_found(found: Any, *, why: bool) -> None:
    """Print the results of a search, best first, after the entity cards; with `why`, the parts of each score."""
    for card in found["entityCards"]:
        out.print(f"[cyan]{safe_markup(card['text'])}[/]")
    if found["entityCards"]:
        out.print()
    before = None
    for place, hit in enumerate(found["results"], start=1):
        memory = hit.get("memory")
        # A claim is marked as one only directly after what it contradicts.
        is_claim = bool(memory and before and memory["claimOf"] == before["memoryKey"])
        text, details = _describe_memory(memory, is_claim=is_claim) if memory else _describe_message(hit["message"])
        before = memory
        out.print(f"[bold]{place:>2}[/]  {hit['score']:6.3f}  {safe_markup(text)}", soft_wrap=True)
        out.print(f"            [dim]{safe_markup(details)}[/]", soft_wrap=True)
        if why:
            _print_score_parts(hit)


def _print_none_found(named: dict[str, str | None]) -> None:
    """Print that nothing was found, and the command that stores something for the person and persona named."""
    options = [word for option, name in named.items() if name is not None for word in (option, name)]
    step = " ".join(['mnemon remember "Lives in Austin"', *map(shlex.quote, options)])
    out.print(f"Nothing is remembered about that yet. Try: [bold]{safe_markup(step)}[/]", soft_wrap=True)


def _describe_memory(memory: Any, *, is_claim: bool) -> tuple[str, str]:
    """Return a memory's text, with its source if not the person, and a line of details, both to print."""
    from mnemon.memory.trust import Trust, marked_text

    level = Trust(memory["trustLevel"])
    text = marked_text(memory["content"], level, memory["origin"], is_claim=is_claim)
    about = [memory["entityLabel"]] if memory["entityLabel"] else []
    pinned = ["pinned"] if memory["pinned"] else []
    importance = f"importance {memory['importance']}"
    details = [memory["type"], *about, importance, *pinned, age_text(memory["updatedAt"]), memory["id"]]
    return text, " · ".join(details)


def _describe_message(message: Any) -> tuple[str, str]:
    """Return a message's text and who said it; a tool is called a tool, whatever name its caller gave it."""
    from mnemon.memory.trust import Trust, source_mark
    from mnemon.turn import Role, speaker_of

    if message["role"] == Role.TOOL:
        speaker = f"a tool returned it (external: {source_mark(Trust.TOOL, message['name'] or '')})"
    else:
        speaker = f"{speaker_of(Role(message['role']), message['name'])} said so"
    return message["content"], f"{speaker} · {age_text(message['at'])}"


def _print_score_parts(hit: Any) -> None:
    """Print the parts of the score, one line each, with a bar as long as the part's share."""
    shares = {name: weight * hit["why"].get(name, 0.0) for name, weight in hit["weights"].items()}
    # Bars are relative to the largest part of this hit; `or 1.0` is for a hit whose parts are all zero.
    most = max((abs(share) for share in shares.values()), default=0.0) or 1.0
    for name, share in shares.items():
        bar = "█" * round(_BAR_WIDTH * abs(share) / most)
        colour = "red" if share < 0 else "green"
        part, weight = hit["why"].get(name, 0.0), hit["weights"][name]
        out.print(
            f"            {safe_markup(name):<11}[{colour}]{bar:<{_BAR_WIDTH}}[/] "
            f"{part:7.3f} × {weight:.2f} = {share:7.3f}"
        )
