"""The course of an experiment as a drawing: phases on top, then a rail for each check and each action.

A rail is a small `svg` of its own beside its name, so that names keep their size and break on a phone. The
time in which something may have been broken is shaded on all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from faultkit.base.figures import seconds, tick
from faultkit.chaos.report.model import Check, Phase, Run
from faultkit.report.axis import Axis, time_axis
from faultkit.report.markup import Markup, element, joined, percent

RAIL_PX = 22
_TICKS_PX = 20
_THIN = 0.004
"""What is over in no time is still to be seen."""
_ROOM_FOR_A_WORD = 0.11
_SIGNS = {True: "good", False: "bad", None: "open"}
_WORDS = {True: "met", False: "not met", None: "done"}

TIMELINE_STYLE = """
.timeline { display: grid; grid-template-columns: minmax(90px, 230px) minmax(0, 1fr); gap: 4px 14px; }
.timeline .lane { font-size: 13.5px; overflow-wrap: anywhere; align-self: center; }
.timeline .lane small { color: var(--mute); margin-left: 6px; }
.timeline svg { width: 100%; overflow: visible; }
.timeline .phase { fill: var(--soft); stroke: var(--line); }
.timeline .phase.bad { fill: var(--bad-soft); stroke: var(--bad); }
.timeline .phase.good { fill: var(--good-soft); stroke: var(--good); }
.timeline .phase-name { font-size: 11.5px; fill: var(--ink); }
.timeline .act { fill: var(--orange); }
.timeline .act.bad { fill: var(--errors); }
.timeline .look.good { fill: var(--good); }
.timeline .look.bad { fill: var(--bad); }
.timeline .look.open { fill: var(--grey); }
.timeline .undone { stroke: var(--blue); stroke-width: 2.5; }
.timeline .undone.bad { stroke: var(--errors); }
.legend .key.act { background: var(--orange); height: 9px; }
.legend .key.look { background: var(--good); height: 9px; width: 9px; border-radius: 50%; }
.legend .key.missed { background: var(--bad); height: 9px; width: 9px; }
.legend .key.undone { background: var(--blue); width: 3px; height: 11px; }
@media (max-width: 620px) { .timeline { grid-template-columns: minmax(0, 1fr); } }
"""

_KEYS = (
    ("look", "check met"),
    ("missed", "check not met"),
    ("act", "action"),
    ("undone", "undone"),
    ("window", "something may be broken"),
)


def timeline(run: Run) -> Markup | None:
    """None if nothing happened."""
    if not run.phases:
        return None
    along = time_axis(max(run.duration_s, *(phase.ended_s for phase in run.phases)), most_ticks=4)
    legend = [element("li", element("i", class_=f"key {kind}"), label) for kind, label in _KEYS]
    return element(
        "figure",
        element("figcaption", "What happened when"),
        element("ul", *legend, class_="legend"),
        element("div", *_lanes(run, along), class_="timeline"),
        class_="chart",
    )


def _lanes(run: Run, along: Axis) -> Iterator[Markup]:
    yield from _lane("Phases", "", _phases(run.phases, along), f"Phases of {run.name}")
    window = _window(run, along)
    for name in dict.fromkeys(check.name for check in run.checks):
        mine = [check for check in run.checks if check.name == name]
        missed = sum(check.met is False for check in mine)
        said = f"{len(mine) - missed} of {len(mine)} met" if missed else ""
        yield from _lane(name, said, joined((window, *_looks(mine, along))), f"Check {name}")
    for act in run.acts:
        kind = "act bad" if act.ok is False else "act"
        told = f"{act.name}: {'failed' if act.ok is False else 'done'}, {_span(act.began_s, act.ended_s)}"
        bar = _bar(along, act.began_s, act.ended_s, kind, told, 5)
        yield from _lane(act.name, "", joined((window, bar)), f"Action {act.name}")
    if run.undone:
        marks = [
            _mark(along, each.at_s, "undone" if each.ok else "undone bad", f"{each.says}: {each.message}")
            for each in run.undone
        ]
        yield from _lane("Rollback", "", joined((window, *marks)), "Rollback")
    ticks = [_tick(along, value) for value in along.ticks]
    yield from (element("span", class_="lane"), _svg(joined(ticks), _TICKS_PX, "Seconds"))


def _lane(name: str, under: str, drawn: Markup, said: str) -> Iterator[Markup]:
    yield element("span", name, element("small", under) if under else None, class_="lane")
    yield _svg(
        joined((element("rect", class_="rail", x=0, y=1, width="100%", height=RAIL_PX - 2, rx=4), drawn)),
        RAIL_PX,
        said,
    )


def _svg(drawn: Markup, tall: float, said: str) -> Markup:
    return element("svg", drawn, class_="drawing", role="img", aria_label=said, width="100%", height=tall)


def _phases(phases: Sequence[Phase], along: Axis) -> Markup:
    return joined(part for phase in phases for part in _phase(phase, along))


def _phase(phase: Phase, along: Axis) -> Iterator[Markup]:
    kind = {True: "good", False: "bad", None: ""}[phase.met]
    told = f"{phase.name}, {_span(phase.began_s, phase.ended_s)}"
    yield _bar(along, phase.began_s, phase.ended_s, f"phase {kind}".strip(), told, 1)
    begins, ends = along.at(phase.began_s), along.at(phase.ended_s)
    if ends - begins > _ROOM_FOR_A_WORD:
        yield element(
            "text",
            phase.name,
            class_="phase-name",
            x=percent((begins + ends) / 2),
            y=RAIL_PX / 2,
            dy=".35em",
            text_anchor="middle",
        )


def _looks(checks: Iterable[Check], along: Axis) -> Iterator[Markup]:
    """Round if it was met, square if not: colour alone tells some readers nothing."""
    for check in checks:
        told = f"{check.phase}: {_WORDS[check.met]} at {seconds(check.ended_s)}" + (
            f": {check.why}" if check.why else ""
        )
        kind, x, title = f"look {_SIGNS[check.met]}", percent(along.at(check.ended_s)), element("title", told)
        if check.met is False:
            square = element("rect", title, class_=kind, x=-5, y=RAIL_PX / 2 - 5, width=10, height=10)
            yield element("svg", square, x=x, y=0, width=1, height=RAIL_PX)
        else:
            yield element("circle", title, class_=kind, cx=x, cy=RAIL_PX / 2, r=5)


def _window(run: Run, along: Axis) -> Markup | None:
    if run.broken_s is None:
        return None
    begins, ends = run.broken_s
    return _bar(along, begins, ends, "window", f"something may be broken, {_span(begins, ends)}", 1)


def _bar(along: Axis, begins_s: float, ends_s: float, kind: str, told: str, inset: float) -> Markup:
    begins = along.at(begins_s)
    width = max(along.at(ends_s) - begins, _THIN)
    return element(
        "rect",
        element("title", told),
        class_=kind,
        x=percent(min(begins, 1 - width)),
        y=inset,
        width=percent(width),
        height=RAIL_PX - 2 * inset,
        rx=2,
    )


def _mark(along: Axis, at_s: float, kind: str, told: str) -> Markup:
    x = percent(along.at(at_s))
    return element("line", element("title", told), class_=kind, x1=x, x2=x, y1=3, y2=RAIL_PX - 3)


def _tick(along: Axis, value: float) -> Markup:
    share = along.at(value)
    anchor = "end" if share > 0.97 else "start" if share < 0.03 else "middle"
    return element("text", tick(1000 * value), class_="tick", x=percent(share), y=13, text_anchor=anchor)


def _span(begins_s: float, ends_s: float) -> str:
    return f"{seconds(begins_s)} to {seconds(ends_s)}"
