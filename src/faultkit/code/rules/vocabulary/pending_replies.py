"""Requests whose reply another task hands over by an id, and that are waited for without a limit.

    const reply = new Promise((resolve) => { pending.set(id, resolve); });
    done = threading.Event(); self.pending[id] = done; self.send(request); done.wait()

A reply that is lost leaves the caller waiting, and its entry in the table, until the process ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.name_pattern import NamePattern

_MADE = {
    "python": NamePattern(
        r"(^|\.)(threading\.Event|asyncio\.Event|create_future|asyncio\.Future|concurrent\.futures\.Future)$"
    ),
    "java": NamePattern(r"(^|\.)(CompletableFuture|SettableFuture\.create)$"),
    "kotlin": NamePattern(r"(^|\.)(CompletableDeferred|CompletableFuture)$"),
    "csharp": NamePattern(r"(^|\.)TaskCompletionSource(<.*>)?$"),
    "rust": NamePattern(r"(^|\.)oneshot\.channel$"),
    "go": NamePattern(r"^make$"),
}
_WAITED = {
    "python": r"\bawait\s+{0}\b(?!\.)|\b{0}\.(?:wait|result)\(\)",
    "java": r"\b{0}\.(?:get|join)\(\)",
    "kotlin": r"\b{0}\.(?:await|get|join)\(\)",
    "csharp": r"\bawait\s+{0}\.Task\b(?!\.WaitAsync)|\b{0}\.Task\.(?:Result|Wait\(\))",
    "rust": r"\b{0}\.await\b|\b{0}\.blocking_recv\(\)",
    "go": r"<-\s*{0}\b",
}
_STORED = (
    r"\]\s*=\s*{0}\b"
    r"|\.(?:put|set|insert|TryAdd|Add|append|add|push|setdefault|Store|putIfAbsent|offer)\([^;\n]*\b{0}\b(?!\.(?:complete|set_|Set|TrySet))"
)
_LIMITED = lazy_regex(
    r"time_?out|deadline|wait_for\(|fail_after|move_on_after|\bselect\b|select!|WaitAsync|WhenAny|CancelAfter|\.Register\("
    r"|ctx\.Done|time\.After|AfterFunc|Promise\.race|AbortSignal|schedule|expire|\bttl\b|invokeOnTimeout",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class PendingReply:
    """A wait for a reply."""

    span: Span
    name: str
    """What is waited for, as written."""


def pending_replies(facts: Facts) -> Iterator[PendingReply]:
    """Yield waits without a limit for what another task completes by a table of pending requests."""
    if facts.language in ("javascript", "typescript", "tsx"):
        yield from _promises(facts)
        return
    made = _MADE.get(facts.language)
    if made is None:
        return
    if facts.language == "go":
        yield from _asked(facts)
    for each in facts.assignments:
        if each.call is None or each.scope is None or not made.search(each.call.name):
            continue
        if facts.language == "go" and not _is_channel(each.call):
            continue
        sender, receiver = (each.targets[0], each.targets[-1])
        if not sender.isidentifier() or not receiver.isidentifier():
            continue
        scope = facts.named_function_of(each.call) or each.scope
        text = facts.text(scope.body)
        if not re.search(_STORED.format(re.escape(sender)), text) or _LIMITED.search(text):
            continue
        waits = re.search(_WAITED[facts.language].format(re.escape(receiver)), text)
        if waits is None or _is_limited_by_callers(scope, facts):
            continue
        yield PendingReply(facts.syntax.place_of(waits, scope.body.start), receiver)


_SENT = lazy_regex(r"\b[\w.]+\s*<-\s*&?(\w+)\b")
_RECEIVED = lazy_regex(r"(?:return|=)\s*<-\s*(\w+)\.\w+\b")


def _asked(facts: Facts) -> Iterator[PendingReply]:
    """Yield receives of a reply by functions with a context, which may end before it comes (Go)."""
    for scope in facts.scopes:
        if not any(each.type == "context.Context" for each in scope.parameters):
            continue
        text = facts.text(scope.body)
        if "<-" not in text or "select" in text:
            continue
        for found in _RECEIVED.finditer(text):
            if any(sent[1] == found[1] for sent in _SENT.finditer(text, 0, found.start())):
                yield PendingReply(facts.syntax.place_of(found, scope.body.start), found[1])


def _is_channel(call: Call) -> bool:
    return bool(call.arguments) and call.arguments[0].value.text.startswith("chan ")


def _is_limited_by_callers(scope: Scope, facts: Facts) -> bool:
    """Return whether a function of this text limits the time of the function that waits."""
    return any(
        _LIMITED.search(facts.text(around.body))
        for call in facts.callers_of(scope)
        if (around := facts.named_function_of(call)) is not None
    )


_KEPT = lazy_regex(
    r"\b\w*(?:[pP]ending|[rR]equests|[wW]aiting|[wW]aiters|[cC]alls|[cC]allbacks|[iI]nflight|[rR]esolvers|[rR]eplies)\w*\b"
)


def _promises(facts: Facts) -> Iterator[PendingReply]:
    """Yield promises whose resolve function is put into a table."""
    for call in facts.calls_named("Promise"):
        scope = facts.named_function_of(call)
        given = call.argument(place=0)
        inner = None if given is None else facts.function_at(given.value.span)
        if inner is None or scope is None or not inner.parameters:
            continue
        text = facts.text(inner.body)
        resolve = re.escape(inner.parameters[0].name)
        if (heard := _answer(resolve, text, scope, facts)) is not None:
            place = facts.syntax.place_of(heard, inner.body.start)
            yield PendingReply(Span(call.span.start, place.end), "this promise")
            continue
        stored = re.search(rf"\]\s*=\s*\{{?[^;]*\b{resolve}\b|\.set\([^;]*\b{resolve}\b", text)
        if stored is None or not _KEPT.search(text) or _LIMITED.search(facts.text(scope.body)):
            continue
        if _is_limited_by_callers(scope, facts) or re.search(r"setTimeout|setInterval", facts.whole_text):
            continue
        yield PendingReply(
            Span(call.span.start, facts.syntax.place_of(stored, inner.body.start).end), "this promise"
        )


_SENDS = lazy_regex(r"\.(?:write|send|postMessage|publish|emit|sendToQueue|request)\(")
_HEARD = (
    r"\.(?:once|on|addListener|addEventListener)\(\s*['\"`](?:message|data|response|reply|result|line|answer)['\"`]"
    r"[^;]*?\b{0}\b"
)
_OTHER_END = lazy_regex(r"setTimeout|setInterval|AbortSignal|signal|[tT]imeout|deadline|Promise\.race")


def _answer(resolve: str, text: str, scope: Scope, facts: Facts) -> re.Match[str] | None:
    """Return where a promise waits for the answer to what its function sends, and nothing else ends it."""
    if not _SENDS.search(facts.text(scope.body)) or _OTHER_END.search(facts.text(scope.body)):
        return None
    found = re.search(_HEARD.format(resolve), text, re.DOTALL)
    if found is None or _is_limited_by_callers(scope, facts) or _OTHER_END.search(facts.whole_text):
        return None
    return found
