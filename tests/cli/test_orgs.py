"""`mnemon orgs`: what an organization chooses, shown and changed on the server's machine."""

import json

from cli.test_keys import Mnemon, mnemon

__all__ = ["mnemon"]


def test_the_switch_is_turned_and_shown(mnemon: Mnemon) -> None:
    words = ("--engagement", "off", "--time-zone", "Europe/Berlin", "--instructions", "Be [brief].")
    changed = mnemon("orgs", "set", "acme", *words, "--json")
    held = {"org": "acme", "engagement": "off", "timeZone": "Europe/Berlin", "instructions": "Be [brief]."}
    assert json.loads(changed.stdout) == held
    assert json.loads(mnemon("orgs", "set", "acme", "--engagement", "on", "--json").stdout)["timeZone"] is not None
    shown = mnemon("orgs", "show", "acme").stdout
    assert "engagement    on" in shown
    assert "Be [brief]." in shown


def test_nothing_to_change_and_what_cannot_be_are_refused(mnemon: Mnemon) -> None:
    assert mnemon("orgs", "set", "acme").exit_code == 2
    assert mnemon("orgs", "set", "acme", "--engagement", "perhaps").exit_code == 2
    assert mnemon("orgs", "set", "acme", "--time-zone", "Mars/Olympus").exit_code == 2
    assert mnemon("orgs", "set", "globex", "--engagement", "off").exit_code == 3
    assert json.loads(mnemon("orgs", "show", "acme", "--json").stdout)["engagement"] == "on"
