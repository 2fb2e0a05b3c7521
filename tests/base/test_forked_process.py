"""Children that are forked, in a process without other threads, as tests have them."""

from __future__ import annotations

import json
import subprocess
import sys
import threading

import pytest

from faultkit.base.forked_process import can_fork
from tests.base.test_child_process import PATIENCE_S

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="children are forked on Linux only")

_FORKS = """
import json, os, signal, sys
import tests.served
from faultkit.base.child_process import ChildEnded, ChildProcess

def ended(child, method, argument, timeout_s=None):
    try:
        child.call(method, argument, timeout_s=timeout_s)
    except ChildEnded as error:
        return str(error)

def fork(*args):
    return ChildProcess("tests.served:Counter", *args, forks=True)

print("once")
tests.served.Counter.here = lambda self: os.getpid()
before = len(os.listdir("/dev/fd"))
found = {}
with fork(5) as first, fork(7) as second:
    found["is_forked"] = [first.call("here") == first.pid, second.call("here") == second.pid]
    found["counts"] = [first.call("add", 2), second.call("add", 2)]
    first.call("speak")
    found["descriptors"] = [first.call("descriptors"), second.call("descriptors")]
    found["signals"] = [first.call("signal_itself", each) for each in (signal.SIGINT, signal.SIGHUP)]
    found["runs"] = first.ended
    found["left"] = ended(first, "leave", 7)
    os.kill(second.pid, signal.SIGKILL)
    found["killed"] = ended(second, "add", 1)
with fork() as idle:
    idle.ready()
found["closed"] = idle._process.returncode
late = fork()
os.kill(late.pid, signal.SIGSTOP)
found["late"] = ended(late, "add", 1, 0.05)
late.close()
found["open"] = len(os.listdir("/dev/fd")) - before
print(json.dumps(found))
"""


def test_a_fork_serves_calls_as_a_new_process_does() -> None:
    run = subprocess.run(
        [sys.executable, "-c", _FORKS], capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    once, found = run.stdout.splitlines()
    assert (once, run.stderr) == ("once", "on stderr\n")
    assert json.loads(found) == {
        "is_forked": [True, True],
        "counts": [7, 9],
        # Three streams, its socket, and the one that lists them.
        "descriptors": [5, 5],
        "signals": ["still here", "still here"],
        "runs": None,
        "left": "the child process ended with exit code 7",
        "killed": "the child process was ended by SIGKILL",
        "closed": 0,
        "late": "the child process did not answer within 0.05 s and was ended",
        "open": 0,
    }


def test_a_process_with_other_threads_is_not_forked() -> None:
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    try:
        assert not can_fork()
    finally:
        end.set()
        thread.join(PATIENCE_S)
