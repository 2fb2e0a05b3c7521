"""The place of the faults, and warnings about a baseline that fails; a review names no unknown dependency."""

from __future__ import annotations

from dataclasses import replace

import pytest

from faultkit.faults import PROXY_FAULTS
from faultkit.load.item_summary import McpSummary, Spread, StreamSummary
from faultkit.load.response import Failure
from faultkit.load.slo import Slo, SloResult
from faultkit.scenario.report.item_evidence import (
    baseline_misses,
    baseline_warning,
    baselines_warning,
    behind_service,
    makes_requests_fail,
)
from faultkit.scenario.report.report_model import ItemReport, ReportedExpectation
from faultkit.scenario.report.review import render_review, review_report
from faultkit.scenario.report.review_model import Remark
from faultkit.scenario.report.scenario_junit import render_junit
from faultkit.scenario.report.scenario_markdown import render_markdown
from faultkit.scenario.report.scenario_page import render_html
from faultkit.scenario.report.scenario_text import render_item, render_text
from tests.scenario.report.examples import NOT_EXERCISED
from tests.scenario.report.measured import (
    BEFORE,
    BEHIND,
    DARK,
    ERRORS,
    SLOW,
    TIMEOUT_MS,
    added,
    failing,
    fault,
    healthy,
    hole,
    load_item,
    report_of,
)
from tests.scenario.report.sample_parser import parse_report


def found(item: ItemReport) -> dict[str, Remark]:
    return {finding.rule: finding.remark for finding in review_report(report_of(item)).findings}


@pytest.mark.parametrize(
    ("routes", "behind"),
    [
        (BEFORE, False),
        (BEHIND, True),
        (("127.0.0.1:4000 → 127.0.0.1:9090",), False),
        (("127.0.0.1:4000 → localhost:9090",), False),
        (("127.0.0.1:4000 → 127.0.0.1:9091",), True),
        (("127.0.0.1:3180 → any host (HTTP proxy; faults act on api.example.com:443)",), True),
        (("127.0.0.1:3180 → any host (HTTP proxy; faults act on *)",), False),
        (("127.0.0.1:3180 → any host (HTTP proxy; faults act on a.test, 127.0.0.1)",), False),
        (("127.0.0.1:3180 → any host (HTTP proxy; faults act on any host)",), False),
        ((*BEHIND, *BEFORE), False),
        # The call itself goes to the map.
        (("127.0.0.1:9090 → 127.0.0.1:5432",), False),
        (("[::1]:7072 → db.internal:5432",), True),
        ((), False),
        (("\x1b|`",), False),
        (("a → <b>/c d",), False),
    ],
)
def test_routes_show_on_which_side_of_the_service_faults_acted(routes: tuple[str, ...], behind: bool) -> None:
    assert behind_service(replace(hole(), routes=routes)) is behind


def test_a_url_that_cannot_be_read_names_no_host() -> None:
    item = hole()
    assert not behind_service(replace(item, call=replace(item.call, url="http://h:x/")))


def before(item: ItemReport) -> ItemReport:
    return replace(item, routes=BEFORE)


ITEMS: dict[str, ItemReport] = {
    "timeouts": hole(),
    "server errors": load_item(failing(0.5, 0, 20, Failure.STATUS), fault(DARK, 500)),
    "injected errors": load_item(failing(0.2, 0, 20, Failure.STATUS), fault(ERRORS, 200)),
    "amplified": load_item(failing(0.49, 0, 20, Failure.STATUS), fault(ERRORS, 400)),
    "fewer errors": load_item(failing(0.04, 0, 20, Failure.STATUS), fault(ERRORS, 240)),
    "no recovery": load_item(failing(1.0, 6, 20, Failure.RESET), fault(DARK, 150, ((0.3, 0.45),))),
    "multiplied": load_item(added(120, times=3), fault(SLOW, 3000)),
    "once": load_item(added(120), fault(SLOW, 1000)),
    "in part": load_item(added(60), fault(SLOW, 1000)),
    "hidden": load_item(healthy, fault(SLOW, 1000)),
    "objective": load_item(
        added(120), fault(SLOW, 1000), slos=(Slo("latency", "", 95, 50),), verdict="failed"
    ),
    "idle": NOT_EXERCISED.items[0],
}


@pytest.mark.parametrize("name", ITEMS)
def test_faults_before_the_service_are_no_reason_to_speak_of_a_dependency(name: str) -> None:
    text = render_review(review_report(report_of(before(ITEMS[name])))).lower()
    for words in (
        "dependency",
        "gave up by itself",
        "that call",
        "slowed call",
        "breaker",
        "fallback",
        "n+1",
    ):
        assert words not in text


def test_a_client_that_waits_to_its_limit_gets_advice_for_clients() -> None:
    result = found(before(hole()))["client-gave-up"]
    assert result.what == "Clients waited to their own limit and gave up."
    assert result.much == "150 requests (15 %) ended at the client's own limit of 3,000 ms."
    assert result.next is not None
    assert "hedge" in result.next


def test_a_service_that_waits_as_long_as_its_client_needs_a_timeout() -> None:
    result = found(hole())["client-gave-up"]
    assert result.what == "The service never gave up by itself: the client did."
    assert result.next is not None
    assert result.next.startswith("Give that call a timeout well below 3,000 ms")


def test_errors_that_the_fault_answers_are_not_the_services_own() -> None:
    result = found(before(ITEMS["injected errors"]))["error-classes"]
    assert result.what == "Clients are answered with server errors."
    assert result.cause is not None
    assert result.cause.startswith("The fault answers in the place of the service")
    behind = found(ITEMS["injected errors"])["error-classes"]
    assert behind.cause == "It turns the failure of its dependency into a failure of its own."


def test_errors_that_no_fault_answers_are_the_services_own() -> None:
    result = found(before(ITEMS["server errors"]))["error-classes"]
    assert result.what == "The service answers with server errors."
    assert result.next == "Look into the log of the service at that time."


def test_only_a_service_can_have_tried_again() -> None:
    assert "retries-work" in found(ITEMS["fewer errors"])
    assert "retries-work" not in found(before(ITEMS["fewer errors"]))


def test_a_delay_that_clients_hardly_feel_is_no_merit_of_the_service() -> None:
    assert found(ITEMS["hidden"])["delay-hidden"].severity == "good"
    assert found(before(ITEMS["hidden"]))["delay-hidden"].severity == "note"


def test_a_missing_recovery_is_described_from_the_side_of_the_faults() -> None:
    assert found(ITEMS["no recovery"])["no-recovery"].what.startswith("The service did not recover")
    assert found(before(ITEMS["no recovery"]))["no-recovery"].what.startswith("Requests did not recover")


@pytest.mark.parametrize("name", ["timeouts", "server errors", "objective"])
def test_without_faults_none_is_blamed(name: str) -> None:
    item = replace(before(ITEMS[name]), faults=(), routes=(), baseline=None, impact=())
    text = render_review(review_report(report_of(item)))
    assert "No fault was applied" in text
    assert "he faults stand" not in text


def test_timeouts_on_either_side_have_the_same_figures() -> None:
    near, far = found(before(hole())), found(hole())
    assert near["client-gave-up"].much == far["client-gave-up"].much
    assert hole().call.timeout_ms == TIMEOUT_MS


def test_a_fault_makes_requests_fail_or_slows_them() -> None:
    failing_kinds = {kind for kind, fault in PROXY_FAULTS.items() if makes_requests_fail(fault())}
    assert failing_kinds == {
        *(
            "blackhole",
            "corrupt",
            "dns",
            "goaway",
            "grpc_deadline",
            "grpc_status",
            "half_open",
            "http_cut",
            "http_error",
            "http_garbage",
            "http_lost_reply",
            "http_quota",
            "http_wrong_encoding",
            "http_wrong_length",
            "limit_data",
            "lost_trailers",
            "refuse",
            "reset",
            "stream_reset",
            "timeout",
            "tls_bad_certificate",
            "tls_handshake_failure",
            "tls_old_version",
            "tls_truncated_close",
            "withheld_window",
            "ws_close",
            "ws_corrupt",
            "ws_drop",
            "ws_duplicate",
            "ws_ping_silence",
        )
    }


# The baseline: every report begins with a warning if it fails


ALWAYS = failing(1.0, 0, 20, Failure.STATUS)
BROKEN_BASELINE = load_item(ALWAYS, fault(DARK, 80), before=ALWAYS, duration_s=8, rps=10)
SOUND_BASELINE = load_item(added(120), fault(SLOW, 200), duration_s=4)
SLOW_BASELINE = load_item(added(120), fault(SLOW, 1000), slos=(Slo("latency", "", 95, 5),))


def test_errors_of_the_baseline_are_counted() -> None:
    assert baseline_warning(BROKEN_BASELINE) == "Without any fault: 80 of 80 requests (100 %) failed."
    assert baseline_warning(SOUND_BASELINE) is None
    assert baselines_warning(report_of(SOUND_BASELINE)) is None


def test_server_errors_that_are_expected_are_no_failure() -> None:
    assert baseline_warning(replace(BROKEN_BASELINE, expectation=ReportedExpectation(status=503))) is None
    assert baseline_warning(replace(BROKEN_BASELINE, expectation=ReportedExpectation(status=200))) is not None


def test_objectives_that_the_baseline_misses_are_named() -> None:
    result = baseline_warning(SLOW_BASELINE)
    assert result is not None
    assert result.startswith("Without any fault: missed 95% < 5ms: 1")
    assert result.endswith(" ms in the baseline.")


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
    report = report_of(SOUND_BASELINE, BROKEN_BASELINE, SLOW_BASELINE)
    assert baselines_warning(report) == head
    assert " ".join(render_text(report).split()).startswith(
        f"Scenarios Report {'=' * 16} WARNING {head} Start:"
    )
    assert render_markdown(report).splitlines()[2] == f"> **Warning**: {head}"
    page = render_html(report)
    assert page.index(head) < page.index("Overview")


def test_of_many_items_a_few_are_named_and_the_others_counted() -> None:
    result = baselines_warning(report_of(*[BROKEN_BASELINE] * 10))
    assert result is not None
    assert "item 3 (80 of 80 requests (100 %) failed), 7 more." in result


def test_an_item_warns_right_below_its_head() -> None:
    result = "Without any fault: 80 of 80 requests (100 %) failed."
    assert render_item(BROKEN_BASELINE)[1] == f"  WARNING     {result}"
    text = render_markdown(report_of(BROKEN_BASELINE))
    assert text.splitlines()[text.splitlines().index(f"> **Warning**: {result}") - 2].startswith("### ")
    assert render_html(report_of(BROKEN_BASELINE)).count(result) == 1
    assert result in render_junit(report_of(BROKEN_BASELINE))
    (scenario,) = parse_report(text).scenarios
    assert scenario.items[0].strategy == "load for 8s with 1 clients @ 10 RPS"


def test_a_sound_baseline_leaves_no_trace() -> None:
    for render in (render_text, render_markdown, render_html):
        assert "arning" not in render(report_of(SOUND_BASELINE)).replace("warnings", "")


def test_a_review_reports_a_broken_baseline_first_and_never_that_nothing_broke() -> None:
    result = review_report(report_of(SOUND_BASELINE, BROKEN_BASELINE))
    assert result.findings[0].rule == "baseline-fails"
    assert result.findings[0].remark.severity == "broken"
    assert result.findings[0].remark.much == (
        "In the baseline, 80 of 80 requests (100 %) failed: status_5xx 80."
    )
    assert "Without any fault, something is wrong in 1 of them." in result.summary
    assert "Nothing broke" not in render_review(result)


@pytest.mark.parametrize("verdict", ["inconclusive", "not exercised", "unfinished"])
def test_a_broken_baseline_is_reported_with_every_verdict(verdict: str) -> None:
    item = replace(BROKEN_BASELINE, verdict=verdict)  # type: ignore[arg-type]
    assert "baseline-fails" in found(item)
    assert "Nothing broke" not in review_report(report_of(item)).summary


def test_a_few_errors_of_the_baseline_are_reported_as_a_risk() -> None:
    rare = failing(0.003, 0, 20, Failure.RESET)
    item = load_item(added(120), fault(SLOW, 1000), before=rare)
    assert item.baseline is not None
    assert 0 < item.baseline.errors < 10
    assert found(item)["baseline-fails"].severity == "risk"
    assert "Nothing broke" not in review_report(report_of(item)).summary


@pytest.mark.parametrize(
    ("verdict", "summary"),
    [
        ("passed", "1 item: 1 passed. Nothing broke."),
        ("unfinished", "1 item: 1 unfinished. None of them decides anything."),
    ],
)
def test_nothing_broke_is_reported_only_of_items_that_decide_something(verdict: str, summary: str) -> None:
    item = replace(SOUND_BASELINE, verdict=verdict)  # type: ignore[arg-type]
    assert review_report(report_of(item)).summary == summary


# Certificates


def test_tls_that_never_comes_about_is_put_down_to_the_certificate() -> None:
    never = failing(1.0, 0, 20, Failure.TLS)
    item = load_item(never, fault(DARK, 0), before=never, verdict="not exercised", routes=BEFORE)
    result = found(item)
    assert result["not-trusted"].cause is not None
    assert "certificate is not trusted" in result["not-trusted"].cause
    assert result["not-trusted"].next is not None
    assert "--insecure" in result["not-trusted"].next
    assert "SSL_CERT_FILE" in result["not-trusted"].next
    assert "baseline-fails" not in result


def test_without_a_baseline_too() -> None:
    item = load_item(failing(1.0, 0, 20, Failure.TLS), fault(DARK, 500), before=None)
    assert "not-trusted" in found(item)
    assert "error-classes" not in found(item)


def test_tls_that_fails_with_the_fault_alone_is_the_faults_doing() -> None:
    item = load_item(failing(1.0, 0, 20, Failure.TLS), fault(DARK, 500))
    assert "not-trusted" not in found(item)
    assert found(item)["error-classes"].what == "TLS failed."


def with_baseline(slo: Slo, *, gap_ms: float = 0.0, early: int = 0, tool: int = 0) -> ItemReport:
    """Return an item whose baseline has ten streams, or ten calls of a tool."""
    times = Spread(10, gap_ms, gap_ms, gap_ms, gap_ms, gap_ms, gap_ms)
    assert SOUND_BASELINE.baseline is not None
    baseline = replace(
        SOUND_BASELINE.baseline,
        requests=10,
        stream=StreamSummary(10, 20, 2.0, early, times, times),
        mcp=McpSummary(1, 0, {"transport": 0, "protocol": 0, "tool": tool}),
    )
    return replace(SOUND_BASELINE, baseline=baseline, slos=(SloResult(slo, True, 1.0, 1.0, 0, 10),))


@pytest.mark.parametrize(
    ("slo", "figures", "missed"),
    [
        (Slo("gap", "", 95, 50), {"gap_ms": 60.0}, "gap 95% < 50ms: 60 ms in the baseline"),
        (Slo("gap", "", 95, 50), {"gap_ms": 40.0}, None),
        (Slo("first_event", "", 30, 50), {"gap_ms": 60.0}, "first_event 30% < 50ms: 60 ms in the baseline"),
        (Slo("early_end", "", 80, 30), {"early": 3}, "early_end 80% < 30%: 30 % early ends in the baseline"),
        (Slo("early_end", "", 60, 30), {"early": 3}, None),
        (
            Slo("tool_error", "", 80, 30),
            {"tool": 3},
            "tool_error 80% < 30%: 30 % tool errors in the baseline",
        ),
        (Slo("tool_error", "", 80, 30), {"early": 3}, None),
    ],
)
def test_objectives_of_streams_and_tools_that_the_baseline_misses_are_named(
    slo: Slo, figures: dict[str, float], missed: str | None
) -> None:
    item = with_baseline(slo, **figures)  # type: ignore[arg-type]
    assert baseline_misses(item) == (() if missed is None else (missed,))
