"""The reflection's section `todos`: what the person promised, repeats, left open or fights, and what is done."""

from collections.abc import Sequence

from pydantic import BaseModel

from mnemon.db.tx import Tx
from mnemon.event_loop import run_off_loop
from mnemon.evidence.quote_gate import Quotation, find_quote, quotable_passages
from mnemon.memory.answer import TODOS, TodoAnswer, TodosAnswer
from mnemon.memory.attribution import OtherAuthor, authors_of_turn, load_other_authors, text_size
from mnemon.memory.fact import SHADOW_EXTRACTION
from mnemon.memory.todos import store
from mnemon.memory.todos.todo import Todo, TodoStatus, find_matching_todo, infer_todo_kind
from mnemon.memory.words import terms
from mnemon.section import Brief, Rejection, SectionResult
from mnemon.sessions.sentences import content_words, ended_topics
from mnemon.turn import Role, Turn

_OPEN_SHOWN = 30
_SHOWN_CHARS = 120
_FILLER_WORDS = content_words("all already both finally just now ok thank thanks today yes yesterday never nevermind")
"""Words that may stand beside the one that says it is over, and name nothing."""
QUOTE_NOT_SAID = "its quote does not stand in what the person said"
NO_OPEN_TODO = "no open todo of this persona is clearly meant"


class TodosSection:
    """Opens and closes todos of the persona the turn was with, on the person's own words alone."""

    name = "todos"
    label = "todos"
    answer: type[BaseModel] = TodosAnswer

    async def prepare_brief(self, tx: Tx, turn: Turn) -> Brief | None:
        """Always due: what is open is shown, so that it can be closed."""
        known = (await store.open_todos(tx, turn.scope))[-_OPEN_SHOWN:]
        state = "\n".join(f"{todo.id} {todo.kind}: {todo.content}" for todo in known)
        return Brief(instructions=TODOS, state=state and f"Open todos:\n{state}", facts={"open": tuple(known)})

    def answer_by_rule(self, turn: Turn, brief: Brief) -> BaseModel:
        """What the person promises or reports as done in so many words."""
        from mnemon.memory.offline.extract import extract_todos

        known: Sequence[Todo] = brief.facts.get("open", ())
        contents = [todo.content for todo in known]
        found = [
            one for said in turn.messages if said.role is Role.USER for one in extract_todos(said.content, contents)
        ]
        return TodosAnswer(todos=found[:50])

    async def apply_answer(self, tx: Tx, turn: Turn, answer: BaseModel) -> SectionResult:
        """What passes the quote gate is opened or closed as of the turn's time."""
        given = TodosAnswer.model_validate(answer).todos
        if not given:
            return SectionResult()
        recalled = await load_other_authors(tx, turn)
        places = await run_off_loop(turn.size, lambda: _find_quotes(given, turn))
        voices = await run_off_loop(turn.size + text_size(recalled), lambda: authors_of_turn(turn, recalled))
        counts = {"stored": 0, "updated": 0, "skipped": 0}
        rejected: list[Rejection] = []
        for one, found in zip(given, places, strict=True):
            if found is None:
                rejected.append(Rejection(what=one.content[:_SHOWN_CHARS], why=QUOTE_NOT_SAID))
                continue
            if one.op == "add":
                done: str | None = await _add_todo(tx, turn, one, found, voices.other_author(one.content))
            else:
                done = await _close_todo(tx, turn, one, found)
            if done is None:
                rejected.append(Rejection(what=one.content[:_SHOWN_CHARS], why=NO_OPEN_TODO))
            else:
                counts[done] += 1
        return SectionResult(**counts, rejected=tuple(rejected))


def _find_quotes(given: Sequence[TodoAnswer], turn: Turn) -> list[Quotation | None]:
    sources = [passage for passage in quotable_passages(turn) if passage.role is Role.USER]
    return [find_quote(one.quote, sources) for one in given]


async def _add_todo(tx: Tx, turn: Turn, one: TodoAnswer, found: Quotation, lender: OtherAuthor | None) -> str:
    draft = store.NewTodo(
        kind=one.kind or infer_todo_kind(one.content),
        content=one.content,
        source=lender.origin if lender else SHADOW_EXTRACTION,
        turn_id=turn.id,
        message_id=found.passage.message_id,
        quote=found.text,
    )
    # A todo that this turn opened and someone closed since is not opened again by reflecting once more.
    if await store.todo_opened_by(tx, turn.scope, draft):
        return "skipped"
    _, new = await store.add_todo(tx, turn.scope, draft, at=turn.at)
    return "stored" if new else "updated"


async def _close_todo(tx: Tx, turn: Turn, one: TodoAnswer, found: Quotation) -> str | None:
    if await store.has_closed_todo(tx, turn.scope, turn.id, found.text):
        return "skipped"
    known = [todo for todo in await store.open_todos(tx, turn.scope) if todo.created_at <= turn.at]
    meant = find_matching_todo(one.content, known)
    if meant is None or not _is_about(found.text, meant):
        return None
    status = TodoStatus.DONE if one.op == "done" else TodoStatus.DROPPED
    edit = store.TodoEdit(status=status, turn_id=turn.id, quote=found.text)
    await store.update_todo(tx, turn.scope, meant, edit, at=turn.at)
    return "updated"


def _is_about(quote: str, todo: Todo) -> bool:
    """Whether the quote tells of what the todo is about, or says that something is over and names nothing else.

    Otherwise any words of the person's would do as a quote for whoever talks the model into closing a todo.
    """
    if quote.rstrip().endswith("?"):
        return False
    if set(terms(quote)) & set(terms(todo.content)):
        return True
    return any(len(about - _FILLER_WORDS) <= 1 for about in ended_topics(quote))
