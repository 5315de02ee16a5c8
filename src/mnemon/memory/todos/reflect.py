"""The reflection's section `todos`: open todos for what the person promised or left open, and close those done."""

from collections.abc import Sequence

from pydantic import BaseModel

from mnemon.db.tx import Tx
from mnemon.event_loop import run_off_loop
from mnemon.evidence.quote_gate import Quotation, find_quote, quotable_passages
from mnemon.evidence.statement import StatementKind, StatementSubject
from mnemon.evidence.support import ending_fault, support_fault
from mnemon.memory.answer import TodoAnswer, TodosAnswer
from mnemon.memory.attribution import OtherAuthor, authors_of_turn, load_other_authors, text_size
from mnemon.memory.fact import SHADOW_EXTRACTION
from mnemon.memory.offline.extract import extract_todos
from mnemon.memory.todos import store
from mnemon.memory.todos.prompt import TODOS, TODOS_SCHEMA
from mnemon.memory.todos.todo import Todo, TodoKind, TodoStatus, find_matching_todo, infer_todo_kind
from mnemon.memory.words import terms
from mnemon.section import Brief, BriefItem, Rejection, SectionResult, number_handles
from mnemon.sessions.sentences import content_words, ended_topics
from mnemon.turn import Role, Turn

_OPEN_SHOWN = 30
"""Open todos that the prompt shows, the latest ones."""
_SHOWN_CHARS = 120
_FILLER_WORDS = content_words("all already both finally just now ok thank thanks today yes yesterday never nevermind")
"""Words that may accompany the one that says something is over, and that name no topic."""
QUOTE_NOT_SAID = "its quote is not in what the person said"
OF_THE_OPERATOR = "the operator opened it, so what the person says does not close it"
NO_OPEN_TODO = "no open todo of this persona is clearly meant"


class TodosSection:
    """Opens and closes todos of the turn's persona, only on the person's own words."""

    name = "todos"
    label = "todos"
    answer: type[BaseModel] = TodosAnswer
    schema = TODOS_SCHEMA

    async def prepare_brief(self, tx: Tx, turn: Turn) -> Brief | None:
        """Return the section's instructions with the person's open todos, so that the model can close them."""
        known = (await store.open_todos(tx, turn.scope))[-_OPEN_SHOWN:]
        # The handle stands for the todo's words: by these it is found again, and the gates read them.
        named = number_handles("T", [todo.content for todo in known])
        return Brief(
            instructions=TODOS,
            items=tuple(
                BriefItem(text=f"{handle} {todo.kind}: {todo.content}")
                for handle, todo in zip(named, known, strict=True)
            ),
            names={**{todo.id: todo.content for todo in known}, **named},
            name_fields=frozenset({"todos.content"}),
            facts={"open": tuple(known)},
        )

    def answer_by_rule(self, turn: Turn, brief: Brief) -> BaseModel:
        """Return the todos that the person opens or closes, extracted by patterns without a model; at most 50."""
        known: Sequence[Todo] = brief.facts.get("open", ())
        contents = [todo.content for todo in known]
        found = [
            one
            for message in turn.messages
            if message.role is Role.USER
            for one in extract_todos(message.content, contents)
        ]
        return TodosAnswer(todos=found[:50])

    def entry_faults(self, turn: Turn, brief: Brief, answer: BaseModel) -> Sequence[str | None]:
        """Return, for each proposed todo, why its quote is missing or does not support it; None where it does."""
        judged = _judge_quotes(TodosAnswer.model_validate(answer).todos, turn)
        return [one if isinstance(one, str) else None for one in judged]

    async def apply_answer(self, tx: Tx, turn: Turn, answer: BaseModel) -> SectionResult:
        """Open and close the todos whose quote supports them, dated at the turn's time; return the rejected others."""
        answers = TodosAnswer.model_validate(answer).todos
        if not answers:
            return SectionResult()
        # A page that a model has read may word a todo too; then the todo names that page as its source.
        recalled = await load_other_authors(tx, turn)
        places = await run_off_loop(turn.size, lambda: _judge_quotes(answers, turn))
        authors = await run_off_loop(turn.size + text_size(recalled), lambda: authors_of_turn(turn, recalled))
        counts = {"stored": 0, "updated": 0, "skipped": 0}
        rejected: list[Rejection] = []
        for one, found in zip(answers, places, strict=True):
            if isinstance(found, str):
                rejected.append(Rejection(what=one.content[:_SHOWN_CHARS], why=found))
                continue
            if one.op == "add":
                outcome: str | Rejection = await _add_todo(tx, turn, one, found, authors.other_author(one.content))
            else:
                outcome = await _close_todo(tx, turn, one, found)
            if isinstance(outcome, Rejection):
                rejected.append(outcome)
            else:
                counts[outcome] += 1
        return SectionResult(**counts, rejected=tuple(rejected))


def _judge_quotes(answers: Sequence[TodoAnswer], turn: Turn) -> list[Quotation | str]:
    """Return for each answer where its quote is in the person's messages, or why the quote does not support it."""
    # A todo is opened or closed by the person only, never by a tool's result.
    sources = [passage for passage in quotable_passages(turn) if passage.role is Role.USER]
    return [_judge_quote(one, find_quote(one.quote, sources), turn) for one in answers]


def _judge_quote(one: TodoAnswer, found: Quotation | None, turn: Turn) -> Quotation | str:
    """Return the quote if it supports the answer, else why it does not."""
    if found is None:
        return QUOTE_NOT_SAID
    if one.op != "add":
        return ending_fault(found, one.content, done=one.op == "done") or found
    kind = StatementKind.QUESTION if one.kind is TodoKind.THREAD else StatementKind.TASK
    subject = StatementSubject(speaker=(turn.user_name, found.passage.who))
    return support_fault(one.content, [found], kind, subject) or found


async def _add_todo(tx: Tx, turn: Turn, one: TodoAnswer, found: Quotation, other_author: OtherAuthor | None) -> str:
    """Open the proposed todo, or refresh an equal one; return which, as a word of the section's result."""
    draft = store.NewTodo(
        kind=one.kind or infer_todo_kind(one.content),
        content=one.content,
        source=other_author.origin if other_author else SHADOW_EXTRACTION,
        turn_id=turn.id,
        message_id=found.passage.message_id,
        quote=found.text,
    )
    # Do not open a todo again that this turn opened before and that was closed since.
    if await store.todo_opened_by(tx, turn.scope, draft):
        return "skipped"
    _, new = await store.add_todo(tx, turn.scope, draft, at=turn.at)
    return "stored" if new else "updated"


async def _close_todo(tx: Tx, turn: Turn, one: TodoAnswer, found: Quotation) -> str | Rejection:
    """Close the todo that the answer means; return how it counts in the section's result, or why it stays open."""
    if await store.has_closed_todo(tx, turn.scope, turn.id, found.text):
        return "skipped"
    # A turn reflected late must not close a todo that was opened after it.
    known = [todo for todo in await store.open_todos(tx, turn.scope) if todo.created_at <= turn.at]
    todo_meant = find_matching_todo(one.content, known)
    shown = one.content[:_SHOWN_CHARS]
    if todo_meant is None or not _is_about(found.text, todo_meant):
        return Rejection(what=shown, why=NO_OPEN_TODO)
    if todo_meant.outranks_source(SHADOW_EXTRACTION):
        return Rejection(what=shown, why=OF_THE_OPERATOR)
    status = TodoStatus.DONE if one.op == "done" else TodoStatus.DROPPED
    edit = store.TodoEdit(status=status, source=SHADOW_EXTRACTION, turn_id=turn.id, quote=found.text)
    await store.update_todo(tx, turn.scope, todo_meant, edit, at=turn.at)
    return "updated"


def _is_about(quote: str, todo: Todo) -> bool:
    """Say whether a quote may close the todo: it mentions its topic, or ends something without naming another topic.

    Otherwise any words of the person would do as a quote for whoever talks the model into closing a todo.
    """
    if quote.rstrip().endswith("?"):
        return False
    if set(terms(quote)) & set(terms(todo.content)):
        return True
    return any(len(about - _FILLER_WORDS) <= 1 for about in ended_topics(quote))
