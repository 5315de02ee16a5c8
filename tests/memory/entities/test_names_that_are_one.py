"""The sixty pairs that must merge, the sixty that must not, and what holds for any two names."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory.entities.name_pairs import DIFFERENT, SAME, About, Pair
from mnemon.memory.entities.matching import EntityCandidate, NameLikeness, PairVerdict, judge_pair
from mnemon.memory.entities.proposals import propose_merges
from mnemon.memory.entities.surroundings import EntityFact, Surroundings
from mnemon.memory.fact import EntityType
from mnemon.memory.keys import make_slug
from mnemon.memory.trust import Trust


def entity(kind: str, label: str, facts: Sequence[About] = ()) -> EntityCandidate:
    known = tuple(
        EntityFact(content=f) if isinstance(f, str) else EntityFact(attribute=f[0], content=f[1]) for f in facts
    )
    return EntityCandidate(
        key=f"{kind}:{make_slug(label)}", type=EntityType(kind), label=label, surroundings=Surroundings(facts=known)
    )


def verdict_of(pair: Pair) -> PairVerdict:
    kind, one, about_one, two, about_two = pair
    return judge_pair(entity(kind, one, about_one), entity(kind, two, about_two)).verdict


def test_there_are_sixty_pairs_of_each_kind() -> None:
    assert (len(SAME), len(DIFFERENT)) == (60, 60)


@pytest.mark.parametrize("pair", DIFFERENT, ids=lambda pair: f"{pair[1]}/{pair[3]}")
def test_different_entities_never_merge_by_themselves(pair: Pair) -> None:
    assert verdict_of(pair) is not PairVerdict.MERGE


@pytest.mark.parametrize("pair", SAME, ids=lambda pair: f"{pair[1]}/{pair[3]}")
def test_one_entity_is_at_least_suggested(pair: Pair) -> None:
    assert verdict_of(pair) is not PairVerdict.APART


def test_nine_in_ten_of_the_clear_cases_merge_by_themselves() -> None:
    counted = Counter(verdict_of(pair) for pair in SAME)
    assert counted[PairVerdict.MERGE] >= 54


def test_suggestions_do_not_drown_the_reader() -> None:
    counted = Counter(verdict_of(pair) for pair in DIFFERENT)
    assert counted[PairVerdict.SUGGEST] <= 3


@pytest.mark.parametrize(
    ("one", "two"),
    [("Devin", "Devon"), ("Kiran", "Karan"), ("Milena", "Milana"), ("Marlon", "Merlin"), ("Arjun", "Arun")],
)
def test_names_outside_the_tables_with_other_vowels_are_never_sure(one: str, two: str) -> None:
    fact = "{} runs the billing team at Acme in Denver"
    judged = judge_pair(entity("person", one, [fact.format(one)]), entity("person", two, [fact.format(two)]))
    assert judged.verdict is not PairVerdict.MERGE


def test_two_who_are_named_together_are_two() -> None:
    one = entity("person", "Makesh", ["Makesh and Mukesh share the backend"])
    two = entity("person", "Mukesh", ["Mukesh handles the backend"])
    assert judge_pair(one, two).verdict is PairVerdict.APART


def test_a_first_name_that_fits_two_people_is_only_suggested() -> None:
    facts = ["{} is on the parents board in Leeds"]
    everyone = [
        entity("person", name, [fact.format(name) for fact in facts]) for name in ("Tom", "Tom Ashworth", "Tom Baker")
    ]
    proposals = propose_merges(everyone)
    assert {p.judgement.verdict for p in proposals} == {PairVerdict.SUGGEST}
    assert {(p.source, p.into) for p in proposals} == {
        ("person:tom", "person:tom_ashworth"),
        ("person:tom", "person:tom_baker"),
    }


def test_a_pair_that_a_person_split_is_not_proposed_again() -> None:
    everyone = [entity("org", "Acme"), entity("org", "Acme Corp")]
    assert [p.judgement.verdict for p in propose_merges(everyone)] == [PairVerdict.MERGE]
    assert propose_merges(everyone, frozenset({frozenset({"org:acme", "org:acme_corp"})})) == []


names = st.one_of(
    st.text(min_size=1, max_size=20),
    st.sampled_from([label for pair in (*SAME, *DIFFERENT) for label in (pair[1], pair[3])]),
)
kinds = st.sampled_from([kind.value for kind in EntityType])
facts = st.lists(st.text(max_size=40), max_size=3)


@given(kinds, names, facts, names, facts)
def test_the_order_of_the_two_does_not_matter(
    kind: str, one: str, about_one: list[str], two: str, about_two: list[str]
) -> None:
    first, second = entity(kind, one, about_one), entity(kind, two, about_two)
    assert judge_pair(first, second) == judge_pair(second, first)


@example("place", ",A")
@example("place", ":,,A")
@given(kinds, names)
def test_a_name_is_like_itself(kind: str, name: str) -> None:
    judged = judge_pair(entity(kind, name), entity(kind, name))
    assert judged.likeness in {NameLikeness.SAME, NameLikeness.OTHER}
    if any(character.isalpha() for character in name):
        assert judged.likeness is NameLikeness.SAME


@given(names, names)
def test_entities_of_different_kinds_stay_apart(one: str, two: str) -> None:
    assert judge_pair(entity("person", one), entity("org", two)).verdict is PairVerdict.APART


@given(st.lists(st.tuples(kinds, names), max_size=12))
def test_nothing_merges_that_is_judged_apart(named: list[tuple[str, str]]) -> None:
    everyone = list({candidate.key: candidate for candidate in (entity(*one) for one in named)}.values())
    by_key = {candidate.key: candidate for candidate in everyone}
    for proposal in propose_merges(everyone):
        assert judge_pair(by_key[proposal.source], by_key[proposal.into]).verdict is not PairVerdict.APART


def test_a_name_that_only_a_less_trusted_source_speaks_of_is_suggested_not_merged() -> None:
    """Otherwise a tool's result could put its facts on the card of whom the person speaks of, under a name it chose."""
    own = EntityCandidate(key="org:acme", type=EntityType.ORG, label="Acme")
    other = EntityCandidate(key="org:acme_corp", type=EntityType.ORG, label="Acme Corp", trust=Trust.TOOL)
    [proposal] = propose_merges([own, other])
    assert proposal.judgement.verdict is PairVerdict.SUGGEST
    assert "less trusted source" in proposal.judgement.reasons[-1]
    alike = [replace(own, trust=Trust.TOOL), other]
    assert [one.judgement.verdict for one in propose_merges(alike)] == [PairVerdict.MERGE]
