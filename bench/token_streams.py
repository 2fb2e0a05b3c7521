"""Streams of tokens for `bench.llm`: a server in the dialect of OpenAI, and a client that measures them.

`python -m bench.token_streams serve` prints its port. The request says how many tokens come, and at which
rate. Each token is the instant of its sending on the monotonic clock, which all processes share, so that the
client knows how long it was on its way. `python -m bench.token_streams read JOB` prints what it measured: of
streams that come together, or, if the job has `turns`, of the first tokens of single streams by turns.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import sys
import time
from itertools import pairwise
from typing import Any

from bench.event_server import serve
from bench.stats import percentile

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
_EVENT = (
    b'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"bench","choices":[{"index":0,'
    b'"delta":{"content":" t%d"},"finish_reason":null}]}\n\n'
)
_DONE = b"data: [DONE]\n\n"
_TOKEN = re.compile(rb'" t(\d+)"')
_LENGTH = re.compile(rb"(?i)content-length: (\d+)")


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError, asyncio.IncompleteReadError):
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = _LENGTH.search(head)
            asked = json.loads(await reader.readexactly(int(length[1]) if length else 0))
            writer.write(_HEAD)
            gap_s = 1 / asked["rate"] if asked["rate"] else 0.0
            if asked["wait_s"]:
                await asyncio.sleep(asked["wait_s"])
            begin = time.monotonic()
            for number in range(asked["tokens"]):
                wait_s = begin + number * gap_s - time.monotonic()
                if gap_s and wait_s > 0:
                    await asyncio.sleep(wait_s)
                event = _EVENT % time.monotonic_ns()
                writer.write(b"%x\r\n%s\r\n" % (len(event), event))
            writer.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(_DONE), _DONE))
    writer.close()


async def _read_stream(port: int, tokens: int, rate: float, wait_s: float = 0.0) -> list[tuple[int, int]]:
    """Return when each token was sent and when it came, in nanoseconds."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    asked = {"model": "bench", "stream": True, "messages": [], "tokens": tokens, "rate": rate}
    asked["wait_s"] = wait_s
    body = json.dumps(asked).encode()
    writer.write(
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    )
    found: list[tuple[int, int]] = []
    rest = b""
    while b"[DONE]" not in rest:
        data = await reader.read(65536)
        now = time.monotonic_ns()
        if not data:
            raise ConnectionError(f"the stream ended after {len(found)} of {tokens} tokens")
        rest += data
        end = 0
        for token in _TOKEN.finditer(rest):
            found.append((int(token[1]), now))
            end = token.end()
        rest = rest[end:]
    writer.close()
    return found


async def _read_firsts(turns: list[tuple[int, float]], times: int) -> list[list[float]]:
    """Return how long the first token was on its way, in milliseconds, for each port and time for which the
    server waits before it: one stream at a time, so that none waits for another."""
    firsts: list[list[float]] = [[] for _ in turns]
    for _ in range(times):
        for (port, wait_s), found in zip(turns, firsts, strict=True):
            sent, came = (await _read_stream(port, 2, 0.0, wait_s))[0]
            found.append((came - sent) / 1e6)
    return firsts


async def _read(job: dict[str, Any]) -> dict[str, Any]:
    if "turns" in job:
        return {"firsts_ms": await _read_firsts(job["turns"], job["times"])}
    streams = await asyncio.gather(
        *(_read_stream(job["port"], job["tokens"], job["rate"]) for _ in range(job["streams"]))
    )
    return figures_of(streams, job["tokens"], job["rate"])


def figures_of(streams: list[list[tuple[int, int]]], tokens: int, rate: float) -> dict[str, Any]:
    """Return what the times of tokens say, in milliseconds.

    `times_planned` is of the slowest stream, from the sending of its first token until its last has come: how
    long the connections of all take to open is no part of it."""
    transit = [(came - sent) / 1e6 for stream in streams for sent, came in stream]
    gaps = [(b - a) / 1e6 for stream in streams for (_, a), (_, b) in pairwise(stream)]
    taken = [(stream[-1][1] - stream[0][0]) / 1e9 for stream in streams]
    planned_s = (tokens - 1) / rate if rate else 0.0
    return {
        "events": sum(map(len, streams)),
        "transit_ms": percentile(transit, 50),
        "transit_p99_ms": percentile(transit, 99),
        "gap_ms": percentile(gaps, 50),
        "gap_p99_ms": percentile(gaps, 99),
        "times_planned": max(taken) / planned_s if planned_s else 0.0,
        "gaps_ms": gaps if len(gaps) <= 5000 else [],
        "since_first_ms": [
            [(came - stream[0][0]) / 1e6 for _, came in stream] for stream in streams if len(streams) < 20
        ],
    }


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        if sys.argv[1] == "serve":
            asyncio.run(serve(_answer))
        else:
            print(json.dumps(asyncio.run(_read(json.loads(sys.argv[2])))))
