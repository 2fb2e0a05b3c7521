"""Code that runs for each request, message or connection, as far as its file shows."""

from __future__ import annotations

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Facts
from faultkit.code.facts.facts import Placed
from faultkit.code.rules.vocabulary.failures import handler_around
from faultkit.code.rules.vocabulary.repetition import frequency_of, runs_once
from faultkit.code.rules.vocabulary.short_lives import repeated_around

_SERVING = lazy_regex(r"(Controller|Middleware|Consumer|Endpoint|Handler|Resolver|Hub|PageModel)$")
"""Classes of which a framework calls the methods for each request or message."""


def is_served(place: Placed, facts: Facts) -> bool:
    """Return whether something in this text shows that a place runs for each request, message or client."""
    if frequency_of(place, facts) in ("request", "message") or handler_around(place, facts) is not None:
        return True
    scope = facts.named_function_of(place)
    if scope is not None and _SERVING.search(scope.owner) and not runs_once(scope):
        return True
    return repeated_around(place, facts) is not None
