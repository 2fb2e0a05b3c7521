"""Builds the HTML page of a report of experiments: a card for each, with its timeline, checks and
rollbacks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from faultkit.base.numbers import seconds
from faultkit.chaos.report.journal_report import OUTCOMES, ChaosReport, CheckRun, ExperimentRun
from faultkit.report.html_page import met, pairs_with_value, render_page, utc
from faultkit.report.page_model import (
    Badge,
    Block,
    Callout,
    Card,
    Drawing,
    Facts,
    Mood,
    Page,
    Paragraph,
    Section,
    Table,
    Tile,
    Tiles,
    Titled,
)
from faultkit.report.timeline import Bar, Lane, Mark, Timeline, draw_timeline

_MOODS: dict[str, Mood] = {
    "held": "passed",
    "deviated": "failed",
    "rollback_failed": "failed",
    "gate_not_met": "inconclusive",
    "aborted": "unfinished",
    "invalid": "unfinished",
}
_SIGNS: dict[Mood, str] = {"passed": "✓", "failed": "✕", "inconclusive": "?", "unfinished": "…"}
_KEYS = (
    ("look", "check met"),
    ("missed", "check not met"),
    ("act", "action"),
    ("undone", "undone"),
    ("window", "something may be broken"),
)


def render_chaos_html(report: ChaosReport) -> str:
    """Return the report as one HTML file."""
    return render_page(chaos_page(report))


def chaos_page(report: ChaosReport) -> Page:
    """Return the page of a report."""
    moods = [_MOODS[run.outcome] for run in report.runs] + ["unfinished" for _ in report.not_run]
    worst_first: tuple[Mood, ...] = ("failed", "inconclusive", "unfinished")
    if len(report.runs) == 1 and not report.not_run:
        headline = OUTCOMES[report.runs[0].outcome]
    else:
        held = sum(run.outcome == "held" for run in report.runs)
        headline = f"{held} of {len(report.runs) + len(report.not_run)} held"
    return Page(
        kind="chaos report",
        title=report.title,
        headline=headline,
        mood=next((mood for mood in worst_first if mood in moods), "passed"),
        tool=report.tool,
        footer="",
        facts=[("Started", utc(report.runs[0].started_at))] if report.runs else (),
        notes=[Callout("Not run: ", [", ".join(report.not_run)])] if report.not_run else (),
        sections=[Section("Experiments", [_card(run) for run in report.runs])],
    )


def _card(run: ExperimentRun) -> Card:
    mood = _MOODS[run.outcome]
    return Card(run.name, Badge(mood, _SIGNS[mood], run.outcome.replace("_", " ")), list(_blocks(run)))


def _blocks(run: ExperimentRun) -> Iterator[Block]:
    if run.description:
        yield Paragraph(run.description, "description")
    if run.dry_run:
        yield Callout("", ["This was a dry run: nothing was changed."], kind="")
    if run.error:
        yield Callout("Error", [run.error])
    if run.reasons:
        yield Callout("Not met", run.reasons, kind="reasons")
    words = {True: "steady", False: "not steady"}
    yield Tiles(
        [
            Tile("Before", words[run.before], is_bad=not run.before),
            Tile("After", words[run.after], is_bad=not run.after),
            Tile("Rollback", "done" if run.rollback_ok else "FAILED", is_bad=not run.rollback_ok),
            Tile("Took", seconds(run.duration_s)),
        ]
    )
    if run.phases:
        yield Drawing(draw_timeline(_timeline(run)))
    if run.dry_run:
        plan = [(step["phase"], str(step["name"]), str(step.get("says") or "")) for step in run.plan]
        yield from _table("Plan", ("Phase", "Step", "What"), plan)
    checks = [
        (each.phase, each.name, met(each.met), each.why or "", seconds(each.ended_s)) for each in run.checks
    ]
    yield from _table("Checks", ("Phase", "Check", "Met", "Why", "At"), checks, numeric=(4,))
    undone = [(each.says, met(each.ok), each.message, seconds(each.at_s)) for each in run.undone]
    yield from _table("Rollback, last first", ("What", "Done", "Message", "At"), undone, numeric=(3,))
    if run.warnings:
        yield Callout("Warnings", run.warnings, kind="warnings")
    yield Facts(pairs_with_value([("Started", utc(run.started_at)), ("File", run.file), ("Seed", run.seed)]))


def _table(
    title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], numeric: tuple[int, ...] = ()
) -> Iterator[Block]:
    if rows:
        yield Titled(title, [Table(heads, rows, title, numeric=numeric)])


# The timeline


def _timeline(run: ExperimentRun) -> Timeline:
    return Timeline(
        lanes=list(_lanes(run)),
        end_s=max(run.duration_s, *(phase.ended_s for phase in run.phases)),
        keys=_KEYS,
        shaded=[_broken(*run.broken_s)] if run.broken_s is not None else [],
        axis_label="Seconds",
        most_ticks=4,
    )


def _lanes(run: ExperimentRun) -> Iterator[Lane]:
    yield Lane(
        "Phases",
        f"Phases of {run.name}",
        bars=[
            Bar(
                phase.began_s,
                phase.ended_s,
                {True: "phase good", False: "phase bad", None: "phase"}[phase.met],
                f"{phase.name}, {_span(phase.began_s, phase.ended_s)}",
                inset_px=1,
                caption=phase.name,
            )
            for phase in run.phases
        ],
        is_shaded=False,
    )
    for name in dict.fromkeys(check.name for check in run.checks):
        checks = [check for check in run.checks if check.name == name]
        missed = sum(check.met is False for check in checks)
        yield Lane(
            name,
            f"Check {name}",
            marks=[_check_mark(check) for check in checks],
            note=f"{len(checks) - missed} of {len(checks)} met" if missed else "",
        )
    for act in run.acts:
        ending = "failed" if act.ok is False else "done"
        bar = Bar(
            act.began_s,
            act.ended_s,
            "act bad" if act.ok is False else "act",
            f"{act.name}: {ending}, {_span(act.began_s, act.ended_s)}",
        )
        yield Lane(act.name, f"Action {act.name}", bars=[bar])
    if run.undone:
        marks = [
            Mark(each.at_s, "line", "undone" if each.ok else "undone bad", f"{each.says}: {each.message}")
            for each in run.undone
        ]
        yield Lane("Rollback", "Rollback", marks=marks)


def _check_mark(check: CheckRun) -> Mark:
    word, kind = {
        True: ("met", "look good"),
        False: ("not met", "look bad"),
        None: ("done", "look open"),
    }[check.met]
    why = f": {check.why}" if check.why else ""
    label = f"{check.phase}: {word} at {seconds(check.ended_s)}{why}"
    return Mark(check.ended_s, "square" if check.met is False else "circle", kind, label)


def _broken(begins_s: float, ends_s: float) -> Bar:
    label = f"something may be broken, {_span(begins_s, ends_s)}"
    return Bar(begins_s, ends_s, "window", label, inset_px=1)


def _span(begins_s: float, ends_s: float) -> str:
    return f"{seconds(begins_s)} to {seconds(ends_s)}"
