"""Aliases: a merge is one link, a split takes exactly that link away."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from mnemon.memory.entities.aliases import Aliases, AliasLink

keys = st.sampled_from([f"person:{letter}" for letter in "abcdefg"])
merges = st.lists(st.tuples(keys, keys), max_size=12)


def after(pairs: Iterable[tuple[str, str]]) -> Aliases:
    aliases = Aliases()
    for number, (source, into) in enumerate(pairs):
        link = aliases.link_for(source, into, f"mrg_{number:03}", "person")
        aliases = aliases.with_link(link) if link else aliases
    return aliases


def test_a_merge_makes_one_key_read_as_the_other() -> None:
    aliases = after([("person:makesh", "person:mukesh")])
    assert aliases.resolve("person:makesh") == "person:mukesh"
    assert aliases.member_keys("person:makesh") == ("person:mukesh", "person:makesh")


def test_a_key_nobody_merged_reads_as_itself() -> None:
    assert Aliases().resolve("org:acme") == "org:acme"
    assert Aliases().member_keys("org:acme") == ("org:acme",)


def test_merging_what_is_one_already_changes_nothing() -> None:
    assert after([("person:a", "person:b")]).link_for("person:b", "person:a", "mrg_9", "person") is None


def test_splitting_a_group_that_was_merged_as_a_whole_keeps_the_group() -> None:
    aliases = after([("person:a", "person:b"), ("person:b", "person:c")])
    link = aliases.link_to_undo("person:c", "person:b")
    assert link
    split = aliases.without_link(link)
    assert split.resolve("person:a") == "person:b"
    assert split.resolve("person:c") == "person:c"


def test_a_merge_that_named_a_member_is_undone_by_naming_it() -> None:
    aliases = after([("person:a", "person:b"), ("person:a", "person:c")])
    link = aliases.link_to_undo("person:c", "person:a")
    assert link
    assert link.alias == "person:b"
    assert aliases.without_link(link) == after([("person:a", "person:b")])


def test_naming_the_two_the_other_way_round_undoes_their_merge_too() -> None:
    aliases = after([("person:john", "person:jon")])
    link = aliases.link_to_undo("person:john", "person:jon")
    assert link
    assert aliases.without_link(link) == Aliases.from_links([])


def test_there_is_nothing_to_undo_between_strangers() -> None:
    assert after([("person:a", "person:b")]).link_to_undo("person:c", "person:a") is None


@given(merges, keys, keys)
def test_a_merge_followed_by_its_split_is_as_if_nothing_happened(
    before: list[tuple[str, str]], source: str, into: str
) -> None:
    aliases = after(before)
    link = aliases.link_for(source, into, "mrg_999", "person")
    if link is None:
        assert aliases.resolve(source) == aliases.resolve(into)
        return
    merged = aliases.with_link(link)
    assert merged.link_to_undo(into, source) == link
    assert merged.without_link(link) == aliases


@given(merges, keys)
def test_resolving_ends_and_is_stable(pairs: list[tuple[str, str]], key: str) -> None:
    aliases = after(pairs)
    root = aliases.resolve(key)
    assert aliases.resolve(root) == root
    assert set(aliases.member_keys(key)) >= {key, root}


class CountedLinks(dict[str, AliasLink]):
    """Links that count how often they are asked for."""

    asked = 0

    def __contains__(self, key: object) -> bool:
        self.asked += 1
        return super().__contains__(key)


def link(alias: str, target: str) -> AliasLink:
    return AliasLink(alias=alias, target=target, asked_from=alias, merge_id="mrg")


def test_a_long_chain_is_followed_once() -> None:
    def asked(length: int) -> int:
        links = CountedLinks({f"k{n}": link(f"k{n}", f"k{n + 1}") for n in range(length)})
        aliases = Aliases(links)
        assert {aliases.resolve(f"k{n}") for n in range(length)} == {f"k{length}"}
        assert len(aliases.member_keys("k0")) == length + 1
        return links.asked

    assert asked(4_000) <= 4.2 * asked(1_000)


def test_a_circle_which_no_merge_makes_ends() -> None:
    aliases = Aliases.from_links([link("a", "b"), link("b", "a")])
    assert aliases.resolve("a") == aliases.resolve("b")
    assert set(aliases.member_keys("a")) == {"a", "b"}
    assert aliases.link_to_undo("a", "b") is None
