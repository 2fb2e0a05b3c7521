"""The bytes on the wire: from the mock, and from gateways in front of a mock without faults."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from faultkit.base.errors import InputError
from faultkit.faults import CALL_FAULTS
from faultkit.faults.call_fault import CallFault
from faultkit.mcp.injector import check_plan
from faultkit.mcp.mock.mock_server import MockJob, check_mock_job
from faultkit.mcp.wire.exchange import Service
from faultkit.plan import Plan
from tests.mcp.faults.call_places import EVERYWHERE, HTTP, MANIFEST, Place, call, plan_of, request
from tests.mcp.faults.expected_bytes import ID, Given, Seen
from tests.mcp.faults.local_servers import bridged, fronted, http_mock, mocked, relayed
from tests.mcp.faults.raw_clients import Line, calling, piped, quiet, run
from tests.mcp.faults.rows import MARKER, ROWS, Row, hitting_once

NEXT = 8
Address = tuple[str, int]


def asked(row: Row, place: Place) -> dict[str, Any]:
    if row.method == "tools/call":
        return call(place, ID)
    listen = {"notifications": {"toolsListChanged": True}}
    return request(place, row.method, listen if row.method == "subscriptions/listen" else {}, ID)


def without_chance(raw: bytes) -> bytes:
    """Return the bytes with one marker for all values."""
    return re.sub(rb"canary-[0-9a-f]{12}", MARKER.encode(), raw)


async def arrived(line: Line, wanted: Seen) -> Seen:
    """Return the received bytes: as many as expected, or up to the end of the connection."""
    if wanted.end in ("fin", "rst"):
        raw, end = await line.end()
        return Seen(without_chance(raw), end)  # type: ignore[arg-type]
    return Seen(without_chance(await line.take(len(wanted.raw))), wanted.end)


async def check(row: Row, given: Given, line: Line, other: Line) -> None:
    """Make the call with the fault on one connection, and the next call on another, or on the same if it is
    still open."""
    place = given.place
    wanted = row.seen(given)
    line.say(asked(row, place))
    if wanted.end != "late":
        assert await arrived(line, wanted) == wanted
    if wanted.end in ("pending", "late"):
        assert await quiet(line) == b""
    if wanted.end == "fin" and place.transport == "stdio":
        return
    then = line if wanted.end == "open" else other
    then.say(call(place, NEXT))
    if row.then is None:
        assert await quiet(then) == b""
        return
    healthy = given.one(given.counted(row.then, NEXT))
    assert await arrived(then, healthy) == healthy
    if wanted.end == "late":
        assert await arrived(line, wanted) == wanted
    elif wanted.end == "pending":
        assert await quiet(line) == b""


async def over_pipes(service: AbstractAsyncContextManager[Service], row: Row, given: Given) -> None:
    async with service as serving, piped(serving, given.place) as pipes:
        await check(row, given, pipes, pipes)


async def over_http(serving: AbstractAsyncContextManager[Address], row: Row, given: Given) -> None:
    async with serving as address, calling(address, given.place) as caller:
        await check(row, given, await caller.connect(), await caller.connect())


async def check_mock(row: Row, place: Place) -> None:
    plan = plan_of(hitting_once(row))
    if place.transport == "stdio":
        await over_pipes(mocked(plan), row, Given(place))
    else:
        await over_http(http_mock(plan), row, Given(place))


async def check_gateway(row: Row, place: Place) -> None:
    plan = plan_of(hitting_once(row))
    if place.transport == "stdio":
        await over_pipes(bridged(plan), row, Given(place))
    else:
        await over_http(relayed(plan), row, Given(place, event_ids=False))


async def check_bridge_to_http(row: Row, place: Place) -> None:
    async with bridged(plan_of(hitting_once(row))) as gateway:
        await over_http(fronted(gateway), row, Given(place))


async def check_all(
    checks: tuple[Callable[[Row, Place], Awaitable[None]], ...], rows: list[Row], places: tuple[Place, ...]
) -> None:
    """Run the checks of all rows in all places where they fit, at once; a failure names its case."""

    async def one(check: Callable[[Row, Place], Awaitable[None]], row: Row, place: Place) -> None:
        try:
            await check(row, place)
        except Exception as error:
            error.add_note(f"{check.__name__}: {row.spec} over {place}")
            raise

    async with asyncio.TaskGroup() as group:
        for row in rows:
            for place in row.places:
                if place in places:
                    for check in checks:
                        group.create_task(one(check, row, place))


@pytest.mark.parametrize("kind", CALL_FAULTS)
def test_the_mock_sends_these_bytes_and_a_gateway_sends_the_same(kind: str) -> None:
    rows = [row for row in ROWS if row.kind == kind]
    run(lambda: check_all((check_mock, check_gateway), rows, EVERYWHERE))


@pytest.mark.parametrize(
    "kind", ["hang", "duplicate_reply", "truncated_reply", "tcp_reset", "protocol_error", "frozen"]
)
def test_a_gateway_that_bridges_to_http_sends_the_same(kind: str) -> None:
    row = next(row for row in ROWS if row.kind == kind)
    assert set(HTTP) <= set(row.places)
    run(lambda: check_all((check_bridge_to_http,), [row], HTTP))


@pytest.mark.parametrize("place", EVERYWHERE, ids=str)
def test_what_does_not_fit_is_refused_with_what_would(place: Place) -> None:
    for row in ROWS:
        if place in row.places:
            continue
        plan = plan_of(row.spec)
        (rule,) = plan.rules
        assert isinstance(rule.fault, CallFault), row.spec
        with pytest.raises(InputError) as refused:
            check_plan(plan, place.transport, (place.era,))
        said = str(refused.value)
        fits = f"rules[0].fault: expected one that fits {place.transport} in the {place.era} era"
        assert said.startswith(fits), row.spec
        assert f'got "{row.kind}"' in said
        assert all(f"{other.transport} in the {other.era} era" in said for other in row.places), row.spec
        assert rule.fault.instead in said, row.spec


@pytest.mark.parametrize("place", EVERYWHERE, ids=str)
def test_what_fits_is_not_refused(place: Place) -> None:
    for row in ROWS:
        if place in row.places:
            plan = plan_of(row.spec)
            check_plan(plan, place.transport, (place.era,))
            check_mock_job(MockJob(MANIFEST, plan, place.transport))


@pytest.mark.parametrize(
    "kind", ["tcp_reset", "stream_end", "keep_alive_only", "http_status", "header_mismatch"]
)
def test_a_mock_on_pipes_refuses_what_only_http_can_do(kind: str) -> None:
    with pytest.raises(InputError, match="expected one that fits stdio in the legacy or modern era"):
        check_mock_job(MockJob(MANIFEST, plan_of(kind)))


def test_every_fault_has_rows_for_every_place_where_it_fits() -> None:
    for kind, fault in CALL_FAULTS.items():
        rows = {place for row in ROWS if row.kind == kind for place in row.places}
        fitting = {place for place in EVERYWHERE if fault().fits(place.transport, place.era)}
        assert rows >= fitting, kind
        assert fitting, kind
    assert {row.kind for row in ROWS} <= set(CALL_FAULTS)


def test_an_empty_plan_leaves_the_mock_well() -> None:
    row = Row("none", lambda given: given.one(given.counted()))

    async def main() -> None:
        for place in EVERYWHERE:
            if place.transport == "stdio":
                await over_pipes(mocked(Plan()), row, Given(place))
            else:
                await over_http(http_mock(Plan()), row, Given(place))

    run(main)
