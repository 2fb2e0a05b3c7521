"""The tool that finds a breaking point: arguments, result, description. Its function: `search_functions`.

Declarations only, as in `impact_tools`, of which it has most arguments.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from faultkit.agent_tools.argument_kinds import choice, either, number, text
from faultkit.agent_tools.impact_tools import HEAD, HINTS, REPORT, TAIL, TEXTS, VERDICTS
from faultkit.agent_tools.tool import Argument, Tool

DEFAULT_BUDGET = "1m"
DEFAULT_RPS = 20.0
"""That of `fault breakpoint`; a test compares them."""
_NUMBER_OR_NULL = either("number", "null")
_SHARED = {each.name: each for each in TAIL}

_LEVEL: dict[str, Any] = {
    "type": "object",
    "properties": {
        "value": {"type": "number"},
        "decision": {"type": "string", "enum": ["held", "broken", "undecided"]},
        "requests": {"type": "integer"},
        "good": {"type": "integer", "description": "Requests within the objective."},
    },
    "required": ["value", "decision", "requests", "good"],
    "additionalProperties": False,
}
SEARCH: dict[str, Any] = {
    "type": "object",
    "properties": {
        "outcome": {"type": "string", "enum": ["found", "already_broken", "holds", "inconclusive"]},
        "reason": {"type": "string", "description": "Why it is inconclusive, or has no estimate."},
        "setting": {"type": "string"},
        "unit": {"type": "string"},
        "held": {**_NUMBER_OR_NULL, "description": "The objectives are shown to hold up to here."},
        "broken": {**_NUMBER_OR_NULL, "description": "They are shown to be broken from here on."},
        "estimate": _NUMBER_OR_NULL,
        "low": {**_NUMBER_OR_NULL, "description": "The 95 % interval of the estimate."},
        "high": _NUMBER_OR_NULL,
        "is_cliff": {"type": "boolean", "description": "It breaks at once: there is no estimate."},
        "broken_objective": either("string", "null"),
        "requests": {"type": "integer"},
        "wanted_budget": {**either("string", "null"), "description": "What may decide it."},
        "levels": {"type": "array", "items": _LEVEL},
    },
    "required": [
        *("outcome", "reason", "setting", "unit", "held", "broken", "estimate", "low", "high", "is_cliff"),
        *("broken_objective", "requests", "wanted_budget", "levels"),
    ],
    "additionalProperties": False,
}
OUTPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "verdict": {
            "type": "string",
            "enum": list(VERDICTS),
            "description": "passed: it is known where it breaks, or that it holds; failed: broken without "
            "harm already, or not shown to hold up to fail_below; otherwise see `reasons`",
        },
        "sentence": {"type": "string", "description": "The result in words"},
        "reasons": {**TEXTS, "description": "Why it is not passed"},
        "warnings": TEXTS,
        "search": {"anyOf": [SEARCH, {"type": "null"}], "description": "null: nothing was measured"},
        "report_id": {"type": "string", "description": "Of fault://reports/{id}"},
        "markdown": {"type": "string", "description": "The report, as in the text"},
        "report": REPORT,
    },
    "required": [
        *("verdict", "sentence", "reasons", "warnings", "search", "report_id", "markdown", "report"),
    ],
    "additionalProperties": False,
}

DEFAULT_SLOS = ("95% < 300ms",)
SLOS = replace(_SHARED["slos"], schema={**_SHARED["slos"].schema, "default": list(DEFAULT_SLOS)})


def _shared(*names: str) -> tuple[Argument, ...]:
    return tuple(_SHARED[name] for name in names)


SEARCH_TOOL = Tool(
    "fault_find_breaking_point",
    "Find the breaking point",
    "Finds how much a running app bears: raises one setting of a fault, or the load, until an SLO is missed. "
    "Returns a Markdown report: where it breaks with its interval, up to where it is shown to hold.",
    (
        *HEAD,
        text(
            "vary",
            "SETTING=FROM..TO, the harmless end first: faults.KIND.SETTING, faults.KIND.probability, "
            "load.rps or load.clients.",
            example='"faults.latency.mean=0..1000ms"',
            longest=200,
        ),
        SLOS,
        text("budget", "Time, or number of requests.", default=DEFAULT_BUDGET, example='"1m"', longest=40),
        text(
            "fail_below",
            "Value up to which it must hold, else failed.",
            default=None,
            example='"150ms"',
            longest=40,
        ),
        choice("scale", "How the range is divided.", ("linear", "log"), default="linear"),
        number("rps", "Requests a second, per client.", default=DEFAULT_RPS, above=0, example="20"),
        *_shared("num_clients", "timeout", "proxies", "headers", "seed"),
    ),
    OUTPUT,
    HINTS,
    "faultkit.agent_tools.search_functions:find_breaking_point",
)
