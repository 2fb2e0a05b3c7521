"""The tests of agents and tools in a suite file, and their expectations.

An expectation is a target, one matcher, and the argument of the matcher. `suite_contents` checks whether the
servers and faults that a test names exist.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from faultkit.agents.matchers.matcher_table import MATCHERS, check
from faultkit.agents.matchers.target import AGENT_ROOTS, TOOL_ROOTS, check_target
from faultkit.agents.parse.suite_agents import DEFAULT_TOKENS, MOST_TOKENS, model_schema, parse_agents
from faultkit.agents.parse.suite_servers import SuiteFolder
from faultkit.agents.parse.suite_source import SuiteSource
from faultkit.agents.parse.suite_values import (
    ARGUMENTS_SCHEMA,
    TEXTS_SCHEMA,
    UNSUPPORTED_IN_AGENTS,
    UNSUPPORTED_IN_EXPECT,
    UNSUPPORTED_IN_ORCHESTRATION,
    arguments,
    list_of,
)
from faultkit.agents.suite.agent_interface import RunBudget
from faultkit.agents.suite.definition import (
    AgentTest,
    CustomProvider,
    ShippedAgent,
    SuiteExpectation,
    ToolTest,
)
from faultkit.agents.suite.gate import RecoveryGate
from faultkit.base.documents.checks import join_path, shown
from faultkit.base.documents.key_tables import Key, KeyTable, Schema, given, never_both, schema_of
from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.documents.values import (
    SWITCH_SCHEMA,
    TEXT_SCHEMA,
    duration_s,
    line,
    number,
    switch,
    text,
    whole_number,
)
from faultkit.base.errors import InputError

MAX_DURATION = "max_duration_ms"
MOST_RUNS = 1000
MOST = 1_000_000_000
SKIPPED = "skipped"


def parse_agent_test(
    value: object, path: str, source: SuiteSource, providers: Sequence[CustomProvider], folder: SuiteFolder
) -> list[AgentTest]:
    """Return the test, once for each model. `providers` are those of the suite."""
    reader = MappingReader(value, AGENT_TEST, path, source.problems)
    common = _common_values(reader, source, AGENT_ROOTS)
    agents = parse_agents(reader, source, providers, folder)
    recovery = None
    if "recovery" in reader.given:
        limits = reader.inner("recovery")
        recovery = RecoveryGate(*(limits.take(key) for key in RECOVERY.names))
    if recovery is not None and not reader.given.get("inject"):
        reader.note(
            "recovery", InputError("", "expected `inject` beside it: nothing is broken to recover from")
        )
    if "prompt" not in reader.given and ("model" in reader.given or "models" in reader.given):
        reader.note("prompt", InputError("", "expected what the model is asked to do, got nothing"))
    test: dict[str, Any] = {
        **{key: reader.take(key) for key in ("servers", "prompt", "system_prompt")},
        "recovery": recovery,
        "error_recovery": (
            reader.inner("orchestration").take("error_recovery") if "orchestration" in reader.given else None
        ),
        "budget": _budget(reader),
        **{key: reader.take(key) for key in ("runs", "min_pass_rate")},
    }
    name = common.pop("name")
    return [
        AgentTest(name=f"{name}{suffix}", agent=agent, place=source.place(path), **common, **test)
        # With a mistake in the agent, the rest of the test is still checked.
        for suffix, agent in agents or (("", ShippedAgent("naive")),)
    ]


def parse_tool_test(value: object, path: str, source: SuiteSource) -> ToolTest:
    """Return the test of a tool. Mistakes are added to the problems of the file."""
    reader = MappingReader(value, TOOL_TEST, path, source.problems)
    limit_ms = reader.take(MAX_DURATION)
    common = _common_values(reader, source, TOOL_ROOTS)
    chosen = reader.at_most_one("args", "arguments")
    within_ms = common.pop("limit_ms", None)
    return ToolTest(
        server=reader.take("server"),
        tool=reader.take("tool"),
        arguments=reader.take(chosen) if chosen else {},
        max_duration_ms=limit_ms if limit_ms is not None else within_ms,
        place=source.place(path),
        **common,
    )


def _common_values(reader: MappingReader, source: SuiteSource, roots: tuple[str, ...]) -> dict[str, Any]:
    """Return the values of the keys that tests of agents and of tools have in common."""
    path = join_path(reader.path, "expect")
    expected = parse_expect(reader.given.get("expect"), path, source, roots)
    found: dict[str, Any] = {
        **{key: reader.take(key) for key in ("name", "inject", "allow_unhit", "tags", "skip", "only")},
        "expect": expected.entries,
    }
    if found["skip"] and found["only"]:
        reader.note("only", InputError("", "expected only one of skip and only, got skip too"))
    if found["allow_unhit"] and not found["inject"]:
        reader.note("allow_unhit", InputError("", "expected `inject` beside it: there is no fault to be hit"))
    if expected.max_duration_ms is not None:
        if roots == TOOL_ROOTS:
            found["limit_ms"] = expected.max_duration_ms
        else:
            source.note(path, f"{MAX_DURATION} is for tools; a test of an agent has time_budget")
    return found


def _skip(value: object) -> str:
    """Return the reason why a test is skipped: its own, or a general one for `true`."""
    if isinstance(value, bool):
        return SKIPPED if value else ""
    if not isinstance(value, str) or not value:
        raise InputError("", f"expected the reason why, or true, got {shown(value)}")
    return value


def _budget(reader: MappingReader) -> RunBudget:
    seconds = reader.take("time_budget")
    return RunBudget(
        turns=reader.take("max_turns"),
        calls=reader.take("max_tool_calls"),
        tokens=reader.take("token_budget"),
        time_ms=None if seconds is None else round(seconds * 1000, 9),
        money=reader.take("max_cost_usd"),
    )


@dataclass(frozen=True, slots=True)
class ParsedExpectations:
    """The expectations of a test, and the limit that a tool test may have among them."""

    entries: tuple[SuiteExpectation, ...] = ()
    max_duration_ms: float | None = None


def parse_expect(value: object, path: str, source: SuiteSource, roots: tuple[str, ...]) -> ParsedExpectations:
    """Return the expectations. A target begins with one of `roots`; the first is the default target."""
    if value is None:
        return ParsedExpectations()
    if isinstance(value, Mapping):
        listed = [(path, value)]
    elif isinstance(value, list):
        listed = [(f"{path}[{index}]", each) for index, each in enumerate(value)]
    else:
        source.note(path, f"expected a list of expectations, got {shown(value)}")
        return ParsedExpectations()
    entries: list[SuiteExpectation] = []
    limit_ms: float | None = None
    for where, each in listed:
        if isinstance(each, Mapping) and MAX_DURATION in each:
            limit_ms = MappingReader(each, LIMIT, where, source.problems).take(MAX_DURATION)
            continue
        entry = _expectation(each, where, source, roots)
        if entry is not None:
            entries.append(entry)
    return ParsedExpectations(tuple(entries), limit_ms)


def _expectation(
    value: object, path: str, source: SuiteSource, roots: tuple[str, ...]
) -> SuiteExpectation | None:
    before = len(source.problems)
    if not isinstance(value, Mapping):
        source.note(path, f"expected a target and a matcher, got {shown(value)}")
        return None
    # The table accepts every key, because `check` reports unknown matchers better than a table would.
    any_keys = KeyTable(*map(Key, value), unsupported=UNSUPPORTED_IN_EXPECT)
    reader = MappingReader(value, any_keys, path, source.problems)
    target = reader.take("target", lambda given: check_target(given, roots), roots[0])
    matchers = {key: each for key, each in value.items() if key in reader.given or each is None}
    matchers.pop("target", None)
    matcher_path = path
    if list(matchers) == ["matcher"]:
        matcher_path, inner = join_path(path, "matcher"), matchers["matcher"]
        if not isinstance(inner, Mapping):
            source.note(
                matcher_path,
                f"expected a matcher and its argument, such as contains: text, got {shown(inner)}",
            )
            return None
        matchers = dict(inner)
    if len(matchers) != 1:
        if len(source.problems) == before:
            source.note(matcher_path, f"expected one matcher, got {', '.join(matchers) or 'none'}")
        return None
    ((name, wanted),) = matchers.items()
    try:
        check(name, wanted)
    except InputError as error:
        source.problems.append(error.within(join_path(matcher_path, name)))
    return (
        None if len(source.problems) > before else SuiteExpectation(target, name, wanted, source.place(path))
    )


_COUNT: Schema = {"type": "integer", "minimum": 1, "maximum": MOST}
_MS: Schema = {"type": "integer", "minimum": 0, "maximum": MOST}

LIMIT = KeyTable(
    Key(
        MAX_DURATION,
        number("a number of milliseconds above 0", lambda ms: ms > 0),
        {"type": "number", "exclusiveMinimum": 0},
        help="The longest time that the call may take.",
    )
)


def _common_keys(roots: tuple[str, ...]) -> tuple[Key, ...]:
    return (
        Key("name", line, TEXT_SCHEMA, "", "The name of the test, unique in the suite.", "a name"),
        Key("inject", list_of(text, "fault"), TEXTS_SCHEMA, (), "Names of faults."),
        Key("expect", schema=lambda: expect_schema(roots), help="Conditions on the result."),
        Key("allow_unhit", switch, SWITCH_SCHEMA, False, "A test whose fault was never met may pass."),
        Key("tags", list_of(line, "tag"), TEXTS_SCHEMA, (), "Words by which tests are selected."),
        Key("skip", _skip, {"anyOf": [SWITCH_SCHEMA, TEXT_SCHEMA]}, "", "Why the test is skipped, or true."),
        Key("only", switch, SWITCH_SCHEMA, False, "Only tests with this key are run."),
    )


RECOVERY = KeyTable(
    Key(
        "max_detection_ms",
        whole_number(0, MOST),
        _MS,
        0,
        "Longest time until the caller notices a failed call; calls without an answer end then.",
        "a whole number of milliseconds",
    ),
    Key(
        "max_recovery_ms",
        whole_number(0, MOST),
        _MS,
        help="Longest time from the start of the faulted call to the final reply.",
    ),
    Key(
        "require_clean_timeout",
        switch,
        SWITCH_SCHEMA,
        False,
        "A failed call must be noticed within max_detection_ms.",
    ),
)
ORCHESTRATION = KeyTable(
    Key(
        "error_recovery",
        whole_number(0, 100),
        {"type": "integer", "minimum": 0, "maximum": 100},
        help="The least percentage of failed calls that recovered later.",
        required="a percentage from 0 to 100",
    ),
    unsupported=UNSUPPORTED_IN_ORCHESTRATION,
)
_AGENT_KEYS = ("model", "models", "agent")


def _agent_test_rules() -> Schema:
    return {
        "anyOf": [given(key) for key in _AGENT_KEYS],
        "allOf": [
            *(
                never_both(one, other)
                for one, other in zip(_AGENT_KEYS, (*_AGENT_KEYS[1:], _AGENT_KEYS[0]), strict=True)
            ),
            never_both("agent", "max_tokens"),
            *({"if": given(key), "then": given("prompt")} for key in ("model", "models")),
            {"if": given("recovery"), "then": given("inject")},
        ],
    }


def _models_schema() -> Schema:
    model = model_schema()
    return {"anyOf": [model, {"type": "array", "minItems": 1, "items": model}]}


AGENT_TEST = KeyTable(
    *_common_keys(AGENT_ROOTS),
    Key("model", schema=model_schema),
    Key("models", schema=_models_schema, help="Models that each run the test."),
    Key("agent", schema={"$ref": "#/$defs/agent"}, help="An agent without a model, or a program."),
    Key(
        "max_tokens",
        whole_number(1, MOST_TOKENS),
        {"type": "integer", "minimum": 1, "maximum": MOST_TOKENS},
        DEFAULT_TOKENS,
        "The most tokens of one answer of a model.",
    ),
    Key("servers", list_of(text, "server"), TEXTS_SCHEMA, (), "Names of servers; by default default_server."),
    Key("prompt", text, TEXT_SCHEMA, "", "What the agent is asked to do."),
    Key("system_prompt", text, TEXT_SCHEMA, "", "The system prompt of a model."),
    Key("recovery", schema=RECOVERY),
    Key("orchestration", schema=ORCHESTRATION),
    Key(
        "runs",
        whole_number(1, MOST_RUNS),
        {"type": "integer", "minimum": 1, "maximum": MOST_RUNS},
        1,
        "How often the test is run.",
    ),
    Key(
        "min_pass_rate",
        whole_number(1, 100),
        {"type": "integer", "minimum": 1, "maximum": 100},
        help="Percentage of runs that must pass, with 95 % confidence; otherwise the test is inconclusive.",
    ),
    Key("max_turns", whole_number(1, MOST), _COUNT, RunBudget().turns, "The most turns of a run."),
    Key("token_budget", whole_number(1, MOST), _COUNT, help="The most tokens of a run."),
    Key("max_tool_calls", whole_number(0, MOST), {**_COUNT, "minimum": 0}, help="The most calls of a run."),
    Key(
        "time_budget",
        duration_s,
        {"type": "string"},
        help='A duration with its unit such as "30s", on the clock of the run.',
    ),
    Key(
        "max_cost_usd",
        number("dollars above 0", lambda dollars: dollars > 0),
        {"type": "number", "exclusiveMinimum": 0},
        help="The most that a run may cost, in dollars.",
    ),
    rules=_agent_test_rules,
    unsupported=UNSUPPORTED_IN_AGENTS,
)

TOOL_TEST = KeyTable(
    *_common_keys(TOOL_ROOTS),
    Key("server", line, TEXT_SCHEMA, "", "The name of a server; by default default_server."),
    Key("tool", line, TEXT_SCHEMA, "", "The name of the tool.", "the name of a tool"),
    Key("args", arguments, ARGUMENTS_SCHEMA, {}),
    Key("arguments", arguments, ARGUMENTS_SCHEMA, {}, "Another name of args."),
    *LIMIT,
    rules=lambda: {"allOf": [never_both("args", "arguments")]},
)


_MATCHER_KEYS = tuple(Key(name, schema=each.schema, help=each.summary) for name, each in MATCHERS.items())
MATCHER = KeyTable(
    *(key for key in _MATCHER_KEYS if key.name != "snapshot"),
    rules={"minProperties": 1, "maxProperties": 1},
    has_nulls=False,
)
"""A matcher inside another one."""


def expect_schema(roots: tuple[str, ...]) -> Schema:
    """Return the JSON Schema of the key `expect`; a target begins with one of `roots`."""
    target: Schema = {
        "type": "string",
        "pattern": rf"^({'|'.join(roots)})([.\[]|$)|\$\{{",
        "default": roots[0],
    }
    expectation = KeyTable(
        Key("target", schema=target, help="The part of the result that is checked."),
        *_MATCHER_KEYS,
        Key("matcher", schema={"$ref": "#/$defs/matcher"}, help="The matcher as a mapping."),
        rules={"minProperties": 1, "oneOf": [{"required": [name]} for name in (*MATCHERS, "matcher")]},
        has_nulls=False,
    )
    entries: list[Schema] = [schema_of(expectation)]
    if roots == TOOL_ROOTS:
        entries.append(schema_of(KeyTable(replace(LIMIT[MAX_DURATION], required="a number"))))
    each = {"anyOf": entries}
    return {"anyOf": [*entries, {"type": "array", "items": each}]}
