"""One tool test: a call, what a fault makes of it, and what is expected of the answer."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from faultkit.agents.execute.budget import Budget
from faultkit.agents.execute.document import call_result
from faultkit.agents.execute.options import Options
from faultkit.agents.execute.real import real_toolbox
from faultkit.agents.execute.servers import Connected
from faultkit.agents.execute.snapshots import Snapshots
from faultkit.agents.execute.virtual import USUAL_PATIENCE_MS, VirtualToolbox
from faultkit.agents.gate import Verdict
from faultkit.agents.kinds.agent import ToolOutcome
from faultkit.agents.model import Suite, ToolTest
from faultkit.agents.parse.targets import is_of_the_answer
from faultkit.agents.result import Row
from faultkit.llm.failure import one_line
from faultkit.mcp.injector import Injector
from faultkit.plan import Plan

_ENDED = {
    "tool_error": "an error of the tool",
    "protocol_error": "an error",
    "timeout": "no answer",
    "lost": "none",
}


async def run_tool_test(
    suite: Suite, test: ToolTest, connected: Connected, options: Options, snapshots: Snapshots
) -> Row:
    began = perf_counter()
    seed = suite.seed if options.seed is None else options.seed
    known = {fault.name: fault.rule for fault in suite.faults}
    plan = Plan(tuple(known[name] for name in test.inject), seed)
    (server,) = connected.fresh([test.server])
    if options.clock == "virtual":
        box = VirtualToolbox([server], {server.name: Injector(plan, server.name)}, Budget())
        outcome = await box.call(test.tool, test.arguments)
        (mark,) = box.marks
        # A fault takes virtual time, a live server takes real time: the caller waits for both.
        duration_ms = (mark.end_ms or 0.0) + (perf_counter() - began) * 1000
    else:
        own = [each for each in suite.servers if each.name == test.server]
        async with real_toolbox(own, server.tools, plan, Budget(), USUAL_PATIENCE_MS, options.scale) as real:
            outcome = await real.call(test.tool, test.arguments)
            (mark,) = real.marks
        duration_ms = (mark.end_ms or 0.0) - mark.start_ms
    took_ms = (perf_counter() - began) * 1000
    document = call_result(outcome, duration_ms)
    verdict, told, limit = _judge(test, outcome, document, bool(mark.fault), snapshots)
    message, _, difference = told.partition("\n")
    return Row(test.name, verdict, message, test.place, took_ms, tags=test.tags, limit=limit, diff=difference)


def _judge(
    test: ToolTest, outcome: ToolOutcome, document: dict[str, Any], was_hit: bool, snapshots: Snapshots
) -> tuple[Verdict, str, str]:
    duration_ms: float = document["duration_ms"]
    if test.inject and not was_hit and not test.allow_unhit:
        return "not_exercised", "not exercised: the call met no injected fault", ""
    if test.max_duration_ms is not None and duration_ms > test.max_duration_ms:
        took = f"max_duration_ms is {test.max_duration_ms:g}: it took {duration_ms:.0f} ms"
        return "failed", took, "max_duration_ms"
    for expectation in test.expect:
        wrong = snapshots.holds(test.name, expectation, document)
        if wrong is not None:
            return "failed", wrong, expectation.target
    if not outcome.ok and not any(is_of_the_answer(each) for each in test.expect):
        # Who expects nothing of an answer expects one that is none of a failure.
        said = f": {one_line(outcome.text)}" if outcome.text else ""
        return "failed", f"expected a result, got {_ENDED[outcome.outcome]}{said}", "result"
    return "passed", "", ""
