"""Finds messages that are handed to another thread or task while the consumer counts them as done."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Loop, Scope, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import EVERY_LANGUAGE, LIKELY, Hit, Rule
from faultkit.code.rules.vocabulary.acknowledgements import ACK_WORDS, ACKS, COMMITS, acknowledgements
from faultkit.code.rules.vocabulary.answered_failures import is_webhook
from faultkit.code.rules.vocabulary.answers import responder_of
from faultkit.code.rules.vocabulary.message_batches import marking_calls
from faultkit.code.rules.vocabulary.message_consumers import CONSUMER_WORDS, Consumer, message_consumers

_MANUAL = lazy_regex(
    r"enable[._]auto[._]commit[\"']?\s*[,:=\]]+\s*[\"']?([fF]alse)|ENABLE_AUTO_COMMIT_CONFIG\s*[,\]]\s*=?\s*\"?([fF]alse)"
    r"|EnableAutoCommit\s*=\s*false|EnableAutoOffsetStore\s*=\s*false|enable\.auto\.offset\.store|MANUAL|commit(Sync|Async)\(",
)
_SOURCES = lazy_regex(
    r"(KafkaConsumer|AIOKafkaConsumer|confluent_kafka\.Consumer|aiokafka\.\w+|kafka\.KafkaConsumer|IConsumer|Consumer)"
    r"(\.|$)"
)
_READS = frozenset(("poll", "Consume", "consume", "getone", "getmany", "ReadMessage"))
_HANDS = frozenset(
    (
        "submit", "execute", "runAsync", "supplyAsync", "create_task", "ensure_future", "launch", "Run",
        "start", "run_in_executor", "StartNew", "apply_async", "add_task",
    )
)  # fmt: skip
_WAITS = lazy_regex(
    r"\.Wait\(|invokeAll|awaitTermination|<-\w+"
    r"|\.get\(|\.join\(|await asyncio\.gather|awaitAll|joinAll|Task\.WhenAll|\.result\(|allOf|wait\("
)


def _check(facts: Facts) -> Iterator[Hit]:
    reported = [*_acknowledged(facts), *_left_to_task(facts)]
    yield from reported
    if reported or not facts.loops or "afka" not in facts.whole_text:
        return
    yield from _committed(facts)
    if _MANUAL.search(facts.whole_text):
        return
    seen: set[Call] = set()
    for loop in facts.loops:
        if not _reads(loop, facts) or _WAITS.search(facts.text(loop.body)):
            continue
        for call in facts.within(facts.calls, loop.body):
            if _hands_off(call, facts) and call not in seen:
                seen.add(call)
                what = f"{call.written}() hands the message on, and its offset is committed before it is done"
                yield Hit(call.span, what, LIKELY)
                break


_CHAINS = frozenset(
    ("thenAccept", "thenApply", "thenRun", "thenCompose", "whenComplete", "exceptionally", "handle",
     "thenAcceptAsync", "whenCompleteAsync", "subscribe", "then", "catch", "finally", "ContinueWith")
)  # fmt: skip
_AWAITS = lazy_regex(
    r"\.(?:join|get|block|await|Wait|GetAwaiter)\(|<-\w|Promise\.all|WhenAll|gather\(|join_all"
)


def _acknowledged(facts: Facts) -> Iterator[Hit]:
    """Yield work that is started and not awaited, right before its message is acknowledged."""
    acks = [call for call in acknowledgements(facts) if not call.is_deferred]
    acks += [call for call in marking_calls(facts) if facts.loops_around(call) and not call.is_argument]
    reported = set[Call]()
    for ack in acks:
        scope = facts.function_of(ack)
        for call in facts.own(facts.calls, scope) if scope is not None else ():
            if call.span.end > ack.span.start:
                continue
            if not (_starts(call, facts) or _is_chained(call, facts) or _starts_inside(call, scope, facts)):
                continue
            if ack.method not in ACKS | COMMITS | {"send"} and not _is_of_same_row(call, ack, facts):
                continue
            between = facts.text(Span(call.span.start, ack.span.start))
            if _AWAITS.search(between) or facts.are_exclusive(call, ack):
                continue
            if call not in reported:
                reported.add(call)
                how = (
                    "is not awaited"
                    if _starts(call, facts) or _is_chained(call, facts)
                    else "only starts the work"
                )
                what = f"{call.written}() {how}, and {ack.written}() counts the message as done"
                yield Hit(Span(call.span.start, ack.span.end), what, LIKELY)
            break


def _is_of_same_row(call: Call, mark: Call, facts: Facts) -> bool:
    """Return whether both are about the item of the round."""
    loop = facts.loops_around(mark)[-1]
    names = {name for target in loop.targets for name in _WORDS.findall(target)}
    used = {*_WORDS.findall(facts.text(call.span))} & {*_WORDS.findall(facts.text(mark.span))}
    return is_within(call.span, loop.body) and bool(names & used)


_WORDS = lazy_regex(r"[A-Za-z_$][\w$]*")
_HELD = lazy_regex(
    r"^(?:add|append|push|put|set|discard|remove|delete|add_?done_?callback|inc|launchIn|join|track|Add|register)$"
)
"""Calls that keep a task somewhere, or look after it when it has ended."""


def _left_to_task(facts: Facts) -> Iterator[Hit]:
    """Yield the only work of a consumer that is started and not awaited, so that its end is the end of it."""
    for consumer in (*message_consumers(facts), *_webhooks(facts)):
        scope, names = consumer.scope, {*consumer.messages}
        for each in facts.own(facts.within(facts.assignments, consumer.body), scope):
            if each.value is not None and names & {*_WORDS.findall(each.value.text)}:
                names.update(name for target in each.targets for name in _WORDS.findall(target))
        names.update(_filled(consumer, facts) if facts.language == "go" else ())
        for call in facts.own(facts.within(facts.calls, consumer.body), scope):
            words = {*_WORDS.findall(facts.text(call.span))} if _is_left(call, facts) else set[str]()
            # What answers when it is done is waited for by the sender.
            if not names & words or words & {responder_of(scope, facts), "next"}:
                continue
            rest = facts.text(Span(call.span.end, consumer.body.end))
            if _AWAITS.search(rest) or _AWAITED.search(rest) or _has_other_work(call, consumer, facts):
                continue
            what = (
                f"{call.written}() only starts the work, and {consumer.called_by} counts the message as done"
            )
            yield Hit(call.span, what, LIKELY)
            break


def _filled(consumer: Consumer, facts: Facts) -> Iterator[str]:
    """Yield the variables that calls are given to write to: `Decode(&event)` (Go)."""
    for call in facts.within(facts.calls_of_method("Decode", "Unmarshal", "BindJSON", "Bind"), consumer.body):
        yield from (each.value.text[1:] for each in call.positional if each.value.text.startswith("&"))


def _webhooks(facts: Facts) -> Iterator[Consumer]:
    """Yield functions whose callers send an event again until the answer is one of success."""
    for scope in facts.scopes if facts.syntax.has_any(*_OF_WEBHOOKS) else ():
        is_asked = scope.route is not None and scope.route.method in ("GET", "HEAD")
        if not is_asked and is_webhook(scope) and (scope.route is not None or responder_of(scope, facts)):
            names = frozenset(name for one in scope.parameters for name in _WORDS.findall(one.name))
            if facts.language == "kotlin" and not names:
                names = frozenset(("call", "it"))
            yield Consumer(scope, scope.body, "the sender", names)


_OF_WEBHOOKS = (b"hook", b"postback", b"ipn", b"inbound")
_PREPARES = lazy_regex(
    r"verif|valid|check|parse|read|text|json|body|decode|construct|receive|get|sign|assert|ensure|require|bind",
    re.IGNORECASE,
)
"""Names of calls that look at what was sent."""
_AWAITED = lazy_regex(r"\bawait\s+(?:\w+\.)*(?:wait|gather|shield|Promise|Task\.When|join)")


def _is_left(call: Call, facts: Facts) -> bool:
    """Return whether a call starts work for which its function does not wait."""
    if facts.language == "kotlin" and call.method in ("launch", "async") and not call.receiver_written:
        return False  # A child of the coroutine around it.
    if call.is_returned or call.is_awaited or (call.method == "apply_async" and not _is_pool(call)):
        return False
    return _starts(call, facts) or _is_chained(call, facts)


_ASYNC = lazy_regex(r"[a-z0-9]Async$")


def _has_other_work(started: Call, consumer: Consumer, facts: Facts) -> bool:
    """Return whether a consumer does more than to start something, which may be a message or a metric."""
    held, responder = {*started.assigned}, responder_of(consumer.scope, facts)
    return any(
        (each.is_discarded or each.is_awaited)
        and not is_within(each.span, started.span)
        and not is_within(started.span, each.span)
        and not is_logging(each)
        and not _COUNTS.match(each.method)
        and not (_HELD.match(each.method) and (held & _about(each)))
        and not (consumer.called_by == "the sender" and _PREPARES.search(each.method))
        and not (responder and responder in _WORDS.findall(facts.text(each.span)[:80]))
        and not each.written.startswith("call.respond")
        for each in facts.own(facts.within(facts.calls, consumer.body), consumer.scope)
    )


def _about(call: Call) -> set[str]:
    """Return what a call is made on, and what it is given."""
    return {call.receiver_written, *(each.value.text for each in call.positional)}


def _is_chained(call: Call, facts: Facts) -> bool:
    """Return whether it ends the statement that starts work: `order(parcel).thenAccept(…)`."""
    if call.method not in _CHAINS or call.is_awaited or call.origin is None:
        return False
    start = call.span.start
    if not call.is_discarded and facts.syntax.source[max(0, start - 6) : start].strip() != b"void":
        return False
    return call.origin.span.start == call.span.start and bool(call.arguments)


_POOLS = lazy_regex(r"(?:pool|executor|workers)$", re.IGNORECASE)


def _is_pool(call: Call) -> bool:
    """Return whether it runs in this process; `task.apply_async()` gives the work to another queue."""
    return _POOLS.search(call.receiver_written) is not None


def _starts(call: Call, facts: Facts) -> bool:
    """Return whether a function is given to another thread or task: `execute` may also run a query."""
    if not _hands_off(call, facts):
        return False
    if call.method == "submit" and (_POOLS.search(call.receiver_written) or "Executor" in call.receiver):
        return True
    return call.method not in ("execute", "submit", "start") or any(
        each.value.shape == "function" or "::" in each.value.text for each in call.positional[:1]
    )


def _starts_inside(call: Call, scope: Scope | None, facts: Facts) -> bool:
    """Return whether a function of this text starts the work and returns before it is done."""
    if call.is_awaited or not call.is_discarded or not call.arguments:
        return False
    for own in facts.functions_named(call.method):
        if own is scope or call not in facts.callers_of(own):
            continue
        for each in facts.within(facts.calls, own.body):
            is_left = each.is_discarded or each.is_launched or each.assigned == ("_",)
            if not is_left or not (_starts(each, facts) or _is_chained(each, facts)):
                continue
            rest = Span(each.span.end, own.body.end)
            if not _AWAITS.search(facts.text(rest)) and not _works_beside(each, own, facts):
                return True
    return False


def _works_beside(started: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether a function does more than to start something: that may be an audit or a metric."""
    return any(
        (each.is_discarded or each.is_awaited)
        and not is_within(each.span, started.span)
        and not is_within(started.span, each.span)
        and not is_logging(each)
        and not _COUNTS.match(each.method)
        for each in facts.own(facts.calls, scope)
    )


_COUNTS = lazy_regex(
    r"(?i:try)?acquire\w*|lock|unlock|release|inc\w*|observe|record|add|Add|Inc|Wait(Async)?"
)
"""Calls that limit or count what is started."""


def _committed(facts: Facts) -> Iterator[Hit]:
    """Yield messages that are handed on in a loop that commits by hand and does not wait for them."""
    for call in facts.calls_of_method("commitSync", "commitAsync", "Commit", "CommitMessages", "commit"):
        around = facts.loops_around(call)
        if not around or not (
            "onsumer" in call.name or "eader" in call.name or "onsumer" in call.receiver_written
        ):
            continue
        loop = around[0]
        if not _reads(loop, facts) and facts.language != "go":
            continue
        if _WAITS.search(facts.text(loop.body)):
            continue
        for each in facts.within(facts.calls, loop.body):
            if _hands_off(each, facts) and each.span.end <= call.span.start:
                what = f"{each.written}() hands the message on, and {call.written}() does not wait for it"
                yield Hit(each.span, what, LIKELY)
                break


def _reads(loop: Loop, facts: Facts) -> bool:
    """Return whether each round of a loop has a message of a consumer that commits by itself."""
    if facts.language == "go":
        called = [each for each in facts.within(facts.calls, loop.body) if each.method == "ReadMessage"]
        return any("kafka" in each.name for each in called) and loop.kind == "endless"
    over = [each for each in facts.within(facts.calls, loop.head) if each.method in _READS]
    inside = [
        each
        for each in facts.within(facts.calls, loop.body)
        if each.method in _READS and facts.loops_around(each) and facts.loops_around(each)[-1] == loop
    ]
    if any(_SOURCES.search(each.receiver) or "onsumer" in each.receiver_written for each in (*over, *inside)):
        return True
    made = facts.assignments_to(loop.over.removeprefix("self."), loop) if loop.over.isidentifier() else ()
    return any(each.call is not None and _SOURCES.search(each.call.name) for each in made)


def _hands_off(call: Call, facts: Facts) -> bool:
    if facts.language == "go":
        return call.is_launched
    if facts.language == "rust" and call.method in ("spawn", "spawn_blocking"):
        return call.is_discarded and bool(call.arguments)
    if facts.language == "csharp" and _ASYNC.search(call.method) and not call.is_awaited:
        return (call.is_discarded or call.assigned == ("_",)) and bool(call.arguments)
    if call.method not in _HANDS or call.is_awaited or not call.arguments:
        return False
    return call.method not in ("start", "Run") or call.name.startswith("Task.")


RULE = Rule(
    id="FK-R086",
    slug="message-handed-off",
    title="Message committed while another thread works on it",
    why="The message counts as done when it is acknowledged, or when the consumer polls again: if the "
    "process ends, or the work fails, the messages that were handed on and not yet done are lost.",
    fix="Acknowledge a message, or commit its offset, after the work for it is done; switch the automatic "
    "commit off.",
    kind="reliability",
    severity="high",
    languages=EVERY_LANGUAGE,
    check=_check,
    words=(
        *ACK_WORDS,
        b"afka",
        *CONSUMER_WORDS,
        b"hook",
        b"Hook",
        b"ostback",
        b"ipn",
        b"nbound",
        b"mark",
        b"Mark",
    ),
)
