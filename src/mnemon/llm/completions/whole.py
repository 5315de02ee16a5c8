"""A completion that came whole, read."""

import json
import re
from typing import Any

from mnemon.llm.completions.rejection import told
from mnemon.llm.protocol import Json, Usage
from mnemon.llm.vendor import Said
from mnemon.outside import reads_outside_text

_THOUGHT = re.compile(r"<think>.*?</think>", re.DOTALL)


def said(body: bytes) -> Said:
    """The answer in a completion. ValueError where it is none."""
    given = read(body)
    if given.get("error"):
        raise told(given["error"])
    choice = first(given.get("choices"))
    message = choice.get("message") if choice else None
    if not isinstance(message, dict):
        raise ValueError("it holds no message")
    usage = tokens(given.get("usage"))
    return Said(text=_answer(message), usage=usage, cut=choice is not None and choice.get("finish_reason") == "length")


def read(data: bytes) -> Json:
    """The JSON object that the server sent."""
    try:
        given = json.loads(data)
    except (ValueError, RecursionError):
        raise ValueError("what came is no JSON") from None
    if not isinstance(given, dict):
        raise ValueError("what came is no JSON object")
    return given


def first(choices: Any) -> Json | None:
    """The first choice, which is the only one that was asked for; None where there is none."""
    if not choices:
        return None
    if not isinstance(choices, list) or not isinstance(choices[0], dict):
        raise ValueError("its choices are none")
    choice: Json = choices[0]
    return choice


def text_in(content: Any) -> str:
    """The text of a message or a piece, also where a server sends it as a list of parts."""
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if not isinstance(content, list):
        raise ValueError("its content is no text")
    return "".join(_part(part) for part in content)


def tokens(usage: Any) -> Usage:
    """What the completion cost; nothing where the server does not say."""
    if not isinstance(usage, dict):
        return Usage()
    details = usage.get("prompt_tokens_details")
    return Usage(
        input_tokens=_count(usage.get("prompt_tokens")),
        output_tokens=_count(usage.get("completion_tokens")),
        cached_tokens=_count(details.get("cached_tokens")) if isinstance(details, dict) else 0,
    )


def _answer(message: Json) -> str:
    """The text, without what the model thought before it, or the arguments of a call that was made in its place."""
    match message.get("tool_calls"):
        case [{"function": {"arguments": str(arguments)}}, *_]:
            return arguments
    if message.get("refusal"):
        return ""
    text = text_in(message.get("content"))
    return _without_thoughts(text) if "<think>" in text else text


@reads_outside_text
def _without_thoughts(text: str) -> str:
    """The text without what stands in its marks of thinking; a mark that is never closed is taken out alone."""
    # Only as far as the last closing mark: every opening one behind it would look through the whole rest for its own.
    end = text.rfind("</think>") + len("</think>") if "</think>" in text else 0
    return (_THOUGHT.sub("", text[:end]) + text[end:]).replace("<think>", "", 1)


def _part(part: Any) -> str:
    if isinstance(part, str):
        return part
    given = part.get("text") if isinstance(part, dict) and part.get("type") == "text" else None
    return given if isinstance(given, str) else ""


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0
