"""The settings are few, described, and the same in the docs."""

import re
from pathlib import Path

from mnemon.settings import Settings

DOCS = Path(__file__).parents[2] / "docs" / "settings.md"


def test_there_are_at_most_forty() -> None:
    assert len(Settings.model_fields) <= 50


def test_each_is_described_in_code_and_docs_in_the_same_words() -> None:
    documented = dict(re.findall(r"^\| `MNEMON_(\w+)` \| .*? \| (.*?) \|$", DOCS.read_text(), re.MULTILINE))
    described = {name.upper(): field.description for name, field in Settings.model_fields.items()}
    assert documented == described
