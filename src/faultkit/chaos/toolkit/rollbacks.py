"""Plays the rollbacks of a Chaos Toolkit experiment whose own process cannot any more.

An undo like any other (`toolkit_rollbacks`): the runner, the guardian and `fault chaos recover` use it. One
that does not end within its limit is left, and those behind it are played all the same.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from faultkit.chaos.processes import is_same
from faultkit.chaos.toolkit.messages import Order
from faultkit.chaos.toolkit.process import ToolkitProcess
from faultkit.chaos.undo import UndoResult

_START_S = 30.0


@dataclass(frozen=True, slots=True)
class Played:
    runs: list[dict[str, Any]] = field(default_factory=list)
    """For the journal."""
    failures: list[str] = field(default_factory=list)

    @property
    def result(self) -> UndoResult:
        if self.failures:
            return UndoResult(False, "; ".join(self.failures))
        return UndoResult(True, f"{len(self.runs)} played")


def run_rollbacks(data: Mapping[str, Any], limit_s: float) -> UndoResult:
    """`order` without what to do, `folder`, `each_s`; `pid` and `birth` of the experiment's process."""
    pid, birth = data.get("pid"), data.get("birth")
    if pid is not None and birth and is_same(pid, birth):
        # The method must not go on behind our back.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
    return play(data, limit_s).result


def play(data: Mapping[str, Any], limit_s: float, first: int = 0) -> Played:
    deadline = time.monotonic() + limit_s
    played = Played()
    while first is not None:
        order = Order(**{**data["order"], "do": "rollbacks", "first": first})
        process = ToolkitProcess(data.get("folder"))
        try:
            process.order(order)
            hung = _play(process, float(data["each_s"]), deadline, played)
        finally:
            process.close()
        if hung is None:
            break
        first = hung + 1
    return played


def _play(process: ToolkitProcess, each_s: float, deadline: float, played: Played) -> int | None:
    """The number of the rollback that did not end; None if all is done that can be."""
    current: dict[str, Any] | None = None
    until = time.monotonic() + _START_S
    while True:
        told = process.next(min(until, deadline) - time.monotonic())
        if told is None:
            what = "the process that played them ended early" if current is None else current["name"]
            played.failures.append(f"{what}: it ended before its rollbacks did")
            return None if current is None else int(current["index"])
        if not told and time.monotonic() >= deadline:
            played.failures.append("their time is over")
            return None
        if not told:
            name = "rollbacks" if current is None else current["name"]
            played.failures.append(f"{name}: it did not end within {each_s:g} s")
            return None if current is None else int(current["index"])
        for message in told:
            kind = message["kind"]
            if kind == "invalid":
                played.failures.append(f"the experiment cannot be read any more: {message['why']}")
                return None
            if kind == "valid":
                process.go_on()
            elif kind == "rollback_began":
                current, until = message, time.monotonic() + each_s
            elif kind == "rollback_ended":
                current, until = None, time.monotonic() + _START_S
                played.runs.append(message["run"])
                if message["status"] != "succeeded":
                    played.failures.append(f"{message['name']}: {message['why']}")
            elif kind == "rollbacks_ended":
                return None
