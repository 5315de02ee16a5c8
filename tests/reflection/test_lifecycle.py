"""A reflection's life follows its drawing."""

from mnemon.reflection.report import ReflectionStatus as Is
from mnemon.reflection.report import may_become, may_run_again


def test_the_drawn_steps_are_the_possible_ones() -> None:
    possible = {(a.value, b.value) for a in Is for b in Is if may_become(a, b)}
    assert possible == {
        ("queued", "running"),
        ("running", "running"),
        ("running", "done"),
        ("running", "failed"),
        ("running", "parked"),
        ("failed", "running"),
        ("failed", "parked"),
        ("failed", "queued"),
        ("parked", "queued"),
        ("parked", "running"),
    }


def test_only_a_failed_or_parked_one_can_be_run_again() -> None:
    assert [status.value for status in Is if may_run_again(status)] == ["failed", "parked"]
