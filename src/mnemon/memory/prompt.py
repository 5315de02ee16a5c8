"""What the reflection asks for memories: the instructions with a worked example, and the schema of the answer as sent.

The shape in which an answer is read is in `answer.py`.
"""

from mnemon.llm.answer_schema import BOOLEAN, OPTIONAL_TEXT, TEXT, closed_object, list_of, one_of, optional
from mnemon.memory.fact import EntityType, FactOp, FactType, MemoryType

MEMORIES_SCHEMA = list_of(
    closed_object(
        # The quote first: a model that has copied the words states no more than they say.
        quote=TEXT,
        op=one_of(tuple(FactOp)),
        content=TEXT,
        type=one_of(tuple(MemoryType)),
        entity=optional(closed_object(type=one_of(tuple(EntityType)), label=TEXT)),
        factType=one_of(tuple(FactType)),
        attribute=OPTIONAL_TEXT,
        private=BOOLEAN,
    )
)
"""The section `memories` as it is sent."""

MEMORIES = """\
List every lasting fact that the person states in this turn, or that a tool result holds: one entry for each fact. \
Leave out questions, wishes, plans, small talk and what the assistant said. For each:
- quote: the words it rests on, copied from the message or the tool result.
- op: state; retract if they say that it is no longer so, with content as it was ("I no longer live in Graz": Lives in \
Graz). A new value is only stated.
- content: the fact as one short sentence in the words of the quote, saying no more than it: the same people, figures \
and dates, the same "not" or "used to".
- type: PROFILE (about the person), PEOPLE (someone in their life) or PROJECT (something they work on).
- entity: whom or what it is about; null for the person themselves.
- factType: fact, preference, relationship, friction or habit.
- attribute: what it is a value of, in one or two words (city, employer, favourite drink); the same words every time.
- private: true only if they ask to keep it between you ("just between us").
Example. The person says: "I'm Lena, a baker in Graz. My brother Tom moved to Oslo. Do you like rain?"
{"memories": [
{"quote": "I'm Lena", "op": "state", "content": "Is called Lena", "type": "PROFILE", \
"entity": null, "factType": "fact", "attribute": "name", "private": false},
{"quote": "a baker in Graz", "op": "state", "content": "Is a baker in Graz", "type": "PROFILE", \
"entity": null, "factType": "fact", "attribute": "occupation", "private": false},
{"quote": "My brother Tom moved to Oslo", "op": "state", "content": "Brother Tom moved to Oslo", "type": "PEOPLE", \
"entity": {"type": "person", "label": "Tom"}, "factType": "fact", "attribute": "city", "private": false}]}"""
"""The section's instructions."""
