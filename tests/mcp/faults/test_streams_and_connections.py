"""The state of streams and connections after a fault."""

from __future__ import annotations

import json

import pytest

from faultkit.faults.call_fault import Cut, Send, Status
from tests.mcp.faults.call_places import HTTP, NEW_PIPES, OLD_HTTP, OLD_PIPES, Place, call, plan_of, request
from tests.mcp.faults.expected_bytes import ID, STREAM, Given, chunk, head, text
from tests.mcp.faults.frames_service import Frames
from tests.mcp.faults.local_servers import fronted, http_mock, mocked
from tests.mcp.faults.raw_clients import calling, initialize, piped, run

NOTICE = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}
REPLY = {"jsonrpc": "2.0", "id": ID, "result": {"content": []}}


@pytest.mark.parametrize("place", HTTP, ids=str)
def test_a_status_after_the_stream_began_can_only_be_a_lost_connection(place: Place) -> None:
    async def main() -> None:
        service = Frames({"count": (Send(NOTICE), Status(503, (), b"no"))})
        async with fronted(service) as address, calling(address, place) as caller:
            line = await caller.connect()
            line.say(call(place, ID))
            wanted = Given(place).many(NOTICE, end="fin")
            assert await line.end() == (wanted.raw, "fin")

    run(main)


@pytest.mark.parametrize("place", HTTP, ids=str)
def test_a_cut_after_the_stream_began_ends_within_an_event(place: Place) -> None:
    async def main() -> None:
        service = Frames({"count": (Send(NOTICE), Cut(REPLY, 0.5))})
        async with fronted(service) as address, calling(address, place) as caller:
            line = await caller.connect()
            line.say(call(place, ID))
            event = b"event: message\ndata: " + text(REPLY) + b"\n\n"
            half = chunk(event[: len(event) // 2])
            assert await line.end() == (Given(place).many(NOTICE, end="fin").raw + half, "fin")

    run(main)


def test_a_client_that_comes_back_for_a_cut_stream_finds_it_ended() -> None:
    async def main() -> None:
        service = Frames({"count": (Send(NOTICE), Cut(REPLY, 0.5))})
        async with fronted(service) as address, calling(address, OLD_HTTP) as caller:
            line = await caller.connect()
            line.say(call(OLD_HTTP, ID))
            await line.end()
            again = await caller.connect()
            events = [("accept", "text/event-stream"), ("last-event-id", "call1-0")]
            again.send("GET", [("host", caller.host), *caller.session, *events])
            wanted = head(200, STREAM, "transfer-encoding: chunked") + chunk(b"")
            assert await again.take(len(wanted)) == wanted

    run(main)


@pytest.mark.parametrize("place", HTTP, ids=str)
def test_a_reset_ends_a_connection_that_was_in_use_and_no_other(place: Place) -> None:
    async def main() -> None:
        given = Given(place)
        async with http_mock(plan_of("tcp_reset,after=2,first=1")) as address:
            async with calling(address, place) as caller:
                line, other = await caller.connect(), await caller.connect()
                for number, each in enumerate((line, other), 1):
                    each.say(call(place, ID))
                    well = given.one(given.counted(number)).raw
                    assert await each.take(len(well)) == well
                line.say(call(place, ID))
                assert await line.end() == (b"", "rst")
                other.say(call(place, ID))
                well = given.one(given.counted(3)).raw
                assert await other.take(len(well)) == well

    run(main)


def test_a_client_that_tries_the_modern_way_first_is_of_the_old_era_afterwards() -> None:
    async def main() -> None:
        async with mocked(plan_of("protocol_error:-32601@server/discover")) as mock:
            async with piped(mock, NEW_PIPES) as pipes:
                pipes.say(request(NEW_PIPES, "server/discover", {}, 1))
                assert json.loads(await pipes.line())["error"]["code"] == -32601
                pipes.say(initialize(OLD_PIPES))
                assert json.loads(await pipes.line())["result"]["protocolVersion"] == "2025-11-25"
                pipes.say(call(OLD_PIPES, ID))
                given = Given(OLD_PIPES)
                assert await pipes.line() == given.one(given.counted()).raw

    run(main)
