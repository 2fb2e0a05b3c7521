"""The environment of a client under test: base URLs of the mock and keys that are none. Pure, but for reading
the present environment."""

from __future__ import annotations

from faultkit.base.client_program import loopback_variables
from faultkit.base.external_program import inherited_environment

KEY = "faultkit-no-key"
URL_SIGN = "{url}"
_URLS = {
    "FAULT_LLM_URL": "",
    "OPENAI_BASE_URL": "/v1",
    "OPENAI_API_BASE": "/v1",
    "ANTHROPIC_BASE_URL": "",
    "ANTHROPIC_API_BASE": "",
    "GOOGLE_GEMINI_BASE_URL": "",
    "GEMINI_API_BASE": "",
    "OLLAMA_HOST": "",
    "OLLAMA_API_BASE": "",
}
"""Variables of clients, and what follows the URL of the mock in them."""
_KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "OLLAMA_API_KEY")
_REMOVED = (
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_CUSTOM_HEADERS",
    "AZURE_OPENAI_ENDPOINT",
    "GOOGLE_GENAI_USE_VERTEXAI",
    "GOOGLE_VERTEX_BASE_URL",
    "OPENAI_CUSTOM_HEADERS",
    "OPENAI_ORG_ID",
    "OPENAI_PROJECT_ID",
)
"""Variables that would send requests elsewhere, or give away an account."""


def variables_for(url: str) -> dict[str, str]:
    """Return the variables that lead clients to the mock."""
    return {
        **loopback_variables(),
        **{name: url + path for name, path in _URLS.items()},
        **dict.fromkeys(_KEYS, KEY),
    }


def removed_variables() -> tuple[str, ...]:
    """Return the variables that a client under test must not have."""
    return _REMOVED


def environment_for(url: str) -> dict[str, str]:
    """Return the whole environment of a client program."""
    inherited = {name: value for name, value in inherited_environment().items() if name not in _REMOVED}
    return {**inherited, **variables_for(url)}
