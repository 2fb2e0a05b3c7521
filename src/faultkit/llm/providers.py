"""The providers of language models: API, address, key, default models; and which one serves a model. Pure.

Properties of a provider belong in its row of PROVIDERS, so that other modules need not test for names. The
environment is an argument.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias
from urllib.parse import urlsplit

from faultkit.base.address import is_local_name
from faultkit.base.errors import InputError
from faultkit.base.text import did_you_mean

JsonFormat: TypeAlias = Literal["schema", "tool", "object", "text"]
"""How JSON is asked for: by its schema, as the input of a tool, as any JSON object, or in words only."""


@dataclass(frozen=True, slots=True)
class Provider:
    """The properties of one provider."""

    name: str
    client: Literal["openai", "anthropic"]
    """The API that it has."""
    key_env: str
    """Environment variable of the key."""
    base_url: str
    base_url_env: str
    """Environment variable that replaces `base_url`."""
    model: str
    """Default model."""
    embed_model: str | None = None
    """Default embedding model; None: the user names one or uses the offline embeddings."""
    needs_key: bool = True
    embeds: bool = True
    formats: tuple[JsonFormat, ...] = ("schema", "object", "text")
    """Formats from the strictest to the loosest. The next one is tried if a request is rejected."""
    limit_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    temperature: float | None = None
    """None if some models of the provider reject the parameter."""
    shortens: bool = False
    """The provider can shorten vectors."""


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
"""Lengths of the vectors of well-known models. For others, the first vector shows it."""

_BY_NAME = {provider.name: provider for provider in PROVIDERS}


def provider_of(spelling: str) -> Provider | None:
    """Return a provider by its name, or None. `OpenAI`, `open-ai` and `open_ai` are the same."""
    return _BY_NAME.get(normalized(spelling))


def normalized(spelling: str) -> str:
    """Return a name in lower case, without separators."""
    return re.sub(r"[\s._\-]", "", spelling).lower()


def provider_names() -> str:
    """Return the names of all providers, for a message."""
    return ", ".join(_BY_NAME)


_OLLAMA_PORT = "11434"
_EVERY_INTERFACE = ("", "0.0.0.0", "[::]")
_HOST_AND_PORT = re.compile(r"(\[[^\]]*\]|.*?)(?::(\d*))?", re.DOTALL)


def checked_key(key: str, variable: str) -> str:
    """Return the key. Raises InputError if no HTTP header can carry it."""
    if not key.isascii() or not key.isprintable() or " " in key:
        raise InputError(variable, "expected an API key of visible ASCII characters, got others among them")
    return key


def base_url_of(provider: Provider, env: Mapping[str, str]) -> str:
    """Return the address of a provider: its variable, or its default. Raises InputError."""
    text = env.get(provider.base_url_env, "").strip()
    if not text:
        return provider.base_url
    wrong = InputError(provider.base_url_env, f"expected a URL like {provider.base_url}, got {text!r}")
    if provider.base_url_env == "OLLAMA_HOST":
        text = _ollama_url(text)
    try:
        parts = urlsplit(text)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
            raise wrong
    except ValueError:
        raise wrong from None
    return text.rstrip("/")


def is_on_this_machine(base_url: str) -> bool:
    """Return whether a URL names this machine, which no proxy can reach."""
    return is_local_name(urlsplit(base_url).hostname or "")


def _ollama_url(text: str) -> str:
    """Return the URL of a value of OLLAMA_HOST: a host, a port, both, or a URL.

    A value for every interface, on which a server listens, becomes localhost.
    """
    given, found, rest = text.partition("://")
    scheme = given if found else "http"
    authority, _, path = (rest if found else text).partition("/")
    host, port = _HOST_AND_PORT.fullmatch(authority).groups()  # type: ignore[union-attr]
    host = "localhost" if host in _EVERY_INTERFACE else host
    # As in ollama: a URL has the default port of its scheme, a bare host that of ollama.
    port = port or ({"http": "80", "https": "443"}.get(scheme, "") if found else _OLLAMA_PORT)
    folders = [folder for folder in path.split("/") if folder]
    if folders[-1:] != ["v1"]:
        folders.append("v1")
    return f"{scheme}://{host}:{port}/{'/'.join(folders)}"


# The provider that serves a model, by the name of the model


_MISTRAL = Provider(
    name="mistral",
    client="openai",
    key_env="MISTRAL_API_KEY",
    base_url="https://api.mistral.ai/v1",
    base_url_env="MISTRAL_BASE_URL",
    model="mistral-large-latest",
)
# Mistral is not in PROVIDERS, because `auto` must not choose it for a question about code.
PROVIDERS_BY_NAME: dict[str, Provider] = {provider.name: provider for provider in (*PROVIDERS, _MISTRAL)}
_PROVIDER_OF_MODEL: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"claude-"), "anthropic"),
    (re.compile(r"gpt-|chatgpt-|o\d|text-|davinci-"), "openai"),
    (re.compile(r"gemini-"), "gemini"),
    (re.compile(r"(?:open-)?mi[sx]tral|ministral-|codestral-|devstral-|magistral-|pixtral-"), "mistral"),
)
_ROUTING_PROVIDERS = ("openrouter", "ollama")
"""Providers that serve models of many makers, by names with a prefix: `ollama/gemma3:4b`."""
_OTHER_KEY_VARIABLES = {"gemini": ("GOOGLE_API_KEY",)}
_EXPECTED_MODELS = (
    "claude-…, gpt-…, chatgpt-…, o3 and the like, gemini-…, mistral-…, openrouter/MODEL, ollama/MODEL, "
    "or PROVIDER/MODEL with one of `providers`"
)


@dataclass(frozen=True, slots=True)
class CustomProvider:
    """A provider that a suite declares: any server with OpenAI's API."""

    name: str
    base_url: str
    api_key_env: str = ""
    organization: str = ""


@dataclass(frozen=True, slots=True)
class ModelEndpoint:
    """A model, its provider's address, and the key."""

    provider: Provider
    model: str
    """The provider's own name for the model."""
    base_url: str
    key: str = field(repr=False)
    organization: str = ""


class NamedModel(Protocol):
    """A model by its name, and by the name of its provider or an empty text."""

    @property
    def model(self) -> str: ...

    @property
    def provider(self) -> str: ...


class MissingKey(InputError):
    """Raised if the API key of a known provider is not set."""


def endpoint_of(named: NamedModel, custom: Sequence[CustomProvider], env: Mapping[str, str]) -> ModelEndpoint:
    """Return the endpoint that serves a model.

    Raises InputError if no provider serves the model, MissingKey if its key is not set.
    """
    name, model = _split_name(named, [provider.name for provider in custom])
    declared = next((provider for provider in custom if provider.name == name), None)
    if declared is None:
        provider = PROVIDERS_BY_NAME[name]
        variables = (provider.key_env, *_OTHER_KEY_VARIABLES.get(provider.name, ()))
        key = _key(variables, model, env, provider.needs_key)
        return ModelEndpoint(provider, model, base_url_of(provider, env), key)
    base_url = declared.base_url.rstrip("/")
    if not base_url.endswith("/v1"):
        base_url += "/v1"
    provider = Provider(
        name=declared.name,
        client="openai",
        key_env=declared.api_key_env,
        base_url=base_url,
        base_url_env="",
        model="",
    )
    variables = (declared.api_key_env,) if declared.api_key_env else ()
    return ModelEndpoint(
        provider, model, base_url, _key(variables, model, env, bool(variables)), declared.organization
    )


def client_of(named: NamedModel, custom: Sequence[CustomProvider]) -> Literal["openai", "anthropic"]:
    """Return the API by which a model is asked. Raises InputError if no provider serves it."""
    name, _ = _split_name(named, [provider.name for provider in custom])
    provider = PROVIDERS_BY_NAME.get(name)
    return "openai" if provider is None else provider.client


def variables_of(named: NamedModel, custom: Sequence[CustomProvider]) -> tuple[str, ...]:
    """Return the environment variables that `endpoint_of` reads for a model; none if it is unknown."""
    try:
        name, _ = _split_name(named, [provider.name for provider in custom])
    except InputError:
        return ()
    declared = next((provider for provider in custom if provider.name == name), None)
    if declared is not None:
        return (declared.api_key_env,) if declared.api_key_env else ()
    provider = PROVIDERS_BY_NAME[name]
    return (provider.key_env, *_OTHER_KEY_VARIABLES.get(name, ()), provider.base_url_env)


def _split_name(named: NamedModel, custom: Sequence[str]) -> tuple[str, str]:
    """Return the name of the provider, and the model's name there."""
    if named.provider:
        if named.provider in custom or named.provider in PROVIDERS_BY_NAME:
            return named.provider, named.model
        names = [*custom, *PROVIDERS_BY_NAME]
        guess = did_you_mean(named.provider, names, "'")
        raise InputError(
            "model.provider", f"expected one of {', '.join(names)}, got {named.provider!r}{guess}"
        )
    route, slash, rest = named.model.partition("/")
    if slash and rest and (route in custom or route in _ROUTING_PROVIDERS):
        return route, rest
    for pattern, name in _PROVIDER_OF_MODEL:
        if pattern.match(named.model):
            return name, named.model
    raise InputError("model", f"expected {_EXPECTED_MODELS}, got {named.model!r}")


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
