"""The names of metrics and labels by exporter, and how the exporter is chosen."""

from __future__ import annotations

import re

import pytest

from faultkit.base.errors import InputError
from faultkit.code.slos import MetricChoice, SuggestedSlo, all_objectives, suggest_slos
from faultkit.code.slos.exporters import EXPORTERS, buckets_needed, choose_exporter, sent_path_pattern
from faultkit.code.slos.indicators import promql_problem

FASTAPI = "from fastapi import FastAPI\napp = FastAPI()\n@app.get('/users/{id}')\ndef user(id): ...\n"
FLASK = "from flask import Flask\napp = Flask(__name__)\n@app.route('/users/<int:id>')\ndef user(id): ...\n"
EXPRESS = (
    "const express = require('express');\nconst app = express();\n"
    "app.get('/users/:id', (req, res) => res.end());\n"
)
SPRING = 'class A { @GetMapping("/users/{id}") User user(String id) { return null; } }'
GIN = (
    'package main\nimport "github.com/gin-gonic/gin"\nfunc user(c *gin.Context) {}\n'
    'func main() { r := gin.Default(); r.GET("/users/:id", user) }\n'
)
GO = (
    'package main\nimport (\n\t"net/http"\n\t"github.com/prometheus/client_golang/prometheus/promhttp"\n)\n'
    "func user(w http.ResponseWriter, r *http.Request) {}\n"
    'func main() { http.HandleFunc("GET /users/{id}", user); promhttp.Handler() }\n'
)
DJANGO = (
    "from django.urls import path\ndef user(request, id):\n    return 1\n"
    "urlpatterns = [path('users/<int:id>/', user)]\n"
)
GRPC = "class Users:\n    def GetUser(self, request, context):\n        return 1\n"

QUERIES = {
    "fastapi": (
        "python",
        FASTAPI,
        'http_request_duration_seconds_bucket{handler="/users/{id}",method="GET"}',
    ),
    "flask": (
        "python",
        FLASK,
        'flask_http_request_duration_seconds_bucket{path=~"/users/[^/]+",method="GET"}',
    ),
    "express": (
        "javascript",
        EXPRESS,
        'http_request_duration_seconds_bucket{path=~"/users/[^/]+",method="GET"}',
    ),
    "spring": ("java", SPRING, 'http_server_requests_seconds_bucket{uri="/users/{id}",method="GET"}'),
    "gin": (
        "go",
        GIN,
        'http_server_request_duration_seconds_bucket{http_route="/users/:id",http_request_method="GET"}',
    ),
    "go": ("go", GO, 'http_request_duration_seconds_bucket{handler="/users/{id}",method="get"}'),
    "django": ("python", DJANGO, 'http_server_request_duration_seconds_bucket{http_route="users/<int:id>/"}'),
    "grpc": ("python", GRPC, 'grpc_server_handling_seconds_bucket{grpc_method="GetUser"}'),
}


@pytest.mark.parametrize(("language", "text", "selector"), QUERIES.values(), ids=QUERIES)
def test_queries_have_the_names_of_the_exporter_and_the_route_as_its_label_has_it(
    language: str, text: str, selector: str
) -> None:
    found = suggest_slos(text, language)
    assert f"sum(rate({selector}[5m]))" in found[0].prometheus
    assert [promql_problem(each.prometheus) for each in found] == [None] * 4


BAD = {
    "opentelemetry": 'http_server_request_duration_seconds_count{SELECTED,http_response_status_code=~"5..|"}',
    "fastapi": 'http_requests_total{SELECTED,status=~"5.."}',
    "starlette": 'starlette_requests_total{SELECTED,status_code=~"5.."}',
    "flask": 'flask_http_request_duration_seconds_count{SELECTED,status=~"5.."}',
    "express": 'http_request_duration_seconds_count{SELECTED,status_code=~"5.."}',
    "prom-client": 'http_request_duration_seconds_count{SELECTED,status_code=~"5.."}',
    "spring": 'http_server_requests_seconds_count{SELECTED,status=~"5..|UNKNOWN"}',
    "go": 'http_request_duration_seconds_count{SELECTED,code=~"5.."}',
    "grpc": "grpc_server_handled_total{SELECTED,grpc_code=~"
    '"(?i)unknown|internal|unavailable|data_?loss|deadline_?exceeded"}',
}


def by(exporter: str, *, counts_429: bool = False) -> tuple[SuggestedSlo, ...]:
    choice = MetricChoice(exporter=exporter, counts_429=counts_429)
    return suggest_slos(FASTAPI, "python", metrics=choice)


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_server_errors_are_counted_by_each_exporter(exporter: str) -> None:
    errors = by(exporter)[-1]
    bad = re.sub(r"\{.*,(\w+=~)", r"{SELECTED,\1", errors.events.bad)
    assert bad == BAD[exporter]
    assert errors.events.bad in errors.prometheus.replace("[5m]", "")
    assert errors.exporter == exporter
    assert "(as asked for)" in errors.needs


def test_answers_with_429_count_when_asked_for() -> None:
    assert 'status=~"5..|429"' in by("fastapi", counts_429=True)[-1].prometheus
    assert "should_group_status_codes=False" in by("fastapi", counts_429=True)[-1].needs
    assert 'status!~"5..|UNKNOWN|429"' in by("spring", counts_429=True)[2].prometheus


def test_an_unknown_exporter_is_refused() -> None:
    with pytest.raises(InputError, match=r"exporter: expected one of opentelemetry, .*, got 'flsk'; did you"):
        by("flsk")


@pytest.mark.parametrize(
    ("imported", "name"),
    [
        ("from prometheus_fastapi_instrumentator import Instrumentator\n", "fastapi"),
        ("from starlette_exporter import PrometheusMiddleware\n", "starlette"),
        ("from opentelemetry import trace\n", "opentelemetry"),
        ("from opentelemetry import trace\nfrom starlette_exporter import handle_metrics\n", "starlette"),
    ],
)
def test_an_import_decides(imported: str, name: str) -> None:
    found = suggest_slos(imported + FASTAPI, "python")[0]
    assert found.exporter == name
    assert "(the file imports it)" in found.needs


@pytest.mark.parametrize(
    ("framework", "declared", "name"),
    [
        ("fastapi", "opentelemetry-instrumentation-fastapi", "opentelemetry"),
        ("express", "prom-client", "prom-client"),
        ("net/http", "github.com/prometheus/client_golang", "go"),
        ("net/http", "go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp", "opentelemetry"),
        ("grpc", "prom-client", "grpc"),
        ("", "httpx", "opentelemetry"),
    ],
)
def test_a_declared_dependency_decides_before_the_framework(framework: str, declared: str, name: str) -> None:
    assert choose_exporter(framework, "", {declared}).exporter.name == name


@pytest.mark.parametrize(
    ("route", "sent"),
    [
        ("/users", ""),
        ("/users/{id}", "/users/[^/]+"),
        ("/users/<int:id>/posts", "/users/[^/]+/posts"),
        ("/users/:id(\\d+)/posts/:post?", "/users/[^/]+/posts/[^/]+"),
        ("/files/<path:name>", "/files/.+"),
        ("/files/{name:path}", "/files/.+"),
        ("/files/*", "/files/.+"),
        ("/v1.0/a+b/{id}", "/v1\\.0/a\\+b/[^/]+"),
    ],
)
def test_a_route_becomes_an_expression_for_paths(route: str, sent: str) -> None:
    assert sent_path_pattern(route) == sent


def test_whole_bounds_of_buckets_match_both_ways_to_write_them() -> None:
    assert by("go")[1].events.good.endswith('le="0.1"}')
    slow = suggest_slos(FASTAPI.replace("...", "return httpx.get(u)"), "python")[1]
    assert slow.threshold == 1
    assert slow.events.good.endswith('le=~"1(\\\\.0)?"}')


CONTROLLER = (
    '@RestController class A { @GetMapping("/a") String a() { return ""; }\n'
    '@PostMapping("/b") String b() { return rest.postForObject("http://b", 1, String.class); } '
    "private final RestTemplate rest = new RestTemplate(); }"
)


def test_all_buckets_of_a_service_are_in_one_setting() -> None:
    key = "management.metrics.distribution.slo.http.server.requests"
    found = all_objectives(CONTROLLER, "java")
    needs = {slo.needs for each in found for slo in each.slos if slo.type == "latency"}
    assert {each.threshold for one in found for each in one.slos if each.type == "latency"} == {
        0.05, 0.1, 0.5, 1.5
    }  # fmt: skip
    (only,) = needs
    assert only.endswith(f"It needs buckets at 0.05, 0.1, 0.5 and 1.5 s: {key}=50ms,100ms,500ms,1500ms.")


def test_one_function_has_the_buckets_of_all_its_objectives() -> None:
    fast, slow, up, _ = by("prom-client")
    assert fast.needs == slow.needs
    assert fast.needs.endswith(
        "It needs buckets at 0.05 and 0.1 s: buckets: […, 0.05, 0.1, …] of the histogram."
    )
    assert "bucket" not in up.needs
    fast, slow, *_ = by("fastapi")
    assert fast.needs.endswith(
        "It needs a bucket at 0.05 s: latency_lowr_buckets=(…, 0.05, …) of instrument()."
    )
    assert "bucket" not in slow.needs, "0.1 s is one by default"


def test_whole_seconds_are_written_as_seconds() -> None:
    assert buckets_needed(EXPORTERS["spring"], (0.75, 1, 2.5, 60)).endswith("=750ms,1s,2500ms,60s.")
    assert buckets_needed(EXPORTERS["spring"], ()) == ""
