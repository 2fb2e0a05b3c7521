"""The authority of requests in the frames of an HTTP/2 client, replaced where nothing else is read.

Frames pass as they are, but for blocks of header fields in which a value is replaced. HPACK (RFC 7541) refers
to earlier fields by their place in a table that both ends keep. Each field that the client adds to its table
is added to the upstream's, too, so places stay the same. The tables differ only in how many old fields they
still hold, because another value may be longer. A reference to a field that the upstream has dropped is
written out.

What cannot be read passes unchanged from there on: the upstream refuses it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from hpack.exceptions import HPACKError
from hpack.huffman_table import decode_huffman
from hpack.table import HeaderTable

Rehost: TypeAlias = Callable[[bytes], bytes]
"""Returns the authority that a request is to have instead of its own."""

HOST_FIELDS = frozenset((b":authority", b"host"))

_PREFACE = 24
"""Bytes of the client's preface (RFC 9113 §3.4)."""
_HEAD = 9
"""Bytes of a frame's header."""
_HEADERS, _CONTINUATION = 0x1, 0x9
_END_HEADERS, _PADDED, _PRIORITY = 0x4, 0x8, 0x20
_PRIORITY_BYTES = 5
_MOST_BLOCK = 1 << 16
"""Bytes of a block that is read, with the headers of its frames."""
_LARGEST_FRAME = 16384
"""Bytes that every peer takes (RFC 9113 §4.2)."""

_STATIC = HeaderTable.STATIC_TABLE
_OVERHEAD = 32
"""What a field counts in a table besides its bytes (RFC 7541 §4.1)."""
_FIRST_LIMIT, _MOST_LIMIT = 4096, 1 << 20
_INDEXED, _ADDED, _NEVER_ADDED, _LIMIT = 0x80, 0x40, 0x10, 0x20
"""First bits of a representation (RFC 7541 §6): a field of the table, one that is added to it, one that no
table may hold, and the size of the table."""
_LARGE_INDEX = 0xFF
"""The first byte of an index that takes several."""


def rehosting(host: str, own_port: int | None) -> Rehost:
    """Return a function that replaces an authority by `host`; with `own_port`, only one with this port."""
    authority = host.encode()
    port = b"" if own_port is None else b":%d" % own_port
    return lambda value: authority if value.endswith(port) else value


class _Unreadable(Exception):
    """The client breaks a rule of HTTP/2, or uses more of it than is read here."""


class _Field(NamedTuple):
    name: bytes
    value: bytes
    """As the upstream has it."""
    size: int
    """What it counts in the client's table."""

    @property
    def sent_size(self) -> int:
        """What it counts in the upstream's table."""
        return len(self.name) + len(self.value) + _OVERHEAD


class FieldTable:
    """The table of a client and that of its upstream. Each holds the newest fields of one list."""

    __slots__ = ("_fields", "_held", "_held_bytes", "_limit", "_sent", "_sent_bytes")

    def __init__(self) -> None:
        self._fields: list[_Field] = []
        """The newest first."""
        self._limit = _FIRST_LIMIT
        self._held = self._held_bytes = 0
        """Number of fields in the client's table, and what they count."""
        self._sent = self._sent_bytes = 0
        """The same of the upstream's."""

    @property
    def is_whole(self) -> bool:
        """Whether the upstream has all that the client may refer to."""
        return self._sent >= self._held

    def find(self, index: int) -> tuple[bytes, bytes, bool]:
        """Return name and value of a field, and whether the upstream has it at the same place."""
        place = index - len(_STATIC) - 1
        if place < 0:
            if not index:
                raise _Unreadable
            return (*_STATIC[index - 1], True)
        if place >= self._held:
            raise _Unreadable
        field = self._fields[place]
        return field.name, field.value, place < self._sent

    def add(self, name: bytes, value: bytes, sent: bytes) -> None:
        """Add a field to both tables: `value` is the client's, `sent` the upstream's."""
        field = _Field(name, sent, len(name) + len(value) + _OVERHEAD)
        self._fields.insert(0, field)
        self._held += 1
        self._sent += 1
        self._held_bytes += field.size
        self._sent_bytes += field.sent_size
        self._shrink()

    def limit(self, size: int) -> None:
        """Let both tables count no more than this."""
        if size > _MOST_LIMIT:
            raise _Unreadable
        self._limit = size
        self._shrink()

    def _shrink(self) -> None:
        while self._held_bytes > self._limit:
            self._held -= 1
            self._held_bytes -= self._fields[self._held].size
        while self._sent_bytes > self._limit:
            self._sent -= 1
            self._sent_bytes -= self._fields[self._sent].sent_size
        del self._fields[max(self._held, self._sent) :]


@dataclass(slots=True)
class _Block:
    """A block of header fields whose frames have not all come."""

    first: bytes
    """The header of the first frame."""
    priority: bytes
    fragment: bytearray
    frames: bytearray
    """All frames, as they came."""


class AuthorityRewriter:
    """Reads what one client sends."""

    __slots__ = ("_block", "_passes", "_rehost", "_rest", "_skip", "_stream", "_table", "requests")

    def __init__(self, rehost: Rehost) -> None:
        self._rehost = rehost
        self._table = FieldTable()
        self._skip = _PREFACE
        """Bytes of the present frame that pass without a look."""
        self._rest = b""
        """The beginning of a frame that is not whole."""
        self._block: _Block | None = None
        self._stream = 0
        """The latest stream."""
        self._passes = False
        """True if nothing is read any more."""
        self.requests = 0
        """Number of streams that the client has opened."""

    def end(self) -> bytes:
        """Return what was held back, because nothing more can be read."""
        held = (b"" if self._block is None else bytes(self._block.frames)) + self._rest
        self._block, self._rest, self._passes = None, b"", True
        return held

    def feed(self, payload: bytes) -> bytes:
        """Return what is to be sent for these bytes, and for those before them that were held back."""
        if self._passes:
            return payload
        data, self._rest = self._rest + payload, b""
        out: list[bytes] = []
        begin = place = 0
        size = len(data)
        while place < size:
            if self._skip:
                step = min(self._skip, size - place)
                self._skip -= step
                place += step
                continue
            if size - place < _HEAD:
                break
            length, kind = int.from_bytes(data[place : place + 3], "big"), data[place + 3]
            end = place + _HEAD + length
            if self._block is None and kind != _HEADERS and kind != _CONTINUATION:
                self._skip = _HEAD + length
                continue
            if end > size and length <= _MOST_BLOCK:
                break
            try:
                changed = self._read_frame(data[place:end], length)
            except (_Unreadable, IndexError, HPACKError):
                out += (data[begin:place], self.end(), data[place:])
                return b"".join(out)
            if changed is not None:
                out += (data[begin:place], changed)
                begin = end
            place = end
        self._rest = data[place:]
        if not out:
            return data[:place] if self._rest else data
        out.append(data[begin:place])
        return b"".join(out)

    def _read_frame(self, frame: bytes, length: int) -> bytes | None:
        """Return what is to be sent instead of a frame with header fields; None: the frame itself."""
        kind, flags, block = frame[3], frame[4], self._block
        if length > _MOST_BLOCK or (kind == _HEADERS) != (block is None):
            raise _Unreadable
        if block is not None:
            return self._read_next(block, frame)
        stream = int.from_bytes(frame[5:_HEAD], "big") & 0x7FFFFFFF
        if stream > self._stream:
            self._stream = stream
            self.requests += 1
        begin, end = _HEAD, len(frame)
        if flags & _PADDED:
            begin, end = begin + 1, end - frame[begin]
        priority = frame[begin : begin + _PRIORITY_BYTES] if flags & _PRIORITY else b""
        begin += len(priority)
        if begin > end:
            raise _Unreadable
        if not flags & _END_HEADERS:
            self._block = _Block(frame[:_HEAD], priority, bytearray(frame[begin:end]), bytearray(frame))
            return b""
        changed = self._read_fields(frame[begin:end])
        return None if changed is None else _frames_of(frame[:_HEAD], priority, changed)

    def _read_next(self, block: _Block, frame: bytes) -> bytes:
        """Take a CONTINUATION frame (RFC 9113 §6.10)."""
        if (
            frame[3] != _CONTINUATION
            or frame[5:_HEAD] != block.first[5:]
            or len(block.frames) + len(frame) > _MOST_BLOCK
        ):
            raise _Unreadable
        if not frame[4] & _END_HEADERS:
            block.fragment += frame[_HEAD:]
            block.frames += frame
            return b""
        changed = self._read_fields(bytes(block.fragment) + frame[_HEAD:])
        self._block = None
        if changed is None:
            return bytes(block.frames) + frame
        return _frames_of(block.first, block.priority, changed)

    def _read_fields(self, block: bytes) -> bytes | None:
        """Return what is to be sent instead of a block; None: the block itself."""
        table = self._table
        if (
            table.is_whole
            and min(block, default=_INDEXED) >= _INDEXED
            and _LARGE_INDEX not in block
            and self._rehost(b"") == b""
        ):
            return None  # All fields were sent before. Most blocks of a client that is known are like this.
        out = bytearray()
        is_changed = False
        place = 0
        while place < len(block):
            start, first = place, block[place]
            if first & (_INDEXED | _ADDED | _LIMIT) == _LIMIT:
                size, place = _integer(block, place, 5)
                table.limit(size)
                out += block[start:place]
                continue
            if first & _INDEXED:
                index, place = _integer(block, place, 7)
                name, value, is_known = table.find(index)
                # What is in the table has been replaced already, but for the fields that were always there.
                sent = self._rehost(value) if name in HOST_FIELDS and index <= len(_STATIC) else value
                if is_known and sent == value:
                    out += block[start:place]
                else:
                    out += b"\0" + _string(name) + _string(sent)
                    is_changed = True
                continue
            is_added, is_known = bool(first & _ADDED), True
            index, place = _integer(block, place, 6 if is_added else 4)
            if index:
                name, _, is_known = table.find(index)
            else:
                name, place = _text(block, place)
            named = place
            value, place = _text(block, place)
            sent = self._rehost(value) if name in HOST_FIELDS else value
            if is_known and sent == value:
                out += block[start:place]
            else:
                out += block[start:named] if is_known else _unnamed(first) + _string(name)
                out += _string(sent)
                is_changed = True
            if is_added:
                table.add(name, value, sent)
        return bytes(out) if is_changed else None


def _unnamed(first: int) -> bytes:
    """Return the first byte of a field of the same kind whose name follows."""
    return bytes((first & (_ADDED if first & _ADDED else _NEVER_ADDED),))


def _integer(data: bytes, place: int, bits: int) -> tuple[int, int]:
    """Read a number of RFC 7541 §5.1, and return the place behind it."""
    most = (1 << bits) - 1
    value = data[place] & most
    place += 1
    if value < most:
        return value, place
    for shift in (0, 7, 14, 21):
        byte = data[place]
        place += 1
        value += (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
    raise _Unreadable


def _text(data: bytes, place: int) -> tuple[bytes, int]:
    """Read a string of RFC 7541 §5.2, and return the place behind it."""
    is_huffman = data[place] & 0x80
    size, place = _integer(data, place, 7)
    end = place + size
    if end > len(data):
        raise _Unreadable
    return decode_huffman(data[place:end]) if is_huffman else data[place:end], end


def _string(text: bytes) -> bytes:
    size = len(text)
    if size < 0x7F:
        return bytes((size,)) + text
    head, size = bytearray((0x7F,)), size - 0x7F
    while size >= 0x80:
        head.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes((*head, size)) + text


def _frames_of(first: bytes, priority: bytes, block: bytes) -> bytes:
    """Return the frames of a block; `first` is the header that the first one had. One that was larger than
    every peer takes stays so: whether it is allowed is for the upstream to judge."""
    payload, stream = priority + block, first[5:]
    most = max(_LARGEST_FRAME, int.from_bytes(first[:3], "big"))
    kind, flags = _HEADERS, first[4] & ~(_PADDED | _END_HEADERS)
    out = b""
    while True:
        piece, payload = payload[:most], payload[most:]
        flags |= 0 if payload else _END_HEADERS
        out += len(piece).to_bytes(3, "big") + bytes((kind, flags)) + stream + piece
        if not payload:
            return out
        kind, flags = _CONTINUATION, 0
