"""Lists of started tasks that a function neither waits for nor gives to others: it only counts them.

    const jobs = rows.map(async (row) => api.create(row)); return { imported: jobs.length };

What they do is not done when the function returns, and their errors are seen by nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_STARTS = {
    "python": TextPattern(rb"\b(?:create_task|ensure_future)\(|\.submit\("),
    "java": TextPattern(rb"\bCompletableFuture\s*\.\s*(?:runAsync|supplyAsync)\(|\.submit\("),
    "csharp": TextPattern(rb"\w[a-z]Async\(|\bTask\.Run\("),
    "kotlin": TextPattern(rb"\basync\s*[({]"),
    "rust": TextPattern(rb"\bspawn(?:_blocking)?\("),
}
_SCRIPT = TextPattern(rb"\.map\(\s*async\b")
_WAITED = lazy_regex(
    r"^\s*(?:await\b|Promise\.)|^new\s+[^()]*\(\s*await\b|awaitAll|joinAll|\bgather\(|\.(?:join|await|get|result|Result|invokeAll|block)\("
    r"|join_all|WhenAll"
)
_ADDS = frozenset(("push", "append", "add", "Add"))
_LIST = lazy_regex(r"\bfor\b[^\n]*\bin\b|\.(?:map|Select|flatMap|stream|iter|into_iter)\b")
_COUNTED = (
    r"\blen\(\s*{0}\s*\)|\b{0}\s*\.\s*(?:length|size|Count|count|len)\b(?:\(\))?"
    r"|\b{0}\s*\.\s*(?:push|append|add|Add)\("
)
_LONGEST = 2_000


def unread_tasks(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield where such lists are made or filled, each with the name of the list."""
    pattern = _STARTS.get(facts.language, _SCRIPT)
    starts = [found.start() for found in pattern.finditer(facts.syntax.source)]
    if not starts and pattern is not _SCRIPT:
        return
    seen = set[tuple[Scope, str]]()
    for span, name, scope in (*_made(starts, facts), *_filled(starts, facts)):
        if (scope, name) not in seen and not _is_read(name, scope, facts):
            seen.add((scope, name))
            yield span, name


def _has_start(starts: list[int], span: Span) -> bool:
    at = bisect_left(starts, span.start)
    return at < len(starts) and starts[at] < span.end


def _made(starts: list[int], facts: Facts) -> Iterator[tuple[Span, str, Scope]]:
    """Yield lists that are assigned with the tasks in them."""
    for each in facts.assignments if starts else ():
        name = each.targets[0].removeprefix("mut ") if len(each.targets) == 1 else ""
        if not _has_start(starts, each.span) or each.scope is None or not name.isidentifier():
            continue
        text = "" if each.value is None else each.value.text
        if len(text) < _LONGEST and _LIST.search(text) and not _WAITED.search(text) and name[0] != "_":
            yield each.span, name, each.scope


def _filled(starts: list[int], facts: Facts) -> Iterator[tuple[Span, str, Scope]]:
    """Yield lists to which tasks are added one by one."""
    for call in facts.calls_of_method(*_ADDS):
        scope, name = facts.function_of(call), call.receiver_written
        if scope is None or not name.isidentifier() or not facts.loops_around(call):
            continue
        given = call.positional[:1]
        if not given or not any(each.scope is scope for each in facts.assignments_to(name, call)):
            continue
        head = Span(given[0].value.span.start, min(given[0].value.span.end, given[0].value.span.start + 80))
        if (_has_start(starts, head) or _is_async(call, facts)) and not _WAITED.search(facts.text(head)):
            yield call.span, name, scope


def _is_async(call: Call, facts: Facts) -> bool:
    """Return whether what is added is the promise of an async function of this text (JavaScript)."""
    if facts.language not in ("javascript", "typescript", "tsx"):
        return False
    span = call.positional[0].value.span
    inner = next((each for each in facts.within(facts.calls, span) if each.span == span), None)
    return inner is not None and any(
        scope.is_async and inner in facts.callers_of(scope) for scope in facts.functions_named(inner.method)
    )


def _is_read(name: str, scope: Scope, facts: Facts) -> bool:
    """Return whether a function does more with a list than to fill it and to count what is in it."""
    text = re.sub(_COUNTED.format(re.escape(name)), "", facts.text(scope.body))
    uses = re.findall(rf"(?<!\w)(?<![\w)\]]\.){re.escape(name)}\b(?!\s*(?::[^=\n]*)?=[^=>])", text)
    return bool(uses)
