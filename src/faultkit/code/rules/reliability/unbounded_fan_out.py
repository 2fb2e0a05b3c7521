"""Finds code that starts one task, thread or request for every item at once.

Evidence: each task sends a request or a message or starts a program, and the items are loaded, received or
given, rather than made here or kept by the program.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Loop, Place, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import (
    CSHARP,
    EVERY_LANGUAGE,
    JAVASCRIPT,
    KOTLIN,
    LIKELY,
    POSSIBLE,
    Hit,
    Rule,
)
from faultkit.code.rules.vocabulary.concurrency_limits import (
    ALL_PARTS,
    goes_through_parts,
    has_strong_limit,
    is_limited,
    limits_for_one,
    unlimited_operators,
)
from faultkit.code.rules.vocabulary.few_items import are_few, are_loaded, is_few, iterated, may_be_many
from faultkit.code.rules.vocabulary.message_loops import received_by_loop, waits_inside
from faultkit.code.rules.vocabulary.repetition import frequency_of, is_for_screen
from faultkit.code.rules.vocabulary.started_work import (
    STARTED_PROGRAMS,
    asks_service,
    is_remote,
    reaches_out,
    surely_leaves,
)
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_ALL = (
    "asyncio.gather",
    "asyncio.wait",
    "asyncio.as_completed",
    "Promise.all",
    "Promise.allSettled",
    "Promise.any",
    "Task.WhenAll",
    *(f"{module}.{name}" for module in ("futures.future", "futures", "futures_util.future", "futures_util")
      for name in ("join_all", "try_join_all")),
    *(f"{module}.map" for module in ("bluebird", "bluebird.Promise")),
)  # fmt: skip
_STARTS = (
    "asyncio.create_task",
    "asyncio.ensure_future",
    "asyncio.TaskGroup.create_task",
    "asyncio.get_running_loop().create_task",
    "asyncio.get_event_loop().create_task",
    "anyio.create_task_group().start_soon",
    "trio.open_nursery().start_soon",
    "threading.Thread",
    "multiprocessing.Process",
    "Thread",
    "java.lang.Thread",
    "Thread.startVirtualThread",
    "java.lang.Thread.startVirtualThread",
    "Thread.ofVirtual().start",
    "Task.Run",
    "Task.Factory.StartNew",
    "tokio.spawn",
    "tokio.task.spawn",
    "tokio.task.JoinSet.new().spawn",
    "tokio.task.JoinSet.spawn",
    "tokio_util.task.TaskTracker.new().spawn",
    "tokio_util.task.TaskTracker.spawn",
    "futures.stream.FuturesUnordered.push",
    "actix_web.rt.spawn",
    "async_std.task.spawn",
    "std.thread.spawn",
    "kotlin.concurrent.thread",
)
_OF_EXECUTOR = lazy_regex(
    r"newVirtualThreadPerTaskExecutor\(\)\.(submit|execute)$|StructuredTaskScope\b.*\.fork$"
)
"""Executors that start a thread for every task."""
_PER_TASK = lazy_regex(r"newVirtualThreadPerTaskExecutor$|newThreadPerTaskExecutor$|newCachedThreadPool$")
_GROUPS = lazy_regex(r"errgroup|sync\.WaitGroup\.Go$|sourcegraph/conc")
_READS_ON = lazy_regex(r"^\w+\.(Scan|Next)\(\w*\)$")
"""The condition of a loop over lines or rows in Go."""
_WAITED = lazy_regex(r"\.(wait|communicate|join|waitFor)\(|\bawait\b|yield")
_THREADS = frozenset(
    ("threading.Thread", "multiprocessing.Process", "Thread", "java.lang.Thread", "Thread.startVirtualThread",
     "kotlin.concurrent.thread", "std.thread.spawn")
)  # fmt: skip
_HEAVY = frozenset(("worker_threads.Worker", "Worker"))
"""Threads with a heap of their own."""
_COUNTED = TextPattern(
    r"\b(?:active|running|in_?[fF]light|busy|workers|pending|waiting|alive|count)\w*(?:\.(?:size|length))?\s*(?:>=?|<=?)\s*\w"
    r"|\.(?:pop|shift)\(\)|[pP]ool\b"
)
"""What says that the threads of a text are counted, or used again."""
_COROUTINES = frozenset(("launch", "async"))
_MAPPED = lazy_regex(r"\.(flatM|m)ap\s*(<[^()]*>)?\(|\.Select\(|\bfor\b|\bArray\.from\(")
_COMES = {
    "accepted": "connection, however many clients come",
    "received": "message, however many there are",
}


def _check(facts: Facts) -> Iterator[Hit]:
    if facts.language in (*CSHARP, *KOTLIN) and is_for_screen(facts):
        return  # Its items are what one user sees.
    begun: list[Call] = []
    for call in facts.calls:
        starts = _starts(call, facts)
        if (
            starts
            and (loop := _per_item(call, facts)) is not None
            and (
                not is_limited(call, (loop.body,), _source_of(call, loop, facts), facts)
                or _reads_on_and_waits(call, loop, facts)
            )
            and reaches_out((call.span,), facts)
            and not _asks_items(call, loop, facts)
        ):
            started = "a goroutine" if call.is_launched else f"{call.written}()"
            begun.append(call)
            sure = _is_sure((call.span,), loop.over, call, facts)
            what = f"{started} is started for every item, however many there are"
            yield Hit(call.span, what, LIKELY if sure else POSSIBLE)
        elif (
            (starts or _drops_task(call, facts))
            and not _is_awaited_in_round(call, facts)
            and (source := received_by_loop(call, facts)) is not None
            and (not is_limited(call, (call.span,), "", facts) or waits_inside(call, facts))
        ):
            started = "a goroutine" if call.is_launched else f"{call.written}()"
            begun.append(call)
            # Connections are limited by the system; a task may do no more than hand something on.
            sure = source == "received" and _leaves((call.span,), facts)
            what = f"{started} is started for every {_COMES[source]}"
            yield Hit(call.span, what, LIKELY if sure else POSSIBLE)
        elif call.name in _HEAVY and _is_for_each_request(call, facts):
            begun.append(call)
            what = f"{call.written}() is started for every request, however many there are"
            yield Hit(call.span, what, LIKELY)
        elif (
            call.name in _THREADS
            and (often := frequency_of(call, facts)) in ("message", "request")
            and not _WAITED.search(_text_around(call, facts))
            and not is_limited(call, (call.span,), "", facts)
        ):
            begun.append(call)
            what = f"{call.written}() is started for every {often}, however many there are"
            # Many services are asked for such work now and then.
            yield Hit(call.span, what, POSSIBLE)
        elif _sized_by_items(call, facts):
            what = f"{call.written}() has a thread for every item, however many there are"
            yield Hit(call.span, what, POSSIBLE)
    for call in facts.calls_named(*_ALL):
        tasks = _tasks_of(call, facts)
        if tasks is None or call.has("concurrency"):
            continue
        source, made = tasks
        if (
            not any(is_within(each.span, span) for each in begun for span in made)
            and not is_few(source, call, facts)
            and not any(are_few(loop.targets) for span in made for loop in _loops_for(span, facts))
            and not is_limited(call, made, source, facts)
            and reaches_out(made, facts)
        ):
            sure = _is_sure(made, source, call, facts)
            what = f"{call.written}() starts one task for every item at once"
            yield Hit(call.span, what, LIKELY if sure else POSSIBLE)
    for call in limits_for_one(facts):
        what = f"{call.written}() is made anew in each call, so that it limits nothing"
        yield Hit(call.span, what, LIKELY)
    for call in unlimited_operators(facts):
        if facts.language == "rust" or reaches_out((call.span,), facts):
            # What is given `None` as its limit, or a large number, has none on purpose.
            is_stated = facts.language == "kotlin" or (facts.language == "rust" and call.method != "collect")
            sure = is_stated or _leaves((call.span,), facts)
            what = f"{call.written}() has no limit of how many run at once"
            yield Hit(call.span, what, LIKELY if sure else POSSIBLE)
    for call in facts.calls_named("java.util.concurrent.Executors.newCachedThreadPool"):
        yield Hit(call.span, f"{call.written}() makes a thread for every task that finds none free", LIKELY)


def _leaves(spans: tuple[Span, ...], facts: Facts) -> bool:
    return surely_leaves(spans, facts) or asks_service(spans, facts)


def _is_sure(spans: tuple[Span, ...], source: str, call: Call, facts: Facts) -> bool:
    """Return whether the tasks surely leave the process, and nothing limits how many items there are.

    What an object with the name of a client does is less sure: then the items must be loaded here."""
    if not may_be_many(source, call, facts) or _is_last_of_loop(call, facts):
        return False
    return surely_leaves(spans, facts) or (are_loaded(source, call, facts) and asks_service(spans, facts))


def _is_last_of_loop(call: Call, facts: Facts) -> bool:
    """Return whether the branch that starts a task leaves the function: the loop starts one at most."""
    around = facts.loops_around(call)
    return bool(around) and any(
        each.leaves == "function"
        and is_within(each.span, around[-1].body)
        and is_within(call.span, each.span)
        for each in facts.arms
    )


def _is_awaited_in_round(call: Call, facts: Facts) -> bool:
    """Return whether the round of a loop that starts a task waits for it, too."""
    around = facts.loops_around(call)
    if not around or len(call.assigned) != 1 or not call.assigned[0].isidentifier():
        return False
    later = facts.text(Span(call.span.end, around[-1].body.end))
    name = re.escape(call.assigned[0])
    return re.search(rf"\bawait\s+{name}\b|\b{name}\.(?:join|await|Wait|result|get)\b", later) is not None


def _loops_for(span: Span, facts: Facts) -> Iterator[Loop]:
    """Yield the loop in a piece of code that makes tasks, or else the one around it."""
    inside = next((each for each in facts.within(facts.loops, span)), None)
    yield from (inside,) if inside is not None else facts.loops_around(Place(span))[-1:]


def _is_for_each_request(call: Call, facts: Facts) -> bool:
    """Return whether a request starts a thread, and nothing in the text limits how many there are."""
    if not call.constructs or facts.loops_around(call) or not facts.imports_any("worker_threads"):
        return False
    text = facts.whole_text
    return frequency_of(call, facts) == "request" and not has_strong_limit(text) and not _COUNTED.search(text)


def _source_of(call: Call, loop: Loop, facts: Facts) -> str:
    return ALL_PARTS if goes_through_parts(call, facts) else loop.over


def _reads_on_and_waits(call: Call, loop: Loop, facts: Facts) -> bool:
    """Return whether rows or lines are read on while the tasks that have them wait for a slot."""
    return _READS_ON.match(loop.over.strip()) is not None and waits_inside(call, facts)


def _text_around(call: Call, facts: Facts) -> str:
    scope = facts.named_function_of(call)
    return facts.whole_text if scope is None else facts.text(scope.body)


def _starts(call: Call, facts: Facts) -> bool:
    """Return whether a call starts something that runs beside its function."""
    if call.name in STARTED_PROGRAMS:
        around = facts.loops_around(call)
        return bool(around) and not call.is_awaited and not _WAITED.search(facts.text(around[-1].body))
    if call.name in _STARTS or call.is_launched or (call.method == "Go" and _GROUPS.search(call.name)):
        return True
    if facts.language == "java":
        if call.method in ("runAsync", "supplyAsync") and "CompletableFuture" in call.written:
            return any(
                each.call is not None and _PER_TASK.search(each.call.name)
                for argument in call.positional[1:]
                for name in (argument.value.text, f"self.{argument.value.text}")
                for each in facts.assignments
                if name in each.targets
            )
        return _OF_EXECUTOR.search(call.name) is not None
    if facts.language == "kotlin":
        return call.method in _COROUTINES and any(each.value.shape == "function" for each in call.arguments)
    return False


def _tasks_of(call: Call, facts: Facts) -> tuple[str, tuple[Span, ...]] | None:
    """Return what the items of a `gather` come from, and the code that makes one task for each of them."""
    spread = any(each.name in ("*", "...") for each in call.arguments)
    if call.name == "asyncio.gather" and not spread:
        return None
    first = next((each for each in call.arguments if each.name in ("", "*", "...")), None)
    if first is None:
        return None
    given = first.value.text.lstrip("*. \n\t")
    if call.method == "map":
        return given, (call.span,)
    if first.value.shape == "list" and facts.language in JAVASCRIPT:
        return None  # `Promise.all([one(), other(ids.map(key))])`
    if _MAPPED.search(given):
        return iterated(given), (call.span,)
    if not given.isidentifier():
        return None
    scope = facts.function_of(call)
    for each in facts.assignments_to(given, call):
        if each.scope is scope and each.value is not None and _MAPPED.search(each.value.text):
            return iterated(each.value.text), (call.span, each.span)
    for pushed in facts.calls_of_method("append", "push", "add", "Add", "extend", "addAll", "AddRange"):
        if pushed.receiver_written == given and scope in (None, *facts.functions_around(pushed)):
            if any(are_few(loop.targets) for loop in facts.loops_around(pushed)):
                return None
            if (mapped := _mapped_in(pushed, call, facts)) is not None:
                return mapped, (call.span, pushed.span)
            loop = _per_item(pushed, facts) or _streamed(pushed, call, facts)
            if loop is not None:
                return _across_rounds(loop, pushed, call, facts), (call.span, pushed.span)
    return None


_SEVERAL = frozenset(("extend", "addAll", "AddRange"))


def _mapped_in(pushed: Call, waits: Call, facts: Facts) -> str | None:
    """Return what the items of `tasks.push(...page.map(read))` come from; if a loop starts those of all
    pages before anything waits, a page is no limit and is not named."""
    last = pushed.arguments[-1] if pushed.arguments else None
    if last is None or not (last.name in ("...", "*") or pushed.method in _SEVERAL):
        return None
    text = last.value.text.lstrip("*. \n\t")
    if not _MAPPED.search(text):
        return None
    around = facts.loops_around(pushed)
    if around and not is_within(waits.span, around[-1].body):
        return ALL_PARTS
    return iterated(text)


def _streamed(pushed: Call, waits: Call, facts: Facts) -> Loop | None:
    """Return the loop over what arrives, such as `for await (…)`, that starts all before anything waits."""
    around = facts.loops_around(pushed)
    if not around or not around[-1].is_async or is_within(waits.span, around[-1].span):
        return None
    return None if is_few(around[-1].over, pushed, facts) else around[-1]


def _across_rounds(loop: Loop, pushed: Call, waits: Call, facts: Facts) -> str:
    """Return what the items come from; if those of all pages or batches are started before anything waits,
    a page is no limit and is not named."""
    around = facts.loops_around(pushed)
    return loop.over if len(around) < 2 or is_within(waits.span, around[-2].body) else ALL_PARTS


def _asks_items(call: Call, loop: Loop, facts: Facts) -> bool:
    """Return whether the items are asked, as clients of a few services are: `c.Quote(ctx)` (Go).

    Items that are called themselves are functions, which a program writes out."""
    if any(each.written in loop.targets for each in facts.within(facts.calls, call.span)):
        return True
    if facts.language != "go":
        return False
    asked = [each for each in facts.within(facts.calls, call.span) if is_remote(each, facts)]
    return bool(asked) and all(each.receiver_written in loop.targets for each in asked)


def _per_item(call: Call, facts: Facts) -> Loop | None:
    """Return the loop over items around a call.

    A counting loop starts a known number, a waiting one is a server.
    """
    around = facts.loops_around(call)
    if not around:
        return _mapped_in_rust(call, facts) if facts.language == "rust" else None
    loop = around[-1]
    if loop.kind == "comprehension" and facts.language == "python" and loop.over.startswith("range("):
        return None
    if loop.is_async or (
        loop.kind not in ("each", "comprehension") and not _READS_ON.match(loop.over.strip())
    ):
        return None
    if facts.language == "go" and loop.over.removeprefix("range").strip().isdigit():
        return None
    return None if is_few(loop.over, call, facts) or are_few(loop.targets) else loop


def _mapped_in_rust(call: Call, facts: Facts) -> Loop | None:
    """Return `items.into_iter().map(|x| tokio::spawn(…))` as a loop."""
    for each in reversed(facts.calls_around(call)):
        if each.method in ("map", "for_each") and "iter()" in each.name:
            over = re.sub(r"\.(into_|par_)?iter\(\).*$", "", each.receiver_written, flags=re.DOTALL)
            return None if is_few(over, call, facts) else Loop("each", each.span, each.span, each.line, over)
    return None


def _drops_task(call: Call, facts: Facts) -> bool:
    """Return whether a call of an async function goes on without being awaited: `_ = HandleAsync(x)` (C#)."""
    return (
        facts.language == "csharp"
        and call.method.endswith("Async")
        and len(call.method) > len("Async")
        and not call.is_awaited
        and (call.is_discarded or call.assigned == ("_",))
    )


_OF_INSTALLATION = lazy_regex(r"(model|deployment|provider|backend|server|host|node|worker)s$", re.IGNORECASE)
_POOLS = frozenset(("ThreadPoolExecutor", "ThreadPool", "newFixedThreadPool"))


def _sized_by_items(call: Call, facts: Facts) -> bool:
    """Return whether a pool of threads has as many as there are items."""
    if call.method not in _POOLS:
        return False
    if call.method != "newFixedThreadPool" and facts.language == "python":
        size = call.argument("max_workers", "processes", place=0)
        return (
            size is not None
            and (counted := re.search(r"\blen\(([\w.]+)\)", re.sub(r"\bmin\(.*", "", size.value.text)))
            is not None
            and not _OF_INSTALLATION.search(counted[1])
        )
    if call.method == "newFixedThreadPool":
        size = call.argument(place=0)
        return (
            size is not None and re.fullmatch(r"[\w.]+\.(size\(\)|size|length)", size.value.text) is not None
        )
    return False


RULE = Rule(
    id="FK-R022",
    slug="unbounded-fan-out",
    title="Unbounded fan-out",
    why="A list of ten thousand items becomes ten thousand connections at once: it drowns the "
    "dependency, then itself.",
    fix="Limit how many run at a time with a semaphore, a pool of workers or errgroup.SetLimit.",
    kind="reliability",
    severity="medium",
    languages=EVERY_LANGUAGE,
    check=_check,
)
