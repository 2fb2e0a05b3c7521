"""Finds code that starts one task, thread or request for every item at once."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Call, Facts, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import (
    CSHARP,
    GO,
    JAVA,
    JAVASCRIPT,
    KOTLIN,
    LIKELY,
    POSSIBLE,
    PYTHON,
    RUST,
    Hit,
    Rule,
)
from faultkit.code.rules.vocabulary.remote_calls import remote_calls

_ALL = (
    "asyncio.gather",
    "Promise.all",
    "Promise.allSettled",
    "Task.WhenAll",
    *(f"{module}.{name}" for module in ("futures.future", "futures", "futures_util.future")
      for name in ("join_all", "try_join_all")),
)  # fmt: skip
_STARTS = (
    "asyncio.create_task",
    "asyncio.ensure_future",
    "asyncio.TaskGroup.create_task",
    "threading.Thread",
    "multiprocessing.Process",
    "Thread",
    "tokio.spawn",
    "tokio.task.spawn",
    "std.thread.spawn",
)
_LIMITS = re.compile(
    r"semaphore|limit|pool|sem\b|worker|concurren(cy|t)|chunk|batch|throttl|SetLimit|p-map|<-\s*sem|\brate"
    r"|chan struct\{\}, ",
    re.IGNORECASE,
)
_MAPPED = re.compile(
    r"\.map\(|\.Select\(|\bfor\b|\*\s*\(?\w*(tasks|coros|jobs|futures|requests|calls|promises)"
    r"|\b\w*(tasks|promises|requests|jobs)$"
)


_MAPS = re.compile(r"\.(map|Select)\(")
_HELD = re.compile(r"\b(self|this)\.")
"""Members, which are set with the object and few."""
_REMOTE = re.compile(
    r"^_?(fetch|download|upload|request|post|send|crawl|scrape|ping|probe|notify|publish|deliver|query|charge"
    r"|email)(_|[A-Z]|$)"
)
_PLAIN = frozenset(("get", "put", "call", "fetch", "load"))
"""Functions, not methods, with names of requests."""
_ENDS = re.compile(
    r"^_?(a?close|stop|shutdown|end|cancel|abort|destroy|dispose|disconnect|cleanup|clean_up|flush|remove"
    r"|unsubscribe|rollback|release|drain|kill|terminate|getattr|get_name)",
    re.IGNORECASE,
)


def _check(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls_named(*_ALL):
        given = " ".join(each.value.text for each in call.arguments)
        if facts.language == "csharp" and not _is_selected(call, given, facts):
            continue
        if (
            call.arguments
            and _MAPPED.search(given)
            and not _HELD.search(_iterated(given))
            and not _limited(call, facts)
            and _reaches_out(_started_by(call, facts), facts)
        ):
            yield Hit(call.span, f"{call.written}() starts one task for every item at once", LIKELY)
    for call in facts.calls:
        starts = call.name in _STARTS or call.is_launched or (call.method == "Go" and "errgroup" in call.name)
        if (
            starts
            and _per_item(call, facts)
            and not _limited(call, facts)
            and _reaches_out((call.span,), facts)
        ):
            started = "a goroutine" if call.is_launched else f"{call.written}()"
            yield Hit(call.span, f"{started} is started for every item, however many there are", LIKELY)
        elif call.is_launched and _per_client(call, facts) and not _limited(call, facts):
            what = "a goroutine is started for every connection, however many clients come"
            yield Hit(call.span, what, POSSIBLE)
    for call in facts.calls_of_method("awaitAll") if facts.language in KOTLIN else ():
        made = call.origin
        per_item = made is not None and made.method == "map" and "async" in facts.text(made.span)
        if (
            made is not None
            and per_item
            and not _is_known(made.receiver_written)
            and not _limited(call, facts)
        ):
            yield Hit(call.span, f"{call.written}() waits for one coroutine for every item at once", LIKELY)
    for call in facts.calls_named("java.util.concurrent.Executors.newCachedThreadPool"):
        yield Hit(call.span, f"{call.written}() makes a thread for every task that finds none free", LIKELY)


def _iterated(given: str) -> str:
    """Return what the items come from, without what is done with each of them."""
    mapped = _MAPS.search(given)
    return given.rpartition(" in ")[2] if mapped is None else given[: mapped.start()]


def _started_by(call: Call, facts: Facts) -> tuple[Span, ...]:
    """Return the code that makes the tasks: in the call, or where its variables get their values."""
    names = {*re.findall(r"[A-Za-z_]\w*", " ".join(each.value.text for each in call.arguments))}
    scope = facts.function_of(call)
    made = [
        each.span
        for each in facts.assignments
        if names & {*each.targets} and each.scope is scope and each.value is not None
    ]
    pushed = [
        each.span
        for each in facts.calls_of_method("append", "push", "add")
        if each.receiver_written in names and facts.function_of(each) is scope and facts.loops_around(each)
    ]
    return (call.span, *made, *pushed)


def _reaches_out(spans: tuple[Span, ...], facts: Facts) -> bool:
    """Return whether what is started leaves the process, as far as this text shows.

    Tasks that run already, clean-up and work in memory need no limit.
    """
    if facts.language == "csharp":
        # By convention, methods whose names end with Async wait for something outside.
        return any(re.search(r"\w+Async\b", facts.text(span)) for span in spans)
    remote = {each.call for each in remote_calls(facts)}
    inside = [call for span in spans for call in facts.within(facts.calls, span)]
    for call in inside:
        if _ENDS.match(call.method) or is_logging(call):
            continue
        if call in remote or _REMOTE.match(call.method) or (not call.receiver and call.method in _PLAIN):
            return True
    # Threads are given a function by its name.
    texts = [argument.value.text for call in inside for argument in call.arguments]
    named = [scope for scope in facts.scopes if scope.short_name and scope.short_name in texts]
    if any(call in remote for scope in named for call in facts.within(facts.calls, scope.body)):
        return True
    return any(call.name in ("threading.Thread", "multiprocessing.Process") for call in inside)


def _is_selected(call: Call, given: str, facts: Facts) -> bool:
    """Return whether the tasks are made for each item, here or in the variable that holds them (C#)."""
    texts = [given, *(facts.text(each.span) for each in facts.assignments_to(given, call))]
    return any(".Select(" in text for text in texts)


def _per_item(call: Call, facts: Facts) -> bool:
    """Return whether it is in a loop over items.

    A counting loop starts a known number, a waiting one is a server.
    """
    around = facts.loops_around(call)
    if not around:
        return False
    loop = around[-1]
    if loop.kind == "comprehension" and facts.language == "python" and loop.over.startswith("range("):
        return False
    if loop.kind not in ("each", "comprehension") or loop.is_async:
        return False
    return not _is_known(loop.over)


def _per_client(call: Call, facts: Facts) -> bool:
    """Return whether it is in an endless loop that accepts connections."""
    around = facts.loops_around(call)
    return bool(around) and any(
        each.method in ("Accept", "AcceptTCP", "AcceptUnix") and is_within(each.span, around[-1].body)
        for each in facts.calls_of_method("Accept", "AcceptTCP", "AcceptUnix")
    )


def _is_known(over: str) -> bool:
    """Return whether the number is fixed: a literal, a constant, or set with the object."""
    return re.fullmatch(r"[\[({].*[\])}]|[A-Z][A-Z0-9_]*", over, re.DOTALL) is not None or "self." in over


def _limited(call: Call, facts: Facts) -> bool:
    scope = facts.named_function_of(call) or facts.function_of(call)
    span = Span(0, len(facts.syntax.source)) if scope is None else scope.span
    # The limit may be in a called function.
    called = _words(facts.text(call.span))
    around = (span, *(other.span for other in facts.scopes if other.name and other.short_name in called))
    texts = [facts.text(each) for each in around]
    if any(map(_LIMITS.search, texts)):
        return True
    limits = _names_of_limits(facts)
    return bool(limits) and any(limits & _words(text) for text in texts)


def _words(text: str) -> set[str]:
    return {*re.findall(r"\w+", text)}


def _names_of_limits(facts: Facts) -> set[str]:
    """Return names of what this text makes to limit something: `slots = asyncio.Semaphore(10)`."""
    made = (each for each in facts.assignments if each.call is not None and _LIMITS.search(each.call.name))
    return {target.rpartition(".")[2] for each in made for target in each.targets}


RULE = Rule(
    id="FK-R022",
    slug="unbounded-fan-out",
    title="Unbounded fan-out",
    why="A list of ten thousand items becomes ten thousand connections at once: it drowns the "
    "dependency, then itself.",
    fix="Limit how many run at a time with a semaphore, a pool of workers or errgroup.SetLimit.",
    kind="reliability",
    severity="medium",
    languages=(*PYTHON, *JAVASCRIPT, *GO, *JAVA, *RUST, *CSHARP, *KOTLIN),
    check=_check,
)
