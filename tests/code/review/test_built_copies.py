"""Files that a build wrote from others of the same project."""

from __future__ import annotations

from pathlib import Path

from faultkit.code.review.built_copies import built_copies
from faultkit.code.review.review_files import files_to_review, review_file


def test_nearly_all_files_of_the_folder_have_a_counterpart() -> None:
    sources = ["src/index.ts", "src/a/b.ts", "src/c.tsx", "src/d.js", "src/e.ts"]
    built = ["lib/index.js", "lib/a/b.js", "lib/c.js", "lib/d.mjs", "lib/e.cjs"]
    assert built_copies([*sources, *built]) == {*built}
    assert built_copies([*sources, *built, "lib/more.js"]) == {*built}
    nested = [f"packages/x/{each}" for each in (*sources, *built)]
    assert built_copies(nested) == {f"packages/x/{each}" for each in built}


def test_folders_that_share_a_few_names_are_written_by_hand() -> None:
    assert built_copies(["src/index.js", "lib/index.js", "lib/mail.js", "lib/queue.js"]) == frozenset()
    assert built_copies(["src/index.js", "lib/index.js"]) == frozenset()
    assert built_copies(["a/src/x.js", "a/src/y.js", "b/lib/x.js", "b/lib/y.js"]) == frozenset()
    assert built_copies(["lib/x.py", "lib/y.py", "src/x.py", "src/y.py"]) == frozenset()


def test_a_built_copy_is_skipped_and_its_source_reviewed(tmp_path: Path) -> None:
    for folder in ("src", "lib"):
        (tmp_path / folder).mkdir()
        for name in ("a.js", "b.js"):
            (tmp_path / folder / name).write_text("const a = 1;\n")
    wanted, _ = files_to_review(str(tmp_path))
    skipped = {each.relative: review_file(each).skipped for each in wanted}
    assert skipped == {
        "lib/a.js": "is the output of a build",
        "lib/b.js": "is the output of a build",
        "src/a.js": "",
        "src/b.js": "",
    }
