"""Names that Python tests of a project replace by objects of their own: `mock.patch("shop.requests.get")`.

A test that replaces a function sees how it is called. So a change of such a call may break the test, though
it keeps what the program does.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path

_MOST_FILES = 2_000
_MOST_FOLDERS = 5_000
_MOST_BYTES = 1_000_000
_SKIPPED = frozenset(("__pycache__", "build", "dist", "node_modules", "site-packages", "venv"))
_TEST_FILE = re.compile(r"^(test_.*|.*_tests?|tests?|conftest)\.py$")
_TEST_FOLDER = re.compile(r"^(.*_)?(tests?|testing)$")
_PATCHED = re.compile(r"""\bpatch\(\s*[^"'()]*["']([\w.]+)["']""")
_BY_VARIABLE = re.compile(r"\bpatch\(\s*(\w+)\s*[,)]")
_PATH_VALUE = re.compile(r"""^\s*(\w+)\s*=\s*["']([\w.]+)["']""", re.MULTILINE)
_OBJECT = re.compile(r"""(?:\bpatch\.object|\bsetattr)\(\s*([\w.]+)\s*,\s*["'](\w+)["']""")
_PATH = re.compile(r"""\bsetattr\(\s*["']([\w.]+)["']""")
_ASSIGNED = re.compile(r"^\s*([\w.]+\.\w+)\s*=\s*(?:\w+\.)?(?:Magic|Async)?Mock\(", re.MULTILINE)
_REPLACED = re.compile(
    r"^\s*(?!(?:self|cls)\.\w+\s*=)([\w.]+\.\w+)\s*=\s*(?:[\w.]+\.)?(\w+)\b(?![\w.(\[])", re.MULTILINE
)
_DEFINED = re.compile(r"^\s*(?:async )?def (\w+)", re.MULTILINE)
_COMPARED = re.compile(
    r"assert_(?:any_call|(?:called|awaited)(?:_once)?_with|has_(?:calls|awaits))|\bcall_args|\bmock_calls|\bsnapshot"
    r"""|\bsetattr\(|\bside_effect\s*=\s*(?!\[|[\w.]*(?:Error|Exception|Timeout))|\bnew\s*="""
    r"""|\bpatch(?:\.object)?\([^=()]*["']\s*,\s*(?!["'])\w+\s*[,)]"""
)
"""Tests that look at arguments: they compare them, or they put a function of their own in place."""


def faked_names(top: Path) -> Iterator[tuple[str, bool]]:
    """Yield the names that tests below a folder replace, as they are written there, and whether these tests
    may look at the arguments."""
    tests = (path for path, is_test in python_files(top) if is_test)
    for path in islice(tests, _MOST_FILES):
        try:
            known = path.stat()
            if known.st_size <= _MOST_BYTES:
                yield from _faked_in(path, known.st_mtime_ns, known.st_size)
        except OSError:
            continue


@lru_cache(maxsize=2 * _MOST_FILES)
def _faked_in(path: Path, changed: int, size: int) -> tuple[tuple[str, bool], ...]:
    """Return the names of one file. They are kept until it changes: each file that is improved asks again."""
    text = path.read_text("utf-8", "replace")
    names = [name for pattern in (_PATCHED, _PATH, _ASSIGNED) for name in pattern.findall(text)]
    names += [f"{owner}.{name}" for owner, name in _OBJECT.findall(text)]
    variables = {*_BY_VARIABLE.findall(text)}
    names += [path for variable, path in _PATH_VALUE.findall(text) if variable in variables]
    compares = _COMPARED.search(text) is not None
    return (*((name, compares) for name in names), *((name, True) for name in _replaced_in(text)))


def _replaced_in(text: str) -> Iterator[str]:
    """Yield the names that a function of the file itself, or a lambda, is assigned to."""
    own = {"lambda", *_DEFINED.findall(text)}
    yield from (name for name, by in _REPLACED.findall(text) if by in own)


def python_files(top: Path) -> Iterator[tuple[Path, bool]]:
    """Yield the Python files below a folder, and whether they are tests; not those of other packages."""
    for path in files_below(top, ".py"):
        parts = path.relative_to(top).parts[:-1]
        is_in_tests = any(_TEST_FOLDER.match(each) for each in parts)
        yield path, is_in_tests or _TEST_FILE.match(path.name) is not None


def files_below(top: Path, ending: str) -> Iterator[Path]:
    """Yield files of a project by the end of their name, without hidden folders and those of tools.

    Pipes and other things that are no regular files are left out: to read one may wait for ever."""
    for folder, folders, files in islice(os.walk(top), _MOST_FOLDERS):
        folders[:] = sorted(each for each in folders if each not in _SKIPPED and not each.startswith("."))
        found = (Path(folder, each) for each in sorted(files) if each.endswith(ending))
        yield from (each for each in found if each.is_file())
