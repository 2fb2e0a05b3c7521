"""The choice of a language model, from flags and environment variables, and its budget. Pure.

A flag takes precedence over its variable, a variable over the default. Without a client or a model there is
none, and callers use their offline rules: a key alone, which many have in their environment for other
programs, sends nothing. `auto` takes the first provider whose key is set.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from faultkit.base.errors import InputError, RunError
from faultkit.llm.conversation import Usage
from faultkit.llm.providers import (
    EMBED_DIMENSIONS,
    PROVIDERS,
    Provider,
    base_url_of,
    checked_key,
    normalized,
    provider_names,
    provider_of,
)

_LEAST_ANSWER_TOKENS = 256
"""Tokens that must be left for an answer."""


@dataclass(frozen=True, slots=True)
class AskBudget:
    """Limits of one question with all its tries, or of several that share one `Spending`."""

    time_s: float = 180.0
    tokens: int = 100_000
    """Tokens of prompts and answers."""
    call_s: float = 90.0
    """Time limit of one call."""
    answer_tokens: int = 16_384
    """Token limit of one answer, with the thinking of a reasoning model."""
    tries: int = 4
    """Tries of one call whose failures are temporary."""

    def __post_init__(self) -> None:
        for name in ("time_s", "tokens", "call_s", "answer_tokens", "tries"):
            value = getattr(self, name)
            if not value > 0:
                raise ValueError(f"{name}: expected a number above 0, got {value:g}")


class Spending:
    """A budget, and the time and tokens used of it. Its time starts when it is created."""

    __slots__ = ("_now", "_start", "budget", "used")

    def __init__(self, budget: AskBudget, now: Callable[[], float]) -> None:
        self.budget = budget
        self.used = Usage()
        self._now = now
        self._start = now()

    @property
    def left_s(self) -> float:
        """Seconds left."""
        return self._start + self.budget.time_s - self._now()

    @property
    def left_tokens(self) -> int:
        """Tokens left; negative if the last answer exceeded the budget."""
        return self.budget.tokens - self.used.tokens

    def call_s(self) -> float:
        """Return the time limit of the next call. Raises RunError if the time is spent."""
        left_s = self.left_s
        if left_s <= 0:
            raise RunError(
                f"the time budget for the language model ({self.budget.time_s:g} s) is spent: "
                "ask for less, or allow more"
            )
        return min(self.budget.call_s, left_s)

    def affords(self, prompt_tokens: int) -> bool:
        """Return whether enough tokens are left for a prompt and a short answer."""
        return prompt_tokens + _LEAST_ANSWER_TOKENS <= self.left_tokens

    def answer_tokens(self, prompt_tokens: int) -> int:
        """Return the token limit of an answer. Raises RunError if the budget does not afford the prompt."""
        if not self.affords(prompt_tokens):
            raise RunError(
                f"the prompt needs about {prompt_tokens} tokens, and {max(self.left_tokens, 0)} of "
                f"{self.budget.tokens} are left for the language model: ask about less code, or allow more"
            )
        return min(self.budget.answer_tokens, self.left_tokens - prompt_tokens)

    def spend(self, usage: Usage) -> None:
        """Add the tokens of a call."""
        self.used += usage


AUTO = "auto"
RULES = "rules"
"""Name of the client without a model: the offline rules, even if keys are set."""

CLIENT = ("--llm-client", "FAULT_AGENT_CLIENT")
MODEL = ("--llm-prompt-reasoning-model", "FAULT_AGENT_PROMPT_REASONING_MODEL")
EMBED_MODEL = ("--llm-embed-model", "FAULT_AGENT_EMBED_MODEL")
EMBED_DIM = ("--llm-embed-model-dim", "FAULT_AGENT_EMBED_MODEL_DIMENSION")
TIME = ("--llm-time-budget", "FAULT_AGENT_TIME_BUDGET")
TOKENS = ("--llm-token-budget", "FAULT_AGENT_TOKEN_BUDGET")
"""The flag and the environment variable of each setting."""

_MOST_DIMENSIONS = 65_536
_NO_MODEL = {RULES, "none", "offline", "off"}


@dataclass(frozen=True, slots=True)
class LlmSettings:
    """A model, its provider and the budget of a question."""

    provider: Provider
    key: str = field(repr=False)
    base_url: str
    model: str
    embed_model: str | None
    embed_dim: int | None
    """Length of vectors; None: that of the first vector."""
    embed_asked: bool = False
    """The user named an embedding model; otherwise the offline embeddings may be used."""
    budget: AskBudget = field(default_factory=AskBudget)


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
    """Return the user's choice; None means the offline rules. Raises InputError."""
    names_model = _given(model, MODEL, env)[0] or _given(embed_model, EMBED_MODEL, env)[0]
    provider, asked_by = _provider(client, env, default=AUTO if names_model else RULES)
    budget = _budget(time_s, tokens, env)
    wanted_dim = _requested_dimension(embed_dim, env)
    if provider is None:
        return None
    embed_name, embed_asked_by = _given(embed_model, EMBED_MODEL, env)
    if embed_name and not provider.embeds:
        raise InputError(
            embed_asked_by,
            f"expected none, since {provider.name} makes no embeddings, got {embed_name!r}: "
            "leave it out to use the offline embeddings",
        )
    embed_model_name = embed_name or provider.embed_model
    return LlmSettings(
        provider=provider,
        key=_key(provider, asked_by, env),
        base_url=base_url_of(provider, env),
        model=_given(model, MODEL, env)[0] or provider.model,
        embed_model=embed_model_name,
        embed_dim=_embed_dim(wanted_dim, embed_model_name, provider),
        embed_asked=bool(embed_asked_by),
        budget=budget,
    )


def unused_keys(env: Mapping[str, str]) -> list[str]:
    """Return the variables of keys that are set, although no client is chosen."""
    if env.get(CLIENT[1], "").strip():
        return []
    return [each.key_env for each in PROVIDERS if each.needs_key and env.get(each.key_env, "").strip()]


def _given(flag_value: object, names: tuple[str, str], env: Mapping[str, str]) -> tuple[str, str]:
    """Return a setting's text and the name of its source, or two empty texts."""
    flag, variable = names
    for value, source in ((flag_value, flag), (env.get(variable), variable)):
        text = "" if value is None else str(value).strip()
        if text:
            return text, source
    return "", ""


def _provider(client: str | None, env: Mapping[str, str], *, default: str) -> tuple[Provider | None, str]:
    text, source = _given(client, CLIENT, env)
    text = text or default
    if normalized(text) in _NO_MODEL:
        return None, source
    if normalized(text) == AUTO:
        keyed = (each for each in PROVIDERS if each.needs_key and env.get(each.key_env, "").strip())
        return next(keyed, None), source
    provider = provider_of(text)
    if provider is None:
        raise InputError(source, f"expected {AUTO}, {RULES}, or one of {provider_names()}, got {text!r}")
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


def _requested_dimension(dim: int | str | None, env: Mapping[str, str]) -> tuple[int | None, str]:
    """Return the requested length of vectors and the name of its source."""
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


def _budget(time_s: float | str | None, tokens: int | str | None, env: Mapping[str, str]) -> AskBudget:
    default = AskBudget()
    total_s = _positive(time_s, TIME, env) or default.time_s
    return AskBudget(
        time_s=total_s,
        tokens=int(_positive(tokens, TOKENS, env) or default.tokens),
        # A larger total suggests a slow model, so one call may take half of it.
        call_s=max(default.call_s, total_s / 2) if total_s > default.time_s else min(default.call_s, total_s),
    )


def _positive(value: object, names: tuple[str, str], env: Mapping[str, str]) -> float | None:
    text, source = _given(value, names, env)
    if not text:
        return None
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 1 <= number <= 1e9:
        raise InputError(source, f"expected a number from 1 to 1000000000, got {text!r}")
    return number
