from __future__ import annotations

import asyncio

import pytest

from faultkit.agents.execute.virtual_toolbox import VirtualToolbox
from faultkit.agents.kinds.scripted import SHIPPED_AGENTS, ScriptedAgent
from faultkit.agents.recovery.metrics import metrics_of
from faultkit.agents.recovery.trace import FinalReply, Trace
from faultkit.agents.suite.agent_interface import AgentAnswer, AgentTask, BudgetExceeded
from faultkit.agents.suite.definition import AgentGoal, PlannedCall
from tests.agents.memory_server import toolbox

GOAL = AgentGoal(
    PlannedCall("order", {"item": "tea"}),
    fallback=PlannedCall("grep", {"q": "tea"}),
    verify=PlannedCall("orders"),
    verified="tea",
)


def run(kind: str, box: VirtualToolbox) -> AgentAnswer:
    return asyncio.run(ScriptedAgent(SHIPPED_AGENTS[kind](GOAL)).run(AgentTask("order tea"), box))


def made(box: VirtualToolbox) -> list[str]:
    return [f"{call.tool}:{call.outcome}" for call in box.calls]


@pytest.mark.parametrize("kind", SHIPPED_AGENTS)
def test_where_nothing_is_broken_every_agent_makes_one_call_and_says_that_it_is_done(kind: str) -> None:
    box = toolbox()
    assert run(kind, box).claims_success is True
    assert made(box) == ["order:ok"]


def test_a_looping_agent_is_ended_by_its_turns() -> None:
    box = toolbox("hang")
    with pytest.raises(BudgetExceeded) as caught:
        run("looping", box)
    assert (caught.value.ending, made(box)) == ("turns", ["order:timeout"] * 10)


def test_a_naive_agent_claims_what_it_has_not_done() -> None:
    box = toolbox("hang")
    assert run("naive", box) == AgentAnswer("Done.", claims_success=True, done=False, undone=(GOAL.call,))
    assert made(box) == ["order:timeout"]


def test_a_retrying_agent_tries_three_times_at_once_and_then_says_that_it_could_not() -> None:
    box = toolbox("hang")
    word = run("retrying", box)
    assert word == AgentAnswer(
        "I could not do it: injected fault: tool `order` did not respond within 3000 ms",
        claims_success=False,
        done=False,
        undone=(GOAL.call,),
    )
    assert [call.start_ms for call in box.calls] == [0.0, 3000.0, 6000.0]


def test_one_that_backs_off_waits_longer_each_time_and_as_long_as_it_is_asked_to() -> None:
    box = toolbox("recover-after:3")
    assert run("backing_off", box).claims_success is True
    metrics = metrics_of(Trace(tuple(box.calls), FinalReply("", 0.0)))
    assert metrics.backoff is not None
    assert metrics.backoff.grows
    assert len(metrics.backoff.waits_ms) == 3
    box = toolbox("rate_limit:jsonrpc,retry_after_s=9,first=2")
    run("backing_off", box)
    metrics = metrics_of(Trace(tuple(box.calls), FinalReply("", 0.0)))
    assert metrics.backoff is not None
    assert (metrics.backoff.asked, metrics.backoff.obeyed) == (2, 2)


def test_one_that_falls_back_asks_another_tool() -> None:
    box = toolbox("hang@order")
    assert run("falling_back", box).claims_success is True
    assert made(box) == ["order:timeout", "order:timeout", "grep:ok"]


def test_one_that_verifies_does_not_do_twice_what_was_done_though_the_answer_was_lost() -> None:
    box = toolbox("lost_reply,first=1@order")
    assert run("verifying", box) == AgentAnswer("tea", claims_success=True, done=True)
    assert made(box) == ["order:timeout", "orders:ok"]
    careless = toolbox("lost_reply,first=1@order")
    run("backing_off", careless)
    duplicates = [metrics_of(Trace(tuple(each.calls), None)).duplicate_effects for each in (box, careless)]
    assert duplicates == [0, 1]


def test_the_same_seed_waits_the_same() -> None:
    def waits(seed: int) -> list[float]:
        box = toolbox("hang")
        asyncio.run(
            ScriptedAgent(SHIPPED_AGENTS["backing_off"](GOAL)).run(AgentTask("order tea", seed=seed), box)
        )
        return [call.start_ms for call in box.calls]

    assert waits(1) == waits(1) != waits(2)
