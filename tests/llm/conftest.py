"""A scripted provider, a clock that never waits, and models that use both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from faultkit.llm.language_model import LanguageModel
from faultkit.llm.model_settings import AskBudget, LlmSettings, llm_settings
from tests.llm.scripted_provider import ScriptedServer

FAKE_KEY = "sk-fake-0123456789abcdef0123"
OpenModel = Callable[..., LanguageModel]


class FakeClock:
    """A clock whose time passes only in `advance` and `pause`."""

    def __init__(self) -> None:
        self.pauses: list[float] = []
        self._now = 1000.0

    def now(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        self._now += seconds

    async def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.advance(seconds)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    server = ScriptedServer()
    yield server
    server.close()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def settings_for(client: str, url: str, **more: str) -> LlmSettings:
    bases = {
        "openai": "OPENAI_BASE_URL",
        "gemini": "GEMINI_BASE_URL",
        "openrouter": "OPENROUTER_BASE_URL",
        "ollama": "OLLAMA_HOST",
        "anthropic": "ANTHROPIC_BASE_URL",
    }
    env = {bases[client]: url, f"{client.upper()}_API_KEY": FAKE_KEY, **more}
    settings = llm_settings(env, client=client)
    assert settings is not None
    return settings


@pytest.fixture
def open_model(server: ScriptedServer, clock: FakeClock) -> Iterator[OpenModel]:
    """Return a function that opens a model whose provider is the scripted server."""
    opened: list[LanguageModel] = []

    def open_one(client: str, budget: AskBudget | None = None, **env: str) -> LanguageModel:
        settings = settings_for(client, server.url, **env)
        if budget is not None:
            settings = replace(settings, budget=budget)
        model = LanguageModel(settings, clock=clock)
        opened.append(model)
        return model

    yield open_one
    for model in opened:
        model.close()
