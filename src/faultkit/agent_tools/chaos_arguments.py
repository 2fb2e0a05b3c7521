"""Arguments of the chaos tools: a number is a number here, neither true nor "0.5"."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from faultkit.agent_tools.arguments import argument, choice, either, flag, several, shown, text
from faultkit.agent_tools.tool import REQUIRED, Argument

ACTIONS = ("register", "inject", "remove")
FAULT_TYPES = ("latency", "error", "timeout", "resource_exhaustion", "network_partition")
"""Those of seed 002; a test holds them and the defaults below together with `faultkit.chaos`."""
PROBABILITY, DURATION_S, MESSAGE = 0.1, 0.0, "Injected fault"
LONGEST_S = 86_400.0


def strict_number(
    name: str,
    description: str,
    minimum: float,
    maximum: float,
    *,
    default: Any = REQUIRED,
    example: str = "",
) -> Argument:
    def read(value: Any) -> float:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or math.isnan(value) or not minimum <= value <= maximum:
            raise ValueError(f"expected a number from {minimum:g} to {maximum:g}, got {shown(value)}")
        return float(value)

    schema = {"type": "number", "minimum": minimum, "maximum": maximum}
    return argument(name, schema, description, read, default, example)


def key(name: str, description: str, example: str) -> Argument:
    """A whole number or a text, as it came; None if nothing did."""

    def read(value: Any) -> int | str:
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise ValueError(f"expected a whole number or a text, got {shown(value)}")
        return value

    return argument(name, either("integer", "string"), description, read, None, example)


def _settings(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"expected an object, got {shown(value)}")
    return value


FAULT_NAME = text("fault_name", "Unique fault identifier.", example='"slow-database"', longest=200)
ACTION = choice(
    "action", "register makes a fault known, inject rolls its dice, remove ends and forgets it.", ACTIONS
)
FAULT_TYPE = text(
    "fault_type",
    f"Required for register: {', '.join(FAULT_TYPES)}; or any fault that `fault faults` lists, which needs "
    "metadata.control.",
    default=None,
    example='"latency"',
    longest=200,
)
REGISTERED = (
    strict_number(
        "probability",
        "Injection probability, from 0 (never) to 1 (each time).",
        0,
        1,
        default=PROBABILITY,
        example="0.5",
    ),
    strict_number(
        "duration_seconds",
        "How long latency and timeout keep the caller waiting, and how long resource_exhaustion and "
        "network_partition last (0: 60 s).",
        0,
        LONGEST_S,
        default=DURATION_S,
        example="2.0",
    ),
    text(
        "error_message",
        "Message of error and timeout faults.",
        default=MESSAGE,
        example='"DB unavailable"',
        longest=10_000,
    ),
)
EXTRAS = (
    key("seed", "With register: the same seed gives the same sequence of triggers.", "7"),
    key("call_id", "With inject: which roll of the sequence, instead of the next.", "3"),
    strict_number(
        "ttl_seconds",
        "With register: after so long the fault is removed by itself.",
        0,
        LONGEST_S,
        default=None,
        example="300",
    ),
    several(
        "targets",
        "With register: HOST:PORT of what network_partition cuts off.",
        text("target", "One of them.", example='"127.0.0.1:6379"', longest=300),
        default=(),
    ),
    argument(
        "metadata",
        {"type": "object"},
        "With register: settings of the effect, such as {resource, amount} of resource_exhaustion, {mode} of "
        "network_partition, and {control, token} if a running proxy or gateway is to carry it out.",
        _settings,
        None,
        '{"resource": "memory", "amount": 256}',
    ),
    flag("strict", "With remove: a fault that is not there is an error.", default=False),
)
EXPERIMENT_NAME = text(
    "experiment_name",
    "Name of the experiment to run, as its file has it.",
    example='"kill-cache"',
    longest=1000,
)
DRY_RUN = flag(
    "dry_run", "Check the steady state and show the plan, without executing any action.", default=False
)
RUN_SEED = key("seed", "In place of the experiment's own seed.", "7")
INCLUDE_RESULTS = flag(
    "include_results", "Include historical experiment results, newest first.", default=False
)
FILTER = text(
    "experiment_name",
    "Only this experiment: its results, runs and success rate.",
    default=None,
    example='"kill-cache"',
    longest=1000,
)
