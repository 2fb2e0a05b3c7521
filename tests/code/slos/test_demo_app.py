"""The objectives of the demo app: the shape of the documented answer, and figures that come from the code."""

from __future__ import annotations

import json
from typing import Any

import jsonschema

from faultkit.code.advice.answers import SLOS
from faultkit.code.slos import suggest_slos
from faultkit.code.slos.indicators import promql_problem
from tests.code.slos.support import APP

SEED_LATENCY: dict[str, Any] = {
    "displayName": "95th percentile latency - 5min",
    "goal": 0.95,
    "calendarPeriod": "NONE",
    "serviceLevelIndicator": {
        "windowsBased": {
            "windowPeriod": "300s",
            "goodTotalRatioThreshold": {
                "basicSliPerformance": {"latency": {"threshold": "0.3s"}},
                "threshold": 0.95,
            },
        }
    },
}
"""The documented answer."""
BUCKETS = 'http_request_duration_seconds_bucket{handler="/",method="GET"}'


def documents() -> list[dict[str, Any]]:
    return [each.document() for each in suggest_slos(APP, "python")]


def test_the_three_types_are_there_and_latency_twice() -> None:
    assert [(each["type"], each["objective"], each["threshold"], each["unit"]) for each in documents()] == [
        ("latency", 95.0, 0.3, "s"),
        ("latency", 99.0, 1.0, "s"),
        ("availability", 99.9, 99.9, "%"),
        ("error", 99.0, 1.0, "%"),
    ]
    assert {each["window"] for each in documents()} == {"300s"}


def test_the_keys_are_those_of_the_documented_answer_in_their_order() -> None:
    for each in documents():
        assert list(each) == [
            "type", "title", "objective", "explanation", "threshold", "unit", "window", "sli",
            "period", "error_budget", "exporter", "needs", "function", "route", "line",
        ]  # fmt: skip
        assert list(each["sli"]) == ["prometheus", "gcp/cloudrun"]
        assert list(each["sli"]["gcp/cloudrun"]) == list(SEED_LATENCY)


def test_the_answer_fits_the_schema_that_a_model_is_held_to() -> None:
    jsonschema.validate(documents(), SLOS)
    assert json.loads(json.dumps(documents())) == documents()


def test_the_indicators_are_queries_by_the_names_of_the_exporter_for_fastapi() -> None:
    assert [each["sli"]["prometheus"] for each in documents()] == [
        f"histogram_quantile(0.95, sum(rate({BUCKETS}[5m])) by (le))",
        f"histogram_quantile(0.99, sum(rate({BUCKETS}[5m])) by (le))",
        'sum(rate(http_requests_total{handler="/",method="GET",status!~"5.."}[5m]))'
        '/sum(rate(http_requests_total{handler="/",method="GET"}[5m]))*100',
        '(sum(rate(http_requests_total{handler="/",method="GET",status=~"5.."}[5m])) or vector(0))'
        '/sum(rate(http_requests_total{handler="/",method="GET"}[5m]))*100',
    ]
    # `sum` takes an instant vector and nothing else.
    assert [promql_problem(f"sum({each['sli']['prometheus']})") for each in documents()] == [None] * 4


def test_the_objective_for_google_is_the_documented_one_with_a_period_that_its_api_takes() -> None:
    assert documents()[0]["sli"]["gcp/cloudrun"] == {**SEED_LATENCY, "calendarPeriod": "MONTH"}


def test_every_objective_for_google_names_its_measurement() -> None:
    measured = [
        each["sli"]["gcp/cloudrun"]["serviceLevelIndicator"]["windowsBased"]["goodTotalRatioThreshold"]
        for each in documents()
    ]
    assert measured[2] == {"basicSliPerformance": {"availability": {}}, "threshold": 0.999}
    requests = 'metric.type="run.googleapis.com/request_count" resource.type="cloud_run_revision"'
    assert measured[3] == {
        "performance": {
            "goodTotalRatio": {
                "badServiceFilter": f'{requests} metric.labels.response_code_class="5xx"',
                "totalServiceFilter": requests,
            }
        },
        "threshold": 0.99,
    }


def test_the_explanations_name_the_call_and_its_line() -> None:
    fast, slow, up, errors = (each["explanation"] for each in documents())
    assert fast == (
        "index answers GET / (FastAPI). "
        "It waits for httpx.get on line 13 (another service over HTTP, 0.25 s). "
        "With 0.05 s for its own work that makes 0.3 s in 95 of 100."
    )
    assert slow == (
        "index may take 1 s in 99 of 100, for it has 0.1 s for its own work and waits for "
        "httpx.get on line 13 (0.8 s). httpx.get on line 13 sets no timeout; only the 5 s of httpx bound it. "
        "In the worst case it waits for 5 s."
    )
    assert "index fails when httpx.get (line 13) fails" in up
    assert "Look at httpx.get (line 13) first." in errors


def test_the_period_is_four_weeks_and_the_budget_is_in_words() -> None:
    assert {each["period"] for each in documents()} == {"28d"}
    assert [each["error_budget"] for each in documents()] == [
        "95 % over 28 days: 1 in 20 requests may take longer than 0.3 s, or all for 1d 9h 36m",
        "99 % over 28 days: 1 in 100 requests may take longer than 1 s, or all for 6h 43m",
        "99.9 % over 28 days: 1 in 1000 requests may fail, or all for 40m",
        "99 % over 28 days: 1 in 100 requests may fail, or all for 6h 43m",
    ]


def test_the_exporter_is_named_with_what_the_query_needs() -> None:
    first, second, up, _ = documents()
    assert (first["exporter"], first["function"], first["route"], first["line"]) == (
        "fastapi", "index", "GET /", 12,
    )  # fmt: skip
    names = "Names of prometheus-fastapi-instrumentator (assumed for fastapi)."
    assert first["needs"] == (
        f"{names} It needs a bucket at 0.3 s: latency_lowr_buckets=(…, 0.3, …) of instrument()."
    )
    assert second["needs"] == up["needs"] == names


def test_the_same_text_has_the_same_answer() -> None:
    assert documents() == documents()
    assert documents() == [each.document() for each in suggest_slos("\ufeff" + APP, "py", function="index")]
