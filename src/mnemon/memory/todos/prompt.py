"""What the reflection asks for todos: the instructions with a worked example, and the schema of the answer as sent."""

from mnemon.llm.answer_schema import TEXT, closed_object, list_of, one_of, one_or_none_of
from mnemon.memory.todos.todo import TodoKind

TODOS_SCHEMA = list_of(
    closed_object(
        op=one_of(("add", "done", "drop")),
        kind=one_or_none_of(tuple(TodoKind)),
        quote=TEXT,
        content=TEXT,
    )
)
"""The section `todos` as it is sent."""

TODOS = """\
List what the person promises, wants to do regularly, leaves open or struggles with in this turn, and which open \
todos they finish. For each:
- op: add (new), done (they say that it is done) or drop (they say that it will not be done).
- kind: commitment (they will do it), habit, thread (an open question) or friction (it keeps getting in the way); \
null for done and drop.
- quote: the words it rests on, copied from the person's message.
- content: for add, one short sentence; for done and drop, the handle of the open todo, like T1.
Example. Open is "T1 commitment: Call the bank". The person says: "I've called the bank. I'll send Mia the plan on \
Friday."
{"todos": [
{"op": "done", "kind": null, "quote": "I've called the bank", "content": "T1"},
{"op": "add", "kind": "commitment", "quote": "I'll send Mia the plan on Friday", "content": "Send Mia the plan on \
Friday"}]}"""
"""The section's instructions."""
