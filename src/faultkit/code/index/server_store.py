"""A store on a Qdrant server, one collection for each project, over its REST API.

Requests are few and large: a batch of points, a page of entries. A server that is down, refuses the key or
answers with an error raises a `TargetError` that names the variable to check.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self
from urllib.parse import urlsplit, urlunsplit

from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse

from faultkit.base.errors import InputError, TargetError
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

URL, KEY = "QDRANT_URL", "QDRANT_API_KEY"
TIMEOUT_S = 30
_PAGE = 500
_REST_PORT, _GRPC_PORT = 6333, 6334


class ServerStore:
    """The store of one project on a server."""

    def __init__(self, url: str, key: str | None, collection: str, lock: IndexLock | None = None) -> None:
        self._url = rest_url(url)
        self._collection = collection
        self._lock = lock
        with warnings.catch_warnings():
            # It warns of a key over plain HTTP, which is usual inside one machine or cluster.
            warnings.simplefilter("ignore")
            self._client = QdrantClient(
                url=self._url,
                port=urlsplit(self._url).port or (443 if self._url.startswith("https:") else _REST_PORT),
                api_key=key,
                timeout=TIMEOUT_S,
                check_compatibility=False,
            )

    @property
    def place(self) -> str:
        return f"{self._url}/collections/{self._collection}"

    def manifest(self) -> Manifest | None:
        with self._target_errors():
            if not self._client.collection_exists(self._collection):
                return None
            found = self._client.retrieve(self._collection, [MANIFEST_ID], with_payload=True)
        return manifest_from(found[0].payload) if found else None

    def create(self, manifest: Manifest) -> None:
        with self._target_errors():
            if self._client.collection_exists(self._collection):
                self._client.delete_collection(self._collection)
            self._client.create_collection(
                self._collection,
                vectors_config={
                    DENSE: models.VectorParams(size=manifest.dim, distance=models.Distance.COSINE)
                },
                sparse_vectors_config={LEXICAL: models.SparseVectorParams(modifier=models.Modifier.IDF)},
            )
        self.put_manifest(manifest)

    def put_manifest(self, manifest: Manifest) -> None:
        point = models.PointStruct(id=MANIFEST_ID, vector={}, payload=manifest_payload(manifest))
        with self._target_errors():
            self._client.upsert(self._collection, [point], wait=True)

    def files(self) -> Iterable[FileEntry]:
        offset: Any = None
        while True:
            with self._target_errors():
                records, offset = self._client.scroll(
                    self._collection,
                    limit=_PAGE,
                    offset=offset,
                    with_payload=True,
                    with_vectors=False,
                )
            found = (file_from(record.payload) for record in records)
            yield from (entry for entry in found if entry is not None)
            if offset is None or not str(offset).startswith(FILE_PREFIX):
                return

    def vectors(self, ids: Sequence[str]) -> dict[str, list[float]]:
        if not ids:
            return {}
        with self._target_errors():
            records = self._client.retrieve(
                self._collection, list(ids), with_payload=False, with_vectors=[DENSE]
            )
        return {str(record.id): _dense(record.vector) for record in records}

    def write(self, points: Sequence[Point], files: Sequence[FileEntry]) -> None:
        if points or files:
            written = [*map(_point, points), *map(_file, files)]
            with self._target_errors():
                self._client.upsert(self._collection, written, wait=True)

    def delete(self, ids: Sequence[str]) -> None:
        if ids:
            with self._target_errors():
                selector = models.PointIdsList(points=list(ids))
                self._client.delete(self._collection, points_selector=selector, wait=True)

    def flush(self) -> None:
        """Do nothing: every write has been awaited."""

    def tidy(self) -> None:
        """Do nothing: the server does it."""

    def near_dense(self, vector: Sequence[float], limit: int) -> list[ScoredPoint]:
        return self._near(list(vector), DENSE, limit)

    def near_lexical(self, vector: SparseVector, limit: int) -> list[ScoredPoint]:
        return self._near(_sparse(vector), LEXICAL, limit) if vector.indices else []

    def size_bytes(self) -> int | None:
        return None

    def close(self) -> None:
        try:
            self._client.close()
        finally:
            if self._lock is not None:
                self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _near(self, query: list[float] | models.SparseVector, using: str, limit: int) -> list[ScoredPoint]:
        with self._target_errors():
            found = self._client.query_points(
                self._collection, query=query, using=using, limit=limit, with_payload=list(HIT_FIELDS)
            )
        scored = (scored_from(str(each.id), each.score, each.payload) for each in found.points)
        return [each for each in scored if each is not None]

    @contextmanager
    def _target_errors(self) -> Iterator[None]:
        """Turn errors of the server into TargetError."""
        try:
            yield
        except UnexpectedResponse as error:
            raise TargetError(self._refused(error)) from None
        except ResponseHandlingException as error:
            why = str(error.source) or type(error.source).__name__
            raise TargetError(
                f"{URL}: Qdrant at {self._url} does not answer: {why}; start it, or unset {URL} to keep the "
                "index on this machine"
            ) from None
        except (ApiException, ValueError, AssertionError) as error:
            raise TargetError(f"{URL}: what answers at {self._url} is not Qdrant: {error}") from None

    def _refused(self, error: UnexpectedResponse) -> str:
        if error.status_code in (401, 403):
            return f"{KEY}: Qdrant at {self._url} refuses the key (HTTP {error.status_code})"
        message = error.content.decode("utf-8", "replace").strip()[:300]
        return f"{URL}: Qdrant at {self._url} answered HTTP {error.status_code}: {message}"


def rest_url(url: str) -> str:
    """Return the URL without a trailing slash. The gRPC port, which guides also name, is replaced by the
    REST port."""
    wrong = InputError(URL, f"expected a URL such as http://localhost:{_REST_PORT}, got {url[:100]!r}")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise wrong from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise wrong
    place = parts.netloc
    if port == _GRPC_PORT:
        place = place.removesuffix(str(_GRPC_PORT)) + str(_REST_PORT)
    return urlunsplit((parts.scheme, place, parts.path.rstrip("/"), "", ""))


def _point(point: Point) -> models.PointStruct:
    vectors: Any = {DENSE: point.dense, LEXICAL: _sparse(point.sparse)}
    return models.PointStruct(id=point.chunk.id, vector=vectors, payload=point_payload(point))


def _file(entry: FileEntry) -> models.PointStruct:
    return models.PointStruct(id=entry.id, vector={}, payload=file_payload(entry))


def _sparse(vector: SparseVector) -> models.SparseVector:
    return models.SparseVector(indices=list(vector.indices), values=list(vector.values))


def _dense(vector: Any) -> list[float]:
    return list(vector[DENSE])
