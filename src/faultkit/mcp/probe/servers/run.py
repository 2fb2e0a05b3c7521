"""A run of probes, one after the other, each within its limit. A server that one has ended is begun anew."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from difflib import get_close_matches

from faultkit.base.commands import check_program
from faultkit.base.errors import InputError, TargetError
from faultkit.mcp.client import At
from faultkit.mcp.probe.servers.bench import Bench
from faultkit.mcp.probe.servers.model import (
    EdgeReport,
    Finding,
    Result,
    Wish,
    failed,
    inconclusive,
    not_applicable,
)
from faultkit.mcp.probe.servers.peer import opening_s
from faultkit.mcp.probe.servers.probes.probe import Probe
from faultkit.mcp.probe.servers.probes.table import PROBES
from faultkit.mcp.upstreams.http import check_url

_ANSWERS = 8
"""So many answers in a row may take their whole time before a probe is ended, besides what starting takes."""

Say = Callable[[Result], None]


def check_run(at: At, wish: Wish) -> None:
    """Raises before anything is started."""
    if bool(at.command) == bool(at.url):
        raise InputError(
            "", f"expected a command behind -- or --url URL, got {'both' if at.url else 'neither'}"
        )
    for id in wish.only:
        if id.upper() not in PROBES:
            close = get_close_matches(id.upper(), PROBES, n=1)
            guess = f"; did you mean {close[0]}?" if close else ""
            raise InputError("--only", f'unknown probe "{id}"{guess} (expected one of {", ".join(PROBES)})')
    if at.url:
        check_url(at.url)
    else:
        check_program(at.command[0])


async def probe_server(at: At, wish: Wish, say: Say = lambda result: None) -> EdgeReport:
    """`say` is told of each result as it comes. TargetError if the server cannot be had at all."""
    check_run(at, wish)
    wanted = [PROBES[id.upper()] for id in wish.only] or list(PROBES.values())
    bench = Bench(at, wish)
    try:
        await bench.ready()
        await bench.learn_tools()
        peer = bench.peer
        server = " ".join(str(peer.info[key]) for key in ("name", "version") if peer.info.get(key))
        results = []
        for probe in wanted:
            results.append(await _probe(probe, bench))
            say(results[-1])
        return EdgeReport(
            str(at), peer.wire.transport, peer.era, server, tuple(results), _notes(bench), bench.restarts
        )
    finally:
        await bench.drop()


async def _probe(probe: Probe, bench: Bench) -> Result:
    bench.begin()
    limit_s = _ANSWERS * bench.wish.wait_s + 2 * opening_s(bench.wish.wait_s)
    try:
        async with asyncio.timeout(limit_s):
            await bench.ready()
            finding = await _judged(probe, bench)
    except TargetError as error:
        await bench.drop()
        finding = inconclusive(f"there is no server any more: {error}")
    except TimeoutError:
        await bench.drop()
        finding = inconclusive(f"it did not come to an end within {limit_s:g} s")
    return Result(probe.id, probe.title, probe.level, finding, *bench.record())


async def _judged(probe: Probe, bench: Bench) -> Finding:
    """With a look at the server afterwards: one that is not well any more has failed."""
    transport = bench.peer.wire.transport
    if transport not in probe.transports:
        return not_applicable(f"it is about {' and '.join(probe.transports)}, and this is {transport}")
    finding = await probe.run(bench)
    if finding.verdict == "not applicable":
        return finding
    after = await bench.peer.is_well()
    if not after.problem:
        return finding
    if bench.peer.wire.gone:
        bench.restarts += 1
    await bench.drop()
    if finding.verdict == "failed":
        return failed(f"{finding.why}; afterwards: {after.problem}")
    return failed(f"the server was not well afterwards: {after.problem}")


def _notes(bench: Bench) -> tuple[str, ...]:
    if bench.all_tools and not bench.tools:
        return (
            f"none of the {len(bench.all_tools)} tools says by its annotations that it does no harm, so that "
            "none was called: name one by --tool",
        )
    return ()
