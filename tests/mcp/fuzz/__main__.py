"""`python -m tests.mcp.fuzz --messages 100000`: sends so many mutated messages on each transport, prints
figures."""

from __future__ import annotations

import argparse
import sys
import time

from tests.mcp.fuzz.fuzz_runs import RUNS
from tests.mcp.fuzz.fuzzed_process import Broken


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mcp.fuzz", description=__doc__)
    parser.add_argument("--messages", type=int, default=100_000, help="on each transport (default 100000)")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--only", metavar="WORDS", help="runs whose name has these words in it")
    options = parser.parse_args()
    broken, begin_s = 0, time.monotonic()
    totals = {"stdio": 0, "http": 0}
    for run in RUNS:
        if options.only and options.only not in run.name:
            continue
        try:
            figures = run.go(int(options.messages * run.share), options.seed)
        except Broken as error:
            broken += 1
            sys.stdout.write(f"{run.name}: BROKEN, seed {options.seed}: {error}\n")
            continue
        totals[run.transport] += figures.messages
        sys.stdout.write(f"{figures.line()}\n")
        sys.stdout.flush()
    sys.stdout.write(
        f"{totals['stdio']:,} mutated messages over stdio, {totals['http']:,} over HTTP, "
        f"in {time.monotonic() - begin_s:.0f} s; {broken} broken\n"
    )
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
