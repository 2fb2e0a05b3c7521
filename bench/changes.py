"""`python -m bench.changes`: the test suites of real packages before and after all safe changes.

Source distributions of a pinned list are fetched into a cache, never into this repository. All safe changes
are made to a copy by `fault improve DIR --safe --write`. Each suite runs before and after them in a virtual
environment and, where the system allows it, in a network of its own. Results are compared test by test. A
test that differs runs again on both sides, so that one that fails now and then is not taken for a difference.
The exit status is 1 if one differs.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from bench.changed_lines import changed_lines
from bench.changes_packages import PACKAGES, RealPackage
from bench.options import DOCUMENT
from bench.processes import end_group
from bench.registries import archive_of
from faultkit.base.errors import FaultkitError
from faultkit.base.text import count_of

CACHE = Path(os.environ.get("FAULTKIT_BENCH_CACHE", "build/bench-changes"))
LIMIT_S = 120
CHANGE_LIMIT_S = 300
TEST_LIMIT_S = 30
_TOOLS = ("coverage", "pytest", "pytest-timeout")
FEWEST_TESTS = 20
"""Tests of a suite that have to pass before the changes, so that the package counts."""
_LINES_RUN = """
import coverage, json, sys
data = coverage.CoverageData(sys.argv[1])
data.read()
print(json.dumps({each: data.lines(each) for each in data.measured_files()}))
"""
_COVERED = ".faultkit-coverage"
_TITLE = "## Safe changes of real packages"


@dataclass(frozen=True, slots=True)
class Outcome:
    """A package before and after the changes."""

    package: str
    changed_files: int
    changes: dict[str, int]
    """Files by description of a change."""
    tests: int
    passed: int
    """Tests that pass before; the others fail or are skipped on this machine."""
    differences: tuple[str, ...]
    lines: int = 0
    """Lines of code that the changes add or replace."""
    lines_run: int = 0
    """Those of them that the suite runs."""
    problem: str = ""

    @property
    def counts(self) -> bool:
        """Whether the suite says something about the changes: it passes, and it runs what is changed."""
        return not self.problem and self.lines_run > 0 and self.passed >= FEWEST_TESTS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.changes", description=__doc__)
    parser.add_argument("packages", nargs="*", help="only these; by default all of the list")
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    asked = parser.parse_args()
    wanted = [each for each in PACKAGES if not asked.packages or each.name in asked.packages]
    outcomes = []
    for package in wanted:
        outcome = _measured(package, asked.cache.resolve())
        outcomes.append(outcome)
        print(json.dumps(asdict(outcome)), flush=True)
    print(table(outcomes))
    if asked.write:
        write_section(table(outcomes))
    return int(any(each.differences or each.problem for each in outcomes))


def _measured(package: RealPackage, store: Path) -> Outcome:
    try:
        return _compared(package, store)
    except (FaultkitError, OSError, subprocess.SubprocessError, ValueError, ElementTree.ParseError) as error:
        return Outcome(str(package), 0, {}, 0, 0, (), problem=f"{type(error).__name__}: {error}"[:300])


def _compared(package: RealPackage, store: Path) -> Outcome:
    archive = _fetched(package, store / "archives")
    with tempfile.TemporaryDirectory(prefix="faultkit-changes-") as folder:
        before, after = Path(folder, "before"), Path(folder, "after")
        _unpack(archive, before)
        shutil.copytree(before, after, symlinks=True)
        changes = _change(after)
        if not changes:
            return Outcome(str(package), 0, {}, 0, 0, ())
        files = [each["file"] for each in changes]
        runner = _runner(package, store)
        first, second = runner.run(before, files), runner.run(after, files)
        lines = {
            (file, line)
            for file in files
            if file.endswith(".py")
            for line in changed_lines((before / file).read_text(), (after / file).read_text())
        }
        lines_run = runner.lines_run(after)
        differing = sorted(name for name in {*first, *second} if first.get(name) != second.get(name))
        if differing:
            again, again_after = runner.run(before, files), runner.run(after, files)
            differing = [
                name
                for name in differing
                if first.get(name) == again.get(name) != second.get(name) == again_after.get(name)
            ]
    return Outcome(
        str(package),
        changed_files=len(files),
        changes=dict(Counter(kind for each in changes for kind in each["changes"])),
        tests=len(first),
        passed=sum(each == "passed" for each in first.values()),
        differences=tuple(differing),
        lines=len(lines),
        lines_run=len(lines & lines_run),
    )


# Changes.


def _change(folder: Path) -> list[dict[str, Any]]:
    """Make all safe changes in place; return the files that are changed."""
    command = [sys.executable, "-m", "faultkit", "improve", ".", "--safe", "--write", "--json"]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=CHANGE_LIMIT_S
    )
    if done.returncode:
        raise ValueError(f"fault improve: {done.stderr[-200:]}")
    return [each for each in json.loads(done.stdout)["files"] if each["diff"]]


# Packages.


def _fetched(package: RealPackage, store: Path) -> bytes:
    """Return the archive with the pinned hash, from the cache or from the registry."""
    file = f"{package.name}-{package.version}.tar.gz"
    return archive_of("pypi", package.name, package.version, package.sha256, store, file)


def _unpack(archive: bytes, folder: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        opened.extractall(f"{folder}.all", filter="data")
    top = next(each for each in sorted(Path(f"{folder}.all").iterdir()) if each.is_dir())
    top.rename(folder)


# Test suites.


@dataclass(frozen=True, slots=True)
class _PythonSuite:
    package: RealPackage
    python: Path

    def run(self, folder: Path, files: list[str]) -> dict[str, str]:
        """Run the suite; note which lines of these files it runs. Return what became of each test."""
        report = folder / ".faultkit-results.xml"
        report.unlink(missing_ok=True)
        own = [str(each) for each in (folder / "src", folder) if each.is_dir()]
        # Without this file, coverage would read the configuration of the package, which may exclude files.
        (folder / f"{_COVERED}rc").write_text("[run]\n")
        command = [str(self.python), "-m", "coverage", "run", f"--data-file={folder / _COVERED}"]
        command += [f"--rcfile={folder / _COVERED}rc"]
        command += [f"--include={','.join(str(folder / each) for each in files)}"]
        command += ["-m", "pytest", "-q", "-p", "no:cacheprovider"]
        command += [
            "-p",
            "no:randomly",
            f"--junitxml={report}",
            "--continue-on-collection-errors",
            f"--timeout={TEST_LIMIT_S}",
            "-o",
            "junit_family=xunit1",
            "-o",
            "addopts=",
            *self.package.options,
        ]
        command += [f"--deselect={each}" for each in self.package.left_out]
        _run([*offline(), *command, *self.package.tests], folder, own)
        return _results(report, folder)

    def lines_run(self, folder: Path) -> set[tuple[str, int]]:
        """Return the lines that the last run in this folder went through, with their files."""
        command = [str(self.python), "-c", _LINES_RUN, str(folder / _COVERED)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
        found: dict[str, list[int]] = json.loads(done.stdout)
        return {
            (Path(file).relative_to(folder).as_posix(), line) for file, at in found.items() for line in at
        }


def _run(command: list[str], folder: Path, path: list[str]) -> None:
    env = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
    env |= {"PYTHONPATH": os.pathsep.join(path), "HOME": str(folder), "PYTHONHASHSEED": "0", "TZ": "UTC"}
    with (folder / ".faultkit-output.txt").open("wb") as output:
        process = subprocess.Popen(
            command, cwd=folder, env=env, stdout=output, stderr=output, stdin=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        try:
            process.wait(LIMIT_S)
        finally:
            end_group(process)


@cache
def offline() -> tuple[str, ...]:
    """Return the words before a command that give it a network of its own; empty where it cannot have one."""
    own = ("unshare", "--user", "--map-root-user", "--net", "sh", "-c", 'ip link set lo up; exec "$@"', "sh")
    if shutil.which(own[0]) is None or shutil.which("ip") is None:
        return ()
    return own if subprocess.run([*own, "true"], capture_output=True, check=False).returncode == 0 else ()


def _results(report: Path, folder: Path) -> dict[str, str]:
    """Return what became of each test, by its name without the folder of the package; the worst, if one name
    stands for several."""
    ranks = ("passed", "skipped", "failed")
    found: dict[str, str] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('file') or case.get('classname')}::{case.get('classname')}::{case.get('name')}"
        name = name.replace(str(folder), ".")
        kinds = {each.tag for each in case}
        result = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
        found[name] = max(result, found.get(name, "passed"), key=ranks.index)
    return found


def _runner(package: RealPackage, store: Path) -> _PythonSuite:
    venv = store / "venvs" / f"{package.name}-{package.version}"
    python = venv / "bin" / "python"
    ready = venv / ".ready"
    wanted = json.dumps([package.needs, sys.version])
    if not ready.exists() or ready.read_text() != wanted:
        shutil.rmtree(venv, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", venv], check=True, capture_output=True)
        pip = [
            str(python),
            "-m",
            "pip",
            "install",
            "-q",
            f"{package.name}=={package.version}",
            *_TOOLS,
            *package.needs,
        ]
        done = subprocess.run(pip, capture_output=True, text=True, check=False, cwd=store)
        if done.returncode:
            raise ValueError(f"{package}: pip: {done.stderr[-200:]}")
        ready.write_text(wanted)
    return _PythonSuite(package, python)


# The table.


def table(outcomes: list[Outcome]) -> str:
    """Return the outcomes as a Markdown table."""
    lines = [
        "| package | files changed | changed lines run | tests | pass | differ after the changes |",
        "|---|---|---|---|---|---|",
    ]
    changed = [each for each in outcomes if each.changed_files or each.problem]
    lines += [_row(each) for each in changed]
    good = [each for each in changed if each.counts]
    kinds: Counter[str] = Counter()
    for each in good:
        kinds.update(each.changes)
    lines.append(
        f"| **{len(good)} packages** | {sum(each.changed_files for each in good)} | "
        f"{sum(each.lines_run for each in good)} of {sum(each.lines for each in good)} | "
        f"{sum(each.tests for each in good):,} | {sum(each.passed for each in good):,} | "
        f"{sum(len(each.differences) for each in good)} |"
    )
    counted = "; ".join(f"{kind} ({count_of(count, 'file')})" for kind, count in kinds.most_common())
    head = (
        f"Measured: {len(outcomes)} of the {len(PACKAGES)} packages of the list. A package counts if "
        f"{FEWEST_TESTS} of its tests pass, and if they run a line that is changed.\n\n"
    )
    without = [each.package for each in outcomes if not each.changed_files and not each.problem]
    none = f"\nNothing to change: {', '.join(without)}.\n" if without else ""
    return head + "\n".join(lines) + f"\n\nChanges: {counted}.\n{none}"


def _row(outcome: Outcome) -> str:
    shown, more = "; ".join(outcome.differences[:3]), " …" if len(outcome.differences) > 3 else ""
    cells = (
        outcome.package,
        outcome.changed_files,
        f"{outcome.lines_run} of {outcome.lines}" if outcome.lines_run else "none: not exercised",
        f"{outcome.tests:,}",
        f"{outcome.passed:,}",
        outcome.problem or f"{shown}{more}" or "0",
    )
    return f"| {' | '.join(map(str, cells))} |"


def write_section(text: str, document: Path = DOCUMENT) -> None:
    """Replace the section of a document, or add it at the end."""
    old = document.read_text() if document.exists() else ""
    head, found, rest = old.partition(f"{_TITLE}\n")
    after = rest[rest.index("\n## ") :] if found and "\n## " in rest else ""
    section = f"{_TITLE}\n\nWritten by `python -m bench.changes --write`.\n\n{text}"
    document.write_text(f"{head.rstrip()}\n\n{section}{after}")


def kept_section(document: Path = DOCUMENT) -> str:
    """Return the section of a document, for a program that writes the rest of it; empty if it has none."""
    old = document.read_text() if document.exists() else ""
    _, found, rest = old.partition(f"{_TITLE}\n")
    end = rest.index("\n## ") if "\n## " in rest else len(rest)
    return f"{found}{rest[:end].rstrip()}" if found else ""


if __name__ == "__main__":
    sys.exit(main())
