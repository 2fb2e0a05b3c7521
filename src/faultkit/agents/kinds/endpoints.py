"""Which provider has a model, by its name; where it is, and with what key. Pure: it is given the
environment."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from faultkit.agents.model import ModelAgent, Provider
from faultkit.base.errors import InputError
from faultkit.llm.providers import PROVIDERS
from faultkit.llm.providers import Provider as Known
from faultkit.llm.reach import base_url_of, checked_key

_MISTRAL = Known(
    name="mistral",
    client="openai",
    key_env="MISTRAL_API_KEY",
    base_url="https://api.mistral.ai/v1",
    base_url_env="MISTRAL_BASE_URL",
    model="mistral-large-latest",
)
KNOWN: dict[str, Known] = {provider.name: provider for provider in (*PROVIDERS, _MISTRAL)}
_BY_NAME: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"claude-"), "anthropic"),
    (re.compile(r"gpt-|chatgpt-|o\d|text-|davinci-"), "openai"),
    (re.compile(r"gemini-"), "gemini"),
    (re.compile(r"(?:open-)?mi[sx]tral|ministral-|codestral-|devstral-|magistral-|pixtral-"), "mistral"),
)
_ROUTES = ("openrouter", "ollama")
"""Providers of models of others, which are named with them: `ollama/gemma3:4b`."""
_OTHER_KEYS = {"gemini": ("GOOGLE_API_KEY",)}
EXPECTED = (
    "claude-…, gpt-…, chatgpt-…, o3 and the like, gemini-…, mistral-…, openrouter/MODEL, ollama/MODEL, "
    "or PROVIDER/MODEL with one of `providers`"
)


@dataclass(frozen=True, slots=True)
class Endpoint:
    provider: Known
    model: str
    """As the provider calls it."""
    base_url: str
    key: str = field(repr=False)
    organization: str = ""


class MissingKey(InputError):
    """There is a provider, and no key for it."""


def endpoint_of(agent: ModelAgent, providers: Sequence[Provider], env: Mapping[str, str]) -> Endpoint:
    """InputError if nobody has such a model; MissingKey, which names the variable, if there is no key."""
    name, model = _named(agent, [provider.name for provider in providers])
    own = next((provider for provider in providers if provider.name == name), None)
    return _known(KNOWN[name], model, env) if own is None else _own(own, model, env)


def _named(agent: ModelAgent, own: Sequence[str]) -> tuple[str, str]:
    """The name of the provider, and that of the model there."""
    if agent.provider:
        if agent.provider in own or agent.provider in KNOWN:
            return agent.provider, agent.model
        names = [*own, *KNOWN]
        close = get_close_matches(agent.provider, names, n=1)
        guess = f"; did you mean {close[0]!r}?" if close else ""
        raise InputError(
            "model.provider", f"expected one of {', '.join(names)}, got {agent.provider!r}{guess}"
        )
    route, slash, rest = agent.model.partition("/")
    if slash and rest and (route in own or route in _ROUTES):
        return route, rest
    for pattern, name in _BY_NAME:
        if pattern.match(agent.model):
            return name, agent.model
    raise InputError("model", f"expected {EXPECTED}, got {agent.model!r}")


def _known(provider: Known, model: str, env: Mapping[str, str]) -> Endpoint:
    variables = (provider.key_env, *_OTHER_KEYS.get(provider.name, ()))
    return Endpoint(
        provider, model, base_url_of(provider, env), _key(variables, model, env, provider.needs_key)
    )


def _own(provider: Provider, model: str, env: Mapping[str, str]) -> Endpoint:
    base = provider.base_url.rstrip("/")
    base_url = base if base.endswith("/v1") else f"{base}/v1"
    variables = (provider.api_key_env,) if provider.api_key_env else ()
    made = Known(
        name=provider.name,
        client="openai",
        key_env=provider.api_key_env,
        base_url=base_url,
        base_url_env="",
        model="",
    )
    return Endpoint(
        made, model, base_url, _key(variables, model, env, bool(variables)), provider.organization
    )


def _key(variables: Sequence[str], model: str, env: Mapping[str, str], is_needed: bool) -> str:
    for variable in variables:
        key = env.get(variable, "").strip()
        if key:
            return checked_key(key, variable)
    if is_needed:
        raise MissingKey(
            variables[0],
            f"expected an API key, since the model {model!r} needs one, got none: set it, or replay a "
            "cassette that was made with --record, or allow a stub with --allow-stub-provider",
        )
    return ""
