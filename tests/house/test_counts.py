"""The counts in docs/security.md are those of the code."""

import re
from collections import Counter
from pathlib import Path

from fastapi import FastAPI

from mnemon.api.routers import API_ROUTERS
from support.growth import UNITS, readers
from support.openapi import operations
from support.poison.cases import all_cases

SECURITY = (Path(__file__).parents[2] / "docs" / "security.md").read_text(encoding="utf-8")


def number_before(words: str) -> int:
    """The one number that stands before these words in docs/security.md."""
    (found,) = re.findall(rf"\b([\d,]+) {words}", SECURITY)
    return int(found.replace(",", ""))


def test_the_operations_are_counted() -> None:
    app = FastAPI()
    for router in API_ROUTERS:
        app.include_router(router)
    assert number_before("operations of the OpenAPI document") == len(list(operations(app.openapi(), {})))


def test_the_readers_of_outside_text_are_counted() -> None:
    assert number_before("marked functions") == len(readers())
    assert number_before("repeated units") == len(UNITS)


def test_the_poisoning_cases_are_counted() -> None:
    cases = all_cases()
    rows = re.findall(r"^\| ([a-z -]+) \| (\d+) \| 0 \| 0 \|$", SECURITY, re.MULTILINE)
    in_docs = {name.replace("the ", "").replace(" ", "_").replace("-", "_"): int(count) for name, count in rows}
    assert in_docs == Counter(case.technique for case in cases)
    assert f"| **together** | **{len(cases)}** |" in SECURITY
