"""A turn's life follows its drawing."""

from itertools import product

import pytest

from mnemon.errors import Conflict
from mnemon.sessions.lifecycle import TurnStatus, become, may_become

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
        assert become(status, following) is following
    else:
        assert not may_become(status, following)
        with pytest.raises(Conflict):
            become(status, following)
