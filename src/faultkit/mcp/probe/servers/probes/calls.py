"""Probes that call a tool: with odd arguments that its schema allows, again, at once, and called off."""

from __future__ import annotations

import asyncio

from faultkit.mcp.probe.servers import judge
from faultkit.mcp.probe.servers.arguments import (
    emptiest,
    is_read_only,
    plain,
    with_empty_array,
    with_text,
    wrong,
)
from faultkit.mcp.probe.servers.bench import Bench
from faultkit.mcp.probe.servers.model import Finding, failed, not_applicable
from faultkit.mcp.probe.servers.probes.probe import no_tool

PLAIN = "faultkit-probe"
WORDS = "Zoë 東京 ελληνικά שלום 🧪👩\u200d🚀 “q” \\ \u2028 \U0001d54f"
"""Several scripts, right to left, an emoji made of three, and characters beyond the basic plane. In no form
that a normalisation would change."""
LARGE = 1 << 20
AGAIN = 3
AT_ONCE = 8
_UNDER_WAY_S = 0.05


async def unicode_arguments(bench: Bench) -> Finding:
    chosen = bench.choose(lambda tool: with_text(tool, WORDS))
    if chosen is None:
        return no_tool(bench, "takes any text")
    tool, arguments = chosen
    simple = {name: PLAIN if value == WORDS else value for name, value in arguments.items()}
    before = await bench.call(tool, simple)
    return judge.unicode_survives(before, await bench.call(tool, arguments), WORDS, PLAIN)


async def large_input(bench: Bench) -> Finding:
    chosen = bench.choose(lambda tool: with_text(tool, "x" * LARGE))
    if chosen is None:
        return no_tool(bench, f"takes a text of {LARGE:,} characters")
    return judge.answered(await bench.call(*chosen))


async def empty_input(bench: Bench) -> Finding:
    chosen = bench.choose(emptiest)
    if chosen is None:
        return no_tool(bench, "takes arguments that we can make up")
    return judge.same_each_time([await bench.call(*chosen) for _ in range(AGAIN)])


async def concurrent_calls(bench: Bench) -> Finding:
    chosen = bench.choose(plain)
    if chosen is None:
        return no_tool(bench, "takes arguments that we can make up")
    strays = bench.peer.wire.strays
    seen = await asyncio.gather(*(bench.call(*chosen) for _ in range(AT_ONCE)))
    # A second reply to one of them has come by the time that a later request is answered.
    after = await bench.peer.is_well()
    if after.problem:
        return failed(f"afterwards: {after.problem}")
    return judge.each_once(seen, bench.peer.wire.strays - strays)


async def server_timeout(bench: Bench) -> Finding:
    if bench.slow is None:
        return not_applicable("name a tool that takes longer than the server allows by --slow")
    name, arguments = bench.slow
    id = f"slow-{name}"
    seen = await bench.call(name, arguments, id)
    if seen.reply is None and not seen.gone:
        await bench.peer.call_off(id)
    return judge.fails_cleanly(seen)


async def empty_arrays(bench: Bench) -> Finding:
    chosen = bench.choose(with_empty_array)
    if chosen is None:
        return no_tool(bench, "takes an empty array")
    return judge.answered(await bench.call(*chosen))


async def invalid_arguments(bench: Bench) -> Finding:
    """A server that does not look runs the tool with them: for those only that change nothing."""
    tools = bench.tools if bench.wish.tools else [tool for tool in bench.tools if is_read_only(tool)]
    for tool in tools:
        arguments = wrong(tool)
        if arguments is not None:
            return judge.refuses(await bench.call(str(tool.get("name")), arguments))
    return no_tool(bench, "is read-only and has a schema that anything could be against")


async def called_off(bench: Bench) -> Finding:
    chosen = bench.choose(plain)
    if chosen is None:
        return no_tool(bench, "takes arguments that we can make up")
    id = "called-off"
    calling = asyncio.ensure_future(bench.call(*chosen, id))
    try:
        # Not before it is under way: a connection may have to be made for it.
        await asyncio.wait([calling], timeout=_UNDER_WAY_S)
        if (bench.peer.era, bench.peer.wire.transport) != ("modern", "http"):
            await bench.peer.call_off(id)
            await asyncio.wait([calling], timeout=_UNDER_WAY_S)
    finally:
        # Which is how one calls off a call of the modern era over HTTP.
        calling.cancel()
        await asyncio.gather(calling, return_exceptions=True)
    return judge.goes_on(await bench.ask(bench.peer.always_served, {}))
