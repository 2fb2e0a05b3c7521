"""The eight scenarios of every operation: a table of templates, and the document of a template.

Titles describe what the faults do. Documents are plain data in the format of scenario files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from faultkit.scenario.openapi.operations import Operation
from faultkit.scenario.openapi.servers import origin


@dataclass(frozen=True, slots=True)
class Template:
    """The faults, strategy and limits of one of the eight scenarios."""

    name: str
    title: str
    description: str
    faults: tuple[Mapping[str, Any], ...]
    strategy: Mapping[str, Any]
    timeout_ms: int | None = None
    response_time_under_ms: int | None = None


SLOS: tuple[Mapping[str, Any], ...] = (
    {"type": "latency", "title": "P95 < 300 ms", "objective": 95.0, "threshold": 300.0},
    {"type": "error", "title": "Errors < 1 %", "objective": 99.0, "threshold": 1.0},
)
"""The objectives of every load."""


def _single() -> dict[str, Any]:
    return {"mode": "single"}


def _load(duration: str, clients: int, rps: int) -> dict[str, Any]:
    return {"mode": "load", "duration": duration, "clients": clients, "rps": rps}


def _pulse(mean_ms: float, start_percent: int) -> dict[str, Any]:
    return {
        "type": "latency",
        "side": "client",
        "direction": "ingress",
        "mean": mean_ms,
        "period": f"start:{start_percent}%,duration:15%",
    }


TEMPLATES: tuple[Template, ...] = (
    Template(
        "latency-spike",
        "One latency spike of about 800 ms",
        "The request arrives about 800 ms late, once. Does the call still succeed?",
        ({"type": "latency", "side": "client", "direction": "ingress", "mean": 800.0, "stddev": 100.0},),
        _single(),
    ),
    Template(
        "latency-steps",
        "Latency that grows by 100 ms a call",
        "A call without a fault, then five more, each about 100 ms slower than the one before.",
        ({"type": "latency", "side": "client", "direction": "ingress", "mean": 100.0, "stddev": 30.0},),
        {"mode": "repeat", "step": 100.0, "count": 5, "add_baseline_call": True},
    ),
    Template(
        "latency-pulses",
        "Three pulses of latency, 150 to 250 ms, under load",
        "Three times, for 15 % of the time each, requests arrive late. Watch the tail of the response times.",
        (_pulse(150.0, 10), _pulse(250.0, 40), _pulse(150.0, 70)),
        _load("10s", 3, 2),
    ),
    Template(
        "packet-loss",
        "Packet loss on the way to the service",
        "Parts of the request get lost and are sent again, as on a bad radio link.",
        ({"type": "packetloss", "side": "server", "direction": "egress"},),
        # Several calls instead of the original's one: a single call mostly loses no packet.
        _load("10s", 2, 5),
        timeout_ms=500,
    ),
    Template(
        "jitter",
        "Jitter of up to 80 ms, 8 times a second",
        "The answer comes in with delays that change all the time.",
        (
            {
                "type": "jitter",
                "side": "server",
                "direction": "ingress",
                "amplitude": 80.0,
                "frequency": 8.0,
            },
        ),
        _single(),
    ),
    Template(
        "bandwidth",
        "Bandwidth of 512 KBps under load",
        "Answers come in at 512 kB a second. Large ones suffer first.",
        ({"type": "bandwidth", "side": "server", "direction": "ingress", "rate": 512, "unit": "KBps"},),
        _load("15s", 2, 1),
    ),
    Template(
        "http-errors",
        "Status 500 for 1 call in 20 under load",
        "Each call has a chance of 5 % to be answered with status 500.",
        ({"type": "httperror", "status_code": 500, "probability": 0.05},),
        _load("8s", 5, 4),
    ),
    Template(
        "blackhole",
        "Requests vanish for 1 second of 10 under load",
        "From 45 to 55 % of the time nothing reaches the service; calls give up after 500 ms.",
        (
            {
                "type": "blackhole",
                "side": "server",
                "direction": "egress",
                "period": "start:45%,duration:10%",
            },
        ),
        _load("10s", 2, 3),
        timeout_ms=500,
    ),
)


def scenario_document(template: Template, operation: Operation) -> dict[str, Any]:
    """Return the scenario of a template for one operation, as a document of a scenario file."""
    document: dict[str, Any] = {
        "title": f"{template.title}: {operation.method} {operation.path}",
        "description": template.description,
    }
    http: dict[str, Any] = {}
    if operation.config_headers:
        http["headers"] = dict(operation.config_headers)
    if operation.segments:
        http["paths"] = {"segments": dict(operation.segments)}
    if http:
        document["config"] = {"http": http}
    item: dict[str, Any] = {"call": _call(template, operation), "context": _context(template, operation)}
    expect = _expect(template, operation)
    if expect:
        item["expect"] = expect
    return {**document, "items": [item]}


def _call(template: Template, operation: Operation) -> dict[str, Any]:
    call: dict[str, Any] = {"method": operation.method, "url": operation.url}
    if operation.headers:
        call["headers"] = dict(operation.headers)
    if operation.body is not None:
        call["body"] = operation.body
    if template.timeout_ms is not None:
        call["timeout"] = template.timeout_ms
    return {**call, "meta": {"operation_id": operation.operation_id}}


def _context(template: Template, operation: Operation) -> dict[str, Any]:
    context: dict[str, Any] = {
        "upstreams": [origin(operation.base)],
        "faults": [dict(fault) for fault in template.faults],
        "strategy": dict(template.strategy),
    }
    return {**context, "slo": [dict(slo) for slo in SLOS]} if template.strategy["mode"] == "load" else context


def _expect(template: Template, operation: Operation) -> dict[str, Any]:
    """Return the expectation of single calls; a load has SLOs instead."""
    if template.strategy["mode"] == "load":
        return {}
    expect: dict[str, Any] = {} if operation.status is None else {"status": operation.status}
    if template.response_time_under_ms is not None:
        expect["response_time_under"] = template.response_time_under_ms
    return expect
