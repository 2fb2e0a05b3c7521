"""What one file gives to a suite, before it is held against what other files give."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from faultkit.agents.model import AgentTest, Provider, SuiteFault, SuiteServer, ToolTest
from faultkit.agents.parse.faults import parse_faults
from faultkit.agents.parse.keys import NOT_SERVED_IN_SUITES, opened
from faultkit.agents.parse.providers import parse_providers
from faultkit.agents.parse.servers import Nearby, parse_servers
from faultkit.agents.parse.sheet import Found, Sheet
from faultkit.agents.parse.tests import parse_agent_test, parse_tool_test
from faultkit.base.documents.shape import shown
from faultkit.base.documents.values import line
from faultkit.base.errors import InputError

SUITE_KEYS = (
    *("servers", "server", "default_server", "faults", "agents", "tools"),
    *("providers", "variables", "imports", "seed"),
)


@dataclass(frozen=True, slots=True)
class Part:
    sheet: Sheet
    servers: list[Found[SuiteServer]]
    faults: list[Found[SuiteFault]]
    agents: list[Found[AgentTest]]
    tools: list[Found[ToolTest]]
    providers: list[Found[Provider]]
    variables: Mapping[str, Any]
    default_server: str
    seed: int | str


def parse_part(
    document: object, sheet: Sheet, variables: Mapping[str, Any], nearby: Nearby, imported: Iterable[Part]
) -> Part:
    """`document`: with its variables filled in."""
    reading = opened(document, SUITE_KEYS, "", sheet, NOT_SERVED_IN_SUITES)
    providers = parse_providers(reading, sheet)
    all_providers = [found.value for part in imported for found in part.providers]
    all_providers += [found.value for found in providers]
    return Part(
        sheet,
        parse_servers(reading, sheet, nearby),
        parse_faults(reading.each("faults", "faults"), sheet),
        [
            Found(test, path, sheet)
            for path, value in reading.each("agents", "tests of agents")
            for test in parse_agent_test(value, path, sheet, all_providers, nearby)
        ],
        [
            Found(parse_tool_test(value, path, sheet), path, sheet)
            for path, value in reading.each("tools", "tests of tools")
        ],
        providers,
        variables,
        reading.take("default_server", line, ""),
        reading.take("seed", _seed, 0),
    )


def _seed(value: object) -> int | str:
    if isinstance(value, bool) or not isinstance(value, int | str) or value == "" or _is_below_0(value):
        raise InputError("", f"expected a whole number of at least 0 or a text, got {shown(value)}")
    return value


def _is_below_0(value: int | str) -> bool:
    return isinstance(value, int) and value < 0
