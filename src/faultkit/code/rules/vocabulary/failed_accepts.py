"""Loops that accept connections, and accept again at once after a failure.

    for {
        conn, err := listener.Accept()
        if err != nil {
            log.Print(err)
            continue
        }
        go serve(conn)
    }

A listener without file descriptors left fails at once, each time: the loop takes a core and fills the log.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Loop, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.facts.fact_values import Arm
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.waits import is_sleep

ACCEPTS = frozenset(
    ("accept", "Accept", "AcceptTcpClientAsync", "AcceptTcpClient", "AcceptSocketAsync", "AcceptAsync",
     "AcceptSocket", "AcceptTCP", "accept_bi", "sock_accept", "AcceptUnix")
)  # fmt: skip
LISTENERS = lazy_regex(
    r"(listen\w*|server\w*|sock(et)?|acceptor|(^|[._])(ln|lis|l|ss|srv))(\(\))?$", re.IGNORECASE
)
IN_MACRO = lazy_regex(r"\b\w*(listener|server|incoming)\w*\.accept\(\)")
"""What stands in a macro of Rust has no calls of its own."""
_ENDS = lazy_regex(
    r"ctx|clos|stop|shut|cancel|done|quit|running|alive|disposed|interrupt|EINVAL|EBADF|abort", re.IGNORECASE
)
"""Conditions of branches in which the listener itself has ended."""
_COUNTS = lazy_regex(r"^(inc|Inc|increment|Increment|add|Add|is|Is|as|As|Err|Error|to_string|kind)$")


def failed_accepts(facts: Facts) -> Iterator[tuple[Span, Loop, str]]:
    """Yield the places where a failed accept is repeated at once, with the loop and what happens."""
    for loop, call in _accepts(facts):
        what = f"{call.written}() is called again at once when it fails, as it does without descriptors"
        if facts.language == "rust":
            places = _failed_arms(call, loop, facts)
        else:
            places = [
                handler.body
                for each in facts.tries_around(call)
                if is_within(each.span, loop.body)
                for handler in each.handlers
                if not re.search(r"Timeout|timeout|Cancel", " ".join(handler.types))
            ]
        for place in places:
            if _goes_on(place, facts) and not _pauses_after(place, loop, facts):
                yield place, loop, what
                break


def _accepts(facts: Facts) -> Iterator[tuple[Loop, Call]]:
    for call in facts.calls_of_method(*ACCEPTS, "select"):
        if call.method == "select":
            if facts.language != "rust" or not IN_MACRO.search(facts.text(call.span)):
                continue
        elif not LISTENERS.search(call.receiver_written):
            continue
        loops = facts.loops_around(call)
        if loops and loops[-1].kind in ("endless", "while"):
            yield loops[-1], call


def _failed_arms(call: Call, loop: Loop, facts: Facts) -> list[Span]:
    """Return the arms for a failure of a match on what was accepted (Rust)."""
    held = {name for name in call.assigned if name.isidentifier()}
    found = []
    for arm in facts.within(facts.arms, loop.body):
        if not re.match(r"\s*Err\(", facts.text(arm.span)[:20]):
            continue
        asked = facts.text(Span(arm.fork.start, arm.span.start)).partition("{")[0]
        words = asked.removeprefix("match").split()
        if is_within(call.span, arm.fork) or (words and words[0] in held):
            found.append(arm.span)
    return found


def _goes_on(place: Span, facts: Facts) -> bool:
    """Return whether a failure only leads to a line in the log, unless the listener has ended."""
    ended = [arm for arm in facts.within(facts.arms, place) if arm.span != place and _is_end(arm, facts)]
    for call in facts.within(facts.calls, place):
        if any(is_within(call.span, arm.span) for arm in ended) or is_logging(call) or call.is_argument:
            continue
        if not _COUNTS.match(call.method) and not call.constructs:
            return False
    for step in facts.within(facts.steps, place):
        if step.kind in ("return", "break", "raise", "await", "yield") and not any(
            is_within(step.span, arm.span) for arm in ended
        ):
            return False
    return facts.language != "go" or "<-" not in facts.text(place)


def _is_end(arm: Arm, facts: Facts) -> bool:
    return _ENDS.search(facts.text(Span(arm.fork.start, arm.span.start))) is not None


def _pauses_after(place: Span, loop: Loop, facts: Facts) -> bool:
    if re.search(r"\bcontinue\b", facts.text(place)):
        return False
    return any(is_sleep(call) for call in facts.within(facts.calls, Span(place.end, loop.body.end)))
