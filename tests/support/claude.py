"""Where the real Claude CLI is, if it is anywhere."""

import importlib.util
import shutil
from pathlib import Path

import pytest


def claude_binary() -> Path | None:
    """The binary that claude-agent-sdk bundles, or the one on the PATH."""
    found = importlib.util.find_spec("claude_agent_sdk")
    if found is not None and found.origin is not None:
        bundled = Path(found.origin).parent / "_bundled" / "claude"
        if bundled.is_file():
            return bundled
    named = shutil.which("claude")
    return Path(named) if named else None


needs_claude = pytest.mark.skipif(
    claude_binary() is None, reason="no Claude CLI: install claude-agent-sdk==0.2.182, which bundles it"
)
