"""The strategy `search` of scenario files: the keys, and what is checked before anything runs. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite

from faultkit.base.documents.checks import shown
from faultkit.base.documents.key_tables import Key, KeyTable
from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.documents.values import DURATION_SCHEMA, TEXT_SCHEMA, choice, duration_s, text
from faultkit.base.errors import InputError
from faultkit.load.load import Load
from faultkit.load.search.scale import Scale
from faultkit.scenario.load_keys import CLIENTS, MODEL, PACE, RPS, parse_load
from faultkit.scenario.scenario_model import HttpCall, SearchStrategy, VariedSetting, WrittenFault
from faultkit.scenario.search_setting import (
    SETTING_FORM,
    SettingPlace,
    find_setting,
    load_at,
    read_value,
    rules_at,
)

SCALES = ("linear", "log")
DEFAULT_BUDGET_S = 300.0
LEAST_MS = 1.0
"""The least difference of two values in milliseconds: smaller ones are below the lateness of the proxy."""
_MOST_REQUESTS = 10**9
_BUDGET = 'a duration with its unit such as "5m", or a number of requests'
_ANY_CALL = HttpCall("GET", "http://localhost/")
_VALUE_SCHEMA = {"anyOf": [{"type": "number"}, TEXT_SCHEMA]}


def _read_budget(value: object) -> float | int:
    """Return seconds as a float, or requests as an int."""
    if isinstance(value, str):
        return duration_s(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MOST_REQUESTS:
        raise InputError("", f"expected {_BUDGET}, got {shown(value)}")
    return value


SEARCH = KeyTable(
    Key("mode", schema={"const": "search"}, required="a mode"),
    Key(
        "vary",
        text,
        TEXT_SCHEMA,
        "",
        "The number that is searched: a setting of a fault, by the name of the fault (faults.latency.mean) "
        "or its place (faults[0].mean_ms); its probability (faults.http_error.probability); load.rps or "
        "load.clients.",
        SETTING_FORM,
    ),
    Key(
        "from",
        schema=_VALUE_SCHEMA,
        help="The harmless end of the range, at which the objectives hold, such as 0ms.",
        required="the harmless end of the range",
    ),
    Key(
        "to",
        schema=_VALUE_SCHEMA,
        help="The harmful end, such as 1000ms. It may be the smaller number: a bandwidth is searched "
        "downwards.",
        required="the harmful end of the range",
    ),
    Key(
        "scale",
        choice(SCALES),
        {"enum": list(SCALES)},
        "linear",
        "How the range is divided; log for ranges over several powers of ten.",
    ),
    Key(
        "budget",
        _read_budget,
        {"anyOf": [{"type": "integer", "minimum": 1}, DURATION_SCHEMA]},
        help='What the search may take: a duration, by default "5m", or a number of requests.',
    ),
    Key(
        "precision",
        schema=_VALUE_SCHEMA,
        help="The least difference of two values that matters; by default a part in 256 of the range, and "
        "never less than 1 ms.",
    ),
    CLIENTS,
    replace(RPS, help="Requests a second of each client. Required, unless it is searched."),
    MODEL,
    *PACE,
)


def parse_search(reading: MappingReader, faults: Sequence[WrittenFault] | None) -> SearchStrategy:
    """Return the strategy. If `faults` is None (some are invalid), checks that need them are skipped."""
    before = len(reading.problems)
    path, spacing = reading.take("vary"), reading.take("scale")
    for key in ("from", "to"):
        reading.require(key, SEARCH[key].required)
    place = None
    if faults is not None and path:
        try:
            place = find_setting(path, faults)
        except InputError as error:
            reading.note("vary", error)
    scale = None if place is None else _parse_scale(reading, place, spacing)
    load, clients, rps = _parse_load_of(reading, path)
    budget = reading.take("budget") or DEFAULT_BUDGET_S
    strategy = SearchStrategy(
        load,
        clients,
        1.0 if rps is None else rps,
        VariedSetting(
            path,
            None if place is None else place.fault,
            "" if place is None else place.name,
            "" if place is None else place.unit,
            scale or Scale(0.0, 1.0),
        ),
        budget if isinstance(budget, float) else None,
        budget if isinstance(budget, int) else None,
    )
    if len(reading.problems) == before and scale is not None and faults is not None:
        _check_ends(reading, strategy, faults)
    return strategy


def _parse_scale(reading: MappingReader, place: SettingPlace, spacing: str) -> Scale | None:
    before = len(reading.problems)
    unit = place.unit
    low, high = (reading.take(key, lambda value: read_value(value, unit), None) for key in ("from", "to"))
    precision = reading.take("precision", lambda value: _positive(value, unit), 0.0)
    if low is None or high is None or len(reading.problems) > before:
        return None
    resolution = max(precision, LEAST_MS) if unit == "ms" else precision
    try:
        return Scale(low, high, "log" if spacing == "log" else "linear", resolution, place.is_whole)
    except ValueError as error:
        field, _, problem = str(error).partition(": ")
        reading.note("precision" if field == "resolution" else "to", InputError("", problem))
    return None


def _positive(value: object, unit: str) -> float:
    given = read_value(value, unit)
    if not given > 0 or not isfinite(given):
        raise InputError("", f"expected a number above 0, got {shown(value)}")
    return given


def _parse_load_of(reading: MappingReader, path: str) -> tuple[Load, int, float | None]:
    """Return the load, its clients and the rate of each; what is searched is not given besides."""
    searched = path.removeprefix("load.") if path in ("load.rps", "load.clients") else None
    if searched is not None and searched in reading.given:
        problem = f"expected none, since it is searched, got {shown(reading.given[searched])}"
        reading.note(searched, InputError("", problem))
        del reading.given[searched]
    if searched == "rps":
        # Any rate will do: each load of the search has its own.
        reading.given["rps"] = 1.0
    return parse_load(reading, needs_rate=True, duration_s=1.0)


def _check_ends(reading: MappingReader, strategy: SearchStrategy, faults: Sequence[WrittenFault]) -> None:
    """Note an end of the range that the setting cannot have."""
    varied, rules = strategy.varied, [fault.rule for fault in faults]
    for key, value in (("from", varied.scale.harmless), ("to", varied.scale.harmful)):
        try:
            rules_at(rules, varied, value)
            if varied.name == "clients" and varied.fault is None and value < 1:
                raise ValueError(f"clients: expected at least 1, got {value:g}")
            load_at(strategy, _ANY_CALL, value, 1)
        except (ValueError, ZeroDivisionError) as error:
            _, _, problem = str(error).partition(": ")
            reading.note(key, InputError("", problem or f"expected more than 0, got {value:g}"))
