"""Search by words, by meaning and by both, and invalid searches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from faultkit.base.errors import InputError
from faultkit.code.index import MODES, HashEmbedder, Store, WordEmbedder, index_project, search
from faultkit.code.index.points import ScoredPoint
from faultkit.code.index.store import DENSE_WEIGHT, RANK_OFFSET, best_per_function, fuse
from tests.code.index.support import CountingEmbedder, opened, write

FILES = {
    "net.py": (
        "def retry_with_backoff(call):\n    for attempt in range(5):\n        sleep(2 ** attempt)\n\n\n"
        "def open_socket(host, port):\n    return socket.create_connection((host, port))\n"
    ),
    "text.py": "def split_words(line):\n    return line.split()\n\n\nVOWELS = 'aeiou'\n",
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    root, index_dir = tmp_path_factory.mktemp("project"), tmp_path_factory.mktemp("index")
    write(root, FILES)
    with opened(root, index_dir) as store:
        index_project(root, None, store, WordEmbedder())
        yield store


@pytest.mark.parametrize("mode", MODES)
def test_a_function_is_found_by_what_it_is_called(store: Store, mode: str) -> None:
    hit = search(store, WordEmbedder(), "open a socket", 1, mode)[0]  # type: ignore[arg-type]
    assert (hit.path, hit.name, hit.start_line, hit.end_line) == ("net.py", "open_socket", 6, 7)
    assert hit.language == "python"
    assert hit.snippet.startswith("def open_socket(host, port):\n")
    assert hit.score > 0


def test_search_by_meaning_finds_other_words(store: Store) -> None:
    assert search(store, WordEmbedder(), "internet connection", 1, "dense")[0].name == "open_socket"
    assert search(store, WordEmbedder(), "internet connection", 1)[0].name == "open_socket"


def test_search_without_a_model_finds_forms_of_words(tmp_path: Path) -> None:
    write(tmp_path / "project", FILES)
    with opened(tmp_path / "project", tmp_path / "index") as store:
        index_project(tmp_path / "project", None, store, HashEmbedder())
        assert search(store, HashEmbedder(), "opening of sockets", 1, "dense")[0].name == "open_socket"


def test_the_limit_is_kept_and_the_best_come_first(store: Store) -> None:
    hits = search(store, WordEmbedder(), "split words of a line", 2)
    assert hits[0].name == "split_words"
    assert len(hits) == 2
    assert hits[0].score >= hits[1].score


@pytest.mark.parametrize("mode", MODES)
def test_a_question_without_words_finds_nothing(store: Store, mode: str) -> None:
    assert search(store, WordEmbedder(), "?!", mode=mode) == []  # type: ignore[arg-type]


def test_invalid_searches_are_refused(store: Store) -> None:
    embedder = WordEmbedder()
    with pytest.raises(InputError, match=r"^query: expected some words, got nothing$"):
        search(store, embedder, " \n")
    with pytest.raises(InputError, match=r"^limit: expected 1 to 100, got 0$"):
        search(store, embedder, "x", 0)
    with pytest.raises(InputError, match=r"^mode: expected one of hybrid, dense, lexical, got 'fuzzy'$"):
        search(store, embedder, "x", mode="fuzzy")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^index: expected vectors made by counting"):
        search(store, CountingEmbedder(), "x")


def scored(id: str, name: str = "", path: str = "a.py", line: int = 1) -> ScoredPoint:
    return ScoredPoint(id, 0.0, path, name or id, "python", line, line, "")


def test_a_place_in_both_lists_beats_the_top_of_one() -> None:
    dense, words = [scored("d"), scored("both")], [scored("w"), scored("both")]
    found = fuse([(DENSE_WEIGHT, dense), (1.0, words)])
    assert [each.id for each in found] == ["both", "w", "d"]
    assert found[0].score == pytest.approx((DENSE_WEIGHT + 1.0) / (RANK_OFFSET + 2))
    assert found[1].score == pytest.approx(1.0 / (RANK_OFFSET + 1))


def test_of_a_function_in_several_chunks_the_best_is_kept_and_of_the_module_all() -> None:
    pieces = [scored("1", "f"), scored("2", "f", line=9), scored("3", "f", path="b.py")]
    module = [
        ScoredPoint("4", 0.0, "a.py", "", "python", 1, 1, ""),
        ScoredPoint("5", 0.0, "a.py", "", "python", 7, 9, ""),
    ]
    assert [each.id for each in best_per_function([*pieces, *module])] == ["1", "3", "4", "5"]
