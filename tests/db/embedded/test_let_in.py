"""Which operating system users the embedded PostgreSQL lets in."""

import os

import pytest

from mnemon.db.embedded.account import Account
from mnemon.db.embedded.configuration import let_in


@pytest.mark.parametrize(
    ("name", "ours", "expected"),
    [
        ("ann", True, ("ann", "root")),
        ("ann", False, ("ann", "root")),
        ("nobody", True, ("nobody", "root")),
        ("nobody", False, ("root",)),
    ],
)
def test_the_clusters_own_user_and_root_and_nobody_only_as_ourselves(
    name: str, ours: bool, expected: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 4711 if ours else 0)
    assert let_in(Account(uid=4711, gid=4711, name=name)) == expected
