"""The analysis of one function by the rules: concerns, risks, and prompts to act on them."""

from __future__ import annotations

from typing import Any

import pytest

from faultkit.base.errors import InputError
from faultkit.code import find_function, language_named, list_functions, parse
from faultkit.code.advice.analysis import analyse_function
from faultkit.code.advice.answers import ANALYSIS
from faultkit.llm.prompt import schema_problems
from tests.code.changes.cases import CASES, Case

APP = """\
import os

import httpx
from fastapi import FastAPI

UPSTREAM_URL = os.getenv("UPSTREAM_URL", "https://jsonplaceholder.typicode.com")

app = FastAPI()


@app.get("/")
def index():
    return httpx.get(f"{UPSTREAM_URL}/todos/1", headers={
        "Host": "jsonplaceholder.typicode.com"
    }).json()


def add(a, b):
    return a + b


@app.get("/far")
def far(url: str, items: list):
    for item in items:
        try:
            httpx.get(url, params={"item": item}, verify=False)
        except Exception:
            pass
        httpx.post(f"{UPSTREAM_URL}/{item}")
"""


def analysed(
    text: str, name: str, *, language: str = "python", file: str = "", **more: Any
) -> dict[str, Any]:
    syntax = parse(text.encode(), language_named(language))
    return analyse_function(syntax, find_function(list_functions(syntax), name), file=file, **more)


def test_each_concern_has_an_evaluation_that_names_findings_with_lines() -> None:
    reliability, performance, threat = analysed(APP, "index")["evaluations"]
    assert [each["concern"] for each in (reliability, performance, threat)] == [
        "reliability",
        "performance",
        "threat",
    ]
    assert [(each["title"], each["line"]) for each in performance["risks"]] == [
        ("HTTP client made for each call", 13)
    ]
    assert "HTTP call without a timeout" in {each["title"] for each in reliability["risks"]}
    assert reliability["summary"].startswith("3 findings about reliability in index, scored 0.")


def test_a_risk_holds_all_findings_of_one_rule_in_the_function() -> None:
    (evaluation,) = analysed(APP, "far", concerns=["performance"])["evaluations"]
    risk = evaluation["risks"][0]
    assert risk["title"] == "A round trip for every item"
    assert risk["explanation"].startswith("Lines 26, 29: ")
    assert (risk["impact"], risk["cost"], risk["line"]) == ("high", "high", 26)


def test_without_findings_the_summary_states_it_and_there_are_no_risks() -> None:
    found = analysed(APP, "add")
    assert [each["risks"] for each in found["evaluations"]] == [[], [], []]
    assert found["prompts"] == []
    assert found["evaluations"][0]["summary"] == "The rules about reliability find nothing in add."


def test_threats_that_are_not_judged_are_named() -> None:
    (clean,) = analysed(APP, "add", concerns=["threat"])["evaluations"]
    assert clean["summary"].endswith("what it logs and what one caller can use up is not judged.")
    (threat,) = analysed(APP, "far", concerns=["threat"])["evaluations"]
    assert [(each["title"], each["line"]) for each in threat["risks"]] == [
        ("TLS verification off", 26),
        ("Request to a host chosen by a client", 26),
    ]


def test_prompts_are_complete_in_themselves() -> None:
    prompts = analysed(APP, "far", file="app.py")["prompts"]
    assert len(prompts) == 5
    assert len({*prompts}) == 5
    for each in prompts:
        assert each.startswith("In app.py, change the Python function far (line 23). Line")
        assert "add a test that fails without it." in each
        assert len(each) <= 1000
    assert any("`fault review` must not report FK-P004 for it." in each for each in prompts)


def test_concerns_come_in_the_order_asked_for_and_once() -> None:
    found = analysed(APP, "index", concerns=["threat", "reliability", "threat"])
    assert [each["concern"] for each in found["evaluations"]] == ["threat", "reliability"]


def test_lines_that_cannot_be_parsed_are_mentioned() -> None:
    found = analysed("def f(a):\n    x = = 1\n    return a\n", "f", concerns=["performance"])
    assert found["evaluations"][0]["summary"].endswith(
        "Line 2 cannot be read as Python: something may be missed."
    )


def test_an_unknown_concern_and_a_language_without_rules_are_refused() -> None:
    with pytest.raises(InputError, match=r"concerns\[0\]: expected one of reliability, performance, threat"):
        analysed(APP, "index", concerns=["beauty"])
    with pytest.raises(InputError, match="got Swift: name a language model with --llm-client"):
        analysed("func f() {}\n", "f", language="swift")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_every_analysis_fits_the_schema_of_the_models(case: Case) -> None:
    syntax = parse(case.before.encode(), language_named(case.language))
    for function in list_functions(syntax):
        found = analyse_function(syntax, function, file="a.py")
        assert schema_problems(found, ANALYSIS) == []
        lines = [risk["line"] for each in found["evaluations"] for risk in each["risks"]]
        assert all(function.start_line <= line <= function.end_line for line in lines)
