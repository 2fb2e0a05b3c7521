"""How often an item is called: once, again and again with a growing fault, or under a load."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

from faultkit.base.documents.reading import Reading
from faultkit.base.documents.shape import advice, joined, shown
from faultkit.base.documents.values import (
    DURATION,
    choice,
    duration_s,
    number,
    pause_s,
    switch,
    text,
    whole,
)
from faultkit.base.errors import InputError
from faultkit.load.load import Load, Model, Spacing
from faultkit.scenario.model import Repeat, Single, Strategy, Sustained, WrittenFault
from faultkit.scenario.steps import Stepped, chosen_steps, step_rules, usual_steps

MODES: dict[str, tuple[str, ...]] = {
    "single": ("mode",),
    "repeat": ("mode", "step", "count", "wait", "failfast", "add_baseline_call", "step_of"),
    "load": (
        *("mode", "duration", "clients", "rps", "model", "ramp", "spacing", "keep_alive"),
        "max_in_flight",
    ),
}
"""The keys of each mode."""
MOST_CALLS = 10_000
"""Of repeat. Each call's faults are checked beforehand; for more calls than this there is the load."""
MOST_CLIENTS = 1_000_000
MOST_IN_FLIGHT = 1_000_000
MODELS: tuple[str, ...] = get_args(Model)
SPACINGS: tuple[str, ...] = get_args(Spacing)

_STEP = "a number to add at each call"
_COUNT = f"a whole number from 1 to {MOST_CALLS}"
_STEPPABLE = (
    "latency with a mean, jitter, bandwidth or packet loss with a rate to add it to, "
    "or step_of with the name of another setting"
)
_RPS = "a number of requests a second above 0"


def parse_strategy(
    value: object, path: str, problems: list[InputError], faults: Sequence[WrittenFault] | None
) -> Strategy:
    """With faults None (some are wrong), what depends on them is not checked."""
    mode = _mode(value, path, problems)
    if mode is None:
        return Single()
    reading = Reading(value, MODES[mode], path, problems)
    return _PARSERS[mode](reading, faults)


def _mode(value: object, path: str, problems: list[InputError]) -> str | None:
    if not isinstance(value, Mapping):
        problems.append(InputError(path, f"expected a mapping, got {shown(value)}"))
        return None
    given = value.get("mode")
    if isinstance(given, str) and given in MODES:
        return given
    hint = advice(given, tuple(MODES)) if isinstance(given, str) else ""
    problem = f"expected one of {', '.join(MODES)}, got {shown(given)}"
    problems.append(InputError(joined(path, "mode"), f"{problem}; {hint}" if "?" in hint else problem))
    return None


def _single(reading: Reading, faults: Sequence[WrittenFault] | None) -> Strategy:
    return Single()


def _repeat(reading: Reading, faults: Sequence[WrittenFault] | None) -> Strategy:
    before = len(reading.problems)
    step = reading.need("step", number(_STEP), 0.0, _STEP)
    count = reading.need("count", whole(1, MOST_CALLS), 1, _COUNT)
    stepped: Stepped = ()
    step_of = reading.take("step_of", text, None)
    if faults is not None and len(reading.problems) == before:
        stepped = _stepped(reading, faults, step, count, step_of)
    return Repeat(
        step,
        count,
        stepped,
        wait_s=reading.take("wait", pause_s, 0.0),
        failfast=reading.take("failfast", switch, False),
        add_baseline_call=reading.take("add_baseline_call", switch, False),
    )


def _stepped(
    reading: Reading, faults: Sequence[WrittenFault], step: float, count: int, step_of: str | None
) -> Stepped:
    stepped = usual_steps(faults) if step_of is None else chosen_steps(faults, step_of)
    if not stepped and step_of is not None:
        reading.note(
            "step_of", InputError("", f"expected a number that one of the faults has, got {shown(step_of)}")
        )
    elif not stepped and step != 0:
        reading.note("step", InputError("", f"expected {_STEPPABLE}, got {step:g} and none of these"))
    rules = [fault.rule for fault in faults]
    for number_ in range(count) if step and stepped else ():
        try:
            step_rules(rules, stepped, step * number_)
        except ValueError as error:
            where = f"at call {number_ + 1} of {count}"
            reading.note("step", InputError("", f"expected a step that suits every call; {where}, {error}"))
            break
    return stepped


def _load(reading: Reading, faults: Sequence[WrittenFault] | None) -> Strategy:
    before = len(reading.problems)
    model: Any = reading.take("model", choice(MODELS), "open")
    clients = reading.take("clients", whole(1, MOST_CLIENTS), 1)
    rps = _rps(reading, model)
    values: dict[str, Any] = {
        "duration_s": reading.need("duration", duration_s, 1.0, DURATION),
        "rate_rps": None if rps is None else clients * rps,
        "clients": clients if model == "closed" else 1,
        "model": model,
        "ramp_s": reading.take("ramp", duration_s, 0.0),
        "spacing": reading.take("spacing", choice(SPACINGS), "even"),
        "keep_alive": reading.take("keep_alive", switch, False),
        "most_in_flight": reading.take("max_in_flight", whole(1, MOST_IN_FLIGHT), 1000),
    }
    load = Load(1.0, 1.0)
    if len(reading.problems) == before:
        try:
            load = Load(**values)
        except ValueError as error:
            field, _, problem = str(error).partition(": ")
            reading.note(_WRITTEN.get(field, field), InputError("", problem))
    return Sustained(load, clients, rps)


_WRITTEN = {"duration_s": "duration", "rate_rps": "rps", "ramp_s": "ramp", "most_in_flight": "max_in_flight"}


def _rps(reading: Reading, model: str) -> float | None:
    read = number(_RPS, lambda rps: rps > 0)
    if model == "closed":
        return reading.take("rps", read, None)
    return reading.need("rps", read, 1.0, _RPS)


_PARSERS: dict[str, Callable[[Reading, Sequence[WrittenFault] | None], Strategy]] = {
    "single": _single,
    "repeat": _repeat,
    "load": _load,
}
