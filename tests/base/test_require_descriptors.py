"""Descriptors: a process without enough of them is refused with one line."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from faultkit.base.files import require_descriptors

EXPERIMENT = """\
name: x
description: It holds.
steady_state: [{name: steady, process: "true"}]
method: [{name: act, process: "true"}]
"""


def test_required_descriptors_are_closed_again() -> None:
    before = os.listdir("/dev/fd")
    require_descriptors(5)
    assert os.listdir("/dev/fd") == before


@pytest.mark.parametrize("limit", [6, 10, 16])
@pytest.mark.parametrize(
    "command", ["chaos run x.yaml", "demo run", "agent tool", "serve", "gateway -- true"]
)
def test_a_command_without_descriptors_is_refused_with_one_line(
    tmp_path: Path, limit: int, command: str
) -> None:
    (tmp_path / "x.yaml").write_text(EXPERIMENT)
    ran = subprocess.run(
        [sys.executable, "-m", "faultkit", *command.split()],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)),
    )
    assert (ran.returncode, ran.stdout) == (4, "")
    (line,) = ran.stderr.splitlines()
    assert line.startswith("error: too few descriptors: expected 24 to be free, got ")
    assert line.endswith(" (raise the limit by `ulimit -n`)")


@pytest.mark.parametrize("command", ["doctor", "--help", "run --help", "--version"])
def test_help_needs_no_descriptors(command: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "faultkit", *command.split()],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (10, 10)),
    )
    assert (ran.returncode, ran.stderr) == (0, "")
