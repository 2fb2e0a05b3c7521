"""Fuzzes the HTTP of `fault run`: requests of clients and responses of servers, by both kinds of proxy.

Between them, a good request by each proxy is answered. At the end no connection and no descriptor is left.
"""

from __future__ import annotations

import json
import random
import re
import socket
import struct
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.fuzz.api_fuzz import CONTROL, TOKEN
from tests.fuzz.fuzz_budget import Budget
from tests.mcp.fuzz import http_mutator
from tests.mcp.fuzz.fuzz_clients import Crowd
from tests.mcp.fuzz.fuzzed_process import FAULT, LIMIT_S, Broken, running
from tests.soak.rest import wait_for_rest

_BATCH = 30
_GOOD = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\ngood"
_WRONG = {"path": "/mcp*"}
_RULES = [
    {"fault": "slicer", "with": {"average_bytes": 7, "variation_bytes": 3}},
    {"fault": "http_error", "with": {"status": 503}, "match": _WRONG, "trigger": {"probability": 0.2}},
    {
        "name": "called",
        "fault": "http_error",
        "with": {"status": 500, "call_upstream": True},
        "match": _WRONG,
        "trigger": {"probability": 0.2},
    },
    {"fault": "http_delay", "with": {"delay_ms": 5}, "match": _WRONG, "trigger": {"probability": 0.2}},
]


class OddServer:
    """An HTTP server that answers /good well, and anything else with a mutated response."""

    def __init__(self, seed: str) -> None:
        self._rng = random.Random(f"{seed}-server")
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=200)
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.settimeout(1.0)
            head = b""
            while b"\r\n\r\n" not in head and (part := connection.recv(1 << 16)):
                head += part
            if b" /good " in head:
                connection.sendall(_GOOD)
                return
            connection.sendall(http_mutator.answer(self._rng))
            if self._rng.random() < 0.3:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def close(self) -> None:
        # `close` alone would leave `accept` waiting.
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)


@contextmanager
def odd_server(seed: str) -> Iterator[OddServer]:
    server = OddServer(seed)
    try:
        yield server
    finally:
        server.close()


def fuzz_proxies(budget: Budget) -> None:
    """Fuzz a reverse proxy and the forward proxy of one `fault run`."""
    with odd_server(budget.seed) as upstream, tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        plan = Path(folder) / "plan.json"
        plan.write_text(json.dumps({"seed": budget.seed, "rules": _RULES}))
        words = ("run", "--no-ui", "--plan", str(plan), "-u", "*", "--control", "127.0.0.1:0")
        places = ("--proxy-address", "127.0.0.1:0", "--proxy", f"0=http://127.0.0.1:{upstream.port}")
        with running((*FAULT, *words, *places), piped=False, FAULT_CONTROL_TOKEN=TOKEN) as subject:
            control = subject.port(CONTROL)
            forward = subject.port(re.compile(r"http: 127\.0\.0\.1:(\d+) →"))
            reverse = subject.port(re.compile(r"\d+: 127\.0\.0\.1:(\d+) →"))
            good = {reverse: b"/good", forward: b"http://127.0.0.1:%d/good" % upstream.port}
            _ask_well(good)
            before = subject.usage()
            crowds = {port: Crowd(port, budget.rng) for port in good}
            while budget.is_left:
                for _ in range(_BATCH):
                    port = budget.rng.choice([reverse, forward])
                    raw = http_mutator.request(budget.rng, upstream.port, "s")
                    if port == forward:
                        raw = _for_forward(raw, budget.rng, upstream.port)
                    crowds[port].send(budget.note(raw))
                _ask_well(good)
                subject.check()
            for crowd in crowds.values():
                crowd.leave()
            wait_for_rest(subject, before, control)


def _for_forward(raw: bytes, rng: random.Random, port: int) -> bytes:
    roll = rng.random()
    if roll < 0.7:
        return raw.replace(b" /", b" http://127.0.0.1:%d/" % port, 1)
    if roll < 0.8:
        return b"CONNECT 127.0.0.1:%d HTTP/1.1\r\n\r\n" % port + raw
    return raw


def _ask_well(good: dict[int, bytes]) -> None:
    """Send a good request to each port, and check its answer."""
    for port, target in good.items():
        answer = b""
        began = time.monotonic()
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S) as client:
                client.sendall(b"GET %b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" % target)
                while part := client.recv(4096):
                    answer += part
        except OSError as error:
            waited = time.monotonic() - began
            raise Broken(f"a good request got {answer!r}, then {error} after {waited:.1f} s") from None
        if not (answer.startswith(b"HTTP/1.1 200") and answer.endswith(b"good")):
            raise Broken(f"a good request got {answer[:300]!r}")
