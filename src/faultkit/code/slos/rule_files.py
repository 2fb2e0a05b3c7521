"""Objectives as files for other programs: rules for Prometheus, OpenSLO, Sloth. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from faultkit.code.slos.budget import (
    PERIOD,
    PERIOD_DAYS,
    WINDOWS,
    BurnRate,
    budget_share,
    burn_rates,
)
from faultkit.code.slos.indicators import Matcher, summed_rate
from faultkit.code.slos.suggest import Events, FunctionObjectives, SuggestedSlo, route_of

_RATIO = "slo:sli_error:ratio_rate"
"""The name of the recorded share of bad events; the window follows."""
_LONGEST_NAME = 63
"""Characters of a name in OpenSLO and Kubernetes."""
_INDICATOR = "-sli"
"""Ends the name of an objective's indicator in OpenSLO."""
_LONGEST_NUMBER = len("-1000")
"""Ends the name of an objective whose name another one has."""
_SLOTH_WINDOW = "{{.window}}"
_UNKNOWN = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class NamedSlo:
    """An objective with a name that is unique in its file."""

    name: str
    slo: SuggestedSlo


def rules_text(found: Sequence[FunctionObjectives], format_: str, service: str) -> str:
    """Return the objectives as a YAML file of one of FORMATS."""
    documents, notes = FORMATS[format_](tuple(named_slos(found)), name_of(service) or "service")
    needs = dict.fromkeys(each.needs for function in found for each in _without_doubles(function))
    lines = [*notes, *filter(None, needs)]
    text = yaml.safe_dump_all(documents, sort_keys=False, allow_unicode=True, width=10_000)
    return "".join(f"# {line}\n" for line in lines) + text


def named_slos(found: Sequence[FunctionObjectives]) -> Iterator[NamedSlo]:
    """Yield the objectives with names made of route, type and percentile."""
    seen = set[str]()
    for function in found:
        for slo in _without_doubles(function):
            kind = f"latency-p{slo.objective:g}" if slo.type == "latency" else slo.type
            about = name_of(route_of(slo.entry)) or name_of(slo.entry.name) or "function"
            longest = _LONGEST_NAME - len(f"-{kind}{_INDICATOR}") - _LONGEST_NUMBER
            base = f"{about[:longest].rstrip('-')}-{kind}"
            name, number = base, 2
            while name in seen:
                name, number = f"{base}-{number}", number + 1
            seen.add(name)
            yield NamedSlo(name, slo)


def name_of(text: str) -> str:
    """Return a text as a name of lower-case letters, digits and `-`; empty if nothing is left."""
    return _UNKNOWN.sub("-", text.lower()).strip("-")[:_LONGEST_NAME].rstrip("-")


def _without_doubles(function: FunctionObjectives) -> tuple[SuggestedSlo, ...]:
    """Return the objectives without an error rate that counts the same events as the availability."""
    counted = {each.events for each in function.slos if each.type == "availability"}
    return tuple(each for each in function.slos if each.type != "error" or each.events not in counted)


def bad_ratio(events: Events, window: str) -> str:
    """Return PromQL for the share of bad events in a window, from 0 to 1."""
    total = summed_rate(events.total, window)
    if events.good:
        return f"1 - ({summed_rate(events.good, window)} / {total})"
    return f"({summed_rate(events.bad, window)} or vector(0)) / {total}"


# Prometheus.


def _prometheus(slos: tuple[NamedSlo, ...], service: str) -> tuple[list[Any], list[str]]:
    groups = list[dict[str, Any]]()
    for each in slos:
        labels = {"slo": each.name, "service": service}
        groups.append(
            {"name": f"slo-{each.name}", "rules": [*_records(each, labels), *_alerts(each, labels)]}
        )
        groups.append(
            {"name": f"slo-{each.name}-{PERIOD}", "interval": "10m", "rules": _period(each, labels)}
        )
    notes = [
        f"Rules for Prometheus, of fault slo. {PERIOD_DAYS} days need --storage.tsdb.retention.time={PERIOD}."
    ]
    return [{"groups": groups}], notes


def _records(each: NamedSlo, labels: dict[str, str]) -> Iterator[dict[str, Any]]:
    for window in WINDOWS:
        yield _record(f"{_RATIO}{window}", bad_ratio(each.slo.events, window), labels)


def _record(name: str, expression: str, labels: dict[str, str]) -> dict[str, Any]:
    # A copy: YAML would write an alias for the same object.
    return {"record": name, "expr": expression, "labels": labels.copy()}


def _period(each: NamedSlo, labels: dict[str, str]) -> list[dict[str, Any]]:
    allowed = budget_share(each.slo.objective)
    used = _recorded(PERIOD, labels)
    return [
        _record(f"{_RATIO}{PERIOD}", bad_ratio(each.slo.events, PERIOD), labels),
        _record("slo:error_budget:remaining_ratio", f"1 - ({used} / {allowed:g})", labels),
    ]


def _alerts(each: NamedSlo, labels: dict[str, str]) -> Iterator[dict[str, Any]]:
    for rate in burn_rates(each.slo.objective):
        yield _alert(each, rate, labels)
    # Names that do not match have no result, and without this alert nothing would show it.
    yield {
        "alert": "SloNoData",
        "expr": f"absent({_recorded('1h', labels)})",
        "for": "1h",
        "labels": {"severity": "ticket", **labels},
        "annotations": {
            "summary": f"{each.name} has no data: the names of its metrics or labels do not match",
            "description": each.slo.needs,
        },
    }


def _alert(each: NamedSlo, rate: BurnRate, labels: dict[str, str]) -> dict[str, Any]:
    bound = f"{rate.factor * budget_share(each.slo.objective):g}"
    both = " and ".join(f"({_recorded(window, labels)} > {bound})" for window in (rate.long, rate.short))
    return {
        "alert": "SloBudgetBurn",
        "expr": both,
        "labels": {"severity": rate.severity, "window": rate.long, **labels},
        "annotations": {
            "summary": f"{each.name} uses its error budget {rate.factor:g} times as fast as it may",
            "description": each.slo.error_budget,
        },
    }


def _recorded(window: str, labels: dict[str, str]) -> str:
    matchers = ",".join(str(Matcher(label, "=", value)) for label, value in labels.items())
    return f"{_RATIO}{window}{{{matchers}}}"


# OpenSLO.


def _openslo(slos: tuple[NamedSlo, ...], service: str) -> tuple[list[Any], list[str]]:
    head = {"apiVersion": "openslo/v1", "kind": "Service", "metadata": {"name": service}, "spec": {}}
    return [head, *(_openslo_document(each, service) for each in slos)], ["OpenSLO v1, of fault slo."]


def _openslo_document(each: NamedSlo, service: str) -> dict[str, Any]:
    slo, events = each.slo, each.slo.events
    counted = {"good": _source(events.good)} if events.good else {"bad": _source(events.bad)}
    return {
        "apiVersion": "openslo/v1",
        "kind": "SLO",
        "metadata": {"name": each.name, "displayName": _title(slo)},
        "spec": {
            "description": slo.explanation,
            "service": service,
            "indicator": {
                "metadata": {"name": f"{each.name}{_INDICATOR}"},
                "spec": {"ratioMetric": {"counter": True, **counted, "total": _source(events.total)}},
            },
            "timeWindow": [{"duration": PERIOD, "isRolling": True}],
            "budgetingMethod": "Occurrences",
            "objectives": [{"displayName": slo.error_budget, "target": round(slo.objective / 100, 6)}],
        },
    }


def _source(selector: str) -> dict[str, Any]:
    return {"metricSource": {"type": "Prometheus", "spec": {"query": f"sum({selector})"}}}


# Sloth.


def _sloth(slos: tuple[NamedSlo, ...], service: str) -> tuple[list[Any], list[str]]:
    document = {
        "version": "prometheus/v1",
        "service": service,
        "slos": [
            {
                "name": each.name,
                "objective": each.slo.objective,
                "description": each.slo.error_budget,
                "sli": {"events": _sloth_events(each.slo.events)},
                "alerting": {
                    "name": "SloBudgetBurn",
                    "annotations": {"summary": _title(each.slo)},
                    "page_alert": {"labels": {"severity": "page"}},
                    "ticket_alert": {"labels": {"severity": "ticket"}},
                },
            }
            for each in slos
        ],
    }
    notes = [f"For Sloth, of fault slo: sloth generate --default-slo-period={PERIOD} -i FILE"]
    return [document], notes


def _sloth_events(events: Events) -> dict[str, str]:
    total = summed_rate(events.total, _SLOTH_WINDOW)
    if events.good:
        bad = f"{total} - {summed_rate(events.good, _SLOTH_WINDOW)}"
    else:
        bad = f"{summed_rate(events.bad, _SLOTH_WINDOW)} or vector(0)"
    return {"error_query": bad, "total_query": total}


def _title(slo: SuggestedSlo) -> str:
    return f"{slo.title} of {route_of(slo.entry) or slo.entry.name or 'a function'}"


FORMATS: dict[str, Callable[[tuple[NamedSlo, ...], str], tuple[list[Any], list[str]]]] = {
    "prometheus": _prometheus,
    "openslo": _openslo,
    "sloth": _sloth,
}
