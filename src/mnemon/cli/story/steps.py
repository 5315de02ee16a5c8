"""Read the story's TOML files into steps, ordered by time."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from importlib.resources import files
from typing import Any, Literal

StepData = dict[str, Any]
StepKind = Literal["turn", "morning", "market", "run", "again", "resolve", "chat"]

MORNING_TIME = "07:30"
EVENING_TIME = "21:00"
_PRICES_IN_THOUSANDS = ("entry", "take_profit", "stop_loss")
"""Card slots that the files give in thousands."""


@dataclass(frozen=True, kw_only=True)
class DemoStep:
    """Something that happens at a moment of the story."""

    kind: StepKind
    after: timedelta
    """Time since the story's first midnight."""
    told: StepData
    """The step's table in the TOML file."""


@dataclass(frozen=True, kw_only=True)
class DemoStory:
    """The personas, the agents and the steps."""

    personas: tuple[StepData, ...]
    agents: tuple[StepData, ...]
    steps: tuple[DemoStep, ...] = field(default_factory=tuple)


def read_story() -> DemoStory:
    """Return the demo's personas, agents and steps, read from its TOML files."""
    agents, trades = _read_file("agents"), _read_file("trades")
    steps = [
        *_parse_steps("turn", _read_file("talks")["turn"]),
        *_parse_steps("run", agents["run"]),
        *_parse_steps("again", [*agents["again"], *trades["again"]]),
        *_parse_steps("resolve", agents["resolve"]),
        *_parse_steps("chat", agents["chat"]),
        *_parse_steps("morning", [_morning_data(data, trades["market"]["symbol"]) for data in trades["morning"]]),
        *_parse_steps("market", _price_bars(trades["market"])),
    ]
    return DemoStory(
        personas=tuple(_read_file("people")["persona"]),
        agents=tuple(agents["agent"]),
        steps=tuple(sorted(steps, key=lambda step: step.after)),
    )


def _parse_steps(kind: StepKind, tables: list[StepData]) -> Iterator[DemoStep]:
    """Yield a step of this kind for each TOML table, at the day and time that the table names."""
    for table in tables:
        hours, minutes = table["at"].split(":")
        yield DemoStep(
            kind=kind, after=timedelta(days=table["day"], hours=int(hours), minutes=int(minutes)), told=table
        )


def _morning_data(data: StepData, symbol: str) -> StepData:
    """Return a morning's table with its time, and with its card's symbol and prices filled in."""
    card = {"symbol": symbol, **data.get("card", {})}
    levels = {name: card[name] * 1000 for name in _PRICES_IN_THOUSANDS if name in card}
    return {**data, "at": MORNING_TIME, "card": {**card, **levels}}


def _price_bars(market: StepData) -> list[StepData]:
    """Return a step table for each day's bar of prices; the file gives prices in thousands."""
    return [
        {
            "day": day,
            "at": EVENING_TIME,
            "bar": {"symbol": market["symbol"], "low": low * 1000, "high": high * 1000, "price": close * 1000},
        }
        for day, low, high, close in market["bars"]
    ]


def _read_file(name: str) -> StepData:
    """Return the content of one of the story's TOML files, by its name without `.toml`."""
    return tomllib.loads(files("mnemon.cli.story").joinpath(f"{name}.toml").read_text(encoding="utf-8"))
