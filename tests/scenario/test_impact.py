"""An impact run as a scenario of one item, equal to one from a file."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from faultkit.base.address import Endpoint, parse_map
from faultkit.base.errors import InputError
from faultkit.faults import FAULTS
from faultkit.faults.http.http_error import HttpError
from faultkit.faults.stream.latency import Latency
from faultkit.faults.stream.packet_loss import PacketLoss
from faultkit.load.expectation import Expectation
from faultkit.load.load import Load
from faultkit.load.slo import Slo, parse_slo
from faultkit.plan import Match, Rule, Trigger
from faultkit.scenario.impact import SLOS, Impact, scenario_of
from faultkit.scenario.routes import FORWARD, FRONT, routes_of
from faultkit.scenario.scenario_keys import parse_scenario
from faultkit.scenario.scenario_model import HttpCall, LoadStrategy, Scenario, ScenarioItem, WrittenFault
from faultkit.scenario.written_faults import TYPES

URL = "http://localhost:9090"
SLOW = Rule("latency", Latency(mean_ms=300.0), Match(side="client", direction="both"))
FAILING = Rule("http_error", HttpError(status=503), trigger=Trigger(0.5))


def test_the_defaults_are_those_of_the_original() -> None:
    assert scenario_of(Impact(URL, (SLOW,))) == Scenario(
        "Evaluating runtime performance of http://localhost:9090",
        (
            ScenarioItem(
                HttpCall("GET", URL, timeout_s=10.0),
                (WrittenFault("latency", SLOW),),
                LoadStrategy(Load(10.0, 3.0, keep_alive=False), 1, 3.0),
                slos=(
                    Slo("latency", "99% @ 350ms", 99.0, 350.0),
                    Slo("latency", "95% @ 200ms", 95.0, 200.0),
                ),
                expect=Expectation(),
            ),
        ),
    )


def test_an_impact_run_equals_a_scenario_from_a_file() -> None:
    document: dict[str, Any] = {
        "title": f"Evaluating runtime performance of {URL}/todos?id=1",
        "items": [
            {
                "call": {
                    "method": "POST",
                    "url": f"{URL}/todos?id=1",
                    "headers": {"accept": "text/plain", "content-type": "application/json"},
                    "body": '{"a": 1}',
                    "timeout": "2s",
                },
                "context": {
                    "faults": [
                        {
                            "type": "latency",
                            "mean": 300,
                            "stddev": 0,
                            "side": "client",
                            "direction": "both",
                        },
                        {"type": "httperror", "status_code": 503, "probability": 0.5},
                    ],
                    "strategy": {"mode": "load", "duration": "20s", "clients": 5, "rps": 2},
                    "slo": [{"type": "latency", "title": "90% @ 100ms", "objective": 90, "threshold": 100}],
                    "proxy": {
                        "disable_http_proxies": True,
                        "proxies": ["34000=https://jsonplaceholder.typicode.com:443"],
                    },
                },
            }
        ],
    }
    problems: list[InputError] = []
    written = parse_scenario(document, problems)
    assert problems == []
    made = scenario_of(
        Impact(
            f"{URL}/todos?id=1",
            (SLOW, FAILING),
            method="post",
            body='{"a": 1}',
            headers=(("accept", "text/plain"),),
            duration_s=20.0,
            clients=5,
            rps=2.0,
            timeout_s=2.0,
            proxies=(parse_map("34000=https://jsonplaceholder.typicode.com:443"),),
            slos=(parse_slo("latency:90:100ms"),),
        )
    )
    assert made == written


@pytest.mark.parametrize(
    ("kind", "written"), [("packet_loss", "packetloss"), ("http_error", "httperror"), ("jitter", "jitter")]
)
def test_faults_have_the_names_of_scenario_files(kind: str, written: str) -> None:
    (item,) = scenario_of(Impact(URL, (Rule(kind, FAULTS[kind]()),))).items
    assert [fault.written for fault in item.faults] == [written]


def test_every_kind_that_a_scenario_may_have_can_be_measured() -> None:
    for kind in TYPES.values():
        rule = Rule(kind, FAULTS[kind]())
        assert scenario_of(Impact(URL, (rule,))).items[0].faults[0].rule == rule


def test_a_body_is_json_unless_a_header_has_another_content_type() -> None:
    def headers(**given: Any) -> tuple[tuple[str, str], ...]:
        return scenario_of(Impact(URL, (SLOW,), **given)).items[0].call.headers

    assert headers() == ()
    assert headers(body="{}") == (("content-type", "application/json"),)
    assert headers(body="a=1", headers=(("Content-Type", "text/plain"),)) == (("Content-Type", "text/plain"),)


def test_an_empty_body_is_none() -> None:
    assert scenario_of(Impact(URL, (SLOW,))).items[0].call.body is None


@pytest.mark.parametrize(
    ("url", "rule", "through"),
    [
        ("http://localhost:9090", SLOW, FORWARD),
        ("http://localhost:9090", FAILING, FORWARD),
        ("https://localhost:9443", SLOW, FORWARD),
        ("https://localhost:9443", FAILING, FRONT),
    ],
)
def test_without_proxies_the_fault_stands_before_the_app_on_a_free_port(
    url: str, rule: Rule, through: str
) -> None:
    routes = routes_of(scenario_of(Impact(url, (rule,))).items[0])
    assert routes.through == through
    assert [spec.listen for spec in routes.proxies] == [Endpoint("127.0.0.1", 0)]


@pytest.mark.parametrize("url", ["http://localhost:9090", "https://localhost:9443"])
def test_with_proxies_the_app_is_called_directly(url: str) -> None:
    maps = (parse_map("34000=https://api.test:443"), parse_map("34001=db.test:5432"))
    routes = routes_of(scenario_of(Impact(url, (SLOW,), proxies=maps)).items[0])
    assert routes.through is None
    assert [(spec.listen.port, spec.upstream, spec.tls, spec.speaks) for spec in routes.proxies] == [
        (34000, Endpoint("api.test", 443), True, "http"),
        (34001, Endpoint("db.test", 5432), False, "tcp"),
    ]


def test_secrets_of_the_url_are_not_in_the_title() -> None:
    made = scenario_of(Impact(f"{URL}/?token=abc", (SLOW,)))
    assert made.title == f"Evaluating runtime performance of {URL}/?token=xxxxxx"
    assert made.items[0].call.url == f"{URL}/?token=abc"


def test_objectives_may_be_others_or_none() -> None:
    assert scenario_of(Impact(URL, (SLOW,), slos=())).items[0].slos == ()
    assert scenario_of(Impact(URL, (SLOW,))).items[0].slos == SLOS


GOOD = Impact(URL, (SLOW,))
AGAIN = (parse_map("34000=a.test:80"), parse_map("34001=b.test:80"), parse_map("34000=c.test:80"))


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"url": "localhost:9090"}, "url: expected an absolute URL such as"),
        ({"url": "ftp://localhost/"}, "url: expected an absolute URL such as"),
        ({"url": f"{URL}/a b"}, "url: expected a URL with other characters percent-encoded"),
        ({"url": f"{URL}/todos/{{id}}"}, "url: expected a URL whose segments are filled in"),
        ({"url": "http://me:secret@localhost/"}, "url: expected a URL without a user"),
        ({"url": "http://localhost:99999/"}, "url: expected a port from 0 to 65535"),
        ({"url": "http://localhost:0/"}, "url: expected a port from 1 to 65535"),
        ({"method": "GE T"}, "method: expected an HTTP method such as GET"),
        ({"method": "CONNECT"}, "method: expected a method with an answer of its own"),
        ({"headers": (("a b", "c"),)}, "headers: expected a header name"),
        ({"headers": (("Host", "x\ny"),)}, "headers.Host: expected a text on one line"),
        ({"duration_s": 0.0}, "duration: expected more than 0 seconds"),
        ({"rps": 0.0}, "rps: expected more than 0"),
        ({"rps": 1e300, "clients": 10**300}, "rps: expected more than 0 and at most"),
        ({"proxies": AGAIN}, r"proxies\[2\]: expected each map to listen elsewhere, got 127.0.0.1:34000"),
        (
            {"proxies": (parse_map("34000=http://localhost:34000"),)},
            r"proxies\[0\]: expected an upstream elsewhere, got localhost:34000, which is the map itself",
        ),
        ({"proxies": (parse_map("0=a.test:80"),)}, r"proxies\[0\]: expected a port from 1 to 65535"),
        (
            {"proxies": (parse_map("34000=a.test:80"),), "rules": (FAILING,)},
            r"proxies\[0\]: expected a map of HTTP",
        ),
    ],
)
def test_errors_name_the_argument(wrong: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=f"^{problem}"):
        scenario_of(replace(GOOD, **wrong))


def test_packet_loss_keeps_its_settings() -> None:
    rule = Rule("packet_loss", PacketLoss(model="five-state"))
    assert scenario_of(Impact(URL, (rule,))).items[0].faults == (WrittenFault("packetloss", rule),)
