"""The tests of a suite: of agents and of tools. Whether the servers and faults that they name are there is
`faultkit.agents.parse.join`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from faultkit.agents.execute.budget import Budget
from faultkit.agents.gate import RecoveryGate
from faultkit.agents.matchers.target import AGENT_ROOTS, TOOL_ROOTS
from faultkit.agents.model import AgentTest, Provider, ShippedAgent, ToolTest
from faultkit.agents.parse.agent import parse_agents
from faultkit.agents.parse.expect import MAX_DURATION, milliseconds, parse_expect
from faultkit.agents.parse.keys import (
    NOT_SERVED_IN_AGENTS,
    NOT_SERVED_IN_ORCHESTRATION,
    arguments,
    at_most_one,
    list_of,
    opened,
)
from faultkit.agents.parse.servers import Nearby
from faultkit.agents.parse.sheet import Sheet
from faultkit.base.documents.reading import Reading
from faultkit.base.documents.shape import joined, shown
from faultkit.base.documents.values import duration_s, line, number, switch, text, whole
from faultkit.base.errors import InputError

COMMON_KEYS = ("name", "inject", "expect", "allow_unhit", "tags", "skip", "only")
BUDGET_KEYS = ("max_turns", "token_budget", "max_tool_calls", "time_budget", "max_cost_usd")
AGENT_TEST_KEYS = (
    *COMMON_KEYS,
    *("model", "models", "agent", "max_tokens", "servers", "prompt", "system_prompt", "recovery"),
    *("orchestration", "runs", "min_pass_rate"),
    *BUDGET_KEYS,
)
TOOL_TEST_KEYS = (*COMMON_KEYS, "server", "tool", "args", "arguments", MAX_DURATION)
RECOVERY_KEYS = ("max_detection_ms", "max_recovery_ms", "require_clean_timeout")
MOST_RUNS = 1000
MOST = 1_000_000_000
SKIPPED = "skipped"


def parse_agent_test(
    value: object, path: str, sheet: Sheet, providers: Sequence[Provider], nearby: Nearby
) -> list[AgentTest]:
    """One for each model. `providers`: those of the suite."""
    reading = opened(value, AGENT_TEST_KEYS, path, sheet, NOT_SERVED_IN_AGENTS)
    common = _common(reading, sheet, AGENT_ROOTS)
    agents = parse_agents(reading, sheet, providers, nearby)
    recovery = _recovery(reading, sheet)
    if recovery is not None and not reading.given.get("inject"):
        reading.note(
            "recovery", InputError("", "expected `inject` beside it: nothing is broken to recover from")
        )
    if "prompt" not in reading.given and ("model" in reading.given or "models" in reading.given):
        reading.note("prompt", InputError("", "expected what the model is asked to do, got nothing"))
    test: dict[str, Any] = {
        "servers": reading.take("servers", list_of(text, "server"), ()),
        "prompt": reading.take("prompt", text, ""),
        "system_prompt": reading.take("system_prompt", text, ""),
        "recovery": recovery,
        "error_recovery": _error_recovery(reading, sheet),
        "budget": _budget(reading),
        "runs": reading.take("runs", whole(1, MOST_RUNS), 1),
        "min_pass_rate": reading.take("min_pass_rate", whole(1, 100), None),
    }
    name = common.pop("name")
    return [
        AgentTest(name=f"{name}{suffix}", agent=agent, place=sheet.place(path), **common, **test)
        # With a mistake in the agent, the rest of the test is still held against what there is.
        for suffix, agent in agents or (("", ShippedAgent("naive")),)
    ]


def parse_tool_test(value: object, path: str, sheet: Sheet) -> ToolTest:
    reading = opened(value, TOOL_TEST_KEYS, path, sheet)
    limit_ms = reading.take(MAX_DURATION, milliseconds, None)
    common = _common(reading, sheet, TOOL_ROOTS)
    given = at_most_one(reading, "args", "arguments")
    within_ms = common.pop("limit_ms", None)
    return ToolTest(
        server=reading.take("server", line, ""),
        tool=reading.need("tool", line, "", "the name of a tool"),
        arguments=reading.take(given, arguments, {}) if given else {},
        max_duration_ms=limit_ms if limit_ms is not None else within_ms,
        place=sheet.place(path),
        **common,
    )


def _common(reading: Reading, sheet: Sheet, roots: tuple[str, ...]) -> dict[str, Any]:
    path = joined(reading.path, "expect")
    expected = parse_expect(reading.given.get("expect"), path, sheet, roots)
    found: dict[str, Any] = {
        "name": reading.need("name", line, "", "a name"),
        "expect": expected.entries,
        "inject": reading.take("inject", list_of(text, "fault"), ()),
        "allow_unhit": reading.take("allow_unhit", switch, False),
        "tags": reading.take("tags", list_of(line, "tag"), ()),
        "skip": reading.take("skip", _skip, ""),
        "only": reading.take("only", switch, False),
    }
    if found["skip"] and found["only"]:
        reading.note("only", InputError("", "expected only one of skip and only, got skip too"))
    if found["allow_unhit"] and not found["inject"]:
        reading.note(
            "allow_unhit", InputError("", "expected `inject` beside it: there is no fault to be hit")
        )
    if expected.max_duration_ms is not None:
        if roots == TOOL_ROOTS:
            found["limit_ms"] = expected.max_duration_ms
        else:
            sheet.note(path, f"{MAX_DURATION} is for tools; a test of an agent has time_budget")
    return found


def _skip(value: object) -> str:
    """Why, or only that."""
    if isinstance(value, bool):
        return SKIPPED if value else ""
    if not isinstance(value, str) or not value:
        raise InputError("", f"expected the reason why, or true, got {shown(value)}")
    return value


def _recovery(reading: Reading, sheet: Sheet) -> RecoveryGate | None:
    if "recovery" not in reading.given:
        return None
    inner = opened(reading.given["recovery"], RECOVERY_KEYS, joined(reading.path, "recovery"), sheet)
    ms = whole(0, MOST)
    detection = inner.need("max_detection_ms", ms, 0, "a whole number of milliseconds")
    return RecoveryGate(
        detection,
        inner.take("max_recovery_ms", ms, None),
        inner.take("require_clean_timeout", switch, False),
    )


def _error_recovery(reading: Reading, sheet: Sheet) -> int | None:
    if "orchestration" not in reading.given:
        return None
    path = joined(reading.path, "orchestration")
    given = reading.given["orchestration"]
    inner = opened(given, ("error_recovery",), path, sheet, NOT_SERVED_IN_ORCHESTRATION)
    return inner.need("error_recovery", whole(0, 100), None, "a percentage from 0 to 100")


def _budget(reading: Reading) -> Budget:
    seconds = reading.take("time_budget", duration_s, None)
    return Budget(
        turns=reading.take("max_turns", whole(1, MOST), Budget().turns),
        calls=reading.take("max_tool_calls", whole(0, MOST), None),
        tokens=reading.take("token_budget", whole(1, MOST), None),
        time_ms=None if seconds is None else round(seconds * 1000, 9),
        money=reading.take("max_cost_usd", number("dollars above 0", lambda dollars: dollars > 0), None),
    )
