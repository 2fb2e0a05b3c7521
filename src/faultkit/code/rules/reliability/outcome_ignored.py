"""Finds calls whose result says how much was done, or whether anything was, and is not looked at.

It is shown if what is read or written is a stream by its type, or by its name where the file does not say the
type; of a queue, if the file makes it with a limit and what is offered is an item rather than a signal; of a
latch, if something is done behind it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import CSHARP, GO, JAVA, KOTLIN, LIKELY, POSSIBLE, PYTHON, RUST, Hit, Rule
from faultkit.code.rules.vocabulary.failures import is_clean_up
from faultkit.code.rules.vocabulary.telling_types import type_of
from faultkit.code.rules.vocabulary.unflushed import unflushed

_SHORT = "may read or write only a part, and nothing looks at how much"
_NOT_DONE = "says with its result whether it worked, and nothing looks at it"
_STREAM = lazy_regex(
    r"(^|[._])_*(in|input|stream|is|conn|connection|socket|sock|reader|raf|body|file|f|fd|rd|src|source|channel"
    r"|\w*(Stream|Socket|Reader|Conn|Channel|_stream|_conn|_socket|_reader))(\(\))?$"
)
_TIMED = lazy_regex(r"timeout|TimeSpan|TimeUnit|Duration|ofSeconds|seconds|[mM]illis|\d")
_UNPACKS = lazy_regex(r"struct\.unpack(_from)?$|int\.from_bytes$")
_ASKS = {
    "java": frozenset(("renameTo", "tryLock", "tryAcquire", "offer")),
    "csharp": frozenset(("TryEnter", "TryWrite", "TryEnqueue")),
}
_ASKS["kotlin"] = _ASKS["java"]
_LIMITED = lazy_regex(
    r"ArrayBlockingQueue|LinkedBlockingQueue|LinkedBlockingDeque|SynchronousQueue|BlockingQueue"
)


def _check(facts: Facts) -> Iterator[Hit]:
    for span, what in unflushed(facts):
        yield Hit(span, what, LIKELY)
    for call in facts.calls_of_method(*_METHODS[facts.language]):
        ignored = _CHECKS[facts.language](call, facts)
        if ignored and _is_value_of_branch(call, facts):
            continue
        if ignored and not is_clean_up(call, facts) and not facts.comment_at(call):
            is_likely = _matters(call, facts)
            yield Hit(call.span, f"{call.written}() {ignored}", LIKELY if is_likely else POSSIBLE)


def _is_value_of_branch(call: Call, facts: Facts) -> bool:
    """Return whether a call is in a branch whose value is returned: `return if (x) read(a) …` (Kotlin)."""
    return facts.language == "kotlin" and any(
        is_within(call.span, step.span) for step in facts.steps_of("return")
    )


def _matters(call: Call, facts: Facts) -> bool:
    """Return whether the file shows that the result decides: a queue with a limit, work behind a latch."""
    if call.method == "offer":
        return _is_made_with_limit(call, facts)
    scope = facts.function_of(call)
    if call.method != "await" or scope is None:
        return True
    # What is returned behind a latch may say itself that the time is over.
    tried = facts.tries_around(call)
    handlers = [handler.span for each in tried for handler in each.handlers]
    rest = Span(call.span.end, scope.body.end)
    returned = [step.span for step in facts.within(facts.steps_of("return"), rest)]
    return any(
        not is_logging(each) and not any(is_within(each.span, span) for span in (*returned, *handlers))
        for each in facts.within(facts.calls, rest)
    )


def _java(call: Call, facts: Facts) -> str:
    if not call.is_discarded or not call.receiver_written:
        return ""
    if call.method == "read":
        first = call.argument(place=0)
        # The `read` of Okio is another one.
        is_buffer = (
            first is not None and first.value.shape in ("name", "call") and not facts.imports_any("okio")
        )
        # `HeaderReader.read(buffer)` is a function of a class.
        is_static = call.receiver_written[:1].isupper()
        return _SHORT if is_buffer and not is_static and _is_stream(call, facts) else ""
    if call.method == "await":
        return _NOT_DONE if len(call.arguments) == 2 and "atch" in call.receiver_written else ""
    if call.method == "offer":
        # A queue without a limit takes everything.
        bounded = (
            _LIMITED.search(facts.whole_text) is not None
            and "new LinkedBlockingQueue<>()" not in facts.whole_text
            and not _is_signal(call)
            and not _is_same_item(call, facts)
            and not _is_first_fill(call, facts)
        )
        return "drops the item when the queue is full, and nothing looks at its result" if bounded else ""
    # Locks and semaphores take nothing, a number, or a time with its unit.
    if call.method in ("tryLock", "tryAcquire") and len(call.arguments) == 1:
        return _NOT_DONE if _TIMED.search(call.arguments[0].value.text) else ""
    return _NOT_DONE


def _csharp(call: Call, facts: Facts) -> str:
    if not call.is_discarded or not call.receiver_written:
        return ""
    if call.method in ("Read", "ReadAsync"):
        if len(call.arguments) == 1 and _TOKEN.search(call.arguments[0].value.text):
            return ""  # The next item of a channel or a pipe.
        by_reference = any(each.value.text.startswith(("ref ", "out ")) for each in call.arguments)
        return _SHORT if call.arguments and not by_reference and _is_stream(call, facts) else ""
    if call.method in ("Wait", "WaitAsync", "WaitOne"):
        first = call.argument(place=0)
        # Of two arguments the first is the time, and the second the token.
        timed = first is not None and (len(call.positional) == 2 or _is_time(first.value.text, call, facts))
        of_lock = re.search(r"(?i)sem|lock|gate|mutex|throttle", f"{call.receiver_written} {call.receiver}")
        return _NOT_DONE if timed and of_lock is not None else ""
    if call.method == "TryEnter" and "ref " in facts.text(call.span):
        return ""
    if call.method == "TryWrite":
        bounded = "CreateBounded" in facts.whole_text and "FullMode.Drop" not in facts.whole_text
        return _NOT_DONE if bounded and not _is_signal(call) else ""
    return _NOT_DONE


_TOKEN = lazy_regex(r"CancellationToken|\b(?:ct|cts|\w*[tT]oken)(?:\.Token)?$")


def _is_time(text: str, call: Call, facts: Facts) -> bool:
    if _TIMED.search(text):
        return True
    return text.isidentifier() and any(
        "TimeSpan" in each.type or (each.value is not None and "TimeSpan" in each.value.text)
        for name in (text, f"self.{text}")
        for each in facts.assignments_to(name, call)
    )


def _rust(call: Call, facts: Facts) -> str:
    line = facts.syntax.line_text(call.end_line)
    if (
        len(call.arguments) != 1
        or call.assigned
        or call.is_returned
        or re.fullmatch(r"(?:self\.)?(?!fs$|self$)[a-z_]\w*", call.receiver_written) is None
    ):
        return ""
    discarded = re.search(r"\)(?:\.await)?(?:\?|\.unwrap\(\)|\.expect\(.*\));\s*$", line) is not None
    given = call.arguments[0].value.text
    is_buffer = (
        given.startswith("&mut ")
        if call.method == "read"
        else given.startswith(("&", 'b"')) or "as_" in given
    )
    bound = re.match(r"\s*(?:let|return|if|while|match|Ok\(|Some\()", line) is not None
    is_io = facts.imports_any("std.io", "tokio.io", "std.net", "tokio.net", "std.fs", "tokio.fs", "futures")
    is_bytes = discarded and is_buffer and is_io and not bound
    # Writers of records are finished in the end: those of Arrow, Parquet and CSV.
    is_finished = re.search(rf"\b{re.escape(call.receiver_written)}\s*\.finish\w*\(", facts.whole_text)
    return _SHORT if is_bytes and not is_finished and not _is_of_records(call, facts) else ""


def _go(call: Call, facts: Facts) -> str:
    if len(call.arguments) != 1 or call.is_returned or not _is_stream(call, facts):
        return ""
    ignored = call.is_discarded or (len(call.assigned) == 2 and call.assigned[0] == "_")
    # `_, err := conn.Read(one[:])` with a buffer of one byte waits for the end.
    small = re.search(
        rf"\b{re.escape(call.arguments[0].value.text.partition('[')[0])}\s*:?=\s*make\(\[\]byte, 1\)",
        facts.whole_text,
    )
    scope = facts.function_of(call)
    alone = scope is not None and f"{call.arguments[0].value.text.partition('[')[0]}" not in _later(
        call, facts
    )
    return "" if not ignored or small or alone else _SHORT


_TEXT = lazy_regex(r'"(?:[^"\\\n]|\\.)*"|`[^`]*`')


def _later(call: Call, facts: Facts) -> set[str]:
    scope = facts.function_of(call)
    if scope is None:
        return set()
    reads = (each for each in facts.within(facts.accesses, scope.body) if each.span.start > call.span.end)
    used = {each.written.partition(".")[0].partition("[")[0] for each in reads}
    for other in facts.within(facts.calls, scope.body):
        if other.span.start > call.span.end:
            given = (_TEXT.sub("", each.value.text) for each in other.arguments)
            used |= {word for each in given for word in re.findall(r"\w+", each)}
    return used


_FEW_BYTES = lazy_regex(r"\(\s*(?:\w+\(\s*)?b?([\"'])[^\"'{}]{0,64}\1\s*(?:\.encode\(\))?\s*\)")


def _python(call: Call, facts: Facts) -> str:
    if call.method == "send":
        is_socket = re.search(r"(^|[._])(sock|socket|s|conn|connection)$", call.receiver_written) is not None
        known = call.name.startswith("socket.") or (is_socket and facts.imports_any("socket"))
        # A datagram is sent as a whole or not at all.
        known = known and "SOCK_DGRAM" not in facts.whole_text
        # A few bytes are sent at once.
        known = known and _FEW_BYTES.search(facts.text(call.span)) is None
        return (
            _SHORT if call.is_discarded and known and not call.is_awaited and len(call.arguments) == 1 else ""
        )
    if call.method in ("recv", "read"):
        around = facts.calls_around(call)
        unpacked = bool(around) and _UNPACKS.search(around[-1].name) is not None
        if not unpacked and call.assigned:
            name = re.escape(call.assigned[0])
            scope = facts.function_of(call)
            text = "" if scope is None else facts.text(scope.body)
            checked = (
                re.search(rf"len\({name}\)|not {name}\b|if {name}\b|{name}\s*(==|\+=)", text) is not None
            )
            unpacked = re.search(rf"(unpack|from_bytes)\([^()]*\b{name}\b", text) is not None and not checked
        from_peer = call.method == "recv" or (
            call.is_awaited and re.search(r"reader$", call.receiver_written) is not None
        )
        return _SHORT if unpacked and from_peer and call.arguments else ""
    if any(
        "Timeout" in name for each in facts.tries_around(call) for one in each.handlers for name in one.types
    ):
        return ""  # A lock that says so with an error.
    timed = call.argument("timeout", "blocking", place=0)
    return _NOT_DONE if call.is_discarded and timed is not None and timed.value.shape != "true" else ""


def _is_stream(call: Call, facts: Facts) -> bool:
    if _STREAM.search(call.receiver_written) is None:
        return False
    kind = _declared_type(call, facts)
    return not kind or facts.language == "go" or _STREAM_TYPE.search(kind) is not None


_STREAM_TYPE = lazy_regex(
    r"(?:Stream|Socket|Channel|File|Conn|Pipe|Source|StreamReader|StringReader|TextReader|BinaryReader|BufferedReader"
    r"|InputStreamReader|FileReader|PushbackReader|^Reader)$"
)
_RUST_STREAM = lazy_regex(
    r"(?:Stream|Socket|File|Writer|Reader|Encoder|Decoder|Cursor|Stdin|Stdout|ChildStdin|ChildStdout|Half|Pipe"
    r"|Vec|String)$"
)
_RUST_RECORDS = lazy_regex(r"^(?:Arrow|Avro|Csv|Parquet|Record|Row|Json|Xml|Sst|Table|Batch|Index|Event|Log)")
"""Writers of records rather than of bytes, which write all of what they are given."""
_MAKES = lazy_regex(r"^\s*(?:[\w:]*::)?([A-Z]\w*)(?:::<[^>]*>)?::\w+\(")


def _declared_type(call: Call, facts: Facts) -> str:
    """Return the type of what a call is made on, without its package; empty if the file does not say it."""
    kind = type_of(call.receiver_written, call, facts)
    return re.sub(r"<.*|\?$", "", kind) if kind != "var" else ""


def _is_of_records(call: Call, facts: Facts) -> bool:
    """Return whether a writer is made by a type that takes records, or that is no stream (Rust)."""
    name = call.receiver_written
    made = [each.value.text for each in facts.assignments_to(name, call) if each.value is not None]
    kinds = [found[1] for found in map(_MAKES.match, made) if found is not None]
    kinds += [kind] if (kind := _declared_type(call, facts)) else []
    return any(_RUST_RECORDS.match(kind) or not _RUST_STREAM.search(kind) for kind in kinds)


_SIGNAL = lazy_regex(
    r"(?:[\w.]*\.)?[A-Z][A-Z0-9_]+$|true$|false$|\d+$|default\b|null$|new (?:Object|object)\(\)$|Unit\b"
    r"|(?:Boolean|Bool)\."
    r"|\w*(?:[pP]ill|[pP]oison|[sS]entinel|[sS]ignal|[mM]arker)\w*$"
)


def _is_signal(call: Call) -> bool:
    """Return whether what is offered only wakes a reader, who has items in a queue that is full."""
    first = call.argument(place=0)
    return first is not None and _SIGNAL.match(first.value.text) is not None


def _is_same_item(call: Call, facts: Facts) -> bool:
    """Return whether what is offered is a field, the same each time, and so a signal (Java)."""
    first = call.argument(place=0)
    name = "" if first is None else first.value.text
    known = {each.name for scope in facts.functions_around(call) for each in scope.parameters}
    is_local = name in known or any(each.scope is not None for each in facts.assignments_to(name, call))
    return (
        name.isidentifier()
        and not is_local
        and not any(name in loop.targets for loop in facts.loops_around(call, across=True))
    )


def _is_first_fill(call: Call, facts: Facts) -> bool:
    """Return whether the function of a call has made the queue, and fills it for the first time, or a
    function around it, for the one item of the call."""
    name, around = call.receiver_written, {*facts.functions_around(call)}
    if facts.loops_around(call):
        around &= {facts.function_of(call)}
    return any(
        each.scope in around and each.call is not None and each.call.constructs
        for target in (name, name.removeprefix("self."), f"self.{name}")
        for each in facts.assignments_to(target, call)
    )


_WITH_LIMIT = lazy_regex(
    r"new\s+(?:ArrayBlockingQueue|SynchronousQueue|LinkedBlocking(?:Queue|Deque))\s*(?:<[^()]*>)?\((\s*)"
)


def _is_made_with_limit(call: Call, facts: Facts) -> bool:
    """Return whether the file makes the queue with a limit (Java)."""
    name = re.escape(call.receiver_written.rpartition(".")[2])
    for found in re.finditer(rf"\b{name}\s*=\s*(?=new\b)", facts.whole_text):
        made = _WITH_LIMIT.match(facts.whole_text, found.end())
        if made is not None:
            return facts.whole_text[made.end() : made.end() + 1] != ")"
    return facts.language == "kotlin" and "BlockingQueue" in facts.whole_text


_METHODS: dict[str, tuple[str, ...]] = {
    "java": ("read", "await", *_ASKS["java"]),
    "kotlin": ("read", "await", *_ASKS["java"]),
    "csharp": ("Read", "ReadAsync", "Wait", "WaitAsync", "WaitOne", *_ASKS["csharp"]),
    "rust": ("read", "write"),
    "go": ("Read",),
    "python": ("send", "recv", "read", "acquire"),
}
_CHECKS = {"java": _java, "kotlin": _java, "csharp": _csharp, "rust": _rust, "go": _go, "python": _python}


RULE = Rule(
    id="FK-R160",
    slug="outcome-ignored",
    title="Result ignored that says how much was done",
    why="A read or write may end early, a buffer may not be written, and a lock may not be taken: the code "
    "goes on with half a message or without the lock, and only under load.",
    fix="Use a call that does all of it (readFully, ReadExactly, read_exact, io.ReadFull, sendall), flush "
    "the buffer in the end, or check the result.",
    kind="reliability",
    severity="medium",
    languages=(*PYTHON, *GO, *JAVA, *RUST, *CSHARP, *KOTLIN),
    check=_check,
    words=(
        b"read", b"Read", b"write(", b"recv(", b"send(", b"acquire(", b"renameTo", b"tryLock", b"tryAcquire",
        b"offer(", b"await(", b"TryEnter", b"TryWrite", b"TryEnqueue", b"Wait",
        b"Writer", b"Producer", b"write_all", b"NamedTemporaryFile",
    ),
)  # fmt: skip
