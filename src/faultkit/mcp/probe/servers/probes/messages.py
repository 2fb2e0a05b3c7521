"""Probes that call no tool: sessions, envelopes, ids, sizes, names that do not exist, cursors."""

from __future__ import annotations

import asyncio

from faultkit.base.errors import TargetError
from faultkit.mcp.probe.servers import judge
from faultkit.mcp.probe.servers.bench import Bench
from faultkit.mcp.probe.servers.model import Evidence, Finding, failed, not_applicable, passed
from faultkit.mcp.probe.servers.seen import Seen
from faultkit.mcp.wire.message import Id, encode

ROUNDS = 3
OVERSIZED = 8 << 20
IDS: tuple[Id, ...] = (90, 7, "b", 41, "a", 8)
"""In no order, and of both types."""
LISTS = (("tools/list", "tools"), ("resources/list", "resources"), ("prompts/list", "prompts"))
_MOST_PAGES = 50
_LEAVING_S = 5.0
_UNKNOWN = "faultkit-no-such-tool"


async def rapid_init(bench: Bench) -> Finding:
    troubles = []
    for number in range(1, ROUNDS + 1):
        try:
            peer = await bench.another()
            trouble = await peer.wire.leave(min(_LEAVING_S, bench.wish.wait_s))
        except TargetError as error:
            trouble = str(error)
        bench.note(Evidence(f"round {number}: initialize, end of the session", trouble or "in order"))
        troubles.append(trouble)
    return judge.ends_well(troubles, ROUNDS)


async def by_id(bench: Bench) -> Finding:
    method = bench.peer.always_served
    listing = "tools/list" if "tools" in bench.peer.capabilities else method
    methods = [listing if number % 2 else method for number in range(len(IDS))]
    seen = await asyncio.gather(*(bench.ask(name, {}, id) for name, id in zip(methods, IDS, strict=True)))
    return judge.by_id(list(zip(IDS, seen, strict=True)))


async def truncated_line(bench: Bench) -> Finding:
    whole, id = bench.peer.request("ping", {})
    return judge.parse_error(await bench.ask_raw(whole[: len(whole) // 2], id))


async def malformed_envelope(bench: Bench) -> Finding:
    envelopes = (
        ('without "jsonrpc"', {"id": "e1", "method": "ping"}),
        ('of "jsonrpc": "1.0"', {"jsonrpc": "1.0", "id": "e2", "method": "ping"}),
        ("whose method is a number", {"jsonrpc": "2.0", "id": "e3", "method": 42}),
    )
    seen: list[tuple[str, Seen]] = []
    for what, envelope in envelopes:
        seen.append((what, await bench.ask_raw(encode(envelope), str(envelope["id"]))))
        if seen[-1][1].problem:
            # Whoever says nothing to one says nothing to the others, and each takes its whole time.
            break
    return judge.invalid_request(seen)


async def oversized_payload(bench: Bench) -> Finding:
    raw, id = bench.peer.request("tools/list", {"padding": "x" * OVERSIZED})
    return judge.bears(await bench.ask_raw(raw, id))


async def unknown_tool(bench: Bench) -> Finding:
    if "tools" not in bench.peer.capabilities:
        return not_applicable("the server has no tools")
    seen = await bench.ask("tools/call", {"name": _UNKNOWN, "arguments": {}})
    return judge.refuses_unknown_tool(seen)


async def cursor_stability(bench: Bench) -> Finding:
    said: list[str] = []
    for method, key in LISTS:
        if key not in bench.peer.capabilities:
            continue
        first = await bench.ask(method, {})
        cursor = judge.cursor_of(first)
        if cursor is None:
            continue
        again = await bench.ask(method, {})
        second = [await bench.ask(method, {"cursor": cursor}) for _ in range(2)]
        pages = [first, second[0]]
        while len(pages) < _MOST_PAGES and (cursor := judge.cursor_of(pages[-1])) is not None:
            pages.append(await bench.peer.ask(method, {"cursor": cursor}))
        for finding in (
            judge.pages_are_stable(method, (first, again), second, key),
            judge.no_repeats(method, pages, key, _MOST_PAGES),
        ):
            if finding.verdict != "passed":
                return failed(finding.why)
        said.append(finding.why)
    return passed("; ".join(said)) if said else not_applicable("no list of the server has a second page")
