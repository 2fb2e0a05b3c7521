from __future__ import annotations

from dataclasses import replace

import pytest

from faultkit.base.rng import Rng
from faultkit.faults.http.http_delay import HttpDelay
from faultkit.faults.stream.latency import Latency
from faultkit.faults.stream.reset import Reset
from faultkit.load.response import Failure
from faultkit.load.slo import Slo, SloResult
from faultkit.plan import Match, Rule, Trigger
from faultkit.scenario.report.report_model import ItemReport, Report
from faultkit.scenario.report.review import FIGURES, TRUST, render_review, review_report
from faultkit.scenario.report.review_model import Remark, ReviewFinding, Severity
from tests.scenario.report.examples import (
    ALL_KINDS,
    EMPTY,
    EXAMPLES,
    HOSTILE,
    NOT_EXERCISED,
    PARTIAL,
    REPEAT,
    SINGLE,
)
from tests.scenario.report.measured import (
    BEHIND,
    DARK,
    ERRORS,
    SHOWCASE,
    SLOW,
    TIMEOUT_MS,
    Service,
    added,
    failing,
    fault,
    flaky,
    healthy,
    hole,
    load_item,
    one_request,
    report_of,
    spike,
)


def found(item: ItemReport) -> dict[str, Remark]:
    return {finding.rule: finding.remark for finding in review_report(report_of(item)).findings}


def remark(item: ItemReport, rule: str, severity: Severity) -> Remark:
    result = found(item)
    assert rule in result, f"found only {sorted(result)}"
    assert result[rule].severity == severity
    return result[rule]


# Delays


@pytest.mark.parametrize("times", [2, 3])
def test_a_delay_that_is_paid_several_times_hints_at_calls_in_a_row(times: int) -> None:
    item = load_item(added(120, times=times), fault(SLOW, 1000 * times))
    result = remark(item, "delay-multiplied", "risk")
    assert result.what == f"Each request pays for the delay about {times} times."
    assert result.much.startswith("120 ms were added, and the median grew by ")
    assert result.cause is not None
    assert "N+1" in result.cause


def test_a_delay_on_every_read_is_not_taken_for_calls_in_a_row() -> None:
    rule = Rule("latency", Latency(mean_ms=120, per="operation"))
    result = remark(load_item(added(120, times=3), fault(rule, 3000)), "delay-multiplied", "risk")
    assert result.cause == "The delay is added to every read, and an answer comes in several of them."


def test_a_delay_that_is_paid_once_is_worth_knowing_and_no_more() -> None:
    item = load_item(added(120), fault(SLOW, 1000))
    assert remark(item, "delay-passed-on", "note").what == "The delay reaches the user once, in full."
    assert "delay-multiplied" not in found(item)


def test_a_delay_in_both_directions_counts_twice() -> None:
    both = Rule("latency", Latency(mean_ms=120), match=Match(direction="both"))
    result = remark(load_item(added(240), fault(both, 2000)), "delay-passed-on", "note")
    assert result.much.startswith("240 ms were added")


def test_a_delay_that_users_do_not_see_is_cached_or_asynchronous() -> None:
    item = load_item(healthy, fault(SLOW, 1000))
    assert remark(item, "delay-hidden", "good").what == "The delay hardly reaches the user."


def test_a_delay_that_hit_hardly_anything_is_not_praised() -> None:
    assert "good" not in {
        result.severity
        for name, result in found(load_item(healthy, fault(SLOW, 3))).items()
        if name == "delay-hidden"
    }


def test_a_delay_is_measured_while_it_acts() -> None:
    item = load_item(added(120, 5, 12), fault(SLOW, 350, ((0.25, 0.6),)))
    result = found(item)
    assert "delay-passed-on" in result
    assert "tail-only" not in result


def test_a_delay_that_hits_by_chance_is_not_compared_with_the_median() -> None:
    sometimes = replace(SLOW, trigger=Trigger(probability=0.5))
    assert {"delay-passed-on", "delay-hidden", "delay-multiplied"} & set(
        found(load_item(added(120), fault(sometimes, 500)))
    ) == set()


def test_delays_that_act_at_different_times_are_not_added_up() -> None:
    other = Rule("http_delay", HttpDelay(delay_ms=120))
    item = load_item(added(120), fault(SLOW, 500, ((0.0, 0.5),)), fault(other, 500, ((0.5, 1.0),)))
    assert {"delay-passed-on", "delay-hidden", "delay-multiplied"} & set(found(item)) == set()


def test_the_slope_of_stepped_calls_shows_how_often_a_delay_is_paid() -> None:
    twice = replace(
        REPEAT.items[0],
        calls=tuple(
            replace(call, total_ms=10 + 2 * (call.stepped_value or 0)) for call in REPEAT.items[0].calls
        ),
    )
    assert remark(REPEAT.items[0], "delay-passed-on", "note").much == (
        "The delay grew by 400 ms over the steps, "
        "and the response time (on a line through 5 calls) grew by 400 ms."
    )
    assert remark(twice, "delay-multiplied", "risk").what == "Each request pays for the delay about 2 times."


def test_a_tail_that_grows_alone_is_a_risk() -> None:
    def rarely(at: float, rng: Rng) -> tuple[float, Failure]:
        ms, _ = healthy(at, rng)
        return ms + (400 if rng.chance(0.03) else 0), Failure.NONE

    sometimes = replace(SLOW, trigger=Trigger(probability=0.03))
    result = remark(load_item(rarely, fault(sometimes, 30)), "tail-only", "risk")
    assert result.what == "The tail grew, the median did not."


def test_no_difference_is_only_claimed_with_enough_requests() -> None:
    calm: Service = lambda _, __: (10.0, Failure.NONE)  # noqa: E731
    mild = Rule("latency", Latency(mean_ms=0.1))
    many = load_item(calm, fault(mild, 1000), before=calm)
    assert remark(many, "no-difference", "good").much == "1,000 injections, and every 95 % interval holds 0."
    assert "no-difference" not in found(load_item(calm, fault(mild, 20), before=calm, duration_s=1, rps=20))


# Failures


def test_timeouts_at_the_limit_of_the_client_mean_that_the_service_has_none_of_its_own() -> None:
    result = remark(hole(), "client-gave-up", "broken")
    assert result.much == "150 requests (15 %) ended at the client's own limit of 3,000 ms."
    assert "timeouts" not in found(hole())


def test_timeouts_before_that_limit_are_reported_without_that_claim() -> None:
    item = load_item(failing(1.0, 6, 9, Failure.TIMEOUT, TIMEOUT_MS / 2), fault(DARK, 150, ((0.3, 0.45),)))
    assert remark(item, "timeouts", "broken").much == "150 requests (15 %)."
    assert "client-gave-up" not in found(item)


@pytest.mark.parametrize(
    ("failure", "what"),
    [
        (Failure.STATUS, "The service answers with server errors."),
        (Failure.REFUSED, "Connections were refused."),
        (Failure.RESET, "Connections were reset in the middle."),
        (Failure.CLOSED, "Connections ended before the answer did."),
        (Failure.DNS, "Names could not be resolved."),
        (Failure.UNREACHABLE, "The host could not be reached."),
        (Failure.TLS, "TLS failed."),
        (Failure.PROTOCOL, "What came back was not HTTP."),
    ],
)
def test_each_class_of_error_has_its_reading(failure: Failure, what: str) -> None:
    item = load_item(failing(0.5, 0, 20, failure), fault(DARK, 500))
    assert remark(item, "error-classes", "broken").what == what


def test_errors_that_the_baseline_has_as_well_are_not_put_down_to_the_fault() -> None:
    always = failing(1.0, 0, 20, Failure.STATUS)
    assert "error-classes" not in found(load_item(always, fault(DARK, 500), before=always))


def test_as_many_errors_as_the_fault_makes_are_neither_amplified_nor_hidden() -> None:
    assert {"amplified", "retries-work"} & set(found(flaky())) == set()


def test_more_errors_than_the_fault_makes_are_amplified() -> None:
    item = load_item(failing(0.49, 0, 20, Failure.STATUS), fault(ERRORS, 400))
    assert remark(item, "amplified", "broken").much.startswith("The fault hits 20 %, and ")


def test_fewer_errors_than_the_fault_makes_mean_that_retries_work() -> None:
    item = load_item(failing(0.04, 0, 20, Failure.STATUS), fault(ERRORS, 240))
    assert remark(item, "retries-work", "good").cause == "Retries or a fallback work."


def test_errors_are_compared_with_the_probability_only_while_the_fault_acts() -> None:
    item = load_item(failing(0.2, 5, 10, Failure.STATUS), fault(ERRORS, 50, ((0.25, 0.5),)))
    assert {"amplified", "retries-work"} & set(found(item)) == set()


def test_a_client_error_that_was_injected_is_not_counted_as_hidden() -> None:
    rule = replace(ERRORS, fault=replace(ERRORS.fault, status=404))  # type: ignore[call-arg]
    assert "retries-work" not in found(load_item(healthy, fault(rule, 200)))


# Recovery


def test_errors_that_end_with_the_fault_show_recovery() -> None:
    result = remark(hole(), "recovers", "good")
    assert result.much == "Back to its usual p95 and without errors within 1 s after the fault."


def test_errors_that_go_on_show_none() -> None:
    item = load_item(failing(1.0, 6, 20, Failure.STATUS), fault(DARK, 150, ((0.3, 0.45),)))
    result = remark(item, "no-recovery", "broken")
    assert (
        result.much
        == "The fault ended at 9 s; watched for 11 s, 100 % of the requests after it still failed."
    )
    assert "recovers" not in found(item)


def test_slowness_that_goes_on_for_a_while_is_slow_recovery() -> None:
    item = load_item(added(120, 5, 15), fault(SLOW, 150, ((0.25, 0.5),)))
    result = remark(item, "recovers", "risk")
    assert result.much == "Back to its usual p95 and without errors within 6 s after the fault."


def test_a_fault_that_acts_to_the_end_gives_no_remark_about_recovery() -> None:
    item = load_item(failing(1.0, 0, 20, Failure.STATUS), fault(DARK, 1000))
    assert {"recovers", "no-recovery"} & set(found(item)) == set()


# Promises


def test_a_missed_objective_comes_with_the_fault_if_the_baseline_keeps_it() -> None:
    result = remark(spike(), "slo-missed", "broken")
    assert result.what == "1 of 4 objectives missed."
    assert result.much == "Nearly all within 100 ms: p99 156 ms."
    assert result.cause == "The baseline keeps it, so it comes with the fault (latency)."
    assert "expectation-missed" not in found(spike())


def test_an_objective_that_the_baseline_misses_is_not_the_doing_of_the_fault() -> None:
    item = load_item(added(120), fault(SLOW, 1000), slos=(Slo("latency", "", 95, 5),), verdict="failed")
    result = remark(item, "baseline-misses-slo", "broken")
    assert result.much.startswith("95% < 5ms: ")
    assert remark(item, "slo-missed", "broken").cause is None


def test_an_objective_on_errors_that_the_baseline_misses_is_found_too() -> None:
    always = failing(0.5, 0, 20, Failure.STATUS)
    item = load_item(always, fault(DARK, 1000), before=always, slos=(Slo("error", "few errors", 99, 1),))
    assert remark(item, "baseline-misses-slo", "broken").much.startswith("few errors: ")


def test_an_objective_that_is_kept_only_just_is_a_risk() -> None:
    item = load_item(added(120), fault(SLOW, 1000), slos=(Slo("latency", "tight", 95, 160),))
    assert remark(item, "slo-margin-small", "risk").much.startswith("tight: p95 15")
    wide = load_item(added(120), fault(SLOW, 1000), slos=(Slo("latency", "wide", 95, 400),))
    assert "slo-margin-small" not in found(wide)


def test_stepped_calls_show_where_it_breaks() -> None:
    result = remark(REPEAT.items[0], "breaking-point", "broken")
    assert result.what == "It breaks at latency.mean_ms = 500."
    assert result.much.startswith("It still held at 400; response time: expected under 490 ms")


def test_an_expectation_that_no_other_rule_explains_is_reported_with_its_reason() -> None:
    item = SINGLE.items[0]
    why = "status: expected 200, got 503"
    missed = replace(
        item, verdict="failed", expectation_failures=1, calls=(replace(item.calls[0], met=False, why=why),)
    )
    assert remark(missed, "expectation-missed", "broken").much == why


# Trust


def test_an_item_that_was_not_exercised_gets_advice_to_send_traffic_through_the_proxy() -> None:
    item = replace(NOT_EXERCISED.items[0], routes=BEHIND)
    result = remark(item, "not-exercised", "doubt")
    assert result.much == "Nothing went through the proxy."
    assert result.next is not None
    assert "HTTP_PROXY" in result.next
    assert "127.0.0.1:7072 → 127.0.0.1:5432" in result.next


def test_traffic_that_no_rule_met_is_distinguished_from_no_traffic() -> None:
    item = NOT_EXERCISED.items[0]
    passed_by = replace(item, injection=replace(item.injection, connections=300))
    assert (
        remark(passed_by, "not-exercised", "doubt").much
        == "300 connections went through the proxy, none was hit."
    )


@pytest.mark.parametrize("verdict", ["inconclusive", "not exercised", "unfinished"])
def test_figures_that_decide_nothing_are_not_read(verdict: str) -> None:
    item = replace(hole(), verdict=verdict)  # type: ignore[arg-type]
    assert set(found(item)) <= {name for name, _ in TRUST}
    assert verdict.replace(" ", "-") in found(item)


def test_few_requests_are_a_doubt() -> None:
    assert remark(one_request(), "too-few-samples", "doubt").much.startswith("1 request.")


def test_an_objective_without_an_answer_is_not_put_down_to_few_requests() -> None:
    lost = SloResult(
        Slo("latency", "p95", 95, 300.0), False, None, None, 31, 600, "31 of 600 requests failed."
    )
    assert "too-few-samples" not in found(replace(load_item(healthy), slos=(lost,)))


def test_answers_that_are_mostly_4xx_are_a_doubt() -> None:
    item = flaky()
    lost = replace(item, run=replace(item.run, statuses={404: 800, 200: 200}))
    assert remark(lost, "wrong-page", "doubt").what.startswith("Most answers say 404")


def test_a_run_without_a_success_is_not_put_down_to_the_machine() -> None:
    item = load_item(healthy)
    refused = replace(item.run, statuses={401: item.run.requests})
    lost = replace(
        item, verdict="inconclusive", reasons=("no answer was 2xx",), run=refused, baseline=refused
    )
    assert remark(lost, "inconclusive", "doubt").what.startswith("No answer was a success")
    assert "wrong-page" not in found(lost)


def test_starts_that_were_late_are_a_doubt() -> None:
    item = flaky()
    late = replace(item, run=replace(item.run, starts=replace(item.run.starts, late=40)))
    assert remark(late, "late-starts", "doubt").much.startswith("40 late starts and 0 dropped")
    assert "late-starts" not in found(item)


# The review as a whole


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_report_has_a_review(name: str) -> None:
    result = review_report(EXAMPLES[name])
    assert render_review(result) == render_review(review_report(EXAMPLES[name]))
    assert render_review(result).startswith("# Review\n\n")


def test_every_rule_has_a_name_of_its_own() -> None:
    names = [name for name, _ in (*TRUST, *FIGURES)]
    assert len(names) == len(set(names))


def test_the_gravest_findings_come_first() -> None:
    order = [finding.remark.severity for finding in review_report(SHOWCASE).findings]
    assert order == sorted(order, key=("broken", "risk", "doubt", "note", "good").index)
    assert order[0] == "broken"


def test_items_are_numbered_over_the_whole_report() -> None:
    result = review_report(ALL_KINDS)
    assert {finding.item for finding in result.findings} <= set(range(1, 8))
    assert [finding.rule for finding in result.of_item(6)] == ["not-exercised"]
    assert result.of_item(6)[0].scenario == "What proves nothing"


@pytest.mark.parametrize(
    ("report", "summary"),
    [
        (EMPTY, "Nothing was run."),
        (SHOWCASE, "3 items: 2 failed, 1 passed. Something broke in 3 of them."),
        (
            PARTIAL,
            "2 items: 1 passed, 1 unfinished. Nothing broke in the 1 item that can tell. "
            "The run is partial: interrupted after 1 of 3 items.",
        ),
    ],
)
def test_the_summary_counts_verdicts_and_what_broke(report: Report, summary: str) -> None:
    assert review_report(report).summary == summary


def test_hostile_texts_stay_on_their_line_and_are_not_markup() -> None:
    text = render_review(review_report(HOSTILE))
    assert "<script>" not in text
    assert "\x1b" not in text
    assert all(line.startswith(("#", "- **", "Item ", "1 item")) for line in text.splitlines() if line)


def test_a_finding_is_rendered_with_its_parts() -> None:
    finding = ReviewFinding(
        "x", "Shop", 2, "GET http://h/", Remark("risk", "It is slow.", "3 ms.", "A cause.", "Do this.")
    )
    result = replace(review_report(EMPTY), findings=(finding,))
    assert render_review(result) == (
        "# Review\n\nNothing was run.\n\n## 🟠 Risk\n\n### It is slow.\n\nItem 2, `GET http://h/` (Shop)\n\n"
        "- **How much**: 3 ms.\n- **Likely cause**: A cause.\n- **Try next**: Do this.\n"
    )


def test_a_rule_that_this_version_cannot_read_is_passed_over() -> None:
    item = load_item(added(120), fault(SLOW, 1000))
    unknown = replace(item.faults[0], rule={"fault": "gravity", "name": "g"})
    assert "delay-passed-on" not in found(replace(item, faults=(unknown,)))


def test_faults_that_break_connections_are_held_against_their_probability() -> None:
    rule = Rule("reset", Reset(), trigger=Trigger(probability=0.3))
    item = load_item(failing(0.02, 0, 20, Failure.RESET), fault(rule, 300))
    assert "retries-work" in found(item)
