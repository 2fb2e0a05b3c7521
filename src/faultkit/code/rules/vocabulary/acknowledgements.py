"""Calls that acknowledge a message of a queue, or return it to the queue."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.languages.syntax import Span

ACKS = frozenset(
    (
        "basic_ack", "basicAck", "BasicAck", "BasicAckAsync", "ack", "Ack", "acknowledge", "delete_message",
        "deleteMessage", "DeleteMessage", "DeleteMessageAsync", "commitSync", "commitAsync", "CommitMessages",
        "commit_message", "MarkMessage", "MarkOffset", "CompleteMessageAsync", "CompleteAsync", "double_ack",
        "commitOffsets", "CommitMessage", "store_offset", "StoreOffset", "xack", "XAck", "xAck",
        "StreamAcknowledgeAsync", "StreamAcknowledge", "AckSync", "DoubleAck", "deleteMessageAsync",
        "delete_message_batch",
        "deleteMessageBatch", "DeleteMessageBatch", "DeleteMessageBatchAsync", "store_offsets", "storeOffset",
        "StoreOffsets", "store_offset_from_message", "resolveOffset", "CommitRecords", "MarkCommitRecords",
        "CommitOffsets", "UpdateCheckpointAsync", "updateCheckpoint", "update_checkpoint",
        "UpdateCheckpoint",
        "CommitMessageAsync",
        "commitOffset", "commit_offsets", "checkpoint", "CommitUncommittedOffsets", "complete_message",
        "receipt_handle", "acknowledgeAsync", "AcknowledgeAsync", "Acknowledge",
    )
)  # fmt: skip
COMMITS = frozenset(("commit", "Commit", "CommitAsync"))
"""Also of databases: only on a consumer."""
_OFFSETS = COMMITS | {
    "commitSync", "commitAsync", "CommitMessages", "commit_message", "CommitMessage", "MarkMessage",
    "MarkOffset", "commitOffsets", "commitOffset", "store_offset", "store_offsets", "storeOffset",
    "StoreOffset", "StoreOffsets", "store_offset_from_message", "resolveOffset", "CommitRecords",
    "MarkCommitRecords", "CommitOffsets", "UpdateCheckpointAsync", "updateCheckpoint", "update_checkpoint",
        "UpdateCheckpoint",
    "commit_offsets", "checkpoint", "CommitUncommittedOffsets",
}  # fmt: skip
"""What acknowledges a message and all before it in its partition."""
_ONLY_OF_QUEUES = (_OFFSETS - COMMITS - {"commitSync", "commitAsync", "CommitMessage", "checkpoint"}) | {
    "delete_message_batch", "deleteMessageBatch", "DeleteMessageBatch", "DeleteMessageBatchAsync",
}  # fmt: skip
"""Names that nothing but a queue has, so that its object need not be known."""
_QUEUES = lazy_regex(
    r"channel|^ch$|message|msg|^m$|method|delivery|^d$|sqs|consumer|ack|event|queue|body|reader|^args$|session|^s$"
    r"|^sess$|receiver|context",
    re.IGNORECASE,
)
NACKS = frozenset(
    (
        "basic_nack", "basic_reject", "basicNack", "basicReject", "BasicNack", "BasicNackAsync",
        "BasicReject", "BasicRejectAsync", "nack", "Nack", "reject", "Reject",
    )
)  # fmt: skip


ACK_WORDS = (
    b"ack(", b"Ack(", b"AckAsync(", b"AckSync(", b"cknowledge", b"elete_message", b"eleteMessage", b"ommit",
    b"MarkMessage", b"MarkOffset", b"CompleteMessageAsync", b"CompleteAsync", b"store_offset", b"toreOffset",
    b"resolveOffset", b"pdateCheckpoint", b"update_checkpoint",
)  # fmt: skip
"""Parts of which one stands in each text that acknowledges a message."""


@lru_cache(maxsize=4)
def acknowledgements(facts: Facts) -> tuple[Call, ...]:
    """Return the calls of a text that acknowledge a message."""
    return tuple(call for call in facts.calls_of_method(*ACKS, *COMMITS, "send") if is_acknowledgement(call))


def is_acknowledgement(call: Call) -> bool:
    """Return whether a call acknowledges a message."""
    if call.method == "send":
        # `sqs.send(new DeleteMessageCommand({ … }))`
        command = call.argument(place=0)
        return command is not None and command.value.text.startswith("new DeleteMessage")
    if call.method not in ACKS and call.method not in COMMITS:
        return False
    last = call.receiver_written.rpartition(".")[2].replace("()", "")
    if call.method == "receipt_handle":
        # `client.delete_message().queue_url(url).receipt_handle(handle).send()` (Rust)
        return "delete_message" in call.written and bool(call.arguments)
    if call.method in _ONLY_OF_QUEUES:
        return True
    if call.method == "checkpoint":
        return "checkpointer" in call.receiver_written.lower()
    if call.method in COMMITS:
        names = f"{call.receiver_written} {call.receiver}".lower()
        return "consumer" in names or "kafka" in names
    if call.method.lower() in ("xack", "streamacknowledge", "streamacknowledgeasync"):
        return bool(call.arguments)
    if call.method.lower().startswith(("delete_message", "deletemessage")):
        given = " ".join(each.value.text for each in call.arguments)
        if re.search(r"receipt_?handle|pop_?receipt", given, re.IGNORECASE):
            return True
    type_ = call.receiver.rpartition(".")[2]
    return bool(last) and (_QUEUES.search(last) or _QUEUES.search(type_)) is not None


def moves_offset(call: Call) -> bool:
    """Return whether an acknowledgement counts also for the messages before it, as Kafka's offsets do."""
    return call.method in _OFFSETS


@dataclass(frozen=True, slots=True)
class Settled:
    """A call after which a message, or a batch of them, counts as done."""

    call: Call
    ack: Call
    """The acknowledgement: `call` itself, or one in a function of this text that it calls."""

    @property
    def span(self) -> Span:
        return self.call.span


@lru_cache(maxsize=4)
def settled_messages(facts: Facts) -> tuple[Settled, ...]:
    """Return the acknowledgements, and the calls of functions of this text that do nothing else."""
    direct = acknowledgements(facts)
    holders: dict[Scope, Call] = {}
    for ack in direct:
        scope = facts.named_function_of(ack)
        if scope is not None and scope.parameters and _only_acknowledges(ack, scope, facts):
            holders.setdefault(scope, ack)
    through = [
        Settled(call, ack)
        for scope, ack in holders.items()
        for call in facts.callers_of(scope)
        if call.arguments and not call.is_argument
    ]
    return (*(Settled(ack, ack) for ack in direct), *through)


_COLLECTS = frozenset(("append", "push", "add", "Add"))


def _only_acknowledges(ack: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether a function does nothing before it acknowledges but to list what it acknowledges."""
    return not any(
        (call.is_discarded or call.is_awaited)
        and call.span.start < ack.span.start
        and not is_within(ack.span, call.span)
        and call.method not in _COLLECTS
        and not is_logging(call)
        for call in facts.within(facts.calls, scope.body)
    )


def is_requeued(call: Call, facts: Facts) -> bool:
    """Return whether a call puts a message back into its queue, to be delivered again at once."""
    if call.method not in NACKS or not call.receiver_written:
        return False
    texts = [each.value.text for each in call.positional]
    named = call.argument("requeue")
    if named is not None:
        return named.value.shape == "true"
    options = " ".join(texts)
    if "requeue" in options:
        return re.search(r"requeue:\s*true", options) is not None
    if facts.language == "python":
        # Both put the message back unless they are told otherwise.
        return call.method in ("basic_nack", "basic_reject", "nack") and len(texts) < 3
    if facts.language in ("javascript", "typescript", "tsx"):
        is_amqp = re.search(r"(^|[._])(ch|channel)\w*$", call.receiver_written, re.IGNORECASE) is not None
        return is_amqp and call.method == "nack" and (len(texts) < 3 or texts[2] == "true")
    if facts.language == "rust":
        return False
    return bool(texts) and texts[-1] == "true"
