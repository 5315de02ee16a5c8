"""`mnemon eval` end to end: turns go through a real Mnemon, what it keeps is scored, and nothing is left behind."""

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from mnemon.cli.evaluation.labels import Scene, choose_scenes, read_scenes
from mnemon.cli.evaluation.player import MOST_TRIES, PlayedTurn, play_scenes
from mnemon.cli.evaluation.scoring import Score
from mnemon.cli.main import app
from mnemon.clock import SystemClock
from mnemon.db.database import Database
from mnemon.llm.scripted.script import Script
from support.reflecting import basement_of

SCENE = """\
@ Ada, a tester
% 2026-01-02T03:04 work
= I live in Oslo and I have 3 boats.
< How nice!
  fact self | Oslo
  fact self | 3
= Just between us: I'm a spy.
  private self | spy
= I sold the boats. After the sale the list should be empty.
> list_boats {"count": 0}
  ends self | boats
  expect | empty
= Is it late?
"""


def memory(content: str, quote: str, **other: Any) -> dict[str, Any]:
    return {"op": "state", "type": "PROFILE", "content": content, "quote": quote, **other}


async def played(db: Database, url: str, script: Script, text: str, path: Path) -> tuple[Score, list[PlayedTurn]]:
    """The score of a scene by a scripted model, and its turns."""
    (path / "turns.txt").write_text(text)
    turns: list[PlayedTurn] = []
    score = await play_scenes(
        basement_of(db, SystemClock(), script), url, read_scenes(path / "turns.txt"), turns.append
    )
    return score, turns


async def test_what_the_model_answers_is_stored_read_back_and_scored(
    db: Database, database_url: str, tmp_path: Path
) -> None:
    script = Script()
    expected: dict[str, Any] = {"action": "list_boats", "expected_outcome": "the list is empty", "expected_ids": [],
                "expected_type": None, "expected_count": None}  # fmt: skip
    nothing: dict[str, Any] = {"entities": [], "dependencies": [], "claims": [], "items": []}
    script.add_answers(
        "Reflection",
        {"memories": [
            memory("Lives in Oslo", "I live in Oslo"),
            memory("Owns a 40 metre yacht", "I have 3 boats"),
        ]},
        {"memories": [memory("Has 3 boats", "I have 3 boats", attribute="boats")]},
        {"memories": [memory("Is a spy", "I'm a spy")]},
        {
            "memories": [memory("Has 3 boats", "I sold the boats", attribute="boats", op="retract")],
            "agent_state": {**nothing, "expectations": [expected]},
        },
        {"memories": [memory("Is late", "Is it late?")]},
        {"memories": []},
    )  # fmt: skip
    score, turns = await played(db, database_url, script, SCENE, tmp_path)
    assert [one.error for one in turns] == [None] * 4
    assert (score.turns, score.told, score.found, score.kept, score.right) == (4, 3, 3, 3, 3)
    assert (score.repaired, score.rejected) == (1, 1)
    assert (score.private, score.leaked) == (1, 0)
    assert (score.ended, score.standing) == (1, 0)
    assert (score.expectations_told, score.expectations_found) == (1, 1)
    assert (score.traps, score.traps_clean, score.unsourced, score.failed) == (1, 1, 0, 0)
    assert score.calls == 6
    assert "Just between us" in script.requests_on("Reflection")[3].prompt.split("<before>")[1].split("</before>")[0]


async def test_a_model_that_is_down_is_given_up_and_counted(db: Database, database_url: str, tmp_path: Path) -> None:
    script = Script()
    script.add_fault("error", on="Reflection", times=None)
    score, (only,) = await played(
        db, database_url, script, "@ Ada\n% 2026-01-02T03:04 work\n= I live in Oslo.\n  fact self | Oslo\n", tmp_path
    )
    assert (score.failed, score.parked, score.found, score.recall) == (1, 1, 0, 0.0)
    assert only.error is not None
    assert "model_unavailable" in only.error
    assert len(script.requests_on("Reflection")) == MOST_TRIES


def test_the_command_scores_the_offline_rules_and_leaves_nothing_behind(tmp_path: Path) -> None:
    data = tmp_path / "data"
    env = {"MNEMON_MODEL": "offline", "MNEMON_DATA_DIR": str(data), "TMPDIR": str(tmp_path)}
    done = CliRunner(env=env).invoke(app, ["eval", "--turns", "3", "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    shown = json.loads(done.stdout)
    assert (shown["model"], shown["turns"], shown["failed"], shown["inputTokens"]) == ("offline", 3, 0, 0)
    assert not data.exists(), "the configured database is not touched"


def test_the_first_thirty_turns_have_memories_follow_ups_and_traps() -> None:
    turns = [turn for scene in choose_scenes(read_scenes(), 30) for turn in scene.turns]
    assert sum(turn.follows for turn in turns) >= 5
    assert sum(turn.is_trap for turn in turns) >= 4


def test_scenes_have_names_that_an_application_would_use() -> None:
    scenes: list[Scene] = read_scenes()
    assert all(scene.name.isalpha() for scene in scenes)
