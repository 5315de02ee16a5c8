"""Pieces of patterns that several tables of rules share."""

from mnemon.memory.offline.vocabulary import (
    BARE_KINSHIP_WORDS,
    CONDITION_PHRASES,
    KINSHIP_WORDS,
    PETS,
    phrase_alternatives,
)

BE = r"(?:i am|i'm|im|we are|we're|were)"
HAVE = r"(?:i have|i've|i've got|i got|ive got|we have|we've|we've got|i have got)"
ADVERB = (
    r"(?: (?:really|actually|currently|now|also|still|mostly|mainly|absolutely|particularly|especially|quite|always"
    r"|usually|originally|personally|generally|definitely|truly|recently|simply|both|strongly|already|finally|only|just"
    r"|much|kinda|pretty|very|super|so|basically|officially|severely|deathly|mildly|extremely|technically|apparently"
    r"|proudly|totally))*"
)
TAIL = (
    r"(?: (?:for|since|in|at|on|with|from|over|near|by|to|of|every|these|this|right|too|now|again|anyway|though|btw|out"
    r"|here|back|where|than|when|lately|because|so|but|and|about|around|before|after|as|next|last|which|who|while"
    r"|whenever|either|most|mostly|three|two|four|as well|full time|part time|called|named|that|outside|down|up|through"
    r"|until|like|who's)\b.*)?"
)
"""What may follow a value without being part of it."""
CAPITALIZED = r"(?-i:[A-ZÀ-Þ][\w.'&-]*(?: (?:of|the|de|la|del|van|von|and|&|on) [A-ZÀ-Þ][\w.'&-]*| [A-ZÀ-Þ][\w.'&-]*)*)"
PLACE = rf"(?P<place>{CAPITALIZED}(?:, {CAPITALIZED})*|(?-i:[a-z]+(?: [a-z]+)?))"
ORGANIZATION = rf"(?P<org>(?:the |an? |our )?(?:{CAPITALIZED}(?: [a-z]+){{0,2}}?|(?-i:[a-z]+(?: [a-z]+){{0,3}}?)))"
NAME = r"(?-i:(?:(?:Dr|Mr|Mrs|Ms|Prof)\.? )?[A-ZÀ-Þ][\w'-]*\w(?: [A-ZÀ-Þ][\w'-]*\w){0,2})"
NUMBER = r"(?:two|three|four|five|six|seven|eight|nine|ten|one|an?|\d+|twin)"
OFTEN = (
    r"(?:every(?: other| single)? (?!time|one)\w+(?: (?:morning|evening|night|afternoon))?|each \w+|daily|weekly"
    r"|once an? \w+|twice an? \w+"
    r"|(?:two|three|four|five|six|seven|a few|a couple(?: of)?|\d+)(?: or \w+)? (?:times|days|nights|mornings|evenings"
    r"|afternoons) (?:an?|per|each) \w+|(?:on )?(?:mon|tues|wednes|thurs|fri|satur|sun)days|(?:on )?(?:mon|tues|wednes"
    r"|thurs|fri|satur|sun)day (?:nights|mornings|evenings|afternoons)|on weekends|on weekdays|at weekends|at the"
    r" weekend"
    r"|on the weekends?|most (?:days|mornings|evenings|nights|weekends)|in the (?:mornings|evenings|afternoons)"
    r"|at night|everywhere)"
)
KIN = "|".join(sorted(KINSHIP_WORDS, key=len, reverse=True))
ROLE = (
    rf"(?:(?:best|older|younger|little|big|eldest|oldest|youngest|middle|new|former|close|twin|business|old|good|baby"
    rf"|kid|late) )*(?:{KIN})"
)
PERSON = (
    rf"(?:(?:my|our) (?:(?:best|older|younger|little|big|eldest|oldest|youngest|twin|new|late|dear|baby)"
    rf" )?(?P<kin>{KIN})"
    rf"(?:,? (?P<who>{NAME}),?)?|(?P<bare>(?-i:{'|'.join([*BARE_KINSHIP_WORDS, *map(str.lower, BARE_KINSHIP_WORDS)])}))"
    rf"|(?P<name>{NAME}))"
)
"""A person at the start of a clause: a relative, with or without a name, or a name alone."""
PET = "|".join(sorted(PETS, key=len, reverse=True))
CONDITION = phrase_alternatives(CONDITION_PHRASES)
