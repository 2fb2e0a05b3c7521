"""Points: what a store keeps and returns, and its form as a payload. Pure.

The store describes itself: beside the chunks there is a point for each file, with its hash and the ids of
its chunks, written together with them. No list outside the store can therefore disagree with it. Ids of
files begin with zeros and those of chunks do not: in the order of ids, files come first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any
from uuid import UUID

from faultkit.base.errors import InputError
from faultkit.code.index.chunks import Chunk
from faultkit.code.index.embeddings import SparseVector

FORMAT = 1
"""Version of chunks, words and payloads together. A change makes old indexes be rebuilt."""
DENSE, LEXICAL = "dense", "lexical"
MANIFEST_ID = str(UUID(int=0))
"""The manifest and the files are points without vectors, so that no search finds them."""
FILE_PREFIX = "00000000-"
HIT_FIELDS = ("path", "name", "language", "start_line", "end_line", "text")


@dataclass(frozen=True, slots=True)
class Manifest:
    """How an index was made."""

    embedder: str
    dim: int
    complete: bool
    """Whether the last run reached its end."""
    format: int = FORMAT


@dataclass(frozen=True, slots=True)
class Point:
    """A chunk with its vectors."""

    chunk: Chunk
    dense: list[float]
    sparse: SparseVector


@dataclass(frozen=True, slots=True)
class FileEntry:
    """The indexed state of a file."""

    path: str
    language: str
    file_hash: str
    """The hash; empty while the file is being changed."""
    chunks: frozenset[str]
    """Ids; the store has no other chunks of the file."""

    @property
    def id(self) -> str:
        digest = blake2b(self.path.encode(), digest_size=12).hexdigest()
        return str(UUID(f"{0:08x}{digest}"))


@dataclass(frozen=True, slots=True)
class ScoredPoint:
    """A point in a search result."""

    id: str
    score: float
    path: str
    name: str
    language: str
    start_line: int
    end_line: int
    text: str


def manifest_payload(manifest: Manifest) -> dict[str, Any]:
    """Return the payload of a manifest."""
    return {
        "kind": "manifest",
        "embedder": manifest.embedder,
        "dim": manifest.dim,
        "complete": manifest.complete,
        "format": manifest.format,
    }


def manifest_from(payload: Mapping[str, Any] | None) -> Manifest | None:
    """Return the manifest of a payload; None if it is not of Faultkit."""
    match payload:
        case {
            "kind": "manifest",
            "embedder": str(embedder),
            "dim": int(dim),
            "complete": bool(complete),
            "format": int(format),
        }:
            return Manifest(embedder, dim, complete, format)
    return None


def check_fits(existing: Manifest, wanted: Manifest, command: str) -> None:
    """Raise InputError if an existing index cannot be used and must be rebuilt, which `command` does."""
    again = f"; make it anew with `{command}`"
    if existing.format != wanted.format:
        raise InputError("index", f"expected one of format {wanted.format}, got {existing.format}{again}")
    if (existing.embedder, existing.dim) != (wanted.embedder, wanted.dim):
        ours, theirs = (f"{each.embedder} ({each.dim} dimensions)" for each in (wanted, existing))
        raise InputError("index", f"expected vectors made by {ours}, got those of {theirs}{again}")


def point_payload(point: Point) -> dict[str, Any]:
    """Return the payload of a chunk."""
    chunk = point.chunk
    return {
        "path": chunk.path,
        "name": chunk.name,
        "language": chunk.language,
        "start_line": chunk.start_line,
        "end_line": chunk.end_line,
        "text": chunk.text,
    }


def file_payload(entry: FileEntry) -> dict[str, Any]:
    """Return the payload of a file entry."""
    return {
        "kind": "file",
        "path": entry.path,
        "language": entry.language,
        "file_hash": entry.file_hash,
        "chunks": sorted(entry.chunks),
    }


def file_from(payload: Mapping[str, Any] | None) -> FileEntry | None:
    """Return the file entry of a payload."""
    match payload:
        case {
            "kind": "file",
            "path": str(path),
            "language": str(language),
            "file_hash": str(file_hash),
            "chunks": list(chunks),
        }:
            return FileEntry(path, language, file_hash, frozenset(map(str, chunks)))
    return None


def scored_from(id: str, score: float, payload: Mapping[str, Any] | None) -> ScoredPoint | None:
    """Return the scored chunk of a payload."""
    match payload:
        case {
            "path": str(path),
            "name": str(name),
            "language": str(language),
            "start_line": int(start_line),
            "end_line": int(end_line),
            "text": str(text),
        }:
            return ScoredPoint(id, score, path, name, language, start_line, end_line, text)
    return None
