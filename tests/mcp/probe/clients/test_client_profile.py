"""Profiles of several small clients, run against faulty servers; how a client finds its server."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

from faultkit.base.client_program import argv_of
from faultkit.base.errors import InputError, TargetError
from faultkit.faults.call_fault import Transport
from faultkit.mcp.probe.clients.client_behaviour import ClientBehaviour, Profile
from faultkit.mcp.probe.clients.client_profile import (
    ProfileJob,
    check_job,
    environment_of,
    profile_client,
)

SCRIPT = str(Path(__file__).with_name("small_client.py"))
LIMIT_S = 20.0
SHORT_S = 3.0


def job(way: str, transport: Transport = "http", limit_s: float = LIMIT_S) -> ProfileJob:
    place = "{url}" if transport == "http" else "{server}"
    return ProfileJob((sys.executable, "-I", SCRIPT, way, place), transport, limit_s=limit_s)


def profiled(way: str, *specs: str, transport: Transport = "http", limit_s: float = LIMIT_S) -> Profile:
    return asyncio.run(profile_client(job(way, transport, limit_s), specs))


def by_spec(profile: Profile) -> dict[str, ClientBehaviour]:
    return {row.spec: row for row in profile.rows}


@pytest.fixture(scope="module")
def plain() -> Profile:
    return profiled("plain", "slow:10", "hang,first=1", "tool_error", "corrupt_value", "vanished_tools")


def test_the_control_run_says_how_the_client_speaks(plain: Profile) -> None:
    assert (plain.era, plain.transport, plain.notes) == ("legacy", "http", ())
    assert (plain.control.outcome, plain.control.calls, plain.control.leaks) == ("answered", 1, ())


def test_a_client_that_bears_a_fault_has_answered(plain: Profile) -> None:
    row = by_spec(plain)["slow:10"]
    assert (row.outcome, row.calls, row.cancelled, row.leaks) == ("answered", 1, 0, ())


def test_a_client_that_gives_up_is_seen_to_cancel_and_to_leave_its_session(plain: Profile) -> None:
    row = by_spec(plain)["hang,first=1"]
    assert (row.outcome, row.exit_code, row.cancelled, row.retries) == ("failed", 1, 1, 0)
    assert row.leaks == ("1 session",)
    assert row.last_words == "TimeoutError"


def test_a_client_that_fails_and_one_that_is_fooled_are_told_apart(plain: Profile) -> None:
    rows = by_spec(plain)
    assert (rows["tool_error"].outcome, rows["tool_error"].exit_code) == ("failed", 1)
    assert rows["corrupt_value"].outcome == "answered differently"


def test_a_fault_that_the_client_never_meets_is_not_exercised(plain: Profile) -> None:
    assert by_spec(plain)["vanished_tools"].outcome == "not exercised"


def test_retries_are_counted_with_the_time_between_them() -> None:
    rows = by_spec(profiled("stubborn", "http_status:503,first=2", "protocol_error"))
    once, always = rows["http_status:503,first=2"], rows["protocol_error"]
    assert (once.outcome, once.calls, once.retries, len(once.gaps_ms)) == ("answered", 3, 2, 2)
    assert (always.outcome, always.calls, always.retries) == ("failed", 3, 2)


def test_a_client_that_waits_for_ever_is_ended_at_its_limit() -> None:
    row = profiled("patient", "hang", limit_s=SHORT_S).rows[0]
    assert (row.outcome, row.exit_code, row.why) == (
        "hung",
        None,
        "the client did not end within its time limit",
    )


def test_what_a_client_leaves_open_is_told() -> None:
    profile = profiled("leaky", "slow:10")
    assert profile.control.leaks == profile.rows[0].leaks == ("1 session", "1 connection", "1 process")


def test_a_client_that_never_prints_the_same_is_not_compared() -> None:
    profile = profiled("wordy", "slow:10")
    assert profile.rows[0].outcome == "answered"
    assert profile.notes == ("the client prints something else each time, so its output is not compared",)


@pytest.mark.parametrize(
    ("way", "problem"),
    [
        ("failing", "the client ended with exit code 3, though nothing was wrong: no idea"),
        ("idle", "the client called no tool"),
    ],
)
def test_without_a_control_run_that_works_everything_is_inconclusive(way: str, problem: str) -> None:
    profile = profiled(way, "hang", "slow:10")
    assert [row.outcome for row in (profile.control, *profile.rows)] == ["inconclusive"] * 3
    assert profile.control.why == problem
    assert profile.notes == (f"the control run failed, so no fault can be judged: {problem}",)


def test_a_client_on_pipes_starts_the_faulty_server_itself() -> None:
    profile = profiled("stubborn", "tool_error,first=1", "disconnect", transport="stdio")
    rows = by_spec(profile)
    assert (profile.transport, profile.era, profile.control.leaks) == ("stdio", "legacy", ())
    assert (rows["tool_error,first=1"].outcome, rows["tool_error,first=1"].retries) == ("answered", 1)
    assert (rows["disconnect"].outcome, rows["disconnect"].calls) == ("failed", 1)


@pytest.mark.parametrize(
    ("wrong", "specs", "problem"),
    [
        (ProfileJob((), "http"), (), "expected the command of the client after --, got none"),
        (
            ProfileJob((sys.executable, "{server}"), "http"),
            (),
            "--transport: expected stdio, got http: {server} ",
        ),
        (
            ProfileJob((sys.executable, "{url}"), "stdio"),
            (),
            "--transport: expected http, got stdio: {url} stands",
        ),
        (job("plain"), ("hnag",), "--fault \"hnag\": unknown fault 'hnag'; did you mean 'hang'?"),
        (job("plain", "stdio"), ("tcp_reset",), '--fault "tcp_reset": expected one that fits stdio'),
        (
            ProfileJob((sys.executable,), "http", tools_from="/nowhere.yml"),
            (),
            "--tools-from /nowhere.yml",
        ),
    ],
)
def test_wrong_input_is_told_before_anything_is_started(
    wrong: ProfileJob, specs: tuple[str, ...], problem: str
) -> None:
    with pytest.raises(InputError) as raised:
        check_job(wrong, specs)
    assert str(raised.value).startswith(problem)


def test_a_client_that_cannot_be_started_is_no_target() -> None:
    with pytest.raises(TargetError, match="cannot start no-such-client"):
        check_job(ProfileJob(("no-such-client",), "http"), ())


# --- how a client finds its server -----------------------------------------------------------------


SERVER = ("python", "-m", "a server")


def test_a_placeholder_that_is_a_word_becomes_as_many_words_as_it_takes() -> None:
    assert argv_of(["client", "{server}", "-v"], {"{server}": SERVER}) == ["client", *SERVER, "-v"]


def test_a_placeholder_within_a_word_becomes_one_text_for_a_shell() -> None:
    shell = argv_of(
        ["sh", "-c", "client {server} --at {url}"], {"{server}": SERVER, "{url}": ["http://x/mcp"]}
    )
    assert shell == ["sh", "-c", "client python -m 'a server' --at http://x/mcp"]


def test_a_client_is_told_of_a_url_by_its_environment(tmp_path: Path) -> None:
    env, config = environment_of(tmp_path, url="http://127.0.0.1:9/mcp")
    assert env["FAULT_MCP_URL"] == "http://127.0.0.1:9/mcp"
    assert env["FAULT_MCP_CONFIG"] == config
    server = {"type": "http", "url": "http://127.0.0.1:9/mcp"}
    assert json.loads(Path(config).read_text()) == {"mcpServers": {"faultkit": server}}
    assert "127.0.0.1" in env["NO_PROXY"].split(",")


def test_a_client_is_told_of_a_command_by_its_config(tmp_path: Path) -> None:
    env, config = environment_of(tmp_path, command=SERVER)
    assert "FAULT_MCP_URL" not in env
    server = {"command": "python", "args": ["-m", "a server"]}
    assert json.loads(Path(config).read_text()) == {"mcpServers": {"faultkit": server}}
