"""Files that are written completely or not at all."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from faultkit.base.errors import InputError, RunError
from faultkit.base.files import (
    check_output_path,
    check_outputs_apart,
    path_within,
    read_text,
    replace_file,
    write_output,
)


def test_a_file_is_made_or_replaced(tmp_path: Path) -> None:
    file = tmp_path / "a"
    replace_file(file, b"one")
    assert file.read_bytes() == b"one"
    replace_file(str(file), b"two")
    assert file.read_bytes() == b"two"
    assert os.listdir(tmp_path) == ["a"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one")
    (tmp_path / "link").symlink_to("a")
    replace_file(tmp_path / "link", b"two")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "a").read_bytes() == b"two"


def test_the_mode_is_that_of_another_file(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"one")
    file.chmod(0o640)
    replace_file(file, b"two", like=file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_private_output_may_be_read_by_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "journal.json"
    file.write_text("old")
    file.chmod(0o644)
    write_output(file, "new", private=True)
    assert (file.read_text(), stat.S_IMODE(file.stat().st_mode)) == ("new", 0o600)


def test_what_is_raised_at_the_last_moment_leaves_everything_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"one")

    def changed() -> None:
        raise RuntimeError("changed meanwhile")

    with pytest.raises(RuntimeError, match="changed meanwhile"):
        replace_file(file, b"two", before=changed)
    assert file.read_bytes() == b"one"
    assert os.listdir(tmp_path) == ["a"]


def test_a_path_is_kept_within_a_folder_with_its_links_resolved(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "root2").mkdir()
    (root / "out").symlink_to(tmp_path / "root2")
    (tmp_path / "in").symlink_to(root)
    assert path_within(root / "a" / ".." / "b", root) == str(root / "b")
    assert path_within(tmp_path / "in" / "b", root) == str(root / "b")
    assert path_within(root, root) == str(root)
    for path in (tmp_path, tmp_path / "root2", root / "out" / "b", root / ".." / "b", "/"):
        with pytest.raises(ValueError, match=f"^expected a path in {root}$"):
            path_within(path, root)


def test_a_folder_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        replace_file(tmp_path / "b" / "a", b"one")


def test_output_to_a_file_replaces_it_and_to_a_pipe_goes_through_it(tmp_path: Path) -> None:
    write_output(tmp_path / "a", "o\ud800ne")
    assert (tmp_path / "a").read_bytes() == b"o\\ud800ne"
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    content = "x" * 300_000
    with ThreadPoolExecutor() as threads:
        reading = threads.submit(pipe.read_text)
        write_output(pipe, content)
        assert reading.result(60) == content
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    write_output("/dev/null", "one")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_output_that_cannot_be_written_is_an_error_for_people(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="b/a: the report cannot be written: no such file or directory"):
        write_output(tmp_path / "b" / "a", "one")


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("a.txt", 'expected a file that ends in .md, .json, got ".txt"'),
        ("a", "expected a file that ends in .md, .json, got none"),
        ("folder.md", "expected a file, got a folder"),
        ("b/a.md", "expected a folder that exists, got"),
    ],
)
def test_a_path_is_checked_before_a_run(tmp_path: Path, name: str, problem: str) -> None:
    (tmp_path / "folder.md").mkdir()
    with pytest.raises(InputError) as caught:
        check_output_path(tmp_path / name, (".md", ".json"))
    assert caught.value.problem.startswith(problem)
    check_output_path(tmp_path / "A.MD", (".md", ".json"))


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
def test_a_folder_that_only_claims_to_be_writable_is_found_before_a_run() -> None:
    with pytest.raises(InputError) as caught:
        check_output_path("/proc/x.html", (".html",))
    assert caught.value.problem == 'expected a folder to write in, got "/proc": no file can be made in it'


@pytest.mark.parametrize("name", ["a\0b", "\ud800"])
def test_a_name_that_no_file_can_have_is_wrong_input(name: str) -> None:
    with pytest.raises(InputError, match="expected a name that a file can have"):
        read_text(name)


@pytest.mark.parametrize(
    ("outputs", "problem"),
    [
        (["a/../in.yaml"], "got one that is read"),
        (["link.yaml"], "got one that is read"),
        (["out.json", "./out.json"], "got the same one twice"),
    ],
)
def test_an_output_replaces_no_input_and_no_other_output(
    tmp_path: Path, outputs: list[str], problem: str
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "in.yaml").write_text("x")
    (tmp_path / "link.yaml").symlink_to("in.yaml")
    check_outputs_apart([tmp_path / "out.json", tmp_path / "new.yaml"], [tmp_path / "in.yaml"])
    with pytest.raises(InputError, match=problem):
        check_outputs_apart([tmp_path / each for each in outputs], [tmp_path / "in.yaml"])
