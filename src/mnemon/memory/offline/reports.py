"""What people report as done or called off, in any usual wording, and which open todos that closes.

"I called mom.", "Bought the milk", "Rent is paid", "I'm done with the report" and "Got the car washed" tell of deeds;
"forget about the report", "the trip is off" and "it is sold out" call something off. A report closes the todo that it
fits best. Where two fit as well, none is closed: the reply asks which is meant.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from mnemon.memory.answer import TodoAnswer
from mnemon.memory.offline.clauses import LONGEST_MESSAGE, Clause, split_clauses
from mnemon.memory.offline.guards import is_own_telling, is_statement
from mnemon.memory.offline.promises import DROPPED_PATTERN
from mnemon.memory.todos.deeds import LONGEST_DEED, Report, fitting_todos, make_report
from mnemon.untrusted_text import reads_outside_text_up_to

_PAST = (
    r"done|did|sent|paid|bought|handed in|wrote|written|made|went|gone|took|taken|met|read|ran|spoke|spoken|got|gave"
    r"|given"
    r"|told|rang|found|brought|drove|saw|seen|sold|built|chose|chosen|drew|flew|left|lent|put|cut|set|hung|fed|held"
    r"|taught"
    r"|swept|returned|picked up|dropped off|wrapped up|sorted out|signed up|filled (?:in|out)|\w+ed"
)
_LATELY = r"(?:just |already |finally |also |actually |now |all |even |so |yes |ok |okay |both )*"
_ACTIVE = re.compile(
    rf"(?:(?:i|we)(?:'ve| have| did| had)?|(?P<bare>(?=\w)))\s*{_LATELY}(?P<verb>{_PAST})\b(?P<rest>.*)", re.IGNORECASE
)
_MANAGED = re.compile(
    rf"(?:(?:i|we)(?:'ve| have)? )?{_LATELY}(?:managed to|got around to|got round to|remembered to|did manage to|got"
    rf" to)"
    r" (?P<verb>\w+)(?P<rest> .*)",
    re.IGNORECASE,
)
_BY_THEMSELVES = (
    r"called|phoned|rang|texted|emailed|messaged|wrote|replied|answered|asked|invited|visited|helped|told|went|met"
    r"|spoke|saw"
    r"|took|made|did|gave|ran|read|got|drove|flew|chose|drew|left|moved|wanted|needed|looked|liked|loved|agreed|arrived"
)
"""Past forms that after a name tell what somebody else did: "Mom called"."""
_PASSIVE = re.compile(
    rf"(?P<rest>(?:the |my |our |that |those |both |all )*[\w' -]{{2,60}}?)(?: is|'s| are| was| were| has been| have"
    rf" been"
    rf"| got| has now been|:|,|(?! (?:{_BY_THEMSELVES})\b)) {_LATELY}(?P<verb>{_PAST})"
    r"(?: (?:now|too|up|off|in|out|already|today|yesterday|this morning|last \w+|by now|at last|and \w+))*",
    re.IGNORECASE,
)
_THROUGH = re.compile(
    rf"(?:(?:i'm|i am|we're|we are) )?{_LATELY}(?P<verb>done|finished|through) with (?P<rest>.+)", re.IGNORECASE
)
_HAD_DONE = re.compile(
    rf"(?:(?:i|we)(?:'ve| have)? )?{_LATELY}(?:got|had) (?P<rest>(?:the|my|our|that) [\w' -]+?) (?P<verb>{_PAST})",
    re.IGNORECASE,
)
_DONE_FORMS = (_MANAGED, _THROUGH, _HAD_DONE, _ACTIVE, _PASSIVE)
_OFF = re.compile(
    r"\b(?:sold[- ]out|cancell?ed|called off|fell through|(?:is|are|was|got) (?:now )?off"
    r"|(?:isn't|is not|not) happening|(?:i|we)(?:'ve| have)? (?:just |finally )?(?:stopped|quit|gave up|given up)(?:"
    r" on)?"
    r"|no longer (?:on|happening|needed|necessary)|changed my mind(?: about| on)?|scrapped|given up on)\b",
    re.IGNORECASE,
)
_OWN_WORDS = re.compile(
    r"\b(?:i|we)(?:'ve| have)? (?:just |finally |already )?"
    r"(?:wrote|written|told|asked|replied|mentioned|posted|announced|read)\b",
    re.IGNORECASE,
)
_NOT_REALLY = re.compile(r"\b(?:by mistake|yet|almost|nearly|half|forgot|halfway|partly)\b", re.IGNORECASE)


def _reports_in_clause(clause: Clause) -> Iterator[tuple[str, Report]]:
    """Yield each reading of a clause as a report that something is done or called off (`done`, `drop`)."""
    text = clause.text
    off, dropped = _OFF.search(text), DROPPED_PATTERN.search(text)
    if off or dropped:
        found = dropped or off
        if found is not None and is_own_telling(clause):
            rest = text[found.end() :] if dropped else f"{text[: found.start()]} {text[found.end() :]}"
            yield "drop", make_report("", rest)
        return
    # "I wrote the essay" reports a deed, and nobody's words.
    own = replace(clause, text=_OWN_WORDS.sub("i did", text), sentence=_OWN_WORDS.sub("i did", clause.sentence))
    if not is_statement(own) or _NOT_REALLY.search(text):
        return
    for form in _DONE_FORMS:
        if match := form.fullmatch(text):
            if match.groupdict().get("bare") is not None and not clause.opens:
                continue
            yield "done", make_report(match["verb"], match["rest"])


def _closable_todos(clause: Clause, open_todos: Sequence[str]) -> tuple[str, list[str]] | None:
    """Return `done` or `drop` and the open todos that a clause may close; None if it closes none."""
    readable = [one for one in open_todos if len(one) <= LONGEST_DEED]
    for op, report in _reports_in_clause(clause):
        if meant := fitting_todos(report, readable):
            return op, meant
    return None


def closed_todos(clause: Clause, message: str, open_todos: Sequence[str]) -> Iterator[TodoAnswer]:
    """Yield the closing of the one open todo that a clause says is done or called off; nothing if unclear."""
    fitting = _closable_todos(clause, open_todos)
    if fitting is not None and len(fitting[1]) == 1:
        quote = message[clause.start : clause.start + len(clause.text)].strip()
        yield TodoAnswer(op="drop" if fitting[0] == "drop" else "done", content=fitting[1][0], quote=quote)


@reads_outside_text_up_to(LONGEST_MESSAGE)
def unclear_closings(text: str, open_todos: Sequence[str] = ()) -> list[list[str]]:
    """Return, for each report that could close several open todos, the todos it may mean."""
    fitting = (_closable_todos(clause, open_todos) for clause in split_clauses(text)) if open_todos else ()
    return [one[1] for one in fitting if one is not None and len(one[1]) > 1]
