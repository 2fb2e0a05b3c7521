"""Carries verdicts out: the only place where a call-level fault meets time and the wire."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from faultkit.faults.call.call import EndStream, Frame, KeepAlive, Verdict
from faultkit.mcp.wire.exchange import Exchange, Session
from faultkit.mcp.wire.message import Incoming

MOST_BEHIND_S = 5.0
"""A reply that waits for others to pass it waits no longer than this."""

Ask = Callable[[], Awaitable[Incoming | None]]
"""Gives the server's reply; None if none will come and the wire was left as it has to be then."""
Sent = Callable[[Frame], None]
"""Told of each frame as it goes out, for recordings."""
_WAITING = "replies that let others pass"
_FRAMES_AT_A_TIME = 32


async def carry(verdict: Verdict, exchange: Exchange, ask: Ask, sent: Sent = lambda frame: None) -> None:
    """Does with one call what the verdict says; until the client cancels it, unless the verdict is deaf."""
    work = asyncio.ensure_future(_carry(verdict, exchange, ask, sent))
    if not verdict.deaf:
        exchange.on_cancel(work.cancel)
    try:
        await work
    except asyncio.CancelledError:
        if not exchange.cancelled:
            work.cancel()
            raise
        if exchange.session.frozen:
            # Not even that the call was cancelled is heard there.
            exchange.close()
        else:
            exchange.finish()


async def _carry(verdict: Verdict, exchange: Exchange, ask: Ask, sent: Sent) -> None:
    if verdict.freeze:
        exchange.session.frozen = True
    if verdict.delay_s > 0:
        await asyncio.sleep(verdict.delay_s)
    incoming = await ask() if verdict.ask else None
    if verdict.ask and incoming is None:
        return
    if verdict.behind:
        await _let_pass(exchange, verdict.behind)
    if verdict.frames is None:
        if incoming is not None:
            exchange.reply(incoming.raw)
            replied(exchange.session)
        return
    frames = verdict.frames(None if incoming is None else incoming.message)
    streamed = len(frames) > 1 or any(isinstance(frame, EndStream | KeepAlive) for frame in frames)
    for number, frame in enumerate(frames, 1):
        if frame.after_s > 0:
            await asyncio.sleep(frame.after_s)
        elif number % _FRAMES_AT_A_TIME == 0:
            # A storm must not keep everybody else waiting, nor its own cancellation.
            await asyncio.sleep(0)
        if exchange.session.frozen:
            return
        sent(frame)
        await exchange.send(frame, streamed=streamed)
    exchange.finish()
    replied(exchange.session)


@dataclass(slots=True, eq=False)
class _Held:
    """A reply that lets others pass."""

    count: int
    free: asyncio.Event


async def _let_pass(exchange: Exchange, count: int) -> None:
    """One at a time: if somebody waits for this one to pass, it passes. Replies that all let others pass
    would wait for each other."""
    session = exchange.session
    held = _Held(count - (session.replies - exchange.replies_before), asyncio.Event())
    waiting: list[_Held] = session.info.setdefault(_WAITING, [])
    if waiting or held.count <= 0:
        return
    waiting.append(held)
    with suppress(TimeoutError):
        async with asyncio.timeout(MOST_BEHIND_S):
            await held.free.wait()
    if held in waiting:
        waiting.remove(held)


def replied(session: Session) -> None:
    """A reply of this session has gone out; called for those without a fault, too."""
    session.replies += 1
    waiting: list[_Held] = session.info.get(_WAITING) or []
    for held in tuple(waiting):
        held.count -= 1
        if held.count <= 0:
            held.free.set()
            waiting.remove(held)
