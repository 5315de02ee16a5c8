"""Turns that can only be understood with the one before them: the prompt shows it, and what is extracted is right."""

from dataclasses import dataclass
from typing import Any

from mnemon.clock import ManualClock
from mnemon.db.database import Database
from mnemon.llm.protocol import Json
from mnemon.llm.scripted.script import Script, ScriptedRequest
from mnemon.memory.reflect import SECTIONS
from mnemon.memory.store import latest_facts
from mnemon.reflection import job
from mnemon.scope import person_scope
from mnemon.sessions.boundary import SessionBoundary
from mnemon.sessions.messages import NewMessage
from mnemon.sessions.record import NewTurn, store_turn
from mnemon.turn import Role
from support.reflecting import basement_of, runner_of


@dataclass(frozen=True, kw_only=True)
class FollowUp:
    """A turn that introduces someone, and the one that says more of them."""

    first: str
    about: str
    reply: str
    then: str
    fact: str
    """What follows from the second turn, in words that need the first one."""
    quote: str = ""
    """The words of the second turn that it rests on; the whole of it, if empty."""
    kind: str = "person"


CASES = (
    FollowUp(first="My sister Ingrid visits me.", about="Ingrid", reply="What does she do?",
             then="She's a vet in Bergen.", fact="Ingrid is a vet in Bergen"),
    FollowUp(first="John is my cofounder.", about="John", reply="What does he handle?",
             then="He handles the backend.", fact="John handles the backend"),
    FollowUp(first="My son Milo starts school.", about="Milo", reply="How old is he?",
             then="He's six years old.", fact="Milo is six years old"),
    FollowUp(first="My dentist is Dr. Paulsen.", about="Paulsen", reply="Where is her practice?",
             then="Her practice is in Harstad.", fact="Paulsen's practice is in Harstad"),
    FollowUp(first="My neighbour Otto helps me.", about="Otto", reply="With what?",
             then="He works at the bike shop.", fact="Otto works at the bike shop"),
    FollowUp(first="My wife is called Farah.", about="Farah", reply="Does she work?",
             then="She works at the port authority.", fact="Farah works at the port authority"),
    FollowUp(first="My flatmate is Jun.", about="Jun", reply="What does he study?",
             then="He studies geology.", fact="Jun studies geology"),
    FollowUp(first="My boss is Renate.", about="Renate", reply="Since when?",
             then="She joined us in 2021.", fact="Renate joined us in 2021"),
    FollowUp(first="My grandmother is Alma.", about="Alma", reply="How is she?",
             then="She turned 90 in May.", fact="Alma turned 90 in May"),
    FollowUp(first="My coach is Bea.", about="Bea", reply="How can she be reached?",
             then="Her number is 555 0199.", fact="Bea's number is 555 0199"),
    FollowUp(first="My friend Leo moved.", about="Leo", reply="Where to?",
             then="He moved to Porto.", fact="Leo moved to Porto"),
    FollowUp(first="My daughter is Ronja.", about="Ronja", reply="Any hobbies?",
             then="She plays the cello.", fact="Ronja plays the cello"),
    FollowUp(first="My uncle Ed lives alone.", about="Ed", reply="Is he well?",
             then="He is allergic to nuts.", fact="Ed is allergic to nuts"),
    FollowUp(first="My colleague Priti is back.", about="Priti", reply="What is she on?",
             then="She leads the billing team.", fact="Priti leads the billing team"),
    FollowUp(first="My landlord is Mr. Silva.", about="Silva", reply="Is he strict?",
             then="He doesn't allow pets.", fact="Silva doesn't allow pets"),
    FollowUp(first="My nephew Tim calls often.", about="Tim", reply="From where?",
             then="Yes, often. And he lives in Reykjavik now.", fact="Tim lives in Reykjavik",
             quote="he lives in Reykjavik now"),
    FollowUp(first="My teacher is Ms. Novak.", about="Novak", reply="What does she teach?",
             then="She teaches chemistry.", fact="Novak teaches chemistry"),
    FollowUp(first="My brother Abel married.", about="Abel", reply="Whom?",
             then="He married Zoe.", fact="Abel married Zoe"),
    FollowUp(first="My band is called Kestrel.", about="Kestrel", reply="How many are you?",
             then="It has five members.", fact="Kestrel has five members", kind="project"),
    FollowUp(first="My project is Atlas.", about="Atlas", reply="When is it due?",
             then="It launches on May 12.", fact="Atlas launches on May 12", kind="project"),
)  # fmt: skip


def answer_to(case: FollowUp, number: int) -> Json:
    """What a model that understands the turn would answer to its first or second message."""
    entity = {"type": case.kind, "label": case.about}
    content, quote = (case.first, case.first) if number == 0 else (case.fact, case.quote or case.then)
    kind = "PEOPLE" if case.kind == "person" else "PROJECT"
    one: dict[str, Any] = {"op": "state", "type": kind, "content": content, "quote": quote, "entity": entity}
    return {"memories": [one], "todos": []}


async def test_twenty_follow_ups_are_shown_with_the_turn_before_and_extracted_right(
    db: Database, org: str, clock: ManualClock
) -> None:
    script = Script()
    services = basement_of(db, clock, script)
    runner = runner_of(services, SECTIONS)
    wrong: list[tuple[str, object]] = []
    for case in CASES:
        scope = person_scope("acme", f"user of {case.about}", None)
        for number, said in enumerate((case.first, case.then)):
            script.add_answers("Reflection", answer_to(case, number))
            messages = (
                NewMessage(role=Role.USER, content=said),
                NewMessage(role=Role.ASSISTANT, content=case.reply if number == 0 else "Noted."),
            )
            async with db.tx("acme") as tx:
                incoming = NewTurn(user_name=f"user of {case.about}", messages=messages)
                turn = await store_turn(tx, scope, incoming, SessionBoundary())
                await job.enqueue_reflection(tx, turn)
            await runner.drain()
        asked = script.requests_on("Reflection")[-1]
        if not shows_the_turn_before(asked, case):
            wrong.append((case.then, asked.prompt))
        async with db.tx("acme") as tx:
            held = [(one.entity_label, one.content) for one in await latest_facts(tx, turn.scope, most=10)]
        if (case.about, case.fact) not in held:
            wrong.append((case.then, held))
    assert wrong == []
    assert len(CASES) == 20
    assert len(script.requests_on("Reflection")) == 2 * len(CASES), "nothing was refused at first"


def shows_the_turn_before(asked: ScriptedRequest, case: FollowUp) -> bool:
    """Whether the prompt shows the message before and its reply as context, apart from what can be quoted."""
    before, _, turn = asked.prompt.partition("</before>")
    context = before.partition("<before>")[2]
    return case.first in context and case.reply in context and case.first not in turn and case.then in turn
