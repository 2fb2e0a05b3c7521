"""Why a call to a provider failed, and the sentence that tells a user what to do about it. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from faultkit.advice.llm.providers import Provider
from faultkit.errors import FaultkitError, RunError, TargetError

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
    """One call that failed. It stays in this package: a user sees what `error_of` makes of it."""

    def __init__(
        self, kind: Kind, detail: str = "", *, status: int | None = None, after_s: float | None = None
    ) -> None:
        super().__init__(kind, detail)
        self.kind: Kind = kind
        self.detail = one_line(detail)
        self.status = status
        self.after_s = after_s
        """How long the provider wants us to wait."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a call was about, as far as an error has to name it."""

    provider: Provider
    base_url: str
    model: str
    model_flag: str
    tries: int
    call_s: float


def kind_of(status: int, detail: str) -> Kind:
    """What an HTTP status means; `detail` tells an empty account from too many requests."""
    if status in (400, 402, 429) and any(word in detail.lower() for word in _NO_CREDIT):
        return "credit"
    if status < 400:
        return "garbage"  # A redirect: whoever answers is not the provider.
    return _BY_STATUS.get(status) or ("server" if status >= 500 else "rejected")


def error_of(failure: Failure, asked: Asked) -> FaultkitError:
    """The error that a user sees: what happened, and what to do."""
    provider = asked.provider
    said = f"HTTP {failure.status}" if failure.status else ""
    said = ": ".join(part for part in (said, failure.detail) if part)
    because = f" ({said})" if said else ""
    tries = f" after {asked.tries} tries" if asked.tries > 1 else ""
    pull = f", or fetch it with `ollama pull {asked.model}`" if provider.name == "ollama" else ""
    wait = f" in {failure.after_s:g} s" if failure.after_s else " later"
    base = provider.base_url_env
    texts: dict[Kind, str] = {
        "key": f"{provider.name} refused the key{because}: check {provider.key_env}",
        "model": f"{provider.name} does not know the model {asked.model!r}{because}: "
        f"name another one with {asked.model_flag}{pull}; or check {base}",
        "credit": f"{provider.name} says that there is no credit left{because}: check the account, or use "
        "another client with --llm-client",
        "rate": f"{provider.name} takes no more requests now{because}{tries}: try again{wait}, or use "
        "another client with --llm-client",
        "server": f"{provider.name} failed{because}{tries}: try again{wait}",
        "timeout": f"{provider.name} did not answer within {asked.call_s:.3g} s{because}: allow more time "
        f"with --llm-time-budget, or name a faster model with {asked.model_flag}",
        "connection": f"{provider.name} cannot be reached at {asked.base_url}{because}{tries}: check the "
        f"network and {base}" + ("; is ollama running?" if provider.name == "ollama" else ""),
        "rejected": f"{provider.name} rejected the request{because}: ask about less code, or name another "
        f"model with {asked.model_flag}",
        "garbage": f"{provider.name} sent something that is no answer of a language model{because}: "
        f"check {base}",
    }
    shape = RunError if failure.kind in ("rejected", "garbage") else TargetError
    return shape(texts[failure.kind])


def one_line(text: str) -> str:
    """Words of a stranger, fit for one line of a terminal."""
    plain = re.sub(r"[^\w!-~€£]+", " ", text[: 4 * _MOST_DETAIL]).strip()
    return plain if len(plain) <= _MOST_DETAIL else f"{plain[:_MOST_DETAIL]}…"
