"""Progress and log messages during a call: to whom, in which order, at which time, in both eras."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from faultkit.faults.call_fault import Era
from faultkit.mcp.mock.manifest import parse_manifest
from faultkit.mcp.mock.mock_server import MockJob
from faultkit.mcp.wire.era import LOG_LEVEL_KEY
from faultkit.plan import Plan
from faultkit.testing import run_virtual
from tests.mcp.mock.memory_exchange import MemoryClient, mock_of
from tests.mcp.mock.mock_client import call, on_pipes, over_http, run, text_of
from tests.mcp.specs import parse_specs

MANIFEST = parse_manifest(
    {
        "tools": [
            {
                "name": "index",
                "sends": [
                    {"progress": 0, "total": 10},
                    {"log": "reading ${args.path}", "level": "debug", "after_ms": 50},
                    {"log": {"read": "${args.count}"}, "level": "error", "logger": "disk"},
                    {"progress": 2.5, "total": 10, "message": "${tool}: ${args.path}", "after_ms": "1s"},
                ],
                "response": "done",
            },
            {
                "name": "asks",
                "sends": [{"log": "asking"}],
                "sampling": {"messages": [], "maxTokens": 5},
                "response": "it said ${sampling.text}",
            },
            {"name": "quick", "sends": [{"progress": 1}, {"log": "x"}], "response": "done"},
            {"name": "plain", "response": "hello"},
        ],
    }
)
SILENT = parse_manifest([{"name": "a", "sends": [{"progress": 1}]}])


def progress(value: float, **more: Any) -> dict[str, Any]:
    params = {"progressToken": "t", "progress": value, **more}
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}


def log(level: str, data: Any, **more: Any) -> dict[str, Any]:
    params = {"level": level, **more, "data": data}
    return {"jsonrpc": "2.0", "method": "notifications/message", "params": params}


DEBUG = log("debug", "reading a.txt")
ERROR = log("error", {"read": 3}, logger="disk")
FIRST, LAST = progress(0, total=10), progress(2.5, total=10, message="index: a.txt")


def messages_of(
    era: Era = "legacy",
    *specs: str,
    meta: dict[str, Any] | None = None,
    level: str | None = None,
    tool: str = "index",
) -> list[tuple[float, Any]]:
    """Return what the client gets for one call, with times in milliseconds; `reply` for the reply."""

    async def main() -> list[tuple[float, Any]]:
        mock = mock_of(MANIFEST, *specs)
        client = MemoryClient(mock, era)
        if level is not None:
            client.ask(0, "logging/setLevel", level=level)
            client.received.clear()
        client.call(1, tool, meta, path="a.txt", count=3)
        await asyncio.sleep(100)
        await mock.stop()
        return [(at, "reply" if "result" in each else each) for at, each in client.received]

    return run_virtual(main())


def test_messages_are_sent_in_order_and_in_time() -> None:
    assert messages_of(meta={"progressToken": "t"}) == [
        (0, FIRST),
        (50, DEBUG),
        (50, ERROR),
        (1050, LAST),
        (1050, "reply"),
    ]


def test_the_same_call_gives_the_same_bytes_at_the_same_times() -> None:
    assert messages_of(meta={"progressToken": "t"}) == messages_of(meta={"progressToken": "t"})


@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("token", [None, True, [], 1.5])
def test_without_a_progress_token_the_times_pass_and_no_progress_is_sent(era: Era, token: Any) -> None:
    meta = {"progressToken": token, LOG_LEVEL_KEY: "debug"}
    assert messages_of(era, meta=meta) == [(50, DEBUG), (50, ERROR), (1050, "reply")]


@pytest.mark.parametrize(
    ("level", "logs"), [("debug", [DEBUG, ERROR]), ("info", [ERROR]), ("error", [ERROR]), ("alert", [])]
)
def test_a_level_limits_the_log_messages(level: str, logs: list[Any]) -> None:
    expected = [*((50, each) for each in logs), (1050, "reply")]
    assert messages_of(level=level) == expected
    assert messages_of("modern", meta={LOG_LEVEL_KEY: level}) == expected


def test_a_modern_call_without_a_level_gets_no_log_messages() -> None:
    assert messages_of("modern") == [(1050, "reply")]


def ask(method: str, era: Era = "legacy", manifest: Any = MANIFEST, **params: Any) -> Any:
    async def main() -> Any:
        client = MemoryClient(mock_of(manifest), era)
        client.ask(1, method, **params)
        (reply,) = client.messages
        return reply

    return run_virtual(main())


@pytest.mark.parametrize(
    ("level", "shown"), [("loud", '"loud"'), (None, "nothing"), (5, "5"), ([], "a list")]
)
def test_an_unknown_level_is_refused(level: Any, shown: str) -> None:
    problem = f"expected one of debug, info, notice, warning, error, critical, alert, emergency, got {shown}"
    error = ask("logging/setLevel", level=level)["error"]
    assert error == {"code": -32602, "message": f"Invalid params: level: {problem}"}
    if level is not None:
        error = ask("tools/call", "modern", name="index", _meta={LOG_LEVEL_KEY: level})["error"]
        assert error == {"code": -32602, "message": f"Invalid params: _meta.{LOG_LEVEL_KEY}: {problem}"}


def test_logging_is_announced_only_if_a_tool_logs_and_set_only_in_the_legacy_era() -> None:
    assert ask("initialize")["result"]["capabilities"]["logging"] == {}
    assert ask("server/discover", "modern")["result"]["capabilities"]["logging"] == {}
    assert "logging" not in ask("initialize", manifest=SILENT)["result"]["capabilities"]
    assert ask("logging/setLevel", level="info")["result"] == {}
    assert ask("logging/setLevel", manifest=SILENT, level="info")["error"]["code"] == -32601
    assert ask("logging/setLevel", "modern", level="info")["error"]["code"] == -32601


def test_messages_come_before_questions() -> None:
    methods = [each["method"] for _, each in messages_of(tool="asks")]
    assert methods == ["notifications/message", "sampling/createMessage"]


def test_a_session_sets_its_own_level() -> None:
    async def main() -> None:
        mock = mock_of(MANIFEST)
        one, two = MemoryClient(mock), MemoryClient(mock, name="two")
        one.ask(0, "logging/setLevel", level="alert")
        for client in (one, two):
            client.call(1, "quick")
        assert one.methods == ["reply", "reply"]
        assert two.methods == ["notifications/message", "reply"]

    run_virtual(main())


# --- faults ---------------------------------------------------------------------------------------


def test_a_delay_comes_before_the_messages() -> None:
    assert messages_of("legacy", "slow:500", level="info") == [(550, ERROR), (1550, "reply")]


def test_a_call_that_hangs_sends_no_messages() -> None:
    assert messages_of("legacy", "hang", level="debug") == []


def test_a_fault_of_the_reply_lets_the_messages_through() -> None:
    found = messages_of("legacy", "wrong_id", level="info")
    assert [at for at, _ in found] == [50, 1050]
    assert found[0] == (50, ERROR)


def test_a_frozen_session_gets_no_messages() -> None:
    assert messages_of("legacy", "frozen", level="debug") == []


def test_a_cancelled_call_sends_nothing_more() -> None:
    async def main() -> None:
        mock = mock_of(MANIFEST)
        client = MemoryClient(mock)
        client.call(1, "index", {"progressToken": "t"}, path="a.txt", count=3)
        await asyncio.sleep(0.06)
        client.session.cancel(1)
        await asyncio.sleep(10)
        assert client.messages == [FIRST, DEBUG, ERROR]
        assert not client.session.exchanges
        await mock.stop()

    run_virtual(main())


# --- on the wire ------------------------------------------------------------------------------------


def test_a_call_whose_messages_take_no_time_is_answered_before_the_end_of_input() -> None:
    async def main() -> None:
        async with on_pipes(MockJob(MANIFEST)) as pipes:
            pipes.say(call(1, "quick"))
            pipes.hang_up()
            lines = (await pipes.rest()).decode().splitlines()
            assert [("result" in line, "notifications/message" in line) for line in lines] == [
                (False, True),
                (True, False),
            ]

    run(main)


@pytest.mark.parametrize("specs", [(), ("slow:1",)])
def test_over_http_messages_and_reply_are_events_of_one_stream(specs: tuple[str, ...]) -> None:
    async def main() -> None:
        async with over_http(MockJob(MANIFEST, Plan(parse_specs(specs)), "http", port=0)) as web:
            async with web.stream(call(1, "quick")) as events:
                assert [(await anext(events)).get("method"), text_of(await anext(events))] == [
                    "notifications/message",
                    "done",
                ]
            assert text_of(await web.ask(call(2, "plain"))) == "hello"

    run(main)
