"""What a probe is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from faultkit.faults.call.call import TRANSPORTS, Transport
from faultkit.mcp.probe.servers.bench import Bench
from faultkit.mcp.probe.servers.model import Finding, Level, not_applicable


@dataclass(frozen=True, slots=True)
class Probe:
    id: str
    title: str
    """What a server has to do."""
    run: Callable[[Bench], Awaitable[Finding]]
    level: Level = "SHOULD"
    transports: tuple[Transport, ...] = TRANSPORTS


def no_tool(bench: Bench, what: str) -> Finding:
    """There is none that the probe may call."""
    if not bench.all_tools:
        return not_applicable("the server has no tools")
    if not bench.tools:
        return not_applicable("no tool says that it does no harm: name one by --tool")
    return not_applicable(f"no tool that may be called {what}")
