"""The verdict interpreter: the only place where a call-level fault meets time and the wire.

A fault is pure: it returns a `Verdict` that says what becomes of a call. This module executes it on an
`Exchange`, which may belong to the mock, the gateway or any other service, so a fault means the same
everywhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from faultkit.faults.call_fault import EndStream, Frame, KeepAlive, Verdict
from faultkit.mcp.wire.exchange import Exchange, Session
from faultkit.mcp.wire.message import Incoming
from faultkit.mcp.wire.stdio_front import MOST_DRAIN_S

MOST_OVERTAKEN_S = 5.0
"""Longest time that a reply waits for later replies to overtake it."""

AskServer = Callable[[], Awaitable[Incoming | None]]
"""Returns the server's reply; None if none will come and the wire has been left in the right state."""
FrameObserver = Callable[[Frame], None]
"""Called with each frame before it is sent, for recordings."""
_OVERTAKEN = "replies that are being overtaken"
"""Key of the waiting replies in `Session.info`."""
UNASKED_S = 0.05
"""Seconds that verdicts without a server get to end when the client has closed its end."""
_FRAMES_AT_A_TIME = 32
"""Frames sent before other tasks get a turn."""


def will_reply(verdict: Verdict) -> bool:
    """Return whether a verdict asks the server and then replies soon; `lost_reply` never does.

    The others end with the client: those that hang, and those that need no server and are done at once."""
    frames = () if verdict.frames is None else verdict.frames(None)
    soon = verdict.delay_s < MOST_DRAIN_S and all(frame.after_s < MOST_DRAIN_S for frame in frames)
    return verdict.ask and soon


async def execute_verdict(
    verdict: Verdict, exchange: Exchange, ask: AskServer, observe: FrameObserver = lambda frame: None
) -> None:
    """Do to one call what the verdict says, until it is done or the client cancels the call."""
    work = asyncio.ensure_future(_execute(verdict, exchange, ask, observe))
    if not verdict.ignores_cancel:
        exchange.on_cancel(work.cancel)
    try:
        await work
    except asyncio.CancelledError:
        if not exchange.cancelled:
            work.cancel()
            raise
        if exchange.session.frozen:
            # A frozen session sends nothing, not even the end of a cancelled call.
            exchange.close()
        else:
            exchange.finish()


async def _execute(verdict: Verdict, exchange: Exchange, ask: AskServer, observe: FrameObserver) -> None:
    if verdict.freezes_session:
        exchange.session.frozen = True
    if verdict.delay_s > 0:
        await asyncio.sleep(verdict.delay_s)
    incoming = await ask() if verdict.ask else None
    if verdict.ask and incoming is None:
        return
    if verdict.overtaken_by:
        longest_s = verdict.overtaken_for_s
        await _wait_overtaken(
            exchange, verdict.overtaken_by, MOST_OVERTAKEN_S if longest_s is None else longest_s
        )
    if verdict.frames is None:
        if incoming is not None:
            exchange.reply(incoming.raw)
            count_reply(exchange.session)
        return
    frames = verdict.frames(None if incoming is None else incoming.message)
    streamed = len(frames) > 1 or any(isinstance(frame, EndStream | KeepAlive) for frame in frames)
    for number, frame in enumerate(frames, 1):
        if frame.after_s > 0:
            await asyncio.sleep(frame.after_s)
        elif number % _FRAMES_AT_A_TIME == 0:
            # Yield, so that a storm of frames blocks neither other calls nor its own cancellation.
            await asyncio.sleep(0)
        if exchange.session.frozen:
            return
        observe(frame)
        await exchange.send(frame, streamed=streamed)
    exchange.finish()
    count_reply(exchange.session)


@dataclass(slots=True, eq=False)
class _OvertakenReply:
    """A reply that waits until later replies have gone out."""

    left: int
    """Replies that still have to overtake it."""
    released: asyncio.Event


async def _wait_overtaken(exchange: Exchange, count: int, longest_s: float) -> None:
    """Wait until `count` replies of the session have gone out since the request came.

    Only one reply of a session waits at a time: otherwise they would wait for each other."""
    session = exchange.session
    reply = _OvertakenReply(count - (session.replies - exchange.replies_before), asyncio.Event())
    waiting: list[_OvertakenReply] = session.info.setdefault(_OVERTAKEN, [])
    if waiting or reply.left <= 0:
        return
    waiting.append(reply)
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(longest_s):
                await reply.released.wait()
    finally:
        # Also if the client has cancelled the call: no reply can overtake it then, and another one may wait.
        if reply in waiting:
            waiting.remove(reply)


def count_reply(session: Session) -> None:
    """Count a reply that has gone out. Services call it for replies without a fault too."""
    session.replies += 1
    waiting: list[_OvertakenReply] = session.info.get(_OVERTAKEN) or []
    for reply in tuple(waiting):
        reply.left -= 1
        if reply.left <= 0:
            reply.released.set()
            waiting.remove(reply)
