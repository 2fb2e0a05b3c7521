"""Finds memory of a size that the other side of a connection names."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import EVERY_LANGUAGE, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.stores import bound_names
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_READ = {
    # let length = reader.read_u32().await? as usize
    "rust": r"let\s+(?:mut\s+)?(\w+)[^=;\n]*=\s*[^;]{0,160}?"
    r"(?:\b(?:read|get)_u(?:32|64)(?:_le)?(?:::<\w+>)?\(|u(?:32|64)::from_[bln]e_bytes\()",
    # length := binary.BigEndian.Uint32(header)
    "go": r"(\w+)\s*:?=\s*(?:\w+\(\s*)?binary\.(?:BigEndian|LittleEndian)\.Uint(?:32|64)\("
    r"|binary\.Read\([^()]*,\s*&(\w+)\)",
    # int length = in.readInt();
    "java": r"(?:int|long|var)\s+(\w+)\s*=\s*(?:\(int\)\s*)?[\w.()]*"
    r"\b(?:readInt|getInt|readLong|readUnsignedInt)\(\s*\)",
    "kotlin": r"va[lr]\s+(\w+)[^=\n]*=\s*[\w.()]*\b(?:readInt|getInt|readLong)\(\s*\)",
    "csharp": r"(?:int|uint|var|long)\s+(\w+)\s*=\s*(?:\(int\)\s*)?[\w.]*"
    r"(?:\bReadU?Int32\(\s*\)|BinaryPrimitives\.ReadU?Int32\w+\(|BitConverter\.ToU?Int32\(|NetworkToHostOrder\()",
    # (length,) = struct.unpack("!I", header)
    "python": r"[(\[]?\s*(\w+)\s*,?\s*[)\]]?\s*=\s*"
    r"(?:struct\.unpack(?:_from)?\(\s*[\"'][!<>=@]?[IQLN]|int\.from_bytes\()"
    r"|(?:\w+,\s*){0,4}(\w*(?:len|length|size)\w*)(?:,\s*\w+){0,4},?\s*[)\]]?\s*="
    r"\s*(?:struct|[A-Z_]+)\.unpack(?:_from)?\(",
    # const length = header.readUInt32BE(0)
    "javascript": r"(?:const|let|var)\s+(\w+)[^=\n]*=\s*[\w.]*\."
    r"(?:read(?:UInt32|BigUInt64|Int32)[BL]E|getUint32)\(",
}
_READS = (
    b"read_u32", b"read_u64", b"e_bytes(", b"Uint32(", b"Uint64(", b"readInt", b"getInt", b"readLong",
    b"readUnsignedInt", b"ReadInt32", b"ReadUInt32", b"struct.unpack", b"from_bytes", b"readUInt32",
    b"readBigUInt64", b"readInt32", b"get_u32", b"get_u64", b"binary.Read(", b"BitConverter",
    b"NetworkToHost",
    b".unpack(", b"getUint32",
)  # fmt: skip
"""Of which one stands in each text that one of `_READ` matches; they are found faster."""
_TAKES = {
    "rust": r"vec!\[\s*0(?:u8)?\s*;\s*{}\b|with_capacity\(\s*{}\b|\.resize\(\s*{}\b|zeroed\(\s*{}\b",
    "go": r"make\(\[\]byte,\s*{}\s*\)|make\(\[\]byte,\s*int\({}\)",
    "java": r"new\s+byte\[\s*{}\s*\]|ByteBuffer\.allocate(?:Direct)?\(\s*{}\s*\)|readNBytes\(\s*{}\s*\)",
    "kotlin": r"ByteArray\(\s*{}\s*\)|ByteBuffer\.allocate(?:Direct)?\(\s*{}\s*\)|readNBytes\(\s*{}\s*\)",
    "csharp": r"new\s+byte\[\s*{}\s*\]|ArrayPool<byte>\.Shared\.Rent\(\s*{}\s*\)|ReadBytes\(\s*{}\s*\)",
    "python": r"bytearray\(\s*{}\s*\)"
    r"|\b(?:readexactly|recv_exactly|_?recv_exact|_?read_exact|_?recvall|_?recv_all|recv)\((?:[\w.]+,\s*)?{}\s*\)",
    "javascript": r"Buffer\.alloc(?:Unsafe)?\(\s*{}\s*\)",
}
_AT_ONCE = {
    "rust": r"vec!\[\s*0(?:u8)?\s*;\s*[\w.]*\b(?:read|get)_u(?:32|64)\(",
    "go": r"make\(\[\]byte,\s*(?:int\(\s*)?binary\.(?:BigEndian|LittleEndian)\.Uint(?:32|64)\(",
    "java": r"new\s+byte\[\s*[\w.()]*\b(?:readInt|getInt)\(\s*\)\s*\]"
    r"|(?:allocate|readNBytes)\(\s*[\w.]*\b(?:readInt|getInt)\(\s*\)",
    "kotlin": r"(?:ByteArray|allocate|readNBytes)\(\s*[\w.]*\b(?:readInt|getInt)\(\s*\)\s*\)",
    "csharp": r"new\s+byte\[\s*(?:\(int\)\s*)?"
    r"(?:BinaryPrimitives\.ReadU?Int32\w+|[\w.]*ReadU?Int32|BitConverter\.ToU?Int32)\(",
    "python": r"\b(?:readexactly|recv|bytearray|_?recv_exact\w*|_?read_exact\w*)\("
    r"\s*(?:struct\.unpack|int\.from_bytes)\(",
    "javascript": r"Buffer\.alloc(?:Unsafe)?\(\s*[\w.]*\bread(?:UInt32|Int32)[BL]E\(",
}
"""The same without a variable in between, so that nothing can compare the length."""
_PEERS = TextPattern(
    rb"TcpStream|UnixStream|AsyncRead\b|tokio::net|\bnet\.Conn\b|\"net\"|net\.Listen|Socket|socket|DataInputStream"
    rb"|NetworkStream|PipeReader|StreamReader\b|TcpClient|ServerSocket|createServer|net\.connect|asyncio|readexactly"
)
"""What talks to another side; a file of one's own is trusted."""


def _check(facts: Facts) -> Iterator[Hit]:
    language = facts.syntax.language.family
    if language not in _READ or _PEERS.search(facts.syntax.source) is None:
        return
    read, source = re.compile(_READ[language]), facts.syntax.source
    at_once = re.compile(_AT_ONCE[language])
    for scope in facts.scopes:
        if scope.outer is not None and scope.outer.name:
            continue  # It is a part of the function around it.
        if not any(source.find(word, *scope.body) >= 0 for word in _READS):
            continue
        body = facts.text(scope.body)
        for found in at_once.finditer(body):
            what = "as much memory is taken as the other side names, whatever that is"
            sure = not _reads_memory(scope, body)
            yield Hit(facts.syntax.place_of(found, scope.body.start), what, LIKELY if sure else POSSIBLE)
        for found in read.finditer(body):
            at = next(place for place, each in enumerate(found.groups(), 1) if each)
            yield from _taken(found[at], found.start(at), found.end(), scope, facts)
        if _gives_length(scope, body, facts):
            for call in facts.callers_of(scope):
                yield from _taken_by_caller(call, scope, facts)


_VALUE = {
    "rust": r"\b(?:read|get)_u(?:32|64)(?:_le)?\(|u(?:32|64)::from_[bln]e_bytes\(",
    "go": r"binary\.(?:BigEndian|LittleEndian)\.Uint(?:32|64)\(",
    "java": r"\b(?:readInt|getInt|readLong|readUnsignedInt)\(\s*\)",
    "kotlin": r"\b(?:readInt|getInt|readLong)\(\s*\)",
    "csharp": r"\bReadU?Int32\(\s*\)|BinaryPrimitives\.ReadU?Int32\w+\(|BitConverter\.ToU?Int32\("
    r"|NetworkToHostOrder\(",
    "python": r"struct\.unpack(?:_from)?\(\s*[\"'][!<>=@]?[IQLN]|int\.from_bytes\(",
    "javascript": r"\.(?:read(?:UInt32|BigUInt64|Int32)[BL]E|getUint32)\(",
}
"""A number of four or eight bytes that is read, as an expression."""
_LONGEST = 600
"""Characters of a function that reads a length and does nothing else."""
_COMPARES = lazy_regex(r"[^-=<>][<>]=?\s*(?!=)[\w(]|\bmin\(|\.min\(|contains\(")


def _gives_length(scope: Scope, body: str, facts: Facts) -> bool:
    """Return whether a function returns a number that the other side sent, and looks at it with nothing."""
    if len(body) > _LONGEST or not scope.name:
        return False
    value = re.compile(_VALUE[facts.syntax.language.family])
    if facts.language == "rust":
        # The last expression, also in an arm: `Ok(()) => Ok(Some(u32::from_be_bytes(raw) as usize))`.
        given = [line for line in body.splitlines() if re.match(r"[^=;]*(?:=>\s*[^;]*)?$", line)]
    else:
        given = [step.text for step in facts.within(facts.steps, scope.body) if step.kind == "return"]
        given += [] if body.lstrip().startswith("{") else [body]
    bare = re.sub(r"[-=]>|::<[^<>]*>|\b[A-Z]\w*<[^<>]*>", "", body)
    return any(map(value.search, given)) and _COMPARES.search(bare) is None


def _taken_by_caller(call: Call, reader: Scope, facts: Facts) -> Iterator[Hit]:
    scope = facts.named_function_of(call)
    if scope is None or scope is reader:
        return
    for each in facts.within(facts.assignments, scope.body):
        if (
            each.value is not None
            and is_within(call.span, each.value.span)
            and len(each.value.text) < _LONGEST
        ):
            name = next((one for one in bound_names(each) if one not in ("err", "ok", "_", "Some", "Ok")), "")
            if name:
                text = facts.text(Span(scope.body.start, each.span.end))
                start = len(facts.text(Span(scope.body.start, each.span.start)))
                yield from _taken(name, start, len(text), scope, facts)


_SHORT = lazy_regex(r"[^=]*=\s*struct\.unpack(?:_from)?\(\s*[\"'][!<>=@]?(?:\d*[xcbB?]|\d*[sp])*[HhBb]+[\"']")
"""Numbers of one or two bytes, which are 65535 at most."""


def _taken(shown: str, begins: int, ends: int, scope: Scope, facts: Facts) -> Iterator[Hit]:
    """Yield the first place that takes as much memory as was read, without a comparison in between.

    `begins` and `ends` are the places of the read in the body of the function."""
    body, language = facts.text(scope.body), facts.syntax.language.family
    name = re.escape(shown)
    taken = re.compile(_TAKES[language].format(*[name] * _TAKES[language].count("{}"))).search(body, ends)
    if taken is None:
        return
    between = body[ends : taken.start()]
    if language == "python" and _SHORT.match(body, begins):
        return
    # A limit may also be a function that checks it, or the smaller of two.
    if re.search(
        rf"\b{name}\b[^;\n]{{0,40}}[<>]|[<>]=?\s*(?:int\()?{name}\b|\bmin\(|\w\({name}\b|\.min\(|contains\(&?{name}\b",
        between,
    ):
        return
    start = scope.body.start + len(body[:begins].encode())
    end = scope.body.start + len(body[: taken.end()].encode())
    what = f"{shown} comes from the other side, and as much memory is taken for it"
    yield Hit(Span(start, end), what, POSSIBLE if _reads_memory(scope, body) else LIKELY)


_ON_MEMORY = lazy_regex(
    r"(?:Cursor::new|ByteArrayInputStream|ByteBuffer\.wrap|\w*Deserializer|MemoryStream|BytesIO)"
    r"\(\s*&?(?:mut )?(\w+)"
)


_BUFFERS = lazy_regex(r"(?:^|[.\s&])(?:Cursor|ByteBuffer|ByteBuf|Bytes|BytesMut)$")


def _reads_memory(scope: Scope, body: str) -> bool:
    """Return whether a function reads bytes that it is given, of which it is not known who made them."""
    given = {each.name for each in scope.parameters}
    return any(_BUFFERS.search(each.type) for each in scope.parameters) or any(
        name in given for name in _ON_MEMORY.findall(body)
    )


RULE = Rule(
    id="FK-R165",
    slug="length-from-peer",
    title="Memory of a size that the other side names",
    why="Four bytes from a broken or hostile peer take gigabytes: the process ends for all its clients.",
    fix="Compare the length with the largest message that you accept before you take memory for it.",
    kind="reliability",
    severity="high",
    languages=EVERY_LANGUAGE,
    check=_check,
    words=_READS,
)
