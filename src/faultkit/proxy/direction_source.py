"""The source's half of a direction: its end, turns that are yielded, and the way straight through a layer.

A layer that only converts bytes (TLS, with nothing that looks at the plain bytes) is passed without events
and chains, as long as no filter acts: `straight` is what it does to the bytes. `Direction` inherits from this
class, as this one does from `DirectionOutput`. This module does not know what a layer is.
"""

from __future__ import annotations

from collections.abc import Callable
from os import read, write

from faultkit.faults.events import Data, Eof, Reset
from faultkit.proxy.direction_fields import SHUT
from faultkit.proxy.direction_output import DirectionOutput
from faultkit.proxy.event_loop import FAILED
from faultkit.proxy.native import native
from faultkit.proxy.sockets import NO_SOCKET

TURNS = 16
"""Chunks that one direction may move before it yields. 16 × 64 KiB take about a millisecond: one bulk
transfer then delays the releases of other connections by no more than that, and the cost of yielding is
spread over 1 MiB."""

read_bytes: Callable[[int, int], bytes] = read
"""Reads up to so many bytes. The compiled one does not allocate that much for the few that mostly come."""
if native is not None:
    read_bytes = native.read_bytes


class Irregular(Exception):
    """Bytes that mean more than themselves, such as the end of TLS. The layer has them, and acts on them when
    it is fed the next event."""

    def __init__(self, payload: bytes) -> None:
        self.payload = payload
        """What was converted of the bytes before them."""


class DirectionSource(DirectionOutput):
    """The source of a direction."""

    __slots__ = ()

    def pump_again(self) -> None:
        """Pump in the next round of the loop, once, however often this is called."""
        if not self._queued:
            self._queued = True
            self._services.loop.call_soon(self._resume, self._link.abort)

    def _resume(self) -> None:
        self._queued = False
        if self.mode is not SHUT:
            self.pump()

    def _pass_straight(self, convert: Callable[[bytes], bytes]) -> bool:
        """Let bytes pass through the layer only, where nothing acts in the chains. False: the chains take
        over."""
        near, far = self.near_chain, self.far_chain
        if near is None or far is None or self.out is not None or self.gate is not None:
            return False
        if near.stages or far.stages or near.incoming or far.incoming:
            return False
        turns = TURNS
        while self.readable and self.writable:
            try:
                chunk = read_bytes(self.source, near.read_size)
            except BlockingIOError:
                self._source_is_dry()
                return True
            except OSError:
                self.end_of_chain_source(True, self._services.loop.clock())
                return False
            if not chunk:
                return False  # The chains read the end again.
            is_regular = True
            try:
                payload = convert(chunk)
            except Irregular as found:
                payload, is_regular = found.payload, False
            if payload:
                try:
                    sent = write(self.target, payload)
                except BlockingIOError:
                    sent = 0
                except OSError:
                    self._link.reset()
                    return True
                self.moved += sent
                if sent < len(payload):
                    self.keep_rest(memoryview(payload)[sent:])
            if not is_regular:
                self._act_on_the_rest()
                return False
            if len(chunk) < near.read_size and not self.ending:
                self._source_is_dry()
                return True
            turns -= 1
            if not turns:
                self.pump_again()
                return True
        return self.out is None

    def _act_on_the_rest(self) -> None:
        """Let the layer act on what it has and what is more than bytes."""
        now = self._services.loop.clock()
        self._link.pass_through_layer(self, [Data(now, b"")], now)

    def end_of_chain_source(self, is_failed: bool, now: float) -> None:
        """Feed the end of the source, or its reset, to the near chain."""
        assert self.near_chain is not None
        feed = self.near_chain.feed if self.gate is None else self.gate
        self.readable = False
        if is_failed:
            self.ending |= FAILED
        feed(Reset(now) if is_failed else Eof(now))

    def _source_is_dry(self) -> None:
        self.readable = False
        if self._services.await_input is not None and self.source != NO_SOCKET:
            self._services.await_input(self.source)
