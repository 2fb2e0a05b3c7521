"""Rules in a few words for people, with the glyphs and the timeline bar of the original's reports.

`Jitter: ➡️🖧Amplitude: 150.00ms, Frequence 5.00Hz` and the forms of latency are the original's to the letter,
spelling included. Every other fault is described from its settings, so a new fault needs no line here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from math import ceil, floor
from typing import Any

from faultkit.base.numbers import shortest
from faultkit.base.text import printable_line
from faultkit.faults.fault import Fault, StreamFault
from faultkit.plan import Direction, Match, Rule, Side, Trigger

GLYPHS: dict[tuple[Side, Direction], str] = {
    ("server", "ingress"): "➡️🖧",
    ("server", "egress"): "⬅️🖧",
    ("server", "both"): "↔️🖧",
    ("client", "ingress"): "🖥️⬅️",
    ("client", "egress"): "🖥️➡️",
    ("client", "both"): "🖥️↔️",
}
_CAPITALS = {"dns": "DNS", "http": "HTTP", "rto": "RTO", "rtt": "RTT", "to": "to"}
_SUFFIXES = {"_ms": "ms", "_us": "µs", "_hz": "Hz", "_bytes": " bytes"}
_LATENCY_SETTINGS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "normal": (("Mean", "mean_ms", " ms"), ("Stddev", "stddev_ms", " ms")),
    "uniform": (("Min", "min_ms", " ms"), ("Max", "max_ms", " ms")),
    "pareto": (("Shape", "shape", ""), ("Scale", "scale_ms", " ms")),
    "pareto-normal": (
        ("Mean", "mean_ms", " ms"),
        ("Stddev", "stddev_ms", " ms"),
        ("Shape", "shape", ""),
        ("Scale", "scale_ms", " ms"),
    ),
}
_CELLS = 10
_LONGEST = 40


def describe(rule: Rule, written: str) -> str:
    """Return what the rule does; `written` is the name of the fault in the user's file."""
    fault = rule.fault
    name = fault.kind if _letters(written) == _letters(fault.kind) else written
    glyph = GLYPHS[rule.match.side, rule.match.direction] if isinstance(fault, StreamFault) else ""
    own = _OWN.get(fault.kind)
    body = own(glyph, fault) if own else _joined(glyph, _settings(fault))
    rest = [*_match(rule.match), *_trigger(rule.trigger)]
    return f"{_title(name)}: {_joined(body, rest)}".removesuffix(": ")


def _jitter(glyph: str, fault: Any) -> str:
    return f"{glyph}Amplitude: {fault.amplitude_ms:.2f}ms, Frequence {fault.frequency_hz:.2f}Hz"


def _latency(glyph: str, fault: Any) -> str:
    parts = [f"Per Read/Write Op.: {_value(fault.per == 'operation', '')}"]
    if fault.distribution != "normal":
        parts.append(f"Distribution: {fault.distribution}")
    parts += [
        f"{name}: {getattr(fault, field):.2f}{unit}"
        for name, field, unit in _LATENCY_SETTINGS[fault.distribution]
    ]
    return _joined(glyph, parts)


def _bandwidth(glyph: str, fault: Any) -> str:
    rest = [part for part in _settings(fault) if not part.startswith(("Rate:", "Unit:"))]
    return _joined(glyph, [f"Rate: {shortest(fault.rate)} {fault.unit}", *rest])


def _packet_loss(glyph: str, fault: Any) -> str:
    shares = {
        "random": (("Rate", fault.rate),),
        "gilbert-elliott": (
            ("Good to Bad", fault.good_to_bad),
            ("Bad to Good", fault.bad_to_good),
            ("Good Loss", fault.good_loss),
            ("Bad Loss", fault.bad_loss),
        ),
    }.get(fault.model, ())
    drawn = [f"{name}: {shortest(100 * value)}%" for name, value in shares]
    spoken = ("Rate:", "Good to Bad:", "Bad to Good:", "Good Loss:", "Bad Loss:")
    model, *rest = (part for part in _settings(fault) if not part.startswith(spoken))
    return _joined(glyph, [model, *drawn, *rest])


_OWN: dict[str, Callable[[str, Any], str]] = {
    "jitter": _jitter,
    "latency": _latency,
    "bandwidth": _bandwidth,
    "packet_loss": _packet_loss,
}


def _settings(fault: Fault) -> Iterator[str]:
    """Yield the settings that differ from their default, and always the first, which says what the fault is
    about."""
    for place, field in enumerate(fields(fault)):
        value = getattr(fault, field.name)
        if value is None or (place and value == field.default):
            continue
        suffix = next((each for each in _SUFFIXES if field.name.endswith(each)), "")
        yield f"{_title(field.name.removesuffix(suffix))}: {_value(value, _SUFFIXES.get(suffix, ''))}"


def _match(match: Match) -> Iterator[str]:
    if match.methods:
        yield f"Method: {', '.join(match.methods)}"
    if match.path is not None:
        yield f"Path: {match.path}"
    if match.headers:
        # Names only, because a value may be a secret.
        yield f"Headers: {', '.join(name for name, _ in match.headers)}"


def _trigger(trigger: Trigger) -> Iterator[str]:
    if trigger.probability != 1:
        yield f"Probability: {shortest(100 * trigger.probability)}%"
    if trigger.after:
        yield f"After: {trigger.after}"
    if trigger.first is not None:
        yield f"First: {trigger.first}"
    if trigger.every != 1:
        yield f"Every: {trigger.every}"


def _value(value: object, unit: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return (f"{value:.2f}" if unit in ("ms", "µs", "Hz") else shortest(value)) + unit
    if isinstance(value, str):
        line = printable_line(value)
        return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
    return f"{value}{unit}"


def _joined(begin: str, parts: Sequence[str] | Iterator[str]) -> str:
    return ", ".join(part for part in (begin, *parts) if part)


def _title(name: str) -> str:
    words = name.replace("-", "_").split("_")
    return " ".join(_CAPITALS.get(word, word[:1].upper() + word[1:]) for word in words if word)


def _letters(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


def timeline(windows: Sequence[tuple[float, float]]) -> str:
    """Return when a fault acted, as the original shows it."""
    return f"0% `{bar(windows)}` 100%"


def bar(windows: Sequence[tuple[float, float]], cells: int = _CELLS) -> str:
    """Return one character for each tenth of the run: `x` if the fault acted in any part of it."""
    marks = ["."] * cells
    for begin, end in windows:
        if not begin < end:
            continue
        # Rounded, so that 0.1 + 0.2 does not reach into the next cell; the shortest window still gets one.
        first = min(max(floor(round(begin * cells, 6)), 0), cells - 1)
        last = min(max(ceil(round(end * cells, 6)), first + 1), cells)
        marks[first:last] = "x" * (last - first)
    return "".join(marks)
