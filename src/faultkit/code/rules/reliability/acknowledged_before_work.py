"""Finds messages that are acknowledged before they are worked on."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Argument, Call, Facts, Scope, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import EVERY_LANGUAGE, LIKELY, Hit, Rule
from faultkit.code.rules.vocabulary.acknowledgements import ACKS, COMMITS, is_acknowledgement

_QUICK = re.compile(
    r"^(loads|parse|decode|json|get|debug|info|warn\w*|error|log|print\w*|Print\w*|Unmarshal|toString|String|len"
    r"|now|Now|time|split|strip|format|str|int|dict|list|isinstance|append|inc|observe|start|ack|close|stop"
    r"|receive\w*|poll|Poll|consume|Consume|getone|getmany|fetch|FetchMessage|ReadMessage|recv|next|isEmpty|ofSeconds|ofMillis"
    r"|records|value|key|offset|payload|topic|partition|subscribe|seconds|milliseconds|FromSeconds|ok|Ok|Some|is_none"
    r"|Context|context|Done|Err|error_code|MarkMessage|from_secs|from_millis|commit\w*|readValue|getBody|getMessageProperties|getDeliveryTag|from|monotonic|NewDecoder|Decode|on|done)$"
)


def _check(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls_of_method(*ACKS, *COMMITS, "send"):
        scope = facts.function_of(call)
        if scope is None or call.is_argument:
            continue
        if call.method != "send" and not is_acknowledgement(call):
            continue
        if call.method == "send" and not facts.text(call.span).partition("(")[2].lstrip().startswith(
            "new DeleteMessage"
        ):
            continue
        for each in (call, *_through(call, scope, facts)):
            if facts.is_in_finally(each) or facts.is_deferred(each):
                if (done := _tried(each, facts)) is not None:
                    what = f"{each.written}() runs also if {done.written}() fails, and the message is lost"
                    yield Hit(each.span, what, LIKELY)
                continue
            inner = facts.function_of(each)
            work = None if inner is None else _work_after(each, inner, facts)
            if inner is not None and work is not None and not _work_before(each, inner, facts):
                what = f"{each.written}() comes before {work.written}(): if that fails, the message is lost"
                yield Hit(each.span, what, LIKELY)
    if re.search(rb"(?i)receive_?and_?delete", facts.syntax.source):
        yield from _received_and_deleted(facts)
    for call in facts.calls_of_method(
        "basic_consume", "consume", "basicConsume", "BasicConsume", "BasicConsumeAsync", "Consume"
    ):
        given = call.argument("auto_ack", "noAck", "no_ack", "autoAck")
        if given is None:
            given = _positional_auto_ack(call, facts)
        if given is not None and given.value.shape == "true":
            yield Hit(
                given.value.span,
                "messages count as done when they are sent, not when they are worked on",
                LIKELY,
            )


def _received_and_deleted(facts: Facts) -> Iterator[Hit]:
    """Yield receivers of Service Bus that delete a message when they get it."""
    for read in facts.accesses:
        if read.written.rpartition(".")[2] == "ReceiveAndDelete" or read.written.endswith(
            "RECEIVE_AND_DELETE"
        ):
            yield Hit(
                read.span, "messages are deleted when they are received, not when the work is done", LIKELY
            )
    for text in facts.texts:
        if text.text == "receiveAndDelete":
            yield Hit(
                text.span, "messages are deleted when they are received, not when the work is done", LIKELY
            )


def _tried(ack: Call, facts: Facts) -> Call | None:
    """Return the work after which a message is acknowledged whether it failed or not."""
    late = [
        each.finally_
        for each in facts.tries
        if each.finally_ is not None and is_within(ack.span, each.finally_)
    ]
    inner = facts.function_of(ack)
    if facts.is_deferred(ack) and inner is not None and inner.is_anonymous:
        late.append(inner.body)
    # `finally { if (done) ack() }`
    if any(
        is_within(ack.span, arm.span) and any(is_within(arm.span, one) for one in late) for arm in facts.arms
    ):
        return None
    if facts.is_deferred(ack):
        scope = next((each for each in facts.functions_around(ack) if each.name), None)
        guarded = [] if scope is None else [Span(ack.span.end, scope.body.end)]
    else:
        guarded = [each.body for each in facts.tries if each.finally_ in late]
    for body in guarded[-1:]:
        for call in facts.within(facts.calls, body):
            if _is_work(call) and not facts.is_deferred(call):
                return call
    return None


def _positional_auto_ack(call: Call, facts: Facts) -> Argument | None:
    """Return the argument that says whether messages need an acknowledgement, where it has no name."""
    if call.method in ("basicConsume", "BasicConsume", "BasicConsumeAsync"):
        return call.argument(place=1)
    if facts.language == "go" and call.method == "Consume" and len(call.positional) == 7:
        return call.argument(place=2)
    return None


def _through(call: Call, scope: Scope, facts: Facts) -> tuple[Call, ...]:
    """Return the calls of a function that does nothing but acknowledge the message that it is given."""
    inside = list(facts.within(facts.calls, scope.body))
    if not scope.name or any(each is not call and _is_work(each) for each in inside):
        return ()
    return tuple(each for each in facts.callers_of(scope) if each.arguments and not each.is_argument)


def _is_work(call: Call) -> bool:
    return not _QUICK.match(call.method) and not is_logging(call) and not call.constructs


def _round(call: Call, scope: Scope, facts: Facts) -> Span:
    """Return the code for one message: the body of the loop around the acknowledgement, or the function."""
    loops = facts.loops_around(call)
    return loops[-1].body if loops else scope.body


def _work_before(call: Call, scope: Scope, facts: Facts) -> bool:
    return any(
        _is_work(each) and each.span.end < call.span.start
        for each in facts.within(facts.calls, _round(call, scope, facts))
    )


def _work_after(call: Call, scope: Scope, facts: Facts) -> Call | None:
    """Return the first call after an acknowledgement that does the work."""
    if any(is_within(call.span, handler.body) for each in facts.tries for handler in each.handlers):
        return None
    body = _round(call, scope, facts)
    branches = [
        step.span
        for step in facts.within(facts.steps, body)
        if step.kind == "branch" and step.span.start > call.span.end
    ]
    # `if err := reader.CommitMessages(…); err != nil { return err }`
    branches += [one.span for each in facts.within(facts.tries, body) for one in each.handlers]
    leaves = [
        step.span.start
        for step in facts.within(facts.steps, body)
        if step.kind in ("return", "continue", "break", "raise")
        and step.span.start > call.span.end
        and not any(is_within(step.span, branch) for branch in branches)
    ]
    end = min(leaves, default=body.end)
    for each in facts.within(facts.calls, body):
        if call.span.end < each.span.start <= end and _is_work(each) and facts.function_of(each) is scope:
            return each
    return None


RULE = Rule(
    id="FK-R056",
    slug="acknowledged-before-work",
    title="Message acknowledged before the work",
    why="If the work fails or the process ends, the queue has forgotten the message: it is lost.",
    fix="Acknowledge after the work is done; make the work idempotent, since a message may then come twice.",
    kind="reliability",
    severity="high",
    languages=EVERY_LANGUAGE,
    check=_check,
)
