"""Results of writes that Rust code throws away, and writes that come after others."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.answered_failures import (
    WRITES,
    has_write_before,
    is_beside,
    is_commit,
    is_webhook,
    is_write,
)
from faultkit.code.rules.vocabulary.dropped_failures import is_passed_on, only_logs_or_counts
from faultkit.code.rules.vocabulary.failures import has_comment
from faultkit.code.rules.vocabulary.remote_calls import remote_calls
from faultkit.code.rules.vocabulary.undone_work import says_best_effort

REPORTS = lazy_regex(r"logg|metric|telemetry|analytic", re.IGNORECASE)
MEANT = lazy_regex(r"ignor|best[ -]effort|in case|if any|may fail|not fatal", re.IGNORECASE)
TIDIES = lazy_regex(
    r"delete|remove|cancel|clean|release|close|stop|clear|rollback|abort|unlink", re.IGNORECASE
)


def is_second(work: Call, let_go: Span, facts: Facts) -> bool:
    """Return whether another write was done before: what failed may be something beside it.

    A commit keeps what was written before, and who calls a webhook would send it again."""
    scope = facts.function_of(work)
    if scope is None or is_commit(work) or is_webhook(scope):
        return False
    return has_write_before(Span(min(work.span.start, let_go.start), let_go.end), scope, facts)


def thrown_away(facts: Facts) -> Iterator[tuple[Span, str, bool]]:
    """Yield `let _ = save(…).await` and `save(…).await.ok();`, what is wrong, and whether little is lost."""
    own_writes = {
        scope.short_name
        for each in remote_calls(facts)
        if not each.is_read and each.kind != "cache" and each.through is None
        for scope in [facts.named_function_of(each.call)]
        if scope is not None
    }
    for call in facts.calls:
        dropped = call
        if call.is_discarded and call.origin is not None and _ends_in_nothing(call, facts):
            dropped = _source_of(call)
        elif not (call.assigned == ("_",) and (call.is_awaited or call.method in _PASSES)):
            continue
        else:
            dropped = _source_of(call) if call.method in _PASSES else call
        if not dropped.is_awaited or is_beside(dropped) or is_passed_on(call, facts):
            continue
        remote = any(
            not each.is_read and each.kind != "cache" and each.call is dropped for each in remote_calls(facts)
        )
        named = dropped.method in own_writes and dropped.receiver in ("", "self", "Self")
        verb = WRITES.match(dropped.method) is not None and (
            bool(dropped.arguments) or dropped.method == "commit"
        )
        text = facts.text(call.span)
        if facts.route_of(call) is None and ("inspect_err" in text or _LOGGED.search(text)):
            continue  # It is logged, and nothing is answered.
        if MEANT.search(facts.comment_at(call)) or _leaves_after(dropped, facts):
            continue
        if has_comment(text) or _IF_ANY.search(facts.text_with_values(dropped)):
            continue
        if (remote or named or verb) and not _is_ending(call, facts):
            is_little = (
                _is_done_again(call, facts)
                or is_second(dropped, call.span, facts)
                or _follows_change(dropped, facts)
                or _logs_itself(dropped, facts)
                or any(says_best_effort(one, facts) for one in (call, facts.named_function_of(call)) if one)
            )
            yield call.span, f"the error of {dropped.written}() is thrown away", is_little
    yield from _only_if_done(facts)


_LOGGED = lazy_regex(
    r"\b(?:map_err|or_else|unwrap_or_else)\(\s*(?:move\s*)?\|[^|]*\|[^;]*?\b(?:warn|error|info|debug|trace)!"
)
_PAUSES = lazy_regex(r"\.tick\(\)\s*\.await|\bsleep\(|interval")


def _is_done_again(call: Call, facts: Facts) -> bool:
    """Return whether the next round of a loop that waits, or of a reporter, does the same again (Rust)."""
    loops = facts.loops_around(call)
    if any(REPORTS.search(scope.owner) for scope in facts.functions_around(call)):
        return True
    return any(loop.kind in ("while", "endless") and _PAUSES.search(facts.text(loop.body)) for loop in loops)


_ASKS = lazy_regex(
    r"_?(?:get|find|list|load|fetch|read|is|has|count|check|valid\w*|verify|select|query|exists|try_get|connect"
    r"|acquire|begin|lock|recv|next|sleep|tick|clone|wait\w*|resolve|parse|decode|open)(?:_|$)"
)


def _follows_change(call: Call, facts: Facts) -> bool:
    """Return whether the function has waited for another change before, whose error it looked at (Rust)."""
    scope = facts.function_of(call)
    if scope is None or is_commit(call):
        return False
    before = Span(scope.body.start, call.span.start)
    return any(
        each.is_awaited
        and each.arguments
        and not each.assigned
        and not _ASKS.match(each.method)
        and not facts.are_exclusive(each, call)
        for each in facts.within(facts.calls, before)
    )


def _logs_itself(call: Call, facts: Facts) -> bool:
    """Return whether a function of this text logs its own failure."""
    own = facts.functions_named(call.method)
    return len(own) == 1 and any(
        is_logging(each)
        for tried in facts.within(facts.tries, own[0].body)
        for handler in tried.handlers
        for each in facts.within(facts.calls, handler.body)
    )


_IF_ANY = lazy_regex(r"\b(?:DROP|CREATE)\s+\w+(?:\s+\w+)?\s+IF\s", re.IGNORECASE)
"""Statements that are run in case there is something to do."""


def _leaves_after(call: Call, facts: Facts) -> bool:
    """Return whether a thing is removed in a branch that then refuses it."""
    if not TIDIES.match(call.method):
        return False
    around = [arm for arm in facts.arms if is_within(call.span, arm.span)]
    rest = facts.text(Span(call.span.end, around[-1].span.end)) if around else ""
    return re.search(r";\s*(?:return\s+(?:None|Err)\b|err\w*!|bail!)", rest) is not None


_IF_OK = lazy_regex(r"let\s+Ok\(")


def _only_if_done(facts: Facts) -> Iterator[tuple[Span, str, bool]]:
    """Yield `if let Ok(id) = save(…).await { … }` without an else, in a function that answers (Rust)."""
    for step in facts.steps_of("branch"):
        route = facts.route_of(step) if _IF_OK.match(step.text) else None
        arms = [arm for arm in facts.within(facts.arms, step.span) if arm.fork == step.span]
        if route is None or len(arms) != 1 or arms[0].leaves:
            continue
        head = Span(step.span.start, arms[0].span.start)
        write = next((call for call in facts.within(facts.calls, head) if is_write(call, facts)), None)
        if write is not None and write.is_awaited and not facts.comment_at(step):
            what = f"when {write.written}() fails, the request is still answered with success"
            yield step.span, what, False


_PASSES = frozenset(("inspect_err", "map_err", "context", "with_context", "or_else", "inspect", "map"))


def _ends_in_nothing(call: Call, facts: Facts) -> bool:
    """Return whether a result ends here: `….ok();`, `….unwrap_or_else(|e| error!("…"));` (Rust)."""
    if call.method in ("ok", "unwrap_or_default") and not call.arguments:
        return True
    given = call.argument(place=0) if call.method in ("unwrap_or_else", "unwrap_or") else None
    return given is not None and only_logs_or_counts(given.value.span, facts)


def _source_of(call: Call) -> Call:
    """Return what made a result, before it was logged or given a context."""
    source = call if call.origin is None else call.origin
    while source.method in _PASSES and source.origin is not None and not source.is_awaited:
        source = source.origin
    return source


_ENDINGS = lazy_regex(
    r"drop|close|shutdown|clean_?up|rollback|abort|purge|prune|expire|(?:delete|remove|clear)_(?:old|expired)"
)


def _is_ending(call: Call, facts: Facts) -> bool:
    """Return whether it is in the handling of another error, or in clean-up."""
    scope = facts.named_function_of(call)
    if scope is not None and _ENDINGS.match(scope.short_name):
        return True
    return any(
        is_within(call.span, step.span) and re.search(r"\bErr\b|is_err\(", step.text)
        for step in facts.steps
        if step.kind == "branch"
    )
