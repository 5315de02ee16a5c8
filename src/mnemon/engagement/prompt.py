"""What the reflection asks for the engagement: instructions, a worked example, and the schema of the answer as sent.

The schema is flatter than the shape in which an answer is read (`proposal.py`): evidence for a new hypothesis stands
among the other evidence and names it by its place in `form`, as N1, N2, …
"""

from mnemon.evidence.confidence import Stance, Strength
from mnemon.llm.answer_schema import BOOLEAN, OPTIONAL_TEXT, TEXT, closed_object, list_of, one_of, optional

ENGAGEMENT_SCHEMA = optional(
    closed_object(
        form=list_of(closed_object(statement=TEXT, falsifiedBy=TEXT)),
        evidence=list_of(
            closed_object(
                hypothesis=TEXT,
                quote=TEXT,
                line=TEXT,
                source=TEXT,
                stance=one_of(tuple(Stance)),
                strength=one_of(tuple(Strength)),
                resolves=list_of(TEXT),
            )
        ),
        wouldResolve=list_of(closed_object(hypothesis=TEXT, text=TEXT)),
        unknowns=list_of(closed_object(question=TEXT, whyItMatters=TEXT)),
        answered=list_of(closed_object(unknown=TEXT, quote=TEXT)),
        archive=list_of(closed_object(hypothesis=TEXT, note=TEXT, supersededBy=OPTIONAL_TEXT)),
        week=optional(closed_object(advance=BOOLEAN, reason=TEXT)),
    )
)
"""The section `engagement` as it is sent."""

INSTRUCTIONS = """\
What is believed about the organization's situation. Propose only what this turn changes; null if nothing does.
- form: a new claim that can be shown wrong (falsifiedBy says by what). It needs evidence in this turn: in evidence \
it is called N1, the next new one N2. Form an archived claim again only if this turn says something new of it.
- evidence: for or against a claim (hypothesis: N1, or a handle like H1). quote: the words that say it, copied from \
the person's message or a tool result. line: one short sentence that says who said it and no more than the quote. \
source: whose words they are, the speaker or somebody they say told them. stance: supports or contradicts. strength: \
weak (hearsay), moderate (a first-hand account) or strong (a document, a measurement, a decision). resolves: \
outstanding contradictions that it settles, like E1.
- wouldResolve: what would settle the mixed evidence of a claim.
- unknowns: a new question whose answer would change the recommendation, and why it matters.
- answered: an unknown, like U1, that a quote of this turn answers.
- archive: a claim that an outstanding contradiction has disproved, or that supersededBy replaces; note says why.
- week: advance only when the work of this week is done, with the reason; else null.
A figure may stand only if the quoted message has it. State no confidence. Nothing from what the assistant said.
Example. "H1: Orders arrive late because of customs" is held. Ann says: "Customs cleared all of May within a day. Bob \
says the depot is short of drivers."
{"engagement": {"form": [{"statement": "Orders are late because the depot is short of drivers", "falsifiedBy": "A \
depot with enough drivers that is late too"}], "evidence": [{"hypothesis": "H1", "quote": "Customs cleared all of May \
within a day", "line": "Ann says that customs cleared all of May within a day.", "source": "Ann", "stance": \
"contradicts", "strength": "moderate", "resolves": []}, {"hypothesis": "N1", "quote": "Bob says the depot is short of \
drivers", "line": "Bob says that the depot is short of drivers.", "source": "Bob", "stance": "supports", "strength": \
"weak", "resolves": []}], "wouldResolve": [], "unknowns": [], "answered": [], "archive": [], "week": null}}"""
"""The section's instructions."""
