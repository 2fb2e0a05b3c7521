"""What an index is kept in, whichever it is: an engine inside this process, or a Qdrant server.

A store keeps points and finds those that are near. What a chunk is, and when to write, is not known here.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Protocol, Self

from faultkit.base.errors import InputError, RunError
from faultkit.code.index.lexical import SparseVector
from faultkit.code.index.lock import IndexLock
from faultkit.code.index.points import FileEntry, Manifest, Point, Scored

READER_WAIT_S, WRITER_WAIT_S = 10.0, 2.0
URL_VARIABLE, KEY_VARIABLE = "QDRANT_URL", "QDRANT_API_KEY"


class Store(Protocol):
    @property
    def place(self) -> str:
        """Where it is, for people."""

    def manifest(self) -> Manifest | None:
        """None if there is no index, or none that can be used."""

    def create(self, manifest: Manifest) -> None:
        """Empty and ready; what was there before is gone."""

    def put_manifest(self, manifest: Manifest) -> None: ...

    def files(self) -> Iterable[FileEntry]:
        """What is there, in no order."""

    def vectors(self, ids: Sequence[str]) -> dict[str, list[float]]:
        """The dense vectors of those points that are there."""

    def write(self, points: Sequence[Point], files: Sequence[FileEntry]) -> None:
        """All of it or, if the process dies, none. Written twice is written once."""

    def delete(self, ids: Sequence[str]) -> None:
        """All of them or, if the process dies, none."""

    def flush(self) -> None:
        """What has been written so far is on disk after this."""

    def tidy(self) -> None:
        """Give back the room of what was deleted, if that is much."""

    def near_dense(self, vector: Sequence[float], limit: int) -> list[Scored]: ...

    def near_lexical(self, vector: SparseVector, limit: int) -> list[Scored]: ...

    def size_bytes(self) -> int | None:
        """On disk; None if it is not ours to know."""

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc: object) -> None: ...


def collection_name(root: Path) -> str:
    """The same folder gives the same name; two folders never share one."""
    slug = re.sub(r"[^a-z0-9]+", "-", root.name.lower()).strip("-")[:40] or "root"
    digest = blake2b(os.fsencode(root), digest_size=6).hexdigest()
    return f"fault-{slug}-{digest}"


def default_index_dir(env: Mapping[str, str]) -> Path:
    """Below the user's cache folder: an index can always be made again."""
    home = Path(env.get("HOME") or Path.home())
    usual = home / "Library" / "Caches" if sys.platform == "darwin" else home / ".cache"
    return Path(env.get("XDG_CACHE_HOME") or usual) / "faultkit" / "index"


def open_store(
    root: Path,
    *,
    write: bool,
    index_dir: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    wait_s: float | None = None,
) -> Store:
    """The store of the project at `root` (see `walk.folder_of`): a server's, if the environment names one."""
    known = os.environ if env is None else env
    name = collection_name(root)
    folder = Path(index_dir or default_index_dir(known)).expanduser() / name
    url = known.get(URL_VARIABLE, "").strip()
    if not write and not url and not folder.exists():
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
