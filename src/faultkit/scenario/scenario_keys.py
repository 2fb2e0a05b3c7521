"""The keys of scenario files: from a document (YAML data) to a scenario, and the JSON Schema of such files.

Each mapping is declared once as a table of keys. Every mistake is reported with its path, not only the first.
The tables of calls, faults and strategies are in `http_call`, `written_faults` and `strategy`;
`faultkit.scenario.scenario_file` adds file names and lines. The schema accepts everything that the parser
accepts. Only the parser finds mistakes in the combination of keys, such as a step that leads below 0.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, get_args

from faultkit.base.address import ProxyMap, Upstream, UpstreamSet, parse_map, parse_upstream
from faultkit.base.documents.checks import shown
from faultkit.base.documents.key_tables import (
    OR_NOTHING,
    Key,
    KeyTable,
    Schema,
    chosen_by,
    given,
    maybe,
    never_both,
    schema_of,
    sentence,
)
from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.documents.values import (
    DURATION_SCHEMA,
    SWITCH_SCHEMA,
    TEXT_SCHEMA,
    choice,
    duration_s,
    line,
    milliseconds,
    number,
    span_schema,
    switch,
    text,
    whole_number,
)
from faultkit.base.errors import InputError
from faultkit.load.expectation import Expectation
from faultkit.load.slo import RATE_KINDS, SHARE_KINDS, TIME_KINDS, Slo, SloKind
from faultkit.plan import plan_schema
from faultkit.scenario.control_api import CONTROL_API, parse_control_api
from faultkit.scenario.http_call import CALL, CONFIG, HEADERS_SCHEMA, CallConfig, parse_call, parse_config
from faultkit.scenario.item_checks import item_problems
from faultkit.scenario.scenario_model import (
    LoadStrategy,
    Scenario,
    ScenarioItem,
    SearchStrategy,
    SingleStrategy,
    Strategy,
    WrittenFault,
)
from faultkit.scenario.search_setting import read_value
from faultkit.scenario.strategy import STRATEGIES, parse_strategy
from faultkit.scenario.written_faults import TYPES, fault_keys, parse_fault

SLO_KINDS: tuple[str, ...] = get_args(SloKind)
_ITEMS = "a list of at least one item"
_OBJECTIVE = "a percentage above 0 and below 100"
_ERROR_THRESHOLD = "a percentage above 0 and at most 100"


def _parse_items(value: object) -> list[object]:
    if not isinstance(value, list) or not value:
        raise InputError("", f"expected {_ITEMS}, got {'an empty list' if value == [] else shown(value)}")
    return value


def _slo_schema_rules() -> Schema:
    share: Schema = {
        "type": "number",
        "exclusiveMinimum": 0,
        "maximum": 100,
        "description": sentence(_ERROR_THRESHOLD),
    }
    thresholds: dict[str, Schema] = {
        **{kind: {"not": {"type": "null"}} for kind in TIME_KINDS},
        **dict.fromkeys(SHARE_KINDS, share),
        **{kind: {"type": "number", "exclusiveMinimum": 0} for kind in RATE_KINDS},
    }
    return {
        "anyOf": [given("type"), given("slo_type")],
        "allOf": [never_both("type", "slo_type")]
        + [
            {
                "if": {
                    "anyOf": [
                        {"properties": {key: {"const": kind}}, "required": [key]}
                        for key in ("type", "slo_type")
                    ]
                },
                "then": {"properties": {"threshold": threshold}, "required": ["threshold"]},
            }
            for kind, threshold in thresholds.items()
        ],
    }


_MEASURED = (
    "What is measured: first_event, gap and early_end of event streams, tool_error of calls of MCP tools, "
    "time_to_first_token, token_gap, tokens_per_second, early_end and refusal of requests to models, "
    "the others of all calls."
)

SLO = KeyTable(
    Key("type", choice(SLO_KINDS), {"enum": list(SLO_KINDS)}, help=_MEASURED),
    Key("slo_type", choice(SLO_KINDS), {"enum": list(SLO_KINDS)}, help="Another name of type."),
    Key("title", line, TEXT_SCHEMA, help="One line; by default the type."),
    Key(
        "objective",
        number(_OBJECTIVE, lambda share: 0 < share < 100),
        {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 100},
        1.0,
        sentence(_OBJECTIVE),
        _OBJECTIVE,
    ),
    Key(
        "threshold",
        milliseconds,
        span_schema({"exclusiveMinimum": 0}),
        help="Latency, first_event, gap, time_to_first_token, token_gap: the time that the objective's "
        'percentile must keep, in milliseconds or as text such as "500ms". Error, early_end, tool_error, '
        "refusal: a percentage of such requests. Tokens_per_second: the rate that the objective's share of "
        "answers must reach. "
        "Availability: the time within which an answer counts.",
    ),
    Key("window", duration_s, DURATION_SCHEMA, help="Every window of this length must keep the objective."),
    rules=_slo_schema_rules,
)

PROXY = KeyTable(
    Key(
        "disable_http_proxies",
        switch,
        SWITCH_SCHEMA,
        False,
        "True: no forward proxy; calls go straight to their URL.",
    ),
    Key(
        "proxies",
        schema={"type": "array", "items": {"type": "string", "pattern": "="}},
        help="Ports for the service under test to reach its dependencies through, such as "
        '"9090=https://example.com".',
    ),
    Key(
        "through",
        line,
        TEXT_SCHEMA,
        help="With a control API (`proxy.at`): the proxy there, by its name, that the calls go through. By "
        "default they go straight to their URL.",
    ),
)

CONTEXT = KeyTable(
    Key(
        "upstreams",
        schema={"type": "array", "items": TEXT_SCHEMA},
        help="Hosts whose traffic through the forward proxy is broken: names, host:port, URLs or globs. By "
        "default the host of the call.",
    ),
    Key(
        "faults",
        schema={"type": "array", "items": {"$ref": "#/$defs/fault"}},
        help="The faults around the call.",
    ),
    Key(
        "strategy",
        schema={"$ref": f"#/$defs/strategy{OR_NOTHING}"},
        help="How often to call: mode single, repeat, load or search.",
    ),
    Key(
        "slo",
        schema={"type": "array", "items": {"$ref": "#/$defs/slo"}},
        help="Objectives that the calls must meet.",
    ),
    Key("proxy", schema=PROXY),
    Key("runs_on", schema={"type": "null"}, help="Not supported: scenarios run on this machine."),
)

EXPECT = KeyTable(
    Key(
        "status",
        whole_number(100, 599),
        {"type": "integer", "minimum": 100, "maximum": 599},
        help="The status of each answer.",
    ),
    Key(
        "response_time_under",
        milliseconds,
        span_schema({"exclusiveMinimum": 0}),
        help='Each call must be faster: milliseconds, or text such as "500ms".',
    ),
    Key(
        "all_slo_are_valid",
        switch,
        SWITCH_SCHEMA,
        help="True: a missed objective fails the item. There must be one, here or by --slo.",
    ),
    Key(
        "breaks_above",
        schema={"anyOf": [{"type": "number"}, TEXT_SCHEMA]},
        help="Of mode search: the value of the searched setting up to which the objectives must be shown to "
        "hold, such as 150ms.",
    ),
)

ITEM = KeyTable(
    Key("call", schema=CALL, required="a mapping"),
    Key("context", schema=CONTEXT),
    Key("expect", schema=EXPECT),
)

SCENARIO = KeyTable(
    Key("title", line, TEXT_SCHEMA, "", "One line.", "a text"),
    Key("description", text, TEXT_SCHEMA, help="A text for the report."),
    Key("config", schema=CONFIG),
    Key("proxy", schema=CONTROL_API),
    Key(
        "items",
        _parse_items,
        {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/item"}},
        (),
        "The calls, made one after the other.",
        _ITEMS,
    ),
    help="What to call, what to break around it, and what to expect.",
)


def parse_scenario(
    document: object, problems: list[InputError], file: str | None = None, number: int = 1
) -> Scenario | None:
    """Return the scenario of a document; None if it has problems, which are added to the list."""
    before = len(problems)
    reader = MappingReader(document, SCENARIO, "", problems)
    title, description = reader.take("title"), reader.take("description")
    config = parse_config(reader.inner("config"))
    control = None
    if "proxy" in reader.given:
        control = parse_control_api(reader.inner("proxy"), os.path.dirname(file or ""))
    items = [
        _parse_item(value, f"items[{index}]", problems, config)
        for index, value in enumerate(reader.take("items"))
    ]
    if len(problems) > before:
        return None
    return Scenario(title, tuple(items), description, file, number, control)


def _parse_item(value: object, path: str, problems: list[InputError], config: CallConfig) -> ScenarioItem:
    before = len(problems)
    reader = MappingReader(value, ITEM, path, problems)
    reader.require("call", ITEM["call"].required)
    call = parse_call(reader.inner("call"), config) if "call" in reader.given else None
    context = reader.inner("context")
    if "runs_on" in context.given:
        problem = "expected nothing, got a platform: scenarios run on this machine only"
        context.note("runs_on", InputError("", problem))
    faults = _parse_faults(context)
    strategy: Strategy = SingleStrategy()
    if "strategy" in context.given:
        strategy = parse_strategy(context.given["strategy"], f"{context.path}.strategy", problems, faults)
    _check_periods(context, faults or (), strategy)
    maps, http_proxy, through = _parse_proxy(context, has_faults=bool(context.given.get("faults")))
    expect = reader.inner("expect")
    strategy = _with_bound(strategy, expect)
    item: dict[str, Any] = {
        "call": call,
        "faults": tuple(faults or ()),
        "strategy": strategy,
        "slos": tuple(_parse_slo(each, where, problems) for where, each in context.each("slo", "objectives")),
        "expect": Expectation(*(expect.take(key) for key in EXPECT.names if key != "breaks_above")),
        "upstreams": UpstreamSet(tuple(_parse_upstreams(context))),
        "maps": maps,
        "http_proxy": http_proxy,
        "through": through,
    }
    made = ScenarioItem(**item)
    if len(problems) == before:
        problems += [error.within(path) for error in item_problems(made)]
    return made


def _with_bound(strategy: Strategy, expect: MappingReader) -> Strategy:
    """Return the strategy of a search with the value up to which the objectives must hold."""
    if "breaks_above" not in expect.given:
        return strategy
    if not isinstance(strategy, SearchStrategy):
        problem = "expected none without a strategy of mode search, got a value"
        expect.note("breaks_above", InputError("", problem))
        return strategy
    if strategy.second is not None:
        problem = "expected none with two settings, since a frontier has no single value, got a value"
        expect.note("breaks_above", InputError("", problem))
        return strategy
    unit = strategy.varied.unit
    return replace(
        strategy, breaks_above=expect.take("breaks_above", lambda value: read_value(value, unit), None)
    )


def _parse_faults(context: MappingReader) -> list[WrittenFault] | None:
    """Return the faults; None if one of them is invalid."""
    taken: set[str] = set()
    faults = [
        parse_fault(value, path, context.problems, taken) for path, value in context.each("faults", "faults")
    ]
    valid = [fault for fault in faults if fault is not None]
    return valid if len(valid) == len(faults) else None


def _check_periods(context: MappingReader, faults: Sequence[WrittenFault], strategy: Strategy) -> None:
    total_s = strategy.load.duration_s if isinstance(strategy, LoadStrategy) else None
    for index, fault in enumerate(faults):
        schedule, path = fault.rule.schedule, f"faults[{index}].period"
        problem = None
        if schedule.needs_total and total_s is None:
            problem = (
                f'expected times such as "10s", got "{schedule}": percentages need a strategy of mode load'
            )
        else:
            try:
                schedule.resolve(total_s)
            except InputError as error:
                problem = error.problem
        if problem is not None:
            context.problems.append(InputError(path, problem).within(context.path))


def _parse_upstreams(context: MappingReader) -> list[Upstream]:
    found = []
    for path, value in context.each("upstreams", "hosts"):
        try:
            found.append(_parse_upstream_text(value))
        except InputError as error:
            context.problems.append(error.at(path))
    return found


def _parse_upstream_text(value: object) -> Upstream:
    if not isinstance(value, str) or not value.strip():
        raise InputError("", f"expected a host or a URL, got {shown(value)}")
    scheme, marks, rest = value.strip().partition("://")
    # A URL with a path means its host and port.
    return parse_upstream(f"{scheme}://{rest.partition('/')[0]}" if marks else value)


def _parse_proxy(
    context: MappingReader, *, has_faults: bool
) -> tuple[tuple[ProxyMap, ...], bool, str | None]:
    reader = context.inner("proxy")
    disabled = reader.take("disable_http_proxies")
    maps: list[ProxyMap] = []
    listed = reader.each("proxies", "maps such as 9090=https://example.com")
    for path, value in listed:
        try:
            added = parse_map(text(value))
            if added.listen.port and added.listen in (other.listen for other in maps):
                raise InputError("", f"expected each map to listen elsewhere, got {added.listen} again")
            maps.append(added)
        except InputError as error:
            context.problems.append(error.at(path))
    if disabled and not listed and has_faults:
        problem = "expected false, or proxies for the faults to act in, got true and no proxies"
        reader.note("disable_http_proxies", InputError("", problem))
    return tuple(maps), not disabled, reader.take("through")


def _parse_slo(value: object, path: str, problems: list[InputError]) -> Slo | None:
    before = len(problems)
    reader = MappingReader(value, SLO, path, problems)
    if {"type", "slo_type"} <= set(reader.given):
        reader.note("slo_type", InputError("", 'expected it or "type", got both'))
    key = "slo_type" if "slo_type" in reader.given else "type"
    reader.require(key, f"one of {', '.join(SLO_KINDS)}")
    kind = reader.take(key)
    objective = reader.take("objective")
    threshold = _parse_threshold(reader, kind)
    title = reader.take("title") or kind
    window_s = reader.take("window")
    return Slo(kind, title, objective, threshold, window_s) if len(problems) == before else None


def _parse_threshold(reader: MappingReader, kind: str | None) -> float | None:
    if kind in SHARE_KINDS:
        read = number(_ERROR_THRESHOLD, lambda share: 0 < share <= 100)
        return reader.need("threshold", read, None, _ERROR_THRESHOLD)
    if kind in TIME_KINDS:
        return reader.need("threshold", milliseconds, None, "a number of milliseconds above 0")
    if kind in RATE_KINDS:
        wanted = "a number of tokens per second above 0"
        return reader.need("threshold", number(wanted, lambda rate: rate > 0), None, wanted)
    return reader.take("threshold", milliseconds, None)


def scenario_schema() -> Schema:
    """Return the JSON Schema of one document of a scenario file."""
    shared: Any = plan_schema()["$defs"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Faultkit scenario",
        **schema_of(SCENARIO),
        "$defs": {
            "item": schema_of(ITEM),
            f"headers{OR_NOTHING}": HEADERS_SCHEMA,
            "fault": chosen_by("type", {type_: f"fault-{type_}" for type_ in TYPES}),
            f"strategy{OR_NOTHING}": maybe(
                chosen_by("mode", {mode: f"strategy-{mode}" for mode in STRATEGIES})
            ),
            "slo": schema_of(SLO),
            "schedule": shared["schedule"],
            "period": shared["period"],
            **{f"fault-{type_}": schema_of(fault_keys(type_)) for type_ in TYPES},
            **{f"strategy-{mode}": schema_of(table) for mode, table in STRATEGIES.items()},
        },
    }
