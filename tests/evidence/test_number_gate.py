from pathlib import Path

import pytest

from mnemon.evidence.number_gate import number_fault

CASES = [
    tuple(line.split("\t"))
    for line in Path(__file__).with_name("number_cases.tsv").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 150
    assert sum(verdict == "out" for verdict, _, _ in CASES) >= 50


@pytest.mark.parametrize(("verdict", "text", "source"), CASES, ids=[f"{v}: {t}" for v, t, _ in CASES])
def test_number_gate_case(verdict: str, text: str, source: str) -> None:
    fault = number_fault(text, [source])
    assert (fault is None) == (verdict == "in"), fault
