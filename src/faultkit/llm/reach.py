"""Where a provider is reached, and whether a key can be one. Pure: it is given the environment."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from faultkit.base.errors import InputError
from faultkit.llm.providers import Provider

_OLLAMA_PORT = "11434"
_EVERY_INTERFACE = ("", "0.0.0.0", "[::]")
_HOST_AND_PORT = re.compile(r"(\[[^\]]*\]|.*?)(?::(\d*))?", re.DOTALL)


def checked_key(key: str, variable: str) -> str:
    """InputError for one that no header can carry."""
    if not key.isascii() or not key.isprintable() or " " in key:
        raise InputError(variable, "expected an API key of visible ASCII characters, got others among them")
    return key


def base_url_of(provider: Provider, env: Mapping[str, str]) -> str:
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


def _ollama_url(text: str) -> str:
    """OLLAMA_HOST is a host, a port, both, or a URL; as a server's address it may mean every interface."""
    given, found, rest = text.partition("://")
    scheme = given if found else "http"
    authority, _, path = (rest if found else text).partition("/")
    host, port = _HOST_AND_PORT.fullmatch(authority).groups()  # type: ignore[union-attr]
    host = "localhost" if host in _EVERY_INTERFACE else host
    # As ollama itself has it: a URL has the port of its scheme, a bare host has ollama's.
    port = port or ({"http": "80", "https": "443"}.get(scheme, "") if found else _OLLAMA_PORT)
    folders = [folder for folder in path.split("/") if folder]
    if folders[-1:] != ["v1"]:
        folders.append("v1")
    return f"{scheme}://{host}:{port}/{'/'.join(folders)}"
