"""The words of a report: singular and plural, margins, missing figures, and descriptions of faults."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.faults import LLM_FAULTS, NETWORK_FAULTS, PROXY_FAULTS
from faultkit.faults.connection.dns import Dns
from faultkit.faults.connection.refuse import Refuse
from faultkit.faults.fault import Fault, StreamFault
from faultkit.faults.http.http_error import HttpError
from faultkit.faults.llm.clean_end import CleanEnd
from faultkit.faults.stream.bandwidth import Bandwidth
from faultkit.faults.stream.blackhole import Blackhole
from faultkit.faults.stream.jitter import Jitter
from faultkit.faults.stream.latency import Latency
from faultkit.faults.stream.limit_data import LimitData
from faultkit.faults.stream.packet_loss import PacketLoss
from faultkit.load.slo import Slo, SloKind, SloResult
from faultkit.plan import Direction, Match, Rule, Side, Trigger
from faultkit.scenario.report.report_model import ReportedStrategy
from faultkit.scenario.report.review import review_report
from faultkit.scenario.report.scenario_markdown import render_markdown
from faultkit.scenario.report.scenario_page import render_html
from faultkit.scenario.report.scenario_text import render_text
from faultkit.scenario.report.wording import (
    describe_rule,
    margin_text,
    objective_text,
    slo_limit,
    slo_measured,
    slo_title,
    slo_used,
    strategy_text,
    timeline_cell,
    timeline_marks,
)
from faultkit.testing.strategies import faults
from tests.scenario.report.examples import LOAD
from tests.scenario.report.measured import SLOW, added, fault, load_item, report_of
from tests.scenario.report.sample_parser import parse_report

LATENCY = Slo("latency", "fast", 95, 200)
ERROR = Slo("error", "sound", 99, 1)
AVAILABILITY = Slo("availability", "there", 99, None)


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (SloResult(LATENCY, True, 122.5, 77.5, 0, 31), "Below by 77.5ms"),
        (SloResult(LATENCY, False, 269.3, -69.3, 15, 31), "Above by 69.3ms"),
        (SloResult(ERROR, True, 0.0, 1.0, 0, 31), "Below by 1.00%"),
        (SloResult(ERROR, False, 3.0, -2.0, 1, 31), "Above by 2.00%"),
        (SloResult(AVAILABILITY, True, 100.0, 1.0, 0, 31), "Above by 1.00%"),
        (SloResult(AVAILABILITY, False, 97.0, -2.0, 1, 31), "Below by 2.00%"),
        (SloResult(LATENCY, False, None, None, 31, 31, "no answer"), "-"),
        (SloResult(AVAILABILITY, None, 99.5, 0.5, 1, 200, "dropped"), "-"),
    ],
)
def test_a_margin_shows_the_side_of_the_limit(result: SloResult, text: str) -> None:
    assert margin_text(result) == text


def test_an_objective_without_an_answer_is_shown_with_its_warning_everywhere() -> None:
    warning = "300 of 300 requests failed: at 95% there is no answer."
    lost = SloResult(LATENCY, False, None, None, 300, 300, warning)
    item = replace(LOAD.items[0], slos=(lost,), verdict="failed")
    report = report_of(item)
    assert slo_measured(lost) == "p95 without answer"
    (row,) = parse_report(render_markdown(report)).scenarios[0].items[0].slos
    assert (row["Pass?"], row["Margin"]) == ("❌", "-")
    assert warning in render_markdown(report)
    assert warning in " ".join(render_text(report).split())
    assert warning in render_html(report)
    assert "fast: p95 without answer." in {finding.remark.much for finding in review_report(report).findings}


@pytest.mark.parametrize(
    ("strategy", "text", "original"),
    [
        (
            ReportedStrategy("load", duration_s=10, clients=1, rps=3),
            "load for 10s with 1 client @ 3 RPS",
            "load for 10s with 1 clients @ 3 RPS",
        ),
        (
            ReportedStrategy("load", duration_s=10, clients=2),
            "load for 10s with 2 clients, as fast as may be",
            "load for 10s with 2 clients, as fast as may be",
        ),
        (
            ReportedStrategy("repeat", count=1, step=5),
            "repeat 1 time with a step of 5",
            "repeat 1 times with a step of 5",
        ),
    ],
)
def test_singular_and_plural_differ_except_in_the_originals_words(
    strategy: ReportedStrategy, text: str, original: str
) -> None:
    assert strategy_text(strategy) == text
    assert strategy_text(strategy, original=True) == original


def test_markdown_keeps_the_words_of_the_original_and_the_others_do_not() -> None:
    report = report_of(load_item(added(120), fault(SLOW, 20), duration_s=1, rps=20))
    assert "with 1 clients @" in render_markdown(report)
    assert "with 1 client @" in render_text(report)
    assert "with 1 client @" in render_html(report)


def test_an_interval_that_too_few_requests_give_is_none() -> None:
    report = report_of(load_item(added(120), fault(SLOW, 400), duration_s=20, rps=20))
    tables = {
        line.split("|")[1].strip(): line.split("|")[3].strip()
        for line in render_markdown(report).splitlines()
        if line.startswith("| p") and line.count("|") == 5
    }
    assert tables["p99.9"] == "too few to say"
    assert " to " in tables["p50"]
    assert tables["p50"] != "too few to say"
    few = report_of(load_item(added(120), fault(SLOW, 10), duration_s=1, rps=10))
    lines = [line.split() for line in render_text(few).splitlines() if line.strip().startswith("p99 ")]
    assert [" ".join(line[2:6]) for line in lines if len(line) == 7] == ["too few to say"]


def test_a_difference_without_an_interval_shows_none() -> None:
    few = report_of(load_item(added(120), fault(SLOW, 10), duration_s=1, rps=10))
    rows = [line for line in render_markdown(few).splitlines() if line.endswith("too few requests |")]
    assert rows
    assert all(row.split("|")[5].strip() == "-" for row in rows)


# Descriptions of faults: the original's forms to the letter, every fault of the table, and the timeline


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (Jitter(amplitude_ms=150, frequency_hz=5), "Jitter: ➡️🖧Amplitude: 150.00ms, Frequence 5.00Hz"),
        (
            Latency(mean_ms=80, stddev_ms=5),
            "Latency: ➡️🖧, Per Read/Write Op.: false, Mean: 80.00 ms, Stddev: 5.00 ms",
        ),
        (
            Latency(distribution="uniform", per="operation", min_ms=10, max_ms=20.5),
            "Latency: ➡️🖧, Per Read/Write Op.: true, Distribution: uniform, Min: 10.00 ms, Max: 20.50 ms",
        ),
        (
            Latency(distribution="pareto", shape=1.5, scale_ms=20),
            "Latency: ➡️🖧, Per Read/Write Op.: false, Distribution: pareto, Shape: 1.50, Scale: 20.00 ms",
        ),
        (Bandwidth(rate=512, unit="KBps"), "Bandwidth: ➡️🖧, Rate: 512 KBps"),
        (Bandwidth(burst_bytes=10), "Bandwidth: ➡️🖧, Rate: 1000 Bps, Burst: 10 bytes"),
        (PacketLoss(rate=0.05), "Packet Loss: ➡️🖧, Model: random, Rate: 5%"),
        (PacketLoss(model="five-state"), "Packet Loss: ➡️🖧, Model: five-state"),
        (Blackhole(), "Blackhole: ➡️🖧, Mode: stall"),
        (LimitData(), "Limit Data: ➡️🖧, Bytes: 1024"),
        (Refuse(), "Refuse"),
        (Dns(), "DNS: Outcome: fail"),
        (HttpError(status=503, body="sorry\nno"), "HTTP Error: Status: 503, Body: sorry no"),
        (HttpError(body="password=TOPSECRETD"), "HTTP Error: Status: 500, Body: password=xxxxxx"),
    ],
)
def test_a_fault_is_described_in_a_few_words(fault: Fault, text: str) -> None:
    assert describe_rule(Rule("rule", fault), fault.kind) == text


@pytest.mark.parametrize(
    ("side", "direction", "glyph"),
    [
        ("server", "ingress", "➡️🖧"),
        ("server", "egress", "⬅️🖧"),
        ("server", "both", "↔️🖧"),
        ("client", "ingress", "🖥️⬅️"),
        ("client", "egress", "🖥️➡️"),
        ("client", "both", "🖥️↔️"),
    ],
)
def test_the_glyph_shows_side_and_direction(side: Side, direction: Direction, glyph: str) -> None:
    rule = Rule("rule", Blackhole(), match=Match(side=side, direction=direction))
    assert describe_rule(rule, "blackhole") == f"Blackhole: {glyph}, Mode: stall"


def test_a_description_has_match_and_trigger_but_no_header_value() -> None:
    match = Match(method=("GET", "PUT"), path="/api/*", headers=(("Authorization", "Bearer s3cret"),))
    rule = Rule("rule", HttpError(), match=match, trigger=Trigger(0.05, first=9, after=2, every=3))
    assert describe_rule(rule, "httperror") == (
        "HTTP Error: Status: 500, Method: GET, PUT, Path: /api/*, Headers: Authorization, "
        "Probability: 5%, After: 2, First: 9, Every: 3"
    )


def test_another_name_in_the_users_file_is_the_title() -> None:
    assert describe_rule(Rule("rule", Refuse()), "no-service") == "No Service"


@pytest.mark.parametrize("kind", NETWORK_FAULTS)
@given(data=st.data())
def test_every_fault_of_the_table_has_a_description_of_one_line(kind: str, data: st.DataObject) -> None:
    fault = data.draw(faults(NETWORK_FAULTS[kind]))
    text = describe_rule(Rule("rule", fault), kind)
    assert text.isprintable()
    assert text.split(":", 1)[0].lower().replace(" ", "_") == kind
    assert ("🖧" in text) == isinstance(fault, StreamFault)


def test_faults_of_llm_apis_have_descriptions() -> None:
    for kind in LLM_FAULTS:
        text = describe_rule(Rule("rule", LLM_FAULTS[kind]()), kind)
        assert text.partition(":")[0].lower().replace(" ", "_") == kind
    rule = Rule("rule", CleanEnd(after_tokens=2), Match(model="gpt-*", streamed=True))
    assert describe_rule(rule, "clean_end") == "Clean End: After Tokens: 2, Model: gpt-*, Streamed: true"


@pytest.mark.parametrize("kind", PROXY_FAULTS)
def test_a_description_shows_settings_that_differ_from_the_default(kind: str) -> None:
    fault = PROXY_FAULTS[kind]()
    plain = describe_rule(Rule("rule", fault), kind)
    for name, value in (("delay_ms", 77.5), ("after_bytes", 4321), ("timeout_ms", 77.5), ("rate", 0.775)):
        if name in PROXY_FAULTS[kind].settings():
            assert describe_rule(Rule("rule", replace(fault, **{name: value})), kind) != plain


@pytest.mark.parametrize(
    ("windows", "marks"),
    [
        (((0.0, 1.0),), "xxxxxxxxxx"),
        ((), ".........."),
        (((0.1, 0.25), (0.4, 0.55), (0.7, 0.85)), ".xx.xx.xx."),
        (((0.2, 0.1 + 0.2),), "..x......."),
        (((0.45, 0.451),), "....x....."),
        (((0.999, 1.0),), ".........x"),
        (((1.0, 1.2),), ".........x"),
        (((0.5, 0.5),), ".........."),
    ],
)
def test_the_bar_marks_each_tenth_in_which_the_fault_acted(
    windows: tuple[tuple[float, float], ...], marks: str
) -> None:
    assert timeline_marks(windows) == marks
    assert timeline_cell(windows) == f"0% `{marks}` 100%"


UNTITLED_LATENCY = Slo("latency", "", 95, 200)


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (SloResult(UNTITLED_LATENCY, True, 150.0, 50.0, 0, 200), "p95 150 ms"),
        (SloResult(UNTITLED_LATENCY, False, None, None, 20, 200), "p95 without answer"),
        (SloResult(UNTITLED_LATENCY, None, None, None, 0, 0), "nothing to judge"),
        (SloResult(Slo("error", "", 99, 1), False, 2.5, -1.5, 5, 200), "2.5 % errors"),
    ],
)
def test_the_measured_value_is_shown_in_a_few_words(result: SloResult, text: str) -> None:
    assert slo_measured(result) == text


@pytest.mark.parametrize(
    ("kind", "threshold", "measured", "objective", "said"),
    [
        ("first_event", 300.0, 250.0, "95% < 300ms", "first event p95 250 ms"),
        ("gap", 300.0, 250.0, "95% < 300ms", "gap p95 250 ms"),
        ("early_end", 5.0, 2.5, "95% < 5%", "2.5 % early ends"),
        ("tool_error", 5.0, 2.5, "95% < 5%", "2.5 % tool errors"),
        ("time_to_first_token", 300.0, 250.0, "95% < 300ms", "time to first token p95 250 ms"),
        ("refusal", 5.0, 2.5, "95% < 5%", "2.5 % refusals"),
    ],
)
def test_objectives_of_streams_and_tools_in_words(
    kind: SloKind, threshold: float, measured: float, objective: str, said: str
) -> None:
    slo = Slo(kind, "", 95.0, threshold)
    result = SloResult(slo, True, measured, threshold - measured, 0, 100)
    assert objective_text(slo) == objective
    assert slo_measured(result) == said
    assert slo_used(result) == measured
    assert slo_limit(slo) == threshold
    assert slo_title(slo) == f"{kind} {objective}"
    unit = "%" if kind in ("early_end", "tool_error", "refusal") else "ms"
    assert margin_text(result).startswith("Below by ")
    assert margin_text(result).endswith(unit)
