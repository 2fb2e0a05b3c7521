"""The benchmark of safe changes: problems of one package, what counts, and its section of the page."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.changed_lines import changed_lines
from bench.changes import Outcome, kept_section, offline, write_section
from bench.changes_packages import RealPackage
from tests.chaos.waiting import until

from bench import changes
from faultkit.base.process_identity import birth_of

PACKAGE = RealPackage("a", "1.0", "0" * 64)


def test_an_archive_that_is_not_the_pinned_one_is_a_problem_of_its_package(tmp_path: Path) -> None:
    (tmp_path / "archives").mkdir()
    (tmp_path / "archives" / PACKAGE.sha256).write_bytes(b"something else")
    outcome = changes._measured(PACKAGE, tmp_path)
    assert outcome.problem.startswith("RunError: a 1.0: expected SHA-256 0000")
    assert f"| a 1.0 | 0 | none: not exercised | 0 | 0 | {outcome.problem} |" in changes.table([outcome])


@pytest.mark.parametrize("own_network", [True, False])
def test_what_a_suite_leaves_running_is_ended(tmp_path: Path, own_network: bool) -> None:
    if own_network and not offline():
        pytest.skip("a process can have no network of its own here")
    script = "sleep 600 & echo begun; echo $! > left"
    changes._run([*(offline() if own_network else ()), "sh", "-c", script], tmp_path, [])
    left = int((tmp_path / "left").read_text())
    until(lambda: birth_of(left) is None)
    assert (tmp_path / ".faultkit-output.txt").read_text().startswith("begun\n")


def test_the_section_is_replaced_and_the_rest_of_the_page_stays(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Benchmarks\n\n## First\n\none\n")
    assert kept_section(page) == ""
    write_section("old\n", page)
    page.write_text(page.read_text() + "\n## Last\n\nthree\n")
    write_section("new\n", page)
    section = "## Safe changes of real packages\n\nWritten by `python -m bench.changes --write`.\n\nnew"
    assert page.read_text() == f"# Benchmarks\n\n## First\n\none\n\n{section}\n\n## Last\n\nthree\n"
    assert kept_section(page) == section


OLD = """import time


def f(into=[]):
    start = time.time()
    into.append(1)
    return time.time() - start
"""
NEW = """import time
from contextlib import closing


def f(into=None):
    # Anew for every call.
    if into is None:
        into = []
    start = time.monotonic()
    into.append(1)
    return time.monotonic() - start
"""


def test_lines_that_run_when_a_module_is_loaded_are_not_counted() -> None:
    assert changed_lines(OLD, NEW) == {7, 8, 9, 11}
    assert changed_lines(NEW, NEW) == frozenset()


def test_a_package_counts_if_its_tests_pass_and_run_what_is_changed() -> None:
    good = Outcome("a 1.0", 1, {"close it": 1}, 30, 20, (), lines=4, lines_run=1)
    missed = Outcome("b 1.0", 1, {"close it": 1}, 30, 30, (), lines=4)
    few = Outcome("c 1.0", 1, {"close it": 1}, 30, 19, (), lines=4, lines_run=4)
    differs = Outcome("d 1.0", 2, {"close it": 2}, 1200, 1000, ("x", "y", "z", "w"), lines=4, lines_run=4)
    table = changes.table([good, missed, few, differs, Outcome("e 1.0", 0, {}, 0, 0, ())])
    assert "| a 1.0 | 1 | 1 of 4 | 30 | 20 | 0 |\n" in table
    assert "| b 1.0 | 1 | none: not exercised | 30 | 30 | 0 |\n" in table
    assert "| d 1.0 | 2 | 4 of 4 | 1,200 | 1,000 | x; y; z … |\n" in table
    assert "| **2 packages** | 3 | 5 of 8 | 1,230 | 1,020 | 4 |\n" in table
    assert "Changes: close it (3 files).\n" in table
    assert table.endswith("Nothing to change: e 1.0.\n")
