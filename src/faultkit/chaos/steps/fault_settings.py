"""The settings of faults for plans and reports: as JSON without secrets, and on one line. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faultkit.base.secrets import mask_rule
from faultkit.base.text import one_line, shortened

_FIGURES = ("status", "elapsed_ms")
"""The parts of an output that reports show; bodies and texts are in the journal."""
_LONGEST_VALUE = 60


def rule_settings(rule: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a rule, as `dump_rule` gives it, without secrets."""
    given = mask_rule(rule)
    return {key: value for key, value in given.items() if key not in ("name", "fault")}


def rule_text(rule: Mapping[str, Any]) -> str:
    """Return the fault of a rule and its settings on one line: "latency, mean_ms 300"."""
    settings = settings_text(rule_settings(rule))
    return f"{rule['fault']}, {settings}" if settings else str(rule["fault"])


def settings_text(settings: Mapping[str, Any]) -> str:
    """Return settings on one line: "mean_ms 300, match.side client"."""
    parts = []
    for key, value in settings.items():
        if isinstance(value, Mapping):
            prefix = "" if key == "with" else f"{key}."
            parts += [f"{prefix}{name} {_shown(each)}" for name, each in value.items()]
        else:
            parts.append(f"{key} {_shown(value)}")
    return ", ".join(parts)


def measured_text(output: object) -> str:
    """Return the figures of a check's output on one line: "status 200, elapsed_ms 12.3"; a short value."""
    if isinstance(output, Mapping):
        found = {key: output[key] for key in _FIGURES if isinstance(output.get(key), str | int | float)}
        return ", ".join(f"{key} {_shown(value)}" for key, value in found.items())
    if output is None or isinstance(output, list | tuple):
        return "" if output is None else f"{len(output)} values"
    return shortened(one_line(_shown(output)), _LONGEST_VALUE)


def _shown(value: object) -> str:
    if isinstance(value, list | tuple):
        return "/".join(map(_shown, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
