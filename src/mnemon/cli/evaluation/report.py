"""The score of `mnemon eval` as rows for a table and as JSON."""

from collections.abc import Iterator
from typing import Any

from mnemon.cli.evaluation.scoring import Score, share


def report_rows(score: Score) -> Iterator[tuple[str, str, str]]:
    """Yield the rows of the table: what is measured, the figure, and the counts behind it."""
    turns = max(1, score.turns)
    yield "Memory precision", _ratio(score.precision), f"{score.right} of {score.kept} memories tell a labelled fact"
    yield "Memory recall", _ratio(score.recall), f"{score.found} of {score.told} labelled facts are told"
    yield (
        "Recall in follow-ups",
        _ratio(share(score.followed_found, score.followed)),
        f"{score.followed_found} of {score.followed} facts of turns that need the turn before",
    )
    yield "Junk", str(score.junk), "memories and todos that tell nothing labelled"
    yield "Traps left alone", f"{score.traps_clean} of {score.traps}", "turns of which nothing is worth keeping"
    yield (
        "Contradictions left standing",
        f"{score.standing} of {score.ended}",
        "memories of what ended that are still current",
    )
    yield "Figures without source", str(score.unsourced), "in memories, todos and evidence"
    yield "Confidences leaked", f"{score.leaked} of {score.private}", "memories not kept for the persona alone"
    yield "Todo precision", _ratio(share(score.todos_right, score.todos_kept)), f"{score.todos_kept} todos opened"
    yield "Todo recall", _ratio(share(score.todos_found, score.todos_told)), f"{score.todos_told} todos labelled"
    yield "Todos closed", f"{score.closed} of {score.closings}", "open todos that the person calls done or dropped"
    yield "Evidence found", f"{score.evidence_found} of {score.evidence_told}", "lines in the engagement"
    yield "Unknowns found", f"{score.unknowns_found} of {score.unknowns_told}", "open questions of the engagement"
    yield "Expectations found", f"{score.expectations_found} of {score.expectations_told}", "of the agent's actions"
    yield "Rejected by the gates", str(score.rejected), f"{score.repaired} more were repaired by the model"
    yield "Turns that failed", str(score.failed), f"{score.parked} of them parked"
    yield (
        "Tokens per turn",
        f"{score.input_tokens / turns:,.0f} + {score.output_tokens / turns:,.0f}",
        f"input and output; {score.cached_tokens / turns:,.0f} of the input cached; {score.calls / turns:.1f} calls",
    )
    yield "Seconds per turn", f"{score.seconds / turns:.2f}", f"{score.slowest:.1f} the slowest"


def report_json(score: Score, *, model: str, calls: str) -> dict[str, Any]:
    """Return the score as JSON: the shares, all counts behind them, and what was measured."""
    turns = max(1, score.turns)
    return {
        "model": model,
        "reflectionCalls": calls,
        "precision": _rounded(score.precision),
        "recall": _rounded(score.recall),
        "followUpRecall": _rounded(share(score.followed_found, score.followed)),
        "todoPrecision": _rounded(share(score.todos_right, score.todos_kept)),
        "todoRecall": _rounded(share(score.todos_found, score.todos_told)),
        "secondsPerTurn": round(score.seconds / turns, 3),
        "inputTokensPerTurn": round(score.input_tokens / turns, 1),
        "outputTokensPerTurn": round(score.output_tokens / turns, 1),
        "cachedTokensPerTurn": round(score.cached_tokens / turns, 1),
        **{_camel(name): round(value, 3) for name, value in vars(score).items()},
    }


def _ratio(value: float | None) -> str:
    """Return a share with two decimals; a dash where there is none."""
    return "–" if value is None else f"{value:.2f}"


def _rounded(value: float | None) -> float | None:
    """Return a share with four decimals; None where there is none."""
    return None if value is None else round(value, 4)


def _camel(name: str) -> str:
    """Return the name of a field as JSON spells it: `todos_kept` as `todosKept`."""
    first, *others = name.split("_")
    return first + "".join(part.capitalize() for part in others)
