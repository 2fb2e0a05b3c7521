"""What ends a loop that tries again: a number of tries, a time, a context, or the same error twice."""

from __future__ import annotations

import re

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Facts, Loop, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_CLOCK = TextPattern(
    r"time\.(Now|Since|Until|time|monotonic|perf_counter)\(|\bDate\.now\(|performance\.now\(|currentTimeMillis\("
    r"|nanoTime\(|\belapsed\w*\b|Instant(::|\.)now\(|\b(Utc)?Now\b|TickCount|markNow\(|\b\w*[dD]eadline\w*\b"
)


def _ends_by_clock(loop: Loop, facts: Facts) -> bool:
    """Return whether a branch that looks at the clock leaves the loop."""
    if not _CLOCK.search(facts.text(loop.body)):
        return False
    return any(
        step.kind == "branch" and _CLOCK.search(step.text) and _leaves(step.span, facts)
        for step in facts.within(facts.steps, loop.body)
    )


_SAME_ERROR = lazy_regex(r"\b(\w+) == (?:\w*[eE]rr|e)\b|\b(?:\w*[eE]rr|e)(?:\.\w+(?:\(\))?)? == (\w+)")


def _ends_with_same_error(loop: Loop, facts: Facts) -> bool:
    """Return whether the loop is left when an error comes twice: `if last == err.Error() { break }`."""
    for step in facts.within(facts.steps, loop.body):
        found = _SAME_ERROR.search(step.text) if step.kind == "branch" else None
        name = "" if found is None else found[1] or found[2]
        if name and _leaves(step.span, facts):
            assigned = facts.within(facts.assignments, loop.body)
            if any(each.targets == (name,) and each.span.start > step.span.end for each in assigned):
                return True
    return False


def _leaves(branch: Span, facts: Facts) -> bool:
    """Return whether a branch leaves the loop, and not only the round."""
    return any(
        arm.leaves == "function"
        or (arm.leaves == "loop" and not facts.text(arm.span).rstrip(" ,;}\n\t").endswith("continue"))
        for arm in facts.arms
        if arm.fork == branch
    )


def _ends_with_context(loop: Loop, facts: Facts) -> bool:
    """Return whether a Go loop has `case <-ctx.Done(): return`, or the like with another channel."""
    return facts.language == "go" and any(
        arm.leaves == "function" and re.match(r"case\s+<-", facts.text(arm.span))
        for arm in facts.within(facts.arms, loop.body)
    )


_FILTER = lazy_regex(r"\bwhen\s*\([^)]*(?:[<>]|Cancel|[tT]oken)")


def is_limited(loop: Loop, until_done: bool, facts: Facts) -> bool:
    """Return whether a loop that retries ends after some tries or some time.

    `until_done`: its condition is a flag that a success sets, which limits nothing."""
    if (loop.kind != "endless" and not until_done) or _ends_with_context(loop, facts):
        return True
    for each in facts.tries:
        for handler in each.handlers:
            if not is_within(handler.span, loop.body):
                continue
            # `catch (IOException) when (attempt < 5)` lets the last one through.
            if handler.exits or (facts.language == "csharp" and _FILTER.search(facts.text(handler.head))):
                return True
    if _ends_by_clock(loop, facts) or _ends_with_same_error(loop, facts):
        return True
    counters = {
        target
        for each in facts.within(facts.assignments, loop.span)
        if each.operator in ("+=", "-=", "++", "--")
        for target in each.targets
    }
    asked = [step.text for step in facts.within(facts.steps, loop.body) if step.kind == "branch"]
    # `Err(error) if attempt < 5 => …` (Rust)
    asked += [
        name
        for each in facts.within(facts.tries, loop.body)
        for handler in each.handlers
        for name in handler.types
        if " if " in name
    ]
    return any(re.search(rf"\b{re.escape(name)}\b", text) for text in asked for name in counters)
