"""Who somebody is, or why they are not let in. Values only."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Scope: TypeAlias = Literal["read", "call", "admin"]
"""To read the log, to call tools, and to do everything: `admin` holds the two others."""
SCOPES: tuple[Scope, ...] = ("read", "call", "admin")
AuthType: TypeAlias = Literal["anonymous", "apikey", "oidc"]
Category: TypeAlias = Literal["auth", "rate", "origin"]

_CODES = {
    400: "invalid_request",
    401: "unauthorized",
    403: "forbidden",
    429: "too_many_requests",
    503: "unavailable",
}


@dataclass(frozen=True, slots=True)
class Identity:
    subject: str
    auth_type: AuthType
    scopes: frozenset[Scope]
    email: str = ""
    name: str = ""
    key_name: str = ""
    claims: Mapping[str, Any] = field(default_factory=dict)
    who: str = field(init=False, repr=False, compare=False)
    """One text for one somebody: a key and a user of the same name are two. Asked for with every call."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "who", f"{self.auth_type}:{self.subject}")


@dataclass(frozen=True, slots=True)
class Refusal:
    status: int
    category: Category
    message: str
    """For whoever was refused, and for the log. Holds nothing that is secret."""
    headers: tuple[tuple[str, str], ...] = ()
    by: Identity | None = None
    """Who it was, where that is certain."""

    @property
    def body(self) -> bytes:
        document = {"error": _CODES[self.status], "error_description": self.message}
        return json.dumps(document).encode()


def scopes_of(names: frozenset[str] | tuple[str, ...]) -> frozenset[Scope]:
    """Those that we know, with what they hold."""
    return frozenset(SCOPES if "admin" in names else [scope for scope in SCOPES if scope in names])


ANONYMOUS = Identity("anonymous", "anonymous", frozenset(SCOPES))
