"""Faults on a faster clock: what a plan decides, with every wait of it so many times shorter."""

from __future__ import annotations

from dataclasses import replace

from faultkit.faults.call.call import Call, Drip, Frame, KeepAlive, Message, Verdict
from faultkit.mcp.injector import Injector, Note
from faultkit.plan import Plan, Rule


class ScaledInjector(Injector):
    def __init__(self, plan: Plan, server: str = "", note: Note | None = None, *, scale: float) -> None:
        """`scale`: how many seconds of the plan a real one stands for."""
        super().__init__(plan, server, note)
        self._scale = scale

    def decide(self, call: Call, now_s: float) -> tuple[Rule, Verdict] | None:
        """`now_s` is real."""
        decided = super().decide(call, now_s * self._scale)
        return None if decided is None else (decided[0], scaled(decided[1], self._scale))


def scaled(verdict: Verdict, scale: float) -> Verdict:
    rewrite = verdict.frames
    if rewrite is None:
        return replace(verdict, delay_s=verdict.delay_s / scale)

    def frames(reply: Message | None) -> tuple[Frame, ...]:
        return tuple(_frame(frame, scale) for frame in rewrite(reply))

    return replace(verdict, delay_s=verdict.delay_s / scale, frames=frames)


def _frame(frame: Frame, scale: float) -> Frame:
    sooner: Frame = replace(frame, after_s=frame.after_s / scale)
    if isinstance(sooner, Drip):
        return replace(sooner, every_s=sooner.every_s / scale)
    if isinstance(sooner, KeepAlive):
        return replace(sooner, every_s=sooner.every_s / scale, for_s=sooner.for_s / scale)
    return sooner
