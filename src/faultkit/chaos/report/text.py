"""A report of experiments as plain text, for a terminal: what came of each, and why."""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.base.numerals import decimals, flat
from faultkit.chaos.report.model import SAYS, ChaosReport, Run

_MARKS = {True: "ok", False: "MISSED", None: "-"}


def render_chaos_text(report: ChaosReport) -> str:
    parts = [line for run in report.runs for line in (*_run(run), "")]
    if len(report.runs) + len(report.not_run) > 1:
        held = sum(run.outcome == "held" for run in report.runs)
        parts.append(f"{flat(report.title)}: {held} of {len(report.runs)} held")
        if report.not_run:
            parts.append(f"not run: {', '.join(flat(name) for name in report.not_run)}")
        parts.append("")
    return "\n".join(parts).rstrip("\n")


def _run(run: Run) -> Iterator[str]:
    dry = " (dry run: nothing was changed)" if run.dry_run else ""
    yield f"{flat(run.name)}: {SAYS[run.outcome]}{dry}"
    if run.dry_run:
        yield from _plan(run)
    else:
        yield from _course(run)
    for reason in run.reasons:
        yield f"  not met   {flat(reason)}"
    if run.error:
        yield f"  error     {flat(run.error)}"
    for warning in run.warnings:
        yield f"  warning   {flat(warning)}"


def _plan(run: Run) -> Iterator[str]:
    for step in run.plan:
        says = f" ({flat(str(step['says']))})" if step.get("says") not in (None, step["name"]) else ""
        yield f"  {step['phase']:<9} {flat(str(step['name']))}{says}"
        for undo in step.get("undo", ()):
            yield f"            undone by: {flat(str(undo))}"


def _course(run: Run) -> Iterator[str]:
    for phase in run.phases:
        took = f"{decimals(phase.ended_s - phase.began_s, 2)} s"
        yield f"  {phase.name:<9} {_MARKS[phase.met]:<7} {took}"
        if phase.name == "rollback":
            for each in run.undone:
                word = "undone" if each.ok else "FAILED"
                told = "" if each.message == "done" else f": {flat(each.message)}"
                yield f"            {word}: {flat(each.says)}{told}"
