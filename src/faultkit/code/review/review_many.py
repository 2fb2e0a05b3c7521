"""Review of many files: in several processes, and by a cache of what was found before."""

from __future__ import annotations

import queue
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import islice
from typing import TypeAlias

from faultkit.base.child_process import ChildProcess, Parent
from faultkit.base.errors import InputError
from faultkit.base.garbage import collected_between
from faultkit.code.review.cache import ReviewCache
from faultkit.code.review.engine import ALL_RULES, DEFAULT_RULES
from faultkit.code.review.review_files import FileToReview, ReviewedFile, review_all
from faultkit.code.review.stored_review import stored_review, stored_text
from faultkit.code.rules.rule import Rule
from faultkit.code.source_files import bytes_of_file

_TOGETHER = 12
"""Files that are reviewed in one call of a process."""
_WORTH_A_PROCESS = 60
"""Files for each process, at least: to start one takes as long as to review some tens of files."""
_AHEAD = 4
"""Groups of files that are under way or done for each process, before the first of them is taken."""

Reviewer: TypeAlias = Callable[[list[FileToReview]], Future[list[str]]]
"""Reviews files; the result is a text for each, as `stored_review` makes it."""


def review_many(
    wanted: Sequence[FileToReview],
    rules: Iterable[Rule] = DEFAULT_RULES,
    *,
    jobs: int = 1,
    cache: ReviewCache | None = None,
) -> Iterator[ReviewedFile]:
    """Review files in up to `jobs` processes; results come in the order of the files.

    Processes are started when enough files are found that the cache does not have."""
    ids = tuple(rule.id for rule in rules)
    jobs = max(1, min(jobs, len(wanted) // _WORTH_A_PROCESS))
    waiting: deque[_Group] = deque()
    new_count = 0
    with ExitStack() as stack:
        review: Reviewer | None = stack.enter_context(_here(ids)) if jobs == 1 else None
        for files in _groups(wanted):
            waiting.append(_Group(files, cache))
            new_count += waiting[-1].new_count
            if review is not None:
                waiting[-1].start(review)
            elif new_count >= _WORTH_A_PROCESS * jobs:
                review = stack.enter_context(_processes(ids, jobs))
                for group in waiting:
                    group.start(review)
            while review is not None and len(waiting) > _AHEAD * jobs:
                yield from waiting.popleft().results()
        if review is None:
            review = stack.enter_context(_here(ids))
            for group in waiting:
                group.start(review)
        while waiting:
            yield from waiting.popleft().results()


def _groups(wanted: Iterable[FileToReview]) -> Iterator[list[FileToReview]]:
    files = iter(wanted)
    while group := list(islice(files, _TOGETHER)):
        yield group


class _Group:
    """Some files, of which those that the cache does not have are to be reviewed."""

    def __init__(self, files: list[FileToReview], cache: ReviewCache | None) -> None:
        self._files = files
        self._cache = cache
        read = files if cache is None else [_with_source(each) for each in files]
        self._keys = [None if cache is None else _key(each, cache) for each in read]
        self._known = [_known(each, key, cache) for each, key in zip(files, self._keys, strict=True)]
        self._new = [each for each, known in zip(read, self._known, strict=True) if known is None]
        self._reviewed: Future[list[str]] | None = None

    @property
    def new_count(self) -> int:
        """Return the number of files that the cache does not have."""
        return len(self._new)

    def start(self, review: Reviewer) -> None:
        """Begin to review what the cache does not have."""
        if self._new:
            self._reviewed = review(self._new)

    def results(self) -> Iterator[ReviewedFile]:
        """Wait for the files and yield them."""
        new = iter(() if self._reviewed is None else self._reviewed.result())
        for each, key, known in zip(self._files, self._keys, self._known, strict=True):
            if known is not None:
                yield known
                continue
            text = next(new)
            if key is not None and self._cache is not None:
                self._cache.put(key, text)
            yield stored_review(text, each)


def _with_source(wanted: FileToReview) -> FileToReview:
    """Return a file with its bytes, so that those in its key are those that are reviewed; without them if it
    cannot be read."""
    if wanted.source is not None:
        return wanted
    try:
        return replace(wanted, source=bytes_of_file(wanted.path))
    except InputError:
        return wanted


def _key(wanted: FileToReview, cache: ReviewCache) -> bytes | None:
    """Return the key of a file in the cache; None if it cannot be read, which is no result to keep."""
    return None if wanted.source is None else cache.key(wanted, wanted.source)


def _known(wanted: FileToReview, key: bytes | None, cache: ReviewCache | None) -> ReviewedFile | None:
    """Return what the cache has about a file; None if it has nothing, or a damaged row."""
    text = None if key is None or cache is None else cache.get(key)
    try:
        return None if text is None else stored_review(text, wanted)
    except (ValueError, KeyError, TypeError):
        return None


@contextmanager
def _here(ids: tuple[str, ...]) -> Iterator[Reviewer]:
    with ReviewWorker(None, ids) as worker:
        yield _Here(worker)


@contextmanager
def _processes(ids: tuple[str, ...], jobs: int) -> Iterator[Reviewer]:
    idle: queue.SimpleQueue[ChildProcess] = queue.SimpleQueue()
    with ExitStack() as stack:
        for number in range(jobs):
            name = f"review worker {number}"
            child = ChildProcess("faultkit.code.review.review_many:ReviewWorker", ids, name=name, forks=True)
            idle.put(stack.enter_context(child))
        threads = stack.enter_context(ThreadPoolExecutor(jobs))
        stack.callback(threads.shutdown, wait=False, cancel_futures=True)

        def review(files: list[FileToReview]) -> list[str]:
            child = idle.get()
            try:
                texts: list[str] = child.call("review", files)
                return texts
            finally:
                idle.put(child)

        yield lambda files: threads.submit(review, files)


class _Here:
    """Reviews files in this process, at once."""

    def __init__(self, worker: ReviewWorker) -> None:
        self._worker = worker

    def __call__(self, files: list[FileToReview]) -> Future[list[str]]:
        done: Future[list[str]] = Future()
        done.set_result(self._worker.review(files))
        return done


class ReviewWorker:
    """Reviews files in a process of its own, or, without a parent, in this one."""

    def __init__(self, parent: Parent | None, rules: tuple[str, ...]) -> None:
        self._is_alone = parent is not None
        self._rules = tuple(rule for rule in ALL_RULES if rule.id in rules)
        self._stack = ExitStack()

    def __enter__(self) -> ReviewWorker:
        self._after_file = self._stack.enter_context(collected_between())
        return self

    def __exit__(self, *exc: object) -> None:
        # A process of its own ends now: the collector would look once more at all that it holds.
        if not self._is_alone:
            self._stack.close()

    def review(self, files: list[FileToReview]) -> list[str]:
        """Return a text for each file."""
        texts = []
        for each in review_all(files, self._rules):
            texts.append(stored_text(each))
            self._after_file()
        return texts
