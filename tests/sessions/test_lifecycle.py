"""A turn's life follows its drawing."""

from itertools import product

import pytest

from mnemon.errors import Conflict
from mnemon.sessions.lifecycle import TurnStatus, may_become, require_transition

DRAWN = {
    ("answering", "answered"),
    ("answering", "interrupted"),
    ("answering", "failed"),
    ("interrupted", "answered"),
    ("interrupted", "answering"),
    ("failed", "answering"),
}


@pytest.mark.parametrize(("status", "following"), list(product(TurnStatus, TurnStatus)))
def test_only_drawn_steps_are_possible(status: TurnStatus, following: TurnStatus) -> None:
    if (status.value, following.value) in DRAWN:
        assert require_transition(status, following) is following
    else:
        assert not may_become(status, following)
        with pytest.raises(Conflict):
            require_transition(status, following)
