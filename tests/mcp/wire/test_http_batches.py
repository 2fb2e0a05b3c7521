"""Batches over HTTP: an array is answered with an array, in versions that have batches."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from faultkit.base.http.http_client import HttpClient, HttpReply
from faultkit.faults.call_fault import EndStream, Send, Status, Verdict
from faultkit.mcp.wire.era import SESSION_HEADER
from faultkit.mcp.wire.message import encode, result_of
from tests.mcp.wire.test_http_front import CONTENT, call, fronted, message, post, run
from tests.mcp.wire.tool_service import Tools

CALLED = {"content": [{"type": "text", "text": "{}"}]}


async def begun(client: HttpClient, version: str) -> tuple[str, str]:
    reply = await post(client, message("initialize", 0, protocolVersion=version))
    await reply.body(10_000)
    return SESSION_HEADER, reply.headers[SESSION_HEADER]


async def batch(client: HttpClient, session: tuple[str, str], *messages: Any) -> HttpReply:
    return await client.request("POST", [*CONTENT, session], encode(list(messages)))


def test_a_batch_is_answered_by_one_array() -> None:
    async def main() -> None:
        service = Tools()
        async with fronted(service) as client:
            session = await begun(client, "2025-03-26")
            reply = await batch(
                client, session, call("echo", 1), message("n", None), message("ping", 2), {"id": 7}
            )
            assert (reply.status, reply.headers["content-type"]) == (200, "application/json")
            replies = json.loads(await reply.body(10_000))
            assert [(each["id"], each.get("result")) for each in replies] == [(1, CALLED), (2, {}), (7, None)]
            assert "n" in service.seen
            reply = await batch(client, session, message("n", None))
            assert (reply.status, await reply.body(1000)) == (202, b"")

    run(main)


def test_a_batch_in_which_a_call_says_more_is_answered_by_a_stream() -> None:
    async def main() -> None:
        async with fronted(Tools()) as client:
            session = await begun(client, "2025-03-26")
            reply = await batch(client, session, call("chatty", 1), message("ping", 2))
            assert reply.is_stream
            events = [line[6:] for line in (await reply.body(10_000)).split(b"\n") if line[:6] == b"data: "]
            assert [each["id"] for each in json.loads(events.pop())] == [1, 2]
            assert [json.loads(each)["params"]["progress"] for each in events] == [1, 2]

    run(main)


def test_faults_act_on_one_of_a_batch() -> None:
    async def main() -> None:
        service = Tools()
        service.verdicts = {
            "twice": Verdict(frames=lambda reply: (Send(b"1"), Send(b"2"))),
            "ends": Verdict(frames=lambda reply: (EndStream(),)),
            "status": Verdict(ask=False, frames=lambda reply: (Status(503, (("retry-after", "1"),)),)),
        }
        async with fronted(service) as client:
            session = await begun(client, "2025-03-26")
            reply = await batch(client, session, call("twice", 1), call("ends", 2), message("ping", 3))
            assert json.loads(await reply.body(1000)) == [json.loads(result_of(3, {})), 1, 2]
            reply = await batch(client, session, call("status", 1), message("ping", 2))
            assert (reply.status, reply.headers["retry-after"]) == (503, "1")

    run(main)


def test_a_version_without_batches_refuses_them() -> None:
    async def main() -> None:
        async with fronted(Tools()) as client:
            session = await begun(client, "2025-06-18")
            reply = await batch(client, session, message("ping", 1))
            assert reply.status == 400
            assert json.loads(await reply.body(1000))["error"]["message"] == (
                "Invalid request: expected one message, got a batch, which version 2025-06-18 does not have"
            )

    run(main)


def test_a_second_call_with_the_id_of_one_under_way_is_refused_and_the_first_is_answered() -> None:
    async def main() -> None:
        service = Tools()
        async with fronted(service) as client:
            session = await begun(client, "2025-11-25")
            first = asyncio.ensure_future(post(client, call("slow", 1), session))
            while not service.waiting:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            second = await post(client, call("echo", 1), session)
            assert second.status == 400
            assert json.loads(await second.body(1000))["error"] == {
                "code": -32600,
                "message": "Invalid request: a call with this id is under way",
            }
            service.waiting[0].reply(result_of(1, {}))
            assert await (await first).body(1000) == result_of(1, {})

    run(main)
