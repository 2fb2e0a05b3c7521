"""`slow`: many calls at once, and cancellation in every way. The log has the duration of each."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest

from faultkit.faults.call_fault import Era
from faultkit.mcp.failures.failure_service import FailureService, FinishedCall, ServeSettings
from faultkit.mcp.wire.exchange import Exchange, Session
from faultkit.mcp.wire.message import encode
from faultkit.mcp.wire.message import read as read_message
from faultkit.mcp.wire.stdio_front import serve_stdio
from faultkit.testing import run_virtual
from faultkit.web.call_rows import entry_of
from tests.audit.rows import NOON_US
from tests.mcp.failures.failure_server import call, connected, modern, read, run, serving, session_of

WHOLE_MS = 60_000
SLOW = {"milliseconds": WHOLE_MS}


def is_partial(ended: FinishedCall) -> bool:
    row = entry_of(ended, NOON_US).row
    told = (row.success, row.error_category, row.error_message)
    return told == (False, "cancelled", "context canceled") and 0 <= row.duration_ms < WHOLE_MS


class UnreadExchange(Exchange):
    """An exchange without a client, which records that it has been answered."""

    def __init__(self, raw: bytes) -> None:
        super().__init__(Session("s", "http", "legacy", lambda raw: None), read_message(raw))
        self.answered = asyncio.Event()

    def write_note(self, raw: bytes) -> None:
        pass

    def write_reply(self, raw: bytes) -> None:
        self.answered.set()


def test_two_hundred_at_once_take_as_long_as_one() -> None:
    ended: list[FinishedCall] = []

    async def main() -> float:
        loop = asyncio.get_running_loop()
        server = FailureService(ServeSettings(), ended.append)
        exchanges = [UnreadExchange(call("slow", {"milliseconds": 1000}, id)) for id in range(200)]
        began_s = loop.time()
        for exchange in exchanges:
            server.request(exchange)
        for exchange in exchanges:
            await exchange.answered.wait()
        return loop.time() - began_s

    assert round(run_virtual(main()), 6) == 1.0
    assert [round(each.seconds, 6) for each in ended] == [1.0] * 200
    assert {each.request.id for each in ended} == set(range(200))


def test_a_notification_calls_it_off_and_others_go_on() -> None:
    async def work() -> None:
        async with serving() as tools:
            calls, notices = await connected(tools), await connected(tools)
            session = await session_of(calls)
            await calls.ask(call("slow", SLOW, 7), "legacy", session)
            await tools.has_begun()
            cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
            await notices.ask(encode(cancel), "legacy", session)
            assert (await notices.answer())[0] == 202
            assert is_partial(await tools.has_ended())
            status, _, body = await calls.answer()
            assert (status, body) == (202, b"")
            await calls.ask(call("echo", {"message": "still here"}, 8), "legacy", session)
            assert read((await calls.answer())[2])["result"]["structuredContent"] == {"message": "still here"}

    run(work)


def test_like_go_what_was_called_off_is_answered_all_the_same() -> None:
    async def work() -> None:
        async with serving(ServeSettings(like_go=True)) as tools:
            calls, notices = await connected(tools), await connected(tools)
            session = await session_of(calls)
            await calls.ask(call("slow", SLOW, 7), "legacy", session)
            await tools.has_begun()
            cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
            await notices.ask(encode(cancel), "legacy", session)
            ended = await tools.has_ended()
            assert is_partial(ended)
            assert ended.cancelled
            status, _, body = await calls.answer()
            said = {"content": [{"type": "text", "text": "context canceled"}], "isError": True}
            assert (status, read(body)["result"]) == (200, said)

    run(work)


def test_a_call_that_the_end_of_the_server_cuts_short_is_told_so() -> None:
    async def work() -> None:
        async with serving() as tools:
            wire = await connected(tools)
            await wire.ask(call("slow", SLOW, 7), "legacy", await session_of(wire))
            await tools.has_begun()
            await tools.server.stop()
            row = entry_of(await tools.has_ended(), NOON_US).row
            assert (row.error_category, row.error_message) == ("cancelled", "the server is stopping")
            told = {"code": -32603, "message": "the server is stopping"}
            assert read((await wire.answer())[2])["error"] == told

    run(work)


def test_a_notification_of_another_session_calls_nothing_off() -> None:
    async def work() -> None:
        async with serving() as tools:
            mine, theirs = await connected(tools), await connected(tools)
            own, other = await session_of(mine), await session_of(theirs)
            await mine.ask(call("slow", {"milliseconds": 0}, 7), "legacy", own)
            await mine.answer()
            await tools.has_ended()
            await mine.ask(call("slow", SLOW, 7), "legacy", own)
            await tools.has_begun()
            cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
            await theirs.ask(encode(cancel), "legacy", other)
            assert (await theirs.answer())[0] == 202
            await theirs.ask(call("echo", {}, 8), "legacy", other)
            await theirs.answer()
            assert (await tools.has_ended()).name == "echo"

    run(work)


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_a_connection_that_is_closed_calls_it_off(era: Era) -> None:
    async def work() -> None:
        async with serving() as tools:
            wire = await connected(tools)
            headers = modern("slow") if era == "modern" else (await session_of(wire),)
            await wire.ask(call("slow", SLOW, 7, era), era, *headers)
            await tools.has_begun()
            wire.hang_up()
            ended = await tools.has_ended()
            assert is_partial(ended)
            assert ended.cancelled

    run(work)


def test_a_stream_that_is_closed_calls_it_off() -> None:
    async def work() -> None:
        async with serving() as tools:
            wire = await connected(tools)
            told = call("progress", {"steps": 100, "step_ms": 5000}, 7, "modern", "p")
            await wire.ask(told, "modern", *modern("progress"))
            assert b"text/event-stream" in await wire.some()
            wire.hang_up()
            ended = await tools.has_ended()
            assert (ended.cancelled, ended.seconds < 500) == (True, True)
            assert [note.params["progress"] for note in ended.notes] == [1]

    run(work)


def test_a_legacy_stream_can_be_taken_up_again_so_its_call_goes_on() -> None:
    async def work() -> None:
        async with serving() as tools:
            wire = await connected(tools)
            session = await session_of(wire)
            await wire.ask(call("progress", {"steps": 2, "step_ms": 1}, 7, token="p"), "legacy", session)
            assert b"text/event-stream" in await wire.some()
            wire.hang_up()
            ended = await tools.has_ended()
            assert (ended.cancelled, len(ended.notes)) == (False, 2)

    run(work)


def test_the_end_of_a_session_calls_it_off() -> None:
    async def work() -> None:
        async with serving() as tools:
            calls, other = await connected(tools), await connected(tools)
            session = await session_of(calls)
            await calls.ask(call("slow", SLOW, 7), "legacy", session)
            await tools.has_begun()
            await other.ask(b"", "legacy", session, method="DELETE")
            assert (await other.answer())[0] == 200
            assert is_partial(await tools.has_ended())

    run(work)


@pytest.mark.parametrize("how", ["notification", "end of the pipe"])
def test_over_stdio_too(how: str) -> None:
    async def work() -> None:
        ended: asyncio.Queue[FinishedCall] = asyncio.Queue()
        server = FailureService(ServeSettings(), ended.put_nowait)
        in_read, in_write = os.pipe()
        out_read, out_write = os.pipe()
        serving = asyncio.create_task(serve_stdio(server, in_read, out_write))
        os.write(in_write, call("slow", SLOW, 7) + b"\n" + call("echo", {}, 8) + b"\n")
        # Calls are started in order, so the slow one is running.
        assert (await ended.get()).name == "echo"
        if how == "notification":
            cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
            os.write(in_write, encode(cancel) + b"\n")
            assert is_partial(await ended.get())
        os.close(in_write)
        await serving
        if how != "notification":
            assert is_partial(await ended.get())
        os.close(out_read)
        await server.stop()

    run(work)


@pytest.mark.parametrize(
    ("milliseconds", "seconds"),
    [(-5, 0.0), (0, 0.0), (1, 0.001), (60_000, 60.0), (60_001, 60.0), (2**63 - 1, 60.0)],
)
def test_how_long_it_takes_is_clamped(milliseconds: int, seconds: float) -> None:
    async def main() -> tuple[float, Any]:
        found: list[FinishedCall] = []
        server = FailureService(ServeSettings(), found.append)
        exchange = UnreadExchange(call("slow", {"milliseconds": milliseconds}))
        server.request(exchange)
        await exchange.answered.wait()
        return round(found[0].seconds, 6), found[0].outcome.value  # type: ignore[union-attr]

    assert run_virtual(main()) == (seconds, {"slept_ms": int(seconds * 1000)})
