"""Every form of the console, sent as a browser does."""

from collections.abc import Awaitable, Callable

from support.walk.furniture import (
    SMITHS,
    asked_run,
    doubted_claim,
    folded_memory,
    made_agent,
    memory,
    open_trade,
    parked_turn,
    remembered,
    told_turn,
)
from support.walk.house import Call, Stage
from support.walk.scenario import RequestScenario

Prepare = Callable[[Stage], Awaitable[tuple[str, dict[str, str]]]]
"""The form's address, and its fields but for the token."""
FORM_SCENARIOS: list[RequestScenario] = []
AGENT_FORM = {"name": "Scout", "adapter": "model", "role": "solo", "card_type": "decision", "default_prompt": "Look."}


def form(route: str, name: str = "") -> Callable[[Prepare], Prepare]:
    """Adds the form that the function fills in to the scenarios."""

    def add(prepare: Prepare) -> Prepare:
        async def arrange(stage: Stage) -> Call:
            path, fields = await prepare(stage)
            return Call(method="POST", path=path, form={"csrf": await stage.sign_in(), **fields})

        told = f"FORM {route} ({name})" if name else f"FORM {route}"
        FORM_SCENARIOS.append(RequestScenario(name=told, operation=f"FORM {route}", arrange=arrange, keyed=False))
        return prepare

    return add


@form("/agents")
async def _(stage: Stage) -> tuple[str, dict[str, str]]:
    return "/agents", AGENT_FORM


@form("/agents/{agent_id}/edit")
async def _(stage: Stage) -> tuple[str, dict[str, str]]:
    return f"/agents/{await made_agent(stage)}/edit", {**AGENT_FORM, "schedule": "0 * * * *"}


@form("/agents/{agent_id}/memory/reset")
async def _(stage: Stage) -> tuple[str, dict[str, str]]:
    return f"/agents/{await made_agent(stage, adapterConfig={'memoryEnabled': True})}/memory/reset", {}


@form("/agents/{agent_id}/run")
async def _(stage: Stage) -> tuple[str, dict[str, str]]:
    return f"/agents/{await made_agent(stage)}/run", {"prompt": "Look at ETH."}


@form("/agents/{agent_id}/chat")
async def _(stage: Stage) -> tuple[str, dict[str, str]]:
    return f"/agents/{await made_agent(stage)}/chat", {"message": "Hello"}


@form("/sign-in")
async def _(stage: Stage) -> tuple[str, dict[str, str]]:
    return "/sign-in", {"key": stage.key}


@form("/sign-out")
async def _(stage: Stage) -> tuple[str, dict[str, str]]:
    return "/sign-out", {}


@form("/entities/merge")
async def _(stage: Stage) -> tuple[str, dict[str, str]]:
    await remembered(stage, *SMITHS)
    return "/entities/merge", {"user": "ann", "from": "person:jon_smith", "into": "person:john_smith"}


@form("/entities/split")
async def _(stage: Stage) -> tuple[str, dict[str, str]]:
    await remembered(stage, *SMITHS)
    pair = {"userId": "ann", "from": "person:jon_smith", "into": "person:john_smith"}
    await stage.done("POST", "/api/entities/merge", pair)
    return "/entities/split", {"user": "ann", "from": "person:jon_smith", "key": "person:john_smith"}


@form("/engagement/{hypothesis_id}/settle")
async def _(stage: Stage) -> tuple[str, dict[str, str]]:
    held, against = await doubted_claim(stage)
    return f"/engagement/{held}/settle", {"evidence": against, "note": "Tilburg is another plant."}


@form("/engagement/{hypothesis_id}/archive")
async def _(stage: Stage) -> tuple[str, dict[str, str]]:
    held, _ = await doubted_claim(stage)
    return f"/engagement/{held}/archive", {"note": "Plans are in time."}


@form("/jobs/{job_id}/retry")
async def _(stage: Stage) -> tuple[str, dict[str, str]]:
    await parked_turn(stage)
    [job] = [one for one in await stage.done("GET", "/api/jobs") if one["kind"] == "reflection"]
    return f"/jobs/{job['id']}/retry", {}


@form("/memories/{memory_id}/edit")
async def _(stage: Stage) -> tuple[str, dict[str, str]]:
    [one] = await remembered(stage, memory("Lives in Austin"))
    return f"/memories/{one}/edit", {"content": "Lives in Denver", "importance": "2", "reason": "moved"}


@form("/memories/{memory_id}/pin")
async def _(stage: Stage) -> tuple[str, dict[str, str]]:
    [one] = await remembered(stage, memory("Lives in Austin"))
    return f"/memories/{one}/pin", {"pinned": "yes"}


@form("/memories/{memory_id}/archive")
async def _(stage: Stage) -> tuple[str, dict[str, str]]:
    [one] = await remembered(stage, memory("Lives in Austin"))
    return f"/memories/{one}/archive", {}


@form("/memories/{memory_id}/restore")
async def _(stage: Stage) -> tuple[str, dict[str, str]]:
    [one] = await remembered(stage, memory("Lives in Austin"))
    await stage.done("PATCH", f"/api/memories/{one}", {"status": "ARCHIVED"})
    return f"/memories/{one}/restore", {}


@form("/memories/{memory_id}/unfold")
async def _(stage: Stage) -> tuple[str, dict[str, str]]:
    return f"/memories/{await folded_memory(stage)}/unfold", {}


@form("/memories/{memory_id}/forget")
async def _(stage: Stage) -> tuple[str, dict[str, str]]:
    one, _ = await remembered(stage, memory("Lives in Austin"), memory("Drinks tea"))
    return f"/memories/{one}/forget", {"confirm": "forget"}


@form("/memories/bulk")
async def _(stage: Stage) -> tuple[str, dict[str, str]]:
    ids = await remembered(stage, memory("Lives in Austin"), memory("Drinks tea"))
    return "/memories/bulk", {"deed": "archive", **{f"id:{one}": "yes" for one in ids}}


@form("/runs/{run_id}/re-examine")
async def _(stage: Stage) -> tuple[str, dict[str, str]]:
    return f"/runs/{await open_trade(stage)}/re-examine", {}


@form("/runs/{run_id}/resolve")
async def _(stage: Stage) -> tuple[str, dict[str, str]]:
    return f"/runs/{await open_trade(stage)}/resolve", {"outcome": "win"}


@form("/runs/{run_id}/cancel")
async def _(stage: Stage) -> tuple[str, dict[str, str]]:
    return f"/runs/{await asked_run(stage)}/cancel", {}


@form("/sessions/{session_id}/close")
async def _(stage: Stage) -> tuple[str, dict[str, str]]:
    return f"/sessions/{(await told_turn(stage))['sessionId']}/close", {}


@form("/settings/keys")
async def _(stage: Stage) -> tuple[str, dict[str, str]]:
    return "/settings/keys", {"name": "my app", "grant:memory:read": "yes"}


@form("/settings/keys/{key_id}/revoke")
async def _(stage: Stage) -> tuple[str, dict[str, str]]:
    cursor = await stage.house.admin.execute("select key_id from keys where org_id = %s", (stage.org,))
    [(key,)] = await cursor.fetchall()
    return f"/settings/keys/{key}/revoke", {}


@form("/sources/withdraw")
async def _(stage: Stage) -> tuple[str, dict[str, str]]:
    await remembered(stage, memory("Lives in Austin", source="tool:crm"), memory("Drinks tea"))
    return "/sources/withdraw", {"user": "ann", "source": "tool%3Acrm", "confirm": "withdraw"}


@form("/settings/personas")
async def _(stage: Stage) -> tuple[str, dict[str, str]]:
    return "/settings/personas", {"id": "coach", "name": "Coach", "prompt": "You are patient."}


@form("/settings/organization")
async def _(stage: Stage) -> tuple[str, dict[str, str]]:
    return "/settings/organization", {"engagement": "off", "time_zone": "Europe/Berlin", "instructions": "Be brief."}


@form("/settings/privacy/forget")
async def _(stage: Stage) -> tuple[str, dict[str, str]]:
    await told_turn(stage)
    await remembered(stage, memory("Lives in Austin"))
    return "/settings/privacy/forget", {"user": "ann", "confirm": "ann"}
