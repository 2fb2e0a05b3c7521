"""The tests of agents and tools in a suite file.

`suite_contents` checks whether the servers and faults that a test names exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from faultkit.agents.matchers.target import AGENT_ROOTS, TOOL_ROOTS
from faultkit.agents.parse.suite_agents import DEFAULT_TOKENS, MOST_TOKENS, model_schema, parse_agents
from faultkit.agents.parse.suite_breakpoints import BREAKPOINT
from faultkit.agents.parse.suite_expectations import (
    LIMIT,
    MAX_DURATION,
    MAX_TOKENS,
    expect_schema,
    goal_schema,
    parse_expect,
    parse_goal_of_test,
)
from faultkit.agents.parse.suite_servers import SuiteFolder
from faultkit.agents.parse.suite_source import SuiteSource
from faultkit.agents.parse.suite_values import (
    ARGUMENTS_SCHEMA,
    TEXTS_SCHEMA,
    UNSUPPORTED_IN_AGENTS,
    UNSUPPORTED_IN_ORCHESTRATION,
    arguments,
    list_of,
)
from faultkit.agents.suite.agent_interface import RunBudget
from faultkit.agents.suite.definition import (
    AgentTest,
    CustomProvider,
    ScriptAgent,
    ShippedAgent,
    ToolTest,
)
from faultkit.agents.suite.gate import RecoveryGate, Requirement
from faultkit.base.documents.checks import join_path, shown
from faultkit.base.documents.key_tables import Key, KeyTable, Schema, given, never_both
from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.documents.values import (
    SWITCH_SCHEMA,
    TEXT_SCHEMA,
    choice,
    duration_s,
    line,
    number,
    switch,
    text,
    whole_number,
)
from faultkit.base.errors import InputError
from faultkit.llm.mock.mock_answers import parse_script

REQUIREMENTS: tuple[Requirement, ...] = get_args(Requirement)
MOST_RUNS = 1000
MOST = 1_000_000_000
SKIPPED = "skipped"


def parse_agent_test(
    value: object,
    path: str,
    source: SuiteSource,
    providers: Sequence[CustomProvider],
    folder: SuiteFolder,
    most_usd: float | None = None,
) -> list[AgentTest]:
    """Return the test, once for each model.

    `providers` are those of the suite, and `most_usd` is its limit for a test that has none of its own.
    """
    reader = MappingReader(value, AGENT_TEST, path, source.problems)
    common = _common_values(reader, source, AGENT_ROOTS)
    agents = parse_agents(reader, source, providers, folder)
    recovery = None
    if "recovery" in reader.given:
        limits = reader.inner("recovery")
        recovery = RecoveryGate(*(limits.take(key) for key in RECOVERY.names))
    goal = None
    if "goal" in reader.given:
        goal = parse_goal_of_test(reader.given["goal"], join_path(reader.path, "goal"), source)
    if recovery is not None and not reader.given.get("inject"):
        reader.note(
            "recovery", InputError("", "expected `inject` beside it: nothing is broken to recover from")
        )
    turns = reader.take("mock_model")
    if turns and any(isinstance(agent, ShippedAgent | ScriptAgent) for _, agent in agents):
        problem = "expected only beside model, models or a command: the mock of a script knows its turns"
        reader.note("mock_model", InputError("", problem))
    if "prompt" not in reader.given and ("model" in reader.given or "models" in reader.given):
        reader.note("prompt", InputError("", "expected what the model is asked to do, got nothing"))
    test: dict[str, Any] = {
        **{key: reader.take(key) for key in ("servers", "prompt", "system_prompt")},
        "recovery": recovery,
        "goal": goal,
        "error_recovery": (
            reader.inner("orchestration").take("error_recovery") if "orchestration" in reader.given else None
        ),
        "budget": _budget(reader, most_usd),
        "mock_model": turns,
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
    common = _common_values(reader, source, TOOL_ROOTS)
    chosen = reader.at_most_one("args", "arguments")
    limits = {**common.pop("limits"), **reader.values(*LIMIT.names)}
    test = ToolTest(
        server=reader.take("server"),
        tool=reader.take("tool"),
        arguments=reader.take(chosen) if chosen else {},
        **limits,
        place=source.place(path),
        **common,
    )
    if test.method and test.inject:
        problem = f"expected no faults beside {test.method}: they act on calls of tools in such a test"
        reader.note("inject", InputError("", problem))
    return test


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
    if roots == TOOL_ROOTS:
        found["limits"] = expected.limits
    elif MAX_DURATION in expected.limits:
        source.note(path, f"{MAX_DURATION} is for tools; a test of an agent has time_budget")
    elif MAX_TOKENS in expected.limits:
        source.note(path, f"{MAX_TOKENS} is for tools; a test of an agent has token_budget")
    return found


def _skip(value: object) -> str:
    """Return the reason why a test is skipped: its own, or a general one for `true`."""
    if isinstance(value, bool):
        return SKIPPED if value else ""
    if not isinstance(value, str) or not value:
        raise InputError("", f"expected the reason why, or true, got {shown(value)}")
    return value


def _budget(reader: MappingReader, most_usd: float | None) -> RunBudget:
    seconds = reader.take("time_budget")
    return RunBudget(
        turns=reader.take("max_turns"),
        calls=reader.take("max_tool_calls"),
        tokens=reader.take("token_budget"),
        time_ms=None if seconds is None else round(seconds * 1000, 9),
        money=most_usd if reader.given.get("max_cost_usd") is None else reader.take("max_cost_usd"),
    )


_COUNT: Schema = {"type": "integer", "minimum": 1, "maximum": MOST}
_MS: Schema = {"type": "integer", "minimum": 0, "maximum": MOST}


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


_CENTS: Schema = {"type": "number", "exclusiveMinimum": 0}
BUDGET = KeyTable(
    Key(
        "per_test_usd_cents",
        number("cents above 0", lambda cents: cents > 0),
        _CENTS,
        help="The most that a run may cost, in cents; a test's own `max_cost_usd` takes precedence.",
    ),
    Key(
        "per_suite_usd_cents",
        number("cents above 0", lambda cents: cents > 0),
        _CENTS,
        help="The most that all runs of the suite may cost, in cents.",
    ),
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
    Key(
        "require",
        list_of(choice(REQUIREMENTS), "requirement"),
        {
            "anyOf": [
                {"enum": list(REQUIREMENTS)},
                {"type": "array", "items": {"enum": list(REQUIREMENTS)}, "uniqueItems": True},
            ]
        },
        (),
        f"What else must hold: {', '.join(REQUIREMENTS)}.",
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
            *(never_both("breakpoint", key) for key in ("runs", "min_pass_rate")),
            {"if": given("breakpoint"), "then": given("inject")},
        ],
    }


_MOCK_MODEL: Schema = {
    "type": "object",
    "required": ["turns"],
    "additionalProperties": False,
    "properties": {
        "turns": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "anyOf": [given("text"), given("calls")],
                "properties": {
                    "text": TEXT_SCHEMA,
                    "calls": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "additionalProperties": False,
                            "required": ["name"],
                            "properties": {"name": TEXT_SCHEMA, "arguments": {"type": "object"}},
                        },
                    },
                },
            },
        }
    },
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
    Key("goal", schema=goal_schema, help="Expectations that hold if the task was really done."),
    Key("orchestration", schema=ORCHESTRATION),
    Key("breakpoint", schema=BREAKPOINT),
    Key(
        "mock_model",
        parse_script,
        _MOCK_MODEL,
        (),
        "The `turns` of a mock in place of a model or of the model of a program.",
    ),
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
    Key(
        "tool",
        line,
        TEXT_SCHEMA,
        "",
        "The name of the tool, or tools/list, resources/list, resources/templates/list or prompts/list.",
        "the name of a tool",
    ),
    Key("args", arguments, ARGUMENTS_SCHEMA, {}),
    Key("arguments", arguments, ARGUMENTS_SCHEMA, {}, "Another name of args."),
    *LIMIT,
    rules=lambda: {"allOf": [never_both("args", "arguments")]},
)
