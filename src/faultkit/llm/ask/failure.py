"""The sentence that tells a user why a provider failed, and what to do about it. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from faultkit.base.errors import FaultkitError, RunError, TargetError
from faultkit.llm.failure import Failure, Kind
from faultkit.llm.providers import Provider


@dataclass(frozen=True, slots=True)
class Asked:
    """What a call was about, as far as an error has to name it."""

    provider: Provider
    base_url: str
    model: str
    model_flag: str
    tries: int
    call_s: float


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
