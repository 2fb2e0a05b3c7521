"""Recordings: requests are matched with their replies, and replayed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from faultkit.base.errors import InputError
from faultkit.faults.call_fault import Era
from faultkit.mcp.mock.manifest import load_recording, load_source
from faultkit.mcp.mock.mock_model import Manifest
from faultkit.mcp.mock.mock_recording import Recording, Replay, read_recording
from faultkit.mcp.wire.era import SERVER_INFO_KEY
from tests.mcp.mock.mock_client import call, cancel, request


def line(side: str, message: Any, session: str = "stdio", **more: Any) -> dict[str, Any]:
    return {"t": 0.1, "session": session, "from": side, "message": message, **more}


def inject(id: int | str, session: str = "stdio") -> dict[str, Any]:
    return {"t": 0.1, "session": session, "inject": "r", "fault": "slow", "method": "tools/call", "id": id}


def result(id: int | str, value: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": value}


def error(id: int | str, value: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "error": value}


def text(replayed_result: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": replayed_result}]}


def recorded(*lines: dict[str, Any]) -> Recording:
    return read_recording("".join(json.dumps(each) + "\n" for each in lines))


def ask(replay: Replay, method: str, params: dict[str, Any] | None = None, era: Era = "legacy") -> Any:
    member = replay.answer(method, params or {}, era)
    assert isinstance(member, bytes)
    return json.loads(b"{" + member + b"}")


def replayed_result(replay: Replay, name: str, /, **arguments: Any) -> Any:
    return ask(replay, "tools/call", {"name": name, "arguments": arguments})


WELCOME = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}, "logging": {}},
    "serverInfo": {"name": "shop", "version": "3", "title": "Shop"},
    "instructions": "Be kind.",
}
OPENING = (
    line("client", request(0, "initialize", protocolVersion="2025-11-25", capabilities={})),
    line("server", result(0, WELCOME)),
)
LISTED = {"name": "search", "inputSchema": {"type": "object"}, "x-odd": [1]}


def test_the_same_requests_get_the_same_replies() -> None:
    broken = {"code": -32001, "message": "no", "data": None, "odd": 1}
    recording = recorded(
        *OPENING,
        line("client", request(1, "tools/list")),
        line("server", result(1, {"tools": [LISTED], "odd": True})),
        line("client", call(2, "search", q="a")),
        line("server", result(2, text("one"))),
        line("client", call(3, "search", q="b")),
        line("server", error(3, broken)),
        line("client", request(4, "resources/read", uri="mem://a")),
        line("server", result(4, {"contents": []})),
        line("client", request(5, "prompts/get", name="p", arguments={"x": "1"})),
        line("server", result(5, {"messages": []})),
        line("client", request(6, "logging/setLevel", level="info")),
        line("server", result(6, {})),
    )
    replay = Replay(recording)
    assert (recording.name, recording.info) == ("shop", WELCOME["serverInfo"])
    assert recording.listed == (LISTED,)
    assert ask(replay, "tools/list") == {"result": {"tools": [LISTED], "odd": True}}
    assert replayed_result(replay, "search", q="a") == {"result": text("one")}
    assert replayed_result(replay, "search", q="b") == {"error": broken}
    assert ask(replay, "resources/read", {"uri": "mem://a"}) == {"result": {"contents": []}}
    assert ask(replay, "prompts/get", {"name": "p", "arguments": {"x": "1"}}) == {"result": {"messages": []}}
    assert ask(replay, "logging/setLevel", {"level": "info"}) == {"result": {}}


def test_replies_to_the_same_request_come_in_their_order_and_the_last_stays() -> None:
    replay = Replay(
        recorded(
            line("client", call(1, "a", x=1)),
            line("client", call(2, "a", x=2)),
            line("client", call(3, "a", x=1)),
            # The replies were overtaken; the order is that of the requests.
            line("server", result(3, text("second"))),
            line("server", result(2, text("other"))),
            line("server", result(1, text("first"))),
        )
    )
    given = [replayed_result(replay, "a", x=x)["result"]["content"][0]["text"] for x in (1, 2, 1, 1, 2)]
    assert given == ["first", "other", "second", "second", "other"]


@pytest.mark.parametrize(
    ("asked", "same"),
    [
        ({"name": "a", "arguments": {"x": 1, "y": [{"b": 1, "a": 2}]}}, True),
        ({"arguments": {"y": [{"a": 2.0, "b": 1}], "x": 1.0}, "name": "a"}, True),
        ({"name": "a", "arguments": {"x": 1, "y": [{"b": 1, "a": 2}]}, "_meta": {"progressToken": 9}}, True),
        ({"name": "a", "arguments": {"x": 1, "y": [{"b": 1}]}}, False),
        ({"name": "a", "arguments": {"x": True, "y": [{"b": 1, "a": 2}]}}, False),
        ({"name": "a", "arguments": {"x": "1", "y": [{"b": 1, "a": 2}]}}, False),
        ({"name": "a", "arguments": {"x": 1, "y": [{"b": 1, "a": 2}]}, "requestState": "s"}, False),
    ],
)
def test_requests_are_the_same_by_what_they_ask(asked: dict[str, Any], same: bool) -> None:
    recording = recorded(
        line("client", call(1, "a", x=1, y=[{"b": 1, "a": 2}])), line("server", result(1, text("yes")))
    )
    assert ("result" in ask(Replay(recording), "tools/call", asked)) is same


def test_no_arguments_and_empty_arguments_are_the_same() -> None:
    recording = recorded(line("client", call(1, "a")), line("server", result(1, text("yes"))))
    for params in ({"name": "a"}, {"name": "a", "arguments": {}}, {"name": "a", "arguments": None}):
        assert ask(Replay(recording), "tools/call", params) == {"result": text("yes")}


def test_what_was_never_asked_gets_an_error_that_says_so() -> None:
    replay = Replay(
        recorded(
            *OPENING,
            line("client", request(1, "tools/list")),
            line("server", result(1, {"tools": [LISTED, {"name": "idle"}]})),
            line("client", call(2, "search", q="a")),
            line("server", result(2, text("one"))),
            line("client", call(3, "search", q="b")),
            line("server", result(3, text("two"))),
        )
    )
    assert replayed_result(replay, "search", q="c")["error"] == {
        "code": -32602,
        "message": "the recording has no reply to tools/call of `search` with these parameters, "
        "but to 2 with others",
    }
    assert replayed_result(replay, "idle")["error"] == {
        "code": -32602,
        "message": "the recording has no reply to tools/call of `idle`",
    }
    assert replayed_result(replay, "nope")["error"] == {
        "code": -32602,
        "message": "tool `nope` is not in the recording",
    }
    assert ask(replay, "prompts/list")["error"] == {
        "code": -32601,
        "message": "method `prompts/list` is not in the recording",
    }
    assert ask(replay, "ping") == {"result": {}}


def test_the_welcome_is_as_it_was_for_the_version_that_was_asked_for() -> None:
    newer = {**WELCOME, "protocolVersion": "2025-11-25"}
    replay = Replay(
        recorded(
            line("client", request(0, "initialize", protocolVersion="2025-06-18"), "one"),
            line("server", result(0, WELCOME), "one"),
            line("client", request(0, "initialize", protocolVersion="2025-11-25"), "two"),
            line("server", result(0, newer), "two"),
        )
    )
    for version, expected in (("2025-06-18", WELCOME), ("2025-11-25", newer), ("2024-11-05", WELCOME)):
        assert ask(replay, "initialize", {"protocolVersion": version}) == {"result": expected}


def test_a_client_of_the_other_era_is_served_as_well() -> None:
    old = Replay(recorded(*OPENING, line("client", call(1, "a")), line("server", result(1, text("x")))))
    meta = {SERVER_INFO_KEY: WELCOME["serverInfo"]}
    assert ask(old, "server/discover", era="modern")["result"] == {
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": WELCOME["capabilities"],
        "instructions": "Be kind.",
        "_meta": meta,
    }
    called = ask(old, "tools/call", {"name": "a"}, "modern")["result"]
    assert called == {**text("x"), "resultType": "complete", "_meta": meta}
    assert ask(old, "initialize", {}, "modern")["error"]["code"] == -32601
    discovered = {
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {}},
        "_meta": meta,
    }
    new = Replay(
        recorded(
            line("client", request(0, "server/discover", _meta={}), "modern"),
            line("server", result(0, discovered), "modern"),
        )
    )
    assert ask(new, "server/discover", era="modern") == {"result": discovered}
    assert ask(new, "initialize", {"protocolVersion": "2025-06-18"})["result"] == {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}},
        "serverInfo": WELCOME["serverInfo"],
    }


def test_tools_that_were_only_called_are_listed_by_their_names() -> None:
    replay = Replay(recorded(line("client", call(1, "a")), line("server", result(1, text("x")))))
    assert ask(replay, "tools/list")["result"]["tools"] == [{"name": "a", "inputSchema": {"type": "object"}}]
    assert ask(replay, "initialize")["result"]["serverInfo"]["name"] == "faultkit-replay"
    assert ask(replay, "initialize")["result"]["capabilities"] == {"tools": {}}


def test_sessions_with_the_same_ids_are_kept_apart() -> None:
    replay = Replay(
        recorded(
            line("client", call(1, "a"), "one"),
            line("client", call(1, "b"), "two"),
            line("server", result(1, text("of b")), "two"),
            line("server", result(1, text("of a")), "one"),
        )
    )
    assert replayed_result(replay, "a") == {"result": text("of a")}
    assert replayed_result(replay, "b") == {"result": text("of b")}


def test_clients_of_a_shared_session_are_answered_in_their_order() -> None:
    replay = Replay(
        recorded(
            line("client", call(1, "hung"), "modern"),
            inject(1, "modern"),
            line("client", call(1, "a"), "modern"),
            line("client", call(1, "b"), "modern"),
            line("server", result(1, text("of a")), "modern"),
            line("server", result(1, text("of b")), "modern"),
        )
    )
    assert replayed_result(replay, "a") == {"result": text("of a")}
    assert replayed_result(replay, "b") == {"result": text("of b")}
    assert "error" in replayed_result(replay, "hung")


def test_where_a_fault_stood_in_the_client_gets_what_it_got() -> None:
    gateway = {"frame": "Send"}
    replay = Replay(
        recorded(
            line("client", call(1, "changed")),
            inject(1),
            line("server", result(1, text("true"))),
            line("gateway", result(1, text("false")), **gateway),
            line("client", call(2, "refused")),
            inject(2),
            line("gateway", error(2, {"code": -1, "message": "no"}), **gateway),
            line("client", call(3, "slow")),
            inject(3),
            line("server", result(3, text("late"))),
            line("client", call(4, "cut")),
            inject(4),
            line("server", result(4, text("whole"))),
            line("gateway", result(4, text("who")), frame="Cut"),
            line("client", call(5, "garbage")),
            inject(5),
            line("server", result(5, text("good"))),
            {"t": 0.2, "session": "stdio", "from": "gateway", "frame": "Send", "raw": "{oops"},
            line("client", call(6, "hung")),
            inject(6),
        )
    )
    names = ("changed", "refused", "slow", "cut", "garbage")
    assert [replayed_result(replay, name) for name in names] == [
        {"result": text("false")},
        {"error": {"code": -1, "message": "no"}},
        {"result": text("late")},
        {"result": text("whole")},
        {"result": text("good")},
    ]
    assert replayed_result(replay, "hung")["error"]["message"] == "tool `hung` is not in the recording"


def test_batches_questions_notifications_and_cancelled_calls() -> None:
    replay = Replay(
        recorded(
            line("client", [call(1, "a"), call(2, "b"), 5]),
            line("server", [result(2, text("of b"))]),
            line("server", request(1, "sampling/createMessage")),
            line("client", result(1, {"role": "assistant"})),
            line("server", {"jsonrpc": "2.0", "method": "notifications/progress", "params": {}}),
            {"t": 0.2, "session": "stdio", "from": "server", "raw": "nonsense"},
            line("server", result(1, text("of a"))),
            line("client", call(3, "c")),
            line("client", cancel(3)),
            line("server", result(3, text("too late"))),
        )
    )
    assert replayed_result(replay, "a") == {"result": text("of a")}
    assert replayed_result(replay, "b") == {"result": text("of b")}
    assert "error" in replayed_result(replay, "c")


@pytest.mark.parametrize("size", [1, 40, -1])
def test_a_last_line_that_is_cut_off_is_left_out_with_a_warning(size: int) -> None:
    lines = [
        line("client", call(1, "a")),
        line("server", result(1, text("one"))),
        line("client", call(2, "b")),
    ]
    first, second, third = (json.dumps(each) for each in lines)
    recording = read_recording(f"{first}\n{second}\n{third[:size]}", "calls.jsonl")
    assert recording.warnings == ("calls.jsonl: line 3, the last one, is cut off, and left out",)
    assert replayed_result(Replay(recording), "a") == {"result": text("one")}
    assert read_recording(f"{first}\n{second}\n{third}").warnings == ()
    assert read_recording(f"{first}\n{second}").warnings == ()


GOOD = json.dumps(line("client", call(1, "a")))
WRONG = [
    ("", "expected requests and their replies, got none"),
    ("\n\n", "expected requests and their replies, got none"),
    (GOOD + "\n", "expected requests and their replies, got none"),
    (
        GOOD + "\n" + GOOD[:40] + "\n",
        "line 2: expected a whole JSON object: Unterminated string starting at: character 40 of 40",
    ),
    (GOOD + "\n" + GOOD[:40], "expected requests and their replies, got none"),
    (GOOD + "\n\n{]\n" + GOOD, "line 3: expected a whole JSON object: Expecting property name"),
    (GOOD + "\n[1]\n", "line 2: expected a JSON object, got a list"),
    ('{"t": 1}\n', "line 1: expected from: client, server, gateway, got nothing"),
    ('{"t": 1, "from": "me", "message": {}}\n', 'line 1: expected from: client, server, gateway, got "me"'),
    ('{"t": 1, "from": "client", "message": 5}\n', "line 1: expected an object as message, got 5"),
    (GOOD + "\n" + "[" * 100_000 + "\n", "line 2: expected a JSON object that can be read, got "),
]


@pytest.mark.parametrize(("content", "problem"), WRONG)
def test_a_broken_recording_is_refused_with_its_line(content: str, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "calls.jsonl"
    file.write_text(content)
    for load in (load_recording, load_source):
        with pytest.raises(InputError) as caught:
            load(file)
        assert str(caught.value).startswith(f"{file}: {problem}"), str(caught.value)


def test_a_recording_is_known_by_its_first_line_or_its_name(tmp_path: Path) -> None:
    lines = "\n" + GOOD + "\n" + json.dumps(line("server", result(1, text("x")))) + "\n"
    for name in ("calls.jsonl", "calls.txt"):
        (tmp_path / name).write_text(lines)
        assert isinstance(load_source(tmp_path / name), Recording)
    (tmp_path / "tools.json").write_text('{"tools": [{"name": "t"}], "name": "from"}')
    assert isinstance(load_source(tmp_path / "tools.json"), Manifest)
