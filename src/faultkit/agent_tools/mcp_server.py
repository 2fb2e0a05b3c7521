"""The MCP server, built on the official SDK from the table of tools. Only this module knows both.

A failed tool call, wrong arguments included, is a result with `isError`, which a model can read and act on;
only an unknown tool and a malformed request are protocol errors (MCP specification, Tools, "Error Handling").
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import asdict
from functools import cache
from typing import Any

import anyio.to_thread
import mcp_types as types
from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from faultkit import __version__
from faultkit.agent_tools import prompts, resources
from faultkit.agent_tools.argument_kinds import brief_json, suggestion
from faultkit.agent_tools.listed_schemas import input_schema, listed_output
from faultkit.agent_tools.tool import Services, Tool
from faultkit.agent_tools.tool_catalog import TOOLS, instructions_for
from faultkit.agent_tools.tool_runner import ToolFailure, ToolOutcome, ToolRunner
from faultkit.base.errors import InputError

NAME, TITLE = "faultkit", "Faultkit"
_NO_RESOURCE = -32002
"""The error code of the older protocol for an unknown resource; the newer one uses invalid params."""
_AN_HOUR = CacheHint(ttl_ms=3_600_000, scope="private")
_FIXED_LISTS: tuple[CacheableMethod, ...] = ("tools/list", "prompts/list", "resources/templates/list")
"""Lists that do not change while the server runs."""


def make_server(
    calls: ToolRunner, tools: Mapping[str, Tool] = TOOLS, instructions: str | None = None
) -> Server[ToolRunner]:
    """Return a server that can run over any transport. When it ends, its calls are cancelled.

    With `instructions`, it serves the given tools only: the resources and prompts belong to the usual
    tools."""
    services = calls.services

    @cache
    def listed() -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_listed(tool, services) for tool in tools.values()])

    def schema_of(name: str) -> Mapping[str, Any] | None:
        tool = tools.get(name)
        return None if tool is None else input_schema(tool)

    @contextlib.asynccontextmanager
    async def lifespan(_: Server[ToolRunner]) -> AsyncIterator[ToolRunner]:
        try:
            yield calls
        finally:
            calls.stop()
            services.close()

    async def list_tools(
        ctx: ServerRequestContext[ToolRunner], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return listed()

    async def call_tool(
        ctx: ServerRequestContext[ToolRunner], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        tool = tools.get(params.name)
        if tool is None:
            problem = f"unknown tool {brief_json(params.name)}{suggestion(params.name, tools)}"
            raise MCPError(types.INVALID_PARAMS, problem)
        # The session drops progress of requests without a progress token.
        send = ctx.session.report_progress
        return _result(await calls.run(tool, params.arguments or {}, send))

    async def list_resources(
        ctx: ServerRequestContext[ToolRunner], params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        return types.ListResourcesResult(
            resources=[types.Resource(**asdict(each)) for each in resources.list_resources(services)]
        )

    async def read_resource(
        ctx: ServerRequestContext[ToolRunner], params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        try:
            found = await anyio.to_thread.run_sync(resources.read_resource, services, uri)
        except InputError as error:
            is_modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
            code = types.INVALID_PARAMS if is_modern else _NO_RESOURCE
            raise MCPError(code, str(error), {"uri": uri}) from None
        return types.ReadResourceResult(contents=[types.TextResourceContents(**asdict(found))])

    async def get_prompt(
        ctx: ServerRequestContext[ToolRunner], params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        try:
            text = prompts.prompt_text(params.name, params.arguments)
        except InputError as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from None
        turn = types.PromptMessage(role="user", content=types.TextContent(text=text))
        return types.GetPromptResult(description=prompts.PROMPTS[params.name].description, messages=[turn])

    if instructions is not None:
        return Server(
            NAME,
            version=__version__,
            title=TITLE,
            instructions=instructions,
            cache_hints={"tools/list": _AN_HOUR},
            lifespan=lifespan,
            get_tool_input_schema=schema_of,
            on_list_tools=list_tools,
            on_call_tool=call_tool,
        )
    return Server(
        NAME,
        version=__version__,
        title=TITLE,
        instructions=instructions_for(services),
        cache_hints=dict.fromkeys(_FIXED_LISTS, _AN_HOUR),
        lifespan=lifespan,
        get_tool_input_schema=schema_of,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=_list_templates,
        on_read_resource=read_resource,
        on_list_prompts=_list_prompts,
        on_get_prompt=get_prompt,
    )


async def _list_templates(
    ctx: ServerRequestContext[ToolRunner], params: types.PaginatedRequestParams | None
) -> types.ListResourceTemplatesResult:
    return types.ListResourceTemplatesResult(
        resource_templates=[types.ResourceTemplate(**asdict(each)) for each in resources.TEMPLATES]
    )


async def _list_prompts(
    ctx: ServerRequestContext[ToolRunner], params: types.PaginatedRequestParams | None
) -> types.ListPromptsResult:
    return types.ListPromptsResult(
        prompts=[
            types.Prompt(
                name=each.name,
                title=each.title,
                description=each.description,
                arguments=[types.PromptArgument(**asdict(argument)) for argument in each.arguments],
            )
            for each in prompts.PROMPTS.values()
        ]
    )


def _listed(tool: Tool, services: Services) -> types.Tool:
    hints = tool.hints
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=input_schema(tool),
        output_schema=listed_output(tool.output),
        annotations=types.ToolAnnotations(
            read_only_hint=hints.read_only,
            destructive_hint=hints.destructive,
            idempotent_hint=hints.idempotent,
            open_world_hint=hints.open_world or (tool.may_reach_out and services.reaches_out),
        ),
    )


def _result(outcome: ToolOutcome) -> types.CallToolResult:
    text = types.TextContent(text=outcome.text)
    if isinstance(outcome, ToolFailure) and outcome.structured is None:
        return types.CallToolResult(content=[text], is_error=True)
    if isinstance(outcome, ToolFailure):
        return types.CallToolResult(content=[text], structured_content=outcome.structured, is_error=True)
    return types.CallToolResult(content=[text], structured_content=outcome.structured)
