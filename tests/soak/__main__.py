"""`python -m tests.soak --seconds 120 --seed 7`: mixed traffic, and then what is left of it.

At the end of each run no connection lives, descriptors, threads and child processes are as many as before,
the memory is bounded, and stderr has no traceback.
"""

from __future__ import annotations

import argparse
import secrets
import sys

from tests.mcp.fuzz.fuzzed_process import Broken
from tests.soak.soak_runs import RUNS, seconds_of


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=120.0, help="for all runs together (default 120)")
    parser.add_argument("--seed", default="", help="by default a random one, which is printed")
    parser.add_argument("--only", metavar="WORDS", default="", help="runs whose name has these words in it")
    options = parser.parse_args()
    seed = options.seed or secrets.token_hex(4)
    runs = {name: soak for name, soak in RUNS.items() if options.only in name}
    if not runs:
        parser.error(f'no run has "{options.only}" in its name; the runs: {", ".join(RUNS)}')
    sys.stdout.write(f"seed {seed}\n")
    broken = 0
    for name, soak in runs.items():
        try:
            done = soak(seconds_of(name, options.seconds), f"{seed}-{name}")
        except Broken as error:
            broken += 1
            done = f"BROKEN: {error}"
        sys.stdout.write(f"{name:<28} {done}\n")
        sys.stdout.flush()
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
