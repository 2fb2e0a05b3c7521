"""The streamable HTTP front: sessions and streams of the legacy era, headers and codes of the modern one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest

from faultkit.base.framing import SseEvent, SseReader
from faultkit.base.http.http_client import ConnectionLost, HttpClient, HttpReply
from faultkit.faults.call_fault import Cut, Disconnect, Drip, EndStream, KeepAlive, Send, Status, Verdict
from faultkit.mcp.wire.era import CAPABILITIES_KEY, SESSION_HEADER, VERSION_KEY, headers_of
from faultkit.mcp.wire.http_front import HttpFront
from faultkit.mcp.wire.message import encode, notification_of, read, result_of
from tests.mcp.wire.tool_service import Tools

CONTENT = [("content-type", "application/json"), ("accept", "application/json, text/event-stream")]
META = {VERSION_KEY: "2026-07-28", CAPABILITIES_KEY: {}}


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(20):
            await test()

    asyncio.run(bounded())


@asynccontextmanager
async def fronted(service: Tools) -> AsyncIterator[HttpClient]:
    front = HttpFront(service)
    host, port = await front.start("127.0.0.1", 0)
    client = HttpClient(f"http://{host}:{port}/mcp")
    try:
        yield client
    finally:
        client.close()
        await front.stop()
        await asyncio.gather(*service.tasks, return_exceptions=True)


def message(method: str, id: int | None = 1, **params: Any) -> dict[str, Any]:
    whole = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
    return {key: value for key, value in whole.items() if key != "id" or value is not None}


def call(name: str, id: int = 1, **more: Any) -> dict[str, Any]:
    return message("tools/call", id, name=name, arguments={}, **more)


async def post(client: HttpClient, body: dict[str, Any], *headers: tuple[str, str]) -> HttpReply:
    return await client.request("POST", [*CONTENT, *headers], encode(body))


async def modern(client: HttpClient, body: dict[str, Any], **wrong: str) -> HttpReply:
    """Send a request with the headers that the body requires, except those that are given."""
    body["params"]["_meta"] = META
    own = {name.lower(): value for name, value in headers_of(read(encode(body)))}
    own.update({name.replace("_", "-"): value for name, value in wrong.items()})
    return await post(client, body, *own.items())


async def opened(client: HttpClient) -> tuple[str, str]:
    reply = await post(client, message("initialize", 0, protocolVersion="2025-11-25"))
    assert (reply.status, json.loads(await reply.body(10_000))["id"]) == (200, 0)
    return (SESSION_HEADER, reply.headers[SESSION_HEADER])


async def events(reply: HttpReply, most: int = 100) -> list[SseEvent]:
    """Return the events until the end, or this many."""
    reader, found = SseReader(), list[SseEvent]()
    while len(found) < most and (chunk := await reply.chunk()):
        found += reader.feed(chunk)
    return found


def test_a_session_is_opened_used_and_ended() -> None:
    async def main() -> None:
        service = Tools()
        async with fronted(service) as client:
            session = await opened(client)
            reply = await post(client, message("notifications/initialized", None), session)
            assert (reply.status, await reply.body(10)) == (202, b"")
            reply = await post(client, call("echo", 5), session)
            assert (reply.status, json.loads(await reply.body(1000))["id"]) == (200, 5)
            ended = await client.request("DELETE", [session], b"")
            assert (ended.status, await ended.body(10)) == (200, b"")
            lost = await post(client, call("echo"), session)
            assert (lost.status, json.loads(await lost.body(1000))["error"]["message"]) == (
                404,
                "Session not found",
            )

    run(main)


@pytest.mark.parametrize(
    ("headers", "body", "status", "code"),
    [
        ([], call("echo"), 400, -32600),
        ([(SESSION_HEADER, "absent")], call("echo"), 404, -32001),
        ([("mcp-protocol-version", "2099-01-01")], call("echo"), 400, -32602),
    ],
)
def test_requests_without_a_session_are_told_so(
    headers: list[tuple[str, str]], body: dict[str, Any], status: int, code: int
) -> None:
    async def main() -> None:
        async with fronted(Tools()) as client:
            reply = await post(client, body, *headers)
            assert (reply.status, json.loads(await reply.body(1000))["error"]["code"]) == (status, code)

    run(main)


@pytest.mark.parametrize(
    ("method", "headers", "body", "status"),
    [
        ("POST", [("content-type", "text/plain")], b"{}", 415),
        ("POST", CONTENT, b"{nonsense", 400),
        ("POST", [*CONTENT, ("origin", "http://evil.example")], b"{}", 403),
        ("PUT", CONTENT, b"{}", 405),
        ("GET", [], b"", 405),
    ],
)
def test_what_is_no_mcp_is_refused_by_status(
    method: str, headers: list[tuple[str, str]], body: bytes, status: int
) -> None:
    async def main() -> None:
        async with fronted(Tools()) as client:
            assert (await client.request(method, headers, body)).status == status

    run(main)


def test_notes_before_the_reply_make_it_a_stream() -> None:
    async def main() -> None:
        async with fronted(Tools()) as client:
            for reply in (
                await post(client, call("chatty"), await opened(client)),
                await modern(client, call("chatty")),
            ):
                assert reply.is_stream
                told = [json.loads(event.data) for event in await events(reply)]
                assert [each.get("params", {}).get("progress") for each in told] == [1, 2, None]
                assert told[-1]["id"] == 1

    run(main)


def test_what_belongs_to_no_call_comes_on_the_get_stream_and_can_be_resumed() -> None:
    async def main() -> None:
        service = Tools()
        async with fronted(service) as client:
            session = await opened(client)
            accept = ("accept", "text/event-stream")
            stream = await client.request("GET", [session, accept], b"")
            for text in ("one", "two"):
                service.sessions[-1].push(notification_of("n", {"text": text}))
            first = await events(stream, 2)
            assert [json.loads(each.data)["params"]["text"] for each in first] == ["one", "two"]
            twice = await client.request("GET", [session, accept], b"")
            assert twice.status == 409
            await twice.body(1000)
            stream.close()
            await asyncio.sleep(0.05)
            service.sessions[-1].push(notification_of("n", {"text": "three"}))
            assert first[0].id is not None
            again = await client.request("GET", [session, accept, ("last-event-id", first[0].id)], b"")
            missed = await events(again, 2)
            assert [json.loads(each.data)["params"]["text"] for each in missed] == ["two", "three"]
            again.close()

    run(main)


@pytest.mark.parametrize(
    ("wrong", "status", "code"),
    [
        ({"mcp_method": "tools/list"}, 400, -32020),
        ({"mcp_name": "other"}, 400, -32020),
        ({"mcp_protocol_version": "2099-01-01"}, 400, -32020),
    ],
)
def test_modern_headers_must_repeat_the_body(wrong: dict[str, str], status: int, code: int) -> None:
    async def main() -> None:
        async with fronted(Tools()) as client:
            reply = await modern(client, call("echo"), **wrong)
            assert (reply.status, json.loads(await reply.body(1000))["error"]["code"]) == (status, code)

    run(main)


def test_an_unknown_method_is_404_in_the_modern_era_and_200_in_the_old_one() -> None:
    async def main() -> None:
        async with fronted(Tools()) as client:
            assert (await modern(client, message("nope"))).status == 404
            assert (await post(client, message("nope"), await opened(client))).status == 200

    run(main)


def test_closing_the_answer_cancels_in_the_modern_era_only() -> None:
    async def main() -> None:
        service = Tools()
        async with fronted(service) as client:
            session = await opened(client)
            asks = [
                asyncio.ensure_future(post(client, call("slow", 7), session)),
                asyncio.ensure_future(modern(client, call("slow", 8))),
            ]
            async with asyncio.timeout(20):
                while len(service.waiting) < 2:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
            for ask in asks:
                ask.cancel()
            await asyncio.gather(*asks, return_exceptions=True)
            by_id = {each.request.id: each for each in service.waiting}
            gone = asyncio.Event()
            by_id[8].on_cancel(gone.set)
            await gone.wait()
            assert not by_id[7].cancelled
            await post(client, message("notifications/cancelled", None, requestId=7), session)
            assert by_id[7].cancelled

    run(main)


WHOLE = {"jsonrpc": "2.0", "id": 1, "result": {"x": "y" * 50}}


def broken(*frames: Any) -> Verdict:
    return Verdict(ask=False, frames=lambda reply: frames)


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_frames_of_faults_stand_on_the_wire_as_they_are_meant(era: str) -> None:
    async def main() -> None:
        service = Tools()
        service.verdicts = {
            "twice": broken(Send(WHOLE), Send(WHOLE)),
            "garbage": broken(Send(b"{oops")),
            "drip": broken(Drip(WHOLE, 11, 0.001)),
            "comments": broken(KeepAlive(0.01, 0.03), Send(WHOLE)),
            "status": broken(Status(429, (("retry-after", "7"),), {"no": 1})),
            "end": broken(EndStream()),
        }
        async with fronted(service) as client:
            session = await opened(client)

            async def said(name: str) -> tuple[int, bytes]:
                ask = modern(client, call(name)) if era == "modern" else post(client, call(name), session)
                reply = await ask
                return reply.status, await reply.body(10_000)

            assert await said("garbage") == (200, b"{oops")
            assert await said("drip") == (200, encode(WHOLE))
            assert [e.data for e in SseReader().feed((await said("twice"))[1])] == [encode(WHOLE)] * 2
            _, body = await said("comments")
            assert body.startswith(b": ")
            assert body.count(b": keep-alive") >= 2
            assert encode(WHOLE) in body
            assert await said("status") == (429, b'{"no":1}')
            assert await said("end") == (200, b"")

    run(main)


@pytest.mark.parametrize(
    ("frames", "reset", "began"),
    [
        ((Cut(WHOLE, 0.5),), False, True),
        ((Send(WHOLE), Cut(WHOLE, 0.5)), False, True),
        ((Disconnect(),), False, False),
        ((Disconnect(reset=True),), True, False),
    ],
)
def test_connections_end_as_the_fault_says(frames: tuple[Any, ...], reset: bool, began: bool) -> None:
    async def main() -> None:
        service = Tools()
        service.verdicts = {"bad": broken(*frames)}
        async with fronted(service) as client:
            with pytest.raises(ConnectionLost) as lost:
                reply = await modern(client, call("bad"))
                await reply.body(10_000)
            assert (lost.value.reset, lost.value.began) == (reset, began)
            assert (await modern(client, call("echo"))).status == 200

    run(main)


def test_a_frozen_session_gets_no_answer_and_others_do() -> None:
    async def main() -> None:
        service = Tools()
        service.verdicts = {"freeze": Verdict(ask=False, freezes_session=True)}
        async with fronted(service) as client:
            session, other = await opened(client), await opened(client)
            frozen = asyncio.ensure_future(post(client, call("freeze"), session))
            async with asyncio.timeout(20):
                while not service.tasks:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
            ping = asyncio.ensure_future(post(client, message("ping"), session))
            assert (await post(client, message("ping"), other)).status == 200
            await asyncio.sleep(0.1)
            assert not ping.done()
            assert not frozen.done()
            ping.cancel()
            frozen.cancel()
            await asyncio.gather(ping, frozen, return_exceptions=True)

    run(main)


def test_a_cancelled_call_leaves_the_connection_usable() -> None:
    async def main() -> None:
        service = Tools()
        async with fronted(service) as client:
            session = await opened(client)
            ask = asyncio.ensure_future(post(client, call("slow", 3), session))
            async with asyncio.timeout(20):
                while not service.waiting:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
            await post(client, message("notifications/cancelled", None, requestId=3), session)
            service.waiting[0].reply(result_of(3, {}))
            reply = await ask
            assert (reply.status, await reply.body(100)) == (202, b"")

    run(main)
