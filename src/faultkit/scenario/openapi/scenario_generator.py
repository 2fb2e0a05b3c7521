"""From an OpenAPI document to scenario files: which operations, which files, and writing them.

Each operation gets the eight scenarios of TEMPLATES. Their titles describe what the faults do. Scenarios are
built as plain data in the format of scenario files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from faultkit.base.documents.checks import shown
from faultkit.base.errors import InputError, RunError
from faultkit.base.text import did_you_mean, printable_line
from faultkit.base.units import parse_duration
from faultkit.scenario.openapi.openapi_document import DocumentSource, OpenApiDocument, read_openapi
from faultkit.scenario.openapi.operations import Operation, operations_of, origin

SAFE_METHODS = ("GET", "HEAD", "OPTIONS", "TRACE")
"""Methods that only read, by RFC 9110, section 9.2.1."""
ONE_FILE = "scenarios.yaml"
SUFFIXES = (".yaml", ".yml")
_LONGEST_NAME = 100
_ANSWERED_WITHIN_MS = 5000
_Dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


@dataclass(frozen=True, slots=True)
class GeneratedFile:
    """A scenario file that is not written yet."""

    name: str
    """The name of the file, without a folder."""
    text: str
    operations: tuple[Operation, ...]
    scenarios: int

    @property
    def operation_ids(self) -> tuple[str, ...]:
        return tuple(operation.operation_id for operation in self.operations)


def generate(
    source: DocumentSource,
    *,
    operations: Sequence[str] = (),
    server: str | None = None,
    split: bool = False,
    writes: bool = False,
) -> list[GeneratedFile]:
    """Return one file with all scenarios or, with `split`, a file for each operation.

    `operations` selects by names or globs of the id, `METHOD /path` or `/path`; `server` is a base URL to use
    instead of the document's servers. Operations that may change something are left out unless `writes` is
    set, because a load would call each of them hundreds of times."""
    spec = read_openapi(source)
    chosen = _select(operations_of(spec, server), operations, source)
    if not writes:
        chosen = [operation for operation in chosen if operation.method in SAFE_METHODS]
        if not chosen:
            raise InputError(
                "operations",
                f"expected one that only reads ({', '.join(SAFE_METHODS)}), got none; to generate calls that "
                "may change something, say so (--writes)",
            )
    if not split:
        return [_file(ONE_FILE, spec, chosen)]
    taken: set[str] = set()
    return [_file(_file_name(operation, taken), spec, [operation]) for operation in chosen]


def hosts_of(files: Sequence[GeneratedFile]) -> list[str]:
    """Return the servers that the scenarios call, each once."""
    return list(dict.fromkeys(origin(each.base) for file in files for each in file.operations))


def expected_seconds(files: Sequence[GeneratedFile]) -> float:
    """Return how long a run takes at least: each load runs twice, and single calls are not counted."""
    per_operation = sum(parse_duration(template.strategy.get("duration", "0s")) for template in TEMPLATES)
    return 2 * per_operation * sum(len(file.operations) for file in files)


def is_one_file(path: Path) -> bool:
    """Return whether a path that the user gave means one file, not a folder."""
    return path.suffix.lower() in SUFFIXES and not os.path.isdir(path)


def write_generated(files: Sequence[GeneratedFile], path: Path, *, force: bool = False) -> list[Path]:
    """Write to `path` itself if it has the extension of YAML, else into the folder `path`, which is created.

    Raises InputError before anything is written if one of the files exists, unless `force` is set."""
    if is_one_file(path):
        if len(files) != 1:
            raise InputError(str(path), f"expected a folder for {len(files)} files, got the name of a file")
        targets = [path]
    else:
        targets = [path / file.name for file in files]
    there = [target for target in targets if os.path.exists(target)]
    if there and not force:
        more = f" (and {len(there) - 1} more)" if len(there) > 1 else ""
        raise InputError(str(there[0]), f"is there already{more}; expected a new name, or to be forced")
    try:
        for target, file in zip(targets, files, strict=True):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(file.text, encoding="utf-8", newline="\n")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise RunError(f"{error.filename or path}: cannot be written: {reason}") from None
    return targets


def _select(found: list[Operation], wanted: Sequence[str], source: DocumentSource) -> list[Operation]:
    if not found:
        raise InputError(source.shown, "expected at least one operation under paths, got none")
    names = {
        operation.operation_id: (
            operation.operation_id,
            f"{operation.method} {operation.path}",
            operation.path,
        )
        for operation in found
    }
    for pattern in wanted:
        if not any(_matches(pattern, names[operation.operation_id]) for operation in found):
            guess = did_you_mean(pattern, names)
            raise InputError(
                "operations", f"expected an operation of the document, got {shown(pattern)}{guess}"
            )
    if not wanted:
        return found
    return [
        operation
        for operation in found
        if any(_matches(pattern, names[operation.operation_id]) for pattern in wanted)
    ]


def _matches(pattern: str, names: Iterable[str]) -> bool:
    return any(pattern == name or fnmatchcase(name, pattern) for name in names)


def _file(name: str, spec: OpenApiDocument, operations: list[Operation]) -> GeneratedFile:
    documents = [scenario_document(template, operation) for operation in operations for template in TEMPLATES]
    text = yaml.dump_all(
        documents, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110, explicit_start=True
    )
    return GeneratedFile(name, _header(spec, operations) + text, tuple(operations), len(documents))


def _header(spec: OpenApiDocument, operations: list[Operation]) -> str:
    place = spec.source.shown if spec.source.is_url else Path(spec.source.location).name
    title = f" ({spec.title})" if spec.title else ""
    lines = [
        f"Made by `fault scenario generate` from {place}{title}.",
        f"Operations: {len(operations)}; each has {len(TEMPLATES)} scenarios.",
    ]
    placeholders = {name: what for each in operations for name, what in each.placeholders.items()}
    if placeholders:
        lines.append("Replace before running:")
        lines += [f"  {name}: {what}" for name, what in placeholders.items()]
    if any(urlsplit(operation.base).scheme == "https" for operation in operations):
        lines.append("The calls go to real servers: make sure that you may break them.")
    # `printable_line` removes the indentation.
    indents = [" " * (len(line) - len(line.lstrip(" "))) for line in lines]
    return "".join(f"# {indent}{printable_line(line)}\n" for indent, line in zip(indents, lines, strict=True))


def _file_name(operation: Operation, taken: set[str]) -> str:
    """Return a file name that is safe on every file system: letters, digits and hyphens, in lower case."""
    words = re.sub(r"[^A-Za-z0-9._-]+", "-", operation.operation_id).strip("-._")[:_LONGEST_NAME]
    stem = words or "operation"
    fresh, number = stem, 1
    while fresh.lower() in taken:
        number += 1
        fresh = f"{stem}-{number}"
    taken.add(fresh.lower())
    return f"{fresh}.yaml"


# The scenarios of an operation


@dataclass(frozen=True, slots=True)
class ScenarioTemplate:
    """The faults, strategy and limits of one of the eight scenarios."""

    name: str
    title: str
    description: str
    faults: tuple[Mapping[str, Any], ...]
    strategy: Mapping[str, Any]
    timeout_ms: int | None = None
    slos: tuple[Mapping[str, Any], ...] = ()
    """The objectives of a load. All must hold."""


def _slos(percentile: int = 95, errors: int = 1) -> tuple[Mapping[str, Any], ...]:
    """Return the objectives of a load: an answer within 300 ms at that percentile, and few errors.

    The calls go through the fault, so no service can answer those that the fault itself ends. The limits
    leave room for these, and for nothing else."""
    return (
        {
            "type": "latency",
            "title": f"P{percentile} < 300 ms",
            "objective": float(percentile),
            "threshold": 300.0,
        },
        {
            "type": "error",
            "title": f"Errors < {errors} %",
            "objective": 100.0 - errors,
            "threshold": float(errors),
        },
    )


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


TEMPLATES: tuple[ScenarioTemplate, ...] = (
    ScenarioTemplate(
        "latency-spike",
        "One latency spike of about 800 ms",
        "The request arrives about 800 ms late, once. Does the call still succeed?",
        ({"type": "latency", "side": "client", "direction": "ingress", "mean": 800.0, "stddev": 100.0},),
        {"mode": "single"},
    ),
    ScenarioTemplate(
        "latency-steps",
        "Latency that grows by 100 ms a call",
        "A call without a fault, then five more, each about 100 ms slower than the one before.",
        ({"type": "latency", "side": "client", "direction": "ingress", "mean": 100.0, "stddev": 30.0},),
        {"mode": "repeat", "step": 100.0, "count": 5, "add_baseline_call": True},
    ),
    ScenarioTemplate(
        "latency-pulses",
        "Three pulses of latency, 150 to 250 ms, under load",
        "Three times, for 15 % of the time each, requests arrive late. Watch the tail of the response times.",
        (_pulse(150.0, 10), _pulse(250.0, 40), _pulse(150.0, 70)),
        _load("10s", 3, 2),
        slos=_slos(),
    ),
    ScenarioTemplate(
        "packet-loss",
        "Packet loss on the way to the service",
        "Parts of the request get lost and are sent again, as on a bad radio link.",
        ({"type": "packetloss", "side": "server", "direction": "egress"},),
        # Several calls instead of the original's one: a single call mostly loses no packet.
        _load("10s", 2, 5),
        timeout_ms=500,
        slos=_slos(90, errors=10),
    ),
    ScenarioTemplate(
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
        {"mode": "single"},
    ),
    ScenarioTemplate(
        "bandwidth",
        "Bandwidth of 512 KBps under load",
        "Answers come in at 512 kB a second. Large ones suffer first.",
        ({"type": "bandwidth", "side": "server", "direction": "ingress", "rate": 512, "unit": "KBps"},),
        _load("15s", 2, 1),
        slos=_slos(),
    ),
    ScenarioTemplate(
        "http-errors",
        "Status 500 for 1 call in 20 under load",
        "Each call has a chance of 5 % to be answered with status 500.",
        ({"type": "httperror", "status_code": 500, "probability": 0.05},),
        _load("8s", 5, 4),
        slos=_slos(85, errors=15),
    ),
    ScenarioTemplate(
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
        slos=_slos(80, errors=20),
    ),
)


def scenario_document(template: ScenarioTemplate, operation: Operation) -> dict[str, Any]:
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
    item["expect"] = _expect(template, operation)
    return {**document, "items": [item]}


def _call(template: ScenarioTemplate, operation: Operation) -> dict[str, Any]:
    call: dict[str, Any] = {"method": operation.method, "url": operation.url}
    if operation.headers:
        call["headers"] = dict(operation.headers)
    if operation.body is not None:
        call["body"] = operation.body
    if template.timeout_ms is not None:
        call["timeout"] = template.timeout_ms
    return {**call, "meta": {"operation_id": operation.operation_id}}


def _context(template: ScenarioTemplate, operation: Operation) -> dict[str, Any]:
    context: dict[str, Any] = {
        "upstreams": [origin(operation.base)],
        "faults": [dict(fault) for fault in template.faults],
        "strategy": dict(template.strategy),
    }
    return {**context, "slo": [dict(slo) for slo in template.slos]} if template.slos else context


def _expect(template: ScenarioTemplate, operation: Operation) -> dict[str, Any]:
    """Return the expectation, which a service can miss: objectives of a load, or the status of single calls.

    Where the document promises no status, the call must at least be answered."""
    if template.slos:
        return {"all_slo_are_valid": True}
    if operation.status is None:
        return {"response_time_under": _ANSWERED_WITHIN_MS}
    return {"status": operation.status}
