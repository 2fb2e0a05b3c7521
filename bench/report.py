"""`python -m bench`: runs all benchmarks and rewrites docs/benchmarks.md from their figures."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Sequence

from bench import fidelity, llm, load_engines, load_items, mcp, proxy, scale, start
from bench.cells import PASS_CELLS, Cell
from bench.changes import kept_section
from bench.fault_cells import FAULT_CELLS
from bench.layer_cells import LAYER_CELLS
from bench.machine import BENCH, PROJECT
from bench.options import DOCUMENT, parser
from bench.processes import StartError
from bench.relays import OURS
from bench.summary import Judged, summary_table
from bench.tables import aligned_table, markdown

CARD = PROJECT / "docs" / "fidelity.svg"
REVIEW = BENCH / "review" / "section.md"
"""Written by hand: its figures need people who judge."""

_INTRODUCTION = """\
# Benchmarks

Written by `python -m bench` (`make bench`); change the benchmark, not this page.

All programs run on one machine and talk over loopback. Clients, relays and origins share its cores, so
absolute figures say more about the machine than about a relay: read the columns against each other. The CPU
time of the relay's own processes is the steadiest of them. `direct` is the same load without a relay.
"""

_PROXY_METHOD = """\
Faultkit runs as `fault run` without faults; haproxy in TCP mode with one thread, 1 MB pipes and splicing
forced for bulk; nginx `stream` with one worker. Relays take turns within each round, and each round begins
with another one. Requests are HTTP/1.1 over kept-alive connections (wrk, nginx as origin). Memory is the
growth of the proportional set size of all the relay's processes with all connections open and silent. Where
one process may not open two descriptors for each of them, Faultkit runs with `--workers`; its row says so.
Bulk, round trips and latency at 64 connections vary with the core that a process happens to run on, and have
three turns in each round.
"""

_FAULT_METHOD = """\
The same relays with one fault each, in the same rounds as the tables above, beside Faultkit's own
pass-through, and beside Toxiproxy where it was given (`--toxiproxy PATH`) and has the fault. *Beyond* is the
round trip less what was asked for. Memory is the most by which the proportional set size has grown.
"""

_LAYER_METHOD = """\
TLS without a rule is a `tls:` map, beside haproxy in TCP mode and nginx `stream` with the same certificate (a
P-256 key) and a verified upstream; requests are those of wrk. HTTP/2 is an `https:` or `http:` map, with 16
connections of 8 streams (h2load); haproxy speaks HTTP/2 to both sides, nginx to its clients only. gRPC is one
connection of grpcio with 16 calls in flight. WebSocket is 16 connections with one message in flight each,
which peers pass as bytes. Interception is `fault run --intercept` beside mitmdump without scripts, with 16
connections (`bench/tls_client.py`). Kept connections of TLS are measured without their handshakes: the count
and the CPU time of every relay begin after a warm-up, of 2,000 requests with wrk. For new connections it is
128: those that are half made when the count begins make up for those at its end.
*Beyond* is the time to an answer less the delay that was asked for. Only these rows: `python -m bench.proxy
--only tls-both --only intercept …` (`--help` lists all names).
"""

_FIDELITY_METHOD = """\
Messages of 64 bytes leave at fixed times, whether or not earlier ones have come back, and carry the instant
of their sending. *Lateness of one direction* is half of (RTT through the relay − median RTT without a relay
− requested RTT), so it includes the relay's own work; the proxy's own account counts from the instant at
which bytes were due. Loss is counted twice: by messages that came a retransmission timer late, and by the
events of `fault run --json`; allowed is what chance allows 999 times in 1,000.
Loss also limits bulk, by the formula of Mathis et al. (1997): segment/RTT · √(3/2)/√loss, 0.2 MB/s at 5 % and
40 ms. These messages are too few to meet that limit.
"""


def write_document(
    passing: proxy.Result,
    faithful: fidelity.Result,
    asking: load_engines.Result | None = None,
    calling: mcp.Result | None = None,
    starting: start.Result | None = None,
    scaling: scale.Result | None = None,
    items: load_items.Result | None = None,
    tokens: llm.Result | None = None,
) -> None:
    DOCUMENT.parent.mkdir(exist_ok=True)
    kept = kept_section()
    DOCUMENT.write_text(
        document(passing, faithful, asking, calling, starting, scaling, items, tokens)
        + (f"\n{kept}\n" if kept else "")
    )
    shutil.copyfile(fidelity.CARD, CARD)


def document(
    passing: proxy.Result,
    faithful: fidelity.Result,
    asking: load_engines.Result | None = None,
    calling: mcp.Result | None = None,
    starting: start.Result | None = None,
    scaling: scale.Result | None = None,
    items: load_items.Result | None = None,
    tokens: llm.Result | None = None,
) -> str:
    beside = [result for result in (asking, calling, scaling, items, tokens) if result]
    parts = [
        _INTRODUCTION,
        f"Machine: {passing.machine.sentence()}. Time stolen by its hypervisor during the run: "
        f"{passing.steal_percent:.1f} %.",
        "## Passing bytes through",
        f"{_PROXY_METHOD}Medians of {passing.rounds} rounds.",
        markdown(*proxy.verdict_table(passing)),
        *_cell_tables(passing, PASS_CELLS),
        *_titled("## While a fault acts", _FAULT_METHOD, _cell_tables(passing, FAULT_CELLS)),
        *_titled("## TLS, HTTP/2 and interception", _LAYER_METHOD, _cell_tables(passing, LAYER_CELLS)),
        "## Fidelity: requested against measured",
        "![Fidelity card](fidelity.svg)",
        f"{_FIDELITY_METHOD}Median RTT without a relay: {faithful.direct_p50_us:.0f} µs.",
        markdown(*fidelity.check_table(faithful)),
        *([load_engines.section(asking)] if asking else []),
        *([scale.section(scaling)] if scaling else []),
        *([load_items.section(items)] if items else []),
        *([llm.section(tokens)] if tokens else []),
        *([mcp.section(calling)] if calling else []),
        *([start.section(starting)] if starting else []),
        REVIEW.read_text("utf-8"),
        *_notes([*passing.skipped, *faithful.skipped, *(note for each in beside for note in each.skipped)]),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _cell_tables(passing: proxy.Result, cells: Sequence[Cell]) -> list[str]:
    return [markdown(*proxy.figure_table(passing, cell)) for cell in cells if cell.name in passing.figures]


def _titled(heading: str, method: str, tables: list[str]) -> list[str]:
    return [heading, method, *tables] if tables else []


def _notes(sentences: Sequence[str]) -> list[str]:
    return (
        ["## Left out in this run", "\n".join(f"- {sentence}" for sentence in sentences)] if sentences else []
    )


def main(arguments: Sequence[str] | None = None) -> int:
    command = parser("bench", __doc__ or "")
    proxy.add_options(command)
    options = command.parse_args(arguments, argparse.Namespace(only=None))
    try:
        passing = proxy.run(options)
        proxy.print_result(passing)
        print()
        faithful = fidelity.run(options)
        fidelity.print_result(faithful)
        print()
        asking = load_engines.run(options)
        load_engines.print_result(asking)
        print()
        calling = mcp.run(options)
        mcp.print_result(calling)
        print()
        starting = start.run(options)
        start.print_result(starting)
        print()
        scaling = scale.run(options)
        scale.print_result(scaling)
        print()
        items = load_items.run(options)
        load_items.print_result(items)
        print()
        tokens = llm.run(options)
        llm.print_result(tokens)
        faithful.checks.setdefault(OURS, []).extend(tokens.checks)
        print()
        parts: list[tuple[str, Sequence[Judged]]] = [
            ("load", asking.verdicts()),
            ("items", items.verdicts()),
            ("mcp", calling.verdicts()),
            ("start", starting.verdicts()),
        ]
        print(aligned_table(*summary_table(passing.verdicts(), faithful.ours(), parts)))
    except StartError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        print("bench: interrupted; everything that was started has been ended", file=sys.stderr)
        return 130
    fidelity.write_card(faithful)
    if OURS in passing.relays and faithful.ours():
        write_document(passing, faithful, asking, calling, starting, scaling, items, tokens)
    else:
        print(f"bench: {DOCUMENT.name} is left as it is: faultkit itself was not measured", file=sys.stderr)
    if options.json:
        figures = {
            "proxy": passing.to_json(),
            "fidelity": faithful.to_json(),
            "load_engines": asking.to_json(),
            "scale": scaling.to_json(),
            "load_items": items.to_json(),
            "llm": tokens.to_json(),
            "mcp": calling.to_json(),
            "start": starting.to_json(),
        }
        options.json.write_text(json.dumps(figures, indent=2) + "\n")
    missed = [v for v in passing.verdicts() if v.word == "MISS"]
    missed_some = bool(missed) or any(check.word == "MISS" for check in faithful.ours())
    return (
        1
        if missed_some or any(each.missed() for each in (asking, calling, starting, scaling, items, tokens))
        else 0
    )


if __name__ == "__main__":
    sys.exit(main())
