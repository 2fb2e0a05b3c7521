"""What the server adapter sends, and what it says when the server does not do its part."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from faultkit.base.errors import InputError, TargetError
from faultkit.code.index import index_project, open_store, search
from faultkit.code.index.points import Manifest
from faultkit.code.index.server_store import ServerStore, rest_url
from faultkit.code.walk import folder_of
from tests.code.index.qdrant_peer import qdrant_peer
from tests.code.index.support import CountingEmbedder, write


def test_a_collection_is_made_with_a_dense_and_a_sparse_vector_whose_weights_the_server_knows() -> None:
    with qdrant_peer() as peer, ServerStore(peer.url, "secret", "fault-x") as store:
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


def test_writes_are_waited_for(tmp_path: Path) -> None:
    write(tmp_path / "p", {"a.py": "def f(): ...\n"})
    with qdrant_peer() as peer:
        with open_store(
            folder_of(tmp_path / "p"), write=True, index_dir=tmp_path / "i", env={"QDRANT_URL": peer.url}
        ) as store:
            index_project(tmp_path / "p", None, store, CountingEmbedder())
        writes = [path for method, path, _ in peer.requests if method == "PUT" and "/points" in path]
    assert writes
    assert all("wait=true" in path for path in writes)


def test_a_server_that_is_down_is_a_target_error_that_says_what_to_do() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with ServerStore(url, None, "fault-x") as store, pytest.raises(TargetError) as caught:
            store.manifest()
    assert str(caught.value).startswith(f"QDRANT_URL: Qdrant at {url} does not answer: ")
    assert "unset QDRANT_URL" in str(caught.value)


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        ((401, b"{}"), "QDRANT_API_KEY: Qdrant at {url} refuses the key (HTTP 401)"),
        ((403, b"{}"), "QDRANT_API_KEY: Qdrant at {url} refuses the key (HTTP 403)"),
        ((500, b"out of disk"), "QDRANT_URL: Qdrant at {url} answered HTTP 500: out of disk"),
        ((200, b"<html>"), "QDRANT_URL: what answers at {url} is not Qdrant: "),
        ((200, b'{"hello": "world"}'), "QDRANT_URL: what answers at {url} is not Qdrant: "),
    ],
)
def test_a_server_that_answers_otherwise_is_told_of(failure: tuple[int, bytes], said: str) -> None:
    with qdrant_peer() as peer, ServerStore(peer.url, "wrong", "fault-x") as store:
        peer.failure = failure
        with pytest.raises(TargetError) as caught:
            store.manifest()
        assert str(caught.value).startswith(said.format(url=peer.url))


def test_a_server_that_fails_half_way_leaves_an_index_that_knows_it(tmp_path: Path) -> None:
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
    assert rest_url(given) == meant


@pytest.mark.parametrize("given", ["localhost:6333", "ftp://x", "http://", "http://x:port", "http://[::1"])
def test_what_is_no_url_is_refused(given: str) -> None:
    with pytest.raises(InputError, match=r"^QDRANT_URL: expected a URL such as http://localhost:6333, got "):
        rest_url(given)
