"""Objectives as rules for Prometheus, as OpenSLO and for Sloth: names of fields, and queries that parse."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from faultkit.code.slos import MetricChoice, all_objectives, objectives_of
from faultkit.code.slos.budget import budget_words, burn_rates
from faultkit.code.slos.exporters import EXPORTERS
from faultkit.code.slos.indicators import promql_problem
from faultkit.code.slos.rule_files import FORMATS, name_of, rules_text
from tests.code.slos.support import APP

SERVICE = "shop"
TEXT = (
    APP + "\n\n@app.post('/orders/{id}')\ndef add(id):\n    return 1\n\n\n@app.task\ndef send(order): ...\n"
)
NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


def documents(format_: str, exporter: str = "") -> list[Any]:
    found = all_objectives(TEXT, "python", metrics=MetricChoice(exporter=exporter))
    return list(yaml.safe_load_all(rules_text(found, format_, SERVICE)))


def rules(exporter: str = "") -> list[dict[str, Any]]:
    (document,) = documents("prometheus", exporter)
    assert list(document) == ["groups"]
    return [rule for group in document["groups"] for rule in group["rules"]]


def test_all_functions_that_are_called_from_outside_have_objectives() -> None:
    more = "\n\ndef helper(): ...\n\n\ndef nightly_report(): ...\n\n\ndef main(): ...\n"
    found = all_objectives(TEXT + more, "python")
    assert [(each.entry.kind, each.entry.name) for each in found] == [
        ("request", "index"),
        ("request", "add"),
        ("message", "send"),
    ]


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_every_expression_parses(exporter: str) -> None:
    expressions = [each["expr"] for each in rules(exporter)]
    assert [(each, promql_problem(each)) for each in expressions if promql_problem(each)] == []


def test_rules_have_the_fields_of_prometheus() -> None:
    (document,) = documents("prometheus")
    names = [group["name"] for group in document["groups"]]
    assert len(set(names)) == len(names)
    for group in document["groups"]:
        assert set(group) <= {"name", "interval", "rules"}
    for rule in rules():
        known = (
            {"expr", "labels", "record"}
            if "record" in rule
            else {"expr", "labels", "alert", "for", "annotations"}
        )
        assert set(rule) <= known
        assert rule["labels"]["service"] == SERVICE


def test_a_budget_is_recorded_and_burn_rates_alert() -> None:
    mine = [each for each in rules() if each["labels"]["slo"] == "get-availability"]
    assert [each["record"] for each in mine if "record" in each] == [
        *(
            f"slo:sli_error:ratio_rate{window}"
            for window in ("5m", "30m", "1h", "2h", "6h", "1d", "3d", "28d")
        ),
        "slo:error_budget:remaining_ratio",
    ]
    assert mine[0]["expr"] == (
        '(sum(rate(http_requests_total{handler="/",method="GET",status=~"5.."}[5m])) or vector(0))'
        ' / sum(rate(http_requests_total{handler="/",method="GET"}[5m]))'
    )
    burning = [each for each in mine if each.get("alert") == "SloBudgetBurn"]
    assert [(each["labels"]["severity"], each["labels"]["window"]) for each in burning] == [
        ("page", "1h"),
        ("page", "6h"),
        ("ticket", "1d"),
        ("ticket", "3d"),
    ]
    selects = '{slo="get-availability",service="shop"}'
    assert burning[0]["expr"] == (
        f"(slo:sli_error:ratio_rate1h{selects} > 0.0144) and (slo:sli_error:ratio_rate5m{selects} > 0.0144)"
    )
    (silent,) = (each for each in mine if each.get("alert") == "SloNoData")
    assert silent["expr"] == f"absent(slo:sli_error:ratio_rate1h{selects})"


def test_latency_counts_what_is_not_in_its_bucket() -> None:
    first = next(each for each in rules() if each["labels"]["slo"] == "get-latency-p95")
    selects = 'handler="/",method="GET"'
    assert first["expr"] == (
        f'1 - (sum(rate(http_request_duration_seconds_bucket{{{selects},le="0.3"}}[5m]))'
        f" / sum(rate(http_request_duration_seconds_count{{{selects}}}[5m])))"
    )


def test_the_error_rate_is_left_out_where_it_is_the_availability_again() -> None:
    slos = documents("sloth")[0]["slos"]
    assert [each["name"] for each in slos] == [
        "get-latency-p95",
        "get-latency-p99",
        "get-availability",
        "post-orders-id-latency-p95",
        "post-orders-id-latency-p99",
        "post-orders-id-availability",
        "send-latency-p95",
        "send-latency-p99",
        "send-availability",
        "send-error",
    ]


def test_sloth_has_its_published_fields() -> None:
    (document,) = documents("sloth")
    assert list(document) == ["version", "service", "slos"]
    assert (document["version"], document["service"]) == ("prometheus/v1", SERVICE)
    for each in document["slos"]:
        assert list(each) == ["name", "objective", "description", "sli", "alerting"]
        assert list(each["sli"]["events"]) == ["error_query", "total_query"]
        assert list(each["alerting"]) == ["name", "annotations", "page_alert", "ticket_alert"]
        for query in each["sli"]["events"].values():
            assert "[{{.window}}]" in query
            assert promql_problem(query.replace("{{.window}}", "5m")) is None


def queries(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from [inner] if key == "query" else queries(inner)


def test_openslo_has_its_published_fields() -> None:
    service, *slos = documents("openslo")
    assert service == {
        "apiVersion": "openslo/v1", "kind": "Service", "metadata": {"name": SERVICE}, "spec": {},
    }  # fmt: skip
    for each in slos:
        assert (each["apiVersion"], each["kind"]) == ("openslo/v1", "SLO")
        assert NAME.fullmatch(each["metadata"]["name"])
        spec = each["spec"]
        assert list(spec) == [
            "description", "service", "indicator", "timeWindow", "budgetingMethod", "objectives",
        ]  # fmt: skip
        assert len(spec["description"]) <= 1050
        assert spec["service"] == SERVICE
        assert spec["timeWindow"] == [{"duration": "28d", "isRolling": True}]
        assert spec["budgetingMethod"] == "Occurrences"
        assert 0 < spec["objectives"][0]["target"] < 1
        ratio = spec["indicator"]["spec"]["ratioMetric"]
        assert list(ratio) in (["counter", "good", "total"], ["counter", "bad", "total"])
        assert [promql_problem(query) for query in queries(ratio)] == [None, None]


@pytest.mark.parametrize("format_", FORMATS)
def test_names_are_unique_and_short(format_: str) -> None:
    routes = "".join(f"@app.get('/{'a' * 100}/{place}')\ndef f{place}(): ...\n" for place in range(3))
    text = rules_text(all_objectives(routes, "python"), format_, "My Shop!")
    names = set(re.findall(r"name: (a?get-\S+|my-shop)", text))
    assert all(NAME.fullmatch(each.removeprefix("slo-")) for each in names)
    assert "my-shop" in text


@pytest.mark.parametrize(("text", "name"), [("GET /a/{id}", "get-a-id"), ("/", ""), ("Ä" * 3, "")])
def test_a_name_has_only_letters_digits_and_dashes(text: str, name: str) -> None:
    assert name_of(text) == name


def test_the_comments_say_what_is_needed() -> None:
    text = rules_text([objectives_of(APP, "python")], "prometheus", SERVICE)
    assert "# Names of prometheus-fastapi-instrumentator (assumed for fastapi)." in text


def test_burn_rates_that_cannot_be_reached_are_left_out() -> None:
    assert [each.factor for each in burn_rates(99.9)] == [14.4, 6, 3, 1]
    assert [each.factor for each in burn_rates(90.0)] == [6, 3, 1]


def test_a_budget_in_words() -> None:
    assert budget_words(99.5, "request", "fail") == (
        "99.5 % over 28 days: 1 in 200 requests may fail, or all for 3h 21m"
    )
    assert budget_words(97.0, "job", "fail").startswith("97 % over 28 days: 3 in 100 runs may fail")


def test_names_of_objectives_and_indicators_are_unique_and_short() -> None:
    start = "/organisations/{organisation}/projects/{project}/environments"
    text = "".join(f"@app.get('{start}/{each}')\ndef f{each}(): ...\n" for each in range(12))
    _, *slos = yaml.safe_load_all(rules_text(all_objectives(text, "python"), "openslo", SERVICE))
    for names in (
        [each["metadata"]["name"] for each in slos],
        [each["spec"]["indicator"]["metadata"]["name"] for each in slos],
    ):
        assert len(set(names)) == len(slos) == 36
        assert all(map(NAME.fullmatch, names))
