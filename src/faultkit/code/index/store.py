"""The store of an index, and the search in it.

A store is an engine inside this process, or a Qdrant server. It keeps points and finds near ones; it does not
know when to write.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Literal, Protocol, Self, get_args

from faultkit.base.errors import InputError, RunError
from faultkit.base.user_folders import cache_folder
from faultkit.code.index.embeddings import FORMS, Embedder, FunctionEmbedder, SparseVector, query_vector
from faultkit.code.index.lock import IndexLock
from faultkit.code.index.points import FileEntry, Manifest, Point, ScoredPoint, check_fits

READER_WAIT_S, WRITER_WAIT_S = 10.0, 2.0
URL_VARIABLE, KEY_VARIABLE = "QDRANT_URL", "QDRANT_API_KEY"


class Store(Protocol):
    """Keeps points and finds near ones."""

    @property
    def place(self) -> str:
        """Where the store is, for messages."""

    def manifest(self) -> Manifest | None:
        """Return the manifest; None if there is no index, or none that can be used."""

    def create(self, manifest: Manifest) -> None:
        """Create an empty store; earlier contents are removed."""

    def put_manifest(self, manifest: Manifest) -> None: ...

    def files(self) -> Iterable[FileEntry]:
        """Return the file entries in no order."""

    def vectors(self, ids: Sequence[str]) -> dict[str, list[float]]:
        """Return the dense vectors of those points that exist."""

    def write(self, points: Sequence[Point], files: Sequence[FileEntry]) -> None:
        """Write all points or, if the process dies, none. Writing twice has no effect."""

    def delete(self, ids: Sequence[str]) -> None:
        """Delete all points or, if the process dies, none."""

    def flush(self) -> None:
        """Write everything so far to disk."""

    def tidy(self) -> None:
        """Free the space of deleted points, if it is large."""

    def near_dense(self, vector: Sequence[float], limit: int) -> list[ScoredPoint]: ...

    def near_lexical(self, vector: SparseVector, limit: int) -> list[ScoredPoint]: ...

    def size_bytes(self) -> int | None:
        """Return the size on disk; None if it is unknown."""

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc: object) -> None: ...


def collection_name(root: Path) -> str:
    """Return a name that is the same for the same folder and different for two folders."""
    slug = re.sub(r"[^a-z0-9]+", "-", root.name.lower()).strip("-")[:40] or "root"
    digest = blake2b(os.fsencode(root), digest_size=6).hexdigest()
    return f"fault-{slug}-{digest}"


def default_index_dir(env: Mapping[str, str]) -> Path:
    """Return the folder below the user's cache folder: an index can always be rebuilt."""
    return cache_folder(env) / "index"


def rebuild_command(
    root: str | os.PathLike[str] = "DIR", embedder: Embedder | None = None, place: str = ""
) -> str:
    """Return the command that makes an index anew.

    place: where the index is; named if it is not where indexes are by default."""
    words = ["fault", "index", os.fspath(root), "--rebuild"]
    if isinstance(embedder, FunctionEmbedder):
        words += embedder.flags
    folder = os.path.dirname(place)
    if os.path.isdir(place) and folder != str(default_index_dir(os.environ)):
        words += ["--index-dir", folder]
    return shlex.join(words)


def open_store(
    root: Path,
    *,
    write: bool,
    index_dir: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    wait_s: float | None = None,
) -> Store:
    """Open the store of the project at `root` (see `walk.folder_of`): on a server, if the environment
    names one."""
    known = os.environ if env is None else env
    name = collection_name(root)
    folder = Path(index_dir or default_index_dir(known)).expanduser() / name
    url = known.get(URL_VARIABLE, "").strip()
    if not write and not url and not os.path.exists(folder):
        raise _no_index(root)
    lock = None
    if write or not url:
        wait = wait_s if wait_s is not None else WRITER_WAIT_S if write else READER_WAIT_S
        try:
            lock = IndexLock(folder / "lock", wait, f"the index of {root}")
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise InputError(
                "--index-dir", f"expected a folder that can be written, got {folder}: {why}"
            ) from None
    try:
        store = _server(url, known.get(KEY_VARIABLE), name, lock) if url else _edge(folder, lock)
    except BaseException:
        if lock is not None:
            lock.close()
        raise
    if not write:
        try:
            if store.manifest() is None:
                raise _no_index(root)
        except BaseException:
            store.close()
            raise
    return store


def _no_index(root: Path) -> RunError:
    return RunError(f"{root} has no index yet: make one with `fault index {root}`")


def _server(url: str, key: str | None, name: str, lock: IndexLock | None) -> Store:
    from faultkit.code.index.server_store import ServerStore

    return ServerStore(url, key or None, name, lock)


def _edge(folder: Path, lock: IndexLock | None) -> Store:
    from faultkit.code.index.edge_store import EdgeStore

    return EdgeStore(folder, lock)


# Search by a question: by meaning, by words, or by both.
#
# The two lists are merged by ranks, because their scores are not comparable: a place near the top of either
# counts, and near the top of both counts most.


SearchMode = Literal["hybrid", "dense", "lexical"]
MODES: tuple[SearchMode, ...] = get_args(SearchMode)
MOST_HITS = 100
DEPTH = 100
"""How far each list is read at least; a lower rank adds next to nothing."""
RANK_OFFSET, DENSE_WEIGHT = 10, 0.7
"""Found by `bench/index.py`. The words weigh 1."""


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A chunk that a search found."""

    path: str
    start_line: int
    end_line: int
    name: str
    """The name of the function; empty for code outside functions."""
    language: str
    score: float
    """Comparable within this list only: higher is better."""
    snippet: str


def search(
    store: Store, embedder: Embedder, query: str, limit: int = 10, mode: SearchMode = "hybrid"
) -> list[SearchHit]:
    """Return the best hits first; of a function in several chunks, the best chunk."""
    if not query.strip():
        raise InputError("query", "expected some words, got nothing")
    if not 1 <= limit <= MOST_HITS:
        raise InputError("limit", f"expected 1 to {MOST_HITS}, got {limit}")
    if mode not in MODES:
        raise InputError("mode", f"expected one of {', '.join(MODES)}, got {mode!r}")
    manifest = store.manifest()
    if manifest is None:
        raise RunError(f"there is no index in {store.place}: make one with `fault index`")
    wanted = Manifest(embedder.name, embedder.dim, complete=True)
    check_fits(manifest, wanted, rebuild_command(embedder=embedder, place=store.place))
    depth = max(DEPTH, 5 * limit)
    lists: list[tuple[float, list[ScoredPoint]]] = []
    if mode != "lexical":
        vector = embedder.embed([FORMS[embedder.form].query(query)])[0]
        # A vector of zeros is near to nothing: the store would return arbitrary points.
        lists.append((DENSE_WEIGHT, store.near_dense(vector, depth) if any(vector) else []))
    if mode != "dense":
        lists.append((1.0, store.near_lexical(query_vector(query), depth)))
    found = fuse(lists) if mode == "hybrid" else lists[0][1]
    return [_hit(each) for each in best_per_function(found)[:limit]]


def fuse(lists: Sequence[tuple[float, Sequence[ScoredPoint]]]) -> list[ScoredPoint]:
    """Merge several lists with their weights into one, by reciprocal ranks."""
    scores: dict[str, float] = {}
    found: dict[str, ScoredPoint] = {}
    for weight, scored in lists:
        for rank, each in enumerate(scored, start=1):
            found[each.id] = each
            scores[each.id] = scores.get(each.id, 0.0) + weight / (RANK_OFFSET + rank)
    order = sorted(found.values(), key=lambda each: (-scores[each.id], each.path, each.start_line))
    return [_with_score(each, scores[each.id]) for each in order]


def best_per_function(found: Sequence[ScoredPoint]) -> list[ScoredPoint]:
    """Keep the best chunk of each function."""
    first: dict[tuple[str, str, int], ScoredPoint] = {}
    for each in found:
        # Chunks outside functions differ by their lines.
        first.setdefault((each.path, each.name, 0 if each.name else each.start_line), each)
    return list(first.values())


def _with_score(each: ScoredPoint, score: float) -> ScoredPoint:
    return ScoredPoint(
        each.id, score, each.path, each.name, each.language, each.start_line, each.end_line, each.text
    )


def _hit(each: ScoredPoint) -> SearchHit:
    return SearchHit(
        each.path, each.start_line, each.end_line, each.name, each.language, each.score, each.text
    )
