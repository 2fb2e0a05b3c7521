"""Kernel pipes, in which bytes are moved or held back without being copied into this process. Linux only.

`PipePool` lends pipes. A `PipeQueue` is a row of them, first in, first out: bytes that a fault only delays
stay there as parcels, of which nothing but the size is known.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
from collections import deque
from dataclasses import dataclass
from typing import Protocol

from faultkit.proxy.native import native
from faultkit.proxy.sockets import unread_bytes

CAN_SPLICE = sys.platform == "linux"
PIPE_SIZE = 1 << 20
SPLICE_FLAGS = os.SPLICE_F_MOVE | os.SPLICE_F_NONBLOCK if CAN_SPLICE else 0

_SET_PIPE_SIZE = 1031
"""F_SETPIPE_SZ of Linux, as a number because `fcntl` lacks the name on other systems."""
_GOOD_LOAD = 768 << 10
"""Bytes after which `carry` stops collecting. `_native_sockets.c` has the same."""
_IDLE_PIPES = 16
"""Pipes that are kept for the next borrower."""
_MOST_LENT = 256
"""Pipes that may be lent at a time: each takes two descriptors."""


@dataclass(slots=True, eq=False)
class Pipe:
    """One kernel pipe."""

    outlet: int
    inlet: int
    filled: int = 0
    """Bytes inside."""

    def close(self) -> None:
        """Close both ends."""
        os.close(self.outlet)
        os.close(self.inlet)


MORE, DRY, FULL, ENDED, SOURCE_FAILED, TARGET_FAILED = range(6)
"""Why `carry` stopped: all rounds are done; nothing to read; the target takes no more; the source has ended;
one of the two has failed. `_native_sockets.c` has the same numbers."""


def _carry(source: int, target: int, inlet: int, outlet: int, rounds: int) -> tuple[int, int, int]:
    """Move bytes from a socket through an empty pipe to another one, in so many loads at most.

    Several gulps make one load: a receiver that gets few large loads is woken less often, and to wake it
    costs more than to take them. A failure of the source comes behind what it had sent, and the kernel
    reports it once: what was taken before is passed on first. Returns the bytes that the target has taken,
    those that are left in the pipe, and why it stopped.
    """
    moved = 0
    for _ in range(rounds):
        load = 0
        why = MORE
        try:
            while load < _GOOD_LOAD:
                size = os.splice(source, inlet, PIPE_SIZE, None, None, SPLICE_FLAGS)
                load += size
                if not size:
                    why = ENDED
                    break
        except BlockingIOError:
            why = DRY  # Or the pipe is full.
        except OSError:
            why = SOURCE_FAILED
        left = load
        try:
            while left:
                left -= os.splice(outlet, target, left, None, None, SPLICE_FLAGS)
        except BlockingIOError:
            why = why if why == SOURCE_FAILED else FULL
        except OSError:
            why = TARGET_FAILED
        moved += load - left
        if left or why == SOURCE_FAILED or (why != MORE and not load):
            return moved, left, why
    return moved, 0, MORE


carry = native.carry if native is not None else _carry


class PipeHolder(Protocol):
    """A direction with a pipe queue."""

    moved: int
    """Bytes that it has moved so far."""
    pipe_queue: PipeQueue | None

    def drop_pipes(self) -> None:
        """Give the pipes back; the queue is empty."""


class PipePool:
    """Lends pipes, and keeps a few for the next borrower."""

    __slots__ = ("_idle", "_lent", "holders")

    def __init__(self) -> None:
        self.holders: dict[PipeHolder, int] = {}
        """Directions that have pipes, and how many bytes they had moved at the last `reclaim`."""
        self._idle: list[Pipe] = []
        self._lent = 0

    def borrow(self) -> Pipe | None:
        """Return a pipe, or None where splicing is not possible or too many are lent: copying works too."""
        if not CAN_SPLICE or self._lent >= _MOST_LENT:
            return None
        pipe = self._idle.pop() if self._idle else _new_pipe()
        if pipe is not None:
            self._lent += 1
        return pipe

    def give_back(self, pipe: Pipe) -> None:
        """Return a borrowed pipe. One that is not empty is closed."""
        self._lent -= 1
        if pipe.filled or len(self._idle) >= _IDLE_PIPES:
            pipe.close()
        else:
            self._idle.append(pipe)

    def reclaim(self) -> None:
        """Take the pipes from directions that have moved nothing since the last call."""
        for holder, moved in tuple(self.holders.items()):
            if holder.moved != moved:
                self.holders[holder] = holder.moved
            elif holder.pipe_queue is not None and not holder.pipe_queue.size:
                holder.drop_pipes()

    def close(self) -> None:
        """Close the pipes that are not lent."""
        for pipe in self._idle:
            pipe.close()
        self._idle.clear()


class Parcel:
    """The next `size` bytes of a pipe queue. It can be passed on, not read."""

    __slots__ = ("size",)

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size


class PipeQueue:
    """Bytes in a row of pipes, first in, first out."""

    __slots__ = ("_pipes", "_pool", "size")

    def __init__(self, pool: PipePool) -> None:
        self._pool = pool
        self._pipes: deque[Pipe] = deque()
        self.size = 0

    def take(self, source: int, ending: bool) -> Parcel | None:
        """Take bytes from a socket; an empty parcel is its end, None means that no pipe is available.

        Raises BlockingIOError when the socket has nothing to read. `ending`: the end of the stream follows
        the bytes in the socket.
        """
        while True:
            if not self._pipes and not self._extend():
                return None
            pipe = self._pipes[-1]
            try:
                size = os.splice(source, pipe.inlet, PIPE_SIZE, None, None, SPLICE_FLAGS)
            except BlockingIOError:
                # Either the socket is dry or the pipe is full.
                if not pipe.filled or not (ending or unread_bytes(source)):
                    raise
                if not self._extend():
                    return None
                continue
            pipe.filled += size
            self.size += size
            return Parcel(size)

    def only_pipe(self) -> Pipe | None:
        """Return the pipe through which bytes are moved on at once, while nothing waits in the queue.

        None if no pipe is available."""
        if not self._pipes and not self._extend():
            return None
        return self._pipes[0]

    def seal(self) -> Parcel:
        """Let what that pipe still holds wait in the queue."""
        self.size = self._pipes[0].filled
        return Parcel(self.size)

    def give(self, target: int, size: int) -> int:
        """Move up to `size` of the oldest bytes to a socket. Raises BlockingIOError when it takes none."""
        pipe = self._pipes[0]
        sent = os.splice(pipe.outlet, target, min(size, pipe.filled), None, None, SPLICE_FLAGS)
        self._taken(pipe, sent)
        return sent

    def read(self, size: int) -> bytes:
        """Read exactly `size` of the oldest bytes into this process."""
        pieces: list[bytes] = []
        while size:
            pipe = self._pipes[0]
            piece = os.read(pipe.outlet, min(size, pipe.filled))
            self._taken(pipe, len(piece))
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)

    def close(self) -> None:
        """Give all pipes back to the pool."""
        for pipe in self._pipes:
            self._pool.give_back(pipe)
        self._pipes.clear()
        self.size = 0

    def _extend(self) -> bool:
        pipe = self._pool.borrow()
        if pipe is None:
            return False
        self._pipes.append(pipe)
        return True

    def _taken(self, pipe: Pipe, size: int) -> None:
        pipe.filled -= size
        self.size -= size
        if not pipe.filled and len(self._pipes) > 1:
            self._pool.give_back(self._pipes.popleft())


def _new_pipe() -> Pipe | None:
    """Return a new pipe, or None when descriptors have run out."""
    try:
        outlet, inlet = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    # Where the user's share of pipe memory is spent, the default size works too, a little slower.
    with contextlib.suppress(OSError):
        fcntl.fcntl(inlet, _SET_PIPE_SIZE, PIPE_SIZE)
    return Pipe(outlet, inlet)
