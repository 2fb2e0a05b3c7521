"""What the reports have beyond the original's: sections with a title, a table and lines of text.

Markdown and plain text show the same sections. Nothing is escaped here; the writers do that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from faultkit.base.numbers import (
    NO_NUMBER,
    count_and_share,
    decimals,
    milliseconds,
    rate,
    shortest,
    signed_column,
)
from faultkit.base.sample_statistics import bounds_percentile
from faultkit.base.text import count_of
from faultkit.load.response import LEVELS
from faultkit.load.summary import Distribution, Percentile, Summary
from faultkit.scenario.report.frontier_wording import (
    MAP_KEY,
    PAIR_COLUMNS,
    frontier_facts,
    map_columns,
    map_rows,
    pair_rows,
)
from faultkit.scenario.report.report_model import CallResult, ItemReport
from faultkit.scenario.report.search_wording import LEVEL_COLUMNS, level_row, search_facts
from faultkit.scenario.report.wording import strategy_details

_PERCENTS = (50.0, 90.0, 95.0, 99.0, 99.9)
_TOO_FEW = "too few to say"
_PARTS = {"dns": "DNS", "connect": "Connect", "tls": "TLS", "first_byte": "First byte"}


@dataclass(frozen=True, slots=True)
class ReportSection:
    """A titled table, lines of text, or both."""

    title: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    lines: tuple[str, ...] = ()


def item_sections(item: ItemReport) -> tuple[ReportSection, ...]:
    """Return the sections of an item that have content."""
    if item.strategy.mode == "search":
        return _filled(
            ReportSection("Reasons", lines=item.reasons),
            ReportSection("Warnings", lines=tuple(_warnings(item))),
            _search(item),
            *_frontier(item),
            _errors(item.run),
            _statuses(item.run),
            _injection(item),
        )
    return _filled(
        ReportSection("Reasons", lines=item.reasons),
        ReportSection("Warnings", lines=tuple(_warnings(item))),
        ReportSection("Worst Windows", lines=tuple(_windows(item))),
        _impact(item),
        _times(item),
        _parts(item.run),
        _streams(item),
        _model_answers(item),
        _tool_calls(item),
        _errors(item.run),
        _statuses(item.run),
        _load(item),
        _injection(item),
        _calls(item),
    )


def _filled(*sections: ReportSection) -> tuple[ReportSection, ...]:
    return tuple(section for section in sections if section.rows or section.lines)


def _search(item: ItemReport) -> ReportSection:
    """Return the values that were measured to find the bracket."""
    if (search := item.search) is None:
        return ReportSection("Breaking Point")
    facts = (f"{name.lower()}: {text}" for name, text in search_facts(search))
    return ReportSection(
        "Breaking Point",
        LEVEL_COLUMNS,
        tuple(level_row(search, level) for level in search.levels),
        (*facts, *strategy_details(item.strategy)),
    )


def _frontier(item: ItemReport) -> Iterator[ReportSection]:
    """Yield the map of two settings, and the pairs that were measured."""
    if (frontier := item.frontier) is None:
        return
    facts = (f"{name.lower()}: {text}" for name, text in frontier_facts(frontier))
    yield ReportSection(
        "Frontier",
        map_columns(frontier),
        map_rows(frontier),
        (
            f"{frontier.second.setting} downwards, {frontier.first.setting} to the right",
            MAP_KEY,
            *facts,
            *strategy_details(item.strategy),
        ),
    )
    yield ReportSection("Measured Pairs", PAIR_COLUMNS, tuple(pair_rows(frontier)))


def _windows(item: ItemReport) -> Iterator[str]:
    for result in item.slos:
        begin, width = result.window_start_s, result.slo.window_s
        if begin is not None and width is not None:
            yield (
                f"SLO {result.slo.title}: "
                f"the figures are of the {shortest(width)} s from {shortest(begin)} s on"
            )


def _impact(item: ItemReport) -> ReportSection:
    return ReportSection(
        "Impact",
        ("Figure", "Baseline", "With Faults", "Difference", "95% Interval", "Shown?"),
        tuple(
            (
                each.name,
                _amount(each.baseline, each.unit),
                _amount(each.fault, each.unit),
                signed_column(each.difference, each.unit),
                f"{signed_column(each.low, each.unit)} to {signed_column(each.high, each.unit)}"
                if each.enough
                else NO_NUMBER,
                "yes" if each.shown else "no" if each.enough else "too few requests",
            )
            for each in item.impact
        ),
    )


def _amount(value: float, unit: str) -> str:
    text = decimals(value)
    return text if text == NO_NUMBER else f"{text} {unit}"


def _times(item: ItemReport) -> ReportSection:
    """Compare response and service times: they differ where requests had to queue."""
    response, service = item.run.response, item.run.service
    if response.count < 2:
        return ReportSection("Response time and service time")
    rows = [("mean", decimals(response.mean_ms), NO_NUMBER, decimals(service.mean_ms))]
    for percent in _PERCENTS:
        found, other = _percentile(response, percent), _percentile(service, percent)
        if found is not None:
            bounded = bounds_percentile(found.effective, percent)
            interval = f"{decimals(found.low_ms)} to {decimals(found.high_ms)}" if bounded else _TOO_FEW
            sent = NO_NUMBER if other is None else decimals(other.ms)
            rows.append((f"p{shortest(percent)}", decimals(found.ms), interval, sent))
    rows.append(("max", decimals(response.max_ms), NO_NUMBER, decimals(service.max_ms)))
    rows.append(("std. dev.", decimals(response.stddev_ms), NO_NUMBER, decimals(service.stddev_ms)))
    columns = ("Figure", "Response Time (ms)", "95% Interval (ms)", "Service Time (ms)")
    lines = ["Response time counts from the intended start, service time from the send."]
    if not item.run.exact:
        lines.append("There were too many requests to keep each: figures have 3 digits.")
    return ReportSection("Response time and service time", columns, tuple(rows), tuple(lines))


def _percentile(times: Distribution, percent: float) -> Percentile | None:
    return next((each for each in times.percentiles if each.percent == percent), None)


def _parts(run: Summary) -> ReportSection:
    return ReportSection(
        "Parts of a Request",
        ("Part", "Num. Requests", "Mean (ms)", "p50 (ms)", "p95 (ms)", "Max (ms)"),
        tuple(
            (
                _PARTS.get(part.name, part.name),
                str(part.count),
                *map(decimals, (part.mean_ms, part.p50_ms, part.p95_ms, part.max_ms)),
            )
            for part in run.parts
            if part.count and run.requests > 1
        ),
    )


def name_of_run(item: ItemReport) -> str:
    """Return what the item's own run is called beside its baseline."""
    return "with faults" if item.faults else "no faults"


def runs_of(item: ItemReport) -> list[tuple[str, Summary]]:
    """Return the runs of an item with their names: the item's own, and the baseline if there is one."""
    return [(name_of_run(item), item.run), *([("baseline", item.baseline)] if item.baseline else [])]


def _streams(item: ItemReport) -> ReportSection:
    rows, lines = [], []
    for name, run in runs_of(item):
        if (stream := run.stream) is None:
            continue
        lines.append(
            f"{name}: {count_of(stream.events, 'event')} ({rate(stream.events_per_s)}) in "
            f"{count_of(stream.streams, 'stream')}; early ends: "
            f"{count_and_share(stream.early_ends, run.requests)}"
        )
        for what, times in (("first event", stream.first_event), ("gap", stream.gaps)):
            figures = (times.mean_ms, times.p50_ms, times.p95_ms, times.p99_ms, times.max_ms)
            cells = (decimals(ms if times.count else None) for ms in figures)
            rows.append((name, what, str(times.count), *cells))
    columns = ("Run", "Time", "Num.", "Mean (ms)", "p50 (ms)", "p95 (ms)", "p99 (ms)", "Max (ms)")
    return ReportSection("Event Streams", columns, tuple(rows), tuple(lines))


def _model_answers(item: ItemReport) -> ReportSection:
    rows, lines = [], []
    for name, run in runs_of(item):
        if (llm := run.llm) is None:
            continue
        lines.append(
            f"{name}: {count_of(llm.tokens, 'token')} ({rate(llm.tokens_per_s)}) in "
            f"{count_of(llm.answers, 'answer')}; "
            f"early ends: {count_and_share(llm.early_ends, run.requests)}; "
            f"refusals: {count_and_share(llm.refusals, run.requests)}; tokens/s of an answer: "
            f"p50 {decimals(llm.rate_p50)}, 95% at least {decimals(llm.rate_p5)}, "
            f"least {decimals(llm.rate_min)}"
        )
        for what, times in (("first token", llm.first_token), ("token gap", llm.gaps)):
            figures = (times.mean_ms, times.p50_ms, times.p95_ms, times.p99_ms, times.max_ms)
            cells = (decimals(ms if times.count else None) for ms in figures)
            rows.append((name, what, str(times.count), *cells))
    columns = ("Run", "Time", "Num.", "Mean (ms)", "p50 (ms)", "p95 (ms)", "p99 (ms)", "Max (ms)")
    return ReportSection("Answers of the Model", columns, tuple(rows), tuple(lines))


def _tool_calls(item: ItemReport) -> ReportSection:
    rows = []
    for name, run in runs_of(item):
        if (mcp := run.mcp) is not None:
            levels = (count_and_share(count, run.requests) for count in mcp.levels.values())
            rows.append((name, rate(run.achieved_rps), str(mcp.sessions), str(mcp.restarts), *levels))
    columns = ("Run", "Call Rate", "Sessions", "Opened Again", *(f"{level} errors" for level in LEVELS))
    return ReportSection("Tool Calls", columns, tuple(rows))


def _errors(run: Summary) -> ReportSection:
    worst = sorted(run.failures.items(), key=lambda pair: (-pair[1], pair[0]))
    return ReportSection(
        "Errors by Class",
        ("Class", "Num. Errors (% of total)"),
        tuple((label, count_and_share(count, run.requests)) for label, count in worst),
    )


def _statuses(run: Summary) -> ReportSection:
    return ReportSection(
        "Answers by Status",
        ("Status", "Num. Answers (% of total)"),
        tuple(
            (str(status), count_and_share(count, run.requests))
            for status, count in sorted(run.statuses.items())
        ),
    )


def _load(item: ItemReport) -> ReportSection:
    if item.strategy.mode != "load":
        return ReportSection("Load")
    columns = (
        "Run",
        "Target Rate",
        "Achieved Rate",
        "Dropped",
        "Late Starts",
        "Lateness p50",
        "p99",
        "Max",
    )
    return ReportSection(
        "Load",
        columns,
        tuple((name, *_load_row(run)) for name, run in runs_of(item)),
        strategy_details(item.strategy),
    )


def _load_row(run: Summary) -> tuple[str, ...]:
    starts = run.starts
    arrivals = run.requests + starts.dropped
    return (
        rate(run.target_rps),
        rate(run.achieved_rps),
        count_and_share(starts.dropped, arrivals),
        count_and_share(starts.late, run.requests),
        *(
            milliseconds(ms) if run.requests else NO_NUMBER
            for ms in (starts.p50_ms, starts.p99_ms, starts.max_ms)
        ),
    )


def _injection(item: ItemReport) -> ReportSection:
    done = item.injection
    if not item.faults and not item.routes:
        return ReportSection("Injection")
    columns = (
        "Connections",
        "Requests",
        "Injected",
        "Delayed",
        "Proxy Lateness p50",
        "p99",
        "Max",
    )
    late = (done.lateness_p50_us, done.lateness_p99_us, done.lateness_max_us)
    row = (
        *map(str, (done.connections, done.requests, done.injected, done.releases)),
        *(milliseconds(us / 1000, 3) if done.releases else NO_NUMBER for us in late),
    )
    counts = tuple(f"{fault.written}: injected {fault.injected}" for fault in item.faults)
    return ReportSection(
        "Injection", columns, (row,), (*counts, *(f"proxy: {route}" for route in item.routes))
    )


def _calls(item: ItemReport) -> ReportSection:
    return ReportSection(
        "Calls",
        ("Call", "Step", "Status", "Time (ms)", "First Byte (ms)", "Met?", "Why"),
        tuple(_call_row(call) for call in item.calls),
        strategy_details(item.strategy) if item.strategy.mode == "repeat" else (),
    )


def _call_row(call: CallResult) -> tuple[str, ...]:
    why = [text for text in (call.failure, call.why) if text]
    return (
        f"{call.number} (baseline)" if call.baseline else str(call.number),
        shortest(call.stepped_value),
        str(call.status) if call.status else NO_NUMBER,
        decimals(call.total_ms),
        decimals(call.first_byte_ms),
        {True: "yes", False: "no", None: NO_NUMBER}[call.met],
        "; ".join(why) or NO_NUMBER,
    )


def _warnings(item: ItemReport) -> Iterator[str]:
    yield from item.warnings
    for result in item.slos:
        if result.warning:
            yield f"SLO {result.slo.title}: {result.warning}"
