"""`fault slo`: the table, JSON, and answers of a model."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from faultkit.cli.main import invoke
from faultkit.code.slos.indicators import promql_problem
from tests.llm.scripted_provider import ScriptedServer, said

APP = """\
import httpx
from fastapi import FastAPI

app = FastAPI()


@app.get("/orders")
def orders():
    return httpx.get("http://orders.internal/all").json()


def add(a, b):
    return a + b
"""
KEYS = ["type", "title", "objective", "explanation", "threshold", "unit", "window", "sli"]
ADDED = ["period", "error_budget", "exporter", "needs", "function", "route", "line"]


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in tuple(os.environ):
        if name.endswith("_API_KEY") or name.startswith("FAULT_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("FAULT_INDEX_DIR", str(tmp_path / "index"))
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "app.py"
    path.write_text(APP)
    return path


def test_json_is_an_array_of_the_documented_objects(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["slo", "app.py", "orders", "--json"]) == 0
    out, err = capsys.readouterr()
    slos = json.loads(out)
    assert slos
    for slo in slos:
        assert list(slo) == KEYS + ADDED
        assert list(slo["sli"]) == ["prometheus", "gcp/cloudrun"]
        assert promql_problem(slo["sli"]["prometheus"]) is None
        assert 'handler="/orders",method="GET"' in slo["sli"]["prometheus"]
        assert 0 <= slo["objective"] < 100
    assert {"latency", "availability"} <= {slo["type"] for slo in slos}
    assert err == "by the rules\n"


def test_people_get_a_table_and_the_reasons(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["slo", "app.py", "orders", "--json"]) == 0
    slos = json.loads(capsys.readouterr().out)
    assert invoke(["slo", "app.py", "orders"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == ["TYPE", "OBJECTIVE", "THRESHOLD", "WINDOW", "TITLE"]
    for row, slo in zip(lines, slos, strict=False):
        assert row.split()[:3] == [slo["type"], f"{slo['objective']:g}", "%"]
        assert row.endswith(slo["title"])
    assert f"  prometheus: {slos[0]['sli']['prometheus']}" in lines
    assert f"  why: {slos[0]['explanation']}" in lines


def test_a_whole_file_and_another_ending_will_do(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = app.rename(app.with_name("script"))
    assert invoke(["slo", script.name, "--lang", "python", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (["nope.py"], "error: nope.py: cannot be read: no such file or directory"),
        (["app.py", "order"], 'error: app.py: function: unknown name "order"; did you mean "orders"'),
        (["app.py", "orders", "--lang", "cobol"], "error: --lang: expected one of python"),
        (["app.py", "orders", "--llm-client", "gemini"], "error: GEMINI_API_KEY: expected an API key"),
        (["app.py", "--exporter", "nope"], "error: exporter: expected one of opentelemetry, fastapi"),
        (["app.py", "orders", "--all"], "error: --all: expected no function beside it, got 'orders'"),
        (["app.py", "--json", "--format", "sloth"], "error: --json: expected no other format beside it"),
        (["app.py", "--all", "--llm-client", "ollama"], "error: --all: expected no language model"),
        (["app.py", "--format", "yaml"], "error: "),
        (["empty.py"], "error: empty.py: expected source code, got an empty file"),
        (
            ["app.py", "orders", "--llm-time-budget", "-1"],
            "error: --llm-time-budget: expected a number",
        ),
    ],
)
def test_bad_input_exits_with_two(
    app: Path, capsys: pytest.CaptureFixture[str], args: list[str], problem: str
) -> None:
    Path("empty.py").write_text("")
    assert invoke(["slo", *args]) == 2
    assert capsys.readouterr().err.startswith(problem)


def test_a_text_without_a_function_says_why_there_are_no_objectives(
    app: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    app.write_text("x = 1\n")
    assert invoke(["slo", "app.py"]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        "no objectives: the text has no function, and no call that is known to leave its process\n"
        "by the rules\n"
    )
    assert invoke(["slo", "app.py", "--format", "sloth"]) == 2
    assert capsys.readouterr().err.startswith("error: app.py: expected code with an objective: the text has")


def test_a_declared_dependency_decides_the_exporter_and_a_flag_overrides_it(
    app: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("requirements.txt").write_text("fastapi\nopentelemetry-instrumentation-fastapi==0.50b0\n")
    assert invoke(["slo", "app.py", "orders"]) == 0
    out = capsys.readouterr().out
    assert 'http_route="/orders",http_request_method="GET"' in out
    assert "  needs: Names of OpenTelemetry (the project declares it)." in out
    assert invoke(["slo", "app.py", "orders", "--exporter", "starlette", "--count-429"]) == 0
    assert 'starlette_requests_total{path="/orders",method="GET",status_code=~"5..|429"}' in (
        capsys.readouterr().out
    )


def test_all_functions_of_a_folder_have_one_table(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("more.py").write_text("@app.task\ndef send(order):\n    pass\n")
    Path("tests").mkdir()
    Path("tests/test_app.py").write_text(APP)
    Path("web.js").write_text("function list(req, res) { res.end(); }\n")
    Path("urls.py").write_text(
        "from django.urls import path\nurls = [path('a/', views.a), path('b/', views.b)]\n"
    )
    assert invoke(["slo", ".", "--all"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[:2] == [
        "ROUTE        TYPE          OBJECTIVE  THRESHOLD  PLACE",
        "GET /orders  latency       95 %       0.3 s      app.py:8",
    ]
    assert "more.py:2" in out
    assert "add" not in out, "other code is left out"
    assert err.splitlines() == [
        "left out: path (urls.py:2), path (urls.py:2): the path is not a literal, or the handler is not a "
        "function of this text",
        "left out: list (web.js:1): its route is not in this text",
        "2 functions, by the rules",
    ]
    assert invoke(["slo", "app.py", "--all", "--format", "json"]) == 0
    slos = json.loads(capsys.readouterr().out)
    assert [list(each) for each in slos] == [[*KEYS, *ADDED, "file"]] * 4


def test_nothing_to_be_called_has_one_line(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    app.write_text("def add(a, b):\n    return a + b\n")
    assert invoke(["slo", "app.py", "--all", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out) == []
    assert err.startswith("no objectives: no function answers requests, processes messages or is a job\n")


@pytest.mark.parametrize(
    ("format_", "key"), [("prometheus", "groups"), ("openslo", "apiVersion"), ("sloth", "version")]
)
def test_yaml_is_printed_for_other_programs(
    app: Path, capsys: pytest.CaptureFixture[str], format_: str, key: str
) -> None:
    assert invoke(["slo", ".", "--all", "--format", format_, "--service", "shop"]) == 0
    out = capsys.readouterr().out
    assert all(key in document for document in yaml.safe_load_all(out))
    assert "shop" in out
    assert invoke(["slo", "app.py", "orders", "--format", format_]) == 0
    assert key in capsys.readouterr().out


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    server = ScriptedServer()
    monkeypatch.setenv("OLLAMA_HOST", server.url)
    yield server
    server.close()


def test_the_answer_of_a_model_names_it(
    app: Path, model: ScriptedServer, capsys: pytest.CaptureFixture[str]
) -> None:
    slo = {
        "type": "latency",
        "title": "95 % within 300 ms",
        "objective": 95,
        "explanation": "Users wait for it.",
        "threshold": 0.3,
        "unit": "s",
        "window": "300s",
        "sli": {
            "prometheus": 'sum(rate(http_requests_total{handler="orders"}[5m]))',
            "gcp/cloudrun": {"displayName": "x", "goal": 0.95, "serviceLevelIndicator": {}},
        },
    }
    model.play(said("openai", json.dumps([slo])))
    assert invoke(["slo", "app.py", "orders", "--llm-client", "ollama"]) == 0
    out, err = capsys.readouterr()
    assert out == (
        "TYPE     OBJECTIVE  THRESHOLD  WINDOW  TITLE\n"
        "latency  95 %       0.3 s      300s    95 % within 300 ms\n"
        "\n"
        "95 % within 300 ms\n"
        "  why: Users wait for it.\n"
        '  prometheus: sum(rate(http_requests_total{handler="orders"}[5m]))\n'
    )
    assert err == "by ollama (said-by-server)\n"
    sent = model.requests[0].body["messages"][-1]["content"]
    assert "def orders():" in sent
