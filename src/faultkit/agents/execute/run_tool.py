"""One tool test: a call, the fault that it meets, and the expectations on its result."""

from __future__ import annotations

import json
from time import perf_counter
from typing import Any

from faultkit.agents.execute.connected_servers import ConnectedServers
from faultkit.agents.execute.expectations import Snapshots, call_result
from faultkit.agents.execute.observed_outcome import outcome_of_reply
from faultkit.agents.execute.real_toolbox import real_toolbox
from faultkit.agents.execute.virtual_toolbox import USUAL_PATIENCE_MS, VirtualToolbox
from faultkit.agents.suite.agent_interface import RunBudget, ToolOutcome
from faultkit.agents.suite.definition import Suite, ToolTest
from faultkit.agents.suite.gate import RowVerdict
from faultkit.agents.suite.results import ResultRow
from faultkit.agents.suite.run_options import RunOptions
from faultkit.base.text import untrusted_line
from faultkit.mcp.injector import Injector

_FAILURES = {
    "tool_error": "an error of the tool",
    "protocol_error": "an error",
    "timeout": "no answer",
    "lost": "none",
}
"""What a failed call returned, in a sentence."""
_CHARACTERS_PER_TOKEN = 4


async def run_tool_test(
    suite: Suite, test: ToolTest, connected: ConnectedServers, options: RunOptions, snapshots: Snapshots
) -> ResultRow:
    """Run one tool test and return its row."""
    began = perf_counter()
    seed = suite.seed if options.seed is None else options.seed
    plan = suite.plan(test.inject, seed)
    (server,) = connected.fresh([test.server])
    fault = ""
    if test.method:
        outcome = outcome_of_reply(await connected.request(test.server, test.method, test.arguments))
        duration_ms = (perf_counter() - began) * 1000
    elif options.clock == "virtual":
        box = VirtualToolbox([server], {server.name: Injector(plan, server.name)}, RunBudget())
        outcome = await box.call(test.tool, test.arguments)
        (call,) = box.calls
        fault = call.fault
        # The fault takes virtual time, the live server real time: a caller would wait for both.
        duration_ms = (call.end_ms or 0.0) + (perf_counter() - began) * 1000
    else:
        servers = [each for each in suite.servers if each.name == test.server]
        async with real_toolbox(
            servers, server.tools, plan, RunBudget(), USUAL_PATIENCE_MS, options.scale
        ) as real:
            outcome = await real.call(test.tool, test.arguments)
            (call,) = real.calls
        fault = call.fault
        duration_ms = (call.end_ms or 0.0) - call.start_ms
    took_ms = (perf_counter() - began) * 1000
    document = call_result(outcome, duration_ms)
    verdict, text, limit = _judge(test, outcome, document, bool(fault), snapshots)
    message, _, difference = text.partition("\n")
    return ResultRow(
        test.name,
        verdict,
        message,
        test.place,
        took_ms,
        tags=test.tags,
        limit=limit,
        diff=difference,
        details=(("fault", fault),) if fault else (),
    )


def _judge(
    test: ToolTest, outcome: ToolOutcome, document: dict[str, Any], was_hit: bool, snapshots: Snapshots
) -> tuple[RowVerdict, str, str]:
    duration_ms: float = document["duration_ms"]
    if test.inject and not was_hit and not test.allow_unhit:
        return "not_exercised", "not exercised: the call met no injected fault", ""
    if test.max_duration_ms is not None and duration_ms > test.max_duration_ms:
        took = f"max_duration_ms is {test.max_duration_ms:g}: it took {duration_ms:.0f} ms"
        return "failed", took, "max_duration_ms"
    remark = ""
    if (limit := test.max_response_tokens) is not None:
        tokens = _estimated_tokens(document.get("result"))
        if tokens > limit.most:
            found = f"max_response_tokens is {limit.most}: the result has about {tokens}"
            if not limit.is_remark:
                return "failed", found, "max_response_tokens"
            remark = f"remark: {found}"
    for expectation in test.expect:
        problem = snapshots.holds(test.name, expectation, document)
        if problem is not None:
            return "failed", problem, expectation.target
    if not outcome.ok and not any(each.is_of_answer and not each.is_empty for each in test.expect):
        # A test without expectations on the result still fails if the call failed.
        detail = f": {untrusted_line(outcome.text)}" if outcome.text else ""
        return "failed", f"expected a result, got {_FAILURES[outcome.outcome]}{detail}", "result"
    if test.asserts_nothing and not test.inject:
        return "not_exercised", "not exercised: each `expect` of the test holds for every value", ""
    return "passed", remark, ""


def _estimated_tokens(result: object) -> int:
    """Return about how many tokens a model would read: one for four characters, as no tokenizer is asked."""
    return -(-len(json.dumps(result, ensure_ascii=False, default=str)) // _CHARACTERS_PER_TOKEN)
