"""From a file to chunks with their words: the part of indexing that takes one core a process.

Small jobs are done here and now; large ones by children of this program, which are gone when they are done.
"""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from faultkit.base.child_process import ChildProcess, Parent
from faultkit.base.errors import InputError
from faultkit.code.file import read_source
from faultkit.code.index.chunks import Chunk, chunk_file
from faultkit.code.index.forms import FORMS
from faultkit.code.index.lexical import SparseVector, document_vector
from faultkit.code.languages import LANGUAGES

LARGE_JOB = 150
"""Files. A child takes as long to start as some dozens of files take."""
MOST_CHILDREN = 4


@dataclass(frozen=True, slots=True)
class Task:
    project: str
    path: str
    relative: str
    language: str
    file_hash: str
    form: str


@dataclass(frozen=True, slots=True)
class Prepared:
    task: Task
    chunks: tuple[Chunk, ...]
    texts: tuple[str, ...]
    """What is embedded of each."""
    sparse: tuple[SparseVector, ...]
    problem: str = ""
    """Why the file cannot be read; then there are no chunks."""


def prepare(task: Task) -> Prepared:
    try:
        syntax = read_source(task.path, LANGUAGES[task.language]).parse()
    except InputError as error:
        return Prepared(task, (), (), (), error.problem)
    chunks = chunk_file(task.project, task.relative, syntax)
    texts = tuple(map(FORMS[task.form].document, chunks))
    return Prepared(task, chunks, texts, tuple(map(document_vector, chunks)))


def prepare_all(
    batches: Sequence[Sequence[Task]], workers: int | None = None
) -> Generator[list[Prepared], None, None]:
    """Batch by batch in their order, a few ahead of whoever takes them."""
    if workers is None:
        is_large = sum(map(len, batches)) >= LARGE_JOB
        workers = min(MOST_CHILDREN, _cores()) if is_large else 0
    if workers < 2:
        yield from ([prepare(task) for task in batch] for batch in batches)
        return
    with contextlib.ExitStack() as stack:
        # Children are left before the threads that wait for them, so that an error need not wait for either.
        threads = [stack.enter_context(ThreadPoolExecutor(1)) for _ in range(workers)]
        children = [
            stack.enter_context(ChildProcess(f"{__name__}:Preparer", name="a process that reads sources"))
            for _ in range(workers)
        ]
        under_way: deque[Future[list[Prepared]]] = deque()
        for number, batch in enumerate(batches):
            lane = number % workers
            under_way.append(threads[lane].submit(children[lane].call, "prepare", batch))
            if len(under_way) > 2 * workers:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()


class Preparer:
    """The child's side."""

    def __init__(self, parent: Parent) -> None:
        self._stopped = parent.stopped

    def prepare(self, tasks: Sequence[Task]) -> list[Prepared]:
        return [prepare(task) for task in tasks if not self._stopped.is_set()]


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
