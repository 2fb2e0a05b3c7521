from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from faultkit.chaos.processes import birth_of, is_same
from faultkit.chaos.undo import UNDOS, Undo, UndoResult, carry_out, undo_document, undo_of

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
    """Somebody must take note of its end, as its parent does in life."""
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


def test_a_process_that_only_has_the_number_of_the_one_meant_is_left_alone() -> None:
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
    assert is_same(process.pid, birth)
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


def test_nobody_at_a_control_api_means_that_its_faults_are_gone_with_it() -> None:
    data = {"control": "http://127.0.0.1:1", "token": "t", "rule": "cut"}
    result = carry_out(Undo("rule", data))
    assert result == UndoResult(
        True, "nobody listens at http://127.0.0.1:1 any more: its faults ended with it"
    )


def test_an_unknown_kind_is_a_failure_that_names_those_there_are() -> None:
    result = carry_out(Undo("prayer"))
    assert result.ok is False
    assert all(kind in result.message for kind in UNDOS)


def test_an_undo_is_the_same_after_it_was_written_down() -> None:
    undo = Undo("http", {"url": "http://x", "expected_status": [200]}, "call x", 3.0)
    assert undo_of(undo_document(undo)) == undo
