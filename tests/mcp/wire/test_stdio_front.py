"""The stdio front on real pipes."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from faultkit.base.framing import LineReader
from faultkit.faults.call_fault import Cut, Disconnect, Drip, Send, Verdict
from faultkit.mcp.wire import stdio_front as stdio
from faultkit.mcp.wire.exchange import Exchange, Session
from faultkit.mcp.wire.message import encode, notification_of, result_of
from faultkit.mcp.wire.stdio_front import serve_stdio
from tests.mcp.wire.tool_service import Tools


class Peer:
    """The client's ends of the pipes."""

    def __init__(self, reader: asyncio.StreamReader, write_fd: int) -> None:
        self.reader = reader
        self.write_fd = write_fd

    def say(self, *messages: dict[str, Any] | bytes) -> None:
        lines = [each if isinstance(each, bytes) else encode(each) for each in messages]
        os.write(self.write_fd, b"".join(line + b"\n" for line in lines))

    async def line(self) -> bytes:
        async with asyncio.timeout(20):
            return await self.reader.readline()

    async def message(self) -> Any:
        return json.loads(await self.line())

    def hang_up(self) -> None:
        if self.write_fd >= 0:
            os.close(self.write_fd)
        self.write_fd = -1


@asynccontextmanager
async def connected_peer(service: Tools) -> AsyncIterator[Peer]:
    in_read, in_write = os.pipe()
    out_read, out_write = os.pipe()
    serving = asyncio.get_running_loop().create_task(serve_stdio(service, in_read, out_write))
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(out_read, "rb", 0)
    )
    peer = Peer(reader, in_write)
    try:
        yield peer
        peer.hang_up()
        async with asyncio.timeout(20):
            await serving
    finally:
        peer.hang_up()
        serving.cancel()
        await asyncio.gather(*service.tasks, return_exceptions=True)
        transport.close()
        os.close(in_read)
        os.close(out_write)


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(20):
            await test()

    asyncio.run(bounded())


def call(id: int | str, name: str, **arguments: Any) -> dict[str, Any]:
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}


def text(arguments: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": arguments}]}


def test_calls_are_answered_and_the_end_of_input_is_the_end() -> None:
    async def main() -> None:
        service = Tools()
        async with connected_peer(service) as peer:
            peer.say(call(1, "echo", a=1), call("b", "chatty"))
            assert await peer.message() == {"jsonrpc": "2.0", "id": 1, "result": text("{'a': 1}")}
            assert (await peer.message())["params"] == {"progress": 1}
            assert (await peer.message())["params"] == {"progress": 2}
            assert (await peer.message())["id"] == "b"
        assert service.seen[-1] == "closed"

    run(main)


@pytest.mark.parametrize(
    ("line", "code", "id"),
    [
        (b"{nonsense", -32700, None),
        (b"\xff\xff", -32700, None),
        (b'{"id":3,"method":"ping"}', -32600, 3),
        (b'{"jsonrpc":"2.0","id":4,"method":"nope"}', -32601, 4),
    ],
)
def test_bad_lines_get_an_error_and_the_next_line_its_answer(line: bytes, code: int, id: object) -> None:
    async def main() -> None:
        async with connected_peer(Tools()) as peer:
            peer.say(line, call(9, "echo"))
            answer = await peer.message()
            assert (answer["error"]["code"], answer["id"]) == (code, id)
            assert (await peer.message())["id"] == 9

    run(main)


class Defective(Tools):
    """A service with a defect."""

    def request(self, exchange: Exchange) -> None:
        if exchange.request.params.get("name") == "defect":
            raise ZeroDivisionError
        super().request(exchange)


def test_a_line_that_shows_a_defect_is_answered_and_loses_no_other() -> None:
    async def main() -> None:
        told: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: told.append(context))
        async with connected_peer(Defective()) as peer:
            peer.say(call(1, "echo"), call(2, "defect"), call(3, "echo"))
            assert (await peer.message())["id"] == 1
            assert await peer.message() == {
                "jsonrpc": "2.0",
                "id": 2,
                "error": {"code": -32603, "message": "Internal error: ZeroDivisionError"},
            }
            assert (await peer.message())["id"] == 3
        assert [type(each["exception"]) for each in told] == [ZeroDivisionError]

    run(main)


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_the_last_line_is_a_message_whether_or_not_it_ends(end: bytes, tmp_path: Path) -> None:
    line = encode(call(1, "echo"))

    async def piped() -> None:
        async with connected_peer(Tools()) as peer:
            os.write(peer.write_fd, line + end)
            peer.hang_up()
            assert (await peer.message())["id"] == 1

    async def from_file() -> None:
        asked, said = tmp_path / "asked", tmp_path / "said"
        asked.write_bytes(line + end)
        with asked.open("rb") as stdin, said.open("wb") as stdout:
            await serve_stdio(Tools(), stdin.fileno(), stdout.fileno())
        assert json.loads(said.read_bytes())["id"] == 1

    run(piped)
    run(from_file)


@pytest.mark.parametrize(
    ("head", "id"),
    [
        (b'{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"x":"', "a"),
        (b'{"method":"tools/call","id":7,"jsonrpc":"2.0","params":{"x":"', 7),
        (b'{"jsonrpc":"2.0","method":"tools/call","params":{"id":5,"x":"', None),
        (b'{"jsonrpc":"2.0","id":5,"result":{"x":"', None),
        (b'{"jsonrpc":"2.0","method":"n","params":{"x":"', None),
    ],
)
def test_a_line_above_the_limit_is_refused_with_the_limit_and_its_id(
    head: bytes, id: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stdio, "LineReader", partial(LineReader, limit=200))
    line = head + b"x" * 1000 + b'"}}'

    async def main() -> None:
        async with connected_peer(Tools()) as peer:
            peer.say(line, call(9, "echo"))
            why = f"Invalid request: a line of {len(line)} bytes, above the limit of 200 bytes"
            error = {"code": -32600, "message": why}
            assert await peer.message() == {"jsonrpc": "2.0", "id": id, "error": error}
            assert (await peer.message())["id"] == 9

    run(main)


def test_a_cancelled_call_gets_no_reply() -> None:
    async def main() -> None:
        service = Tools()
        async with connected_peer(service) as peer:
            peer.say(
                call(1, "slow"),
                {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
                call(2, "echo"),
            )
            assert (await peer.message())["id"] == 2
            (slow,) = service.waiting
            assert slow.cancelled
            slow.reply(result_of(1, {}))
            peer.say(call(3, "echo"))
            assert (await peer.message())["id"] == 3

    run(main)


def test_the_server_can_ask_and_is_answered() -> None:
    async def main() -> None:
        service = Tools()
        async with connected_peer(service) as peer:
            peer.say(call(1, "echo"))
            await peer.message()
            service.sessions[0].push(notification_of("notifications/message", {}))
            assert (await peer.message())["method"] == "notifications/message"
            peer.say({"jsonrpc": "2.0", "id": "s1", "result": {"roots": []}}, call(2, "echo"))
            await peer.message()
            assert service.responses == [{"roots": []}]

    run(main)


def test_frames_of_faults_stand_on_the_wire_as_they_are_meant() -> None:
    async def main() -> None:
        service = Tools()
        whole = {"jsonrpc": "2.0", "id": 1, "result": {"x": "y" * 20}}
        raw = encode(whole)
        service.verdicts = {
            "garbage": Verdict(ask=False, frames=lambda reply: (Send(b"{oops"), Send(whole))),
            "cut": Verdict(ask=False, frames=lambda reply: (Cut(whole, 0.5),)),
            "drip": Verdict(ask=False, frames=lambda reply: (Drip(whole, 7, 0.001),)),
        }
        async with connected_peer(service) as peer:
            peer.say(call(1, "garbage"))
            assert await peer.line() == b"{oops\n"
            assert await peer.line() == raw + b"\n"
            peer.say(call(1, "cut"))
            assert await peer.line() == raw[: len(raw) // 2] + b"\n"
            peer.say(call(1, "drip"), call(2, "echo"))
            first, second = await peer.line(), await peer.line()
            assert {first, second} == {
                raw + b"\n",
                encode({"jsonrpc": "2.0", "id": 2, "result": text("{}")}) + b"\n",
            }

    run(main)  # fmt: skip


def test_a_disconnect_closes_our_end_and_ends_the_serving() -> None:
    async def main() -> None:
        service = Tools()
        service.verdicts = {"bye": Verdict(ask=False, frames=lambda reply: (Disconnect(),))}
        async with connected_peer(service) as peer:
            peer.say(call(1, "bye"))
            await service.ended.wait()

    run(main)


def test_a_frozen_session_answers_nothing_any_more() -> None:
    async def main() -> None:
        service = Tools()
        service.verdicts = {"freeze": Verdict(ask=False, freezes_session=True)}
        async with connected_peer(service) as peer:
            peer.say(call(1, "echo"), call(2, "freeze"))
            assert (await peer.message())["id"] == 1
            await asyncio.gather(*service.tasks)
            peer.say({"jsonrpc": "2.0", "id": 3, "method": "ping"}, b"{nonsense")
            peer.hang_up()
            assert await peer.line() == b""

    run(main)


def test_a_reply_that_lets_others_pass_comes_behind_them() -> None:
    async def main() -> None:
        service = Tools()
        service.verdicts = {"late": Verdict(overtaken_by=2)}
        async with connected_peer(service) as peer:
            peer.say(call(1, "late"))
            await service.asked.wait()
            peer.say(call(2, "echo"), call(3, "echo"))
            assert [(await peer.message())["id"] for _ in range(3)] == [2, 3, 1]

    run(main)


def test_a_deaf_verdict_answers_though_it_was_cancelled() -> None:
    async def main() -> None:
        service = Tools()
        reply = {"jsonrpc": "2.0", "id": 1, "result": {}}
        service.verdicts = {
            "deaf": Verdict(ask=False, frames=lambda _: (Send(reply, 0.05),), ignores_cancel=True),
            "polite": Verdict(ask=False, frames=lambda _: (Send(reply, 0.05),)),
        }
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
        async with connected_peer(service) as peer:
            peer.say(call(1, "deaf"), cancel)
            assert await peer.message() == reply
            peer.say(call(1, "polite"), cancel)
            await asyncio.gather(*service.tasks)
            peer.say(call(2, "echo"))
            assert (await peer.message())["id"] == 2

    run(main)


def test_replies_that_never_come_do_not_hold_the_end_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "MOST_DRAIN_S", 0.05)

    async def never(session: Session) -> None:
        await asyncio.Event().wait()

    async def main() -> None:
        in_read, in_write = os.pipe()
        out_read, out_write = os.pipe()
        os.close(in_write)
        service = Tools()
        async with asyncio.timeout(5):
            await serve_stdio(service, in_read, out_write, at_end=never)
        assert service.seen == ["closed"]
        for number in (in_read, out_read, out_write):
            os.close(number)

    asyncio.run(main())
