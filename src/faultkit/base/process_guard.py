"""Ends the programs that this process started if the process itself is killed.

A signal that can be handled ends a command in good order, and its programs with it. SIGKILL and the kernel's
out-of-memory killer leave no time for that, and an agent that runs on costs money. So a shell, the guard,
reads the ids of process groups from a pipe. When the pipe ends while some are left, this process has died,
and the guard kills them. It works on every POSIX system, and reaches children of a program, which a death
signal of the kernel (PR_SET_PDEATHSIG) would leave alone.
"""

from __future__ import annotations

import atexit
import subprocess
import threading
from contextlib import suppress

_SCRIPT = """
trap '' HUP INT TERM PIPE
groups=
while read -r change group; do
  left=
  for each in $groups; do
    [ "$each" = "$group" ] || left="$left $each"
  done
  groups=$left
  if [ "$change" = + ]; then groups="$groups $group"; fi
done
for each in $groups; do kill -s TERM -- "-$each" 2>/dev/null; done
if [ -n "$groups" ]; then
  sleep 1
  for each in $groups; do kill -s KILL -- "-$each" 2>/dev/null; done
fi
"""

_lock = threading.Lock()
_guard: subprocess.Popen[bytes] | None = None
_guarded: set[int] = set()


def guard_group(leader: int) -> None:
    """End the group of this process when the current process dies, unless `release_group` comes first."""
    with _lock:
        _guarded.add(leader)
        _tell(f"+ {leader}")


def release_group(leader: int) -> None:
    """Guard a group no longer: it has ended. Its id may soon belong to another."""
    with _lock:
        if leader not in _guarded:
            return
        _guarded.discard(leader)
        _tell(f"- {leader}")


def _tell(line: str) -> None:
    """Send a line to the guard; one that is missing or was killed is started with all groups first."""
    global _guard
    if _guard is None or not _send(_guard, line):
        _end_guard()
        # In a session of its own, so that what ends this process does not end the guard.
        with suppress(OSError):  # Without processes to spare, programs run without a guard.
            _guard = subprocess.Popen(
                ["/bin/sh", "-c", _SCRIPT],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,
            )
            for each in _guarded:
                _send(_guard, f"+ {each}")


def _send(guard: subprocess.Popen[bytes], line: str) -> bool:
    assert guard.stdin is not None
    try:
        guard.stdin.write(f"{line}\n".encode())
        guard.stdin.flush()
    except OSError:
        return False
    return guard.poll() is None


def _end_guard() -> None:
    global _guard
    if _guard is None:
        return
    guard, _guard = _guard, None
    assert guard.stdin is not None
    with suppress(OSError):
        guard.stdin.close()
    guard.wait()


atexit.register(_end_guard)
