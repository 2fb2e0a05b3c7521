"""Calls that acknowledge a message of a queue, or return it to the queue."""

from __future__ import annotations

import re
from functools import lru_cache

from faultkit.code.facts import Call, Facts

ACKS = frozenset(
    (
        "basic_ack", "basicAck", "BasicAck", "BasicAckAsync", "ack", "Ack", "acknowledge", "delete_message",
        "deleteMessage", "DeleteMessage", "DeleteMessageAsync", "commitSync", "commitAsync", "CommitMessages",
        "commit_message", "MarkMessage", "MarkOffset", "CompleteMessageAsync", "CompleteAsync", "double_ack",
        "commitOffsets", "CommitMessage", "store_offset", "StoreOffset", "xack", "XAck", "xAck",
        "StreamAcknowledgeAsync", "StreamAcknowledge", "AckSync", "DoubleAck", "deleteMessageAsync",
        "delete_message_batch",
        "deleteMessageBatch", "DeleteMessageBatch", "DeleteMessageBatchAsync",
    )
)  # fmt: skip
COMMITS = frozenset(("commit", "Commit"))
"""Also of databases: only on a consumer."""
_QUEUES = re.compile(
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
    b"MarkMessage", b"MarkOffset", b"CompleteMessageAsync", b"CompleteAsync", b"store_offset", b"StoreOffset",
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
