"""The agents under test in a suite file: models, shipped agents, scripts, and external programs.

A script has calls, and for each what to do if it fails:

script:
  - search                                   # a call without arguments
  - call: order
    args: {item: tea}
    retry: {attempts: 3, wait_ms: 200}       # or only the number of attempts
    verify: {call: orders, holds: tea}       # a call before each further attempt
    fallback: {call: order_by_mail, args: {item: tea}}
    goes_on: true                            # continue after a failure
say: "Done: {result}"
say_on_failure: "I could not do it: {error}"
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from faultkit.agents.kinds.scripted import SHIPPED_AGENTS
from faultkit.agents.parse.suite_servers import SuiteFolder, command
from faultkit.agents.parse.suite_source import SuiteSource
from faultkit.agents.parse.suite_values import (
    ARGUMENTS_SCHEMA,
    BY_NAME_SCHEMA,
    COMMAND_SCHEMA,
    arguments,
    list_of,
    texts_by_name,
)
from faultkit.agents.suite.definition import (
    AgentGoal,
    AgentUnderTest,
    CommandAgent,
    CustomProvider,
    ModelAgent,
    PlannedCall,
    Script,
    ScriptAgent,
    ScriptRetry,
    ScriptStep,
    ShippedAgent,
)
from faultkit.base.documents.checks import advice, join_path, shown
from faultkit.base.documents.checks import text as checked_text
from faultkit.base.documents.key_tables import Key, KeyTable, Schema, given, never_both, schema_of
from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.documents.values import SWITCH_SCHEMA, TEXT_SCHEMA, number, switch, text, whole_number
from faultkit.base.errors import InputError
from faultkit.llm.providers import MissingKey, endpoint_of

DEFAULT_TOKENS = 1024
MOST_TOKENS = 10_000_000
MOST_ATTEMPTS = 1000
LONGEST_WAIT_MS = 86_400_000


def parse_agents(
    reader: MappingReader, source: SuiteSource, providers: Sequence[CustomProvider], folder: SuiteFolder
) -> Sequence[tuple[str, AgentUnderTest]]:
    """Return the agent of a test, or each of its models with the suffix for the name of the test."""
    how = reader.at_most_one("model", "models", "agent")
    if how is None:
        if reader.sound:
            source.note(join_path(reader.path, "agent"), "expected one of model, models, agent, got nothing")
        return ()
    if how == "agent":
        if "max_tokens" in reader.given:
            reader.note("max_tokens", InputError("", "expected only beside a model, got it beside agent"))
        agent = _agent(reader.given["agent"], join_path(reader.path, "agent"), source, folder)
        return () if agent is None else (("", agent),)
    return _models(reader, how, providers)


def _models(
    reader: MappingReader, how: str, providers: Sequence[CustomProvider]
) -> Sequence[tuple[str, AgentUnderTest]]:
    max_tokens = reader.take("max_tokens")

    def read_model(value: object) -> ModelAgent:
        return parse_model(value, providers, max_tokens)

    if how == "model":
        model = reader.take("model", read_model, None)
        return () if model is None else (("", model),)
    if reader.given["models"] == []:
        reader.note("models", InputError("", "expected at least one model, got an empty list"))
    models = reader.take("models", list_of(read_model, "model"), ())
    return tuple((f" [{agent.model}]", agent) for agent in models)


def _agent(value: object, path: str, source: SuiteSource, folder: SuiteFolder) -> AgentUnderTest | None:
    if isinstance(value, str):
        kind = _shipped_kind(value, path, source)
        return None if kind is None else ShippedAgent(kind)
    reader = MappingReader(value, AGENT, path, source.problems)
    how = reader.at_most_one(*_FORMS)
    if how is None:
        if reader.sound:
            source.note(path, f"expected one of {', '.join(_FORMS)}, got none")
        return None
    for owner, keys in _FORMS.items():
        for key in keys:
            if key in reader.given and owner != how:
                reader.note(key, InputError("", f"expected only beside {owner}, got it beside {how}"))
    if how == "kind":
        return _shipped_agent(reader, source)
    if how == "script":
        script = parse_script(reader, source)
        return None if script is None else ScriptAgent(script)
    argv, env, cwd = reader.take("command"), reader.take("env"), reader.take("cwd")
    return CommandAgent(argv, env, None if cwd is None else folder.path_of(cwd)) if argv else None


def _shipped_agent(reader: MappingReader, source: SuiteSource) -> ShippedAgent | None:
    kind = _shipped_kind(reader.given["kind"], join_path(reader.path, "kind"), source)
    if "goal" not in reader.given:
        return None if kind is None else ShippedAgent(kind)
    goal = parse_goal(reader.given["goal"], join_path(reader.path, "goal"), source)
    return None if kind is None or goal is None else ShippedAgent(kind, goal)


def _shipped_kind(value: object, path: str, source: SuiteSource) -> str | None:
    kind = value.replace("-", "_") if isinstance(value, str) else value
    if isinstance(kind, str) and kind in SHIPPED_AGENTS:
        return kind
    hint = advice(kind, tuple(SHIPPED_AGENTS))
    source.note(path, f"expected an agent that ships with Faultkit, got {shown(value)}; {hint}")
    return None


def parse_script(reader: MappingReader, source: SuiteSource) -> Script | None:
    """Return the script of a mapping with `script`, `say` and `say_on_failure`; None if it has a mistake."""
    steps = [_step(value, path, source) for path, value in reader.each("script", "steps")]
    if not steps and reader.given.get("script") == []:
        reader.note("script", InputError("", "expected at least one step, got an empty list"))
    sound = [step for step in steps if step is not None]
    if not sound or len(sound) < len(steps):
        return None
    return Script(tuple(sound), reader.take("say"), reader.take("say_on_failure"))


def parse_goal(value: object, path: str, source: SuiteSource) -> AgentGoal | None:
    """Return the goal of a shipped agent; None if it has a mistake."""
    if isinstance(value, str) and value:
        return AgentGoal(PlannedCall(value))
    reader = MappingReader(value, GOAL, path, source.problems)
    call = _planned_call(reader)
    fallback = _inner_call(reader, "fallback", source, PLANNED_CALL)
    verify, holds = _verify(reader, source)
    return None if call is None else AgentGoal(call, fallback, verify, holds)


def _step(value: object, path: str, source: SuiteSource) -> ScriptStep | None:
    if isinstance(value, str) and value:
        return ScriptStep(PlannedCall(value))
    reader = MappingReader(value, SCRIPT_STEP, path, source.problems)
    call = _planned_call(reader)
    verify, holds = _verify(reader, source)
    retry = _retry(reader, source)
    if verify is not None and retry.attempts == 1:
        reader.note(
            "verify", InputError("", "expected a `retry` beside it: it is called before a further attempt")
        )
    fallback = _inner_call(reader, "fallback", source, PLANNED_CALL)
    goes_on = reader.take("goes_on")
    return None if call is None else ScriptStep(call, retry, verify, holds, fallback, goes_on)


def _planned_call(reader: MappingReader) -> PlannedCall | None:
    tool = reader.at_most_one("call", "tool")
    chosen = reader.at_most_one("args", "arguments")
    if tool is None:
        if reader.sound:
            problem = "expected the name of a tool, got nothing"
            reader.problems.append(InputError(join_path(reader.path, "call"), problem))
        return None
    name = reader.take(tool)
    return PlannedCall(name, reader.take(chosen) if chosen else {}) if name else None


def _inner_call(reader: MappingReader, key: str, source: SuiteSource, keys: KeyTable) -> PlannedCall | None:
    value = reader.given.get(key)
    if value is None:
        return None
    if isinstance(value, str) and value:
        return PlannedCall(value)
    return _planned_call(MappingReader(value, keys, join_path(reader.path, key), source.problems))


def _verify(reader: MappingReader, source: SuiteSource) -> tuple[PlannedCall | None, str]:
    call = _inner_call(reader, "verify", source, VERIFY)
    written: Any = reader.given.get("verify")
    holds = written.get("holds", "") if isinstance(written, dict) else ""
    if not isinstance(holds, str):
        problem = f"expected a text that its answer holds, got {shown(holds)}"
        reader.note("verify", InputError("holds", problem))
        return call, ""
    return call, holds


def _retry(reader: MappingReader, source: SuiteSource) -> ScriptRetry:
    value = reader.given.get("retry")
    if value is None:
        return ScriptRetry(attempts=1)
    if not isinstance(value, dict):
        return ScriptRetry(attempts=reader.take("retry", whole_number(0, MOST_ATTEMPTS), 1))
    inner = MappingReader(value, RETRY, join_path(reader.path, "retry"), source.problems)
    return ScriptRetry(*(inner.take(key) for key in RETRY.names))


def parse_model(value: object, providers: Sequence[CustomProvider], max_tokens: int) -> ModelAgent:
    """Return the model of a name, or of a provider and a name. Raises InputError if no provider serves it."""
    if isinstance(value, Mapping):
        written = MappingReader(value, MODEL).given
        provider, name = (checked_text(written.get(key.name), key.required, key.name) for key in MODEL)
        agent = ModelAgent(name, provider, max_tokens)
    else:
        agent = ModelAgent(checked_text(value, MODEL["id"].required, ""), max_tokens=max_tokens)
    try:
        endpoint_of(agent, providers, {})
    except MissingKey:
        # A cassette needs no key, so a missing one is reported only when the test runs.
        return agent
    except InputError as error:
        path = error.path.removeprefix("model").removeprefix(".")
        raise error.at(path) from None
    return agent


_ANY_TEXT: Schema = {"type": "string"}
_SHIPPED_WORDS = [word for kind in SHIPPED_AGENTS for word in dict.fromkeys((kind, kind.replace("_", "-")))]
_CALL_KEYS = (
    Key("call", text, TEXT_SCHEMA, "", "The name of the tool."),
    Key("tool", text, TEXT_SCHEMA, "", "Another name of call."),
    Key("args", arguments, ARGUMENTS_SCHEMA, {}),
    Key("arguments", arguments, ARGUMENTS_SCHEMA, {}, "Another name of args."),
)
_CALL_SCHEMA: Schema = {"anyOf": [TEXT_SCHEMA, {"$ref": "#/$defs/errand"}]}


def _call_rules(*more: Schema) -> Schema:
    return {
        "anyOf": [given("call"), given("tool")],
        "allOf": [never_both("call", "tool"), never_both("args", "arguments"), *more],
    }


PLANNED_CALL = KeyTable(*_CALL_KEYS, rules=_call_rules)
VERIFY = KeyTable(
    *_CALL_KEYS,
    Key("holds", schema=_ANY_TEXT, help="A text in its result which shows that the call had been done."),
    rules=_call_rules,
)
_VERIFY = Key(
    "verify",
    schema=lambda: {"anyOf": [TEXT_SCHEMA, schema_of(VERIFY)]},
    help="A call before each further attempt.",
)
_FALLBACK = Key("fallback", schema=_CALL_SCHEMA, help="A call that is made if all attempts fail.")
GOAL = KeyTable(*_CALL_KEYS, _FALLBACK, _VERIFY, rules=_call_rules)
_ATTEMPTS: Schema = {"type": "integer", "minimum": 0, "maximum": MOST_ATTEMPTS, "description": "0: no limit."}
RETRY = KeyTable(
    Key(
        "attempts",
        whole_number(0, MOST_ATTEMPTS),
        _ATTEMPTS,
        ScriptRetry().attempts,
        "Attempts in all, with the first; 0: no limit.",
    ),
    Key(
        "wait_ms",
        number(f"milliseconds from 0 to {LONGEST_WAIT_MS}", lambda ms: 0 <= ms <= LONGEST_WAIT_MS),
        {"type": "number", "minimum": 0, "maximum": LONGEST_WAIT_MS},
        0.0,
        "The wait before the second attempt.",
    ),
    Key(
        "factor",
        number("a number from 1 to 10", lambda factor: 1 <= factor <= 10),
        {"type": "number", "minimum": 1, "maximum": 10},
        2.0,
        "The factor by which the wait grows.",
    ),
    Key(
        "jitter",
        number("a share from 0 to 1", lambda share: 0 <= share <= 1),
        {"type": "number", "minimum": 0, "maximum": 1},
        0.0,
        "The share of the wait by which it may be shorter or longer.",
    ),
    Key("obeys", switch, SWITCH_SCHEMA, False, "Wait as long as an answer asks for, if that is longer."),
)
SCRIPT_STEP = KeyTable(
    *_CALL_KEYS,
    Key("retry", schema=lambda: {"anyOf": [_ATTEMPTS, schema_of(RETRY)]}, help="Further attempts."),
    _VERIFY,
    _FALLBACK,
    Key("goes_on", switch, SWITCH_SCHEMA, False, "Continue with the next step after a failure."),
    rules=lambda: _call_rules({"if": given("verify"), "then": given("retry")}),
)
AGENT = KeyTable(
    Key("kind", schema={"enum": _SHIPPED_WORDS}, help="An agent that ships with Faultkit."),
    Key(
        "goal",
        schema=lambda: {"anyOf": [TEXT_SCHEMA, schema_of(GOAL)]},
        help="The task of a shipped agent.",
    ),
    Key(
        "script",
        schema=lambda: {
            "type": "array",
            "minItems": 1,
            "items": {"anyOf": [TEXT_SCHEMA, schema_of(SCRIPT_STEP)]},
        },
        help="The steps of a scripted agent.",
    ),
    Key("say", text, TEXT_SCHEMA, "", "The final reply of a script that succeeds."),
    Key(
        "say_on_failure",
        text,
        TEXT_SCHEMA,
        Script(()).say_on_failure,
        "The final reply of a script that fails.",
    ),
    Key("command", command, COMMAND_SCHEMA, (), "A program that is the agent."),
    Key("env", texts_by_name, BY_NAME_SCHEMA, {}, "Environment variables of the program."),
    Key("cwd", text, TEXT_SCHEMA, help="The folder in which the program starts."),
)
_FORMS = {"kind": ("goal",), "script": ("say", "say_on_failure"), "command": ("env", "cwd")}
"""The keys that choose the form of an agent, each with the keys that are allowed beside it."""

MODEL = KeyTable(
    Key("provider", schema=TEXT_SCHEMA, help="The name of a provider.", required="the name of a provider"),
    Key("id", schema=TEXT_SCHEMA, help="The name of the model.", required="the name of a model"),
)


def agent_schema() -> Schema:
    """Return the JSON Schema of the key `agent`."""

    def form(owner: str) -> Schema:
        keys = (replace(AGENT[owner], required="it"), *(AGENT[key] for key in _FORMS[owner]))
        return schema_of(KeyTable(*keys))

    shipped = {
        "enum": _SHIPPED_WORDS,
        "description": "An agent that ships with Faultkit; it calls the tool that a fault targets.",
    }
    return {"anyOf": [shipped, *map(form, _FORMS)]}


def model_schema() -> Schema:
    """Return the JSON Schema of the key `model`."""
    return {
        "anyOf": [TEXT_SCHEMA, schema_of(MODEL)],
        "description": "A name with its provider, PROVIDER/MODEL, or the two as separate keys.",
    }
