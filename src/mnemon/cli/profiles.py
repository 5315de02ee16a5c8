"""The profiles that `mnemon login` stores: a server's address and a key, each under a name.

They are in `mnemon/profiles.json` of the XDG configuration directory, readable by their owner only.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from mnemon.cli.private_file import write_private
from mnemon.errors import Misconfigured, NotFound

DEFAULT_PROFILE = "default"
"""The profile that counts when none is named."""


@dataclass(frozen=True, kw_only=True)
class Profile:
    """A server and the key to use there."""

    url: str
    key: str = field(repr=False)


def profiles_file(environment: Mapping[str, str]) -> Path:
    """Return where the profiles are stored."""
    home = environment.get("XDG_CONFIG_HOME", "")
    # The XDG specification: a path that is not absolute is ignored.
    folder = Path(home) if home.startswith("/") else Path.home() / ".config"
    return folder / "mnemon" / "profiles.json"


def load_profiles(environment: Mapping[str, str] = os.environ) -> dict[str, Profile]:
    """Return all profiles by name; none when nobody has logged in. Raises Misconfigured for a file that is broken."""
    path = profiles_file(environment)
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        return {str(name): Profile(url=str(one["url"]), key=str(one["key"])) for name, one in stored.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise Misconfigured(f"{path} cannot be read as profiles. Remove it, then run `mnemon login` again.") from None


def save_profile(name: str, profile: Profile, environment: Mapping[str, str] = os.environ) -> Path:
    """Store the profile under its name, in place of one that has it; return the file."""
    return _write_profiles({**load_profiles(environment), name: profile}, environment)


def remove_profile(name: str, environment: Mapping[str, str] = os.environ) -> Profile:
    """Remove the profile and return it; raise NotFound when there is none of that name."""
    known = load_profiles(environment)
    removed = known.pop(name, None)
    if removed is None:
        raise profile_not_found(name, known)
    _write_profiles(known, environment)
    return removed


def profile_not_found(name: str, known: Mapping[str, Profile]) -> NotFound:
    """Return the error for a profile that does not exist, with the names of those that do."""
    named = f" There are: {', '.join(sorted(known))}." if known else ""
    step = f"Store it with `mnemon login --profile {name} --url … --key …`."
    return NotFound("profile", detail=f"There is no profile {name!r}.{named} {step}")


def _write_profiles(profiles: Mapping[str, Profile], environment: Mapping[str, str]) -> Path:
    path = profiles_file(environment)
    write_private(path, json.dumps({name: asdict(one) for name, one in profiles.items()}, indent=2) + "\n")
    return path
