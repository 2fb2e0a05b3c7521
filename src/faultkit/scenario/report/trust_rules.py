"""Rules about whether the figures can be trusted."""

from __future__ import annotations

from faultkit.base.numbers import duration, share_of
from faultkit.base.text import and_list, counted
from faultkit.scenario.report.item_evidence import baseline_errors, behind_service, reasons_text
from faultkit.scenario.report.report_model import ItemReport
from faultkit.scenario.report.review_model import Remark

_LEAST_REQUESTS = 100
"""With fewer requests, a p95 is not reliable."""
_BROKEN_SHARE = 0.01
"""From this share of errors on, a baseline counts as broken."""


def unfinished(item: ItemReport) -> Remark | None:
    """Report an item that was cut short."""
    if item.verdict != "unfinished":
        return None
    return Remark(
        "doubt",
        "The run was cut short.",
        reasons_text(item) or f"{counted(item.run.requests, 'request')} were made.",
        "The target could not be reached, died on the way, or the run was stopped.",
        "See that the service is up and stays up without faults, then run again.",
    )


def not_exercised(item: ItemReport) -> Remark | None:
    """Report faults that never acted."""
    if item.verdict != "not exercised":
        return None
    idle = list(dict.fromkeys(fault.written for fault in item.faults if not fault.injected))
    acted = [f"{fault.written} {counted(fault.injected, 'time')}" for fault in item.faults if fault.injected]
    went = f"{counted(item.injection.connections, 'connection')} went through the proxy"
    if acted and idle:
        return Remark(
            "doubt",
            f"{and_list(idle)} never acted, so this is not a pass.",
            f"{went}. What did act: {', '.join(acted)}.",
            "The match, the trigger or the schedule of the fault that never acted leaves this traffic out.",
            "Loosen its match, raise its probability, make its period cover the load, or leave it out.",
        )
    what = "No fault touched a request, so this is not a pass."
    if item.injection.connections + item.injection.requests:
        return Remark(
            "doubt",
            what,
            f"{went}, none was hit.",
            "The match, the trigger or the schedule of the fault leaves this traffic out, or old "
            "connections were kept open.",
            "Loosen the match, raise the probability, or make the period cover the load.",
        )
    if not behind_service(item):
        return Remark(
            "doubt",
            what,
            "Nothing went through the proxy.",
            "No call of the load came as far as the proxy.",
            "See that requests are made at all, and that the schedule of the fault covers them.",
        )
    return Remark(
        "doubt",
        what,
        "Nothing went through the proxy.",
        "The service reaches its dependency some other way than through the proxy.",
        "Set HTTP_PROXY (and HTTPS_PROXY) for the service, or give it the port of the proxy map as "
        "the address of its dependency; many HTTP clients ignore the variables by default. "
        f"The proxies listened at {'; '.join(item.routes)}.",
    )


def baseline_fails(item: ItemReport) -> Remark | None:
    """Report errors in the baseline."""
    errors = baseline_errors(item)
    if errors is None or item.baseline is None or not_trusted(item) is not None:
        return None
    classes = ", ".join(f"{label} {count:,}" for label, count in sorted(item.baseline.failures.items()))
    return Remark(
        "broken" if item.baseline.errors >= _BROKEN_SHARE * item.baseline.requests else "risk",
        "The service fails without any fault.",
        f"In the baseline, {errors}: {classes}.",
        "This is not the fault's doing: the call is wrong, or the service fails at this load anyway.",
        "Make the call work without faults first. Until then, no figure shows the effect of the faults.",
    )


def not_trusted(item: ItemReport) -> Remark | None:
    """Report runs in which every request failed in TLS: the cause is a certificate, not a fault."""
    runs = [run for run in (item.run, item.baseline) if run is not None and run.requests]
    if not runs or any(run.failures.get("tls", 0) < run.requests for run in runs):
        return None
    failed = sum(run.requests for run in runs)
    return Remark(
        "broken",
        "No TLS connection came about.",
        f"{counted(failed, 'request')}, and all failed in the handshake.",
        "Most likely the certificate is not trusted: it is self-signed, from an authority of your own, "
        "expired, or for another name.",
        "Name the file of your authority with --cacert (or in SSL_CERT_FILE), or run with --insecure, "
        "which does not check.",
    )


def _has_success(item: ItemReport) -> bool:
    """Return whether the service gave an answer of 2xx or 3xx, without faults if that was measured."""
    return any(200 <= status < 400 for status in (item.baseline or item.run).statuses)


def inconclusive(item: ItemReport) -> Remark | None:
    """Report an item whose figures decide nothing."""
    if item.verdict != "inconclusive":
        return None
    if not _has_success(item):
        return Remark(
            "doubt",
            "No answer was a success, so the run shows nothing about the faults.",
            reasons_text(item) or "See the reasons of the item.",
            "The URL, the credentials or the body of the call is wrong, or the service fails at this call.",
            "Make the call work without faults first; if its status is meant, write it as expect.status.",
        )
    return Remark(
        "doubt",
        "The run decides nothing: the load or the faults were not what was asked.",
        reasons_text(item) or "See the reasons of the item.",
        "The machine was too busy to send on time, or the service was so slow that too many requests "
        "were under way.",
        "Lower the rate, use more workers, or run on an idle machine; then run again.",
    )


def too_few_samples(item: ItemReport) -> Remark | None:
    """Report figures of too few requests."""
    # An objective without a figure has too many failures: more requests would not help.
    weak = [result.warning for result in item.slos if result.warning and result.measured is not None]
    few = item.strategy.mode == "load" and 0 < item.run.requests < _LEAST_REQUESTS
    if not weak and not few:
        return None
    return Remark(
        "doubt",
        "There are too few requests for firm figures.",
        f"{counted(item.run.requests, 'request')}." + (f" {weak[0].rstrip('.')}." if weak else ""),
        None,
        "Run longer or at a higher rate: p95 wants some 200 requests, p99 some 1,000.",
    )


def wrong_page(item: ItemReport) -> Remark | None:
    """Report that most answers are client errors."""
    refused = sum(count for status, count in item.run.statuses.items() if 400 <= status < 500)
    if item.run.requests == 0 or refused < item.run.requests / 2:
        return None
    if item.verdict == "inconclusive" and not _has_success(item):
        return None  # `inconclusive` says so.
    often = max(
        (status for status in item.run.statuses if 400 <= status < 500), key=item.run.statuses.__getitem__
    )
    return Remark(
        "doubt",
        f"Most answers say {often}: the figures may be about an error page.",
        f"{counted(refused, 'request')} ({share_of(refused, item.run.requests)}) were answered with 4xx.",
        "The URL, the credentials or the body of the call is wrong, or the service limits its callers.",
        "Make the call work by hand first.",
    )


def late_starts(item: ItemReport) -> Remark | None:
    """Report requests that started late or were dropped."""
    run = item.run
    if item.verdict == "inconclusive" or not (run.starts.dropped or run.starts.late > run.requests * 0.01):
        return None
    return Remark(
        "doubt",
        "The load did not keep its own schedule everywhere.",
        f"{counted(run.starts.late, 'late start')} and {run.starts.dropped:,} dropped; p99 of the lateness "
        f"{duration(run.starts.p99_ms)}.",
        None,
        "Trust the figures from send for the service itself, and those from the intended start for "
        "what users wait.",
    )
