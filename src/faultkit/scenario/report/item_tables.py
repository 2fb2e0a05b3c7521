"""The tables of one item on the HTML page: objectives, impact, errors, figures, parts of a request, calls."""

from __future__ import annotations

from collections.abc import Sequence

from faultkit.base.numbers import (
    NO_FIGURE,
    duration,
    percentage,
    percentile_name,
    share_of,
    shortest,
    signed_prose,
    size,
)
from faultkit.base.sample_statistics import bounds_percentile
from faultkit.base.text import counted
from faultkit.load.impact import Difference
from faultkit.load.item_summary import Spread
from faultkit.load.response import FAILURES, LEVELS
from faultkit.load.slo import SloResult
from faultkit.load.summary import Distribution, Percentile, Summary
from faultkit.report.html_page import met_sign
from faultkit.report.markup import element
from faultkit.report.page_model import Block, Drawing, Group, Paragraph, Table
from faultkit.report.svg import bullet_bar, length_bar, stacked_bar
from faultkit.scenario.report.report_model import CallResult, ItemReport
from faultkit.scenario.report.report_sections import runs_of
from faultkit.scenario.report.wording import (
    margin_text,
    objective_text,
    slo_limit,
    slo_measured,
    slo_title,
    slo_used,
)

_PARTS = {"dns": "name resolved", "connect": "connected", "tls": "TLS agreed", "first_byte": "first byte"}


def percentile_of(times: Distribution, percent: float) -> Percentile | None:
    """Return one percentile; None if nothing was measured, or this percentile was not."""
    return next((each for each in times.percentiles if times.count and each.percent == percent), None)


def slo_table(results: Sequence[SloResult]) -> Table:
    """Return the objectives with how much of each was used."""
    heads = ("", "Objective", "Used of what is allowed", "Measured", "Margin", "Over the limit")
    return Table(heads, [_slo_row(each) for each in results], "Objectives", numeric=(3, 4, 5), kind="slos")


def _slo_row(result: SloResult) -> tuple[str, ...]:
    title, asks = slo_title(result.slo), objective_text(result.slo)
    used, limit = slo_used(result), slo_limit(result.slo)
    named = element(
        "div",
        title,
        element("small", asks) if asks not in title else None,
        element("small", result.warning, class_="weak") if result.warning else None,
        class_="slo",
    )
    return (
        met_sign(result.passed),
        named,
        bullet_bar(used, limit, result.passed is not False, f"{title}: {slo_measured(result)}")
        if used is not None
        else NO_FIGURE,
        slo_measured(result),
        margin_text(result) if result.margin is not None else NO_FIGURE,
        f"{result.over:,} ({share_of(result.over, result.total)})" if result.total else NO_FIGURE,
    )


def impact_table(differences: Sequence[Difference]) -> Table:
    """Return the differences between baseline and fault with their intervals."""
    rows = []
    for each in differences:
        rows.append(
            (
                each.name,
                element(
                    "b",
                    signed_prose(_amount(each.difference, each.unit)),
                    class_=None if each.shown else "unsure",
                ),
                _confidence(each),
            )
        )
    heads = ("Figure", "Difference", "95 % confidence")
    return Table(heads, rows, "Difference between baseline and fault", numeric=(1, 2))


def _confidence(each: Difference) -> str:
    if not each.enough:
        return "too few requests to say"
    interval = (
        f"{signed_prose(_amount(each.low, each.unit))} to {signed_prose(_amount(each.high, each.unit))}"
    )
    return interval if each.shown else f"{interval}: not shown"


def _amount(value: float, unit: str) -> str:
    return duration(value) if unit == "ms" else percentage(value).replace(" %", " pp")


def error_blocks(item: ItemReport) -> list[Block]:
    """Return the errors by class, and the answers by status."""
    run = item.run
    if not run.requests:
        return [Paragraph("No request was made.", "empty")]
    if not run.errors:
        return [Paragraph(f"None in {counted(run.requests, 'request')}. {_statuses(run)}", "fine")]
    known = [failure.label for failure in FAILURES]
    labels = sorted(run.failures, key=lambda label: (-run.failures[label], label))
    parts = [("ok", "answered", run.requests - run.errors)] + [
        (f"class-{label if label in known else 'other'}", label, run.failures[label]) for label in labels
    ]
    spoken = ", ".join(f"{label}: {count:,}" for _, label, count in parts)
    usual = item.baseline.failures if item.baseline else None
    rows = [
        (
            element("span", element("i", class_=f"key {kind}"), label, class_="class"),
            f"{count:,}",
            share_of(count, run.requests),
            *([f"{usual.get(label, 0):,}"] if usual is not None else []),
        )
        for kind, label, count in parts[1:]
    ]
    heads = ("Class", "Requests", "Share", *(["In the baseline"] if usual is not None else []))
    blocks: list[Block] = [
        Drawing(stacked_bar(parts, f"Requests by outcome: {spoken}")),
        Table(heads, rows, "Errors by class", numeric=(1, 2, 3)),
        Paragraph(_statuses(run), "fine"),
    ]
    return [Group(blocks, "errors-block")]


def _statuses(run: Summary) -> str:
    if not run.statuses:
        # Replies over stdio have no status.
        return "" if run.mcp is not None and run.errors < run.requests else "No answer came."
    return (
        "Answers: "
        + ", ".join(f"{count:,} × {status}" for status, count in sorted(run.statuses.items()))
        + "."
    )


def figure_table(item: ItemReport) -> list[Block]:
    """Return the times of the run by intended start and by send, and those of the baseline."""
    columns = [item.run.response, item.run.service]
    heads = ["", "Response time", "95 % confidence", "Service time"]
    if item.baseline is not None and item.baseline.requests:
        columns.append(item.baseline.response)
        heads.append("Baseline response")
    rows = [_figure_row("fastest", [each.min_ms for each in columns], "")]
    for each in item.run.response.percentiles:
        bounded = bounds_percentile(each.effective, each.percent)
        interval = f"{duration(each.low_ms)} to {duration(each.high_ms)}" if bounded else "too few to say"
        name = percentile_name(each.percent)
        rows.append(_figure_row(name, [_ms(column, each.percent) for column in columns], interval))
    rows += [
        _figure_row("slowest", [each.max_ms for each in columns], ""),
        _figure_row("mean", [each.mean_ms for each in columns], ""),
        _figure_row("deviation", [each.stddev_ms for each in columns], ""),
    ]
    how = "" if item.run.exact else " Figures come from a histogram with 3 significant digits."
    note = "Response time counts from the intended start, service time from the send." + how
    table = Table(heads, rows, "Figures", numeric=(1, 2, 3, 4), kind="figures")
    return [table, Paragraph(note, "fine")]


def _ms(times: Distribution, percent: float) -> float | None:
    found = percentile_of(times, percent)
    return found.ms if found else None


def _figure_row(name: str, values: Sequence[float | None], interval: str) -> tuple[str, ...]:
    shown = [duration(value) if value is not None else NO_FIGURE for value in values]
    return (element("th", name, scope="row"), shown[0], interval, *shown[1:])


def part_table(run: Summary) -> Table:
    """Return how long the parts of a request took."""
    rows = [
        (
            _PARTS.get(part.name, part.name),
            f"{part.count:,}",
            duration(part.mean_ms),
            duration(part.p50_ms),
            duration(part.p95_ms),
            duration(part.max_ms),
        )
        for part in run.parts
    ]
    heads = ("Part", "Requests", "Mean", "p50", "p95", "Slowest")
    return Table(heads, rows, "Parts of a request", numeric=(1, 2, 3, 4, 5))


def stream_table(item: ItemReport) -> Table:
    """Return the figures of event streams, of the run and of its baseline."""
    rows = []
    for name, run in runs_of(item):
        if (stream := run.stream) is not None:
            rate_text = f"{stream.events:,} ({shortest(round(stream.events_per_s, 1))}/s)"
            early = f"{stream.early_ends:,} ({share_of(stream.early_ends, run.requests)})"
            begun = f"{stream.streams:,}"
            rows += [
                (f"{name}, {what}", begun, early, rate_text, *_spread_cells(spread))
                for what, spread in (("first event", stream.first_event), ("gaps", stream.gaps))
            ]
    heads = ("", "Begun", "Early ends", "Events", "p50", "p95", "p99", "Longest")
    return Table(heads, rows, "Event streams", numeric=range(1, 8))


def _spread_cells(spread: Spread) -> tuple[str, ...]:
    figures = (spread.p50_ms, spread.p95_ms, spread.p99_ms, spread.max_ms)
    return tuple(duration(ms) if spread.count else NO_FIGURE for ms in figures)


def model_table(item: ItemReport) -> Table:
    """Return the figures of answers of models, of the run and of its baseline."""
    rows = []
    for name, run in runs_of(item):
        if (llm := run.llm) is not None:
            tokens = f"{llm.tokens:,} ({shortest(round(llm.tokens_per_s, 1))}/s)"
            speed = f"{shortest(round(llm.rate_p50, 1))} (95 %: {shortest(round(llm.rate_p5, 1))})"
            counts = tuple(
                f"{count:,} ({share_of(count, run.requests)})" for count in (llm.early_ends, llm.refusals)
            )
            rows += [
                (f"{name}, {what}", f"{llm.answers:,}", *counts, tokens, speed, *_spread_cells(spread))
                for what, spread in (("first token", llm.first_token), ("token gaps", llm.gaps))
            ]
    heads = ("", "Begun", "Early ends", "Refusals", "Tokens", "Tokens/s of an answer")
    return Table((*heads, "p50", "p95", "p99", "Longest"), rows, "Answers of the model", numeric=range(1, 10))


def tool_call_table(item: ItemReport) -> Table:
    """Return the calls of an MCP tool by the level of their errors, of the run and of its baseline."""
    rows = []
    for name, run in runs_of(item):
        if (mcp := run.mcp) is not None:
            levels = (f"{count:,} ({share_of(count, run.requests)})" for count in mcp.levels.values())
            rate_text = f"{run.requests:,} ({shortest(round(run.achieved_rps, 1))}/s)"
            rows.append((name, rate_text, f"{mcp.sessions:,}", f"{mcp.restarts:,}", *levels))
    heads = ("", "Calls", "Sessions", "Opened again", *(f"{level} errors".capitalize() for level in LEVELS))
    return Table(heads, rows, "Calls of the tool", numeric=range(1, 7))


def call_table(item: ItemReport) -> Table:
    """Return the calls of a single or repeat strategy."""
    longest = max((call.total_ms for call in item.calls), default=0.0)
    stepped = any(call.stepped_value is not None for call in item.calls)
    heads = [
        "Call",
        *([item.strategy.stepped or "Step"] if stepped else []),
        "Expectation",
        "Status",
        "Total",
        "",
        "First byte",
        "DNS",
        "Connect",
        "TLS",
        "Received",
    ]
    rows = [_call_row(call, longest, stepped) for call in item.calls]
    first = 3 if stepped else 2
    numeric = {1 if stepped else -1, first, first + 1, *range(first + 3, 12)}
    return Table(heads, rows, "Calls", numeric=numeric)


def _call_row(call: CallResult, longest: float, stepped: bool) -> tuple[str, ...]:
    step = shortest(call.stepped_value) if call.stepped_value is not None else NO_FIGURE
    failed = call.failure is not None or call.met is False
    kind = "base" if call.baseline else "bad" if failed else "run"
    times = (call.first_byte_ms, call.dns_ms, call.connect_ms, call.tls_ms)
    return (
        "baseline" if call.baseline else str(call.number),
        *([step] if stepped else []),
        element("span", met_sign(call.met), " ", call.why or call.failure or "", class_="why"),
        str(call.status) if call.status else "none",
        duration(call.total_ms),
        length_bar(call.total_ms / longest if longest else 0.0, kind),
        *(duration(value) if value is not None else NO_FIGURE for value in times),
        size(call.received_bytes),
    )


def load_facts(item: ItemReport) -> list[tuple[str, str | None]]:
    """Return how well the load kept its schedule, and how late the proxy was."""
    run, injection = item.run, item.injection
    facts: list[tuple[str, str | None]] = [("Received", size(run.received_bytes) if run.requests else None)]
    if item.strategy.mode == "load" and item.strategy.model == "open" and run.requests:
        starts = run.starts
        facts.append(
            (
                "Starts",
                f"{counted(starts.dropped, 'arrival')} dropped, {starts.late:,} late; lateness p50 "
                f"{duration(starts.p50_ms)}, p99 {duration(starts.p99_ms)}, worst {duration(starts.max_ms)}",
            )
        )
    facts.append(
        (
            "Proxy",
            f"{counted(injection.connections, 'connection')}, {counted(injection.requests, 'request')}, "
            f"{counted(injection.injected, 'injection')}",
        )
    )
    if injection.releases:
        late = [injection.lateness_p50_us, injection.lateness_p99_us, injection.lateness_max_us]
        p50, p99, worst = (duration(us / 1000) for us in late)
        facts.append(
            (
                "Injection error",
                f"{counted(injection.releases, 'release')}; late by p50 {p50}, p99 {p99}, worst {worst}",
            )
        )
    return facts
