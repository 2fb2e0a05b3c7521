"""The messages of one way of a connection: which pass, which are held, changed or dropped.

A message is judged when its first frame begins. How it then goes on:

    pass      its bytes pass as they come, delayed or not
    drop      its bytes are dropped
    hold      it is kept until it is complete, then changed or repeated; one that is too large passes
    recode    it is decompressed and compressed anew, part by part

A compressed message refers to those before it (RFC 7692 §7.1.1). Its receiver has not got what was sent once
a message has been dropped, changed or repeated, so all further compressed messages are recoded. Control
frames between the fragments of a held message go ahead of it, as RFC 6455 §5.4 lets them.

Bytes that are no WebSocket are reported, and pass from there on: their receiver knows best what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from faultkit.faults.events import Data, Event
from faultkit.faults.websocket_fault import (
    ChangeMessage,
    CloseConnection,
    ControlKind,
    DropMessage,
    MessageEffect,
    RepeatMessage,
)
from faultkit.plan.match import Flow, MessageKind
from faultkit.proxy.websocket.compression import CannotInflate, Deflate, Inflater
from faultkit.proxy.websocket.frame_scanner import (
    BINARY,
    CLOSE,
    PING,
    PONG,
    TEXT,
    BadFrames,
    FrameHead,
    FramePart,
    FrameScanner,
)
from faultkit.proxy.websocket.frame_writer import FrameWriter, masked
from faultkit.proxy.websocket.held_events import NO_DELAYS, Delays, HeldEvents

MOST_HELD_MESSAGE = 1 << 20
"""Bytes of a message, as sent and as read, that is held to be changed or repeated."""

Note: TypeAlias = Callable[[str, float], None]
"""Records what was done: an effect and its value."""
_CONTROLS: dict[int, ControlKind] = {PING: "ping", PONG: "pong"}
_Way: TypeAlias = Literal["pass", "drop", "hold", "recode"]


@dataclass(frozen=True, slots=True)
class Acting:
    """What one rule does to a message."""

    rule: Hashable
    effect: MessageEffect
    note: Note


@dataclass(frozen=True, slots=True)
class Judged:
    """What rules do to a message."""

    delays: Delays = field(default_factory=lambda: NO_DELAYS)
    effects: tuple[Acting, ...] = ()
    """All but delays, in the order of the plan."""


class MessageRules(Protocol):
    """The rules that act on a connection."""

    def judge(self, flow: Flow, kind: MessageKind) -> Judged:
        """Return what becomes of the next message of a way."""

    def swallows(self, flow: Flow, kind: ControlKind) -> bool:
        """Return whether the next ping or pong of a way is not delivered."""


class _Message:
    """A message that has begun and not ended."""

    __slots__ = ("compressed", "content", "delays", "effects", "is_text", "raw", "raw_size", "way")

    def __init__(self, is_text: bool, compressed: bool) -> None:
        self.is_text = is_text
        self.compressed = compressed
        self.way: _Way = "pass"
        self.delays: Delays = NO_DELAYS
        self.effects: list[Acting] = []
        self.raw: list[bytes] = []
        """Its frames, and its content, where it is held."""
        self.raw_size = 0
        self.content = bytearray()


class MessageFlow:
    """One way: feed it bytes, and release what `held` has. It never raises for what a peer sends."""

    __slots__ = (
        "_agreed",
        "_at",
        "_close_frame",
        "_control",
        "_frame",
        "_inflater",
        "_is_raw",
        "_message",
        "_offset",
        "_recodes",
        "_rules",
        "_run",
        "_run_delays",
        "_scanner",
        "_unknown",
        "_writer",
        "close_seen",
        "closing",
        "flow",
        "held",
        "ignores",
        "peer",
        "troubles",
    )

    def __init__(self, flow: Flow, rules: MessageRules, agreed: Deflate | None, unknown: str) -> None:
        """`unknown`: extensions that are in use and not understood."""
        is_client = flow == "to_upstream"
        self.flow: Flow = flow
        self.held = HeldEvents()
        self.peer: MessageFlow | None = None
        """The other way."""
        self.closing: tuple[CloseConnection, Note | None] | None = None
        """How the connection is to be closed, and what records it."""
        self.close_seen = False
        """A Close frame has come this way."""
        self.ignores = False
        """The connection is being closed: what still comes is dropped."""
        self.troubles: list[str] = []
        self._rules = rules
        self._agreed = agreed
        self._unknown = unknown
        self._inflater = None if agreed is None else Inflater(agreed)
        self._recodes = False
        self._scanner = FrameScanner(masked=is_client, allows_rsv1=agreed is not None, strict=not unknown)
        self._writer = FrameWriter(is_client=is_client, deflate=agreed)
        self._is_raw = False
        self._at = 0.0
        self._frame: FrameHead | None = None
        """The frame that is being read, and how much of its payload has been."""
        self._offset = 0
        self._control = bytearray()
        self._message: _Message | None = None
        self._close_frame: bytes | None = None
        """Our own Close, while a frame has to end before it."""
        self._run: list[bytes] = []
        """Bytes that pass together, and their delays."""
        self._run_delays: Delays = NO_DELAYS

    # --- events -------------------------------------------------------------------------------

    def feed(self, event: Data) -> None:
        """Take bytes of the sender."""
        self._at = event.at
        if self._is_raw:
            if not self.ignores:
                self.held.put(event)
            return
        try:
            for piece in self._scanner.feed(event.payload):
                if isinstance(piece, FrameHead):
                    self._begin_frame(piece)
                else:
                    self._take_part(piece)
        except BadFrames as problem:
            self._go_raw(str(problem))
        self._flush()

    @property
    def has_more(self) -> bool:
        """Whether `go_on` has frames to read that `feed` has left."""
        return self._scanner.has_more

    def go_on(self) -> None:
        """Read frames that `feed` has left."""
        self.feed(Data(self._at, b""))

    def end(self, event: Event) -> None:
        """Take the end of the sender; what it has sent in part goes before."""
        while self.has_more:
            self.go_on()
        self._at = event.at
        if not self.ignores:
            self._let_go(bytes(self._control), self._scanner.take_rest())
            self._flush()
            self.held.put(event)

    def close_with(self, code: int, reason: str, at: float) -> None:
        """Send a Close frame, and drop what comes after it. A frame that has passed in part ends before."""
        self._at = at
        frame = self._writer.close(code, reason)
        message = self._message
        if self._frame is not None and not self._frame.is_control and message and message.way == "pass":
            self._close_frame = frame
        else:
            self.ignore()
            self._pass(frame)
            self._flush()

    def ignore(self) -> None:
        """Drop what comes from now on."""
        self.ignores = True
        self._message = None

    def end_rules(self, acting: Collection[Hashable], now: float) -> None:
        """Let go what rules hold back that act no more, and spare the rest of a message that has begun."""
        self.held.end_rules(acting, now)
        message = self._message
        if message is None:
            return
        message.delays = {rule: s for rule, s in message.delays.items() if rule in acting} or NO_DELAYS
        message.effects = [each for each in message.effects if each.rule in acting]
        if message.way == "hold" and not message.effects:
            self._at = now
            try:
                self._pass_held(message)
            except UnicodeDecodeError:
                self._cannot_read(message, "text that is no UTF-8", 1007)
            self._flush()

    # --- frames -------------------------------------------------------------------------------

    def _begin_frame(self, head: FrameHead) -> None:
        self._frame = head
        self._offset = 0
        if head.is_control:
            self._control = bytearray(head.raw)
            return
        if head.opcode in (TEXT, BINARY) and not self.ignores:
            self._begin_message(head)
        message = self._message
        if message is None:
            if not self.ignores:
                self._pass(head.raw)
        elif message.way == "pass":
            self._pass(head.raw, message.delays)
        elif message.way == "hold":
            message.raw.append(head.raw)
            message.raw_size += len(head.raw)

    def _take_part(self, part: FramePart) -> None:
        head = self._frame
        assert head is not None
        if head.is_control:
            self._control += part.raw
            if part.is_last:
                raw, self._control = bytes(self._control), bytearray()
                self._take_control(head.opcode, raw)
        elif self._message is not None:
            self._take_data(self._message, head, part)
        elif not self.ignores:
            self._pass(part.raw)
        self._offset += len(part.raw)
        if part.is_last:
            self._frame = None
            if self._close_frame is not None:
                self._pass(self._close_frame)
                self._close_frame = None
                self.ignore()

    def _take_control(self, opcode: int, raw: bytes) -> None:
        self.close_seen = self.close_seen or opcode == CLOSE
        if self.ignores:
            return
        kind = _CONTROLS.get(opcode)
        if kind is None or not self._rules.swallows(self.flow, kind):
            self._pass(raw)

    # --- messages -----------------------------------------------------------------------------

    def _begin_message(self, head: FrameHead) -> None:
        is_text = head.opcode == TEXT
        message = self._message = _Message(is_text, head.rsv1 and self._agreed is not None)
        if self.close_seen or self._close_frame is not None:
            return  # A message after Close: its receiver drops it (RFC 6455 §1.4).
        judged = self._rules.judge(self.flow, "text" if is_text else "binary")
        message.delays = judged.delays
        for each in judged.effects:
            if isinstance(each.effect, CloseConnection) and not (self.peer and self.peer.close_seen):
                self.closing = (each.effect, each.note)
                self.ignore()
                return
        message.effects = [each for each in judged.effects if not isinstance(each.effect, CloseConnection)]
        if message.effects and not self._can_read(message):
            message.effects = []
        dropping = [each for each in message.effects if isinstance(each.effect, DropMessage)]
        if dropping:
            dropping[0].note("dropped", 1.0)
            message.way = "drop"
            self._recodes = self._recodes or self._takes_over(message)
        elif message.effects:
            message.way = "hold"
        elif self._recodes and message.compressed:
            message.way = "recode"

    def _can_read(self, message: _Message) -> bool:
        """Return whether a message can be dropped, changed or repeated without damage to others."""
        if self._unknown:
            self._report(f"a WebSocket extension that is not understood ({self._unknown})")
            return False
        if message.compressed and self._inflater is None:
            self._report("a compressed WebSocket message that could not be read")
            return False
        return True

    def _report(self, what: str) -> None:
        self.troubles.append(f"messages are not dropped, changed or repeated because of {what}")

    def _takes_over(self, message: _Message) -> bool:
        """Return whether later messages may refer to this one."""
        return message.compressed and self._agreed is not None and self._agreed.takeover

    def _take_data(self, message: _Message, head: FrameHead, part: FramePart) -> None:
        ends = part.is_last and head.is_final
        if message.way == "pass":
            self._pass(part.raw, message.delays)
        elif message.way == "hold":
            message.raw.append(part.raw)
            message.raw_size += len(part.raw)
        if ends:
            self._message = None
        if not self._is_read(message):
            return
        plain = masked(part.raw, head.mask, self._offset)
        try:
            if message.way == "hold" and message.raw_size > MOST_HELD_MESSAGE:
                self._pass_large(message)  # Empty fragments have no content, but heads.
            for block in self._read(message, plain, ends=ends) if self._is_read(message) else ():
                self._take_content(message, block)
            if ends:
                self._end_message(message)
        except CannotInflate as problem:
            self._cannot_read(message, str(problem), problem.code)
        except UnicodeDecodeError:
            self._cannot_read(message, "text that is no UTF-8", 1007)

    def _is_read(self, message: _Message) -> bool:
        """Return whether the content of a message is needed, for itself or for later messages."""
        return message.way in ("hold", "recode") or (self._inflater is not None and self._takes_over(message))

    def _read(self, message: _Message, plain: bytes, *, ends: bool) -> Iterable[bytes]:
        if message.compressed:
            assert self._inflater is not None
            return self._inflater.feed(plain, ends=ends)
        return (plain,)

    def _take_content(self, message: _Message, block: bytes) -> None:
        if message.way == "hold":
            message.content += block
            if len(message.content) > MOST_HELD_MESSAGE:
                self._pass_large(message)
        elif message.way == "recode" and block:
            self._write(message, block, ends=False)

    def _pass_large(self, message: _Message) -> None:
        """Let a message go on that is too large to be held."""
        limit = f"{MOST_HELD_MESSAGE >> 20} MiB"
        self.troubles.append(
            f"WebSocket messages of more than {limit} are not changed or repeated: they pass"
        )
        self._pass_held(message)

    def _pass_held(self, message: _Message) -> None:
        """Let a message go on that has not come to its end."""
        content = bytes(message.content)
        message.content.clear()
        if self._recodes and message.compressed:
            message.way = "recode"
            self._write(message, content, ends=False)
        else:
            message.way = "pass"
            self._pass(b"".join(message.raw), message.delays)
            if self._agreed is not None and not self._agreed.takeover:
                self._inflater = Inflater(self._agreed)  # The rest of this message is not read.
        message.raw.clear()

    def _end_message(self, message: _Message) -> None:
        if message.way == "recode":
            self._write(message, b"", ends=True)
        if message.way != "hold":
            return
        content, copies, raw = bytes(message.content), 0, b"".join(message.raw)
        if message.is_text:
            content.decode()  # Raises before anything has passed.
        changed = content
        for each in message.effects:
            effect = each.effect
            if isinstance(effect, ChangeMessage):
                changed, places = effect.change(changed, message.is_text)
                if places:
                    each.note("changed", places)
            elif isinstance(effect, RepeatMessage):
                copies += effect.copies
                each.note("copies", effect.copies)
        recodes = self._recodes and message.compressed
        if changed == content and not recodes:
            self._pass(raw, message.delays)
        else:
            self._write(message, changed)
        for _ in range(copies):
            self._write(message, changed)
        if (changed != content or copies) and self._takes_over(message):
            self._recodes = True

    def _cannot_read(self, message: _Message, why: str, code: int) -> None:
        """Go on without the content of a message, or close the connection if its receiver needs that."""
        if message.compressed and self._agreed is not None:
            self._inflater = None if self._agreed.takeover else Inflater(self._agreed)
        if message.way == "recode" or (self._recodes and message.compressed):
            self.troubles.append(f"a WebSocket connection was closed with {code}: {self._sender} sends {why}")
            self.closing = (CloseConnection(code, "", "both"), None)
            self.ignore()
        elif message.way == "hold":
            message.way = "pass"
            self._pass(b"".join(message.raw), message.delays)

    def _write(self, message: _Message, content: bytes, *, ends: bool = True) -> None:
        frame = self._writer.write(content, is_text=message.is_text, compressed=message.compressed, ends=ends)
        self._pass(frame, message.delays)

    # --- what passes --------------------------------------------------------------------------

    @property
    def _sender(self) -> str:
        return "a client" if self.flow == "to_upstream" else "the upstream"

    def _go_raw(self, why: str) -> None:
        """Pass everything from here on as it comes."""
        self._is_raw = True
        self.close_seen = self.close_seen or self.ignores
        if not self.ignores:
            self.troubles.append(
                f"the WebSocket of {self._sender} cannot be read: {why}; it passes as bytes from there on"
            )
            self._let_go(self._scanner.take_rest())

    def _let_go(self, *rest: bytes) -> None:
        """Pass what is held of a message, and then the rest."""
        message, self._message = self._message, None
        if message is not None and message.way == "hold":
            self._pass(b"".join(message.raw), message.delays)
        for each in rest:
            self._pass(each)

    def _pass(self, raw: bytes, delays: Delays = NO_DELAYS) -> None:
        if self._run and delays is not self._run_delays:
            self._flush()
        if raw:
            self._run_delays = delays
            self._run.append(raw)

    def _flush(self) -> None:
        if self._run:
            payload = self._run[0] if len(self._run) == 1 else b"".join(self._run)
            self._run = []
            self.held.put(Data(self._at, payload), self._run_delays)
