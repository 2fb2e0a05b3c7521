"""Finds payments and orders sent without an idempotency key, so that a repetition cannot be recognised."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Facts
from faultkit.code.rules.rule import GO, JAVASCRIPT, LIKELY, PYTHON, Hit, Rule
from faultkit.code.rules.vocabulary.call_paths import makers_of_parts
from faultkit.code.rules.vocabulary.http_requests import http_requests, library_of
from faultkit.code.rules.vocabulary.idempotency_keys import CHOSEN

_MATTERS = lazy_regex(
    r"(payment|charge|refund|transfer|payout|checkout|invoice|order|withdraw|purchase)s?\b", re.IGNORECASE
)
_OWNER = lazy_regex(r"\b[A-Za-z_]\w*\.(?=[A-Za-z_]\w*(?:[_]?[uU]rl|URL|_uri|Uri)\b)")
_STRIPE = lazy_regex(r"^stripe\.(Charge|PaymentIntent|Refund|Transfer|Payout|Subscription|Invoice)\.create$")


def _check(facts: Facts) -> Iterator[Hit]:
    for request in http_requests(facts):
        # `order.callback_url` is no address of orders.
        if request.method != "POST" or not _MATTERS.search(_OWNER.sub("", request.url)):
            continue
        if library_of(request.call) is None:
            continue  # A client from elsewhere may add the key.
        scope = facts.named_function_of(request.call)
        around = facts.text(request.call.span if scope is None else scope.span)
        client = "" if request.client is None else facts.text(request.client.span)
        parts = "".join(facts.text(each.body) for each in makers_of_parts(request.call, facts))
        if not CHOSEN.search(around + client + parts):
            what = f"{request.call.written}({request.url[:60]}) sends no idempotency key"
            yield Hit(request.call.span, what, LIKELY)
    for call in facts.calls_of_method("create"):
        if _STRIPE.match(call.name) and not call.has("idempotency_key") and not call.spreads:
            yield Hit(call.span, f"{call.written}() sends no idempotency_key", LIKELY)


RULE = Rule(
    id="FK-R018",
    slug="missing-idempotency-key",
    title="Order or payment without an idempotency key",
    why="When the response is lost, the client cannot know the outcome, and a repetition does it twice.",
    fix="Make a key for each intent, send it with the request, and send the same key when trying again.",
    kind="reliability",
    severity="medium",
    languages=(*PYTHON, *JAVASCRIPT, *GO),
    check=_check,
)
