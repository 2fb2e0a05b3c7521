"""What arrives on the wire, to the byte: from the mock, and from gateways in front of a healthy mock."""

from __future__ import annotations

import re
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from faultkit.base.errors import InputError
from faultkit.faults import CALL_FAULTS
from faultkit.faults.call.call import CallFault
from faultkit.mcp.injector import check_plan
from faultkit.mcp.mock.run import MockJob, check_job
from faultkit.mcp.wire.exchange import Service
from faultkit.plan import Plan
from tests.mcp.faults.expected import ID, Given, Seen
from tests.mcp.faults.place import EVERYWHERE, MANIFEST, Place, call, plan_of, request
from tests.mcp.faults.raw import Line, calling, piped, quiet, run
from tests.mcp.faults.rows import MARKER, ROWS, Row, hitting_once
from tests.mcp.faults.served import bridged, fronted, http_mock, mocked, relayed

NEXT = 8
Address = tuple[str, int]
CASES = [pytest.param(row, place, id=f"{row.spec}-{place}") for row in ROWS for place in row.places]
REFUSED = [
    pytest.param(row, place, id=f"{row.spec}-{place}")
    for row in ROWS
    for place in EVERYWHERE
    if place not in row.places
]


def asked(row: Row, place: Place) -> dict[str, Any]:
    if row.method == "tools/call":
        return call(place, ID)
    listen = {"notifications": {"toolsListChanged": True}}
    return request(place, row.method, listen if row.method == "subscriptions/listen" else {}, ID)


def without_chance(raw: bytes) -> bytes:
    """The bytes with one marker for all."""
    return re.sub(rb"canary-[0-9a-f]{12}", MARKER.encode(), raw)


async def arrived(line: Line, wanted: Seen) -> Seen:
    """What came; as long as what was wanted, or up to its end."""
    if wanted.end in ("fin", "rst"):
        raw, end = await line.end()
        return Seen(without_chance(raw), end)  # type: ignore[arg-type]
    return Seen(without_chance(await line.take(len(wanted.raw))), wanted.end)


async def check(row: Row, given: Given, line: Line, other: Line) -> None:
    """The faulted call on one connection, and the next call on the other, or the same if it still has one."""
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


@pytest.mark.parametrize(("row", "place"), CASES)
def test_the_mock_sends_these_bytes(row: Row, place: Place) -> None:
    async def main() -> None:
        plan = plan_of(hitting_once(row))
        if place.transport == "stdio":
            await over_pipes(mocked(plan), row, Given(place))
        else:
            await over_http(http_mock(plan), row, Given(place))

    run(main)


@pytest.mark.parametrize(("row", "place"), CASES)
def test_a_gateway_sends_the_same(row: Row, place: Place) -> None:
    async def main() -> None:
        plan = plan_of(hitting_once(row))
        if place.transport == "stdio":
            await over_pipes(bridged(plan), row, Given(place))
        else:
            await over_http(relayed(plan), row, Given(place, event_ids=False))

    run(main)


@pytest.mark.parametrize("place", [place for place in EVERYWHERE if place.transport == "http"], ids=str)
@pytest.mark.parametrize(
    "kind", ["hang", "duplicate_reply", "truncated_reply", "tcp_reset", "protocol_error", "frozen"]
)
def test_a_gateway_that_bridges_to_http_sends_the_same(kind: str, place: Place) -> None:
    async def main() -> None:
        row = next(row for row in ROWS if row.kind == kind)
        async with bridged(plan_of(hitting_once(row))) as gateway:
            await over_http(fronted(gateway), row, Given(place))

    run(main)


@pytest.mark.parametrize(("row", "place"), REFUSED)
def test_what_does_not_fit_is_refused_with_what_would(row: Row, place: Place) -> None:
    plan = plan_of(row.spec)
    (rule,) = plan.rules
    assert isinstance(rule.fault, CallFault)
    with pytest.raises(InputError) as refused:
        check_plan(plan, place.transport, (place.era,))
    said = str(refused.value)
    assert said.startswith(f"rules[0].fault: expected one that fits {place.transport} in the {place.era} era")
    assert f'got "{row.kind}"' in said
    assert all(f"{other.transport} in the {other.era} era" in said for other in row.places)
    assert rule.fault.instead in said


@pytest.mark.parametrize(("row", "place"), CASES)
def test_what_fits_is_not_refused(row: Row, place: Place) -> None:
    plan = plan_of(row.spec)
    check_plan(plan, place.transport, (place.era,))
    check_job(MockJob(MANIFEST, plan, place.transport))


@pytest.mark.parametrize(
    "kind", ["tcp_reset", "stream_end", "keep_alive_only", "http_status", "header_mismatch"]
)
def test_a_mock_on_pipes_refuses_what_only_http_can_do(kind: str) -> None:
    with pytest.raises(InputError, match="expected one that fits stdio in the legacy or modern era"):
        check_job(MockJob(MANIFEST, plan_of(kind)))


@pytest.mark.parametrize("kind", CALL_FAULTS)
def test_every_fault_has_rows_for_every_place_where_it_fits(kind: str) -> None:
    fault = CALL_FAULTS[kind]()
    rows = {place for row in ROWS if row.kind == kind for place in row.places}
    fitting = {place for place in EVERYWHERE if fault.fits(place.transport, place.era)}
    assert rows >= fitting
    assert fitting


def test_an_empty_plan_leaves_the_mock_well() -> None:
    row = Row("none", lambda given: given.one(given.counted()))

    async def main() -> None:
        for place in EVERYWHERE:
            if place.transport == "stdio":
                await over_pipes(mocked(Plan()), row, Given(place))
            else:
                await over_http(http_mock(Plan()), row, Given(place))

    run(main)
