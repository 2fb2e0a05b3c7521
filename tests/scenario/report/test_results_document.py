"""Reports as plain data: they survive a round trip, other data is rejected, and the docs name each field."""

from __future__ import annotations

import json
import re
from dataclasses import fields, is_dataclass, replace
from math import inf, isnan, nan
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from faultkit.base.documents.checks import shown
from faultkit.base.errors import InputError
from faultkit.load.slo import Slo, SloKind
from faultkit.scenario.report.frontier_model import FrontierPair, FrontierReport, FrontierSetting
from faultkit.scenario.report.report_model import VERSION, Report
from faultkit.scenario.report.results_document import from_document, to_document, to_json, to_yaml
from tests.scenario.report.examples import ALL_KINDS, EXAMPLES, LOAD

PAGE = (Path(__file__).parents[3] / "docs" / "results.md").read_text("utf-8")
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | NUMBERS | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)


MEANT: dict[Any, dict[str, st.SearchStrategy[Any]]] = {}
"""By class: fields whose values must fit those of others."""


def values(type_: Any) -> st.SearchStrategy[Any]:
    """Return a strategy for values of a type of the model, short enough for many examples."""
    origin, arguments = get_origin(type_), get_args(type_)
    if type_ is Slo:
        above = st.floats(0, 100, exclude_min=True, exclude_max=True)
        return st.builds(Slo, values(SloKind), st.text(max_size=5), above, above, st.none() | above)
    if is_dataclass(type_):
        hints = get_type_hints(type_)
        parts = {field.name: values(hints[field.name]) for field in fields(type_) if field.name != "version"}
        parts |= MEANT.get(type_, {})
        return st.builds(type_, **parts)  # type: ignore[arg-type]
    if origin is tuple:
        if arguments[-1] is Ellipsis:
            return st.lists(values(arguments[0]), max_size=2).map(tuple)
        return st.tuples(*map(values, arguments))
    if origin is dict:
        keys = st.integers(0, 999) if arguments[0] is int else st.text(max_size=5)
        return st.dictionaries(keys, PLAIN if arguments[1] is object else values(arguments[1]), max_size=2)
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin is UnionType:
        return st.one_of(*map(values, arguments))
    plain: dict[Any, st.SearchStrategy[Any]] = {
        str: st.text(max_size=8),
        int: st.integers(),
        float: NUMBERS,
        bool: st.booleans(),
        NoneType: st.none(),
    }
    return plain[type_]


# Two values of each setting have four pairs.
MEANT[FrontierSetting] = {"values": st.tuples(NUMBERS, NUMBERS)}
MEANT[FrontierReport] = {"pairs": st.tuples(*[values(FrontierPair)] * 4)}


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(values(Report))
def test_any_report_comes_back_from_json_and_yaml_as_it_went(report: Report) -> None:
    assert from_document(to_document(report)) == report
    assert from_document(json.loads(to_json(report))) == report
    assert from_document(yaml.safe_load(to_yaml(report))) == report


@pytest.mark.parametrize("report", EXAMPLES.values(), ids=EXAMPLES)
def test_every_example_comes_back_as_it_went(report: Report) -> None:
    assert from_document(json.loads(to_json(report))) == report
    assert from_document(yaml.safe_load(to_yaml(report))) == report


def test_the_document_begins_with_tool_and_times_and_holds_plain_data_only() -> None:
    document: dict[str, Any] = to_document(LOAD)
    assert {key: document[key] for key in ("tool", "seed", "partial", "version")} == {
        "tool": "faultkit 0.1.0",
        "seed": 42,
        "partial": None,
        "version": VERSION,
    }
    (scenario,) = document["scenarios"]
    (item,) = scenario["items"]
    assert item["faults"][0]["windows"] == [[0.1, 0.25], [0.4, 0.55], [0.7, 0.85]]
    assert item["run"]["statuses"] == {"200": 300}
    assert item["verdict"] == "passed"


@pytest.mark.parametrize("odd", [nan, inf, -inf])
def test_a_figure_that_json_cannot_hold_is_null_and_comes_back_as_no_number(odd: float) -> None:
    item = LOAD.items[0]
    run = replace(item.run, achieved_rps=odd, target_rps=odd)
    report = replace(LOAD, scenarios=(replace(LOAD.scenarios[0], items=(replace(item, run=run),)),))
    text = to_json(report)
    assert "NaN" not in text
    assert "Infinity" not in text
    back = from_document(json.loads(text)).items[0].run
    assert isnan(back.achieved_rps)
    assert back.target_rps is None


def test_yaml_has_no_anchors() -> None:
    assert "&id" not in to_yaml(ALL_KINDS)


def altered(path: str, value: object) -> dict[str, Any]:
    """The load example as a document, with another value at one place; without a value it is taken out."""
    document: dict[str, Any] = json.loads(to_json(LOAD))
    place: Any = document
    *way, last = [int(step) if step.isdigit() else step for step in re.findall(r"\w+", path)]
    for step in way:
        place = place[step]
    if value is KeyError:
        del place[last]
    else:
        place[last] = value
    return document


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("version", 2, "version: expected 1, got 2; a newer faultkit wrote it"),
        ("version", 0, "version: expected 1, got 0"),
        ("version", True, "version: expected 1, got true"),
        ("version", "1", 'version: expected 1, got "1"'),
        (
            "version",
            KeyError,
            "version: expected 1 (is this a results file of faultkit?), got a mapping without it",
        ),
        ("tool", KeyError, "tool: expected a value, got nothing"),
        ("tool", 7, "tool: expected a text, got 7"),
        ("seed", 1.5, "seed: expected a whole number or a text, got 1.5"),
        ("sceanrios", [], 'sceanrios: unknown key; did you mean "scenarios"?'),
        ("scenarios", {}, "scenarios: expected a list of values, got a mapping"),
        (
            "scenarios[0].items[0].verdict",
            "fine",
            "scenarios[0].items[0].verdict: expected one of passed, failed, inconclusive, not exercised, "
            'unfinished, got "fine"',
        ),
        (
            "scenarios[0].items[0].run.requests",
            True,
            "scenarios[0].items[0].run.requests: expected a whole number, got true",
        ),
        (
            "scenarios[0].items[0].run.response.mean_ms",
            "1",
            'scenarios[0].items[0].run.response.mean_ms: expected a number, got "1"',
        ),
        (
            "scenarios[0].items[0].run.response.mean_ms",
            10**400,
            f"scenarios[0].items[0].run.response.mean_ms: expected a number, got {shown(10**400)}",
        ),
        (
            "scenarios[0].items[0].faults[0].windows[0]",
            [0.0],
            "scenarios[0].items[0].faults[0].windows[0]: expected 2 values, got 1",
        ),
        (
            "scenarios[0].items[0].run.statuses",
            {"ok": 1},
            'scenarios[0].items[0].run.statuses: expected a whole number as key, got "ok"',
        ),
        (
            "scenarios[0].items[0].slos[0].slo.objective",
            100,
            "scenarios[0].items[0].slos[0].slo.objective: "
            "expected more than 0 and less than 100 percent, got 100",
        ),
        (
            "scenarios[0].items[0].call.headers",
            [],
            "scenarios[0].items[0].call.headers: expected a mapping, got a list",
        ),
    ],
)
def test_a_document_that_does_not_fit_is_turned_away(path: str, value: object, message: str) -> None:
    with pytest.raises(InputError) as caught:
        from_document(altered(path, value))
    assert str(caught.value) == message


@pytest.mark.parametrize("document", [None, [], "text", 7, {}])
def test_a_file_that_is_no_results_file_is_refused(document: object) -> None:
    with pytest.raises(
        InputError, match=r"^version: expected 1 \(is this a results file of faultkit\?\), got "
    ):
        from_document(document)


# --- the page --------------------------------------------------------------------------------------


def parts_of(type_: Any) -> set[Any]:
    """The dataclasses that a type is made of."""
    if is_dataclass(type_):
        inner = [parts_of(hint) for hint in get_type_hints(type_).values()]
        return {type_}.union(*inner)
    return set[Any]().union(*map(parts_of, get_args(type_)))


SECTIONS = {
    "FrontierReport": "Frontier",
    "SearchReport": "Search",
    "InjectionSummary": "Injection",
    "ItemReport": "Item",
    "ReportedCall": "Call",
    "ReportedExpectation": "Expectation",
    "ReportedFault": "Fault",
    "ReportedStrategy": "Strategy",
    "ScenarioReport": "Scenario",
}
"""By class: its heading on the page, where that is not the name of the class."""


def section_of(part: Any) -> str:
    name = SECTIONS.get(part.__name__, part.__name__)
    found = re.search(rf"^## {name}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None, f"docs/results.md has no section {name}"
    return found[1]


@pytest.mark.parametrize("part", sorted(parts_of(Report), key=str))
def test_the_page_of_results_has_a_row_for_each_field_and_no_other(part: Any) -> None:
    rows = re.findall(r"^\| `(\w+)` \|", section_of(part), re.MULTILINE)
    assert rows == [field.name for field in fields(part)]


def test_the_page_of_results_shows_a_document_that_can_be_read() -> None:
    blocks = re.findall(r"^```json\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert [from_document(json.loads(block)).version for block in blocks] == [VERSION]
