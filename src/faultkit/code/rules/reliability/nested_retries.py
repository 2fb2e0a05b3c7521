"""Finds retries inside of retries: their numbers multiply."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Facts, Place, is_within
from faultkit.code.rules.rule import EVERY_LANGUAGE, LIKELY, Hit, Rule
from faultkit.code.rules.vocabulary.repetition import retries
from faultkit.code.rules.vocabulary.retry_loops import Retry

_CLIENT = re.compile(
    r"\.AddStandardResilienceHandler\(|\.AddPolicyHandler\(\s*\w*[rR]etry|\.AddTransientHttpErrorPolicy\([^;]*Retry"
    r"|\.AddResilienceHandler\([^;]*AddRetry|\bmax_retries\s*=\s*(?:urllib3\.)?(?:util\.)?(?:retry\.)?Retry\("
    r"|\bHTTPTransport\([^)]*\bretries\s*=\s*[1-9]|\baxiosRetry\(|\bretryablehttp\.NewClient\("
    r"|\bgot\.extend\(\{[^;]*\bretry\s*:\s*\{\s*limit\s*:\s*[1-9]"
)
"""HTTP clients that try again by themselves."""
_ASKS = re.compile(r"http|client|session|axios|got", re.IGNORECASE)


def _check(facts: Facts) -> Iterator[Hit]:
    known = [each for each in retries(facts) if not _is_service(each)]
    if not known:
        return
    reported = set[Retry]()
    for outer in known:
        inner = next((each for each in known if each is not outer and _is_inside(each, outer, facts)), None)
        if inner is not None and inner not in reported:
            reported.add(inner)
            what = "this retry runs inside another retry: the attempts multiply"
            yield Hit(inner.place, what, LIKELY)
    if reported or not facts.syntax.has_any(b"retr", b"resilience"):
        return
    found = _CLIENT.search(facts.whole_text)
    place = None if found is None else facts.syntax.place_of(found)
    for outer in known if place is not None else ():
        if place is not None and (is_within(place, outer.place) or is_within(outer.span, place)):
            continue
        asks = any(
            call.is_awaited or _ASKS.search(call.written) for call in facts.within(facts.calls, outer.body)
        )
        if asks and outer.how == "loop":
            what = "this repeats requests of a client that tries again by itself: the attempts multiply"
            yield Hit(outer.place, what, LIKELY)


def _is_service(each: Retry) -> bool:
    """Return whether it is the loop of a service, which goes on after every failure."""
    if each.limited is False or each.loop is None:
        return each.limited is False
    return each.loop.kind == "each" or (each.loop.kind == "endless" and not each.limited)


def _is_inside(inner: Retry, outer: Retry, facts: Facts) -> bool:
    if inner.how == "decorator" and outer.how == "decorator":
        return False
    if outer.how == "helper" and facts.function_of(Place(inner.place)) is facts.function_of(
        Place(outer.place)
    ):
        return False  # `retryWhen(Retry.backoff(3))` is one.
    same = inner.body == outer.body or inner.place == outer.place
    return not same and is_within(inner.place, outer.body)


RULE = Rule(
    id="FK-R172",
    slug="nested-retries",
    title="Retries inside of retries",
    why="The numbers multiply: three tries inside of five are fifteen requests, sent to a service that is "
    "already in trouble, while the caller waits for all of them.",
    fix="Try again in one place only, best in the outermost one that knows how much time is left.",
    kind="reliability",
    severity="medium",
    languages=EVERY_LANGUAGE,
    check=_check,
)
