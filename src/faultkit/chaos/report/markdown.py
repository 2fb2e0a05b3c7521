"""A report of experiments as Markdown: a table of all, then each with its checks, actions and rollbacks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from faultkit.base.numerals import decimals, flat, second
from faultkit.chaos.report.model import SAYS, ChaosReport, Run

_MET = {True: "met", False: "**not met**", None: "-"}
_DONE = {True: "done", False: "**failed**", None: "cut short"}


def render_chaos_markdown(report: ChaosReport) -> str:
    lines = [f"# {_safe(report.title)}", ""]
    rows = [
        (
            _safe(run.name),
            run.outcome,
            _yes(run.before),
            _yes(run.after),
            "ok" if run.rollback_ok else "**FAILED**",
            decimals(run.duration_s, 1),
        )
        for run in report.runs
    ]
    lines += [*_table(("experiment", "outcome", "before", "after", "rollback", "seconds"), rows), ""]
    if report.not_run:
        lines += [f"Not run: {', '.join(map(_safe, report.not_run))}.", ""]
    for run in report.runs:
        lines += [*_run(run), ""]
    lines.append(f"Made by {report.tool}.")
    return "\n".join(lines) + "\n"


def _run(run: Run) -> Iterator[str]:
    yield f"## {_safe(run.name)}"
    yield ""
    dry = " This was a dry run: nothing was changed." if run.dry_run else ""
    yield f"{SAYS[run.outcome]}.{dry} Started {second(run.started_at)}Z."
    if run.description:
        yield from ("", _safe(run.description))
    if run.error:
        yield from ("", f"> {_safe(run.error)}")
    if run.reasons:
        yield from ("", "### What was not met", "")
        yield from (f"- {_safe(reason)}" for reason in run.reasons)
    if run.dry_run:
        rows = [(step["phase"], str(step["name"]), str(step.get("says") or "")) for step in run.plan]
        yield from _section("Plan", ("phase", "step", "what"), rows)
    checks = [
        (each.phase, each.name, _MET[each.met], each.why or "", decimals(each.ended_s, 2))
        for each in run.checks
    ]
    yield from _section("Checks", ("phase", "check", "", "why", "at (s)"), checks)
    acts = [
        (each.name, _DONE[each.ok], each.why or "", decimals(each.began_s, 2), decimals(each.ended_s, 2))
        for each in run.acts
    ]
    yield from _section("Actions", ("action", "", "why", "from (s)", "to (s)"), acts)
    undone = [
        (each.says, "done" if each.ok else "**FAILED**", each.message, decimals(each.at_s, 2))
        for each in run.undone
    ]
    yield from _section("Rollback, last first", ("what", "", "told", "at (s)"), undone)
    if run.warnings:
        yield from ("", "### Warnings", "")
        yield from (f"- {_safe(warning)}" for warning in run.warnings)


def _section(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if rows:
        yield from ("", f"### {title}", "")
        yield from _table(heads, [[_cell(cell) for cell in row] for row in rows])


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [
        f"| {' | '.join(heads)} |",
        f"|{'---|' * len(heads)}",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]


def _cell(text: str) -> str:
    return text if text.startswith("**") else _safe(text)


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _safe(text: str) -> str:
    """On one line, and without what Markdown would take for its own."""
    told = flat(text)
    for sign in "\\`*_[]|#":
        told = told.replace(sign, f"\\{sign}")
    return told.replace("<", "&lt;")
