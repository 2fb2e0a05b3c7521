"""The HTML page of results: an overview, and a card for each test with its figures and its timeline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from math import isfinite
from typing import Any

from faultkit import __version__
from faultkit.agents.recovery.metrics import first_success
from faultkit.agents.recovery.trace import TracedCall
from faultkit.agents.report.row_facts import (
    INTERRUPTED,
    SIGNS,
    STATUS_MEANINGS,
    STATUS_WORDS,
    RowStatus,
    clocks_of,
    count_statuses,
    deciding_run,
    degraded_lines,
    explanation,
    place_of,
    recovery_figures,
    status_of,
    suite_problems,
)
from faultkit.agents.suite.results import ResultRow, ScoredRun, SuiteResults
from faultkit.base.numbers import NO_FIGURE, duration, value_text
from faultkit.base.text import counted, printable_line, printable_lines
from faultkit.report.html_page import badge_markup, pairs_with_value, render_page, spanning_cell, utc_text
from faultkit.report.markup import Markup, element
from faultkit.report.page_model import (
    Badge,
    Block,
    Callout,
    Card,
    Drawing,
    Facts,
    Folded,
    Group,
    Overview,
    Page,
    Preformatted,
    Quotation,
    Section,
    Table,
    Tile,
    Tiles,
    VerdictClass,
    VerdictCount,
)
from faultkit.report.timeline import Bar, Lane, Mark, Timeline, draw_timeline

_VERDICT_CLASSES: dict[RowStatus, VerdictClass] = {
    "passed": "passed",
    "failed": "failed",
    "not_exercised": "not-exercised",
    "inconclusive": "inconclusive",
    "error": "failed",
    "skipped": "unfinished",
}
_MANY = 12
"""With this many tests or more, the cards of passed tests are folded."""
_HEADS = ("Verdict", "Test", "Recovery", "Detections", "Path", "Calls", "Took")
_LONGEST_REPLY = 600
_FIRST_CALLS, _LAST_CALLS = 12, 4
"""Of a run with more calls, only these are drawn."""
_FAR = 3.0
"""A limit that lies further than this many times the duration of the run is not drawn, because everything
else would be too small to see."""


def render_html(results: SuiteResults) -> str:
    """Return the results as one HTML file."""
    return render_page(suite_page(results))


def suite_page(results: SuiteResults) -> Page:
    """Return the page of the results."""
    failing = any(row.fails for row in results.rows)
    notes = [("Interrupted", INTERRUPTED)] if results.interrupted else []
    notes += [("Degraded", line) for line in degraded_lines(results)]
    if len(results.suites) == 1:
        title = printable_line(results.suites[0].file)
    else:
        title = f"{counted(len(results.suites), 'suite')}, {counted(len(results.rows), 'test')}"
    return Page(
        kind="suite report",
        title=title,
        headline=_headline(results),
        verdict_class="failed" if failing else "passed" if results.ok and results.rows else "inconclusive",
        tool=f"faultkit {__version__}",
        footer="Times of calls are those of the clock that the run had; what a test took is wall-clock time.",
        facts=pairs_with_value(
            [
                ("Started", utc_text(results.started_at)),
                ("Took", "" if results.duration_ms is None else duration(results.duration_ms)),
                ("Clock", clocks_of(results)),
                ("Seed", printable_line(str(results.seed))),
            ]
        ),
        counts=[
            VerdictCount(_VERDICT_CLASSES[status], STATUS_WORDS[status], count)
            for status, count in count_statuses(results.rows).items()
        ],
        notes=[
            Callout(printable_line(name), [printable_line(text)])
            for name, text in [*notes, *suite_problems(results)]
        ],
        overview=_overview(results) if results.rows else None,
        sections=list(_sections(results)),
    )


def _headline(results: SuiteResults) -> str:
    total, failing = len(results.rows), sum(row.fails for row in results.rows)
    if not total:
        return "Nothing was run"
    if failing:
        return f"{failing:,} of {total:,} failing"
    if not results.ok:
        return "Not all of it was run"
    passed = count_statuses(results.rows)["passed"]
    return f"All {total:,} passed" if passed == total else f"{passed:,} of {total:,} passed"


def _overview(results: SuiteResults) -> Overview:
    rows: list[Sequence[str]] = []
    number = 0
    for suite in results.suites:
        if len(results.suites) > 1:
            rows.append((spanning_cell(printable_line(suite.file), len(_HEADS)),))
        for row in suite.rows:
            number += 1
            rows.append(_overview_row(number, row))
    table = Table(
        _HEADS, rows, "Overview of all tests", numeric=(2, 3, 5, 6), kind="overview brief-on-phones"
    )
    return Overview(table, "Tests")


def _overview_row(number: int, row: ResultRow) -> Sequence[str]:
    run = deciding_run(row)
    found = None if run is None else recovery_figures(run)
    figures = (
        (NO_FIGURE, NO_FIGURE, NO_FIGURE, NO_FIGURE)
        if found is None
        else (
            _time(found["time_to_recovery_ms"]),
            str(found["detections"]),
            found["path"].replace("_", " "),
            str(found["calls"]),
        )
    )
    took = duration(row.duration_ms)
    link = element("a", printable_line(row.name), href=f"#test-{number}")
    # A phone has no room for the other columns, so the figures stand below the name there.
    brief = element("small", _in_words(found, took), class_="brief")
    return (badge_markup(_badge(row)), element("div", link, brief), *figures, took)


def _in_words(found: Mapping[str, Any] | None, took: str) -> str:
    """Return the figures of a row on one line."""
    parts = [f"took {took}"]
    if found is not None:
        recovery = _time(found["time_to_recovery_ms"])
        parts[:0] = [
            "no recovery" if recovery == NO_FIGURE else f"recovery {recovery}",
            counted(found["detections"], "detection"),
            found["path"].replace("_", " "),
            counted(found["calls"], "call"),
        ]
    return " · ".join(parts)


def _badge(row: ResultRow) -> Badge:
    status = status_of(row)
    return Badge(_VERDICT_CLASSES[status], SIGNS[status], STATUS_WORDS[status])


def _sections(results: SuiteResults) -> Iterator[Section]:
    fold = len(results.rows) >= _MANY
    number = 0
    for suite in results.suites:
        cards = []
        for row in suite.rows:
            number += 1
            is_folded = not row.fails and (fold or not row.runs)
            cards.append(
                Card(printable_line(row.name), _badge(row), list(_blocks(row)), f"test-{number}", is_folded)
            )
        title = "Tests" if len(results.suites) == 1 else printable_line(suite.file)
        yield Section(title, cards, if_empty="No test of this suite was run.")


# The card of a test


def _blocks(row: ResultRow) -> Iterator[Block]:
    yield Callout("", [explanation(row) or STATUS_MEANINGS[status_of(row)]], kind="reasons")
    if row.diff:
        yield Preformatted(printable_lines(row.diff))
    run = deciding_run(row)
    if run is not None:
        yield Group(_run_blocks(run), "run")
        for number, each in enumerate(row.runs, 1):
            if each is not run:
                verdict = "" if each.gate is None else f", {STATUS_WORDS[each.gate.verdict]}"
                summary = f"Run {number}, seed {printable_line(str(each.seed))}{verdict}"
                yield Folded(summary, [Group(_run_blocks(each), "run")])
    yield Facts(list(_facts(row)))


def _facts(row: ResultRow) -> Iterator[tuple[str, str]]:
    yield "At", place_of(row)
    if row.limit:
        yield "Limit", printable_line(row.limit)
    if row.rule:
        yield "Rule", row.rule
    if row.tags:
        yield "Tags", printable_line(", ".join(row.tags))
    share = row.passed_share
    if share is not None:
        low, high = (value_text(round(100 * bound, 1)) for bound in share.interval)
        yield "Runs passed", f"{share.hits} of {share.total} (95 % confidence: {low} % to {high} %)"
    for name, value in row.details:
        yield printable_line(name), printable_line(value_text(value))


def _run_blocks(run: ScoredRun) -> list[Block]:
    found = recovery_figures(run)
    limit = found["limit"]
    blocks: list[Block] = [
        Tiles(
            [
                Tile(
                    "Detection",
                    _time(found["time_to_detection_ms"]),
                    is_bad=limit == "require_clean_timeout",
                ),
                Tile(
                    "Recovery",
                    _time(found["time_to_recovery_ms"]),
                    is_bad=limit in ("max_recovery_ms", "recovered"),
                ),
                Tile("Detections", str(found["detections"])),
                Tile("Retries", str(found["retries"])),
                Tile("Calls", str(found["calls"])),
                Tile("Path", found["path"].replace("_", " "), is_word=True),
            ]
        ),
        Drawing(timeline(run)),
    ]
    reply = printable_lines(run.trace.reply.text.strip()) if run.trace.reply is not None else ""
    if reply:
        cut = reply if len(reply) <= _LONGEST_REPLY else f"{reply[:_LONGEST_REPLY]}…"
        blocks.append(Quotation("Final reply", cut))
    return [*blocks, _all_figures(run)]


def _time(ms: float | None) -> str:
    return NO_FIGURE if ms is None else duration(ms)


def _all_figures(run: ScoredRun) -> Block:
    """List every figure under the name that it has in the JSON report."""
    groups: dict[str, dict[str, Any]] = {
        "recovery": recovery_figures(run),
        "metrics": asdict(run.metrics),
        "tool_misuse": asdict(run.misuse),
    }
    rows = [
        (element("code", f"{group}.{name}"), value_text(value) or NO_FIGURE)
        for group, values in groups.items()
        for name, value in values.items()
    ]
    return Folded("All figures", [Table(("Figure", "Value"), rows, "All figures", kind="figures")])


# The timeline of a run


def timeline(run: ScoredRun) -> Markup:
    """Draw the run of an agent: a lane for each call in its order, and one for its final reply.

    The time from the first fault until the agent was past it is shaded.
    """
    return draw_timeline(_RunTimeline(run).timeline())


class _RunTimeline:
    """The timeline of one run. Milliseconds of the trace become seconds of the drawing."""

    def __init__(self, run: ScoredRun) -> None:
        self.run, self.trace = run, run.trace
        self.first_fault = next(iter(self.trace.faulted), None)
        self.recovering_call = None
        if self.first_fault is not None:
            self.recovering_call = first_success(
                self.trace.alike_after(self.first_fault), self.first_fault.aim
            )
        ends = [_end_ms(call) for call in self.trace.calls]
        ends += [self.trace.reply.at_ms] if self.trace.reply is not None else []
        self.end_ms = max((end for end in ends if isfinite(end)), default=0.0)
        self.limit_ms = self._limit_ms()
        self.unrecovered = self._unrecovered()

    def _limit_ms(self) -> float | None:
        wanted = self.run.wanted
        if self.first_fault is None or wanted is None or wanted.max_recovery_ms is None:
            return None
        at_ms = self.first_fault.start_ms + wanted.max_recovery_ms
        return at_ms if at_ms <= _FAR * self.end_ms else None

    def _unrecovered(self) -> Bar | None:
        """Return the time from the first fault to the final reply, or to the end of the run."""
        if self.first_fault is None:
            return None
        reply, start_ms = self.trace.reply, self.first_fault.start_ms
        until_ms = reply.at_ms if reply is not None and self.trace.replied else self.end_ms
        if min(until_ms, self.end_ms) <= start_ms:
            return None
        label = f"not yet recovered, for {duration(until_ms - start_ms)}"
        return Bar(start_ms / 1000, until_ms / 1000, "window", label, inset_px=1)

    def timeline(self) -> Timeline:
        lanes = list(self._lanes())
        if self.end_ms <= 0:
            lanes.append(f"No time passed on the {self.run.clock} clock.")
        limit_ms = self.limit_ms
        return Timeline(
            lanes=lanes,
            end_s=max(self.end_ms, limit_ms or 0.0) / 1000,
            keys=self._keys(),
            shaded=[self.unrecovered] if self.unrecovered is not None else [],
            limits=[Mark(limit_ms / 1000, "limit", "limit", "max_recovery_ms")]
            if limit_ms is not None
            else [],
            axis_label="Time" if self.end_ms > 0 else None,
        )

    def _keys(self) -> Sequence[tuple[str, str]]:
        kinds = {self._kind(call) for call in self.trace.calls}
        all_keys = (
            ("call", "call", "ok" in kinds),
            ("faulted", "call with a fault", "faulted" in kinds),
            ("call-failed", "call that failed without a fault", "failed" in kinds),
            ("noticed", "fault noticed", any(map(_is_noticed, self.trace.calls))),
            ("mended", "the same goal reached", self.recovering_call is not None),
            ("said", "final reply", self.trace.replied),
            ("unsaid", "no final reply", not self.trace.replied),
            ("window", "not yet recovered", self.unrecovered is not None),
            ("limit", "max_recovery_ms", self.limit_ms is not None),
        )
        return [(kind, label) for kind, label, is_there in all_keys if is_there]

    def _lanes(self) -> Iterator[Lane | str]:
        numbered = list(enumerate(self.trace.calls, 1))
        left_out = len(numbered) - _FIRST_CALLS - _LAST_CALLS
        if left_out > 0:
            yield from (self._call(*each) for each in numbered[:_FIRST_CALLS])
            yield f"… {left_out:,} more"
            numbered = numbered[-_LAST_CALLS:]
        yield from (self._call(*each) for each in numbered)
        yield self._final_reply()

    def _kind(self, call: TracedCall) -> str:
        if call is self.recovering_call:
            return "mended"
        if call.fault:
            return "faulted"
        return "failed" if call.failed else "ok"

    def _call(self, number: int, call: TracedCall) -> Lane:
        server = "model" if call.is_model else call.server
        name = printable_line(f"{server}/{call.tool}" if server else call.tool)
        outcome = call.outcome.replace("_", " ")
        note = f"{outcome}, fault {printable_line(call.fault)}" if call.fault else outcome
        took = "never ended" if call.end_ms is None else duration(call.end_ms - call.start_ms)
        label = f"call {number}, {name}: {note}, from {duration(call.start_ms)}, took {took}"
        end_s = _end_ms(call, self.end_ms) / 1000
        marks = []
        if _is_noticed(call):
            marks.append(Mark(_end_ms(call) / 1000, "diamond", "noticed", f"noticed after {took}"))
        return Lane(
            name,
            label,
            bars=[Bar(call.start_ms / 1000, end_s, f"call {self._kind(call)}", label)],
            marks=marks,
            number=f"{number} ",
            note=note,
        )

    def _final_reply(self) -> Lane:
        trace, reply = self.trace, self.trace.reply
        at_s = (self.end_ms if reply is None else reply.at_ms) / 1000
        if trace.replied:
            note = f"at {duration(1000 * at_s)}"
            mark = Mark(at_s, "circle", "word good", f"final reply {note}")
        else:
            note = "an empty one" if trace.ending == "reply" else f"ended by {trace.ending}"
            mark = Mark(at_s, "square", "word bad", f"no final reply: {note}")
        return Lane("final reply", f"Final reply: {note}", marks=[mark], note=note)


def _is_noticed(call: TracedCall) -> bool:
    return bool(call.fault) and call.failed and call.end_ms is not None


def _end_ms(call: TracedCall, if_never: float = 0.0) -> float:
    return max(call.start_ms, if_never if call.end_ms is None else call.end_ms)
