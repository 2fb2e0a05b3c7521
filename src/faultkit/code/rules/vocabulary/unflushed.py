"""Writers and producers with a buffer that nothing empties in the end.

    let mut out = BufWriter::new(File::create(path)?);      w := bufio.NewWriter(f)
    for row in rows { out.write_all(row)?; }                fmt.Fprintln(w, row)

Go and Kafka lose what is in the buffer. Rust writes it when the value is dropped, and loses the error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Assignment, Call, Facts, Scope
from faultkit.code.rules.vocabulary.name_pattern import NamePattern

_MADE = {
    "rust": NamePattern(
        r"(^|\.)(BufWriter|LineWriter)\.(new|with_capacity)$|(^|\.)csv\.Writer\.from_(writer|path)$"
    ),
    "go": NamePattern(
        r"^(bufio|encoding/csv|compress/(gzip|zlib|flate)|archive/(zip|tar))\.NewWriter(Size|Level)?$"
    ),
}
_EMPTIES = {
    "rust": r"\b{0}\s*\.\s*(?:flush|into_inner|into_parts|finish|shutdown)\b",
    "go": r"\b{0}\.(?:Flush|Close|ReadFrom)\b",
}
_IN_MEMORY = re.compile(
    r"\b(Vec|Cursor|stdout|stderr|lock\(\)|Stdout|Stderr|sink\(\)|TcpStream|stream)\b|vec!"
)
_WRITES = re.compile(
    r"^(fmt|io|json|csv|xml|gob|binary|template|tmpl|t|enc|hex|base64)$|encoding/|^io$|template"
)
_PRODUCERS = NamePattern(r"^(confluent_kafka\.(Producer|SerializingProducer)|kafka\.KafkaProducer)$")


def unflushed(facts: Facts) -> Iterator[tuple[Call, str]]:
    """Yield the calls that make a buffer that is not emptied, with the name of what holds it."""
    if facts.language == "python":
        yield from _producers(facts)
        return
    made = _MADE.get(facts.language)
    if made is None:
        return
    for each in facts.assignments:
        if (
            each.call is None
            or each.scope is None
            or len(each.targets) != 1
            or not made.search(each.call.name)
        ):
            continue
        name, scope = each.targets[0], each.scope
        if not name.isidentifier() or _IN_MEMORY.search(facts.text(each.call.span)):
            continue
        if not re.search(_EMPTIES[facts.language].format(name), facts.text(scope.body)) and not _is_handed_on(
            each, scope, facts
        ):
            yield each.call, name


def _is_handed_on(made: Assignment, scope: Scope, facts: Facts) -> bool:
    """Return whether a writer is handed to code that may empty it."""
    name = made.targets[0]
    if facts.language == "rust":
        return (
            re.search(
                rf"(?<!&mut )(?<!&)(?<![\w.]){name}\s*[,)}}]|\b{name}\s*$|:\s*{name}\b|\bmove\b|\.by_ref",
                facts.text(scope.body).replace(f"&mut {name}", "").rstrip("} \n"),
            )
            is not None
        )
    for call in facts.within(facts.calls, scope.body):
        given = any(re.fullmatch(rf"&?{name}", each.value.text) for each in call.arguments)
        if given and (call.constructs or not _WRITES.search(call.receiver_written.partition(".")[0])):
            return True
    return any(
        re.search(rf"(?<![\w.]){name}\b(?!\.)", step.text)
        for step in facts.within(facts.steps, scope.body)
        if step.kind == "return"
    ) or any(
        each.value is not None and each is not made and re.fullmatch(rf"&?{name}", each.value.text)
        for each in facts.within(facts.assignments, scope.body)
    )


def _producers(facts: Facts) -> Iterator[tuple[Call, str]]:
    """Yield producers of Kafka in a file that neither flushes nor closes one, nor waits for an answer."""
    for call in facts.calls:
        if (
            not call.constructs
            or not _PRODUCERS.match(call.name)
            or len(call.assigned) != 1
            or call.is_returned
        ):
            continue
        sends = [each for each in facts.calls_on(call) if each.method in ("send", "produce")]
        if sends and not re.search(
            r"\.(flush|close|get|poll|result|add_callback)\(|\bawait\b", facts.whole_text
        ):
            yield call, call.assigned[0]
