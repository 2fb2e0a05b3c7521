"""Channels of Go that are used as semaphores: `slots <- struct{}{}` takes a slot, `<-slots` gives it back."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Facts, Place, is_within
from faultkit.code.languages.syntax import Span

_PUTS = lazy_regex(rb"^[ \t]*([\w.]+)\s*<-\s*struct\{\}\{\}[ \t]*$", re.MULTILINE)
_GETS = lazy_regex(rb"^[ \t]*(?:case[ \t]+)?<-\s*([\w.]+)[ \t]*:?[ \t]*$", re.MULTILINE)
_TICKS = lazy_regex(rb"\.(C|Done)$|done|stop|quit", re.IGNORECASE)


def slots_kept(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield from where a slot is taken to a return before it is given back, with what gives it back."""
    source = facts.syntax.source
    if b"<- struct{}{}" not in source:
        return
    puts = {found[1] for found in _PUTS.finditer(source)}
    # A full channel of tokens is used the other way round.
    both = [(found, True) for found in _PUTS.finditer(source)]
    both += [
        (found, False) for found in _GETS.finditer(source) if found[1] in puts and not _TICKS.search(found[1])
    ]
    for found, is_put in both:
        place = Place(Span(found.start(1), found.end()))
        scope, name = facts.function_of(place), found[1].decode()
        if scope is None or _is_of_one_run(name, place, facts):
            continue
        channel = re.escape(found[1])
        taken_out = rb"(?<!\w)<-\s*" + channel + rb"(?![\w.])"
        gives = re.compile(taken_out if is_put else rb"(?<![\w.])" + channel + rb"\s*<-\s*struct\{\}")
        given = [each.start() for each in gives.finditer(source, found.end(), scope.body.end)]
        if not given or gives.search(source, scope.body.start, found.start()):
            continue
        block = _block_of(place.span.start, facts)
        # Given back in the block in which it was taken: what comes behind that has no slot.
        beside = min((at for at in given if _block_of(at, facts) == block), default=scope.body.end)
        for step in facts.own(facts.steps, scope):
            if step.kind != "return" or not found.end() < step.span.start < min(given[-1], beside):
                continue
            if facts.are_exclusive(place, step):
                continue  # Another case of the `select`: nothing was taken.
            arm = max((each.span.start for each in facts.arms if is_within(step.span, each.span)), default=0)
            # Given back before it in its own block, or on all ways before.
            if _is_passed_on(step.text, gives, facts):
                continue
            if not any(arm < at < step.span.start or _is_sure(at, step.span, facts) for at in given):
                yield (
                    Span(place.span.start, step.span.end),
                    f"<-{name}" if is_put else f"{name} <- struct{{}}{{}}",
                )
                break


def _is_passed_on(returned: str, gives: re.Pattern[bytes], facts: Facts) -> bool:
    """Return whether a return gives the caller a function that gives the slot back."""
    return any(
        gives.search(facts.syntax.source, *scope.span)
        for name in re.findall(r"(\w+)\b(?:\(|,|$)", returned)
        for scope in facts.functions_named(name)
    )


def _is_of_one_run(name: str, place: Place, facts: Facts) -> bool:
    """Return whether the function that takes the slot made the channel: its slots end with a return."""
    made = facts.assignments_to(name, place) if name.isidentifier() else ()
    return any(each.scope is facts.function_of(place) for each in made)


def _block_of(at: int, facts: Facts) -> int:
    """Return where the innermost branch around a place begins; 0 outside of all of them."""
    around = [each.span.start for each in facts.arms if each.span.start <= at < each.span.end]
    return max(around, default=0)


def _is_sure(at: int, step: Span, facts: Facts) -> bool:
    """Return whether a slot is given back by a deferred function, or before a step and in no branch."""
    place = Place(Span(at, at + 1))
    if facts.is_deferred(place):
        return at < step.start
    return at < step.start and not any(is_within(place.span, each.span) for each in facts.arms)
