"""HTTP on both sides: the parts of a response that a fault does not change are those of the upstream."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from faultkit.base.http.http_client import HttpClient
from faultkit.base.http.http_exchange import HttpRequest, ResponseWriter
from faultkit.base.http.http_server import HttpServer
from faultkit.mcp.wire.message import encode
from faultkit.plan import Plan
from tests.mcp.gateway.gateway_peers import relayed, request, run
from tests.mcp.gateway.test_bytes import CONTENT
from tests.mcp.specs import parse_specs

JSON = ("content-type", "application/json")
STREAM = ("Content-Type", "Text/Event-Stream; charset=utf-8")
CALL = request(1, "tools/call", name="a")
REPLY = b'{"jsonrpc":"2.0", "id":1,"result":{"content":[]}}'
PROGRESS = b'{"jsonrpc":"2.0","method":"notifications/progress","params":{}}'


@asynccontextmanager
async def upstream(handle: Any) -> AsyncIterator[str]:
    server = HttpServer(handle)
    host, port = await server.start("127.0.0.1", 0)
    try:
        yield f"http://{host}:{port}/mcp"
    finally:
        await server.stop()


def plan(*specs: str) -> Plan:
    return Plan(parse_specs(specs))


async def called(client: HttpClient, body: bytes = CALL, *more: tuple[str, str]) -> tuple[int, Any, bytes]:
    reply = await client.request("POST", [*CONTENT, *more], body)
    return reply.status, reply.headers, await reply.body(1 << 20)


@pytest.mark.parametrize("fault", ["slow:1", "mistyped_id"])
@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}'),
        (429, b"slow down"),
        (200, b'{"jsonrpc":"2.0","id":"1","result":{}}'),
        (204, b""),
    ],
)
def test_an_answer_that_is_no_reply_to_the_call_passes_as_it_is(fault: str, status: int, body: bytes) -> None:
    said: list[str] = []

    def handle(asked: HttpRequest, answer: ResponseWriter) -> None:
        headers = [JSON, ("Retry-After", "7"), ("Mcp-Session-Id", "s")]
        answer.respond_without_body(204, headers) if status == 204 else answer.respond(status, headers, body)

    async def main() -> None:
        async with upstream(handle) as url, relayed(url, plan(fault), warn=said.append) as client:
            seen = await called(client)
            assert (seen[0], seen[2]) == (status, body)
            assert (seen[1]["retry-after"], seen[1]["mcp-session-id"]) == ("7", "s")

    run(main)
    told = (
        f"{fault} could not act on tools/call: the upstream's answer, with status {status}, is no reply to it"
    )
    assert said == ([] if fault == "slow:1" else [told])


@pytest.mark.parametrize(
    ("fault", "status", "body"),
    [
        ("slow:1", 400, b'{"jsonrpc":"2.0", "id":1,"error":{"code":-32602,"message":"m"}}'),
        ("wrong_id:9", 400, b'{"jsonrpc":"2.0","id":"9","error":{"code":-32602,"message":"m"}}'),
    ],
)
def test_a_reply_keeps_the_status_and_the_headers_that_it_came_with(
    fault: str, status: int, body: bytes
) -> None:
    def handle(asked: HttpRequest, answer: ResponseWriter) -> None:
        error = b'{"jsonrpc":"2.0", "id":1,"error":{"code":-32602,"message":"m"}}'
        answer.respond(400, [JSON, ("Mcp-Session-Id", "s"), ("X-Own", "1")], error)

    async def main() -> None:
        async with upstream(handle) as url, relayed(url, plan(fault)) as client:
            seen = await called(client)
            assert (seen[0], seen[2]) == (status, body)
            assert (seen[1]["x-own"], seen[1]["mcp-session-id"]) == ("1", "s")

    run(main)


def test_a_stream_that_a_rule_only_delays_is_the_same_to_the_byte() -> None:
    whole = (
        b"\xef\xbb\xbf: hello\r\n\r\nid: 1\nretry: 100\ndata:\n\n"
        b"event: message\nid: 2\ndata: " + PROGRESS + b"\n\n: alive\n\nid: 3\ndata: " + REPLY + b"\n\n"
    )

    def handle(asked: HttpRequest, answer: ResponseWriter) -> None:
        answer.begin(200, [STREAM, ("Mcp-Session-Id", "s")])
        for start in range(0, len(whole), 7):
            answer.write(whole[start : start + 7])
        answer.end()

    async def main() -> None:
        async with upstream(handle) as url, relayed(url, plan("slow:1")) as client:
            status, headers, body = await called(client)
            assert (status, headers["mcp-session-id"], body) == (200, "s", whole)
        async with upstream(handle) as url, relayed(url, plan("wrong_id:9")) as client:
            status, headers, body = await called(client)
            assert body.startswith(whole[: whole.index(b"id: 3")])
            assert body.endswith(b'data: {"jsonrpc":"2.0","id":"9","result":{"content":[]}}\n\n')

    run(main)


def test_a_stream_that_ends_before_the_reply_ends_so_for_the_client_who_can_come_back() -> None:
    said: list[str] = []
    priming = b"id: 1\nretry: 100\ndata:\n\n"

    def handle(asked: HttpRequest, answer: ResponseWriter) -> None:
        answer.begin(200, [STREAM])
        if asked.method == "POST":
            answer.write(priming)
        else:
            assert asked.headers["last-event-id"] == "1"
            answer.write(b"id: 2\ndata: " + REPLY + b"\n\n")
        answer.end()

    async def main() -> None:
        rules = plan("slow:1@a", "malformed_json@b")
        async with upstream(handle) as url, relayed(url, rules, warn=said.append) as client:
            assert (await called(client))[::2] == (200, priming)
            resumed = await client.request("GET", [("last-event-id", "1")], b"")
            assert await resumed.body(1000) == b"id: 2\ndata: " + REPLY + b"\n\n"
            assert said == []
            assert (await called(client, request(1, "tools/call", name="b")))[::2] == (200, priming)

    run(main)
    assert said == [
        "malformed_json could not act on tools/call: "
        "the upstream's answer, with status 200, ended without the reply"
    ]


def test_a_client_that_is_redirected_within_the_upstream_stays_with_the_gateway() -> None:
    said: list[str] = []
    away = "http://elsewhere.example/mcp"

    def handle(asked: HttpRequest, answer: ResponseWriter) -> None:
        if asked.path == "/mcp":
            answer.respond(200, [JSON], REPLY)
        else:
            there = f"http://{asked.headers['host']}/mcp?a=1" if asked.path == "/mcp/" else away
            answer.respond(307, [("Location", there)])

    async def main() -> None:
        async with upstream(handle) as url, relayed(f"{url}/", warn=said.append) as client:
            assert client.target == "/mcp/"
            status, headers, _ = await called(client)
            assert (status, headers["location"]) == (307, "/mcp?a=1")
            reply = await client.request("POST", CONTENT, CALL, headers["location"])
            assert (reply.status, await reply.body(1000)) == (200, REPLY)
            assert said == []
            reply = await client.request("POST", CONTENT, CALL, "/other")
            assert (reply.status, reply.headers["location"]) == (307, away)

    run(main)
    assert said == [f"sends its client on to {away}, past this gateway; give that as --upstream"]


def _echo(asked: HttpRequest, answer: ResponseWriter) -> None:
    message = json.loads(asked.body)
    if isinstance(message, list):
        answer.respond(200, [JSON], b'"a batch"')
    elif "id" not in message:
        answer.respond(202)
    elif message["method"] == "ping":
        answer.begin(200, [STREAM])
        answer.write(b"data: " + PROGRESS + b"\n\n")
        answer.write(b"data: " + encode({"jsonrpc": "2.0", "id": message["id"], "result": {}}) + b"\n\n")
        answer.end()
    else:
        answer.respond(200, [JSON], encode({"jsonrpc": "2.0", "id": message["id"], "result": {"ok": True}}))


BATCH = b"[" + CALL + b"," + request(2, "tools/list") + b',{"jsonrpc":"2.0","method":"notifications/x"}]'


def test_rules_act_within_a_batch_where_the_version_has_them() -> None:
    async def main() -> None:
        async with upstream(_echo) as url, relayed(url, plan("error:-32050")) as client:
            status, headers, body = await called(client, BATCH)
            assert (status, headers["content-type"]) == (200, "application/json")
            by_id = {each["id"]: each for each in json.loads(body)}
            assert by_id[1]["error"]["code"] == -32050
            assert by_id[2]["result"] == {"ok": True}
            talking = b"[" + CALL + b"," + request(3, "ping") + b"]"
            _, headers, body = await called(client, talking)
            assert headers["content-type"] == "text/event-stream"
            first, last = [json.loads(line[6:]) for line in body.split(b"\n") if line.startswith(b"data: ")]
            assert (first["method"], {each["id"] for each in last}) == ("notifications/progress", {1, 3})
            later = ("mcp-protocol-version", "2025-11-25")
            assert (await called(client, BATCH, later))[2] == b'"a batch"'
        async with upstream(_echo) as url, relayed(url) as client:
            assert (await called(client, BATCH))[2] == b'"a batch"'

    run(main)


def test_a_batch_whose_calls_are_refused_is_refused() -> None:
    def handle(asked: HttpRequest, answer: ResponseWriter) -> None:
        answer.respond(401, [("WWW-Authenticate", "Bearer")], b"who are you?")

    async def main() -> None:
        async with upstream(handle) as url, relayed(url, plan("slow:1")) as client:
            status, headers, body = await called(client, BATCH)
            assert (status, headers["www-authenticate"], body) == (401, "Bearer", b"who are you?")

    run(main)


def test_a_server_without_sessions_is_frozen_until_a_client_begins_anew() -> None:
    async def main() -> None:
        async with upstream(_echo) as url, relayed(url, plan("frozen,first=1")) as client:
            call = await _unanswered(client, CALL)
            ping = await _unanswered(client, request(2, "tools/list"))
            opening = request(0, "initialize", protocolVersion="2025-11-25")
            assert (await called(client, opening))[0] == 200
            assert (await called(client))[2] == b'{"jsonrpc":"2.0","id":1,"result":{"ok":true}}'
            for each in (call, ping):
                each.cancel()

    run(main)


async def _unanswered(client: HttpClient, body: bytes) -> Any:
    asking = asyncio.ensure_future(client.request("POST", CONTENT, body))
    done, _ = await asyncio.wait([asking], timeout=0.1)
    assert not done
    return asking
