"""A server on the official SDK with as many features as possible, for tests of gateways in front of it.

    python -m tests.mcp.feature_server              over stdio
    python -m tests.mcp.feature_server --http 0     over HTTP; the URL is the first line of stdout

It speaks both eras. Besides what the conformance suite needs, it has tools that are large, slow or talkative.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import sys
import warnings
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import mcp_types as t
from mcp.server import Server, ServerRequestContext
from mcp.server.streamable_http import EventCallback, EventId, EventMessage, EventStore, StreamId
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourceUpdated,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from tests.mcp.feature_content import (
    DRAFT_2020_12,
    FIXED,
    FORMS,
    HEADERS_SCHEMA,
    PROMPTS,
    RESOURCES,
    TEMPLATES,
    USER_FORM,
    prompt,
    resource,
    text,
)
from tests.mcp.feature_input import ROUNDS, ask

Context = ServerRequestContext[Any, Any]
Answer = t.CallToolResult | t.InputRequiredResult
Tool = Callable[[Context, t.CallToolRequestParams], Awaitable[Answer]]

RETRY_MS = 100
STATE = "state \u2603 of the call"
_cancelled = 0
_bus = InMemorySubscriptionBus()


def text_result(*words: str, is_error: bool = False) -> t.CallToolResult:
    return t.CallToolResult(content=[text(each) for each in words], is_error=is_error)


def given(params: t.CallToolRequestParams, name: str, otherwise: Any = None) -> Any:
    return (params.arguments or {}).get(name, otherwise)


def is_modern(ctx: Context) -> bool:
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


async def error_handling(ctx: Context, params: t.CallToolRequestParams) -> Answer:
    return text_result("This tool intentionally returns an error for testing", is_error=True)


async def with_logging(ctx: Context, params: t.CallToolRequestParams) -> Answer:
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.session.send_log_message("info", words, "features", ctx.request_id)
        await anyio.sleep(0.05)
    return text_result("logged")


async def with_progress(ctx: Context, params: t.CallToolRequestParams) -> Answer:
    for done in (0, 50, 100):
        await ctx.session.report_progress(done, 100)
        await anyio.sleep(0.05)
    return text_result("done")


async def ask_client(ctx: Context, params: t.CallToolRequestParams, request: Any, result: Any) -> Any:
    """Return the client's answer; in the modern era, where a result asks for it, that result first."""
    if is_modern(ctx):
        if params.input_responses and "asked" in params.input_responses:
            assert params.request_state == STATE
            return params.input_responses["asked"]
        return t.InputRequiredResult(input_requests={"asked": request}, request_state=STATE)
    from mcp.shared.message import ServerMessageMetadata

    metadata = ServerMessageMetadata(related_request_id=ctx.request_id)
    return await ctx.session.send_request(request, result, metadata=metadata)


async def sampling(ctx: Context, params: t.CallToolRequestParams) -> Answer:
    message = t.SamplingMessage(role="user", content=text(str(given(params, "prompt"))))
    request = t.CreateMessageRequest(params=t.CreateMessageRequestParams(messages=[message], max_tokens=100))
    answer = await ask_client(ctx, params, request, t.CreateMessageResult)
    if isinstance(answer, t.InputRequiredResult):
        return answer
    return text_result(f"LLM response: {getattr(answer.content, 'text', '')}")


async def form(ctx: Context, params: t.CallToolRequestParams) -> Answer:
    schema = FORMS.get(params.name, USER_FORM)
    message = str(given(params, "message", "Please fill in"))
    request = t.ElicitRequest(params=t.ElicitRequestFormParams(message=message, requested_schema=schema))
    answer = await ask_client(ctx, params, request, t.ElicitResult)
    if isinstance(answer, t.InputRequiredResult):
        return answer
    begin = "User response" if params.name == "test_elicitation" else "Elicitation completed"
    return text_result(f"{begin}: action={answer.action}, content={json.dumps(answer.content)}")


async def roots(ctx: Context, params: t.CallToolRequestParams) -> Answer:
    answer = await ask_client(ctx, params, t.ListRootsRequest(), t.ListRootsResult)
    if isinstance(answer, t.InputRequiredResult):
        return answer
    return text_result(*(str(root.uri) for root in answer.roots))


async def reconnection(ctx: Context, params: t.CallToolRequestParams) -> Answer:
    if ctx.close_sse_stream is not None:
        await ctx.close_sse_stream()
        await anyio.sleep(0.1)
    return text_result("Reconnection test completed successfully")


async def impatient(ctx: Context, params: t.CallToolRequestParams) -> Answer:
    """Send the client a request and cancel it from the server's side."""
    message = t.SamplingMessage(role="user", content=text("never mind"))
    with anyio.move_on_after(0.2):
        await ctx.session.create_message([message], max_tokens=1, related_request_id=ctx.request_id)
        return text_result("the client answered")
    return text_result("taken back")


async def wait(ctx: Context, params: t.CallToolRequestParams) -> Answer:
    global _cancelled
    await ctx.session.report_progress(1, None, "waiting")
    try:
        await anyio.sleep(60)
    except anyio.get_cancelled_exc_class():
        _cancelled += 1
        raise
    return text_result("waited")


async def cancellations(ctx: Context, params: t.CallToolRequestParams) -> Answer:
    return text_result(str(_cancelled))


async def big(ctx: Context, params: t.CallToolRequestParams) -> Answer:
    return text_result("x" * int(given(params, "bytes", 1000)))


async def storm(ctx: Context, params: t.CallToolRequestParams) -> Answer:
    count = int(given(params, "count", 100))
    for number in range(count):
        await ctx.session.report_progress(number + 1, count)
    return text_result(str(count))


async def touch(ctx: Context, params: t.CallToolRequestParams) -> Answer:
    uri = "test://watched-resource"
    if is_modern(ctx):
        await _bus.publish(ResourceUpdated(uri=uri))
        await _bus.publish(ToolsListChanged())
    else:
        await ctx.session.send_resource_updated(uri)
        await ctx.session.send_tool_list_changed()
    return text_result("touched")


async def input_required(ctx: Context, params: t.CallToolRequestParams) -> Answer:
    if not is_modern(ctx):
        return text_result("only in the modern era", is_error=True)
    if params.name == "test_streaming_elicitation":
        await ctx.session.report_progress(1)
    asked = ask(params.name, params.input_responses, params.request_state, ctx.session.client_capabilities)
    return asked if isinstance(asked, t.InputRequiredResult) else text_result(asked)


async def missing_capability(ctx: Context, params: t.CallToolRequestParams) -> Answer:
    has = ctx.session.client_capabilities
    if has is None or has.sampling is None:
        raise MCPError(
            -32021, "Missing required client capability", {"requiredCapabilities": {"sampling": {}}}
        )
    return text_result("sampling is there")


async def change(ctx: Context, params: t.CallToolRequestParams) -> Answer:
    await _bus.publish(PromptsListChanged() if "prompt" in params.name else ToolsListChanged())
    return text_result("changed")


async def echo(ctx: Context, params: t.CallToolRequestParams) -> Answer:
    return text_result(json.dumps(params.arguments))


async def die(ctx: Context, params: t.CallToolRequestParams) -> Answer:
    os._exit(int(given(params, "code", 7)))


TOOLS: dict[str, Tool] = {
    "test_error_handling": error_handling,
    "test_tool_with_logging": with_logging,
    "test_tool_with_progress": with_progress,
    "test_sampling": sampling,
    "test_elicitation": form,
    "test_elicitation_sep1034_defaults": form,
    "test_elicitation_sep1330_enums": form,
    "test_reconnection": reconnection,
    "roots": roots,
    "impatient": impatient,
    "wait": wait,
    "cancellations": cancellations,
    "big": big,
    "storm": storm,
    "touch": touch,
    "echo": echo,
    "die": die,
    "test_custom_headers": echo,
    "test_logging_tool": with_logging,
    "test_missing_capability": missing_capability,
    "test_trigger_tool_change": change,
    "test_trigger_prompt_change": change,
    **{name: input_required for name in ROUNDS if not name.endswith("_prompt")},
}


async def list_tools(ctx: Context, params: t.PaginatedRequestParams | None) -> t.ListToolsResult:
    schemas: dict[str, Any] = {
        "json_schema_2020_12_tool": DRAFT_2020_12,
        "test_custom_headers": HEADERS_SCHEMA,
    }
    tools = [
        t.Tool(
            name=name,
            description=f"The tool {name}.",
            input_schema=schemas.get(name, {"type": "object"}),
        )
        for name in (*FIXED, *TOOLS)
    ]
    return t.ListToolsResult(tools=tools)


async def call_tool(ctx: Context, params: t.CallToolRequestParams) -> Answer:
    if params.name in FIXED:
        return t.CallToolResult(content=FIXED[params.name])
    if params.name not in TOOLS:
        raise MCPError(t.INVALID_PARAMS, f"Unknown tool: {params.name}")
    return await TOOLS[params.name](ctx, params)


async def list_resources(ctx: Context, params: t.PaginatedRequestParams | None) -> t.ListResourcesResult:
    return t.ListResourcesResult(resources=RESOURCES)


async def list_templates(
    ctx: Context, params: t.PaginatedRequestParams | None
) -> t.ListResourceTemplatesResult:
    return t.ListResourceTemplatesResult(resource_templates=TEMPLATES)


async def read_resource(ctx: Context, params: t.ReadResourceRequestParams) -> t.ReadResourceResult:
    found = resource(str(params.uri))
    if found is None:
        raise MCPError(-32602 if is_modern(ctx) else -32002, "Resource not found", {"uri": str(params.uri)})
    return t.ReadResourceResult(contents=[found])


async def nothing(ctx: Context, params: Any) -> t.EmptyResult:
    return t.EmptyResult()


async def list_prompts(ctx: Context, params: t.PaginatedRequestParams | None) -> t.ListPromptsResult:
    return t.ListPromptsResult(prompts=PROMPTS)


async def get_prompt(
    ctx: Context, params: t.GetPromptRequestParams
) -> t.GetPromptResult | t.InputRequiredResult:
    if params.name in ROUNDS and is_modern(ctx):
        asked = ask(
            params.name, params.input_responses, params.request_state, ctx.session.client_capabilities
        )
        if isinstance(asked, t.InputRequiredResult):
            return asked
        return t.GetPromptResult(messages=[t.PromptMessage(role="user", content=text(asked))])
    contents = prompt(params.name, params.arguments or {})
    if contents is None:
        raise MCPError(t.INVALID_PARAMS, f"Unknown prompt: {params.name}")
    return t.GetPromptResult(messages=[t.PromptMessage(role="user", content=each) for each in contents])


async def complete(ctx: Context, params: t.CompleteRequestParams) -> t.CompleteResult:
    values = [word for word in ("paris", "park", "party") if word.startswith(params.argument.value)]
    return t.CompleteResult(completion=t.Completion(values=values, total=len(values), has_more=False))


class Events(EventStore):
    """All events with increasing numbers, so that every stream can be resumed."""

    def __init__(self) -> None:
        self._events: list[tuple[StreamId, t.JSONRPCMessage | None]] = []

    async def store_event(self, stream_id: StreamId, message: t.JSONRPCMessage | None) -> EventId:
        self._events.append((stream_id, message))
        return str(len(self._events))

    async def replay_events_after(self, last: EventId, send: EventCallback) -> StreamId | None:
        if not last.isdecimal() or not 0 < int(last) <= len(self._events):
            return None
        stream = self._events[int(last) - 1][0]
        for number, (own, message) in enumerate(self._events[int(last) :], int(last) + 1):
            if own == stream and message is not None:
                await send(EventMessage(message, str(number)))
        return stream


def make_server() -> Server[Any]:
    with warnings.catch_warnings():
        # Logging belongs to the legacy era, which is tested here as well.
        warnings.simplefilter("ignore", MCPDeprecationWarning)
        return Server(
            "features",
            version="1.0",
            on_list_tools=list_tools,
            on_call_tool=call_tool,
            on_list_resources=list_resources,
            on_list_resource_templates=list_templates,
            on_read_resource=read_resource,
            on_subscribe_resource=nothing,
            on_unsubscribe_resource=nothing,
            on_subscriptions_listen=ListenHandler(_bus),
            on_list_prompts=list_prompts,
            on_get_prompt=get_prompt,
            on_completion=complete,
            on_set_logging_level=nothing,
        )


async def serve_stdio(server: Server[Any]) -> None:
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (read_stream, write_stream):
        await server.run(read_stream, write_stream, server.create_initialization_options())


async def serve_http(server: Server[Any], port: int) -> None:
    import uvicorn

    app = server.streamable_http_app(event_store=Events(), retry_interval=RETRY_MS)
    listener = socket.create_server(("127.0.0.1", port))
    sys.stdout.write(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp\n")
    sys.stdout.flush()
    config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1)
    await uvicorn.Server(config).serve(sockets=[listener])


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("--http", type=int, metavar="PORT")
    port = parser.parse_args().http
    server = make_server()
    asyncio.run(serve_stdio(server) if port is None else serve_http(server, port))


if __name__ == "__main__":
    main()
