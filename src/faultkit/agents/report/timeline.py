"""A run of an agent as a drawing: a rail for each call in its order, the last word below, time to the right.

A rail is a small `svg` beside its name, so that names keep their size and break on a phone. The time from
the first fault until the agent was past it is shaded on all of them. Shapes differ as colours do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite

from faultkit.agents.recovery.trace import CallMark, Trace
from faultkit.agents.result import Run
from faultkit.base.figures import duration, tick
from faultkit.base.numerals import flat
from faultkit.report.axis import Axis, time_axis
from faultkit.report.drawing import figure
from faultkit.report.markup import Markup, element, joined, percent

TIMELINE_STYLE = """
.course { display: grid; grid-template-columns: minmax(112px, 240px) minmax(0, 1fr); gap: 3px 14px; }
.course .lane { font-size: 13.5px; line-height: 1.3; overflow-wrap: anywhere; align-self: center; }
.course .lane b { font-weight: 600; }
.course .lane small { color: var(--mute); display: block; font-size: 12px; }
.course .left-out { grid-column: 1 / -1; color: var(--mute); font-size: 13px; padding: 2px 0; }
.course > svg { width: 100%; align-self: center; }
.course .call { fill: var(--blue); }
.course .call.faulted { fill: var(--orange); }
.course .call.failed { fill: var(--errors); }
.course .call.mended { fill: var(--good); }
.course .noticed { fill: var(--card); stroke: var(--ink); stroke-width: 1.8; }
.course .word.good { fill: var(--good); }
.course .word.bad { fill: var(--bad); }
.course .limit { stroke: var(--ink); stroke-width: 1.3; stroke-dasharray: 4 3; }
.key.call { background: var(--blue); height: 9px; }
.key.faulted { background: var(--orange); height: 9px; }
.key.call-failed { background: var(--errors); height: 9px; }
.key.mended { background: var(--good); height: 9px; }
.key.noticed {
  width: 8px; height: 8px; border-radius: 0; background: none; border: 1.8px solid var(--ink);
  transform: rotate(45deg);
}
.key.said { width: 10px; height: 10px; border-radius: 50%; background: var(--good); }
.key.unsaid { width: 10px; height: 10px; border-radius: 0; background: var(--bad); }
.key.limit { width: 0; height: 12px; background: none; border-left: 2px dashed var(--ink); }
@media (max-width: 620px) {
  .course { grid-template-columns: minmax(0, 1fr); }
  .course .lane { margin-top: 5px; }
  .course .lane small { display: inline; margin-left: 6px; }
  .course .lane:empty { display: none; }
}
@media print {
  .course .call, .course .word { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
}
"""

_RAIL_PX = 24
_MIDDLE = _RAIL_PX / 2
_TICKS_PX = 20
_THIN = 0.006
"""What is over in no time is still to be seen."""
_FIRST, _LAST = 12, 4
"""Calls that are drawn of a run with more."""
_FAR = 3.0
"""A limit so many times beyond the end of the run is not drawn: it would press all else flat."""


def timeline(run: Run) -> Markup:
    course = _Course(run)
    return figure("What happened when", course.keys(), element("div", *course.lanes(), class_="course"))


class _Course:
    """One run on its axis."""

    def __init__(self, run: Run) -> None:
        self.run, self.trace = run, run.trace
        self.first = next(iter(self.trace.faulted), None)
        self.mended = _mended(self.trace)
        ends = [_end_ms(call) for call in self.trace.calls]
        ends += [self.trace.reply.at_ms] if self.trace.reply is not None else []
        self.end_ms = max((end for end in ends if isfinite(end)), default=0.0)
        self.limit_ms = self._limit_ms()
        self.along: Axis = time_axis(max(self.end_ms, self.limit_ms or 0.0) / 1000)

    def _limit_ms(self) -> float | None:
        wanted = self.run.wanted
        if self.first is None or wanted is None or wanted.max_recovery_ms is None:
            return None
        at_ms = self.first.start_ms + wanted.max_recovery_ms
        return at_ms if at_ms <= _FAR * self.end_ms else None

    def keys(self) -> Sequence[tuple[str, str]]:
        kinds = {self._kind(call) for call in self.trace.calls}
        all_keys = (
            ("call", "call", "ok" in kinds),
            ("faulted", "call with a fault", "faulted" in kinds),
            ("call-failed", "call that failed by itself", "failed" in kinds),
            ("noticed", "fault noticed", any(map(_noticed, self.trace.calls))),
            ("mended", "the same goal reached", self.mended is not None),
            ("said", "last word", self.trace.replied),
            ("unsaid", "no last word", not self.trace.replied),
            ("window", "not yet recovered", self._window() is not None),
            ("limit", "max_recovery_ms", self.limit_ms is not None),
        )
        return [(kind, label) for kind, label, is_there in all_keys if is_there]

    def lanes(self) -> Iterator[Markup]:
        numbered = list(enumerate(self.trace.calls, 1))
        left_out = len(numbered) - _FIRST - _LAST
        yield from (
            part for each in numbered[: _FIRST if left_out > 0 else None] for part in self._call(*each)
        )
        if left_out > 0:
            yield element("span", f"… {left_out:,} more", class_="left-out")
            yield from (part for each in numbered[-_LAST:] for part in self._call(*each))
        yield from self._last_word()
        if self.along.high > 0 and self.end_ms > 0:
            ticks = joined(_tick(self.along, value) for value in self.along.ticks)
            yield from (element("span", class_="lane"), _svg(ticks, _TICKS_PX, "Time"))
        else:
            yield element("span", f"No time passed on the {self.run.clock} clock.", class_="left-out")

    def _kind(self, call: CallMark) -> str:
        if call is self.mended:
            return "mended"
        if call.fault:
            return "faulted"
        return "failed" if call.failed else "ok"

    def _call(self, number: int, call: CallMark) -> Iterator[Markup]:
        name = flat(f"{call.server}/{call.tool}" if call.server else call.tool)
        outcome = call.outcome.replace("_", " ")
        under = f"{outcome}, fault {flat(call.fault)}" if call.fault else outcome
        took = "never ended" if call.end_ms is None else duration(call.end_ms - call.start_ms)
        told = f"call {number}, {name}: {under}, from {duration(call.start_ms)}, took {took}"
        parts = [self._bar(call.start_ms, _end_ms(call, self.end_ms), f"call {self._kind(call)}", told, 5)]
        if _noticed(call):
            parts.append(_diamond(self._at(_end_ms(call)), f"noticed after {took}"))
        yield from self._lane(f"{number} ", name, under, joined(parts), told)

    def _last_word(self) -> Iterator[Markup]:
        trace = self.trace
        reply = trace.reply
        at_ms = self.end_ms if reply is None else reply.at_ms
        if trace.replied:
            under = f"at {duration(at_ms)}"
            mark = _round(self._at(at_ms), f"last word {under}")
        else:
            under = "an empty one" if trace.ending == "reply" else f"ended by {trace.ending}"
            mark = _square(self._at(at_ms), f"no last word: {under}")
        yield from self._lane("", "last word", under, mark, f"Last word: {under}")

    def _lane(self, number: str, name: str, under: str, drawn: Markup, said: str) -> Iterator[Markup]:
        yield element("span", number, element("b", name), element("small", under), class_="lane")
        rail = element("rect", class_="rail", x=0, y=1, width="100%", height=_RAIL_PX - 2, rx=4)
        yield _svg(joined((rail, self._window(), self._limit(), drawn)), _RAIL_PX, said)

    def _window(self) -> Markup | None:
        """From the first fault until the last word, or to the end of the run."""
        if self.first is None or self.end_ms <= self.first.start_ms:
            return None
        reply = self.trace.reply
        until_ms = reply.at_ms if reply is not None and self.trace.replied else self.end_ms
        if until_ms <= self.first.start_ms:
            return None
        told = f"not yet recovered, for {duration(until_ms - self.first.start_ms)}"
        return self._bar(self.first.start_ms, until_ms, "window", told, 1)

    def _limit(self) -> Markup | None:
        if self.limit_ms is None:
            return None
        x = percent(self._at(self.limit_ms))
        return element(
            "line", element("title", "max_recovery_ms"), class_="limit", x1=x, x2=x, y1=0, y2=_RAIL_PX
        )

    def _at(self, ms: float) -> float:
        return self.along.at(ms / 1000)

    def _bar(self, begins_ms: float, ends_ms: float, kind: str, told: str, inset: float) -> Markup:
        begins = self._at(begins_ms)
        width = max(self._at(ends_ms) - begins, _THIN)
        return element(
            "rect",
            element("title", told),
            class_=kind,
            x=percent(min(begins, 1 - width)),
            y=inset,
            width=percent(width),
            height=_RAIL_PX - 2 * inset,
            rx=2,
        )


def _mended(trace: Trace) -> CallMark | None:
    """The first success after the first fault with the same aim."""
    faulted = trace.faulted
    if not faulted:
        return None
    later = trace.calls[trace.calls.index(faulted[0]) + 1 :]
    return next((call for call in later if not call.failed and call.aim == faulted[0].aim), None)


def _noticed(call: CallMark) -> bool:
    return bool(call.fault) and call.failed and call.end_ms is not None


def _end_ms(call: CallMark, never: float = 0.0) -> float:
    return max(call.start_ms, never if call.end_ms is None else call.end_ms)


def _svg(drawn: Markup, tall: float, said: str) -> Markup:
    return element("svg", drawn, class_="drawing", role="img", aria_label=said, width="100%", height=tall)


def _diamond(at: float, told: str) -> Markup:
    shape = element("path", element("title", told), class_="noticed", d="M0 -6L6 0L0 6L-6 0Z")
    return _placed(at, shape)


def _round(at: float, told: str) -> Markup:
    return _placed(at, element("circle", element("title", told), class_="word good", cx=0, cy=0, r=6))


def _square(at: float, told: str) -> Markup:
    return _placed(
        at, element("rect", element("title", told), class_="word bad", x=-6, y=-6, width=12, height=12)
    )


def _placed(at: float, shape: Markup) -> Markup:
    """Around a point: the place is a share of the width, the shape is in pixels."""
    return element("svg", shape, x=percent(at), y=_MIDDLE, width=1, height=1)


def _tick(along: Axis, value: float) -> Markup:
    share = along.at(value)
    anchor = "end" if share > 0.97 else "start" if share < 0.03 else "middle"
    return element("text", tick(1000 * value), class_="tick", x=percent(share), y=13, text_anchor=anchor)
