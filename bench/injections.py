"""The faults of the benchmarks, in the language of each relay that can inject them."""

from __future__ import annotations

from collections.abc import Mapping

from bench.layers import LAYERS
from bench.relays import NO_FAULT, Injection

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


def bandwidth(rate_bps: int, direction: str = "ingress") -> Injection:
    streams = ("upstream", "downstream") if direction == "both" else ("downstream",)
    return Injection(
        flags=(
            *("--with-bandwidth", "--bandwidth-rate", str(rate_bps), "--bandwidth-unit", "Bps"),
            *("--bandwidth-direction", direction),
        ),
        toxics=tuple(
            {"type": "bandwidth", "stream": stream, "attributes": {"rate": rate_bps // 1000}}
            for stream in streams
        ),
        prototype=("0", str(rate_bps)) if direction == "ingress" else None,
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

DELAY_MS = 10
PLENTY_BPS = 400_000_000
"""A rate that requests do not reach: what is measured is the work of the rule."""

_OF_STREAMS: Mapping[str, Injection] = {
    "": NO_FAULT,
    "latency": latency(DELAY_MS, "ingress"),
    "latency-both": latency(DELAY_MS, "both"),
    "jitter": Injection(
        flags=(
            "--with-jitter",
            *("--jitter-amplitude", f"{DELAY_MS:g}"),
            *("--jitter-frequency", "1000"),
            *("--jitter-direction", "ingress"),
        ),
        # From 0 to 10 ms, too, but drawn for each read.
        toxics=(
            {
                "type": "latency",
                "stream": "downstream",
                "attributes": {"latency": DELAY_MS // 2, "jitter": DELAY_MS // 2},
            },
        ),
        prototype=None,
    ),
    "bandwidth": bandwidth(PLENTY_BPS, "both"),
    "loss": Injection(
        flags=("--with-packet-loss", "--packet-loss-rate", "0.001"), toxics=None, prototype=None
    ),
    "http-delay": Injection(
        flags=("--with-http-delay", "--http-delay-by", f"{DELAY_MS:g}"),
        toxics=None,
        prototype=None,
        is_http=True,
    ),
    "http-error": Injection(
        flags=("--with-http-response", "--http-response-trigger-probability", "0.1"),
        toxics=None,
        prototype=None,
        is_http=True,
    ),
}


def _layered(layer: str, flags: tuple[str, ...] = (), *, is_peerless: bool = False) -> Injection:
    """Return a layer, with a fault of ours inside it or none; its peers have the layer only."""
    return Injection(flags, None, None, layer=LAYERS[layer], is_peerless=is_peerless)


_OF_LAYERS: Mapping[str, Injection] = {
    **{layer: _layered(layer) for layer in LAYERS},
    "http2-error": _layered("http2", _OF_STREAMS["http-error"].flags),
    "h2c-error": _layered("h2c", _OF_STREAMS["http-error"].flags),
    "grpc-rule": _layered("grpc", ("--with-grpc-status", "--grpc-status-probability", "0.001")),
    "websocket-rule": _layered("websocket", ("--with-ws-corrupt", "--ws-corrupt-probability", "0.001")),
    "tls-latency": _layered("tls-both", _OF_STREAMS["latency"].flags, is_peerless=True),
    "http2-delay": _layered("http2", _OF_STREAMS["http-delay"].flags, is_peerless=True),
}

FAULTS: Mapping[str, Injection] = {**_OF_STREAMS, **_OF_LAYERS}
"""The faults and layers under which `bench.proxy` measures, by name; the first is none."""
