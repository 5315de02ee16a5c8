"""Which operating system users the embedded PostgreSQL lets in."""

import os

import pytest

from mnemon.db.embedded.configuration import allowed_users
from mnemon.db.embedded.programs import SystemAccount


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
    assert allowed_users(SystemAccount(uid=4711, gid=4711, name=name)) == expected
