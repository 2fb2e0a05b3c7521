"""The pytest plugin, in a separate pytest process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

SUITE = """
import socket

import pytest
from faultkit.chaos import ChaosFault

seen = []


def test_it_is_empty_and_ours(chaos):
    chaos.register(ChaosFault("cut", "network_partition", 1, 60, targets=("127.0.0.1:9",)))
    chaos.inject("cut")
    assert len(chaos.active()) == 1
    seen.append(chaos)


def test_everything_was_removed(chaos):
    assert "connect" not in vars(socket.socket)
    assert seen[0].states() == []
    assert chaos is not seen[0]


def test_that_fails(chaos):
    chaos.register(ChaosFault("flaky", "error", 0.5))
    pytest.fail(str([chaos.inject("flaky").was_triggered for _ in range(64)]))
"""


def test_the_fixture_cleans_up_and_a_failing_test_shows_how_to_repeat_it(tmp_path: Path) -> None:
    (tmp_path / "test_suite.py").write_text(SUITE)

    def run(*options: str) -> tuple[str, str]:
        ended = subprocess.run(
            [
                sys.executable,
                "-m",
                "pytest",
                "-p",
                "faultkit.chaos.fixture",
                "-p",
                "no:cacheprovider",
                *options,
            ],
            cwd=tmp_path,
            env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert "1 failed, 2 passed" in ended.stdout, ended.stdout + ended.stderr
        seed = re.search(r"repeat with: pytest --chaos-seed (\S+)", ended.stdout)
        rolled = re.search(r"Failed: (\[.*\])", ended.stdout)
        assert seed is not None
        assert rolled is not None
        return seed[1], rolled[1]

    seed, rolled = run()
    assert run("--chaos-seed", seed) == (seed, rolled)


def test_loading_the_plugin_loads_nothing_else_of_faultkit() -> None:
    script = "import sys, faultkit.chaos.fixture; print(*sorted(m for m in sys.modules if 'faultkit' in m))"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == ["faultkit", "faultkit.chaos", "faultkit.chaos.fixture"]
