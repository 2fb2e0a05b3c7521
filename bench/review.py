"""`python -m bench.review`: the time of `fault review`'s engine for a folder of 300 files.

The files are of Python's standard library, chosen by a fixed seed and copied into a new folder. With
`--rules`, each rule is run alone over the same facts, and the slowest are listed.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import sysconfig
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

from bench.machine import describe
from faultkit.code.facts import facts_of
from faultkit.code.review.engine import RULES
from faultkit.code.review.review_files import ReviewedFile, files_to_review, review_all
from faultkit.code.source_files import read_source

LIBRARY = Path(sysconfig.get_paths()["stdlib"])
FILES = 300
LEAST_PER_S = 4.0
"""Files a second; fewer mean that something has become quadratic."""
_SHOWN = 8


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.review", description=__doc__)
    parser.add_argument("--files", type=int, default=FILES)
    parser.add_argument("--rules", action="store_true", help="Also say which rules take the longest.")
    asked = parser.parse_args()
    print(f"{len(RULES)} rules. {describe().sentence()}.")
    with tempfile.TemporaryDirectory() as folder:
        _copy(Path(folder), asked.files)
        per_s = _review(folder)
        if asked.rules:
            _slowest_rules(folder)
    return 0 if per_s >= LEAST_PER_S else 1


def _copy(folder: Path, count: int) -> None:
    found = sorted(
        path for path in LIBRARY.rglob("*.py") if "site-packages" not in path.parts and path.stat().st_size
    )
    for place, path in enumerate(random.Random(4).sample(found, min(count, len(found)))):
        shutil.copyfile(path, folder / f"{place:03}_{path.name}")


def _review(folder: str) -> float:
    started = time.perf_counter()
    wanted, passed_by = files_to_review(folder)
    slowest: tuple[float, ReviewedFile] | None = None
    reviewed = []
    last = time.perf_counter()
    for each in review_all(wanted):
        now = time.perf_counter()
        if slowest is None or now - last > slowest[0]:
            slowest = (now - last, each)
        last = now
        reviewed.append(each)
    took_s = time.perf_counter() - started
    lines = sum(Path(each.path).read_bytes().count(b"\n") for each in wanted)
    findings = [each for file in reviewed for each in file.findings]
    kinds = Counter(each.rule.kind for each in findings)
    print(
        f"{len(reviewed)} files, {lines:,} lines in {took_s:.1f} s: {len(reviewed) / took_s:.1f} files/s, "
        f"{lines / took_s:,.0f} lines/s; {len(passed_by)} passed by"
    )
    print(f"{len(findings)} findings: {kinds['reliability']} reliability, {kinds['performance']} performance")
    if slowest is not None:
        name = Path(slowest[1].file).name.partition("_")[2]
        print(f"the slowest file is {name} with {slowest[0]:.2f} s")
    return len(reviewed) / took_s


def _slowest_rules(folder: str) -> None:
    """Return the seconds of each rule, and of the facts that all of them share."""
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


if __name__ == "__main__":
    sys.exit(main())
