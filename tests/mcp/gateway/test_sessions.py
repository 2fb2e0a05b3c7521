"""Cancellation, resumption, headers and order between two transports."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from faultkit.base.http.http_client import HttpClient, HttpReply
from faultkit.faults.call.tool_error import ToolError
from faultkit.mcp.gateway.recorder import Recorder
from faultkit.mcp.wire.era import CAPABILITIES_KEY, VERSION_KEY, headers_of
from faultkit.mcp.wire.http_front import HttpFront
from faultkit.mcp.wire.message import encode, notification_of, read
from faultkit.plan import Plan, Rule, parse_schedule
from tests.mcp.gateway.gateway_peers import (
    http_answer,
    http_request,
    on_http,
    on_pipes,
    relayed,
    request,
    run,
    scripted,
    to_lines,
    to_url,
)
from tests.mcp.gateway.test_bytes import CONTENT, opened
from tests.mcp.specs import parse_specs
from tests.mcp.wire.tool_service import Tools

META = {VERSION_KEY: "2026-07-28", CAPABILITIES_KEY: {}}
STREAM = ("accept", "text/event-stream")


def plan(*specs: str) -> Plan:
    return Plan(parse_specs(specs))


def cancel(id: int) -> bytes:
    return notification_of("notifications/cancelled", {"requestId": id})


def call(id: int, name: str, **more: Any) -> bytes:
    return request(id, "tools/call", name=name, arguments={}, **more)


@asynccontextmanager
async def upstream() -> AsyncIterator[tuple[Tools, str]]:
    service = Tools()
    front = HttpFront(service)
    host, port = await front.start("127.0.0.1", 0)
    try:
        yield service, f"http://{host}:{port}/mcp"
    finally:
        await front.stop()


async def until(service: Tools, what: str) -> None:
    async with asyncio.timeout(20):
        while what not in service.seen:
            await asyncio.to_thread(lambda: None)


# --- cancellation --------------------------------------------------------------------------------


def test_a_late_reply_of_a_server_on_pipes_still_reaches_its_client() -> None:
    late = b'{"jsonrpc":"2.0","id":1,"result":{"too":"late"}}'

    async def main() -> None:
        async with on_pipes(to_lines()) as client:
            client.say(request(1, "notifications/ignored"), cancel(1))
            assert (await client.message())["id"] == 1
            client.say(request(2, "say", say=[late.hex()]), request(3, "pid"))
            assert await client.line() == late
            assert (await client.message())["id"] == 3

    run(main)


def test_a_cancelled_call_over_http_ends_its_answer_though_the_server_says_nothing() -> None:
    async def main() -> None:
        async with on_http(to_lines()) as client:
            headers = await opened(client)
            asking = asyncio.create_task(client.request("POST", headers, request(1, "say", say=[])))
            await asyncio.sleep(0)  # It is sent on the open connection, before the next opens one.
            await (await client.request("POST", headers, request(2, "pid"))).body(1000)
            assert (await client.request("POST", headers, cancel(1))).status == 202
            reply = await asking
            assert (reply.status, await reply.body(1000)) == (202, b"")

    run(main)


@pytest.mark.parametrize("fault", ["hang", "slow:60000"])
def test_a_server_does_not_hear_of_the_end_of_a_call_that_it_never_got(fault: str) -> None:
    async def main() -> None:
        async with upstream() as (service, url):
            async with relayed(url, plan(fault)) as client:
                headers = await opened(client)
                asking = asyncio.create_task(client.request("POST", headers, call(1, "a")))
                await asyncio.sleep(0)  # It is sent on the open connection, before the next opens one.
                await (await client.request("POST", headers, request(2, "ping"))).body(1000)
                assert (await client.request("POST", headers, cancel(1))).status == 202
                assert (await asking).status == 202
            async with on_pipes(to_url(url), plan(fault)) as pipes:
                await pipes.ask(0, "initialize", protocolVersion="2025-11-25")
                pipes.say(call(1, "a"), cancel(1))
                await pipes.ask(2, "ping")
            assert "notifications/cancelled" not in service.seen
            assert "tools/call" not in service.seen

    run(main)


def test_a_server_made_deaf_answers_after_the_cancellation() -> None:
    async def main() -> None:
        async with upstream() as (service, url):
            async with on_pipes(to_url(url), plan("reply_after_cancel:50")) as client:
                await client.ask(0, "initialize", protocolVersion="2025-11-25")
                client.say(call(1, "echo"), cancel(1))
                answer = await client.message()
                assert (answer["id"], answer["result"]["content"][0]["text"]) == (1, "{}")
            assert "notifications/cancelled" not in service.seen

    run(main)


def test_a_cancellation_passes_when_nothing_acts_on_the_call() -> None:
    async def main() -> None:
        async with upstream() as (service, url):
            async with on_pipes(to_url(url)) as client:
                await client.ask(0, "initialize", protocolVersion="2025-11-25")
                client.say(call(1, "slow"))
                await until(service, "tools/call")
                client.say(cancel(1))
                await until(service, "notifications/cancelled")
                assert await client.ask(2, "ping") == {}

    run(main)


# --- streams ---------------------------------------------------------------------------------------


async def event_ids(reply: HttpReply, count: int) -> list[str]:
    found: list[str] = []
    text = b""
    while len(found) < count:
        text += await reply.chunk()
        found = [line[4:].decode() for line in text.splitlines() if line.startswith(b"id: ")]
    return found


def test_a_stream_is_resumed_through_the_relay_with_its_last_event_id() -> None:
    async def main() -> None:
        async with upstream() as (service, url), relayed(url) as client:
            headers = [*await opened(client), STREAM]
            stream = await client.request("GET", headers, b"")
            session = service.sessions[-1]
            for number in range(3):
                session.push(notification_of("notifications/x", {"n": number}))
            ids = await event_ids(stream, 3)
            stream.close()
            session.push(notification_of("notifications/x", {"n": 3}))
            async with asyncio.timeout(20):
                while True:
                    # The server may not have noticed yet that the first reader has disconnected.
                    again = await client.request("GET", [*headers, ("last-event-id", ids[1])], b"")
                    if again.status == 200:
                        break
                    await again.body(1000)
            assert await event_ids(again, 2) == ["own-2", "own-3"]
            again.close()

    run(main)


def test_what_a_server_on_pipes_says_of_a_call_goes_with_that_call() -> None:
    log = notification_of("notifications/message", {"level": "info", "data": "x"})
    question = request("q-1", "sampling/createMessage", messages=[])
    taken_back = notification_of("notifications/cancelled", {"requestId": "q-1"})
    changed = notification_of("notifications/tools/list_changed", {})
    reply_to_1 = b'{"jsonrpc":"2.0","id":1,"result":{}}'
    said = [log, question, taken_back, changed, reply_to_1]

    async def main() -> None:
        async with on_http(to_lines()) as client:
            headers = await opened(client)
            stream = await client.request("GET", [*headers, STREAM], b"")
            reply = await client.request(
                "POST", headers, request(1, "say", say=[line.hex() for line in said])
            )
            body = await reply.body(10_000)
            got = [line[6:] for line in body.splitlines() if line.startswith(b"data: ")]
            assert got == [log, question, taken_back, reply_to_1]
            assert changed in await stream.chunk()
            stream.close()

    run(main)


# --- the modern era --------------------------------------------------------------------------------


def modern(id: object, method: str, **params: Any) -> bytes:
    return encode({"jsonrpc": "2.0", "id": id, "method": method, "params": {"_meta": META, **params}})


def test_a_client_on_pipes_need_not_know_which_arguments_belong_in_headers() -> None:
    heads: list[bytes] = []
    schema = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head, body = await http_request(reader)
            heads.append(head)
            asked = json.loads(body)
            message: dict[str, Any] = {"jsonrpc": "2.0", "id": asked["id"]}
            if asked["method"] == "tools/list":
                tools = [{"name": "a", "inputSchema": schema}]
                message["result"] = {"tools": tools if asked["params"].get("cursor") else []}
                if not asked["params"].get("cursor"):
                    message["result"]["nextCursor"] = "2"
                writer.write(http_answer(encode(message)))
            elif b"Mcp-Param-Region: eu\r\n" in head:
                writer.write(http_answer(encode({**message, "result": {"ok": True}})))
            else:
                error = {"code": -32020, "message": "Header mismatch"}
                writer.write(http_answer(encode({**message, "error": error}), b"400 Bad Request"))

    async def main() -> None:
        async with scripted(script) as url, on_pipes(to_url(url)) as client:
            client.say(modern(1, "tools/call", name="a", arguments={"region": "eu"}))
            assert (await client.message())["result"] == {"ok": True}
            methods = [
                line for head in heads for line in head.split(b"\r\n") if line.startswith(b"Mcp-Method")
            ]
            assert methods == [
                b"Mcp-Method: tools/call",
                *[b"Mcp-Method: tools/list"] * 2,
                b"Mcp-Method: tools/call",
            ]
            client.say(modern(2, "tools/call", name="a", arguments={"region": "us"}))
            assert (await client.message())["error"]["code"] == -32020

    run(main)


def test_headers_that_differ_from_the_body_are_refused_for_a_server_that_cannot_see_them() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "number", "x-mcp-header": "N"}}}
    listed = encode({"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "a", "inputSchema": schema}]}})

    async def ask(client: HttpClient, raw: bytes, *more: tuple[str, str]) -> tuple[int, Any]:
        reply = await client.request("POST", [*CONTENT, *headers_of(read(raw)), *more], raw)
        return reply.status, json.loads(await reply.body(10_000))

    async def main() -> None:
        async with on_http(to_lines()) as client:
            assert (await ask(client, modern("l", "say", say=[listed.hex()])))[0] == 200
            raw = modern(2, "tools/call", name="a", arguments={"n": 1.5})
            for more, status in (
                ([], 400),
                ([("Mcp-Param-N", "2")], 400),
                ([("mcp-param-n", " 1.50 ")], 200),
            ):
                assert (await ask(client, raw, *more))[0] == status
            status, body = await ask(client, modern(3, "initialize", protocolVersion="2025-11-25"))
            assert (status, body["error"]["code"]) == (404, -32601)

    run(main)


def test_a_recording_of_clients_that_share_a_server_has_their_own_ids(tmp_path: Path) -> None:
    file = tmp_path / "calls.jsonl"

    async def main() -> None:
        recorder = Recorder(str(file), lambda: 0.0)
        async with on_http(to_lines(), observer=recorder) as client:
            raw = modern("mine", "tools/call", name="a", arguments={})
            reply = await client.request("POST", [*CONTENT, *headers_of(read(raw))], raw)
            await reply.body(1000)
        recorder.close()
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        assert [(line["from"], line["message"]["id"]) for line in lines] == [
            ("client", "mine"),
            ("server", "mine"),
        ]

    run(main)


# --- order -----------------------------------------------------------------------------------------


def test_a_reply_lets_others_pass_through_the_relay_too() -> None:
    async def main() -> None:
        async with upstream() as (_, url), relayed(url, plan("out_of_order@late")) as client:
            headers = await opened(client)
            order: list[str] = []

            async def ask(id: int, name: str) -> None:
                reply = await client.request("POST", headers, call(id, name))
                await reply.body(1000)
                order.append(name)

            late = asyncio.create_task(ask(1, "late"))
            await asyncio.sleep(0.05)
            await ask(2, "early")
            await late
            assert order == ["early", "late"]

    run(main)


# --- time ------------------------------------------------------------------------------------------


def test_schedules_use_the_clock_of_the_gateway_state() -> None:
    late = Plan((Rule("late", ToolError(), schedule=parse_schedule("start:10s")),))

    async def main() -> None:
        async with upstream() as (_, url):
            async with on_pipes(to_url(url), late, elapsed=lambda: 11.0) as pipes:
                await pipes.ask(0, "initialize", protocolVersion="2025-11-25")
                assert (await pipes.ask(1, "tools/call", name="a", arguments={}))["isError"] is True
            async with relayed(url, late, elapsed=lambda: 11.0) as client:
                headers = await opened(client)
                reply = await client.request("POST", headers, call(1, "a"))
                assert json.loads(await reply.body(1000))["result"]["isError"] is True

    run(main)
