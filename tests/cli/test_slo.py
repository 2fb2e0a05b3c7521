"""`fault slo`: the table, JSON, and answers of a model."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

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
        assert list(slo) == KEYS
        assert list(slo["sli"]) == ["prometheus", "gcp/cloudrun"]
        assert promql_problem(slo["sli"]["prometheus"]) is None
        assert 'handler="orders"' in slo["sli"]["prometheus"]
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
        (["app.py", "orders", "--lang", "cobol"], "error: lang: expected one of python"),
        (["app.py", "orders", "--llm-client", "gemini"], "error: GEMINI_API_KEY: expected an API key"),
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
