"""Questions to a scripted provider, by both client libraries: requests, answers and errors."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from typing import Any

import pytest

from faultkit.base.errors import RunError, TargetError
from faultkit.code.advice import answers as schemas
from faultkit.code.advice import prompts
from faultkit.llm.model_settings import AskBudget
from faultkit.llm.prompt import ModelPrompt, PromptSection
from tests.llm.conftest import FAKE_KEY, FakeClock, OpenModel
from tests.llm.scripted_provider import PATIENCE_S, Hang, ScriptedServer, Send, error, said, tool_input

PROMPT = prompts.score("def f():\n    get(url)", "python", "reliability")
GOOD: dict[str, Any] = {"score": 0.25, "explanation": "no timeout on line 2"}
TEXT = json.dumps(GOOD)

both = pytest.mark.parametrize("dialect", ["openai", "anthropic"])


def test_an_answer_says_who_made_it_and_what_it_cost(server: ScriptedServer, open_model: OpenModel) -> None:
    server.play(said("openai", TEXT))
    answer = open_model("openai").ask(PROMPT, schemas.SCORE)
    assert answer.data == GOOD
    assert (answer.engine, answer.model) == ("openai", "said-by-server")
    assert (answer.usage.prompt_tokens, answer.usage.answer_tokens, answer.usage.calls) == (11, 7, 1)


def test_openai_is_asked_for_a_schema_and_told_the_code(
    server: ScriptedServer, open_model: OpenModel
) -> None:
    server.play(said("openai", TEXT))
    open_model("openai").ask(PROMPT, schemas.SCORE)
    (request,) = server.requests
    assert request.path == "/chat/completions"
    assert request.headers["authorization"] == f"Bearer {FAKE_KEY}"
    assert request.body["model"] == "o4-mini"
    assert request.body["response_format"]["json_schema"]["schema"] == schemas.SCORE
    assert request.body["max_completion_tokens"] == 16384
    assert "temperature" not in request.body
    assert [message["role"] for message in request.body["messages"]] == ["system", "user"]
    assert "def f():\n    get(url)" in request.body["messages"][1]["content"]


def test_anthropic_is_asked_by_a_tool_whose_input_is_the_answer(
    server: ScriptedServer, open_model: OpenModel
) -> None:
    server.play(tool_input(GOOD))
    answer = open_model("anthropic").ask(PROMPT, schemas.SCORE)
    (request,) = server.requests
    assert answer.data == GOOD
    assert answer.engine == "anthropic"
    assert request.path == "/v1/messages"
    assert FAKE_KEY in request.headers.get("x-api-key", request.headers.get("authorization", ""))
    assert request.body["tools"][0]["input_schema"] == schemas.SCORE
    assert request.body["tool_choice"] == {"type": "tool", "name": "answer"}


@pytest.mark.parametrize("client", ["gemini", "openrouter", "ollama"])
def test_what_is_meant_for_openai_alone_goes_to_openai_alone(
    client: str, server: ScriptedServer, open_model: OpenModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-private")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "project-private")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "x-gateway: private")
    monkeypatch.setenv("OPENAI_API_KEY", "private")
    server.play(said("openai", TEXT))
    open_model(client).ask(PROMPT, schemas.SCORE)
    (request,) = server.requests
    assert "private" not in str(request.headers)
    assert request.headers["authorization"] == f"Bearer {FAKE_KEY}"


def test_a_local_server_is_asked_directly_whatever_proxy_is_set(
    server: ScriptedServer, open_model: OpenModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    server.play(said("openai", TEXT))
    assert open_model("ollama").ask(PROMPT, schemas.SCORE).data == GOOD
    assert server.requests[0].path == "/v1/chat/completions"


@both
@pytest.mark.parametrize(
    "text",
    [
        f"```json\n{TEXT}\n```",
        f"Here is my verdict:\n\n```\n{TEXT}\n```\nI hope that helps!",
        f"Sure! {TEXT} Anything else?",
        f"<think>Maybe {{}} or {{'score': 1}}?</think>{TEXT}",
        json.dumps(GOOD, indent=2),
    ],
    ids=["fenced", "fenced-with-words", "words-around", "thinks-aloud", "indented"],
)
def test_fences_and_words_around_an_answer_are_tolerated(
    dialect: str, text: str, server: ScriptedServer, open_model: OpenModel
) -> None:
    server.play(said(dialect, text))
    assert open_model(dialect).ask(PROMPT, schemas.SCORE).data == GOOD
    assert len(server.requests) == 1


@both
def test_a_wrong_answer_is_repaired_when_told_what_is_wrong(
    dialect: str, server: ScriptedServer, open_model: OpenModel
) -> None:
    server.play(said(dialect, '{"score": 7, "explanation": "fine"}'), said(dialect, TEXT))
    answer = open_model(dialect).ask(PROMPT, schemas.SCORE)
    assert answer.data == GOOD
    assert answer.usage.calls == 2
    turns = server.requests[1].body["messages"][-3:]
    assert [turn["role"] for turn in turns] == ["user", "assistant", "user"]
    assert turns[1]["content"] == '{"score": 7, "explanation": "fine"}'
    assert "$.score: 7 is greater than the maximum of 1" in turns[2]["content"]


def test_what_a_check_finds_is_repaired_too(server: ScriptedServer, open_model: OpenModel) -> None:
    server.play(said("openai", '{"score": 1, "explanation": "?"}'), said("openai", TEXT))
    answer = open_model("openai").ask(
        PROMPT, schemas.SCORE, check=lambda data: [] if data["score"] < 0.5 else ["the score is too good"]
    )
    assert answer.data == GOOD
    assert "the score is too good" in server.requests[1].body["messages"][-1]["content"]


@both
def test_garbage_twice_is_an_error(dialect: str, server: ScriptedServer, open_model: OpenModel) -> None:
    server.play(said(dialect, "As a language model, I"))
    with pytest.raises(
        RunError, match=r"no usable answer.*holds no JSON object.*--llm-prompt-reasoning-model"
    ):
        open_model(dialect).ask(PROMPT, schemas.SCORE)
    assert len(server.requests) == 2


def test_two_answers_that_differ_are_none(server: ScriptedServer, open_model: OpenModel) -> None:
    server.play(said("openai", '{"score": 0, "explanation": "a"} {"score": 1, "explanation": "a"}'))
    with pytest.raises(RunError, match="several JSON objects that differ"):
        open_model("openai").ask(PROMPT, schemas.SCORE)


def test_an_empty_answer_is_not_sent_back(server: ScriptedServer, open_model: OpenModel) -> None:
    server.play(said("openai", ""), said("openai", TEXT))
    assert open_model("openai").ask(PROMPT, schemas.SCORE).data == GOOD
    assert [turn["role"] for turn in server.requests[1].body["messages"]] == ["system", "user", "user"]


@both
def test_a_truncated_answer_is_an_error_even_if_it_can_be_read(
    dialect: str, server: ScriptedServer, open_model: OpenModel
) -> None:
    server.play(said(dialect, TEXT, cut=True))
    with pytest.raises(RunError, match=r"stopped in the middle.*--llm-token-budget"):
        open_model(dialect).ask(PROMPT, schemas.SCORE)
    assert len(server.requests) == 1


def test_a_refusal_is_an_error_with_the_reason(server: ScriptedServer, open_model: OpenModel) -> None:
    message = {"role": "assistant", "content": None, "refusal": "I will not."}
    server.play(Send({"choices": [{"message": message, "finish_reason": "stop"}]}))
    with pytest.raises(RunError, match=r"refused to answer \(I will not\.\)"):
        open_model("openai").ask(PROMPT, schemas.SCORE)


def test_a_refusal_of_anthropic_is_one_too(server: ScriptedServer, open_model: OpenModel) -> None:
    server.play(Send({"content": [], "stop_reason": "refusal"}))
    with pytest.raises(RunError, match="refused to answer:"):
        open_model("anthropic").ask(PROMPT, schemas.SCORE)


def test_a_list_is_asked_for_inside_an_object_and_comes_out_bare(
    server: ScriptedServer, open_model: OpenModel
) -> None:
    schema = {"type": "array", "items": {"type": "integer"}}
    server.play(said("openai", '{"answer": [1, 2]}'), said("openai", "[3]"))
    model = open_model("openai")
    assert model.ask(PROMPT, schema).data == [1, 2]
    assert model.ask(PROMPT, schema).data == [3]
    sent = server.requests[0].body["response_format"]["json_schema"]["schema"]
    assert sent["properties"] == {"answer": schema}


def test_a_model_without_schemas_is_asked_with_less_and_never_with_more_again(
    server: ScriptedServer, open_model: OpenModel
) -> None:
    no = error("openai", 400, "This response_format type is unavailable now")
    server.play(no, no, said("openai", TEXT))
    model = open_model("openrouter")
    assert model.ask(PROMPT, schemas.SCORE).data == GOOD
    assert model.ask(PROMPT, schemas.SCORE).data == GOOD
    asked = [request.body.get("response_format", {}).get("type") for request in server.requests]
    assert asked == ["json_schema", "json_object", None, None]


def test_what_is_rejected_in_every_format_is_an_error(server: ScriptedServer, open_model: OpenModel) -> None:
    server.play(error("openai", 400, "context length exceeded"))
    model = open_model("openai")
    with pytest.raises(RunError, match=r"rejected the request \(HTTP 400: context length exceeded\)"):
        model.ask(PROMPT, schemas.SCORE)
    assert len(server.requests) == 3


SECRET = "sk-live-abcdefghijklmnop1234"


def test_secrets_leave_no_trace_on_the_wire_and_return_in_code_only(
    server: ScriptedServer, open_model: OpenModel
) -> None:
    prompt = prompts.suggest_change(f'KEY = "{SECRET}"', "python", "reliability", score=0.2, target_score=0.9)
    answer = {"explanation": "REDACTED_1_KEY is in the code", "score": 0.9, "dependencies": []}
    server.play(said("openai", json.dumps({**answer, "new": 'KEY = "REDACTED_1_KEY"  # !'})))
    data = open_model("openai").ask(prompt, schemas.CHANGE).data
    assert SECRET not in json.dumps(server.requests[0].body)
    assert data["new"] == f'KEY = "{SECRET}"  # !'
    assert data["explanation"] == "REDACTED_1_KEY is in the code"


def test_a_check_sees_the_secrets_and_the_provider_does_not(
    server: ScriptedServer, open_model: OpenModel
) -> None:
    prompt = prompts.suggest_change(f'KEY = "{SECRET}"', "python", "reliability", score=0, target_score=1)
    answer = {"explanation": "x", "score": 0.9, "dependencies": [], "new": 'KEY = "REDACTED_1_KEY"'}
    server.play(said("openai", json.dumps(answer)))
    with pytest.raises(RunError, match="no usable answer"):
        open_model("openai").ask(prompt, schemas.CHANGE, check=lambda data: [f"wrong: {data['new']}"])
    assert 'wrong: KEY = "REDACTED_1_KEY"' in server.requests[1].body["messages"][-1]["content"]
    assert SECRET not in json.dumps(server.requests[1].body)


def test_a_name_that_stands_for_nothing_is_not_passed_on(
    server: ScriptedServer, open_model: OpenModel
) -> None:
    prompt = prompts.suggest_change("x = 1", "python", "reliability", score=0, target_score=1)
    answer = {"explanation": "x", "score": 0.9, "dependencies": [], "new": 'KEY = "REDACTED_4_KEY"'}
    server.play(said("openai", json.dumps(answer)))
    with pytest.raises(RunError, match="REDACTED_4_KEY: no such name"):
        open_model("openai").ask(prompt, schemas.CHANGE)


def test_waiting_ends_with_the_time_budget(
    server: ScriptedServer, open_model: OpenModel, clock: FakeClock
) -> None:
    server.play(error("openai", 429, "slow down", {"retry-after": "7"}))
    with pytest.raises(TargetError, match="after 2 tries"):
        open_model("openai", AskBudget(time_s=10)).ask(PROMPT, schemas.SCORE)
    assert clock.pauses == [7.0]


def test_a_spent_time_budget_is_an_error(
    server: ScriptedServer, open_model: OpenModel, clock: FakeClock
) -> None:
    model = open_model("openai", AskBudget(time_s=10))
    spending = model.spending()
    clock.advance(10)
    with pytest.raises(RunError, match=r"time budget .*10 s.* is spent"):
        model.ask(PROMPT, schemas.SCORE, budget=spending)
    assert server.requests == []


def test_questions_that_share_a_budget_end_with_it(server: ScriptedServer, open_model: OpenModel) -> None:
    answer = said("openai", TEXT)
    answer.body["usage"] = {"prompt_tokens": 3000, "completion_tokens": 500}
    server.play(answer)
    model = open_model("openai", AskBudget(tokens=6000))
    spending = model.spending()
    model.ask(PROMPT, schemas.SCORE, budget=spending)
    assert (spending.used.tokens, spending.left_tokens) == (3500, 2500)
    model.ask(PROMPT, schemas.SCORE, budget=spending)
    with pytest.raises(RunError, match="tokens, and 0 of 6000 are left"):
        model.ask(PROMPT, schemas.SCORE, budget=spending)
    assert [request.body["max_completion_tokens"] < 5500 for request in server.requests] == [True, True]


def test_a_prompt_that_is_too_long_loses_what_is_optional_first(
    server: ScriptedServer, open_model: OpenModel
) -> None:
    sections = (
        PromptSection("must", "stay"),
        PromptSection("first", "a" * 3000, optional=True),
        PromptSection("second", "b" * 3000, optional=True),
    )
    server.play(said("openai", TEXT))
    open_model("openai", AskBudget(tokens=1600)).ask(ModelPrompt("Judge.", sections), schemas.SCORE)
    sent = server.requests[0].body["messages"][1]["content"]
    assert "stay" in sent
    assert "a" * 3000 in sent
    assert "bbb" not in sent


def test_a_prompt_that_stays_too_long_is_not_sent(server: ScriptedServer, open_model: OpenModel) -> None:
    model = open_model("openai", AskBudget(tokens=1000))
    with pytest.raises(RunError, match="ask about less code"):
        model.ask(ModelPrompt("Judge.", (PromptSection("code", "x" * 9000),)), schemas.SCORE)
    assert server.requests == []


def test_a_running_call_ends_when_it_is_cancelled(server: ScriptedServer, open_model: OpenModel) -> None:
    server.play(Hang())
    model, cancel = open_model("openai"), threading.Event()
    errors: list[Exception] = []

    def ask() -> None:
        try:
            model.ask(PROMPT, schemas.SCORE, cancel=cancel)
        except RunError as caught:
            errors.append(caught)

    thread = threading.Thread(target=ask)
    thread.start()
    assert server.arrived.wait(PATIENCE_S)
    cancel.set()
    thread.join(PATIENCE_S)
    assert [str(caught) for caught in errors] == ["the question to the language model was cancelled"]


def test_what_is_cancelled_is_not_asked(server: ScriptedServer, open_model: OpenModel) -> None:
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(RunError, match="cancelled"):
        open_model("openai").ask(PROMPT, schemas.SCORE, cancel=cancel)
    assert server.requests == []


def test_heavy_packages_are_imported_at_the_first_call_only() -> None:
    # Client libraries take seconds to import.
    code = (
        "import sys, faultkit.llm.language_model, faultkit.code.advice.prompts\n"
        "print(sorted({'openai', 'anthropic', 'jsonschema', 'asyncio'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
