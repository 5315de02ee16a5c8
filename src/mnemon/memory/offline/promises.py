"""Rules for what people leave open: what they will do, do regularly, have not decided, or struggle with."""

import re
from dataclasses import dataclass

from mnemon.memory.offline.profile import FRICTIONS
from mnemon.memory.offline.rule import ExtractionRule
from mnemon.memory.offline.vocabulary import ACTIONS, phrase_alternatives
from mnemon.memory.todos.todo import TodoKind

_SOON = (
    r"(?:today|tonight|tomorrow(?: \w+)?|this (?!time)\w+|next (?!time)\w+|later(?: today)?|by \w+(?: \w+)?"
    r"|on \w+day\w*|at \d\S*|before \w+|after \w+|first thing"
    r"|in (?:an?|\d+|two|three) (?:minutes?|hours?|days?|weeks?|months?))"
)
_NO_DEEDS = phrase_alternatives(
    r"""
    an?\b / the\b / my\b / our\b / be\b / see\b / say\b / admit / go$ / go now / let you know / think / have
    take (?:it|that|the) / take a look / take both / wait / try\b / pass\b / bite / never / not\b / always / probably
    definitely not / leave (?:it|you) / tell you / keep / stay / get back to you / do (?:it|that|so)$ / do my best
    check (?:it|that) out / give (?:you|it) / ask (?:you|again) / need / want / love / miss / stop / disagree / assume
    believe / guess / hear / know / like / look / make do / make (?:it|this|sure|you) / manage / mention / put it
    remember / talk / use (?:it|that) / you\b / read it / live / die / run$ / sleep on / continue / enjoy / chase
    """
)
_EMPTY = rf"(?!{_NO_DEEDS})"
"""Excludes what people say they will do without promising anything."""
_DO = rf"{_EMPTY}(?P<what>(?-i:[a-z])[a-z]* .+)"
_WILL = r"i(?:'ll| will|'m going to| am going to|'m gonna)(?: also| definitely| then| just)?"
_ACTION = "|".join(sorted(ACTIONS))
_OFTEN = (
    r"(?:every (?:single )?\w+|each \w+|daily|weekly|regularly|more often|once an? \w+|twice an? \w+"
    r"|(?:two|three|four|five|\d) (?:times|days|nights|evenings|mornings) an? \w+)"
)


@dataclass(frozen=True, kw_only=True)
class PromiseRule:
    """One rule of the table."""

    pattern: re.Pattern[str]
    kind: TodoKind


def _compile_promise(pattern: str, kind: TodoKind) -> PromiseRule:
    """Return a rule whose pattern must match a whole clause, in any case, and which opens this kind of todo."""
    return PromiseRule(pattern=re.compile(rf"(?:{pattern})\Z", re.IGNORECASE), kind=kind)


# Habits come first: "I need to run every day" would match a commitment, too.
PROMISES: tuple[PromiseRule, ...] = (
    _compile_promise(rf"i (?:want|would like|need|have|plan|promised|promised myself|aim|intend) to "
             rf"(?P<what>[a-z]+.* {_OFTEN}.*)",
             TodoKind.HABIT),
    _compile_promise(rf"i(?:'m| am) (?:trying|going|determined) to (?P<what>[a-z]+.* {_OFTEN}.*)", TodoKind.HABIT),
    _compile_promise(r"i(?:'m| am) (?:still )?(?:undecided|torn|on the fence|unsure|not sure) (?:about|between"
             r"|whether) (?P<what>.+)",
             TodoKind.THREAD),
    _compile_promise(
        r"i(?:'m| am) still (?:deciding|figuring out|debating|weighing|considering|wondering) (?P<what>.+)",
             TodoKind.THREAD),
    _compile_promise(
        r"i (?:still )?(?:haven't|have not) decided (?P<what>(?!yet$|anything).+?)(?: yet)?", TodoKind.THREAD),
    _compile_promise(r"i (?:still )?(?:need|have) to (?:decide|figure out|make up my mind about|work out) (?P<what>.+)",
             TodoKind.THREAD),
    _compile_promise(r"i don't know yet (?P<what>(?:whether|if|how|which|where|when) .+)", TodoKind.THREAD),
    _compile_promise(rf"{_WILL} {_EMPTY}(?:{_ACTION})\b .+", TodoKind.COMMITMENT),
    _compile_promise(rf"{_WILL} {_DO} {_SOON}(?:,? .+)?", TodoKind.COMMITMENT),
    _compile_promise(
        rf"i(?:'ve got| have got| need| have| must remember| promised(?: \w+)?| agreed| committed) to {_DO}",
             TodoKind.COMMITMENT),
    _compile_promise(rf"i must {_DO}", TodoKind.COMMITMENT),
    _compile_promise(rf"(?:please )?(?:remind me|don't let me forget) to {_DO}", TodoKind.COMMITMENT),
    _compile_promise(r"i (?:promised|owe) (?P<what>(?-i:[A-Z])\w+ .+)", TodoKind.COMMITMENT),
    _compile_promise(r"my (?:plan|goal|resolution) is to (?P<what>.+)", TodoKind.COMMITMENT),
)  # fmt: skip
"""Rules for promises, habits and open questions; the first that matches counts."""

STRUGGLES: tuple[ExtractionRule, ...] = FRICTIONS

DROPPED_PATTERN = re.compile(
    r"\b(?:i won't|i will not|i'm not going to|i am not going to|i've decided not to|i decided not to"
    r"|i decided against"
    r"|forget about|never ?mind|i gave up on|i dropped|i'm dropping|no need to|i don't (?:need|have|want) to"
    r"|i no longer"
    r"|i cancell?ed|scrap|skip)\b",
    re.IGNORECASE,
)
"""How people say that something will not be done."""
