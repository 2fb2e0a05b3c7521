"""Brings the index of a project up to date: writes new and changed files, removes those that are gone.

The state of the index is read from the store. It has an entry for each file, written together with the
chunks of the file. Before old chunks of a changed file are removed, its entry is marked as changing and
lists all of them. A run can therefore stop at any point: the next run ends in the same state as one that
was not interrupted.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path

from faultkit.base.child_process import ChildProcess, Parent, usable_processors
from faultkit.base.errors import InputError
from faultkit.code.index.chunks import Chunk, chunk_file
from faultkit.code.index.embeddings import FORMS, Embedder, SparseVector, document_vector
from faultkit.code.index.points import FileEntry, Manifest, Point, check_fits
from faultkit.code.index.store import Store, collection_name, rebuild_command
from faultkit.code.languages import LANGUAGES, Language
from faultkit.code.source_files import FolderFile, folder_of, languages_with, read_source, source_files


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come."""

    phase: str
    """`scan` while files are searched, then `index`."""
    done: int
    of: int
    """Number of files; 0 while it is unknown."""


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file that was skipped, and why."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class IndexSummary:
    """The result of a run."""

    root: str
    place: str
    """Where the index is kept."""
    embedder: str
    files: int
    """Files in the index now."""
    chunks: int
    indexed: int
    """Files that were new or changed."""
    unchanged: int
    removed: int
    """Files that are gone, or cannot be read any more."""
    embedded: int
    """Chunks whose vectors had to be computed."""
    skipped: tuple[SkippedFile, ...]
    seconds: float
    size_bytes: int | None


BATCH_FILES = 16
MOST_FLOATS = 256_000
"""Vector components in one write: about 6 MB as the text that a server receives."""
FLUSH_EVERY = 20
"""Batches. Unflushed writes are replayed from the log when the index is next opened, which takes time."""


def index_project(
    root: str | os.PathLike[str],
    language: Language | None,
    store: Store,
    embedder: Embedder,
    progress: Callable[[Progress], None] | None = None,
    *,
    rebuild: bool = False,
    workers: int | None = None,
) -> IndexSummary:
    """Bring the index up to date. With a language, only its files are examined, and others stay unchanged.

    An index of another embedder is an error, unless `rebuild` is set.
    """
    return _IndexRun(folder_of(root), language, store, embedder, progress or (lambda _: None), workers).run(
        rebuild
    )


@dataclass(frozen=True, slots=True)
class _Embedded:
    """A batch of files with the vectors of their chunks."""

    files: list[PreparedFile]
    vectors: dict[str, list[float]]
    """Vectors by the id of the chunk."""
    count: int
    """Vectors that had to be computed."""


class _IndexRun:
    """One run over a project."""

    def __init__(
        self,
        root: Path,
        language: Language | None,
        store: Store,
        embedder: Embedder,
        progress: Callable[[Progress], None],
        workers: int | None,
    ) -> None:
        self._root = root
        self._project = collection_name(root)
        self._language = language
        self._store = store
        self._embedder = embedder
        self._progress = progress
        self._workers = workers
        self._manifest = Manifest(embedder.name, embedder.dim, complete=True)
        self._known: dict[str, FileEntry] = {}
        self._skipped: list[SkippedFile] = []
        self._is_complete = True
        self._has_deleted = False
        self._indexed = self._removed = self._embedded = 0

    def run(self, rebuild: bool) -> IndexSummary:
        started = time.monotonic()
        self._open_index(rebuild)
        self._known = {entry.path: entry for entry in self._store.files()}
        found = self._scan()
        todo = [task for path, task in found.items() if not self._is_indexed(path, task.file_hash)]
        wanted = languages_with(self._language)
        removed = [
            entry for path, entry in self._known.items() if path not in found and entry.language in wanted
        ]
        self._remove(removed)
        self._index(todo)
        self._finish()
        return IndexSummary(
            root=str(self._root),
            place=self._store.place,
            embedder=self._embedder.name,
            files=len(self._known),
            chunks=sum(len(each.chunks) for each in self._known.values()),
            indexed=self._indexed,
            unchanged=len(found) - len(todo),
            removed=self._removed,
            embedded=self._embedded,
            skipped=tuple(sorted(self._skipped, key=lambda each: each.path)),
            seconds=time.monotonic() - started,
            size_bytes=self._store.size_bytes(),
        )

    def _open_index(self, rebuild: bool) -> None:
        existing = None if rebuild else self._store.manifest()
        if existing is None:
            self._store.create(replace(self._manifest, complete=False))
            self._is_complete = False
            return
        command = rebuild_command(self._root, self._embedder, self._store.place)
        check_fits(existing, self._manifest, command)
        self._is_complete = existing.complete

    def _is_indexed(self, path: str, file_hash: str) -> bool:
        known = self._known.get(path)
        return known is not None and known.file_hash == file_hash

    def _scan(self) -> dict[str, FileTask]:
        found: dict[str, FileTask] = {}
        for file in source_files(self._root, self._language, self._skip):
            try:
                # The hash is taken before the file is read again: if the file changes in between, the next
                # run sees another hash and indexes it again.
                file_hash = _hash(file)
            except OSError as error:
                self._skip(file.relative, f"cannot be read: {(error.strerror or str(error)).lower()}")
                continue
            if file_hash:
                name = file.language.name
                task = FileTask(self._project, file.path, file.relative, name, file_hash, self._embedder.form)
                found[file.relative] = task
            self._progress(Progress("scan", len(found), 0))
        return found

    def _skip(self, path: str, why: str) -> None:
        self._skipped.append(SkippedFile(path, why))

    def _begin_to_write(self) -> None:
        if self._is_complete:
            self._store.put_manifest(replace(self._manifest, complete=False))
            self._is_complete = False

    def _remove(self, entries: Sequence[FileEntry]) -> None:
        """Remove a file and its chunks in one step."""
        if entries:
            self._begin_to_write()
        for start in range(0, len(entries), BATCH_FILES):
            batch = entries[start : start + BATCH_FILES]
            self._delete([id for entry in batch for id in (entry.id, *sorted(entry.chunks))])
        for entry in entries:
            del self._known[entry.path]
        self._removed += len(entries)

    def _delete(self, ids: Sequence[str]) -> None:
        if ids:
            self._store.delete(ids)
            self._has_deleted = True

    def _index(self, todo: Sequence[FileTask]) -> None:
        batches = [todo[start : start + BATCH_FILES] for start in range(0, len(todo), BATCH_FILES)]
        done = 0
        with (
            closing(prepare_all(batches, self._workers)) as prepared,
            closing(self._embed_all(prepared)) as embedded,
        ):
            for number, batch in enumerate(embedded, start=1):
                self._write(batch)
                if number % FLUSH_EVERY == 0:
                    self._store.flush()
                done += len(batch.files)
                self._progress(Progress("index", done, len(todo)))

    def _embed_all(self, batches: Iterator[list[PreparedFile]]) -> Generator[_Embedded, None, None]:
        """Embed in order, while the next batches are prepared and, if the embedder allows, embedded."""
        pending: deque[Future[_Embedded]] = deque()
        with ThreadPoolExecutor(self._embedder.parallel) as pool:
            try:
                for files in batches:
                    pending.append(pool.submit(self._embed, files, self._known_vectors(files)))
                    if len(pending) > self._embedder.parallel:
                        yield pending.popleft().result()
                while pending:
                    yield pending.popleft().result()
            finally:
                pool.shutdown(wait=True, cancel_futures=True)

    def _known_vectors(self, files: Sequence[PreparedFile]) -> dict[str, list[float]]:
        """Return vectors of chunks that exist already: most chunks of a changed file are unchanged."""
        existing = [
            chunk.id
            for file in files
            if (known := self._known.get(file.task.relative)) is not None
            for chunk in file.chunks
            if chunk.id in known.chunks
        ]
        return self._store.vectors(existing)

    def _embed(self, files: list[PreparedFile], kept: dict[str, list[float]]) -> _Embedded:
        texts = {
            chunk.id: text
            for file in files
            for chunk, text in zip(file.chunks, file.texts, strict=True)
            if chunk.id not in kept
        }
        vectors = self._embedder.embed(list(texts.values())) if texts else []
        return _Embedded(files, {**kept, **dict(zip(texts, vectors, strict=True))}, len(texts))

    def _write(self, batch: _Embedded) -> None:
        points: list[Point] = []
        changing: list[FileEntry] = []
        done: list[FileEntry] = []
        stale: list[str] = []
        for file in batch.files:
            task = file.task
            if file.problem:
                self._skip(task.relative, file.problem)
            known = self._known.get(task.relative)
            if not file.chunks:
                self._remove([known] if known is not None else [])
                continue
            entry = FileEntry(
                task.relative, task.language, task.file_hash, frozenset(chunk.id for chunk in file.chunks)
            )
            points += [
                Point(chunk, batch.vectors[chunk.id], sparse)
                for chunk, sparse in zip(file.chunks, file.sparse, strict=True)
            ]
            old = known.chunks - entry.chunks if known is not None else frozenset()
            if old:
                changing.append(replace(entry, file_hash="", chunks=entry.chunks | old))
                stale += sorted(old)
            done.append(entry)
        if not done:
            return
        self._begin_to_write()
        at_once = max(1, MOST_FLOATS // self._embedder.dim)
        if len(points) > at_once:
            # Files that do not fit into one write are marked as changing first, like files that lose chunks.
            paths = {entry.path for entry in changing}
            changing += [replace(each, file_hash="") for each in done if each.path not in paths]
            self._store.write((), changing)
            for start in range(0, len(points), at_once):
                self._store.write(points[start : start + at_once], ())
            points = []
        unfinished = {entry.path for entry in changing}
        if points:
            self._store.write(points, [*changing, *(each for each in done if each.path not in unfinished)])
        self._delete(stale)
        self._store.write((), [each for each in done if each.path in unfinished])
        self._known.update({entry.path: entry for entry in done})
        self._indexed += len(done)
        self._embedded += batch.count

    def _finish(self) -> None:
        if not self._is_complete:
            if self._has_deleted:
                self._store.tidy()
            self._store.flush()
            self._store.put_manifest(self._manifest)
            self._store.flush()


def _hash(file: FolderFile) -> str:
    """Return the hash of content and language; empty for a blank file, which has nothing to index."""
    with open(file.path, "rb") as opened:
        data = opened.read()
    if not data.strip():
        return ""
    return blake2b(data, digest_size=16, key=file.language.name.encode()).hexdigest()


# Preparation: files become chunks with their words. It keeps one core busy, so large jobs run in child
# processes, which end with the job; small ones run in this process.


LARGE_JOB = 150
"""Files. Starting a child takes as long as some dozens of files."""
MOST_CHILDREN = 4


@dataclass(frozen=True, slots=True)
class FileTask:
    """A file to prepare."""

    project: str
    path: str
    relative: str
    language: str
    file_hash: str
    form: str


@dataclass(frozen=True, slots=True)
class PreparedFile:
    """The chunks of a file, or why there are none."""

    task: FileTask
    chunks: tuple[Chunk, ...]
    texts: tuple[str, ...]
    """The text of each chunk that is embedded."""
    sparse: tuple[SparseVector, ...]
    problem: str = ""
    """Why the file cannot be read; there are no chunks then."""


def prepare(task: FileTask) -> PreparedFile:
    """Return the chunks of a file with their words, or the reason why it cannot be read."""
    try:
        syntax = read_source(task.path, LANGUAGES[task.language]).parse()
    except InputError as error:
        return PreparedFile(task, (), (), (), error.problem)
    chunks = chunk_file(task.project, task.relative, syntax)
    texts = tuple(map(FORMS[task.form].document, chunks))
    return PreparedFile(task, chunks, texts, tuple(map(document_vector, chunks)))


def prepare_all(
    batches: Sequence[Sequence[FileTask]], workers: int | None = None
) -> Generator[list[PreparedFile], None, None]:
    """Yield batches in their order, a few ahead of the consumer."""
    if workers is None:
        is_large = sum(map(len, batches)) >= LARGE_JOB
        workers = min(MOST_CHILDREN, usable_processors()) if is_large else 0
    if workers < 2:
        yield from ([prepare(task) for task in batch] for batch in batches)
        return
    with contextlib.ExitStack() as stack:
        # The children are closed before the threads that wait for them, so that an error waits for neither.
        threads = [stack.enter_context(ThreadPoolExecutor(1)) for _ in range(workers)]
        children = [
            stack.enter_context(ChildProcess(f"{__name__}:Preparer", name="a process that reads sources"))
            for _ in range(workers)
        ]
        pending: deque[Future[list[PreparedFile]]] = deque()
        for number, batch in enumerate(batches):
            worker = number % workers
            pending.append(threads[worker].submit(children[worker].call, "prepare", batch))
            if len(pending) > 2 * workers:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


class Preparer:
    """The part that runs in a child process."""

    def __init__(self, parent: Parent) -> None:
        self._stopped = parent.stopped

    def prepare(self, tasks: Sequence[FileTask]) -> list[PreparedFile]:
        return [prepare(task) for task in tasks if not self._stopped.is_set()]
