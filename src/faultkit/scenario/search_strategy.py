"""The strategy `search` of scenario files: the keys, and what is checked before anything runs. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from math import isfinite

from faultkit.base.documents.checks import shown
from faultkit.base.documents.key_tables import Key, KeyTable, Schema, given, schema_of
from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.documents.values import DURATION_SCHEMA, TEXT_SCHEMA, choice, duration_s, text
from faultkit.base.errors import InputError
from faultkit.load.load import Load
from faultkit.load.search.scale import Scale
from faultkit.plan import Rule
from faultkit.scenario.load_keys import CLIENTS, MODEL, PACE, RPS, parse_load
from faultkit.scenario.scenario_model import HttpCall, SearchStrategy, VariedSetting, WrittenFault
from faultkit.scenario.search_setting import (
    SETTING_FORM,
    SettingPlace,
    find_setting,
    load_at,
    read_value,
    rules_of,
    values_text,
)

SCALES = ("linear", "log")
DEFAULT_BUDGET_S = 300.0
LEAST_MS = 1.0
"""The least difference of two values in milliseconds: smaller ones are below the lateness of the proxy."""
_MOST_REQUESTS = 10**9
_BUDGET = 'a duration with its unit such as "5m", or a number of requests'
_ANY_CALL = HttpCall("GET", "http://localhost/")
_VALUE_SCHEMA = {"anyOf": [{"type": "number"}, TEXT_SCHEMA]}
_OWN_KEYS = ("from", "to", "scale", "precision")
"""What each of two settings has for itself."""
_HARMLESS, _HARMFUL = "the harmless end of the range", "the harmful end of the range"
_FROM = Key(
    "from",
    schema=_VALUE_SCHEMA,
    help="The harmless end of the range, at which the objectives hold, such as 0ms.",
    required=_HARMLESS,
)
_TO = Key(
    "to",
    schema=_VALUE_SCHEMA,
    help="The harmful end, such as 1000ms. It may be the smaller number: a bandwidth is searched downwards.",
    required=_HARMFUL,
)
_SCALE = Key(
    "scale",
    choice(SCALES),
    {"enum": list(SCALES)},
    "linear",
    "How the range is divided; log for ranges over several powers of ten.",
)
_PRECISION = Key(
    "precision",
    schema=_VALUE_SCHEMA,
    help="The least difference of two values that matters; by default a part in 256 of the range, and "
    "never less than 1 ms.",
)
VARIED = KeyTable(
    Key(
        "setting",
        text,
        TEXT_SCHEMA,
        "",
        "The number that is searched, as under vary.",
        SETTING_FORM,
    ),
    _FROM,
    _TO,
    _SCALE,
    replace(
        _PRECISION,
        help="The least difference of two values that matters: the map has no more values than that.",
    ),
)
"""The keys of each of two settings."""


def _vary_schema() -> Schema:
    two = {"type": "array", "items": schema_of(VARIED), "minItems": 2, "maxItems": 2}
    return {"anyOf": [TEXT_SCHEMA, two]}


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
        _vary_schema,
        "",
        "The number that is searched: a setting of a fault, by the name of the fault (faults.latency.mean) "
        "or its place (faults[0].mean_ms); its probability (faults.http_error.probability); load.rps or "
        "load.clients. A list of two settings, each with from, to, scale and precision of its own, gives "
        "the frontier of both.",
        SETTING_FORM,
    ),
    replace(_FROM, required="", docs_help=f"{_FROM.help} Required for one setting."),
    replace(_TO, required="", docs_help=f"{_TO.help} Required for one setting."),
    _SCALE,
    Key(
        "budget",
        _read_budget,
        {"anyOf": [{"type": "integer", "minimum": 1}, DURATION_SCHEMA]},
        help='What the search may take: a duration, by default "5m", or a number of requests.',
    ),
    _PRECISION,
    CLIENTS,
    replace(RPS, help="Requests a second of each client. Required, unless it is searched."),
    MODEL,
    *PACE,
    rules={
        "if": {"properties": {"vary": {"type": "array"}}, "required": ["vary"]},
        "then": {"not": {"anyOf": [given(key) for key in _OWN_KEYS]}},
        "else": given("from", "to"),
    },
)


def parse_search(reading: MappingReader, faults: Sequence[WrittenFault] | None) -> SearchStrategy:
    """Return the strategy. If `faults` is None (some are invalid), checks that need them are skipped."""
    before = len(reading.problems)
    sources = _sources(reading)
    settings = [_parse_varied(*source, faults) for source in sources] or [_any_setting("")]
    if len(reading.problems) == before:
        _check_apart(sources, settings)
    load, clients, rps = _parse_load_of(reading, [varied.path for varied in settings])
    budget = reading.take("budget") or DEFAULT_BUDGET_S
    strategy = SearchStrategy(
        load,
        clients,
        1.0 if rps is None else rps,
        settings[0],
        budget if isinstance(budget, float) else None,
        budget if isinstance(budget, int) else None,
        second=settings[1] if len(settings) > 1 else None,
    )
    if len(reading.problems) == before and faults is not None:
        _check_ends([source for source, _ in sources], strategy, faults)
    return strategy


def _sources(reading: MappingReader) -> list[tuple[MappingReader, str]]:
    """Return the mapping of each setting, and which of its keys has the path."""
    if not isinstance(reading.given.get("vary"), list | tuple):
        for key, expected in (("from", _HARMLESS), ("to", _HARMFUL)):
            reading.require(key, expected)
        return [(reading, "vary")]
    found = reading.each("vary", "settings")
    if len(found) != 2:
        reading.note("vary", InputError("", f"expected one setting, or a list of two, got {len(found)}"))
    for key in _OWN_KEYS:
        if key in reading.given:
            problem = "expected none beside a list of settings, each of which has its own"
            reading.note(key, InputError("", f"{problem}, got {shown(reading.given[key])}"))
    return [(MappingReader(each, VARIED, path, reading.problems), "setting") for path, each in found[:2]]


def _any_setting(path: str) -> VariedSetting:
    return VariedSetting(path, None, "", "", Scale(0.0, 1.0))


def _parse_varied(reading: MappingReader, key: str, faults: Sequence[WrittenFault] | None) -> VariedSetting:
    """Return a setting with its range; one that has problems, or is not known, stands for another."""
    path, spacing = reading.take(key), reading.take("scale")
    if key == "setting":
        for end in ("from", "to"):
            reading.require(end, VARIED[end].required)
    if faults is None or not path:
        return _any_setting(path)
    try:
        place = find_setting(path, faults)
    except InputError as error:
        reading.note(key, error)
        return _any_setting(path)
    scale = _parse_scale(reading, place, spacing) or Scale(0.0, 1.0)
    return VariedSetting(path, place.fault, place.name, place.unit, scale)


def _check_apart(sources: Sequence[tuple[MappingReader, str]], settings: Sequence[VariedSetting]) -> None:
    """Note a second setting that is the first one, whatever they are called."""
    if len(settings) > 1 and len({(varied.fault, varied.name) for varied in settings}) == 1:
        reading, key = sources[1]
        problem = f"expected another setting than {settings[0].path}, got {shown(settings[1].path)}"
        reading.note(key, InputError("", problem))


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


def _parse_load_of(reading: MappingReader, paths: Sequence[str]) -> tuple[Load, int, float | None]:
    """Return the load, its clients and the rate of each; what is searched is not given besides."""
    for searched in ("rps", "clients"):
        if f"load.{searched}" in paths and searched in reading.given:
            problem = f"expected none, since it is searched, got {shown(reading.given[searched])}"
            reading.note(searched, InputError("", problem))
            del reading.given[searched]
    if "load.rps" in paths:
        # Any rate will do: each load of the search has its own.
        reading.given["rps"] = 1.0
    return parse_load(reading, needs_rate=True, duration_s=1.0)


def _check_ends(
    sources: Sequence[MappingReader], strategy: SearchStrategy, faults: Sequence[WrittenFault]
) -> None:
    """Note an end of a range that its setting cannot have, or a pair that two settings cannot have."""
    rules, harmless = [fault.rule for fault in faults], [each.scale.harmless for each in strategy.settings]
    before = len(sources[0].problems)
    for number, (reading, varied) in enumerate(zip(sources, strategy.settings, strict=True)):
        for key, value in (("from", varied.scale.harmless), ("to", varied.scale.harmful)):
            values = [*harmless[:number], value, *harmless[number + 1 :]]
            if (problem := _why_not_at(values, strategy, rules)) is not None:
                reading.note(key, InputError("", problem or f"expected more than 0, got {value:g}"))
    grid = strategy.grid
    if grid is None or len(sources[0].problems) > before:
        return
    for pair in product(grid.first, grid.second):
        if (problem := _why_not_at(pair, strategy, rules)) is not None:
            at = values_text(strategy, pair)
            sources[1].note("to", InputError("", f"{problem}, which are no pair ({at})"))
            return


def _why_not_at(values: Sequence[float], strategy: SearchStrategy, rules: Sequence[Rule]) -> str | None:
    """Return why the settings cannot have these values, empty if no load can; None if they can."""
    try:
        rules_of(rules, strategy, values)
        for varied, value in zip(strategy.settings, values, strict=True):
            if varied.name == "clients" and varied.fault is None and value < 1:
                raise ValueError(f"clients: expected at least 1, got {value:g}")
        load_at(strategy, _ANY_CALL, values, 1)
    except (ValueError, ZeroDivisionError) as error:
        return str(error).partition(": ")[2]
    return None
