"""Importance and confidence of a fact, computed by rules from what was said and never taken from a model.

Importance grows with use: a fact mentioned in several sessions matters more than one mentioned once.
"""

import re

from mnemon.memory.fact import EntityType, Fact, FactType, MemoryType
from mnemon.memory.keys import make_slug
from mnemon.memory.trust import Trust, speaks_for_person

TRIVIAL, STANDARD, SIGNIFICANT, CRITICAL = 0, 1, 2, 3

_IDENTITY_ATTRIBUTES = frozenset({
    "name", "full_name", "first_name", "last_name", "called", "pronouns", "role", "job", "job_title", "occupation",
    "profession", "title",
})  # fmt: skip
_IDENTITY_PHRASE = re.compile(
    r"\b(my (full |first |last )?name is|call me|i am called|i'm called|name is|goes by|my pronouns"
    r"|i work as|i'm working as|i am working as|works as|my (job|profession|occupation|role) is)\b",
    re.IGNORECASE,
)
_KEY_ATTRIBUTES = frozenset({
    "address", "city", "date_of_birth", "due_date", "home", "home_address", "home_town", "hometown", "lives_in",
    "marital_status", "medical_condition", "moved_to", "residence",
})  # fmt: skip
_KEY_ATTRIBUTE_WORDS = frozenset({
    "allergic", "allergies", "allergy", "birthday", "ceo", "cfo", "cofounder", "cto", "deadline", "deadlines",
    "diagnosis", "diet", "dietary", "disability", "founder", "intolerance", "intolerances", "launch", "medication",
    "medications", "medicine", "pregnancy", "prescription",
})  # fmt: skip
"""Words that make an attribute a key fact wherever they stand in it: `nut_allergy`, `deadline_of_the_beta`."""
_KEY_FACT = re.compile(
    r"\b(live[sd]? in|moved to|married|divorced|pregnant|born in|allerg\w*|diagnosed|diabetic|vegan|vegetarian"
    r"|halal|kosher|gluten[- ]free|lactose[- ]intolerant|medications?|prescribed"
    r"|birthday|deadline|launch\w*|due (on|by|in)|ceo|cto|cfo|founder|cofounder|co-founder)\b",
    re.IGNORECASE,
)
_PASSING_REMARK = re.compile(
    r"\b(today|tonight|right now|at the moment|this (morning|afternoon|evening)|just now|a bit|kind of"
    r"|sort of|for lunch|for dinner|for breakfast)\b",
    re.IGNORECASE,
)
_HEDGE = re.compile(
    r"\b(maybe|perhaps|i think|i guess|i suppose|probably|possibly|might|could be|not sure|apparently|supposedly"
    r"|i believe|seems?)\b",
    re.IGNORECASE,
)


def importance_of(fact: Fact) -> int:
    """Return a fact's importance: 3 pinned or identity, 2 relationship or key fact, 1 remark, 0 passing remark.

    Identity phrases and passing remarks are looked for in quoted words alone: an application that states a fact has
    worded it itself.
    """
    quote = fact.quoted_text
    if fact.pinned:
        return CRITICAL
    if fact.importance is not None:
        return fact.importance
    if _is_identity(fact, quote):
        return CRITICAL
    if fact.fact_type is FactType.RELATIONSHIP or _is_key_fact(fact, quote):
        return SIGNIFICANT
    if quote is None or fact.fact_type in {FactType.HABIT, FactType.PREFERENCE}:
        return STANDARD
    return TRIVIAL if _PASSING_REMARK.search(quote) else STANDARD


def _is_identity(fact: Fact, quote: str | None) -> bool:
    """Say whether the fact is about who the person is: name, pronouns or occupation."""
    about_self = fact.type is MemoryType.PROFILE and (fact.entity is None or fact.entity.type is EntityType.PERSON)
    if not about_self:
        return False
    if fact.attribute and make_slug(fact.attribute) in _IDENTITY_ATTRIBUTES:
        return True
    return quote is not None and _IDENTITY_PHRASE.search(quote) is not None


def _is_key_fact(fact: Fact, quote: str | None) -> bool:
    """Say whether the fact is one to act on (home, allergy, deadline, …), by its attribute, its text or its quote."""
    attribute = make_slug(fact.attribute) if fact.attribute else ""
    if attribute in _KEY_ATTRIBUTES or not _KEY_ATTRIBUTE_WORDS.isdisjoint(attribute.split("_")):
        return True
    return any(_KEY_FACT.search(text) for text in (fact.content, quote or ""))


def confidence_of(fact: Fact) -> float:
    """Return how certain the fact is: 1 stated by the application, 0.9 plain words, 0.6 hedged; less for a tool."""
    if fact.confidence is not None:
        return fact.confidence
    own, quote = speaks_for_person(fact.effective_trust), fact.quoted_text
    if quote is None:
        return unquoted_confidence(fact.effective_trust)
    hedged = _HEDGE.search(quote) is not None
    if not own:
        return 0.4 if hedged else 0.6
    return 0.6 if hedged else 0.9


def unquoted_confidence(trust: Trust) -> float:
    """Return how certain a statement of this trust is that quotes nobody: 1 for the person's or operator's word."""
    return 1.0 if speaks_for_person(trust) else 0.7


SESSIONS_UNTIL_SIGNIFICANT = 3
"""The number of distinct sessions that must mention a fact before it counts as significant."""


def importance_after_use(importance: int, *, sessions: int) -> int:
    """Return the importance of a fact after use: 1 becomes 2 once enough sessions mention it; all else stays.

    Only identity and pins are critical, so use alone never gives 3. A passing remark stays trivial until it is said in
    words that are not in passing.
    """
    return SIGNIFICANT if importance == STANDARD and sessions >= SESSIONS_UNTIL_SIGNIFICANT else importance
