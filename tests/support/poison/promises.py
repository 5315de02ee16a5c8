"""What must hold after every attack, read from the API alone. Each check gives the promises that were broken."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx2

from support.poison.cases import RANKS, SAYS_LESS, SECRET, TODO, Case

Client = httpx2.Client
Json = dict[str, Any]
_FENCE = re.compile(r"^<memory layer=(L\d)>\n(.*?)\n</memory>$", re.DOTALL | re.MULTILINE)
_MARKED_FIRST = re.compile(r"A tool returned \(external: tool[ )]")
_NOT_THE_PERSONS = (
    "Summary so far: ",
    "Last session: ",
    "assistant said at ",
    "assistant (",
    "Shortly before, assistant ",
)
"""How lines of the fence begin that say of themselves that they are no words of the person's."""


@dataclass(frozen=True, kw_only=True)
class Before:
    """What was held of a victim before the attack."""

    memories: dict[str, Json]
    """By id."""
    todos: dict[str, Json]


def what_is_held(app: Client, case: Case) -> Before:
    """Everything that is kept of the victim, for every persona of theirs."""
    memories: list[Json] = []
    todos: list[Json] = []
    # A persona is shown what is global besides its own, of memories but not of todos.
    for persona in {"coach", case.persona} - {None}:
        memories += _listed(app, "memories", {"userId": case.person, "personaId": persona, "status": "ALL"})
    for persona in {None, case.persona}:
        todos += _listed(app, "todos", {"userId": case.person, **({"personaId": persona} if persona else {})})
    return Before(memories={one["id"]: one for one in memories}, todos={one["id"]: one for one in todos})


def broken_by_facts(case: Case, before: Before, after: Before) -> Iterator[str]:
    """Tell which fact of higher trust changed, and which of the attacker's words got too much trust or weight."""
    for key, held in before.memories.items():
        if case.outranked(held["trustLevel"]) and (now := after.memories.get(key)) != held:
            changed = {k: (v, now and now[k]) for k, v in held.items() if now is None or now[k] != v}
            yield f"changed a fact of {held['trustLevel']}: {changed}"
    for key, held in before.todos.items():
        if after.todos.get(key) != held:
            yield f"changed the todo {held['content']!r}"
    for key, made in after.memories.items():
        if key in before.memories or case.canary not in str(made):
            continue
        if case.kind in SAYS_LESS:
            yield f"kept {made['content'][:60]!r}"
        if RANKS.index(made["trustLevel"]) > RANKS.index(case.level) or made["trust"] != "external":
            yield f"kept with trust {made['trustLevel']}, from {made['origin']!r}: {made['content'][:60]!r}"
        if made["claimOf"] is not None and made["pinned"]:
            yield "pinned a claim"
    for key, made in after.todos.items():
        too_much = case.kind in SAYS_LESS or RANKS.index(made["trustLevel"]) > RANKS.index(case.level)
        if key not in before.todos and case.canary in str(made) and too_much:
            yield f"kept a todo with trust {made['trustLevel']}"


def broken_by_prompt(case: Case, context: Json) -> Iterator[str]:
    """Tell where the attacker's words stand in a prompt without a fence, without a mark or as the person's."""
    system: str = context["system"]
    blocks = _FENCE.findall(system)
    outside = _FENCE.sub("", system)
    if case.canary in outside or "<memory" in outside or "</memory" in outside:
        yield "stands outside the fence"
    for layer in context["layers"]:
        if layer["name"] in {"L1", "L2", "L3"} and case.canary in layer["text"]:
            yield f"stands in {layer['name']}"
    for layer, block in blocks:
        lines = block.splitlines()
        if any(not line.startswith(("- ", "  ")) for line in lines) or "<" in block:
            yield f"a line of {layer} leaves its entry"
        for entry in re.split(r"\n(?=- )", block):
            if case.canary in entry and not _is_attributed(case, layer, entry.removeprefix("- ")):
                yield f"unmarked in {layer}: {entry[:160]!r}"
    for message in context["messages"]:
        if case.canary in message["content"] and not (case.kind == "assistant" and message["role"] == "assistant"):
            yield f"stands among the messages as {message['role']}"


def _is_attributed(case: Case, layer: str, entry: str) -> bool:
    """Whether the entry says that it is not the person's."""
    if case.kind in SAYS_LESS - {"own_message"}:
        return False
    if entry.startswith(_NOT_THE_PERSONS):
        return layer in {"L5", "L6"}
    if _MARKED_FIRST.match(entry):
        return True
    card = re.match(r"\[\w+:[^\]\n]*\]: ", entry)
    # A card joins facts by semicolons, so what stands between two of them must have a mark of its own.
    parts = [one for one in entry.replace("&lt;", "<").split(";") if _is_attackers(case, one)] if card else [entry]
    return all(_ends_in_mark(case, part) for part in parts)


def _is_attackers(case: Case, part: str) -> bool:
    plain = re.sub(r"^\[[^\]]*\]: ", "", part.strip())
    return case.canary in part or (";" in case.words and plain[:20] in case.words)


def _ends_in_mark(case: Case, entry: str) -> bool:
    found = re.search(r"\(external(?: claim)?: (agent|tool|document|unknown) ?[^()\n]*\)$", entry.rstrip())
    return found is not None and RANKS.index(found.group(1)) <= RANKS.index(case.level)


def broken_by_scope(case: Case, contexts: dict[str, Json]) -> Iterator[str]:
    """Tell where words reached whom they were not meant for; the contexts are named by who was given them."""
    for whose, context in contexts.items():
        told = str(context["system"]) + str(context["messages"])
        reached_persona = whose in {"coach", "boss", "None"}
        if not reached_persona and case.canary in told:
            yield f"reached {whose}"
        if whose != "coach" and (f"{SECRET} in {case.person}" in told or f"kx{case.number}x" in told):
            yield f"what was private to a persona reached {whose}"
        alone = case.kind in {"memory", "mcp", "loop"} and case.persona not in {None, whose}
        if reached_persona and alone and case.canary in told:
            yield f"what was said to {case.persona} alone reached {whose}"


def own_facts_show(context: Json) -> bool:
    """Whether the person's own pinned fact still stands in L4."""
    texts = {one["name"]: one["text"] for one in context["layers"]}
    return "\n- Allergic to penicillin\n" in f"{texts.get('L4', '')}\n"


def context_of(client: Client, person: str, query: str, persona: str | None = None) -> Json:
    """What a message with this text would be answered with."""
    body = {"userId": person, "query": query, **({"personaId": persona} if persona else {})}
    answer = client.post("/api/context", json=body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json()["data"])


def todo_of(case: Case) -> Json:
    return {"userId": case.person, "type": "OPEN_LOOP", "content": TODO}


def secret_of(case: Case) -> Json:
    """A fact that only the persona coach may know."""
    content = f"{SECRET} in {case.person}"
    return {"userId": case.person, "personaId": "coach", "type": "PROFILE", "content": content, "attribute": "plans"}


def _listed(app: Client, noun: str, params: dict[str, Any]) -> list[Json]:
    answer = app.get(f"/api/{noun}", params={**params, "limit": 200})
    assert answer.status_code == 200, answer.text
    return list(answer.json()["data"])
