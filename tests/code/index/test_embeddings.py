"""Dense vectors of the offline model and of functions, the texts that they receive, and sparse vectors."""

from __future__ import annotations

import logging
import math
import subprocess
import sys
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.base.errors import InputError, RunError
from faultkit.code.index.chunks import Chunk
from faultkit.code.index.embeddings import (
    FORMS,
    FunctionEmbedder,
    HashEmbedder,
    WordEmbedder,
    document_vector,
    function_embedder,
    index_of,
    offline_embedder,
    plain_words,
    query_vector,
    stem,
    words,
)

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


HASHED_A = {42: 0.7071, 224: 0.7071}


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def test_words_of_like_meaning_are_nearer_than_others() -> None:
    embedder = WordEmbedder()
    error, failure, banana = embedder.embed(["error", "failure", "banana"])
    assert cosine(error, failure) > cosine(error, banana)


def test_forms_of_a_word_are_nearer_than_others_without_a_model() -> None:
    retry, retries, banana = HashEmbedder().embed(["retry", "retries", "banana"])
    assert cosine(retry, retries) > cosine(retry, banana)


def test_a_vector_of_hashes_is_the_same_on_every_machine() -> None:
    vector = HashEmbedder().embed(["a"])[0]
    assert {at: round(value, 4) for at, value in enumerate(vector) if value} == HASHED_A


def test_hashes_take_the_place_of_the_model_where_it_has_no_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(offline_embedder(), WordEmbedder if sys.version_info < (3, 14) else HashEmbedder)
    monkeypatch.setattr(sys, "version_info", (3, 14, 0))
    assert isinstance(offline_embedder(), HashEmbedder)


@pytest.mark.parametrize("embedder", [WordEmbedder(), HashEmbedder()], ids=lambda each: each.name)
def test_every_vector_has_length_one_and_that_of_nothing_is_zero(
    embedder: WordEmbedder | HashEmbedder,
) -> None:
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


def test_no_texts_give_no_vectors() -> None:
    assert WordEmbedder().embed([]) == []


def test_loading_the_model_does_not_change_logging() -> None:
    script = (
        "import logging, faultkit.code.index.embeddings as e; e.WordEmbedder().embed(['x']);"
        "print(logging.getLogger().handlers, logging.getLogger().level)"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == f"[] {logging.WARNING}\n"


def test_the_offline_model_receives_words_and_the_name_three_times() -> None:
    words = FORMS["words"].document(CHUNK).split()
    assert words[:9] == ["client", "get", "url"] * 3
    assert words[9:] == ["net", "http", "client", "fetches", "func", "get", "url", "fetch"]
    assert FORMS["words"].query("get the URL!") == "get the url"


def test_a_function_embedder_receives_the_code_unchanged() -> None:
    assert FORMS["code"].document(CHUNK) == (
        "net/http_client.go: Client.getURL\nFetches.\nfunc getURL() { fetch() }"
    )
    assert FORMS["code"].query("get the URL!") == "get the URL!"


def test_a_function_embedder_is_called_once_for_its_dimension_unless_it_is_given() -> None:
    calls: list[Sequence[str]] = []

    def call(texts: Sequence[str]) -> list[list[float]]:
        calls.append(texts)
        return [[0.0, 1.0, 0.0] for _ in texts]

    assert function_embedder("m", call).dim == 3
    assert len(calls) == 1
    assert function_embedder("m", call, 3).embed(["a", "b"]) == [[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]


def test_a_model_that_returns_too_few_or_other_vectors_is_an_error() -> None:
    few = FunctionEmbedder("m", 2, lambda texts: [[1.0, 0.0]])
    with pytest.raises(RunError, match=r"^m: expected 2 vectors for as many texts, got 1$"):
        few.embed(["a", "b"])
    with pytest.raises(InputError, match=r"^embedding dimension: expected 3, but m gives vectors of 2$"):
        function_embedder("m", lambda texts: [[1.0, 0.0] for _ in texts], 3).embed(["a"])
    with pytest.raises(RunError, match="expected a vector for a text, got none"):
        function_embedder("m", lambda texts: [])
    with pytest.raises(InputError, match="embedding dimension: expected 1 or more, got 0"):
        function_embedder("m", lambda texts: [], 0)


# Words and their weights.


def chunk(name: str = "", text: str = "", path: str = "x.py", doc: str = "") -> Chunk:
    return Chunk("id", path, name, "python", 1, 1, "", doc, text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("parseHTTPHeader2", ["parse", "http", "header", "2"]),
        ("parse_http_header_2", ["parse", "http", "header", "2"]),
        ("HTTPServer.getURLs", ["http", "server", "get", "urls"]),
        ("MAX_SIZE", ["max", "size"]),
        ("größe naïve", ["größe", "naïve"]),
        ("x=1;y+=2", ["x", "1", "y", "2"]),
        ("", []),
    ],
)
def test_names_are_split_into_words(text: str, found: list[str]) -> None:
    assert list(plain_words(text)) == found


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("returns", "return"),
        ("retrying", "retry"),
        ("copies", "copied"),
        ("parsed", "parsing"),
        ("stopped", "stop"),
        ("caches", "cache"),
        ("classes", "class"),
        ("encoder", "encoding"),
    ],
)
def test_words_that_differ_in_their_ending_only_are_one(first: str, second: str) -> None:
    assert stem(first) == stem(second)


@pytest.mark.parametrize("word", ["is", "bus", "api", "was", "this", "status"])
def test_short_and_whole_words_stay(word: str) -> None:
    assert stem(word) == word


def test_stop_words_and_encoded_data_are_left_out() -> None:
    assert list(words("the self of a " + "a1b2" * 20)) == []


def test_the_index_of_a_word_never_changes() -> None:
    """The hash is stored in indexes of users, so it must not change."""
    assert (index_of("retry"), index_of("é")) == (1387884052, 2504344770)


def test_a_word_of_the_name_weighs_more_than_one_of_the_text() -> None:
    vector = document_vector(chunk(name="connect", text="socket"))
    weight = dict(zip(vector.indices, vector.values, strict=True))
    assert weight[index_of("connect")] > weight[index_of("socket")] > 0


def test_a_word_weighs_less_the_longer_the_text_around_it_and_more_the_more_often_it_comes() -> None:
    def weight(text: str) -> float:
        vector = document_vector(chunk(text=text))
        return dict(zip(vector.indices, vector.values, strict=True))[index_of("socket")]

    filler = " ".join(f"word{chr(97 + number)}" for number in range(20))
    assert weight("socket") > weight(f"socket {filler}")
    assert weight("socket socket") > weight("socket")


def test_a_question_without_words_has_an_empty_vector() -> None:
    assert query_vector("the of ?!").indices == ()


@given(st.text(max_size=300))
def test_vectors_rise_without_repeats_and_all_weights_are_positive(text: str) -> None:
    for vector in (query_vector(text), document_vector(chunk(name=text[:20], text=text, doc=text[:50]))):
        assert list(vector.indices) == sorted(set(vector.indices))
        assert len(vector.indices) == len(vector.values)
        assert all(value > 0 for value in vector.values)
        assert all(0 <= index < 2**32 for index in vector.indices)


@given(st.lists(st.from_regex(r"[a-z]{2,9}", fullmatch=True), min_size=1, max_size=4))
def test_all_ways_to_write_a_name_are_the_same_words(parts: list[str]) -> None:
    camel = parts[0] + "".join(part.capitalize() for part in parts[1:])
    assert list(words("_".join(parts))) == list(words(camel)) == list(words(" ".join(parts)))
    assert list(words("_".join(parts).upper())) == list(words(camel))


@given(st.from_regex(r"[a-z]{1,15}", fullmatch=True))
def test_a_stem_is_a_beginning_of_its_word_but_for_y(word: str) -> None:
    found = stem(word)
    assert found
    assert word.startswith(found.removesuffix("y"))
