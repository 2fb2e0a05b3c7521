"""Every function of the Python standard library, as `ast` sees it and as we do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.code.oracle import library_files, seen_by_ast, seen_by_us, tree_of


def compared(paths: list[Path]) -> int:
    """How many functions were compared; what differs is an error that shows both."""
    count = 0
    for path in paths:
        tree = tree_of(path.read_bytes())
        if tree is None:
            continue
        expected = seen_by_ast(tree, path)
        assert seen_by_us(path) == expected, path
        count += len(expected)
    return count


def test_functions_of_a_part_of_the_library_are_those_that_python_finds() -> None:
    assert compared(library_files()[::25]) > 1000


@pytest.mark.thorough
@pytest.mark.slow
def test_functions_of_the_whole_library_are_those_that_python_finds() -> None:
    count = compared(library_files())
    print(f"functions compared: {count}")  # noqa: T201
    assert count > 10_000
