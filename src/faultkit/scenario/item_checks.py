"""Which objectives and faults a call can have. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.base.errors import InputError
from faultkit.load.early_stop import can_be_decided_early
from faultkit.load.slo import LLM_KINDS, MCP_KINDS, STREAM_KINDS, Slo
from faultkit.scenario.scenario_model import HttpCall, LoadStrategy, McpCall, ScenarioItem, SearchStrategy
from faultkit.scenario.search_goals import search_problems

MOST_STDIO_CLIENTS = 500
"""Each client of a server over stdio starts a process."""


def why_no_objective(slo: Slo, item: ScenarioItem) -> str | None:
    """Return why a call cannot have an objective; None if it can."""
    if slo.kind not in (*STREAM_KINDS, *MCP_KINDS, *LLM_KINDS):
        return None
    call = item.call
    is_llm = isinstance(call, HttpCall) and call.llm
    if slo.kind in LLM_KINDS and not is_llm:
        return f"expected a call with llm: true for an objective of {slo.kind}, got another"
    is_stream = isinstance(call, HttpCall) and call.stream is not None
    if slo.kind in STREAM_KINDS and not is_stream and not (is_llm and slo.kind == "early_end"):
        return f"expected a call with stream: sse for an objective of {slo.kind}, got another"
    if slo.kind in MCP_KINDS and not isinstance(item.call, McpCall):
        return f"expected a call of an MCP tool for an objective of {slo.kind}, got another"
    if not isinstance(item.strategy, LoadStrategy | SearchStrategy):
        return f"expected a strategy of mode load for an objective of {slo.kind}, got another"
    return None


def item_problems(item: ScenarioItem) -> Iterator[InputError]:
    """Yield what is wrong with the combination of an item's parts. Paths begin at the item."""
    for index, slo in enumerate(item.slos):
        if (problem := why_no_objective(slo, item)) is not None:
            yield InputError(f"context.slo[{index}].type", problem)
    if isinstance(item.strategy, SearchStrategy):
        yield from search_problems(item)
    if isinstance(item.strategy, LoadStrategy) and item.strategy.ends_early:
        yield from _early_stop_problems(item, item.strategy)
    if not isinstance(item.call, McpCall):
        return
    if item.expect.status is not None:
        problem = f"expected nothing, since the call of a tool has no status, got {item.expect.status}"
        yield InputError("expect.status", problem)
    if not item.call.command:
        return
    if item.faults and not item.maps and not item.upstreams.upstreams:
        yield InputError(
            "context.faults",
            "expected proxy.proxies or upstreams for the faults to act in, since no connection leads to a "
            "server over stdio, got none",
        )
    clients = _most_clients(item)
    if clients > MOST_STDIO_CLIENTS:
        yield InputError(
            "context.strategy.clients",
            f"expected at most {MOST_STDIO_CLIENTS}, since each starts a server, got {clients}",
        )


def _early_stop_problems(item: ScenarioItem, strategy: LoadStrategy) -> Iterator[InputError]:
    """Yield why a load cannot end when it is decided: what comes later must be like what came before."""
    stop = "context.strategy.stop"
    if strategy.load.ramp_s:
        yield InputError(stop, "expected at_end for a load with a ramp, got when_decided")
    if any(fault.rule.schedule.periods for fault in item.faults):
        yield InputError(stop, "expected at_end, since a fault has a period of its own, got when_decided")
    for index, slo in enumerate(item.slos):
        if not can_be_decided_early(slo):
            kind = "an objective with a window" if slo.window_s is not None else f"an objective of {slo.kind}"
            problem = f"expected none with stop: when_decided, which judges request by request, got {kind}"
            yield InputError(f"context.slo[{index}]", problem)


def _most_clients(item: ScenarioItem) -> int:
    match item.strategy:
        case LoadStrategy(clients=clients):
            return clients
        case SearchStrategy(clients=clients, settings=settings):
            scales = [varied.scale for varied in settings if varied.name == "clients"]
            return max([int(max(scale.harmless, scale.harmful)) for scale in scales] or [clients])
    return 1
