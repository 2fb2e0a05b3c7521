"""The six tools that measure what a fault does to a running app, as values. Light: nothing is run here."""

from __future__ import annotations

from typing import Any

from faultkit.agent_tools.arguments import either
from faultkit.agent_tools.impact_arguments import (
    BANDWIDTH,
    HEAD,
    HTTP_ERROR,
    JITTER,
    LATENCY,
    PACKET_LOSS,
    TAIL,
    direction,
    side,
)
from faultkit.agent_tools.tool import Argument, Hints, Tool

HINTS = Hints(read_only=False, destructive=True, idempotent=False, open_world=True)
"""It sends requests of any method to an app, over and over: what the app keeps may change."""

_WHERE = (
    "Without `proxies` it hits the traffic between a client and the app at `url`. With `proxies` it hits "
    "the calls that the app makes to its dependencies: start the app so that it calls http://127.0.0.1:PORT "
    "(for example UPSTREAM_URL=http://127.0.0.1:34000) and give PORT=UPSTREAM here."
)
_HOW = (
    "The app must be running. Traffic is sent for `duration` without the fault and again with it, so a call "
    "takes twice that, plus `timeout` at most (20 to 30 s by default); baseline=false halves it. Returns a "
    "Markdown report with latency percentiles, errors, objectives (SLOs) and the difference that the fault "
    "makes."
)

_NUMBER_OR_NULL = either("number", "null")
_TEXTS = {"type": "array", "items": {"type": "string"}}
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
_SLO: dict[str, Any] = {
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
OUTPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "verdict": {
            "type": "string",
            "enum": ["passed", "failed", "inconclusive", "not exercised", "unfinished"],
            "description": "passed: the run was sound; objectives are in `slos`. not exercised: the fault "
            "met no traffic. inconclusive: the load or the fault was not what was asked.",
        },
        "reasons": {**_TEXTS, "description": "Why the verdict is not passed."},
        "warnings": _TEXTS,
        "advice": {**_TEXTS, "description": "How to read the result, and what to change about the call."},
        "injected": {"type": "integer", "description": "How often the fault acted."},
        "figures": {**_FIGURES, "description": "With the fault."},
        "baseline": {"anyOf": [_FIGURES, {"type": "null"}], "description": "Without the fault."},
        "impact": {"type": "array", "items": _DIFFERENCE},
        "slos": {"type": "array", "items": _SLO},
        "report_id": {
            "type": "string",
            "description": "Under which the server keeps the report for a while.",
        },
        "markdown": {"type": "string", "description": "The report, as in the text content."},
        "report": {
            "type": "object",
            "description": "The report as data, all of it: version, tool, seed, times, and scenarios with "
            "items.",
            "properties": {
                "version": {"type": "integer"},
                "tool": {"type": "string"},
                "started_at": {"type": "string"},
                "ended_at": {"type": "string"},
                "seed": either("integer", "string"),
                "partial": either("string", "null"),
                "scenarios": {"type": "array", "items": {"type": "object"}},
            },
            "required": ["version", "tool", "started_at", "ended_at", "seed", "partial", "scenarios"],
        },
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
        f"{what} {_WHERE} {_HOW}",
        (*HEAD, *arguments, *TAIL),
        OUTPUT,
        HINTS,
        f"faultkit.agent_tools.tools.impact:{kind}",
        ignored=ignored,
    )


IMPACT_TOOLS: tuple[Tool, ...] = (
    _tool(
        "latency",
        "Measure the impact of latency",
        "Use this to learn how a running app copes with a slow network or a slow dependency: it adds a "
        "delay.",
        (*LATENCY, direction(), side()),
    ),
    _tool(
        "jitter",
        "Measure the impact of jitter",
        "Use this to learn how a running app copes with delays that change all the time.",
        (*JITTER, direction(), side()),
        # The documentation's payload names those of bandwidth here.
        ignored=("rate", "unit"),
    ),
    _tool(
        "bandwidth",
        "Measure the impact of low bandwidth",
        "Use this to learn how a running app copes with a network on which little passes a second.",
        (*BANDWIDTH, direction(), side()),
    ),
    _tool(
        "packet_loss",
        "Measure the impact of packet loss",
        "Use this to learn how a running app copes with lost packets, which TCP sends again after a while.",
        (*PACKET_LOSS, direction(), side()),
    ),
    _tool(
        "blackhole",
        "Measure the impact of a blackhole",
        "Use this to learn whether a running app gives up in time when nothing comes through any more and "
        "nobody tells it: it finds missing time-outs.",
        (direction("egress"), side()),
    ),
    _tool(
        "http_error",
        "Measure the impact of HTTP errors",
        "Use this to learn how a running app copes with a dependency that answers with HTTP errors, with "
        "`proxies` whose upstream begins with http:// or https://.",
        HTTP_ERROR,
        # An error takes the place of the whole answer.
        ignored=("direction", "side"),
    ),
)
