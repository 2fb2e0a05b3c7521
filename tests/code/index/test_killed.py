"""After a run that is killed at any moment, the next run ends in the same state as an undisturbed one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from faultkit.base.rng import Rng
from tests.code.index.support import all_points, write

SCRIPT = """
import sys
from pathlib import Path
from faultkit.code.index import index_project, indexer
from tests.code.index.support import CountingEmbedder, opened

root, index_dir = map(Path, sys.argv[1:3])
indexer.BATCH_FILES, indexer.FLUSH_EVERY, indexer.MOST_FLOATS = 2, 3, int(sys.argv[3])
print("begun", flush=True)
with opened(root, index_dir) as store:
    index_project(root, None, store, CountingEmbedder(), lambda step: print(step, flush=True))
print("done", flush=True)
"""


AT_ONCE, IN_STEPS = 100_000, 32
"""Floats in one write: all of a batch, or two points of sixteen."""


def start(root: Path, index_dir: Path, floats: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SCRIPT, str(root), str(index_dir), str(floats)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def run_to_the_end(root: Path, index_dir: Path, floats: int = AT_ONCE) -> list[str]:
    with start(root, index_dir, floats) as child:
        out, _ = child.communicate(timeout=60)
    assert out.endswith("done\n")
    return out.splitlines()


def kill_after(root: Path, index_dir: Path, lines: int, floats: int = AT_ONCE) -> bool:
    """Kill a run; return whether it had ended before."""
    with start(root, index_dir, floats) as child:
        assert child.stdout is not None
        output = [child.stdout.readline() for _ in range(lines)]
        child.kill()
    return "done\n" in output


def project(root: Path, version: int) -> None:
    """Write a version of the project: some files are new, some changed, some unchanged, some removed."""
    for path in root.glob("*.py"):
        path.unlink()
    files = range(version * 5, version * 5 + 40)
    body = "    x = {0}\n    return x\n\n\n"
    write(
        root,
        {
            f"m{number}.py": "".join(
                f"def f{number}_{each}():\n" + body.format(version if number % 3 == each else 0)
                for each in range(3)
            )
            for number in files
        },
    )


@pytest.mark.parametrize(
    ("floats", "deaths"),
    [
        (IN_STEPS, 2),
        pytest.param(IN_STEPS, 5, marks=pytest.mark.thorough),
        pytest.param(AT_ONCE, 4, marks=pytest.mark.thorough),
    ],
)
def test_after_a_kill_at_any_moment_the_next_run_ends_as_an_undisturbed_one(
    tmp_path: Path, floats: int, deaths: int
) -> None:
    root, killed, calm = tmp_path / "project", tmp_path / "killed", tmp_path / "calm"
    root.mkdir()
    rng = Rng.keyed("killed", floats)
    for version in range(3):
        project(root, version)
        # A line is written after each file of the scan and after each batch: 1 + 40 + 20 in all.
        for _ in range(deaths):
            kill_after(root, killed, 1 + rng.below(62), floats)
        run_to_the_end(root, killed, floats)
    run_to_the_end(root, calm)
    assert all_points(killed) == all_points(calm)
    # A manifest, 40 files, and 3 functions and no module code in each.
    assert len(all_points(calm)) == 1 + 40 + 120


def test_files_written_before_the_kill_are_not_indexed_again(tmp_path: Path) -> None:
    root, index_dir = tmp_path / "project", tmp_path / "index"
    root.mkdir()
    project(root, 0)
    assert not kill_after(root, index_dir, 1 + 40 + 10)
    batches = [line for line in run_to_the_end(root, index_dir) if "phase='index'" in line]
    assert 1 <= len(batches) <= 11
