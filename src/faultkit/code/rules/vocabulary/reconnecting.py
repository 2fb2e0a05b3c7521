"""Loops that connect again at once after a failure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Handler, Loop, Scope, Try, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.idle_rounds import may_wait
from faultkit.code.rules.vocabulary.loop_conditions import WAITS_IN_HEAD, goes_on
from faultkit.code.rules.vocabulary.waits import is_sleep

_CONNECTS = lazy_regex(
    r"^_*(re_?)?(connect|Connect|dial|Dial)(_?(async|robust|to|once|context|tls|timeout|config|and\w+|Async|Context|TLS"
    r"|Timeout|Config|Robust|To|And\w+|\w*[cC]onnection|[sS]ocket|[sS]tream|[fF]eed))?$"
    r"|^(open|create|get|make|new|establish)_?\w*([cC]onnection|[sS]ocket|_pubsub)\w*$|^(ws_connect|BlockingConnection)$"
    r"|^(subscribe|psubscribe|Subscribe)$|^(webSocket|wss|webSocketSession|sse|serverSentEvents|eventSource)$"
)
_RECEIVES = lazy_regex(
    r"^(Fetch|FetchMessage|ReadMessage|Receive|Recv|RecvMsg|NextMsg|NextMessage|ReceiveMessage|ReceiveMessages|ReceiveAsync"
    r"|ReceiveMessageAsync|ReadFrame|receive_message|receive_messages|receiveMessage|receive|recv|read_message|fetch_message"
    r"|next_message|nextMessage|readMessage|receiveMessages|Consume|accept|Accept|AcceptTcpClientAsync|AcceptAsync|brpop|blpop|BLPop|BRPop|xreadgroup"
    r"|XReadGroup|getone|ConsumeAsync|consume|xread|xread_options|xread_group|xReadGroup|xRead|XRead|blmove|BLMove|pull"
    r"|Pull|PullAsync)$"
)
"""Calls that wait for the next message, and fail at once when their connection is gone."""
_POLLS = lazy_regex(r"\b\w*(?:events?|event_?loop|conn(?:ection)?)\.(?:poll|next_event|read_message)\(\)")
_EXPECTED = lazy_regex(
    r"(Timeout\w*|TimedOut|Empty|Cancel\w*|Interrupt\w*|StopIteration|WouldBlock|BlockingIOError|ObjectDisposed\w*)$"
)
"""Failures that a round waits for, or that end the loop."""
_LOST = lazy_regex(
    r"(?:^|[.:])\w*(?:Redis|Client|Sdk|SDK|Sqs|SQS|Kafka|Amqp|AMQP|BotoCore|Connection|IO|Socket|Network|Http|HTTP"
    r"|Operational|Broker|Messaging|Database|Sql|SQL|Mongo|Nats|Pulsar|ServiceBus|Service|Request|Rpc|AmazonSQS)"
    r"(?:Error|Exception)$"
)
"""Failures of a connection or of the other side, not of one message."""
_STOPS = lazy_regex(r"ctx|stop|cancel|clos|shut|done|interrupt|quit|running|active|EOF", re.IGNORECASE)
_SELECT = lazy_regex(r"select!\s*\{")
_CALLED = lazy_regex(r"=\s*(?:self\.)?(\w+)\(")
_PAUSES = lazy_regex(r"sleep|delay|backoff|interval|timeout\(|\.tick\(", re.IGNORECASE)


def reconnecting_loops(facts: Facts) -> Iterator[tuple[Loop, Span]]:
    """Yield loops without an end that connect again at once after a failure, with the handler of it."""
    for loop in facts.loops:
        if not goes_on(loop, facts):
            continue
        if WAITS_IN_HEAD.search(loop.over):
            continue
        for each in facts.within(facts.tries, loop.body):
            if facts.loops_around(each)[-1:] != (loop,) or _is_of_event(each, loop, facts):
                continue
            if (handler := _without_pause(each, loop, facts)) is not None:
                yield loop, handler.span
                break
            opens = _opens(each, facts) or _polls(each, loop, facts)
            if not (opens or _receives(each, facts)):
                continue
            for handler in each.handlers:
                is_lost = handler.is_broad or (
                    any(map(_LOST.search, handler.types)) and not any(map(_EXPECTED.search, handler.types))
                )
                if not (opens or is_lost) or not _goes_on_at_once(handler, facts):
                    continue
                if not _waits_outside(each, loop, _skips(handler, facts), facts):
                    yield loop, handler.span
                    break
            else:
                continue
            break
        else:
            if facts.language == "rust" and (place := _selected(loop, facts)) is not None:
                yield loop, place


_EVENT = lazy_regex(r"\bcase\s+[\w, ]+:?=\s*<-")
_WAITS_BEFORE = lazy_regex(r"\.(accept\w*|recv|next)\(")


def _is_of_event(each: Try, loop: Loop, facts: Facts) -> bool:
    """Return whether a failure is that of one event, for which the round waited before."""
    before = facts.text(Span(loop.body.start, max(each.body.start, loop.body.start)))
    if facts.language == "go":
        return _EVENT.search(before) is not None
    return facts.language == "rust" and _WAITS_BEFORE.search(before) is not None


_LOOKS_UP = lazy_regex(r"(get|is|has)([A-Z_]|$)|(clear|size|now|contains\w*|add|put)$")
"""Methods that look at own data, or change a collection: they do not fail."""


def _without_pause(each: Try, loop: Loop, facts: Facts) -> Handler | None:
    """Return the handler of a round whose pause stands only where nothing fails.

    It is the last thing that is tried, or follows what is tried, while the handler goes on with `continue`.
    """
    scope = facts.function_of(loop)
    waits = [
        call
        for call in facts.within(facts.calls, loop.body)
        if is_sleep(call) and facts.function_of(call) is scope and facts.loops_around(call)[-1:] == (loop,)
    ]
    if not waits or any(call.span.end <= each.body.start for call in waits):
        return None
    handlers = [handler for handler in each.handlers if is_within(handler.span, loop.body)]
    on_success = [
        call
        for call in waits
        if not any(is_within(call.span, one.body) for one in facts.handlers_around(call))
    ]
    tried = [
        call
        for call in facts.within(facts.calls, each.body)
        if not is_logging(call) and not call.constructs and not call.is_argument
    ]
    first = min(tried, key=lambda one: one.span.start, default=None)
    others = [call for call in facts.within(facts.calls, loop.body) if not is_sleep(call)]
    if not on_success or first is None or is_sleep(first) or any(may_wait(call, facts) for call in others):
        return None
    pause = min(call.span.start for call in on_success)
    if not any(call.span.start < pause and not _LOOKS_UP.match(call.method) for call in tried):
        return None  # Each round begins with its pause.
    after = [call for call in on_success if call.span.start >= each.span.end]
    for handler in handlers:
        if any(map(_EXPECTED.search, handler.types)) or not _goes_on_at_once(handler, facts):
            continue
        if _skips(handler, facts) or not after:
            return handler
    return None


def _skips(handler: Handler, facts: Facts) -> bool:
    """Return whether a handler ends the round, so that the rest of it runs only after a success."""
    return facts.text(handler.body).rstrip(" ;})\n\t").endswith("continue")


def _polls(each: Try, loop: Loop, facts: Facts) -> bool:
    """Return whether the event loop of a connection is asked, which connects again by itself (Rust)."""
    if facts.language != "rust":
        return False
    matched = facts.text(each.body)
    if matched.isidentifier():
        before = facts.text(Span(loop.body.start, max(each.span.start, loop.body.start)))
        found = re.search(rf"\blet\s+(?:mut\s+)?{matched}\s*=(.*)", before, re.DOTALL)
        matched = "" if found is None else found[1]
    return _POLLS.search(matched) is not None


def _opens(each: Try, facts: Facts) -> bool:
    """Return whether the first thing that a try does with others is to connect."""
    calls = [call for call in facts.within(facts.calls, each.body) if not call.is_argument or call.is_awaited]
    for call in sorted(calls, key=lambda one: one.span.end):
        if is_connecting(call, facts):
            return True
        if call.is_awaited or (may_wait(call, facts) and not call.constructs):
            return False
    return False


def _receives(each: Try, facts: Facts) -> bool:
    """Return whether the first thing that a try does is to wait for a message."""
    calls = [call for call in facts.within(facts.calls, each.body) if not call.is_argument or call.is_awaited]
    first = min(calls, key=lambda one: one.span.end, default=None)
    if first is None:
        return False
    if first.receiver_written != "" and _RECEIVES.match(first.method):
        return True
    return first.receiver_written in ("", "self", "this") and any(
        _only_receives(scope, facts) for scope in facts.functions_named(first.method)
    )


def _only_receives(scope: Scope, facts: Facts) -> bool:
    """Return whether a function waits for a message, and lets its failure go up at once."""
    calls = [*_calls(scope, facts)]
    return (
        any(one.receiver_written != "" and _RECEIVES.match(one.method) for one in calls)
        and not any(map(is_sleep, calls))
        and not any(facts.within(facts.tries, scope.body))
    )


def is_connecting(call: Call, facts: Facts) -> bool:
    """Return whether a call makes a connection, itself or in a function of this text that does not wait."""
    own = facts.functions_named(call.method)
    if _CONNECTS.match(call.method):
        return not any(is_sleep(one) for scope in own for one in _calls(scope, facts))
    return any(
        any(_CONNECTS.match(one.method) for one in _calls(scope, facts))
        and not any(is_sleep(one) for one in _calls(scope, facts))
        for scope in own
    )


def _calls(scope: Scope, facts: Facts) -> Iterator[Call]:
    return facts.within(facts.calls, scope.body)


def _waits_outside(each: Try, loop: Loop, skips: bool, facts: Facts) -> bool:
    """Return whether a round waits before what is tried, or after it if a failure does not skip that."""
    outside = [
        call
        for call in facts.within(facts.calls, loop.body)
        if not is_within(call.span, each.span) and not is_within(call.span, each.body)
    ]
    if facts.language == "go" or skips:
        # The rest of the round runs only after a success.
        outside = [call for call in outside if call.span.end <= each.body.start]
    if facts.language == "go":
        before = facts.text(Span(loop.body.start, max(each.body.start, loop.body.start)))
        if "<-" in before and "default:" not in before:
            return True
    if (
        facts.language == "rust"
        and not skips
        and _PAUSES.search(facts.text(Span(each.span.end, loop.body.end)))
    ):
        return True
    return any(is_sleep(call) or may_wait(call, facts) for call in outside)


_LEAVES_OUT = lazy_regex(
    r"^_?(skip|discard|drop|give_?up|quarantine|dead_?letter|mark_?(as_?)?failed)", re.IGNORECASE
)


def _goes_on_at_once(handler: Handler, facts: Facts) -> bool:
    """Return whether a handler leads to the next round without a pause."""
    if handler.raises or _PAUSES.search(facts.text(handler.body)):
        return False
    if any(is_sleep(call) or may_wait(call, facts) for call in facts.within(facts.calls, handler.body)):
        return False
    if "<-" in facts.text(handler.body) and facts.language == "go":
        return False
    if any(_LEAVES_OUT.match(call.method) for call in facts.within(facts.calls, handler.body)):
        return False  # The next round has other work.
    if not handler.exits:
        return True
    branches = [step for step in facts.within(facts.steps, handler.body) if step.kind == "branch"]
    exits = [
        step for step in facts.within(facts.steps, handler.body) if step.kind in ("return", "break", "raise")
    ]
    return all(
        any(is_within(step.span, each.span) and _STOPS.search(each.text) for each in branches)
        for step in exits
    )


def _selected(loop: Loop, facts: Facts) -> Span | None:
    """Return the failure of a function that connects, in an arm of `select!` (no facts are read there)."""
    text = facts.text(loop.body)
    if not _SELECT.search(text) or _PAUSES.search(text):
        return None
    found = re.search(r"Err\(\w*\)\s*=>(?!\s*(?:return|break))[^\n]{0,200}", text)
    if found is None:
        return None
    for name in _CALLED.findall(text):
        for scope in facts.functions_named(name):
            if _PAUSES.search(facts.text(scope.body).replace("timeout(", "")):
                continue
            if any(is_connecting(call, facts) for call in _calls(scope, facts)):
                return facts.syntax.place_of(found, loop.body.start)
    return None
