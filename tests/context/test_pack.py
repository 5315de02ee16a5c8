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
)
layers = st.lists(
    st.builds(
        Layer,
        name=st.sampled_from(["L4", "L5", "L6"]),
        title=st.just("Title"),
        items=st.lists(items, min_size=1, max_size=8).map(tuple),
        budget=st.integers(min_value=20, max_value=300),
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
