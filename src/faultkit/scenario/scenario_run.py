"""Runs scenarios, item by item: opens the proxies, measures, and builds the report.

A run that is stopped, fails, or cannot reach its target still returns its report, marked as partial.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from threading import Event as Flag

from faultkit import __version__
from faultkit.base.address import Endpoint, Verify
from faultkit.base.errors import FaultkitError, InputError, TargetError
from faultkit.load.load import AnyTarget
from faultkit.load.local_workers import LocalPlace
from faultkit.load.places import Place
from faultkit.load.slo import Slo
from faultkit.plan import Plan
from faultkit.proxy.control.leased_plane import LeasedPlane, LeaseLost
from faultkit.proxy.data_plane import FaultPlane, LatenessSummary, Snapshot
from faultkit.proxy.remote import PlaneProcess
from faultkit.proxy.upstream_check import why_unusable
from faultkit.scenario.control_api import ControlApi
from faultkit.scenario.http_call import placeholders_in
from faultkit.scenario.item_checks import why_no_objective
from faultkit.scenario.item_report import item_report
from faultkit.scenario.measure import ItemMeter, Measurements, StopFlag, StopOrLost
from faultkit.scenario.remote_planes import hold_planes, remote_route_text, remote_routes
from faultkit.scenario.report import report_model as report
from faultkit.scenario.routes import Routes, origin_of, route_text, routes_of, target_of
from faultkit.scenario.run_events import ItemBegan, ItemEnded, RunListener
from faultkit.scenario.scenario_model import (
    LoadStrategy,
    RepeatStrategy,
    Scenario,
    ScenarioItem,
    SearchStrategy,
    SingleStrategy,
)
from faultkit.scenario.search_goals import why_no_search, why_not_searchable
from faultkit.scenario.search_report import search_item_report
from faultkit.scenario.search_run import SearchMeter
from faultkit.scenario.search_setting import budget_of, lowest_rate

_REACH_S = 5.0
"""The time limit for the connection that checks whether the target is there."""
_ONCE = RepeatStrategy(step=0.0, count=1, stepped=())
_NO_COUNTS = Snapshot((), (), {}, LatenessSummary(), 0, 0)


@dataclass(frozen=True, slots=True)
class RunSettings:
    """How scenarios are run."""

    seed: int | str = 0
    """The seed; each item adds its own place, so that no two items have the same random numbers."""
    baseline: bool = True
    """Run each load once without its faults, to measure what they change."""
    on: Place = LocalPlace()  # noqa: RUF009
    """Where loads are sent from."""
    listen: Endpoint | None = None
    """The address of the forward proxy; None: `routes_of` chooses it."""
    verify: Verify = True
    """Which certificates of TLS servers are trusted."""
    slos: tuple[Slo, ...] = ()
    """Objectives for each item besides its own; missing one fails the item."""
    retries: int = 0
    """How often an inconclusive item is run again."""
    control: ControlApi | None = None
    """Where the proxies run, in place of what scenarios say; None: as they say."""
    measures_only: bool = False
    """True if the verdicts are not used: then an item that expects nothing needs no warning."""


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The report of a run, and the error that cut it short."""

    report: report.Report
    trouble: FaultkitError | None = None
    """The error of an item that could not be run to its end; None if all were."""


def run_scenarios(
    scenarios: Sequence[Scenario],
    settings: RunSettings,
    notify: RunListener = lambda event: None,
    stop: Flag | None = None,
) -> RunOutcome:
    """Run the scenarios. Raises InputError before anything runs, and TargetError if a control API that they
    name cannot be used; later errors are in the outcome."""
    check_scenarios(scenarios, settings)
    with ExitStack() as stack:
        planes = hold_planes(stack, scenarios, settings.control)
        return _run_all(scenarios, settings, planes, notify, stop or Flag())


def check_scenarios(scenarios: Sequence[Scenario], settings: RunSettings) -> None:
    """Raise InputError for scenarios that could not be run to a result."""
    _check_gates(scenarios, settings)
    _check_placeholders(scenarios)


def _run_all(
    scenarios: Sequence[Scenario],
    settings: RunSettings,
    planes: Mapping[ControlApi, LeasedPlane],
    notify: RunListener,
    stop: Flag,
) -> RunOutcome:
    started_at = _now()
    total = sum(len(scenario.items) for scenario in scenarios)
    done: list[report.ScenarioReport] = []
    trouble: FaultkitError | None = None
    number = 0
    for scenario in scenarios:
        items: list[report.ItemReport] = []
        for index, item in enumerate(scenario.items):
            # An unavailable target affects its own item only, any other error all items.
            if stop.is_set() or not (trouble is None or isinstance(trouble, TargetError)):
                break
            number += 1
            began = ItemBegan(number, total, scenario.title, item, _expected_seconds(item, settings))
            own = replace(
                settings,
                seed=f"{settings.seed}/{scenario.title}/{index}",
                control=settings.control or scenario.control,
            )
            plane = None if own.control is None else planes[own.control]
            ran, problem = _run_until_conclusive(began, own, plane, notify, stop)
            trouble = trouble or problem
            items.append(ran)
        if items:
            done.append(
                report.ScenarioReport(
                    scenario.title, scenario.description, scenario.file, scenario.document, tuple(items)
                )
            )
    partial = "it was stopped" if stop.is_set() else None if trouble is None else str(trouble)
    full = report.Report(f"faultkit {__version__}", started_at, _now(), settings.seed, tuple(done), partial)
    return RunOutcome(full, trouble)


def _run_until_conclusive(
    began: ItemBegan, settings: RunSettings, plane: LeasedPlane | None, notify: RunListener, stop: Flag
) -> tuple[report.ItemReport, FaultkitError | None]:
    """Run an item, again while it is inconclusive and may be. Each try has the same seed, thus the same
    faults, and only the last one counts."""
    notes: tuple[str, ...] = ()
    for attempt in range(1, settings.retries + 2):
        title = began.title if attempt == 1 else f"{began.title} (try {attempt} of {settings.retries + 1})"
        notify(replace(began, title=title))
        ran, problem = _run_item(began.item, settings, plane, notify, stop)
        ran = replace(ran, warnings=(*ran.warnings, *notes))
        notify(ItemEnded(ran))
        if ran.verdict != "inconclusive" or problem is not None or stop.is_set():
            break
        notes = (*notes, f"Try {attempt} was inconclusive: {'; '.join(ran.reasons)}")
    return ran, problem


def _run_item(
    item: ScenarioItem, settings: RunSettings, remote: LeasedPlane | None, notify: RunListener, stop: Flag
) -> tuple[report.ItemReport, FaultkitError | None]:
    """Return the report of an item, and the error if it could not be run to its end. `remote`: the plane
    whose proxies are used; None: one is made for the item."""
    started_at = _now()
    route_texts: list[str] = []
    measured, after, problem, out_of_reach = Measurements(), None, None, None
    try:
        if remote is None:
            with PlaneProcess(Plan(seed=settings.seed)) as plane:
                target = _open(item, settings, plane, measured, route_texts, stop)
                _measure(item, target, settings, plane, measured, notify, StopOrLost(stop, plane))
                after, measured.lateness = plane.measured()
        else:
            # Before the counters begin: a map's own address is reached through the proxy.
            target = _reach(item, settings, remote, route_texts)
            with remote.item():
                _measure(item, target, settings, remote, measured, notify, StopOrLost(stop, remote))
                after, measured.lateness = remote.measured()
                measured.warnings += remote.warnings
    except InputError:
        raise
    except LeaseLost as error:
        out_of_reach = f"the proxies were out of reach, so what the faults did is not known: {error}"
    except FaultkitError as error:
        problem = error
    if after is None:  # As many as before: nothing is known to have been injected.
        after = measured.before or _NO_COUNTS
    cut_short = str(problem) if problem else None
    if measured.cut_short and (stop.is_set() or not (out_of_reach or problem)):
        cut_short = "the run was stopped before its end"
    if isinstance(item.strategy, SearchStrategy):
        return search_item_report(
            item,
            item.strategy,
            (*item.slos, *settings.slos),
            measured,
            after,
            started_at=started_at,
            routes=route_texts,
            cut_short=cut_short,
            out_of_reach=out_of_reach,
            measures_only=settings.measures_only,
        ), problem
    ran = item_report(
        item,
        measured,
        after,
        gates=settings.slos,
        started_at=started_at,
        routes=route_texts,
        cut_short=cut_short,
        out_of_reach=out_of_reach,
        measures_only=settings.measures_only,
    )
    return ran, problem


def _open(
    item: ScenarioItem,
    settings: RunSettings,
    plane: PlaneProcess,
    measured: Measurements,
    route_texts: list[str],
    stop: Flag,
) -> AnyTarget | None:
    """Open the proxies of an item, and return the call through them; None if the run was stopped."""
    routes = routes_of(item, settings.listen, settings.verify)
    bound: dict[str, Endpoint] = {}
    for spec in routes.proxies:
        bound[spec.name] = plane.open_proxy(spec)
        route_texts.append(route_text(spec, bound[spec.name]))
    if stop.is_set():
        return None
    _check_origin(item.call.url, settings.verify)
    measured.warnings.extend(_unusable_maps(routes))
    return target_of(item.call, routes, bound, settings.verify)


def _reach(
    item: ScenarioItem, settings: RunSettings, plane: LeasedPlane, route_texts: list[str]
) -> AnyTarget:
    """Return the call of an item whose proxies are open elsewhere."""
    assert settings.control is not None
    route_texts += [remote_route_text(proxy, settings.control) for proxy in plane.proxies]
    routes, bound = remote_routes(item, settings.control, plane.proxies)
    for endpoint in bound.values():
        _check_reach(endpoint, None)
    if not bound:
        _check_origin(item.call.url, settings.verify)
    return target_of(item.call, routes, bound, settings.verify)


def _check_origin(url: str, verify: Verify) -> None:
    """Raise TargetError if the service cannot be reached. A program over stdio has no URL."""
    if url:
        _check_reach(origin_of(url), verify if url.startswith("https:") else None)


def _check_reach(endpoint: Endpoint, verify: Verify | None) -> None:
    """Raise TargetError if no connection can be made. `verify`: with TLS; None: without."""
    if (why := why_unusable(endpoint, _REACH_S, verify)) is not None:
        raise TargetError(f"cannot reach {endpoint}: {why}")


def _measure(
    item: ScenarioItem,
    target: AnyTarget | None,
    settings: RunSettings,
    plane: FaultPlane,
    measured: Measurements,
    notify: RunListener,
    stop: StopFlag,
) -> None:
    if target is None or stop.is_set():
        measured.cut_short = True
        return
    meter = ItemMeter(item, target, plane, measured, seed=settings.seed, notify=notify, stop=stop)
    match item.strategy:
        case LoadStrategy():
            slos = (*item.slos, *settings.slos)
            meter.load(item.strategy, slos, baseline=settings.baseline, on=settings.on)
        case RepeatStrategy():
            meter.calls(item.strategy)
        case SingleStrategy():
            meter.calls(_ONCE)
        case SearchStrategy():
            SearchMeter(
                item,
                item.strategy,
                (*item.slos, *settings.slos),
                target,
                plane,
                measured,
                seed=settings.seed,
                on=settings.on,
                notify=notify,
                stop=stop,
            ).run()


def _unusable_maps(routes: Routes) -> Iterator[str]:
    """Yield a warning for each map over TLS whose upstream cannot be used. No error: the service may do
    without this dependency."""
    for spec in routes.proxies:
        if spec.tls and spec.upstream is not None and spec.name != routes.through:
            why = why_unusable(spec.upstream, _REACH_S, spec.verify, spec.speaks)
            if why is not None:
                yield f"Map {spec.name}: cannot reach {spec.upstream}: {why}."


def _check_gates(scenarios: Sequence[Scenario], settings: RunSettings) -> None:
    """Refuse an item that expects its objectives to hold and has none: it could only pass."""
    for scenario in scenarios:
        for index, item in enumerate(scenario.items):
            if item.expect.all_slo_are_valid and not (item.slos or settings.slos):
                raise InputError(
                    f"{scenario.file or scenario.title}: items[{index}].expect.all_slo_are_valid",
                    "expected an objective to hold it to, under context.slo or by --slo, got none",
                )
            for slo in settings.slos:
                if (problem := why_no_objective(slo, item)) is not None:
                    place = f"{scenario.file or scenario.title}: items[{index}]"
                    raise InputError("--slo", f"{problem} ({place})")
            if isinstance(item.strategy, SearchStrategy):
                _check_search(scenario, index, item.strategy, item.slos, settings.slos)


def _check_search(
    scenario: Scenario, index: int, strategy: SearchStrategy, own: Sequence[Slo], gates: Sequence[Slo]
) -> None:
    """Refuse a search that has no objective to decide by, or not the budget for the ends of its range."""
    place = f"{scenario.file or scenario.title}: items[{index}]"
    for slo in gates:
        if (problem := why_not_searchable(slo)) is not None:
            raise InputError("--slo", f"{problem} ({place})")
    if (error := why_no_search(strategy, (*own, *gates))) is not None:
        raise InputError(f"{place}.{error.path}", error.problem)


def _check_placeholders(scenarios: Sequence[Scenario]) -> None:
    """Refuse calls with placeholders of generated files: a service could only turn them away."""
    for scenario in scenarios:
        for index, item in enumerate(scenario.items):
            if left := placeholders_in(item.call):
                raise InputError(
                    f"{scenario.file or scenario.title}: items[{index}].call",
                    f"expected a value of your own in place of each placeholder, got {', '.join(left)}",
                )


def check_place(scenarios: Sequence[Scenario]) -> None:
    """Raise InputError if there is nothing to split among the workers of a cluster.

    Single and repeated calls follow each other, so this process makes them, wherever loads are sent from."""
    items = [item for scenario in scenarios for item in scenario.items]
    if any(isinstance(item.strategy, SearchStrategy) for item in items):
        problem = "expected local:N for a search, whose loads are too short to be sent from elsewhere"
        raise InputError("--on", f"{problem}, got another place")
    if not any(isinstance(item.strategy, LoadStrategy) for item in items):
        raise InputError(
            "--on", "expected a scenario with a load to split, got single and repeated calls only"
        )


def _expected_seconds(item: ScenarioItem, settings: RunSettings) -> float:
    if isinstance(item.strategy, SearchStrategy):
        return item.strategy.budget_s or budget_of(item.strategy) / lowest_rate(item.strategy)
    if not isinstance(item.strategy, LoadStrategy):
        return 0.0
    turns = 2 if settings.baseline and item.faults else 1
    return item.strategy.load.duration_s * turns


def _now() -> str:
    return datetime.now(UTC).isoformat()
