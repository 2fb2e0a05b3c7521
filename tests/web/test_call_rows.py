"""Rows that are built from finished calls."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from uuid import RFC_4122, UUID

import pytest

from faultkit.audit.row import AuditEntry, AuditRow, Payload, payload_document, row_document, row_id
from faultkit.audit.store_factory import open_store
from faultkit.audit.writer import AuditWriter
from faultkit.mcp.failures.failure_service import FailureService, FinishedCall, ServeSettings
from faultkit.mcp.failures.failure_tool import Caller
from faultkit.mcp.wire.exchange import Exchange, Session
from faultkit.mcp.wire.message import encode, read
from faultkit.web.call_rows import _header_texts, call_logger, entry_of, entry_of_snapshot, take_snapshot
from tests.audit.rows import NOON_US
from tests.postgres import Postgres


class Silent(Exchange):
    def write_note(self, raw: bytes) -> None:
        pass

    def write_reply(self, raw: bytes) -> None:
        pass


HEADERS = {
    "user-agent": "test/1",
    "x-forwarded-for": "10.0.0.9",
    "authorization": "Bearer s3cret",
    "x-api-key": "s3cret",
}


def kept(
    name: Any,
    arguments: Any = None,
    *,
    id: Any = 1,
    era: Any = "legacy",
    like_go: bool = False,
    raw: bytes | None = None,
    cancel: bool = False,
    meta: Any = None,
) -> tuple[AuditRow, Payload]:
    """Make a call, and return its entry."""
    ended = ended_of(name, arguments, id=id, era=era, like_go=like_go, raw=raw, cancel=cancel, meta=meta)
    entry = entry_of(ended, NOON_US)
    assert entry.payload is not None
    return entry.row, entry.payload


def ended_of(
    name: Any,
    arguments: Any = None,
    *,
    id: Any = 1,
    era: Any = "legacy",
    like_go: bool = False,
    raw: bytes | None = None,
    cancel: bool = False,
    meta: Any = None,
) -> FinishedCall:
    found: list[FinishedCall] = []

    async def main() -> None:
        server = FailureService(
            ServeSettings(like_go=like_go),
            found.append,
            lambda exchange: Caller(headers=tuple(exchange.headers.items()), peer="127.0.0.1:5000"),
        )
        params = {"name": name} | ({} if arguments is None else {"arguments": arguments})
        params |= {} if meta is None else {"_meta": meta}
        message = {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}
        session = Session("s1", "http", era, lambda raw: None)
        exchange = Silent(session, read(raw if raw is not None else encode(message)), HEADERS)
        server.request(exchange)
        if cancel:
            await asyncio.sleep(0)
            exchange.cancel()
        await server.stop()

    asyncio.run(main())
    (ended,) = found
    return ended


def test_a_success_is_kept_with_all_that_is_known_of_it() -> None:
    row, said = kept("fixed_response", {"key": "k"}, id="call-1")
    assert (row.tool_name, row.tool_group, row.success) == ("fixed_response", "data", True)
    assert (row.error_message, row.error_category) == ("", "")
    assert row.parameters == '{"key":"k"}'
    assert (row.request_chars, row.content_blocks) == (11, 1)
    assert row.request_id == '"call-1"'
    assert (row.session_id, row.transport, row.era, row.source) == ("s1", "http", "legacy", "mcp")
    assert (row.user_subject, row.auth_type) == ("anonymous", "anonymous")
    assert (row.remote_addr, row.forwarded_for, row.user_agent) == ("127.0.0.1:5000", "10.0.0.9", "test/1")
    assert row.at_us <= NOON_US
    result = json.loads(said.response_result or "")
    assert row.response_chars == len(result["content"][0]["text"].encode())
    assert result["structuredContent"]["key"] == "k"
    assert said.response_error is None
    assert json.loads(said.request_params or "") == {"name": "fixed_response", "arguments": {"key": "k"}}


def test_an_error_is_kept_with_the_category_of_the_caller_and_its_first_text() -> None:
    row, said = kept("error", {"message": "no luck", "category": "billing"})
    assert (row.success, row.error_message, row.error_category) == (False, "no luck", "billing")
    assert said.response_result is None
    assert json.loads(said.response_error or "")["code"] == -32603
    row, said = kept("error", {"message": "no luck", "category": "billing", "as_tool": True})
    assert (row.success, row.error_message, row.error_category) == (False, "no luck", "billing")
    assert json.loads(said.response_result or "")["isError"] is True
    assert said.response_error is None


@pytest.mark.parametrize(
    ("category", "code", "recorded"),
    [
        (None, -32603, "protocol"),
        ("protocol", -32603, "protocol"),
        ("tool", -31000, "tool"),
        ("timeout", -31001, "timeout"),
        ("auth", -31003, "auth"),
        ("billing", -32603, "billing"),
    ],
)
def test_the_error_code_follows_the_recorded_category(category: str | None, code: int, recorded: str) -> None:
    row, said = kept("error", {} if category is None else {"category": category})
    told = json.loads(said.response_error or "")
    assert (told["code"], told["data"]["category"], row.error_category) == (code, recorded, recorded)


@pytest.mark.parametrize(
    ("name", "arguments", "category", "message"),
    [
        ("error", {"as_tool": True}, "tool", "synthetic error"),
        ("error", {}, "protocol", "synthetic error"),
        ("flaky", {"fail_rate": 1, "seed": "abc"}, "protocol", "flaky failure (roll=0.7573 < rate=1.0000)"),
        ("nosuch", {}, "handler", 'unknown tool "nosuch"'),
        (7, {}, "handler", 'unknown tool ""'),
        ("sized_response", {"size": -1}, "tool", "size must be >= 0, got -1"),
    ],
)
def test_failures_without_a_category_have_one_of_ours(
    name: Any, arguments: Any, category: str, message: str
) -> None:
    row, _ = kept(name, arguments)
    assert (row.success, row.error_category, row.error_message) == (False, category, message)


def test_like_go_a_failure_is_kept_as_the_result_that_was_sent() -> None:
    row, said = kept("flaky", {"fail_rate": 1, "seed": "abc"}, like_go=True)
    assert row.error_category == "tool"
    assert row.error_message == "flaky failure (roll=0.7573 < rate=1.0000)"
    assert json.loads(said.response_result or "")["isError"] is True


def test_a_cancelled_call_has_the_time_until_its_cancellation() -> None:
    row, _ = kept("slow", {"milliseconds": 60_000}, cancel=True)
    assert (row.success, row.error_category, row.error_message) == (False, "cancelled", "context canceled")
    assert 0 <= row.duration_ms < 5000


def test_a_cancelled_call_has_no_response_because_none_was_sent() -> None:
    row, said = kept("slow", {"milliseconds": 60_000}, cancel=True)
    assert (said.response_result, said.response_error, said.response_size_bytes) == (None, None, 0)
    assert (row.response_chars, row.content_blocks) == (0, 0)


def test_like_go_a_cancelled_call_has_the_response_that_was_sent() -> None:
    row, said = kept("slow", {"milliseconds": 60_000}, cancel=True, like_go=True)
    assert json.loads(said.response_result or "")["isError"] is True
    assert row.response_chars == len("context canceled")


def test_a_call_that_runs_when_the_server_ends_is_kept() -> None:
    row, _ = kept("slow", {"milliseconds": 60_000})
    assert row.error_category == "cancelled"


def test_secrets_are_kept_nowhere() -> None:
    extras = {"deep": [{"Password": "s3cret"}], "apiKey": "s3cret", "note": '{"jwt":"s3cret"}'}
    row, said = kept("echo", {"message": "hello", "extras": extras})
    whole = json.dumps([row_document(row), payload_document(said)])
    assert "s3cret" not in whole
    assert whole.count("[redacted]") >= 8
    assert "hello" in whole
    row, said = kept("headers")
    assert "s3cret" not in json.dumps([row_document(row), payload_document(said)])


def test_a_secret_whose_name_is_spelled_with_escapes_is_not_kept() -> None:
    raw = (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo",'
        b'"arguments":{"extras":{"p\\u0061ssword":"s3cret"}}}}'
    )
    row, said = kept("", raw=raw)
    assert "s3cret" not in json.dumps([row_document(row), payload_document(said)])


_SECRET = '{"password":"hunter2"}'


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("slow", {"milliseconds": {"password": "hunter2"}}),
        ("slow", _SECRET),
        ("slow", [_SECRET]),
        ("slow", {"milliseconds": 1, _SECRET: 1}),
        ("error", {"message": _SECRET}),
        ("error", {"message": f"it was {_SECRET}", "category": f" {_SECRET}"}),
        ("error", {"message": "x" * 4080 + _SECRET, "as_tool": True}),
        ("echo", {"message": f" {_SECRET}"}),
        ("echo", {"message": json.dumps(_SECRET)}),
        (_SECRET, {}),
        (f"nosuch {_SECRET}", {}),
    ],
)
def test_a_secret_that_an_error_quotes_is_kept_nowhere(name: Any, arguments: Any) -> None:
    row, said = kept(name, arguments, id=_SECRET, meta={"progressToken": _SECRET})
    assert "hunter2" not in repr((row, said))
    assert "[redacted]" in repr((row, said))


def test_no_credential_is_remembered_between_calls() -> None:
    ended = ended_of("echo", {"message": "x"})
    _header_texts.cache_clear()
    for secret in ("one", "two"):
        ended.caller.headers = (("authorization", f"Bearer {secret}"), ("user-agent", "test/1"))
        said = entry_of(ended, NOON_US).payload
        assert said is not None
        assert said.request_headers == '{"authorization":"[redacted]","user-agent":"test/1"}'
    # The redacted headers are equal, so both calls share one entry of the cache.
    assert (_header_texts.cache_info().misses, _header_texts.cache_info().hits) == (1, 1)


def test_a_progress_token_is_no_secret() -> None:
    _, said = kept("echo", {"message": "x"}, meta={"progressToken": "p\0", "token": "s3cret"})
    assert json.loads(said.request_params or "")["_meta"] == {
        "progressToken": "p\u2400",
        "token": "[redacted]",
    }


def test_what_is_too_long_is_left_out_whole_and_flagged() -> None:
    row, said = kept("echo", {"message": "x" * 70_000})
    assert (said.request_truncated, said.response_truncated) == (True, True)
    assert (said.request_params, said.response_result, row.parameters) == (None, None, None)
    assert said.request_size_bytes > 70_000
    assert said.response_size_bytes > 140_000
    assert row.response_chars > 70_000
    assert row.request_chars == len('{"message":""}') + 70_000
    row, said = kept("sized_response", {"size": 40_000})
    assert (said.request_truncated, said.response_truncated) == (False, True)
    assert row.parameters == '{"size":40000}'


def test_a_payload_of_just_the_cap_is_kept() -> None:
    empty = len(encode({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "x"}}))
    _, said = kept("x" * (65_536 - empty + 1))
    assert (said.request_size_bytes, said.request_truncated) == (65_536, False)
    _, said = kept("x" * (65_536 - empty + 2))
    assert (said.request_size_bytes, said.request_truncated) == (65_537, True)


def test_a_long_message_is_cut() -> None:
    row, _ = kept("error", {"message": "x" * 9000})
    assert row.error_message == "x" * 4096


@pytest.mark.parametrize(
    "arguments",
    [
        b'{"message":"a\\u0000b\\ud800","extras":{"n":1e999,"i":' + b"9" * 400 + b"}}",
        b'{"extras":' + b'{"a":' * 700 + b"1" + b"}" * 700 + b"}",
        b'[1,"\\u0000"]',
        b"17",
        b"null",
        b'{"\\u0000":"\\u0000"}',
    ],
    ids=["odd values", "deep", "list", "number", "null", "odd key"],
)
def test_whatever_callers_send_every_store_takes_it(arguments: bytes, postgres: Postgres) -> None:
    for name in (b"echo", b"nosuch\\u0000\\udfff"):
        raw = (
            b'{"jsonrpc":"2.0","id":"\\ud800","method":"tools/call","params":{"name":"'
            + name
            + b'","arguments":'
            + arguments
            + b"}}"
        )
        row, said = kept("", raw=raw)
        for where in ("memory:", postgres.url):
            with open_store(where) as store:
                store.append([AuditEntry(row, said)])
                found = store.get(row.id)
                assert found is not None
                assert found.payload == said
                assert row_document(found.row)["tool_name"] == row.tool_name
                payload_document(found.payload)


@pytest.mark.parametrize(
    ("extras", "why"),
    [
        (b'{"n":1e999}', "expected a finite number"),
        (b'{"a":' * 900 + b"1" + b"}" * 900, "it is nested too deeply"),
    ],
    ids=["beyond a float", "deep"],
)
def test_an_answer_that_cannot_be_written_is_an_error_and_no_crash(extras: bytes, why: str) -> None:
    head = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"extras":'
    row, _ = kept("", raw=head + extras + b"}}}")
    assert (row.success, row.error_category) == (False, "tool")
    assert row.error_message == f"the answer cannot be written as JSON: {why}"


def test_in_the_modern_era_there_is_no_session() -> None:
    row, said = kept("echo", {"message": "x"}, era="modern")
    assert (row.session_id, row.era) == ("", "modern")
    assert json.loads(said.response_result or "")["resultType"] == "complete"


def test_ids_are_of_version_7_and_in_the_order_of_time_and_of_numbers() -> None:
    times = (NOON_US, NOON_US + 1, NOON_US + 999, NOON_US + 1000, NOON_US * 2)
    ids = [row_id(at_us, number) for at_us in times for number in (0, 5, 2**48, 2**62 - 1)]
    assert ids == sorted(ids)
    assert len(set(ids)) == len(ids)
    assert all(UUID(id).version == 7 and UUID(id).variant == RFC_4122 for id in ids)


def test_the_same_call_makes_the_same_row_and_no_other_does() -> None:
    ended = ended_of("echo", {"message": "x"})
    noted, again = take_snapshot(ended, NOON_US), take_snapshot(ended, NOON_US)
    assert entry_of_snapshot(noted) == entry_of_snapshot(tuple(noted))
    assert entry_of_snapshot(again).row.id > entry_of_snapshot(noted).row.id


@pytest.mark.parametrize("message", ["short", "x" * 20_000])
def test_a_call_of_which_no_row_can_be_made_is_counted_and_goes_on(message: str) -> None:
    said: list[str] = []
    with open_store("memory:") as store, AuditWriter(store, say=said.append) as writer:
        odd, usual = ended_of("echo", {"message": message}), ended_of("echo", {"message": "usual"})
        odd.reply = b"no JSON"
        log = call_logger(writer)
        log(odd)
        log(usual)
        assert writer.flush()
        assert (writer.state().written, writer.state().refused) == (1, 1)
    assert len(said) == 1
    assert said[0].startswith("audit: no row could be made of a call: JSONDecodeError")


def test_a_call_of_which_nothing_can_be_noted_is_counted_and_goes_on() -> None:
    with open_store("memory:") as store, AuditWriter(store) as writer:
        call_logger(writer)(None)  # type: ignore[arg-type]
        assert writer.state().refused == 1


def test_calls_that_wait_share_equal_headers_and_keep_those_that_differ() -> None:
    class Writer:
        def __init__(self) -> None:
            self.headers: list[object] = []
            self.held: list[int] = []

        def add_later(self, build: object, source: Any, held_bytes: int, *, wait: bool) -> None:
            self.headers.append(source.headers)
            self.held.append(held_bytes - len(source.raw) - len(source.reply))

    writer = Writer()
    log = call_logger(writer)  # type: ignore[arg-type]
    calls = [ended_of("echo", {"message": "x"}) for _ in range(3)]
    said = [(("a", "one"),), (("a", "one"),), (("a", "three"),)]
    for ended, headers in zip(calls, said, strict=True):
        ended.caller = Caller(headers=(*headers,))
        log(ended)
    assert writer.headers == said
    assert writer.headers[0] is writer.headers[1]
    assert [each - writer.held[0] for each in writer.held] == [0, 0, 2]


def test_a_call_without_parameters_has_a_row() -> None:
    row, said = kept("", raw=b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}')
    assert (row.tool_name, row.success, row.parameters) == ("", False, None)
    assert said.request_params == "{}"
