"""Writers and producers with a buffer that nothing empties in the end.

    let mut out = BufWriter::new(File::create(path)?);      w := bufio.NewWriter(f)
    for row in rows { out.write_all(row)?; }                fmt.Fprintln(w, row)

Go and Kafka lose what is in the buffer. Rust writes it when the value is dropped, and loses the error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Assignment, Call, Facts, Scope
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_MADE = {
    "rust": NamePattern(
        r"(^|\.)(BufWriter|LineWriter)\.(new|with_capacity)$|(^|\.)csv\.Writer\.from_(writer|path)$"
        r"|(^|\.)tokio\.fs\.File\.create(_new)?$|(^|\.)(Gz|Zlib|Deflate|Bz|Xz)Encoder\.new$|(^|\.)ZipWriter\.new$"
    ),
    "go": NamePattern(
        r"^(bufio|encoding/csv|compress/(gzip|zlib|flate)|archive/(zip|tar))\.NewWriter(Size|Level)?$"
    ),
}
_EMPTIES = {
    "rust": r"\b{0}\s*\.\s*(?:flush|into_inner|into_parts|finish\w*|try_finish|shutdown)\b",
    "tokio": r"\b{0}\s*\.\s*(?:flush|shutdown|sync_all|sync_data|into_std)\b",
    "go": r"\b{0}\.(?:Flush|Close|ReadFrom|WriteAll)\b",
}
_IN_MEMORY = lazy_regex(
    r"\b(Vec|Cursor|stdout|stderr|lock\(\)|Stdout|Stderr|sink\(\)|TcpStream|stream)\b|vec!"
)
_WRITES = lazy_regex(
    r"^(fmt|io|json|csv|xml|gob|binary|template|tmpl|t|enc|hex|base64)$|encoding/|^io$|template"
)
_PRODUCERS = NamePattern(
    r"^(confluent_kafka\.(Producer|SerializingProducer)|kafka\.KafkaProducer)$"
    r"|(^|\.)clients\.producer\.KafkaProducer$|/kafka(/v\d)?\.NewProducer$|sarama\.NewAsyncProducer\w*$"
)


def unflushed(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield the code from what makes a buffer that is not emptied to its last use, with what is lost."""
    yield from _producers(facts)
    if facts.language == "python":
        yield from _temporary_files(facts)
    made = _MADE.get(facts.language)
    if made is None:
        return
    if facts.language == "go":
        yield from _csv_errors(facts)
        yield from _closed_too_late(facts)
    yield from _fields(facts)
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
        if _TOKIO_FILE.search(each.call.name) and not _is_written(name, scope, facts):
            continue
        # The `into_inner` of Tokio's writer throws away what is in the buffer.
        kind = "tokio" if re.search(r"(^|\.)tokio\.", each.call.name) else facts.language
        emptied = re.search(_EMPTIES[kind].format(name), facts.text(scope.body))
        if not emptied and not _is_handed_on(each, scope, facts):
            uses = [
                call.span.end
                for call in facts.within(facts.calls, Span(each.span.end, scope.body.end))
                if call.receiver_written == name or any(one.value.text == name for one in call.positional[:1])
            ]
            yield Span(each.call.span.start, max(uses, default=each.call.span.end)), _never(name, facts)


_FIELDS = {
    "rust": TextPattern(r"\b(\w+)\s*:\s*(?:\w+<)*(?:\w+::)*(?:BufWriter|LineWriter)<(?:\w+::)*File>"),
    "go": TextPattern(r"\n\s+(\w+)\s+\*(?:bufio|csv)\.Writer\s*\n"),
}


def _fields(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield buffers in fields that no function of the text empties; of Rust, their end if that is written."""
    pattern = _FIELDS[facts.language] if facts.syntax.has_any(b"writer") else None
    for found in pattern.finditer(facts.whole_text) if pattern is not None else ():
        name, text = found[1], facts.whole_text
        line = facts.syntax.line_text(facts.syntax.line(facts.syntax.place_of(found).start + 1))
        written = re.compile(rf"\.{name}\s*\.\s*[wW]rite|[(,]\s*(?:&mut\s+)?\w+\.{name}\s*,")
        if re.search(r"\bfn\b|\bfunc\b", line) or written.search(text) is None:
            continue
        if re.search(
            rf"\b{name}\b(?:\s*\.\s*\w+\(\)\??)*\s*\.\s*(?:flush|Flush|into_inner|into_parts|get_mut)\b", text
        ):
            continue
        ends = [
            call.span
            for call in facts.calls_of_method("drop")
            if any(each.value.text.rpartition(".")[2] == name for each in call.positional)
        ]
        yield (ends[0] if ends else facts.syntax.place_of(found)), _never(name, facts)


def _never(name: str, facts: Facts) -> str:
    is_rust = facts.language == "rust"
    lost = "an error of its last write is lost" if is_rust else "what it still holds is lost"
    return f"{name} is never flushed: {lost}"


_TOKIO_FILE = NamePattern(r"(^|\.)tokio\.fs\.File\.create(_new)?$")
"""A file of Tokio has a buffer, too: what is in it when the file is dropped may never be written."""


def _is_written(name: str, scope: Scope, facts: Facts) -> bool:
    text = facts.text(scope.body)
    return (
        re.search(rf"\b{name}\s*\.\s*write_", text) is not None
        and re.search(rf"\bcopy\w*\([^;]*&mut {name}\b|&mut {name}\b", text) is None
    )


def _csv_errors(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield writers of CSV into a file whose Flush, which returns nothing, is not followed by Error (Go)."""
    for each in facts.assignments:
        if each.call is None or each.scope is None or each.call.name != "encoding/csv.NewWriter":
            continue
        name, first = each.targets[0], each.call.argument(place=0)
        made = () if first is None else facts.assignments_to(first.value.text, each)
        is_file = any(one.call is not None and one.call.name in _FILES for one in made)
        text = facts.text(each.scope.body)
        if is_file and f"{name}.Flush()" in text and f"{name}.Error()" not in text:
            flush = next(call for call in facts.calls_of_method("Flush") if call.receiver_written == name)
            yield flush.span, f"{name}.Error() is never asked: an error of the last write is lost"


def _closed_too_late(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield `defer gz.Close()` of a writer into memory that is read before the function ends (Go)."""
    for call in facts.calls_of_method("Close"):
        made, scope = call.origin, facts.function_of(call)
        if not call.is_deferred or made is None or scope is None or not _PACKS.match(made.name):
            continue
        first = made.argument(place=0)
        if first is None or not first.value.text.startswith("&"):
            continue
        rest = facts.text(Span(call.span.end, scope.body.end))
        if re.search(rf"\b{re.escape(first.value.text[1:])}\.(?:Bytes|String|Len)\(\)", rest):
            what = f"{call.written}() runs after the buffer was read: its end is missing"
            yield call.span, what


_PACKS = NamePattern(r"^(compress/(gzip|zlib|flate)|archive/(zip|tar)|bufio|mime/multipart)\.NewWriter\w*$")


def _temporary_files(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield temporary files that are given away by name while what was written is in the buffer (Python)."""
    for call in facts.calls_named("tempfile.NamedTemporaryFile"):
        scope = facts.function_of(call)
        if scope is None or len(call.assigned) != 1 or call.has("buffering"):
            continue
        name, text = re.escape(call.assigned[0]), facts.text(scope.body)
        wrote = re.search(rf"\b{name}\.write(?:lines)?\(|\bdump\([^\n]*,\s*{name}\b", text)
        given = re.search(rf"[(,\[]\s*{name}\.name\b", text)
        if wrote is None or given is None or given.start() < wrote.start():
            continue
        between = text[wrote.start() : given.start()]
        flushed = re.search(rf"\b{name}\.(?:flush|close)\(", between)
        if not flushed and not _has_left(call, given.start(), scope, facts):
            yield call.span, f"{call.assigned[0]} is not flushed before its name is given away"


def _has_left(call: Call, at: int, scope: Scope, facts: Facts) -> bool:
    """Return whether the block of `with` has ended, which closes the file."""
    place = scope.body.start + len(facts.text(scope.body)[:at].encode())
    return any(made is call and place >= body.end for made, body in facts.managed)


_FILES = frozenset(("os.Create", "os.OpenFile", "os.CreateTemp"))


def _is_handed_on(made: Assignment, scope: Scope, facts: Facts) -> bool:
    """Return whether a writer is handed to code that may empty it."""
    name = made.targets[0]
    if facts.language == "rust":
        text = facts.text(scope.body).replace(f"&mut {name}", "").rstrip("} \n")
        # `writeln!(out, …)` borrows the writer, and `drop(out)` loses the error of its last write.
        text = re.sub(rf"\bwrite(?:ln)?!\s*\(\s*{name}\b|\bdrop\(\s*{name}\s*\)", "", text)
        return (
            re.search(
                rf"(?<!&mut )(?<!&)(?<![\w.]){name}\s*[,)}}]|\b{name}\s*$|:\s*{name}\b|\bmove\b|\.by_ref",
                text,
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


_SENT = frozenset(("send", "produce", "Produce", "Input", "WriteMessages"))
_ENDED = lazy_regex(
    r"\.(?:flush|close|Flush|Close|CloseAsync|DisposeAsync|Dispose|AsyncClose|disconnect|use)\b|\bdestroyMethod\b"
)
_EMPTIED = lazy_regex(r"\.flush\(|\bwhile\s+len\(|\.poll\(\s*(?:-1|None)?\s*\)")
_ANSWERED = lazy_regex(
    r"\.(?:get|poll|result|add_callback|join|await|asDeferred|toCompletableFuture)\(|\bawait\b|allOf\("
)


def _producers(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield producers of Kafka in a file that neither flushes nor closes one, nor waits for an answer."""
    for call in facts.calls if facts.syntax.has_any(b"producer") else ():
        made = _PRODUCERS.search(call.name)
        if made is None or len(call.assigned) != 1 or call.is_returned or call.is_managed:
            continue
        sends = [each for each in facts.calls_on(call) if each.method in _SENT]
        if not sends or any(each.assigned or each.is_awaited for each in sends):
            continue
        if facts.language != "python" and any(facts.calls_on(each) for each in sends):
            continue
        if made[0].startswith("confluent_kafka"):
            # `poll` of librdkafka only calls back what was delivered, and there is no `close`.
            if not _EMPTIED.search(facts.whole_text):
                yield call.span, _never(call.assigned[0].rpartition(".")[2], facts)
            continue
        if not _ENDED.search(facts.whole_text) and not _ANSWERED.search(_sending(sends, facts)):
            yield call.span, _never(call.assigned[0].rpartition(".")[2], facts)


def _sending(sends: list[Call], facts: Facts) -> str:
    """Return the text in which an answer may be waited for: the lines of the sends."""
    if facts.language == "python":
        return facts.whole_text
    return "\n".join(facts.syntax.line_text(facts.line(each)) for each in sends)
