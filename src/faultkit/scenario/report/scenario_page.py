"""Builds the HTML page of a report: the verdict at a glance, the overview, and a card for each item.

The charts of a card are in `item_charts`, its tables in `item_tables`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from faultkit.base.numbers import duration, percentage, share_of, shortest
from faultkit.base.text import counted
from faultkit.plan.match import flows
from faultkit.report.html_page import (
    badge_markup,
    breakable_url,
    pairs_with_value,
    render_page,
    spanning_cell,
    utc_text,
)
from faultkit.report.markup import Markup, element, join_markup
from faultkit.report.page_model import (
    Badge,
    Block,
    Callout,
    Card,
    Drawing,
    Facts,
    Group,
    Overview,
    Page,
    Paragraph,
    Section,
    Table,
    Tile,
    Tiles,
    Titled,
    VerdictClass,
    VerdictCount,
)
from faultkit.report.svg import window_bar
from faultkit.scenario.report.frontier_page import frontier_blocks
from faultkit.scenario.report.item_charts import (
    FaultWindow,
    LatencyGoal,
    impact_chart,
    percentile_chart,
    timeline_chart,
)
from faultkit.scenario.report.item_evidence import baseline_warning, baselines_warning
from faultkit.scenario.report.item_tables import (
    call_table,
    error_blocks,
    figure_table,
    impact_table,
    load_facts,
    model_table,
    part_table,
    percentile_of,
    slo_table,
    stream_table,
    tool_call_table,
)
from faultkit.scenario.report.report_model import USUAL_PLACE, ItemReport, Report, ReportedFault, Verdict
from faultkit.scenario.report.report_sections import name_of_run
from faultkit.scenario.report.review import review_report
from faultkit.scenario.report.review_model import ReviewFinding
from faultkit.scenario.report.search_page import search_blocks
from faultkit.scenario.report.wording import (
    GLYPHS,
    VERDICTS,
    degraded_lines,
    expectation_text,
    strategy_details,
    strategy_text,
)

_VERDICT_CLASSES: dict[Verdict, VerdictClass] = {
    "passed": "passed",
    "failed": "failed",
    "inconclusive": "inconclusive",
    "not exercised": "not-exercised",
    "unfinished": "unfinished",
}
_VERDICT_SIGNS: dict[Verdict, str] = {
    "passed": "✓",
    "failed": "✕",
    "inconclusive": "?",
    "not exercised": "○",
    "unfinished": "…",
}
_SEVERITIES = {
    "broken": "Broken",
    "risk": "Risk",
    "doubt": "In doubt",
    "note": "Worth knowing",
    "good": "Works",
}
_FLOWS = {("to_client",): "answers", ("to_upstream",): "requests", ("to_upstream", "to_client"): "both ways"}
_GLYPH_FLOWS = [(glyph, _FLOWS[flows(side, direction)]) for (side, direction), glyph in GLYPHS.items()]
"""The glyph of a side and direction, and which messages a fault there meets."""
_FOLD_FROM = 4
"""From this number of items on, the cards of those that passed are folded."""
_HEADS = ("Verdict", "Call", "Faults", "Requests", "Errors", "p50", "p95", "SLOs kept")
_FOOTER = (
    "Response times count from the intended start of a request, queueing included; service times from its "
    "send. Percentiles by the R-6 definition; confidence is 95 %."
)


def render_html(report: Report) -> str:
    """Return the report as one HTML file."""
    return render_page(scenario_page(report))


def scenario_page(report: Report) -> Page:
    """Return the page of a report."""
    verdicts = Counter(item.verdict for item in report.items)
    notes = []
    if report.partial is not None:
        notes.append(Callout("This report is partial. ", [report.partial]))
    if (warning := baselines_warning(report)) is not None:
        notes.append(Callout("Warning. ", [warning]))
    if len(report.scenarios) == 1:
        title = report.scenarios[0].title
    else:
        title = f"{counted(len(report.scenarios), 'scenario')}, {counted(len(report.items), 'item')}"
    return Page(
        kind="resilience report",
        title=title,
        headline=_headline(report),
        verdict_class="failed"
        if verdicts["failed"]
        else "passed"
        if report.all_passed and report.items
        else "inconclusive",
        tool=report.tool,
        footer=_FOOTER,
        facts=[
            ("Started", utc_text(report.started_at)),
            ("Ended", utc_text(report.ended_at)),
            ("Seed", str(report.seed)),
            *([] if report.on == USUAL_PLACE else [("Loads from", report.on)]),
        ],
        counts=[VerdictCount(_VERDICT_CLASSES[verdict], verdict, verdicts[verdict]) for verdict in VERDICTS],
        show_counts=len(report.items) > 1,
        notes=notes,
        overview=_overview(report) if len(report.items) > 1 else None,
        sections=list(_sections(report)),
        if_empty="There is no scenario in this report.",
    )


def _headline(report: Report) -> str:
    total = len(report.items)
    verdicts = Counter(item.verdict for item in report.items)
    if not total:
        return "Nothing was run"
    if verdicts["failed"]:
        return "Failed" if total == 1 else f"{verdicts['failed']:,} of {total:,} failed"
    if verdicts["passed"] == total:
        return "Passed" if total == 1 else f"All {total:,} passed"
    if total == 1:
        return VERDICTS[report.items[0].verdict]
    return f"{verdicts['passed']:,} of {total:,} passed"


def _overview(report: Report) -> Overview:
    rows: list[Sequence[str]] = []
    number = 0
    for scenario in report.scenarios:
        if len(report.scenarios) > 1:
            rows.append((spanning_cell(scenario.title, len(_HEADS)),))
        for item in scenario.items:
            number += 1
            rows.append(_overview_row(number, item))
    table = Table(_HEADS, rows, "Overview of all items", numeric=(3, 4, 5, 6, 7), kind="overview")
    return Overview(table, "Items")


def _overview_row(number: int, item: ItemReport) -> Sequence[str]:
    judged = [result for result in item.slos if result.passed is not None]
    times = [percentile_of(item.run.response, percent) for percent in (50, 95)]
    return (
        badge_markup(_badge(item)),
        element("a", *_call(item), href=f"#item-{number}"),
        ", ".join(dict.fromkeys(fault.written for fault in item.faults)) or "none",
        f"{item.run.requests:,}",
        share_of(item.run.errors, item.run.requests),
        *(duration(found.ms) if found else "–" for found in times),
        f"{sum(result.passed is True for result in judged)} of {len(judged)}" if judged else "–",
    )


def _badge(item: ItemReport) -> Badge:
    return Badge(_VERDICT_CLASSES[item.verdict], _VERDICT_SIGNS[item.verdict], VERDICTS[item.verdict])


def _call(item: ItemReport) -> tuple[str, ...]:
    return (element("code", item.call.method, class_="method"), " ", breakable_url(item.call.url))


def _sections(report: Report) -> Iterator[Section]:
    findings = review_report(report)
    fold = len(report.items) >= _FOLD_FROM
    number = 0
    for scenario in report.scenarios:
        cards = []
        for item in scenario.items:
            number += 1
            cards.append(
                Card(
                    join_markup(_call(item)),
                    _badge(item),
                    list(_blocks(item, findings.of_item(number))),
                    f"item-{number}",
                    is_folded=fold and item.verdict == "passed",
                )
            )
        paragraphs = []
        if scenario.description:
            paragraphs.append(Paragraph(scenario.description, "description"))
        if scenario.file:
            paragraphs.append(Paragraph(f"{scenario.file}, document {scenario.document}", "source"))
        title = "Items" if len(report.scenarios) == 1 else scenario.title
        yield Section(title, cards, paragraphs, if_empty="This scenario has no items.")


# The card of an item


def _blocks(item: ItemReport, findings: Sequence[ReviewFinding]) -> Iterator[Block]:
    if item.search is not None:
        yield from search_blocks(item, item.search)
        yield from _ending(item, findings)
        return
    if item.frontier is not None:
        yield from frontier_blocks(item, item.frontier)
        yield from _ending(item, findings)
        return
    strategy = strategy_text(item.strategy)
    strategy = "; ".join([strategy[:1].upper() + strategy[1:], *strategy_details(item.strategy)])
    yield Paragraph(strategy, "strategy")
    if (warning := baseline_warning(item)) is not None:
        yield Callout("The baseline is not sound", [warning])
    if lost := degraded_lines(item):
        yield Callout("Degraded", lost)
    if item.reasons:
        yield Callout("Why", item.reasons, kind="reasons")
    yield _tiles(item)
    if findings:
        listed = element("ul", *map(_finding, findings), class_="findings")
        yield Titled("What it says", [Drawing(listed)])
    yield Titled("Faults", [_faults(item.faults)])
    yield from _charts(item)
    if item.slos:
        yield Titled("Objectives", [slo_table(item.slos)])
    if item.run.stream is not None:
        yield Titled("Event streams", [stream_table(item)])
    if item.run.llm is not None:
        yield Titled("Answers of the model", [model_table(item)])
    if item.run.mcp is not None:
        yield Titled("Calls of the tool", [tool_call_table(item)])
    yield Titled("Errors", error_blocks(item))
    if item.calls:
        yield Titled("Calls", [call_table(item)])
    if item.run.requests > 1:
        yield Titled("Figures", figure_table(item))
        if item.run.parts:
            yield Titled("Parts of a request", [part_table(item.run)])
    if item.warnings:
        yield Callout("Note", item.warnings, kind="warnings")
    yield Titled("How it was measured", [Facts(_facts(item))])


def _ending(item: ItemReport, findings: Sequence[ReviewFinding]) -> Iterator[Block]:
    """Yield what follows the result of a search: figures of all its values together would mean nothing."""
    if findings:
        listed = element("ul", *map(_finding, findings), class_="findings")
        yield Titled("What it says", [Drawing(listed)])
    yield Titled("Faults", [_faults(item.faults)])
    yield Titled("Errors", error_blocks(item))
    if item.warnings:
        yield Callout("Note", item.warnings, kind="warnings")
    yield Titled("How it was measured", [Facts(_facts(item))])


def _tiles(item: ItemReport) -> Block:
    run, before = item.run, item.baseline if item.strategy.mode == "load" else None
    if not run.requests:
        return Paragraph("No request was made.", "empty")
    errors = f"{run.errors:,} of {run.requests:,}" if run.errors else "none"
    tiles = [
        Tile("Requests", f"{run.requests:,}", _rate(item)),
        Tile("Errors", share_of(run.errors, run.requests), errors, is_bad=bool(run.errors)),
    ]
    for percent in (50.0, 95.0, 99.0) if run.requests > 1 else (50.0,):
        found = percentile_of(run.response, percent)
        usual = percentile_of(before.response, percent) if before else None
        if found:
            name = f"p{percent:g}" if run.requests > 1 else "Response time"
            tiles.append(Tile(name, duration(found.ms), f"from {duration(usual.ms)}" if usual else ""))
    if run.requests > 1:
        slowest = f"from {duration(before.response.max_ms)}" if before and before.requests else ""
        tiles.append(Tile("Slowest", duration(run.response.max_ms), slowest))
    return Tiles(tiles)


def _rate(item: ItemReport) -> str:
    run = item.run
    if item.strategy.mode != "load":
        return f"in {duration(1000 * run.total_s)}"
    wanted = f" of {shortest(round(run.target_rps, 2))}" if run.target_rps is not None else ""
    return f"{shortest(round(run.achieved_rps, 1))}{wanted} a second"


def _finding(finding: ReviewFinding) -> Markup:
    remark = finding.remark
    return element(
        "li",
        element("span", _SEVERITIES[remark.severity], class_="severity"),
        element(
            "div",
            element("p", element("strong", remark.what), " ", remark.much),
            element("p", element("em", "Likely cause: "), remark.cause) if remark.cause else None,
            element("p", element("em", "Try next: "), remark.next) if remark.next else None,
        ),
        class_=remark.severity,
    )


def _faults(faults: Sequence[ReportedFault]) -> Block:
    if not faults:
        return Paragraph("No faults were applied.", "empty")
    rows = []
    for fault in faults:
        windows = ", ".join(
            f"{percentage(100 * start)} to {percentage(100 * end)} of the run" for start, end in fault.windows
        )
        rows.append(
            (
                element("code", fault.written),
                window_bar(fault.windows, f"Active: {windows}"),
                next((words for glyph, words in _GLYPH_FLOWS if glyph in fault.description), "–"),
                _settings(fault),
                f"{fault.injected:,} ×",
            )
        )
    heads = ("Fault", "Start to end", "Meets", "Settings", "Injected")
    return Table(heads, rows, "Faults", numeric=(4,), kind="faults")


def _settings(fault: ReportedFault) -> str:
    """Return the description without the fault's name and without the glyph, which many fonts lack."""
    text = fault.description
    for glyph, _ in _GLYPH_FLOWS:
        text = text.replace(f"{glyph}, ", "").replace(glyph, "")
    _, colon, settings = text.partition(": ")
    return settings if colon and settings else text


def _charts(item: ItemReport) -> Iterator[Block]:
    if item.strategy.mode != "load" or not item.run.requests:
        return
    windows = [
        FaultWindow(start, end, fault.written)
        for fault in item.faults
        for start, end in fault.windows
        if end > start
    ]
    # A stretch is shaded once, however many faults act in it.
    distinct = list({(each.start, each.end): each for each in windows}.values())
    if item.run.timeline:
        yield Drawing(timeline_chart(item.run, item.baseline, distinct, item.strategy.duration_s))
    goals = [
        LatencyGoal(result.slo.objective, result.slo.threshold, result.passed)
        for result in item.slos
        if result.slo.kind == "latency" and result.slo.threshold is not None and result.slo.window_s is None
    ]
    before = item.baseline.response if item.baseline else None
    pair: list[Block] = []
    if item.run.response.curve:
        pair.append(Drawing(percentile_chart(item.run.response, before, goals, name_of_run(item))))
    if (bars := impact_chart(item.impact)) is not None:
        pair.append(Group([Drawing(bars), impact_table(item.impact)], "impact"))
    yield Group(pair, "pair")


def _facts(item: ItemReport) -> Sequence[tuple[str, str]]:
    call, failures = item.call, item.expectation_failures
    return pairs_with_value(
        [
            ("Timeout", duration(call.timeout_ms) if call.timeout_ms is not None else "none"),
            ("Operation", call.operation_id),
            ("Headers", ", ".join(f"{name}: {value}" for name, value in call.headers.items())),
            ("Body", "sent" if call.has_body else None),
            ("Expected", None if item.expectation.empty else expectation_text(item.expectation)),
            ("Expectation failures", counted(failures, "failure") if failures else None),
            *load_facts(item),
            ("Proxies", ", ".join(item.routes)),
        ]
    )
