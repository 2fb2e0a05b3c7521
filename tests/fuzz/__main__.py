"""`python -m tests.fuzz --seconds 120 --seed 7`: fuzzes each part for its share of the time, prints figures.

A part that breaks is named with its seed, and its latest inputs are written to build/fuzz/.
"""

from __future__ import annotations

import argparse
import secrets
import sys
import traceback
from pathlib import Path

from tests.fuzz.fuzz_budget import Budget
from tests.fuzz.fuzz_parts import PARTS
from tests.mcp.fuzz.fuzzed_process import ROOT, Broken

_FOLDER = ROOT / "build" / "fuzz"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=120.0, help="for all parts together (default 120)")
    parser.add_argument("--seed", default="", help="by default a random one, which is printed")
    parser.add_argument("--only", metavar="WORDS", default="", help="parts whose name has these words in it")
    options = parser.parse_args()
    seed = options.seed or secrets.token_hex(4)
    parts = {name: fuzz for name, fuzz in PARTS.items() if options.only in name}
    if not parts:
        parser.error(f'no part has "{options.only}" in its name; the parts: {", ".join(PARTS)}')
    sys.stdout.write(f"seed {seed}: {len(parts)} parts, {options.seconds / len(parts):.0f} s each\n")
    broken = 0
    for name, fuzz in parts.items():
        budget = Budget(f"{seed}-{name}", options.seconds / len(parts))
        try:
            fuzz(budget)
        except Broken as error:
            broken += 1
            sys.stdout.write(f"{name}: BROKEN after {budget.inputs:,} inputs: {error}\n")
            if error.__cause__ is not None:
                traceback.print_exception(error.__cause__, file=sys.stdout)
            again = f'make fuzz SEED={seed} SECONDS={options.seconds:g} ONLY="{name}"'
            sys.stdout.write(f"  its latest inputs: {_kept(name, seed, budget)}; again: {again}\n")
        else:
            sys.stdout.write(f"{name:<32} {budget.inputs:>9,} inputs\n")
        sys.stdout.flush()
    return 1 if broken else 0


def _kept(name: str, seed: str, budget: Budget) -> Path:
    """Write the latest inputs, the last one to a file of its own; return its path."""
    _FOLDER.mkdir(parents=True, exist_ok=True)
    stem = f"{name.replace(' ', '-')}-{seed}"
    (_FOLDER / f"{stem}.inputs").write_text("".join(f"{each!r}\n" for each in budget.last))
    path = _FOLDER / f"{stem}.last"
    path.write_bytes(budget.last[-1] if budget.last else b"")
    return path


if __name__ == "__main__":
    sys.exit(main())
