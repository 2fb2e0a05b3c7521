"""One case with a client in this process: the server runs in a thread of its own, the client in another.

A function cannot be ended from outside. At the limit its connections are aborted, and it is left behind in a
daemon thread.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from faultkit.base.errors import RunError
from faultkit.llm.mock.mock_answers import ScriptedTurn
from faultkit.llm.profile.cases import Case, traffic_of
from faultkit.llm.profile.evidence import ClientRun, words_of
from faultkit.llm.profile.judging import CaseResult, control_problem, judge, unmet_result
from faultkit.llm.profile.recording import CaseServer, Recorder, answers_of
from faultkit.plan import Plan

_SETTLE_S = 1.0
_STEP_S = 0.02
_START_S = 60.0


class ServedCase:
    """The mock of a case, as its client sees it."""

    def __init__(self) -> None:
        self.url = ""
        self._shown: list[str] = []

    @property
    def openai_url(self) -> str:
        """The base URL of OpenAI's clients."""
        return f"{self.url}/v1"

    def show(self, text: str) -> None:
        """Show text to the user, before the client returns."""
        self._shown.append(text)

    @property
    def shown(self) -> str:
        """What was shown so far."""
        return "".join(self._shown)


Client = Callable[[ServedCase], object]
"""Returns what it would print: its output is `str` of that, if it is not None, after what it has shown."""


def judge_client(
    case: Case,
    client: Client,
    *,
    limit_s: float,
    seed: int | str = 0,
    turns: tuple[ScriptedTurn, ...] = (),
    at_url: Callable[[str], None] = lambda url: None,
) -> CaseResult:
    """Run a client twice without a fault and once with it, and judge it.

    at_url: called with the URL before each run
    Raises RunError if the client fails without a fault."""
    controls = []
    for _ in range(2):
        controls.append(_run(client, Plan(), limit_s, seed, turns, at_url))
        if problem := control_problem(controls[-1]):
            raise RunError(f"the control run failed, so the case cannot be judged: {problem}")
    if not traffic_of(controls[0]).meets(case):
        return unmet_result(case)
    run = _run(client, case.plan(seed), limit_s, seed, turns, at_url)
    is_comparable = words_of(controls[0].stdout) == words_of(controls[1].stdout)
    return judge(case, run, controls[0], is_comparable=is_comparable)


def _run(
    client: Client,
    plan: Plan,
    limit_s: float,
    seed: int | str,
    turns: tuple[ScriptedTurn, ...],
    at_url: Callable[[str], None],
) -> ClientRun:
    served = ServedCase()
    began_s = time.monotonic()

    def now_ms() -> float:
        return round((time.monotonic() - began_s) * 1000, 1)

    recorder = Recorder(now_ms, lambda: served.shown)
    with _serving(plan, seed, turns, recorder, served):
        at_url(served.url)
        done = threading.Event()
        failures: list[BaseException] = []

        def work() -> None:
            try:
                returned = client(served)
                if returned is not None:
                    served.show(str(returned))
            except BaseException as error:
                failures.append(error)
            finally:
                done.set()

        threading.Thread(target=work, daemon=True, name="client of an LLM case").start()
        _wait(lambda: done.is_set() or recorder.asked.is_set(), _START_S)
        done.wait(limit_s if recorder.asked.is_set() else 0)
        has_ended = done.is_set()
        requests = recorder.requests
        elapsed_ms = now_ms() - (requests[0].at_ms if requests else 0.0)
        if has_ended:
            _wait(lambda: not recorder.open_count, _SETTLE_S)
        left_open = recorder.open_count if has_ended else 0
    said = "\n".join(_chain_of(failures[0])) if failures else ""
    code = (1 if failures else 0) if has_ended else None
    return ClientRun(requests, code, served.shown, said, elapsed_ms, left_open)


def _wait(is_met: Callable[[], bool], limit_s: float) -> None:
    until_s = time.monotonic() + limit_s
    while not is_met() and time.monotonic() < until_s:
        time.sleep(_STEP_S)


def _chain_of(error: BaseException) -> list[str]:
    """Return an exception and its causes as lines, the exception last."""
    lines: list[str] = []
    cause: BaseException | None = error
    while cause is not None and len(lines) < 10:
        lines.append(f"{type(cause).__name__}: {cause}")
        cause = cause.__cause__
    return lines[::-1]


@contextmanager
def _serving(
    plan: Plan, seed: int | str, turns: tuple[ScriptedTurn, ...], recorder: Recorder, served: ServedCase
) -> Iterator[None]:
    loop = asyncio.new_event_loop()

    async def start() -> CaseServer:
        server = CaseServer(answers_of(turns, seed), plan, recorder)
        served.url = await server.start()
        return server

    thread = threading.Thread(target=loop.run_forever, daemon=True, name="mock of an LLM case")
    thread.start()
    try:
        server = asyncio.run_coroutine_threadsafe(start(), loop).result()
        try:
            yield
        finally:
            asyncio.run_coroutine_threadsafe(server.stop(), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
