"""Words and their weights."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultkit.code.index.chunks import Chunk
from faultkit.code.index.embeddings import document_vector, index_of, plain_words, query_vector, stem, words


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
def test_names_are_taken_apart(text: str, found: list[str]) -> None:
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


def test_words_that_are_everywhere_and_no_words_at_all_are_left_out() -> None:
    assert list(words("the self of a " + "a1b2" * 20)) == []


def test_an_index_is_fixed_for_ever() -> None:
    """It is in the indexes of users."""
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
