"""The faults of the fidelity benchmark, in the language of each relay that can inject them."""

from __future__ import annotations

from bench.relays import Injection

LOSS_RATE = 0.05
JITTER_MS, JITTER_HZ = 40.0, 5.0


def latency(mean_ms: float, direction: str, stddev_ms: float = 0) -> Injection:
    """Return a latency on the side `server`: ingress is the reply. Toxiproxy has no normal delay."""
    streams = ("upstream", "downstream") if direction == "both" else ("downstream",)
    toxics = tuple(
        {"type": "latency", "stream": stream, "attributes": {"latency": mean_ms}} for stream in streams
    )
    spread = ("--latency-stddev", f"{stddev_ms:g}") if stddev_ms else ()
    return Injection(
        flags=(
            "--with-latency",
            "--latency-per-read-write",
            *("--latency-mean", f"{mean_ms:g}", *spread),
            *("--latency-direction", direction),
        ),
        toxics=None if stddev_ms else toxics,
        prototype=(f"{mean_ms:g}",) if direction == "both" and not stddev_ms else None,
    )


def bandwidth(rate_bps: int) -> Injection:
    return Injection(
        flags=("--with-bandwidth", "--bandwidth-rate", str(rate_bps), "--bandwidth-unit", "Bps"),
        toxics=({"type": "bandwidth", "stream": "downstream", "attributes": {"rate": rate_bps // 1000}},),
        prototype=("0", str(rate_bps)),
    )


BOTH_WAYS = latency(50, "both")
LOSS = Injection(
    flags=("--json", "--with-packet-loss", "--packet-loss-rate", f"{LOSS_RATE:g}"),
    toxics=None,
    prototype=None,
)
JITTER = Injection(
    flags=(
        "--with-jitter",
        *("--jitter-amplitude", f"{JITTER_MS:g}"),
        *("--jitter-frequency", f"{JITTER_HZ:g}"),
    ),
    toxics=None,
    prototype=None,
)
