"""Texts as vectors: dense ones by a model, sparse ones by the weights of their words.

Dense vectors come from the small model in `wordllama`, or from a function of the caller; where `wordllama`
has no wheel, from hashes of words and their letters. A `Form` decides which text of a chunk and of a question
an embedder receives.
"""

from __future__ import annotations

import importlib.util
import logging
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

from faultkit.base.errors import InputError, RunError
from faultkit.base.extras import EXTRAS
from faultkit.code.index.chunks import Chunk

_PROBE = "the length of this text's vector tells the dimension"


class Embedder(Protocol):
    """Turns texts into dense vectors."""

    @property
    def name(self) -> str:
        """The model and its form: an index made with one cannot be searched with another."""

    @property
    def dim(self) -> int: ...

    @property
    def parallel(self) -> int:
        """How many calls may run at once."""

    @property
    def form(self) -> str:
        """A key of `FORMS`."""

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector for each text, of length 1, or 0 if the text is empty."""


@dataclass(frozen=True, slots=True)
class WordEmbedder:
    """Embeds offline, by the average of word vectors. The model is loaded with the first text."""

    name: str = "wordllama l2_supercat 256, words 1"
    dim: int = 256
    parallel: int = 1
    """1, because its tokenizer uses all cores by itself."""
    form: str = "words"

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        import numpy

        model = _word_model()
        encoded = model.tokenizer.encode_batch(list(texts), add_special_tokens=False)
        last = len(model.embedding) - 1
        vectors = numpy.zeros((len(texts), self.dim), dtype=numpy.float32)
        for row, each in enumerate(encoded):
            if each.ids:
                vectors[row] = model.embedding[numpy.minimum(each.ids, last)].mean(axis=0)
        lengths = numpy.linalg.norm(vectors, axis=1, keepdims=True)
        listed: list[list[float]] = (vectors / numpy.where(lengths > 0, lengths, 1)).tolist()
        return listed


@cache
def _word_model() -> Any:
    found = importlib.util.find_spec("wordllama")
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError("No module named 'wordllama'", name="wordllama")
    folder = Path(next(iter(found.submodule_search_locations)))
    root = logging.getLogger()
    before = list(root.handlers), root.level
    try:
        from wordllama import WordLlama  # type: ignore[import-untyped]

        # Without the folder it would look for its tokenizer in the user's cache, and then on the network.
        model = WordLlama.load(cache_dir=folder, disable_download=True)
    except (ImportError, OSError, ValueError, AttributeError) as error:
        raise RunError(f"offline embeddings cannot be made: wordllama does not load: {error}") from None
    finally:
        # Importing it configures logging for the whole program: undo that.
        root.handlers[:], root.level = before
    # An average needs no padding to the longest text of a batch.
    model.tokenizer.no_padding()
    return model


@dataclass(frozen=True, slots=True)
class HashEmbedder:
    """Embeds offline without a model: a word and its triples of letters count in dimensions given by hashes.

    It finds other forms of a word, but no other words for the same thing."""

    name: str = "hashed letters 256, words 1"
    dim: int = 256
    parallel: int = 1
    form: str = "words"

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [self._vector(Counter(text.split())) for text in texts]

    def _vector(self, counts: Mapping[str, int]) -> list[float]:
        vector = [0.0] * self.dim
        for word, count in counts.items():
            # As in BM25, a word that is repeated counts more, but not as often as it stands there.
            weight = math.sqrt(count)
            for dimension, sign in _hashed_parts(word, self.dim):
                vector[dimension] += sign * weight
        length = math.hypot(*vector)
        return [value / length for value in vector] if length else vector


@lru_cache(maxsize=65536)
def _hashed_parts(word: str, dim: int) -> tuple[tuple[int, float], ...]:
    """Return dimensions and what a word adds to each: a half for the word, a half for its letters."""
    marked = f"<{word}>"
    triples = [marked[at : at + 3] for at in range(len(marked) - 2)] or [marked]
    parts = [(word, 0.5), *((triple, 0.5 / math.sqrt(len(triples))) for triple in triples)]
    hashed = [(index_of(text), weight) for text, weight in parts]
    # The lowest bit is the sign: parts that share a dimension cancel each other out on average.
    return tuple(((number >> 1) % dim, weight if number & 1 else -weight) for number, weight in hashed)


def offline_embedder() -> WordEmbedder | HashEmbedder:
    """Return the embedder that needs no provider: the one with a model, where that can be installed."""
    model = next(package for package in EXTRAS["index"].packages if package.name == "wordllama")
    return WordEmbedder() if model.is_for(sys.version_info) else HashEmbedder()


@dataclass(frozen=True, slots=True)
class FunctionEmbedder:
    """An embedder around a function of the caller, such as a provider's model."""

    name: str
    dim: int
    call: Callable[[Sequence[str]], Sequence[Sequence[float]]]
    parallel: int = 4
    form: str = "code"
    flags: tuple[str, ...] = ()
    """The flags of `fault index` that ask for it, for messages."""

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        vectors = [list(vector) for vector in self.call(texts)]
        if len(vectors) != len(texts):
            raise RunError(
                f"{self.name}: expected {len(texts)} vectors for as many texts, got {len(vectors)}"
            )
        wrong = next((vector for vector in vectors if len(vector) != self.dim), None)
        if wrong is not None:
            raise InputError(
                "embedding dimension", f"expected {self.dim}, but {self.name} gives vectors of {len(wrong)}"
            )
        return vectors


def function_embedder(
    name: str,
    call: Callable[[Sequence[str]], Sequence[Sequence[float]]],
    dim: int | None = None,
    parallel: int = 4,
) -> FunctionEmbedder:
    """Return an embedder. Without `dim`, one short text is embedded to learn the length of its vector."""
    if dim is not None and dim < 1:
        raise InputError("embedding dimension", f"expected 1 or more, got {dim}")
    if dim is None:
        vectors = call([_PROBE])
        dim = len(vectors[0]) if vectors else 0
        if not dim:
            raise RunError(f"{name}: expected a vector for a text, got none")
    return FunctionEmbedder(name, dim, call, parallel)


# Forms. The offline model knows words and no code: it receives the words of a chunk, names split into their
# parts, each once, and more of the significant ones. A model of a provider receives the code as it is.


NAME_REPEATS, PATH_REPEATS = 3, 1


@dataclass(frozen=True, slots=True)
class Form:
    """Which text of a chunk and of a question an embedder receives."""

    document: Callable[[Chunk], str]
    query: Callable[[str], str]


def _words(text: str) -> str:
    return " ".join(plain_words(text))


def _words_of_chunk(chunk: Chunk) -> str:
    name, path = _words(chunk.name), _words(chunk.path.rpartition(".")[0])
    different = dict.fromkeys(word for text in (chunk.doc, chunk.text) for word in different_words(text))
    return " ".join((*(name for _ in range(NAME_REPEATS)), *(path for _ in range(PATH_REPEATS)), *different))


def _code_of_chunk(chunk: Chunk) -> str:
    head = [f"{chunk.path}: {chunk.name}".rstrip(": ")]
    if chunk.doc and chunk.doc not in chunk.text:
        head.append(chunk.doc)
    return "\n".join((*head, chunk.text))


FORMS: dict[str, Form] = {
    "words": Form(_words_of_chunk, _words),
    "code": Form(_code_of_chunk, lambda text: text),
}


# Words of code and of questions, and their weights: the sparse half of the index.
#
# Names are split: `parseHTTPHeader2`, `parse_http_header_2` and "parse HTTP header 2" are the same words.
# Endings such as `-s` and `-ing` are removed, and a word becomes a number by a fixed hash. The weight is that
# of BM25 without the inverse document frequency, which the store adds, because it knows all documents.


SATURATION, LENGTH_PART, USUAL_LENGTH = 1.2, 0.75, 60.0
"""k1 and b of BM25, and the number of words that counts as neither long nor short."""
NAME_WEIGHT, DOC_WEIGHT, SIGNATURE_WEIGHT, PATH_WEIGHT = 4.0, 1.0, 1.0, 3.0
"""How often a word in that place counts; in the text itself, once. Found by `bench/index.py`."""

_RUN = re.compile(r"[^\W_]+")
_SMALL = r"[^\W\dA-Z_]"
"""A letter that does not begin a part of a name; in scripts without case, all letters."""
_PART = re.compile(rf"[A-Z]{{2,}}s(?!{_SMALL})|[A-Z]+(?!{_SMALL})|[A-Z]?{_SMALL}+|\d+")
_EVERYWHERE = (
    "a an and are as at be been by can do does for from has have if in into is it its not of on or so such "
    "than that the their then there these this to was were when which while will with you your self cls def"
)
_STOP = frozenset(_EVERYWHERE.split())
_MOST_CHARACTERS = 40
"""Longer words are keys, hashes or encoded data."""


@dataclass(frozen=True, slots=True)
class SparseVector:
    """Weights of words by their index."""

    indices: tuple[int, ...]
    """In rising order, each once."""
    values: tuple[float, ...]


def plain_words(text: str) -> Iterator[str]:
    """Yield all words in lower case, in the order of the text."""
    return chain.from_iterable(map(_parts_of, _RUN.findall(text)))


def different_words(text: str) -> Iterator[str]:
    """Yield words as `plain_words` does, but each name or word only at its first place."""
    return chain.from_iterable(map(_parts_of, dict.fromkeys(_RUN.findall(text))))


def words(text: str) -> Iterator[str]:
    """Yield words without endings, and without stop words."""
    return chain.from_iterable(map(_words_of, _RUN.findall(text)))


@lru_cache(maxsize=65536)
def _words_of(run: str) -> tuple[str, ...]:
    return tuple(stem(part) for part in _parts_of(run) if part not in _STOP)


@lru_cache(maxsize=65536)
def _parts_of(run: str) -> tuple[str, ...]:
    return () if len(run) > _MOST_CHARACTERS else tuple(part.lower() for part in _PART.findall(run))


def stem(word: str) -> str:
    """Return the word without endings that do not change its subject: `copies` and `copied` give `copy`."""
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
    """Return the vector of a chunk."""
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
    """Return the vector of a question; a repeated word counts once."""
    counts = Counter(words(text))
    return _vector({word: 1 + 0.5 * (1 - 1 / count) for word, count in counts.items()})


def _vector(weights: Mapping[str, float]) -> SparseVector:
    by_index: dict[int, float] = {}
    for word, weight in weights.items():
        index = index_of(word)
        # Two words with one index count as one word, with the heavier weight.
        by_index[index] = max(weight, by_index.get(index, 0.0))
    rising = sorted(by_index)
    return SparseVector(tuple(rising), tuple(by_index[index] for index in rising))


@lru_cache(maxsize=65536)
def index_of(word: str) -> int:
    """Return the index of a word: a fixed hash."""
    return int.from_bytes(blake2b(word.encode("utf-8", "surrogatepass"), digest_size=4).digest(), "big")
