"""One item of the HTML report: its call, its verdict and why, its faults, its charts and tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from faultkit.base.figures import counted, duration, percentage, share
from faultkit.base.numerals import short
from faultkit.plan.flow import flows
from faultkit.report.bars import impact_chart, window_bar
from faultkit.report.charts import Goal, Window, percentile_chart, timeline_chart
from faultkit.report.markup import Markup, element
from faultkit.report.tables import badge, percentile, table, url, verdict_class
from faultkit.scenario.report.baseline import baseline_warning
from faultkit.scenario.report.describe import GLYPHS
from faultkit.scenario.report.finding import Finding
from faultkit.scenario.report.measures import (
    call_table,
    error_block,
    figure_table,
    impact_table,
    load_facts,
    part_table,
    slo_table,
)
from faultkit.scenario.report.model import Fault, Item
from faultkit.scenario.report.phrases import expectation_text, strategy_details, strategy_text


def card(number: int, item: Item, findings: Sequence[Finding], folded: bool) -> Markup:
    head = element(
        "summary",
        element("span", badge(item.verdict), class_="verdict"),
        element(
            "h3",
            element("code", item.call.method, class_="method"),
            " ",
            url(item.call.url),
        ),
    )
    return element(
        "details",
        head,
        element("div", *_parts(item, findings), class_="inside"),
        class_=f"card {verdict_class(item.verdict)}",
        id=f"item-{number}",
        open=not folded,
    )


def _parts(item: Item, findings: Sequence[Finding]) -> Iterator[Markup | None]:
    yield element("p", _strategy(item), class_="strategy")
    yield _notes(tuple(filter(None, (baseline_warning(item),))), "warn", "The baseline is not sound")
    yield _notes(item.reasons, "reasons", "Why")
    yield _tiles(item)
    yield _block("What it says", _findings(findings)) if findings else None
    yield _block("Faults", _faults(item.faults))
    yield from _charts(item)
    yield _block("Objectives", slo_table(item.slos)) if item.slos else None
    yield _block("Errors", error_block(item))
    yield _block("Calls", call_table(item)) if item.calls else None
    if item.run.requests > 1:
        yield _block("Figures", figure_table(item))
        yield _block("Parts of a request", part_table(item.run)) if item.run.parts else None
    yield _notes(item.warnings, "warnings", "Mind")
    yield _block("How it was measured", _facts(item))


def _block(title: str, *inside: Markup | None) -> Markup:
    return element("section", element("h4", title), *inside, class_="block")


def _strategy(item: Item) -> str:
    text = strategy_text(item.strategy)
    return "; ".join([text[:1].upper() + text[1:], *strategy_details(item.strategy)])


def _notes(texts: Sequence[str], kind: str, title: str) -> Markup | None:
    if not texts:
        return None
    lines = [element("li", text) for text in texts]
    return element(
        "div", element("strong", title), element("ul", *lines), class_=f"callout {kind}", role="note"
    )


# Figures at a glance


def _tiles(item: Item) -> Markup | None:
    run, before = item.run, item.baseline if item.strategy.mode == "load" else None
    if not run.requests:
        return element("p", "No request was made.", class_="empty")
    tiles = [
        ("Requests", f"{run.requests:,}", _rate(item), ""),
        (
            "Errors",
            share(run.errors, run.requests),
            f"{run.errors:,} of {run.requests:,}" if run.errors else "none",
            "bad" if run.errors else "",
        ),
    ]
    wanted = (50.0, 95.0, 99.0) if run.requests > 1 else (50.0,)
    for percent in wanted:
        found = percentile(run.response, percent)
        usual = percentile(before.response, percent) if before else None
        if found:
            change = f"from {duration(usual.ms)}" if usual else ""
            name = f"p{percent:g}" if run.requests > 1 else "Response time"
            tiles.append((name, duration(found.ms), change, ""))
    if run.requests > 1:
        slowest = before.response.max_ms if before and before.requests else None
        change = f"from {duration(slowest)}" if slowest is not None else ""
        tiles.append(("Slowest", duration(run.response.max_ms), change, ""))
    return element(
        "dl",
        *(
            element(
                "div",
                element("dt", name),
                element("dd", value),
                element("dd", under, class_="under"),
                class_=kind,
            )
            for name, value, under, kind in tiles
        ),
        class_="tiles",
    )


def _rate(item: Item) -> str:
    run = item.run
    if item.strategy.mode != "load":
        return f"in {duration(1000 * run.total_s)}"
    wanted = f" of {short(round(run.target_rps, 2))}" if run.target_rps is not None else ""
    return f"{short(round(run.achieved_rps, 1))}{wanted} a second"


def _findings(findings: Sequence[Finding]) -> Markup:
    return element("ul", *(_finding(each) for each in findings), class_="findings")


_SEVERITY = {
    "broken": "Broken",
    "risk": "Risk",
    "doubt": "In doubt",
    "note": "Worth knowing",
    "good": "Works",
}


def _finding(finding: Finding) -> Markup:
    remark = finding.remark
    return element(
        "li",
        element("span", _SEVERITY[remark.severity], class_="severity"),
        element(
            "div",
            element("p", element("strong", remark.what), " ", remark.much),
            element("p", element("em", "Likely cause: "), remark.cause) if remark.cause else None,
            element("p", element("em", "Try next: "), remark.next) if remark.next else None,
        ),
        class_=remark.severity,
    )


# Faults and charts


def _faults(faults: Sequence[Fault]) -> Markup:
    if not faults:
        return element("p", "No faults were applied.", class_="empty")
    rows = [
        (
            element("code", fault.written),
            window_bar(fault.windows, f"Active: {_windows(fault)}"),
            _where(fault),
            _described(fault),
            f"{fault.injected:,} ×",
        )
        for fault in faults
    ]
    return table(
        ("Fault", "Start to end", "Meets", "Settings", "Injected"),
        rows,
        "Faults",
        numeric=(4,),
        kind="faults",
    )


def _where(fault: Fault) -> str:
    return next((words for glyph, words in _WHERE if glyph in fault.description), "–")


def _described(fault: Fault) -> str:
    """Without the glyph of its side and direction, which many a font lacks, and without its name again."""
    text = fault.description
    for glyph, _ in _WHERE:
        text = text.replace(f"{glyph}, ", "").replace(glyph, "")
    _, colon, settings = text.partition(": ")
    return settings if colon and settings else text


_FLOWS = {("to_client",): "answers", ("to_upstream",): "requests", ("to_upstream", "to_client"): "both ways"}
_WHERE = [(glyph, _FLOWS[flows(side, direction)]) for (side, direction), glyph in GLYPHS.items()]


def _windows(fault: Fault) -> str:
    return ", ".join(
        f"{percentage(100 * start)} to {percentage(100 * end)} of the run" for start, end in fault.windows
    )


def _charts(item: Item) -> Iterator[Markup | None]:
    if item.strategy.mode != "load" or not item.run.requests:
        return
    windows = [
        Window(start, end, fault.written)
        for fault in item.faults
        for start, end in fault.windows
        if end > start
    ]
    # A stretch is shaded once, however many faults act in it.
    distinct = list({(each.start, each.end): each for each in windows}.values())
    if item.run.timeline:
        yield timeline_chart(item.run, item.baseline, distinct, item.strategy.duration_s)
    goals = [
        Goal(result.slo.objective, result.slo.threshold, result.passed)
        for result in item.slos
        if result.slo.kind == "latency" and result.slo.threshold is not None and result.slo.window_s is None
    ]
    before = item.baseline.response if item.baseline else None
    bars = impact_chart(item.impact)
    yield element(
        "div",
        percentile_chart(item.run.response, before, goals) if item.run.response.curve else None,
        element("div", bars, impact_table(item.impact)) if bars else None,
        class_="pair",
    )


def _facts(item: Item) -> Markup:
    facts = [
        ("Timeout", duration(item.call.timeout_ms) if item.call.timeout_ms is not None else "none"),
        ("Operation", item.call.operation_id),
        ("Headers", ", ".join(f"{name}: {value}" for name, value in item.call.headers.items()) or None),
        ("Body", "sent" if item.call.has_body else None),
        ("Expected", None if item.expectation.empty else expectation_text(item.expectation)),
        (
            "Expectation failures",
            counted(item.expectation_failures, "failure") if item.expectation_failures else None,
        ),
        *load_facts(item),
        ("Proxies", ", ".join(item.routes) or None),
    ]
    return element(
        "dl",
        *(element("div", element("dt", name), element("dd", value)) for name, value in facts if value),
        class_="facts",
    )
