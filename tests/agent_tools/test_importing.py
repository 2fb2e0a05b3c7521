"""The first calls of a server import all that is imported late, in many threads."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from faultkit.agent_tools.framework.tool import IMPORT_LOCK
from faultkit.agent_tools.framework.tool_runner import _function
from faultkit.agent_tools.tool_table import TOOLS

PROJECT = Path(__file__).parents[2]
PATIENCE_S = 60.0


@pytest.mark.parametrize("attempt", [0, *(pytest.param(more, marks=pytest.mark.thorough) for more in (1, 2))])
def test_first_calls_at_once_do_not_get_in_each_others_way(attempt: int, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.agent_tools.first_calls", str(tmp_path)]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_a_tool_is_imported_by_one_thread_at_a_time() -> None:
    asked = threading.Event()

    def import_one() -> object:
        asked.set()
        return _function(TOOLS["fault_list_function_names"].run)

    with ThreadPoolExecutor(1) as threads:
        with IMPORT_LOCK:
            imported = threads.submit(import_one)
            assert asked.wait(PATIENCE_S)
            assert not imported.done()
        assert callable(imported.result(PATIENCE_S))
