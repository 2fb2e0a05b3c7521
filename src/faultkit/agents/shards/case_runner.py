"""The worker's side: a process that runs its share of the tests.

A worker that has the files of the plan where the coordinator has them, such as a process of the same machine,
runs the tests there. Others run them in a copy below a folder of their own, and what they send names files as
the coordinator does.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from faultkit.agents.kinds.agent_choice import require_clients
from faultkit.agents.shards.case_lines import outcome_to_json
from faultkit.agents.shards.plan_suites import is_there
from faultkit.agents.shards.suite_plan import SuitePart, SuitePlan, cases_of
from faultkit.agents.suite.definition import Suite
from faultkit.agents.suite.run_options import RunOptions
from faultkit.agents.suite_file import load_suite
from faultkit.agents.suite_runner import PieceOutcome, SuitePiece, error_row, run_pieces
from faultkit.base.child_process import Parent
from faultkit.base.errors import InputError
from faultkit.load.fold import SegmentEnd
from faultkit.load.split import already_run

_CHECK_S = 0.1
_CHECKS_TO_REPORT = 5
"""After so many checks there is a report, though no test may have ended."""


@dataclass(frozen=True, slots=True)
class _SuiteShare:
    """The cases of a worker that belong to one suite."""

    place: int
    """The place of the suite in the plan."""
    suite: Suite
    pieces: tuple[SuitePiece, ...]
    numbers: Mapping[tuple[str, int | None], int]
    """The number of each case, by the name of the test and the number of the run."""


class CaseRunner:
    """The tests of one worker, in its process. It runs them once."""

    def __init__(self, parent: Parent, part: SuitePart) -> None:
        """Read the suites. Raises InputError if the tests cannot be run here as they were planned."""
        part.check()
        self._parent = parent
        self._part: SuitePart | None = part
        self._stack = contextlib.ExitStack()
        try:
            self._root = self._stack.enter_context(_folder_of(part.plan))
            _export(part.plan)
            _check_programs(part.plan, self._root)
            options = asdict(part.plan.options)
            self._options = RunOptions(**options)
            self._chosen = [*_choose(part, self._root)]
            for share in self._chosen:
                for piece in share.pieces:
                    require_clients(share.suite, piece.test, self._options)
        except BaseException:
            self._stack.close()
            raise

    def __enter__(self) -> CaseRunner:
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    def run(self, begin_at: float) -> SegmentEnd:
        """Run the tests at once; reports go to the parent meanwhile. Raises InputError the second time."""
        part, self._part = self._part, None
        if part is None:
            raise already_run()
        began = perf_counter()
        stopped = asyncio.run(self._run_all())
        return SegmentEnd(perf_counter() - began, cut_short=stopped)

    async def _run_all(self) -> bool:
        stopping, over = asyncio.Event(), threading.Event()
        stop = partial(asyncio.get_running_loop().call_soon_threadsafe, stopping.set)
        watch = threading.Thread(target=self._watch, args=(over, stop), name="fault-watch", daemon=True)
        watch.start()
        try:
            for share in self._chosen:
                if stopping.is_set():
                    break
                await self._run_suite(share, stopping)
            return stopping.is_set()
        finally:
            over.set()
            watch.join()

    async def _run_suite(self, share: _SuiteShare, stopping: asyncio.Event) -> None:
        def on_piece(piece: SuitePiece, outcome: PieceOutcome) -> None:
            number = share.numbers[piece.test.name, piece.run]
            self._send({number: self._written(piece, outcome)}, {})

        _, problem = await run_pieces(share.suite, share.pieces, self._options, on_piece, stopping)
        if problem:
            self._send({}, {share.place: problem.replace(self._root, "") if self._root else problem})

    def _watch(self, over: threading.Event, stop: Callable[[], object]) -> None:
        """Say that this process is alive, in a thread of its own: a test may keep the event loop busy."""
        checks = 0
        while not over.wait(_CHECK_S):
            checks += 1
            if checks % _CHECKS_TO_REPORT == 0:
                self._send({}, {})
            if self._parent.stopped.is_set():
                stop()

    def _written(self, piece: SuitePiece, outcome: PieceOutcome) -> str:
        try:
            written = outcome_to_json(outcome)
        except (RecursionError, ValueError, TypeError) as error:
            why = f"its result cannot be sent: {type(error).__name__}: {error}"
            written = outcome_to_json(PieceOutcome((error_row(piece.test, why, outcome.took_ms),)))
        # The folder of the copy is new for each run, so nothing else can have its name.
        return written.replace(json.dumps(self._root)[1:-1], "") if self._root else written

    def _send(self, outcomes: Mapping[int, str], problems: Mapping[int, str]) -> None:
        with contextlib.suppress(OSError):  # The parent has ended, and this process ends soon.
            self._parent.send((outcomes, problems))


@contextlib.contextmanager
def _folder_of(plan: SuitePlan) -> Iterator[str]:
    """Make the folder of the run the current one; yield what stands before its paths on this machine."""
    if _has_files(plan):
        os.chdir(plan.cwd)
        yield ""
        return
    with TemporaryDirectory(prefix="faultkit-suites-") as folder:
        root = os.path.realpath(folder)
        for path, content in plan.files.items():
            file = Path(root + path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        os.makedirs(root + plan.cwd, exist_ok=True)
        os.chdir(root + plan.cwd)
        try:
            yield root
        finally:
            os.chdir("/")


def _has_files(plan: SuitePlan) -> bool:
    """Return whether this machine has the same files at the same places."""
    with contextlib.suppress(OSError):
        return os.path.isdir(plan.cwd) and all(
            Path(path).read_bytes() == content for path, content in plan.files.items()
        )
    return False


def _export(plan: SuitePlan) -> None:
    for name in plan.exported:
        value = plan.env[name]
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _check_programs(plan: SuitePlan, root: str) -> None:
    """Raise InputError for a program that this machine does not have."""
    for each in plan.programs:
        cwd = _here(each.cwd, root)
        if not os.path.isdir(cwd or "."):
            raise _lacks(each.owner, "the folder", each.cwd)
        if each.program and not is_there(each.program, cwd):
            raise _lacks(each.owner, "the program", each.program)
        for file in each.files:
            if not os.path.isfile(os.path.join(cwd, file)):
                raise _lacks(each.owner, "the file", file)


def _lacks(owner: str, what: str, name: str) -> InputError:
    return InputError(
        owner, f"expected {what} {name} on the worker's machine, got none: programs are not copied there"
    )


def _here(path: str, root: str) -> str:
    """Return where a path of the plan is on this machine."""
    return root + path if root and os.path.isabs(path) else path


def _choose(part: SuitePart, root: str) -> Iterator[_SuiteShare]:
    """Yield what the part has of each suite."""
    plan = part.plan
    env = {name: value for name, value in plan.env.items() if value is not None}
    cases = plan.cases()
    by_suite: dict[int, list[int]] = {}
    for number in cases_of(part):
        by_suite.setdefault(plan.tests[cases[number].test].suite, []).append(number)
    for place, numbers in by_suite.items():
        suite = load_suite(_here(plan.suites[place], root), env=env, variables=plan.variables)
        tests = {test.name: test for test in suite.tests}
        keys = {(plan.tests[cases[number].test].name, cases[number].run): number for number in numbers}
        missing = [name for name, _ in keys if name not in tests]
        if missing:
            raise InputError(plan.suites[place], f'expected the test "{missing[0]}" of the plan, got none')
        pieces = tuple(SuitePiece(tests[name], run) for name, run in keys)
        yield _SuiteShare(place, suite, pieces, keys)
