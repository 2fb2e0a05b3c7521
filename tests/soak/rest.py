"""What must be left of a process after all its clients have gone: no more than before they came."""

from __future__ import annotations

import time

from faultkit.proxy.control.control_client import ControlClient
from tests.fuzz.api_fuzz import TOKEN
from tests.mcp.fuzz.fuzzed_process import LIMIT_S, Broken, Subject, Usage

PATIENCE_S = 120.0
"""A connection whose ends have both left while a fault holds it back is given up after 60 s."""
_RESOLVERS = 8
"""Threads that the data plane starts when it needs them, and keeps."""
_SPARE_PIPES = 32
"""Descriptors of pipes that the data plane keeps for the next bulk transfer."""
_MOST_GROWTH, _ALWAYS_BYTES = 2, 64 << 20
"""A generous bound: Python keeps memory that it has freed, and the data plane collects circles rarely
(`base/garbage.py`), so that some ended connections are still in memory."""


def wait_for_rest(subject: Subject, before: Usage, control: int | None = None, kept: int = 0) -> Usage:
    """Wait until the process holds no more than before, and return what it holds. Raises Broken.

    control: port of its control API, which says how many connections live
    kept:    sockets that it may keep, for connections to an upstream"""
    end_s = time.monotonic() + PATIENCE_S
    live = _live(control)
    while live and time.monotonic() < end_s:
        time.sleep(0.1)
        live = _live(control)
    now = subject.usage()
    while _left(before, now, kept) and time.monotonic() < end_s:
        time.sleep(0.1)
        now = subject.usage()
    subject.check()
    left = [*([f"{live} live connections"] if live else []), *_left(before, now, kept)]
    if now.rss_bytes > before.rss_bytes * _MOST_GROWTH + _ALWAYS_BYTES:
        left.append(f"memory grew from {before.rss_bytes >> 20} to {now.rss_bytes >> 20} MiB")
    if left:
        raise Broken(f"left after {PATIENCE_S:.0f} s: {'; '.join(left)}")
    return now


def _left(before: Usage, now: Usage, kept: int) -> list[str]:
    found = []
    for what, had, has, more in (
        ("sockets", before.sockets, now.sockets, kept),
        ("descriptors", before.descriptors, now.descriptors, kept + _SPARE_PIPES),
        ("threads", before.threads, now.threads, _RESOLVERS),
        ("children", before.children, now.children, 0),
    ):
        if has > had + more:
            found.append(f"{has} {what}, {had} before")
    return found


def _live(control: int | None) -> int:
    if control is None:
        return 0
    status = ControlClient(f"http://127.0.0.1:{control}", TOKEN).status(LIMIT_S)
    return sum(proxy["live"] for proxy in status["proxies"])
