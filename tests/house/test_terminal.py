"""What a command prints goes through `cli/safe_text.py`: nothing writes past it, and stored text is no markup."""

import ast
from collections.abc import Iterator
from pathlib import Path

CLI = Path(__file__).parents[2] / "src" / "mnemon" / "cli"
FILES = sorted(CLI.rglob("*.py"))
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in FILES}

WRITERS = {"terminal.py": 2, "custody.py": 1}
"""Who writes to stdout themselves, and how often: JSON and pieces made safe; an export, made safe line by line."""
PRINTERS = {"print", "status", "rule", "log", "print_exception"}
CONSOLES = {"out", "err"}
OURS = frozenset({
    "id", "run_id", "kind", "type", "status", "tokens", "rejected", "resolution_status", "total", "title",
})  # fmt: skip
"""Attributes that hold an id, a word of ours or a number, whoever the object is."""
OUR_WORDS = {
    "agents.py": {"what"},
    "backup.py": {"tables"},
    "chat.py": {"_HELP", "text", "name", "title"},
    "demo.py": {"named", "steps", "link"},
    "doctor.py": {"counts['ok']", "counts['fail']", "warnings", "STATE_LABELS[one.state]", "one.name", "''"},
    "jobs.py": {"_jobs_phrase(len(done))", "tries", "kind", "status"},
    "memory.py": {"word", "colour", "bar", "_BAR_WIDTH"},
    "reembed.py": {"moved.vectors", "moved.organizations", "moved.dropped"},
    "serve.py": {"applied", "', '.join(repaired)", "settings.worker_concurrency", "_STOP_HINT"},
    "sources.py": {"MAX_LISTED"},
    "startup.py": {"_server_url(settings, port)", "offline", "link", "LOCAL_ORG", "key", "tries", "before"},
}
"""What else is put into markup as it is: markup, words and numbers of our own, by file. Nothing that is stored."""


def prints(tree: ast.AST) -> Iterator[ast.Call]:
    """Every call that prints to one of the two consoles with markup on."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in PRINTERS
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id in CONSOLES
            and not any(word.arg == "markup" for word in node.keywords)
        ):
            yield node


def is_safe(value: ast.FormattedValue) -> bool:
    """Whether what is put into the markup was made safe, is formatted as a number, or is a word of ours."""
    inner = value.value
    if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name):
        return inner.func.id in {"safe_markup", "len", "count_with_noun"}
    if value.format_spec is not None:
        spec = ast.unparse(value.format_spec)
        return any(sign in spec for sign in (",", ".", "%", ">"))
    return isinstance(inner, ast.Attribute) and inner.attr in OURS


def test_nothing_writes_past_the_consoles() -> None:
    found: dict[str, int] = {}
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and (said := ast.unparse(node.func)):
                written = said in {"print", "sys.stdout.write", "sys.stderr.write", "sys.stdout.buffer.write"}
                if written or said in {"typer.echo", "typer.secho", "click.echo", "Console", "rich.print"}:
                    found[path.name] = found.get(path.name, 0) + 1
    assert found == {**WRITERS, "main.py": 1}, "main.py echoes the version"


def test_what_is_put_into_markup_was_made_safe() -> None:
    unsafe = [
        f"{path.name}:{value.lineno} {ast.unparse(value.value)}"
        for path, tree in TREES.items()
        for call in prints(tree)
        for part in call.args
        for value in ast.walk(part)
        if isinstance(value, ast.FormattedValue)
        and not is_safe(value)
        and ast.unparse(value.value) not in OUR_WORDS.get(path.name, ())
    ]
    assert unsafe == [], "write {safe_markup(…)} in the f-string itself; words of our own are listed in OUR_WORDS"


def test_every_word_of_ours_is_still_printed() -> None:
    printed = {
        path.name: {
            ast.unparse(v.value) for call in prints(tree) for v in ast.walk(call) if isinstance(v, ast.FormattedValue)
        }
        for path, tree in TREES.items()
    }
    assert {name: words - printed[name] for name, words in OUR_WORDS.items() if words - printed[name]} == {}


def test_there_is_something_to_look_at() -> None:
    assert sum(1 for tree in TREES.values() for _ in prints(tree)) > 40
