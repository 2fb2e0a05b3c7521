"""Flaky: draws that equal those of the public test server to the bit."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from faultkit.base.rng import Rng
from faultkit.faults.call.flaky import Flaky
from faultkit.faults.call_fault import Send
from tests.faults.call.judged import CALL, error, frames, given, judged, result

GOLDEN = json.loads((Path(__file__).parents[2] / "golden/flaky.json").read_text("utf-8"))["golden"]


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: f"{case['seed']}|{case['call_id']}")
def test_rolls_are_those_of_the_golden_file(case: dict[str, Any]) -> None:
    fault = Flaky(fail_rate=case["fail_rate"], seed=case["seed"])
    call = replace(CALL, nth=case["call_id"])
    verdict = fault.judge(call, given())
    assert fault.roll(call, Rng.keyed("unused")) == case["roll"]
    assert verdict.idle is not case["failed"]
    if case["failed"]:
        data = {"failed": True, "roll": case["roll"], "fail_rate": case["fail_rate"]}
        assert verdict.amount == case["roll"]
        assert frames(fault, call=call) == (Send(error(-32603, case["message"], data=data)),)


def test_a_failure_may_be_the_tools_own() -> None:
    (frame,) = frames(Flaky(fail_rate=1, seed="abc", form="tool_error"))
    text = "flaky failure (roll=0.7573 < rate=1.0000)"
    assert frame == Send(result({"content": [{"type": "text", "text": text}], "isError": True}))


def test_without_a_seed_the_roll_is_drawn_from_that_of_the_plan() -> None:
    roll = given("plan").rng.uniform()
    assert judged(Flaky(fail_rate=1), seed="plan").amount == roll


def test_a_rate_of_nothing_never_fails() -> None:
    assert all(judged(Flaky(fail_rate=0), seed=seed).idle for seed in range(50))
