"""The spine: four sections, made only from what every persona may know, each line with its sources."""

from datetime import UTC, datetime

from hypothesis import example, given
from hypothesis import strategies as st

from mnemon.memory.spine import (
    Spine,
    SpinePart,
    SpineSource,
    SpineVersion,
    ground_lines,
    is_due,
    spine_by_rule,
    without_forgotten,
)

MATERIAL = [
    SpineSource(id="mem_1", part=SpinePart.PROFILE, text="Lives in Austin, Texas", weight=2),
    SpineSource(id="mem_2", part=SpinePart.PEOPLE, text="John is my cofounder; handles backend", weight=2),
    SpineSource(id="mem_3", part=SpinePart.PROJECTS, text="Working on dashboard redesign", weight=1),
    SpineSource(id="tod_1", part=SpinePart.OPEN_LOOPS, text="Call the accountant", weight=1),
]


def test_it_is_due_when_more_than_twenty_messages_came() -> None:
    assert not is_due(20)
    assert is_due(21)


def test_by_rule_it_is_what_is_known_word_for_word() -> None:
    spine = spine_by_rule(MATERIAL)
    assert spine.PROFILE == ["Lives in Austin, Texas"]
    assert spine.OPEN_LOOPS == ["Call the accountant"]


def test_each_line_names_what_it_was_made_from() -> None:
    lines = ground_lines(Spine(PROFILE=["Lives in Austin"], PEOPLE=["John, cofounder, backend"]), MATERIAL).lines
    assert lines[SpinePart.PROFILE][0].sources == ("mem_1",)
    assert lines[SpinePart.PEOPLE][0].sources == ("mem_2",)


def test_a_line_that_nobody_said_is_rejected() -> None:
    result = ground_lines(
        Spine(PROFILE=["Owns a yacht in Monaco"], PROJECTS=["dashboard redesign, 40% done"]), MATERIAL
    )
    assert not any(result.lines.values())
    assert len(result.rejected) == 2


def test_forgetting_a_source_drops_its_lines_and_no_other() -> None:
    lines = ground_lines(spine_by_rule(MATERIAL), MATERIAL).lines
    version = SpineVersion(
        version=1,
        lines=lines,
        message_count=21,
        total_messages=21,
        at=datetime(2026, 4, 12, tzinfo=UTC),
        made_by="offline",
    )
    left = without_forgotten(version, ["mem_2"])
    assert left.lines[SpinePart.PEOPLE] == ()
    assert left.lines[SpinePart.PROFILE] == lines[SpinePart.PROFILE]
    assert "mem_2" not in left.sources


sources = st.lists(
    st.builds(
        SpineSource,
        id=st.uuids().map(str),
        part=st.sampled_from(SpinePart),
        text=st.text(alphabet="abc def", min_size=3, max_size=40).filter(lambda t: t.strip()),
        weight=st.floats(0, 4),
    ),
    max_size=20,
)


@given(sources)
@example([SpineSource(id="mem_1", part=SpinePart.PROFILE, text="a a", weight=0)])
def test_what_the_rule_writes_is_grounded_and_sourced(material: list[SpineSource]) -> None:
    result = ground_lines(spine_by_rule(material), material)
    assert result.rejected == ()
    known = {one.id for one in material}
    assert all(line.sources and set(line.sources) <= known for lines in result.lines.values() for line in lines)
