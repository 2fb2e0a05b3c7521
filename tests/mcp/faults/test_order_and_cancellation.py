"""The order of replies, and what is sent after a call was cancelled."""

from __future__ import annotations

import json
from typing import Any

import pytest

from faultkit.mcp import interpreter as carrying
from tests.mcp.faults.call_places import (
    HTTP,
    NEW_HTTP,
    OLD_HTTP,
    OLD_PIPES,
    PIPES,
    Place,
    call,
    cancel,
    plan_of,
    request,
)
from tests.mcp.faults.expected_bytes import ID, Given, Seen, chunk, head, text
from tests.mcp.faults.local_servers import fronted, http_mock, mocked, relayed
from tests.mcp.faults.raw_clients import Caller, calling, piped, quiet, run, until


def ids(lines: list[bytes]) -> list[int]:
    return [json.loads(line)["id"] for line in lines]


@pytest.mark.parametrize("place", PIPES, ids=str)
def test_if_every_reply_lets_one_pass_they_pass_in_pairs(place: Place) -> None:
    async def main() -> None:
        async with mocked(plan_of("out_of_order")) as mock, piped(mock, place) as pipes:
            for first in (1, 3):
                pipes.say(call(place, first))
                pipes.say(call(place, first + 1))
                assert ids([await pipes.line() for _ in range(2)]) == [first + 1, first]

    run(main)


def test_a_cancelled_call_is_no_longer_waiting_to_be_overtaken() -> None:
    async def main() -> None:
        async with mocked(plan_of("out_of_order")) as mock, piped(mock, OLD_PIPES) as pipes:
            pipes.say(call(OLD_PIPES, 1))
            assert await quiet(pipes) == b""
            pipes.say(cancel(OLD_PIPES, 1))
            # The second reply waits as the first did, so the third overtakes it.
            pipes.say(call(OLD_PIPES, 2))
            pipes.say(call(OLD_PIPES, 3))
            assert ids([await pipes.line() for _ in range(2)]) == [3, 2]

    run(main)


@pytest.mark.parametrize("place", PIPES, ids=str)
def test_a_reply_that_has_been_passed_already_waits_for_no_other(place: Place) -> None:
    async def main() -> None:
        async with mocked(plan_of("out_of_order,first=1")) as mock, piped(mock, place) as pipes:
            # Both are read at once: the second is answered before the first is processed.
            pipes.say(call(place, 1), call(place, 2))
            assert ids([await pipes.line() for _ in range(2)]) == [2, 1]

    run(main)


@pytest.mark.parametrize("place", HTTP, ids=str)
def test_over_http_a_reply_comes_after_those_to_later_calls_on_other_connections(place: Place) -> None:
    async def main() -> None:
        given = Given(place)
        async with http_mock(plan_of("out_of_order:2,first=1")) as address:
            async with calling(address, place) as caller:
                lines = [await caller.connect() for _ in range(3)]
                for number, line in enumerate(lines, 1):
                    line.say(call(place, number))
                    if number > 1:
                        wanted = given.one(given.counted(number, number)).raw
                        assert await line.take(len(wanted)) == wanted
                    if number < 3:
                        assert await quiet(lines[0]) == b""
                wanted = given.one(given.counted(1, 1)).raw
                assert await lines[0].take(len(wanted)) == wanted

    run(main)


def test_a_reply_that_is_not_overtaken_comes_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(carrying, "MOST_OVERTAKEN_S", 0.05)

    async def main() -> None:
        async with mocked(plan_of("out_of_order")) as mock, piped(mock, OLD_PIPES) as pipes:
            pipes.say(call(OLD_PIPES, ID))
            assert ids([await pipes.line()]) == [ID]

    run(main)


@pytest.mark.parametrize("place", PIPES, ids=str)
def test_a_slow_call_holds_up_no_other(place: Place) -> None:
    async def main() -> None:
        async with mocked(plan_of("slow:100,first=1")) as mock, piped(mock, place) as pipes:
            pipes.say(call(place, 1))
            pipes.say(call(place, 2))
            assert ids([await pipes.line() for _ in range(2)]) == [2, 1]

    run(main)


@pytest.mark.parametrize("place", PIPES, ids=str)
@pytest.mark.parametrize("spec", ["hang", "slow:60000"])
def test_a_cancelled_call_gets_no_more_bytes_and_the_server_is_not_asked(spec: str, place: Place) -> None:
    async def main() -> None:
        given = Given(place)
        async with mocked(plan_of(f"{spec},first=1")) as mock, piped(mock, place) as pipes:
            pipes.say(call(place, ID))
            pipes.say(cancel(place, ID))
            pipes.say(call(place, 8))
            assert await pipes.line() == given.one(given.counted(1, 8)).raw
            await until(lambda: not mock._tasks)

    run(main)


@pytest.mark.parametrize("place", PIPES, ids=str)
def test_a_drip_that_is_cancelled_ends_its_line_so_that_the_next_is_whole(place: Place) -> None:
    async def main() -> None:
        given = Given(place)
        async with mocked(plan_of("slow_drip:60000,first=1")) as mock, piped(mock, place) as pipes:
            pipes.say(call(place, ID))
            assert await pipes.take(16) == text(given.counted())[:16]
            pipes.say(cancel(place, ID))
            assert await pipes.line() == b"\n"
            pipes.say(call(place, 8))
            assert await pipes.line() == given.one(given.counted(2, 8)).raw

    run(main)


@pytest.mark.parametrize("place", PIPES, ids=str)
def test_a_reply_after_cancel_comes_though_it_was_cancelled(place: Place) -> None:
    async def main() -> None:
        async with mocked(plan_of("reply_after_cancel:50")) as mock, piped(mock, place) as pipes:
            pipes.say(call(place, ID))
            pipes.say(cancel(place, ID))
            given = Given(place)
            wanted = given.one(given.counted()).raw
            assert await pipes.take(len(wanted)) == wanted

    run(main)


async def cancelled_over_http(caller: Caller, wanted: Seen) -> None:
    line, other = await caller.connect(), await caller.connect()
    line.say(call(OLD_HTTP, ID))
    assert await quiet(line) == b""
    other.say(cancel(OLD_HTTP, ID))
    accepted = head(202, "content-length: 0")
    assert await other.take(len(accepted)) == accepted
    assert await line.take(len(wanted.raw)) == wanted.raw
    # The connection is still usable: the next call on it is answered.
    line.say(request(OLD_HTTP, "ping", {}, 9))
    pong = Given(OLD_HTTP).one({"jsonrpc": "2.0", "id": 9, "result": {}}).raw
    assert await line.take(len(pong)) == pong


@pytest.mark.parametrize("spec", ["hang", "slow:60000", "lost_reply", "out_of_order"])
@pytest.mark.parametrize("serving", [http_mock, relayed])
def test_a_cancelled_call_of_a_session_is_answered_with_nothing(spec: str, serving: Any) -> None:
    async def main() -> None:
        async with serving(plan_of(spec)) as address, calling(address, OLD_HTTP) as caller:
            await cancelled_over_http(caller, Seen(head(202, "content-length: 0")))

    run(main)


@pytest.mark.parametrize("serving", [http_mock, relayed])
def test_a_reply_after_cancel_comes_over_http_too(serving: Any) -> None:
    async def main() -> None:
        given = Given(OLD_HTTP)
        async with serving(plan_of("reply_after_cancel:300")) as address:
            async with calling(address, OLD_HTTP) as caller:
                await cancelled_over_http(caller, given.one(given.counted()))

    run(main)


@pytest.mark.parametrize("serving", [http_mock, relayed])
def test_a_stream_that_only_stays_alive_ends_in_good_order_when_cancelled(serving: Any) -> None:
    async def main() -> None:
        begun = Given(OLD_HTTP).stream(b": keep-alive\n\n", end="pending").raw
        async with serving(plan_of("keep_alive_only:60000")) as address:
            async with calling(address, OLD_HTTP) as caller:
                line, other = await caller.connect(), await caller.connect()
                line.say(call(OLD_HTTP, ID))
                assert await line.take(len(begun)) == begun
                other.say(cancel(OLD_HTTP, ID))
                assert (await other.head()).startswith(b"HTTP/1.1 202 ")
                assert await line.take(5) == chunk(b"")
                line.say(request(OLD_HTTP, "ping", {}, 9))
                assert (await line.head()).startswith(b"HTTP/1.1 200 ")

    run(main)


@pytest.mark.parametrize(
    "spec", ["hang", "keep_alive_only:60000", "slow_drip:60000", "lost_reply", "out_of_order"]
)
def test_in_the_modern_era_leaving_ends_the_work(spec: str) -> None:
    async def main() -> None:
        async with mocked(plan_of(spec)) as mock, fronted(mock) as address:
            async with calling(address, NEW_HTTP) as caller:
                line = await caller.connect()
                line.say(call(NEW_HTTP, ID))
                await until(lambda: len(mock._tasks) == 1)
                await line.close()
                await until(lambda: not mock._tasks)

    run(main)
