"""The step `breakpoint`: a real proxy before an echo server, and mistakes in its keys."""

from __future__ import annotations

import json
from typing import Any

import pytest

from faultkit.base.address import Endpoint
from faultkit.base.errors import InputError
from faultkit.chaos.experiment.experiment_file import read_experiment
from faultkit.chaos.experiment.experiment_model import Experiment, Journal, Outcome
from faultkit.chaos.report.experiment_formats import (
    render_chaos_html,
    render_chaos_junit,
    render_chaos_markdown,
    render_chaos_text,
)
from faultkit.chaos.report.journal_report import chaos_report
from faultkit.proxy.plane import Plane
from tests.chaos.stage import Stage, experiment_of

Proxy = tuple[Endpoint, Endpoint, Plane]
ERRORS = {"name": "flaky", "fault": "reset", "trigger": {"probability": 0.5}}


def search(control: object, **keys: Any) -> dict[str, Any]:
    """Return a step that searches the probability of a reset, or what `keys` say."""
    place = {"control": str(control), "token": "secret", "add": keys.pop("add", ERRORS)}
    return {"breakpoint": {"proxy": place, "vary": "probability", "from": 0, "to": 1, **keys}}


def through(address: Endpoint) -> dict[str, Any]:
    return {
        "name": "it answers",
        "tcp": {"address": str(address), "send": "hi"},
        "expect": {"target": "reply", "equals": "hi"},
        "limit": "2s",
    }


def paths_of(problems: list[InputError]) -> list[str]:
    return [each.path.removeprefix("x.json: line 1: ") for each in problems]


def document(steady: dict[str, Any], step: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": "x", "seed": 7, "steady_state": [steady], "method": [step], **more}


def run(stage: Stage, steady: dict[str, Any], step: dict[str, Any]) -> Journal:
    return stage.run(experiment_of(document(steady, step), stage.folder))


def test_the_breaking_point_is_found_and_every_rule_is_removed(stage: Stage, proxy: Proxy) -> None:
    bound, control, plane = proxy
    journal = run(stage, through(bound), search(control, share="60%", budget=200, at_least=0))
    assert journal.result.outcome is Outcome.HELD, journal.result.error
    ours = journal.document["faultkit"]
    (found,) = ours["breaking_points"]
    assert (found["setting"], found["outcome"], found["at_least"]) == ("flaky.probability", "found", 0)
    assert found["held"] <= 0.4 <= found["broken"], "six of ten rounds pass at a probability of 0.4"
    assert found["sentence"].startswith("The steady state breaks ")
    assert plane.plan.rules == ()
    assert not stage.left
    levels = [each for each in ours["events"] if each["kind"] == "level_ended"]
    assert sum(each["rounds"] for each in levels) == found["trials"] <= 200
    (fault,) = ours["faults"]
    missed = sum(each["rounds"] - each["met"] for each in levels)
    assert (fault["name"], fault["hits"]) == ("flaky", missed), "each reset is a round that is not met"
    assert fault["settings"] == {"searched": "flaky.probability from 0 to 1"}


def test_a_bound_that_is_not_shown_to_hold_deviates_in_every_format(stage: Stage, proxy: Proxy) -> None:
    bound, control, _ = proxy
    journal = run(stage, through(bound), search(control, share=0.6, budget=140, at_least="90%"))
    assert (journal.result.outcome, journal.result.exit_code) == (Outcome.DEVIATED, 1)
    (reason,) = journal.document["faultkit"]["reasons"]
    assert "shown to hold only up to " in reason
    assert reason.endswith(", and a probability of 0.9 was expected")
    sentence = journal.document["faultkit"]["breaking_points"][0]["sentence"]
    report = chaos_report("x", [journal.document], "faultkit")
    for render in (render_chaos_text, render_chaos_markdown, render_chaos_html, render_chaos_junit):
        assert sentence in render(report)


def test_a_range_that_is_broken_at_its_harmless_end_deviates(stage: Stage, proxy: Proxy) -> None:
    bound, control, _ = proxy
    journal = run(stage, through(bound), search(control, **{"from": 0.9}, share=0.6))
    assert journal.result.outcome is Outcome.DEVIATED
    assert journal.document["faultkit"]["reasons"][0].endswith(
        ": the steady state is broken at 0.9 already, the harmless end of the range"
    )


def test_a_search_that_decides_nothing_proves_nothing(stage: Stage, proxy: Proxy) -> None:
    bound, control, _ = proxy
    journal = run(stage, through(bound), search(control, **{"from": 0.39}, to=0.41, share=0.6, budget=130))
    assert journal.result.outcome is Outcome.NOT_EXERCISED
    assert "It is not known where the steady state breaks." in str(journal.result.error)


def test_a_rule_that_touches_nothing_proves_nothing(stage: Stage, echo: Endpoint, proxy: Proxy) -> None:
    _, control, _ = proxy
    journal = run(stage, through(echo), search(control, budget=170))  # Past the proxy.
    assert journal.result.outcome is Outcome.NOT_EXERCISED
    assert journal.document["faultkit"]["breaking_points"][0]["outcome"] == "holds"


def test_a_search_out_of_time_is_undone_and_proves_nothing(stage: Stage, proxy: Proxy) -> None:
    bound, control, plane = proxy
    journal = run(stage, through(bound), {**search(control, budget=100_000), "limit": "200ms"})
    assert journal.result.outcome is Outcome.ABORTED
    assert journal.result.error is not None
    assert "did not end within 0.2 s" in journal.result.error
    assert {each["name"] for each in journal.document["faultkit"]["faults"]} <= {"flaky"}
    assert journal.document["faultkit"]["breaking_points"] == []
    assert plane.plan.rules == ()


def test_a_dry_run_shows_the_search_and_its_budget(stage: Stage, proxy: Proxy) -> None:
    bound, control, plane = proxy
    experiment = experiment_of(document(through(bound), search(control)), stage.folder)
    journal = stage.run(experiment, dry_run=True)
    assert (
        "search flaky.probability from 0 to 1 for where the steady state breaks, in up to 600 rounds"
    ) in render_chaos_text(chaos_report("x", [journal.document], "faultkit"))
    assert plane.plan.rules == ()


LATENCY = {"name": "slow", "fault": "latency", "with": {"mean_ms": 5, "distribution": "normal"}}


@pytest.mark.parametrize(
    ("keys", "field", "problem"),
    [
        ({"vary": "mean"}, "vary", 'unknown setting of reset "mean"'),
        ({"vary": "distribution", "add": LATENCY}, "vary", "expected a setting that is a number"),
        ({"to": 0}, "to", "expected two different numbers, got 0..0"),
        ({"to": 2}, "to", "expected"),
        ({"from": 0, "scale": "log"}, "to", "expected numbers above 0 for a log scale"),
        ({"to": "x"}, "to", 'expected a number, got "x"'),
        ({"precision": -1}, "precision", "expected a number above 0, got -1"),
        ({"share": 1}, "share", "expected a share between 0 and 1"),
        ({"budget": 2}, "budget", "expected at least"),
        ({"budget": 2.5}, "budget", "expected a whole number from 1 to "),
        ({"at_least": 3}, "at_least", "expected a value of the range 0..1, got 3"),
        ({"gateway": {}}, "", "expected one of proxy, gateway, got proxy and gateway"),
    ],
)
def test_mistakes_are_named_before_anything_runs(keys: dict[str, Any], field: str, problem: str) -> None:
    step = search("127.0.0.1:7900", **keys)
    found, problems = read_experiment(json.dumps(document({"tcp": 80}, step)), "x.json", {})
    assert found is None
    path = "method[0].breakpoint"
    assert paths_of(problems) == [f"{path}.{field}" if field else path]
    assert problem in str(problems[0])


def test_a_rule_is_required() -> None:
    step: dict[str, Any] = {"breakpoint": {"proxy": {"control": "127.0.0.1:7900", "token": "t"}}}
    _, problems = read_experiment(json.dumps(document({"tcp": 80}, step)), "x.json", {})
    path = "method[0].breakpoint"
    assert paths_of(problems) == [f"{path}.{key}" for key in ("proxy.add", "vary", "from", "to")]


@pytest.mark.parametrize("more", [{"during": {"every": "1s"}}, {}])
def test_nothing_else_may_measure_or_act_meanwhile(more: dict[str, Any]) -> None:
    step = search("127.0.0.1:7900")
    if not more:
        step["background"] = True
    _, problems = read_experiment(json.dumps(document({"tcp": 80}, step, **more)), "x.json", {})
    assert paths_of(problems) == ["during" if more else "method[0].background"]


def test_a_call_fault_of_a_gateway_can_be_searched() -> None:
    rule = {"name": "slow", "fault": "slow", "with": {"delay_ms": 5}, "match": {"tool": "search"}}
    place = {"control": "127.0.0.1:7900", "token": "t", "add": rule}
    step = {"breakpoint": {"gateway": place, "vary": "delay_ms", "from": "10s", "to": "1s", "scale": "log"}}
    found, problems = read_experiment(json.dumps(document({"tcp": 80}, step)), "x.json", {})
    assert problems == []
    assert isinstance(found, Experiment)
    assert found.method[0].name == (
        "search slow.delay_ms from 10000 ms to 1000 ms for where the steady state breaks, "
        "in up to 600 rounds of checks"
    )
