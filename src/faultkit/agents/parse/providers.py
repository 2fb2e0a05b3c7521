"""The `providers` of a suite: endpoints that speak as OpenAI's does."""

from __future__ import annotations

import re

from faultkit.agents.model import Provider
from faultkit.agents.parse.keys import named, opened, url
from faultkit.agents.parse.sheet import Found, Sheet
from faultkit.base.documents.reading import Reading
from faultkit.base.documents.values import choice, line, text
from faultkit.base.errors import InputError

PROVIDER_KEYS = ("name", "type", "base_url", "api_key_env", "organization")
TYPES = ("openai",)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def parse_providers(given: Reading, sheet: Sheet) -> list[Found[Provider]]:
    entries = named(given.given.get("providers"), "providers", "providers", sheet)
    return [Found(_provider(name, value, path, sheet), path, sheet, value) for name, value, path in entries]


def _provider(name: str | None, value: object, path: str, sheet: Sheet) -> Provider:
    reading = opened(value, PROVIDER_KEYS, path, sheet)
    if name is None:
        name = reading.need("name", line, "", "a name")
    reading.take("type", choice(TYPES), "openai")
    return Provider(
        name,
        reading.need("base_url", url, "", "a URL such as http://localhost:8000"),
        reading.take("api_key_env", _variable, ""),
        reading.take("organization", text, ""),
    )


def _variable(value: object) -> str:
    """Its name and never what it holds: a key written here by mistake is not repeated in the error."""
    given = text(value)
    if not _VARIABLE.fullmatch(given):
        raise InputError("", "expected the name of an environment variable, got something else")
    return given
