"""The report as JUnit XML, for CI systems: a suite for each scenario, a case for each item.

Only `passed` is a pass. A missed expectation is a `failure`. A run that proves nothing and an item that could
not be run are an `error`, whose type is the verdict. Figures are properties of the suite under the number of
their case.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from faultkit.base.numbers import decimals, shortest
from faultkit.base.text import printable_line
from faultkit.report.junit import JUnitCase, JUnitProblem, JUnitSuite, render_junit_suites
from faultkit.scenario.report.frontier_model import FrontierReport
from faultkit.scenario.report.frontier_wording import edge_rows, frontier_sentence
from faultkit.scenario.report.report_model import USUAL_PLACE, ItemReport, Report, ScenarioReport, Verdict
from faultkit.scenario.report.scenario_text import latency_text, render_item
from faultkit.scenario.report.search_model import SearchReport
from faultkit.scenario.report.search_wording import search_sentence
from faultkit.scenario.report.wording import VERDICTS, degraded_lines

_PROBLEMS: dict[Verdict, tuple[Literal["failure", "error"], str]] = {
    "failed": ("failure", "failed"),
    "inconclusive": ("error", "inconclusive"),
    "not exercised": ("error", "not exercised"),
    "unfinished": ("error", "unfinished"),
}
"""The element and its type, by verdict."""


def render_junit(report: Report) -> str:
    """Return the report as JUnit XML."""
    suites = [_suite(scenario, report) for scenario in report.scenarios]
    if report.partial is not None:
        # A failing case of its own: without it, a partial run could look like a complete one.
        problem = JUnitProblem("error", "partial", report.partial)
        case = JUnitCase("all scenarios were run", "The run", 0.0, problem)
        suites.append(JUnitSuite("The run", [case], report.ended_at))
    return render_junit_suites(suites)


def _suite(scenario: ScenarioReport, report: Report) -> JUnitSuite:
    title, items = printable_line(scenario.title) or "scenario", scenario.items
    properties = [("tool", report.tool), ("seed", str(report.seed)), ("file", scenario.file or "")]
    properties += [] if report.on == USUAL_PLACE else [("on", report.on)]
    for number, item in enumerate(items, 1):
        properties += [(f"{number}.{name}", value) for name, value in _figures(item)]
    return JUnitSuite(
        title,
        [_case(number, item, title) for number, item in enumerate(items, 1)],
        items[0].started_at if items else report.started_at,
        properties,
        "\n".join(line for item in items for line in (*render_item(item), "")),
    )


def _case(number: int, item: ItemReport, title: str) -> JUnitCase:
    problem = None
    if item.verdict in _PROBLEMS:
        tag, kind = _PROBLEMS[item.verdict]
        message = "; ".join((VERDICTS[item.verdict], *item.reasons))
        problem = JUnitProblem(tag, kind, message, "\n".join(render_item(item)))
    faults = ", ".join(fault.written for fault in item.faults) or "no faults"
    seconds = item.run.total_s + (item.baseline.total_s if item.baseline else 0.0)
    # The number keeps names apart where one call is made twice.
    return JUnitCase(f"{number}. {item.call.method} {item.call.url} ({faults})", title, seconds, problem)


def _figures(item: ItemReport) -> Iterator[tuple[str, str]]:
    run = item.run
    yield "verdict", item.verdict
    yield "requests", str(run.requests)
    yield "errors", str(run.errors)
    yield "injected", str(item.injection.injected)
    yield "achieved_rps", decimals(run.achieved_rps)
    if item.search is not None:
        yield from _search_figures(item.search)
        return
    if item.frontier is not None:
        yield from _frontier_figures(item.frontier)
        return
    if run.response.count:
        yield "mean_ms", decimals(run.response.mean_ms)
        for each in run.response.percentiles:
            yield f"p{shortest(each.percent)}_ms", decimals(each.ms)
    yield "latency", latency_text(run.response)
    if run.stream is not None:
        yield "events", str(run.stream.events)
        yield "events_per_s", decimals(run.stream.events_per_s)
        yield "early_ends", str(run.stream.early_ends)
        for name, spread in (("first_event", run.stream.first_event), ("gap", run.stream.gaps)):
            if spread.count:
                yield f"{name}_p50_ms", decimals(spread.p50_ms)
                yield f"{name}_p95_ms", decimals(spread.p95_ms)
                yield f"{name}_p99_ms", decimals(spread.p99_ms)
    if run.llm is not None:
        yield "tokens", str(run.llm.tokens)
        yield "tokens_per_s", decimals(run.llm.tokens_per_s)
        yield "tokens_per_second_p50", decimals(run.llm.rate_p50)
        yield "tokens_per_second_p5", decimals(run.llm.rate_p5)
        yield "early_ends", str(run.llm.early_ends)
        yield "refusals", str(run.llm.refusals)
        for name, spread in (("time_to_first_token", run.llm.first_token), ("token_gap", run.llm.gaps)):
            if spread.count:
                yield f"{name}_p50_ms", decimals(spread.p50_ms)
                yield f"{name}_p95_ms", decimals(spread.p95_ms)
                yield f"{name}_p99_ms", decimals(spread.p99_ms)
    if run.mcp is not None:
        yield "sessions", str(run.mcp.sessions)
        for level, count in run.mcp.levels.items():
            yield f"{level}_errors", str(count)
    if lost := degraded_lines(item):
        yield "degraded", printable_line(" ".join(lost))
    for result in item.slos:
        if result.passed is not None:
            yield f"slo {printable_line(result.slo.title)}", "kept" if result.passed else "missed"


def _search_figures(search: SearchReport) -> Iterator[tuple[str, str]]:
    yield "breaking_point", search_sentence(search)
    yield "outcome", search.outcome
    for name, value in (
        ("held", search.held),
        ("broken", search.broken),
        ("estimate", search.estimate),
        ("estimate_low", search.low),
        ("estimate_high", search.high),
    ):
        if value is not None:
            yield name, shortest(value)


def _frontier_figures(frontier: FrontierReport) -> Iterator[tuple[str, str]]:
    yield "frontier", frontier_sentence(frontier)
    yield "outcome", frontier.outcome
    for decision in ("held", "broken", "undecided"):
        yield f"pairs_{decision}", str(frontier.count(decision))
    for value, held, broken in edge_rows(frontier):
        yield f"at {value}", f"held up to {held}, broken from {broken}"
