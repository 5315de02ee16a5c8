"""Facts that a model states with a quote: whether the quote supports them, and in which words they are kept.

The reflection and the tool `remember` both go through here, so that a model gets nothing in by one that the other
rejects.
"""

import re
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

_VERB_FIRST = re.compile(r"(?:Is|Was|Has|Had|Does|Did|Can|Will|[A-Z][a-z]{1,20}(?:s|ed))\s+\w")
"""A verb of the third person at the beginning: "Is a vet", "Handles", "Moved"."""
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
    if subject.entity_is_person and subject.entity and _lacks_subject(content, subject.entity):
        # Beside an entity "Handles the backend" says what "John handles the backend" says, and is judged as that.
        content = f"{subject.entity} {content[:1].lower()}{content[1:]}"
    return support_fault(content, [found], StatementKind.FACT, subject)


def _lacks_subject(content: str, label: str) -> bool:
    """Say whether a fact begins with its verb, as "Works at Acme" does, and leaves out whom it is about."""
    return label.casefold() not in content.casefold() and _VERB_FIRST.match(content) is not None


def stored_content(content: str, found: Quotation) -> str:
    """Return the fact as it is stored: rounded figures replaced by the source's exact ones."""
    return restore_figures(content, [found.passage.text])
