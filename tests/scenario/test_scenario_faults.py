"""Faults as scenario files write them, and the rules that they become."""

from __future__ import annotations

from typing import Any

import pytest

from faultkit.base.errors import InputError
from faultkit.faults import PROXY_FAULTS
from faultkit.faults.connection.dns import Dns
from faultkit.faults.connection.refuse import Refuse
from faultkit.faults.fault import Fault
from faultkit.faults.http.http_error import HttpError
from faultkit.faults.llm.clean_end import CleanEnd
from faultkit.faults.stream.bandwidth import Bandwidth
from faultkit.faults.stream.blackhole import Blackhole
from faultkit.faults.stream.jitter import Jitter
from faultkit.faults.stream.latency import Latency
from faultkit.faults.stream.packet_loss import PacketLoss
from faultkit.faults.stream.reset import Reset
from faultkit.plan import Match, Rule, Schedule, Trigger, parse_schedule
from faultkit.scenario.scenario_model import WrittenFault
from faultkit.scenario.written_faults import TYPES, parse_fault


def rule_of(**document: Any) -> Rule:
    problems: list[InputError] = []
    found = parse_fault(document, "faults[0]", problems, set())
    assert problems == []
    assert found is not None
    assert found.written == document["type"]
    return found.rule


def problems_of(document: object) -> list[str]:
    problems: list[InputError] = []
    assert parse_fault(document, "faults[0]", problems, set()) is None
    return [str(problem) for problem in problems]


@pytest.mark.parametrize(
    ("document", "fault"),
    [
        ({"type": "latency"}, Latency(mean_ms=100, stddev_ms=20)),
        ({"type": "latency", "mean": 5, "stddev": 0}, Latency(mean_ms=5)),
        ({"type": "latency", "mean_ms": 5, "stddev_ms": 1.5}, Latency(mean_ms=5, stddev_ms=1.5)),
        ({"type": "latency", "global": True}, Latency(mean_ms=100, stddev_ms=20)),
        ({"type": "latency", "global": False}, Latency(mean_ms=100, stddev_ms=20, per="operation")),
        ({"type": "latency", "per": "operation"}, Latency(mean_ms=100, stddev_ms=20, per="operation")),
        ({"type": "latency", "mean": None, "period": None}, Latency(mean_ms=100, stddev_ms=20)),
        (
            {"type": "latency", "distribution": "uniform", "max": 50},
            Latency(distribution="uniform", min_ms=20, max_ms=50),
        ),
        (
            {"type": "latency", "distribution": "uniform", "min": 5, "max_ms": 50},
            Latency(distribution="uniform", min_ms=5, max_ms=50),
        ),
        (
            {"type": "latency", "distribution": "pareto", "scale": 5},
            Latency(distribution="pareto", shape=20, scale_ms=5),
        ),
        (
            {"type": "latency", "distribution": "pareto_normal", "shape": 3},
            Latency(distribution="pareto-normal", mean_ms=100, stddev_ms=20, shape=3, scale_ms=20),
        ),
        ({"type": "jitter", "amplitude": 80, "frequency": 8}, Jitter(80, 8)),
        ({"type": "jitter"}, Jitter()),
        ({"type": "bandwidth", "rate": 512, "unit": "KBps"}, Bandwidth(512, "KBps")),
        (
            {"type": "bandwidth", "rate": 1, "unit": "mbit", "scope": "proxy"},
            Bandwidth(1, "mbit", 0, "proxy"),
        ),
        ({"type": "packetloss"}, PacketLoss("five-state")),
        ({"type": "packetloss", "rto_ms": 100}, PacketLoss("five-state", rto_ms=100)),
        ({"type": "packetloss", "rate": 0.1}, PacketLoss("random", 0.1)),
        ({"type": "packet_loss"}, PacketLoss()),
        ({"type": "blackhole", "mode": "discard"}, Blackhole("discard")),
        ({"type": "httperror", "status_code": 503, "body": "no"}, HttpError(503, "no")),
        ({"type": "http_error", "status": 503}, HttpError(503)),
        ({"type": "dns", "delay_ms": 5}, Dns(delay_ms=5)),
        ({"type": "reset"}, Reset()),
        ({"type": "refuse"}, Refuse()),
    ],
)
def test_a_type_and_its_settings_are_a_fault_of_the_vocabulary(
    document: dict[str, Any], fault: Fault
) -> None:
    assert rule_of(**document) == Rule(fault.kind, fault)


@pytest.mark.parametrize("kind", PROXY_FAULTS)
def test_every_fault_of_the_vocabulary_can_be_written(kind: str) -> None:
    assert TYPES[kind] == kind
    if kind != "latency":
        assert rule_of(type=kind).fault == PROXY_FAULTS[kind]()


def test_where_and_when_stand_beside_the_settings() -> None:
    rule = rule_of(
        type="jitter",
        side="client",
        direction="both",
        probability=0.5,
        first=9,
        after=2,
        every=3,
        period="start:1s,duration:2s;start:8s",
        match={"proxy": "9090"},
    )
    assert rule.match == Match("9090", "client", "both")
    assert rule.trigger == Trigger(0.5, 9, 2, 3)
    assert rule.schedule == parse_schedule("start:1s,duration:2s;start:8s")
    assert len(rule.schedule.periods) == 2
    assert rule_of(type="jitter", period={"start": "1s"}).schedule == parse_schedule("start:1s")


def test_requests_are_matched_for_faults_of_http() -> None:
    rule = rule_of(type="http_delay", match={"method": "PUT", "path": "/a/*", "headers": {"x": "*"}})
    assert rule.match == Match(method="PUT", path="/a/*", headers=(("x", "*"),))


def test_models_are_matched_for_faults_of_llm_apis() -> None:
    rule = rule_of(
        type="clean_end", after_tokens=2, match={"model": "gpt-*", "streamed": True, "path": "/v1/*"}
    )
    assert rule == Rule(
        "clean_end", CleanEnd(after_tokens=2), Match(path="/v1/*", model="gpt-*", streamed=True)
    )


def test_messages_are_matched_for_faults_of_websocket() -> None:
    rule = rule_of(type="ws_drop", match={"path": "/chat", "flow": "to_client", "message": "text"})
    assert rule.match == Match(path="/chat", flow="to_client", message="text")


def test_the_rate_of_dns_is_the_chance_of_a_look_up_to_fail() -> None:
    rule = rule_of(type="dns", rate=0.25)
    assert (rule.fault, rule.trigger, rule.schedule) == (Dns(), Trigger(0.25), Schedule())
    assert rule_of(type="httperror", probability=0.05).trigger == Trigger(0.05)


def test_faults_of_one_kind_get_names_of_their_own() -> None:
    taken: set[str] = set()
    found = [parse_fault({"type": "latency"}, "", [], taken) for _ in range(3)]
    assert [each.rule.name for each in found if isinstance(each, WrittenFault)] == [
        "latency",
        "latency-2",
        "latency-3",
    ]


@pytest.mark.parametrize(
    ("document", "messages"),
    [
        ("latency", ['faults[0]: expected a mapping, got "latency"']),
        ({"type": "lattency"}, ['faults[0].type: unknown fault "lattency"; did you mean "latency"?']),
        (
            {"type": "latency", "meen": 5},
            ['faults[0].meen: unknown key; did you mean "mean"?'],
        ),
        ({"type": "latency", "mean": -1}, ["faults[0].mean: expected a number of at least 0, got -1.0"]),
        (
            {"type": "latency", "mean_ms": "5"},
            ["faults[0].mean_ms: expected a number of at least 0, got '5'"],
        ),
        (
            {"type": "latency", "mean": 1, "mean_ms": 2},
            ['faults[0].mean_ms: expected it or "mean", got both'],
        ),
        ({"type": "latency", "global": "yes"}, ['faults[0].global: expected true or false, got "yes"']),
        (
            {"type": "latency", "global": True, "per": "operation"},
            ['faults[0].per: expected it or "global", got both'],
        ),
        (
            {"type": "latency", "distribution": "uniform", "min": 50},
            ["faults[0].max: expected at least min_ms (50), got 20"],
        ),
        (
            {"type": "latency", "distribution": "flat"},
            [
                "faults[0].distribution: expected one of normal, uniform, pareto, pareto-normal, table, "
                "got 'flat'"
            ],
        ),
        (
            {"type": "bandwidth", "rate": 5, "unit": "Mbps"},
            [
                "faults[0].unit: expected one of Bps, KBps, MBps, GBps, bit, kbit, mbit, gbit, got 'Mbps'",
            ],
        ),
        ({"type": "bandwidth", "rate": -5}, ["faults[0].rate: expected a number above 0, got -5.0"]),
        (
            {"type": "httperror", "status_code": 99},
            ["faults[0].status_code: expected a whole number from 200 to 599, got 99"],
        ),
        ({"type": "dns", "rate": 2}, ["faults[0].rate: expected a number from 0 to 1, got 2"]),
        (
            {"type": "dns", "rate": 1, "probability": 1},
            ['faults[0].probability: expected it or "rate", got both'],
        ),
        ({"type": "jitter", "every": 0}, ["faults[0].every: expected a whole number of at least 1, got 0"]),
        ({"type": "jitter", "side": "up"}, ['faults[0].side: expected one of client, server, got "up"']),
        (
            {"type": "dns", "side": "client"},
            ['faults[0].side: expected only with faults of level stream, got "dns", which is of level name'],
        ),
        (
            {"type": "jitter", "match": {"path": "/x"}},
            [
                'faults[0].match.path: expected only with faults of level http or llm, got "jitter", '
                "which is of level stream"
            ],
        ),
        (
            {"type": "jitter", "match": {"side": "client"}},
            ["faults[0].match.side: unknown key; expected one of proxy, method, path, headers, status"],
        ),
        (
            {"type": "ws_ping_silence", "match": {"message": "text"}},
            [
                "faults[0].match.message: unknown key; "
                "expected one of proxy, method, path, headers, status, flow"
            ],
        ),
        (
            {"type": "rate_limit"},
            [
                'faults[0].type: expected a fault of the network, got "rate_limit", which acts on calls: use '
                "fault gateway or fault mock; llm_rate_limit is the one of LLM APIs"
            ],
        ),
        ({"type": "jitter", "match": "x"}, ['faults[0].match: expected a mapping, got "x"']),
        (
            {"type": "jitter", "period": ["start:1s", {"begin": 1}]},
            ["faults[0].period[1].begin: unknown key; expected one of start, duration, every, times"],
        ),
        (
            {
                "type": "jitter",
                "amplitude": -1,
                "first": 0,
                "side": "up",
                "what": 1,
                "period": {"start": "x"},
            },
            [
                "faults[0].what: unknown key; expected one of type, side, direction, period, probability, "
                "first, after, every, match, amplitude, frequency, amplitude_ms, frequency_hz",
                "faults[0].amplitude: expected a number of at least 0, got -1.0",
                'faults[0].side: expected one of client, server, got "up"',
                "faults[0].first: expected a whole number of at least 1, got 0",
                'faults[0].period.start: expected a duration such as "10s", "250ms", "1h 30m" or a number of '
                'seconds, got "x"',
            ],
        ),
    ],
)
def test_errors_use_the_names_of_the_file(document: object, messages: list[str]) -> None:
    assert problems_of(document) == messages


def test_an_invalid_period_is_an_error_that_shows_the_form_of_a_period() -> None:
    (message,) = problems_of({"type": "jitter", "period": "from:1s"})
    assert message.startswith('faults[0].period: expected periods joined by ";", each of start:T')
    assert message.endswith('got "from:1s"')


def test_a_missing_type_is_answered_with_all_types() -> None:
    (message,) = problems_of({"mean": 5})
    assert message == f"faults[0].type: expected one of {', '.join(TYPES)}, got nothing"
