"""Why a call to a provider failed. Pure."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal[
    "key", "model", "credit", "rate", "server", "timeout", "connection", "rejected", "garbage"
]

PASSING: frozenset[Kind] = frozenset({"rate", "server", "connection"})
"""Those that may be gone at the next try. A model that was too slow once is slow again: no timeout here."""

_BY_STATUS: dict[int, Kind] = {
    401: "key",
    402: "credit",
    403: "key",
    404: "model",
    408: "server",
    429: "rate",
}
_NO_CREDIT = ("insufficient_quota", "insufficient credits", "credit balance")
_MOST_DETAIL = 200


class Failure(Exception):
    """One call that failed. Whoever asked makes an error of it that helps."""

    def __init__(
        self, kind: Kind, detail: str = "", *, status: int | None = None, after_s: float | None = None
    ) -> None:
        super().__init__(kind, detail)
        self.kind: Kind = kind
        self.detail = one_line(detail)
        self.status = status
        self.after_s = after_s
        """How long the provider wants us to wait."""


def kind_of(status: int, detail: str) -> Kind:
    """What an HTTP status means; `detail` tells an empty account from too many requests."""
    if status in (400, 402, 429) and any(word in detail.lower() for word in _NO_CREDIT):
        return "credit"
    if status < 400:
        return "garbage"  # A redirect: whoever answers is not the provider.
    return _BY_STATUS.get(status) or ("server" if status >= 500 else "rejected")


def one_line(text: str) -> str:
    """Words of a stranger, fit for one line of a terminal."""
    plain = re.sub(r"[^\w!-~€£]+", " ", text[: 4 * _MOST_DETAIL]).strip()
    return plain if len(plain) <= _MOST_DETAIL else f"{plain[:_MOST_DETAIL]}…"
