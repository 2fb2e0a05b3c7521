"""An index follows its project: new, changed and removed files, and indexes that do not fit."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from faultkit.base.errors import InputError, RunError
from faultkit.code import language_named
from faultkit.code.index import IndexSummary, Progress, SkippedFile, index_project, search
from faultkit.code.index.store import collection_name, default_index_dir, open_store
from faultkit.code.source_files import folder_of
from tests.code.index.support import CountingEmbedder, all_points, opened, write

FILES = {
    "pay.py": "def charge(card):\n    return card\n\n\ndef refund(order):\n    return order\n",
    "ship/send.go": "package ship\n\n// Send sends.\nfunc Send() {\n}\n",
    "empty/__init__.py": "\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path / "shop", FILES)
    return tmp_path / "shop"


@pytest.fixture
def index(root: Path, tmp_path: Path) -> Callable[..., IndexSummary]:
    def run(embedder: CountingEmbedder | None = None, lang: str | None = None, **more: bool) -> IndexSummary:
        language = None if lang is None else language_named(lang)
        with opened(root, tmp_path / "index") as store:
            return index_project(root, language, store, embedder or CountingEmbedder(), **more)  # type: ignore[arg-type]

    return run


def counts(summary: IndexSummary) -> tuple[int, int, int, int]:
    return summary.files, summary.indexed, summary.unchanged, summary.removed


def names(root: Path, tmp_path: Path) -> set[str]:
    payloads = [payload for payload, _, _ in all_points(tmp_path / "index").values()]
    return {payload["name"] for payload in payloads if payload.get("name")}


def test_a_project_is_indexed_once_and_then_unchanged(
    index: Callable[..., IndexSummary], tmp_path: Path
) -> None:
    first = index()
    assert counts(first) == (2, 2, 0, 0)
    assert (first.chunks, first.embedded, first.skipped) == (4, 4, ())
    assert first.size_bytes is not None
    before = all_points(tmp_path / "index")
    again = CountingEmbedder()
    assert counts(index(again)) == (2, 0, 2, 0)
    assert again.texts_received == []
    assert all_points(tmp_path / "index") == before


def test_a_changed_file_is_written_again_and_only_its_new_chunks_are_embedded(
    index: Callable[..., IndexSummary], root: Path, tmp_path: Path
) -> None:
    index()
    write(root, {"pay.py": "\n" + FILES["pay.py"].replace("refund", "return_money")})
    embedder = CountingEmbedder()
    assert counts(index(embedder)) == (2, 1, 1, 0)
    assert len(embedder.texts_received) == 1
    assert "return money" in embedder.texts_received[0]
    assert names(root, tmp_path) == {"charge", "return_money", "Send"}
    lines = {
        payload["name"]: payload["start_line"]
        for payload, dense, _ in all_points(tmp_path / "index").values()
        if dense
    }
    assert lines["charge"] == 2


def test_an_index_updated_in_steps_equals_one_made_at_once(
    index: Callable[..., IndexSummary], root: Path, tmp_path: Path
) -> None:
    index()
    write(root, {"pay.py": "def charge(): ...\n", "new.py": "def fresh(): ...\n"})
    (root / "ship" / "send.go").unlink()
    assert counts(index()) == (2, 2, 0, 1)
    stepwise = all_points(tmp_path / "index")
    index(rebuild=True)
    assert all_points(tmp_path / "index") == stepwise


def test_with_a_language_the_files_of_others_stay(
    index: Callable[..., IndexSummary], root: Path, tmp_path: Path
) -> None:
    index()
    (root / "ship" / "send.go").unlink()
    (root / "pay.py").unlink()
    assert counts(index(lang="python")) == (1, 0, 0, 1)
    assert names(root, tmp_path) == {"Send"}


def test_a_file_that_can_no_longer_be_read_is_removed_and_reported(
    index: Callable[..., IndexSummary], root: Path, tmp_path: Path
) -> None:
    index()
    (root / "pay.py").write_bytes(b"def charge(): return '\xff'\n")
    summary = index()
    assert counts(summary) == (1, 0, 1, 1)
    assert [each.path for each in summary.skipped] == ["pay.py"]
    assert "invalid or missing encoding declaration" in summary.skipped[0].why
    assert names(root, tmp_path) == {"Send"}


def test_a_huge_file_is_skipped_with_a_reason(index: Callable[..., IndexSummary], root: Path) -> None:
    (root / "data.py").write_text("x = 1\n" * 200_000)
    assert index().skipped == (SkippedFile("data.py", "is larger than 1,048,576 bytes"),)


def test_an_empty_project_has_an_empty_index(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with opened(tmp_path / "empty", tmp_path / "index") as store:
        assert counts(index_project(tmp_path / "empty", None, store, CountingEmbedder())) == (0, 0, 0, 0)
        assert search(store, CountingEmbedder(), "anything") == []


def test_another_embedder_is_refused_until_the_index_is_rebuilt(
    index: Callable[..., IndexSummary], root: Path, tmp_path: Path
) -> None:
    index()
    other = CountingEmbedder(name="other", dim=8)
    with pytest.raises(InputError) as caught:
        index(other)
    assert str(caught.value) == (
        "index: expected vectors made by other (8 dimensions), got those of counting (16 dimensions); "
        f"make it anew with `fault index {root} --rebuild --index-dir {tmp_path / 'index'}`"
    )
    assert counts(index(other, rebuild=True)) == (2, 2, 0, 0)


def test_child_processes_produce_the_same_index(
    index: Callable[..., IndexSummary], root: Path, tmp_path: Path
) -> None:
    write(root, {f"many/{number}.py": f"def f{number}(): return {number}\n" for number in range(60)})
    with opened(root, tmp_path / "other") as store:
        index_project(root, None, store, CountingEmbedder(parallel=3), workers=2)
    index()
    assert all_points(tmp_path / "index") == all_points(tmp_path / "other")


def test_progress_is_reported_up_to_the_last_file(root: Path, tmp_path: Path) -> None:
    reports: list[Progress] = []
    with opened(root, tmp_path / "index") as store:
        index_project(root, None, store, CountingEmbedder(), reports.append)
    assert reports[2] == Progress("scan", 2, 0)
    assert reports[-1] == Progress("index", 2, 2)


def test_an_embedder_that_fails_leaves_an_index_that_the_next_run_completes(
    index: Callable[..., IndexSummary], tmp_path: Path
) -> None:
    class Failing(CountingEmbedder):
        def embed(self, texts: object) -> list[list[float]]:
            raise RunError("the provider is down")

    with pytest.raises(RunError, match="the provider is down"):
        index(Failing())
    assert counts(index()) == (2, 2, 0, 0)


def test_one_writer_at_a_time(root: Path, tmp_path: Path) -> None:
    with opened(root, tmp_path / "index"):
        with pytest.raises(RunError, match=r"is in use by process \d+: try again when that has ended"):
            opened(root, tmp_path / "index")
    opened(root, tmp_path / "index").close()


def test_the_lock_of_a_dead_process_is_taken_over(root: Path, tmp_path: Path) -> None:
    script = (
        "import os, sys, signal; from pathlib import Path; from tests.code.index.support import opened;"
        "opened(Path(sys.argv[1]), Path(sys.argv[2])); os.kill(os.getpid(), signal.SIGKILL)"
    )
    ran = subprocess.run([sys.executable, "-c", script, str(root), str(tmp_path / "index")], check=False)
    assert ran.returncode == -9
    opened(root, tmp_path / "index").close()


def test_a_search_without_an_index_explains_how_to_make_one(root: Path, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"has no index yet: make one with `fault index "):
        opened(root, tmp_path / "index", write=False)


def test_an_unreadable_index_is_reported_and_can_be_rebuilt(
    index: Callable[..., IndexSummary], root: Path, tmp_path: Path
) -> None:
    index()
    (folder,) = (tmp_path / "index").iterdir()
    (folder / "points" / "edge_config.json").write_text("{")
    for segment in (folder / "points" / "segments").iterdir():
        (segment / "segment.json").write_text("{")
    with pytest.raises(RunError, match=r"cannot be read: .*; make it anew with `fault index DIR --rebuild`"):
        index()
    assert counts(index(rebuild=True)) == (2, 2, 0, 0)


def test_a_folder_that_cannot_be_written_is_reported(root: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"^--index-dir: expected a folder that can be written"):
        opened(root, tmp_path / "file")


def test_two_folders_never_share_a_collection(tmp_path: Path) -> None:
    assert collection_name(Path("/a/My Shop!")).startswith("fault-my-shop-")
    assert collection_name(Path("/a/shop")) != collection_name(Path("/b/shop"))
    assert collection_name(Path("/")).startswith("fault-root-")


def test_indexes_are_kept_in_the_cache_of_the_user() -> None:
    assert default_index_dir({"XDG_CACHE_HOME": "/c"}) == Path("/c/faultkit/index")


def test_a_store_may_be_opened_by_the_environment_alone(root: Path, tmp_path: Path) -> None:
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    with open_store(folder_of(root), write=True, env=env) as store:
        assert store.place.startswith(str(tmp_path / "cache" / "faultkit" / "index" / "fault-shop-"))
