"""An agent that notices when its own action did not do what it planned, and corrects course.

Start a server with `mnemon serve`, then: MNEMON_KEY=mnk_… python examples/agent_state.py
"""

import os

from mnemon_client import SyncMnemon
from mnemon_client.shapes import Expectation, ToolResult

board: list[str] = []


def create_tasks(*titles: str) -> ToolResult:
    """A flaky tool: the board takes one task at a time and says nothing about the others."""
    board.append(titles[0])
    return {"id": f"res_{len(board)}", "action": "create_tasks", "count": 1, "ids": [titles[0]],
            "entities": [{"id": titles[0], "kind": "task"}]}  # fmt: skip


url = os.environ.get("MNEMON_URL", "http://127.0.0.1:8765")
with SyncMnemon(url, os.environ["MNEMON_KEY"], user_id="ana") as mnemon:
    wanted = ["write", "review"]
    session: str | None = None
    while missing := [title for title in wanted if title not in board]:
        plan: Expectation = {"action": "create_tasks", "expected_outcome": f"{len(missing)} tasks exist",
                             "expected_ids": missing, "expected_count": len(missing)}  # fmt: skip
        turn = mnemon.turn(
            [{"role": "user", "content": f"Create tasks for: {', '.join(missing)}"}],
            session_id=session, expectations=[plan], tool_results=[create_tasks(*missing)],
        )  # fmt: skip
        session = turn["sessionId"]
        for expectation in mnemon.agent_state(session)["expectations"][-1:]:
            print(f"{expectation['expected_outcome']}: {expectation['status']}")
        # What the planner reads before its next step: failed expectations first.
        layers = mnemon.context("What next?", session_id=session)["layers"]
        print(next(layer["text"] for layer in layers if layer["name"] == "L7"), "\n")
    assert session is not None
    for entry in mnemon.agent_state(session)["assumptions"]:
        print(f"learned ({entry['confidence']:.2f}): {entry['hypothesis']}")
