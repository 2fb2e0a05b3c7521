"""Words of code and of people, and how much each counts: the sparse half of the index. Pure.

Names are taken apart: `parseHTTPHeader2`, `parse_http_header_2` and "parse HTTP header 2" are the same words.
Endings such as `-s` and `-ing` are taken off, and a word becomes a number by a fixed hash. The weight is that
of BM25 but for the share of documents with the word: the store knows that better, since it knows them all.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import chain

from faultkit.code.index.chunks import Chunk

SATURATION, LENGTH_PART, USUAL_LENGTH = 1.2, 0.75, 60.0
"""k1 and b of BM25, and the number of words that counts as neither long nor short."""
NAME_WEIGHT, DOC_WEIGHT, SIGNATURE_WEIGHT, PATH_WEIGHT = 4.0, 1.0, 1.0, 3.0
"""How often a word in that place counts; in the text itself, once. Found by `bench/index.py`."""

_RUN = re.compile(r"[^\W_]+")
_SMALL = r"[^\W\dA-Z_]"
"""A letter that does not begin a part of a name: of other scripts, all."""
_PART = re.compile(rf"[A-Z]{{2,}}s(?!{_SMALL})|[A-Z]+(?!{_SMALL})|[A-Z]?{_SMALL}+|\d+")
_EVERYWHERE = (
    "a an and are as at be been by can do does for from has have if in into is it its not of on or so such "
    "than that the their then there these this to was were when which while will with you your self cls def"
)
_STOP = frozenset(_EVERYWHERE.split())
_MOST_CHARACTERS = 40
"""Longer words are no words: keys, hashes, pictures as text."""


@dataclass(frozen=True, slots=True)
class SparseVector:
    indices: tuple[int, ...]
    """Rising, each once."""
    values: tuple[float, ...]


def plain_words(text: str) -> Iterator[str]:
    """All words in lower case, in the order of the text."""
    return chain.from_iterable(map(_parts_of, _RUN.findall(text)))


def different_words(text: str) -> Iterator[str]:
    """The same, but each name or word of the text only where it first comes."""
    return chain.from_iterable(map(_parts_of, dict.fromkeys(_RUN.findall(text))))


def words(text: str) -> Iterator[str]:
    """Without endings, and without words that are everywhere."""
    return chain.from_iterable(map(_words_of, _RUN.findall(text)))


@lru_cache(maxsize=65536)
def _words_of(run: str) -> tuple[str, ...]:
    return tuple(stem(part) for part in _parts_of(run) if part not in _STOP)


@lru_cache(maxsize=65536)
def _parts_of(run: str) -> tuple[str, ...]:
    return () if len(run) > _MOST_CHARACTERS else tuple(part.lower() for part in _PART.findall(run))


def stem(word: str) -> str:
    """The word without the endings that do not change what it is about: `copies`, `copied` are `copy`."""
    if len(word) <= 3 or not word.isascii():
        return word
    if word.endswith(("ies", "ied")):
        return word[:-3] + "y" if len(word) > 4 else word[:-1]
    if word.endswith("sses"):
        word = word[:-2]
    elif word.endswith("s") and word[-2] not in "su" and not word.endswith("is"):
        word = word[:-1]
    for ending in ("ing", "ed", "er", "or", "ion"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            if word[-1] == word[-2] and word[-1] not in "ls":
                word = word[:-1]
            break
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


def document_vector(chunk: Chunk) -> SparseVector:
    counts: dict[str, float] = {}
    parts = (
        (chunk.text, 1.0),
        (chunk.name, NAME_WEIGHT),
        (chunk.doc, DOC_WEIGHT),
        (chunk.signature, SIGNATURE_WEIGHT),
        (chunk.path.rpartition(".")[0] or chunk.path, PATH_WEIGHT),
    )
    length = 0
    for text, weight in parts:
        for run, times in Counter(_RUN.findall(text)).items():
            for word in _words_of(run):
                counts[word] = counts.get(word, 0.0) + weight * times
                length += times
    short = SATURATION * (1 - LENGTH_PART + LENGTH_PART * length / USUAL_LENGTH)
    return _vector({word: count * (SATURATION + 1) / (count + short) for word, count in counts.items()})


def query_vector(text: str) -> SparseVector:
    """A word that is said twice is not twice as important."""
    counts = Counter(words(text))
    return _vector({word: 1 + 0.5 * (1 - 1 / count) for word, count in counts.items()})


def _vector(weights: Mapping[str, float]) -> SparseVector:
    by_index: dict[int, float] = {}
    for word, weight in weights.items():
        index = index_of(word)
        # Two words with one index are as good as one word: the heavier counts.
        by_index[index] = max(weight, by_index.get(index, 0.0))
    rising = sorted(by_index)
    return SparseVector(tuple(rising), tuple(by_index[index] for index in rising))


@lru_cache(maxsize=65536)
def index_of(word: str) -> int:
    return int.from_bytes(blake2b(word.encode("utf-8", "surrogatepass"), digest_size=4).digest(), "big")
