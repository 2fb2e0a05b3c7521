"""Programs print the same after all safe changes, though a change would fit at first sight."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from faultkit.code.advice.improvement import improve
from faultkit.code.advice.project_settings import project_of
from faultkit.code.advice.selection import EVERY_CHANGE, Selection
from faultkit.code.changes.project import Project
from tests.code.changes.cases import asked, safely
from tests.code.changes.safe_programs import APP, APPS, HANDLER, MAIN, RUNS, SAFE, WRAPPING
from tests.code.changes.upstream import Upstream

PATIENCE_S = 60.0


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    server = Upstream()
    yield server
    server.close()


def _outputs(folder: Path, file: str, url: str, selection: Selection) -> tuple[str, str]:
    """Return what a program prints before and after its change; the last file of the folder is run."""
    path = folder / file
    before = _printed(folder, url)
    text = path.read_text()
    new = improve(text, "python", None, None, 1.0, project=project_of(path), selection=selection).new
    path.write_text(new)
    return before, _printed(folder, url)


def _printed(folder: Path, url: str) -> str:
    done = subprocess.run(
        [sys.executable, "-B", "program.py", url],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        cwd=folder,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("text", [*RUNS.values(), *SAFE.values()], ids=[*RUNS, *SAFE])
def test_safe_changes_keep_what_a_program_prints(text: str, upstream: Upstream, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(text)
    before, after = _outputs(tmp_path, "program.py", upstream.url, Selection())
    assert after == before


@pytest.mark.parametrize("text", RUNS.values(), ids=RUNS)
def test_changes_that_ask_do_not_break_a_program(text: str, upstream: Upstream, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(text)
    before, after = _outputs(tmp_path, "program.py", upstream.url, EVERY_CHANGE)
    assert after == before


@pytest.mark.parametrize(("text", "more"), APPS.values(), ids=APPS)
def test_errors_that_another_file_answers_are_not_mapped(text: str, more: str, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(text)
    (tmp_path / "errors.py").write_text(HANDLER)
    (tmp_path / "wrapping.py").write_text(WRAPPING)
    (tmp_path / "program.py").write_text(MAIN.format(more))
    before, after = _outputs(tmp_path, "app.py", "", Selection())
    assert after == before == "503 later\n"
    (tmp_path / "alone").mkdir()
    (tmp_path / "alone" / "app.py").write_text(APP.format("", ""))
    assert not project_of(tmp_path / "alone" / "app.py").is_imported
    assert "504" in safely(APP.format("", "")).new


def test_a_call_that_blocks_is_moved_where_nothing_is_shared() -> None:
    text = (
        "import requests\n\nHOST = 'http://a'\n\n\nasync def load(path):\n"
        "    answer = requests.get(HOST + path, timeout=5)\n    answer.raise_for_status()\n"
        "    return answer.json()['items']\n\n\nasync def first(path):\n    return len(await load(path))\n"
    )
    assert "to_thread" in safely(text).new
    for shared in ("self.load", "print(path)", "CACHE[path] = 1", "await other()"):
        used = text.replace("    answer.raise", f"    {shared}\n    answer.raise")
        assert "to_thread" not in safely(used).new
        assert "FK-P001" in asked(used)
        later = text.replace("    return len", f"    {shared}\n    return len")
        assert "to_thread" not in safely(later).new


def test_a_module_of_the_project_is_not_taken_for_one_of_the_standard_library() -> None:
    text = "import time\n\n\nasync def f():\n    time.sleep(1)\n"
    assert "import asyncio" in safely(text).new
    assert safely(text, project=Project(own=frozenset({"asyncio"}))).new == text


def test_errors_of_a_handler_that_is_called_elsewhere_ask() -> None:
    text = (
        APP.format("", "")
        + "\n\ndef once():\n    try:\n        return index()\n    except httpx.HTTPError:\n        return 1\n"
    )
    assert "504" not in safely(text).new
    assert "FK-R011" in asked(text)
