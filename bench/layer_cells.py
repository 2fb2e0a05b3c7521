"""The cells of the proxy benchmark with a layer between the sockets: TLS, HTTP/2, gRPC, WebSocket,
interception."""

from __future__ import annotations

from bench import load
from bench.cells import PER_CONNECTION, PER_REQUEST, Cell, Measure, Meter, Sizes, expect_no_failures
from bench.injections import DELAY_MS
from bench.layers import LAYERS
from bench.relays import Relay

_CONNECTIONS = 64
_THREADS = 16
"""Connections where the client is a Python program with a thread for each."""

_RARELY = 0.02
"""Calls that the rule of the gRPC row may hit; it has a probability of 0.001."""

_TLS_LABELS = {
    "tls-client": "TLS to clients",
    "tls-upstream": "TLS to the upstream",
    "tls-both": "TLS to both sides",
}
_LATE = (("added_us", "p50 µs beyond"), ("least_us", "least µs beyond"), ("p99_us", "p99 µs beyond"))


def _cost(timed: load.Timed, meter: Meter) -> dict[str, float]:
    expect_no_failures(timed.count)
    return {"per_s": timed.count.per_second, "cpu_us": meter.spent_us() / timed.count.done}


def _wrk(layer: str, *, afresh: bool = False) -> Measure:
    def measure(relay: Relay, sizes: Sizes) -> dict[str, float]:
        scheme = "http" if LAYERS[layer].to_clients == "tcp" else "https"
        port = relay.ports[LAYERS[layer].upstream]
        return _cost(
            *load.warm_requests(port, sizes.seconds, _CONNECTIONS, scheme, lambda: Meter(relay), afresh)
        )

    return measure


def _h2load(layer: str, fault: str) -> Measure:
    def measure(relay: Relay, sizes: Sizes) -> dict[str, float]:
        scheme = "https" if LAYERS[layer].to_clients == "https" else "http"
        meter = Meter(relay)
        count = load.http_2_requests(relay.ports[LAYERS[layer].upstream], sizes.seconds, scheme)
        if not fault or not count.done:
            expect_no_failures(count)
        return {"per_s": count.per_second, "cpu_us": meter.spent_us() / count.done}

    return measure


def _grpc(relay: Relay, sizes: Sizes) -> dict[str, float]:
    meter = Meter(relay)
    count = load.grpc_calls(relay.ports["grpc"], sizes.seconds)
    if count.failed > count.done * _RARELY:
        raise load.LoadError(f"{count.failed} of {count.done + count.failed} failed")
    return {"per_s": count.per_second, "cpu_us": meter.spent_us() / count.done}


def _messages(relay: Relay, sizes: Sizes) -> dict[str, float]:
    return _cost(*load.websocket_messages(relay.ports["websocket"], sizes.seconds, lambda: Meter(relay)))


def _tunnelled(*, afresh: bool) -> Measure:
    def measure(relay: Relay, sizes: Sizes) -> dict[str, float]:
        target = f"127.0.0.1:{relay.upstreams['https']}"
        timed, meter = load.tls_requests(
            relay.ports["https"],
            2 * sizes.seconds,
            _THREADS,
            lambda: Meter(relay),
            tunnel=target,
            afresh=afresh,
        )
        return _cost(timed, meter)

    return measure


def _late(asked_ms: float, *, http_2: bool) -> Measure:
    """Measure how much later than asked for answers come."""

    def measure(relay: Relay, sizes: Sizes) -> dict[str, float]:
        timed, _ = load.tls_requests(relay.ports["https"], sizes.seconds, 4, lambda: None, http_2=http_2)
        expect_no_failures(timed.count)
        asked_us = asked_ms * 1e3
        if timed.least_us < asked_us:
            raise load.LoadError(f"an answer came after {timed.least_us / 1e3:g} ms: early")
        return {
            "added_us": timed.p50_us - asked_us,
            "least_us": timed.least_us - asked_us,
            "p99_us": timed.p99_us - asked_us,
        }

    return measure


LAYER_CELLS: tuple[Cell, ...] = (
    *(
        Cell(
            layer,
            f"{label}, no rule, {_CONNECTIONS} connections",
            LAYERS[layer].upstream,
            _wrk(layer),
            PER_REQUEST,
            needs=("wrk", "nginx"),
            fault=layer,
        )
        for layer, label in _TLS_LABELS.items()
    ),
    *(
        Cell(
            f"{layer}-connect",
            f"{label}, no rule, a new connection for each request",
            LAYERS[layer].upstream,
            _wrk(layer, afresh=True),
            PER_CONNECTION,
            needs=("wrk", "nginx"),
            fault=layer,
        )
        for layer, label in _TLS_LABELS.items()
    ),
    *(
        Cell(
            f"{layer}{'-error' if fault else ''}",
            f"HTTP/2 {'over TLS' if layer == 'http2' else 'in the clear'}, "
            f"{'HTTP error for 10 % of the requests' if fault else 'no rule'}",
            LAYERS[layer].upstream,
            _h2load(layer, fault),
            PER_REQUEST,
            needs=("h2load", "nginx"),
            fault=f"{layer}{'-error' if fault else ''}",
        )
        for layer in ("http2", "h2c")
        for fault in ("", "http-error")
    ),
    *(
        Cell(
            name,
            f"gRPC, unary calls, {label}",
            "grpc",
            _grpc,
            (("per_s", "calls/s"), ("cpu_us", "CPU µs/call")),
            fault=name,
        )
        for name, label in (("grpc", "no rule"), ("grpc-rule", "a rule that looks at each call"))
    ),
    *(
        Cell(
            name,
            f"WebSocket, messages of 32 bytes and their answers, {label}",
            "websocket",
            _messages,
            (("per_s", "pairs/s"), ("cpu_us", "CPU µs/pair")),
            fault=name,
        )
        for name, label in (("websocket", "no rule"), ("websocket-rule", "a rule that looks at each"))
    ),
    Cell(
        "intercept",
        f"CONNECT, intercepted, {_THREADS} connections",
        "https",
        _tunnelled(afresh=False),
        PER_REQUEST,
        needs=("nginx",),
        fault="intercept",
    ),
    Cell(
        "intercept-connect",
        "CONNECT, intercepted, a new connection for each request",
        "https",
        _tunnelled(afresh=True),
        PER_CONNECTION,
        needs=("nginx",),
        fault="intercept",
    ),
    *(
        Cell(
            name,
            f"{label} of {DELAY_MS:g} ms inside {'HTTP/2 over TLS' if http_2 else 'TLS'}",
            "https",
            _late(DELAY_MS, http_2=http_2),
            _LATE,
            needs=("nginx",),
            fault=fault,
        )
        for name, label, fault, http_2 in (
            ("tls-latency", "Latency", "tls-latency", False),
            ("tls-http-delay", "HTTP delay", "http2-delay", False),
            ("http2-delay", "HTTP delay", "http2-delay", True),
        )
    ),
)
