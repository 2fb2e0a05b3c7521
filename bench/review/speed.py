"""The time of a review: of each file, and of `fault review` without and with its cache.

The files are those of the projects to work with, if they have been fetched, and of Python's standard
library, chosen by a fixed seed and copied into a new folder, each with its path, since tests and examples are
known by it and not reviewed. If there are too few, they are copied again with a comment added, so that no two
files are the same. With `--rules`, each rule is run alone over the same
facts, and the slowest are listed.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

from bench.machine import describe
from bench.review.projects import WORK
from faultkit.code.facts import facts_of
from faultkit.code.facts.build import GRAMMARS
from faultkit.code.languages import known_language_of
from faultkit.code.review.engine import RULES
from faultkit.code.review.review_files import files_to_review, review_all
from faultkit.code.source_files import read_source

LIBRARY = Path(sysconfig.get_paths()["stdlib"])
FILES = 300
LEAST_PER_S = 4.0
"""Files a second; fewer mean that something has become quadratic."""
LONGEST_S = 5.0
"""No file may take longer."""
_SHOWN = 8


def measure(count: int, corpus: Path, *, rules: bool) -> int:
    """Print the times; return 1 if the review is too slow, or a file takes too long."""
    print(f"{len(RULES)} rules. {describe().sentence()}.")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "project"
        folder.mkdir()
        _copy(_files_of(corpus), corpus / WORK, folder, count)
        _commands(folder, Path(name))
        per_s, longest_s = _review(str(folder))
        if rules:
            _slowest_rules(str(folder))
    return 0 if per_s >= LEAST_PER_S and longest_s <= LONGEST_S else 1


def _files_of(corpus: Path) -> list[Path]:
    """Return the files that there are to choose from."""
    library = [path for path in sorted(LIBRARY.rglob("*.py")) if "site-packages" not in path.parts]
    projects = sorted(path for path in (corpus / WORK).rglob("*") if path.is_file() and _is_read(path))
    return [path for path in (*projects, *library) if path.stat().st_size]


def _is_read(path: Path) -> bool:
    language = known_language_of(path.name)
    return language is not None and language.name in GRAMMARS


def _copy(found: Sequence[Path], corpus: Path, folder: Path, count: int) -> None:
    chosen = random.Random(4).sample(found, min(count, len(found)))
    for place in range(count):
        path = chosen[place % len(chosen)]
        mark = b"#" if path.suffix == ".py" else b"//"
        times = place // len(chosen)
        added = b"\n%s copy %d\n" % (mark, times) if times else b""
        top, within = (corpus, "projects") if path.is_relative_to(corpus) else (LIBRARY, "library")
        target = folder / f"{within}{times or ''}" / path.relative_to(top)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes() + added)


def _commands(folder: Path, scratch: Path) -> None:
    """Run `fault review` twice: at first nothing can be in its cache.

    It runs from byte code, as an installed package does, whatever this process is told about byte code."""
    environment = {
        **os.environ,
        "XDG_CACHE_HOME": str(scratch / "cache"),
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONPYCACHEPREFIX": str(scratch / "byte code"),
    }
    command = [sys.executable, "-m", "faultkit", "review", "--json"]
    one = [*command, "--no-cache", next(str(path) for path in folder.rglob("*") if path.is_file())]
    subprocess.run(one, env=environment, stdout=subprocess.DEVNULL, check=False)  # Writes the byte code.
    for name in ("cold", "warm"):
        started, before = time.perf_counter(), os.times()
        run = subprocess.run([*command, str(folder)], env=environment, stdout=subprocess.PIPE, check=False)
        took_s, after = time.perf_counter() - started, os.times()
        # Of all processes; it does not grow when others use the machine, as the time does.
        cpu_s = sum(after[2:4]) - sum(before[2:4])
        print(f"fault review, {name}: {took_s:.1f} s, {cpu_s:.1f} s of CPU (exit code {run.returncode})")
    found = json.loads(run.stdout)
    left_out = ", ".join(f"{count:,} of {context}" for context, count in found["left_out"].items())
    skipped = len(found["skipped"])
    print(f"{found['files']:,} files reviewed, {skipped:,} skipped, left out: {left_out or 'none'}")


def _review(folder: str) -> tuple[float, float]:
    """Review the files one after the other in this process; return files a second and the longest time."""
    started = time.perf_counter()
    wanted, passed_by = files_to_review(folder)
    times: list[tuple[float, str]] = []
    kinds: Counter[str] = Counter()
    last = time.perf_counter()
    for each in review_all(wanted):
        now = time.perf_counter()
        times.append((now - last, os.path.relpath(each.file, folder)))
        last = now
        kinds.update(finding.rule.kind for finding in each.findings)
    took_s = time.perf_counter() - started
    lines = sum(Path(each.path).read_bytes().count(b"\n") for each in wanted)
    print(
        f"{len(times)} files, {lines:,} lines in {took_s:.1f} s: {len(times) / took_s:.1f} files/s, "
        f"{lines / took_s:,.0f} lines/s; {len(passed_by)} passed by"
    )
    print(f"{kinds.total()} findings: {kinds['reliability']} reliability, {kinds['performance']} performance")
    slow = sorted(times, reverse=True)
    print(f"the slowest file is {slow[0][1]} with {slow[0][0]:.2f} s")
    for seconds, name in slow[1:]:
        if seconds > LONGEST_S:
            print(f"  also over {LONGEST_S:g} s: {name} with {seconds:.2f} s")
    return len(times) / took_s, slow[0][0]


def _slowest_rules(folder: str) -> None:
    """Print the seconds of the slowest rules, and of the facts that all of them share."""
    spent: dict[str, float] = defaultdict(float)
    for wanted in files_to_review(folder)[0]:
        started = time.perf_counter()
        facts = facts_of(read_source(wanted.path, wanted.language).parse())
        spent["parsing and facts"] += time.perf_counter() - started
        for rule in RULES:
            if facts.language in rule.languages:
                started = time.perf_counter()
                for _ in rule.check(facts):
                    pass
                spent[f"{rule.id} {rule.slug}"] += time.perf_counter() - started
    for name, seconds in sorted(spent.items(), key=lambda each: -each[1])[:_SHOWN]:
        print(f"  {seconds:>6.2f} s  {name}")
