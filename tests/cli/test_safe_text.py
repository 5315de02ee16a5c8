"""What a terminal would obey is shown instead, wherever a command prints it."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table
from rich.text import Text

from mnemon.cli import terminal
from mnemon.cli.safe_text import SafeConsole, safe_json, safe_markup, safe_text

ATTACKS = {
    "retitle": "\x1b]0;owned\x07",
    "clear": "\x1b[2J\x1b[H",
    "link": "\x1b]8;;https://evil.example\x1b\\click\x1b]8;;\x1b\\",
    "one-character CSI": "\x9b31mred",
    "one-character OSC": "\x9d0;owned\x9c",
    "device control": "\x90q\x9c",
    "over the line": "safe\rEVIL",
    "backspaces": "safe\b\b\b\bEVIL",
    "delete": "a\x7fb",
    "bidi override": "user\u202etxt.exe",
    "isolates": "\u2066a\u2069",
    "marks": "\u200ea\u200fb\u061cc",
    "bell": "\x07" * 5,
}
OBEYED = {chr(code) for code in (*range(0x20), *range(0x7F, 0xA0))} | set("\u061c\u200e\u200f\u2028\u2029")
OBEYED |= set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
OBEYED -= {"\n", "\t"}


def printed(*things: object, **options: object) -> str:
    file = io.StringIO()
    SafeConsole(file=file, force_terminal=True, color_system=None, width=200, highlight=False).print(*things, **options)  # type: ignore[arg-type]
    return file.getvalue()


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_nothing_printed_on_a_console_is_obeyed(attack: str) -> None:
    table = Table.grid()
    table.add_row(Text(attack), f"[bold]{safe_markup(attack)}[/]")
    for thing in (attack, Text(attack, style="bold"), table, f"[dim]{safe_markup(attack)}[/]"):
        assert not OBEYED & set(printed(thing))
    assert not OBEYED & set(printed(attack, markup=False, soft_wrap=True))


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_a_reply_and_json_reach_the_terminal_safe(attack: str, capsys: pytest.CaptureFixture[str]) -> None:
    terminal.print_piece(attack)
    assert not OBEYED & set(capsys.readouterr().out)
    terminal.print_json({"name": attack})
    told = capsys.readouterr().out
    assert not OBEYED & set(told)
    assert json.loads(told) == {"name": attack}


def test_the_commands_print_on_such_consoles() -> None:
    assert isinstance(terminal.out, SafeConsole)
    assert isinstance(terminal.err, SafeConsole)


def test_brackets_in_a_name_style_nothing() -> None:
    assert "[link=https://evil.example]x[/link]" in printed(
        f"[bold]{safe_markup('[link=https://evil.example]x[/link]')}[/]"
    )


@given(st.text())
def test_safe_text_keeps_every_other_character(text: str) -> None:
    safe = safe_text(text)
    assert len(safe) == len(text)
    assert all(a == b or a in OBEYED for a, b in zip(text, safe, strict=True))
    assert not OBEYED & set(safe)


@given(st.text())
def test_safe_json_reads_as_the_same_value(text: str) -> None:
    safe = safe_json(json.dumps({text: text}, ensure_ascii=False))
    assert json.loads(safe) == {text: text}
    assert not OBEYED & set(safe)
