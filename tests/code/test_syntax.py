"""Syntax trees: texts, lines, queries, and snippets without their file."""

from __future__ import annotations

import ast
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from faultkit.base.errors import InputError, RunError
from faultkit.code.functions import list_functions
from faultkit.code.languages import LANGUAGES, language_named
from faultkit.code.languages.syntax import Span, parse, parse_snippet, walk
from faultkit.code.source_files import read_source

PYTHON = LANGUAGES["python"]
TEXT = "ä = 1\r\n\tb = 'ö' + c\n\nlast"


def test_lines_count_from_one_and_columns_in_characters() -> None:
    syntax = parse(TEXT.encode(), PYTHON)
    at = TEXT.encode().index(b"c\n")
    assert (syntax.line(at), syntax.column(at)) == (2, 12)
    assert (syntax.line(0), syntax.column(0)) == (1, 1)
    assert [syntax.line_text(line) for line in range(6)] == ["", "ä = 1", "\tb = 'ö' + c", "", "last", ""]


@pytest.mark.parametrize(("text", "lines"), [("", 0), ("a", 1), ("a\n", 1), ("a\n\n", 2), ("a\nb", 2)])
def test_lines_are_counted_as_editors_do(text: str, lines: int) -> None:
    assert parse(text.encode(), PYTHON).line_count == lines


@pytest.mark.parametrize("text", ["a = b(1)", "ä = b(1)", "'ö' + b(1)"])
def test_a_match_has_its_place_in_bytes(text: str) -> None:
    syntax = parse(text.encode(), PYTHON)
    whole, inner = re.search(r"b\(1\)", text), re.search(r"\d", text[text.index("b(") :])
    assert whole is not None
    assert inner is not None
    place = syntax.place_of(whole)
    assert syntax.text(place) == "b(1)"
    assert syntax.text(syntax.place_of(inner, place.start)) == "1"


def test_parts_of_a_text_are_found_in_small_letters_and_capitals() -> None:
    syntax = parse(b"GraphQL = 1", PYTHON)
    assert syntax.has_any(b"jsonrpc", b"graphql")
    assert not syntax.has_any(b"jsonrpc")


def test_the_text_of_a_node_and_of_a_span_is_returned() -> None:
    syntax = parse("größe = 'ß'".encode(), PYTHON)
    names = syntax.captures("(identifier) @name")["name"]
    assert [syntax.text(name) for name in names] == ["größe"]
    assert syntax.text(Span(10, 14)) == "'ß'"
    assert [syntax.text_of(name) for name in names] == ["größe"]
    plain = parse(b"size = f(a)", PYTHON)
    names = plain.captures("(identifier) @name")["name"]
    assert [plain.text_of(name) for name in names] == ["size", "f", "a"]


def test_a_query_can_be_restricted_to_a_part_of_the_text() -> None:
    syntax = parse(b"a = 1\nb = 2\nc = 3\n", PYTHON)
    query = "(assignment left: (identifier) @name right: (integer) @value)"
    found = syntax.matches(query, Span(6, 11))
    assert [{key: syntax.text(nodes[0]) for key, nodes in match.items()} for match in found] == [
        {"name": "b", "value": "2"}
    ]
    second = syntax.root.named_children[1]
    assert [syntax.text(node) for node in syntax.captures(query, second)["name"]] == ["b"]


def test_nodes_are_found_by_type_in_broken_texts_as_in_sound_ones() -> None:
    sound = parse(b"class A:\n    def f(): pass\ndef g(): pass\n", PYTHON)
    broken = parse(b"class A:\n    def f(): pass\n)\ndef g(): pass\n", PYTHON)
    types = ("class_definition", "function_definition")
    assert [node.type for node in sound.nodes_of(types)] == [types[0], types[1], types[1]]
    assert [node.type for node in broken.nodes_of(types)] == [types[0], types[1], types[1]]
    assert (sound.has_errors, broken.has_errors) == (False, True)
    assert (sound.broken_lines(), broken.broken_lines()) == ([], [3])


def test_a_walk_yields_parents_first_and_can_be_restricted() -> None:
    syntax = parse(b"f(a)\ng\n", PYTHON)
    names = [syntax.text(node) for node in walk(syntax.root) if node.type == "identifier"]
    assert names == ["f", "a", "g"]
    outer = walk(syntax.root, lambda node: node.type != "argument_list")
    assert [syntax.text(node) for node in outer if node.type == "identifier"] == ["f", "g"]


def test_deeply_nested_text_is_parsed() -> None:
    depth = 50_000
    assert depth > 10 * sys.getrecursionlimit()
    syntax = parse(b"x = " + b"(" * depth + b"1" + b")" * depth, PYTHON)
    assert not syntax.has_errors
    assert sum(node.type == "parenthesized_expression" for node in walk(syntax.root)) == depth


def test_a_dot_at_the_end_of_a_line_in_brackets_is_parsed_and_the_text_unchanged() -> None:
    source = b"def f():\n    (bar.\n  baz.\n # ...\n qux)\n\ndef g():\n    return 1\n"
    ast.parse(source)
    syntax = parse(source, PYTHON)
    assert not syntax.has_errors
    assert syntax.source == source
    assert len(syntax.nodes_of(["function_definition"])) == 2


def test_bytes_that_are_no_utf8_still_give_a_tree() -> None:
    syntax = parse(b"x = '\xff\xfe'\ndef f(): pass\n", PYTHON)
    assert "\ufffd" in syntax.line_text(1)
    assert len(syntax.nodes_of(["function_definition"])) == 1


def test_php_is_read_with_and_without_its_tag() -> None:
    php = LANGUAGES["php"]
    for source in (b"<?php function f() {}", b"function f() {}", b"<p><?= f() ?></p><?php function f() {}"):
        syntax = parse(source, php)
        assert (syntax.has_errors, len(syntax.nodes_of(["function_definition"]))) == (False, 1)


def test_a_missing_grammar_names_its_module_so_that_the_command_can_name_the_extra() -> None:
    absent = replace(PYTHON, wheel="tree-sitter-not-there")
    with pytest.raises(ModuleNotFoundError) as caught:
        parse(b"", absent)
    assert caught.value.name == "tree_sitter_not_there"


def test_a_grammar_that_does_not_fit_is_a_clear_error() -> None:
    with pytest.raises(
        RunError, match=r"Python cannot be read: tree-sitter-python does not fit: .*no_loader"
    ):
        parse(b"", replace(PYTHON, loader="no_loader"))


def test_threads_may_parse_and_search_at_once() -> None:
    def count(number: int) -> int:
        syntax = parse(b"def f():\n    return 1\n" * number, language_named("py"))
        return len(syntax.captures("(function_definition) @f")["f"])

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(count, range(1, 200))) == list(range(1, 200))


FIXTURES = Path(__file__).parent / "fixtures"
SAMPLES = sorted(path for path in FIXTURES.glob("sample.*") if path.suffix != ".txt")


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.suffix)
def test_an_extracted_function_is_parsed_with_its_lines(path: Path) -> None:
    file = read_source(path)
    syntax = file.parse()
    kinds = ("function", "method", "constructor", "operator")
    functions = [each for each in list_functions(syntax) if each.kind in kinds]
    for each in functions:
        snippet = parse_snippet(syntax.text(each.full), file.language)
        assert not snippet.syntax.has_errors
        again = {(one.name, one.line) for one in list_functions(snippet.syntax)}
        assert (each.name, each.line - each.start_line + 1) in again


def test_the_offset_of_a_snippet_excludes_its_surroundings() -> None:
    text = "async save(x) {\n  return x;\n}"
    snippet = parse_snippet(text, language_named("js"))
    assert snippet.syntax.source[snippet.start :].startswith(text.encode())
    assert snippet.start > 0
    assert parse_snippet("f(x)", language_named("js")).start == 0


def test_a_snippet_that_cannot_be_parsed_is_returned_as_it_is() -> None:
    snippet = parse_snippet("function (((", language_named("js"))
    assert (snippet.syntax.source, snippet.start, snippet.syntax.has_errors) == (b"function (((", 0, True)


@pytest.mark.parametrize("text", ["", "  \n\t"])
def test_an_empty_snippet_is_an_error(text: str) -> None:
    with pytest.raises(InputError, match="snippet: expected source code, got nothing"):
        parse_snippet(text, language_named("py"))
