"""Sentences that earlier rules fell for. They hold nothing, and must go on holding nothing."""

import pytest

from mnemon.memory.offline.extract import extract_memories

TRAPS = """
I'm a cook in my free time.
I work at it every day.
I love working with you.
I hate to bother you.
My client is Microsoft.
Siri is my assistant.
Acme is our customer.
My landlord is Greek.
I am moving to Chicago in June.
We're launching next week.
I'm from HR.
I turned 30 pages.
Working on getting better.
Working on my marriage.
I'm working on being more patient.
I'm working on the assumption that you're right.
I'm making dinner.
I'm creating confusion.
We're making a mistake.
Release the kraken on Monday.
The app uses too much memory.
The project uses up all my time.
Rent is due on the 1st.
I have a degree.
I have trouble understanding your answer.
I struggle to see your point.
I always wanted a dog.
I usually agree with you.
Every time I open the app it crashes.
I study a lot.
I drive a hard bargain.
My car is a mess.
I joined Netflix for the trial.
I joined Tom for lunch.
I'm from Mars.
I'm allergic to stupidity.
I'm afraid of losing you.
I'm married to my job.
My address is confidential.
My height is average.
Call me Dad.
Call me Captain.
This is Sarah.
I prefer option B.
Music is my therapist.
Mike works for me.
Mike moved to the next round.
"""


@pytest.mark.parametrize("message", TRAPS.strip().splitlines())
def test_a_known_trap_holds_nothing(message: str) -> None:
    assert extract_memories(message) == []
