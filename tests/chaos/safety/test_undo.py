"""The ways to undo an effect, on real processes, servers and a control API."""

from __future__ import annotations

import os
import signal
import ssl
import subprocess
import sys
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import trustme

from faultkit.base.process_identity import birth_of, boot_id, is_same_process
from faultkit.chaos.safety.undo import UNDO_ACTIONS, Undo, UndoResult, carry_out, parse_undo, undo_document

STAYS = "import signal, sys, time; signal.signal(signal.SIGTERM, {}); print(flush=True); time.sleep(60)"


def started(on_term: str = "signal.SIG_DFL") -> subprocess.Popen[bytes]:
    process = subprocess.Popen([sys.executable, "-c", STAYS.format(on_term)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    return process


def ended(process: subprocess.Popen[bytes]) -> int:
    process.kill()
    code = process.wait()
    assert process.stdout is not None
    process.stdout.close()
    return code


def reaped(process: subprocess.Popen[bytes]) -> threading.Thread:
    """Collect the status of the process, as its parent would."""
    thread = threading.Thread(target=process.wait)
    thread.start()
    return thread


@pytest.mark.parametrize(("on_term", "by"), [("signal.SIG_DFL", "SIGTERM"), ("signal.SIG_IGN", "SIGKILL")])
def test_a_process_is_asked_to_end_and_then_made_to(on_term: str, by: str) -> None:
    process = started(on_term)
    thread = reaped(process)
    undo = Undo("end_process", {"pid": process.pid, "birth": birth_of(process.pid)}, "end it", limit_s=1.0)
    assert carry_out(undo) == UndoResult(True, f"process {process.pid} was ended by {by}")
    thread.join()
    assert ended(process) == -signal.Signals[by]
    assert carry_out(undo) == UndoResult(True, f"process {process.pid} has ended already")


def test_another_process_with_the_same_id_is_not_touched() -> None:
    process = started()
    try:
        undo = Undo("end_process", {"pid": process.pid, "birth": "1"}, "end it", limit_s=1.0)
        assert carry_out(undo) == UndoResult(True, f"process {process.pid} has ended already")
        assert process.poll() is None
    finally:
        ended(process)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_stopped_process_goes_on() -> None:
    process = started()
    try:
        process.send_signal(signal.SIGSTOP)
        data = {"pid": process.pid, "birth": birth_of(process.pid)}
        assert carry_out(Undo("continue_process", data)) == UndoResult(True, f"process {process.pid} goes on")
        state = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]
        assert state != "T"
    finally:
        ended(process)


def test_a_dead_process_has_no_birth_though_its_parent_has_not_noticed() -> None:
    process = started()
    birth = birth_of(process.pid)
    assert birth is not None
    assert is_same_process(process.pid, birth)
    process.kill()
    assert process.stdout is not None
    process.stdout.read()
    ended(process)
    assert birth_of(process.pid) is None


def test_a_command_succeeds_fails_and_is_killed_when_its_time_is_over() -> None:
    def command(script: str) -> UndoResult:
        return carry_out(Undo("command", {"argv": [sys.executable, "-c", script]}, "", limit_s=2.0))

    assert command("pass") == UndoResult(True, "done")
    failed = command("import sys; sys.exit('no such pod')")
    assert (failed.ok, failed.message) == (False, f"{sys.executable} ended with 1: no such pod")
    late = command("import time; time.sleep(60)")
    assert (late.ok, late.message) == (False, f"{sys.executable} did not end within 2 s and was killed")


def test_a_command_that_is_not_there_is_a_failure_that_names_it() -> None:
    result = carry_out(Undo("command", {"argv": ["no-such-program-here"]}))
    assert (result.ok, result.message) == (False, "no-such-program-here: No such file or directory")


def test_a_python_function_runs_where_it_cannot_hang_the_others(tmp_path: Path) -> None:
    (tmp_path / "mending.py").write_text(
        "def mend(where):\n    open(where, 'w').close()\ndef fail():\n    1 / 0\n"
    )
    data = {
        "module": "mending",
        "func": "mend",
        "arguments": {"where": str(tmp_path / "m")},
        "path": [str(tmp_path)],
    }
    assert carry_out(Undo("python", data)) == UndoResult(True, "done")
    assert (tmp_path / "m").exists()
    failed = carry_out(Undo("python", {**data, "func": "fail", "arguments": {}}))
    assert failed == UndoResult(False, "mending.fail: ZeroDivisionError: division by zero")


def test_an_async_function_is_awaited(tmp_path: Path) -> None:
    (tmp_path / "later.py").write_text(
        "import asyncio\n"
        "async def mend(where):\n    await asyncio.sleep(0)\n    open(where, 'w').close()\n"
        "async def fail():\n    1 / 0\n"
    )
    data = {"module": "later", "func": "mend", "path": [str(tmp_path)]}
    assert carry_out(Undo("python", {**data, "arguments": {"where": str(tmp_path / "m")}})).ok
    assert (tmp_path / "m").exists()
    failed = carry_out(Undo("python", {**data, "func": "fail"}))
    assert failed == UndoResult(False, "later.fail: ZeroDivisionError: division by zero")


def test_a_function_is_looked_for_where_the_path_says_first(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "which_of_both.py").write_text(
            f"def mark(where):\n    open(where, 'w').write('{name}')\n"
        )
    folders = [str(tmp_path / "two"), str(tmp_path / "one")]
    arguments = {"where": str(tmp_path / "m")}
    data = {"module": "which_of_both", "func": "mark", "arguments": arguments, "path": folders}
    assert carry_out(Undo("python", data)).ok
    assert (tmp_path / "m").read_text() == "two"


def test_a_command_that_leaves_a_service_behind_has_ended(tmp_path: Path) -> None:
    script = f"sleep 60 & echo $! > {tmp_path / 'pid'}; echo restarted"
    undo = Undo("command", {"argv": ["sh", "-c", script]}, limit_s=5.0)
    assert carry_out(undo) == UndoResult(True, "done")
    pid = int((tmp_path / "pid").read_text())
    assert birth_of(pid) is not None
    os.kill(pid, signal.SIGKILL)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_what_a_process_left_behind_in_its_group_ends_too(tmp_path: Path) -> None:
    script = f"sleep 60 & echo $! > {tmp_path / 'pid'}; read -r line"
    process = subprocess.Popen(["sh", "-c", script], stdin=subprocess.PIPE, start_new_session=True)
    data = {"pid": process.pid, "birth": birth_of(process.pid), "group": True, "boot": boot_id()}
    assert process.stdin is not None
    process.stdin.close()
    process.wait()
    child = int((tmp_path / "pid").read_text())
    assert birth_of(child) is not None
    undo = Undo("end_process", data)
    # After a reboot, a group of the same id is another one.
    assert carry_out(replace(undo, data={**data, "boot": "another"})).message.endswith("has ended already")
    assert birth_of(child) is not None
    assert carry_out(undo) == UndoResult(True, f"process {process.pid} was ended by SIGTERM")
    assert birth_of(child) is None


class _RecordingHandler(BaseHTTPRequestHandler):
    requests: list[tuple[str, str | None]] = []  # noqa: RUF012 (of one module)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.requests.append((self.path, self.headers["content-type"]))
        self.send_response(303 if self.path == "/moved" else 200)
        self.send_header("location", "/elsewhere")
        self.send_header("content-length", "0")
        self.end_headers()

    do_GET = do_POST

    def log_message(self, format: str, *args: object) -> None:
        pass


def test_a_request_is_sent_as_the_action_sends_it_and_follows_nothing() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _RecordingHandler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}/moved"
        try:
            result = carry_out(Undo("http", {"method": "POST", "url": url, "body": "a"}))
        finally:
            server.shutdown()
            thread.join()
    assert result == UndoResult(True, f"{url} answered 303")
    assert _RecordingHandler.requests == [("/moved", None)]


def test_an_untrusted_certificate_is_accepted_only_without_verify() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    with ThreadingHTTPServer(("127.0.0.1", 0), _RecordingHandler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        data = {"method": "POST", "url": f"https://127.0.0.1:{server.server_port}/", "body": ""}
        try:
            strict = carry_out(Undo("http", data))
            lax = carry_out(Undo("http", {**data, "verify": False}))
        finally:
            server.shutdown()
            thread.join()
    assert (strict.ok, "CERTIFICATE_VERIFY_FAILED" in strict.message) == (False, True)
    assert lax.ok


def test_a_refused_control_api_counts_as_undone() -> None:
    data = {"control": "http://127.0.0.1:1", "token": "t", "rule": "cut"}
    result = carry_out(Undo("rule", data))
    assert result == UndoResult(
        True, "nothing listens at http://127.0.0.1:1 any more: its faults ended with it"
    )


def test_an_unknown_kind_is_a_failure_that_names_those_there_are() -> None:
    result = carry_out(Undo("prayer"))
    assert result.ok is False
    assert all(kind in result.message for kind in UNDO_ACTIONS)


def test_an_undo_is_the_same_after_it_was_written_down() -> None:
    undo = Undo("http", {"url": "http://x", "expected_status": [200]}, "call x", 3.0)
    assert parse_undo(undo_document(undo)) == undo
