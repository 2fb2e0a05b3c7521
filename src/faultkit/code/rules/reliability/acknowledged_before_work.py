"""Finds messages that are acknowledged before they are worked on."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Call, Facts, Scope, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.rules.rule import GO, JAVA, JAVASCRIPT, LIKELY, PYTHON, Hit, Rule

_ACKS = frozenset(
    ("basic_ack", "basicAck", "ack", "Ack", "acknowledge", "delete_message", "deleteMessage", "DeleteMessage",
     "commitSync", "CommitMessages")
)  # fmt: skip
_QUEUES = re.compile(
    r"channel|^ch$|message|msg|^m$|method|delivery|^d$|sqs|consumer|ack|event|queue|body|reader",
    re.IGNORECASE,
)
_QUICK = re.compile(
    r"^(loads|parse|decode|json|get|debug|info|warn\w*|error|log|print\w*|Print\w*|Unmarshal|toString|String|len"
    r"|now|Now|time|split|strip|format|str|int|dict|list|isinstance|append|inc|observe|start|ack|close|stop"
    r"|readValue|getBody|getMessageProperties|getDeliveryTag|from|monotonic|NewDecoder|Decode|on|done)$"
)
_WORK = re.compile(
    r"^_*(process|handle|save|store|insert|update|upsert|send|publish|write|execute|create|charge|pay|ship|import"
    r"|upload|deliver|dispatch|run|work|perform|apply|persist|index|sync|notify|post|put|transfer|commit)",
    re.IGNORECASE,
)


def _check(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls_of_method(*_ACKS):
        scope = facts.function_of(call)
        if scope is None or call.is_deferred or call.is_argument or not _is_message(call):
            continue
        work = _work_after(call, scope, facts)
        if work is not None and not _work_before(call, scope, facts):
            what = f"{call.written}() comes before {work.written}(): if that fails, the message is lost"
            yield Hit(call.span, what, LIKELY)
    for call in facts.calls_of_method("basic_consume", "consume"):
        given = call.argument("auto_ack", "noAck", "no_ack")
        if given is not None and given.value.shape == "true":
            yield Hit(
                given.value.span,
                "messages count as done when they are sent, not when they are worked on",
                LIKELY,
            )


def _is_message(call: Call) -> bool:
    last = call.receiver_written.rpartition(".")[2].replace("()", "")
    return bool(last) and _QUEUES.search(last) is not None


def _work_before(call: Call, scope: Scope, facts: Facts) -> bool:
    return any(
        not _QUICK.match(each.method) and not is_logging(each) and not each.constructs
        for each in facts.own(facts.calls, scope)
        if each.span.end < call.span.start and not is_within(call.span, each.span)
    )


def _work_after(call: Call, scope: Scope, facts: Facts) -> Call | None:
    """Return a call after an acknowledgement, in the same block or further out, that does the work."""
    leaves = [
        step.span.start
        for step in facts.within(facts.steps, scope.body)
        if step.kind in ("return", "continue", "break", "raise") and step.span.start > call.span.end
    ]
    end = min(leaves, default=scope.body.end)
    arms = [each for each in facts.tries for handler in each.handlers if is_within(call.span, handler.span)]
    if arms:
        return None
    for each in facts.own(facts.calls, scope):
        if each.span.start > call.span.end and each.span.start < end + 1 and _WORK.match(each.method):
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
    languages=(*PYTHON, *JAVASCRIPT, *GO, *JAVA),
    check=_check,
)
