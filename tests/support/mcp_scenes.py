"""What the MCP protocol suite expects to find by name. Each is the least that its scenario asks for."""

import asyncio
import json
from typing import Annotated, Any

import mcp_types as types
from mcp.server.mcpserver import Context, Elicit, ElicitationResult, MCPServer, RequestStateSecurity, Resolve
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.prompts.base import Prompt, UserMessage
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, Field, create_model

from support.mcp_rounds import add_rounds

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
SILENCE = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="


def scenes() -> MCPServer:
    """A fresh server with every tool, prompt and resource that a scenario names."""
    server = MCPServer(
        name="orchestrator",
        version="0",
        request_state_security=RequestStateSecurity(keys=[b"a key that only these scenes are sealed with"]),
    )
    _add_contents(server)
    _add_talk(server)
    _add_questions(server)
    _add_changes(server)
    add_rounds(server)
    _add_resources(server)
    _add_prompts(server)
    _add_requests(server)
    return server


def _text(words: str) -> types.TextContent:
    return types.TextContent(text=words)


def _image() -> types.ImageContent:
    return types.ImageContent(data=PIXEL, mime_type="image/png")


def _embedded(uri: str, words: str, mime: str = "text/plain") -> types.EmbeddedResource:
    return types.EmbeddedResource(resource=types.TextResourceContents(uri=uri, mime_type=mime, text=words))


def _add_contents(server: MCPServer) -> None:
    @server.tool()
    def test_simple_text() -> str:
        """Gives text."""
        return "This is a simple text response for testing."

    @server.tool()
    def test_image_content() -> list[types.ImageContent]:
        """Gives an image."""
        return [_image()]

    @server.tool()
    def test_audio_content() -> list[types.AudioContent]:
        """Gives a sound."""
        return [types.AudioContent(data=SILENCE, mime_type="audio/wav")]

    @server.tool()
    def test_embedded_resource() -> list[types.EmbeddedResource]:
        """Gives a resource."""
        return [_embedded("test://embedded-resource", "This is an embedded resource content.")]

    @server.tool()
    def test_multiple_content_types() -> list[types.TextContent | types.ImageContent | types.EmbeddedResource]:
        """Gives one of each."""
        mixed = _embedded("test://mixed-content-resource", '{"test": "data", "value": 123}', "application/json")
        return [_text("Multiple content types test:"), _image(), mixed]

    @server.tool()
    def test_error_handling() -> str:
        """Fails."""
        raise ToolError("This tool intentionally returns an error for testing")

    @server.tool()
    def test_x_mcp_header(
        region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})] = "none",
    ) -> str:
        """Has an argument that a header repeats."""
        return region

    @server.tool()
    def json_schema_2020_12_tool() -> str:
        """Has a schema with every keyword of the 2020-12 dialect that must survive the way."""
        return "ok"

    server._tool_manager._tools["json_schema_2020_12_tool"].parameters = DIALECT


def _add_talk(server: MCPServer) -> None:
    @server.tool()
    async def test_tool_with_logging(ctx: Context) -> str:
        """Logs while it works."""
        for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
            await ctx.info(words)
            await asyncio.sleep(0.02)
        return "logged"

    @server.tool()
    async def test_logging_tool(ctx: Context) -> str:
        """Logs once, to who asked for it."""
        await ctx.info("test_logging_tool ran")
        return "logged"

    @server.tool()
    async def test_tool_with_progress(ctx: Context) -> str:
        """Tells how far it is."""
        for part in (0, 50, 100):
            await ctx.report_progress(progress=part, total=100, message=f"{part} of 100")
            await asyncio.sleep(0.02)
        return "done"

    @server.tool()
    async def test_reconnection(ctx: Context) -> str:
        """Drops its stream and goes on."""
        await ctx.info("Before disconnect")
        await ctx.close_sse_stream()
        await asyncio.sleep(0.2)
        await ctx.info("After reconnect")
        return "Reconnection test completed"

    @server.tool()
    async def test_missing_capability(ctx: Context) -> str:
        """Needs a client that can sample."""
        able = ctx.session.client_capabilities
        if able is None or able.sampling is None:
            raise MCPError(
                code=types.MISSING_REQUIRED_CLIENT_CAPABILITY,
                message="This tool requires the client 'sampling' capability",
                data={"requiredCapabilities": {"sampling": {}}},
            )
        return "able"


class Word(BaseModel):
    """An answer."""

    response: str = Field(description="User's response")


class Defaults(BaseModel):
    """A form with a default of every kind."""

    name: str = "John Doe"
    age: int = 30
    score: float = 95.5
    status: str = Field("active", json_schema_extra={"enum": ["active", "inactive", "pending"]})
    verified: bool = True


def _choice(kind: Any, **extra: Any) -> Any:
    return (kind, Field(json_schema_extra=extra))


def _titled(**titles: str) -> list[dict[str, str]]:
    return [{"const": const, "title": title} for const, title in titles.items()]


Choices = create_model(
    "Choices",
    untitledSingle=_choice(str, enum=["active", "inactive", "pending"]),
    titledSingle=_choice(str, oneOf=_titled(low="Low", medium="Medium", high="High")),
    untitledMulti=_choice(list[str], items={"type": "string", "enum": ["read", "write", "execute"]}),
    titledMulti=_choice(list[str], items={"anyOf": _titled(feature="New Feature", bug="Bug Fix", docs="Docs")}),
    legacyEnum=_choice(str, enum=["small", "medium", "large"], enumNames=["Small", "Medium", "Large"]),
)


def _add_questions(server: MCPServer) -> None:
    @server.tool()
    async def test_sampling(prompt: str, ctx: Context) -> str:
        """Asks the client's model."""
        asked = [types.SamplingMessage(role="user", content=_text(prompt))]
        got = await ctx.session.create_message(messages=asked, max_tokens=100, related_request_id=ctx.request_id)
        return f"LLM response: {getattr(got.content, 'text', '')}"

    async def ask(ctx: Context, words: str, form: type[BaseModel]) -> str:
        got = await ctx.elicit(message=words, schema=form)
        content = got.data.model_dump_json() if got.action == "accept" else "{}"
        return f"action={got.action}, content={content}"

    @server.tool()
    async def test_elicitation(message: str, ctx: Context) -> str:
        """Asks the person."""
        return "User response: " + await ask(ctx, message, Word)

    @server.tool()
    async def test_elicitation_sep1034_defaults(ctx: Context) -> str:
        """Asks with defaults."""
        return "Elicitation completed: " + await ask(ctx, "Please review", Defaults)

    @server.tool()
    async def test_elicitation_sep1330_enums(ctx: Context) -> str:
        """Asks with choices."""
        return "Elicitation completed: " + await ask(ctx, "Please choose", Choices)

    def wanted() -> Elicit[Word]:
        return Elicit("A word, please", Word)

    @server.tool()
    async def test_streaming_elicitation(answer: Annotated[ElicitationResult[Word], Resolve(wanted)]) -> str:
        """Asks by way of its arguments."""
        return f"elicitation {answer.action}"


def _add_changes(server: MCPServer) -> None:
    def passing() -> str:
        """Comes and goes."""
        return "here"

    @server.tool()
    async def test_trigger_tool_change(ctx: Context) -> str:
        """Changes the list of tools."""
        server.add_tool(passing, name="test_passing_tool")
        server.remove_tool("test_passing_tool")
        await ctx.notify_tools_changed()
        return "changed"

    @server.tool()
    async def test_trigger_prompt_change(ctx: Context) -> str:
        """Changes the list of prompts."""
        server.add_prompt(Prompt.from_function(passing, name="test_passing_prompt", description="passing"))
        server.remove_prompt("test_passing_prompt")
        await ctx.notify_prompts_changed()
        return "changed"


def _add_resources(server: MCPServer) -> None:
    @server.resource("test://static-text")
    def static_text() -> str:
        """Text."""
        return "This is the content of the static text resource."

    @server.resource("test://static-binary")
    def static_binary() -> bytes:
        """Bytes."""
        import base64

        return base64.b64decode(PIXEL)

    @server.resource("test://template/{id}/data")
    def template(id: str) -> str:  # noqa: A002  the suite's word
        """By id."""
        return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})

    @server.resource("test://watched-resource")
    def watched() -> str:
        """To be watched."""
        return "Watched resource content"


def _add_prompts(server: MCPServer) -> None:
    def says(*contents: Any) -> list[UserMessage]:
        return [UserMessage(role="user", content=content) for content in contents]

    @server.prompt()
    def test_simple_prompt() -> list[UserMessage]:
        """Plain."""
        return says(_text("This is a simple prompt for testing."))

    @server.prompt()
    def test_prompt_with_arguments(arg1: str, arg2: str) -> list[UserMessage]:
        """With arguments."""
        return says(_text(f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"))

    @server.prompt()
    def test_prompt_with_embedded_resource(resourceUri: str) -> list[UserMessage]:
        """With a resource."""
        return says(_embedded(resourceUri, "Embedded resource content for testing."), _text("Please process it."))

    @server.prompt()
    def test_prompt_with_image() -> list[UserMessage]:
        """With an image."""
        return says(_image(), _text("Please look at it."))


def _add_requests(server: MCPServer) -> None:
    async def nothing(ctx: Any, params: Any) -> types.EmptyResult:
        return types.EmptyResult()

    low = server._lowlevel_server
    low.add_request_handler("logging/setLevel", types.SetLevelRequestParams, nothing)
    low.add_request_handler("resources/subscribe", types.SubscribeRequestParams, nothing)
    low.add_request_handler("resources/unsubscribe", types.UnsubscribeRequestParams, nothing)

    @server.completion()  # type: ignore[no-untyped-call,untyped-decorator] # the library has no types for it
    async def complete(ref: Any, argument: Any, context: Any) -> types.Completion:
        return types.Completion(values=[], total=0, has_more=False)


DIALECT: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
