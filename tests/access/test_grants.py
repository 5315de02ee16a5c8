"""What a key may have, by its kind and by who makes it."""

from datetime import UTC, datetime, timedelta

import pytest

from mnemon.access.grants import (
    ALL_GRANTS,
    PERSONAL_GRANTS,
    Grant,
    Principal,
    effective_grants,
    grants_of_new_key,
    parse_grants,
    stored_grants,
)
from mnemon.access.idempotency import request_fingerprint
from mnemon.access.keys import limit_to_maker
from mnemon.errors import Invalid, NotAllowed

NOW = datetime(2026, 4, 12, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.mark.parametrize("words", [[], [""], [" ", ""]])
def test_no_words_are_a_slip_and_never_everything(words: list[str]) -> None:
    with pytest.raises(Invalid) as refused:
        parse_grants(words)
    assert refused.value.code == "scopes_missing"


def test_no_grants_leave_the_choice_to_the_kind_of_key() -> None:
    assert parse_grants([" chat"]) == frozenset({Grant.CHAT})
    assert grants_of_new_key(None, bound=False) == ALL_GRANTS
    assert grants_of_new_key(None, bound=True) == PERSONAL_GRANTS - {Grant.AGENT_STATE_READ, Grant.AGENT_STATE_WRITE}
    assert Grant.AGENT_STATE_READ in grants_of_new_key(frozenset({Grant.AGENT_STATE_READ}), bound=True)


@pytest.mark.parametrize("grant", sorted(ALL_GRANTS - PERSONAL_GRANTS))
def test_a_bound_key_cannot_have_what_concerns_the_organization(grant: Grant) -> None:
    with pytest.raises(Invalid) as refused:
        grants_of_new_key(frozenset({Grant.CHAT, grant}), bound=True)
    assert refused.value.code == "scope_not_for_bound_key"
    assert grant in refused.value.detail
    assert grants_of_new_key(frozenset({grant}), bound=False) == {grant}
    assert effective_grants(frozenset({Grant.CHAT, grant}), bound=True) == {Grant.CHAT}
    assert effective_grants(frozenset({Grant.CHAT, grant}), bound=False) == {Grant.CHAT, grant}


def test_a_word_of_another_version_gives_nothing() -> None:
    assert stored_grants(["chat", "dreams:write"]) == {Grant.CHAT}


def test_a_maker_gives_away_no_more_than_they_have_and_for_no_longer() -> None:
    few = frozenset({Grant.ADMIN, Grant.CHAT})
    maker = Principal(org_id="acme", key_id="key_1", grants=few, expires_at=NOW + DAY)
    assert limit_to_maker(maker, ALL_GRANTS, None, named=False) == (few, NOW + DAY)
    assert limit_to_maker(maker, frozenset({Grant.CHAT}), NOW, named=True) == (frozenset({Grant.CHAT}), NOW)
    with pytest.raises(NotAllowed, match="custody"):
        limit_to_maker(maker, frozenset({Grant.CUSTODY}), None, named=True)
    with pytest.raises(NotAllowed, match="2026-04-13"):
        limit_to_maker(maker, few, NOW + 2 * DAY, named=True)


def test_the_operator_gives_everything_for_ever() -> None:
    operator = Principal(org_id="acme", key_id="operator", grants=ALL_GRANTS)
    assert limit_to_maker(operator, ALL_GRANTS, None, named=False) == (ALL_GRANTS, None)


def test_a_query_string_makes_another_request() -> None:
    asked = [("userId=ann", b"x"), ("userId=ben", b"x"), ("", b"x"), ("", b"userId=ann\0x"), ("userId=ann", b"")]
    assert len({request_fingerprint("POST", "/api/import", query, body) for query, body in asked}) == len(asked)
    assert request_fingerprint("POST", "/api/import", "a=1", b"x") == request_fingerprint(
        "POST", "/api/import", "a=1", b"x"
    )
