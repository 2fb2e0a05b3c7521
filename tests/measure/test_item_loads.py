"""Loads on MCP servers and event streams in worker processes: figures agree with what the servers counted."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from faultkit.faults.call_fault import Era
from faultkit.load.load import Load, McpTarget, StreamUntil, Target
from faultkit.load.local_workers import LocalPlace
from faultkit.load.summary import Summary
from faultkit.load.workers import run_load
from tests.load.mcp_http_server import McpServer
from tests.load.servers import serving, url_of
from tests.load.stream_servers import Sent, streaming
from tests.load.test_segment_stream import Programs

PATIENCE_S = 60.0
FAULT = [sys.executable, "-m", "faultkit"]
SDK_SERVER = str(Path(__file__).with_name("sdk_tool_server.py"))
ERAS: tuple[Era, ...] = ("legacy", "modern")


def figures(target: Target | McpTarget, load: Load, workers: int = 1) -> Summary:
    result = run_load(target, load, on=LocalPlace(workers))
    return result.tally.summary(load, total_s=result.total_s)


def over_stdio(command: list[str], **more: Any) -> McpTarget:
    return McpTarget("count", command=tuple(command), timeout_s=PATIENCE_S, **more)


@contextmanager
def over_http(command: list[str], stderr: Path) -> Iterator[str]:
    """Start a server; yield its URL. It is ended by SIGTERM."""
    with stderr.open("wb") as log, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log) as server:
        try:
            assert server.stdout is not None
            found = None
            if "mock" in command:
                while found is None and server.poll() is None:
                    time.sleep(0.05)
                    found = re.search(r"http://127\.0\.0\.1:\d+/mcp", stderr.read_text())
            else:
                found = re.match(r"(\S+)", server.stdout.readline().decode())
            assert found is not None, stderr.read_text()
            yield found[0]
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(PATIENCE_S)


# --- fault mock ------------------------------------------------------------------------------


@pytest.fixture
def mock(tmp_path: Path) -> list[str]:
    (tmp_path / "tools.yml").write_text("tools:\n  - {name: count, response: one}\n")
    faults = ["--fault", "tool_error%0.3@count", "--fault", "protocol_error%0.2@count"]
    return [*FAULT, "mock", "--tools-from", str(tmp_path / "tools.yml"), "--json", *faults]


def counted_by_mocks(log: Path) -> tuple[int, dict[str, int]]:
    """Return the calls that all mocks counted at their end, and the injections of each fault."""
    events = [json.loads(line) for line in log.read_text().splitlines()]
    ends = [event["rules"] for event in events if event["event"] == "ended"]
    injected = Counter(event["fault"] for event in events if event["event"] == "injected")
    first = max(rules[0]["covered"] for rules in ends)
    calls = sum(rules[0]["covered"] for rules in ends)
    assert first > 0
    return calls, dict(injected)


@pytest.mark.parametrize("era", ERAS)
def test_calls_of_a_mock_over_stdio(mock: list[str], era: Era, tmp_path: Path) -> None:
    log = tmp_path / "log"
    # Each mock writes its counts to a log of its own.
    script = f'exec {shlex.join(mock)} 2>"{log}.$$"'
    load = Load(0.5, None, 2, "closed")
    summary = figures(over_stdio(["/bin/sh", "-c", script], era=era), load, workers=2)
    logs = sorted(tmp_path.glob("log.*"))
    counts = [counted_by_mocks(each) for each in logs]
    assert summary.mcp is not None
    assert len(logs) == summary.mcp.sessions == 2
    assert summary.requests == sum(calls for calls, _ in counts)
    tool = sum(injected.get("tool_error", 0) for _, injected in counts)
    protocol = sum(injected.get("protocol_error", 0) for _, injected in counts)
    assert summary.mcp.levels == {"transport": 0, "protocol": protocol, "tool": tool}
    assert tool > 0 < protocol


def test_calls_of_a_mock_over_http(mock: list[str], tmp_path: Path) -> None:
    """One mock for all runs, because it takes long to start: its counts are the sums."""
    sums: Counter[str] = Counter()
    with over_http([*mock, "--front", "http", "--port", "0"], tmp_path / "log") as url:
        for era in ERAS:
            for model in ("open", "closed"):
                summary = figures(
                    McpTarget("count", http=Target("POST", url), timeout_s=PATIENCE_S, era=era),
                    Load(0.4, 60.0, 3, model, keep_alive=model == "open"),
                    workers=2,
                )
                assert summary.mcp is not None
                assert summary.mcp.sessions == 3
                sums.update(summary.mcp.levels, calls=summary.requests)
    calls, injected = counted_by_mocks(tmp_path / "log")
    assert sums["calls"] == calls
    assert sums["protocol"] == injected["protocol_error"]
    assert sums["tool"] == injected["tool_error"]
    assert sums["transport"] == 0


# --- a server on the official SDK ------------------------------------------------------------


def counted_by_sdk(journal: Path) -> Counter[str]:
    return Counter(journal.read_text().split())


@pytest.mark.parametrize("era", ERAS)
def test_calls_of_an_sdk_server_over_stdio(era: Era, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    target = over_stdio([sys.executable, SDK_SERVER, str(journal)], era=era)
    summary = figures(target, Load(0.4, None, 2, "closed"))
    counts = counted_by_sdk(journal)
    assert summary.mcp is not None
    assert summary.requests == counts.total() > 10
    assert summary.mcp.levels == {"transport": 0, "protocol": counts["raise"], "tool": counts["error"]}
    assert summary.mcp.sessions == 2


@pytest.mark.parametrize("answers", ["--json", "--events"])
def test_calls_of_an_sdk_server_over_http(answers: str, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    command = [sys.executable, SDK_SERVER, str(journal), "--http", answers]
    sums: Counter[str] = Counter()
    with over_http(command, tmp_path / "log") as url:
        for era in ERAS:
            target = McpTarget("count", http=Target("POST", url), timeout_s=PATIENCE_S, era=era)
            summary = figures(target, Load(0.5, 60.0, 2, keep_alive=era == "legacy"))
            assert summary.mcp is not None
            sums.update(summary.mcp.levels, calls=summary.requests)
    counts = counted_by_sdk(journal)
    assert sums["calls"] == counts.total() == 60
    assert (sums["transport"], sums["protocol"], sums["tool"]) == (0, counts["raise"], counts["error"])


# --- event streams ---------------------------------------------------------------------------


def test_streams_from_several_workers_agree_with_their_server() -> None:
    sent = Sent()
    with serving(streaming(sent, events=5, gap_s=0.03)) as server:
        target = Target("GET", url_of(server), timeout_s=PATIENCE_S, stream=StreamUntil())
        summary = figures(target, Load(0.6, 20.0, keep_alive=True), workers=2)
    stream = summary.stream
    assert stream is not None
    assert (stream.streams, summary.errors) == (len(sent.requests), 0) == (12, 0)
    assert (stream.events, stream.gaps.count) == (sent.events, len(sent.gaps_s)) == (60, 48)
    assert stream.early_ends == 0
    assert stream.first_event.max_ms < summary.response.max_ms
    # A late delivery moves time from one gap to another, but no event comes before it was sent.
    waited_s = (stream.first_event.mean_ms * 12 + stream.gaps.mean_ms * 48) / 1000
    assert sum(sent.gaps_s) < waited_s <= summary.response.mean_ms * 12 / 1000 + 1e-3


# --- other machines --------------------------------------------------------------------------


def test_figures_of_workers_that_send_text_agree_with_the_servers() -> None:
    """Such workers run on other machines: targets go there, and figures come back, as lines of text."""
    mcp, sent = McpServer(lambda number: "tool_error" if number % 4 == 0 else "json"), Sent()
    with serving(mcp.serve) as server:
        target = McpTarget("count", http=Target("POST", url_of(server)), timeout_s=PATIENCE_S)
        load = Load(0.5, 40.0, 2)
        result = run_load(target, load, on=Programs(2))
    summary = result.tally.summary(load, total_s=result.total_s)
    assert summary.mcp is not None
    assert summary.requests == mcp.counts["tools/call"] == 20
    assert summary.mcp.levels == {"transport": 0, "protocol": 0, "tool": 5}
    assert summary.mcp.sessions == mcp.counts["initialize"] == mcp.counts["delete"] == 2
    with serving(streaming(sent, events=5, gap_s=0.02)) as server:
        load = Load(0.5, 20.0)
        stream_target = Target("GET", url_of(server), timeout_s=PATIENCE_S, stream=StreamUntil())
        result = run_load(stream_target, load, on=Programs(2))
    stream = result.tally.summary(load, total_s=result.total_s).stream
    assert stream is not None
    assert (stream.events, stream.gaps.count) == (sent.events, len(sent.gaps_s)) == (50, 40)


# --- ends ------------------------------------------------------------------------------------

LINE_SERVER = str(Path(__file__).parents[1] / "load" / "mcp_line_server.py")
SCENARIO = """\
title: Tools
items:
  - call:
      mcp: {command: COMMAND}
      tool: add
    context:
      strategy: {mode: load, duration: 600s, clients: 3, model: closed}
"""


def is_running(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] not in "ZX"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_no_server_outlives_a_run_that_a_signal_ends(
    number: signal.Signals, code: int, tmp_path: Path
) -> None:
    journal = tmp_path / "journal"
    command = [sys.executable, "-S", "-E", LINE_SERVER, str(journal)]
    (tmp_path / "s.yaml").write_text(SCENARIO.replace("COMMAND", json.dumps(command)))
    run = [*FAULT, "scenario", "run", "s.yaml", "--no-ui"]
    with subprocess.Popen(run, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        while not journal.exists() or len(calling(journal)) < 3:
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        process.send_signal(number)
        process.wait(PATIENCE_S)
    assert process.returncode == code
    servers = calling(journal)
    assert len(servers) == 3
    # After SIGKILL, a guard ends the servers; it is a process of its own.
    deadline = time.monotonic() + PATIENCE_S
    while any(map(is_running, servers)) and number is signal.SIGKILL and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(is_running, servers))


def calling(journal: Path) -> set[int]:
    """Return the servers that have been called."""
    lines = (line.split() for line in journal.read_text().splitlines())
    return {int(words[0]) for words in lines if words[1:2] == ["call"]}


def test_opening_the_sessions_can_be_stopped(tmp_path: Path) -> None:
    """The server never answers to initialize; without the stop, it would be waited for."""
    command = [sys.executable, "-S", "-E", LINE_SERVER, str(tmp_path / "journal"), '["mute"]']
    stop = threading.Event()
    threading.Timer(1.0, stop.set).start()
    result = run_load(over_stdio(command), Load(600.0, None, 2, "closed"), stop=stop)
    assert (result.cut_short, result.tally.requests) == (True, 0)
    pids = {int(line.split()[0]) for line in (tmp_path / "journal").read_text().splitlines()}
    assert len(pids) == 2
    assert not any(map(is_running, pids))
