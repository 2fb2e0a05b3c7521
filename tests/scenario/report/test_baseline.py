"""Every report begins with a warning if the baseline itself fails."""

from __future__ import annotations

from dataclasses import replace

import pytest

from faultkit.load.response import Failure
from faultkit.load.slo import Slo
from faultkit.scenario.report.baseline import baseline_warning, baselines_warning
from faultkit.scenario.report.report_model import Expectation, Item
from faultkit.scenario.report.review import render_review, review
from faultkit.scenario.report.review_model import Remark
from faultkit.scenario.report.scenario_junit import render_junit
from faultkit.scenario.report.scenario_markdown import render_markdown
from faultkit.scenario.report.scenario_page import render_html
from faultkit.scenario.report.scenario_text import render_item, render_text
from tests.scenario.report.measured import BEFORE, DARK, SLOW, added, failing, fault, load_item, report_of
from tests.scenario.report.sample_parser import parse_report

ALWAYS = failing(1.0, 0, 20, Failure.STATUS)
ILL = load_item(ALWAYS, fault(DARK, 80), before=ALWAYS, duration_s=8, rps=10)
WELL = load_item(added(120), fault(SLOW, 200), duration_s=4)
SLOW_BY_ITSELF = load_item(added(120), fault(SLOW, 1000), slos=(Slo("latency", "", 95, 5),))


def found(item: Item) -> dict[str, Remark]:
    return {finding.rule: finding.remark for finding in review(report_of(item)).findings}


def test_errors_of_the_baseline_are_counted() -> None:
    assert baseline_warning(ILL) == "Without any fault: 80 of 80 requests (100 %) failed."
    assert baseline_warning(WELL) is None
    assert baselines_warning(report_of(WELL)) is None


def test_server_errors_that_are_expected_are_no_failure() -> None:
    assert baseline_warning(replace(ILL, expectation=Expectation(status=503))) is None
    assert baseline_warning(replace(ILL, expectation=Expectation(status=200))) is not None


def test_objectives_that_the_baseline_misses_are_named() -> None:
    said = baseline_warning(SLOW_BY_ITSELF)
    assert said is not None
    assert said.startswith("Without any fault: missed 95% < 5ms: 1")
    assert said.endswith(" ms in the baseline.")


@pytest.mark.parametrize(
    "slo", [Slo("latency", "", 95, 1000), Slo("error", "", 99, 1), Slo("availability", "", 99, 1000)]
)
def test_requests_that_fail_keep_no_objective(slo: Slo) -> None:
    item = load_item(ALWAYS, fault(DARK, 80), before=ALWAYS, duration_s=8, rps=10, slos=(slo,))
    assert "missed" in (baseline_warning(item) or "")


def test_a_report_warns_at_its_head_and_names_the_items() -> None:
    head = (
        "The service fails without any fault already: item 2 (80 of 80 requests (100 %) failed), "
        "item 3 (misses an objective). The effect of the faults cannot be judged from it."
    )
    report = report_of(WELL, ILL, SLOW_BY_ITSELF)
    assert baselines_warning(report) == head
    assert " ".join(render_text(report).split()).startswith(
        f"Scenarios Report {'=' * 16} WARNING {head} Start:"
    )
    assert render_markdown(report).splitlines()[2] == f"> **Warning**: {head}"
    page = render_html(report)
    assert page.index(head) < page.index("Overview")


def test_of_many_items_a_few_are_named_and_the_others_counted() -> None:
    said = baselines_warning(report_of(*[ILL] * 10))
    assert said is not None
    assert "item 3 (80 of 80 requests (100 %) failed), 7 more." in said


def test_an_item_warns_right_below_its_head() -> None:
    said = "Without any fault: 80 of 80 requests (100 %) failed."
    assert render_item(ILL)[1] == f"  WARNING     {said}"
    text = render_markdown(report_of(ILL))
    assert text.splitlines()[text.splitlines().index(f"> **Warning**: {said}") - 2].startswith("### ")
    assert render_html(report_of(ILL)).count(said) == 1
    assert said in render_junit(report_of(ILL))
    (scenario,) = parse_report(text).scenarios
    assert scenario.items[0].strategy == "load for 8s with 1 clients @ 10 RPS"


def test_a_sound_baseline_leaves_no_trace() -> None:
    for render in (render_text, render_markdown, render_html):
        assert "arning" not in render(report_of(WELL)).replace("warnings", "")


def test_a_review_says_it_first_and_never_that_nothing_broke() -> None:
    said = review(report_of(WELL, ILL))
    assert said.findings[0].rule == "baseline-fails"
    assert said.findings[0].remark.severity == "broken"
    assert said.findings[0].remark.much == (
        "In the baseline, 80 of 80 requests (100 %) failed: status_5xx 80."
    )
    assert "Without any fault, something is wrong in 1 of them." in said.summary
    assert "Nothing broke" not in render_review(said)


@pytest.mark.parametrize("verdict", ["inconclusive", "not exercised", "unfinished"])
def test_it_is_said_whatever_the_verdict_is(verdict: str) -> None:
    item = replace(ILL, verdict=verdict)  # type: ignore[arg-type]
    assert "baseline-fails" in found(item)
    assert "Nothing broke" not in review(report_of(item)).summary


def test_a_few_errors_are_a_risk_and_still_said() -> None:
    rare = failing(0.003, 0, 20, Failure.RESET)
    item = load_item(added(120), fault(SLOW, 1000), before=rare)
    assert item.baseline is not None
    assert 0 < item.baseline.errors < 10
    assert found(item)["baseline-fails"].severity == "risk"
    assert "Nothing broke" not in review(report_of(item)).summary


@pytest.mark.parametrize(
    ("verdict", "summary"),
    [
        ("passed", "1 item: 1 passed. Nothing broke."),
        ("unfinished", "1 item: 1 unfinished. None of them decides anything."),
    ],
)
def test_nothing_broke_is_said_only_of_what_can_tell(verdict: str, summary: str) -> None:
    item = replace(WELL, verdict=verdict)  # type: ignore[arg-type]
    assert review(report_of(item)).summary == summary


# Certificates


def test_tls_that_never_comes_about_is_put_down_to_the_certificate() -> None:
    never = failing(1.0, 0, 20, Failure.TLS)
    item = load_item(never, fault(DARK, 0), before=never, verdict="not exercised", routes=BEFORE)
    said = found(item)
    assert said["not-trusted"].cause is not None
    assert "certificate is not trusted" in said["not-trusted"].cause
    assert said["not-trusted"].next is not None
    assert "--insecure" in said["not-trusted"].next
    assert "SSL_CERT_FILE" in said["not-trusted"].next
    assert "baseline-fails" not in said


def test_without_a_baseline_too() -> None:
    item = load_item(failing(1.0, 0, 20, Failure.TLS), fault(DARK, 500), before=None)
    assert "not-trusted" in found(item)
    assert "error-classes" not in found(item)


def test_tls_that_fails_with_the_fault_alone_is_the_faults_doing() -> None:
    item = load_item(failing(1.0, 0, 20, Failure.TLS), fault(DARK, 500))
    assert "not-trusted" not in found(item)
    assert found(item)["error-classes"].what == "TLS failed."
