"""Helpers for tests of the index: an embedder without a model, small projects, the points of a store."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import qdrant_edge as edge

from faultkit.code.index.embeddings import index_of, words
from faultkit.code.index.store import Store, open_store
from faultkit.code.source_files import folder_of


@dataclass
class CountingEmbedder:
    """An embedder of words in few dimensions, which records the texts that it receives."""

    name: str = "counting"
    dim: int = 16
    parallel: int = 1
    form: str = "words"
    texts_received: list[str] = field(default_factory=list)

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.texts_received += texts
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> list[float]:
        vector = [0.0] * self.dim
        for word in words(text):
            vector[index_of(word) % self.dim] += 1.0
        length = math.hypot(*vector) or 1.0
        return [value / length for value in vector]


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def opened(root: Path, index_dir: Path, write: bool = True) -> Store:
    return open_store(folder_of(root), write=write, index_dir=index_dir, env={}, wait_s=0)


def all_points(index_dir: Path) -> dict[str, tuple[Any, Any, Any]]:
    """Return payload and both vectors of every point, read by the engine alone."""
    (folder,) = index_dir.iterdir()
    shard = edge.EdgeShard.load(str(folder / "points"))
    records, rest = shard.scroll(edge.ScrollRequest(limit=1_000_000, with_payload=True, with_vector=True))
    assert rest is None
    points = {str(record.id): (record.payload, *_vectors(record.vector)) for record in records}
    shard.close()
    return points


def _vectors(vector: Any) -> tuple[Any, Any]:
    if not vector:
        return None, None
    sparse = vector["lexical"]
    return [round(value, 5) for value in vector["dense"]], list(
        zip(sparse.indices, sparse.values, strict=True)
    )
