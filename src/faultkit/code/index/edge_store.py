"""A store inside this process: the Qdrant engine on a folder. One process at a time can open it.

The engine has a write-ahead log, so that accepted writes survive the end of the process.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import qdrant_edge as edge

from faultkit.base.errors import RunError
from faultkit.code.index.embeddings import SparseVector
from faultkit.code.index.lock import IndexLock
from faultkit.code.index.points import (
    DENSE,
    FILE_PREFIX,
    HIT_FIELDS,
    LEXICAL,
    MANIFEST_ID,
    FileEntry,
    Manifest,
    Point,
    ScoredPoint,
    file_from,
    file_payload,
    manifest_from,
    manifest_payload,
    point_payload,
    scored_from,
)

_PAGE = 250
_EXACT_UP_TO_KB = 400_000
"""Size of dense vectors below which all are compared, which takes milliseconds and misses nothing."""


class EdgeStore:
    """The store of one project in a folder."""

    def __init__(self, folder: Path, lock: IndexLock | None = None) -> None:
        self._folder = folder
        self._lock = lock
        self._path, self._new, self._old = (folder / name for name in ("points", "points.new", "points.old"))
        self._problem = ""
        self._shard = self._load()

    @property
    def place(self) -> str:
        return str(self._folder)

    def manifest(self) -> Manifest | None:
        if self._problem:
            raise RunError(
                f"the index in {self._folder} cannot be read: {self._problem}; make it anew with "
                "`fault index DIR --rebuild`"
            )
        if self._shard is None:
            return None
        with _engine_errors("read"):
            found = self._shard.retrieve([MANIFEST_ID], with_payload=True, with_vector=False)
        return manifest_from(found[0].payload) if found else None

    def create(self, manifest: Manifest) -> None:
        """Create the store beside the old one and then swap them, so that it is never incomplete."""
        self._release()
        with _engine_errors("made"):
            for leftover in (self._new, self._old):
                shutil.rmtree(leftover, ignore_errors=True)
            self._new.mkdir(parents=True)
            shard = edge.EdgeShard.create(str(self._new), _config(manifest.dim))
            shard.update(_manifest_update(manifest))
            shard.flush()
            shard.close()
            if self._path.exists():
                os.rename(self._path, self._old)
            os.rename(self._new, self._path)
            shutil.rmtree(self._old, ignore_errors=True)
            self._shard = edge.EdgeShard.load(str(self._path))
            self._problem = ""

    def put_manifest(self, manifest: Manifest) -> None:
        self._update(_manifest_update(manifest))

    def files(self) -> Iterable[FileEntry]:
        offset: Any = None
        while True:
            request = edge.ScrollRequest(offset=offset, limit=_PAGE, with_payload=True, with_vector=False)
            with _engine_errors("read"):
                records, offset = self._opened().scroll(request)
            found = (file_from(record.payload) for record in records)
            yield from (entry for entry in found if entry is not None)
            if offset is None or not str(offset).startswith(FILE_PREFIX):
                return

    def vectors(self, ids: Sequence[str]) -> dict[str, list[float]]:
        if not ids:
            return {}
        with _engine_errors("read"):
            records = self._opened().retrieve(list(ids), with_payload=False, with_vector=[DENSE])
        return {str(record.id): _dense(record.vector) for record in records}

    def write(self, points: Sequence[Point], files: Sequence[FileEntry]) -> None:
        if points or files:
            written = [*map(_point, points), *map(_file, files)]
            self._update(edge.UpdateOperation.upsert_points(written))

    def delete(self, ids: Sequence[str]) -> None:
        if ids:
            self._update(edge.UpdateOperation.delete_points(list(ids)))

    def flush(self) -> None:
        with _engine_errors("written"):
            self._opened().flush()

    def tidy(self) -> None:
        with _engine_errors("tidied"):
            self._opened().optimize()

    def near_dense(self, vector: Sequence[float], limit: int) -> list[ScoredPoint]:
        return self._near(edge.Query.Nearest(list(vector), using=DENSE), limit)

    def near_lexical(self, vector: SparseVector, limit: int) -> list[ScoredPoint]:
        if not vector.indices:
            return []
        return self._near(edge.Query.Nearest(_sparse(vector), using=LEXICAL), limit)

    def size_bytes(self) -> int:
        """Return the allocated size: the engine's files are sparse, so their lengths are too large."""
        blocks = 0
        for folder, _, names in os.walk(self._folder):
            for name in names:
                try:
                    blocks += os.lstat(os.path.join(folder, name)).st_blocks
                except OSError:
                    continue
        return blocks * 512

    def close(self) -> None:
        try:
            self._release()
        finally:
            if self._lock is not None:
                self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _load(self) -> edge.EdgeShard | None:
        if not self._path.exists() and self._old.exists():
            # The process that made a new one died between the two renames.
            os.rename(self._old, self._path)
        if not self._path.exists():
            return None
        try:
            return edge.EdgeShard.load(str(self._path))
        except Exception as error:
            self._problem = str(error)
            return None

    def _release(self) -> None:
        shard, self._shard = self._shard, None
        if shard is not None:
            with _engine_errors("closed"):
                shard.close()

    def _opened(self) -> edge.EdgeShard:
        if self._shard is None:
            raise RunError(f"there is no index in {self._folder}")
        return self._shard

    def _update(self, operation: edge.UpdateOperation) -> None:
        with _engine_errors("written"):
            self._opened().update(operation)

    def _near(self, query: edge.Query, limit: int) -> list[ScoredPoint]:
        request = edge.QueryRequest(limit, query=query, with_payload=list(HIT_FIELDS), with_vector=False)
        with _engine_errors("searched"):
            found = self._opened().query(request)
        scored = (scored_from(str(each.id), each.score, each.payload) for each in found)
        return [each for each in scored if each is not None]


@contextmanager
def _engine_errors(done: str) -> Iterator[None]:
    """Turn errors of the engine, which are bare `Exception`s, into RunError."""
    try:
        yield
    except RunError:
        raise
    except Exception as error:
        raise RunError(f"the index cannot be {done}: {error}") from None


def _config(dim: int) -> edge.EdgeConfig:
    return edge.EdgeConfig(
        vectors={DENSE: edge.EdgeVectorParams(size=dim, distance=edge.Distance.Cosine)},
        sparse_vectors={LEXICAL: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)},
        optimizers=edge.EdgeOptimizersConfig(indexing_threshold=_EXACT_UP_TO_KB),
    )


def _manifest_update(manifest: Manifest) -> edge.UpdateOperation:
    return edge.UpdateOperation.upsert_points([edge.Point(MANIFEST_ID, {}, manifest_payload(manifest))])


def _point(point: Point) -> edge.Point:
    vectors: dict[str, Any] = {DENSE: point.dense, LEXICAL: _sparse(point.sparse)}
    return edge.Point(point.chunk.id, vectors, point_payload(point))


def _file(entry: FileEntry) -> edge.Point:
    return edge.Point(entry.id, {}, file_payload(entry))


def _sparse(vector: SparseVector) -> edge.SparseVector:
    return edge.SparseVector(list(vector.indices), list(vector.values))


def _dense(vector: Any) -> list[float]:
    return list(vector[DENSE])
