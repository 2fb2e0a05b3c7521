"""Finds chunks by a question: by their meaning, by their words, or best by both.

The two lists are joined by ranks, since their scores have nothing in common: a place near the top of either
counts, and near the top of both counts most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from faultkit.base.errors import InputError, RunError
from faultkit.code.index.embeddings import Embedder
from faultkit.code.index.forms import FORMS
from faultkit.code.index.lexical import query_vector
from faultkit.code.index.points import Manifest, Scored, check_fits
from faultkit.code.index.store import Store

Mode = Literal["hybrid", "dense", "lexical"]
MODES: tuple[Mode, ...] = get_args(Mode)
MOST_HITS = 100
DEPTH = 100
"""How far each list is read, at least; beyond that a rank adds next to nothing."""
RANK_OFFSET, DENSE_WEIGHT = 10, 0.7
"""Found by `bench/index.py`. The words weigh 1."""


@dataclass(frozen=True, slots=True)
class Hit:
    path: str
    start_line: int
    end_line: int
    name: str
    """Of the function; empty for what belongs to none."""
    language: str
    score: float
    """Of this list only: higher is better, and no more is said by it."""
    snippet: str


def search(store: Store, embedder: Embedder, query: str, limit: int = 10, mode: Mode = "hybrid") -> list[Hit]:
    """The best first; of a function in several pieces, the best piece."""
    if not query.strip():
        raise InputError("query", "expected some words, got nothing")
    if not 1 <= limit <= MOST_HITS:
        raise InputError("limit", f"expected 1 to {MOST_HITS}, got {limit}")
    if mode not in MODES:
        raise InputError("mode", f"expected one of {', '.join(MODES)}, got {mode!r}")
    there = store.manifest()
    if there is None:
        raise RunError(f"there is no index in {store.place}: make one with `fault index`")
    check_fits(there, Manifest(embedder.name, embedder.dim, complete=True))
    depth = max(DEPTH, 5 * limit)
    lists: list[tuple[float, list[Scored]]] = []
    if mode != "lexical":
        vector = embedder.embed([FORMS[embedder.form].query(query)])[0]
        # A vector of zeros is near to nothing, and the store would give anything.
        lists.append((DENSE_WEIGHT, store.near_dense(vector, depth) if any(vector) else []))
    if mode != "dense":
        lists.append((1.0, store.near_lexical(query_vector(query), depth)))
    found = fuse(lists) if mode == "hybrid" else lists[0][1]
    return [_hit(each) for each in one_a_function(found)[:limit]]


def fuse(lists: Sequence[tuple[float, Sequence[Scored]]]) -> list[Scored]:
    """Several lists with their weights as one, by reciprocal ranks."""
    scores: dict[str, float] = {}
    found: dict[str, Scored] = {}
    for weight, scored in lists:
        for rank, each in enumerate(scored, start=1):
            found[each.id] = each
            scores[each.id] = scores.get(each.id, 0.0) + weight / (RANK_OFFSET + rank)
    order = sorted(found.values(), key=lambda each: (-scores[each.id], each.path, each.start_line))
    return [_with_score(each, scores[each.id]) for each in order]


def one_a_function(found: Sequence[Scored]) -> list[Scored]:
    first: dict[tuple[str, str, int], Scored] = {}
    for each in found:
        # What belongs to no function is told apart by its lines.
        first.setdefault((each.path, each.name, 0 if each.name else each.start_line), each)
    return list(first.values())


def _with_score(each: Scored, score: float) -> Scored:
    return Scored(
        each.id, score, each.path, each.name, each.language, each.start_line, each.end_line, each.text
    )


def _hit(each: Scored) -> Hit:
    return Hit(each.path, each.start_line, each.end_line, each.name, each.language, each.score, each.text)
