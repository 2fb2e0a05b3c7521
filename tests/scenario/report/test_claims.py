"""Claims that a review must not make: from chance, noise, failures of Faultkit, and earlier problems."""

from __future__ import annotations

from dataclasses import replace

import pytest

from faultkit.base.rng import Rng
from faultkit.faults.stream.bandwidth import Bandwidth
from faultkit.faults.stream.corrupt import Corrupt
from faultkit.faults.stream.latency import Latency
from faultkit.faults.stream.packet_loss import PacketLoss
from faultkit.load.response import Failure
from faultkit.plan import Rule, Trigger, dump_rule
from faultkit.scenario.report.report_model import ItemReport
from faultkit.scenario.report.review import review_report
from faultkit.scenario.report.review_model import Remark
from tests.scenario.report.examples import NOT_EXERCISED, REPEAT
from tests.scenario.report.measured import (
    DARK,
    ERRORS,
    SLOW,
    TIMEOUT_MS,
    added,
    failing,
    fault,
    healthy,
    load_item,
    report_of,
)

DELAYS = {"delay-passed-on", "delay-hidden", "delay-multiplied"}


def found(item: ItemReport) -> dict[str, Remark]:
    return {finding.rule: finding.remark for finding in review_report(report_of(item)).findings}


# Faults that never acted


def test_of_several_faults_the_one_that_never_acted_is_named_and_so_are_the_others() -> None:
    item = replace(
        NOT_EXERCISED.items[0],
        faults=(fault(DARK, 0), fault(SLOW, 31), fault(ERRORS, 1)),
        injection=replace(NOT_EXERCISED.items[0].injection, connections=300),
    )
    result = found(item)["not-exercised"]
    assert result.what == "blackhole never acted, so this is not a pass."
    assert result.much == (
        "300 connections went through the proxy. What did act: latency 31 times, http_error 1 time."
    )


def test_several_that_never_acted_are_all_named() -> None:
    item = replace(NOT_EXERCISED.items[0], faults=(fault(DARK, 0), fault(ERRORS, 0), fault(SLOW, 3)))
    assert found(item)["not-exercised"].what == "blackhole and http_error never acted, so this is not a pass."


# Delays


def test_timeouts_are_not_taken_for_a_delay_that_is_paid() -> None:
    slow = Rule("latency", Latency(mean_ms=TIMEOUT_MS))
    item = load_item(failing(0.9, 0, 20, Failure.TIMEOUT, TIMEOUT_MS), fault(slow, 1000))
    assert DELAYS & set(found(item)) == set()


def test_a_baseline_that_fails_is_no_measure_of_a_delay() -> None:
    before = failing(0.2, 0, 20, Failure.STATUS)
    assert DELAYS & set(found(load_item(added(120), fault(SLOW, 1000), before=before))) == set()


@pytest.mark.parametrize("requests", [10, 29])
def test_few_requests_show_nothing_about_a_delay(requests: int) -> None:
    item = load_item(added(120), fault(SLOW, requests), duration_s=1, rps=requests)
    assert item.run.requests == requests
    assert DELAYS & set(found(item)) == set()


def noisy(delay_ms: float, spread_ms: float) -> ItemReport:
    def serve(_: float, rng: Rng) -> tuple[float, Failure]:
        return max(rng.normal(10 + delay_ms, spread_ms), 0.1), Failure.NONE

    return load_item(serve, fault(SLOW, 40), duration_s=1, rps=40)


def test_a_part_of_a_delay_is_not_claimed_from_noise() -> None:
    assert DELAYS & set(found(noisy(85, 120))) == set()
    assert "delay-hidden" in found(noisy(60, 2))


def test_a_delay_for_a_part_of_the_run_needs_slices_that_agree() -> None:
    def serve(at: float, rng: Rng) -> tuple[float, Failure]:
        ms, _ = healthy(at, rng)
        return ms + (240 if 5 <= at < 6 else 20 if 6 <= at < 7 else 120 if 7 <= at < 8 else 0), Failure.NONE

    unsteady = load_item(serve, fault(SLOW, 150, ((0.25, 0.4),)))
    assert DELAYS & set(found(unsteady)) == set()
    steady = load_item(added(120, 5, 8), fault(SLOW, 150, ((0.25, 0.4),)))
    assert "delay-passed-on" in found(steady)


def test_steps_that_scatter_have_no_slope() -> None:
    item = REPEAT.items[0]
    scattered = (0.0, 110.0, 110.0, 700.0, 100.0, 600.0)
    odd = replace(
        item, calls=tuple(replace(c, total_ms=ms) for c, ms in zip(item.calls, scattered, strict=True))
    )
    assert DELAYS & set(found(odd)) == set()
    assert "delay-passed-on" in found(item)


def test_what_grew_over_steps_is_not_called_a_median() -> None:
    assert "median" not in found(REPEAT.items[0])["delay-passed-on"].much


# Breaking points


def repeat(rule: Rule, stepped: str, met: str) -> ItemReport:
    """`met`: a letter for each call, `+` or `-`."""
    item = REPEAT.items[0]
    call = item.calls[1]
    return replace(
        item,
        faults=(replace(item.faults[0], kind=rule.fault.kind, rule=dump_rule(rule)),),
        strategy=replace(item.strategy, stepped=stepped, count=len(met)),
        calls=tuple(
            replace(call, number=n, stepped_value=n / 4, met=sign == "+", why=None if sign == "+" else "no")
            for n, sign in enumerate(met, 1)
        ),
        expectation_failures=met.count("-"),
    )


@pytest.mark.parametrize(
    ("rule", "stepped"),
    [
        (replace(ERRORS, trigger=Trigger(probability=0.25)), "httperror.probability"),
        (Rule("loss", PacketLoss(rate=0.1)), "packetloss.rate"),
        (Rule("corrupt", Corrupt(rate=0.1)), "corrupt.rate"),
        (Rule("latency", Latency(mean_ms=1), trigger=Trigger(probability=0.5)), "latency.mean_ms"),
    ],
)
def test_luck_has_no_breaking_point(rule: Rule, stepped: str) -> None:
    result = found(repeat(rule, stepped, "++--"))
    assert "breaking-point" not in result
    assert result["expectation-missed"].what == "2 expectations not met."


def test_a_magnitude_has_one() -> None:
    result = found(repeat(Rule("latency", Latency(mean_ms=1)), "latency.mean_ms", "++--"))["breaking-point"]
    assert (result.what, result.much) == ("It breaks at latency.mean_ms = 0.75.", "It still held at 0.5; no.")


def test_a_magnitude_that_grows_milder_has_a_point_from_which_it_holds() -> None:
    result = found(repeat(Rule("bandwidth", Bandwidth()), "bandwidth.rate", "--++"))["breaking-point"]
    assert (result.what, result.much) == (
        "It holds only from bandwidth.rate = 0.75 on.",
        "It broke at 0.5; no.",
    )


def test_steps_that_fail_now_and_then_have_no_breaking_point() -> None:
    result = found(repeat(Rule("latency", Latency(mean_ms=1)), "latency.mean_ms", "+-+-"))
    assert "breaking-point" not in result
    assert "expectation-missed" in result


def test_a_service_that_never_holds_is_reported_as_such() -> None:
    result = found(repeat(Rule("latency", Latency(mean_ms=1)), "latency.mean_ms", "---"))["breaking-point"]
    assert result.much == "It did not hold at the first step; no."


# Recovery


def ill_to_the_end() -> ItemReport:
    return load_item(failing(1.0, 6, 20, Failure.STATUS), fault(DARK, 150, ((0.3, 0.45),)))


def test_no_recovery_is_not_claimed_when_our_own_side_was_late() -> None:
    item = ill_to_the_end()
    assert "no-recovery" in found(item)
    late = replace(item.run, starts=replace(item.run.starts, late=3))
    dropped = replace(item.run, starts=replace(item.run.starts, dropped=3))
    assert item.baseline is not None
    baseline = replace(item.baseline, starts=replace(item.baseline.starts, late=3))
    proxy = replace(item.injection, lateness_p99_us=2500.0)
    for doubtful in (
        replace(item, run=late),
        replace(item, run=dropped),
        replace(item, baseline=baseline),
        replace(item, injection=proxy),
    ):
        assert "no-recovery" not in found(doubtful)


def test_no_recovery_is_not_claimed_when_the_baseline_is_as_bad() -> None:
    always = failing(0.3, 0, 20, Failure.STATUS)
    item = load_item(always, fault(DARK, 150, ((0.3, 0.45),)), before=always)
    assert "no-recovery" not in found(item)

    def worse(at: float, rng: Rng) -> tuple[float, Failure]:
        return failing(1.0, 6, 20, Failure.STATUS)(at, rng) if at >= 6 else always(at, rng)

    assert "no-recovery" in found(load_item(worse, fault(DARK, 150, ((0.3, 0.45),)), before=always))


def test_recovery_to_the_errors_of_the_baseline_is_recovery() -> None:
    always = failing(0.3, 0, 20, Failure.STATUS)

    def worse(at: float, rng: Rng) -> tuple[float, Failure]:
        return failing(1.0, 6, 9, Failure.STATUS)(at, rng) if 6 <= at < 9 else always(at, rng)

    result = found(load_item(worse, fault(DARK, 150, ((0.3, 0.45),)), before=always))["recovers"]
    assert result.much == "Back to its usual p95 and its usual share of errors within 1 s after the fault."


def test_a_baseline_that_is_slow_now_and_then_excuses_a_short_slow_end() -> None:
    def pulsing(at: float, rng: Rng) -> tuple[float, Failure]:
        ms, _ = healthy(at, rng)
        return ms + (300 if int(at) % 3 == 1 else 0), Failure.NONE

    def run(at: float, rng: Rng) -> tuple[float, Failure]:
        ms, _ = healthy(at, rng)
        return ms + (300 if at >= 16 else 0), Failure.NONE

    windows = ((0.8, 0.95),)
    assert "no-recovery" not in found(load_item(run, fault(SLOW, 150, windows), before=pulsing))
    assert "no-recovery" in found(load_item(run, fault(SLOW, 150, windows)))
