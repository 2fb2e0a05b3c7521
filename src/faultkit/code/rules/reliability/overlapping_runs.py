"""Finds periodic work that is started again while its last run is not finished."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import CSHARP, GO, JAVA, JAVASCRIPT, LIKELY, Hit, Rule
from faultkit.code.rules.vocabulary.repetition import is_for_screen
from faultkit.code.rules.vocabulary.text_pattern import TextPattern
from faultkit.code.rules.vocabulary.waits import is_sleep

_TIMERS = frozenset(("setInterval", "timers.setInterval", "global.setInterval"))
_CRONS = frozenset(("node-cron.schedule", "cron.schedule", "cron.CronJob", "node-schedule.scheduleJob"))
_GUARDS = lazy_regex(
    r"running|busy|in_?progress|in_?flight|\block|mutex|locked|isSyncing|syncing|active|working|pending|semaphore"
    r"|processing|Interlocked|WaitAsync|TryEnter|clearInterval|clearTimeout|atomic|CompareAndSwap|TryLock|sem\b"
    r"|executing|polling\b|flushing|refreshing|noOverlap|waitForCompletion|overlap",
    re.IGNORECASE,
)
_FLAG = lazy_regex(r"\bif\s*\(\s*([\w.]+)\s*\)\s*\{?\s*return\b[\s\S]*?\b\1\s*=\s*true\b")
"""A flag that ends a run while another is under way."""
_OFTEN = lazy_regex(r"\*( \*){4,5}|\*/[1-9] \*( \*){3}|\*/\d+( \*){5}")
"""Schedules of every few seconds or minutes."""
_BROWSER = TextPattern(rb"\b(document|window)\.|from ['\"]react['\"]|\buseEffect\b")


def _check(facts: Facts) -> Iterator[Hit]:
    if facts.language in JAVASCRIPT:
        yield from _intervals(facts)
    elif facts.language == "csharp" and not is_for_screen(facts):
        yield from _timers(facts)
    elif facts.language == "go":
        yield from _tickers(facts)
    elif facts.language == "java":
        yield from _annotated(facts)


def _intervals(facts: Facts) -> Iterator[Hit]:
    may_overlap = facts.calls_named(*_TIMERS, *_CRONS)
    if not may_overlap or _BROWSER.search(facts.syntax.source):
        return
    for call in may_overlap:
        place = 0 if call.name in _TIMERS else 1 if call.name in _CRONS else None
        given = None if place is None else call.argument(place=place)
        if given is None or call.has("noOverlap", "waitForCompletion"):
            continue
        if place == 1 and not _OFTEN.fullmatch(call.arguments[0].value.literal.strip()):
            continue
        scope = facts.function_at(given.value.span) or _named(given.value.text, facts)
        if scope is None:
            continue
        work = _work(scope, facts)
        if work is None or _is_guarded(call.span, facts) or _is_guarded(work.span, facts):
            continue
        if place == 0 and (_is_seldom(call, facts) or _ends_in_time(call, work, facts)):
            continue
        what = f"{call.written}() starts the next run even if the last one is not finished"
        yield Hit(call.span, what, LIKELY)


_LIMIT = lazy_regex(
    r"\bAbortSignal\.timeout\(\s*([\w.*\s]+?)\s*\)"
    r"|\b(?:timeout|timeoutMs|timeout_ms|requestTimeout|responseTimeout|headersTimeout|bodyTimeout)\s*:\s*([\w.]+(?:\s*\*\s*[\d_]+)*)"
    r"|\.timeout\(\s*([\w.*\s]+?)\s*\)"
)
"""Limits of time of a request in milliseconds: a signal, an option, a method of the request."""
_PRODUCT = lazy_regex(r"[\d_]+(?:\s*\*\s*[\d_]+)*")


def _ends_in_time(timer: Call, work: Scope, facts: Facts) -> bool:
    """Return whether the limits of time of all requests of a run are together shorter than the period."""
    period = timer.argument(place=1)
    sent = [each for each in facts.own(facts.calls, work) if each.is_awaited and each.arguments]
    if period is None or not sent or any(map(facts.loops_around, sent)):
        return False
    limits = ["".join(found) for found in _LIMIT.findall(facts.text(work.body))]
    if len(limits) < len(sent):
        made = [facts.text(each.origin.span) for each in sent if each.origin is not None]
        limits = ["".join(found) for text in made for found in _LIMIT.findall(text)]
    longest = [_value_of(each, timer, facts) for each in limits]
    is_known = len(longest) >= len(sent) and min(longest) > 0
    return is_known and sum(longest) < _value_of(period.value.text, timer, facts)


_SELDOM = lazy_regex(r"(?i)\b(?:hours?|days?|weeks?)(?:\.ms|_ms|Ms|InMs|ToMs)?\b|_HOURS?\b|_DAYS?\b")
_HOUR_MS = 3_600_000


def _is_seldom(timer: Call, facts: Facts) -> bool:
    """Return whether a timer has a period of an hour or more, which hardly a run exceeds."""
    period = timer.argument(place=1)
    if period is None:
        return False
    text = period.value.text
    return _value_of(text, timer, facts) >= _HOUR_MS or _SELDOM.search(text) is not None


def _value_of(text: str, place: Call, facts: Facts) -> int:
    """Return a number that is written as one, as a product, or as the name of a constant; else 0."""
    made = facts.assignments_to(text, place) if text.isidentifier() else ()
    written = made[0].value.text if len(made) == 1 and made[0].value is not None else text
    if not _PRODUCT.fullmatch(written.strip()):
        return 0
    return prod(int(each.replace("_", "")) for each in written.split("*"))


def _is_guarded(span: Span, facts: Facts) -> bool:
    text = facts.text(span)
    return _GUARDS.search(text) is not None or _FLAG.search(text) is not None


def _work(scope: Scope, facts: Facts) -> Scope | None:
    """Return the async function whose end a timer does not wait for: the callback, or what it calls."""
    inner = [
        each
        for call in facts.own(facts.calls, scope)
        for each in [_named(call.written, facts)]
        if each is not None and each is not scope and each.is_async
    ]
    if inner and (not scope.is_async or any(call.is_awaited for call in facts.own(facts.calls, scope))):
        return next((each for each in inner if _waits_long(each, facts)), None)
    return scope if scope.is_async and _waits_long(scope, facts) else None


def _waits_long(scope: Scope, facts: Facts) -> bool:
    return any(call.is_awaited and not is_sleep(call) for call in facts.own(facts.calls, scope))


def _named(text: str, facts: Facts) -> Scope | None:
    """Return the function of this text with a name: `sync`, `this.sync`, `this.sync.bind(this)`."""
    name = re.sub(r"\.bind\(.*$", "", text)
    if not re.fullmatch(r"(this\.|self\.)?[A-Za-z_$]\w*", name):
        return None
    found = facts.functions_named(name.rpartition(".")[2])
    return found[0] if len(found) == 1 else None


def _timers(facts: Facts) -> Iterator[Hit]:
    """Yield timers of C# with an async callback that no flag or lock guards."""
    for call in facts.calls_named("Timer", "System.Threading.Timer", "System.Timers.Timer"):
        given = call.argument(place=0)
        if given is None or len(call.arguments) < 3 or _is_once(call):
            continue
        scope = facts.function_at(given.value.span) or _named(given.value.text, facts)
        if scope is None or not scope.is_async or not _waits_long(scope, facts):
            continue
        called = [scope, *_called(scope, facts)]
        if any(_HAS_LIMIT.search(facts.text(each.body)) for each in called):
            continue
        if not any(_is_guarded(span, facts) for span in (call.span, *(each.span for each in called))):
            what = f"{call.written} starts the next run even if the last one is not finished"
            yield Hit(call.span, what, LIKELY)


_HAS_LIMIT = lazy_regex(r"\.CancelAfter\(|new CancellationTokenSource\(\w")
"""A run with a time limit of its own ends before the next, unless the limit is longer than the period."""


def _called(scope: Scope, facts: Facts, levels: int = 2) -> Iterator[Scope]:
    """Yield the functions of this text that a function calls."""
    for call in facts.own(facts.calls, scope) if levels else ():
        found = _named(call.written, facts)
        if found is not None and found is not scope:
            yield found
            yield from _called(found, facts, levels - 1)


def _is_once(call: Call) -> bool:
    return "Infinite" in call.arguments[-1].value.text or call.arguments[-1].value.text in ("-1", "0")


def _tickers(facts: Facts) -> Iterator[Hit]:
    """Yield `for range ticker.C { go work() }`."""
    for call in facts.calls:
        if not call.is_launched:
            continue
        loops = facts.loops_around(call)
        if not loops or _GUARDS.search(facts.text(loops[-1].body)):
            continue
        if loops[-1].kind == "each" and (
            loops[-1].over.endswith(".C") or loops[-1].over.startswith("time.Tick(")
        ):
            what = "every tick starts a goroutine, even if the last one is not finished"
            yield Hit(call.span, what, LIKELY)


def _annotated(facts: Facts) -> Iterator[Hit]:
    """Yield `@Async @Scheduled(fixedRate = …)`: runs of the same method side by side (Spring)."""
    for scope in facts.scopes:
        marks = {each.method: each for each in scope.decorators}
        if not {"Async", "Scheduled"} <= {*marks} or "SchedulerLock" in marks:
            continue
        if not _GUARDS.search(facts.text(scope.body)):
            what = f"{scope.short_name}() is started again even if its last run is not finished"
            yield Hit(marks["Scheduled"].span, what, LIKELY)


RULE = Rule(
    id="FK-R095",
    slug="overlapping-runs",
    title="Periodic work that overlaps with itself",
    why="When a run takes longer than the period, runs pile up: they do the same work twice, and slow each "
    "other down until nothing ends.",
    fix="Start the next run when the last has ended (setTimeout at its end, a loop with a pause), or skip "
    "a run while one is under way.",
    kind="reliability",
    severity="medium",
    languages=(*JAVASCRIPT, *GO, *JAVA, *CSHARP),
    check=_check,
)
