"""Finds a round trip for every item of a list (the N+1 problem)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Call, Facts, Loop
from faultkit.code.rules.rule import GO, JAVA, JAVASCRIPT, LIKELY, POSSIBLE, PYTHON, Hit, Rule
from faultkit.code.rules.vocabulary.remote_calls import remote_calls
from faultkit.code.rules.vocabulary.repetition import (
    counter_of,
    is_in_retry_loop,
    is_over_items,
    uses_item,
)
from faultkit.code.rules.vocabulary.waits import waits_in

_TOGETHER = frozenset(
    ("gather", "wait", "as_completed", "all", "allSettled", "create_task", "submit", "ensure_future")
)
_GROUPS = re.compile(
    r"batch|chunk|page|bulk|shard|partition|region|retr|attempt|backoff|delay|mirror|replica|fallback",
    re.IGNORECASE,
)
_PAGES = re.compile(r"offset|cursor|skip|\bstart|\bsince\b|\bpart(s|_?num\w*)?\b", re.IGNORECASE)
_MESSAGES = re.compile(r"message|event|job|task|record|msgs|consumer", re.IGNORECASE)
_FETCHES = re.compile(
    r"^_?(fetch|load|get|query|find|lookup|request|download|send|post|notify|enrich|resolve)(_|[A-Z]|$)"
)


def _check(facts: Facts) -> Iterator[Hit]:
    seen: set[Call] = set()
    for remote in remote_calls(facts):
        call = remote.call
        loop = _loop(call, facts)
        if loop is None or call in seen or (remote.kind != "database" and _is_together(call, loop, facts)):
            continue
        seen.add(call)
        if not remote.is_read and remote.kind == "database":
            continue  # Writes row by row are FK-P019.
        if not remote.is_read and _MESSAGES.search(loop.over):
            continue  # Each message is a separate unit of work.
        what = f"{call.written}() goes out once for every item of {_over(loop)}"
        if remote.through is not None:
            what += f" (it calls {remote.through.written}())"
        yield Hit(call.span, what, LIKELY if remote.is_read else POSSIBLE)
    for call in facts.calls:
        if call.is_awaited and call not in seen and _FETCHES.match(call.method) and call.arguments:
            loop = _loop(call, facts)
            if loop is not None and not loop.is_async and not _is_together(call, loop, facts):
                what = f"{call.written}() is awaited once for every item of {_over(loop)}, one after another"
                yield Hit(call.span, what, POSSIBLE)


def _loop(call: Call, facts: Facts) -> Loop | None:
    """Return the innermost loop over items, if each item makes another call."""
    around = facts.loops_around(call)
    if len(around) > 1 and not is_over_items(around[-1]) and is_in_retry_loop(call, facts):
        around = around[:-1]  # A retry loop inside a loop over items.
    elif around and is_in_retry_loop(call, facts):
        return None
    if not around or call.is_launched:
        return None
    loop = around[-1]
    if not is_over_items(loop):
        return loop if _is_for_each_number(call, loop, facts) else None
    if _GROUPS.search(loop.over) or any(_GROUPS.search(name) for name in loop.targets):
        return None
    if _returns_first_success(loop, facts) or not (loop.kind == "count" or uses_item(call, loop, facts)):
        return None
    return loop


def _is_for_each_number(call: Call, loop: Loop, facts: Facts) -> bool:
    """Return whether a counting loop calls for each number: `for i in range(n): get(f"/items/{i}")`.

    Loops that wait, or that may end early, poll, search or try again. Pages must be read in turn."""
    counter = counter_of(loop, facts)
    if not re.fullmatch(r"[A-Za-z]\w*", counter) or waits_in(loop, facts):
        return False
    if any(step.kind in ("return", "break") for step in facts.within(facts.steps, loop.body)):
        return False
    text = facts.text(call.span)
    if any(_GROUPS.search(each) or _PAGES.search(each) for each in (loop.over, counter, text)):
        return False
    names = {counter}
    for each in facts.within(facts.assignments, loop.body):
        if re.search(rf"\b{counter}\b", facts.text(each.span)):
            names.update(target for target in each.targets if target.isidentifier())
    return any(re.search(rf"(?<![\w.]){name}\b", text) for name in names)


def _returns_first_success(loop: Loop, facts: Facts) -> bool:
    """Return whether the loop searches the first that works: `for url in mirrors: try: return get(url)`."""
    for each in facts.within(facts.tries, loop.body):
        if any(step.kind == "return" for step in facts.within(facts.steps, each.body)):
            return True
    return False


def _is_together(call: Call, loop: Loop, facts: Facts) -> bool:
    """Return whether all run at the same time: `Promise.all(xs.map(…))`, `gather(*(f(x) for x in xs))`."""
    around = [each for each in facts.calls_around(call) if each.method in _TOGETHER]
    if around:
        return True
    if loop.kind != "comprehension" or facts.language == "java":
        return False
    if facts.language == "python":
        return not call.is_awaited and facts.imports_any("asyncio", "anyio") and facts.is_in_async(call)
    # `const all = xs.map(async …)` starts all of them; they are awaited elsewhere.
    return True


def _over(loop: Loop) -> str:
    return loop.over if loop.kind != "count" and len(loop.over) < 40 else "the loop"


RULE = Rule(
    id="FK-P004",
    slug="call-per-item",
    title="A round trip for every item",
    why="A list of a hundred items waits a hundred times for the network; it is fast in tests and slow with "
    "real data.",
    fix="Ask for all items in one query or batch request, or run a bounded number of requests at a time.",
    kind="performance",
    severity="high",
    languages=(*PYTHON, *JAVASCRIPT, *GO, *JAVA),
    check=_check,
)
