"""What both stores promise. The server is a peer made by hand: see `qdrant_peer`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from faultkit.code.index.chunks import Chunk
from faultkit.code.index.edge_store import EdgeStore
from faultkit.code.index.embeddings import SparseVector
from faultkit.code.index.points import FileEntry, Manifest, Point
from faultkit.code.index.server_store import ServerStore
from faultkit.code.index.store import Store
from tests.code.index.qdrant_peer import qdrant_peer

MANIFEST = Manifest("some model", 2, complete=False)


@pytest.fixture(params=["edge", "server"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    with ExitStack() as stack:
        if request.param == "edge":
            yield stack.enter_context(EdgeStore(tmp_path))
        else:
            peer = stack.enter_context(qdrant_peer())
            yield stack.enter_context(ServerStore(peer.url, None, "fault-test"))


def id_of(number: int) -> str:
    return f"10000000-0000-0000-0000-{number:012d}"


def point(number: int, dense: list[float], words: dict[int, float]) -> Point:
    chunk = Chunk(id_of(number), "a.py", f"f{number}", "python", number, number + 1, "def f():", "", "text")
    return Point(chunk, dense, SparseVector(tuple(words), tuple(words.values())))


def file(path: str, *numbers: int) -> FileEntry:
    return FileEntry(path, "python", f"hash of {path}", frozenset(map(id_of, numbers)))


def test_a_new_store_has_no_manifest_and_then_the_one_it_was_made_with(store: Store) -> None:
    assert store.manifest() is None
    store.create(MANIFEST)
    assert store.manifest() == MANIFEST
    done = Manifest("some model", 2, complete=True)
    store.put_manifest(done)
    assert store.manifest() == done


def test_the_files_are_as_they_were_written(store: Store) -> None:
    store.create(MANIFEST)
    store.write([point(1, [1.0, 0.0], {7: 1.0}), point(2, [0.0, 1.0], {8: 1.0})], [file("a.py", 1, 2)])
    store.write([point(3, [0.0, 1.0], {8: 1.0})], [file("b.py", 3)])
    assert sorted(store.files(), key=lambda each: each.path) == [file("a.py", 1, 2), file("b.py", 3)]


def test_files_beyond_a_page_are_all_listed(store: Store) -> None:
    store.create(MANIFEST)
    files = [file(f"{number}.py", number) for number in range(1200)]
    store.write([point(number, [1.0, 0.0], {7: 1.0}) for number in range(1200)], files)
    assert sorted(store.files(), key=lambda each: each.path) == sorted(files, key=lambda each: each.path)


def test_what_is_written_twice_is_there_once_as_it_was_last(store: Store) -> None:
    store.create(MANIFEST)
    store.write([point(1, [1.0, 0.0], {7: 1.0})], [file("a.py", 1, 2)])
    store.write([point(1, [0.0, 1.0], {9: 1.0})], [file("a.py", 1)])
    assert list(store.files()) == [file("a.py", 1)]
    assert store.vectors([id_of(1), id_of(2)]) == {id_of(1): [0.0, 1.0]}
    assert store.near_lexical(SparseVector((7,), (1.0,)), 5) == []


def test_what_is_deleted_is_gone_and_to_delete_it_again_is_nothing(store: Store) -> None:
    store.create(MANIFEST)
    store.write([point(1, [1.0, 0.0], {7: 1.0}), point(2, [1.0, 0.0], {7: 1.0})], [file("a.py", 1, 2)])
    for _ in range(2):
        store.delete([id_of(1), file("a.py").id])
    store.flush()
    store.tidy()
    assert list(store.files()) == []
    assert [each.name for each in store.near_dense([1.0, 0.0], 5)] == ["f2"]
    assert store.vectors([id_of(1)]) == {}


def test_nothing_to_write_read_or_delete_is_fine(store: Store) -> None:
    store.create(MANIFEST)
    store.write([], [])
    store.delete([])
    assert store.vectors([]) == {}
    assert list(store.files()) == []
    assert store.near_dense([1.0, 0.0], 5) == []
    assert store.near_lexical(SparseVector((), ()), 5) == []


def test_the_nearest_by_direction_comes_first(store: Store) -> None:
    store.create(MANIFEST)
    directions = ([1.0, 0.0], [0.6, 0.8], [0.0, 1.0])
    store.write([point(number, each, {1: 1.0}) for number, each in enumerate(directions, start=1)], [])
    found = store.near_dense([0.0, 2.0], 2)
    assert [(each.name, round(each.score, 3)) for each in found] == [("f3", 1.0), ("f2", 0.8)]
    first = found[0]
    assert (first.path, first.language, first.text) == ("a.py", "python", "text")
    assert (first.start_line, first.end_line) == (3, 4)


def test_a_rare_word_counts_more_than_one_that_all_have(store: Store) -> None:
    store.create(MANIFEST)
    common, rare = 5, 6
    store.write([point(number, [1.0, 0.0], {common: 1.0}) for number in (1, 2, 4)], [])
    store.write([point(3, [1.0, 0.0], {rare: 1.0})], [])
    found = store.near_lexical(SparseVector((common, rare), (1.0, 1.0)), 2)
    assert found[0].name == "f3"
    assert found[0].score > found[1].score


def test_to_create_again_is_to_forget(store: Store) -> None:
    store.create(MANIFEST)
    store.write([point(1, [1.0, 0.0], {1: 1.0})], [])
    larger = Manifest("another model", 3, complete=False)
    store.create(larger)
    assert store.manifest() == larger
    assert list(store.files()) == []
    store.write([point(1, [1.0, 0.0, 0.0], {1: 1.0})], [])
    assert len(store.near_dense([1.0, 0.0, 0.0], 5)) == 1
