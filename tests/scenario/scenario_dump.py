"""A scenario as the data of a YAML document, without default values: the inverse of `parse_scenario`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faultkit.base.units import format_duration
from faultkit.faults.parse import dump_fault
from faultkit.load.load import Load
from faultkit.load.slo import Slo
from faultkit.plan import dump_rule
from faultkit.scenario.scenario_model import (
    Call,
    Expect,
    Item,
    LoadStrategy,
    Repeat,
    Scenario,
    Single,
    Strategy,
    WrittenFault,
)
from faultkit.scenario.strategy import usual_steps
from faultkit.scenario.written_faults import ALIASES, MATCH_KEYS, usual_settings


def dump_scenario(scenario: Scenario) -> dict[str, Any]:
    return _written(
        {
            "title": scenario.title,
            "description": scenario.description,
            "items": [_dump_item(item) for item in scenario.items],
        }
    )


def _written(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the mapping without empty values."""
    return {key: value for key, value in given.items() if value is not None and value not in ({}, [])}


def _dump_item(item: Item) -> dict[str, Any]:
    context = {
        "upstreams": [str(upstream) for upstream in item.upstreams.upstreams],
        "faults": [dump_written(fault) for fault in item.faults],
        "strategy": _dump_strategy(item),
        "slo": [_dump_slo(slo) for slo in item.slos],
        "proxy": _written(
            {
                "disable_http_proxies": None if item.http_proxy else True,
                "proxies": [str(each) for each in item.maps],
            }
        ),
    }
    return _written(
        {"call": _dump_call(item.call), "context": _written(context), "expect": _dump_expect(item.expect)}
    )


def _dump_call(call: Call) -> dict[str, Any]:
    return _written(
        {
            "method": call.method,
            "url": call.url,
            "headers": dict(call.headers),
            "body": call.body,
            "timeout": None if call.timeout_s is None else dump_span(call.timeout_s),
            "meta": _written({"operation_id": call.operation_id}),
        }
    )


def _dump_strategy(item: Item) -> dict[str, Any] | None:
    strategy: Strategy = item.strategy
    if isinstance(strategy, Single):
        return None
    if isinstance(strategy, LoadStrategy):
        return _dump_load(strategy)
    return {"mode": "repeat", "step": strategy.step, "count": strategy.count, **_dump_repeat(strategy, item)}


def _dump_repeat(strategy: Repeat, item: Item) -> dict[str, Any]:
    chosen = None
    if strategy.stepped and strategy.stepped != usual_steps(item.faults):
        chosen = strategy.stepped[0][1]
    return _written(
        {
            "step_of": chosen,
            "wait": dump_span(strategy.wait_s) if strategy.wait_s else None,
            "failfast": strategy.failfast or None,
            "add_baseline_call": strategy.add_baseline_call or None,
        }
    )


def _dump_load(strategy: LoadStrategy) -> dict[str, Any]:
    load, usual = strategy.load, Load(1.0, 1.0)
    return _written(
        {
            "mode": "load",
            "duration": format_duration(load.duration_s),
            "clients": strategy.clients,
            "rps": None if strategy.rps is None else dump_number(strategy.rps),
            "model": load.model if load.model != usual.model else None,
            "ramp": format_duration(load.ramp_s) if load.ramp_s else None,
            "spacing": load.spacing if load.spacing != usual.spacing else None,
            "keep_alive": load.keep_alive or None,
            "max_in_flight": load.most_in_flight if load.most_in_flight != usual.most_in_flight else None,
        }
    )


def _dump_slo(slo: Slo) -> dict[str, Any]:
    return _written(
        {
            "type": slo.kind,
            "title": slo.title if slo.title != slo.kind else None,
            "objective": slo.objective,
            "threshold": slo.threshold,
            "window": None if slo.window_s is None else format_duration(slo.window_s),
        }
    )


def _dump_expect(expect: Expect) -> dict[str, Any]:
    under_ms = expect.response_time_under_ms
    return _written(
        {
            "status": expect.status,
            "response_time_under": None if under_ms is None else dump_number(under_ms),
            "all_slo_are_valid": expect.all_slo_are_valid,
        }
    )


def dump_written(fault: WrittenFault) -> dict[str, object]:
    """The plain form that `parse_fault` reads as this fault; shorter names go before the vocabulary's."""
    rule, kind = fault.rule, fault.rule.fault.kind
    settings = dump_fault(rule.fault)
    for name in usual_settings(fault.written, settings):
        settings[name] = getattr(rule.fault, name)
    if fault.written == "packetloss" and settings == {"model": "five-state"}:
        settings = {}
    plain = dump_rule(rule)
    parts: dict[str, object] = {}
    for part in ("match", "trigger"):
        given = plain.get(part, {})
        assert isinstance(given, dict)
        parts.update(given)
    match = {key: parts.pop(key) for key in MATCH_KEYS if key in parts}
    names = {meant: name for name, meant in ALIASES.get(kind, {}).items() if meant != "per"}
    dumped = {names.get(name, name): value for name, value in {**settings, **parts}.items()}
    if match:
        dumped["match"] = match
    if rule.schedule.periods:
        dumped["period"] = str(rule.schedule)
    return {"type": fault.written, **dumped}


def dump_number(ms: float) -> int | float:
    """A number that reads well: 500, not 500.0."""
    return int(ms) if ms == int(ms) else ms


def dump_span(seconds: float) -> int | float | str:
    """Milliseconds where they give the very same time back, else text."""
    ms = dump_number(round(seconds * 1000, 9))
    return ms if ms / 1000 == seconds else format_duration(seconds)
