from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.load.item_figures import FigureKind, ItemFigures
from faultkit.load.load import Load, instants
from faultkit.load.response import Failure
from faultkit.load.samples import Sample, Samples
from faultkit.load.slo import Slo, judge, judge_all, parse_slo
from faultkit.load.tally import Tally
from tests.load.rows import row, tally_of

LATENCY = Slo("latency", "fast", 95.0, 200.0)
ERROR = Slo("error", "sound", 95.0, 10.0)
AVAILABLE = Slo("availability", "there", 90.0, None)


def run(*, good: int, bad: int = 0, took_s: float = 0.1) -> Tally:
    return tally_of(
        *(row(took_s=took_s) for _ in range(good)),
        *(row(took_s=took_s, failure=Failure.STATUS) for _ in range(bad)),
    )


@pytest.mark.parametrize(
    ("times_ms", "measured", "passed", "over"),
    [
        ([100.0] * 200, 100.0, True, 0),
        ([100.0] * 199 + [900.0], 100.0, True, 1),
        ([100.0] * 180 + [250.0] * 20, 250.0, False, 20),
        ([200.0] * 200, 200.0, True, 0),
    ],
)
def test_latency_is_the_percentile_of_the_objective_against_the_threshold(
    times_ms: list[float], measured: float, passed: bool, over: int
) -> None:
    result = judge(LATENCY, tally_of(*(row(took_s=ms / 1000) for ms in times_ms)), 1.0)
    assert (result.passed, result.over, result.total, result.warning) == (passed, over, 200, None)
    assert (result.measured, result.margin) == pytest.approx((measured, 200 - measured))


def test_the_margins_of_the_sample_report() -> None:
    # 31 requests of which the 30th and 31st interpolate to 269.28 ms at 95 %.
    times = [100.0] * 16 + [210.0] * 13 + [267.14, 272.49]
    tally = tally_of(*(row(took_s=ms / 1000) for ms in times))
    slow, fast = judge_all((Slo("latency", "", 99, 350), Slo("latency", "", 95, 200)), tally, 10.0)
    assert (slow.passed, slow.over, fast.passed, fast.over) == (True, 0, False, 15)
    assert (slow.margin, fast.margin) == pytest.approx((77.51, -69.28))


@pytest.mark.parametrize("limit", [0, 1000])
def test_a_fast_failure_is_no_fast_answer(limit: int) -> None:
    tally = tally_of(*(row(took_s=0.001, failure=Failure.STATUS) for _ in range(200)), limit=limit)
    result = judge(LATENCY, tally, 1.0)
    assert (result.passed, result.measured, result.margin) == (False, None, None)
    assert (result.over, result.total) == (200, 200)
    assert result.warning == "200 of 200 requests failed: at 95% there is no answer."


@pytest.mark.parametrize(("failed", "passed"), [(8, True), (9, True), (10, False)])
def test_a_few_failures_leave_the_percentile_of_the_others_behind_which_they_stand(
    failed: int, passed: bool
) -> None:
    # Of 199 sorted values, number 190 is the 95th percentile.
    good = [row(took_s=number / 1000) for number in range(1, 200 - failed)]
    bad = [row(took_s=0.001, failure=Failure.RESET)] * failed
    result = judge(LATENCY, tally_of(*good, *bad), 1.0)
    assert (result.passed, result.over, result.total) == (passed, failed, 199)
    if passed:
        assert result.measured == pytest.approx(190)
        assert result.warning == "199 requests are few for an objective of 95%: it wants 200."


def test_the_worst_of_two_windows_without_an_answer_is_that_with_more_failures() -> None:
    rows = [
        row(second, failure=Failure.RESET if second % 5 or second > 4 else Failure.NONE)
        for second in range(10)
    ]
    result = judge(Slo("latency", "", 50, 200, window_s=5.0), tally_of(*rows), 10.0)
    assert (result.passed, result.measured, result.over, result.window_start_s) == (False, None, 5, 5.0)


def dropping(*, sent: int, dropped: int, bad: int = 0) -> Tally:
    tally = run(good=sent - bad, bad=bad)
    tally.dropped = dropped
    return tally


@pytest.mark.parametrize("slo", [LATENCY, Slo("error", "", 95, 5.1), Slo("availability", "", 95, None)])
def test_a_verdict_holds_whatever_would_have_become_of_dropped_arrivals_or_is_none(slo: Slo) -> None:
    assert judge(slo, dropping(sent=1000, dropped=50), 10.0).passed is True
    unsure = judge(slo, dropping(sent=1000, dropped=60), 10.0)
    assert (unsure.passed, unsure.over, unsure.total) == (None, 0, 1000)
    assert unsure.warning == (
        "60 of 1060 arrivals were never sent: what would have become of them decides this."
    )
    assert judge(slo, dropping(sent=1000, dropped=60, bad=200), 10.0).passed is False
    assert judge(slo, dropping(sent=1000, dropped=10_000, bad=200), 10.0).passed is None


def test_gaps_of_streams_that_were_never_sent_are_not_counted_as_arrivals() -> None:
    tally = dropping(sent=10, dropped=5)
    tally.figures = ItemFigures("stream")
    tally.figures.slot_at(0.0).gaps.record_all([0.1] * 200)
    result = judge(Slo("gap", "", 90, 500.0), tally, 10.0)
    assert (result.passed, result.total) == (None, 200)
    assert result.warning == (
        "Some streams were never sent: about 100 of 300 gaps are unknown, and decide this."
    )


@pytest.mark.parametrize("slo", [LATENCY, ERROR, AVAILABLE])
def test_where_all_was_dropped_there_is_no_verdict(slo: Slo) -> None:
    result = judge(slo, dropping(sent=0, dropped=1000), 10.0)
    assert (result.passed, result.measured, result.total) == (None, None, 0)
    assert result.warning == (
        "1000 of 1000 arrivals were never sent: what would have become of them decides this."
    )


@pytest.mark.parametrize("slo", [LATENCY, Slo("error", "", 95, 5.1), Slo("availability", "", 95, None)])
def test_requests_of_a_lost_worker_decide_as_dropped_ones_do(slo: Slo) -> None:
    def losing(lost: int | None, bad: int = 0) -> Tally:
        tally = dropping(sent=1000, dropped=20, bad=bad)
        tally.lost = lost
        return tally

    assert judge(slo, losing(30), 10.0).passed is True
    unsure = judge(slo, losing(40), 10.0)
    assert (unsure.passed, unsure.over, unsure.total) == (None, 0, 1000)
    assert (
        unsure.warning == "60 of 1060 arrivals have no result: what would have become of them decides this."
    )
    assert judge(slo, losing(40, bad=200), 10.0).passed is False
    for bad in (0, 900):
        unknown = judge(slo, losing(None, bad), 10.0)
        assert unknown.passed is None
        assert unknown.warning is not None
        assert "not known how many requests it would have sent" in unknown.warning


def test_without_a_schedule_a_lost_worker_may_have_missed_any_window() -> None:
    tally = tally_of(*(row(number / 10) for number in range(100)))
    tally.lost = 10
    slo = Slo("availability", "", 90, None, window_s=5.0)
    assert judge(slo, tally, 10.0, Load(10.0, 20.0, model="closed")).passed is None
    tally.lost = 5
    assert judge(slo, tally, 10.0, Load(10.0, 20.0, model="closed")).passed is True


@pytest.mark.parametrize("limit", [0, 1000])
@pytest.mark.parametrize("spacing", ["even", "poisson"])
def test_a_window_whose_arrivals_were_all_dropped_is_not_passed_over(
    spacing: Literal["even", "poisson"], limit: int
) -> None:
    load = Load(10.0, 20.0, spacing=spacing)
    planned = list(instants(load))
    sent = [at for at in planned if not 4 <= at < 6]
    tally = tally_of(*(row(at) for at in sent), limit=limit)
    tally.dropped = len(planned) - len(sent)
    slo = Slo("availability", "", 75, None, window_s=2.0)
    result = judge(slo, tally, 10.0, load)
    assert (result.passed, result.window_start_s, result.total) == (None, 4.0, 0)
    assert judge(replace(slo, window_s=None), tally, 10.0, load).passed is True


def test_without_a_schedule_dropped_arrivals_are_taken_as_evenly_spread() -> None:
    tally = tally_of(*(row(number / 10) for number in range(100)))
    tally.dropped = 20
    slo = Slo("availability", "", 90, None, window_s=5.0)
    result = judge(slo, tally, 10.0, Load(10.0, 20.0, model="closed"))
    assert (result.passed, result.total) == (None, 50)
    assert result.warning == "10 of 60 arrivals were never sent: what would have become of them decides this."


@given(
    st.lists(st.floats(0.001, 10), min_size=1, max_size=100),
    st.floats(1, 99),
    st.floats(1, 10_000),
)
def test_the_margin_is_that_of_numpy(times: list[float], objective: float, threshold: float) -> None:
    result = judge(Slo("latency", "", objective, threshold), tally_of(*(row(took_s=t) for t in times)), 1.0)
    expected = threshold - 1000 * float(np.percentile(times, objective, method="weibull"))
    assert result.margin == pytest.approx(expected, rel=1e-6, abs=1e-3)
    assert result.margin is not None
    assert result.passed is (result.margin >= 0)


@pytest.mark.parametrize(
    ("objective", "threshold", "bad", "passed", "margin"),
    [
        (90.0, 5.0, 4, True, 1.0),
        (90.0, 5.0, 5, False, 0.0),
        (97.0, 5.0, 4, False, -1.0),
        (97.0, 5.0, 3, True, 0.0),
        (97.0, 5.0, 0, True, 3.0),
    ],
)
def test_errors_are_judged_by_the_threshold_and_the_objective(
    objective: float, threshold: float, bad: int, passed: bool, margin: float
) -> None:
    result = judge(Slo("error", "", objective, threshold), run(good=100 - bad, bad=bad), 1.0)
    assert (result.passed, result.measured, result.margin) == (passed, float(bad), margin)
    assert (result.over, result.total) == (bad, 100)


@pytest.mark.parametrize(("bad", "passed", "margin"), [(5, True, 5.0), (10, True, 0.0), (11, False, -1.0)])
def test_availability_is_the_share_of_answers(bad: int, passed: bool, margin: float) -> None:
    result = judge(AVAILABLE, run(good=100 - bad, bad=bad), 1.0)
    assert (result.passed, result.margin, result.over) == (passed, margin, bad)
    assert result.measured == 100 - bad


def test_an_answer_after_the_threshold_is_not_available() -> None:
    rows = [row(took_s=0.1)] * 8 + [row(took_s=0.6)] + [row(took_s=0.1, failure=Failure.RESET)]
    result = judge(Slo("availability", "", 75.0, 500.0), tally_of(*rows), 1.0)
    assert (result.measured, result.margin, result.over, result.passed) == (80.0, 5.0, 2, True)


@pytest.mark.parametrize("limit", [0, 1000])
def test_with_a_window_the_worst_is_reported(limit: int) -> None:
    rows = [row(second / 10, 0.5 if 60 <= second < 75 else 0.1) for second in range(120)]
    whole, window = judge_all(
        (Slo("latency", "", 80, 200), Slo("latency", "", 80, 200, window_s=5.0)),
        tally_of(*rows, limit=limit),
        12.0,
    )
    assert (whole.passed, whole.over, whole.total, whole.window_start_s) == (True, 15, 120, None)
    # Twelve seconds are two windows of five, and the rest joins the second.
    assert (window.passed, window.over, window.total, window.window_start_s) == (False, 15, 70, 5.0)


def test_windows_without_requests_are_left_out() -> None:
    result = judge(Slo("availability", "", 50, None, 1.0), tally_of(row(5.0), row(5.5)), 10.0)
    assert (result.passed, result.measured, result.total) == (True, 100.0, 2)


def test_a_folded_run_says_that_its_windows_were_widened() -> None:
    result = judge(
        Slo("availability", "", 50, None, 0.25), tally_of(*(row(n / 10) for n in range(20)), limit=0), 2.0
    )
    assert (result.total, result.window_start_s) == (10, 0.0)
    assert result.warning == "Windows are 1s long: there were too many requests to keep each."


@pytest.mark.parametrize("slo", [LATENCY, ERROR, AVAILABLE, Slo("latency", "", 95, 200, 5.0)])
def test_nothing_is_not_judged(slo: Slo) -> None:
    result = judge(slo, Tally(), 10.0)
    assert (result.passed, result.measured, result.margin, result.over, result.total) == (
        None,
        None,
        None,
        0,
        0,
    )
    assert result.warning == "There were no requests to judge."


@pytest.mark.parametrize(
    ("slo", "requests", "needed"),
    [
        (Slo("latency", "", 99, 200), 999, 1000),
        (Slo("latency", "", 95, 200), 199, 200),
        (Slo("latency", "", 99.9, 200), 9999, 10_000),
        (Slo("error", "", 99, 1), 99, 100),
        (Slo("availability", "", 99.9, None), 999, 1000),
    ],
)
def test_too_few_requests_for_the_objective_are_a_warning(slo: Slo, requests: int, needed: int) -> None:
    text = f"{requests} requests are few for an objective of {slo.objective:g}%: it wants {needed}."
    assert judge(slo, run(good=requests), 1.0).warning == text
    assert judge(slo, run(good=needed), 1.0).warning is None


@given(st.lists(st.sampled_from((Failure.NONE, Failure.RESET)), min_size=1, max_size=60), st.floats(0.5, 20))
def test_the_worst_window_is_no_better_than_the_whole_run(failures: list[Failure], window_s: float) -> None:
    rows: list[Sample] = [row(float(number), failure=each) for number, each in enumerate(failures)]
    for slo in (ERROR, AVAILABLE):
        whole = judge(slo, tally_of(*rows), len(rows))
        worst = judge(replace(slo, window_s=window_s), tally_of(*rows), len(rows))
        assert whole.margin is not None
        assert worst.margin is not None
        assert worst.margin <= whole.margin


@pytest.mark.parametrize(
    ("text", "slo"),
    [
        ("latency:95:200ms", Slo("latency", "95% @ 200ms", 95, 200)),
        ("latency:99.9:1.5s", Slo("latency", "99.9% @ 1500ms", 99.9, 1500)),
        ("latency:95:200ms@5s", Slo("latency", "95% @ 200ms in every 5s", 95, 200, 5)),
        ("error:99:1%", Slo("error", "99% without error (< 1%)", 99, 1)),
        (" error : 99% : 0.5 ", Slo("error", "99% without error (< 0.5%)", 99, 0.5)),
        ("availability:99.9", Slo("availability", "99.9% available", 99.9, None)),
        ("availability:99.9:500ms", Slo("availability", "99.9% available within 500ms", 99.9, 500)),
        ("availability:99@500ms", Slo("availability", "99% available in every 500ms", 99, None, 0.5)),
    ],
)
def test_a_flag_is_read(text: str, slo: Slo) -> None:
    assert parse_slo(text) == slo


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", 'kind: expected latency:OBJECTIVE:TIME, .*, got ""'),
        ("speed:95:200ms", 'kind: expected latency:OBJECTIVE:TIME, .*, got "speed:95:200ms"'),
        ("latency:95:200ms:x", "slo: expected latency:OBJECTIVE:TIME"),
        ("latency", 'objective: expected a percentage such as 95 or 99.9%, got ""'),
        ("latency:often:200ms", 'objective: expected a percentage such as 95 or 99.9%, got "often"'),
        ("latency:nan:200ms", "objective: expected more than 0 and less than 100 percent, got nan"),
        ("latency:100:200ms", "objective: expected more than 0 and less than 100 percent, got 100"),
        ("latency:0:200ms", "objective: expected more than 0 and less than 100 percent, got 0"),
        ("latency:95", "threshold: expected a number of ms for latency, got nothing"),
        ("latency:95:200", 'threshold: expected a duration with its unit, such as 200ms or 5s, got "200"'),
        ("latency:95:2parsecs", 'threshold: expected a duration with its unit, .*, got "2parsecs"'),
        ("latency:95:0ms", "threshold: expected more than 0, got 0"),
        ("error:99", "threshold: expected a number of percent for error, got nothing"),
        ("error:99:101%", "threshold: expected at most 100 percent, got 101"),
        ("error:99:inf", "threshold: expected more than 0, got inf"),
        ("error:99:-1%", "threshold: expected more than 0, got -1"),
        ("latency:95:200ms@", 'window: expected a duration with its unit, .*, got ""'),
        ("latency:95:200ms@0s", "window_s: expected more than 0 seconds, got 0"),
    ],
)
def test_a_bad_flag_is_told_which_field_is_wrong(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=f"^{problem}"):
        parse_slo(text)


# --- objectives of event streams and MCP tools -----------------------------------------------


def figures_tally(figures: ItemFigures, requests: int, dropped: int = 0) -> Tally:
    tally = Tally(dropped=dropped)
    rows = [Sample(number / 10, number / 10, 0.05) for number in range(requests)]
    tally.add(replace(Samples.of(rows), figures=figures))
    return tally


def streams() -> ItemFigures:
    """Ten streams: nine have their first event after 100 ms, one has none; gaps of 10 to 200 ms."""
    figures = ItemFigures("stream")
    slot = figures.slot_at(0.0)
    slot.begun = 10
    slot.failures.update([Failure.NONE] * 8 + [Failure.EARLY_END, Failure.TIMEOUT])
    slot.early_ends = 1
    slot.first_event.record_all([0.1] * 9)
    slot.no_event.record_all([0.001])
    slot.gaps.record_all([0.01] * 99)
    figures.slot_at(3.0).gaps.record_all([0.2])
    return figures


@pytest.mark.parametrize(
    ("text", "passed", "measured", "over", "total"),
    [
        ("first_event:80:150ms", True, 100.0, 1, 10),
        ("first_event:80:50ms", False, 100.0, 10, 10),
        ("first_event:95:150ms", False, None, 1, 10),
        ("gap:90:50ms", True, 10.0, 1, 100),
        ("gap:99.9:50ms", False, 200.0, 1, 100),
        ("gap:90:50ms@1s", False, 200.0, 1, 1),
        ("early_end:90:20%", True, 10.0, 1, 10),
        ("early_end:99:20%", False, 10.0, 1, 10),
        ("error:50:10%", True, 0.0, 0, 10),
    ],
)
def test_objectives_of_streams(
    text: str, passed: bool, measured: float | None, over: int, total: int
) -> None:
    result = judge(parse_slo(text), figures_tally(streams(), 10), 4.0)
    assert (result.passed, result.over, result.total) == (passed, over, total)
    assert result.measured == (None if measured is None else pytest.approx(measured, rel=1e-3))


def test_the_worst_window_of_the_gaps_is_named() -> None:
    result = judge(parse_slo("gap:90:50ms@1s"), figures_tally(streams(), 10), 4.0)
    assert result.window_start_s == 3.0
    assert result.warning is not None
    assert "1 gap is few" in result.warning


def test_windows_of_events_are_whole_seconds() -> None:
    result = judge(parse_slo("gap:90:500ms@700ms"), figures_tally(streams(), 10), 4.0)
    assert result.passed is True
    assert result.warning is not None
    assert "Windows are 1s long: events are counted so." in result.warning


def test_dropped_streams_count_for_the_gaps_that_they_would_have_had() -> None:
    sure = judge(parse_slo("gap:50:50ms"), figures_tally(streams(), 10, dropped=1), 4.0)
    unsure = judge(parse_slo("gap:50:50ms"), figures_tally(streams(), 10, dropped=11), 4.0)
    assert (sure.passed, unsure.passed) == (True, None)


@pytest.mark.parametrize(
    ("kind", "text", "failure", "judged"),
    [
        ("stream", "early_end:99:1%", Failure.NO_STREAM, "streams"),
        ("mcp", "tool_error:99:1%", Failure.STATUS, "calls that the tool answered"),
    ],
)
def test_without_a_stream_or_an_answer_of_the_tool_there_is_nothing_to_judge(
    kind: FigureKind, text: str, failure: Failure, judged: str
) -> None:
    figures = ItemFigures(kind)
    figures.slot_at(0.0).failures[failure] = 20
    result = judge(parse_slo(text), figures_tally(figures, 20), 4.0)
    assert (result.passed, result.warning) == (None, f"There were no {judged} to judge.")


def test_tool_errors_are_judged_apart_from_other_errors() -> None:
    figures = ItemFigures("mcp")
    failures = [Failure.NONE] * 96 + [Failure.TOOL_ERROR] * 4 + [Failure.RPC_ERROR] * 6
    figures.slot_at(0.0).failures.update(failures)
    result = judge(parse_slo("tool_error:95:5%"), figures_tally(figures, 106), 4.0)
    assert (result.passed, result.measured, result.over, result.total) == (True, 4.0, 4, 100)
    assert judge(parse_slo("tool_error:95:4%"), figures_tally(figures, 100), 4.0).passed is False


def test_without_figures_there_is_nothing_to_judge() -> None:
    tally = Tally()
    tally.add(Samples.of([Sample(0.0, 0.0, 0.05)]))
    assert judge(parse_slo("gap:95:50ms"), tally, 4.0).passed is None


def answers() -> ItemFigures:
    """Ten requests to a model: one was refused, one ended early; 20 or 50 tokens a second."""
    figures = ItemFigures("llm")
    slot = figures.slot_at(0.0)
    slot.failures.update([Failure.NONE] * 8 + [Failure.EARLY_END, Failure.CLIENT_STATUS])
    slot.begun, slot.early_ends, slot.refusals = 9, 1, 1
    slot.first_event.record_all([0.1] * 9)
    slot.no_event.record_all([0.001])
    slot.gaps.record_all([0.02] * 98 + [0.2] * 2)
    slot.token_time.record_all([0.02] * 8 + [0.05])
    return figures


@pytest.mark.parametrize(
    ("text", "passed", "measured", "over", "total"),
    [
        ("time_to_first_token:80:150ms", True, 100.0, 1, 10),
        ("time_to_first_token:95:150ms", False, None, 1, 10),
        ("token_gap:90:50ms", True, 20.0, 2, 100),
        ("token_gap:99:50ms", False, 200.0, 2, 100),
        ("tokens_per_second:80:40", True, 88.889, 1, 9),
        ("tokens_per_second:95:40", False, 88.889, 1, 9),
        ("tokens_per_second:95:10", True, 100.0, 0, 9),
        ("early_end:80:20%", True, 11.111, 1, 9),
        ("refusal:90:20%", True, 10.0, 1, 10),
        ("refusal:95:20%", False, 10.0, 1, 10),
    ],
)
def test_objectives_of_answers_of_models(
    text: str, passed: bool, measured: float | None, over: int, total: int
) -> None:
    result = judge(parse_slo(text), figures_tally(answers(), 10), 4.0)
    assert (result.passed, result.over, result.total) == (passed, over, total)
    assert result.measured == (None if measured is None else pytest.approx(measured, rel=1e-3))


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("time_to_first_token:95:2s", "95% first token @ 2000ms"),
        ("token_gap:99:500ms", "99% of token gaps @ 500ms"),
        ("tokens_per_second:95:30", "95% at 30 tokens/s"),
        ("refusal:99:1%", "99% without refusal (< 1%)"),
        ("first_event:95:300ms", "95% first event @ 300ms"),
        ("gap:99:1s@5s", "99% of gaps @ 1000ms in every 5s"),
        ("early_end:99:1%", "99% without early end (< 1%)"),
        ("tool_error:99:1%", "99% without tool error (< 1%)"),
    ],
)
def test_flags_of_streams_and_tools(text: str, title: str) -> None:
    assert parse_slo(text).title == title
