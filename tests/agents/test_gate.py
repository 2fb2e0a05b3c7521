from __future__ import annotations

import pytest

from faultkit.agents.recovery.score import RecoveryReport
from faultkit.agents.recovery.trace import FinalReply, RunEnding, Trace, TracedCall
from faultkit.agents.suite.gate import GateResult, RecoveryGate, gate_recovery

GATE = RecoveryGate(3000, 5000, True)


def trace(
    *ends: tuple[float, float], reply: str = "Found it.", at_ms: float, ending: RunEnding = "reply"
) -> Trace:
    calls = tuple(TracedCall("search", start, end, "timeout", fault="hung-search") for start, end in ends)
    return Trace(calls, FinalReply(reply, at_ms) if ending == "reply" else None, ending)


def test_one_detection_and_a_reply_is_a_recovery() -> None:
    assert gate_recovery(GATE, trace((0, 3000), at_ms=3000)) == GateResult(
        "passed",
        "recovered in 3000 ms (virtual) after 1 detection(s); detection budget 3000 ms",
        RecoveryReport(True, True, True, 3000, 3000),
        1,
    )


@pytest.mark.parametrize(("limit", "verdict"), [(5999, "failed"), (6000, "passed"), (None, "passed")])
def test_the_limit_is_inclusive_and_named_when_it_is_broken(limit: int | None, verdict: str) -> None:
    result = gate_recovery(RecoveryGate(3000, limit), trace((0, 3000), (3000, 6000), at_ms=6000))
    assert (result.verdict, result.detections) == (verdict, 2)
    if verdict == "failed":
        assert result.limit == "max_recovery_ms"
        assert result.message == (
            "max_recovery_ms is 5999: recovered in 6000 ms (virtual) after 2 detection(s); "
            "detection budget 3000 ms"
        )


def test_time_is_told_from_the_first_faulted_call() -> None:
    result = gate_recovery(GATE, trace((1000, 4000), at_ms=4200))
    assert result.report == RecoveryReport(True, True, True, 3000, 3200)


def test_a_failure_is_noticed_no_later_than_the_reply() -> None:
    result = gate_recovery(GATE, trace((1266.2, 2266.4), at_ms=2262.8), "real")
    assert (result.verdict, result.report) == ("passed", RecoveryReport(True, True, True, 997, 997))


@pytest.mark.parametrize("reply", ["", " \n"])
def test_an_empty_last_word_is_no_recovery(reply: str) -> None:
    result = gate_recovery(GATE, trace((0, 3000), reply=reply, at_ms=3000))
    assert (result.verdict, result.limit) == ("failed", "recovered")
    assert result.message == (
        "did not recover: the run hit the injected fault 1 time(s) and never returned a clean final reply "
        "within 3000 detection-budget ms"
    )


def test_a_run_that_used_up_its_turns_did_not_recover_and_says_why() -> None:
    result = gate_recovery(GATE, trace((0, 3000), (3000, 6000), at_ms=0, ending="turns"))
    assert (result.verdict, result.limit) == ("failed", "recovered")
    assert result.message.endswith("(the budget of turns was used up)")


def test_what_was_noticed_too_late_fails_only_where_a_clean_timeout_is_wanted() -> None:
    late = trace((0, 3001), at_ms=3100)
    result = gate_recovery(GATE, late, "real")
    assert (result.verdict, result.limit) == ("failed", "require_clean_timeout")
    assert result.message.startswith(
        "require_clean_timeout: noticed after 3001 ms; recovered in 3100 ms (real)"
    )
    assert gate_recovery(RecoveryGate(3000, 5000), late, "real").verdict == "passed"


def test_a_fault_that_was_never_met_is_not_a_pass_unless_that_is_allowed() -> None:
    clean = Trace((TracedCall("search", 0, 1, "ok"),), FinalReply("Found it.", 1.0))
    result = gate_recovery(GATE, clean)
    assert (result.verdict, result.message) == (
        "not_exercised",
        "not exercised: no call met an injected fault",
    )
    assert gate_recovery(GATE, clean, allow_unhit=True).verdict == "passed"


def test_a_fault_that_only_slowed_the_call_was_exercised_though_nothing_failed() -> None:
    slowed = Trace((TracedCall("search", 0, 1000, "ok", fault="slow"),), FinalReply("Found it.", 1000.0))
    result = gate_recovery(GATE, slowed)
    assert (result.verdict, result.detections, result.report.time_to_recovery_ms) == ("passed", 0, 1000)
