"""What a gateway does not wait for, and does not die of."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from faultkit.base.errors import InputError
from faultkit.mcp.gateway.recorder import Recorder
from faultkit.mcp.wire import stdio_front as stdio
from faultkit.mcp.wire.exchange import Session
from faultkit.mcp.wire.message import encode, read
from tests.mcp.wire.service import Tools

PING = read(encode({"jsonrpc": "2.0", "id": 1, "method": "ping"}))


def test_a_recording_that_cannot_be_written_ends_and_its_user_is_told_once() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("/dev/full is not there")
    told: list[str] = []
    recorder = Recorder("/dev/full", lambda: 0.0, say=told.append)
    for _ in range(3):
        recorder.message("s", "client", PING)
    recorder.close()
    assert told == ["warning: the recording ends here: No space left on device"]


def test_a_recording_that_is_there_is_replaced_only_by_whoever_wants_that(tmp_path: Path) -> None:
    file = tmp_path / "calls.jsonl"
    file.touch()
    Recorder(str(file), lambda: 0.0).close()
    file.write_text("kept\n")
    with pytest.raises(InputError) as refused:
        Recorder(str(file), lambda: 0.0)
    assert str(refused.value) == (
        f"--record: {file} is there already: --overwrite replaces it, "
        f"--record '{tmp_path}/calls-*.jsonl' numbers its files"
    )
    assert file.read_text() == "kept\n"
    Recorder(str(file), lambda: 0.0, overwrite=True).close()
    assert file.read_text() == ""


def test_a_star_in_the_name_of_a_recording_becomes_the_first_number_that_is_free(tmp_path: Path) -> None:
    told: list[str] = []
    (tmp_path / "calls-2.jsonl").touch()
    for _ in range(2):
        recorder = Recorder(f"{tmp_path}/calls-*.jsonl", lambda: 0.0, say=told.append)
        recorder.message("s", "client", PING)
        recorder.close()
    assert told == [f"recording to {tmp_path}/calls-{number}.jsonl" for number in (1, 3)]
    assert [len(Path(f"{tmp_path}/calls-{n}.jsonl").read_text().splitlines()) for n in (1, 2, 3)] == [1, 0, 1]


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
