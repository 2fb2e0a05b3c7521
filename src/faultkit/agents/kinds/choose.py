"""Who takes the turns of a model in a test: its provider, a cassette, or a stub where that is allowed.

A cassette goes before the provider unless it is to be recorded anew, so that a suite needs no key in CI. A
stub says one sentence and calls nothing. It stands for a model only as far as the rest of a suite is to be
tried out: its rows are marked, and no recovery is ever passed by it (`STUB_VERDICT`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from faultkit.agents.gate import Verdict
from faultkit.agents.kinds.agent import Agent
from faultkit.agents.kinds.cassette import RecordingVoice, ReplayingVoice, cassette_path
from faultkit.agents.kinds.endpoints import MissingKey, endpoint_of
from faultkit.agents.kinds.model_loop import ModelLoop
from faultkit.agents.kinds.prices import price_of
from faultkit.agents.kinds.provider_voice import ProviderVoice
from faultkit.agents.kinds.turns import Conversation, Said, Voice
from faultkit.agents.model import AgentTest, ModelAgent, Suite

Source: TypeAlias = Literal["provider", "recording", "cassette", "stub", "script"]
"""Where the turns come from. script: there is no model."""

STUB_VERDICT: Verdict = "inconclusive"
STUB_MESSAGE = "a stub stood in for the model: nothing is known of how it recovers"
STUB_TEXT = "stub: no model was asked."
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSW", re.IGNORECASE)
_LEAST_SECRET = 8


@dataclass(frozen=True, slots=True)
class ModelOptions:
    record: bool = False
    allow_stub: bool = False


@dataclass(frozen=True, slots=True)
class Chosen:
    agent: Agent
    source: Source
    notes: tuple[str, ...] = ()
    """What a user should know of it."""

    @property
    def is_stub(self) -> bool:
        return self.source == "stub"

    @property
    def is_replay(self) -> bool:
        return self.source == "cassette"


class StubVoice:
    async def say(self, conversation: Conversation) -> Said:
        return Said(STUB_TEXT)

    async def close(self, *, is_whole: bool) -> None:
        """There is nothing to close."""


def model_agent(
    suite: Suite,
    test: AgentTest,
    env: Mapping[str, str],
    options: ModelOptions = ModelOptions(),  # noqa: B008
) -> Chosen:
    """InputError: nobody has such a model, there is no key for it, or its cassette cannot be read. For one
    run: whoever runs the test again asks again."""
    spec = test.agent
    assert isinstance(spec, ModelAgent)
    path = cassette_path(suite.file, test.name, _modelled(suite))
    source, voice, provider = _voice(suite, test, spec, env, options, path)
    price = price_of(provider, spec.model)
    notes: tuple[str, ...] = ()
    if price is None and test.budget.money is not None and source != "stub":
        notes = (f"the price of {spec.model} is not known: its money is not counted",)
    if source == "recording":
        voice = RecordingVoice(voice, path, test.name, _secrets(env), Path(suite.file).name)
    return Chosen(ModelLoop(spec.model, voice, price=price, max_tokens=spec.max_tokens), source, notes)


def _voice(
    suite: Suite,
    test: AgentTest,
    spec: ModelAgent,
    env: Mapping[str, str],
    options: ModelOptions,
    path: Path,
) -> tuple[Source, Voice, str]:
    try:
        endpoint = endpoint_of(spec, suite.providers, env)
    except MissingKey:
        if path.exists() and not options.record:
            return "cassette", ReplayingVoice(path, test.name), ""
        if options.allow_stub and not options.record:
            return "stub", StubVoice(), ""
        raise
    name = endpoint.provider.name
    if path.exists() and not options.record:
        return "cassette", ReplayingVoice(path, test.name), name
    return "recording" if options.record else "provider", ProviderVoice(endpoint), name


def _modelled(suite: Suite) -> list[str]:
    return [test.name for test in suite.agents if isinstance(test.agent, ModelAgent)]


def _secrets(env: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value for name, value in env.items() if _SECRET.search(name) and len(value) >= _LEAST_SECRET
    }
