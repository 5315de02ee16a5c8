"""What the program says of arguments and variables that nothing could print or store."""

import os
import sys

import pytest

from mnemon.cli.main import main

BAD = os.fsdecode(b"x\x9b")


@pytest.mark.parametrize(
    ("words", "variables", "named"),
    [
        (["remember", BAD, "--user", "t"], {}, "argument 2"),
        (["keys", "create", f"--name={BAD}"], {}, "argument 3"),
        (["recall", "x"], {"MNEMON_USER": BAD}, "MNEMON_USER"),
        (["recall", "x"], {f"MNEMON_{BAD}": BAD}, r"MNEMON_x\udc9b"),
    ],
)
def test_what_is_not_utf_8_is_refused_in_a_sentence(
    words: list[str],
    variables: dict[str, str],
    named: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["mnemon", *words])
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert capfd.readouterr().err == f"error {named} is not UTF-8. Write it in UTF-8, or leave it out.\n"
