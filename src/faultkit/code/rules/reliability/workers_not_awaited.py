"""Finds workers that a program starts and does not wait for when it ends."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import CSHARP, GO, KOTLIN, LIKELY, RUST, Hit, Rule
from faultkit.code.rules.vocabulary.channels import goroutines, made_channels

_SIGNALS = lazy_regex(r"(^|\.)(ctrl_c|recv)$|tokio\.signal\.")
_WAITS = lazy_regex(r"join|\bwait\b|JoinSet|TaskTracker|select!|\.await\b.*handle")
_PROGRAM = lazy_regex(rb"^package main\b", re.MULTILINE)
_ENDS = lazy_regex(r"^(Stop|Close|Shutdown|stop|close|shutdown)")


def _check(facts: Facts) -> Iterator[Hit]:
    if facts.language == "go":
        yield from _groups(facts)
        yield from _left(facts)
    elif facts.language == "rust":
        yield from tasks_cut_off(facts)
        yield from _drained(facts)
    elif facts.language == "kotlin":
        yield from _cancelled(facts)
    else:
        yield from _hosted(facts)


def _groups(facts: Facts) -> Iterator[Hit]:
    """Yield a sync.WaitGroup that counts goroutines and that nothing waits for."""
    for each in facts.assignments:
        if each.type not in ("sync.WaitGroup", "sync.WaitGroup{}") or not each.targets:
            continue
        name = each.targets[0]
        text = facts.whole_text if each.scope is None else facts.text(each.scope.body)
        inside = list(facts.calls) if each.scope is None else list(facts.within(facts.calls, each.scope.body))
        on = [call for call in inside if call.receiver_written == name]
        adds = [call for call in on if call.method in ("Add", "Go")]
        if not adds or any(call.method == "Wait" for call in on):
            continue
        if each.scope is None:
            if not _PROGRAM.search(facts.syntax.source):
                continue  # Another file of the package may wait for it.
            owned = [scope for scope in facts.scopes if scope.owner == each.owner]
            if not any(_ENDS.match(scope.short_name) for scope in owned):
                continue
        bare = name.removeprefix("self.")
        if re.search(rf"&\s*(\w+\.)*{re.escape(bare)}\b|\b{re.escape(bare)}\.Wait\b", text):
            continue
        what = f"nothing waits for {bare}: the goroutines that it counts are cut off at the end"
        started = next(
            (call for call in inside if call.is_launched and call.span.start > adds[0].span.start), None
        )
        end = adds[0].span.end if started is None else started.span.start + 1
        yield Hit(Span(adds[0].span.start, end), what, LIKELY)


_WORKERS = lazy_regex(
    r"work|consum|process|run|poll|handle|dispatch|flush|loop|publish|drain|deliver|batch", re.I
)
_ASIDE = lazy_regex(r"metric|serve|listen|debug|pprof|health|watch|signal|stop|heartbeat|ping", re.IGNORECASE)
_STOPS = lazy_regex(
    r"<-|Wait|Shutdown|Stop|Close|Drain|select\s*\{|Sleep|Flush|close\(|stop\(|shutdown", re.IGNORECASE
)


def _left(facts: Facts) -> Iterator[Hit]:
    """Yield goroutines of `main` that the end after a signal cuts off (Go)."""
    if not facts.imports_any("os/signal") or not _PROGRAM.search(facts.syntax.source):
        return
    for scope in facts.scopes:
        if scope.name != "main":
            continue
        text = facts.text(scope.body)
        received = list(re.finditer(r"<-\s*(\w+)(\.Done\(\))?\s*\n", text))
        rest = text[received[-1].end() :] if received else ""
        if received and not _WAITS_IN_GO.search(rest) and (fed := _fed_by_channel(scope, facts)) is not None:
            what = (
                f"{fed.written}() is cut off with what waits in its channel: nothing waits for it at the end"
            )
            yield Hit(Span(fed.span.start, scope.body.end), what, LIKELY)
            continue
        if not received or _STOPS.search(rest):
            continue
        for call in facts.own(facts.calls, scope):
            name = call.written if not call.written.startswith("func") else ""
            if call.is_launched and _WORKERS.search(name) and not _ASIDE.search(name):
                what = f"{call.written}() is cut off: main returns after the signal without a wait for it"
                yield Hit(Span(call.span.start, scope.body.end), what, LIKELY)
                break


_WAITS_IN_GO = lazy_regex(r"<-|\bWait\w*\(|select\s*\{|Sleep\(|[dD]rain|\bfor\b")


def _fed_by_channel(scope: Scope, facts: Facts) -> Call | None:
    """Return a goroutine of `main` that works off a channel of `main` by a function of this text."""
    channels = {each.targets[0] for each in made_channels(facts) if each.scope is scope}
    for call in facts.own(goroutines(facts), scope):
        own = facts.functions_named(call.method)
        given = [place for place, each in enumerate(call.positional) if each.value.text in channels]
        if len(own) != 1 or not given or given[0] >= len(own[0].parameters):
            continue
        name = own[0].parameters[given[0]].name
        if any(loop.over == name for loop in facts.within(facts.loops, own[0].body)):
            return call
    return None


def tasks_cut_off(facts: Facts) -> Iterator[Hit]:
    """Yield tasks of a function that waits for a signal and then ends without them."""
    for scope in facts.scopes:
        inside = list(facts.own(facts.calls, scope))
        signal = next((call for call in inside if _SIGNALS.search(call.name) and "signal" in call.name), None)
        spawned = [call for call in inside if call.name in ("tokio.spawn", "tokio.task.spawn")]
        if signal is None or not spawned:
            continue
        after = facts.text(scope.body).encode()[signal.span.end - scope.body.start :].decode(errors="replace")
        if _WAITS.search(after) or "graceful" in facts.text(scope.body):
            continue
        for call in spawned:
            names = [name for name in call.assigned if name != "_"]
            if any(re.search(rf"\b{re.escape(name)}\b", after) for name in names):
                continue
            what = f"{call.written}() starts a task that is cut off when the function ends after the signal"
            yield Hit(Span(call.span.start, max(call.callee.end, signal.span.end)), what, LIKELY)
            break


_RECEIVERS = lazy_regex(
    r"let\s+\(\s*\w+\s*,\s*(?:mut\s+)?(\w+)\s*\)\s*=\s*[\w:]*\b(?:channel|unbounded_channel|bounded)\b"
)


def _drained(facts: Facts) -> Iterator[Hit]:
    """Yield workers of a channel that a server leaves behind when it has shut down in order (Rust)."""
    for call in facts.calls_of_method("with_graceful_shutdown"):
        scope = facts.named_function_of(call)
        if scope is None:
            continue
        text = facts.text(scope.body)
        receivers = {*_RECEIVERS.findall(text)}
        after = facts.text(Span(call.span.end, scope.body.end))
        for spawned in facts.within(facts.calls_of_method("spawn"), scope.body):
            words = {*re.findall(r"\w+", facts.text(spawned.span))}
            names = [name for name in spawned.assigned if name != "_"]
            waited = any(re.search(rf"\b{re.escape(name)}\b", after) for name in names)
            if receivers & words and not waited and not re.search(r"JoinSet|TaskTracker|\.join\(", text):
                what = f"the worker of {spawned.written}() is cut off with what waits in its channel"
                yield Hit(spawned.span, what, LIKELY)


def _cancelled(facts: Facts) -> Iterator[Hit]:
    """Yield scopes that are cancelled while the coroutine that empties a channel still works (Kotlin)."""
    channels = [
        each.targets[0].removeprefix("self.")
        for each in facts.assignments
        if each.scope is None and each.value is not None and re.match(r"Channel\s*[<(]", each.value.text)
    ]
    reads = any(loop.kind == "each" and loop.over in channels for loop in facts.loops)
    for call in facts.calls_of_method("cancel") if reads else ():
        scope = facts.named_function_of(call)
        if scope is None or not re.match(r"(close|stop|shutdown)", scope.short_name):
            continue
        if (
            not re.search(r"join|cancelAndJoin|drain", facts.text(scope.body))
            and "cope" in call.receiver_written
        ):
            what = (
                f"{call.written}() cuts off the coroutine that empties {channels[0]}, with what waits in it"
            )
            yield Hit(call.span, what, LIKELY)


def _hosted(facts: Facts) -> Iterator[Hit]:
    """Yield hosted services whose StopAsync does not wait for the task that StartAsync began (C#)."""
    for scope in facts.functions_named("StartAsync"):
        if not _is_hosted(scope, facts):
            continue
        stop = next(
            (each for each in facts.functions_named("StopAsync") if each.owner == scope.owner),
            None,
        )
        if stop is None:
            continue
        for call in facts.own(facts.calls, scope):
            dropped = call.assigned == ("_",) or (call.is_discarded and not call.is_awaited)
            if (
                dropped
                and re.search(r"[a-z]Async$|^Run$|StartNew$", call.method)
                and "Timer" not in call.name
            ):
                what = f"StopAsync() does not wait for the task of {call.written}(), which is cut off"
                yield Hit(call.span, what, LIKELY)
        for each in facts.within(facts.assignments, scope.body):
            kept = each.call
            if kept is None or kept.is_awaited or not each.targets or not _is_task(each.targets[0], facts):
                continue
            if not re.search(r"Async$|^Run$|StartNew$", kept.method):
                continue
            name = each.targets[0].removeprefix("self.")
            if not re.search(rf"\b{re.escape(name)}\b", facts.text(stop.span)):
                what = f"StopAsync() does not wait for {name}, which is cut off in the middle of its work"
                yield Hit(each.span, what, LIKELY)


def _is_hosted(scope: Scope, facts: Facts) -> bool:
    return any("HostedService" in base for base in facts.classes.get(scope.owner, ()))


def _is_task(target: str, facts: Facts) -> bool:
    name = target.removeprefix("self.")
    return any(
        each.scope is None and each.type.startswith("Task") and f"self.{name}" in each.targets
        for each in facts.assignments
    )


RULE = Rule(
    id="FK-R100",
    slug="workers-not-awaited",
    title="Workers that the end of the program does not wait for",
    why="Every deployment cuts off what has been accepted and is half done.",
    fix="Ask the workers to stop, and wait for them with a deadline before the program ends.",
    kind="reliability",
    severity="medium",
    languages=(*GO, *RUST, *CSHARP, *KOTLIN),
    check=_check,
)
