"""A frozen session, and other sessions beside it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.mcp.faults.call_places import (
    NEW_HTTP,
    OLD_HTTP,
    OLD_PIPES,
    Place,
    call,
    cancel,
    plan_of,
    request,
)
from tests.mcp.faults.expected_bytes import ID
from tests.mcp.faults.local_servers import bridged, http_mock, mocked, relayed
from tests.mcp.faults.raw_clients import Caller, calling, piped, quiet, run


async def nothing_comes(caller: Caller, place: Place) -> None:
    line = await caller.connect()
    line.say(request(place, "tools/list", {}, 20))
    assert await quiet(line) == b""


@pytest.mark.parametrize("serving", [http_mock, relayed])
def test_a_frozen_session_is_silent_whatever_is_said_and_others_are_not(serving: Any) -> None:
    async def main() -> None:
        async with serving(plan_of("frozen,first=1")) as address:
            async with calling(address, OLD_HTTP) as caller, calling(address, OLD_HTTP) as neighbour:
                line = await caller.connect()
                line.say(call(OLD_HTTP, ID))
                assert await quiet(line) == b""
                other = await caller.connect()
                other.say(request(OLD_HTTP, "ping", {}, 8))
                assert await quiet(other) == b""
                for method in ("GET", "DELETE"):
                    other = await caller.connect()
                    named = [("host", caller.host), *caller.session, ("accept", "text/event-stream")]
                    other.send(method, named)
                    assert await quiet(other) == b""
                assert await quiet(line) == b""
                healthy = await neighbour.connect()
                healthy.say(request(OLD_HTTP, "ping", {}, 8))
                assert (await healthy.head()).startswith(b"HTTP/1.1 200 ")

    run(main)


def test_a_frozen_session_does_not_hear_that_a_call_is_cancelled() -> None:
    async def main() -> None:
        async with http_mock(plan_of("frozen,first=1")) as address:
            async with calling(address, OLD_HTTP) as caller:
                line, other = await caller.connect(), await caller.connect()
                line.say(call(OLD_HTTP, ID))
                assert await quiet(line) == b""
                other.say(cancel(OLD_HTTP, ID))
                assert await quiet(other) == b""
                assert await quiet(line) == b""

    run(main)


@pytest.mark.parametrize("serving", [http_mock, relayed])
def test_without_sessions_the_server_is_frozen_for_all_of_its_clients(serving: Any) -> None:
    async def main() -> None:
        async with serving(plan_of("frozen,first=1")) as address:
            async with calling(address, NEW_HTTP) as caller, calling(address, NEW_HTTP) as neighbour:
                line = await caller.connect()
                line.say(call(NEW_HTTP, ID))
                assert await quiet(line) == b""
                await nothing_comes(neighbour, NEW_HTTP)

    run(main)


@pytest.mark.parametrize("serving", [mocked, bridged])
def test_over_pipes_nothing_is_said_after_freezing_not_even_to_nonsense(serving: Any) -> None:
    async def main() -> None:
        async with serving(plan_of("frozen,first=1")) as service, piped(service, OLD_PIPES) as pipes:
            pipes.say(call(OLD_PIPES, ID))
            assert await quiet(pipes) == b""
            pipes.say({"nonsense": 1})
            pipes.say(cancel(OLD_PIPES, ID))
            pipes.say(request(OLD_PIPES, "ping", {}, 8))
            assert await quiet(pipes) == b""

    run(main)
