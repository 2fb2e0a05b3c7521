"""What a gateway does not wait for, and does not die of."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from faultkit.mcp.gateway.recording import Recorder
from faultkit.mcp.wire import stdio
from faultkit.mcp.wire.exchange import Session
from faultkit.mcp.wire.message import encode, read
from tests.mcp.wire.service import Tools


def test_a_recording_that_cannot_be_written_ends_and_nothing_else_does(
    caplog: pytest.LogCaptureFixture,
) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("/dev/full is not there")
    recorder = Recorder("/dev/full", lambda: 0.0)
    for _ in range(3):
        recorder.message("s", "client", read(encode({"jsonrpc": "2.0", "id": 1, "method": "ping"})))
    recorder.close()
    assert [record.message for record in caplog.records] == [
        "the recording ends here: No space left on device"
    ]


def test_replies_that_never_come_do_not_hold_the_end_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "LAST_WORDS_S", 0.05)

    async def never(session: Session) -> None:
        await asyncio.Event().wait()

    async def main() -> None:
        in_read, in_write = os.pipe()
        out_read, out_write = os.pipe()
        os.close(in_write)
        service = Tools()
        async with asyncio.timeout(5):
            await stdio.serve_stdio(service, in_read, out_write, at_end=never)
        assert service.seen == ["closed"]
        for number in (in_read, out_read, out_write):
            os.close(number)

    asyncio.run(main())
