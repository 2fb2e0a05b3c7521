"""Both stores keep the contract of `Store`. The server is a small one of our own: see `qdrant_peer`."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from faultkit.base.errors import InputError, TargetError
from faultkit.code.index import index_project, open_store, search
from faultkit.code.index.chunks import Chunk
from faultkit.code.index.edge_store import EdgeStore
from faultkit.code.index.embeddings import SparseVector
from faultkit.code.index.points import FileEntry, Manifest, Point
from faultkit.code.index.store import Store
from faultkit.code.source_files import folder_of
from tests.code.index.qdrant_peer import qdrant_peer
from tests.code.index.support import CountingEmbedder, write

if TYPE_CHECKING:
    from faultkit.code.index.server_store import ServerStore

MANIFEST = Manifest("some model", 2, complete=False)


def server_store(url: str, key: str | None, collection: str) -> ServerStore:
    """Return the store. Its import takes a second, which only the worker that runs this file should wait."""
    from faultkit.code.index.server_store import ServerStore

    return ServerStore(url, key, collection)


@pytest.fixture(params=["edge", "server"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    with ExitStack() as stack:
        if request.param == "edge":
            yield stack.enter_context(EdgeStore(tmp_path))
        else:
            peer = stack.enter_context(qdrant_peer())
            yield stack.enter_context(server_store(peer.url, None, "fault-test"))


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


def test_a_point_written_twice_is_stored_once_with_its_last_values(store: Store) -> None:
    store.create(MANIFEST)
    store.write([point(1, [1.0, 0.0], {7: 1.0})], [file("a.py", 1, 2)])
    store.write([point(1, [0.0, 1.0], {9: 1.0})], [file("a.py", 1)])
    assert list(store.files()) == [file("a.py", 1)]
    assert store.vectors([id_of(1), id_of(2)]) == {id_of(1): [0.0, 1.0]}
    assert store.near_lexical(SparseVector((7,), (1.0,)), 5) == []


def test_deleted_points_are_removed_and_deleting_again_has_no_effect(store: Store) -> None:
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


def test_creating_a_store_again_removes_its_points(store: Store) -> None:
    store.create(MANIFEST)
    store.write([point(1, [1.0, 0.0], {1: 1.0})], [])
    larger = Manifest("another model", 3, complete=False)
    store.create(larger)
    assert store.manifest() == larger
    assert list(store.files()) == []
    store.write([point(1, [1.0, 0.0, 0.0], {1: 1.0})], [])
    assert len(store.near_dense([1.0, 0.0, 0.0], 5)) == 1


# The server store alone: its requests, and its errors when the server fails.


def test_a_collection_is_made_with_a_dense_and_a_sparse_vector_whose_weights_the_server_knows() -> None:
    with qdrant_peer() as peer, server_store(peer.url, "secret", "fault-x") as store:
        store.create(Manifest("model", 16, complete=False))
        config = peer.configs["fault-x"]
        assert config["vectors"] == {"dense": {"size": 16, "distance": "Cosine"}}
        assert config["sparse_vectors"] == {"lexical": {"modifier": "idf"}}
        assert set(peer.keys) == {"secret"}


def test_a_project_is_indexed_on_the_server_that_the_environment_names(tmp_path: Path) -> None:
    root, embedder = tmp_path / "shop", CountingEmbedder()
    write(root, {"pay.py": "def charge(card): ...\n", "ship.py": "def send(parcel): ...\n"})
    with qdrant_peer() as peer:
        env = {"QDRANT_URL": peer.url, "QDRANT_API_KEY": "secret"}
        with open_store(folder_of(root), write=True, index_dir=tmp_path / "i", env=env) as store:
            first = index_project(root, None, store, embedder)
        before = len(peer.requests)
        with open_store(folder_of(root), write=True, index_dir=tmp_path / "i", env=env) as store:
            again = index_project(root, None, store, embedder)
        later = peer.requests[before:]
        with open_store(folder_of(root), write=False, env=env) as store:
            hits = search(store, embedder, "charge a card", 1)
        (collection,) = peer.configs
    assert collection.startswith("fault-shop-")
    assert (first.indexed, again.indexed, again.unchanged) == (2, 0, 2)
    assert not [path for method, path, _ in later if method == "PUT" or "delete" in path]
    assert [(hit.path, hit.name) for hit in hits] == [("pay.py", "charge")]


def test_writes_wait_for_their_completion(tmp_path: Path) -> None:
    write(tmp_path / "p", {"a.py": "def f(): ...\n"})
    with qdrant_peer() as peer:
        with open_store(
            folder_of(tmp_path / "p"), write=True, index_dir=tmp_path / "i", env={"QDRANT_URL": peer.url}
        ) as store:
            index_project(tmp_path / "p", None, store, CountingEmbedder())
        writes = [path for method, path, _ in peer.requests if method == "PUT" and "/points" in path]
    assert writes
    assert all("wait=true" in path for path in writes)


def test_a_server_that_is_down_is_a_target_error_with_a_remedy() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with server_store(url, None, "fault-x") as store, pytest.raises(TargetError) as caught:
            store.manifest()
    assert str(caught.value).startswith(f"QDRANT_URL: Qdrant at {url} does not answer: ")
    assert "unset QDRANT_URL" in str(caught.value)


@pytest.mark.parametrize(
    ("failure", "message"),
    [
        ((401, b"{}"), "QDRANT_API_KEY: Qdrant at {url} refuses the key (HTTP 401)"),
        ((403, b"{}"), "QDRANT_API_KEY: Qdrant at {url} refuses the key (HTTP 403)"),
        ((500, b"out of disk"), "QDRANT_URL: Qdrant at {url} answered HTTP 500: out of disk"),
        ((200, b"<html>"), "QDRANT_URL: what answers at {url} is not Qdrant: "),
        ((200, b'{"hello": "world"}'), "QDRANT_URL: what answers at {url} is not Qdrant: "),
    ],
)
def test_a_server_with_other_responses_is_an_error(failure: tuple[int, bytes], message: str) -> None:
    with qdrant_peer() as peer, server_store(peer.url, "wrong", "fault-x") as store:
        peer.failure = failure
        with pytest.raises(TargetError) as caught:
            store.manifest()
        assert str(caught.value).startswith(message.format(url=peer.url))


def test_a_server_that_fails_half_way_leaves_an_incomplete_index(tmp_path: Path) -> None:
    root, embedder = tmp_path / "p", CountingEmbedder()
    write(root, {"a.py": "def f(): ...\n"})
    with qdrant_peer() as peer:
        env = {"QDRANT_URL": peer.url}

        def fail(step: object) -> None:
            peer.failure = (500, b"")

        with open_store(folder_of(root), write=True, index_dir=tmp_path / "i", env=env) as store:
            with pytest.raises(TargetError):
                index_project(root, None, store, embedder, fail)
            peer.failure = None
            manifest = store.manifest()
            assert manifest is not None
            assert not manifest.complete
            assert index_project(root, None, store, embedder).files == 1
            manifest = store.manifest()
            assert manifest is not None
            assert manifest.complete


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("http://localhost:6333/", "http://localhost:6333"),
        ("http://localhost:6334", "http://localhost:6333"),
        ("https://x.example/qdrant/", "https://x.example/qdrant"),
    ],
)
def test_the_port_of_grpc_stands_for_that_of_rest(given: str, meant: str) -> None:
    from faultkit.code.index.server_store import rest_url

    assert rest_url(given) == meant


@pytest.mark.parametrize("given", ["localhost:6333", "ftp://x", "http://", "http://x:port", "http://[::1"])
def test_an_invalid_url_is_refused(given: str) -> None:
    from faultkit.code.index.server_store import rest_url

    with pytest.raises(InputError, match=r"^QDRANT_URL: expected a URL such as http://localhost:6333, got "):
        rest_url(given)
