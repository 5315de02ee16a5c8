"""A response is made of its model in one pass."""

from pathlib import Path
from typing import Annotated, Any

import psycopg
from fastapi import APIRouter, FastAPI, Response
from pydantic import PlainSerializer

from mnemon.access.grants import Grant
from mnemon.api.door import Door, JsonRoute, needs
from mnemon.api.models import ApiModel
from mnemon.db.tx import Tx
from mnemon.services import Services
from support.served import served

dumped: list[str] = []


def note_dump(value: str) -> str:
    dumped.append(value)
    return value


class NotedOut(ApiModel):
    """A model that notes each time it is dumped."""

    memory_id: Annotated[str, PlainSerializer(note_dump, return_type=str)]


def add_noting_routes(app: FastAPI, services: Services) -> None:
    router = APIRouter(route_class=JsonRoute)
    shown = NotedOut(memory_id="mem_01K0000000000000000000000A")

    @router.get("/api/noted")
    async def read_one(door: Annotated[Door, needs(Grant.MEMORY_READ)]) -> Response:
        return door.reply(shown)

    @router.get("/api/noted/all")
    async def read_all(door: Annotated[Door, needs(Grant.MEMORY_READ)]) -> Response:
        return door.page([shown], limit=5, position=lambda one: one.memory_id)

    @router.post("/api/noted")
    async def write_one(door: Annotated[Door, needs(Grant.MEMORY_WRITE)]) -> Response:
        async def nothing(tx: Tx) -> NotedOut:
            return shown

        return await door.write(nothing)

    app.include_router(router)


def test_a_model_is_dumped_once_and_its_ids_are_audited(database_url: str, tmp_path: Path) -> None:
    with served(database_url, tmp_path, model="offline", worker=False, dress=add_noting_routes) as server:
        client = server.client()
        for method, path in (("GET", "/api/noted"), ("GET", "/api/noted/all"), ("POST", "/api/noted")):
            dumped.clear()
            answer = client.request(method, path, headers={"Idempotency-Key": "once"} if method == "POST" else {})
            data: Any = answer.json()["data"]
            [found] = data if isinstance(data, list) else [data]
            assert found == {"memoryId": "mem_01K0000000000000000000000A"}
            assert len(dumped) == 1, (method, path)
    with psycopg.connect(database_url) as connection:
        row = connection.execute("select target from audit where action = 'POST /api/noted'").fetchone()
    assert row is not None
    assert "mem_01K0000000000000000000000A" in row[0]
