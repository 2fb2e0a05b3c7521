"""The impact tools: arguments, progress of a run, and advice in its result."""

from __future__ import annotations

import contextlib
from dataclasses import fields, replace
from importlib import import_module
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from faultkit.agent_tools.argument_kinds import read_arguments
from faultkit.agent_tools.impact_functions import (
    advice_of,
    impact_of,
    judged,
    judged_report,
    progress_watch,
    structured_of,
)
from faultkit.agent_tools.impact_tools import DEFAULT_SLOS, OUTPUT, UNITS
from faultkit.agent_tools.listed_schemas import input_schema
from faultkit.agent_tools.load_limits import LoadLimits
from faultkit.base.address import parse_map
from faultkit.base.errors import InputError
from faultkit.faults.http.http_error import HttpError
from faultkit.faults.stream import bandwidth
from faultkit.faults.stream.bandwidth import Bandwidth
from faultkit.faults.stream.blackhole import Blackhole
from faultkit.faults.stream.jitter import Jitter
from faultkit.faults.stream.latency import Latency
from faultkit.faults.stream.packet_loss import PacketLoss
from faultkit.load.load import Progress
from faultkit.load.slo import Slo, SloResult, parse_slo
from faultkit.plan import Match, Rule, Trigger
from faultkit.scenario.impact import SLOS, Impact, scenario_of
from faultkit.scenario.report.report_model import Report, Verdict
from faultkit.scenario.report.scenario_markdown import render_markdown
from faultkit.scenario.run_events import ItemBegan, ItemEnded, LoadProgress, PhaseBegan, RunEvent
from tests.agent_tools.impact_app import TOOLS
from tests.scenario.report.examples import FAILED, LOAD, SLOW

URL = "http://localhost:9090"
SEED_UPSTREAM = "https://jsonplaceholder.typicode.com"
SEED_COMMON: dict[str, Any] = {
    "url": URL,
    "method": "GET",
    "body": "",
    "duration": "10s",
    "num_clients": 1,
    "rps": 3,
    "timeout": 10,
    "proxies": [f"34000={SEED_UPSTREAM}:443"],
}
COMMON = Impact(URL, (), proxies=(parse_map(f"34000={SEED_UPSTREAM}:443"),))


def asked(kind: str, **arguments: Any) -> Impact:
    return impact_of(kind, read_arguments(TOOLS[kind], arguments))


def rule_of(kind: str, **arguments: Any) -> Rule:
    (rule,) = asked(kind, url=URL, **arguments).rules
    return rule


INGRESS, EGRESS = Match(), Match(direction="egress")


@pytest.mark.parametrize(
    ("kind", "arguments", "rule"),
    [
        (
            "latency",
            {
                "latency": 300.0,
                "per_read_write_op": False,
                "deviation": 0,
                "direction": "ingress",
                "side": "server",
            },
            Rule("latency", Latency(mean_ms=300.0), INGRESS),
        ),
        (
            "jitter",
            {"amplitude": 50.0, "frequency": 3.0, "direction": "ingress", "side": "server"},
            Rule("jitter", Jitter(amplitude_ms=50.0, frequency_hz=3.0), INGRESS),
        ),
        (
            "bandwidth",
            {"rate": 1024, "unit": "bps", "direction": "egress", "side": "server"},
            Rule("bandwidth", Bandwidth(rate=1024.0, unit="Bps"), EGRESS),
        ),
        (
            "packet_loss",
            {"direction": "egress", "side": "server"},
            Rule("packet_loss", PacketLoss(model="five-state"), EGRESS),
        ),
        ("blackhole", {"direction": "egress", "side": "server"}, Rule("blackhole", Blackhole(), EGRESS)),
        (
            "http_error",
            {"status_code": 503, "probability": 0.5, "error_body": "no"},
            Rule("http_error", HttpError(status=503, body="no"), trigger=Trigger(0.5)),
        ),
    ],
)
def test_the_calls_of_the_documentation_are_read_as_documented(
    kind: str, arguments: dict[str, Any], rule: Rule
) -> None:
    made = asked(kind, **SEED_COMMON, **arguments)
    assert made.rules == (rule,)
    assert made == Impact(URL, (rule,), proxies=COMMON.proxies)


@pytest.mark.parametrize(
    ("kind", "rule"),
    [
        ("latency", Rule("latency", Latency())),
        ("jitter", Rule("jitter", Jitter())),
        ("bandwidth", Rule("bandwidth", Bandwidth())),
        ("packet_loss", Rule("packet_loss", PacketLoss(model="five-state"))),
        ("blackhole", Rule("blackhole", Blackhole(), EGRESS)),
        ("http_error", Rule("http_error", HttpError())),
    ],
)
def test_only_the_url_must_be_given_and_the_rest_is_the_vocabularys(kind: str, rule: Rule) -> None:
    assert input_schema(TOOLS[kind])["required"] == ["url"]
    assert asked(kind, url=URL) == Impact(URL, (rule,))


def test_the_documentations_placeholders_count_as_not_given() -> None:
    blank = {
        "method": "",
        "body": "",
        "direction": "",
        "side": "",
        "duration": "",
        "num_clients": "",
        "rps": "",
    }
    assert asked("blackhole", url=URL, **blank, timeout=10, proxies=[]) == asked("blackhole", url=URL)
    # The original documentation of jitter names the arguments of bandwidth.
    assert asked("jitter", url=URL, **blank, rate=0, unit="bps") == asked("jitter", url=URL)


def test_numbers_may_come_as_text() -> None:
    made = asked("latency", url=URL, num_clients="5", rps="2", timeout="1.5", latency="300", deviation="20")
    assert (made.clients, made.rps, made.timeout_s) == (5, 2.0, 1.5)
    assert made.rules[0].fault == Latency(mean_ms=300.0, stddev_ms=20.0)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("10s", 10.0), ("1m 30s", 90.0), ("250ms", 0.25), ("10", 10.0), (10, 10.0), (0.5, 0.5)],
)
def test_durations(text: object, seconds: float) -> None:
    assert asked("latency", url=URL, duration=text).duration_s == seconds


@pytest.mark.parametrize(
    ("unit", "meant"),
    [
        *(("bps", "Bps"), ("BPS", "Bps"), ("Bps", "Bps"), ("kbps", "KBps"), ("KBps", "KBps")),
        *(("MBPS", "MBps"), ("gbps", "GBps"), ("kbit", "kbit"), ("Mbit", "mbit")),
    ],
)
def test_units_of_bandwidth_in_any_case(unit: str, meant: Any) -> None:
    assert rule_of("bandwidth", rate=5, unit=unit).fault == Bandwidth(rate=5.0, unit=meant)


def test_a_rate_of_loss_makes_losses_independent() -> None:
    assert rule_of("packet_loss", rate=0.05).fault == PacketLoss(rate=0.05)


def test_latency_for_every_operation() -> None:
    assert rule_of("latency", per_read_write_op="true").fault == Latency(per="operation")


def test_side_and_direction() -> None:
    assert rule_of("latency", side="Client", direction="BOTH").match == Match(side="client", direction="both")


@pytest.mark.parametrize(
    ("text", "slo"),
    [
        ("99% < 350ms", "latency:99:350ms"),
        ("p95 < 200 ms", "latency:95:200ms"),
        ("99% @ 350ms", "latency:99:350ms"),
        ("99.9 % <= 1.5s", "latency:99.9:1.5s"),
        ("95% under 200 ms", "latency:95:200ms"),
        ("latency:95:200ms", "latency:95:200ms"),
        ("latency:95:200ms@5s", "latency:95:200ms@5s"),
        ("99% < 1%", "error:99:1%"),
        ("99% < 0.5% errors", "error:99:0.5%"),
        ("error:99:1%", "error:99:1%"),
        ("99.9% available", "availability:99.9"),
        ("availability:99.9:500ms", "availability:99.9:500ms"),
    ],
)
def test_objectives_as_people_and_reports_write_them(text: str, slo: str) -> None:
    assert asked("latency", url=URL, slos=[text]).slos == (parse_slo(slo),)


def test_the_default_objectives_are_the_scenarios() -> None:
    assert asked("latency", url=URL).slos == SLOS
    assert asked("latency", url=URL, slos=list(DEFAULT_SLOS)).slos == SLOS
    assert asked("latency", url=URL, slos=[]).slos == ()
    assert {slo.title for slo in SLOS} == {"99% @ 350ms", "95% @ 200ms"}
    assert all(isinstance(slo, Slo) for slo in SLOS)


@pytest.mark.parametrize(
    ("kind", "arguments", "problem"),
    [
        ("latency", {"direction": "up"}, "direction: expected one of ingress, egress, both"),
        ("latency", {"side": "middle"}, "side: expected one of client, server"),
        ("latency", {"duration": "soon"}, "duration: expected a duration such as"),
        ("latency", {"duration": "0s"}, "duration: expected a duration such as"),
        ("latency", {"duration": -1}, "duration: expected a duration such as"),
        ("latency", {"duration": True}, "duration: expected a duration such as"),
        ("latency", {"num_clients": 0}, "num_clients: expected a whole number of at least 1"),
        ("latency", {"rps": 0}, "rps: expected a number above 0"),
        ("latency", {"timeout": "soon"}, "timeout: expected a number above 0"),
        ("latency", {"latency": -1}, "latency: expected a number of at least 0"),
        ("latency", {"proxies": "34000=a:80"}, "proxies: expected a list"),
        ("latency", {"proxies": ["34000"]}, 'proxies[0]: expected PORT=HOST:PORT such as "9090='),
        ("latency", {"proxies": ["1=a:80", 7]}, "proxies[1]: expected a text such as"),
        ("latency", {"slos": ["fast"]}, "slos[0]: expected an objective such as"),
        ("latency", {"slos": ["100% < 5ms"]}, "slos[0]: expected more than 0 and less than 100 percent"),
        ("latency", {"slos": ["99% < 5 parsecs"]}, "slos[0]: expected a duration with its unit"),
        ("latency", {"headers": {"a": 1}}, "headers: expected an object of names and texts"),
        ("latency", {"seed": 1.5}, "seed: expected a whole number of at least 0 or a text"),
        ("latency", {"amplitude": 5}, '"amplitude": expected no such argument'),
        ("bandwidth", {"unit": "furlongs"}, "unit: expected one of bps, kbps"),
        ("bandwidth", {"rate": 1e-9}, "rate: expected 0.001 to 1e+15 bytes a second"),
        ("packet_loss", {"rate": 5}, "rate: expected a number from 0 to 1"),
        ("http_error", {"status_code": 100}, "status_code: expected a whole number from 200 to 599"),
        (
            "http_error",
            {"status_code": 204, "error_body": "x"},
            "error_body: expected nothing with status 204",
        ),
    ],
)
def test_an_error_names_the_wrong_argument(kind: str, arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError) as raised:
        asked(kind, url=URL, **arguments)
    assert str(raised.value).startswith(problem)


def test_units_verdicts_and_fields_are_those_of_the_core() -> None:
    assert {unit.lower() for unit in bandwidth.UNITS} == set(UNITS)
    assert OUTPUT["properties"]["verdict"]["enum"] == list(get_args(Verdict))
    assert set(OUTPUT["properties"]["report"]["properties"]) == {field.name for field in fields(Report)}


@pytest.mark.parametrize("kind", TOOLS)
def test_every_schema_is_one_and_defaults_and_examples_keep_it(kind: str) -> None:
    tool = TOOLS[kind]
    Draft202012Validator.check_schema(tool.output)
    schema = input_schema(tool)
    Draft202012Validator.check_schema(schema)
    for name, each in schema["properties"].items():
        assert each["description"]
        for value in [*each.get("examples", []), *([each["default"]] if "default" in each else [])]:
            Draft202012Validator(each).validate(value)
        for example in each.get("examples", []):
            read_arguments(tool, {"url": URL, name: example})
    module, _, name = tool.run.partition(":")
    assert callable(getattr(import_module(module), name))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize("kind", TOOLS)
@settings(max_examples=25)
@given(data=st.data())
def test_whatever_comes_is_a_scenario_or_an_input_error(kind: str, data: st.DataObject) -> None:
    names = [each.name for each in TOOLS[kind].arguments if each.name != "url"]
    arguments = data.draw(st.dictionaries(st.sampled_from(names), JSON, max_size=4))
    url = data.draw(st.just(URL) | st.text(max_size=20).map("http://".__add__) | st.text(max_size=20))
    with contextlib.suppress(InputError):
        (item,) = scenario_of(asked(kind, url=url, **arguments)).items
        assert item.faults[0].rule.fault.kind == kind


(ITEM,) = scenario_of(Impact("http://localhost/", (SLOW,))).items


def loaded(elapsed_s: float) -> LoadProgress:
    return LoadProgress(Progress(elapsed_s, 3, 2, 1, 1, 0, p95_ms=12.3))


def told(*events: RunEvent, seconds: float) -> list[tuple[float, float | None, str]]:
    found: list[tuple[float, float | None, str]] = []
    watch = progress_watch(lambda done, of, message: found.append((done, of, message)))
    for event in (ItemBegan(1, 1, "", ITEM, seconds), *events):
        watch(event)
    return found


def test_each_half_counts_its_traffic_and_then_the_wait_for_answers() -> None:
    half: list[RunEvent] = [loaded(-0.1), loaded(5.0), loaded(10.0), loaded(11.0), loaded(19.0)]
    before: list[RunEvent] = [PhaseBegan("baseline", 10.0), *half]
    after: list[RunEvent] = [PhaseBegan("faults", 10.0), *half, ItemEnded(LOAD.items[0])]
    found = told(*before, *after, seconds=20.0)
    assert [done for done, _, _ in found] == [0, 0, 4.5, 9, 9.5, 9.9, 10, 10, 14.5, 19, 19.5, 19.9, 20]
    assert {of for _, of, _ in found} == {20.0}
    assert found[1][2] == "without the fault: 2 requests, 1 errors, p95 12 ms"
    assert found[-1][2] == "done: passed"


def test_progress_is_reported_during_a_long_wait() -> None:
    a_second = 5
    waits = [loaded(0.1 + tick / a_second) for tick in range(1, 300)]
    found = [done for done, _, _ in told(PhaseBegan("faults", 0.1), *waits, seconds=0.1)]
    assert all(now < later < 0.1 for now, later in zip(found, found[a_second:], strict=False))


ASKED = Impact("http://localhost:9090/", (SLOW,))
SOUND = LOAD.items[0]
MISSED = replace(SOUND, slos=(SOUND.slos[0], *FAILED.items[0].slos))


def test_a_sound_run_that_keeps_its_objectives_needs_no_word() -> None:
    enough = replace(SOUND, slos=(replace(SOUND.slos[0], total=200),))
    assert advice_of(enough, ASKED, LoadLimits()) == ()


@pytest.mark.parametrize(
    ("objective", "window_s", "clients", "ways"),
    [
        (99, None, 1, "1000: set rps=100 or ask"),
        (99, None, 3, "1000: set rps=34 or ask"),
        (99, 5, 1, "1000: set rps=200 or ask"),
        (99.9, None, 3, "10000: set rps=166 and duration=21s or ask"),
        (99.9, 5, 1, "10000: ask"),
        (99.9999, None, 1, "10000000: ask"),
    ],
)
def test_too_few_requests_for_an_objective_come_with_the_load_that_is_enough(
    objective: float, window_s: float | None, clients: int, ways: str
) -> None:
    slo = Slo("latency", "the slow ones", objective, 350, window_s)
    few = replace(SOUND, slos=(SOUND.slos[0], SloResult(slo, True, 300.0, 50.0, 0, 30)))
    (said,) = advice_of(few, replace(ASKED, clients=clients), LoadLimits())
    assert said == (
        f"30 requests are too few to judge the slow ones well, which wants {ways} for an objective with a "
        "lower percentage."
    )


def test_a_run_that_misses_an_objective_has_failed() -> None:
    found = judged(MISSED)
    assert found.verdict == "failed"
    assert found.reasons == ("missed under the fault: errors < 1%, 99% good (2 of 3 objectives)",)
    whole = judged_report(replace(LOAD, scenarios=(replace(LOAD.scenarios[0], items=(MISSED,)),)))
    assert [item.verdict for item in whole.items] == ["failed"]
    assert "| Failed" in render_markdown(whole)
    assert told(ItemEnded(MISSED), seconds=1.0)[-1][2] == "done: failed"


def test_a_run_whose_objectives_were_kept_has_passed_and_other_verdicts_stay() -> None:
    assert judged(SOUND) == SOUND
    for verdict in ("inconclusive", "not exercised", "unfinished"):
        assert judged(replace(MISSED, verdict=verdict)).verdict == verdict


def test_a_run_without_a_judgement_or_with_a_broken_baseline_is_inconclusive() -> None:
    unknown = replace(SOUND, slos=(replace(SOUND.slos[0], passed=None),))
    assert judged(unknown).verdict == "inconclusive"
    run = FAILED.items[0].run
    dead = replace(MISSED, baseline=replace(run, requests=15, errors=15))
    assert judged(dead).verdict == "inconclusive"
    assert judged(dead).reasons[0].startswith("without any fault 15 of 15 requests (100 %) failed already")


def test_a_service_that_fails_without_a_fault_is_a_warning() -> None:
    failing = replace(SOUND, baseline=FAILED.items[0].run)
    (warning, *_) = structured_of(failing, (), "", {}, "1")["warnings"]
    assert warning.startswith("Without any fault: 12 of 160 requests (7.5 %) failed")
