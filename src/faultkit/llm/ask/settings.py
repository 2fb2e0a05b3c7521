"""Which language model to ask, from flags and environment variables. Pure: it is given both.

A flag goes before its variable, a variable before the default. `auto` takes the first provider whose key
is set; without any there is no model, and the caller's offline rules answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from faultkit.base.errors import InputError
from faultkit.llm.ask.budget import Budget
from faultkit.llm.providers import EMBED_DIMENSIONS, PROVIDERS, Provider, names, plain, provider_of
from faultkit.llm.reach import base_url_of, checked_key

AUTO = "auto"
RULES = "rules"
"""The client that is none: the offline rules, whatever keys are set."""

CLIENT = ("--llm-client", "FAULT_AGENT_CLIENT")
MODEL = ("--llm-prompt-reasoning-model", "FAULT_AGENT_PROMPT_REASONING_MODEL")
EMBED_MODEL = ("--llm-embed-model", "FAULT_AGENT_EMBED_MODEL")
EMBED_DIM = ("--llm-embed-model-dim", "FAULT_AGENT_EMBED_MODEL_DIMENSION")
TIME = ("--llm-time-budget", "FAULT_AGENT_TIME_BUDGET")
TOKENS = ("--llm-token-budget", "FAULT_AGENT_TOKEN_BUDGET")
"""Each setting's flag and environment variable."""

_MOST_DIMENSIONS = 65_536
_NO_MODEL = {RULES, "none", "offline", "off"}


@dataclass(frozen=True, slots=True)
class LlmSettings:
    provider: Provider
    key: str = field(repr=False)
    base_url: str
    model: str
    embed_model: str | None
    embed_dim: int | None
    """None: as long as the first vector is."""
    embed_asked: bool = False
    """The user named an embedding model; otherwise offline embeddings may serve as well."""
    budget: Budget = field(default_factory=Budget)


def llm_settings(
    env: Mapping[str, str],
    *,
    client: str | None = None,
    model: str | None = None,
    embed_model: str | None = None,
    embed_dim: int | str | None = None,
    time_s: float | str | None = None,
    tokens: int | str | None = None,
) -> LlmSettings | None:
    """What the user wants; None means the offline rules."""
    provider, asked_by = _provider(client, env)
    budget = _budget(time_s, tokens, env)
    wanted_dim = _whole(embed_dim, env)
    if provider is None:
        return None
    embed_name, embed_asked_by = _given(embed_model, EMBED_MODEL, env)
    if embed_name and not provider.embeds:
        raise InputError(
            embed_asked_by,
            f"expected none, since {provider.name} makes no embeddings, got {embed_name!r}: "
            "leave it out to use the offline embeddings",
        )
    embeds_by = embed_name or provider.embed_model
    return LlmSettings(
        provider=provider,
        key=_key(provider, asked_by, env),
        base_url=base_url_of(provider, env),
        model=_given(model, MODEL, env)[0] or provider.model,
        embed_model=embeds_by,
        embed_dim=_embed_dim(wanted_dim, embeds_by, provider),
        embed_asked=bool(embed_asked_by),
        budget=budget,
    )


def _given(flag_value: object, names_of: tuple[str, str], env: Mapping[str, str]) -> tuple[str, str]:
    """A setting's text and what it was given by, or two empty texts."""
    flag, variable = names_of
    for value, source in ((flag_value, flag), (env.get(variable), variable)):
        text = "" if value is None else str(value).strip()
        if text:
            return text, source
    return "", ""


def _provider(client: str | None, env: Mapping[str, str]) -> tuple[Provider | None, str]:
    text, source = _given(client, CLIENT, env)
    if plain(text) in _NO_MODEL:
        return None, source
    if plain(text) in ("", AUTO):
        keyed = (each for each in PROVIDERS if each.needs_key and env.get(each.key_env, "").strip())
        return next(keyed, None), source
    provider = provider_of(text)
    if provider is None:
        raise InputError(source, f"expected {AUTO}, {RULES}, or one of {names()}, got {text!r}")
    return provider, source


def _key(provider: Provider, asked_by: str, env: Mapping[str, str]) -> str:
    key = env.get(provider.key_env, "").strip()
    if not key and provider.needs_key:
        raise InputError(
            provider.key_env,
            f"expected an API key, since {asked_by} asks for {provider.name}, got none: "
            f"set it, or use {CLIENT[0]} {RULES} for the offline rules",
        )
    return checked_key(key, provider.key_env)


def _whole(dim: int | str | None, env: Mapping[str, str]) -> tuple[int | None, str]:
    """The length that was asked for, and by what."""
    text, source = _given(dim, EMBED_DIM, env)
    if not text:
        return None, source
    if not re.fullmatch(r"[0-9]{1,9}", text) or not 1 <= int(text) <= _MOST_DIMENSIONS:
        raise InputError(source, f"expected a whole number from 1 to {_MOST_DIMENSIONS}, got {text!r}")
    return int(text), source


def _embed_dim(wanted: tuple[int | None, str], model: str | None, provider: Provider) -> int | None:
    number, source = wanted
    known = EMBED_DIMENSIONS.get(model or "")
    if number is None:
        return known
    if known is not None and number != known and not (provider.shortens and number < known):
        raise InputError(source, f"expected {known}, the length of {model}'s vectors, got {number}")
    return number


def _budget(time_s: float | str | None, tokens: int | str | None, env: Mapping[str, str]) -> Budget:
    default = Budget()
    total_s = _positive(time_s, TIME, env) or default.time_s
    return Budget(
        time_s=total_s,
        tokens=int(_positive(tokens, TOKENS, env) or default.tokens),
        # Who allows more time in all has a slow model; who allows less wants it sooner.
        call_s=max(default.call_s, total_s / 2) if total_s > default.time_s else min(default.call_s, total_s),
    )


def _positive(value: object, names_of: tuple[str, str], env: Mapping[str, str]) -> float | None:
    text, source = _given(value, names_of, env)
    if not text:
        return None
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 1 <= number <= 1e9:
        raise InputError(source, f"expected a number from 1 to 1000000000, got {text!r}")
    return number
