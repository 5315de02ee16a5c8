"""The labelled turns that ship: enough of them, readable, and nowhere else in the tests."""

from pathlib import Path

import pytest

from mnemon.cli.evaluation.labels import Label, LabelKind, choose_scenes, read_scenes
from mnemon.errors import Invalid

SCENES = read_scenes()
TURNS = [turn for scene in SCENES for turn in scene.turns]
TESTS = Path(__file__).parents[2]


def test_there_are_enough_turns_of_several_lives_and_kinds() -> None:
    assert len(TURNS) >= 120
    assert len({turn.says for turn in TURNS}) == len(TURNS)
    assert len({scene.who for scene in SCENES}) >= 10
    assert sum(turn.follows for turn in TURNS) >= 20
    assert sum(turn.is_trap for turn in TURNS) >= 20
    assert {label.kind for turn in TURNS for label in turn.labels} == set(LabelKind)


def test_a_follow_up_has_a_turn_before_it() -> None:
    assert [scene.who for scene in SCENES if scene.turns[0].follows] == []


def test_no_turn_stands_in_the_corpora_of_the_tests() -> None:
    """What is tuned on there, or held back, would make the figures here worth nothing."""
    corpora = [*TESTS.rglob("*.txt"), *TESTS.rglob("*.jsonl")]
    assert len(corpora) > 10
    told = "\n".join(path.read_text(encoding="utf-8") for path in corpora).casefold()
    assert [turn.says for turn in TURNS if len(turn.says) > 12 and turn.says.casefold() in told] == []


def test_a_subset_is_the_same_each_time_and_has_as_many_turns_as_asked() -> None:
    for most in (1, 7, 30, len(TURNS), 1000):
        chosen = choose_scenes(SCENES, most)
        assert sum(len(scene.turns) for scene in chosen) == min(most, len(TURNS))
        assert chosen == choose_scenes(SCENES[::-1], most)
        for scene in chosen:
            whole = next(one for one in SCENES if (one.who, one.at) == (scene.who, scene.at))
            assert whole.turns[: len(scene.turns)] == scene.turns, "a turn keeps those before it"
    assert len({scene.who for scene in choose_scenes(SCENES, 30)}) >= 5
    assert choose_scenes(SCENES, None) == SCENES


def test_a_scene_is_read(tmp_path: Path) -> None:
    path = tmp_path / "turns.txt"
    path.write_text(
        '# a comment\n@ Ada, a tester\n% 2026-01-02T03:04 work\n= Hello.\n< Hi!\n> look {"count": 2}\n'
        "  fact self/Ada | one two, three/four\n  done | call\n  follow\n= Bye.\n"
    )
    (scene,) = read_scenes(path)
    first, second = scene.turns
    assert (scene.name, scene.domain, scene.at.isoformat()) == ("Ada", "work", "2026-01-02T03:04:00+00:00")
    assert (first.says, first.reply, first.follows, first.is_trap) == ("Hello.", "Hi!", True, False)
    assert first.tool_results == ({"id": "result-6", "action": "look", "count": 2},)
    assert first.labels == (
        Label(kind=LabelKind.FACT, about=("self", "Ada"), words=(("one two",), ("three", "four"))),
        Label(kind=LabelKind.CLOSED, about=(), words=(("call",),)),
    )
    assert (second.says, second.reply, second.is_trap) == ("Bye.", "", True)


@pytest.mark.parametrize("line", ["  guess self | Oslo", "  fact self", "  fact | Oslo", "  fact self |"])
def test_a_line_that_is_no_label_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "turns.txt"
    path.write_text(f"@ Ada\n% 2026-01-02T03:04 work\n= Hello.\n{line}\n")
    with pytest.raises(Invalid, match="Line 4"):
        read_scenes(path)
