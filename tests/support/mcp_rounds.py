"""Scenario tools that answer in rounds: they return what they still need, and are called again with it."""

import json
from typing import Any

import mcp_types as types
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.prompts.base import UserMessage

Asked = types.InputRequiredResult


def _form(words: str, field: str, kind: str = "string") -> types.ElicitRequest:
    schema = {"type": "object", "properties": {field: {"type": kind}}, "required": [field]}
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=words, requested_schema=schema))


def _sample(words: str) -> types.CreateMessageRequest:
    message = types.SamplingMessage(role="user", content=types.TextContent(text=words))
    return types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[message], max_tokens=100))


def _field(answer: Any, field: str) -> str:
    content = answer.content if isinstance(answer, types.ElicitResult) else None
    return str((content or {}).get(field, "?"))


def add_rounds(server: MCPServer) -> None:
    """The tools stand in the server."""
    _add_single(server)
    _add_states(server)

    @server.prompt()
    async def test_input_required_result_prompt(ctx: Context) -> list[UserMessage] | Asked:
        """A prompt that asks first."""
        given = ctx.input_responses or {}
        if "user_context" not in given:
            return Asked(input_requests={"user_context": _form("Which context?", "context")})
        words = f"Use the following context: {_field(given['user_context'], 'context')}"
        return [UserMessage(role="user", content=types.TextContent(text=words))]


def _add_single(server: MCPServer) -> None:
    @server.tool()
    async def test_input_required_result_elicitation(ctx: Context) -> str | Asked:
        """Asks for a name."""
        given = ctx.input_responses or {}
        if "user_name" not in given:
            return Asked(input_requests={"user_name": _form("What is your name?", "name")})
        return f"Hello, {_field(given['user_name'], 'name')}!"

    @server.tool()
    async def test_input_required_result_sampling(ctx: Context) -> str | Asked:
        """Asks the client's model."""
        given = ctx.input_responses or {}
        if "capital_question" not in given:
            return Asked(input_requests={"capital_question": _sample("What is the capital of France?")})
        answer = given["capital_question"]
        return f"Model said: {getattr(getattr(answer, 'content', None), 'text', '?')}"

    @server.tool()
    async def test_input_required_result_list_roots(ctx: Context) -> str | Asked:
        """Asks for the client's roots."""
        given = ctx.input_responses or {}
        if "client_roots" not in given:
            return Asked(input_requests={"client_roots": types.ListRootsRequest()})
        return f"Client exposed {len(getattr(given['client_roots'], 'roots', []))} root(s)."

    @server.tool()
    async def test_input_required_result_capabilities(ctx: Context) -> Asked:
        """Asks only for what the client can do."""
        asked: dict[str, Any] = {}
        able = ctx.client_capabilities
        if able is None or able.sampling is not None:
            asked["sample"] = _sample("Say hello")
        if able is None or able.elicitation is not None:
            asked["ask"] = _form("What is your name?", "name")
        return Asked(input_requests=asked, request_state="as-able")


def _add_states(server: MCPServer) -> None:
    @server.tool()
    async def test_input_required_result_request_state(ctx: Context) -> str | Asked:
        """Gets its state back."""
        if "confirm" in (ctx.input_responses or {}) and ctx.request_state == "nonce":
            return "state-ok: confirmed"
        return Asked(input_requests={"confirm": _form("Please confirm", "ok", "boolean")}, request_state="nonce")

    @server.tool()
    async def test_input_required_result_tampered_state(ctx: Context) -> str | Asked:
        """Takes back only the state it gave."""
        if ctx.request_state is not None:
            return f"state-ok: {ctx.request_state}"
        return Asked(input_requests={"confirm": _form("Please confirm", "ok", "boolean")}, request_state="first")

    @server.tool()
    async def test_input_required_result_multiple_inputs(ctx: Context) -> str | Asked:
        """Asks three things at once."""
        asked: dict[str, Any] = {
            "user_name": _form("What is your name?", "name"),
            "greeting": _sample("Generate a greeting"),
            "client_roots": types.ListRootsRequest(),
        }
        if asked.keys() <= (ctx.input_responses or {}).keys():
            return "All inputs received."
        return Asked(input_requests=asked, request_state="several")

    @server.tool()
    async def test_input_required_result_multi_round(ctx: Context) -> str | Asked:
        """Asks twice."""
        state, given = json.loads(ctx.request_state or "{}"), ctx.input_responses or {}
        if "name" in state and "step2" in given:
            return f"{state['name']} likes {_field(given['step2'], 'color')}."
        if state and "step1" in given:
            name = {"name": _field(given["step1"], "name")}
            return Asked(
                input_requests={"step2": _form("Step 2: Which colour?", "color")}, request_state=json.dumps(name)
            )
        return Asked(input_requests={"step1": _form("Step 1: Which name?", "name")}, request_state='{"round": 1}')
