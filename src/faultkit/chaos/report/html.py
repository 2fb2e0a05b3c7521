"""A report of experiments as one page that needs nothing else: no script, no font, no request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from faultkit.base.figures import seconds
from faultkit.base.numerals import second
from faultkit.chaos.report.model import SAYS, ChaosReport, Run
from faultkit.chaos.report.timeline import TIMELINE_STYLE, timeline
from faultkit.report.markup import Markup, element
from faultkit.report.page import page
from faultkit.report.tables import met, table

_MOODS = {
    "held": "passed",
    "deviated": "failed",
    "rollback_failed": "failed",
    "gate_not_met": "inconclusive",
    "aborted": "unfinished",
    "invalid": "unfinished",
}
"""The classes of the style sheet."""
_SIGNS = {"passed": "✓", "failed": "✕", "inconclusive": "?", "unfinished": "…"}


def render_chaos_html(report: ChaosReport) -> str:
    return page(f"{report.title} · {_headline(report)}", report.tool, _body(report), TIMELINE_STYLE)


def _headline(report: ChaosReport) -> str:
    if len(report.runs) == 1 and not report.not_run:
        return SAYS[report.runs[0].outcome]
    held = sum(run.outcome == "held" for run in report.runs)
    return f"{held} of {len(report.runs) + len(report.not_run)} held"


def _mood(report: ChaosReport) -> str:
    moods = [_MOODS[run.outcome] for run in report.runs] + ["unfinished" for _ in report.not_run]
    return next((mood for mood in ("failed", "inconclusive", "unfinished") if mood in moods), "passed")


def _body(report: ChaosReport) -> Iterator[Markup | None]:
    yield element(
        "header",
        element("p", "Faultkit", element("span", " chaos report"), class_="brand"),
        element("h1", report.title),
        element("div", element("p", _headline(report), class_=f"headline {_mood(report)}"), class_="glance"),
        _facts([("Started", _when(report.runs[0].started_at))]) if report.runs else None,
        class_="top",
    )
    if report.not_run:
        yield element(
            "p",
            element("strong", "Not run: "),
            ", ".join(report.not_run),
            class_="callout warn",
            role="note",
        )
    yield element("main", element("h2", "Experiments"), *(_card(run) for run in report.runs))
    yield element("footer", f"Made by {report.tool}.")


def _card(run: Run) -> Markup:
    mood = _MOODS[run.outcome]
    badge = element(
        "span",
        element("span", _SIGNS[mood], class_="sign", aria_hidden="true"),
        run.outcome.replace("_", " "),
        class_=f"badge {mood}",
    )
    return element(
        "details",
        element("summary", element("h3", run.name), badge),
        element("div", *_inside(run), class_="inside"),
        class_=f"card {mood}",
        open=True,
    )


def _inside(run: Run) -> Iterator[Markup | None]:
    if run.description:
        yield element("p", run.description, class_="description")
    if run.dry_run:
        yield element("p", "This was a dry run: nothing was changed.", class_="callout")
    if run.error:
        yield element("p", element("strong", "Error"), run.error, class_="callout warn")
    if run.reasons:
        listed = element("ul", *(element("li", reason) for reason in run.reasons))
        yield element("div", element("strong", "Not met"), listed, class_="callout reasons")
    yield _tiles(run)
    yield timeline(run)
    plan = [(step["phase"], str(step["name"]), str(step.get("says") or "")) for step in run.plan]
    yield _block("Plan", ("Phase", "Step", "What"), plan if run.dry_run else ())
    checks = [
        (each.phase, each.name, met(each.met), each.why or "", seconds(each.ended_s)) for each in run.checks
    ]
    yield _block("Checks", ("Phase", "Check", "Met", "Why", "At"), checks, numeric=(4,))
    undone = [(each.says, met(each.ok), each.message, seconds(each.at_s)) for each in run.undone]
    yield _block("Rollback, last first", ("What", "Done", "Told", "At"), undone, numeric=(3,))
    if run.warnings:
        listed = element("ul", *(element("li", warning) for warning in run.warnings))
        yield element("div", element("strong", "Warnings"), listed, class_="callout warnings")
    facts = [("Started", _when(run.started_at)), ("File", run.file), ("Seed", run.seed)]
    yield _facts([(name, value) for name, value in facts if value])


def _tiles(run: Run) -> Markup:
    words = {True: "steady", False: "not steady"}
    tiles = [
        ("Before", words[run.before], not run.before),
        ("After", words[run.after], not run.after),
        ("Rollback", "done" if run.rollback_ok else "FAILED", not run.rollback_ok),
        ("Took", seconds(run.duration_s), False),
    ]
    return element(
        "dl",
        *(
            element("div", element("dt", name), element("dd", value), class_="bad" if is_bad else None)
            for name, value, is_bad in tiles
        ),
        class_="tiles",
    )


def _block(
    title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], numeric: tuple[int, ...] = ()
) -> Markup | None:
    if not rows:
        return None
    return element("div", element("h4", title), table(heads, rows, title, numeric=numeric), class_="block")


def _facts(facts: Sequence[tuple[str, str]]) -> Markup:
    return element(
        "dl",
        *(element("div", element("dt", name), element("dd", value)) for name, value in facts),
        class_="facts",
    )


def _when(iso: str) -> str:
    text = second(iso)
    return iso if text == iso else f"{text.replace('T', ' ')} UTC"
