"""Whose memory a page looks at: a person and a persona, named in its address or taken from who spoke last."""

from dataclasses import dataclass

from mnemon.console.visit import Visit
from mnemon.db.tx import Tx
from mnemon.scope import Scope
from mnemon.sessions.survey import survey

MOST_PEOPLE = 200


@dataclass(frozen=True, kw_only=True)
class Whom:
    """The person a page is about, and who else could be chosen."""

    user: str
    """As the application calls them; empty while nobody is known."""
    persona: str
    """Empty for none."""
    people: tuple[str, ...]
    personas: tuple[str, ...]


async def whom(visit: Visit, tx: Tx) -> Whom:
    """The person and persona of the page's address; without one, who spoke last."""
    people = await survey.people(tx, visit.org, most=MOST_PEOPLE)
    user = visit.asked("user") or await survey.latest_person(tx, visit.org) or (people[0] if people else "")
    personas = await survey.persona_names(tx, visit.person(user)) if user else []
    return Whom(user=user, persona=visit.asked("persona"), people=tuple(people), personas=tuple(personas))


def scope_of(visit: Visit, chosen: Whom) -> Scope:
    """The scope of the chosen person with the chosen persona."""
    return visit.person(chosen.user, chosen.persona or None)
