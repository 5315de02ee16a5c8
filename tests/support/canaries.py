"""Words planted in every room through the doors, forgotten through the doors, and looked for everywhere afterwards."""

import asyncio
import random
import re
import subprocess
from dataclasses import dataclass, field
from typing import Any

import httpx2

from mnemon.db.backup import find_tools
from mnemon.llm.scripted.script import ScriptedRequest
from support.asked import turn_of
from support.served import Served

_SYLLABLES = "bra zol quin vex mar tup lok fri gan dwi hup nes oxa pil rud sco tav umb wyn yar".split()  # noqa: SIM905
_FOUND = re.compile(r"[a-z]+(?:-[a-z]+)?-\d{4}|[A-Z][a-z]+zor[a-z]+")


@dataclass
class Canaries:
    """Plants canaries for one person and keeps account of them."""

    server: Served
    client: httpx2.Client
    count: int
    words: list[str] = field(default_factory=list)

    def plant(self) -> None:
        """Every canary was said, stated or seeded, and everything that follows has run."""
        dice = random.Random(17)
        self.words = [_word(number, dice) for number in range(self.count)]
        script = self.server.script
        script.set_default_answer("Reflection", _reflection)
        script.set_default_answer("SessionSummary", _session_summary)
        script.set_default_answer("Spine", _spine)
        script.set_default_answer("CuratorPlan", _plan)
        seeded = self.words[::10]
        self.client.put(
            "/api/users/ann/seed", json={"profile": [{"content": f"Seeded with {word}"} for word in seeded]}
        )
        for number, word in enumerate(self.words):
            if word not in seeded:
                self._say(number, word) if number % 4 else self._state(number, word)
            if number % 25 == 24:
                self.server.settled(self.client)
                self.server.advance(minutes=40)
        for _ in range(5):  # work that failed on a busy machine is tried again later
            self.server.settled(self.client)
            self.server.advance(minutes=40)
            held = set(self.in_text(str(self.memories())))
            if held == set(self.words):
                return
        raise AssertionError(f"not remembered: {set(self.words) - held}")

    def _say(self, number: int, word: str) -> None:
        messages = [
            {"role": "user", "content": f"Number {number}. My locker word is {word}, please remember. I like soup."},
            {"role": "assistant", "content": f"Gladly. I noted {word} for you! Soup is good."},
        ]
        results = [{"id": f"r{number}", "action": "note", "ids": [word], "output": {"saved": f"saved {word}"}}]
        body = {"userId": "ann", "messages": messages, "toolResults": results}
        answer = self.client.post("/api/turns", json=body, headers={"Idempotency-Key": f"turn-{number}"})
        assert answer.status_code == 202, answer.text

    def _state(self, number: int, word: str) -> None:
        body = {
            "userId": "ann",
            "type": "PEOPLE",
            "content": f"{word} waters the plants on floor {number}",
            "entity": {"type": "person", "label": word},
        }
        answer = self.client.post("/api/memories", json=body, headers={"Idempotency-Key": f"memory-{number}"})
        assert answer.status_code == 201, answer.text

    def memories(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        cursor: str | None = None
        while True:
            query: dict[str, str | int] = {
                "userId": "ann",
                "status": "ALL",
                "limit": 200,
                **({"cursor": cursor} if cursor else {}),
            }
            page = self.client.get("/api/memories", params=query).json()
            found += page["data"]
            cursor = page["meta"]["nextCursor"]
            if cursor is None:
                return found

    def forget(self) -> int:
        """Every memory with a canary is forgotten; how many that took."""
        done = 0
        for memory in self.memories():
            if self.in_text(str(memory)):
                answer = self.client.delete(f"/api/memories/{memory['id']}")
                assert answer.status_code in {200, 404}, answer.text  # a fold takes its fragments along
                done += 1
        self.server.settled(self.client)
        return done

    def in_text(self, text: str) -> list[str]:
        """The canaries that stand in the text, in whatever case or with whatever between their parts."""
        folded = re.sub(r"[\W_]+", "-", text.lower())
        return [word for word in self.words if word.lower() in folded]

    def in_database(self) -> list[str]:
        """Those that stand in a plain dump of all tables, or in bytes that it writes as hexadecimal digits."""
        return [word for word, _ in self.places()]

    def places(self) -> list[tuple[str, str]]:
        """Each canary with the table and the line of the dump where it stands."""
        found, table = [], ""
        for line in dump(self.server.database_url).splitlines():
            if line.startswith("COPY public."):
                table = line.split()[1]
            raw = [bytes.fromhex(digits) for digits in re.findall(r"\\\\x((?:[0-9a-f]{2})+)", line)]
            text = " ".join([line, *(piece.decode(errors="replace") for piece in raw)])
            found += [(word, f"{table}: {text[:400]}") for word in self.in_text(text)]
        return found

    def in_export(self) -> list[str]:
        return self.in_text(self.client.get("/api/users/ann/export").text)


def dump(url: str) -> str:
    """The whole database as pg_dump writes it in plain text."""
    tools = asyncio.run(find_tools(url, None))
    command = [tools.program_path("pg_dump"), "--data-only", f"--dbname={url}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _word(number: int, dice: random.Random) -> str:
    """Some look like codes, some like names."""
    syllables = "".join(dice.sample(_SYLLABLES, 3))
    return f"{syllables}zor{dice.choice(_SYLLABLES)}".title() if number % 3 == 0 else f"{syllables}-{number:04}"


def _said(asked: ScriptedRequest) -> tuple[str, str] | None:
    """The canary of the turn and the words it was said in."""
    found = re.search(r"My locker word is ([\w-]+), please remember", turn_of(asked))
    return (found[1], found[0]) if found else None


def _reflection(asked: ScriptedRequest) -> dict[str, Any]:
    said = _said(asked)
    if said is None:
        return {}
    word, quote = said
    heard = re.search(r"message (M\d+) from user", turn_of(asked))
    assert heard is not None
    due = set((asked.schema or {}).get("properties", {}))
    evidence = {
        "line": f"locker word {word}",
        "quote": quote,
        "source": "ann",
        "stance": "supports",
        "strength": "weak",
    }
    every: dict[str, Any] = {
        "memories": [{"type": "PROFILE", "content": f"The locker word is {word}", "quote": quote, "factType": "fact"}],
        "todos": [{"op": "add", "kind": "thread", "content": f"Why {word}?", "quote": quote}],
        "engagement": {
            "form": [{"statement": f"{word} matters", "falsifiedBy": f"{word} is never used", "evidence": [evidence]}],
            "unknowns": [{"question": f"What opens with {word}?", "whyItMatters": "access"}],
        },
        "agent_state": {
            "agent_state_item_updates": [
                {"op": "add", "item": {"id": f"q-{word}", "kind": "question", "title": f"Is {word} right?"}}
            ],
            "agent_state_updates": {
                "assumptions": [{"id": f"a-{word}", "hypothesis": f"The locker word is {word}", "evidence": [heard[1]]}]
            },
        },
        "rolling_summary": f"Talked about soup. The locker word {word} was set.",
    }
    return {name: answer for name, answer in every.items() if name in due}


def _session_summary(asked: ScriptedRequest) -> dict[str, Any]:
    words = list(dict.fromkeys(_FOUND.findall(asked.prompt)))[:5]
    return {
        "one_liner": f"Locker codes: {', '.join(words)}",
        "what_mattered": words,
        "open_loops": [],
        "commitments": [],
        "people": words,
        "tone": "dry",
    }


def _spine(asked: ScriptedRequest) -> dict[str, Any]:
    lines = [line.split(": ", 1)[1] for line in asked.prompt.splitlines() if line.startswith("- PROFILE: ")]
    return {"PROFILE": lines[:10], "PROJECTS": [], "PEOPLE": [], "OPEN_LOOPS": []}


def _plan(asked: ScriptedRequest) -> dict[str, Any]:
    listed = re.findall(r"- (mem_\w+) \[person:self\] (The locker word is [\w-]+)", asked.prompt)[:2]
    if len(listed) < 2:
        return {"folds": [], "archive": []}
    return {
        "folds": [{"memories": [one for one, _ in listed], "content": "; ".join(text for _, text in listed)}],
        "archive": [],
    }
