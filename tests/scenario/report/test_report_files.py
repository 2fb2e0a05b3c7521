"""Report files: the renderer by the extension, checks before the run, and atomic writes."""

from __future__ import annotations

import os
import resource
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from faultkit.base.errors import InputError, RunError
from faultkit.base.files import check_output_path, write_output
from faultkit.scenario.report.report_files import RENDERERS, RESULT_EXTENSIONS, read_report, write_report
from faultkit.scenario.report.results_document import to_json, to_yaml
from faultkit.scenario.report.scenario_junit import render_junit
from faultkit.scenario.report.scenario_markdown import render_markdown
from faultkit.scenario.report.scenario_text import render_text
from tests.scenario.report.examples import ALL_KINDS, LOAD, SINGLE, report


@pytest.mark.parametrize(
    ("name", "render"),
    [
        ("r.md", render_markdown),
        ("r.json", to_json),
        ("r.yaml", to_yaml),
        ("r.yml", to_yaml),
        ("r.xml", render_junit),
        ("R.TXT", render_text),
    ],
)
def test_the_extension_picks_the_renderer(tmp_path: Path, name: str, render: object) -> None:
    write_report(ALL_KINDS, tmp_path / name)
    assert callable(render)
    assert (tmp_path / name).read_text("utf-8") == render(ALL_KINDS)
    assert os.listdir(tmp_path) == [name]


def test_an_html_report_is_html(tmp_path: Path) -> None:
    write_report(LOAD, tmp_path / "r.html")
    assert (tmp_path / "r.html").read_text("utf-8").lower().startswith("<!doctype html>")


def test_another_extension_is_turned_away_before_the_run_and_at_its_end(tmp_path: Path) -> None:
    for name, came in (("r.pdf", 'got ".pdf"'), ("report", "got none")):
        with pytest.raises(InputError) as caught:
            check_output_path(tmp_path / name, RENDERERS)
        assert str(caught.value) == (
            f"{tmp_path / name}: expected a file that ends in "
            f".md, .html, .json, .yaml, .yml, .xml, .txt, {came}"
        )
        with pytest.raises(InputError):
            write_report(LOAD, tmp_path / name)
    assert os.listdir(tmp_path) == []


def test_results_have_fewer_extensions(tmp_path: Path) -> None:
    check_output_path(tmp_path / "results.yml", RESULT_EXTENSIONS)
    with pytest.raises(
        InputError, match=r"expected a file that ends in \.json, \.yaml, \.yml, got \"\.md\"$"
    ):
        check_output_path(tmp_path / "results.md", RESULT_EXTENSIONS)


def test_a_folder_that_is_not_there_is_known_before_the_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"r\.md: expected a folder that exists, got \".*no\"$"):
        check_output_path(tmp_path / "no" / "r.md", RENDERERS)


def test_a_folder_is_no_report(tmp_path: Path) -> None:
    (tmp_path / "r.md").mkdir()
    with pytest.raises(InputError, match=r"r\.md: expected a file, got a folder$"):
        check_output_path(tmp_path / "r.md", RENDERERS)


def test_good_paths_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for extension in RENDERERS:
        check_output_path(f"r{extension}", RENDERERS)
        check_output_path(tmp_path / f"R{extension.upper()}", RENDERERS)


def test_a_file_that_was_there_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "r.md"
    path.write_text("old " * 100_000)
    write_report(SINGLE, path)
    assert path.read_text("utf-8") == render_markdown(SINGLE)


def test_a_new_file_has_the_rights_of_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    write_report(SINGLE, tmp_path / "r.md")
    usual, ours = (stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("usual", "r.md"))
    assert ours == usual


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "latest.md").symlink_to(tmp_path / "real.md")
    write_report(SINGLE, tmp_path / "latest.md")
    assert (tmp_path / "latest.md").is_symlink()
    assert (tmp_path / "real.md").read_text("utf-8") == render_markdown(SINGLE)


@contextmanager
def reader_of(path: Path, most: int = -1) -> Iterator[list[bytes]]:
    """Reads a pipe to its end, or so many bytes and then closes it."""
    got: list[bytes] = []

    def read() -> None:
        with open(path, "rb", buffering=0) as pipe:
            got.append(pipe.read(most) if most >= 0 else pipe.readall())

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    yield got
    thread.join(5)
    assert not thread.is_alive()


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "r.md").symlink_to(tmp_path / "pipe")
    with reader_of(tmp_path / "pipe") as got:
        write_report(ALL_KINDS, tmp_path / "r.md")
    assert got == [render_markdown(ALL_KINDS).encode()]
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert sorted(os.listdir(tmp_path)) == ["pipe", "r.md"]


def test_a_terminal_is_written_to_and_stays_one(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    try:
        (tmp_path / "r.md").symlink_to(os.ttyname(theirs))
        write_output(tmp_path / "r.md", "a report")
        assert os.read(ours, 100) == b"a report"
        assert os.path.samestat(os.stat(tmp_path / "r.md"), os.fstat(theirs))
    finally:
        os.close(ours)
        os.close(theirs)
    assert os.listdir(tmp_path) == ["r.md"]


def test_an_open_pipe_by_its_number_is_no_file(tmp_path: Path) -> None:
    ours, theirs = os.pipe()
    try:
        write_output(f"/dev/fd/{theirs}", "a report")
        assert os.read(ours, 100) == b"a report"
    finally:
        os.close(ours)
        os.close(theirs)


def test_a_reader_that_goes_away_is_an_error_of_the_run(tmp_path: Path) -> None:
    path = tmp_path / "r.md"
    os.mkfifo(path)
    # More than a pipe holds: the writer waits for its reader, which then closes the pipe.
    with reader_of(path, most=1), pytest.raises(RunError) as caught:
        write_output(path, "x" * 1_000_000)
    assert str(caught.value) == f"{path}: the report cannot be written: broken pipe"
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_a_folder_in_the_place_of_a_report_stays_one(tmp_path: Path) -> None:
    (tmp_path / "r.md").mkdir()
    with pytest.raises(RunError, match=r"the report cannot be written: is a directory$"):
        write_output(tmp_path / "r.md", "a report")
    assert os.listdir(tmp_path) == ["r.md"]


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """No file may grow beyond so many bytes: to a writer, much like a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_leaves_the_old_report_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "r.md"
    path.write_text("old")
    with room_for(100), pytest.raises(RunError) as caught:
        write_report(ALL_KINDS, path)
    assert str(caught.value) == f"{path}: the report cannot be written: file too large"
    assert os.listdir(tmp_path) == ["r.md"]
    assert path.read_text() == "old"


def test_a_folder_that_went_away_is_named(tmp_path: Path) -> None:
    path = tmp_path / "gone" / "r.md"
    with pytest.raises(RunError) as caught:
        write_report(SINGLE, path)
    assert str(caught.value) == f"{path}: the report cannot be written: no such file or directory"


def test_a_renderer_that_fails_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> str:
        raise ZeroDivisionError

    monkeypatch.setitem(RENDERERS, ".md", broken)
    with pytest.raises(ZeroDivisionError):
        write_report(SINGLE, tmp_path / "r.md")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("extension", [".md", ".txt", ".xml", *RESULT_EXTENSIONS])
def test_half_a_surrogate_pair_does_not_stop_a_report(tmp_path: Path, extension: str) -> None:
    odd = report(SINGLE.items[0], title="half \ud83d of a pair")
    path = tmp_path / f"r{extension}"
    write_report(odd, path)
    assert "half" in path.read_text("utf-8")
    if extension in RESULT_EXTENSIONS:
        assert read_report(path).scenarios[0].title == "half \ufffd of a pair"


@pytest.mark.parametrize("extension", RESULT_EXTENSIONS)
def test_results_are_read_again(tmp_path: Path, extension: str) -> None:
    path = tmp_path / f"results{extension}"
    write_report(ALL_KINDS, path)
    assert read_report(path) == ALL_KINDS


def test_a_results_file_that_is_none_is_named_with_the_place(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    with pytest.raises(InputError, match=r"results\.json: cannot be read: no such file or directory$"):
        read_report(path)
    path.write_bytes(b"\xff")
    with pytest.raises(InputError, match=r"results\.json: expected UTF-8 text, got byte 0xff$"):
        read_report(path)
    path.write_text("{")
    with pytest.raises(InputError, match=r"results\.json: line 1, column 2: "):
        read_report(path)
    path.write_text('{"version": 1}')
    with pytest.raises(InputError, match=r"results\.json: tool: expected a value, got nothing$"):
        read_report(path)
    path.write_text('{"version": 1, "scenaros": []}')
    with pytest.raises(InputError, match=r"results\.json: scenaros: unknown key"):
        read_report(path)


@pytest.mark.parametrize("extension", [".md", ".html", ".json", ".yaml", ".xml", ".txt"])
def test_every_report_names_a_place_other_than_the_usual_one(tmp_path: Path, extension: str) -> None:
    path = tmp_path / f"report{extension}"
    write_report(replace(LOAD, on="dask://10.0.0.5:8786"), path)
    assert "dask://10.0.0.5:8786" in path.read_text("utf-8")
    write_report(LOAD, path)
    assert ("local:1" in path.read_text("utf-8")) == (extension in RESULT_EXTENSIONS)
