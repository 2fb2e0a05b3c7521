"""The expectations of a suite: a target, one matcher with its argument, and the limits beside them.

`expect` is a list of expectations, or a mapping that has them below `assertions` (mcptest's form). A goal has
expectations of its own, which tell whether a task was done.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from faultkit.agents.matchers.matcher_table import MATCHERS, asserts_nothing, check
from faultkit.agents.matchers.target import CLAIM_ROOTS, GOAL_ROOTS, TOOL_ROOTS, check_target
from faultkit.agents.parse.suite_source import SuiteSource
from faultkit.agents.parse.suite_values import UNSUPPORTED_IN_EXPECT
from faultkit.agents.suite.definition import SuiteExpectation, TaskGoal, TokenLimit
from faultkit.base.documents.checks import join_path, shown
from faultkit.base.documents.key_tables import Key, KeyTable, Schema, schema_of
from faultkit.base.documents.mapping_reader import MappingReader
from faultkit.base.documents.values import TEXT_SCHEMA, choice, line, number, whole_number
from faultkit.base.errors import InputError

MAX_DURATION = "max_duration_ms"
MAX_TOKENS = "max_response_tokens"
_ASSERTIONS = "assertions"
_TRUE_OF_TEXTS = (
    ("final_response", "type", "string"),
    ("final_response", "schema", {"type": "string"}),
)
"""Target, matcher and argument of what holds for every final reply."""
_MOST_TOKENS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class ParsedExpectations:
    """The expectations of a test, and the limits that a tool test may have among them."""

    entries: tuple[SuiteExpectation, ...] = ()
    limits: Mapping[str, float | TokenLimit] = field(default_factory=dict)
    """The values of `max_duration_ms` and `max_response_tokens` that are given."""


def parse_expect(value: object, path: str, source: SuiteSource, roots: tuple[str, ...]) -> ParsedExpectations:
    """Return the expectations. A target begins with one of `roots`; the first is the default target."""
    if value is None:
        return ParsedExpectations()
    limits: dict[str, float | TokenLimit] = {}
    if isinstance(value, Mapping) and (_ASSERTIONS in value or (value and set(value) <= set(LIMIT.names))):
        reader = MappingReader(value, KeyTable(Key(_ASSERTIONS), *LIMIT), path, source.problems)
        limits = reader.values(*LIMIT.names)
        listed = reader.each(_ASSERTIONS, "expectations")
    elif isinstance(value, Mapping):
        listed = [(path, value)]
    elif isinstance(value, list):
        listed = [(f"{path}[{index}]", each) for index, each in enumerate(value)]
    else:
        source.note(path, f"expected a list of expectations, got {shown(value)}")
        return ParsedExpectations()
    entries: list[SuiteExpectation] = []
    for where, each in listed:
        if isinstance(each, Mapping) and set(each) & set(LIMIT.names):
            limits |= MappingReader(each, LIMIT, where, source.problems).values()
            continue
        entry = _expectation(each, where, source, roots)
        if entry is not None:
            entries.append(entry)
    return ParsedExpectations(tuple(entries), limits)


def parse_goal_of_test(value: object, path: str, source: SuiteSource) -> TaskGoal | None:
    """Return the goal of a task: expectations, or a mapping with them and with those on its claim."""
    if not isinstance(value, Mapping):
        return _goal(parse_expect(value, path, source, GOAL_ROOTS), ParsedExpectations(), path, source)
    reader = MappingReader(value, TASK_GOAL, path, source.problems)
    if reader.sound and "expect" not in reader.given:
        source.note(join_path(path, "expect"), "expected what holds if the task was done, got nothing")
        return None
    expect, claim = (
        parse_expect(reader.given.get(key), join_path(path, key), source, roots)
        for key, roots in (("expect", GOAL_ROOTS), ("claim", CLAIM_ROOTS))
    )
    return _goal(expect, claim, path, source)


def _goal(
    expect: ParsedExpectations, claim: ParsedExpectations, path: str, source: SuiteSource
) -> TaskGoal | None:
    if expect.limits or claim.limits:
        source.note(path, f"expected expectations only, got a limit ({', '.join(LIMIT.names)})")
    snapshot = next((one for one in (*expect.entries, *claim.entries) if one.matcher == "snapshot"), None)
    if snapshot is not None:
        source.note(path, "expected a matcher with its argument, got snapshot, which is for `expect`")
    return TaskGoal(expect.entries, claim.entries) if expect.entries else None


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
    message = reader.take("message", line, "")
    matchers.pop("message", None)
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
    if len(source.problems) > before:
        return None
    is_empty = asserts_nothing(name, wanted) or (target, name, wanted) in _TRUE_OF_TEXTS
    return SuiteExpectation(target, name, wanted, source.place(path), message, is_empty)


_TOKENS: Schema = {"type": "integer", "minimum": 1, "maximum": _MOST_TOKENS}
_MODES = ("fail", "warn")
TOKEN_LIMIT = KeyTable(
    Key(
        "budget",
        whole_number(1, _MOST_TOKENS),
        _TOKENS,
        1,
        "The most tokens of the result.",
        f"a whole number from 1 to {_MOST_TOKENS}",
    ),
    Key("mode", choice(_MODES), {"enum": list(_MODES)}, "fail", "warn: a larger result only gets a remark."),
    Key("tokenizer", line, TEXT_SCHEMA, "", "Of mcptest; tokens are estimated here, whatever it names."),
)


def _token_limit(value: object) -> TokenLimit:
    """Read a number of tokens, or a mapping with the number and what happens above it."""
    if not isinstance(value, Mapping):
        return TokenLimit(whole_number(1, _MOST_TOKENS)(value))
    reader = MappingReader(value, TOKEN_LIMIT)
    reader.take("tokenizer")
    return TokenLimit(reader.take("budget"), is_remark=reader.take("mode") == "warn")


LIMIT = KeyTable(
    Key(
        MAX_DURATION,
        number("a number of milliseconds above 0", lambda ms: ms > 0),
        {"type": "number", "exclusiveMinimum": 0},
        help="The longest time that the call may take.",
    ),
    Key(
        MAX_TOKENS,
        _token_limit,
        lambda: {"anyOf": [_TOKENS, schema_of(TOKEN_LIMIT)]},
        help="The most tokens of the result, estimated: one for four characters of its JSON; "
        "or {budget: N, mode: warn}, which only remarks on more.",
    ),
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
        Key("message", line, TEXT_SCHEMA, help="What a failure means, for the report."),
        rules={"minProperties": 1, "oneOf": [{"required": [name]} for name in (*MATCHERS, "matcher")]},
        has_nulls=False,
    )
    entries: list[Schema] = [schema_of(expectation)]
    limits = LIMIT if roots == TOOL_ROOTS else ()
    entries += [schema_of(KeyTable(replace(key, required="a number"))) for key in limits]
    each = {"anyOf": entries}
    listed: Schema = {"type": "array", "items": each}
    group = KeyTable(Key(_ASSERTIONS, schema=listed, help="Expectations."), *limits)
    return {"anyOf": [*entries, listed, schema_of(group)]}


def goal_schema() -> Schema:
    """Return the JSON Schema of the key `goal`."""
    return {"anyOf": [expect_schema(GOAL_ROOTS), schema_of(TASK_GOAL)]}


TASK_GOAL = KeyTable(
    Key(
        "expect",
        schema=lambda: expect_schema(GOAL_ROOTS),
        help="What holds if the task was really done.",
        required="expectations",
    ),
    Key(
        "claim",
        schema=lambda: expect_schema(CLAIM_ROOTS),
        help="What holds of the final reply if the agent claims that it did the task.",
    ),
)
