"""The function of `fault_find_breaking_point`: runs what `fault breakpoint` runs, and returns its report.

`load_limits` decides whether a run is allowed. Imported when the tool is called first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any

from faultkit.agent_tools.impact_functions import (
    RUNS,
    check_reachable,
    share_done,
    warnings_of,
    with_argument,
)
from faultkit.agent_tools.load_limits import LoadLimits
from faultkit.agent_tools.tool import ToolCall, ToolResult
from faultkit.base.errors import InputError, RunError
from faultkit.base.units import format_duration
from faultkit.load.slo import parse_slo
from faultkit.scenario.asked_search import AskedSearch, search_of_url
from faultkit.scenario.impact import Impact, scenario_of
from faultkit.scenario.item_checks import item_problems
from faultkit.scenario.report.report_model import ItemReport
from faultkit.scenario.report.results_document import to_document
from faultkit.scenario.report.scenario_markdown import render_markdown
from faultkit.scenario.report.search_model import SearchReport
from faultkit.scenario.report.search_wording import search_sentence
from faultkit.scenario.run_events import (
    ItemBegan,
    ItemEnded,
    LoadProgress,
    RunEvent,
    RunListener,
    SearchProgress,
)
from faultkit.scenario.scenario_model import Scenario, SearchStrategy
from faultkit.scenario.scenario_run import RunOutcome, RunSettings, check_scenarios, run_scenarios
from faultkit.scenario.search_setting import budget_of, lowest_rate, rate_at

_ARGUMENTS = (
    (re.compile(r"--clients"), "num_clients"),
    (re.compile(r"--"), ""),
    (re.compile(r"context\.slo\b"), "slos"),
    # The only fault is the one that is varied.
    (re.compile(r"context\.faults\[.*"), "vary"),
    (re.compile(r"context\.strategy\."), ""),
    (re.compile(r"expect\.breaks_above"), "fail_below"),
    (re.compile(r"-"), "_"),
)
"""Flags and keys of a scenario file, and what the arguments are called. Replaced in this order."""
_SLOS = (parse_slo("latency:95:300ms"),)
_LEVEL_KEYS = ("value", "decision", "requests", "good")
_SEARCH_KEYS = (
    *("outcome", "reason", "setting", "unit", "held", "broken", "estimate", "low", "high", "is_cliff"),
    *("broken_objective", "requests"),
)


def find_breaking_point(call: ToolCall) -> ToolResult:
    """Search a URL, and return the sentence with the report."""
    limits = call.services.limits
    scenario = scenario_for(call.values)
    settings = RunSettings(seed=call.values["seed"], measures_only=True)
    check_limits(scenario, limits)
    try:
        check_scenarios([scenario], settings)
    except InputError as error:
        raise _of_argument(error, scenario.title) from None
    limits.check_target(call.values["url"].strip())
    with RUNS.one_of(limits.max_runs):
        check_reachable(call.values["url"].strip())
        outcome = run_scenarios([scenario], settings, progress_watch(call.progress), call.cancelled)
    return _result(call, scenario, outcome)


def scenario_for(given: Mapping[str, Any]) -> Scenario:
    """Return what the arguments ask for. Raises InputError."""
    rps, clients = given["rps"], given["num_clients"]
    asked = AskedSearch(
        vary=given["vary"],
        budget=given["budget"],
        scale=given["scale"],
        rps=None if _varies(given, "load.rps") else rps,
        clients=None if _varies(given, "load.clients") else clients,
        fail_below=given["fail_below"],
    )
    url = given["url"].strip()
    try:
        scenario = search_of_url(url, asked)
    except InputError as error:
        raise _of_argument(error, "") from None
    (item,) = scenario.items
    impact = Impact(
        url,
        tuple(fault.rule for fault in item.faults),
        method=given["method"].strip(),
        body=given["body"],
        headers=given["headers"],
        clients=clients,
        rps=rps,
        timeout_s=given["timeout"],
        proxies=given["proxies"],
        slos=_SLOS if given["slos"] is None else given["slos"],
    )
    (plain,) = scenario_of(impact).items
    item = replace(item, call=plain.call, maps=plain.maps, http_proxy=plain.http_proxy, slos=plain.slos)
    for problem in item_problems(item):
        raise _of_argument(problem, "")
    return replace(scenario, items=(item,))


def _varies(given: Mapping[str, Any], setting: str) -> bool:
    return str(given["vary"]).partition("=")[0].strip() == setting


def check_limits(scenario: Scenario, limits: LoadLimits) -> None:
    """Raise InputError if the search exceeds a limit of the server at any of its values."""
    (item,) = scenario.items
    strategy = item.strategy
    assert isinstance(strategy, SearchStrategy)
    scale = strategy.varied.scale
    ends = (scale.harmless, scale.harmful)
    varies_clients = strategy.varied.fault is None and strategy.varied.name == "clients"
    clients = int(max(ends)) if varies_clients else strategy.clients
    seconds = strategy.budget_s or budget_of(strategy) / lowest_rate(strategy)
    rate = max(rate_at(strategy, (each,)) for each in ends)
    try:
        limits.check_load(seconds, clients, rate / clients, getattr(item.call, "timeout_s", None) or 0.0)
    except InputError as error:
        raise InputError("budget" if error.path == "duration" else error.path, error.problem) from None


def _of_argument(error: InputError, title: str) -> InputError:
    """Return an error of a flag or of a key of a file as one of the argument that set it."""
    path = error.path.removeprefix(title).lstrip(": ")
    path = path[path.index("context.") :] if "context." in path else path
    for written, argument in _ARGUMENTS:
        path = written.sub(argument, path)
    return InputError(path, error.problem.replace("--slo", "slos"))


def _result(call: ToolCall, scenario: Scenario, outcome: RunOutcome) -> ToolResult:
    if call.cancelled.is_set():
        raise RunError("the search was cancelled: traffic has ended and its ports are free")
    if outcome.trouble is not None:
        raise with_argument(outcome.trouble, scenario)
    (item,) = outcome.report.items
    markdown, document = render_markdown(outcome.report), to_document(outcome.report)
    stored = call.services.reports.add(scenario.title, markdown, document)
    return ToolResult(markdown, structured_of(item, markdown, document, stored.id))


def structured_of(
    item: ItemReport, markdown: str, document: dict[str, Any], report_id: str
) -> dict[str, Any]:
    """Return the structured result of a search."""
    search = item.search
    return {
        "verdict": item.verdict,
        "sentence": " ".join(item.reasons) if search is None else search_sentence(search),
        "reasons": list(item.reasons),
        "warnings": warnings_of(item),
        "search": None if search is None else _figures(search),
        "report_id": report_id,
        "markdown": markdown,
        "report": document,
    }


def _figures(search: SearchReport) -> dict[str, Any]:
    wanted = None
    if search.wanted_s is not None and search.budget_s is not None:
        wanted = format_duration(round(search.wanted_s))
    elif search.wanted_requests is not None:
        wanted = str(search.wanted_requests)
    return {
        **{key: getattr(search, key) for key in _SEARCH_KEYS},
        "wanted_budget": wanted,
        "levels": [{key: asdict(level)[key] for key in _LEVEL_KEYS} for level in search.levels],
    }


def progress_watch(report: Callable[[float, float | None, str], None]) -> RunListener:
    """Return a watch that reports seconds of the budget, and the bracket as it closes."""
    total_s = before_s = 0.0
    known = "measures the ends of the range"

    def reported(elapsed_s: float, text: str) -> None:
        report(round(total_s * share_done(elapsed_s, total_s), 6), total_s, text)

    def watch(event: RunEvent) -> None:
        nonlocal total_s, before_s, known
        match event:
            case ItemBegan():
                total_s = event.seconds
            case SearchProgress():
                before_s, known = event.elapsed_s, event.bracket or known
                reported(before_s, f"{known}; {event.requests} requests")
            case LoadProgress(progress=now):
                reported(before_s + now.elapsed_s, known)
            case ItemEnded():
                report(total_s, total_s, f"done: {event.report.verdict}")
            case _:
                pass

    return watch
