"""Texts as dense vectors: the small model that comes with `wordllama`, or any that is given from outside.

What a model is fed is its `form`; see `faultkit.code.index.forms`.
"""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from faultkit.base.errors import InputError, RunError

_PROBE = "the length of this text's vector tells the dimension"


class Embedder(Protocol):
    @property
    def name(self) -> str:
        """Which model, and what it is fed: an index made with one is of no use to another."""

    @property
    def dim(self) -> int: ...

    @property
    def parallel(self) -> int:
        """How many calls may be under way at once."""

    @property
    def form(self) -> str:
        """A key of `forms.FORMS`."""

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector a text, each of length 1 or, if there is nothing to say, 0."""


@dataclass(frozen=True, slots=True)
class WordEmbedder:
    """Offline and at once: an average over the words' vectors. The model is loaded at the first text."""

    name: str = "wordllama l2_supercat 256, words 1"
    dim: int = 256
    parallel: int = 1
    """Its tokenizer uses all cores by itself."""
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
        raise RunError(
            "offline embeddings cannot be made: the package is not installed (pip install wordllama)"
        )
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
        # To import it turns on logging for the whole program, which is not its business.
        root.handlers[:], root.level = before
    # It pads the texts of a batch to the longest, for nothing: an average needs no padding.
    model.tokenizer.no_padding()
    return model


@dataclass(frozen=True, slots=True)
class GivenEmbedder:
    """A model that somebody else calls, such as a provider's."""

    name: str
    dim: int
    call: Callable[[Sequence[str]], Sequence[Sequence[float]]]
    parallel: int = 4
    form: str = "code"

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


def given_embedder(
    name: str,
    call: Callable[[Sequence[str]], Sequence[Sequence[float]]],
    dim: int | None = None,
    parallel: int = 4,
) -> GivenEmbedder:
    """Without `dim`, one short text is embedded to see how long its vector is."""
    if dim is not None and dim < 1:
        raise InputError("embedding dimension", f"expected 1 or more, got {dim}")
    if dim is None:
        vectors = call([_PROBE])
        dim = len(vectors[0]) if vectors else 0
        if not dim:
            raise RunError(f"{name}: expected a vector for a text, got none")
    return GivenEmbedder(name, dim, call, parallel)
