"""Check the model, the embedder, the clock file, and paths that settings name."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

from mnemon.app import make_clock, make_llm
from mnemon.cli.checkup.check import Check, fail, fail_from_error, ok, warn
from mnemon.clock import Clock, SystemClock, format_time
from mnemon.embedding.connect import connect_embedder
from mnemon.errors import MnemonError
from mnemon.settings import Settings


def check_model(settings: Settings) -> Check:
    """Check that the configured models can be set up, and say if there is none. No request is sent."""
    named = tuple(filter(None, (settings.model, settings.reflection_model)))
    if set(named) == {"offline"}:
        return ok(
            "model",
            "Offline: rules instead of a language model. They are precise but notice only plain statements, and a "
            "reply only repeats what is remembered.",
            "export MNEMON_MODEL=openai:… MNEMON_MODEL_API_KEY=…  # for a language model",
        )
    try:
        for name in named:
            make_llm(settings, name)
    except MnemonError as error:
        return fail_from_error("model", error)
    at = f" at {settings.model_base_url}" if settings.model_base_url else ""
    after = f", {settings.reflection_model} to reflect" if settings.reflection_model else ""
    return ok("model", f"{settings.model}{at} is configured to reply{after}; no test request was sent.")


def embedder_name(settings: Settings) -> str | None:
    """Return the name that the embedder's vectors are stored under; None when the setting is invalid."""
    key = settings.embedder_api_key.get_secret_value() if settings.embedder_api_key else None
    try:
        return connect_embedder(settings.embedder, base_url=settings.embedder_base_url, api_key=key).model
    except MnemonError:
        return None


async def check_embedder(settings: Settings) -> Check:
    """Check that the embedder can be set up, and embed a text if it is the local one."""
    key = settings.embedder_api_key.get_secret_value() if settings.embedder_api_key else None
    try:
        found = connect_embedder(settings.embedder, base_url=settings.embedder_base_url, api_key=key)
    except MnemonError as error:
        return fail_from_error("embedder", error)
    try:
        if settings.embedder != "local":
            return ok("embedder", f"{found.model} is configured; no test request was sent.")
        vectors = await found.embed(["a few words"])
    except MnemonError as error:
        return fail_from_error("embedder", error)
    finally:
        await found.close()
    if vectors.shape != (1, found.dimension) or not vectors.any():
        return fail("embedder", f"{found.model} returns no usable vectors.", "make run  # installs it again")
    return ok("embedder", f"{found.model} returns vectors of {found.dimension} dimensions.")


async def check_clock(settings: Settings) -> AsyncIterator[Check]:
    """Check the clock file, if one is set: it must be readable and allowed, and it is always a warning."""
    if settings.clock_file is None:
        return
    try:
        now = make_clock(settings).now()
    except MnemonError as error:
        yield fail_from_error("clock", error)
    else:
        away = abs((now - SystemClock().now()).days)
        words = f"Every process uses the time {format_time(now)}, {away} days from the machine's."
        yield warn("clock", words, "unset MNEMON_CLOCK_FILE")


def usable_clock(settings: Settings) -> Clock:
    """Return the configured clock, or the machine's when that one cannot be read."""
    try:
        return make_clock(settings)
    except MnemonError:
        return SystemClock()


def check_paths(settings: Settings) -> list[Check]:
    """Check that files and directories named by settings exist; return the failures only."""
    found: list[Check] = []
    if settings.claude_cli is not None and not os.access(settings.claude_cli, os.X_OK):
        words = f"MNEMON_CLAUDE_CLI {settings.claude_cli} is not a program."
        found.append(fail("claude cli", words, "export MNEMON_CLAUDE_CLI=$(which claude)"))
    if settings.cards_dir is not None and not Path(settings.cards_dir).is_dir():
        words = f"MNEMON_CARDS_DIR {settings.cards_dir} is not a directory."
        found.append(fail("cards", words, f"mkdir -p {settings.cards_dir}"))
    return found
