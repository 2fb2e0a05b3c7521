"""What limits how many tasks run at a time: semaphores, pools, batches, and sizes of what is loaded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.message_loops import has_only_condition, words_of
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_STRONG = TextPattern(
    r"semaphore|SetLimit|max_connections\s*=\s*(?!None)\w|p-?limit\b|p-map|bulkhead|buffer_?unordered"
    r"|limitedParallelism|for_each_concurrent|chan struct\{\}, |MaxDegreeOfParallelism|CapacityLimiter"
    r"|throttl|rate_?limit|pool\.submit",
    re.IGNORECASE,
)
"""Words that show a limit wherever they stand in the function."""
_NO_LIMIT = TextPattern(
    r"for_each_concurrent\(\s*(None|0)\s*,|buffer_?unordered\(\s*usize::MAX\s*\)", re.IGNORECASE
)
"""Calls that take a limit, and are given none."""
_MANY_AT_ONCE = r"\d*[5-9]\d\d|\d+_?\d{3}|\de\d"
_LARGE = TextPattern(
    rf"\b\w*(?:limit|size|count|take|keys|items|rows|page)\w*['\"]?\s*[:=(]\s*(?:{_MANY_AT_ONCE})\b\)?",
    re.IGNORECASE,
)
"""Limits of what is loaded that are too large for what runs at a time: `limit: 5000`."""
_LISTS_MANY = TextPattern(r"list_?objects_?(v2)?|paginateListObjects", re.IGNORECASE)
"""Lists whose pages have a thousand items unless a call asks for fewer."""
_LIMITS = lazy_regex(
    r"semaphore|limit|pool|\bsem\b|worker|concurren(cy|t)|chunk|batch|throttl|SetLimit|p-map|<-\s*\w*(sem|slots)"
    r"|\bslots?\b|\bgate\b|\bpages?\b|\bwaves?\b|\.slice\(|\.take\(|\.Take\(|\bislice\(|\[[^\]\[]*:[^\]\[]*\]",
    re.IGNORECASE,
)
_LIMITS_INSIDE = TextPattern(
    r"semaphore|\blimit(er|ed)?\w*(?<!Reader)\s*[.(]|with \w*limit|pool|\bsem\b|throttl|\bslots?\b|\bgate\b",
    re.IGNORECASE,
)
"""Words that show a limit in a function that is started for each item."""
_LIMITS_MADE = lazy_regex(r"semaphore|limit|[pP]ool|throttl|queue|(^|\.)bulkhead", re.IGNORECASE)
"""Names of calls that make a limit."""
_UNLIMITED = lazy_regex(
    r"\"[^\"\n]*\"|'[^'\n]*'|//[^\n]*|#[^\n]*|\b\w*limits?\w*\s*[=:]\s*(0|None|null)\b"
    r"|\b\w*pool\.(fetch|query|execute|acquire|connect|getConnection|begin|Query|Exec)\w*"
    r"|\(\s*&?(mut\s+)?[\w.*]*pool\s*\)",
    re.IGNORECASE,
)
"""Texts, comments, options that take a limit away, and queries by a pool of connections."""


def _is_refused_if_long(source: str, text: str) -> bool:
    """Return whether a text leaves if there are more items than a number: `if (rows.length > MAX) return`."""
    if not _PATH.fullmatch(source):
        return False
    name = re.escape(source)
    size = rf"(?:\blen\({name}\)|(?<![\w.]){name}(?:\.length|\.size\(\)|\.size|\.Count|\.len\(\)))"
    return re.search(rf"{size}\s*>=?\s*(?![01]\b)\w[^;]{{0,60}}?[{{:)]\s*{_LEAVES}", text) is not None


_PATH = lazy_regex(r"[A-Za-z_][\w.]{0,60}")
_LEAVES = r"(?:(?:log\w*|console)\.[^\n;]*[\n;]\s*)?(?:return|throw|raise|continue|break|panic)\b"


def is_limited(call: Call, spans: tuple[Span, ...], source: str, facts: Facts) -> bool:
    """Return whether something limits how many run at a time, or how many items there are."""
    scope = next(facts.functions_around(call), None)
    whole = facts.whole_text if scope is None else facts.text(scope.span)
    if "PerTaskExecutor" in call.name:
        # Its executor has a thread for every task, by whatever name.
        whole = whole.replace(f"{call.receiver_written}.", "")
    if _is_strong(whole, spans, facts) or _is_received(source, facts) or _is_refused_if_long(source, whole):
        return True
    around = [text for loop in facts.loops_around(call) for text in (loop.over, *loop.targets)]
    sizes = [
        facts.text(each.span)
        for name in re.findall(r"[A-Za-z_]\w*", source)
        for each in facts.assignments_to(name, call)
        if each.scope is not None
    ]
    if _is_whole(source, call, facts):
        around, sizes = [], [text.replace(source, "") for text in sizes]
        source = ""
    large = _large_numbers(facts)
    if large is not None:
        sizes = [large.sub("", text) for text in sizes]
    sizes = [_LARGE.sub("", text) for text in sizes]
    if _LARGE.search(whole) or _LISTS_MANY.search(whole):
        around, sizes = [_PAGE.sub("", text) for text in around], [_PAGE.sub("", text) for text in sizes]
    inside = [_without_executor(span, call, facts) for span in spans]
    if source == ALL_PARTS:
        around, sizes = [], []
        inside = [_PART.sub("", text) for text in inside]
    own = [source, *around, *sizes, *inside]
    if call.method == "push" and f"{call.receiver_written}.len()" in whole:
        return True
    if any(_LIMITS.search(_UNLIMITED.sub("", text)) for text in own):
        return True
    # The limit may be in a called function.
    words = {word for span in spans for word in words_of(facts.text(span))}
    called = [
        facts.text(other.span)
        for other in facts.scopes
        if other.short_name in words and other is not facts.named_function_of(call)
    ]
    if any(_LIMITS_INSIDE.search(_UNLIMITED.sub("", text)) for text in called):
        return True
    limits = _names_of_limits(facts)
    return bool(limits) and any(limits & words_of(text) for text in (*own, *called))


ALL_PARTS = "all"
"""What items come from if those of all pages or batches are started before anything waits."""
_PART = lazy_regex(r"\w*(?:page|batch|chunk)\w*", re.IGNORECASE)
_WAITS_FOR_TASKS = TextPattern(
    r"\.Wait\(|\.join\b|joinAll|awaitAll|\.await\b|\bawait |gather\(|allOf\(|WhenAll|join_all|join_next"
    r"|\.Acquire\(|<-|coroutineScope|supervisorScope|runBlocking|TaskGroup|nursery|withContext|\.get\(\)|invokeAll|\bwith\b"
)


def goes_through_parts(call: Call, facts: Facts) -> bool:
    """Return whether a loop around the loop of a call reads part after part, and waits for no task of one.

    Only languages in which reading a part is no `await` are told apart."""
    around = facts.loops_around(call)
    if (
        len(around) < 2
        or facts.language not in ("go", "kotlin")
        or not (around[-2].kind in ("endless", "while") or has_only_condition(around[-2], facts))
    ):
        return False
    text = facts.text(around[-2].body).replace(facts.text(around[-1].span), "")
    return _WAITS_FOR_TASKS.search(text) is None


_PAGE = lazy_regex(r"\bpages?\b", re.IGNORECASE)
_LIMITER_MADE = TextPattern(r"\b(?:const|let|var)\s+(\w+)\s*=\s*(?:new\s+)?p-?limit\w*\(", re.IGNORECASE)


def _is_strong(whole: str, spans: tuple[Span, ...], facts: Facts) -> bool:
    """Return whether a limit stands in the function, and is not for other tasks of it."""
    text = _NO_LIMIT.sub("", whole)
    for made in _LIMITER_MADE.finditer(whole):
        # `const limit = pLimit(8)` limits only what it is given.
        if not any(re.search(rf"\b{made[1]}\b", facts.text(span)) for span in spans):
            text = text.replace(made[0], "")
    return _STRONG.search(text) is not None


def has_strong_limit(text: str) -> bool:
    """Return whether a text makes or uses something that only limits how many run at a time."""
    return _STRONG.search(text) is not None


_MESSAGES = lazy_regex(r"messages?|records|msgs", re.IGNORECASE)
_FEW_RECEIVED = lazy_regex(
    r"\b(MaxNumberOfMessages|max_?messages|MaxMessages|max_number_of_messages)\b\W{1,4}([1-9]|[1-9]\d)\b",
    re.IGNORECASE,
)


@lru_cache(maxsize=4)
def _receives_few(facts: Facts) -> bool:
    return _FEW_RECEIVED.search(facts.whole_text) is not None


def _is_received(source: str, facts: Facts) -> bool:
    """Return whether the items are the messages of one receive, which asks for a few."""
    return _MESSAGES.search(source) is not None and _receives_few(facts)


def _large_numbers(facts: Facts) -> re.Pattern[str] | None:
    """Return the constants of a text that are too large to limit what runs at a time: `BATCH = 50_000`."""
    names = [
        name
        for each in facts.assignments
        if each.scope is None
        and each.value is not None
        and each.value.shape == "number"
        and len(re.sub(r"\D", "", each.value.text.partition(".")[0])) > 3
        for name in each.targets
        if name.isidentifier()
    ]
    if not names:
        return None
    return re.compile(rf"(?:\b\w*limit\w*\s*[(:=]\s*)?\b(?:{'|'.join(names)})\b", re.IGNORECASE)


def _is_whole(source: str, call: Call, facts: Facts) -> bool:
    """Return whether `batch` is all that a request sent, not one of several parts of something."""
    scope = facts.named_function_of(call)
    if scope is None or not re.fullmatch(r"\w*(batch|chunk|page)\w*", source, re.IGNORECASE):
        return False
    if scope.route is None and not any(each.type.endswith("http.Request") for each in scope.parameters):
        return False
    given = {each.name for each in scope.parameters}
    return source not in given and not any(source in loop.targets for loop in facts.loops)


def _without_executor(span: Span, call: Call, facts: Facts) -> str:
    """Return a text without the name of an executor that has a thread for every task."""
    text = facts.text(span)
    if "PerTaskExecutor" in call.name:
        return text.replace(f"{call.receiver_written}.", "")
    if facts.language == "java" and call.method in ("runAsync", "supplyAsync") and len(call.positional) > 1:
        return re.sub(rf"\b{re.escape(call.positional[1].value.text)}\b", "", text)
    return text


_USES_POOL = lazy_regex(
    r"(?:pool|queue)(?:\(\))?\.(?:fetch|query|exec|acquire|connect|get|begin|cursor|read|receive|poll|pull)\w*$",
    re.IGNORECASE,
)
"""Calls on a pool or a queue that is there already."""


@lru_cache(maxsize=4)
def _names_of_limits(facts: Facts) -> frozenset[str]:
    """Return names of what this text makes to limit something: `slots = asyncio.Semaphore(10)`."""
    made = (
        each
        for each in facts.assignments
        if each.call is not None
        and _LIMITS_MADE.search(each.call.name)
        and not each.call.name.startswith(("~", "self."))
        # `rows = query.limit(n).all()` and `rows = await pool.fetch(…)` make no limit.
        and not re.search(r"\.[lL]imit(\(\)|$)", each.call.name)
        and not _USES_POOL.search(each.call.name)
    )
    return frozenset(target.rpartition(".")[2] for each in made for target in each.targets)


_MAKERS = {
    "javascript": ("pLimit", "p-limit", "default", "Bottleneck", "bottleneck", "PQueue", "p-queue"),
    "go": ("NewWeighted", "make"),
}
_MADE_ALONE = lazy_regex(
    r"(^|[./~])p-?limit(\.default)?$|p-queue(\.\w+)?$|bottleneck$|semaphore\.NewWeighted$", re.IGNORECASE
)
_USES = frozenset(("Acquire", "schedule", "add", "run"))


def limits_for_one(facts: Facts) -> Iterator[Call]:
    """Yield limits that a function makes for a single task of its own: other calls of it have others.

    Such a limit is used once, outside of loops and of functions inside, and nothing else gets it. Locks and
    semaphores of other languages are left to FK-R174."""
    for call in facts.calls_of_method(*_MAKERS.get(facts.syntax.language.family, ())):
        scope = facts.function_of(call)
        if scope is None or not _makes_limit(call):
            continue
        if facts.syntax.source[call.span.end : call.span.end + 1] == b"(" and facts.language != "go":
            yield call  # `pLimit(5)(() => …)`
            continue
        if len(call.assigned) != 1 or not call.assigned[0].isidentifier():
            continue
        name = call.assigned[0]
        rest = Span(call.span.end, scope.body.end)
        if call.method == "make":
            if _is_channel_for_one(name, rest, scope, facts):
                yield call
            continue
        mentioned = len(re.findall(rf"(?<![\w.]){re.escape(name)}\b", facts.text(rest)))
        uses = [each for each in facts.within(facts.calls, rest) if _is_use(each, name)]
        own = [
            each
            for each in uses
            if facts.function_of(each) is scope and facts.loops_around(each) == facts.loops_around(call)
        ]
        taken = [each for each in own if each.method != "Release"]
        if len(taken) == 1 and mentioned == len(own) == len(uses):
            yield call


def _is_channel_for_one(name: str, rest: Span, scope: Scope, facts: Facts) -> bool:
    """Return whether a channel of Go is filled once by the function that makes it, and emptied at its end."""
    text = facts.text(rest)
    if len(re.findall(rf"\b{name}\b", text)) != 2 or scope.outer is not None:
        return False
    if re.search(rf"\b{name}\s*<-", text) is None or re.search(rf"<-\s*{name}\b", text) is None:
        return False
    inside = facts.within(facts.calls, rest)
    return not any(each.is_launched for each in inside) and not any(facts.within(facts.loops, rest))


def _makes_limit(call: Call) -> bool:
    if call.method == "make":
        first = call.argument(place=0)
        return first is not None and first.value.text == "chan struct{}" and len(call.positional) == 2
    given = call.positional[0].value.text if call.positional else ""
    # A limit of one is a lock.
    return _MADE_ALONE.search(call.name) is not None and given not in ("", "1")


def _is_use(call: Call, name: str) -> bool:
    if call.written == name:
        return True  # `limit(() => …)`
    return call.receiver_written == name and (call.method in _USES or call.method == "Release")


_STREAMS = ("for_each_concurrent", "try_for_each_concurrent", "buffer_unordered", "buffered")
"""Methods of streams that are given how many run at a time (Rust)."""
_MERGES = ("mergeMap", "flatMap", "mergeAll", "exhaustAll")
_MAPPERS = ("p-map", "p-map.default", "p-map.pMap", "async.each", "async.map", "async.forEach",
            "async.parallel",
            "async.mapValues", "async.filter", "async/each.default", "async/map.default")  # fmt: skip


def unlimited_operators(facts: Facts) -> Iterator[Call]:
    """Yield operators that run any number of tasks at once, unless they are given a number."""
    if facts.language == "rust":
        for call in facts.calls_of_method(*_STREAMS):
            first = call.argument(place=0)
            if first is not None and first.value.text in ("None", "0", "usize::MAX"):
                yield call
        for call in facts.calls_of_method("collect") if b"FuturesUnordered" in facts.syntax.source else ():
            made = f"{facts.syntax.line_text(call.line)}{facts.text(call.span)}"
            if "FuturesUnordered" in made and ".map()" in call.name and not _LIMITS.search(made):
                yield call
    elif facts.language == "kotlin":
        for call in facts.calls_of_method("flatMapMerge"):
            if any("MAX_VALUE" in each.value.text for each in call.arguments):
                yield call
    elif facts.syntax.language.family == "javascript":
        for call in facts.calls_named(*_MAPPERS):
            if len(call.positional) == 2 and not call.has("concurrency"):
                yield call
        for call in facts.calls_of_method(*_MERGES) if facts.imports_any("rxjs") else ():
            if call.name.startswith("rxjs") and len(call.positional) == 1:
                yield call
