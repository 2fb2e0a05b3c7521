"""Reports of experiments as plain text, Markdown, JUnit XML, HTML and JSON; the file extension selects one.

In JUnit, each experiment is a case, and only `held` is a pass. The HTML page has a card for each experiment,
with its timeline, checks and rollbacks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from faultkit.base.numbers import decimals, instant_to_second, seconds
from faultkit.base.text import counted, escaped_json, printable_line
from faultkit.chaos.report.journal_report import OUTCOMES, ChaosReport, CheckRun, ExperimentRun, FaultRun
from faultkit.chaos.steps.fault_settings import settings_text
from faultkit.report import markdown
from faultkit.report.html_page import met_sign, pairs_with_value, render_page, utc_text
from faultkit.report.junit import JUnitCase, JUnitProblem, JUnitSuite, render_junit_suites
from faultkit.report.page_model import (
    Badge,
    Block,
    Callout,
    Card,
    Drawing,
    Facts,
    Page,
    Paragraph,
    Section,
    Table,
    Tile,
    Tiles,
    Titled,
    VerdictClass,
)
from faultkit.report.timeline import Bar, Lane, Mark, Timeline, draw_timeline

_TEXT_MARKS = {True: "ok", False: "MISSED", None: "-"}
_MET = {True: "met", False: "**not met**", None: "-"}
_STATE_WORDS = {True: "yes", False: "no", None: "not checked"}
_DONE = {True: "done", False: "**failed**", None: "cut short"}
_JUNIT_TAGS: dict[str, Literal["failure", "error"]] = {
    "deviated": "failure",
    "invalid": "error",
    "gate_not_met": "failure",
    "aborted": "error",
    "not_exercised": "error",
    "not_checked": "error",
    "rollback_failed": "error",
}


# --- plain text ------------------------------------------------------------------------------------


def render_chaos_text(report: ChaosReport) -> str:
    """Return the report as plain text for a terminal: the outcome of each experiment, and why."""
    parts = [line for run in report.runs for line in (*_text_of_run(run), "")]
    if len(report.runs) + len(report.not_run) > 1:
        held = sum(run.outcome == "held" for run in report.runs)
        parts.append(f"{printable_line(report.title)}: {held} of {len(report.runs)} held")
        if report.not_run:
            parts.append(f"not run: {', '.join(printable_line(name) for name in report.not_run)}")
        parts.append("")
    return "\n".join(parts).rstrip("\n")


def _text_of_run(run: ExperimentRun) -> Iterator[str]:
    dry = " (dry run: nothing was changed)" if run.dry_run else ""
    yield f"{printable_line(run.name)}: {OUTCOMES[run.outcome]}{dry}"
    yield from _text_of_plan(run) if run.dry_run else _text_of_phases(run)
    for fault in run.faults:
        yield f"  fault     {printable_line(f'{fault.name}: {_fault_text(fault)}: {_hits(fault)}')}"
    for sentence in run.breaking_points:
        yield f"  breaks    {printable_line(sentence)}"
    for reason in run.reasons:
        yield f"  not met   {printable_line(reason)}"
    if run.error:
        yield f"  error     {printable_line(run.error)}"
    for warning in run.warnings:
        yield f"  warning   {printable_line(warning)}"


def _text_of_plan(run: ExperimentRun) -> Iterator[str]:
    for step in run.plan:
        says = (
            f" ({printable_line(str(step['says']))})" if step.get("says") not in (None, step["name"]) else ""
        )
        yield f"  {step['phase']:<9} {printable_line(str(step['name']))}{says}"
        for undo in step.get("undo", ()):
            yield f"            undone by: {printable_line(str(undo))}"


def _text_of_phases(run: ExperimentRun) -> Iterator[str]:
    for phase in run.phases:
        took = f"{decimals(phase.ended_s - phase.began_s, 2)} s"
        mark = "not run" if phase.left_out else _TEXT_MARKS[phase.met]
        yield f"  {phase.name:<9} {mark:<7} {took}"
        if phase.name == "rollback":
            for each in run.undone:
                word = "undone" if each.ok else "FAILED"
                message = "" if each.message == "done" else f": {printable_line(each.message)}"
                yield f"            {word}: {printable_line(each.says)}{message}"


def _fault_text(fault: FaultRun) -> str:
    settings = settings_text(fault.settings)
    return f"{fault.fault}{f', {settings}' if settings else ''}, at {fault.place}"


def _hits(fault: FaultRun) -> str:
    if fault.hits is None:
        return f"not known how often it acted ({fault.why})"
    return f"acted {counted(fault.hits, 'time')}" if fault.hits else "TOUCHED NOTHING"


# --- Markdown --------------------------------------------------------------------------------------


def render_chaos_markdown(report: ChaosReport) -> str:
    """Return the report as Markdown: a table of all experiments, then each with its checks and actions."""
    rows = [
        (
            _escaped(run.name),
            run.outcome,
            _STATE_WORDS[run.before],
            _STATE_WORDS[run.after],
            run.rollback_word("ok", "**FAILED**"),
            decimals(run.duration_s, 1),
        )
        for run in report.runs
    ]
    heads = ("experiment", "outcome", "before", "after", "rollback", "seconds")
    lines = [f"# {_escaped(report.title)}", "", *markdown.table_lines(heads, rows), ""]
    if report.not_run:
        lines += [f"Not run: {', '.join(map(_escaped, report.not_run))}.", ""]
    for run in report.runs:
        lines += [*_markdown_of_run(run), ""]
    return "\n".join([*lines, f"Made by {report.tool}."]) + "\n"


def _markdown_of_run(run: ExperimentRun) -> Iterator[str]:
    yield f"## {_escaped(run.name)}"
    yield ""
    dry = " This was a dry run: nothing was changed." if run.dry_run else ""
    yield f"{OUTCOMES[run.outcome]}.{dry} Started {instant_to_second(run.started_at)}Z."
    if run.description:
        yield from ("", _escaped(run.description))
    if run.error:
        yield from ("", f"> {_escaped(run.error)}")
    if run.breaking_points:
        found = markdown.bullets(map(_escaped, run.breaking_points))
        yield from ("", "### Breaking point", "", *found)
    if run.reasons:
        yield from ("", "### What was not met", "", *markdown.bullets(map(_escaped, run.reasons)))
    if run.dry_run:
        plan = [(step["phase"], str(step["name"]), str(step.get("says") or "")) for step in run.plan]
        yield from _markdown_section("Plan", ("phase", "step", "what"), plan)
    checks = [
        (each.phase, each.name, _MET[each.met], each.measured, each.why or "", decimals(each.ended_s, 2))
        for each in run.checks
    ]
    yield from _markdown_section("Checks", ("phase", "check", "", "measured", "why", "at (s)"), checks)
    acts = [
        (each.name, _DONE[each.ok], each.why or "", decimals(each.began_s, 2), decimals(each.ended_s, 2))
        for each in run.acts
    ]
    yield from _markdown_section("Actions", ("action", "", "why", "from (s)", "to (s)"), acts)
    yield from _markdown_section("Faults", ("fault", "kind", "settings", "where", "acted"), _fault_rows(run))
    undone = [
        (each.says, "done" if each.ok else "**FAILED**", each.message, decimals(each.at_s, 2))
        for each in run.undone
    ]
    yield from _markdown_section("Rollback, last first", ("what", "", "message", "at (s)"), undone)
    if run.warnings:
        yield from ("", "### Warnings", "", *markdown.bullets(map(_escaped, run.warnings)))


def _fault_rows(run: ExperimentRun) -> list[tuple[str, ...]]:
    return [
        (each.name, each.fault, settings_text(each.settings), each.place, _hits(each)) for each in run.faults
    ]


def _markdown_section(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if rows:
        ours = {*_MET.values(), *_DONE.values(), "**FAILED**"}
        cells = [[cell if cell in ours else _escaped(cell) for cell in row] for row in rows]
        yield from ("", f"### {title}", "", *markdown.table_lines(heads, cells))


def _escaped(text: str) -> str:
    return markdown.escape(text, "\\`*_[]|#", "<")


# --- JUnit -----------------------------------------------------------------------------------------


def render_chaos_junit(report: ChaosReport) -> str:
    """Return the report as JUnit XML."""
    title = printable_line(report.title) or "chaos"
    cases = [_junit_case(run, title) for run in report.runs]
    not_run = JUnitProblem("error", "not_run", "not run: the run ended before its turn")
    cases += [JUnitCase(printable_line(name) or "experiment", title, 0.0, not_run) for name in report.not_run]
    suite = JUnitSuite(
        title,
        cases,
        started_at=report.runs[0].started_at if report.runs else "",
        properties=[("tool", report.tool)],
        output=render_chaos_text(report),
    )
    return render_junit_suites([suite])


def _junit_case(run: ExperimentRun, title: str) -> JUnitCase:
    problem = None
    if run.outcome in _JUNIT_TAGS:
        message = "; ".join((OUTCOMES[run.outcome], *run.reasons, *([run.error] if run.error else [])))
        problem = JUnitProblem(_JUNIT_TAGS[run.outcome], run.outcome, message)
    return JUnitCase(printable_line(run.name) or "experiment", title, run.duration_s, problem)


# --- HTML ------------------------------------------------------------------------------------------


_VERDICT_CLASSES: dict[str, VerdictClass] = {
    "held": "passed",
    "deviated": "failed",
    "rollback_failed": "failed",
    "gate_not_met": "inconclusive",
    "not_exercised": "inconclusive",
    "not_checked": "inconclusive",
    "aborted": "unfinished",
    "invalid": "unfinished",
}
_SIGNS: dict[VerdictClass, str] = {"passed": "✓", "failed": "✕", "inconclusive": "?", "unfinished": "…"}
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
    verdict_classes = [_VERDICT_CLASSES[run.outcome] for run in report.runs] + [
        "unfinished" for _ in report.not_run
    ]
    worst_first: tuple[VerdictClass, ...] = ("failed", "inconclusive", "unfinished")
    if len(report.runs) == 1 and not report.not_run:
        headline = OUTCOMES[report.runs[0].outcome]
    else:
        held = sum(run.outcome == "held" for run in report.runs)
        headline = f"{held} of {len(report.runs) + len(report.not_run)} held"
    return Page(
        kind="chaos report",
        title=report.title,
        headline=headline,
        verdict_class=next(
            (verdict_class for verdict_class in worst_first if verdict_class in verdict_classes), "passed"
        ),
        tool=report.tool,
        footer="",
        facts=[("Started", utc_text(report.runs[0].started_at))] if report.runs else (),
        notes=[Callout("Not run: ", [", ".join(report.not_run)])] if report.not_run else (),
        sections=[Section("Experiments", [_card(run) for run in report.runs])],
    )


def _card(run: ExperimentRun) -> Card:
    verdict_class = _VERDICT_CLASSES[run.outcome]
    return Card(
        run.name,
        Badge(verdict_class, _SIGNS[verdict_class], run.outcome.replace("_", " ")),
        list(_blocks(run)),
    )


def _blocks(run: ExperimentRun) -> Iterator[Block]:
    if run.description:
        yield Paragraph(run.description, "description")
    if run.dry_run:
        yield Callout("", ["This was a dry run: nothing was changed."], kind="")
    if run.error:
        yield Callout("Error", [run.error])
    if run.breaking_points:
        yield Callout("Breaking point", run.breaking_points, kind="")
    if run.reasons:
        yield Callout("Not met", run.reasons, kind="reasons")
    words = {True: "steady", False: "not steady", None: "not checked"}
    yield Tiles(
        [
            Tile("Before", words[run.before], is_bad=run.before is False),
            Tile("After", words[run.after], is_bad=run.after is False),
            Tile("Rollback", run.rollback_word("done"), is_bad=not run.rollback_ok),
            Tile("Took", seconds(run.duration_s)),
        ]
    )
    if run.phases:
        yield Drawing(draw_timeline(_timeline(run)))
    if run.dry_run:
        plan = [(step["phase"], str(step["name"]), str(step.get("says") or "")) for step in run.plan]
        yield from _table("Plan", ("Phase", "Step", "What"), plan)
    checks = [
        (each.phase, each.name, met_sign(each.met), each.measured, each.why or "", seconds(each.ended_s))
        for each in run.checks
    ]
    yield from _table("Checks", ("Phase", "Check", "Met", "Measured", "Why", "At"), checks, numeric=(5,))
    yield from _table("Faults", ("Fault", "Kind", "Settings", "Where", "Acted"), _fault_rows(run))
    undone = [(each.says, met_sign(each.ok), each.message, seconds(each.at_s)) for each in run.undone]
    yield from _table("Rollback, last first", ("What", "Done", "Message", "At"), undone, numeric=(3,))
    if run.warnings:
        yield Callout("Warnings", run.warnings, kind="warnings")
    yield Facts(
        pairs_with_value([("Started", utc_text(run.started_at)), ("File", run.file), ("Seed", run.seed)])
    )


def _table(
    title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], numeric: tuple[int, ...] = ()
) -> Iterator[Block]:
    if rows:
        yield Titled(title, [Table(heads, rows, title, numeric=numeric)])


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
                f"{phase.name}{', not run' if phase.left_out else ''}, {_span(phase.began_s, phase.ended_s)}",
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


# --- by extension ---------------------------------------------------------------------------------


RENDERERS: Mapping[str, Callable[[ChaosReport], str]] = {
    ".md": render_chaos_markdown,
    ".html": render_chaos_html,
    ".xml": render_chaos_junit,
    ".txt": lambda report: render_chaos_text(report) + "\n",
}
"""The renderer of each file extension."""
EXTENSIONS = (*RENDERERS, ".json")


def journal_json(report: ChaosReport, journals: Sequence[Mapping[str, Any]]) -> str:
    """Return the journal of one experiment unchanged, or those of a game day under their title, as JSON."""
    if len(journals) == 1 and not report.not_run:
        document: Mapping[str, Any] = journals[0]
    else:
        document = {
            "gameday": report.title,
            "held": report.held,
            "not_run": list(report.not_run),
            "journals": list(journals),
        }
    return escaped_json(json.dumps(document, ensure_ascii=False, indent=2, default=repr)) + "\n"
