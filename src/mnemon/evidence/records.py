"""Records that a program wrote, JSON objects, tables and lists of fields, read as sentences: a key with its value.

"paid": false says that something is not paid, and a value belongs to its own key and row. Spelled out like this, a
record is compared with a statement as any other text.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mnemon.evidence.clause import ReadWord, read_words
from mnemon.untrusted_text import reads_outside_text_up_to

LONGEST_READ = 4_000
_MOST_FIELDS = 200
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_FIELD_LINE = re.compile(r"[^\S\n]*(?P<key>[A-Za-z][\w /.-]{0,40}?)[^\S\n]*(?:[:=])[^\S\n]+(?P<value>[^\n]{1,400})")
_INLINE_FIELD = re.compile(
    r"(?P<key>[A-Za-z][\w-]{0,30})(?:=|:\s)(?P<value>[^,;=:\n]{1,60}?)(?=,\s|;\s|\s[A-Za-z][\w-]{0,30}=|$)"
)
_COLUMNS = re.compile(r"\s*\|\s*|\t|\s{2,}|,(?=\S)")
_RULE = re.compile(r"^[\s|:+=-]+$")
_FEWEST_COLUMNS = 3
_NUMBER = re.compile(r"-?\d[\d.,]*\s?(?:%|[A-Za-z]{1,3})?")
_YEAR = re.compile(r"(?:19|20)\d\d")


@dataclass(frozen=True, kw_only=True)
class Field:
    """One value of a record with the words of its key; `row` numbers the record in its list or table."""

    key: str
    value: str
    row: int

    @property
    def sentence(self) -> str:
        """Return the field as a clause: "not paid" for a false value, "no results" for an empty one."""
        if self.value in {"false", "no", "off"}:
            return f"not {self.key}"
        if self.value in {"true", "yes", "on"}:
            return self.key
        if self.value in {"null", "none", "[]", "{}", ""}:
            return f"no {self.key}"
        return f"{self.key} {self.value}"


@reads_outside_text_up_to(LONGEST_READ)
def read_fields(text: str) -> tuple[Field, ...]:
    """Return the fields of a text that is a JSON record, a list of records or a table; none for any other text."""
    text = text[:LONGEST_READ].strip()
    for read in (_json_fields, _table_fields, _line_fields):
        found = read(text)
        if found:
            return tuple(found[:_MOST_FIELDS])
    return ()


def spell_fields(fields: Sequence[Field]) -> str:
    """Return the fields as prose: one clause for each field, one sentence for each row."""
    rows: dict[int, list[str]] = {}
    for one in fields:
        rows.setdefault(one.row, []).append(one.sentence)
    return ".\n".join("; ".join(row) for row in rows.values()) + "."


def _json_fields(text: str) -> list[Field]:
    """Return the fields of a JSON object or array."""
    if not text.startswith(("{", "[")):
        return []
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        return []
    rows = given if isinstance(given, list) else [given]
    return [field for row, one in enumerate(rows) if isinstance(one, dict) for field in _value_fields(one, "", row, 0)]


def _value_fields(given: object, key: str, row: int, depth: int) -> Iterator[Field]:
    """Yield the fields inside a JSON value, each with the keys that lead to it as its key."""
    if isinstance(given, dict) and given and depth < 6:
        for name, value in given.items():
            yield from _value_fields(value, f"{key} {_key_as_words(str(name))}".strip(), row, depth + 1)
    elif isinstance(given, list) and given and depth < 6:
        for place, value in enumerate(given):
            yield from _value_fields(value, key, row * 100 + place + 1 if isinstance(value, dict) else row, depth + 1)
    else:
        yield Field(key=key, value=given if isinstance(given, str) else json.dumps(given), row=row)


def _key_as_words(key: str) -> str:
    """Return a key as words: "last seen" for "last_seen" and "lastSeen"."""
    return _CAMEL.sub(" ", key).replace("_", " ").replace("-", " ").replace("%", " percent").strip().lower()


def _table_fields(text: str) -> list[Field]:
    """Return the cells of a table (bars, tabs, commas or aligned spaces) as fields named by column; else none."""
    lines = [line.strip().strip("|") for line in text.splitlines() if line.strip() and not _RULE.match(line)]
    lines = [line for line in lines if not line.startswith("$")]
    for split in (_split_cells, str.split):
        cells = [split(line.replace("Mounted on", "Mounted")) for line in lines]
        head = cells[0] if cells else []
        if len(head) < _FEWEST_COLUMNS or any(not cell or cell[0].isdigit() for cell in head):
            continue
        rows = [row for row in cells[1:] if len(row) == len(head)]
        if rows and len(rows) == len(cells) - 1:
            return [
                Field(key=_key_as_words(name), value=cell.strip(), row=at)
                for at, row in enumerate(rows)
                for name, cell in zip(head, row, strict=True)
            ]
    return []


def _split_cells(line: str) -> list[str]:
    """Return the cells of a table's line, without surrounding spaces."""
    return [cell.strip() for cell in _COLUMNS.split(line.strip())]


def _line_fields(text: str) -> list[Field]:
    """Return the fields of a text that is nothing but lines like "Role: Cook", or one line "from=A to=B"; else none."""
    lines = [line for line in text.splitlines() if line.strip()]
    found = [match for line in lines if (match := _FIELD_LINE.fullmatch(line))]
    if len(lines) > 1 and len(found) == len(lines):
        return [Field(key=_key_as_words(match["key"]), value=match["value"].strip(), row=0) for match in found]
    inline = list(_INLINE_FIELD.finditer(lines[0])) if len(lines) == 1 else []
    if len(inline) > 1 and sum(len(match[0]) for match in inline) > len(text) * 0.7:
        return [Field(key=_key_as_words(match["key"]), value=match["value"].strip(), row=0) for match in inline]
    return []


_SEVERAL = re.compile(r"\b(?:and|while|but|whereas|both|from|between)\b|[,;]", re.IGNORECASE)


def record_fault(statement: str, claimed: Sequence[ReadWord], fields: Sequence[Field]) -> str | None:
    """Return the fault where the statement gives a value to another key or row of the record; None without."""
    if not fields:
        return None
    own = {word.stem for word in claimed if not word.is_function_word} | {word.text for word in claimed}
    read = [(one, _content_stems(one.key), _content_stems(one.value)) for one in fields]
    used = [each for each in read if each[2] and each[2] <= own]
    for one, key, value in used:
        if key & own or any(value == other[2] and other[1] & own for other in used):
            continue
        for other, other_key, other_value in read:
            is_named = other_key & own - key and other.row == one.row
            if (
                is_named
                and _value_type(one.value) == _value_type(other.value)
                and not other_value & own
                and not other_key & value
            ):
                return f"the record gives “{other.value}” for “{other.key}”"
    if _SEVERAL.search(statement):
        return None
    return _row_fault(own, read)


def _value_type(value: str) -> str:
    """Return the type of a value: number, date, truth value or word; only values of one type are confused."""
    if _NUMBER.fullmatch(value):
        return "date" if _YEAR.fullmatch(value) else "number"
    return "truth" if value in {"true", "false", "null", "[]", "{}"} else "word"


def _row_fault(own: set[str], read: Sequence[tuple[Field, frozenset[str], frozenset[str]]]) -> str | None:
    """Return the fault where the statement mixes values of different rows; None without."""
    rows: dict[str, set[int]] = {}
    for one, _, value in read:
        for stem in value & own:
            rows.setdefault(stem, set()).add(one.row)
    single = [(stem, next(iter(held))) for stem, held in rows.items() if len(held) == 1]
    first = single[0] if single else None
    for stem, row in single[1:]:
        if first and row != first[1]:
            return f"the record gives “{first[0]}” and “{stem}” in different rows"
    return None


def _content_stems(text: str) -> frozenset[str]:
    """Return the stems of the content words of a key or value."""
    return frozenset(word.stem for word in read_words(text.lower()) if not word.is_function_word)
