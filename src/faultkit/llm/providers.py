"""The providers of language models that we can ask, and what is particular about each. Pure.

One row a provider: nothing else knows a provider by its name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

Format: TypeAlias = Literal["schema", "tool", "object", "text"]
"""How JSON is asked for: by its schema, as a tool's input, as any JSON object, or by words alone."""


@dataclass(frozen=True, slots=True)
class Provider:
    name: str
    client: Literal["openai", "anthropic"]
    """Whose API it speaks."""
    key_env: str
    base_url: str
    base_url_env: str
    model: str
    """The reasoning model unless the user names one."""
    embed_model: str | None = None
    """None: the user must name one, or the offline embeddings serve."""
    needs_key: bool = True
    embeds: bool = True
    formats: tuple[Format, ...] = ("schema", "object", "text")
    """From the strictest down: the next one is tried when the provider rejects a request."""
    limit_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    temperature: float | None = None
    """None where a model of it may reject any."""
    shortens: bool = False
    """Vectors can be asked for with fewer dimensions than the model has."""


PROVIDERS: tuple[Provider, ...] = (
    Provider(
        name="openai",
        client="openai",
        key_env="OPENAI_API_KEY",
        base_url="https://api.openai.com/v1",
        base_url_env="OPENAI_BASE_URL",
        model="o4-mini",
        embed_model="text-embedding-3-small",
        limit_field="max_completion_tokens",
        shortens=True,
    ),
    Provider(
        name="gemini",
        client="openai",
        key_env="GEMINI_API_KEY",
        base_url="https://generativelanguage.googleapis.com/v1beta/openai",
        base_url_env="GEMINI_BASE_URL",
        model="gemini-2.5-flash",
        temperature=0.0,
        shortens=True,
    ),
    Provider(
        name="openrouter",
        client="openai",
        key_env="OPENROUTER_API_KEY",
        base_url="https://openrouter.ai/api/v1",
        base_url_env="OPENROUTER_BASE_URL",
        model="google/gemma-3-27b-it",
    ),
    Provider(
        name="ollama",
        client="openai",
        key_env="OLLAMA_API_KEY",
        base_url="http://localhost:11434/v1",
        base_url_env="OLLAMA_HOST",
        model="gemma3:4b",
        embed_model="mxbai-embed-large",
        needs_key=False,
        temperature=0.0,
    ),
    Provider(
        name="anthropic",
        client="anthropic",
        key_env="ANTHROPIC_API_KEY",
        base_url="https://api.anthropic.com",
        base_url_env="ANTHROPIC_BASE_URL",
        model="claude-sonnet-5-5",
        embeds=False,
        formats=("tool", "text"),
    ),
)
"""In the order in which `auto` looks for their keys."""

EMBED_DIMENSIONS: dict[str, int] = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
    "gemini-embedding-001": 3072,
    "mxbai-embed-large": 1024,
    "nomic-embed-text": 768,
    "all-minilm": 384,
}
"""Vectors of well-known models. Those of another one tell their length when they come."""

_BY_NAME = {provider.name: provider for provider in PROVIDERS}


def provider_of(spelling: str) -> Provider | None:
    """`OpenAI`, `open-ai` and `open_ai` are one."""
    return _BY_NAME.get(plain(spelling))


def plain(spelling: str) -> str:
    return re.sub(r"[\s._\-]", "", spelling).lower()


def names() -> str:
    return ", ".join(_BY_NAME)
