"""One case with one client, against a server that records the messages it receives."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from time import perf_counter
from typing import Any, TextIO

from faultkit.mcp.injector import Injector
from faultkit.mcp.mock.mock_server import MockService
from faultkit.mcp.wire.http_front import HttpFront
from tests.mcp.faults.call_places import MANIFEST, SERVER, Place, plan_of
from tests.mcp.faults.clients.cases import Case, Deed
from tests.mcp.faults.clients.client_libraries import Peer
from tests.mcp.faults.clients.journal_mock import CANCELLED, LEFT, JournalMock
from tests.mcp.faults.clients.observation import Observation, moment, raised

PROJECT = Path(__file__).parents[4]
SERVING = "tests.mcp.faults.clients.journal_mock"
PATIENCE_S = 3.5
"""Seconds to wait for a call: longer than any timeout of the client."""
NEVER = "nothing: its timeout does not hold"
LEAVING_S = 1.0
SETTLED_S = 0.05
"""Seconds for messages that a client sends after its call has returned."""

_MEANT: dict[Deed, tuple[str, int]] = {
    "call": ("tools/call", 1),
    "call twice": ("tools/call", 2),
    "two calls": ("tools/call", 2),
    "list": ("tools/list", 1),
    "list twice": ("tools/list", 2),
    "listen": ("subscriptions/listen", 1),
}
"""The method that the caller uses, and the number of requests that it means to send."""

Journal = Callable[[], list[str]]


async def observe(peer: Peer, case: Case, place: Place) -> Observation:
    """Run one client with one fault, then one call without a fault."""
    async with _server(peer, case.hitting_once, place) as (target, journal):
        return await _Run(peer, case, place, target, journal).whole()


class _Run:
    def __init__(self, peer: Peer, case: Case, place: Place, target: Any, journal: Journal) -> None:
        self._peer = peer
        self._case = case
        self._place = place
        self._target = target
        self._journal = journal
        self._saw = self._when = self._told = self._asked = self._then = ""

    async def whole(self) -> Observation:
        left = ""
        used = asyncio.get_running_loop().create_future()
        work = asyncio.ensure_future(self._use(used))
        try:
            await asyncio.wait([work, used], return_when="FIRST_COMPLETED")
            done, _ = await asyncio.wait([work], timeout=LEAVING_S)
            if not done:
                left = "waits for the server"
                work.cancel()
                await asyncio.wait([work], timeout=LEAVING_S)
            elif work.cancelled():
                left = "cancelled"
            elif (error := work.exception()) is not None:
                left = f"raises {raised(error)}"
        finally:
            work.cancel()
        assert self._saw, f"{self._case.spec} at {self._place}: the client never came so far: {left}"
        return Observation(self._saw, self._when, self._told, self._asked, self._then, left)

    async def _use(self, used: asyncio.Future[None]) -> None:
        peer = self._peer
        try:
            async with peer.open(self._target, self._place.era) as client:
                await self._warm(client)
                before = len(self._journal())
                began = perf_counter()
                try:
                    async with asyncio.timeout(PATIENCE_S) as ours:
                        self._saw = await self._deed(client)
                except BaseException as error:
                    self._saw = NEVER if ours.expired() else raised(error)
                    if not isinstance(error, Exception):
                        self._when = moment(perf_counter() - began)
                        self._note(before)
                        self._then = "never made"
                        raise
                self._when = moment(perf_counter() - began)
                await asyncio.sleep(SETTLED_S)
                self._note(before)
                self._then = await self._next(client)
                used.set_result(None)
        finally:
            if not used.done():
                used.set_result(None)

    def _note(self, before: int) -> None:
        words = self._journal()[before:]
        self._told = "cancelled" if CANCELLED in words else "closed" if LEFT in words else ""
        method, meant = _MEANT[self._case.deed]
        asked = words.count(method)
        self._asked = "" if asked == meant else f"{asked} for {meant}"

    async def _warm(self, client: Any) -> None:
        """Wait until the server is up, and list the tools unless the fault acts on their list."""
        if self._case.deed in ("list", "list twice"):
            with suppress(Exception):
                await client.list_prompts()
        else:
            await client.list_tools()

    async def _deed(self, client: Any) -> str:
        peer = self._peer
        match self._case.deed:
            case "call":
                return await peer.call(client)
            case "call twice":
                first = await peer.call(client)
                second = await peer.call(client)
                return "the result of the first call again" if first == second else second
            case "two calls":
                # The client decides which of the two the server receives first.
                both = await asyncio.gather(peer.call(client), peer.call(client))
                return ", and ".join(sorted(both))
            case "list":
                return await peer.list(client)
            case "list twice":
                await peer.list(client)
                return await peer.list(client)
            case "listen":
                return await peer.listen(client)

    async def _next(self, client: Any) -> str:
        try:
            async with asyncio.timeout(PATIENCE_S) as ours:
                shown = await self._peer.call(client)
        except Exception as error:
            return NEVER if ours.expired() else raised(error)
        return "works" if shown.startswith("the result") else shown


@asynccontextmanager
async def _server(peer: Peer, spec: str, place: Place) -> AsyncIterator[tuple[Any, Journal]]:
    """Yield the target of the client, and a function that returns what its server has received so far."""
    if place.transport == "stdio":
        with tempfile.TemporaryFile("w+") as heard:
            yield peer.process(sys.executable, ["-m", SERVING, spec], PROJECT, heard), lambda: _words(heard)
        return
    words: list[str] = []
    mock = MockService(MANIFEST, Injector(plan_of(spec), SERVER))
    front = HttpFront(JournalMock(mock, words.append))
    try:
        host, port = await front.start("127.0.0.1", 0)
        yield f"http://{host}:{port}/mcp", lambda: list(words)
    finally:
        await front.stop()
        await mock.stop()


def _words(heard: TextIO) -> list[str]:
    size = os.fstat(heard.fileno()).st_size
    return os.pread(heard.fileno(), size, 0).decode().split()


async def observe_all(
    peer: Peer, cases: list[tuple[Case, Place]], at_once: int = 4
) -> dict[tuple[str, Place], Observation]:
    """Run several cases at a time; those that keep the machine busy run alone."""
    gate = asyncio.Semaphore(at_once)

    async def one(case: Case, place: Place) -> tuple[tuple[str, Place], Observation]:
        async with gate:
            return (case.spec, place), await observe(peer, case, place)

    calm = [one(case, place) for case, place in cases if case.stable]
    found = list(await asyncio.gather(*calm))
    found += [await one(case, place) for case, place in cases if not case.stable]
    return dict(found)
