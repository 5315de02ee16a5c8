"""No key sees more by one door than by another: a word in every kind of data, looked for through every door.

The HTTP requests are made up from the OpenAPI document; `support/doors.py` has the other doors and says which scope
opens what.
"""

from collections.abc import Iterator

import pytest

from mnemon.access.grants import ALL_GRANTS, PERSONAL_GRANTS, Grant
from support.databases import new_database
from support.doors import OPENED_BY, PlantedHouse
from support.served import served


@pytest.fixture(scope="module")
def house(cluster_url: str, template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlantedHouse]:
    folder = tmp_path_factory.mktemp("doors")
    with new_database(cluster_url, template) as url, served(url, folder) as server:
        planted = PlantedHouse(server)
        planted.plant()
        yield planted


def test_every_word_is_seen_by_a_key_with_every_scope(house: PlantedHouse) -> None:
    seen = house.seen_by(house.server.key("acme"), bound=False)
    missing = set(house.words) - set().union(*seen.values())
    assert missing == set(), "planted where no door looks, so that nothing could be found to leak"
    opened = set().union(*OPENED_BY.values())
    assert set(house.words) - opened == {"rejected"}, "say in support/doors.py which scope opens it"


@pytest.mark.parametrize("grant", sorted(ALL_GRANTS))
def test_a_key_with_one_scope_sees_what_that_opens_and_nothing_else(house: PlantedHouse, grant: Grant) -> None:
    seen = house.seen_by(house.server.key("acme", grants=frozenset({grant})), bound=False)
    leaks = {door: kinds - OPENED_BY[grant] for door, kinds in seen.items() if kinds - OPENED_BY[grant]}
    assert leaks == {}
    assert bool(seen) is bool(OPENED_BY[grant])


@pytest.mark.parametrize("grant", sorted(PERSONAL_GRANTS))
def test_a_bound_key_with_one_scope_sees_no_more(house: PlantedHouse, grant: Grant) -> None:
    own = house.server.key("acme", grants=frozenset({grant}), user="ann")
    seen = house.seen_by(own, bound=True)
    assert {door: kinds - OPENED_BY[grant] for door, kinds in seen.items() if kinds - OPENED_BY[grant]} == {}
    other = house.server.key("acme", grants=frozenset({grant}), user="ben")
    of_others = house.seen_by(other, bound=True)
    assert {door: kinds - {"persona"} for door, kinds in of_others.items() if kinds - {"persona"}} == {}


def test_what_was_rejected_of_the_engagement_needs_its_scope(house: PlantedHouse) -> None:
    reader = house.server.key("acme", grants=frozenset({Grant.MEMORY_READ, Grant.CHAT, Grant.CUSTODY}))
    assert [door for door, kinds in house.seen_by(reader, bound=False).items() if "rejected" in kinds] == []
    both = house.server.key("acme", grants=frozenset({Grant.MEMORY_READ, Grant.ENGAGEMENT_READ}))
    assert any("rejected" in kinds for kinds in house.seen_by(both, bound=False).values())
