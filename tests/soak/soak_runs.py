"""The runs of a soak, by name. Each takes seconds and a seed, and returns what was done."""

from __future__ import annotations

from collections.abc import Callable

from tests.soak.mcp_soak import soak_gateway_of_processes, soak_http_gateway, soak_http_mock, soak_stdio
from tests.soak.proxy_soak import soak_run, soak_toxiproxy

RUNS: dict[str, Callable[[float, str], str]] = {
    "proxies": soak_run,
    "Toxiproxy": soak_toxiproxy,
    "mock over HTTP": soak_http_mock,
    "gateway over HTTP": soak_http_gateway,
    "gateway of processes": soak_gateway_of_processes,
    "mock and gateway over stdio": soak_stdio,
}
SHARES = {"proxies": 0.4, "Toxiproxy": 0.2}
"""Parts of the time; the others share the rest."""


def seconds_of(name: str, seconds: float) -> float:
    """Return the seconds of one run, of those for all."""
    rest = (1 - sum(SHARES.values())) / (len(RUNS) - len(SHARES))
    return seconds * SHARES.get(name, rest)
