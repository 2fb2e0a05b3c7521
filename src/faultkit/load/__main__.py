"""`python -m faultkit.load URL`: one load on one URL, and its figures. For benchmarks and a quick look."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from faultkit.base.errors import FaultkitError
from faultkit.load.load import Load, Target
from faultkit.load.place_names import FORMS, PlaceName, open_place, parse_place
from faultkit.load.workers import LoadResult, run_load


def main(arguments: Sequence[str] | None = None) -> int:
    """Send the load that a command line describes, and return the exit code."""
    options = _parser().parse_args(arguments)
    try:
        load = Load(
            duration_s=options.duration,
            rate_rps=options.rate,
            clients=options.clients,
            model="closed" if options.closed or options.rate is None else "open",
            keep_alive=not options.no_keep_alive,
        )
        where = parse_place(options.on) if options.on else PlaceName("local", options.workers)
        with open_place(where) as place:
            result = run_load(Target(options.method, options.url), load, on=place)
    except (FaultkitError, ValueError) as error:
        sys.stderr.write(f"load: {error}\n")
        return error.exit_code if isinstance(error, FaultkitError) else 2
    figures = _figures(result, load)
    lines = [json.dumps(figures)] if options.json else [f"{name:18} {figures[name]}" for name in figures]
    sys.stdout.write("\n".join([*lines, ""]))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m faultkit.load", description=__doc__)
    parser.add_argument("url", metavar="URL")
    parser.add_argument("--method", type=str.upper, default="GET")
    parser.add_argument("--duration", type=float, default=10.0, metavar="SECONDS")
    parser.add_argument("--rate", type=float, metavar="RPS", help="of all clients; none: as fast as it goes")
    parser.add_argument("--clients", type=int, default=64, help="of a closed load")
    parser.add_argument("--closed", action="store_true", help="each client waits for its answer")
    parser.add_argument("--no-keep-alive", action="store_true", help="a new connection for each request")
    parser.add_argument("--on", metavar="PLACE", help=FORMS)
    parser.add_argument("--workers", type=int, default=1, metavar="PROCESSES", help="as --on local:N")
    parser.add_argument("--json", action="store_true", help="one line for machines")
    return parser


def _figures(result: LoadResult, load: Load) -> dict[str, float | int | dict[str, int]]:
    summary = result.tally.summary(load, total_s=result.total_s)
    response = {each.percent: each.ms for each in summary.response.percentiles}
    return {
        "requests": summary.requests,
        "errors": summary.errors,
        "failures": summary.failures,
        "dropped": summary.starts.dropped,
        "total_s": round(result.total_s, 6),
        "rps": round(summary.achieved_rps, 3),
        "response_p50_ms": round(response[50], 6),
        "response_p99_ms": round(response[99], 6),
        "service_mean_ms": round(summary.service.mean_ms, 6),
        "late_p50_ms": round(summary.starts.p50_ms, 6),
        "late_p99_ms": round(summary.starts.p99_ms, 6),
    }


if __name__ == "__main__":
    sys.exit(main())
