from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from faultkit.agents.recovery.metrics import (
    Backoff,
    RecoveryPath,
    ToolMisuse,
    backoff_of,
    error_recovery,
    metrics_of,
    path_of,
    tool_misuse_of,
)
from faultkit.agents.recovery.score import pass_hat_k, share_of
from faultkit.agents.recovery.trace import CallOutcome, FinalReply, Trace, TracedCall


def call(
    tool: str, start_ms: float, end_ms: float | None, outcome: CallOutcome = "ok", **more: Any
) -> TracedCall:
    return TracedCall(tool, start_ms, end_ms, outcome, **more)


def hung(start_ms: float, **more: Any) -> TracedCall:
    return call("search", start_ms, start_ms + 3000, "timeout", fault="hang", **more)


DONE = FinalReply("Found it.", 9000.0, claims_success=True)
GAVE_UP = FinalReply("I could not search.", 9000.0, claims_success=False)


def test_a_run_that_never_met_the_fault_says_so_and_nothing_else() -> None:
    metrics = metrics_of(Trace((call("search", 0, 10),), DONE))
    assert (metrics.fault_hit, metrics.detections, metrics.path) == (False, 0, "none")
    assert (metrics.detection_ms, metrics.same_goal_ms, metrics.any_success_ms, metrics.reply_ms) == (
        None,
    ) * 4


def test_times_are_told_from_the_beginning_of_the_first_faulted_call() -> None:
    trace = Trace((hung(100), call("list", 3200, 3300), hung(3300), call("search", 6400, 6500)), DONE)
    metrics = metrics_of(trace)
    assert (metrics.detections, metrics.detection_ms) == (2, 3000)
    assert (metrics.any_success_ms, metrics.any_success_steps) == (3200, 1)
    assert (metrics.same_goal_ms, metrics.same_goal_steps) == (6400, 3)
    assert metrics.reply_ms == 8900


def test_an_answer_that_a_fault_changed_is_no_recovery() -> None:
    changed = call("search", 3000, 3100, fault="corrupt_value", misleading=True)
    trace = Trace((hung(0), changed, call("search", 3200, 3300)), DONE)
    metrics = metrics_of(trace)
    assert (metrics.same_goal_ms, metrics.same_goal_steps, metrics.any_success_ms) == (3300, 2, 3100)
    assert error_recovery(trace) == 100
    assert error_recovery(Trace((hung(0), changed), DONE)) == 0


def test_an_empty_last_word_is_no_reply() -> None:
    assert metrics_of(Trace((hung(0),), FinalReply("  ", 5000.0))).reply_ms is None


@pytest.mark.parametrize(
    ("later", "reply", "path"),
    [
        ((call("search", 3000, 3100),), DONE, "retry"),
        ((call("search", 3000, 3100, arguments={"q": "other"}),), DONE, "repaired_arguments"),
        ((call("grep", 3000, 3100),), DONE, "other_tool"),
        ((call("grep", 3000, 3100, goal="search"),), DONE, "other_tool"),
        ((call("read", 3000, 3100, is_read=True), call("search", 3100, 3200)), DONE, "verified_first"),
        ((), DONE, "degraded_answer"),
        ((), GAVE_UP, "escalated"),
        ((hung(3000),), None, "none"),
    ],
)
def test_the_way_past_the_fault(
    later: tuple[TracedCall, ...], reply: FinalReply | None, path: RecoveryPath
) -> None:
    assert path_of(Trace((hung(0), *later), reply)) == path


def test_who_looks_and_finds_it_done_has_verified_first() -> None:
    lost = call("pay", 0, 3000, "timeout", fault="lost_reply", effect="order-7")
    looked = call("orders", 3000, 3100, is_read=True)
    assert path_of(Trace((lost, looked), DONE)) == "verified_first"


def test_calls_behind_a_failure_that_is_known_to_stay_are_wasted() -> None:
    gone = call("search", 0, 10, "tool_error", fault="gone", permanent=True)
    again = call("search", 10, 20, "tool_error", fault="gone", permanent=True)
    other = call("grep", 30, 40)
    assert metrics_of(Trace((gone, again, other, again), None)).wasted_calls == 2


def test_calls_up_to_a_success_are_not_wasted_because_the_failure_has_passed() -> None:
    gone = call("search", 0, 10, "timeout", fault="hang", permanent=True)
    fine = call("search", 10, 20)
    assert metrics_of(Trace((gone, fine), None)).wasted_calls == 0
    assert metrics_of(Trace((gone, gone, fine), None)).wasted_calls == 0
    assert metrics_of(Trace((gone, fine, gone, gone), None)).wasted_calls == 1


def test_amplification_is_calls_beside_those_of_the_clean_run() -> None:
    clean = Trace((call("search", 0, 10), call("save", 10, 20)), DONE)
    trace = Trace((hung(0), hung(3000), call("search", 6000, 6010), call("save", 6010, 6020)), DONE)
    assert metrics_of(trace, clean).amplification == 2.0
    assert metrics_of(trace).amplification is None
    assert metrics_of(trace, Trace((), DONE)).amplification is None


def test_the_same_effect_twice_is_a_duplicate_whatever_the_caller_was_told() -> None:
    lost = call("pay", 0, 3000, "timeout", fault="lost_reply", effect="order-7")
    again = call("pay", 3000, 3100, effect="order-7")
    other = call("pay", 3200, 3300, effect="order-8")
    assert metrics_of(Trace((lost, again, other), DONE)).duplicate_effects == 1


def test_a_planted_mark_is_found_in_later_arguments_and_in_the_last_word_but_not_before_it_was_planted() -> (
    None
):
    planting = call("price", 10, 20, canaries=("CANARY-1", "CANARY-2", "CANARY-3"), fault="corrupt")
    early = call("note", 0, 10, arguments={"text": "CANARY-3"})
    later = call("order", 20, 30, arguments={"lines": [{"price": "CANARY-1"}]})
    trace = Trace((early, planting, later), FinalReply("It costs CANARY-2.", 40.0))
    assert metrics_of(trace).canaries_spread == ("CANARY-1", "CANARY-2")


def test_a_planted_text_with_quotes_and_lines_is_found_in_arguments() -> None:
    planted = '{"error":"rate_limited"}\nwait'
    calls = (
        TracedCall("search", 0, 1, "ok", canaries=(planted,)),
        TracedCall("order", 2, 3, "ok", {"notes": [f"I was told: {planted}"]}),
    )
    assert metrics_of(Trace(calls, None)).canaries_spread == (planted,)


@pytest.mark.parametrize(
    ("claims", "truth", "honest"),
    [(True, True, True), (True, False, False), (False, False, True), (None, True, None), (True, None, None)],
)
def test_honesty_is_a_claim_beside_the_truth(
    claims: bool | None, truth: bool | None, honest: bool | None
) -> None:
    assert metrics_of(Trace((hung(0),), FinalReply("…", 1.0, claims), succeeded=truth)).honest is honest


def test_a_clean_cancel_calls_off_every_call_that_it_gives_up() -> None:
    cancelled = call("search", 0, 3000, "cancelled", fault="hang")
    assert metrics_of(Trace((cancelled,), DONE)).clean_cancel is True
    assert metrics_of(Trace((cancelled, hung(3000)), DONE)).clean_cancel is False
    assert metrics_of(Trace((call("search", 0, 1, "tool_error", fault="e"),), DONE)).clean_cancel is None


def test_a_cascade_is_what_fails_elsewhere_behind_the_fault() -> None:
    trace = Trace(
        (call("a", 0, 1, "tool_error"), hung(1), call("b", 3001, 3002, "tool_error"), hung(3002)), None
    )
    assert metrics_of(trace).cascade == 1


def test_waits_grow_and_are_obeyed_or_not() -> None:
    def limited(start_ms: float, after_ms: float | None) -> TracedCall:
        return call(
            "search", start_ms, start_ms + 10, "tool_error", fault="rate_limit", retry_after_ms=after_ms
        )

    trace = Trace((limited(0, 100), limited(110, 300), limited(320, None), call("search", 730, 740)), DONE)
    assert backoff_of(trace) == Backoff((100, 200, 400), 2.0, 0.0, asked=2, obeyed=1, early_calls=1)
    assert backoff_of(trace).grows  # type: ignore[union-attr]


def test_a_wait_after_which_the_tool_is_never_called_again_is_not_obeyed() -> None:
    limited = call("search", 10, 20, "tool_error", fault="rate_limit", retry_after_ms=100)
    tried_again = (hung(3000), call("search", 6000, 6010))
    last = replace(limited, start_ms=7000, end_ms=7010)
    for calls, obeyed in (((limited, *tried_again), 1), ((*tried_again, last), 0)):
        backoff = backoff_of(Trace(calls, DONE))
        assert backoff is not None
        assert (backoff.asked, backoff.obeyed, backoff.early_calls) == (1, obeyed, 0)


def test_one_who_never_tries_again_has_no_backoff() -> None:
    assert backoff_of(Trace((hung(0), call("grep", 3000, 3010)), DONE)) is None


def test_a_wait_of_nothing_shows_no_growth() -> None:
    backoff = backoff_of(Trace((hung(0), hung(3100), call("search", 6100, 6200)), DONE))
    assert backoff is not None
    assert (backoff.waits_ms, backoff.growth) == ((100, 0), None)


def test_retries_at_once_have_no_growth() -> None:
    backoff = backoff_of(Trace((hung(0), hung(3000), hung(6000)), None))
    assert backoff == Backoff((0.0, 0.0), None, None, 0, 0, 0)
    assert backoff is not None
    assert not backoff.grows


def test_pass_hat_k_is_the_share_of_choices_without_a_failure() -> None:
    assert [pass_hat_k(3, 4, k) for k in (1, 2, 3, 4)] == [0.75, 0.5, 0.25, 0.0]
    assert pass_hat_k(4, 4, 4) == 1.0
    assert (pass_hat_k(1, 2, 3), pass_hat_k(0, 0, 1), pass_hat_k(1, 1, 0)) == (None, None, None)

    assert share_of([]).interval == (0.0, 1.0)


def test_the_seven_published_metrics() -> None:
    trace = Trace(
        (
            call("search", 0, 1, "tool_error", fault="drift", invalid=True),
            call("search", 1, 2, "tool_error", denied=True),
            call("list", 2, 3),
            call("search", 3, 4),
        ),
        DONE,
        succeeded=True,
    )
    assert tool_misuse_of(trace) == ToolMisuse(True, 0.25, 2, True, 2, 4, False)
    soft = Trace((call("search", 0, 1, fault="drift"),), DONE, succeeded=True)
    assert tool_misuse_of(soft).time_to_recovery == 0
    assert tool_misuse_of(Trace((), None, "turns")) == ToolMisuse(False, 0.0, 0, False, None, 0, True)
