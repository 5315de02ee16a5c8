"""The figures of docs/honesty.md are those of the halves of the proposals that nobody tunes on."""

from pathlib import Path

import pytest

from support.proposals import CORPORA, count, reported_half

PAGE = Path(__file__).parents[2] / "docs" / "honesty.md"


@pytest.mark.parametrize("corpus", CORPORA)
def test_the_page_says_how_the_reported_half_is_judged(corpus: str) -> None:
    tallies = {kind: (one.lies, one.lies_let_in, one.honest, one.honest_rejected)
               for kind, one in count(reported_half(corpus)).items()}  # fmt: skip
    together = tuple(map(sum, zip(*tallies.values(), strict=True)))
    table = [
        "| proposals | lies | let in | honest | refused |",
        "|---|---|---|---|---|",
        *(f"| {kind} | {' | '.join(map(str, figures))} |" for kind, figures in tallies.items()),
        f"| **together** | {' | '.join(f'**{figure}**' for figure in together)} |",
    ]
    page = PAGE.read_text(encoding="utf-8")
    shown = page.partition(f"<!-- judged {corpus}: begin -->\n")[2].partition(f"\n<!-- judged {corpus}: end -->")[0]
    assert shown == "\n".join(table)
