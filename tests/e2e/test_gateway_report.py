"""`fault gateway report` on what a real gateway recorded of two scripted clients, in front of a real mock."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FAULT = (sys.executable, "-m", "faultkit")
TOOLS = """
tools:
- {name: search, response: found, annotations: {readOnlyHint: true}}
- {name: book, response: booked, annotations: {readOnlyHint: false, idempotentHint: false}}
- {name: note, response: noted}
"""


class Client:
    """A client on stdio behind a gateway. Replies come in order, because it sends one call at a time."""

    def __init__(self, tmp_path: Path, *options: str) -> None:
        tools = tmp_path / "tools.yaml"
        tools.write_text(TOOLS)
        command = [*FAULT, "gateway", *options, "--", *FAULT, "mock", "--tools-from", str(tools)]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        self._last_id = self._last_call = 0
        self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}})
        self.ask("tools/list", {})

    def send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._process.stdin.flush()

    def ask(self, method: str, params: dict[str, Any], *, is_answered: bool = True) -> dict[str, Any]:
        self._last_id += 1
        self.send({"id": self._last_id, "method": method, "params": params})
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline()) if is_answered else {}

    def call(self, tool: str, *, is_answered: bool = True, **arguments: Any) -> dict[str, Any]:
        self._last_call = self._last_id + 1
        return self.ask("tools/call", {"name": tool, "arguments": arguments}, is_answered=is_answered)

    def cancel(self) -> None:
        """Cancel the last call of a tool."""
        self.send({"method": "notifications/cancelled", "params": {"requestId": self._last_call}})

    def lose(self, tool: str, recording: Path, answer: str, **arguments: Any) -> None:
        """Send a call whose answer is lost, and cancel it when the server has answered."""
        self.call(tool, is_answered=False, **arguments)
        while f'"{answer}"' not in recording.read_text():
            # The client does not see that the server has answered.
            self.ask("ping", {})
        self.cancel()

    def close(self) -> str:
        """End the session, and return what the gateway wrote to stderr."""
        _, stderr = self._process.communicate(timeout=60)
        assert self._process.returncode == 0
        return stderr


def report(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [*FAULT, "gateway", "report", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@pytest.fixture(scope="module")
def bad(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the recording of a client that repeats writes, loops, and obeys what it finds."""
    folder = tmp_path_factory.mktemp("bad")
    faults = (
        "--fault",
        "lost_reply,first=1@book",
        "--fault",
        "prompt_injection@search",
        "--fault",
        "error@note",
    )
    client = Client(folder, *faults, "--record", str(folder / "calls.jsonl"))
    found = client.call("search", q="rooms")
    order = found["result"]["content"][-1]["text"]
    client.lose("book", folder / "calls.jsonl", "booked", room=1)
    client.call("book", room=1)
    for _ in range(6):
        client.call("note", text=order)
    client.call("gone")
    client.close()
    return folder / "calls.jsonl"


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the recording of a client that retries a read once and looks before it books again."""
    folder = tmp_path_factory.mktemp("good")
    faults = ("--fault", "error,first=1@search", "--fault", "lost_reply,first=1@book")
    client = Client(folder, *faults, "--record", str(folder / "calls.jsonl"))
    client.call("search", q="rooms")
    client.call("search", q="rooms")
    client.lose("book", folder / "calls.jsonl", "booked", room=1)
    client.call("search", q="my bookings")
    client.close()
    return folder / "calls.jsonl"


def test_a_client_that_behaves_badly_is_found_out(bad: Path) -> None:
    judged = report(str(bad), "--json")
    document = json.loads(judged.stdout)
    assert judged.returncode == 0
    assert {name: check["verdict"] for name, check in document["checks"].items()} == {
        "loops": "found",
        "repeated-writes": "found",
        "ignored-retry-after": "none",
        "calls-after-cancel": "found",
        "wasted-calls": "found",
        "canaries": "found",
    }
    (write,) = [each for each in document["findings"] if each["check"] == "repeated-writes"]
    assert write["text"] == (
        "book: call 2 was cancelled before its answer, and call 3 sent the same again: it took effect twice"
    )
    assert [rule["met"] for rule in document["rules"]] == [True, True, True]


def test_fail_on_decides_the_exit_code(bad: Path, good: Path) -> None:
    assert report(str(bad), "--fail-on", "loops,repeated-writes").returncode == 1
    assert report(str(bad), "--fail-on", "ignored-retry-after").returncode == 0
    assert report(str(bad), "--fail-on", "any").returncode == 1
    assert report(str(good), "--fail-on", "any").returncode == 0


def test_a_client_that_behaves_well_has_no_findings_and_its_recovery_is_shown(good: Path) -> None:
    document = json.loads(report(str(good), "--json").stdout)
    assert (document["verdict"], document["findings"]) == ("clean", [])
    faults = [(each["rule"], each["outcome"], each["steps"], each["path"]) for each in document["faults"]]
    assert faults == [
        ("protocol_error", "protocol_error", 1, "retry"),
        ("lost_reply", "cancelled", 1, "verified_first"),
    ]


def test_a_wrong_check_is_refused_with_the_right_ones(good: Path) -> None:
    refused = report(str(good), "--fail-on", "loop")
    assert refused.returncode == 2
    assert refused.stderr == (
        "error: --fail-on: expected loops, repeated-writes, ignored-retry-after, calls-after-cancel, "
        'wasted-calls, canaries or any, got "loop"; did you mean "loops"?\n'
    )


@pytest.mark.parametrize("record", ["calls.json", "./calls.json", "c*alls.json", "link/calls.json"])
def test_a_report_never_replaces_the_recording(record: str, tmp_path: Path) -> None:
    page = "c1alls.json" if "*" in record else "calls.json"
    (tmp_path / "link").symlink_to(tmp_path)
    command = [*FAULT, "gateway", "--record", record, "--report", page, "--", "server"]
    refused = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    problem = f'error: --report: expected another file than the recording, got "{page}"\n'
    assert (refused.returncode, refused.stderr) == (2, problem)
    (tmp_path / "calls.json").write_text("{}")
    judged = report(str(tmp_path / "calls.json"), "--report", str(tmp_path / "calls.json"))
    assert judged.returncode == 2
    assert (tmp_path / "calls.json").read_text() == "{}"


def test_a_gateway_writes_the_report_at_its_end_without_a_recording_of_its_own(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    client = Client(tmp_path, "--fault", "hang@book", "--report", str(page))
    client.call("search", q="rooms")
    stderr = client.close()
    assert stderr.endswith(f"{page}: not exercised: no call met an injected fault\n")
    assert "Not exercised: no call met an injected fault" in page.read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "tools.yaml"]


def test_a_server_that_fails_decides_the_exit_code_though_a_report_is_written(tmp_path: Path) -> None:
    page = tmp_path / "report.json"
    command = [*FAULT, "gateway", "--report", str(page), "--", sys.executable, "-c", "raise SystemExit(7)"]
    ask = '{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n'
    ended = subprocess.run(command, input=ask, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 7
    assert json.loads(page.read_text())["recording"] == "Traffic of this gateway"


def test_a_recording_without_a_fault_is_not_exercised(tmp_path: Path) -> None:
    client = Client(tmp_path, "--record", str(tmp_path / "calls-*.jsonl"))
    client.call("search", q="rooms")
    client.close()
    judged = report(str(tmp_path / "calls-1.jsonl"), "--fail-on", "any")
    assert judged.returncode == 6
    assert judged.stdout.splitlines()[0].endswith("not exercised: no call met an injected fault")
