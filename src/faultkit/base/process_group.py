"""End a process together with all that it started: by its process group.

A process started with `start_new_session=True` leads a group that has its process id, and what it starts
joins the group. So a group is signalled by the id of its leader, also when the leader itself has ended. The
only place that signals groups.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from faultkit.base.process_guard import release_group


def signal_group(leader: int, number: signal.Signals) -> bool:
    """Send a signal to every process of a group; return False if there is none."""
    try:
        os.killpg(leader, number)
    except ProcessLookupError:
        return False
    return True


def kill_group(leader: int) -> None:
    """Send SIGKILL to a group. One that has ended, or that may not be signalled, is left alone."""
    with suppress(PermissionError):
        signal_group(leader, signal.SIGKILL)
    release_group(leader)


def kill_own_group() -> None:
    """Send SIGKILL to the caller's own group, and so to the caller."""
    os.killpg(0, signal.SIGKILL)


async def end_group(
    leader: int, ends_within: Callable[[float], Awaitable[bool]], *, term_s: float, kill_s: float
) -> None:
    """End a group by SIGTERM, or by SIGKILL if the leader does not end within `term_s` seconds.

    `ends_within` waits for at most that many seconds and returns whether the leader has ended; its end by
    SIGKILL is awaited for `kill_s` seconds. Whatever the leader left behind is killed, also if this is
    cancelled."""
    try:
        if not await ends_within(0):
            with suppress(PermissionError):
                signal_group(leader, signal.SIGTERM)
            await ends_within(term_s)
    finally:
        kill_group(leader)
    await ends_within(kill_s)


def end_popen_group(process: subprocess.Popen[Any], grace_s: float) -> None:
    """End the group that `process` leads, by SIGTERM and then SIGKILL; wait up to `grace_s` after each."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(PermissionError):
            signal_group(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(grace_s)
