"""A stdio server whose replies cannot be parsed: a client over HTTP gets an answer all the same."""

from __future__ import annotations

import json

import pytest

from faultkit.mcp.wire.era import CAPABILITIES_KEY, VERSION_KEY, headers_of
from faultkit.mcp.wire.message import encode, read
from faultkit.plan import Plan
from tests.mcp.gateway.gateway_peers import on_http, on_pipes, request, run, to_lines
from tests.mcp.gateway.test_bytes import CONTENT, opened
from tests.mcp.specs import parse_specs

BROKEN = {
    "NaN": (b'{"jsonrpc":"2.0","id":1,"result":{"a":NaN}}', "cannot be read: Parse error: NaN is no JSON"),
    "digits": (
        b'{"jsonrpc":"2.0","result":' + b"7" * 5_000 + b',"id":1}',
        "cannot be read: Parse error: a number has too many digits",
    ),
    "deep": (
        b'{"jsonrpc":"2.0","result":' + b"[" * 100_000 + b"]" * 100_000 + b',"id":1}',
        "cannot be read: Parse error: it is nested too deeply",
    ),
    "bytes": (b'{"jsonrpc":"2.0","id":1,"result":"\xff"}', "cannot be read: Parse error: it is not UTF-8"),
    "version": (
        b'{"id":1,"result":{}}',
        'cannot be read: Invalid request: expected an object with "jsonrpc": "2.0"',
    ),
    "type": (b'{"jsonrpc":"2.0","id":"1","result":{}}', "has the id '1' in place of 1"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_reply_that_cannot_be_read_ends_its_call_in_both_eras(name: str) -> None:
    line, why = BROKEN[name]
    said: list[str] = []
    meta = {VERSION_KEY: "2026-07-28", CAPABILITIES_KEY: {}}
    modern = encode(
        {"jsonrpc": "2.0", "id": "m", "method": "say", "params": {"_meta": meta, "say": [line.hex()]}}
    )

    async def main() -> None:
        async with on_http(to_lines(), warn=said.append) as client:
            headers = await opened(client)
            reply = await client.request("POST", headers, request(1, "say", say=[line.hex()]))
            assert (reply.status, await reply.body(1 << 20)) == (200, line)
            assert said == [f"the server's reply to say {why}"]
            reply = await client.request("POST", [*CONTENT, *headers_of(read(modern))], modern)
            error = json.loads(await reply.body(1 << 20))
            assert (error["id"], error["error"]["code"]) == ("m", -32000)
            assert error["error"]["message"] == f"the server's reply {why}"
            assert len(said) == 2

    run(main)


def test_a_fault_that_cannot_act_on_such_a_reply_is_named_and_the_client_gets_it() -> None:
    line, why = BROKEN["NaN"]
    said: list[str] = []
    plan = Plan(parse_specs(["wrong_id@method:say"]))

    async def main() -> None:
        async with on_pipes(to_lines(), plan, warn=said.append) as client:
            client.say(request(1, "say", say=[line.hex()]))
            assert await client.line() == line
            assert await client.ask(2, "ping") == {}

    run(main)
    assert said == [f"a fault could not act on say: the server's reply {why}"]


def test_words_of_a_server_that_no_modern_client_can_get_are_told_once() -> None:
    said: list[str] = []
    meta = {VERSION_KEY: "2026-07-28", CAPABILITIES_KEY: {}}
    reply = b'{"jsonrpc":"2.0","id":1,"result":{}}'
    lines = [b"starting up", b"started", reply]
    params = {"_meta": meta, "say": [line.hex() for line in lines]}
    asked = encode({"jsonrpc": "2.0", "id": 1, "method": "say", "params": params})

    async def main() -> None:
        async with on_http(to_lines(), warn=said.append) as client:
            answer = await client.request("POST", [*CONTENT, *headers_of(read(asked))], asked)
            assert await answer.body(1000) == reply

    run(main)
    assert said == ["the server sent a line that is not a message; no client receives it: starting up"]


def test_a_notification_of_a_modern_client_reaches_the_server() -> None:
    said: list[str] = []
    meta = {VERSION_KEY: "2026-07-28", CAPABILITIES_KEY: {}}
    params = {"_meta": meta, "say": [b"told".hex()]}
    told = encode({"jsonrpc": "2.0", "method": "say", "params": params})
    asked = encode({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"_meta": meta}})

    async def main() -> None:
        async with on_http(to_lines(), warn=said.append) as client:
            for body, status in ((told, 202), (asked, 200)):
                answer = await client.request("POST", [*CONTENT, *headers_of(read(body))], body)
                assert answer.status == status
                await answer.body(1000)

    run(main)
    assert said == ["the server sent a line that is not a message; no client receives it: told"]
