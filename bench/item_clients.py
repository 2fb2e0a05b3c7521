"""The clients of `bench.load_items`, each in a process of its own: `python -m bench.item_clients JOB`.

JOB is JSON: the kind of load, the client, the address, seconds, and clients. Each prints one line of JSON:
what was done, in how many seconds, and with how much CPU time of its own; servers are not part of that.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from typing import Any

from bench.mcp_client import TEXT, TOOL
from bench.relays import OURS

SDK, HTTPX = "mcp SDK client", "httpx"
KINDS: dict[str, tuple[str, ...]] = {"mcp-stdio": (OURS, SDK), "mcp-http": (OURS, SDK), "sse": (OURS, HTTPX)}
"""The clients of each kind of load."""
_ARGUMENTS = {"text": "Ahoy"}


def _faultkit(kind: str, address: str | Sequence[str], seconds: float, clients: int) -> dict[str, float]:
    from faultkit.load.engines import mcp_engine_of
    from faultkit.load.fold import Counts
    from faultkit.load.load import Load, McpTarget, StreamUntil, Target
    from faultkit.load.route import route_of
    from faultkit.load.samples import Samples
    from faultkit.load.segment import run_segment
    from faultkit.load.tally import Tally

    load = Load(seconds, None, clients, "closed")
    tally = Tally()

    def take(counts: Counts, samples: Samples) -> None:
        tally.add(samples)

    where: Any
    if isinstance(address, str):
        http = Target("GET" if kind == "sse" else "POST", address)
        if kind == "sse":
            where = route_of(Target("GET", address, stream=StreamUntil()))
        else:
            where = mcp_engine_of(McpTarget(TOOL, json.dumps(_ARGUMENTS), http=http), load)
    else:
        where = mcp_engine_of(McpTarget(TOOL, json.dumps(_ARGUMENTS), command=tuple(address)), load)
    if kind != "sse":
        where.open(lambda: False)
    cpu_s, begin_s = time.process_time(), time.monotonic()
    end = run_segment(where, load, begin_s, report=take)
    elapsed_s = end.total_s
    summary = tally.summary(load, total_s=elapsed_s)
    cpu_s = time.process_time() - cpu_s
    if summary.errors:
        raise SystemExit(f"errors: {summary.failures}")
    done = summary.requests if summary.stream is None else summary.stream.events
    return {"done": done, "elapsed_s": elapsed_s, "cpu_s": cpu_s}


async def _timed(seconds: float, works: Sequence[Callable[[], Awaitable[int]]]) -> dict[str, float]:
    """Repeat each work until the time is over; return the sum of what they have done."""
    cpu_s, begin_s = time.process_time(), time.monotonic()

    async def repeat(work: Callable[[], Awaitable[int]]) -> int:
        done = 0
        while time.monotonic() < begin_s + seconds:
            done += await work()
        return done

    done = sum(await asyncio.gather(*map(repeat, works)))
    return {"done": done, "elapsed_s": time.monotonic() - begin_s, "cpu_s": time.process_time() - cpu_s}


async def _sdk(kind: str, address: str | Sequence[str], seconds: float, clients: int) -> dict[str, float]:
    from mcp.client.stdio import stdio_client

    from mcp import Client, StdioServerParameters

    async with AsyncExitStack() as stack:
        works = []
        for _ in range(clients):
            at: Any = address
            if not isinstance(address, str):
                at = stdio_client(StdioServerParameters(command=address[0], args=list(address[1:])))
            client = await stack.enter_async_context(Client(at))

            async def call(client: Any = client) -> int:
                result = await client.call_tool(TOOL, _ARGUMENTS)
                if result.is_error or result.content[0].text != TEXT:
                    raise SystemExit(f"unexpected: {result}")
                return 1

            works.append(call)
        return await _timed(seconds, works)


async def _httpx(kind: str, address: str | Sequence[str], seconds: float, clients: int) -> dict[str, float]:
    import httpx

    async with httpx.AsyncClient(timeout=30) as client:

        async def read() -> int:
            events = 0
            async with client.stream("GET", str(address), headers={"Accept": "text/event-stream"}) as answer:
                answer.raise_for_status()
                async for line in answer.aiter_lines():
                    events += line.startswith("data:")
            return events

        return await _timed(seconds, [read] * clients)


def main() -> None:
    job = json.loads(sys.argv[1])
    client = job.pop("client")
    if client == OURS:
        figures = _faultkit(**job)
    else:
        figures = asyncio.run((_sdk if client == SDK else _httpx)(**job))
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
