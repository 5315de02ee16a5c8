"""The story's files as steps in the order of their time."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from importlib.resources import files
from typing import Any, Literal

Told = dict[str, Any]
Kind = Literal["turn", "morning", "market", "run", "again", "resolve", "chat"]

MORNING = "07:30"
EVENING = "21:00"
_THOUSANDS = ("entry", "take_profit", "stop_loss")


@dataclass(frozen=True, kw_only=True)
class Step:
    """Something that happens at a time of the story."""

    kind: Kind
    after: timedelta
    """Since the story's first midnight."""
    told: Told
    """The file's words for it."""


@dataclass(frozen=True, kw_only=True)
class Story:
    """Who there is, and what happens."""

    personas: tuple[Told, ...]
    agents: tuple[Told, ...]
    steps: tuple[Step, ...] = field(default_factory=tuple)


def read_story() -> Story:
    """The story as its files tell it."""
    agents, trades = _file("agents"), _file("trades")
    steps = [
        *_steps("turn", _file("talks")["turn"]),
        *_steps("run", agents["run"]),
        *_steps("again", [*agents["again"], *trades["again"]]),
        *_steps("resolve", agents["resolve"]),
        *_steps("chat", agents["chat"]),
        *_steps("morning", [_morning(told, trades["market"]["symbol"]) for told in trades["morning"]]),
        *_steps("market", _bars(trades["market"])),
    ]
    return Story(
        personas=tuple(_file("people")["persona"]),
        agents=tuple(agents["agent"]),
        steps=tuple(sorted(steps, key=lambda step: step.after)),
    )


def _steps(kind: Kind, told: list[Told]) -> Iterator[Step]:
    for one in told:
        hours, minutes = one["at"].split(":")
        yield Step(kind=kind, after=timedelta(days=one["day"], hours=int(hours), minutes=int(minutes)), told=one)


def _morning(told: Told, symbol: str) -> Told:
    card = {"symbol": symbol, **told.get("card", {})}
    levels = {name: card[name] * 1000 for name in _THOUSANDS if name in card}
    return {**told, "at": MORNING, "card": {**card, **levels}}


def _bars(market: Told) -> list[Told]:
    return [
        {
            "day": day,
            "at": EVENING,
            "bar": {"symbol": market["symbol"], "low": low * 1000, "high": high * 1000, "price": close * 1000},
        }
        for day, low, high, close in market["bars"]
    ]


def _file(name: str) -> Told:
    return tomllib.loads(files("mnemon.cli.story").joinpath(f"{name}.toml").read_text(encoding="utf-8"))
