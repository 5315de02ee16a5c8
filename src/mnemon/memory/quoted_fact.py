"""Facts that a model states with a quote: whether the quote supports them, and in which words they are kept.

The reflection and the tool `remember` both go through here, so that a model gets nothing in by one that the other
rejects.
"""

from collections.abc import Sequence

from mnemon.db.tx import Tx
from mnemon.evidence.number_gate import restore_figures
from mnemon.evidence.quote_gate import Quotation
from mnemon.evidence.statement import StatementKind, StatementSubject
from mnemon.evidence.support import support_fault
from mnemon.memory import store
from mnemon.memory.fact import EntityType, FactEntity
from mnemon.memory.keys import SELF
from mnemon.scope import Scope
from mnemon.turn import Turn

MOST_NAMES = 40
"""Names in use that a model is shown and may use in a fact."""


async def load_known_labels(tx: Tx, scope: Scope) -> tuple[str, ...]:
    """Return the labels of entities on record, which a fact may use though its quote does not."""
    used = await store.names_in_use(tx, scope, most=MOST_NAMES)
    return tuple(label for label, _ in used if label)


def quoted_fact_fault(
    content: str, entity: FactEntity | None, found: Quotation, turn: Turn, known: Sequence[str]
) -> str | None:
    """Return why the quote does not support the fact, in words that help to mend it; None when it does."""
    if entity is not None and entity.label.casefold() == SELF:
        entity = None
    subject = StatementSubject(
        speaker=(turn.user_name, found.passage.who),
        entity=entity.label if entity else None,
        entity_is_person=entity is not None and entity.type is EntityType.PERSON,
        known=known,
    )
    return support_fault(content, [found], StatementKind.FACT, subject)


def stored_content(content: str, found: Quotation) -> str:
    """Return the fact as it is stored: rounded figures replaced by the source's exact ones."""
    return restore_figures(content, [found.passage.text])
