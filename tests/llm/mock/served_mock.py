"""The mock of LLM APIs on loopback, in a thread of its own: a provider for tests."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from faultkit.base.http.http_server import HttpServer
from faultkit.faults.dialects.recording import LlmReplay
from faultkit.llm.mock.mock_answers import AnswerSource, MockAnswers
from faultkit.llm.mock.mock_server import LlmMock
from faultkit.plan import parse_plan
from faultkit.plan.llm_rules import LlmRules


@contextmanager
def mock(
    answers: AnswerSource | None = None,
    *rules: dict[str, Any],
    tokens_per_s: float = 0.0,
    replay: LlmReplay | None = None,
) -> Iterator[str]:
    """Serve a mock in a thread of its own and yield its URL."""
    loop = asyncio.new_event_loop()

    async def start() -> tuple[HttpServer, LlmMock, str]:
        plan = LlmRules(parse_plan({"rules": list(rules)}))
        served = LlmMock(answers or MockAnswers(), plan, time.monotonic, tokens_per_s, replay)
        server = HttpServer(served.handle)
        host, port = await server.start("127.0.0.1", 0)
        return server, served, f"http://{host}:{port}"

    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        server, served, url = asyncio.run_coroutine_threadsafe(start(), loop).result(10)
        yield url
        asyncio.run_coroutine_threadsafe(served.stop(), loop).result(10)
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result(10)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()
