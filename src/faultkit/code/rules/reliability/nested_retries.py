"""Finds retries inside of retries: their numbers multiply."""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.code.facts import Facts, Place, is_within
from faultkit.code.rules.rule import EVERY_LANGUAGE, LIKELY, Hit, Rule
from faultkit.code.rules.vocabulary.repetition import retries
from faultkit.code.rules.vocabulary.retry_loops import Retry
from faultkit.code.rules.vocabulary.retrying_clients import client_in, reached_by


def _check(facts: Facts) -> Iterator[Hit]:
    known = [each for each in retries(facts) if not _is_service(each) and not _goes_on(each, facts)]
    if not known:
        return
    reported = set[Retry]()
    for outer in known:
        inner = next((each for each in known if each is not outer and _is_inside(each, outer, facts)), None)
        if inner is not None and inner not in reported:
            reported.add(inner)
            what = "this retry runs inside another retry: the attempts multiply"
            yield Hit(inner.place, what, LIKELY)
    for outer in known if not reported else ():
        if not _runs_code(outer):
            continue
        if client_in(outer, facts) is not None:
            what = "this repeats requests of a client that tries again by itself: the attempts multiply"
            yield Hit(outer.place, what, LIKELY)
        elif (inner := _in_reached(outer, known, facts)) is not None and inner not in reported:
            reported.add(inner)
            what = "this repeats a function that tries again by itself: the attempts multiply"
            yield Hit(outer.place, what, LIKELY)


def _goes_on(each: Retry, facts: Facts) -> bool:
    """Return whether a retry is a function's call of itself, which hands on the number of attempts."""
    if each.call is None or each.call.receiver_written:
        return False
    return any(scope.short_name == each.call.method for scope in facts.functions_around(each.call))


def _runs_code(each: Retry) -> bool:
    """Return whether what is tried is written here; a policy only says how."""
    return each.call is None or each.body != each.call.span


def _in_reached(outer: Retry, known: list[Retry], facts: Facts) -> Retry | None:
    """Return a retry in a function that runs in every try."""
    scopes = reached_by(outer, facts) if len(known) > 1 else []
    for call in facts.calls_of_method("retryWhen"):
        if call is not outer.call and is_within(call.span, outer.body):
            return Retry("helper", call.span, call.span, call, None, None, None, None)
    for scope in scopes:
        for each in known:
            if each is outer or not _runs_code(each) or not is_within(each.body, scope.span):
                continue
            if each.how == "decorator" and facts.language in ("java", "kotlin", "csharp"):
                continue  # A proxy applies it, which a call within the class does not pass.
            return each
    return None


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
