"""The spine: four sections, made only from what every persona may know, each line with its sources."""

from datetime import UTC, datetime

from hypothesis import example, given
from hypothesis import strategies as st

from mnemon.memory.spine import Part, Source, Spine, SpineVersion, by_rule, due, grounded, without

MATERIAL = [
    Source(id="mem_1", part=Part.PROFILE, text="Lives in Austin, Texas", weight=2),
    Source(id="mem_2", part=Part.PEOPLE, text="John is my cofounder; handles backend", weight=2),
    Source(id="mem_3", part=Part.PROJECTS, text="Working on dashboard redesign", weight=1),
    Source(id="tod_1", part=Part.OPEN_LOOPS, text="Call the accountant", weight=1),
]


def test_it_is_due_when_more_than_twenty_messages_came() -> None:
    assert not due(20)
    assert due(21)


def test_by_rule_it_is_what_is_known_word_for_word() -> None:
    spine = by_rule(MATERIAL)
    assert spine.PROFILE == ["Lives in Austin, Texas"]
    assert spine.OPEN_LOOPS == ["Call the accountant"]


def test_each_line_names_what_it_was_made_from() -> None:
    lines = grounded(Spine(PROFILE=["Lives in Austin"], PEOPLE=["John, cofounder, backend"]), MATERIAL).lines
    assert lines[Part.PROFILE][0].sources == ("mem_1",)
    assert lines[Part.PEOPLE][0].sources == ("mem_2",)


def test_a_line_that_nobody_said_is_rejected() -> None:
    result = grounded(Spine(PROFILE=["Owns a yacht in Monaco"], PROJECTS=["dashboard redesign, 40% done"]), MATERIAL)
    assert not any(result.lines.values())
    assert len(result.rejected) == 2


def test_forgetting_a_source_drops_its_lines_and_no_other() -> None:
    lines = grounded(by_rule(MATERIAL), MATERIAL).lines
    version = SpineVersion(
        version=1,
        lines=lines,
        message_count=21,
        total_messages=21,
        at=datetime(2026, 4, 12, tzinfo=UTC),
        made_by="offline",
    )
    left = without(version, ["mem_2"])
    assert left.lines[Part.PEOPLE] == ()
    assert left.lines[Part.PROFILE] == lines[Part.PROFILE]
    assert "mem_2" not in left.sources


sources = st.lists(
    st.builds(
        Source,
        id=st.uuids().map(str),
        part=st.sampled_from(Part),
        text=st.text(alphabet="abc def", min_size=3, max_size=40).filter(lambda t: t.strip()),
        weight=st.floats(0, 4),
    ),
    max_size=20,
)


@given(sources)
@example([Source(id="mem_1", part=Part.PROFILE, text="a a", weight=0)])
def test_what_the_rule_writes_is_grounded_and_sourced(material: list[Source]) -> None:
    result = grounded(by_rule(material), material)
    assert result.rejected == ()
    known = {one.id for one in material}
    assert all(line.sources and set(line.sources) <= known for lines in result.lines.values() for line in lines)
