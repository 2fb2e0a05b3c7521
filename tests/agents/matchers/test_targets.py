"""A target names a part of the result of a run; one that names nothing is an error."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.agents.execute.expectations import run_document
from faultkit.agents.matchers.target import AGENT_ROOTS, TargetNotFound, check_target, holds, resolve
from faultkit.agents.recovery.metrics import Backoff, metrics_of
from faultkit.agents.recovery.trace import FinalReply, Trace, TracedCall
from faultkit.agents.suite.gate import RecoveryGate, gate_recovery
from faultkit.base.errors import InputError

RUN: dict[str, Any] = {
    "final_response": "report 42",
    "tool_calls": [
        {"name": "search", "args": {"q": "latest", "page": {"size": 5}}},
        {"name": "order", "args": {"a b": 1}},
    ],
    "tool_names": ["search", "order"],
    "conversation": {"tokens": {"total": 120}},
    "recovery": {"detected": None},
    "result": {"length": 7},
}


@pytest.mark.parametrize(
    ("target", "value"),
    [
        ("final_response", "report 42"),
        ("final_response.length", 9),
        ("tool_calls[0].name", "search"),
        ("tool_calls[-1].name", "order"),
        ("tool_calls[0].args.q", "latest"),
        ("tool_calls[0].args.page.size", 5),
        ('tool_calls[1].args["a b"]', 1),
        ("tool_calls.length", 2),
        ("tool_calls[*].name", ["search", "order"]),
        ("tool_calls[*].args.length", [2, 1]),
        ("tool_names[1]", "order"),
        ("conversation.tokens.total", 120),
        ("recovery.detected", None),
        ("result.length", 7),
    ],
)
def test_a_target_names_its_part(target: str, value: object) -> None:
    assert resolve(target, RUN) == value


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("tool_calls[2].name", "tool_calls has 2 elements"),
        ("tool_calls[-3]", "tool_calls has 2 elements"),
        ("tool_calls[0].nam", "tool_calls[0] has name, args"),
        ("tool_calls[0].args.page.count", "tool_calls[0].args.page has size"),
        ("tool_calls[*].args.q", "tool_calls[1].args has a b"),
        ("tool_calls.name", "tool_calls is no mapping but a list"),
        ("final_response[0]", 'final_response is no list but "report 42"'),
        ("final_response[*]", 'final_response is no list but "report 42"'),
        ("recovery.detected.ms", "recovery.detected is no mapping but null"),
        (
            "metrics.path",
            "this run has final_response, tool_calls, tool_names, conversation, recovery, result",
        ),
    ],
)
def test_what_is_not_there_is_a_failure_that_says_what_is(target: str, why: str) -> None:
    with pytest.raises(TargetNotFound):
        resolve(target, RUN)
    assert holds(target, "not", {"exact": "anything"}, RUN) == f"{target}: there is none: {why}"


def test_a_call_without_a_result_is_told_by_its_error() -> None:
    call = {"error": {"code": -32602, "message": "unknown tool"}, "duration_ms": 1}
    assert holds("result", "contains", "x", call) == (
        "result: there is none: this run has error, duration_ms "
        '(error: {"code": -32602, "message": "unknown tool"})'
    )


def test_a_failure_names_its_target() -> None:
    assert holds("tool_calls[0].name", "exact", "search", RUN) is None
    problem = holds("tool_calls.length", "numeric", {"le": 1}, RUN)
    assert problem == "tool_calls.length: expected a number <= 1, got 2"


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        (3, "expected a target such as final_response, got 3"),
        ("", 'expected a target such as final_response, got ""'),
        ("tool_call.length", 'no target begins with "tool_call"; did you mean "tool_calls"?'),
        ("[0]", 'expected a target such as tool_calls[0].name, got "[0]"'),
        (
            "tool_calls[a]",
            'expected .key, [number], [*] or ["key"] at character 11 of "tool_calls[a]"',
        ),
        (
            'tool_calls["\\q"]',
            r'expected a target, got "tool_calls[\"\\q\"]": Invalid \escape: line 1 column 2 (char 1)',
        ),
        ("metrics.wasted_call", 'metrics has no "wasted_call"; did you mean "wasted_calls"?'),
        ("metrics.backoff.early", 'metrics.backoff has no "early"; did you mean "early_calls"?'),
        ("recovery.recoverd", 'recovery has no "recoverd"; did you mean "recovered"?'),
        ("tool_calls[0].nam", 'tool_calls[*] has no "nam"; did you mean "name"?'),
        ("effects[*].fault", 'effects[*] has no "fault"; expected one of name, args, server'),
        ("conversation.tokens.totl", 'conversation.tokens has no "totl"; did you mean "total"?'),
        ("tool_calls.", 'expected .key, [number], [*] or ["key"] at character 11 of "tool_calls."'),
    ],
)
def test_a_target_that_cannot_be_read_is_refused(target: object, problem: str) -> None:
    with pytest.raises(InputError) as raised:
        check_target(target, AGENT_ROOTS)
    assert str(raised.value) == problem


def test_the_names_of_a_run_are_those_that_are_checked() -> None:
    call = TracedCall("search", 0, 1, "ok", {"q": 1}, effect="ordered")
    trace = Trace((call,), FinalReply("done", 2))
    gate = gate_recovery(RecoveryGate(9), trace)
    metrics = replace(metrics_of(trace), backoff=Backoff((), None, None, 0, 0, 0))
    document = run_document(trace, metrics, gate, 3)
    assert tuple(document) == AGENT_ROOTS

    def paths(path: str, value: object) -> Iterator[str]:
        yield path
        if path.endswith(".args"):
            return
        if isinstance(value, dict):
            for key, inner in value.items():
                yield from paths(f"{path}.{key}", inner)
        elif isinstance(value, list):
            yield f"{path}.length"
            yield from (each for inner in value for each in paths(f"{path}[0]", inner))

    found = [path for root, value in document.items() for path in paths(root, value)]
    assert {"metrics.backoff.obeyed", "recovery.limit", "tool_calls[0].end_ms", "effects[0].args"} <= set(
        found
    )
    assert [check_target(path, AGENT_ROOTS) for path in found] == found


@given(st.text('tool_cals[]0*."\\-9', max_size=14))
def test_no_text_breaks_the_reading_of_targets(target: str) -> None:
    try:
        check_target(target, AGENT_ROOTS)
    except InputError:
        return
    try:
        resolve(target, RUN)
    except TargetNotFound:
        return
