"""MCP calls over stdio under load, against a server that writes down what it is asked."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from faultkit.base.errors import TargetError
from faultkit.base.process_identity import group_is_alive
from faultkit.load.engines import mcp_engine_of
from faultkit.load.fold import Counts
from faultkit.load.load import Load, McpTarget
from faultkit.load.response import Failure
from faultkit.load.samples import Sample, Samples
from faultkit.load.segment import call_once, run_segment
from faultkit.load.summary import Summary
from faultkit.load.tally import Tally

SERVER = Path(__file__).with_name("mcp_line_server.py")


@dataclass
class Served:
    """A target, and the journal of its servers."""

    target: McpTarget
    journal: Path

    def lines(self) -> list[list[str]]:
        return [line.split(" ", 2) for line in self.journal.read_text().splitlines()]

    def counts(self) -> Counter[str]:
        return Counter(words[1] for words in self.lines())

    def pids(self) -> set[int]:
        return {int(words[0]) for words in self.lines()}


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "journal"


def served(journal: Path, *plan: str, **more: object) -> Served:
    command = (sys.executable, "-S", "-E", str(SERVER), str(journal), json.dumps(plan or ("ok",)))
    target = McpTarget("add", '{"a": 1}', command=command, **{"timeout_s": 20.0, **more})  # type: ignore[arg-type]
    return Served(target, journal)


ENDLESS = Load(600.0, None, 1, "closed")
"""For runs that end by `until`, so that they do not depend on how fast this machine is."""


def loaded(
    server: Served, load: Load, until: Callable[[list[Sample]], bool] = lambda rows: False
) -> tuple[list[Sample], Summary]:
    """Run a load in this thread; return its samples in the order of their ends, and its summary.

    `until` is called with the samples several times a second; when it returns True, the run is stopped."""
    tally, rows = Tally(), list[Sample]()

    def take(counts: Counts, samples: Samples) -> None:
        tally.add(samples)
        tally.dropped = counts.dropped
        rows.extend(samples)

    engine = mcp_engine_of(server.target, load)
    try:
        assert engine.open(lambda: False)
    except BaseException:
        engine.close()
        engine.loop.close()
        raise
    end = run_segment(engine, load, engine.loop.clock(), report=take, stopped=lambda: until(rows))
    return rows, tally.summary(load, total_s=end.total_s)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_clients_have_sessions_of_their_own_and_calls_are_those_that_the_servers_counted(
    journal: Path,
) -> None:
    server = served(journal)
    rows, summary = loaded(server, Load(0.2, None, 3, "closed"))
    counts = server.counts()
    assert counts["start"] == counts["initialize"] == counts["notifications/initialized"] == 3
    assert counts["call"] == len(rows) == summary.requests > 3
    assert summary.mcp is not None
    assert (summary.mcp.sessions, summary.mcp.restarts, summary.errors) == (3, 0, 0)
    calls = Counter(words[0] for words in server.lines() if words[1] == "call")
    assert len(calls) == 3
    assert all(row.first_byte_s == row.total_s and row.received > 0 for row in rows)
    assert counts["end"] == 3
    assert not any(map(is_running, server.pids()))


def test_a_call_carries_the_tool_its_arguments_and_a_new_id(journal: Path) -> None:
    server = served(journal)
    loaded(server, Load(0.1, None, 1, "closed"))
    calls = [words[2].split(" ", 1) for words in server.lines() if words[1] == "call"]
    assert [int(id) for id, _ in calls] == list(range(1, len(calls) + 1))
    assert json.loads(calls[0][1]) == {"arguments": {"a": 1}, "name": "add"}


def test_the_modern_era_has_no_handshake_and_metadata_with_each_call(journal: Path) -> None:
    server = served(journal, era="modern")
    rows, _ = loaded(server, Load(0.1, None, 1, "closed"))
    counts = server.counts()
    assert (counts["initialize"], counts["tools/list"], counts["call"]) == (0, 1, len(rows))
    call = next(words[2] for words in server.lines() if words[1] == "call")
    assert "io.modelcontextprotocol/protocolVersion" in call


def test_errors_are_counted_by_level(journal: Path) -> None:
    server = served(journal, "tool_error", "rpc_error", "nonsense", "ask", "ok")
    rows, summary = loaded(server, ENDLESS, lambda rows: len(rows) >= 5)
    assert [row.failure for row in rows[:5]] == [
        Failure.TOOL_ERROR,
        Failure.RPC_ERROR,
        Failure.INVALID_REPLY,
        Failure.NONE,
        Failure.NONE,
    ]
    assert summary.mcp is not None
    assert summary.mcp.levels == {"transport": 0, "protocol": 2, "tool": 1}
    assert summary.failures == {"invalid_reply": 1, "rpc_error": 1, "tool_error": 1}
    assert server.counts()["answer"] == 1


def test_an_open_load_may_have_several_calls_under_way_in_one_session(journal: Path) -> None:
    """The server replies to each second call before the first: with one call at a time there was none."""
    server = served(journal, *["late", "ok"] * 10)
    _, summary = loaded(server, Load(0.2, 100.0, 1))
    assert (summary.requests, summary.errors) == (20, 0)
    assert server.counts()["call"] == 20
    assert server.counts()["start"] == 1


def test_a_closed_load_has_one_call_under_way_in_a_session(journal: Path) -> None:
    server = served(journal, "late", timeout_s=0.5)  # The start of the server must fit in, too.
    rows, _ = loaded(server, Load(0.75, None, 1, "closed"))
    assert {row.failure for row in rows} == {Failure.TIMEOUT}
    methods = [words[1] for words in server.lines() if words[1] in ("call", "notifications/cancelled")]
    assert methods == ["call", "notifications/cancelled"] * len(rows)


def test_a_server_that_dies_is_an_error_of_the_transport_and_is_started_again(journal: Path) -> None:
    server = served(journal, "ok", "exit")
    rows, summary = loaded(server, ENDLESS, lambda rows: len(rows) >= 5)
    counts = server.counts()
    assert summary.mcp is not None
    lost = summary.failures["exited"]
    assert [row.failure for row in rows[:2]] == [Failure.NONE, Failure.EXITED]
    assert counts["call"] - len(rows) in (0, 1)  # One may have been under way at the end.
    assert summary.mcp.levels == {"transport": lost, "protocol": 0, "tool": 0}
    assert counts["initialize"] >= summary.mcp.sessions == summary.mcp.restarts + 1 > 1
    assert not any(map(is_running, server.pids()))


def test_the_wait_for_a_new_session_is_part_of_the_time_of_a_call(journal: Path) -> None:
    server = served(journal, "ok", "exit")
    rows, _ = loaded(server, ENDLESS, lambda rows: len(rows) >= 3)
    restarted = rows[2]
    assert restarted.failure == Failure.NONE
    assert restarted.total_s >= 0.05  # The pause before the second start.


def test_a_server_that_dies_at_once_is_given_up_after_some_starts(
    journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("faultkit.load.mcp_stdio.MOST_RESTARTS", 2)
    server = served(journal, "exit")
    rows, summary = loaded(server, ENDLESS, lambda rows: len(rows) >= 6)
    assert server.counts()["start"] == 3
    assert {row.failure for row in rows} == {Failure.EXITED}
    assert len(rows) > server.counts()["call"] == 3
    assert summary.mcp is not None
    assert summary.mcp.restarts == 2


def test_a_stopped_run_leaves_no_process_behind(journal: Path) -> None:
    server = served(journal, "silent")
    loaded(server, Load(600.0, None, 2, "closed"), lambda rows: server.counts()["call"] == 2)
    assert len(server.pids()) == 2
    assert not any(map(is_running, server.pids()))


@pytest.mark.skipif(shutil.which("setsid") is None, reason="there is no setsid(1)")
def test_what_a_server_started_in_another_group_ends_with_it(journal: Path, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    server = served(journal)
    child = f"setsid sleep 60 >/dev/null 2>&1 </dev/null & echo $! >>{pids}"
    script = f"{child}; exec {shlex.join(server.target.command)}"
    target = replace(server.target, command=("/bin/sh", "-c", script))
    loaded(Served(target, journal), Load(0.05, None, 3, "closed"))
    started = [int(pid) for pid in pids.read_text().split()]
    assert len(started) == 3
    deadline = time.monotonic() + 20.0
    while any(map(group_is_alive, started)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(map(group_is_alive, started))


@pytest.mark.parametrize(
    ("plan", "expected"),
    [("refuse", "the server refuses to open a session: not today"), ("mute", "no session within 0.3 s")],
)
def test_a_session_that_cannot_be_opened_is_no_result(journal: Path, plan: str, expected: str) -> None:
    server = served(journal, plan, timeout_s=0.3 if plan == "mute" else 20.0)
    with pytest.raises(TargetError, match=expected):
        loaded(server, Load(0.1, None, 2, "closed"))
    assert not any(map(is_running, server.pids()))


def test_a_program_that_ends_at_once_is_named_with_its_last_words() -> None:
    command = (sys.executable, "-S", "-E", "-c", "import sys; sys.exit('no such database')")
    with pytest.raises(TargetError, match="the server ended with exit code 1: no such database"):
        loaded(Served(McpTarget("add", command=command), Path()), Load(0.1, None, 1, "closed"))


def test_a_program_that_is_not_there_is_named() -> None:
    target = McpTarget("add", command=("/no/such/program",))
    with pytest.raises(TargetError, match="cannot start /no/such/program: No such file"):
        loaded(Served(target, Path()), Load(0.1, None, 1, "closed"))


def test_one_call_has_a_session_of_its_own(journal: Path) -> None:
    server = served(journal, "tool_error")
    sample = call_once(server.target)
    assert (sample.failure, sample.status) == (Failure.TOOL_ERROR, 0)
    assert server.counts()["call"] == 1
    assert not any(map(is_running, server.pids()))
