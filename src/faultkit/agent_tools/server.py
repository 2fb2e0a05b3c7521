"""The MCP server: the SDK's, made from the table of tools. It serves one client over stdio or many over HTTP.

A tool's own trouble, wrong arguments included, is a result with `isError` that a model can read and act on;
only an unknown tool and a malformed request are errors of the protocol.
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
from faultkit.agent_tools.arguments import input_schema, near, shown
from faultkit.agent_tools.calls import Calls, Failed, Outcome
from faultkit.agent_tools.services import Services
from faultkit.agent_tools.table import TOOLS
from faultkit.agent_tools.tool import Tool
from faultkit.base.errors import InputError

NAME, TITLE = "faultkit", "Faultkit"
_NO_RESOURCE = -32002
"""What the older protocol says; the newer one has no code of its own for it."""
_AN_HOUR = CacheHint(ttl_ms=3_600_000, scope="private")
_FIXED_LISTS: tuple[CacheableMethod, ...] = ("tools/list", "prompts/list", "resources/templates/list")
"""What cannot change as long as the server runs."""

INSTRUCTIONS = """\
Faultkit finds out how code holds up when its network misbehaves, and how to make it hold.
Look: fault_list_function_names and fault_extract_code_block read a source file; fault_score_reliability, \
fault_score_performance and fault_function_reliability_deep_analysis judge code.
Change: fault_suggest_better_function_* answer with a diff for a function, \
fault_make_reliability_and_perf_changes with one for a file. They write nothing: apply the diff yourself.
Measure: fault_run_*_impact_scenario sends traffic to a running service while its network is broken, and \
reports against SLOs; start the service first. Give `proxies` to break the calls that the service makes.
Break by name: chaos_status, chaos_inject_fault and chaos_run_experiment run the chaos experiments that \
people wrote for this project, and always roll back.
Index a project once with fault_index_source_code if a language model is configured: it is shown related code.
Paths are absolute. A wrong argument is told with what was expected and an example."""
_BY_RULES = "\nNo language model is configured: advice comes from Faultkit's own rules, offline."
_BY_MODEL = "\nAdvice comes from {model} by {engine}; what is sent there has its secrets taken out."


def make_server(
    calls: Calls, tools: Mapping[str, Tool] = TOOLS, instructions: str | None = None
) -> Server[Calls]:
    """Ready to be run over any transport. When it ends, so do its calls. With `instructions` of its own, it
    serves the tools alone: the resources and prompts belong to the usual ones."""
    services = calls.services

    @cache
    def listed() -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_listed(tool, services) for tool in tools.values()])

    def schema_of(name: str) -> Mapping[str, Any] | None:
        tool = tools.get(name)
        return None if tool is None else input_schema(tool)

    @contextlib.asynccontextmanager
    async def lifespan(_: Server[Calls]) -> AsyncIterator[Calls]:
        try:
            yield calls
        finally:
            calls.stop()
            services.close()

    async def list_tools(
        ctx: ServerRequestContext[Calls], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return listed()

    async def call_tool(
        ctx: ServerRequestContext[Calls], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        tool = tools.get(params.name)
        if tool is None:
            problem = f"unknown tool {shown(params.name)}{near(params.name, tools)}"
            raise MCPError(types.INVALID_PARAMS, problem)
        # Who asked for no progress gets none: the session knows.
        send = ctx.session.report_progress
        return _result(await calls.run(tool, params.arguments or {}, send))

    async def list_resources(
        ctx: ServerRequestContext[Calls], params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        return types.ListResourcesResult(
            resources=[types.Resource(**asdict(each)) for each in resources.list_resources(services)]
        )

    async def read_resource(
        ctx: ServerRequestContext[Calls], params: types.ReadResourceRequestParams
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
        ctx: ServerRequestContext[Calls], params: types.GetPromptRequestParams
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
        instructions=INSTRUCTIONS + _engine_told(services),
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
    ctx: ServerRequestContext[Calls], params: types.PaginatedRequestParams | None
) -> types.ListResourceTemplatesResult:
    return types.ListResourceTemplatesResult(
        resource_templates=[types.ResourceTemplate(**asdict(each)) for each in resources.TEMPLATES]
    )


async def _list_prompts(
    ctx: ServerRequestContext[Calls], params: types.PaginatedRequestParams | None
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
        output_schema=dict(tool.output),
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=hints.read_only,
            destructive_hint=hints.destructive,
            idempotent_hint=hints.idempotent,
            open_world_hint=hints.open_world or (tool.may_reach_out and services.reaches_out),
        ),
    )


def _result(outcome: Outcome) -> types.CallToolResult:
    text = types.TextContent(text=outcome.text)
    if isinstance(outcome, Failed) and outcome.structured is None:
        return types.CallToolResult(content=[text], is_error=True)
    if isinstance(outcome, Failed):
        return types.CallToolResult(content=[text], structured_content=outcome.structured, is_error=True)
    return types.CallToolResult(content=[text], structured_content=outcome.structured)


def _engine_told(services: Services) -> str:
    if services.llm is None:
        return _BY_RULES
    return _BY_MODEL.format(model=services.llm.model, engine=services.llm.provider.name)
