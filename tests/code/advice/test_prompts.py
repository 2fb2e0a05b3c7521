"""Prompts: sections that their content cannot break out of, and schemas of answers."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from faultkit.base.errors import InputError
from faultkit.code.advice import answers as schemas
from faultkit.code.advice import prompts
from faultkit.llm.prompt import ModelPrompt, PromptSection, schema_problems, unwrapped, wire_schema
from faultkit.llm.redaction import Redaction

FINDINGS = prompts.findings_section(["line 2: call without timeout"])
CONTEXT = prompts.context_section("db.py", "def get(): ...", "python")
CODE = "def f():\n    return get(url)"

QUESTIONS = [
    prompts.score(CODE, "python", "reliability", sections=[FINDINGS, CONTEXT]),
    prompts.score(CODE, "python", "performance", sections=[FINDINGS, CONTEXT]),
    prompts.suggest_slos(CODE, "python", sections=[FINDINGS, CONTEXT]),
    prompts.suggest_change(
        CODE, "python", "reliability", score=0.2, target_score=0.9, sections=[FINDINGS, CONTEXT]
    ),
    prompts.deep_analysis(CODE, "python", "f", sections=[FINDINGS, CONTEXT]),
]


@pytest.mark.parametrize("prompt", QUESTIONS)
def test_every_question_holds_code_findings_and_search_results(prompt: ModelPrompt) -> None:
    text = prompt.text()
    assert f"```python\n{CODE}\n```" in text
    assert "line 2: call without timeout" in text
    assert "## Other code of the project: db.py" in text


@pytest.mark.parametrize("prompt", QUESTIONS)
def test_our_own_words_hold_nothing_that_looks_like_a_secret(prompt: ModelPrompt) -> None:
    assert Redaction().hide(prompt.text()) == prompt.text()


@given(st.lists(st.sampled_from(["`", "``", "```", "````", "\n", "## x", "code"])).map("".join))
def test_code_cannot_leave_its_section(code: str) -> None:
    text = ModelPrompt("task", (PromptSection("one", code), PromptSection("two", "end"))).text()
    fence = text.split("\n")[1].removesuffix("text")
    assert text == f"## one\n{fence}text\n{code}\n{fence}\n\n## two\n```text\nend\n```"
    assert fence not in code


def test_a_title_or_a_language_cannot_either() -> None:
    text = ModelPrompt("task", (PromptSection("a\n```\nb", "x", "py\n```"),)).text()
    assert text == "## a ``` b\n```py\nx\n```"


def test_sections_go_in_order_of_their_worth() -> None:
    prompt = QUESTIONS[0]
    shorter = prompt.shorter()
    assert shorter is not None
    assert [section.title for section in shorter.sections] == ["The code", "What a checker found in it"]
    assert shorter.shorter() is None


def test_a_change_aims_at_its_score() -> None:
    assert "score is 0.2 of 1; aim at 0.9" in QUESTIONS[3].task


def test_an_analysis_covers_the_requested_concerns() -> None:
    task = prompts.deep_analysis(CODE, "python", "f", concerns=["threat"]).task
    assert re.findall(r"^- (\w+):", task, re.MULTILINE) == ["threat", "prompts"]
    assert re.findall(r"^- (\w+):", QUESTIONS[4].task, re.MULTILINE) == [*schemas.CONCERNS, "prompts"]


def test_an_unknown_concern_is_an_error() -> None:
    with pytest.raises(InputError, match=r"concerns\[1\]: expected one of reliability, .* got 'beauty'"):
        prompts.deep_analysis(CODE, "python", "f", concerns=["threat", "beauty"])


@pytest.mark.parametrize("schema", [schemas.SCORE, schemas.SLOS, schemas.CHANGE, schemas.ANALYSIS])
def test_schemas_are_schemas_and_objects_on_the_wire(schema: dict[str, Any]) -> None:
    Draft202012Validator.check_schema(schema)
    assert wire_schema(schema)["type"] == "object"


SLO: dict[str, Any] = {
    "type": "latency",
    "title": "95th percentile latency",
    "objective": 95.0,
    "explanation": "users wait",
    "threshold": 0.3,
    "unit": "s",
    "window": "300s",
    "sli": {
        "prometheus": "histogram_quantile(0.95, sum(rate(x_bucket[5m])) by (le))",
        "gcp/cloudrun": {
            "displayName": "95th percentile latency - 5min",
            "goal": 0.95,
            "calendarPeriod": "NONE",
            "serviceLevelIndicator": {"windowsBased": {"windowPeriod": "300s"}},
        },
    },
}


def test_an_objective_of_the_agreed_shape_fits() -> None:
    assert schema_problems([SLO], schemas.SLOS) == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"objective": 100}, "$[0].objective: 100 is greater than or equal to the maximum of 100"),
        ({"type": "speed"}, "$[0].type: 'speed' is not one of ['latency', 'availability', 'error']"),
        ({"window": "soon"}, "$[0].window: 'soon' does not match"),
        ({"threshold": "0.3"}, "$[0].threshold: '0.3' is not of type 'number'"),
        ({"sli": {}}, "$[0].sli: 'prometheus' is a required property"),
    ],
)
def test_an_objective_of_another_shape_is_reported_with_the_problem(
    change: dict[str, Any], problem: str
) -> None:
    assert any(found.startswith(problem) for found in schema_problems([{**SLO, **change}], schemas.SLOS))


def test_long_values_are_not_repeated_in_full() -> None:
    (problem,) = schema_problems({"score": "x" * 10_000, "explanation": "y"}, schemas.SCORE)
    assert len(problem) < 200


def test_only_our_own_wrapping_is_removed() -> None:
    assert unwrapped({"answer": [1]}, {"type": "array"}) == [1]
    assert unwrapped({"answer": 1}, {"type": "object"}) == {"answer": 1}
    assert unwrapped({"answer": 1, "b": 2}, {"type": "array"}) == {"answer": 1, "b": 2}
