"""Finds batches whose answer lists the items that failed, and is not looked at."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts
from faultkit.code.rules.rule import EVERY_LANGUAGE, LIKELY, Hit, Rule
from faultkit.code.rules.vocabulary.name_pattern import NamePattern

_BATCHES: tuple[tuple[re.Pattern[str], re.Pattern[str], str], ...] = (
    (
        lazy_regex(
            r"^(send_message_batch|sendMessageBatch|SendMessageBatch(Async)?|SendMessageBatchCommand)$"
        ),
        lazy_regex(r"[fF]ailed"),
        "Failed",
    ),
    (
        lazy_regex(r"^(publish_batch|publishBatch|PublishBatch(Async)?|PublishBatchCommand)$"),
        lazy_regex(r"[fF]ailed"),
        "Failed",
    ),
    (
        lazy_regex(
            r"^(batch_write_item|batchWriteItem|BatchWriteItem(Async)?|BatchWriteItemCommand|BatchWriteCommand)$"
        ),
        lazy_regex(r"[uU]nprocessed"),
        "UnprocessedItems",
    ),
    (
        lazy_regex(
            r"^(batch_get_item|batchGetItem|BatchGetItem(Async)?|BatchGetItemCommand|BatchGetCommand)$"
        ),
        lazy_regex(r"[uU]nprocessed"),
        "UnprocessedKeys",
    ),
    (
        lazy_regex(r"^(put_records|putRecords|PutRecords(Async)?|PutRecordsCommand)$"),
        lazy_regex(r"[fF]ailed|ErrorCode|error_code|errorCode"),
        "FailedRecordCount",
    ),
    (
        lazy_regex(r"^(put_record_batch|putRecordBatch|PutRecordBatch(Async)?|PutRecordBatchCommand)$"),
        lazy_regex(r"[fF]ailed|ErrorCode|error_code|errorCode"),
        "FailedPutCount",
    ),
    (
        lazy_regex(r"^(put_events|putEvents|PutEvents(Async)?|PutEventsCommand)$"),
        lazy_regex(r"[fF]ailed|ErrorCode|error_code|errorCode"),
        "FailedEntryCount",
    ),
    (
        lazy_regex(r"^(delete_objects|deleteObjects|DeleteObjects(Async)?|DeleteObjectsCommand)$"),
        lazy_regex(r"[eE]rrors"),
        "Errors",
    ),
    (lazy_regex(r"^insert_rows_json$"), lazy_regex(r"error"), "the list of errors"),
    (
        lazy_regex(
            r"^(sendEachForMulticast(Async)?|sendMulticast|send_each_for_multicast|SendEachForMulticast(Async)?)$"
        ),
        lazy_regex(r"[fF]ailure|failure_count|responses|Responses"),
        "failureCount",
    ),
    (
        lazy_regex(r"^(bulk|Bulk|BulkAsync|bulkAsync)$"),
        lazy_regex(r"\berrors\b|[fF]ailures|Errors|IsValid|ItemsWithErrors|IsSuccess"),
        "errors",
    ),
)
_SEARCH = lazy_regex(rb"elasticsearch|opensearch|Elastic|OpenSearch|\bes\b|\bosclient", re.IGNORECASE)
_NAMES = NamePattern(
    r"batch|bulk|put_?(records|events)|delete_?objects|insert_rows_json|multicast", re.IGNORECASE
)


def _check(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls_with_method(_NAMES.search):
        if call.is_decorator:
            continue
        for method, looked_at, part in _BATCHES:
            if not method.match(call.method):
                continue
            if not call.constructs and not call.receiver_written:
                continue
            is_client = _is_search(call, facts) if method.match("bulk") else _is_of_cloud(call, facts)
            if not is_client:
                continue
            if not _is_looked_at(call, looked_at, facts):
                what = f"{call.written}() succeeds even if items fail; {part} of its answer is not looked at"
                yield Hit(call.span, what, LIKELY)


_CLOUDS = (
    b"aws", b"boto", b"amazon", b"dynamo", b"kinesis", b"firehose", b"sqs", b"sns", b"eventbridge", b"s3",
    b"minio", b"firebase", b"fcm", b"bigquery",
)  # fmt: skip


def _is_of_cloud(call: Call, facts: Facts) -> bool:
    """Return whether a batch may be one of a cloud service: own classes have methods of these names, too."""
    if call.constructs:
        return True
    # A method of another package begins with a capital in Go.
    is_own = facts.language == "go" and call.method[:1].islower()
    return not is_own and facts.syntax.has_any(*_CLOUDS)


def _is_search(call: Call, facts: Facts) -> bool:
    """Return whether a `bulk` is that of Elasticsearch or OpenSearch; the one of Python's helpers raises,
    unless raise_on_error is false."""
    if _SEARCH.search(facts.syntax.source) is None:
        return False
    if "helpers" in call.name:
        raises = call.argument("raise_on_error")
        return raises is not None and raises.value.shape == "false"
    return (
        bool(call.arguments)
        and re.search(r"(?i)(es|elastic\w*|search\w*|client)$", call.receiver_written) is not None
    )


_KEEPS = frozenset(("set", "add", "complete", "accept", "offer", "append", "push", "set_result", "resolve"))


def _is_looked_at(call: Call, looked_at: re.Pattern[str], facts: Facts) -> bool:
    scope = facts.named_function_of(call)
    if scope is None or call.is_returned:
        return True
    if call.is_argument and (around := facts.calls_around(call)) and around[-1].method in _KEEPS:
        return True  # What is passed on whole may be looked at elsewhere.
    text = facts.text(scope.body)
    own = facts.text(call.span)
    if looked_at.search(text.replace(own, "", 1)):
        return True
    # What is passed on whole, or returned, may be looked at elsewhere.
    names = [name for each in (call, *facts.calls_around(call)) for name in each.assigned]
    bare = [name for name in names if name.isidentifier() and name not in ("_", "err")]
    return any(
        re.search(rf"return\s+{re.escape(name)}\b|[(,]\s*{re.escape(name)}\s*[,)]", text.replace(own, "", 1))
        for name in bare
    )


RULE = Rule(
    id="FK-R161",
    slug="failed-items-ignored",
    title="Failed items of a batch ignored",
    why="The call succeeds although some of its items were refused: they are lost, and nothing says so.",
    fix="Look at the failed items of the answer, and send them again or fail.",
    kind="reliability",
    severity="high",
    languages=EVERY_LANGUAGE,
    check=_check,
    words=(
        b"atch", b"bulk", b"Bulk", b"put_records", b"PutRecords", b"putRecords", b"put_events", b"PutEvents",
        b"putEvents", b"elete_objects", b"eleteObjects", b"insert_rows_json", b"ulticast",
    ),
)  # fmt: skip
