"""The experiments of the fidelity benchmark: a fault, a load, and the checks that follow.

Lateness of one direction is the wait of a chunk beyond the setting. From outside it is half of
(RTT through the relay − RTT without a relay − requested RTT), so it includes the relay's own work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench import load
from bench.checks import Check
from bench.injections import BOTH_WAYS, JITTER, JITTER_HZ, JITTER_MS, LOSS, LOSS_RATE, bandwidth, latency
from bench.relays import Injection, Relay
from bench.stats import (
    amount_before,
    binomial_interval,
    count_levels,
    ks_distance,
    largest_window,
    mean,
    median,
    normal_cdf,
    percentile,
    rate_between,
)

BOTH_WAYS_GROUP = "Latency, 50 ms each way, 100 connections, 800 messages/s"
LATENESS_LIMIT_US = 80.0
TAIL_LIMIT_US = 500.0
KS_LIMIT = 0.05
RATE_LIMIT_PERCENT = 0.1
WINDOW_LIMIT = 1.1
BULK_LIMIT = 0.25
LOSS_CONFIDENCE = 0.999

# 64 messages decide the p99 of one turn, so another process that runs for 80 ms decides it, too. Hence the
# median of several turns.
_TAIL_TURNS = 3
_WINDOW_S = 0.1
_LOSS_CONNECTIONS = 400
# The first retransmission timer: a message that arrives later than this, less timer noise, was lost.
_LOSS_COST_US = 200_000 - 5_000


@dataclass(frozen=True, slots=True)
class Context:
    """The arguments of every experiment."""

    seconds: float
    rate_seconds: float
    bulk_bytes: int
    direct_p50_us: float


Measure = Callable[[Relay, Context], list[Check]]


@dataclass(frozen=True, slots=True)
class Experiment:
    name: str
    upstream: str
    injection: Injection
    measure: Measure


def baseline_us(port: int, seconds: float) -> float:
    """The median RTT without a relay, under the load of the main latency experiment."""
    return percentile(load.pace(port, 100, 800, seconds).rtt_us, 50)


def _latency_both_ways(relay: Relay, context: Context) -> list[Check]:
    requested_us = 2 * 50_000
    turns = [load.pace(relay.ports["echo"], 100, 800, context.seconds).rtt_us for _ in range(_TAIL_TURNS)]
    rtt_us = [rtt for turn in turns for rtt in turn]
    lateness_us = [(rtt - context.direct_p50_us - requested_us) / 2 for rtt in rtt_us]
    p99_rtt_us = median([percentile(turn, 99) for turn in turns])
    group, asked = BOTH_WAYS_GROUP, "100 ms RTT"
    middle = percentile(lateness_us, 50)
    return [
        _earliest(group, asked, rtt_us, requested_us),
        Check(
            group,
            "median lateness of one direction",
            asked,
            f"{_ms(percentile(rtt_us, 50))} RTT",
            "µs",
            middle,
            wanted=0.0,
            allowed=(None, LATENESS_LIMIT_US),
            spread=(percentile(lateness_us, 1), percentile(lateness_us, 99)),
        ),
        Check(
            group,
            "p99 lateness of one direction",
            asked,
            f"{_ms(p99_rtt_us)} RTT",
            "µs",
            (p99_rtt_us - context.direct_p50_us - requested_us) / 2,
            wanted=0.0,
            allowed=(None, TAIL_LIMIT_US),
        ),
        *_tail(group, asked, rtt_us, requested_us + context.direct_p50_us),
    ]


def _earliest(group: str, asked: str, rtt_us: Sequence[float], requested_us: float) -> Check:
    first_us = min(rtt_us)
    return Check(
        group,
        "earliest: nothing early",
        asked,
        _ms(first_us),
        "µs",
        first_us - requested_us,
        wanted=0.0,
        allowed=(0.0, None),
    )


def _tail(group: str, asked: str, rtt_us: Sequence[float], expected_us: float) -> list[Check]:
    return [
        Check(group, f"{name} RTT error", asked, _ms(rtt), "µs", rtt - expected_us, wanted=0.0, judged=False)
        for name, rtt in (("mean", mean(rtt_us)), ("p99", percentile(rtt_us, 99)))
    ]


def _latency_one_way(delay_ms: float) -> Measure:
    def measure(relay: Relay, context: Context) -> list[Check]:
        rtt_us = load.pace(relay.ports["echo"], 20, 200, context.seconds / 2).rtt_us
        group, asked = f"Latency, {delay_ms:g} ms one way", f"{delay_ms:g} ms"
        middle_us = percentile(rtt_us, 50)
        errors_us = [rtt - context.direct_p50_us - delay_ms * 1000 for rtt in rtt_us]
        return [
            _earliest(group, asked, rtt_us, delay_ms * 1000),
            Check(
                group,
                "median error",
                asked,
                _ms(middle_us),
                "µs",
                percentile(errors_us, 50),
                wanted=0.0,
                spread=(percentile(errors_us, 1), percentile(errors_us, 99)),
                judged=False,
            ),
        ]

    return measure


def _normal(relay: Relay, context: Context) -> list[Check]:
    # Half a second between messages of a connection, so that none waits behind a slower one.
    rtt_us = load.pace(relay.ports["echo"], 250, 500, context.seconds).rtt_us
    delays_ms = [(rtt - context.direct_p50_us) / 1000 for rtt in rtt_us]
    distance = ks_distance(delays_ms, lambda x: normal_cdf(x, 100, 20))
    return [
        Check(
            "Latency, normal distribution",
            "Kolmogorov-Smirnov D",
            "normal(100, 20) ms",
            f"mean {mean(delays_ms):.1f} ms, n = {len(delays_ms):,}",
            "",
            distance,
            wanted=0.0,
            allowed=(None, KS_LIMIT),
        )
    ]


def _jitter(relay: Relay, context: Context) -> list[Check]:
    pace = load.pace(relay.ports["echo"], 1, 200, context.seconds)
    delays_ms = [(rtt - context.direct_p50_us) / 1000 for rtt in pace.rtt_us]
    changes_hz = count_levels(delays_ms, flat_within=0.5, at_least=4) / context.seconds
    group = "Jitter"
    return [
        Check(
            group,
            "changes of the delay",
            f"{JITTER_HZ:g} Hz",
            f"{changes_hz:.2f} Hz",
            "Hz",
            changes_hz,
            wanted=JITTER_HZ,
            # Adjacent values within 1 ms of each other cannot be distinguished.
            allowed=(0.8 * JITTER_HZ, 1.1 * JITTER_HZ),
            judged=False,
        ),
        Check(
            group,
            "longest delay (p99)",
            f"at most {JITTER_MS:g} ms",
            f"{percentile(delays_ms, 99):.2f} ms",
            "ms",
            percentile(delays_ms, 99),
            allowed=(0.0, JITTER_MS + 1),
            spread=(min(delays_ms), max(delays_ms)),
            judged=False,
        ),
    ]


def _bandwidth(rate_bps: float) -> Measure:
    def measure(relay: Relay, context: Context) -> list[Check]:
        seen = load.receive(relay.ports["source"], context.rate_seconds)
        if len(seen.at_s) < 2:
            raise load.LoadError("no bytes came")
        got_bps = rate_between(seen.at_s, seen.amounts)
        window = largest_window(seen.at_s, seen.amounts, _WINDOW_S) / (rate_bps * _WINDOW_S)
        first = amount_before(seen.at_s, seen.amounts, 1.0) / rate_bps
        asked = f"{rate_bps / 1000:,.0f} KB/s"
        group = f"Bandwidth, {asked}"
        return [
            Check(
                group,
                f"rate over {context.rate_seconds:g} s",
                asked,
                f"{got_bps / 1000:,.2f} KB/s",
                "%",
                100 * (got_bps / rate_bps - 1),
                wanted=0.0,
                allowed=(-RATE_LIMIT_PERCENT, RATE_LIMIT_PERCENT),
            ),
            Check(
                group,
                "largest 100 ms window",
                asked,
                f"{window * rate_bps / 1000:,.1f} KB/s",
                "×",
                window,
                wanted=1.0,
                allowed=(None, WINDOW_LIMIT),
            ),
            Check(group, "first second", asked, f"{first:.3f} ×", "×", first, wanted=1.0, judged=False),
        ]

    return measure


def _loss(relay: Relay, context: Context) -> list[Check]:
    pace = load.pace(relay.ports["echo"], _LOSS_CONNECTIONS, 2 * _LOSS_CONNECTIONS, context.seconds)
    late = sum(rtt >= _LOSS_COST_US for rtt in pace.rtt_us)
    return [loss_check("messages that came a timer late", late, len(pace.rtt_us))]


def loss_check(label: str, losses: int, segments: int) -> Check:
    """Return the check of a rate; the allowed range is the random variation at the requested rate."""
    low, high = binomial_interval(round(LOSS_RATE * segments), segments, LOSS_CONFIDENCE)
    return Check(
        "Packet loss",
        label,
        f"{100 * LOSS_RATE:g} %",
        f"{losses:,} of {segments:,}",
        "%",
        round(100 * losses / segments, 3),
        wanted=100 * LOSS_RATE,
        allowed=(round(100 * low, 3), round(100 * high, 3)),
    )


def loss_segments(context: Context) -> int:
    """Return the number of messages of the loss experiment, warm-up included: each is one segment."""
    return int(2 * _LOSS_CONNECTIONS * context.seconds) + _LOSS_CONNECTIONS


def bulk_check(delayed_gb_per_s: float, plain_gb_per_s: float, peak_bytes: int) -> list[Check]:
    group = "Bulk through 50 ms each way"
    return [
        Check(
            group,
            "throughput, × pass-through",
            "as pass-through",
            f"{delayed_gb_per_s:.2f} of {plain_gb_per_s:.2f} GB/s",
            "×",
            delayed_gb_per_s / plain_gb_per_s,
            wanted=1.0,
            allowed=(BULK_LIMIT, None),
        ),
        Check(group, "peak memory", "–", f"{peak_bytes / 1e6:,.0f} MB", "MB", peak_bytes / 1e6, judged=False),
    ]


def _ms(micros: float) -> str:
    return f"{micros / 1000:.3f} ms"


EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment("latency", "echo", BOTH_WAYS, _latency_both_ways),
    *(
        Experiment(f"latency-{delay_ms}", "echo", latency(delay_ms, "ingress"), _latency_one_way(delay_ms))
        for delay_ms in (5, 20, 100, 300)
    ),
    Experiment("normal", "echo", latency(100, "ingress", 20), _normal),
    Experiment("jitter", "echo", JITTER, _jitter),
    Experiment("bandwidth-100k", "source", bandwidth(100_000), _bandwidth(100_000)),
    Experiment("bandwidth-1m", "source", bandwidth(1_000_000), _bandwidth(1_000_000)),
    Experiment("loss", "echo", LOSS, _loss),
)
