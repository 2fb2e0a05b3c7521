"""Folders of libraries that were copied from other projects."""

from __future__ import annotations

from pathlib import Path

from faultkit.code.review.review_files import find_files, review_file

PLAIN = "module.exports = load;\n"


def contexts(top: Path) -> dict[str, str]:
    return {each.relative: review_file(each).context for each in find_files((str(top),)).wanted}


def libraries(folder: Path, *origins: str) -> None:
    for number, origin in enumerate(origins):
        (folder / f"lib{number}").mkdir(parents=True)
        (folder / f"lib{number}" / "index.js").write_text(f"// {origin}\n{PLAIN}" if origin else PLAIN)


def test_a_folder_with_copies_of_several_projects_is_vendored(tmp_path: Path) -> None:
    some = [f"Source: https://github.com/owner{number}/repo" for number in range(4)]
    libraries(tmp_path / "server/libs", *some, "", "")
    (tmp_path / "server/libs/own.js").write_text(PLAIN)
    assert set(contexts(tmp_path).values()) == {"vendored"}


def test_a_folder_of_the_project_s_own_libraries_is_reviewed(tmp_path: Path) -> None:
    own = "Copyright Shop. Source code: see https://shop.example/code"
    libraries(tmp_path / "libs", *[own] * 5, "")
    libraries(tmp_path / "server/libs", *["Copied from https://github.com/a/b"], *[""] * 4)
    found = contexts(tmp_path)
    assert [path for path, context in found.items() if context] == ["server/libs/lib0/index.js"]
