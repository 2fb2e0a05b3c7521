from __future__ import annotations

from pathlib import Path

import pytest

from faultkit.base.errors import InputError
from faultkit.code.functions import list_functions
from faultkit.code.languages import language_named
from faultkit.code.snippets import parse_snippet
from faultkit.code.source_file import read_source

FIXTURES = Path(__file__).parent / "fixtures"
SAMPLES = sorted(path for path in FIXTURES.glob("sample.*") if path.suffix != ".txt")


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.suffix)
def test_a_function_that_was_extracted_is_read_again_with_its_lines(path: Path) -> None:
    file = read_source(path)
    syntax = file.parse()
    kinds = ("function", "method", "constructor", "operator")
    functions = [each for each in list_functions(syntax) if each.kind in kinds]
    for each in functions:
        snippet = parse_snippet(syntax.text(each.full), file.language)
        assert not snippet.syntax.has_errors
        again = {(one.name, one.line) for one in list_functions(snippet.syntax)}
        assert (each.name, each.line - each.start_line + 1) in again


def test_what_is_put_around_a_snippet_can_be_told_from_it() -> None:
    text = "async save(x) {\n  return x;\n}"
    snippet = parse_snippet(text, language_named("js"))
    assert snippet.syntax.source[snippet.start :].startswith(text.encode())
    assert snippet.start > 0
    assert parse_snippet("f(x)", language_named("js")).start == 0


def test_a_snippet_that_cannot_be_read_is_left_as_it_is() -> None:
    snippet = parse_snippet("function (((", language_named("js"))
    assert (snippet.syntax.source, snippet.start, snippet.syntax.has_errors) == (b"function (((", 0, True)


@pytest.mark.parametrize("text", ["", "  \n\t"])
def test_an_empty_snippet_is_an_error(text: str) -> None:
    with pytest.raises(InputError, match="snippet: expected source code, got nothing"):
        parse_snippet(text, language_named("py"))
