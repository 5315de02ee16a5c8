"""Which server a data command speaks to: flags, the environment, profiles, and the local one, in this order."""

import json
from pathlib import Path
from typing import Any

import pytest

from mnemon.cli.profiles import Profile, load_profiles, profiles_file, remove_profile, save_profile
from mnemon.cli.server_choice import LocalServer, RemoteServer, ServerOptions, check_url, choose_server
from mnemon.errors import Invalid, Misconfigured, NotFound, Unauthenticated

KEYS = {name: f"mnk_{name}_{'0' * 64}" for name in ("flag", "env", "prod", "default", "other")}
PROFILES = {
    "default": Profile(url="http://default", key=KEYS["default"]),
    "prod": Profile(url="http://prod", key=KEYS["prod"]),
}
ENV = {"MNEMON_URL": "http://env", "MNEMON_KEY": KEYS["env"]}


def remote(url: str, key: str) -> RemoteServer:
    return RemoteServer(url=url, key=KEYS[key])


def chosen(
    environment: dict[str, str], profiles: dict[str, Profile] | None = None, **options: Any
) -> RemoteServer | LocalServer:
    return choose_server(ServerOptions(**options), environment, lambda: PROFILES if profiles is None else profiles)


@pytest.mark.parametrize(
    ("options", "environment", "expected"),
    [
        ({"url": "http://flag/", "key": KEYS["flag"]}, ENV, remote("http://flag", "flag")),
        ({"url": "http://flag", "key": KEYS["flag"], "profile": "prod"}, ENV, remote("http://flag", "flag")),
        ({"url": "http://flag"}, ENV, remote("http://flag", "env")),
        ({"profile": "prod"}, ENV, remote("http://prod", "prod")),
        ({"profile": "prod", "key": KEYS["flag"]}, ENV, remote("http://prod", "flag")),
        ({}, ENV, remote("http://env", "env")),
        ({}, {**ENV, "MNEMON_PROFILE": "prod"}, remote("http://env", "env")),
        ({}, {"MNEMON_PROFILE": "prod"}, remote("http://prod", "prod")),
        ({}, {"MNEMON_PROFILE": "prod", "MNEMON_DATA_DIR": "/data"}, remote("http://prod", "prod")),
        ({}, {"MNEMON_URL": "http://default"}, remote("http://default", "default")),
        ({}, {}, remote("http://default", "default")),
        ({}, {"MNEMON_KEY": KEYS["env"]}, remote("http://default", "env")),
        ({}, {"MNEMON_DATA_DIR": "/data"}, LocalServer(org="local")),
        ({"org": "acme"}, {"MNEMON_DATABASE_URL": "postgresql://x"}, LocalServer(org="acme")),
        ({"key": KEYS["flag"]}, {"MNEMON_DATA_DIR": "/data"}, LocalServer(org="flag", key=KEYS["flag"])),
    ],
)
def test_flags_count_before_the_environment_before_profiles_before_the_local_server(
    options: dict[str, Any], environment: dict[str, str], expected: RemoteServer | LocalServer
) -> None:
    assert chosen(environment, **options) == expected


def test_nothing_named_is_the_local_server() -> None:
    assert chosen({}, {}) == LocalServer(org="local")


def test_a_profiles_key_goes_to_no_other_server() -> None:
    with pytest.raises(Unauthenticated, match="There is no key for"):
        chosen({}, url="http://flag")
    with pytest.raises(Unauthenticated, match="There is no key for"):
        chosen({"MNEMON_URL": "http://env"})
    with pytest.raises(Unauthenticated, match="There is no key for"):
        chosen({}, url="http://flag", profile="prod")


def test_what_cannot_be_meant_is_told() -> None:
    with pytest.raises(NotFound, match=r"There is no profile 'test'. There are: default, prod"):
        chosen({}, profile="test")
    with pytest.raises(Invalid, match="belongs to the organization 'flag', not 'acme'"):
        chosen({}, url="http://flag", key=KEYS["flag"], org="acme")
    assert chosen({}, url="http://flag", key=KEYS["flag"], org="flag") == remote("http://flag", "flag")
    for key in ("secret", "mnk_acme_", "mnk_acme_\x1b[2J", "mnk_acme_schlüssel"):
        with pytest.raises(Unauthenticated, match="keys look like"):
            chosen({}, url="http://flag", key=key)


@pytest.mark.parametrize(
    "url", ["", "localhost:8765", "ftp://host", "http://", "http://host:port", "http://h\n", "http://ö"]
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(Invalid, match="is not a server's address"):
        check_url(url)


def test_profiles_are_kept_by_name_and_only_their_owner_reads_them(tmp_path: Path) -> None:
    environment = {"XDG_CONFIG_HOME": str(tmp_path)}
    assert load_profiles(environment) == {}
    for name, profile in PROFILES.items():
        path = save_profile(name, profile, environment)
        path.chmod(0o644)  # as a careless copy would have it: the next write puts it right
    save_profile("prod", Profile(url="http://new", key=KEYS["other"]), environment)
    assert path == profiles_file(environment)
    assert path.stat().st_mode & 0o777 == 0o600
    assert load_profiles(environment)["prod"].url == "http://new"
    assert [one.name for one in path.parent.iterdir()] == [path.name]
    assert remove_profile("prod", environment).url == "http://new"
    assert load_profiles(environment) == {"default": PROFILES["default"]}
    with pytest.raises(NotFound):
        remove_profile("prod", environment)


@pytest.mark.parametrize("broken", ["", "[]", '{"default": 1}', '{"default": {"url": "x"}}', "\ufffd{"])
def test_a_broken_profile_file_is_told_with_its_path(tmp_path: Path, broken: str) -> None:
    environment = {"XDG_CONFIG_HOME": str(tmp_path)}
    path = profiles_file(environment)
    path.parent.mkdir()
    path.write_text(broken, encoding="utf-8")
    with pytest.raises(Misconfigured, match="cannot be read as profiles"):
        load_profiles(environment)


def test_a_key_is_in_no_representation() -> None:
    shown = repr([PROFILES, ServerOptions(key=KEYS["flag"]), remote("http://x", "flag"), LocalServer(org="a", key="k")])
    assert "mnk_" not in shown
    assert json.dumps(shown)
