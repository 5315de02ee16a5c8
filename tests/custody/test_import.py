"""Export and import at the database: which lines are taken, for whom, and what an import leaves as it was."""

import json
from typing import Any

import pytest
from structlog.testing import capture_logs

from mnemon.api.custody import IMPORTED_TABLES
from mnemon.custody import tables
from mnemon.custody.export import export_lines, export_to_file, file_chunks, json_line
from mnemon.custody.import_person import ImportResult, import_person
from mnemon.db.database import Database
from mnemon.errors import Conflict, Invalid, NotFound
from mnemon.memory.fact import Fact, MemoryType
from mnemon.memory.remember import remember_facts
from mnemon.scope import Scope
from mnemon.sessions.people import ensure_person

HEADING = {"format": "mnemon-export", "version": 1, "userId": "ann"}


async def person(db: Database, name: str, *contents: str) -> Scope:
    async with db.tx("acme") as tx:
        scope = await ensure_person(tx, "acme", name)
        await remember_facts(
            tx, scope, [Fact(type=MemoryType.PROFILE, content=one) for one in contents], extracted=False
        )
    return scope


async def exported(db: Database, scope: Scope) -> bytes:
    async with db.tx("acme") as tx:
        return b"".join([line async for line in export_lines(tx, scope)])


async def bring_in(db: Database, text: bytes, org: str = "acme", **options: Any) -> ImportResult:
    async with db.tx(org) as tx:
        return await import_person(tx, org, text, rooms=IMPORTED_TABLES, **options)


async def refused(db: Database, *given: object) -> tuple[str, str, str | None]:
    """Import these lines; give the code, the detail and the place of the refusal."""
    text = b"".join(one if isinstance(one, bytes) else json_line(one) for one in given)
    with pytest.raises(Invalid) as found:
        await bring_in(db, text)
    return found.value.code, found.value.detail, found.value.faults[0].pointer if found.value.faults else None


def rows_in(text: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()][1:-1]


async def test_an_export_has_a_heading_its_rows_in_order_and_their_number(db: Database, org: str) -> None:
    text = await exported(db, await person(db, "ann", "Likes tea", "Sails"))
    first, *rows, last = [json.loads(line) for line in text.splitlines()]
    assert first == HEADING
    assert last == {"end": True, "rows": len(rows)}
    assert [row["table"] for row in rows] == sorted(row["table"] for row in rows)
    ids = [row["row"]["id"] for row in rows if row["table"] == "memories"]
    assert len(ids) == 2
    assert ids == sorted(ids)
    assert not {"org_id", "user_id", "revision"} & {name for row in rows for name in row["row"]}
    assert text.endswith(b"}\n")


async def test_nobody_has_an_export_of_whom_there_is_none(db: Database, org: str) -> None:
    with pytest.raises(NotFound):
        await exported(db, Scope(org_id="acme", user_id="usr_none"))


async def test_an_export_goes_to_a_file_is_recorded_and_counted(db: Database, org: str) -> None:
    scope = await person(db, "ann", "Likes tea")
    text = await exported(db, scope)
    seen: list[str | None] = []
    with capture_logs() as log:
        file = await export_to_file(db, scope, record=lambda tx: seen.append(tx.org_id))
    assert b"".join(file_chunks(file)) == text
    assert file.closed
    assert seen == ["acme"]
    (line,) = [line for line in log if line["event"] == "person_exported"]
    assert (line["rows"], line["bytes"]) == (len(rows_in(text)), len(text))


async def test_an_export_that_cannot_be_recorded_is_not_given_out(db: Database, org: str) -> None:
    scope = await person(db, "ann", "Likes tea")

    def fail(_: object) -> None:
        raise RuntimeError("no log")

    with pytest.raises(RuntimeError):
        await export_to_file(db, scope, record=fail)


async def test_an_import_into_another_organization_gives_the_same_export(db: Database, org: str) -> None:
    text = await exported(db, await person(db, "ann", "Likes tea", "Sails"))
    made = await bring_in(db, text, org="globex")
    assert (made.user_id, made.stored["memories"], made.kept) == ("ann", 2, {})
    assert 0 not in made.stored.values(), "only tables with rows are named"
    async with db.tx("globex") as tx:
        scope = await ensure_person(tx, "globex", "ann")
        assert b"".join([line async for line in export_lines(tx, scope)]) == text


async def test_what_is_there_already_is_kept_and_counted(db: Database, org: str) -> None:
    text = await exported(db, await person(db, "ann", "Likes tea", "Sails"))
    again = await bring_in(db, text)
    assert (again.stored["memories"], again.kept["memories"]) == (0, 2)
    assert sum(again.kept.values()) == len(rows_in(text))


async def test_blank_lines_are_passed_over(db: Database, org: str) -> None:
    text = await exported(db, await person(db, "ann", "Likes tea"))
    made = await bring_in(db, b"\n" + text.replace(b"\n", b"\n \n"), org="globex")
    assert made.stored["memories"] == 1


async def test_an_import_may_be_for_another_name_and_asks_whether_that_is_allowed(db: Database, org: str) -> None:
    text = await exported(db, await person(db, "ann", "Likes tea"))
    asked: list[str] = []
    made = await bring_in(db, text, org="globex", user_id="bea", admit=asked.append)
    assert (made.user_id, asked) == ("bea", ["bea"])

    def refuse(name: str) -> None:
        raise Conflict(f"not {name}")

    with pytest.raises(Conflict):
        await bring_in(db, text, org="globex", admit=refuse)


async def test_ids_of_another_person_are_not_taken(db: Database, org: str) -> None:
    text = await exported(db, await person(db, "ann", "Likes tea"))
    with pytest.raises(Conflict) as found:
        await bring_in(db, text, user_id="bea")
    assert found.value.code == "ids_taken"


END = {"end": True, "rows": 0}


@pytest.mark.parametrize(
    ("given", "why", "pointer"),
    [
        ([], "Line 1 is not the heading", "/0"),
        ([["format"]], "Line 1 is not the heading", "/0"),
        ([{**HEADING, "format": "other"}, END], "Line 1 is not the heading", "/0"),
        ([{**HEADING, "version": 2}, END], "Line 1 is of a version", "/0"),
        ([{**HEADING, "userId": None}, END], "Line 1 names no `userId`", "/0"),
        ([{**HEADING, "userId": " "}, END], "Line 1 names no `userId`", "/0"),
        ([{**HEADING, "userId": "a" * 201}, END], "Line 1 names no `userId`", "/0"),
        ([{**HEADING, "userId": "a\0"}, END], "Line 1", "/0"),
        ([HEADING, b"{\n", END], "Line 2 is not JSON", "/1"),
        ([HEADING, b'{"row": 1e999}\n', END], "Line 2", "/1"),
        ([HEADING, ["row"], END], "Line 2 is no row", "/1"),
        ([HEADING, {"table": "memories", "row": []}, END], "Line 2 is no row", "/1"),
        ([HEADING, {"table": "people", "row": {}}, END], "Line 2 names a table", "/1"),
        ([HEADING, {"table": 5, "row": {}}, END], "Line 2 names a table", "/1"),
        ([HEADING, {"table": "embeddings", "row": {}}, END], "Line 2 names a table", "/1"),
        ([HEADING, {"table": "memories", "row": {"colour": 1}}, {"end": True, "rows": 1}], "Line 2 has a column", "/1"),
        ([HEADING, {"table": "memories", "row": {"id": 5}}, {**END, "rows": 1}], "Line 2 has a value in id", "/1"),
        ([HEADING, {"table": "memories", "row": {"mentions": 10**10}}, {**END, "rows": 1}], "Line 2 has", "/1"),
        ([HEADING, {"end": True, "rows": 1}], "Line 2 says 1 rows, 0 came", "/1"),
        ([HEADING, END, END], "Line 3 follows the end", "/2"),
        ([HEADING, b"\n", END, END], "Line 4 follows the end", "/3"),
    ],
)  # fmt: skip
async def test_a_line_that_does_not_belong_is_named(
    db: Database, org: str, given: list[object], why: str, pointer: str
) -> None:
    code, detail, place = await refused(db, *given)
    assert (code, place) == ("bad_export", pointer)
    assert detail.startswith(why)


async def test_an_export_without_its_end_is_refused(db: Database, org: str) -> None:
    assert (await refused(db, HEADING))[0] == "export_cut_short"
    assert (await refused(db, HEADING, {"end": False, "rows": 0}))[0] == "bad_export"


async def test_the_longest_name_is_taken_and_one_with_a_line_break_is_not(db: Database, org: str) -> None:
    made = await bring_in(db, json_line({**HEADING, "userId": "a" * 200}) + json_line(END))
    assert made == ImportResult(user_id="a" * 200, stored={}, kept={}, forgotten={})
    assert (await refused(db, {**HEADING, "userId": "a\nb"}, END))[0] == "bad_user_id"


async def test_a_refused_import_changes_nothing(db: Database, org: str) -> None:
    text = await exported(db, await person(db, "ann", "Likes tea"))
    with pytest.raises(Invalid):
        await bring_in(db, text.replace(b'"end":true', b'"end":false'), org="globex")
    async with db.tx("globex") as tx:
        rows = await tx.fetch_all("select 1 as one from users where org_id = 'globex'")
    assert rows == []


async def test_one_bad_row_among_many_is_found(db: Database, org: str) -> None:
    text = await exported(db, await person(db, "ann", *(f"Fact {number}" for number in range(5))))
    given = [json.loads(line) for line in text.splitlines()]
    place = [number for number, one in enumerate(given) if one.get("table") == "memories"][3]
    given[place]["row"]["importance"] = "heavy"
    with pytest.raises(Invalid) as found:
        await bring_in(db, b"".join(map(json_line, given)), org="globex")
    assert found.value.detail.startswith(f"Line {place + 1} has a value in importance that is not a whole number")


async def test_a_row_that_is_not_admitted_is_not_stored(db: Database, org: str) -> None:
    text = await exported(db, await person(db, "ann", "Likes tea"))
    seen = []

    def admit(number: int, table: str, row: Any) -> Any:
        seen.append((number, table))
        return {**row, "content": "Likes milk"} if table == "memories" else row

    await bring_in(db, text, org="globex", admit_row=admit)
    assert [number for number, _ in seen] == list(range(2, len(seen) + 2))
    async with db.tx("globex") as tx:
        rows = await tx.fetch_all("select content from memories where org_id = 'globex'")
    assert [row["content"] for row in rows] == ["Likes milk"]


async def test_more_rows_than_a_page_come_whole(db: Database, org: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mnemon.custody.import_rows._PAGE_ROWS", 2)
    monkeypatch.setattr(tables, "_CURSOR_PAGE_ROWS", 2)
    text = await exported(db, await person(db, "ann", *(f"Fact {number}" for number in range(5))))
    assert sum(row["table"] == "memories" for row in rows_in(text)) == 5
    made = await bring_in(db, text, org="globex")
    assert made.stored["memories"] == 5


async def test_imported_memories_are_embedded_and_matched_afterwards(db: Database, org: str) -> None:
    async def queued(org_id: str) -> set[str]:
        async with db.tx(org_id) as tx:
            return {row["kind"] for row in await tx.fetch_all("select kind from work where org_id = %(o)s", o=org_id)}

    await bring_in(db, json_line(HEADING) + json_line(END), org="empty")
    assert await queued("empty") == set(), "nothing came, so nothing follows"
    text = await exported(db, await person(db, "ann", "Likes tea"))
    await bring_in(db, text, org="globex")
    assert await queued("globex") == await queued("acme")
