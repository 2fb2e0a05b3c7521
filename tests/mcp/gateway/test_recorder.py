"""Recordings of the gateway: files that cannot be written, exist already, or are numbered; and what is
recorded besides messages that are passed on."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from faultkit.base.errors import InputError
from faultkit.mcp.gateway.recorder import Recorder
from faultkit.mcp.wire.message import encode, read
from faultkit.plan import Plan
from tests.mcp.gateway.gateway_peers import (
    http_answer,
    http_request,
    on_pipes,
    relayed,
    request,
    run,
    scripted,
    to_lines,
)
from tests.mcp.specs import parse_specs

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


@pytest.mark.parametrize("name", ["calls.jsonl", "calls-*.jsonl"])
def test_a_new_recording_may_be_read_by_its_owner_only(name: str, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        Recorder(str(tmp_path / name), lambda: 0.0).close()
    finally:
        os.umask(before)
    (file,) = tmp_path.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_recording_that_is_there_is_replaced_only_if_asked_for(tmp_path: Path) -> None:
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


def lines_of(file: Path, member: str) -> list[dict[str, Any]]:
    return [line for line in map(json.loads, file.read_text().splitlines()) if member in line]


def test_requests_of_a_frozen_session_are_recorded_though_the_server_never_gets_them(tmp_path: Path) -> None:
    file = tmp_path / "calls.jsonl"
    recorder = Recorder(str(file), lambda: 0.0)

    async def main() -> None:
        async with on_pipes(to_lines(), Plan(parse_specs(["frozen@a"])), observer=recorder) as client:
            client.say(*(request(id, "tools/call", name=name) for id, name in enumerate("abc")))

    run(main)
    recorder.close()
    messages = [line["message"] for line in lines_of(file, "message") if line["from"] == "client"]
    assert [message["params"]["name"] for message in messages] == ["a", "b", "c"]


def test_a_client_over_http_that_closes_its_connection_is_recorded(tmp_path: Path) -> None:
    file = tmp_path / "calls.jsonl"
    recorder = Recorder(str(file), lambda: 0.0)

    async def hangs(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await http_request(reader)
        asked.set()
        # The relay closes its connection to the upstream when its client is gone.
        await reader.read()
        left.set()

    async def main() -> None:
        async with scripted(hangs) as url, relayed(url, observer=recorder) as client:
            headers = [("content-type", "application/json")]
            work = asyncio.ensure_future(client.request("POST", headers, request(7, "tools/call", name="a")))
            await asked.wait()
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            client.close()
            await left.wait()

    asked, left = asyncio.Event(), asyncio.Event()
    run(main)
    recorder.close()
    assert [(line["from"], line["closed"]) for line in lines_of(file, "closed")] == [("client", 7)]


def test_a_status_of_the_upstream_without_a_reply_is_recorded_with_the_wait_that_it_asks_for(
    tmp_path: Path,
) -> None:
    file = tmp_path / "calls.jsonl"
    recorder = Recorder(str(file), lambda: 0.0)

    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await http_request(reader)
        writer.write(http_answer(b"slow down", b"429 Too Many Requests", b"Retry-After: 3"))
        await writer.drain()

    async def main() -> None:
        async with scripted(upstream) as url, relayed(url, observer=recorder) as client:
            headers = [("content-type", "application/json")]
            reply = await client.request("POST", headers, request(7, "tools/call", name="a"))
            assert (reply.status, await reply.body(100)) == (429, b"slow down")

    run(main)
    recorder.close()
    (line,) = lines_of(file, "frame")
    assert (line["id"], line["status"]) == (7, 429)
    assert [(name.lower(), value) for name, value in line["headers"]] == [("retry-after", "3")]
