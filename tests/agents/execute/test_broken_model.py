"""Suites that break the model of an agent: in virtual time, in scaled time, and of a program."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from faultkit.agents.execute.agent_model import InnerModel
from faultkit.agents.execute.program_model import ModelObserver
from faultkit.agents.kinds.script_model import ModelSpec
from faultkit.agents.suite.results import ResultRow
from faultkit.base.http.http_exchange import HttpRequest
from faultkit.faults.dialects.llm_events import Chunk, End, Head, LlmEvent
from faultkit.llm.conversation import Completion, Conversation, ToolCall, Usage
from faultkit.llm.mock.mock_answers import MockAnswers, ScriptedTurn
from faultkit.llm.request_bodies import streamed_request
from faultkit.plan import Plan, parse_rule
from tests.agents.execute.suite_runs import row, run, verdicts, write

SUITE = """
servers:
  shop: { mock: tools.yml }
faults:
  - { name: model, target: { model: "*" }, FAULT }
  - { name: hung, target: { tool: search }, kind: hang }
agents:
  - name: searched
    AGENT
    inject: [INJECT]
    recovery: { max_detection_ms: 3000 }
    expect: [{ target: final_response, contains: "" }]
"""
LOOP = """model: gpt-4o
    prompt: Look.
    mock_model:
      turns:
        - calls: [{ name: search, arguments: { query: tea } }]
        - text: It is found."""
FIRST = "trigger: { first: 1 }"


def suite(
    folder: Path, fault: str, agent: str = "agent: { kind: retrying, goal: search }", inject: str = "model"
) -> Path:
    text = SUITE.replace("FAULT", fault).replace("AGENT", agent).replace("INJECT", inject)
    return write(folder, text)


def searched(folder: Path, fault: str, agent: str = "retrying") -> ResultRow:
    kind = agent if "\n" in agent else f"agent: {{ kind: {agent}, goal: search }}"
    return row(run(suite(folder, fault, kind)), "searched (recovery)")


def outcomes(found: ResultRow) -> list[tuple[str, str, float, float | None]]:
    """Return the name, outcome, start and end of each request and call."""
    (one,) = found.runs
    return [
        ("model" if call.is_model else call.tool, call.outcome, call.start_ms, call.end_ms)
        for call in one.trace.calls
    ]


STALL = f"kind: token_stall, after_tokens: 0, stall_ms: 9000, {FIRST}"
GIVEN_UP = [("model", "timeout", 3000.0 * n, 3000.0 * n + 3000) for n in range(3)]
SOUND = [("model", "ok", 3000, 3000), ("search", "ok", 3000, 3000), ("model", "ok", 3000, 3000)]


@pytest.mark.parametrize(
    ("agent", "fault", "verdict", "expected"),
    [
        ("retrying", STALL, "passed", [("model", "timeout", 0, 3000), *SOUND]),
        ("naive", STALL, "passed", [("model", "timeout", 0, 3000), ("model", "ok", 3000, 3000)]),
        (
            "backing_off",
            f"kind: llm_rate_limit, retry_after_s: 3, {FIRST}",
            "passed",
            [("model", "protocol_error", 0, 0), *SOUND],
        ),
        (
            "retrying",
            "kind: slow_first_token, delay_ms: 1500",
            "passed",
            [("model", "ok", 0, 1500), ("search", "ok", 1500, 1500), ("model", "ok", 1500, 3000)],
        ),
        ("retrying", "kind: llm_keep_alive_only", "passed", GIVEN_UP),
        ("looping", "kind: overloaded", "failed", [("model", "protocol_error", 0, 0)] * 10),
        (LOOP, STALL, "passed", [("model", "timeout", 0, 3000), *SOUND]),
        (LOOP, "kind: auth", "failed", [("model", "protocol_error", 0, 0)]),
    ],
    ids=["stall", "naive", "Retry-After", "late", "dead", "looping", "loop", "loop without key"],
)  # fmt: skip
def test_a_broken_model_costs_exactly_its_virtual_time(
    tmp_path: Path,
    agent: str,
    fault: str,
    verdict: str,
    expected: list[tuple[str, str, float, float | None]],
) -> None:
    found = searched(tmp_path, fault, agent)
    assert (found.verdict, outcomes(found)) == (verdict, expected)


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        ("clean_end, after_tokens: 0", "lost"),
        ("answer_cut, after_tokens: 0", "lost"),
        ("error_event, after_tokens: 0", "protocol_error"),
        ("malformed_event", "protocol_error"),
        ("quota_exhausted", "protocol_error"),
    ],
)
def test_a_careful_agent_notices_a_broken_answer_and_asks_again(
    tmp_path: Path, fault: str, outcome: str
) -> None:
    found = searched(tmp_path, f"kind: {fault}, {FIRST}")
    assert found.verdict == "passed"
    assert [each[:2] for each in outcomes(found)] == [
        ("model", outcome),
        ("model", "ok"),
        ("search", "ok"),
        ("model", "ok"),
    ]


@pytest.mark.parametrize("fault", ["unknown_tool", "truncated_arguments", "tool_call_as_text"])
def test_a_call_that_the_model_broke_is_not_taken_for_done(tmp_path: Path, fault: str) -> None:
    found = searched(tmp_path, f"kind: {fault}, {FIRST}")
    (one,) = found.runs
    assert found.verdict == "passed"
    assert one.trace.tool_calls[-1].outcome == "ok"
    assert one.trace.succeeded is True
    assert one.trace.model_requests[0].misleading


def test_a_fault_of_the_model_that_never_acted_is_not_exercised(tmp_path: Path) -> None:
    results = run(suite(tmp_path, "kind: clean_end, trigger: { after: 50 }"))
    assert set(verdicts(results).values()) == {"not_exercised"}
    assert "no request to the model met it" in row(results, "searched").message


@pytest.mark.parametrize("kind", ["replace_prompt", "add_instruction"])
def test_a_fault_of_the_prompt_needs_a_mock_of_the_model(kind: str, tmp_path: Path) -> None:
    fault = f"kind: {kind}" + (", pattern: Look" if kind == "replace_prompt" else "")
    refused = row(
        run(suite(tmp_path, fault, "model: gpt-4o\n    prompt: Look."), allow_stub=True), "searched"
    )
    assert (refused.verdict, refused.message) == (
        "error",
        f"searched: inject model: {kind} changes the request to the model, which only `mock_model` takes",
    )
    assert verdicts(run(suite(tmp_path, fault, LOOP)))["searched"] == "passed"


def test_a_run_without_a_fault_of_its_model_has_no_requests_to_it(tmp_path: Path) -> None:
    results = run(suite(tmp_path, "kind: clean_end", inject="hung"))
    (one,) = row(results, "searched (recovery)").runs
    assert one.trace.model_requests == ()


def test_a_stalled_model_and_a_hung_tool_are_judged_alike_in_virtual_and_scaled_time(tmp_path: Path) -> None:
    agent = "agent: { kind: falling_back, goal: { tool: search, fallback: { tool: grep } } }"
    file = suite(tmp_path, STALL, agent, "model, hung")
    virtual, scaled = run(file), run(file, clock="scaled", scale=6.0)
    expected = [
        ("model", "timeout", "model"),
        ("model", "ok", ""),
        ("search", "timeout", "hung"),
        ("search", "timeout", "hung"),
        ("grep", "ok", ""),
        ("model", "ok", ""),
    ]
    for results in (virtual, scaled):
        found = row(results, "searched (recovery)")
        assert found.verdict == "passed", found.message
        (one,) = found.runs
        calls = one.trace.calls
        got = [("model" if call.is_model else call.tool, call.outcome, call.fault) for call in calls]
        assert got == expected
    assert row(virtual, "searched (recovery)").message.startswith("recovered in 9400 ms (virtual)")


PROGRAM = """
import json, os, urllib.error, urllib.request
def ask():
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hello"}]}
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    return json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"]
try:
    print(ask())
except urllib.error.HTTPError:
    print(ask())
"""


def test_the_model_of_a_program_is_a_mock_that_it_finds_by_its_environment(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(PROGRAM)
    command = f'agent: {{ command: ["{sys.executable}", "{tmp_path / "agent.py"}"] }}'
    agent = f"{command}\n    mock_model: {{ turns: [{{ text: Good evening. }}] }}"
    results = run(suite(tmp_path, f"kind: overloaded, {FIRST}", agent))
    found = row(results, "searched (recovery)")
    assert found.verdict == "passed", found.message
    (one,) = found.runs
    assert [(call.outcome, call.fault) for call in one.trace.calls] == [
        ("protocol_error", "model"),
        ("ok", ""),
    ]
    assert one.trace.reply is not None
    assert one.trace.reply.text == "Good evening."


CUT = Head(0.0, 200, (("content-type", "text/event-stream"),), True)
HALF = Chunk(0.0, b'data: {"choices":[{"delta":{"content":"Good"}}]}\n\n')


@pytest.mark.parametrize(
    ("events", "outcome", "misleading"),
    [
        ([CUT, HALF, End(0.0)], "ok", True),
        ([CUT, HALF, End(0.0, "cut")], "lost", False),
        ([CUT, HALF], "cancelled", False),
    ],
    ids=["in good order", "cut", "given up"],
)
def test_what_a_program_made_of_half_an_answer_is_not_claimed_to_be_known(
    events: list[LlmEvent], outcome: str, misleading: bool
) -> None:
    observer = ModelObserver(MockAnswers("script", (ScriptedTurn("Good evening."),)), lambda: 5.0)
    asked = streamed_request(Conversation("gpt-4o", "hello"), "openai")
    watched = observer.watch(HttpRequest("POST", asked.path, {}, [], b"", "127.0.0.1"), asked)
    for event in events:
        watched.sent(event)
    watched.left()
    ((call,), others) = observer.calls()
    assert (call.outcome, call.misleading, call.start_ms, call.end_ms) == (outcome, misleading, 5.0, 5.0)
    assert others == []


class _Recorded:
    """A cassette with one turn."""

    async def complete(self, conversation: Conversation) -> Completion:
        return Completion("", (ToolCall("1", "search", {"q": "tea"}),), Usage(5, 7, 1), raw={"kept": True})

    async def close(self, *, is_whole: bool) -> None:
        pass


def test_the_turns_of_a_cassette_pass_through_the_faults_and_keep_what_their_provider_needs() -> None:
    rule = parse_rule({"name": "cut", "fault": "clean_end", "trigger": {"first": 1}})
    model = InnerModel(ModelSpec(chat=_Recorded(), client="anthropic"), Plan((rule,)))

    async def both() -> tuple[Completion | None, Completion | None, str]:
        broken = await model.ask(Conversation("claude-sonnet-4-5", "Tea?"), 0.0, 3000.0)
        sound = await model.ask(Conversation("claude-sonnet-4-5", "Tea?"), 0.0, 3000.0)
        return broken.outcome.completion, sound.outcome.completion, broken.outcome.text

    broken, sound, why = asyncio.run(both())
    assert broken is None
    assert why == "the model claude-sonnet-4-5 failed: the answer ended in its middle"
    assert sound is not None
    assert (sound.raw, sound.usage) == ({"kept": True}, Usage(5, 7, 1))
