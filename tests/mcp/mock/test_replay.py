"""`fault gateway --record` and `fault gateway replay` as a user runs them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from faultkit.cli.main import invoke
from tests.mcp.mock.mock_client import MODERN, call, request
from tests.mcp.mock.test_process import done, ended, read_message, say, started

MANIFEST = """\
name: shop
tools:
  - name: search
    description: Finds é things.
    responses:
      - {when: args.q == "s", sequence: [one, {error: {code: -5, message: "no", data: [1.5, null]}}, two]}
      - {when: args.q == "t", error: not today}
      - {when: default, result: {q: "${args.q}", n: "${call}"}}
  - {name: plain, response: hello}
resources: [{uri: "mem://a", text: "hi"}]
prompts: [{name: p, text: "do ${args.x}"}]
"""
OLD = [
    request(1, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={}),
    request(2, "tools/list"),
    *(call(number, "search", q=q) for number, q in enumerate(["s", "x", "s", "t", "s", "x", "☃"], 3)),
    call(10, "plain"),
    request(11, "resources/list"),
    request(12, "resources/read", uri="mem://a"),
    request(13, "resources/read", uri="mem://nothing"),
    request(14, "prompts/list"),
    request(15, "prompts/get", name="p", arguments={"x": "it"}),
    call(16, "nope"),
    request(17, "nope/nope"),
    request("last", "ping"),
]
NEW = [
    {**each, "params": {**each["params"], "_meta": MODERN}}
    for each in (request(0, "server/discover"), *OLD[1:-1])
]


PLAIN = [call(number, "plain") for number in range(1, 13)]


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("mock") / "tools.yml"
    file.write_text(MANIFEST)
    return str(file)


@pytest.fixture(scope="module")
def recorded(tools: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A recording of calls without faults, made once; tests do not change it."""
    file = tmp_path_factory.mktemp("recorded") / "calls.jsonl"
    record(PLAIN, file, tools)
    return file.read_text()


def exchange_lines(messages: list[dict[str, Any]], *args: str) -> list[Any]:
    """Return the replies in the order of their requests."""
    with started(*args) as process:
        replies = []
        for message in messages:
            say(process, message)
            replies.append(read_message(process))
        code, out, said = ended(process)
        assert (code, out) == (0, b"")
        assert all(line.startswith(b'rule "') for line in said.splitlines())
        return replies


def record(messages: list[dict[str, Any]], file: Path, tools: str, *args: str) -> list[Any]:
    mock = [sys.executable, "-m", "faultkit", "mock", "--tools-from", tools]
    return exchange_lines(messages, "gateway", "--record", str(file), *args, "--", *mock)


@pytest.mark.parametrize("messages", [OLD, NEW], ids=["legacy", "modern"])
def test_a_recording_that_is_replayed_gives_the_same_replies(
    messages: list[dict[str, Any]], tools: str, tmp_path: Path
) -> None:
    file = tmp_path / "calls.jsonl"
    replies = record(messages, file, tools)
    assert [reply["id"] for reply in replies] == [message["id"] for message in messages]
    assert exchange_lines(messages, "mock", "--tools-from", str(file)) == replies
    # One call more than was recorded: the last reply repeats.
    again = {**messages[6], "id": "again"}
    *same, last = exchange_lines([*messages, again], "gateway", "replay", str(file))
    assert same == replies
    assert last["result"] == replies[6]["result"]


def test_what_a_fault_did_is_replayed_and_faults_can_be_laid_over_it(tools: str, tmp_path: Path) -> None:
    file = tmp_path / "calls.jsonl"
    replies = record(PLAIN, file, tools, "--fault", "tool_error:oops%0.5", "--seed", "3")
    failed = [reply["result"].get("isError", False) for reply in replies]
    assert set(failed) == {True, False}
    assert exchange_lines(PLAIN, "gateway", "replay", str(file)) == replies
    over = exchange_lines(PLAIN, "gateway", "replay", str(file), "--fault", "protocol_error:-5@plain")
    assert {reply["error"]["code"] for reply in over} == {-5}


def test_the_same_seed_lays_the_same_faults_over_a_recording(
    tools: str, recorded: str, tmp_path: Path
) -> None:
    file = tmp_path / "calls.jsonl"
    faults = ("--fault", "tool_error:oops%0.5", "--seed", "3")
    broken = record(PLAIN, tmp_path / "other.jsonl", tools, "--name", "shop", *faults)
    # Random decisions depend on the server's name; a recording without `initialize` has the default name.
    file.write_text(_with_welcome(recorded))
    assert exchange_lines(PLAIN, "gateway", "replay", str(file), *faults) == broken


def _with_welcome(lines: str) -> str:
    asked = {"t": 0, "session": "stdio", "from": "client", "message": OLD[0]}
    welcome = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "serverInfo": {"name": "shop", "version": "1"},
    }
    reply = {"jsonrpc": "2.0", "id": 1, "result": welcome}
    told = {"t": 0, "session": "stdio", "from": "server", "message": reply}
    return f"{json.dumps(asked)}\n{json.dumps(told)}\n{lines}"


def test_a_broken_recording_and_a_target_that_is_not_in_it_are_refused(
    recorded: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "calls.jsonl"
    asked, replied = recorded.splitlines(keepends=True)[:2]
    whole = asked + replied
    file.write_text(whole)
    assert invoke(["gateway", "replay", str(file), "--fault", "hang@search"]) == 2
    unknown = 'error: --fault "hang@search": no tool is named "search" (tools: plain)\n'
    assert capsys.readouterr() == ("", unknown)
    file.write_text(whole + whole[:40])
    warning = f"warning: {file}: line 3, the last one, is cut off, and left out\n"
    assert done("gateway", "replay", str(file)) == (0, "", warning)
    file.write_text(whole[:-30] + "\n")
    assert invoke(["gateway", "replay", str(file)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: {file}: line 2: expected a whole JSON object: ")
    assert invoke(["gateway", "replay"]) == 2
    missing = "error: Missing argument 'FILE' (see `fault gateway replay --help`)\n"
    assert capsys.readouterr().err == missing


def test_a_command_named_replay_is_still_a_command(tmp_path: Path) -> None:
    code, _, err = done("gateway", "--", "replay", "x")
    assert (code, err) == (3, "error: cannot start replay: there is no such program\n")
