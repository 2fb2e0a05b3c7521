"""`slow` calls of `fault serve`: many at once, and cancelled in every possible way."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench.audit_load import serving
from bench.load import LoadError
from bench.mcp_client import CallArgument, call_head, call_template, connected, open_session, read_answer

if TYPE_CHECKING:
    from faultkit.audit.row import AuditRow

WAYS = ("by notification", "by closing the stream", "by disconnect")
"""The stream is of the modern era, the connection of the legacy era."""
_TOOL = "slow"
_ROUNDS = 9
_WHOLE_MS = 60_000
_BEGIN_S = 0.05
"""The time until a call has begun, in seconds."""
_PATIENCE_S = 10.0


@dataclass(frozen=True, slots=True)
class CancelledCall:
    """A cancelled call."""

    out_ms: float
    """Milliseconds from the cancellation to the end of the call, by the time of its row."""
    duration_ms: float
    category: str

    @property
    def is_partial(self) -> bool:
        return self.category == "cancelled" and self.duration_ms < _WHOLE_MS


def all_at_once(fault: Sequence[str], folder: Path, count: int) -> tuple[float, int]:
    """Return the seconds until the last reply, and the number of rows with the full waiting time."""
    where = str(folder / "slow.db")
    template = call_template("legacy", CallArgument('{"milliseconds":1000}', str), _TOOL)
    with serving(fault, where, folder) as (_, port), ExitStack() as stack:
        wires = [stack.enter_context(connected(port)) for _ in range(count)]
        head = call_head(port, open_session(wires[0], port), _TOOL)
        begin_s = time.monotonic()
        for number, wire in enumerate(wires):
            body = template % number
            wire.sendall(head % len(body) + body)
        for number, wire in enumerate(wires):
            reply = json.loads(read_answer(wire).partition(b"\r\n\r\n")[2])
            if reply["id"] != number or reply["result"]["structuredContent"]["slept_ms"] < 1000:
                raise LoadError(f"call {number} got {reply}")
        took_s = time.monotonic() - begin_s
        rows = _await_rows(where, count)
    return took_s, sum(row.success and row.duration_ms >= 1000 for row in rows)


def cancel_calls(fault: Sequence[str], folder: Path, way: str) -> list[CancelledCall]:
    where = str(folder / f"{way.replace(' ', '-')}.db")
    with serving(fault, where, folder) as (_, port):
        # One after the other, so that rows are in the order of the calls.
        times_ms = [_cancel_call(port, where, way, number) for number in range(_ROUNDS)]
        rows = _await_rows(where, _ROUNDS)
    return [
        CancelledCall(row.at_us / 1000 + row.duration_ms - at_ms, row.duration_ms, row.error_category)
        for at_ms, row in zip(times_ms, rows, strict=True)
    ]


def _cancel_call(port: int, where: str, way: str, number: int) -> float:
    """Cancel a call; return the time in milliseconds since 1970."""
    is_modern = way == "by closing the stream"
    with connected(port) as wire, connected(port) as other:
        session = None if is_modern else open_session(wire, port)
        saying = CallArgument(f'{{"milliseconds":{_WHOLE_MS}}}', str)
        head = call_head(port, session, _TOOL)
        body = call_template("modern" if is_modern else "legacy", saying, _TOOL) % number
        wire.sendall(head % len(body) + body)
        time.sleep(_BEGIN_S)
        at_ms = time.time() * 1000
        if way == "by notification":
            cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}
            body = json.dumps(cancel).encode()
            other.sendall(head % len(body) + body)
            read_answer(other)
        else:
            wire.shutdown(socket.SHUT_RDWR)
        _await_rows(where, number + 1)
        return at_ms


def _await_rows(where: str, count: int) -> list[AuditRow]:
    from faultkit.audit.store_factory import open_store

    end_s = time.monotonic() + _PATIENCE_S
    with open_store(where, create=False) as store:
        while len(rows := list(store.all())) < count:
            if time.monotonic() > end_s:
                raise LoadError(f"{count} calls left {len(rows)} rows in the audit log")
            time.sleep(0.02)
    return rows
