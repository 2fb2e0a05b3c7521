from __future__ import annotations

import asyncio

import pytest

from faultkit.agents.kinds.model_loop import ModelLoop
from faultkit.agents.suite.agent_interface import AgentTask
from faultkit.agents.suite.definition import CustomProvider, ModelAgent
from faultkit.base.errors import InputError
from faultkit.llm.chat import ProviderChat
from faultkit.llm.providers import MissingKey, endpoint_of
from tests.agents.kinds.provider_turns import KEY, turn
from tests.agents.memory_server import toolbox
from tests.llm.scripted_provider import ScriptedServer

KEYS = {
    f"{name}_API_KEY": KEY for name in ("ANTHROPIC", "OPENAI", "GEMINI", "OPENROUTER", "MISTRAL", "MY_KEY")
}


@pytest.mark.parametrize(
    ("model", "provider", "called"),
    [
        ("claude-sonnet-4-5", "anthropic", "claude-sonnet-4-5"),
        ("gpt-4o", "openai", "gpt-4o"),
        ("chatgpt-4o-latest", "openai", "chatgpt-4o-latest"),
        ("o3", "openai", "o3"),
        ("gemini-2.5-flash", "gemini", "gemini-2.5-flash"),
        ("mistral-large-latest", "mistral", "mistral-large-latest"),
        ("openrouter/google/gemma-3-27b-it", "openrouter", "google/gemma-3-27b-it"),
        ("ollama/gemma3:4b", "ollama", "gemma3:4b"),
    ],
)
def test_a_model_is_asked_where_its_name_says(model: str, provider: str, called: str) -> None:
    found = endpoint_of(ModelAgent(model), (), KEYS)
    assert (found.provider.name, found.model) == (provider, called)
    assert KEY not in repr(found)


@pytest.mark.parametrize(
    ("model", "variable"),
    [
        ("claude-x", "ANTHROPIC_API_KEY"),
        ("gpt-x", "OPENAI_API_KEY"),
        ("gemini-x", "GEMINI_API_KEY"),
        ("openrouter/x", "OPENROUTER_API_KEY"),
        ("mine/x", "MINE_KEY"),
    ],
)
def test_a_key_that_is_missing_is_named(model: str, variable: str) -> None:
    with pytest.raises(MissingKey, match=f"{variable}: expected an API key"):
        endpoint_of(ModelAgent(model), [CustomProvider("mine", "http://127.0.0.1:9", "MINE_KEY")], {})


def test_google_has_two_names_for_its_key() -> None:
    assert endpoint_of(ModelAgent("gemini-x"), (), {"GOOGLE_API_KEY": KEY}).key == KEY


@pytest.mark.parametrize(
    ("agent", "problem"),
    [
        (ModelAgent("llama-9"), "model: expected claude-"),
        (ModelAgent("mine/"), "model: expected claude-"),
        (ModelAgent("x", "minee"), "model.provider: expected one of mine, .*did you mean 'mine'"),
    ],
)
def test_a_model_that_nobody_has_is_an_error_that_says_what_fits(agent: ModelAgent, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        endpoint_of(agent, [CustomProvider("mine", "http://127.0.0.1:9")], {})


@pytest.mark.parametrize("suffix", ["", "/", "/v1", "/v1/"])
@pytest.mark.parametrize("agent", [ModelAgent("mine/tiny"), ModelAgent("tiny", "mine")])
def test_an_endpoint_of_a_suite_is_found_with_or_without_its_version(agent: ModelAgent, suffix: str) -> None:
    found = endpoint_of(agent, [CustomProvider("mine", f"http://127.0.0.1:9{suffix}")], {})
    assert (found.base_url, found.model, found.key) == ("http://127.0.0.1:9/v1", "tiny", "")


def test_an_endpoint_of_a_suite_gets_no_headers_that_are_meant_for_openai(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-another")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-another-0123456789")
    for organization in ("", "org-own"):
        mine = CustomProvider("mine", server.url, organization=organization)
        voice = ProviderChat(endpoint_of(ModelAgent("mine/tiny"), [mine], {}))
        server.play(turn("openai", "Hello."))
        asyncio.run(ModelLoop("mine/tiny", voice).run(AgentTask("hi"), toolbox()))
    plain, owned = server.requests
    assert plain.path == "/v1/chat/completions"
    assert plain.body["model"] == "tiny"
    assert plain.headers["authorization"] == "Bearer none"
    assert "openai-organization" not in plain.headers
    assert owned.headers["openai-organization"] == "org-own"
