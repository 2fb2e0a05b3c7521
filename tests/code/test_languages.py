from __future__ import annotations

import pytest

from faultkit.base.errors import InputError
from faultkit.code.functions import DIALECTS
from faultkit.code.languages import (
    LANGUAGES,
    known_language_of,
    language_named,
    language_of,
    language_of_script,
)


def test_every_language_has_a_dialect_and_no_dialect_is_left_over() -> None:
    assert list(DIALECTS) == list(LANGUAGES)


def test_no_name_and_no_ending_means_two_languages() -> None:
    names = [name for each in LANGUAGES.values() for name in (each.name, *each.aliases)]
    endings = [ending for each in LANGUAGES.values() for ending in each.endings]
    assert len(names) == len(set(names))
    assert len(endings) == len(set(endings))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("python", "python"),
        ("py", "python"),
        ("JS", "javascript"),
        ("ts", "typescript"),
        ("golang", "go"),
        ("C++", "cpp"),
        (" c# ", "csharp"),
        ("Kt", "kotlin"),
        (".rs", "rust"),
        ("sh", "bash"),
    ],
)
def test_a_language_is_known_by_its_names(text: str, name: str) -> None:
    assert language_named(text).name == name


def test_an_unknown_language_is_reported_with_the_known_ones_and_the_nearest() -> None:
    with pytest.raises(InputError) as caught:
        language_named("pyhton")
    assert caught.value.path == "lang"
    assert str(caught.value).endswith('scala, bash, got "pyhton"; did you mean "python"?')


def test_a_language_like_no_other_gets_no_suggestion() -> None:
    with pytest.raises(InputError, match=r'bash, got "cobol85"$'):
        language_named("cobol85")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a/b.py", "python"),
        ("A.PY", "python"),
        ("x.test.tsx", "tsx"),
        ("dir.with.dots/main.go", "go"),
        ("vec.h", "cpp"),
        ("C:\\src\\Main.cs", "csharp"),
        ("build.gradle.kts", "kotlin"),
    ],
)
def test_the_language_of_a_file_is_known_by_its_ending(path: str, name: str) -> None:
    assert language_of(path).name == name


@pytest.mark.parametrize("path", ["Makefile", "notes.txt", "dir.py/README", ""])
def test_a_file_of_no_known_language_has_none_or_is_an_error(path: str) -> None:
    assert known_language_of(path) is None
    with pytest.raises(InputError, match=r"expected a file that ends with one of \.py \.pyi"):
        language_of(path)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("#!/usr/bin/env python3", "python"),
        ("#!/usr/bin/python3.11 -u", "python"),
        ("#!/usr/bin/env -S NODE_ENV=x node --flag", "javascript"),
        ("#! /bin/sh", "bash"),
        ("#!/usr/bin/perl", None),
        ("#!", None),
        ("# python", None),
    ],
)
def test_the_language_of_a_script_is_known_by_its_interpreter(line: str, name: str | None) -> None:
    found = language_of_script(line)
    assert (found.name if found else None) == name
