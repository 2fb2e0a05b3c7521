from __future__ import annotations

import asyncio
from typing import Any

import pytest

from faultkit.agents.execute.virtual_toolbox import VirtualToolbox
from faultkit.agents.recovery.trace import TracedCall
from faultkit.agents.suite.agent_interface import BudgetExceeded, RunBudget, ToolOutcome
from faultkit.faults import CALL_FAULTS
from tests.agents.memory_server import MemoryServer, toolbox


def calls(box: VirtualToolbox, *names: str, **arguments: Any) -> list[ToolOutcome]:
    async def main() -> list[ToolOutcome]:
        return [await box.call(name, arguments) for name in names]

    return asyncio.run(main())


def test_without_a_fault_a_call_is_made_and_takes_no_time() -> None:
    box = toolbox()
    assert calls(box, "search", q="x") == [ToolOutcome("ok", "search answers")]
    assert box.calls == [TracedCall("search", 0.0, 0.0, "ok", {"q": "x"}, server="shop", is_read=True)]


@pytest.mark.parametrize("kind", ["hang", "wedged"])
def test_a_call_that_hangs_costs_one_detection_budget_each_time_and_reaches_no_server(kind: str) -> None:
    server = MemoryServer()
    box = toolbox(f"{kind}@search", server=server)
    text = "injected fault: tool `search` did not respond within 3000 ms"
    assert calls(box, "search", "search", "grep") == [
        ToolOutcome("timeout", text),
        ToolOutcome("timeout", text),
        ToolOutcome("ok", "grep answers"),
    ]
    assert [name for name, _ in server.received] == ["grep"]
    assert [(call.start_ms, call.end_ms, call.fault) for call in box.calls] == [
        (0.0, 3000.0, kind),
        (3000.0, 6000.0, kind),
        (6000.0, 6000.0, ""),
    ]


@pytest.mark.parametrize(
    ("delay_ms", "outcome", "took_ms"),
    [(1000, "ok", 1000.0), (2999, "ok", 2999.0), (3000, "timeout", 3000.0)],
)
def test_a_slow_call_is_a_failure_from_the_budget_on(delay_ms: int, outcome: str, took_ms: float) -> None:
    box = toolbox(f"slow:{delay_ms}")
    assert [seen.outcome for seen in calls(box, "search")] == [outcome]
    assert box.now_ms() == took_ms


def test_after_so_many_failures_it_recovers() -> None:
    box = toolbox("recover-after:2")
    assert [seen.outcome for seen in calls(box, *["search"] * 3)] == ["timeout", "timeout", "ok"]


def test_a_server_that_is_frozen_answers_nothing_any_more() -> None:
    server = MemoryServer()
    box = toolbox("frozen,first=1@search", server=server)
    assert [seen.outcome for seen in calls(box, "grep", "search", "grep")] == ["ok", "timeout", "timeout"]
    assert [call.fault for call in box.calls] == ["", "frozen", "frozen"]
    assert [name for name, _ in server.received] == ["grep"]


def test_with_no_patience_at_all_every_faulted_call_fails_at_once() -> None:
    box = toolbox("hang", patience_ms=0.0)
    assert [seen.outcome for seen in calls(box, "search")] == ["timeout"]
    assert box.now_ms() == 0.0


@pytest.mark.parametrize(
    ("spec", "outcome", "asked"),
    [
        ("tool_error:no", "tool_error", False),
        ("protocol_error", "protocol_error", False),
        ("wrong_id", "timeout", True),
        ("mistyped_id", "timeout", True),
        ("malformed_json", "timeout", True),
        ("truncated_reply", "timeout", True),
        ("lost_reply", "timeout", True),
        ("disconnect", "lost", False),
        ("duplicate_reply", "ok", True),
        ("frozen", "timeout", False),
        ("rate_limit:jsonrpc", "protocol_error", False),
        ("rate_limit:hidden", "ok", False),
    ],
)
def test_what_a_caller_sees_of_other_faults(spec: str, outcome: str, asked: bool) -> None:
    server = MemoryServer()
    box = toolbox(spec, server=server)
    assert [seen.outcome for seen in calls(box, "search")] == [outcome]
    assert bool(server.received) is asked


@pytest.mark.parametrize(
    ("spec", "outcome", "took_ms"),
    [
        ("wrong_id", "protocol_error", 0),
        ("mistyped_id", "protocol_error", 0),
        ("malformed_json", "protocol_error", 0),
        ("truncated_reply", "lost", 0),
        ("lost_reply", "timeout", 3000),
        ("frozen", "timeout", 3000),
        ("keep_alive_only:60000", "timeout", 3000),
    ],
)
def test_over_http_a_caller_knows_at_once_that_the_answer_ended_without_a_reply(
    spec: str, outcome: str, took_ms: float
) -> None:
    box = toolbox(spec, server=MemoryServer(transport="http"))
    assert [seen.outcome for seen in calls(box, "search")] == [outcome]
    assert box.now_ms() == took_ms


def test_every_fault_of_calls_comes_to_an_end_within_the_budget() -> None:
    for kind in CALL_FAULTS:
        box = toolbox()
        for transport in ("stdio", "http"):
            box = toolbox(kind, server=MemoryServer(transport=transport))
            calls(box, "search")
            assert box.now_ms() <= 3000.0, kind
            assert len(box.calls) == 1


def test_a_rate_limit_says_how_long_to_wait_in_each_of_its_forms() -> None:
    (seen,) = calls(toolbox("rate_limit:jsonrpc,retry_after_s=7"), "search")
    assert seen.retry_after_ms == 7000.0
    (seen,) = calls(
        toolbox("rate_limit:http,retry_after_s=7", server=MemoryServer(transport="http")), "search"
    )
    assert (seen.text, seen.error_code, seen.retry_after_ms) == ("HTTP 429", 429, 7000.0)


def test_what_a_server_did_counts_as_an_effect_though_its_answer_was_lost() -> None:
    box = toolbox("lost_reply,first=1@order")
    calls(box, "order", "order", item="tea")
    first, second = box.calls
    assert (first.outcome, second.outcome) == ("timeout", "ok")
    assert first.effect == second.effect != ""
    calls(box, "order", item="tea", request_id="another attempt")
    calls(box, "order", item="coffee")
    assert box.calls[2].effect == first.effect != box.calls[3].effect
    calls(box, "search")
    assert box.calls[4].effect == ""


def test_an_unknown_tool_is_an_invalid_call_that_names_those_there_are() -> None:
    box = toolbox()
    (seen,) = calls(box, "serach")
    assert seen.text == "unknown tool `serach`; there are: search, grep, order, orders"
    assert box.calls == [TracedCall("serach", 0.0, 0.0, "protocol_error", {}, invalid=True)]


def test_budgets_end_a_run_and_are_remembered() -> None:
    box = toolbox(budget=RunBudget(calls=1))
    with pytest.raises(BudgetExceeded) as caught:
        calls(box, "search", "search")
    assert (caught.value.ending, box.budget_use.overruns, len(box.calls)) == ("calls", ["calls"], 1)
    box = toolbox("hang", budget=RunBudget(time_ms=5000))
    with pytest.raises(BudgetExceeded) as caught:
        calls(box, "search", "search")
    assert (caught.value.ending, len(box.calls)) == ("time", 2)
    box = toolbox(budget=RunBudget(turns=2, tokens=10, money=0.5))
    box.spend(turns=2, tokens=10, money=0.5)
    for more in ({"turns": 1}, {"tokens": 1}, {"money": 0.01}):
        with pytest.raises(BudgetExceeded):
            box.spend(**more)
