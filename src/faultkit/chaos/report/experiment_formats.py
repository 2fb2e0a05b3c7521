"""Reports of experiments as plain text, Markdown, JUnit XML and JSON, and which file extension gives which.

In JUnit, each experiment is a case, and only `held` is a pass.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from faultkit.base.numbers import decimals, instant_to_second
from faultkit.base.text import printable_line
from faultkit.chaos.report.journal_report import OUTCOMES, ChaosReport, ExperimentRun
from faultkit.report import markdown
from faultkit.report.junit import JUnitCase, JUnitProblem, JUnitSuite, render_junit_suites

_TEXT_MARKS = {True: "ok", False: "MISSED", None: "-"}
_MET = {True: "met", False: "**not met**", None: "-"}
_DONE = {True: "done", False: "**failed**", None: "cut short"}
_JUNIT_TAGS: dict[str, Literal["failure", "error"]] = {
    "deviated": "failure",
    "invalid": "error",
    "gate_not_met": "failure",
    "aborted": "error",
    "rollback_failed": "error",
}


# Plain text


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
        yield f"  {phase.name:<9} {_TEXT_MARKS[phase.met]:<7} {took}"
        if phase.name == "rollback":
            for each in run.undone:
                word = "undone" if each.ok else "FAILED"
                message = "" if each.message == "done" else f": {printable_line(each.message)}"
                yield f"            {word}: {printable_line(each.says)}{message}"


# Markdown


def render_chaos_markdown(report: ChaosReport) -> str:
    """Return the report as Markdown: a table of all experiments, then each with its checks and actions."""
    rows = [
        (
            _escaped(run.name),
            run.outcome,
            "yes" if run.before else "no",
            "yes" if run.after else "no",
            "ok" if run.rollback_ok else "**FAILED**",
            decimals(run.duration_s, 1),
        )
        for run in report.runs
    ]
    heads = ("experiment", "outcome", "before", "after", "rollback", "seconds")
    lines = [f"# {_escaped(report.title)}", "", *markdown.table(heads, rows), ""]
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
    if run.reasons:
        yield from ("", "### What was not met", "", *markdown.bullets(map(_escaped, run.reasons)))
    if run.dry_run:
        plan = [(step["phase"], str(step["name"]), str(step.get("says") or "")) for step in run.plan]
        yield from _markdown_section("Plan", ("phase", "step", "what"), plan)
    checks = [
        (each.phase, each.name, _MET[each.met], each.why or "", decimals(each.ended_s, 2))
        for each in run.checks
    ]
    yield from _markdown_section("Checks", ("phase", "check", "", "why", "at (s)"), checks)
    acts = [
        (each.name, _DONE[each.ok], each.why or "", decimals(each.began_s, 2), decimals(each.ended_s, 2))
        for each in run.acts
    ]
    yield from _markdown_section("Actions", ("action", "", "why", "from (s)", "to (s)"), acts)
    undone = [
        (each.says, "done" if each.ok else "**FAILED**", each.message, decimals(each.at_s, 2))
        for each in run.undone
    ]
    yield from _markdown_section("Rollback, last first", ("what", "", "message", "at (s)"), undone)
    if run.warnings:
        yield from ("", "### Warnings", "", *markdown.bullets(map(_escaped, run.warnings)))


def _markdown_section(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if rows:
        ours = {*_MET.values(), *_DONE.values(), "**FAILED**"}
        cells = [[cell if cell in ours else _escaped(cell) for cell in row] for row in rows]
        yield from ("", f"### {title}", "", *markdown.table(heads, cells))


def _escaped(text: str) -> str:
    return markdown.escape(text, "\\`*_[]|#", "<")


# JUnit


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


# By extension


def _render_html(report: ChaosReport) -> str:
    # Imported here because it is by far the largest builder, and most runs do without it.
    from faultkit.chaos.report.experiment_page import render_chaos_html

    return render_chaos_html(report)


RENDERERS: Mapping[str, Callable[[ChaosReport], str]] = {
    ".md": render_chaos_markdown,
    ".html": _render_html,
    ".xml": render_chaos_junit,
    ".txt": lambda report: render_chaos_text(report) + "\n",
}
"""What a file with this extension holds."""
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
    return json.dumps(document, ensure_ascii=False, indent=2, default=repr) + "\n"
