"""The reflection's section `todos`: what the person promised, repeats, left open or fights, and what is done."""

from collections.abc import Sequence

from pydantic import BaseModel

from mnemon.aside import read_aside
from mnemon.db.tx import Tx
from mnemon.evidence.quote import Quotation, find_quote, passages
from mnemon.memory.answer import TODOS, TodoAnswer, TodosAnswer
from mnemon.memory.borrowed import Voice, recalled_voices, voices_of
from mnemon.memory.fact import SHADOW_EXTRACTION
from mnemon.memory.todos import store
from mnemon.memory.todos.todo import Todo, TodoStatus, kind_of, matching
from mnemon.memory.words import terms
from mnemon.section import Brief, Rejection, Report
from mnemon.sessions.sentences import endings
from mnemon.turn import Role, Turn

_OPEN_SHOWN = 30
_SHOWN = 120
NOT_SAID = "its quote does not stand in what the person said"
NOTHING_OPEN = "no open todo of this persona is clearly meant"


class TodosSection:
    """Opens and closes todos of the persona the turn was with, on the person's own words alone."""

    name = "todos"
    label = "todos"
    answer: type[BaseModel] = TodosAnswer

    async def brief(self, tx: Tx, turn: Turn) -> Brief | None:
        """Always due: what is open is shown, so that it can be closed."""
        known = (await store.open_todos(tx, turn.scope))[-_OPEN_SHOWN:]
        state = "\n".join(f"{todo.id} {todo.kind}: {todo.content}" for todo in known)
        return Brief(instructions=TODOS, state=state and f"Open todos:\n{state}", facts={"open": tuple(known)})

    def by_rule(self, turn: Turn, brief: Brief) -> BaseModel:
        """What the person promises or reports as done in so many words."""
        from mnemon.memory.offline.extract import extract_todos

        known: Sequence[Todo] = brief.facts.get("open", ())
        contents = [todo.content for todo in known]
        found = [
            one for said in turn.messages if said.role is Role.USER for one in extract_todos(said.content, contents)
        ]
        return TodosAnswer(todos=found[:50])

    async def apply(self, tx: Tx, turn: Turn, answer: BaseModel) -> Report:
        """What passes the quote gate is opened or closed as of the turn's time."""
        given = TodosAnswer.model_validate(answer).todos
        if not given:
            return Report()
        recalled = await recalled_voices(tx, turn.scope)
        places = await read_aside(turn.size, lambda: _found(given, turn))
        voices = await read_aside(turn.size, lambda: voices_of(turn, recalled))
        counts = {"stored": 0, "updated": 0, "skipped": 0}
        rejected: list[Rejection] = []
        for one, found in zip(given, places, strict=True):
            if found is None:
                rejected.append(Rejection(what=one.content[:_SHOWN], why=NOT_SAID))
                continue
            if one.op == "add":
                done: str | None = await _added(tx, turn, one, found, voices.lender(one.content))
            else:
                done = await _closed(tx, turn, one, found)
            if done is None:
                rejected.append(Rejection(what=one.content[:_SHOWN], why=NOTHING_OPEN))
            else:
                counts[done] += 1
        return Report(**counts, rejected=tuple(rejected))


def _found(given: Sequence[TodoAnswer], turn: Turn) -> list[Quotation | None]:
    sources = [passage for passage in passages(turn) if passage.role is Role.USER]
    return [find_quote(one.quote, sources) for one in given]


async def _added(tx: Tx, turn: Turn, one: TodoAnswer, found: Quotation, lender: Voice | None) -> str:
    draft = store.Draft(
        kind=one.kind or kind_of(one.content),
        content=one.content,
        source=lender.origin if lender else SHADOW_EXTRACTION,
        turn_id=turn.id,
        message_id=found.passage.message_id,
        quote=found.text,
    )
    # A todo that this turn opened and someone closed since is not opened again by reflecting once more.
    if await store.opened_by(tx, turn.scope, draft):
        return "skipped"
    _, new = await store.add(tx, turn.scope, draft, at=turn.at)
    return "stored" if new else "updated"


async def _closed(tx: Tx, turn: Turn, one: TodoAnswer, found: Quotation) -> str | None:
    if await store.closed_by(tx, turn.scope, turn.id, found.text):
        return "skipped"
    known = [todo for todo in await store.open_todos(tx, turn.scope) if todo.created_at <= turn.at]
    meant = matching(one.content, known)
    if meant is None or not _speaks_of(found.text, meant):
        return None
    status = TodoStatus.DONE if one.op == "done" else TodoStatus.DROPPED
    edit = store.TodoEdit(status=status, turn_id=turn.id, quote=found.text)
    await store.change(tx, turn.scope, meant, edit, at=turn.at)
    return "updated"


def _speaks_of(quote: str, todo: Todo) -> bool:
    """Whether the quote names what the todo is about, or says that something is over.

    Otherwise any words of the person's would do as a quote for whoever talks the model into closing a todo.
    """
    return bool(endings(quote) or set(terms(quote)) & set(terms(todo.content)))
