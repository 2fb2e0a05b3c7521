"""The model of a test: a name that says who has it, or a provider and a name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from faultkit.agents.kinds.endpoints import MissingKey, endpoint_of
from faultkit.agents.model import ModelAgent, Provider
from faultkit.base.documents.shape import mapping
from faultkit.base.documents.shape import text as any_text
from faultkit.base.errors import InputError


def parse_model(value: object, providers: Sequence[Provider], max_tokens: int) -> ModelAgent:
    """InputError if nobody has such a model."""
    if isinstance(value, Mapping):
        given = mapping(value, ("provider", "id"), "")
        provider = any_text(given.get("provider"), "the name of a provider", "provider")
        agent = ModelAgent(any_text(given.get("id"), "the name of a model", "id"), provider, max_tokens)
    else:
        agent = ModelAgent(any_text(value, "the name of a model", ""), max_tokens=max_tokens)
    try:
        endpoint_of(agent, providers, {})
    except MissingKey:
        # A cassette needs none: whether there is a key is asked when the test is run.
        return agent
    except InputError as error:
        path = error.path.removeprefix("model").removeprefix(".")
        raise InputError(path, error.problem) from None
    return agent
