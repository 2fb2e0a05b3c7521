"""Storms and large replies, with clients that read slowly or disconnect."""

from __future__ import annotations

import asyncio
from socket import SO_SNDBUF, SOL_SOCKET
from typing import Any

import pytest

from faultkit.base.http.http_exchange import ResponseWriter
from faultkit.base.http.http_server import HttpServer
from faultkit.mcp.wire.http_front import HttpFront
from faultkit.mcp.wire.pipes import StdoutWriter
from tests.mcp.faults.call_places import (
    EVERYWHERE,
    HTTP,
    NEW_HTTP,
    OLD_PIPES,
    PIPES,
    Place,
    call,
    plan_of,
    request,
)
from tests.mcp.faults.expected_bytes import ID, Given, text
from tests.mcp.faults.local_servers import fronted, http_mock, mocked
from tests.mcp.faults.raw_clients import PATIENCE_S, Connection, Pipes, calling, piped, run, until

COUNT = 20_000


def each_place(*places: Place) -> pytest.MarkDecorator:
    """One era of each transport, because the eras do the same where bytes are only moved."""
    usual = (OLD_PIPES, NEW_HTTP)
    marked = [
        pytest.param(place, id=str(place), marks=() if place in usual else pytest.mark.thorough)
        for place in places
    ]
    return pytest.mark.parametrize("place", marked)


@each_place(*PIPES)
def test_a_storm_over_pipes_waits_for_its_reader(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    outputs: list[StdoutWriter] = []
    made = StdoutWriter.__init__

    def remember(self: StdoutWriter, write: Any) -> None:
        made(self, write)
        outputs.append(self)

    monkeypatch.setattr(StdoutWriter, "__init__", remember)

    async def main() -> None:
        async with mocked(plan_of(f"notification_storm:{COUNT}")) as mock, piped(mock, place) as pipes:
            pipes.reader._transport.pause_reading()  # type: ignore[attr-defined]
            pipes.say(call(place, ID))
            await until(lambda: outputs)
            (output,) = outputs
            assert output.transport is not None
            await until(lambda: output._writable is not None)
            # Enough time for the whole storm, if it did not wait for its reader.
            await asyncio.sleep(0.2)
            assert 0 < output.transport.get_write_buffer_size() < 200_000
            pipes.reader._transport.resume_reading()  # type: ignore[attr-defined]
            for _ in range(COUNT):
                assert b"notifications/message" in await pipes.line()
            given = Given(place)
            assert await pipes.line() == given.one(given.counted()).raw

    run(main)


@each_place(*HTTP)
def test_a_storm_over_http_waits_for_its_reader(place: Place) -> None:
    async def main() -> None:
        async with mocked(plan_of(f"notification_storm:{COUNT}")) as mock:
            front = HttpFront(mock)
            async with fronted(mock, front) as address, calling(address, place) as caller:
                line = await caller.connect()
                # The default buffers of the kernel could hold the whole storm.
                line.reader._transport.pause_reading()  # type: ignore[attr-defined]
                line.shrink()
                await until(lambda: line.name in {each._peer for each in front._server._connections})
                (server,) = [each for each in front._server._connections if each._peer == line.name]
                assert server.transport is not None
                server.transport.get_extra_info("socket").setsockopt(SOL_SOCKET, SO_SNDBUF, 1 << 14)
                line.say(call(place, ID))
                await until(lambda: server._paused)
                await asyncio.sleep(0.2)
                assert 0 < server.transport.get_write_buffer_size() < 200_000
                line.reader._transport.resume_reading()  # type: ignore[attr-defined]
                await line.head()
                # With buffers this small, a busy machine transfers it in small steps.
                async with asyncio.timeout(4 * PATIENCE_S):
                    body = await line.reader.readuntil(b"\r\n0\r\n\r\n")
                assert body.count(b"data: ") == COUNT + 1
                assert text(Given(place).counted()) in body

    run(main)


def test_a_storm_lets_others_speak() -> None:
    async def main() -> None:
        async with mocked(plan_of("notification_storm:2000")) as mock, piped(mock, OLD_PIPES) as pipes:
            pipes.say(call(OLD_PIPES, ID))
            await pipes.line()
            pipes.say(request(OLD_PIPES, "ping", {}, 8))
            lines = [await pipes.line() for _ in range(2001)]
            place = next(number for number, line in enumerate(lines) if b'"id":8,' in line)
            assert place < 2000

    run(main)


async def sized(pipes: Pipes | Connection, count: int) -> int:
    """Return how many of these bytes arrive."""
    got = 0
    async with asyncio.timeout(15):
        while got < count and (more := await pipes.reader.read(1 << 20)):
            got += len(more)
    return got


@each_place(*EVERYWHERE)
def test_fifty_megabytes_arrive_whole(place: Place) -> None:
    async def main() -> None:
        given = Given(place)
        plan = plan_of("oversized_result:50000000,first=1")
        more = len(text({"type": "text", "text": ""})) + 1 + 50_000_000
        raw = len(text(given.counted())) + more
        if place.transport == "stdio":
            async with mocked(plan) as mock, piped(mock, place) as pipes:
                pipes.say(call(place, ID))
                assert await sized(pipes, raw + 1) == raw + 1
                await _next_is_well(pipes, given)
        else:
            async with http_mock(plan) as address, calling(address, place) as caller:
                line = await caller.connect()
                line.say(call(place, ID))
                assert b"content-length: %d\r\n" % raw in await line.head()
                assert await sized(line, raw) == raw
                await _next_is_well(line, given)

    run(main)


async def _next_is_well(line: Any, given: Given) -> None:
    line.say(call(given.place, 8))
    wanted = given.one(given.counted(2, 8)).raw
    assert await line.take(len(wanted)) == wanted


def test_one_who_gives_up_waiting_for_a_reader_does_not_end_the_waiting_of_others() -> None:
    async def main() -> None:
        answers: list[ResponseWriter] = []
        server = HttpServer(lambda request, answer: answers.append(answer))
        address = await server.start("127.0.0.1", 0)
        try:
            async with calling(address, NEW_HTTP) as caller:
                line = await caller.connect()
                line.reader._transport.pause_reading()  # type: ignore[attr-defined]
                line.say(call(NEW_HTTP, ID))
                await until(lambda: answers)
                answers[0].begin_sized(200, (), 20_000_000)
                answers[0].write_sized(b"x" * 20_000_000)
                both = [asyncio.ensure_future(answers[0].drained()) for _ in range(2)]
                await asyncio.sleep(0)
                both[0].cancel()
                await asyncio.wait(both[:1])
                third = asyncio.ensure_future(answers[0].drained())
                line.reader._transport.resume_reading()  # type: ignore[attr-defined]
                await line.head()
                assert await sized(line, 20_000_000) == 20_000_000
                await both[1]
                await third
        finally:
            await server.stop()

    run(main)


@pytest.mark.parametrize("place", EVERYWHERE, ids=str)
def test_a_reader_that_leaves_in_a_storm_ends_it(place: Place) -> None:
    async def main() -> None:
        async with mocked(plan_of(f"notification_storm:{COUNT}")) as mock:
            if place.transport == "stdio":
                async with piped(mock, place) as pipes:
                    pipes.say(call(place, ID))
                    await pipes.line()
                    pipes.reader._transport.close()  # type: ignore[attr-defined]
                    await until(lambda: not mock._tasks)
            else:
                async with fronted(mock) as address, calling(address, place) as caller:
                    line = await caller.connect()
                    line.say(call(place, ID))
                    await line.head()
                    await line.close()
                    await until(lambda: not mock._tasks)

    run(main)
