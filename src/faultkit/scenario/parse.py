"""From a document (what YAML gave) to a scenario. Every mistake is noted with its path, not only the first.

Calls, faults and strategies have files of their own. In which file and line a path stands is told by
`faultkit.scenario.file`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from faultkit.base.address import ProxyMap, Upstream, UpstreamSet, parse_map, parse_upstream
from faultkit.base.documents.reading import Reading
from faultkit.base.documents.shape import joined, shown
from faultkit.base.documents.values import (
    choice,
    duration_s,
    line,
    milliseconds,
    number,
    switch,
    text,
    whole,
)
from faultkit.base.errors import InputError
from faultkit.load.slo import Slo, SloKind
from faultkit.scenario.call import CALL_KEYS, CONFIG_KEYS, Config, parse_call, parse_config
from faultkit.scenario.faults import parse_fault
from faultkit.scenario.model import Expect, Item, Scenario, Single, Strategy, Sustained, WrittenFault
from faultkit.scenario.strategy import parse_strategy

SCENARIO_KEYS = ("title", "description", "config", "items")
ITEM_KEYS = ("call", "context", "expect")
CONTEXT_KEYS = ("upstreams", "faults", "strategy", "slo", "proxy", "runs_on")
SLO_KEYS = ("type", "slo_type", "title", "objective", "threshold", "window")
PROXY_KEYS = ("disable_http_proxies", "proxies")
EXPECT_KEYS = ("status", "response_time_under", "all_slo_are_valid")

SLO_KINDS: tuple[str, ...] = get_args(SloKind)
ITEMS = "a list of at least one item"
OBJECTIVE = "a percentage above 0 and below 100"
ERROR_THRESHOLD = "a percentage above 0 and at most 100"


def parse_scenario(
    document: object, problems: list[InputError], file: str | None = None, number: int = 1
) -> Scenario | None:
    """None if there are problems; these are added to the list, with paths within the document."""
    before = len(problems)
    reading = Reading(document, SCENARIO_KEYS, "", problems)
    title = reading.need("title", line, "", "a text")
    description = reading.take("description", text, None)
    config = parse_config(reading.inner("config", CONFIG_KEYS))
    listed = reading.need("items", _some, [], ITEMS)
    items = [_item(value, f"items[{index}]", problems, config) for index, value in enumerate(listed)]
    if len(problems) > before:
        return None
    return Scenario(title, tuple(items), description, file, number)


def _some(value: object) -> list[object]:
    if not isinstance(value, list) or not value:
        raise InputError("", f"expected {ITEMS}, got {'an empty list' if value == [] else shown(value)}")
    return value


def _item(value: object, path: str, problems: list[InputError], config: Config) -> Item:
    reading = Reading(value, ITEM_KEYS, path, problems)
    call = None
    if "call" in reading.given:
        call = parse_call(reading.inner("call", CALL_KEYS), config)
    elif reading.sound:
        reading.note("call", InputError("", "expected a mapping, got nothing"))
    context = reading.inner("context", CONTEXT_KEYS)
    _refuse_runs_on(context)
    faults = _faults(context)
    strategy = _strategy(context, faults)
    _check_periods(context, faults or (), strategy)
    maps, http_proxy = _proxy(context, has_faults=bool(context.given.get("faults")))
    item: dict[str, Any] = {
        "call": call,
        "faults": tuple(faults or ()),
        "strategy": strategy,
        "slos": tuple(_slo(each, where, problems) for where, each in context.each("slo", "objectives")),
        "expect": _expect(reading.inner("expect", EXPECT_KEYS)),
        "upstreams": UpstreamSet(tuple(_upstreams(context))),
        "maps": maps,
        "http_proxy": http_proxy,
    }
    return Item(**item)


def _refuse_runs_on(context: Reading) -> None:
    if "runs_on" in context.given:
        problem = "expected nothing, got a platform: scenarios run on this machine only"
        context.note("runs_on", InputError("", problem))


def _faults(context: Reading) -> list[WrittenFault] | None:
    """None if one of them is wrong."""
    taken: set[str] = set()
    faults = [
        parse_fault(value, path, context.problems, taken) for path, value in context.each("faults", "faults")
    ]
    sound = [fault for fault in faults if fault is not None]
    return sound if len(sound) == len(faults) else None


def _strategy(context: Reading, faults: Sequence[WrittenFault] | None) -> Strategy:
    if "strategy" not in context.given:
        return Single()
    return parse_strategy(
        context.given["strategy"], joined(context.path, "strategy"), context.problems, faults
    )


def _check_periods(context: Reading, faults: Sequence[WrittenFault], strategy: Strategy) -> None:
    total_s = strategy.load.duration_s if isinstance(strategy, Sustained) else None
    for index, fault in enumerate(faults):
        schedule, path = fault.rule.schedule, f"faults[{index}].period"
        problem = None
        if schedule.needs_total and total_s is None:
            problem = (
                f'expected times such as "10s", got "{schedule}": percentages need a strategy of mode load'
            )
        else:
            try:
                schedule.resolve(total_s)
            except InputError as error:
                problem = error.problem
        if problem is not None:
            context.problems.append(InputError(path, problem).within(context.path))


def _upstreams(context: Reading) -> list[Upstream]:
    found = []
    for path, value in context.each("upstreams", "hosts"):
        try:
            found.append(_upstream(value))
        except InputError as error:
            context.problems.append(InputError(path, error.problem))
    return found


def _upstream(value: object) -> Upstream:
    if not isinstance(value, str) or not value.strip():
        raise InputError("", f"expected a host or a URL, got {shown(value)}")
    scheme, marks, rest = value.strip().partition("://")
    # A whole URL stands for its host and port.
    return parse_upstream(f"{scheme}://{rest.partition('/')[0]}" if marks else value)


def _proxy(context: Reading, *, has_faults: bool) -> tuple[tuple[ProxyMap, ...], bool]:
    reading = context.inner("proxy", PROXY_KEYS)
    disabled = reading.take("disable_http_proxies", switch, False)
    maps: list[ProxyMap] = []
    listed = reading.each("proxies", "maps such as 9090=https://example.com")
    for path, value in listed:
        try:
            added = parse_map(text(value))
            _refuse_taken_port(added, maps)
            maps.append(added)
        except InputError as error:
            context.problems.append(InputError(path, error.problem))
    if disabled and not listed and has_faults:
        problem = "expected false, or proxies for the faults to act in, got true and no proxies"
        reading.note("disable_http_proxies", InputError("", problem))
    return tuple(maps), not disabled


def _refuse_taken_port(added: ProxyMap, maps: Sequence[ProxyMap]) -> None:
    if added.listen.port and added.listen in (other.listen for other in maps):
        raise InputError("", f"expected each map to listen elsewhere, got {added.listen} again")


def _slo(value: object, path: str, problems: list[InputError]) -> Slo | None:
    before = len(problems)
    reading = Reading(value, SLO_KEYS, path, problems)
    if {"type", "slo_type"} <= set(reading.given):
        reading.note("slo_type", InputError("", 'expected it or "type", got both'))
    key = "slo_type" if "slo_type" in reading.given else "type"
    kind: Any = reading.need(key, choice(SLO_KINDS), None, f"one of {', '.join(SLO_KINDS)}")
    objective = reading.need("objective", number(OBJECTIVE, lambda share: 0 < share < 100), 1.0, OBJECTIVE)
    threshold = _threshold(reading, kind)
    title = reading.take("title", line, kind)
    window_s = reading.take("window", duration_s, None)
    return Slo(kind, title, objective, threshold, window_s) if len(problems) == before else None


def _threshold(reading: Reading, kind: str | None) -> float | None:
    if kind == "error":
        read = number(ERROR_THRESHOLD, lambda share: 0 < share <= 100)
        return reading.need("threshold", read, None, ERROR_THRESHOLD)
    if kind == "latency":
        return reading.need("threshold", milliseconds, None, "a number of milliseconds above 0")
    return reading.take("threshold", milliseconds, None)


def _expect(reading: Reading) -> Expect:
    return Expect(
        reading.take("status", whole(100, 599), None),
        reading.take("response_time_under", milliseconds, None),
        reading.take("all_slo_are_valid", switch, None),
    )
