"""SIGQUIT (Ctrl-\\) in the live views: what it leaves behind on a real terminal."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path

import pytest

from tests.proxy.origin import serving
from tests.terminals import PATIENCE_S, Terminal, on_terminal

FAULT = [sys.executable, "-m", "faultkit"]
RUN = [*FAULT, "run", "--disable-http-proxy", "--no-check", "--proxy", "0=h:1"]
SHELL = ["sh", "-c", 'ulimit -c 0; trap : QUIT; "$@"; echo "code: $?"; stty -a; echo over; read rest', "sh"]
"""Outlives the program, as a user's shell does: a terminal is reset when the leader of its session ends."""
SCENARIO = """\
title: One
items:
  - call: {method: GET, url: "http://ORIGIN/"}
    context:
      strategy: {mode: load, duration: 60s, clients: 1, rps: 5}
      faults: [{type: latency, mean: 1}]
    expect: {status: 200}
"""
EXPERIMENT = """\
name: one
description: It holds.
steady_state:
  - {name: steady, process: ["true"]}
method:
  - {name: act, process: [touch, acted], undo: {process: [rm, acted]}}
  - pause: 60s
"""


def quit_after(terminal: Terminal, shown: bytes) -> None:
    """Press Ctrl-\\ once this is shown, and expect the exit code of SIGQUIT and the terminal as it was."""
    terminal.read_until(shown)
    terminal.press(b"\x1c")
    terminal.read_until(b"over\r\n")
    view, after = terminal.shown.rsplit(b"code: ", 1)
    assert after.startswith(b"131\r\n"), terminal.shown
    settings = re.split(rb"[\s;]+", after)
    assert {b"echo", b"icanon"} <= set(settings), after
    assert view.rfind(b"\x1b[?25h") > view.rfind(b"\x1b[?25l"), view


@pytest.mark.parametrize("args", [(), ("--workers", "2")])
def test_a_run_restores_its_terminal(tmp_path: Path, args: tuple[str, ...]) -> None:
    with on_terminal([*SHELL, *RUN, *args], tmp_path) as terminal:
        quit_after(terminal, b"q or Ctrl-C ends it")


def test_a_scenario_restores_its_terminal(tmp_path: Path) -> None:
    with serving() as origin:
        (tmp_path / "a.yaml").write_text(SCENARIO.replace("ORIGIN", str(origin.endpoint)))
        with on_terminal([*SHELL, *FAULT, "scenario", "run", "a.yaml"], tmp_path) as terminal:
            quit_after(terminal, b" left")


def test_an_experiment_restores_its_terminal_and_is_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAULT_CHAOS_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("FAULT_STORE", str(tmp_path / "audit.db"))
    (tmp_path / "a.yaml").write_text(EXPERIMENT)
    with on_terminal([*SHELL, *FAULT, "chaos", "run", "a.yaml"], tmp_path) as terminal:
        terminal.read_until(b"pause for 60 s")
        assert (tmp_path / "acted").exists()
        quit_after(terminal, b"pause for 60 s")
        deadline = time.monotonic() + PATIENCE_S
        while (tmp_path / "acted").exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)
