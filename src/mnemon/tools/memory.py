"""`recall`, `remember` and `list_todos`: search memory, store a fact, list open todos.

In a conversation, `remember` stores only what a quote of the person or of a tool supports.
"""

from collections.abc import Sequence

import numpy as np
from pydantic import Field

from mnemon.clock import format_time
from mnemon.db.tx import Tx
from mnemon.errors import Invalid
from mnemon.event_loop import run_off_loop
from mnemon.evidence.quote_gate import Quotation, find_quote, quotable_passages
from mnemon.memory.attribution import OtherAuthor, authors_of_turn, load_other_authors, text_size, tool_origin
from mnemon.memory.fact import EntityType, Fact, FactEntity, FactType, MemoryType, QuoteLocation
from mnemon.memory.memory import StoredMemory
from mnemon.memory.quoted_fact import load_known_labels, quoted_fact_fault, stored_content
from mnemon.memory.recall.query import RecallHit, RecallKind, RecallQuery
from mnemon.memory.recall.search import search
from mnemon.memory.remember import remember_facts
from mnemon.memory.todos.store import open_todos
from mnemon.memory.trust import Trust, coarse_trust, source_mark
from mnemon.sessions import turns
from mnemon.sessions.people import ensure_person
from mnemon.tool import Arguments, Caller, NoArguments, ToolReply
from mnemon.turn import EntityPatch, Role, Turn, speaker_of


class RecallArguments(Arguments):
    """A question to memory."""

    query: str = Field(min_length=1, max_length=2000, description="What you want to know, in words.")
    limit: int = Field(5, ge=1, le=50)
    messages: bool = Field(False, description="Also what was said, word for word.")


class Recall:
    """The tool that searches the person's memories."""

    name = "recall"
    description = "Look up what is remembered about the person, someone in their life, or a project."
    arguments: type[Arguments] = RecallArguments
    needs = "memory:read"

    def text_to_embed(self, arguments: Arguments) -> str | None:
        """Return the query of `recall`, to be embedded."""
        assert isinstance(arguments, RecallArguments)
        return arguments.query

    async def run(self, tx: Tx, caller: Caller, arguments: Arguments, vector: np.ndarray | None) -> ToolReply:
        """Return the memories, and messages on request, that answer the query, best first."""
        assert isinstance(arguments, RecallArguments)
        kinds = {RecallKind.MEMORIES, *((RecallKind.MESSAGES,) if arguments.messages else ())}
        query = RecallQuery(
            text=arguments.query,
            vector=vector if caller.embedder else None,
            model=caller.embedder,
            kinds=frozenset(kinds),
            limit=arguments.limit,
        )
        found = await search(tx, caller.scope, query)
        return ToolReply(
            content={
                "results": [_hit_json(hit) for hit in found.hits],
                "entityCards": [card.text for card in found.cards],
            },
            ids=tuple(hit.found.id for hit in found.hits),
            types=("memory",) if found.memories else (),
            count=len(found.hits),
        )


def _hit_json(hit: RecallHit) -> dict[str, object]:
    """Return a memory or message that recall found as JSON for a model, with its trust."""
    found = hit.found
    if isinstance(found, StoredMemory):
        return {
            "id": found.id,
            "content": found.content,
            "type": found.type,
            "trust": coarse_trust(found.trust),
            "trustLevel": found.trust,
            "origin": found.origin,
            # A claim that is found alone contradicts nothing that is known.
            "claimOf": found.claim_of if hit.contradicts else None,
            **({"claims": hit.claims} if hit.claims else {}),
        }
    # The name of a tool's message is the caller's choice, so it must not pass for a person's.
    by = source_mark(Trust.TOOL, found.name or "") if found.role is Role.TOOL else speaker_of(found.role, found.name)
    return {"id": found.id, "said": found.content, "by": by, "at": format_time(found.at)}


AGENT_SOURCE = "agent"
"""The source of a fact that an agent states by itself."""


class FactSubject(Arguments):
    """Someone or something a fact is about."""

    type: EntityType
    label: str = Field(min_length=1, max_length=200, description="The name, as people say it.")


class RememberArguments(Arguments):
    """A fact."""

    content: str = Field(min_length=1, max_length=2000, description="The fact, in one sentence.")
    quote: str | None = Field(
        None, max_length=2000, description="The person's words it rests on, copied exactly; needed in a conversation."
    )
    type: MemoryType = Field(MemoryType.PROFILE, description="Whether it is about the person, someone, or a project.")
    about: FactSubject | None = Field(None, description="Whom it is about, if not the person.")
    fact_type: FactType = FactType.FACT
    attribute: str | None = Field(
        None, max_length=200, description="What it is a value of, like `lives in`; a new value replaces the old one."
    )
    private: bool = Field(False, description="Only for this persona: the person asked for it to stay between you.")


class Remember:
    """The tool that stores a fact."""

    name = "remember"
    description = (
        "Keep a lasting fact about the person, someone in their life, or a project. Only what they said themselves; "
        "what was recalled is known already."
    )
    arguments: type[Arguments] = RememberArguments
    needs = "memory:write"

    def text_to_embed(self, arguments: Arguments) -> str | None:
        """Return None: the tool `remember` needs no embedding before the fact is stored."""
        return None

    async def run(self, tx: Tx, caller: Caller, arguments: Arguments, vector: np.ndarray | None) -> ToolReply:
        """Store the fact as a memory of the person, or count one more mention if it is stored already.

        Raises Invalid in a conversation if the quote is missing, is not in the turn or does not say the fact.
        """
        assert isinstance(arguments, RememberArguments)
        turn = await _calling_turn(tx, caller)
        found = None if turn is None else _require_quotation(turn, arguments.quote)
        if turn is not None and found is not None:
            _require_support(arguments, found, turn, await load_known_labels(tx, turn.scope))
        lender = None if turn is None else await _find_lender(tx, turn, arguments.content)
        # Over MCP a caller may name a person of whom nothing is stored yet.
        if caller.user_name:
            await ensure_person(tx, caller.scope.org_id, caller.user_name)
        [kept] = await remember_facts(tx, caller.scope, [_make_fact(caller, arguments, found, lender)])
        memory = kept.memory
        return ToolReply(
            content={
                "outcome": kept.outcome,
                "id": memory.id,
                "content": memory.content,
                "claimOf": memory.claim_of,
                "why": kept.why,
            },
            ids=(memory.id,),
            types=("memory", memory.type),
            count=1,
            entities=(EntityPatch(id=memory.id, kind="memory", name=memory.content[:80]),),
        )


async def _calling_turn(tx: Tx, caller: Caller) -> Turn | None:
    """Return the turn in which the tool is called; None outside of one, where there is nothing to quote."""
    if caller.turn_id is None:
        return None
    stored = await turns.find_turn(tx, caller.scope, caller.turn_id)
    if stored is None:
        raise _no_quote_error()
    return stored.turn


def _require_quotation(turn: Turn, quote: str | None) -> Quotation:
    """Return where the quote is in the turn; raise Invalid if it is missing or not there."""
    found = None if quote is None else find_quote(quote, quotable_passages(turn))
    if found is None:
        raise _no_quote_error()
    return found


def _no_quote_error() -> Invalid:
    """Return the error for a fact without a quote from this turn."""
    return Invalid(
        "Nothing is remembered without the person's own words: give `quote`, copied exactly from this message.",
        code="no_quote",
    )


def _require_support(given: RememberArguments, found: Quotation, turn: Turn, known: Sequence[str]) -> None:
    """Raise Invalid if the quote does not say what the fact says; the message tells how to correct it."""
    if fault := quoted_fact_fault(given.content, _fact_entity(given), found, turn, known):
        raise Invalid(
            f"The quote does not support the fact: {fault}. State what the quote says, or quote what says it.",
            code="not_supported",
        )


def _fact_entity(given: RememberArguments) -> FactEntity | None:
    """Return whom the fact is about; None for the person."""
    return FactEntity(type=given.about.type, label=given.about.label) if given.about else None


async def _find_lender(tx: Tx, turn: Turn, content: str) -> OtherAuthor | None:
    """Return the author other than the person whose words the fact is made of; None if they are the person's own."""
    recalled = await load_other_authors(tx, turn)
    return await run_off_loop(
        turn.size + text_size(recalled), lambda: authors_of_turn(turn, recalled).other_author(content)
    )


def _make_fact(caller: Caller, given: RememberArguments, found: Quotation | None, lender: OtherAuthor | None) -> Fact:
    """Return the arguments of `remember` as a fact, with its trust, origin and the place of its quote."""
    trust, origin = _attribute_quote(found, lender)
    return Fact(
        type=given.type,
        content=given.content if found is None else stored_content(given.content, found),
        entity=_fact_entity(given),
        fact_type=given.fact_type,
        attribute=given.attribute,
        # Without a persona there is nobody it could be private to.
        private=given.private and caller.scope.persona_id is not None,
        source=AGENT_SOURCE,
        trust=trust,
        origin=origin,
        ground=None if found is None else _make_ground(caller, found),
    )


def _attribute_quote(found: Quotation | None, lender: OtherAuthor | None) -> tuple[Trust, str]:
    """Return a fact's trust and origin by who said it: the person, a tool, another author, or the agent alone."""
    if found is None:
        return Trust.AGENT, AGENT_SOURCE
    if found.passage.role is Role.USER:
        return (Trust.PERSON, AGENT_SOURCE) if lender is None else (lender.trust, lender.origin)
    return Trust.TOOL, tool_origin(found.passage.who)


def _make_ground(caller: Caller, found: Quotation) -> QuoteLocation | None:
    """Return where the quote is stored (turn, message, position); None outside of a session."""
    if caller.session_id is None or caller.turn_id is None:
        return None
    return QuoteLocation(
        turn_id=caller.turn_id,
        session_id=caller.session_id,
        message_id=found.passage.message_id,
        start=found.start,
        end=found.end,
        quote=found.text,
        at=found.passage.at,
    )


class ListTodos:
    """The tool that lists the open todos."""

    name = "list_todos"
    description = "What the person promised, repeats, left open or struggles with, as far as it is still open."
    arguments: type[Arguments] = NoArguments
    needs = "memory:read"

    def text_to_embed(self, arguments: Arguments) -> str | None:
        """Return None: the tool `list_todos` needs no embedding."""
        return None

    async def run(self, tx: Tx, caller: Caller, arguments: Arguments, vector: np.ndarray | None) -> ToolReply:
        """Return the person's open todos, oldest first."""
        found = await open_todos(tx, caller.scope)
        shown = [
            {"id": one.id, "kind": one.kind, "content": one.content, "since": format_time(one.created_at)}
            for one in found
        ]
        return ToolReply(
            content={"todos": shown}, ids=tuple(one.id for one in found), types=("todo",), count=len(found)
        )
