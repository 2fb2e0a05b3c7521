"""Review of files and folders: which files are reviewed, which are skipped, and why."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultkit.base.errors import InputError
from faultkit.code.languages import LANGUAGES
from faultkit.code.review.review_files import files_to_review, is_reviewed, review_all, review_file

BAD = "import requests\nrequests.get(u)\n"


def reviewed(root: Path, language: str | None = None) -> dict[str, list[str]]:
    wanted, _ = files_to_review(str(root), None if language is None else LANGUAGES[language])
    done = review_all(wanted)
    return {
        Path(file.file).name: [each.rule.id for each in file.findings] for file in done if not file.skipped
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_text(BAD)
    (tmp_path / "b.js").write_text("fetch(u);\n")
    (tmp_path / "c.rb").write_text("puts 1\n")
    (tmp_path / "notes.txt").write_text("requests.get(u)\n")
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "d.js").write_text("fetch(u);\n")
    return tmp_path


def test_a_folder_gives_its_source_files(folder: Path) -> None:
    found = reviewed(folder)
    assert [*found] == ["a.py", "b.js"]
    assert "FK-R001" in found["a.py"]
    assert "FK-R001" in found["b.js"]


def test_a_review_may_be_limited_to_one_language(folder: Path) -> None:
    assert [*reviewed(folder, "python")] == ["a.py"]


def test_ignored_files_are_skipped(folder: Path) -> None:
    (folder / ".git").mkdir()
    (folder / ".gitignore").write_text("a.py\n")
    assert [*reviewed(folder)] == ["b.js"]


def test_an_unreadable_file_is_reported_and_the_others_are_reviewed(folder: Path) -> None:
    (folder / "aa.py").write_bytes(b"\x00\x01\x02" * 100)
    (folder / "empty.py").write_text("")
    wanted, skipped = files_to_review(str(folder))
    done = [*review_all(wanted), *skipped]
    why = {Path(file.file).name: file.skipped for file in done if file.skipped}
    assert why == {"aa.py": "is a binary file", "c.rb": "no rules for Ruby"}
    assert len(done) == 5


def test_broken_files_are_reported_with_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text(f"{BAD}x = (\n")
    (wanted,), _ = files_to_review(str(path))
    file = review_file(wanted)
    assert file.broken_lines == (3,)
    assert [each.line for each in file.findings if each.rule.id == "FK-R001"] == [2]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.py", "this is not code at all ((("),
        ("a.js", "this is not code at all ((("),
        ("a.go", "this is not code at all ((("),
        ("A.java", "this is not code at all ((("),
        ("a.py", "# a comment\n((((\n"),
    ],
)
def test_what_is_no_code_is_refused(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    (wanted,), _ = files_to_review(str(tmp_path / name))
    with pytest.raises(InputError, match=r"got something else on line [12]: it has no score"):
        review_file(wanted)


def test_a_mistake_inside_the_only_class_leaves_its_findings(tmp_path: Path) -> None:
    path = tmp_path / "A.java"
    path.write_text("class A {\n  int x = ;\n  void f() { Socket s = new Socket(h, 80); s.close(); }\n}\n")
    (wanted,), _ = files_to_review(str(path))
    file = review_file(wanted)
    assert file.broken_lines == (2,)
    assert "FK-R003" in [each.rule.id for each in file.findings]


def test_files_whose_findings_are_not_shown_are_known(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "a_pb2.py").write_text(BAD)
    (folder / "test_a.py").write_text(BAD)
    wanted, _ = files_to_review(".")
    assert [each.shown for each in wanted if is_reviewed(each)] == ["a.py", "b.js"]
    (named,), _ = files_to_review("test_a.py")
    assert is_reviewed(named)


def test_a_file_of_a_language_without_rules_is_refused(folder: Path) -> None:
    (wanted,), _ = files_to_review(str(folder / "c.rb"))
    with pytest.raises(InputError, match="which the rules know, got Ruby"):
        review_file(wanted)


def test_places_are_shown_relative_to_the_working_directory(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    wanted, _ = files_to_review(".")
    assert [each.shown for each in wanted] == ["a.py", "b.js"]
    wanted, _ = files_to_review(str(folder.parent / folder.name) + "/")
    assert wanted[0].shown == f"{folder}/a.py"
