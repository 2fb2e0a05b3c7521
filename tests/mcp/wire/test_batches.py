"""Batches over stdio: an array is answered with an array, in versions that have batches."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from faultkit.faults.call_fault import Cut, Drip, Send, Verdict
from faultkit.mcp.wire.era import CAPABILITIES_KEY, VERSION_KEY
from faultkit.mcp.wire.message import encode, result_of
from tests.mcp.wire.test_stdio_front import Peer, call, connected_peer, run, text
from tests.mcp.wire.tool_service import Tools

CANCEL = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}


def ping(id: int, **meta: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": "ping", "params": {"_meta": meta} if meta else {}}


def batch(*messages: Any) -> bytes:
    return b"[" + b" , ".join(encode(each) for each in messages) + b"]"


async def opened(peer: Peer, version: str) -> None:
    params = {"protocolVersion": version}
    peer.say({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
    await peer.message()


@pytest.mark.parametrize("version", [None, "2024-11-05", "2025-03-26"])
def test_a_batch_is_answered_by_one_array_when_its_last_call_is(version: str | None) -> None:
    async def main() -> None:
        service = Tools()
        async with connected_peer(service) as peer:
            if version is not None:
                await opened(peer, version)
            peer.say(batch(call(1, "slow"), call(2, "chatty"), {"jsonrpc": "2.0", "method": "n"}), ping(3))
            assert [(await peer.message())["method"] for _ in range(2)] == ["notifications/progress"] * 2
            assert (await peer.message())["id"] == 3
            (slow,) = service.waiting
            slow.reply(result_of(1, {}))
            assert await peer.message() == [
                {"jsonrpc": "2.0", "id": 2, "result": text("{}")},
                {"jsonrpc": "2.0", "id": 1, "result": {}},
            ]
            assert "n" in service.seen

    run(main)


def test_what_cannot_be_in_a_batch_has_its_error_there() -> None:
    async def main() -> None:
        async with connected_peer(Tools()) as peer:
            peer.say(batch(ping(1), ping(1), 5, {"id": 7}, {**ping(8), "method": "initialize"}))
            replies = await peer.message()
            assert [(reply["id"], reply.get("error", {}).get("code")) for reply in replies] == [
                (1, None), (1, -32600), (None, -32600), (7, -32600), (8, -32600),
            ]  # fmt: skip
            assert replies[1]["error"]["message"] == (
                "Invalid request: expected an id that no other request of the batch has"
            )
            assert replies[4]["error"]["message"] == (
                "Invalid request: expected initialize by itself, got it in a batch"
            )

    run(main)


def test_nothing_is_said_to_a_batch_that_asks_nothing_or_was_cancelled() -> None:
    async def main() -> None:
        service = Tools()
        async with connected_peer(service) as peer:
            peer.say(batch(CANCEL, {"jsonrpc": "2.0", "id": 5, "result": {}}))
            peer.say(batch(call(1, "slow")), CANCEL, ping(2))
            assert (await peer.message())["id"] == 2
            service.waiting[0].reply(result_of(1, {}))
            peer.say(ping(3))
            assert (await peer.message())["id"] == 3

    run(main)


def test_one_call_of_a_batch_may_be_broken() -> None:
    async def main() -> None:
        service = Tools()
        reply = {"jsonrpc": "2.0", "id": 1, "result": {}}
        raw = encode(reply)
        service.verdicts = {
            "twice": Verdict(ask=False, frames=lambda _: (Send(reply), Send(reply))),
            "cut": Verdict(ask=False, frames=lambda _: (Cut(reply, 0.5),)),
            "drip": Verdict(ask=False, frames=lambda _: (Drip(reply, 30, 0.001),)),
        }
        async with connected_peer(service) as peer:
            for name, item in (
                ("twice", raw + b"," + raw),
                ("cut", raw[: len(raw) // 2]),
                ("drip", raw),
            ):
                peer.say(batch(call(1, name), ping(2)))
                assert await peer.line() == b'[{"jsonrpc":"2.0","id":2,"result":{}},' + item + b"]\n"

    run(main)


def test_a_frozen_session_does_not_answer_a_batch_either() -> None:
    async def main() -> None:
        service = Tools()
        service.verdicts = {"freeze": Verdict(ask=False, freezes_session=True)}
        async with connected_peer(service) as peer:
            peer.say(ping(0), batch(call(1, "freeze"), ping(2)))
            assert (await peer.message())["id"] == 0
            await asyncio.gather(*service.tasks)
            peer.say(batch(5))
            peer.hang_up()
            assert await peer.line() == b""

    run(main)


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25"])
def test_a_version_without_batches_refuses_them(version: str) -> None:
    async def main() -> None:
        async with connected_peer(Tools()) as peer:
            await opened(peer, version)
            peer.say(batch(ping(1), ping(2)), ping(3))
            why = f"expected one message, got a batch, which version {version} does not have"
            error = {"code": -32600, "message": f"Invalid request: {why}"}
            assert await peer.message() == {"jsonrpc": "2.0", "id": None, "error": error}
            assert (await peer.message())["id"] == 3

    run(main)


@pytest.mark.parametrize("is_first", [True, False])
def test_the_modern_era_has_no_batches(is_first: bool) -> None:
    meta = {VERSION_KEY: "2026-07-28", CAPABILITIES_KEY: {}}

    async def main() -> None:
        async with connected_peer(Tools()) as peer:
            if not is_first:
                peer.say(ping(1, **meta))
                await peer.message()
            peer.say(batch(ping(2, **meta)))
            answer = await peer.message()
            assert answer["error"]["message"].endswith("a batch, which version 2026-07-28 does not have")

    run(main)
