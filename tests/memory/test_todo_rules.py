"""Todos: what kind an open loop is, and which todo a remark means."""

from datetime import UTC, datetime

import pytest

from mnemon.memory.fact import FactType
from mnemon.memory.todos.todo import Todo, TodoKind, TodoStatus, find_matching_todo, infer_todo_kind, todo_key

AT = datetime(2026, 1, 1, tzinfo=UTC)


def todo(number: int, content: str) -> Todo:
    return Todo(
        id=f"tod_{number}", persona_id=None, kind=TodoKind.COMMITMENT, content=content, status=TodoStatus.OPEN,
        source="api", turn_id=None, message_id=None, quote=None, created_at=AT, updated_at=AT, closed_at=None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("content", "fact_type", "kind"),
    [
        ("I'll go for a walk tomorrow", None, TodoKind.COMMITMENT),
        ("Meditates every morning", None, TodoKind.HABIT),
        ("Meditates", FactType.HABIT, TodoKind.HABIT),
        ("Keeps getting interrupted", None, TodoKind.FRICTION),
        ("Which database to choose", None, TodoKind.THREAD),
    ],
)
def test_an_open_loop_has_a_kind(content: str, fact_type: FactType | None, kind: TodoKind) -> None:
    assert infer_todo_kind(content, fact_type) is kind


def test_the_same_todo_has_the_same_key() -> None:
    assert todo_key(TodoKind.HABIT, "Run daily.") == todo_key(TodoKind.HABIT, "run  daily")
    assert todo_key(TodoKind.HABIT, "Run daily") != todo_key(TodoKind.THREAD, "Run daily")


def test_a_remark_closes_the_todo_it_means() -> None:
    todos = [todo(1, "Go for a walk tomorrow"), todo(2, "Call the dentist")]
    assert find_matching_todo("go for a walk tomorrow.", todos) == todos[0]
    assert find_matching_todo("the walk", todos) == todos[0]
    assert find_matching_todo("tod_2", todos) == todos[1]
    assert find_matching_todo("called dentist", todos) == todos[1]


def test_a_remark_that_could_mean_several_closes_none() -> None:
    todos = [todo(1, "Call the dentist"), todo(2, "Call the plumber")]
    assert find_matching_todo("call", todos) is None
    assert find_matching_todo("water the plants", todos) is None
    assert find_matching_todo("anything", []) is None
