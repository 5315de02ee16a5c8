"""Active Memory: every toggle, reset and run order of the quick reference, and the fence around what is in flight."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemon.runs.active_memory import (
    ActiveMemory,
    MemoryAccess,
    MemoryStart,
    MemoryStatus,
    RunsSinceReset,
    format_age,
    is_since_reset,
    memory_after_reset,
    memory_after_toggle,
    memory_panel,
    memory_start,
    reset_warning,
    session_write_back,
)

T0 = datetime(2026, 3, 1, 12, tzinfo=UTC)


@dataclass
class Story:
    """Plays words like `on run off chat reset` on a memory and remembers what each run saw."""

    memory: ActiveMemory = field(default_factory=ActiveMemory)
    now: datetime = T0
    emitted: int = 0
    saw: list[str | None] = field(default_factory=list)
    audited: list[tuple[str | None, str | None]] = field(default_factory=list)
    successes: list[int | None] = field(default_factory=list)
    in_flight: MemoryStart | None = None

    def play(self, words: str) -> "Story":
        for word in words.split():
            self.now += timedelta(minutes=1)
            getattr(self, word)()
        return self

    def on(self) -> None:
        self.memory = memory_after_toggle(self.memory, enabled=True, now=self.now)

    def off(self) -> None:
        self.memory = memory_after_toggle(self.memory, enabled=False, now=self.now)

    def reset(self) -> None:
        self.memory = memory_after_reset(self.memory, now=self.now)

    def begin(self, read_only: bool = False) -> None:
        self.in_flight = memory_start(self.memory, read_only=read_only)
        self.saw.append(self.in_flight.session_id)

    def end(self, succeeded: bool = True, counted: bool = True) -> None:
        assert self.in_flight is not None
        self.emitted += 1
        before = self.in_flight.session_id
        result = session_write_back(
            self.memory, self.in_flight, succeeded=succeeded, emitted=f"s{self.emitted}", now=self.now
        )
        self.memory = result.memory
        self.audited.append((before, result.session_id_after))
        if succeeded and counted:
            self.successes.append(self.in_flight.generation)

    def run(self) -> None:
        self.begin()
        self.end()

    def chat(self) -> None:
        self.begin()
        self.end(counted=False)

    def look(self) -> None:
        self.begin(read_only=True)
        self.end()

    def fail(self) -> None:
        self.begin()
        self.end(succeeded=False)

    @property
    def runs_since_reset(self) -> int:
        return sum(is_since_reset(generation, self.memory) for generation in self.successes)

    @property
    def status(self) -> str:
        return memory_panel(
            self.memory, runs=RunsSinceReset(scheduled=self.runs_since_reset), now=self.now
        ).status.value


FRESH, CARRYING = MemoryStatus.FRESH.value, MemoryStatus.CARRYING.value

TABLE = [
    # words, sessions each chat or run saw, status, runs since reset
    ("run", [None], FRESH, 0),
    ("run run chat run", [None] * 4, FRESH, 0),
    ("on", [], FRESH, 0),
    ("on run", [None], CARRYING, 1),
    ("on chat", [None], CARRYING, 0),
    ("on chat run chat run", [None, "s1", "s2", "s3"], CARRYING, 2),
    ("on run reset", [None], FRESH, 0),
    ("on run reset run", [None, None], CARRYING, 1),
    ("on run off", [None], FRESH, 1),
    ("on run off run", [None, None], FRESH, 1),
    ("on run off chat on", [None, None], FRESH, 0),
    ("on run off on run", [None, None], CARRYING, 1),
    ("on run on run", [None, "s1"], CARRYING, 2),
    ("on run off off on", [None], FRESH, 0),
    ("on run off reset on run", [None, None], CARRYING, 1),
    ("reset run", [None], FRESH, 0),
    ("on fail", [None], FRESH, 0),
    ("on run fail run", [None, "s1", "s1"], CARRYING, 2),
    ("on look", [None], FRESH, 1),
    ("on chat look look chat", [None, "s1", "s1", "s1"], CARRYING, 2),
    ("on begin reset end", [None], FRESH, 0),
    ("on run begin reset end run", [None, "s1", None], CARRYING, 1),
    ("on run begin off end", [None, "s1"], FRESH, 2),
    ("on run begin off on end", [None, "s1"], FRESH, 0),
    ("begin on end", [None], FRESH, 0),
    ("begin on end run", [None, None], CARRYING, 1),
    ("on begin reset end reset run run", [None, None, "s2"], CARRYING, 2),
]


@pytest.mark.parametrize(("words", "saw", "status", "counted"), TABLE, ids=[row[0] for row in TABLE])
def test_every_order_of_toggle_reset_and_run(words: str, saw: list[str | None], status: str, counted: int) -> None:
    story = Story().play(words)
    assert story.saw == saw
    assert story.status == status
    assert story.runs_since_reset == counted


def test_disabling_keeps_the_stored_session_untouched() -> None:
    story = Story().play("on run")
    kept = story.memory.session_id
    story.play("off run chat")
    assert story.memory.session_id == kept == "s1"
    assert story.audited[1:] == [(None, None), (None, None)]


def test_what_is_in_flight_when_memory_is_disabled_leaves_the_stored_session_untouched() -> None:
    story = Story().play("on run begin off end")
    assert story.memory.session_id == "s1"
    assert story.audited[-1] == ("s1", None)


def test_enabling_and_resetting_do_the_same_to_session_and_counter() -> None:
    used = Story().play("on run run").memory
    by_reset = memory_after_reset(used, now=T0)
    by_enabling = memory_after_toggle(memory_after_toggle(used, enabled=False, now=T0), enabled=True, now=T0)
    assert by_reset == by_enabling


def test_every_run_audits_the_session_before_and_after() -> None:
    story = Story().play("on run chat look fail")
    assert story.audited == [(None, "s1"), ("s1", "s2"), ("s2", "s2"), ("s2", None)]


def test_a_write_back_that_was_fenced_off_says_why() -> None:
    memory = memory_after_toggle(ActiveMemory(), enabled=True, now=T0)
    started = memory_start(memory, read_only=False)
    later = session_write_back(memory_after_reset(memory, now=T0), started, succeeded=True, emitted="x", now=T0)
    assert not later.kept
    assert later.why_not == "memory was reset or enabled while this was in flight"


def test_a_read_only_run_sees_the_session_and_does_not_extend_it() -> None:
    story = Story().play("on chat")
    seen = memory_start(story.memory, read_only=True)
    assert (seen.access, seen.session_id) == (MemoryAccess.READ, "s1")
    after = session_write_back(story.memory, seen, succeeded=True, emitted="forked", now=T0)
    assert after.memory == story.memory
    assert after.session_id_after == "s1"


def test_the_panel_shows_age_and_warns_above_twenty() -> None:
    memory = ActiveMemory(enabled=True, session_id="s", generation=1, last_reset_at=T0, updated_at=T0)
    shown = memory_panel(
        memory, runs=RunsSinceReset(scheduled=21, others=2), now=T0 + timedelta(hours=2, minutes=15, seconds=59)
    )
    assert shown.session_age == "2h 15m"
    assert (shown.runs_since_reset, shown.other_runs_since_reset) == (21, 2)
    assert shown.warning is not None
    assert "21 runs" in shown.warning
    assert reset_warning(20) is None
    assert reset_warning(21)


@pytest.mark.parametrize(
    ("age", "text"),
    [
        (timedelta(seconds=59), "0m"),
        (timedelta(minutes=59), "59m"),
        (timedelta(hours=1), "1h 0m"),
        (timedelta(days=3, hours=4, minutes=50), "3d 4h"),
    ],
)
def test_an_age_has_its_two_largest_units(age: timedelta, text: str) -> None:
    assert format_age(age) == text


WORDS = st.lists(st.sampled_from(["on", "off", "reset", "run", "chat", "look", "fail", "begin", "end"]), max_size=30)


def playable(words: list[str]) -> str:
    """One in flight at a time, as the agent's lock has it: what overlaps another is left out."""
    kept, flying = [], False
    for word in words:
        if (word == "end" and not flying) or (flying and word in {"begin", "run", "chat", "look", "fail"}):
            continue
        flying = (flying or word == "begin") and word != "end"
        kept.append(word)
    return " ".join(kept)


@given(WORDS)
def test_no_order_of_events_lets_a_session_cross_a_fresh_start(words: list[str]) -> None:
    story = Story()
    born: dict[str, int] = {}
    for word in playable(words).split():
        generation = story.memory.generation
        story.play(word)
        session = story.memory.session_id
        if session is not None and session not in born:
            born[session] = generation
        if story.memory.enabled and session is not None:
            assert born[session] == story.memory.generation
        assert story.runs_since_reset <= len(story.successes)


@given(WORDS)
def test_a_disabled_memory_gives_nothing_and_takes_nothing(words: list[str]) -> None:
    story = Story().play(playable(words))
    story.off()
    before = story.memory
    story.in_flight = None
    story.play("run chat look")
    assert story.saw[-3:] == [None, None, None]
    assert story.memory == before
