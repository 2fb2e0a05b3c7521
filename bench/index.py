"""`python -m bench.index`: speed, size and recall of an index of Python's standard library.

Speed: all of the library is indexed into an empty folder, and again with nothing changed.

Recall: the library is copied with the docstrings of its functions taken out, and indexed. Then the first
paragraph of a docstring is searched for, and counts as found if its function is among the first ten results.
Only functions are used that have at least two statements and a docstring that begins with six unique words.
The constants of search and words were chosen on the first thousand of them; the figures are of the rest.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import sysconfig
import tempfile
import time
import warnings
from collections import Counter
from dataclasses import dataclass
from hashlib import md5
from pathlib import Path

from bench.machine import describe
from faultkit.base.errors import InputError
from faultkit.code.index import (
    MODES,
    Embedder,
    HashEmbedder,
    IndexSummary,
    WordEmbedder,
    index_project,
    open_store,
    search,
)
from faultkit.code.source_files import read_source, source_files

LIBRARY = Path(sysconfig.get_paths()["stdlib"])
QUESTIONS = 1000
LEAST_WORDS, LEAST_STATEMENTS = 6, 2
FIRST = 10
LEAST_SPEED_UP = 20.0
_PARAGRAPH = re.compile(r"\n\s*\n")
_Defined = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Question:
    path: str
    name: str
    text: str


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.index", description=__doc__)
    parser.add_argument("--questions", type=int, default=QUESTIONS)
    parser.add_argument("--hashes", action="store_true", help="embed by hashes, as where there is no model")
    asked = parser.parse_args()
    print(f"The standard library of Python. {describe().sentence()}.")
    embedder = HashEmbedder() if asked.hashes else WordEmbedder()
    with tempfile.TemporaryDirectory() as folder:
        fast = _speed(Path(folder) / "index", embedder)
    with tempfile.TemporaryDirectory() as folder:
        good = _recall(Path(folder), embedder, asked.questions)
    return 0 if fast and good else 1


def _speed(index_dir: Path, embedder: Embedder) -> bool:
    first, first_s = _indexed(LIBRARY, index_dir, embedder)
    again, again_s = _indexed(LIBRARY, index_dir, embedder)
    assert again.indexed == again.removed == 0, again
    size = first.size_bytes or 0
    print(
        f"first run:  {first_s:.1f} s, {first.files} files, {first.files / first_s:.0f} files/s, "
        f"{first.chunks} chunks, {size / 1e6:.0f} MB on disk, {len(first.skipped)} files skipped"
    )
    print(f"second run: {again_s:.2f} s, {first_s / again_s:.0f} times faster")
    return first_s / again_s >= LEAST_SPEED_UP


def _indexed(root: Path, index_dir: Path, embedder: Embedder) -> tuple[IndexSummary, float]:
    """Return the time to open, index and close."""
    began = time.perf_counter()
    with open_store(root, write=True, index_dir=index_dir, env={}) as store:
        summary = index_project(root, None, store, embedder)
    return summary, time.perf_counter() - began


def _recall(folder: Path, embedder: Embedder, count: int) -> bool:
    library, index_dir = folder / "library", folder / "index"
    questions = _questions(_without_docstrings(library))[-count:]
    _indexed(library, index_dir, embedder)
    recalls = {}
    with open_store(library, write=False, index_dir=index_dir, env={}) as store:
        for mode in MODES:
            began = time.perf_counter()
            found = sum(
                any(
                    (hit.path, hit.name) == (each.path, each.name)
                    for hit in search(store, embedder, each.text, FIRST, mode)
                )
                for each in questions
            )
            took_ms = (time.perf_counter() - began) / len(questions) * 1e3
            recalls[mode] = found / len(questions)
            print(
                f"recall@{FIRST} {mode:<8}{recalls[mode]:.3f} of {len(questions)}, {took_ms:.1f} ms a search"
            )
    return recalls["hybrid"] > max(recalls["dense"], recalls["lexical"])


def _questions(functions: list[tuple[Question, int]]) -> list[Question]:
    """Return the questions in an order that is independent of their places."""
    said = Counter(question.text for question, _ in functions)
    fit = [
        question
        for question, statements in functions
        if statements >= LEAST_STATEMENTS
        and len(question.text.split()) >= LEAST_WORDS
        and said[question.text] == 1
    ]
    return sorted(
        fit, key=lambda each: md5(f"{each.path}{each.name}".encode(), usedforsecurity=False).digest()
    )


def _without_docstrings(target: Path) -> list[tuple[Question, int]]:
    """Copy the library without docstrings; return the docstrings and the number of other statements."""
    functions: list[tuple[Question, int]] = []
    for file in source_files(LIBRARY):
        try:
            source = read_source(file.path).source
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(source)
        except (InputError, SyntaxError, ValueError):
            continue
        if file.language.name != "python" or b"\r" in source or b"\f" in source:
            continue
        left, said = _stripped(source, tree, file.relative)
        functions += said
        copy = target / file.relative
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(left)
    return functions


def _stripped(source: bytes, tree: ast.Module, path: str) -> tuple[bytes, list[tuple[Question, int]]]:
    starts = [0]
    for line in source.split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    left = bytearray(source)
    said: list[tuple[Question, int]] = []
    waiting: list[tuple[ast.AST, str]] = [(tree, "")]
    while waiting:
        node, prefix = waiting.pop()
        if isinstance(node, _Defined | ast.ClassDef):
            name, prefix = f"{prefix}{node.name}", f"{prefix}{node.name}."
            doc = None if isinstance(node, ast.ClassDef) else ast.get_docstring(node)
            if doc:
                text = " ".join(_PARAGRAPH.split(doc)[0].split())
                said.append((Question(path, name, text), len(node.body) - 1))
                first = node.body[0]
                start = starts[first.lineno - 1] + first.col_offset
                end = starts[(first.end_lineno or 0) - 1] + (first.end_col_offset or 0)
                blank = re.sub(rb"[^\n]", b" ", left[start:end])
                # The shortest statement, because a docstring may be the whole body of a function.
                left[start:end] = b"0" + blank[1:]
        waiting += [(child, prefix) for child in ast.iter_child_nodes(node)]
    return bytes(left), said


if __name__ == "__main__":
    sys.exit(main())
