"""The identity of a caller, and the refusal of a request. Values only."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Scope: TypeAlias = Literal["read", "call", "admin"]
"""`read`: read the log; `call`: call tools; `admin`: everything, including the other two."""
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
    """An authenticated caller, or ANONYMOUS."""

    subject: str
    auth_type: AuthType
    scopes: frozenset[Scope]
    email: str = ""
    name: str = ""
    key_name: str = ""
    claims: Mapping[str, Any] = field(default_factory=dict)
    who: str = field(init=False, repr=False, compare=False)
    """Unique name: a key and a user with the same subject differ. Computed once, since each call needs it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "who", f"{self.auth_type}:{self.subject}")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is refused, and the HTTP answer that it gets."""

    status: int
    category: Category
    message: str
    """Text for the client and the log. It contains no secret."""
    headers: tuple[tuple[str, str], ...] = ()
    by: Identity | None = None
    """Identity of the caller, if it was verified."""

    @property
    def body(self) -> bytes:
        """Body of the answer, as JSON."""
        document = {"error": _CODES[self.status], "error_description": self.message}
        return json.dumps(document).encode()


def scopes_of(names: frozenset[str] | tuple[str, ...]) -> frozenset[Scope]:
    """Return the known scopes among the names, with the scopes that they include."""
    return frozenset(SCOPES if "admin" in names else [scope for scope in SCOPES if scope in names])


ANONYMOUS = Identity("anonymous", "anonymous", frozenset(("read", "call")))
"""A caller without a credential. It never has `admin`: a key that it made would outlive the setting that let
it in."""
