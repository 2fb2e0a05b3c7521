"""The tables of one item in the HTML report: objectives, errors, figures, parts, calls, and how it was
measured."""

from __future__ import annotations

from collections.abc import Sequence

from faultkit.base.figures import (
    NOTHING,
    counted,
    duration,
    percentage,
    percentile_name,
    share,
    signed,
    size,
)
from faultkit.base.intervals import bounds_percentile
from faultkit.base.numerals import short
from faultkit.load.failure import FAILURES
from faultkit.load.impact import Difference
from faultkit.load.slo import SloResult
from faultkit.load.summary import Distribution, Summary
from faultkit.report.bars import bullet_bar, length_bar, stacked_bar
from faultkit.report.markup import Markup, element
from faultkit.report.tables import met, percentile, table
from faultkit.scenario.report.model import CallResult, Item
from faultkit.scenario.report.phrases import margin_text, objective_text
from faultkit.scenario.report.slos import slo_limit, slo_measured, slo_title, slo_used

_PARTS = {"dns": "name resolved", "connect": "connected", "tls": "TLS agreed", "first_byte": "first byte"}


def slo_table(results: Sequence[SloResult]) -> Markup:
    heads = ("", "Objective", "Used of what is allowed", "Measured", "Margin", "Over the limit")
    return table(heads, map(_slo_row, results), "Objectives", numeric=(3, 4, 5), kind="slos")


def _slo_row(result: SloResult) -> tuple[str, ...]:
    title, asks = slo_title(result.slo), objective_text(result.slo)
    used, limit = slo_used(result), slo_limit(result.slo)
    said = f"{title}: {slo_measured(result)}"
    named = element(
        "div",
        title,
        element("small", asks) if asks not in title else None,
        element("small", result.warning, class_="weak") if result.warning else None,
        class_="slo",
    )
    return (
        met(result.passed),
        named,
        bullet_bar(used, limit, result.passed is not False, said) if used is not None else NOTHING,
        slo_measured(result),
        margin_text(result) if result.margin is not None else NOTHING,
        f"{result.over:,} ({share(result.over, result.total)})" if result.total else NOTHING,
    )


def impact_table(differences: Sequence[Difference]) -> Markup:
    rows = []
    for each in differences:
        rows.append(
            (
                each.name,
                element(
                    "b", signed(_amount(each.difference, each.unit)), class_=None if each.shown else "unsure"
                ),
                _confidence(each),
            )
        )
    heads = ("Figure", "Difference", "95 % confidence")
    return table(heads, rows, "Difference between baseline and fault", numeric=(1, 2))


def _confidence(each: Difference) -> str:
    if not each.enough:
        return "too few requests to say"
    interval = f"{signed(_amount(each.low, each.unit))} to {signed(_amount(each.high, each.unit))}"
    return interval if each.shown else f"{interval}: not shown"


def _amount(value: float, unit: str) -> str:
    return duration(value) if unit == "ms" else percentage(value).replace(" %", " pp")


def error_block(item: Item) -> Markup:
    run = item.run
    if not run.requests:
        return element("p", "No request was made.", class_="empty")
    if not run.errors:
        answers = _statuses(run)
        return element("p", f"None in {counted(run.requests, 'request')}. {answers}", class_="fine")
    known = [failure.label for failure in FAILURES]
    labels = sorted(run.failures, key=lambda label: (-run.failures[label], label))
    parts = [("ok", "answered", run.requests - run.errors)] + [
        (f"class-{label if label in known else 'other'}", label, run.failures[label]) for label in labels
    ]
    said = ", ".join(f"{label}: {count:,}" for _, label, count in parts)
    usual = item.baseline.failures if item.baseline else None
    rows = [
        (
            element("span", element("i", class_=f"key {kind}"), label, class_="class"),
            f"{count:,}",
            share(count, run.requests),
            *([f"{usual.get(label, 0):,}"] if usual is not None else []),
        )
        for kind, label, count in parts[1:]
    ]
    heads = ("Class", "Requests", "Share", *(["In the baseline"] if usual is not None else []))
    return element(
        "div",
        stacked_bar(parts, f"Requests by outcome: {said}"),
        table(heads, rows, "Errors by class", numeric=(1, 2, 3)),
        element("p", _statuses(run), class_="fine"),
        class_="errors-block",
    )


def _statuses(run: Summary) -> str:
    if not run.statuses:
        return "No answer came."
    return (
        "Answers: "
        + ", ".join(f"{count:,} × {status}" for status, count in sorted(run.statuses.items()))
        + "."
    )


def figure_table(item: Item) -> Markup:
    """Of the run by intended start and by send, and of the baseline."""
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
    how = "" if item.run.exact else " Figures come from a histogram of 3 digits."
    note = element(
        "p",
        "Response time counts from the intended start, service time from the send." + how,
        class_="fine",
    )
    return element("div", table(heads, rows, "Figures", numeric=(1, 2, 3, 4), kind="figures"), note)


def _ms(times: Distribution, percent: float) -> float | None:
    found = percentile(times, percent)
    return found.ms if found else None


def _figure_row(name: str, values: Sequence[float | None], interval: str) -> tuple[str, ...]:
    shown = [duration(value) if value is not None else NOTHING for value in values]
    return (element("th", name, scope="row"), shown[0], interval, *shown[1:])


def part_table(run: Summary) -> Markup:
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
    return table(heads, rows, "Parts of a request", numeric=(1, 2, 3, 4, 5))


def call_table(item: Item) -> Markup:
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
    return table(
        heads, rows, "Calls", numeric={1 if stepped else -1, first, first + 1, *range(first + 3, 12)}
    )


def _call_row(call: CallResult, longest: float, stepped: bool) -> tuple[str, ...]:
    step = short(call.stepped_value) if call.stepped_value is not None else NOTHING
    failed = call.failure is not None or call.met is False
    kind = "base" if call.baseline else "bad" if failed else "run"
    times = (call.first_byte_ms, call.dns_ms, call.connect_ms, call.tls_ms)
    return (
        "baseline" if call.baseline else str(call.number),
        *([step] if stepped else []),
        element("span", met(call.met), " ", call.why or call.failure or "", class_="why"),
        str(call.status) if call.status else "none",
        duration(call.total_ms),
        length_bar(call.total_ms / longest if longest else 0.0, kind),
        *(duration(value) if value is not None else NOTHING for value in times),
        size(call.received_bytes),
    )


def load_facts(item: Item) -> list[tuple[str, str | None]]:
    """How well the load kept its schedule, and how late the proxy was."""
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
