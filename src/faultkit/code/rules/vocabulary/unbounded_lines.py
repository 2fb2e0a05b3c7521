"""Lines and bodies that a peer may make as long as it likes, and that are kept in memory until they end."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.failures import handler_around
from faultkit.code.rules.vocabulary.fixed_sources import is_given_fixed
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_WORDS = {
    "rust": (b"TcpStream", b"UnixStream", b"OwnedReadHalf", b"AsyncRead"),
    "go": (b"net.Conn", b"net.TCPConn", b"net.Listen", b"http.NewRequest", b"http.Get", b".Do("),
    "java": (b"Socket",),
    "kotlin": (b"Socket",),
    "csharp": (b"TcpClient", b"NetworkStream"),
    "python": (b"socket", b"makefile"),
    "javascript": (b".on(",),
}
"""Words of which one stands in each text with such a read."""
_LIMITED = TextPattern(
    r"\.take\(|LimitReader|LimitedReader|MaxBytesReader|max_?(?:line|len|size|bytes|body|frame|msg|message)\w*"
    r"|LinesCodec|new_with_max_length|MAX_\w+|too_?(?:long|large|big)"
    r"|(?:size|line|len\w*|bytes?|body|frame|message)_?limit|ContentLength",
    re.IGNORECASE,
)
_STREAM_TYPES = lazy_regex(
    r"(?:^|[.&\s:<])(?:TcpStream|UnixStream|TlsStream|OwnedReadHalf|ReadHalf|Socket|NetworkStream|TcpClient|SslStream"
    r"|net\.Conn|net\.TCPConn)\b"
)
_RUST_READS = frozenset(("read_line", "read_until", "read_to_end", "read_to_string", "lines", "split"))
_LINE_READS = {
    "go": frozenset(("ReadString", "ReadBytes")),
    "java": frozenset(("readLine", "readAllBytes")),
    "kotlin": frozenset(("readLine", "readAllBytes", "readBytes", "readText")),
    "csharp": frozenset(("ReadLine", "ReadLineAsync", "ReadToEnd", "ReadToEndAsync")),
    "python": frozenset(("readline",)),
}


def unbounded_lines(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield reads that keep what a peer sends, however long it is."""
    family = facts.syntax.language.family
    words = _WORDS.get(family)
    if words is None or not any(word in facts.syntax.source for word in words):
        return
    if family == "javascript":
        yield from _chunks(facts)
        return
    if facts.language == "go":
        yield from _remote_files(facts)
    reads = _RUST_READS if facts.language == "rust" else _LINE_READS[facts.language]
    seen = set[Scope]()
    for call in facts.calls_of_method(*reads):
        scope = facts.named_function_of(call)
        if scope is None or scope in seen or not _is_from_peer(call, scope, facts):
            continue
        if _LIMITED.search(facts.text(scope.span)):
            continue
        seen.add(scope)
        yield call.span, f"{call.written}() keeps what the peer sends until it ends, however long it is"


def _is_from_peer(call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether a function that reads serves a connection that it is given or has accepted."""
    given = [each for each in scope.parameters if _STREAM_TYPES.search(f" {each.type}")]
    if facts.language == "rust" and call.method in ("lines", "split"):
        return bool(given) and "BufReader" in call.name and not call.arguments
    if facts.language == "python":
        made = call.origin
        return made is not None and made.method == "makefile" and not call.arguments
    served = bool(given) or re.search(
        r"\.(accept|Accept|AcceptTcpClient)(Async)?\(\)", facts.text(scope.body)
    )
    if facts.language == "go":
        names = {each.name for each in given}
        made = call.origin
        return made is not None and any(argument.value.text in names for argument in made.arguments)
    return bool(served)


def _chunks(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield listeners that collect all that a socket brings (JavaScript)."""
    for call in facts.calls_of_method("on"):
        first = call.argument(place=0)
        if first is None or first.value.literal != "data" or len(call.positional) != 2:
            continue
        if not re.fullmatch(r"(this\.)?(socket|sock|conn|connection)", call.receiver_written):
            continue
        given = call.positional[1].value.text
        if re.search(r"\w*(buf|buffer|data|pending|rest|acc)\w*\s*(\+=|=\s*Buffer\.concat)", given, re.I):
            scope = facts.named_function_of(call)
            near = facts.whole_text if scope is None else facts.text(scope.span)
            if not re.search(r"\.(length|byteLength|size)\s*>|MAX|destroy\(", near):
                yield call.span, f"{call.written}() keeps what the peer sends, however long it is"


_GO_SENDS = lazy_regex(r"http\.(?:NewRequest(?:WithContext)?|Get)\(\s*([^)]*)\)")
_FOREIGN = lazy_regex(
    r"(?:image|img|avatar|picture|photo|feed|preview|remote|external|user|source|src|media|attachment|webhook|callback|file"
    r"|download|page|site|target|origin|icon|logo|thumb\w*|import)_?(?:URL|Url|url|URI|link)?$|^(?:rawURL|link|href)$",
    re.IGNORECASE,
)
"""Parameters with an address that a caller gives, rather than one of an own service."""


def _remote_files(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield bodies of foreign addresses that are read as a whole (Go)."""
    for call in facts.calls_named("io.ReadAll", "io/ioutil.ReadAll"):
        first, scope = call.argument(place=0), facts.named_function_of(call)
        if first is None or scope is None or not first.value.text.endswith(".Body"):
            continue
        if handler_around(call, facts) is not None and re.match(r"(r|req|request)\.Body$", first.value.text):
            continue  # The body of a request is looked at elsewhere.
        text = facts.text(scope.span)
        sent = _GO_SENDS.search(text)
        if sent is None or _LIMITED.search(text):
            continue
        parts = [each.strip() for each in sent[1].split(",")]
        names = {each.name for each in scope.parameters}
        if any(
            part in names and _FOREIGN.search(part) and not is_given_fixed(part, scope, facts)
            for part in parts
        ):
            yield call.span, f"{call.written}() takes an answer of any size into memory"
