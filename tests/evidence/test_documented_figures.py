"""The figures of docs/honesty.md are those of the half of the proposals that nobody tunes on."""

from pathlib import Path

from support.proposals import count, reported_half

PAGE = Path(__file__).parents[2] / "docs" / "honesty.md"


def test_the_page_says_how_the_reported_half_is_judged() -> None:
    tallies = {kind: (one.lies, one.lies_let_in, one.honest, one.honest_rejected)
               for kind, one in count(reported_half()).items()}  # fmt: skip
    together = tuple(map(sum, zip(*tallies.values(), strict=True)))
    table = [
        "| proposals | lies | let in | honest | refused |",
        "|---|---|---|---|---|",
        *(f"| {kind} | {' | '.join(map(str, figures))} |" for kind, figures in tallies.items()),
        f"| **together** | {' | '.join(f'**{figure}**' for figure in together)} |",
    ]
    page = PAGE.read_text(encoding="utf-8")
    shown = page.partition("<!-- judged: begin -->\n")[2].partition("\n<!-- judged: end -->")[0]
    assert shown == "\n".join(table)
