"""Runs probes one after the other, each within a time limit, and restarts a server that a probe has ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from faultkit.base.errors import InputError, TargetError
from faultkit.base.external_program import check_program
from faultkit.base.text import did_you_mean, escaped_line
from faultkit.base.times import now_us, time_text
from faultkit.mcp.mcp_client import ServerAddress
from faultkit.mcp.probe.servers.edge_probes import PROBES, Probe
from faultkit.mcp.probe.servers.probe_results import (
    EdgeReport,
    Judgement,
    ProbeOptions,
    ProbeResult,
    inconclusive,
    not_applicable,
    unanswered,
)
from faultkit.mcp.probe.servers.probe_session import ProbeSession, opening_s
from faultkit.mcp.upstreams.http_upstream import check_url

_MOST_ANSWERS = 8
"""A probe may take this many times the limit of an answer, besides the time for starting the server."""

OnResult = Callable[[ProbeResult], None]


def check_run(at: ServerAddress, options: ProbeOptions) -> None:
    """Raise InputError for options that cannot work, before anything is started."""
    if bool(at.command) == bool(at.url):
        raise InputError(
            "", f"expected a command behind -- or --url URL, got {'both' if at.url else 'neither'}"
        )
    for flag, ids in (
        ("--only", options.only),
        ("--skip", options.skip),
        ("--expect-failure", options.expected_failures),
    ):
        for id in ids:
            if id.upper() not in PROBES:
                guess = did_you_mean(id.upper(), PROBES, "")
                raise InputError(flag, f'unknown probe "{id}"{guess} (expected one of {", ".join(PROBES)})')
    if not _wanted(options):
        raise InputError("--skip", "expected a probe that is left to run, got none")
    if at.url:
        check_url(at.url)
    else:
        check_program(at.command[0])


async def probe_server(
    at: ServerAddress,
    options: ProbeOptions,
    on_result: OnResult = lambda result: None,
    show: Callable[[str], None] = lambda line: None,
) -> EdgeReport:
    """Run the probes; calls `on_result` for each result, and `show` for each line that a server process
    writes to its standard error. Raises TargetError if the server is unavailable."""
    check_run(at, options)
    started_at = time_text(now_us())
    session = ProbeSession(at, options, show)
    try:
        await session.connect()
        await session.learn_tools()
        peer = session.server
        server = " ".join(str(peer.info[key]) for key in ("name", "version") if peer.info.get(key))
        expected = tuple(dict.fromkeys(id.upper() for id in options.expected_failures))
        results = []
        for probe in _wanted(options):
            results.append(await _run_probe(probe, session))
            on_result(results[-1])
        return EdgeReport(
            str(at),
            peer.wire.transport,
            peer.era,
            escaped_line(server),
            tuple(results),
            (*_notes(session), *_open_expectations(expected, results)),
            session.restarts,
            expected,
            started_at,
        )
    finally:
        await session.disconnect()


def _wanted(options: ProbeOptions) -> list[Probe]:
    skipped = {id.upper() for id in options.skip}
    ids = [id.upper() for id in options.only] or list(PROBES)
    return [PROBES[id] for id in ids if id not in skipped]


async def _run_probe(probe: Probe, session: ProbeSession) -> ProbeResult:
    session.begin_record()
    now_s = asyncio.get_running_loop().time
    began_s = now_s()
    limit_s = _MOST_ANSWERS * session.options.wait_s + 2 * opening_s(session.options.wait_s)
    try:
        async with asyncio.timeout(limit_s):
            await session.connect()
            judgement = await _judge(probe, session)
    except TargetError as error:
        await session.disconnect()
        judgement = inconclusive(f"the server is unavailable: {error}")
    except TimeoutError:
        await session.disconnect()
        judgement = inconclusive(f"the probe did not end within {limit_s:g} s")
    # What a server sent must not control the terminal that shows it.
    judgement = replace(judgement, why=escaped_line(judgement.why))
    evidence, called = session.record()
    return ProbeResult(
        probe.id,
        probe.title,
        probe.level,
        judgement,
        evidence,
        tuple(map(escaped_line, called)),
        now_s() - began_s,
    )


async def _judge(probe: Probe, session: ProbeSession) -> Judgement:
    """Run a probe and check that the server still answers afterwards; one that does not has failed."""
    transport = session.server.wire.transport
    if transport not in probe.transports:
        return not_applicable(f"only for {' and '.join(probe.transports)}, and this is {transport}")
    judgement = await probe.run(session)
    if judgement.verdict == "not applicable":
        return judgement
    after = await session.server.check_alive()
    if not after.problem:
        return judgement
    if session.server.wire.lost_reason:
        session.restarts += 1
    await session.disconnect()
    if judgement.verdict == "failed":
        return unanswered(f"{judgement.why}; afterwards: {after.problem}")
    return unanswered(f"the server did not answer afterwards: {after.problem}")


def _open_expectations(expected: tuple[str, ...], results: Sequence[ProbeResult]) -> Iterator[str]:
    """Yield a note for each probe that is known to fail, and of which this run shows nothing."""
    verdicts = {each.id: each.verdict for each in results}
    for id in expected:
        verdict = verdicts.get(id, "not run")
        if verdict not in ("passed", "failed"):
            yield f"{id} was {verdict}, so it is unknown whether it still fails as --expect-failure says"


def _notes(session: ProbeSession) -> tuple[str, ...]:
    if session.all_tools and not session.tools:
        return (
            f"none of the {len(session.all_tools)} tools declares itself read-only by annotations, so none "
            "was called: name one with --tool",
        )
    return ()
