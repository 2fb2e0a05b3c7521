"""Hostile arguments and headers: each is answered, and the server keeps working."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.audit.store_factory import open_store
from faultkit.mcp.failures.failure_service import FailureService, ServeSettings
from faultkit.mcp.failures.tool_catalogue import FAILURE_TOOLS
from faultkit.mcp.wire.exchange import Exchange, Session
from faultkit.mcp.wire.message import read as read_message
from faultkit.testing import run_virtual
from faultkit.web.call_rows import entry_of
from tests.audit.rows import NOON_US
from tests.mcp.failures.failure_server import call, connected, read, run, serving, session_of

INTEGERS = [
    (tool.name, name)
    for tool in FAILURE_TOOLS.values()
    for name, argument in tool.arguments.items()
    if argument.type == "integer"
]
REQUIRED: dict[str, dict[str, Any]] = {"flaky": {"fail_rate": 0}}
"""Return the other arguments that a call of the tool needs."""


class RecordingExchange(Exchange):
    def __init__(self, raw: bytes) -> None:
        super().__init__(Session("s", "http", "legacy", lambda raw: None), read_message(raw))
        self.said: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def write_note(self, raw: bytes) -> None:
        pass

    def write_reply(self, raw: bytes) -> None:
        self.said.set_result(raw)


def answered(name: str, arguments: str, *, meta: str = "{}", like_go: bool = False) -> dict[str, Any]:
    """Run in virtual time, because some of these would take a minute."""
    raw = (
        '{"jsonrpc":"2.0","id":1,"method":"tools/call",'
        f'"params":{{"name":"{name}","arguments":{arguments},"_meta":{meta}}}}}'
    )

    async def main() -> bytes:
        exchange = RecordingExchange(raw.encode())
        FailureService(ServeSettings(like_go=like_go)).request(exchange)
        return await exchange.said

    reply: dict[str, Any] = json.loads(run_virtual(main()))
    return reply


def with_argument(tool: str, name: str, value: str) -> str:
    others = "".join(f'"{key}":{json.dumps(each)},' for key, each in REQUIRED.get(tool, {}).items())
    return f'{{{others}"{name}":{value}}}'


def error_text(reply: dict[str, Any]) -> str:
    assert reply["result"]["isError"] is True
    assert "structuredContent" not in reply["result"]
    (block,) = reply["result"]["content"]
    text: str = block["text"]
    return text


@pytest.mark.parametrize(("tool", "name"), INTEGERS)
@pytest.mark.parametrize("value", ["9223372036854775808", "-9223372036854775809", "1e19", "9" * 400])
def test_a_whole_number_beyond_64_bits_is_refused_and_named(tool: str, name: str, value: str) -> None:
    text = error_text(answered(tool, with_argument(tool, name, value)))
    assert text.startswith("json: cannot unmarshal number ")
    assert text.endswith(f" into {name}: it is beyond 64 bits")


@pytest.mark.parametrize(("tool", "name"), INTEGERS)
@pytest.mark.parametrize("value", ["9223372036854775807", "-9223372036854775808", "5.0", "-0.0", "1e3"])
def test_a_whole_number_of_64_bits_is_taken_however_it_is_written(tool: str, name: str, value: str) -> None:
    reply = answered(tool, with_argument(tool, name, value))
    # It may be too large for the tool, but it is accepted as a number.
    assert reply["result"].get("isError") is None or error_text(reply).startswith("size ")


@pytest.mark.parametrize(("tool", "name"), [*INTEGERS, ("flaky", "fail_rate")])
@pytest.mark.parametrize(
    ("value", "shown", "type_"),
    [
        ("true", "true", "boolean"),
        ("null", "<nil>", "null"),
        ('"5"', "5", "string"),
        ("[5]", "[5]", "array"),
        ("{}", "{}", "object"),
    ],
)
def test_what_is_no_number_is_refused_by_its_type(
    tool: str, name: str, value: str, shown: str, type_: str
) -> None:
    wanted = FAILURE_TOOLS[tool].arguments[name].type
    assert error_text(answered(tool, f'{{"{name}":{value}}}')) == (
        f'validating "arguments": validating root: validating /properties/{name}: '
        f'type: {shown} has type "{type_}", want "{wanted}"'
    )


@pytest.mark.parametrize(("tool", "name"), INTEGERS)
def test_half_a_number_is_no_whole_one(tool: str, name: str) -> None:
    assert error_text(answered(tool, with_argument(tool, name, "1.5"))).endswith(
        'type: 1.5 has type "number", want "integer"'
    )


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity"])
def test_what_is_no_json_is_a_parse_error(value: str) -> None:
    incoming = read_message(
        f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"flaky","arguments":'
        f'{{"fail_rate":{value}}}}}}}'.encode()
    )
    assert incoming.problem == (-32700, f"Parse error: {value} is no JSON")


@pytest.mark.parametrize(("value", "fails"), [("1e999", True), ("-1e999", False), ("1e-400", False)])
def test_a_rate_beyond_floats_is_clamped(value: str, fails: bool) -> None:
    reply = answered("flaky", f'{{"fail_rate":{value},"seed":"abc"}}')
    if fails:
        assert reply["error"]["data"]["rate"] == 1.0
    else:
        assert reply["result"]["structuredContent"]["fail_rate"] == 0.0


@pytest.mark.parametrize("value", ["true", "1", "[]", "{}", "null"])
def test_what_is_no_text_is_no_seed(value: str) -> None:
    assert '"string"' in error_text(answered("flaky", f'{{"fail_rate":0.5,"seed":{value}}}'))


@pytest.mark.parametrize("like_go", [False, True])
def test_what_a_tool_does_not_know_is_refused_by_its_name(like_go: bool) -> None:
    text = error_text(answered("slow", '{"milliseconds":0,"__proto__":{},"a\\"b":1}', like_go=like_go))
    assert text.endswith('unexpected additional properties ["__proto__" "a"b"]')


HOSTILE = {
    "far beyond ASCII": ("User-Agent: \xff\xfe\x80", "\xff\xfe\x80"),
    "markup": ("User-Agent: <script>alert(1)</script>", "<script>alert(1)</script>"),
    "SQL": ("User-Agent: '); DROP TABLE audit_events; --", "'); DROP TABLE audit_events; --"),
    "escapes of a terminal": ("User-Agent: a\tb", "a\tb"),
    "long": ("User-Agent: " + "x" * 30_000, "x" * 4096),
    "empty": ("User-Agent:", ""),
}


@pytest.mark.parametrize(("line", "kept"), HOSTILE.values(), ids=HOSTILE)
def test_headers_that_are_meant_to_do_harm_are_kept_as_they_came(line: str, kept: str) -> None:
    async def work() -> None:
        async with serving() as tools:
            wire = await connected(tools)
            session = await session_of(wire)
            await wire.ask(call("headers", {}), "legacy", session, line, "X-Forwarded-For: " + line[12:])
            status, _, body = await wire.answer()
            assert status == 200
            seen = read(body)["result"]["structuredContent"]["headers"]
            assert seen["User-Agent"] == [line[11:].strip()]
            entry = entry_of(await tools.has_ended(), NOON_US)
            assert entry.row.user_agent == kept
            with open_store("memory:") as store:
                store.append([entry])
                assert store.get(entry.row.id) == entry._replace(row=entry.row._replace(seq=1))

    run(work)


@pytest.mark.parametrize(
    "line",
    ["X-A: a\x00b", "X-A: a\x01b", "X A: b", ": b", "X-A\x80: b"],
    ids=["NUL", "SOH", "space", "none", "no ASCII"],
)
def test_a_header_that_is_none_is_refused_and_no_call_is_made(line: str) -> None:
    async def work() -> None:
        async with serving() as tools:
            wire = await connected(tools)
            session = await session_of(wire)
            await wire.ask(call("echo", {}), "legacy", session, line)
            assert (await wire.answer())[0] == 400
            again = await connected(tools)
            await again.ask(call("echo", {"message": "well"}), "legacy", session)
            assert (await again.answer())[0] == 200
            assert (await tools.has_ended()).texts == ('{"message":"well"}',)

    run(work)


def test_a_header_that_comes_twice_is_shown_once_and_the_last_counts() -> None:
    async def work() -> None:
        async with serving() as tools:
            wire = await connected(tools)
            session = await session_of(wire)
            await wire.ask(call("headers", {}), "legacy", session, "X-A: 1", "x-a: 2")
            seen = read((await wire.answer())[2])["result"]["structuredContent"]["headers"]
            assert seen["X-A"] == ["2"]

    run(work)


@pytest.mark.parametrize("value", ["true", "1.5", "null", "{}", "[1]"])
def test_a_progress_token_that_is_none_is_told_nothing(value: str) -> None:
    reply = answered("progress", '{"steps":1,"step_ms":1}', meta=f'{{"progressToken":{value}}}')
    assert reply["result"]["structuredContent"]["notified"] is False


_ODD = st.sampled_from(
    ["1e999", "-1e999", "9" * 400, "-0.0", '"\\ud800"', '"\\u0000"', "[" * 900 + "]" * 900, "true", "null"]
)
_VALUES = _ODD | st.integers().map(str) | st.floats(allow_nan=False, allow_infinity=False).map(json.dumps)


@pytest.mark.parametrize(("tool", "others"), [("flaky", '"fail_rate":0,'), ("lorem", '"words":3,')])
def test_half_a_surrogate_pair_in_a_seed_is_what_go_reads_there(tool: str, others: str) -> None:
    odd = answered(tool, f'{{{others}"seed":"a\\ud800"}}')
    assert odd == answered(tool, f'{{{others}"seed":"a\\ufffd"}}')


@given(
    st.sampled_from([tool for tool in FAILURE_TOOLS.values() if tool.arguments]).flatmap(
        lambda tool: st.tuples(
            st.just(tool.name),
            st.dictionaries(st.sampled_from([*tool.arguments]), _VALUES | st.text().map(json.dumps)),
        )
    ),
    st.booleans(),
)
def test_whatever_the_arguments_are_there_is_an_answer(
    asked: tuple[str, dict[str, str]], like_go: bool
) -> None:
    name, given = asked
    reply = answered(
        name, "{" + ",".join(f'"{key}":{value}' for key, value in given.items()) + "}", like_go=like_go
    )
    assert ("result" in reply) != ("error" in reply)
