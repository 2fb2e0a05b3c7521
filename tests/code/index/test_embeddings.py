"""The offline model, models from outside, and what each is fed."""

from __future__ import annotations

import logging
import math
import subprocess
import sys
from collections.abc import Sequence

import pytest

from faultkit.base.errors import InputError, RunError
from faultkit.code.index.chunks import Chunk
from faultkit.code.index.embeddings import FORMS, GivenEmbedder, WordEmbedder, given_embedder

CHUNK = Chunk(
    "id",
    "net/http_client.go",
    "Client.getURL",
    "go",
    1,
    2,
    "func getURL()",
    "Fetches.",
    "func getURL() { fetch() }",
)


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def test_words_of_like_meaning_are_nearer_than_others() -> None:
    embedder = WordEmbedder()
    error, failure, banana = embedder.embed(["error", "failure", "banana"])
    assert cosine(error, failure) > cosine(error, banana)


def test_every_vector_has_length_one_and_that_of_nothing_is_zero() -> None:
    embedder = WordEmbedder()
    one, other, nothing = embedder.embed(["retry with backoff", "x" * 5000, ""])
    assert len(one) == embedder.dim == 256
    assert math.hypot(*one) == pytest.approx(1.0, abs=1e-5)
    assert math.hypot(*other) == pytest.approx(1.0, abs=1e-5)
    assert nothing == [0.0] * 256


def test_a_vector_does_not_depend_on_the_others_of_its_batch() -> None:
    embedder = WordEmbedder()
    assert (
        embedder.embed(["open a socket"]) == embedder.embed(["much longer text " * 50, "open a socket"])[1:]
    )


def test_no_text_gives_no_vector() -> None:
    assert WordEmbedder().embed([]) == []


def test_to_load_the_model_leaves_logging_as_it_was() -> None:
    script = (
        "import logging, faultkit.code.index.embeddings as e; e.WordEmbedder().embed(['x']);"
        "print(logging.getLogger().handlers, logging.getLogger().level)"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == f"[] {logging.WARNING}\n"


def test_the_offline_model_is_fed_words_and_the_name_thrice() -> None:
    words = FORMS["words"].document(CHUNK).split()
    assert words[:9] == ["client", "get", "url"] * 3
    assert words[9:] == ["net", "http", "client", "fetches", "func", "get", "url", "fetch"]
    assert FORMS["words"].query("get the URL!") == "get the url"


def test_a_model_from_outside_is_fed_the_code_as_it_is() -> None:
    assert FORMS["code"].document(CHUNK) == (
        "net/http_client.go: Client.getURL\nFetches.\nfunc getURL() { fetch() }"
    )
    assert FORMS["code"].query("get the URL!") == "get the URL!"


def test_a_model_from_outside_is_asked_once_for_its_dimension_unless_it_is_told() -> None:
    calls: list[Sequence[str]] = []

    def call(texts: Sequence[str]) -> list[list[float]]:
        calls.append(texts)
        return [[0.0, 1.0, 0.0] for _ in texts]

    assert given_embedder("m", call).dim == 3
    assert len(calls) == 1
    assert given_embedder("m", call, 3).embed(["a", "b"]) == [[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]


def test_a_model_that_gives_too_few_or_other_vectors_is_told_of() -> None:
    few = GivenEmbedder("m", 2, lambda texts: [[1.0, 0.0]])
    with pytest.raises(RunError, match=r"^m: expected 2 vectors for as many texts, got 1$"):
        few.embed(["a", "b"])
    with pytest.raises(InputError, match=r"^embedding dimension: expected 3, but m gives vectors of 2$"):
        given_embedder("m", lambda texts: [[1.0, 0.0] for _ in texts], 3).embed(["a"])
    with pytest.raises(RunError, match="expected a vector for a text, got none"):
        given_embedder("m", lambda texts: [])
    with pytest.raises(InputError, match="embedding dimension: expected 1 or more, got 0"):
        given_embedder("m", lambda texts: [], 0)
