"""The processes under fuzzing as one table, each with its share of the messages of a transport."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass

from tests.mcp.fuzz import http_mutator as http_games
from tests.mcp.fuzz.fuzz_clients import fuzz_http, fuzz_stdio
from tests.mcp.fuzz.fuzzed_process import FAULT, Broken, Figures, manifest, running
from tests.mcp.fuzz.message_mutator import VERSION, call
from tests.mcp.fuzz.nonsense_server import LINES

_NONSENSE = (sys.executable, "-m", "tests.mcp.fuzz.nonsense_server")
_HTTP = ("--front", "http", "--port", "0")
MOST_GROWN_MB = 12.0
"""Limit of growth: memory is never freed to the last byte, but 100,000 messages may not cost more than 120
bytes each."""
_KEPT = 64


@dataclass(frozen=True, slots=True)
class Run:
    name: str
    transport: str
    share: float
    fuzz: Callable[[str, int, object], Figures]
    """Called with the name, the number of messages and the seed."""
    kept: int = 0
    """Connections that a gateway keeps open to its upstream: as many as were in use at a time."""

    def go(self, messages: int, seed: object) -> Figures:
        """Run it. Raises Broken, also for leaks."""
        figures = self.fuzz(self.name, messages, seed)
        more = figures.after.descriptors - figures.before.descriptors
        if more > self.kept or figures.grown_mb > MOST_GROWN_MB:
            raise Broken(f"it leaks: {figures.line()}")
        return figures


def _mock(path: str) -> tuple[str, ...]:
    return (*FAULT, "mock", "--tools-from", path)


def _stdio_mock(modern: bool) -> Callable[[str, int, object], Figures]:
    def fuzz(name: str, messages: int, seed: object) -> Figures:
        with manifest() as path, running(_mock(path), piped=True) as subject:
            return fuzz_stdio(subject, name, messages, seed, modern=modern)

    return fuzz


def _stdio_gateway(name: str, messages: int, seed: object) -> Figures:
    with manifest() as path, running((*FAULT, "gateway", "--", *_mock(path)), piped=True) as subject:
        return fuzz_stdio(subject, name, messages, seed)


def _stdio_nonsense(name: str, messages: int, seed: object) -> Figures:
    with running((*FAULT, "gateway", "--", *_NONSENSE, f"{seed}"), piped=True) as subject:
        return fuzz_stdio(subject, name, messages, seed, made=lambda rng: [], counts=LINES)


def _stdio_to_http(name: str, messages: int, seed: object) -> Figures:
    with manifest() as path, running((*_mock(path), *_HTTP), piped=False) as behind:
        url = f"http://127.0.0.1:{behind.port()}/mcp"
        with running((*FAULT, "gateway", "--front", "stdio", "--upstream", url), piped=True) as subject:
            figures = fuzz_stdio(subject, name, messages, seed)
        behind.check()
        return figures


def _http_mock(name: str, messages: int, seed: object) -> Figures:
    with manifest() as path, running((*_mock(path), *_HTTP), piped=False) as subject:
        return fuzz_http(subject, name, subject.port(), messages, seed, http_games.request)


def _http_gateway(name: str, messages: int, seed: object) -> Figures:
    with manifest() as path, running((*_mock(path), *_HTTP), piped=False) as behind:
        url = f"http://127.0.0.1:{behind.port()}/mcp"
        with running((*FAULT, "gateway", "--upstream", url, *_HTTP), piped=False) as subject:
            figures = fuzz_http(subject, name, subject.port(), messages, seed, http_games.request)
        behind.check()
        return figures


def _http_nonsense(name: str, messages: int, seed: object) -> Figures:
    with running((*_NONSENSE, f"{seed}", "--http"), piped=False) as behind:
        url = f"http://127.0.0.1:{behind.port()}/mcp"
        with running((*FAULT, "gateway", "--upstream", url, *_HTTP), piped=False) as subject:
            made = _call_of_nonsense
            # A connection that the upstream closes is closed for the client too: such a call is repeated.
            return fuzz_http(subject, name, subject.port(), messages, seed, made, modern=False, tries=5)


def _call_of_nonsense(rng: random.Random, port: int, session: str) -> bytes:
    body = json.dumps(call(rng.randrange(50), tool="nonsense")).encode()
    lines = [f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}", f"MCP-Protocol-Version: {VERSION}"]
    lines += ["Content-Type: application/json", f"Content-Length: {len(body)}", f"Mcp-Session-Id: {session}"]
    return "\r\n".join([*lines, "", ""]).encode() + body


def _http_to_stdio(name: str, messages: int, seed: object) -> Figures:
    with (
        manifest() as path,
        running((*FAULT, "gateway", *_HTTP, "--no-token", "--", *_mock(path)), piped=False) as subject,
    ):
        return fuzz_http(subject, name, subject.port(), messages, seed, _opening_nothing)


def _opening_nothing(rng: random.Random, port: int, session: str) -> bytes:
    """Each session has a process of its own here; a client that disconnects before it has the id leaves it
    open."""
    return http_games.request(rng, port, session).replace(b"initialize", b"initialise")


RUNS: tuple[Run, ...] = (
    Run("mock over stdio", "stdio", 0.3, _stdio_mock(modern=False)),
    Run("mock over stdio, modern era", "stdio", 0.15, _stdio_mock(modern=True)),
    Run("gateway over stdio", "stdio", 0.3, _stdio_gateway),
    Run("gateway over stdio, nonsense behind", "stdio", 0.15, _stdio_nonsense),
    Run("gateway over stdio, HTTP behind", "stdio", 0.1, _stdio_to_http, _KEPT),
    Run("mock over HTTP", "http", 0.45, _http_mock),
    Run("gateway over HTTP", "http", 0.35, _http_gateway, _KEPT),
    Run("gateway over HTTP, nonsense behind", "http", 0.17, _http_nonsense, _KEPT),
    Run("gateway over HTTP, stdio behind", "http", 0.03, _http_to_stdio),
)
