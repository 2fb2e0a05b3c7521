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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from faultkit.agents.kinds.agent_choice import require_clients
from faultkit.agents.shards.case_lines import rows_to_json
from faultkit.agents.shards.plan_suites import is_there
from faultkit.agents.shards.suite_plan import SuitePart, SuitePlan, cases_of
from faultkit.agents.suite.definition import SuiteTest
from faultkit.agents.suite.results import ResultRow
from faultkit.agents.suite.run_options import RunOptions, SelectedTests
from faultkit.agents.suite_file import load_suite
from faultkit.agents.suite_runner import run_tests
from faultkit.base.child_process import Parent
from faultkit.base.errors import InputError
from faultkit.load.fold import SegmentEnd
from faultkit.load.split import already_run

_CHECK_S = 0.1
_CHECKS_TO_REPORT = 5
"""After so many checks there is a report, though no test may have ended."""


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
            for _, chosen, _ in self._chosen:
                for test in chosen.tests:
                    require_clients(chosen.suite, test, self._options)
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
            for place, chosen, numbers in self._chosen:
                if stopping.is_set():
                    break
                await self._run_suite(place, chosen, numbers, stopping)
            return stopping.is_set()
        finally:
            over.set()
            watch.join()

    async def _run_suite(
        self, place: int, chosen: SelectedTests, numbers: Mapping[str, int], stopping: asyncio.Event
    ) -> None:
        def on_test(test: SuiteTest, rows: Sequence[ResultRow]) -> None:
            self._send({numbers[test.name]: self._written(test, rows)}, {})

        _, problem = await run_tests(chosen, self._options, on_test, stopping)
        if problem:
            self._send({}, {place: problem.replace(self._root, "") if self._root else problem})

    def _watch(self, over: threading.Event, stop: Callable[[], object]) -> None:
        """Say that this process is alive, in a thread of its own: a test may keep the event loop busy."""
        checks = 0
        while not over.wait(_CHECK_S):
            checks += 1
            if checks % _CHECKS_TO_REPORT == 0:
                self._send({}, {})
            if self._parent.stopped.is_set():
                stop()

    def _written(self, test: SuiteTest, rows: Sequence[ResultRow]) -> str:
        try:
            written = rows_to_json(rows)
        except (RecursionError, ValueError, TypeError) as error:
            why = f"its result cannot be sent: {type(error).__name__}: {error}"
            written = rows_to_json(
                [ResultRow(test.name, "error", why, test.place, rows[0].duration_ms, tags=test.tags)]
            )
        # The folder of the copy is new for each run, so nothing else can have its name.
        return written.replace(json.dumps(self._root)[1:-1], "") if self._root else written

    def _send(self, rows: Mapping[int, str], problems: Mapping[int, str]) -> None:
        with contextlib.suppress(OSError):  # The parent has ended, and this process ends soon.
            self._parent.send((rows, problems))


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


def _choose(part: SuitePart, root: str) -> Iterator[tuple[int, SelectedTests, dict[str, int]]]:
    """Yield each suite of which the part has tests: its place, the tests, and their numbers by name."""
    plan = part.plan
    env = {name: value for name, value in plan.env.items() if value is not None}
    by_suite: dict[int, dict[str, int]] = {}
    for number in cases_of(part):
        place, name = plan.cases[number]
        by_suite.setdefault(place, {})[name] = number
    for place, numbers in by_suite.items():
        suite = load_suite(_here(plan.suites[place], root), env=env, variables=plan.variables)
        tests = tuple(test for test in suite.tests if test.name in numbers)
        if {test.name for test in tests} != set(numbers):
            raise InputError(plan.suites[place], "expected the tests of the plan, got others")
        yield place, SelectedTests(suite, tests), numbers
