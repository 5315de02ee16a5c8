"""The pack keeps within its budget, cuts what is worth least, and says so."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from mnemon.context.pack import pack_layers
from mnemon.layer import Layer, LayerItem
from mnemon.tokens import estimate_tokens

items = st.builds(
    LayerItem,
    text=st.text(min_size=1, max_size=200),
    value=st.floats(min_value=0, max_value=10),
    sources=st.tuples(st.uuids().map(str)),
    urgent=st.booleans(),
)
layers = st.lists(
    st.builds(
        Layer,
        name=st.sampled_from(["L4", "L5", "L6"]),
        title=st.just("Title"),
        items=st.lists(items, min_size=1, max_size=8).map(tuple),
        budget=st.integers(min_value=20, max_value=300),
        reserve=st.sampled_from([0.0, 0.1, 0.5]),
        ask=st.sampled_from(["", "get_state"]),
    ),
    max_size=4,
)


@given(layers, st.integers(min_value=0, max_value=600))
def test_every_item_is_either_in_the_prompt_or_named_as_left_out(given: list[Layer], budget: int) -> None:
    packed = pack_layers(given, budget)
    shown = [source for layer in packed.layers for source in layer.sources]
    missing = [source for one in packed.left_out for source in one.sources]
    wanted = [source for layer in given for item in layer.items for source in item.sources]
    assert sorted([*shown, *missing]) == sorted(wanted)


@given(layers, st.integers(min_value=0, max_value=600))
def test_the_prompt_keeps_within_its_budget(given: list[Layer], budget: int) -> None:
    packed = pack_layers(given, budget)
    assert packed.tokens <= budget
    assert packed.tokens == sum(layer.tokens for layer in packed.layers) >= estimate_tokens(packed.system)


def test_the_least_valuable_item_goes_first() -> None:
    texts = {name: name * 40 for name in "abc"}
    layer = Layer(
        name="L5",
        title="Memories",
        budget=1000,
        items=(
            LayerItem(text=texts["a"], value=0.9, sources=("a",)),
            LayerItem(text=texts["b"], value=0.1, sources=("b",)),
            LayerItem(text=texts["c"], value=0.5, sources=("c",)),
        ),
    )
    packed = pack_layers([layer], 45)
    assert packed.layers[0].sources == ("a", "c")
    assert [(one.sources, one.why) for one in packed.left_out] == [(("b",), "budget")]


def test_a_layer_over_its_own_budget_says_which_items_it_lost() -> None:
    layer = Layer(
        name="L4", title="You", budget=30, items=(LayerItem(text="x" * 400, sources=("m",)), LayerItem(text="short"))
    )
    packed = pack_layers([layer], 1000)
    assert "short" in packed.system
    assert [one.why for one in packed.left_out] == ["layer_budget"]


def test_an_opening_without_items_is_shown_and_one_whose_items_were_cut_is_not() -> None:
    preamble = Layer(name="L8", title="Engagement", opening="This is the first session.")
    emptied = Layer(name="L5", title="Memories", opening="Known:", items=(LayerItem(text="y" * 4000),))
    system = pack_layers([preamble, emptied], 1000).system
    assert "first session" in system
    assert "Known" not in system


@given(st.text())
def test_the_estimate_grows_with_the_text(text: str) -> None:
    assert estimate_tokens(text) <= estimate_tokens(text + "more")
    assert (estimate_tokens(text) == 0) == (text == "")


def test_an_item_that_needs_another_is_there_only_beside_it() -> None:
    fact = LayerItem(text="The account is DE11. " * 20, sources=("mem_1",), value=6.0)
    claim = LayerItem(text="The account is DE99.", sources=("mem_2",), value=9.0, needs="mem_1")
    other = LayerItem(text="Lives in Rome.", sources=("mem_3",), value=5.0)
    for budget in range(20, 400, 7):
        layer = Layer(name="L5", title="Relevant", items=(fact, claim, other), budget=budget)
        for packed in (pack_layers([layer], 10_000), pack_layers([replace(layer, budget=400)], budget)):
            shown = packed.layers[0].sources if packed.layers else ()
            assert "mem_2" not in shown or "mem_1" in shown
            assert sum(len(one.sources) for one in packed.left_out) + len(shown) == 3


def worth(value: float, number: int, *, urgent: bool = False) -> tuple[LayerItem, ...]:
    return tuple(
        LayerItem(text=f"{value} {place} {'x' * 60}", value=value, sources=(f"{value}/{place}",), urgent=urgent)
        for place in range(number)
    )


def test_a_layer_keeps_its_reserve_beside_others_that_are_worth_more() -> None:
    liked = Layer(name="L4", title="You", budget=1000, items=worth(9.0, 20))
    state = Layer(name="L7", title="State", budget=1000, items=worth(1.0, 10), reserve=0.3)
    packed = {one.name: one for one in pack_layers([liked, state], 200).layers}
    assert 2 <= len(packed["L7"].sources) <= 4
    alone = {one.name for one in pack_layers([liked, replace(state, reserve=0.0)], 200).layers}
    assert alone == {"L4"}


def test_what_is_urgent_outlives_everything_else() -> None:
    liked = Layer(name="L4", title="You", budget=1000, items=worth(9.0, 20), reserve=0.5)
    state = Layer(name="L7", title="State", budget=1000, items=(*worth(2.0, 9), *worth(0.1, 1, urgent=True)))
    for budget in range(60, 600, 20):
        shown = [source for one in pack_layers([liked, state], budget).layers for source in one.sources]
        assert "0.1/0" in shown


@given(layers, st.integers(min_value=0, max_value=600))
def test_nothing_urgent_is_cut_while_something_else_of_it_is_left(given: list[Layer], budget: int) -> None:
    packed = pack_layers(given, budget)
    urgent = {item.sources[0] for layer in given for item in layer.items if item.urgent}
    cut = {one.sources[0] for one in packed.left_out if one.why == "budget"}
    shown = {source for layer in packed.layers for source in layer.sources}
    assert not (cut & urgent) or shown <= urgent


def test_a_layer_says_how_much_it_does_not_show_and_whom_to_ask() -> None:
    state = Layer(name="L7", title="State", budget=1000, items=worth(1.0, 10), ask="get_state")
    cut = pack_layers([state], 120)
    hidden = 10 - len(cut.layers[0].sources)
    assert cut.system.endswith(f"{hidden} more are not shown: ask with get_state.")
    assert "not shown" not in pack_layers([state], 1000).system
