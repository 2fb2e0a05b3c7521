"""Timers and periodic tasks that go on after the work or the connection that they were started for.

const beat = setInterval(extend, 20000);      scheduler.scheduleAtFixedRate(() -> ping(session), …)
await transcode(job);                         in a method that runs for each connection, and keeps nothing
clearInterval(beat);                          by which the task could be cancelled
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.facts.build import is_logging
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.connections import is_of_connection
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.removals import key_of
from faultkit.code.rules.vocabulary.repetition import frequency_of, is_for_screen
from faultkit.code.rules.vocabulary.short_lives import is_one_client
from faultkit.code.rules.vocabulary.started_tasks import started_for

_SCHEDULES = frozenset(("scheduleAtFixedRate", "scheduleWithFixedDelay", "fixedRateTimer"))


@dataclass(frozen=True, slots=True)
class _Form:
    """How a language starts and ends a periodic task."""

    starts: re.Pattern[str]
    ends: re.Pattern[str]
    """Methods of the variable, or functions that are given it."""


_JAVASCRIPT = _Form(lazy_regex(r"(^|\.)setInterval$"), lazy_regex(r"^(clearInterval|clearTimeout)$"))
_JVM = _Form(
    lazy_regex(r"\.(scheduleAtFixedRate|scheduleWithFixedDelay)$|(^|\.)Thread(\.ofVirtual\(\)\.start)?$"),
    lazy_regex(r"^(cancel|interrupt)$"),
)
_FORMS = {
    "javascript": _JAVASCRIPT,
    "typescript": _JAVASCRIPT,
    "tsx": _JAVASCRIPT,
    "java": _JVM,
    "kotlin": _JVM,
    "csharp": _Form(
        lazy_regex(r"^(System\.(Threading|Timers)\.)?Timer$"),
        lazy_regex(r"^(Dispose|DisposeAsync|Stop|Change)$"),
    ),
    "rust": _Form(lazy_regex(r"(^|\.)(tokio\.|task\.)spawn$"), lazy_regex(r"^abort$")),
}
_LOOPS_FOR_EVER = lazy_regex(r"\bloop\s*\{|while\s*\(?\s*(true|!Thread)|interval\b")
_FAILS_IN_RUST = lazy_regex(r"\?\s*[;,)\n.]")


def ended_on_success_only(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield what ends a periodic task, and is skipped if the work before it fails."""
    form = _FORMS.get(facts.language)
    if form is None:
        return
    for call in facts.calls_with_name(form.starts.search):
        if len(call.assigned) != 1:
            continue
        name, scope = call.assigned[0].removeprefix("mut "), facts.function_of(call)
        if scope is None or not name.removeprefix("self.").isidentifier() or call.is_managed:
            continue
        if name.startswith("self."):
            # What another method may end is no concern of this one.
            everywhere = [each for each in facts.calls if _ends(each, name, form)]
            if not all(facts.function_of(each) is scope for each in everywhere):
                continue
        in_loop = facts.language == "rust" or "Thread" in call.name
        if in_loop and not _LOOPS_FOR_EVER.search(facts.text(call.span)):
            continue
        ends = [each for each in facts.within(facts.calls, scope.body) if _ends(each, name, form)]
        # One in a function inside is called on other ways, such as those of `finally` and of listeners.
        if not ends or any(facts.function_of(each) is not scope for each in ends):
            continue
        if any(facts.is_in_finally(each) or facts.handlers_around(each) for each in ends):
            continue
        way = Span(call.span.end, ends[0].span.start)
        if way.start < way.end and _may_fail(way, scope, facts):
            shown = facts.text(ends[0].span)
            yield ends[0].span, f"{shown} is skipped if what comes before it fails: {name} then runs for ever"


def _ends(call: Call, name: str, form: _Form) -> bool:
    if not form.ends.match(call.method):
        return False
    names = (name, name.replace("self.", "this."))
    return call.receiver_written.rstrip("?") in names or (
        not call.receiver_written and any(each.value.text in names for each in call.positional)
    )


def ended_unless_left_early(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield tickers and contexts of Go that are ended at one place, which an earlier return passes by."""
    for call in facts.calls_named("time.NewTicker", "context.WithCancel"):
        scope = facts.function_of(call)
        if scope is None or not call.assigned:
            continue
        ticks = call.method == "NewTicker"
        end = f"{call.assigned[0]}.Stop" if ticks else call.assigned[-1]
        uses = re.findall(rf"(?<![\w.]){re.escape(end)}\b", facts.text(scope.body))
        ends = [each for each in facts.own(facts.calls, scope) if each.written == end]
        if len(ends) != 1 or len(uses) != (1 if ticks else 2) or facts.is_deferred(ends[0]):
            continue
        way = Span(call.span.end, ends[0].span.start)
        left = [step for step in facts.within(facts.steps, way) if step.kind == "return"]
        launched = any(each.is_launched for each in facts.within(facts.calls, way))
        early = [step for step in left if facts.function_of(step) is scope]
        if early and launched and not facts.loops_around(ends[0]):
            yield ends[0].span, f"an earlier return skips {end}(): what was started goes on for ever"


def _may_fail(way: Span, scope: Scope, facts: Facts) -> bool:
    """Return whether something between two places may leave the function with an error."""
    if facts.language == "rust":
        return _FAILS_IN_RUST.search(facts.text(way)) is not None
    for call in facts.within(facts.calls, way):
        if facts.function_of(call) is not scope or is_logging(call):
            continue
        if facts.language not in ("java", "kotlin") and not call.is_awaited:
            continue
        if not any(
            handler.is_broad and not handler.raises
            for each in facts.tries_around(call)
            for handler in each.handlers
        ):
            return True
    return False


def scheduled_per_connection(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield periodic tasks of the JVM that are started for each connection or call, and never cancelled."""
    if facts.language not in ("java", "kotlin") or is_for_screen(facts):
        return
    for call in facts.calls_of_method(*_SCHEDULES):
        scope = facts.named_function_of(call)
        if scope is None or not call.receiver_written or call.is_returned:
            continue
        often = _often(call, scope, facts)
        if not often or _ends_itself(call, facts):
            continue
        kept = not call.is_discarded
        if kept and re.search(r"\.cancel\(|\bcancel\w*\(", facts.whole_text):
            continue
        if not kept and _is_ended_otherwise(call, facts):
            continue
        yield call.callee, f"{call.written}() starts a task for every {often}, and none is ever cancelled"


def _often(call: Call, scope: Scope, facts: Facts) -> str:
    """Return what a task is started for again and again; empty if nothing shows that it is."""
    if is_of_connection(scope):
        return "connection"
    if frequency_of(call, facts) == "request":
        return "request"
    if not call.is_discarded or not call.positional:
        return ""
    return started_for(call, scope, call.positional[0].value.span, None, facts)


def _ends_itself(call: Call, facts: Facts) -> bool:
    """Return whether the task throws, which ends it, or cancels itself."""
    text = facts.text(call.span)
    called = [each.method for each in facts.within(facts.calls, Span(call.callee.end, call.span.end))]
    texts = [
        text,
        *(facts.text(each.body) for each in facts.functions_named(*called)),
    ]
    return any(re.search(r"\bthrow\b|\.cancel\(|\bshutdown(Now)?\(", each) for each in texts)


def _is_ended_otherwise(call: Call, facts: Facts) -> bool:
    """Return whether the executor belongs to the connection: it is made here, or shut down with it.

    One that many connections share is shut down when the program ends, which is too late for their tasks."""
    head = call.receiver_written.removeprefix("this.").removeprefix("self.").partition(".")[0]
    scope = facts.named_function_of(call)
    own = scope is not None and any(
        head in each.targets and each.call is not None for each in facts.within(facts.assignments, scope.body)
    )
    if own or scope is None:
        return True
    ends = [
        facts.named_function_of(each)
        for each in facts.calls_of_method("shutdown", "shutdownNow", "close")
        if key_of(each.receiver_written) == head
    ]
    shared = facts.route_of(call) is not None or not is_one_client(scope.owner)
    return any(each is None or not (shared and _is_at_stop(each)) for each in ends)


_AT_STOP = NamePattern(
    r"^_?(stop|shutdown|destroy|close|dispose|terminate|tear_?down|pre_?destroy|cleanup)$", re.I
)


def _is_at_stop(scope: Scope) -> bool:
    """Return whether a method ends the whole object, not what it does for one client."""
    named = _AT_STOP.match(scope.short_name) is not None and not scope.parameters
    return named or any(each.method == "PreDestroy" for each in scope.decorators)
