"""Messages that no rule acts on arrive byte for byte, for all four pairs of transports."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.base.http.http_client import ConnectionLost, HttpClient
from faultkit.mcp.wire.era import CAPABILITIES_KEY, VERSION_KEY, headers_of
from faultkit.mcp.wire.json_text import replace_values
from faultkit.mcp.wire.message import encode, read
from faultkit.plan import Plan
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
from tests.mcp.specs import parse_specs

ODD = (
    b' { "method" : "saw","zzz":[1.50, 1E+2,-0,12345678901234567890123],'
    b' "params":{"a":"\\u00e9\\ud83d\\ude00\\/","a":"twice"} ,'
    b'"jsonrpc":"2.0", "id" :"\\u0069d", "extra":{"deep":[[[null]]]}}\t'
)
ODD_REPLY = (
    b'{"result" :{ "n":1.0,"m":1e5,"text":"\\u00e9 caf\xc3\xa9", "x":[ ]},'
    b'"id":7,"jsonrpc":"2.0","more":{"a":{}} }'
)
CONTENT = [("content-type", "application/json"), ("accept", "application/json, text/event-stream")]
INITIALIZE = request(0, "initialize", protocolVersion="2025-11-25")


def test_from_pipes_to_pipes_every_line_stays_as_it_is() -> None:
    said = [
        ODD_REPLY,
        b'{"jsonrpc":"2.0","method":"notifications/unheard_of","params":{"a" : 1}, "b":2}',
        b'{"jsonrpc":"2.0", "id":"s-1","method":"unknown/question","params":{}}',
        b'{"jsonrpc":"2.0","id":99,"result":{"absent":"asked"}}',
        b"this is no JSON at all",
        b"\xff\xfe not UTF-8",
        b'{"no":"jsonrpc"}',
        b"[" * 100_000,
    ]

    async def main() -> None:
        async with on_pipes(to_lines()) as client:
            client.say(ODD)
            answer = await client.message()
            assert bytes.fromhex(answer["result"]["line"]) == ODD
            client.say(request(7, "say", say=[line.hex() for line in said]))
            assert [await client.line() for _ in said] == said

    run(main)


@pytest.mark.parametrize(
    "line", [b"{nonsense", b"\xff\xff", b"[" * 100_000 + b"]" * 100_000, b'"a text"', b"3"]
)
def test_what_is_no_message_is_for_the_server_to_answer(line: bytes) -> None:
    async def main() -> None:
        async with on_pipes(to_lines()) as client:
            client.say(line)
            answer = await client.line()
            if line[:1] in b'"3':
                assert answer.startswith(b"[{")
            else:
                assert json.loads(answer)["error"]["message"] == str(len(line) + 1)
            assert await client.ask(1, "pid")

    run(main)


def test_a_batch_passes_whole_unless_rules_may_act_on_its_calls() -> None:
    batch = b"[" + request(1, "a") + b" , " + request(2, "b") + b"]"

    async def whole() -> None:
        async with on_pipes(to_lines()) as client:
            client.say(batch)
            assert await client.line() == (
                b'[{"jsonrpc":"2.0","id":1,"result":{}} , {"jsonrpc":"2.0","id":2,"result":{}}]'
            )

    async def parted() -> None:
        plan = Plan(parse_specs(["error:-32050@method:b"]))
        async with on_pipes(to_lines(), plan) as client:
            client.say(batch)
            answers = {answer["id"]: answer for answer in await client.message()}
            assert answers[1]["result"] == {}
            assert answers[2]["error"]["code"] == -32050

    run(whole)
    run(parted)


def test_from_http_to_http_the_request_and_the_answer_stay_as_they_are() -> None:
    stream = (
        b': a comment\nid: 7\nretry: 20\ndata:\n\nevent: message\r\ndata: {"jsonrpc":"2.0",\r\ndata:'
        b' "method":"x"}\r\n\r\ndata: ' + ODD_REPLY + b"\n\nevent: odd\ndata: x\n\n"
    )
    seen: list[tuple[bytes, bytes]] = []

    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await http_request(reader))
        writer.write(http_answer(ODD_REPLY, b"200 OK", b"Set-Cookie: a=1", b"set-cookie: b=2", b"X-Odd:  y "))
        seen.append(await http_request(reader))
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        writer.write(head)
        for byte in stream:
            writer.write(b"1\r\n" + bytes([byte]) + b"\r\n")
        writer.write(b"0\r\n\r\n")
        seen.append(await http_request(reader))
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        await writer.drain()

    async def main() -> None:
        async with scripted(upstream) as url, relayed(url) as client:
            target = client.target + "?a=%20b"
            headers = [*CONTENT, ("X-Two", "1"), ("x-two", "2"), ("Accept-Encoding", "gzip")]
            reply = await client.request("POST", headers, ODD, target)
            assert await reply.body(10_000) == ODD_REPLY
            cookies = [value for name, value in reply.lines if name.lower() == "set-cookie"]
            assert cookies == ["a=1", "b=2"]
            reply = await client.request("POST", CONTENT, ODD)
            assert await reply.body(10_000) == stream
            assert (await client.request("DELETE", [], b"", "/.well-known/x?y")).status == 204
        assert seen[2][0].startswith(b"DELETE /.well-known/x?y HTTP/1.1\r\n")
        head, body = seen[0]
        assert body == ODD
        assert head.startswith(b"POST /mcp?a=%20b HTTP/1.1\r\n")
        for line in (b"X-Two: 1\r\nx-two: 2\r\n", b"Accept-Encoding: gzip\r\n"):
            assert line in head

    run(main)


def test_calls_with_the_same_head_arrive_as_they_were_sent_and_are_answered_each() -> None:
    seen: list[tuple[bytes, bytes]] = []
    answers = [
        (b"one", b"200 OK"),
        (b"one", b"200 OK"),
        (b"of three", b"200 OK"),
        (b"none", b"404 Not Found"),
    ]

    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for body, status in answers:
            seen.append(await http_request(reader))
            writer.write(http_answer(body, status, b"X-Odd: y"))
        await writer.drain()

    async def main() -> None:
        bodies = [b"1" * length for length in (1, 200, 3, 3)]
        async with scripted(upstream) as url, relayed(url) as client:
            for sent, (body, status) in zip(bodies, answers, strict=True):
                reply = await client.request("POST", [*CONTENT, ("X-Two", "1")], sent)
                assert (reply.status, reply.headers["x-odd"]) == (int(status[:3]), "y")
                assert reply.headers["content-length"] == str(len(body))
                assert await reply.body(100) == body
                reply.close()
        assert [body for _, body in seen] == bodies
        for head, body in seen:
            assert head.startswith(b"POST /mcp HTTP/1.1\r\n")
            assert b"X-Two: 1\r\n" in head
            assert head.lower().count(b"content-length: %d\r\n" % len(body)) == 1

    run(main)


def test_calls_on_kept_connections_stay_as_they_are_however_their_answers_come() -> None:
    plain = http_answer(ODD_REPLY, b"200 OK", b"X-Odd:  y ")
    body_begins = plain.index(b"\r\n\r\n") + 4
    moved = http_answer(b"{}", b"307 Temporary Redirect", b"Location: http://127.0.0.1:1/other")
    answers = (
        [plain],
        [plain],
        [plain],
        [plain[:body_begins], plain[body_begins:]],
        [plain[: body_begins + 5], plain[body_begins + 5 : -3], plain[-3:]],
        [moved],
        [moved],
        [moved],
        [plain[:body_begins], plain[body_begins:-1]],
    )
    heads: list[bytes] = []

    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for parts in answers:
            head, body = await http_request(reader)
            heads.append(head)
            assert body == ODD
            for part in parts:
                writer.write(part)
                await writer.drain()
                for _ in range(5):
                    await asyncio.sleep(0)  # The relay, in the same loop, reads each part by itself.
        writer.close()

    async def main() -> None:
        async with scripted(upstream) as url, relayed(url) as client:
            for parts in answers[:-1]:
                reply = await client.request("POST", [*CONTENT, ("X-Two", "1")], ODD)
                whole = b"".join(parts)
                assert b" %d " % reply.status in whole
                assert await reply.body(10_000) == whole[whole.index(b"\r\n\r\n") + 4 :]
                assert reply.headers["content-length"] == str(len(whole) - whole.index(b"\r\n\r\n") - 4)
                if reply.status == 200:
                    assert reply.headers["x-odd"].strip() == "y"
            reply = await client.request("POST", [*CONTENT, ("X-Two", "1")], ODD)
            with pytest.raises(ConnectionLost):
                await reply.body(10_000)
        assert len(set(heads)) == 1
        assert b"X-Two: 1\r\n" in heads[0]

    run(main)


def test_from_pipes_to_http_a_line_becomes_a_body_and_a_body_a_line() -> None:
    bodies: list[bytes] = []

    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            bodies.append((await http_request(reader))[1])
            writer.write(http_answer(ODD_REPLY.replace(b"{ ", b"{\n ")))
            await writer.drain()

    async def main() -> None:
        async with scripted(upstream) as url, on_pipes(to_url(url)) as client:
            odd = ODD.replace(b'"\\u0069d"', b"7")
            client.say(odd)
            # A line cannot contain the newlines of the body; nothing else has changed.
            assert await client.line() == ODD_REPLY.replace(b"{ ", b"{  ")
            assert bodies == [odd]
            client.say(b"{nonsense")
            assert await client.line() == ODD_REPLY.replace(b"{ ", b"{  ")
            assert bodies[1] == b"{nonsense"

    run(main)


async def opened(client: HttpClient) -> list[tuple[str, str]]:
    reply = await client.request("POST", CONTENT, INITIALIZE)
    await reply.body(10_000)
    return [*CONTENT, ("mcp-session-id", reply.headers["mcp-session-id"])]


def test_from_http_to_pipes_a_body_becomes_a_line_and_a_line_a_body() -> None:
    async def main() -> None:
        async with on_http(to_lines()) as client:
            headers = await opened(client)
            reply = await client.request("POST", headers, ODD)
            answer = json.loads(await reply.body(10_000))
            assert bytes.fromhex(answer["result"]["line"]) == ODD
            reply = await client.request("POST", headers, request(7, "say", say=[ODD_REPLY.hex()]))
            assert await reply.body(10_000) == ODD_REPLY

    run(main)


def test_modern_clients_share_a_server_and_only_their_ids_and_tokens_change() -> None:
    meta = {VERSION_KEY: "2026-07-28", CAPABILITIES_KEY: {}, "progressToken": "mine"}
    odd = (
        b'{"jsonrpc":"2.0", "id" :"one","method":"saw", "x":1.50,"params":{"_meta":'
        + encode(meta)
        + b',"b":1E2}}'
    )
    headers = [*CONTENT, *headers_of(read(odd))]

    async def main() -> None:
        async with on_http(to_lines()) as client:
            first, second = await asyncio.gather(
                client.request("POST", headers, odd), client.request("POST", headers, odd)
            )
            answers: list[Any] = [json.loads(await reply.body(10_000)) for reply in (first, second)]
            assert [answer["id"] for answer in answers] == ["one", "one"]
            lines = sorted(bytes.fromhex(answer["result"]["line"]) for answer in answers)
            assert lines == [
                odd.replace(b'"one"', b"%d" % number).replace(b'"mine"', b"%d" % number) for number in (1, 2)
            ]

    run(main)


_KEYS = st.text(st.characters(codec="utf-8"), max_size=4)
_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _KEYS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(_KEYS, _JSON, max_size=4), _KEYS, _KEYS, _JSON, st.booleans())
def test_a_splice_changes_one_value_and_nothing_else(
    whole: dict[str, Any], outer: str, inner: str, value: Any, is_loose: bool
) -> None:
    whole = {**whole, outer: {"before": 1, inner: "MARK", "after": [2]}}
    text = json.dumps(whole, indent=1 if is_loose else None, ensure_ascii=is_loose)
    spliced = replace_values(text.encode(), {(outer, inner): value})
    whole[outer][inner] = value
    assert json.loads(spliced) == whole
    assert spliced == text.replace('"MARK"', encode(value).decode()).encode() or '"MARK"' in json.dumps(value)


@given(st.dictionaries(_KEYS, _JSON, max_size=4))
def test_a_splice_where_there_is_nothing_changes_nothing(whole: dict[str, Any]) -> None:
    raw = json.dumps(whole).encode()
    assert replace_values(raw, {("no such key", "nor this"): 1, ("other such key",): 2}) == raw
