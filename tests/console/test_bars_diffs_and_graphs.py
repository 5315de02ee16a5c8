"""The rules behind what is drawn: bars that add up, a graph within its frame, a change told once."""

from hypothesis import given
from hypothesis import strategies as st

from mnemon.console import entity_graph
from mnemon.console.charts import BAR_WIDTH, stacked_bars
from mnemon.console.text_diff import word_diff

ROUNDED = 0.16
"""Places and widths are given to a tenth, so two of them may be off by twice its half, and a float's breath."""
SCORES = st.lists(st.dictionaries(st.sampled_from("abcde"), st.floats(-9, 9), min_size=1), max_size=8)


@given(SCORES)
def test_bars_stand_on_one_scale_within_the_width(scores: list[dict[str, float]]) -> None:
    bars = stacked_bars(scores)
    assert len(bars) == len(scores)
    for bar, score in zip(bars, scores, strict=True):
        assert [one.part for one in bar.segments] == list(score)
        for one in bar.segments:
            assert one.x >= -0.2
            assert one.x + one.width <= BAR_WIDTH + 0.2
            if one.value >= 0:
                assert one.x >= bar.zero - ROUNDED
            else:
                assert one.x + one.width <= bar.zero + ROUNDED


@given(st.text(alphabet="ab \n", max_size=30), st.text(alphabet="ab \n", max_size=30))
def test_a_difference_holds_both_texts(before: str, after: str) -> None:
    pieces = word_diff(before, after)
    assert "".join(text for kind, text in pieces if kind != "ins") == before
    assert "".join(text for kind, text in pieces if kind != "del") == after


def test_neighbouring_changes_are_one() -> None:
    assert word_diff("She sleeps badly now", "She is sleeping now") == [
        ("same", "She "),
        ("del", "sleeps badly"),
        ("ins", "is sleeping"),
        ("same", " now"),
    ]


@given(st.integers(0, 90), st.lists(st.tuples(st.integers(0, 89), st.integers(0, 89), st.integers(1, 9)), max_size=60))
def test_a_graph_stays_in_its_frame_and_is_drawn_the_same_twice(count: int, pairs: list[tuple[int, int, int]]) -> None:
    entities = [(f"person:{n}", f"P{n}", "person", n) for n in range(count)]
    ties = [(f"person:{a}", f"person:{b}", weight) for a, b, weight in pairs if a != b]
    made = entity_graph.draw_graph(entities, ties)
    assert made == entity_graph.draw_graph(entities, ties)
    assert len(made.nodes) == min(count, entity_graph.MAX_NODES)
    assert made.left_out == max(0, count - entity_graph.MAX_NODES)
    for node in made.nodes:
        assert 0 <= node.x <= entity_graph.WIDTH
        assert 0 <= node.y <= entity_graph.HEIGHT


@given(st.integers(1, 70), st.lists(st.tuples(st.integers(0, 69), st.integers(0, 69), st.integers(1, 9)), max_size=40))
def test_whoever_speaks_stands_among_what_they_speak_of(count: int, pairs: list[tuple[int, int, int]]) -> None:
    entities = [(f"person:{n}", f"P{n}", "person", n) for n in range(count)]
    ties = [(f"person:{a}", f"person:{b}", weight) for a, b, weight in pairs if a != b]
    made = entity_graph.draw_graph(entities, ties, hub="mara")
    assert made.hub is not None
    assert len(made.spokes) == len(made.nodes) == min(count, entity_graph.MAX_NODES)
    assert {(one.x1, one.y1) for one in made.spokes} == {(made.hub.x, made.hub.y)}
    assert made.height == (entity_graph.HEIGHT if count > entity_graph.FEW_NODES else entity_graph.LOW_HEIGHT)
    for node in (made.hub, *made.nodes):
        assert 0 <= node.x <= entity_graph.WIDTH
        assert 0 <= node.y <= made.height
    assert entity_graph.draw_graph([], [], hub="mara").hub is None
