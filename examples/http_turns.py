"""Any language can do this: record a turn over HTTP, then ask for the context of the next one.

MNEMON_KEY=mnk_… python examples/http_turns.py
"""

import json
import os
from typing import Any
from urllib.request import Request, urlopen

URL, KEY = os.environ.get("MNEMON_URL", "http://127.0.0.1:8765"), os.environ["MNEMON_KEY"]


def post(path: str, body: dict[str, Any]) -> Any:
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    with urlopen(Request(URL + path, json.dumps(body).encode(), headers)) as answer:
        return json.load(answer)["data"]


turn = post("/api/turns", {"userId": "ann", "messages": [
    {"role": "user", "content": "My sister Maya is moving to Lisbon in May."},
    {"role": "assistant", "content": "How exciting! Will you visit?"},
]})  # fmt: skip
print("recorded", turn["turnId"], "in session", turn["sessionId"])
post("/api/memories", {"userId": "ann", "type": "PEOPLE", "content": "Maya is Ann's sister",
                       "entity": {"type": "person", "label": "Maya"}, "factType": "relationship"})  # fmt: skip
print(post("/api/context", {"userId": "ann", "query": "Who is Maya?"})["system"])
