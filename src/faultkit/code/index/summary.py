"""What is said of a run while it goes on and when it is done."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    phase: str
    """`scan` while files are looked for, then `index`."""
    done: int
    of: int
    """Files; 0 as long as nobody knows."""


@dataclass(frozen=True, slots=True)
class Skipped:
    path: str
    why: str


@dataclass(frozen=True, slots=True)
class IndexSummary:
    root: str
    place: str
    """Where the index is kept."""
    embedder: str
    files: int
    """That are in the index now."""
    chunks: int
    indexed: int
    """Files that were new or changed."""
    unchanged: int
    removed: int
    """Files that are gone, or can no longer be read."""
    embedded: int
    """Chunks whose vectors had to be made."""
    skipped: tuple[Skipped, ...]
    seconds: float
    size_bytes: int | None
