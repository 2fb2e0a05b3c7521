"""Failures of a provider of every kind: which calls are repeated, and the messages for users."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from faultkit.base.errors import RunError, TargetError
from faultkit.code.advice import answers as schemas
from faultkit.code.advice import prompts
from faultkit.llm import chat
from faultkit.llm.chat import ChatClient, open_client
from faultkit.llm.language_model import LanguageModel, SystemClock
from faultkit.llm.model_settings import AskBudget, Spending
from faultkit.llm.providers import ModelEndpoint
from tests.llm.conftest import FAKE_KEY, FakeClock, OpenModel, settings_for
from tests.llm.scripted_provider import Break, Drip, Hang, ScriptedServer, Send, error, said

PROMPT = prompts.score("def f():\n    get(url)", "python", "reliability")
GOOD: dict[str, Any] = {"score": 0.25, "explanation": "no timeout on line 2"}
TEXT = json.dumps(GOOD)

both = pytest.mark.parametrize("dialect", ["openai", "anthropic"])


@both
@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_names_its_variable_and_not_itself(
    dialect: str, status: int, server: ScriptedServer, open_model: OpenModel
) -> None:
    server.play(error(dialect, status, f"Incorrect API key provided: {FAKE_KEY}"))
    with pytest.raises(TargetError) as caught:
        open_model(dialect).ask(PROMPT, schemas.SCORE)
    assert f"check {dialect.upper()}_API_KEY" in str(caught.value)
    assert FAKE_KEY not in str(caught.value)
    assert len(server.requests) == 1


@both
def test_an_unknown_model_is_named(dialect: str, server: ScriptedServer, open_model: OpenModel) -> None:
    server.play(error(dialect, 404, "no such model"))
    model = open_model(dialect, FAULT_AGENT_PROMPT_REASONING_MODEL="wonder-9")
    with pytest.raises(TargetError, match=r"'wonder-9'.*no such model.*--llm-prompt-reasoning-model"):
        model.ask(PROMPT, schemas.SCORE)


def test_a_model_that_ollama_lacks_can_be_pulled(server: ScriptedServer, open_model: OpenModel) -> None:
    server.play(error("openai", 404, "model not found"))
    with pytest.raises(TargetError, match="`ollama pull gemma3:4b`"):
        open_model("ollama").ask(PROMPT, schemas.SCORE)


@both
def test_too_many_requests_are_repeated_after_the_time_asked_for(
    dialect: str, server: ScriptedServer, open_model: OpenModel, clock: FakeClock
) -> None:
    server.play(error(dialect, 429, "slow down", {"retry-after": "7"}), said(dialect, TEXT))
    assert open_model(dialect).ask(PROMPT, schemas.SCORE).data == GOOD
    assert clock.pauses == [7.0]


def test_too_many_requests_for_too_long_are_an_error(
    server: ScriptedServer, open_model: OpenModel, clock: FakeClock
) -> None:
    server.play(error("openai", 429, "slow down", {"retry-after": "7"}))
    with pytest.raises(TargetError, match=r"HTTP 429: slow down\) after 4 tries: try again in 7 s"):
        open_model("openai").ask(PROMPT, schemas.SCORE)
    assert clock.pauses == [7.0, 7.0, 7.0]


def test_nobody_waits_for_an_hour(server: ScriptedServer, open_model: OpenModel, clock: FakeClock) -> None:
    server.play(error("openai", 429, "slow down", {"retry-after": "3600"}))
    with pytest.raises(TargetError, match="try again in 3600 s"):
        open_model("openai").ask(PROMPT, schemas.SCORE)
    assert clock.pauses == []


def test_an_empty_account_is_not_asked_again(server: ScriptedServer, open_model: OpenModel) -> None:
    body = {"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}
    server.play(Send(body, 429))
    with pytest.raises(TargetError, match="no credit left"):
        open_model("openai").ask(PROMPT, schemas.SCORE)
    assert len(server.requests) == 1


@both
@pytest.mark.parametrize(
    "step", [Send("oops", 500), Send({}, 503), Send({}, 529), Break(), Break(b"HTTP/1.1 200")]
)
def test_what_passes_is_tried_again_with_backoff(
    dialect: str, step: Any, server: ScriptedServer, open_model: OpenModel, clock: FakeClock
) -> None:
    server.play(step, step, said(dialect, TEXT))
    assert open_model(dialect).ask(PROMPT, schemas.SCORE).data == GOOD
    assert len(clock.pauses) == 2
    assert 0.25 <= clock.pauses[0] <= 0.5 <= clock.pauses[1] <= 1.0


@both
def test_a_provider_that_keeps_failing_is_an_error(
    dialect: str, server: ScriptedServer, open_model: OpenModel
) -> None:
    server.play(error(dialect, 500, "we are on fire"))
    with pytest.raises(TargetError, match=r"HTTP 500: we are on fire\) after 4 tries: try again later"):
        open_model(dialect).ask(PROMPT, schemas.SCORE)
    assert len(server.requests) == 4


@both
def test_a_closed_connection_is_an_error_in_the_end(
    dialect: str, server: ScriptedServer, open_model: OpenModel
) -> None:
    server.play(Break())
    with pytest.raises(TargetError, match=f"cannot be reached at {server.url}.*{dialect.upper()}_BASE_URL"):
        open_model(dialect).ask(PROMPT, schemas.SCORE)


def test_a_server_that_is_not_there_is_an_error(closed_port: int, clock: FakeClock) -> None:
    with LanguageModel(settings_for("ollama", f"http://127.0.0.1:{closed_port}"), clock=clock) as model:
        with pytest.raises(TargetError, match=r"cannot be reached.*OLLAMA_HOST; is ollama running"):
            model.ask(PROMPT, schemas.SCORE)


QUICK = AskBudget(call_s=0.2)


@both
def test_a_slow_provider_is_given_up_and_not_asked_again(
    dialect: str, server: ScriptedServer, open_model: OpenModel
) -> None:
    server.play(Hang())
    with pytest.raises(TargetError, match=r"did not answer within 0\.2 s: allow more time"):
        open_model(dialect, QUICK).ask(PROMPT, schemas.SCORE)
    assert len(server.requests) == 1


def test_a_spent_time_budget_is_told_as_it_was_given(server: ScriptedServer, clock: FakeClock) -> None:
    server.play(Hang())
    settings = replace(settings_for("openai", server.url), budget=AskBudget(time_s=0.4, call_s=0.4))
    with LanguageModel(settings, clock=clock) as model:
        budget = model.spending()
        clock.advance(0.3)
        with pytest.raises(TargetError, match=r"openai did not answer within 0\.4 s: allow more time"):
            model.ask(PROMPT, schemas.SCORE, budget=budget)


def test_the_start_of_the_client_is_not_part_of_the_time_budget(
    server: ScriptedServer, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def open_slowly(endpoint: ModelEndpoint) -> ChatClient:
        clock.advance(100)
        return open_client(endpoint)

    monkeypatch.setattr(chat, "open_client", open_slowly)
    server.play(said("openai", TEXT))
    settings = replace(settings_for("openai", server.url), budget=AskBudget(time_s=50))
    with LanguageModel(settings, clock=clock) as model:
        assert model.ask(PROMPT, schemas.SCORE).data == GOOD


def test_an_answer_that_drips_is_given_up_too(server: ScriptedServer) -> None:
    server.play(Drip())
    settings = settings_for("openai", server.url)
    with LanguageModel(settings, clock=SystemClock()) as model:
        with pytest.raises(TargetError, match="did not answer"):
            model.ask(PROMPT, schemas.SCORE, budget=Spending(QUICK, SystemClock().now))


@pytest.mark.parametrize(
    "body",
    ["<html>Welcome to the router</html>", "[]", "{}", '{"choices": []}', '{"choices": [{"message": 3}]}'],
)
def test_something_that_is_no_answer_names_the_address(
    body: str, server: ScriptedServer, open_model: OpenModel
) -> None:
    server.play(Send(body))
    with pytest.raises(RunError, match=r"sent an unexpected response.*check OPENAI_BASE_URL"):
        open_model("openai").ask(PROMPT, schemas.SCORE)


def test_something_that_is_no_answer_of_anthropic_names_the_address(
    server: ScriptedServer, open_model: OpenModel
) -> None:
    server.play(Send("<html>", headers={"content-type": "text/html"}))
    with pytest.raises(RunError, match=r"sent an unexpected response.*check ANTHROPIC_BASE_URL"):
        open_model("anthropic").ask(PROMPT, schemas.SCORE)


def test_an_error_that_comes_with_status_200_is_one(
    server: ScriptedServer, open_model: OpenModel, clock: FakeClock
) -> None:
    server.play(Send({"error": {"code": 429, "message": "upstream is busy"}}), said("openai", TEXT))
    assert open_model("openrouter").ask(PROMPT, schemas.SCORE).data == GOOD
    assert len(clock.pauses) == 1


def test_a_key_does_not_follow_a_redirect(server: ScriptedServer, open_model: OpenModel) -> None:
    server.play(Send({}, 307, {"location": f"{server.url}/elsewhere"}), said("openai", TEXT))
    with pytest.raises(RunError, match=r"sent an unexpected response.*HTTP 307"):
        open_model("openai").ask(PROMPT, schemas.SCORE)
    assert {request.path for request in server.requests} == {"/chat/completions"}


def test_words_of_a_provider_do_not_reach_the_terminal_raw(
    server: ScriptedServer, open_model: OpenModel
) -> None:
    server.play(error("openai", 401, "\x1b[31mno\nno" + "!" * 500))
    with pytest.raises(TargetError) as caught:
        open_model("openai").ask(PROMPT, schemas.SCORE)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400
