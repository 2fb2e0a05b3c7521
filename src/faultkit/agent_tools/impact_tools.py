"""The six impact tools: arguments, results, descriptions. `impact_functions` holds their functions.

Declarations only, so that a server starts fast: the core is imported when an argument is read. Every text
here is part of the interface: models read it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from faultkit.agent_tools.argument_kinds import (
    argument,
    brief_json,
    choice,
    either,
    flag,
    number,
    several,
    text,
    whole,
)
from faultkit.agent_tools.tool import IMPORT_LOCK, Argument, Hints, Tool
from faultkit.base.documents.values import SEED_FORM, is_seed
from faultkit.base.errors import InputError

if TYPE_CHECKING:
    from faultkit.base.address import ProxyMap
    from faultkit.load.slo import Slo

SLO_EXAMPLES = '"99% < 350ms", "99% < 1%" (of errors) or "99.9% available"'
DEFAULT_SLOS = ("99% < 350ms", "95% < 200ms")
"""The defaults of `faultkit.scenario.impact`, repeated because that takes long to import; a test compares
them."""
UNITS = ("bps", "kbps", "mbps", "gbps", "bit", "kbit", "mbit", "gbit")
"""The units of the fault `bandwidth` in lower case; a test compares them."""
LONGEST_BODY = 1_000_000
MOST_PROXIES = 20
MOST_SLOS = 20

_MAP_EXAMPLE = '"34000=https://api.example.com:443"'
_PERCENT = r"(\d+(?:\.\d+)?)\s*%"
_SLO_FORMS = (
    (
        re.compile(rf"{_PERCENT}\s*(?:<=?|@|under|below)\s*{_PERCENT}(?:\s*errors?)?", re.IGNORECASE),
        "error:{}:{}%",
    ),
    (re.compile(rf"{_PERCENT}\s*(?:<=?|@|under|below)\s*([\d.]+\s*[a-zµ]+)", re.IGNORECASE), "latency:{}:{}"),
    (
        re.compile(r"p(\d+(?:\.\d+)?)\s*(?:<=?|@|under|below)\s*([\d.]+\s*[a-zµ]+)", re.IGNORECASE),
        "latency:{}:{}",
    ),
    (re.compile(rf"{_PERCENT}\s*available", re.IGNORECASE), "availability:{}"),
)
"""Objectives as people and our reports write them, and the form that `parse_slo` reads."""


def _read_duration(value: Any) -> float:
    with IMPORT_LOCK:
        from faultkit.base.units import DURATION_FORM, parse_duration

    given = str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
    try:
        seconds = parse_duration(given) if isinstance(given, str) else 0.0
    except ValueError:
        seconds = 0.0
    if not seconds:
        raise ValueError(f"expected {DURATION_FORM}, more than 0, got {brief_json(value)}")
    return seconds


def _read_map(value: Any) -> ProxyMap:
    with IMPORT_LOCK:
        from faultkit.base.address import parse_map

    if not isinstance(value, str):
        raise ValueError(f"expected a text such as {_MAP_EXAMPLE}, got {brief_json(value)}")
    try:
        return parse_map(value)
    except InputError as error:
        raise ValueError(error.problem) from None


def _read_slo(value: Any) -> Slo:
    with IMPORT_LOCK:
        from faultkit.load.slo import SLO_FORM, parse_slo

    if not isinstance(value, str):
        raise ValueError(f"expected a text such as {SLO_EXAMPLES}, got {brief_json(value)}")
    given = value.strip()
    for form, plain in _SLO_FORMS:
        if found := form.fullmatch(given):
            given = plain.format(*found.groups())
            break
    else:
        if ":" not in given:
            raise ValueError(
                f"expected an objective such as {SLO_EXAMPLES}, or {SLO_FORM}, got {brief_json(value)}"
            )
    try:
        return parse_slo(given)
    except ValueError as error:
        raise ValueError(str(error).partition(": ")[2] or str(error)) from None


def _read_headers(value: Any) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, Mapping) or not all(isinstance(each, str) for each in value.values()):
        raise ValueError(f"expected an object of names and texts, got {brief_json(value)}")
    return tuple(value.items())


def _read_seed(value: Any) -> int | str:
    if not is_seed(value, empty=True):
        raise ValueError(f"expected {SEED_FORM}, got {brief_json(value)}")
    return value


def _optional(of: Argument, default: Any, in_schema: Any) -> Argument:
    """Return the argument with a default. `in_schema`: the default as the schema shows it."""
    schema = {key: value for key, value in of.schema.items() if key != "examples"}
    shown = {"default": in_schema} if in_schema else {}
    return replace(of, default=default, schema={**schema, **shown})


_MAP = argument("", {"type": "string"}, "PORT=UPSTREAM", _read_map, example=_MAP_EXAMPLE)
_SLO = argument("", {"type": "string"}, "An objective", _read_slo, example='"99% < 350ms"')

HEAD = (
    text(
        "url",
        "URL of the app, on this machine or a private network.",
        example='"http://localhost:9090/"',
        longest=8000,
    ),
    text("method", "HTTP method.", default="GET", example='"GET"', longest=32),
    text(
        "body",
        "Body; JSON unless `headers` differ.",
        default="",
        longest=LONGEST_BODY,
        may_be_blank=True,
    ),
)
TAIL = (
    _optional(
        argument(
            "duration",
            {"type": "string"},
            "With the fault; the baseline takes as long.",
            _read_duration,
            example='"10s"',
        ),
        10.0,
        "10s",
    ),
    whole("num_clients", "Clients.", default=1, minimum=1, example="1"),
    number("rps", "Requests a second, per client.", default=3.0, above=0, example="3"),
    number(
        "timeout",
        "In seconds.",
        default=10.0,
        above=0,
        example="10",
    ),
    _optional(
        several(
            "proxies",
            "34000=https://example.com: the fault hits the app's calls to that host, made to "
            "http://127.0.0.1:34000. Empty: calls of `url`.",
            _MAP,
            most=MOST_PROXIES,
            example=f"[{_MAP_EXAMPLE}]",
        ),
        (),
        [],
    ),
    _optional(
        several(
            "slos",
            'Objectives, also as "99% < 1%" (errors) or "99.9% available".',
            _SLO,
            most=MOST_SLOS,
            example='["99% < 350ms", "95% < 200ms"]',
        ),
        None,
        list(DEFAULT_SLOS),
    ),
    _optional(
        argument(
            "headers",
            {"type": "object", "additionalProperties": {"type": "string"}},
            "Headers.",
            _read_headers,
            example='{"accept": "application/json"}',
        ),
        (),
        {},
    ),
    flag(
        "baseline",
        "First without it, to compare.",
        default=True,
    ),
    argument(
        "seed",
        either("integer", "string"),
        "Same seed, same faults.",
        _read_seed,
        0,
        "0",
    ),
)


def side(default: str = "server") -> Argument:
    """Return the argument `side`."""
    return choice(
        "side",
        "Between proxy and upstream (server) or caller (client).",
        ("client", "server"),
        default=default,
    )


def direction(default: str = "ingress") -> Argument:
    """Return the argument `direction`."""
    return choice(
        "direction",
        "At side server: ingress are responses, egress requests.",
        ("ingress", "egress", "both"),
        default=default,
    )


LATENCY = (
    number("latency", "Mean delay in ms.", default=100.0, minimum=0, example="300"),
    number(
        "deviation",
        "Standard deviation in ms (normal distribution).",
        default=0.0,
        minimum=0,
        example="20",
    ),
    flag(
        "per_read_write_op",
        "true: delay each chunk, and so each request on an open connection; false: each connection once.",
        default=False,
    ),
)
JITTER = (
    number(
        "amplitude",
        "Longest delay in ms, drawn from 0 to it.",
        default=20.0,
        minimum=0,
        example="150",
    ),
    number(
        "frequency",
        "How often a second (Hz) the delay changes.",
        default=5.0,
        minimum=0,
        maximum=1e6,
        example="5",
    ),
)
BANDWIDTH = (
    number("rate", "How much passes a second, in `unit`.", default=1000.0, above=0, example="1024"),
    choice(
        "unit",
        "bps, kbps, mbps and gbps are bytes a second (1 kbps = 1000 bytes); bit, kbit, mbit and gbit are "
        "bits.",
        UNITS,
        default="bps",
    ),
)
PACKET_LOSS = (
    number(
        "rate",
        "Share of packets lost. Left out: losses come in bursts, 20 % of all.",
        default=None,
        minimum=0,
        maximum=1,
        example="0.05",
    ),
)
HTTP_ERROR = (
    whole("status_code", "Status of the answer.", default=500, minimum=200, maximum=599, example="503"),
    number(
        "probability",
        "Share of the requests that are answered so.",
        default=1.0,
        minimum=0,
        maximum=1,
        example="0.5",
    ),
    text(
        "error_body",
        "Body of the answer. Empty: none.",
        default="",
        longest=LONGEST_BODY,
        may_be_blank=True,
    ),
)


# --- tools -----------------------------------------------------------------------------------------


HINTS = Hints(read_only=False, destructive=True, idempotent=False, open_world=True)
"""The tools send requests of any method to an app, which may change its data."""

_HOW = "Sends traffic without the fault, then with it (20 to 30 s by default), and judges the SLOs."

_NUMBER_OR_NULL = either("number", "null")
TEXTS = {"type": "array", "items": {"type": "string"}}
_FIGURES: dict[str, Any] = {
    "type": "object",
    "properties": {
        "requests": {"type": "integer"},
        "errors": {"type": "integer"},
        **{
            name: {**_NUMBER_OR_NULL, "description": "Response time; null if there was no request."}
            for name in ("min_ms", "mean_ms", "p50_ms", "p95_ms", "p99_ms", "max_ms")
        },
    },
    "required": ["requests", "errors", "min_ms", "mean_ms", "p50_ms", "p95_ms", "p99_ms", "max_ms"],
    "additionalProperties": False,
}
_DIFFERENCE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": "mean, p50, p95, p99 or errors."},
        "unit": {"type": "string", "description": "ms, or % (percentage points)."},
        "baseline": _NUMBER_OR_NULL,
        "fault": _NUMBER_OR_NULL,
        "difference": _NUMBER_OR_NULL,
        "shown": {"type": "boolean", "description": "Whether the data show that there is a difference."},
    },
    "required": ["name", "unit", "baseline", "fault", "difference", "shown"],
    "additionalProperties": False,
}
_SLO_RESULT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "passed": {**either("boolean", "null"), "description": "null: it could not be judged."},
        "measured": {**_NUMBER_OR_NULL, "description": "ms of a latency, else percent."},
        "over": {"type": "integer", "description": "Requests on the wrong side."},
        "total": {"type": "integer"},
    },
    "required": ["title", "passed", "measured", "over", "total"],
    "additionalProperties": False,
}
VERDICTS = ("passed", "failed", "inconclusive", "not exercised", "unfinished")
REPORT: dict[str, Any] = {
    "type": "object",
    "description": "The whole report as data",
    "properties": {
        "version": {"type": "integer"},
        "tool": {"type": "string"},
        "on": {"type": "string"},
        "started_at": {"type": "string"},
        "ended_at": {"type": "string"},
        "seed": either("integer", "string"),
        "partial": either("string", "null"),
        "scenarios": {"type": "array", "items": {"type": "object"}},
    },
    "required": ["version", "tool", "started_at", "ended_at", "seed", "partial", "scenarios"],
}
OUTPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "verdict": {
            "type": "string",
            "enum": list(VERDICTS),
            "description": "passed: all objectives were kept under the fault; failed: one was missed; not "
            "exercised: the fault met no traffic; inconclusive: the run decides nothing, see `reasons`",
        },
        "reasons": {**TEXTS, "description": "Why it is not passed"},
        "warnings": TEXTS,
        "advice": {**TEXTS, "description": "How to read the result, and what to change about the call"},
        "injected": {"type": "integer", "description": "How often the fault acted"},
        "figures": {**_FIGURES, "description": "With the fault"},
        "baseline": {"anyOf": [_FIGURES, {"type": "null"}], "description": "Without it"},
        "impact": {"type": "array", "items": _DIFFERENCE},
        "slos": {"type": "array", "items": _SLO_RESULT},
        "report_id": {"type": "string", "description": "Of fault://reports/{id}"},
        "markdown": {"type": "string", "description": "The report, as in the text"},
        "report": REPORT,
    },
    "required": [
        *("verdict", "reasons", "warnings", "advice", "injected", "figures", "baseline", "impact", "slos"),
        *("report_id", "markdown", "report"),
    ],
    "additionalProperties": False,
}


def _tool(
    kind: str, title: str, what: str, arguments: tuple[Argument, ...], ignored: tuple[str, ...] = ()
) -> Tool:
    return Tool(
        f"fault_run_{kind}_impact_scenario",
        title,
        f"{what} {_HOW}",
        (*HEAD, *arguments, *TAIL),
        OUTPUT,
        HINTS,
        f"faultkit.agent_tools.impact_functions:{kind}",
        ignored=ignored,
    )


IMPACT_TOOLS: tuple[Tool, ...] = (
    _tool(
        "latency",
        "Impact of latency",
        "Measures how a running app copes with a slow network, or with a slow dependency (`proxies`).",
        (*LATENCY, direction(), side()),
    ),
    _tool(
        "jitter",
        "Impact of jitter",
        "Measures how a running app copes with delays that change all the time.",
        (*JITTER, direction(), side()),
        # The documentation's payload names those of bandwidth here.
        ignored=("rate", "unit"),
    ),
    _tool(
        "bandwidth",
        "Impact of low bandwidth",
        "Measures how a running app copes with a network of low bandwidth.",
        (*BANDWIDTH, direction(), side()),
    ),
    _tool(
        "packet_loss",
        "Impact of packet loss",
        "Measures how a running app copes with lost packets, which TCP sends again after a while.",
        (*PACKET_LOSS, direction(), side()),
    ),
    _tool(
        "blackhole",
        "Impact of a blackhole",
        "Measures whether a running app gives up in time when no bytes arrive and no error is reported: it "
        "finds missing time-outs.",
        (direction("egress"), side()),
    ),
    _tool(
        "http_error",
        "Impact of HTTP errors",
        "Measures how a running app copes with HTTP errors of a dependency, with `proxies` whose upstream "
        "begins with http:// or https://.",
        HTTP_ERROR,
        # An error takes the place of the whole answer.
        ignored=("direction", "side"),
    ),
)
