"""Scripting a server that runs as another process, over HTTP.

POST   /script         {"replies": [...], "answers": {title: [...]}, "alwaysAnswers": {title: {...}},
                        "alwaysReplies": "…", "fails": [{"kind": "cut", "on": "chat", "times": 1}],
                        "heals": true}                  every property optional; a reply is a text or
                       {"pieces": [...], "calls": [{"name": …, "arguments": {…}}]}
GET    /script/asked   every request so far, oldest first
DELETE /script         everything is forgotten
"""

import json
from typing import Any

from mnemon.llm.protocol import Json, ToolRequest
from mnemon.llm.scripted.script import Reply, Said, Script


def control(script: Script, method: str, path: str, raw: bytes) -> Json:
    """Do what the request says; what to answer."""
    if method == "GET" and path == "/script/asked":
        return {"asked": [{"on": asked.on, "headers": asked.headers, "body": asked.body} for asked in script.asked]}
    if method == "DELETE":
        script.clear()
    elif method == "POST":
        apply(script, json.loads(raw))
    return {"asked": len(script.asked)}


def apply(script: Script, orders: Json) -> None:
    """The script says what the orders say, after what it already had to say."""
    if orders.get("heals"):
        script.heals()
    script.replies(*(_said(reply) for reply in orders.get("replies", ())))
    if "alwaysReplies" in orders:
        script.always_replies(_said(orders["alwaysReplies"]))
    for title, answers in orders.get("answers", {}).items():
        script.answers(title, *answers)
    for title, answer in orders.get("alwaysAnswers", {}).items():
        script.always_answers(title, answer)
    for fault in orders.get("fails", ()):
        script.fails(**fault)


def _said(raw: Any) -> Said:
    if isinstance(raw, str):
        return raw
    calls = tuple(
        ToolRequest(id=call.get("id", f"call_{number}"), name=call["name"], arguments=call.get("arguments", {}))
        for number, call in enumerate(raw.get("calls", ()), 1)
    )
    return Reply(pieces=tuple(raw.get("pieces", ())), calls=calls, reason=raw.get("reason"))
