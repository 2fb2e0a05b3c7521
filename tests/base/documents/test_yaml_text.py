"""YAML text as data: lines of paths, several documents, aliases that stay small."""

from __future__ import annotations

import pytest

from faultkit.base.documents.checks import join_path
from faultkit.base.documents.yaml_text import Document, line_in, read_document, read_documents
from faultkit.base.errors import InputError

TEXT = """\
# a comment
title: one
items:
  - call:
      method: GET
      "odd key": {deep: 1}
  - &second
    call: {method: PUT}
extra:
  <<: *second
  more: [1,
         2]
"""


def documents(text: str) -> list[Document]:
    return list(read_documents(text, "file.yaml", "a scenario"))


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("", 2),
        ("title", 2),
        ("items", 3),
        ("items[0]", 4),
        ("items[0].call", 4),
        ("items[0].call.method", 5),
        ('items[0].call["odd key"]', 6),
        ('items[0].call["odd key"].deep', 6),
        ("items[1].call.method", 8),
        ("extra.more[1]", 12),
        ("extra.call.method", 8),
        ("items[0].call.url", 4),
        ("items[7].call", 3),
        ("titles", 2),
        ("title.below[3]", 2),
        ("nothing.like.it", 2),
    ],
)
def test_a_path_has_the_line_of_what_it_names_or_of_the_nearest_thing_around(path: str, line: int) -> None:
    (document,) = documents(TEXT)
    assert document.line_of(path) == line


@pytest.mark.parametrize(
    ("path", "key", "expected"),
    [
        ("", "title", "title"),
        ("items[0]", "call", "items[0].call"),
        ("headers", "X-Id", "headers.X-Id"),
        ("headers", "a b", 'headers["a b"]'),
        ("headers", "", 'headers[""]'),
        ("a", 1, "a.1"),
        ("a", True, "a.true"),
    ],
)
def test_keys_that_are_not_plain_are_quoted_in_paths(path: str, key: object, expected: str) -> None:
    assert join_path(path, key) == expected


def test_documents_count_from_one_and_empty_ones_are_left_out() -> None:
    found = documents("---\n---\na: 1\n---\n# nothing\n---\nb: 2\n---\n")
    assert [(each.number, each.value, each.line_of("")) for each in found] == [
        (2, {"a": 1}, 3),
        (4, {"b": 2}, 7),
    ]
    assert documents("") == documents("# only a comment\n") == []


def test_documents_before_a_mistake_are_still_given() -> None:
    found: list[object] = []
    with pytest.raises(InputError, match=r"^file\.yaml: line 4, column 1: "):
        for document in read_documents("a: 1\n---\nb: [2\n", "file.yaml", "a scenario"):
            found.append(document.value)
    assert found == [{"a": 1}]


def test_an_overriding_key_has_its_own_line() -> None:
    (document,) = documents("base: &b {x: 1,\n y: 2}\nnext:\n  <<: *b\n  x: 3\n")
    assert document.value == {"base": {"x": 1, "y": 2}, "next": {"x": 3, "y": 2}}
    assert document.line_of("next.x") == 5
    assert document.line_of("next.y") == 2


def laughs(link: str) -> str:
    lines = ["a0: &a0 {k: v}"]
    lines += [f"a{n}: &a{n} {link.format(', '.join([f'*a{n - 1}'] * 10))}" for n in range(1, 10)]
    return "\n".join(lines)


@pytest.mark.parametrize("link", ["[{}]", "{{<<: [{}]}}"])
def test_a_small_text_that_stands_for_a_billion_values_is_refused_at_once(link: str) -> None:
    text = laughs(link)
    message = "expected at most 1000000 values with all aliases written out"
    with pytest.raises(InputError) as caught:
        documents(text)
    assert str(caught.value) == f"file.yaml: line 1, column 1: {message}"
    with pytest.raises(InputError) as caught:
        read_document(text, "plan.yaml")
    assert str(caught.value) == f"plan.yaml: line 1, column 1: {message}"


def test_an_alias_within_what_it_stands_for_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        documents("a: 1\nb: &b\n  - *b\n")
    assert (
        str(caught.value) == "file.yaml: line 2, column 4: an alias stands for something that it is part of"
    )


@pytest.mark.parametrize("text", ["[" * 700, "- " * 5000 + "x"])
def test_text_that_is_nested_too_deeply_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="expected a scenario, got YAML that is nested too deeply"):
        documents(text)


def test_text_without_utf8_is_refused_where_it_stands() -> None:
    with pytest.raises(InputError) as caught:
        documents('a: 1\nb: "\\ud800"\n')
    assert str(caught.value) == (
        "file.yaml: line 2, column 7: expected text, got half of a surrogate pair, which has no UTF-8"
    )


def test_only_true_and_false_are_truth_values() -> None:
    text = "on: data\nanswers: [yes, no, off, true, False, True0, falsehood]\n"
    assert read_document(text, "plan") == {
        "on": "data",
        "answers": ["yes", "no", "off", True, False, "True0", "falsehood"],
    }


def test_a_path_has_a_line_in_json_with_tabs_and_in_yaml_and_none_where_yaml_cannot_say() -> None:
    assert line_in('{\n\t"a": [\n\t\t1,\n\t\t2]}', "a[1]") == 4
    assert line_in("a: 1\nb:\n  c: 2\n---\nd: 3\n", "b.c") == 3
    assert line_in("a: 1\n", "b") == 1
    assert (line_in("", "a"), line_in("[", "a")) == (None, None)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("ops: [=, <, '=']\n", {"ops": ["=", "<", "="]}),
        ("a: |\n  x\n\t\n  y\nb: 1\n", {"a": "x\n\ny\n", "b": 1}),
        ("a: x\x80y\x9f\n\x7fk: 1\n", {"a": "x\x80y\x9f", "\x7fk": 1}),
        ("a: |-\n        \ttext\n        one\n", {"a": "\ttext\none"}),
        ("a: |  # a tab\n\n  \t\ttext\n  \tone\nb: a |\n", {"a": "\n\t\ttext\n\tone\n", "b": "a |"}),
        ("a:\n- |+\n  \tx\n\n- 'y\x80'\n", {"a": ["\tx\n\n", "y\x80"]}),
        ("a: |\r\n  \tx\r\nb: 1\r\n", {"a": "\tx\n", "b": 1}),
    ],
)
def test_what_other_tools_read_is_read(text: str, value: object) -> None:
    assert read_document(text, "plan.yaml") == value
    assert [each.value for each in documents(f"--- 1\n---\n{text}")] == [1, value]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: !!bool maybe\n", 'line 1, column 4: expected true or false, got "maybe"'),
        ("a:\n  - !!timestamp x\n", 'line 2, column 5: expected a date or a time, got "x"'),
        ("a: !!int ''\n", 'line 1, column 4: expected a whole number, got ""'),
        ("a: !!float ''\n", 'line 1, column 4: expected a number, got ""'),
        ("a: 1\nb: x\x07y\n", "line 2, column 5: found the character U+0007, which YAML does not allow"),
        ("a:\n\t- 1\n", r"line 2, column 1: found character '\t' that cannot start any token"),
    ],
)
def test_a_text_of_the_wrong_form_has_its_line(text: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        read_document(text, "plan.yaml")
    assert str(caught.value) == f"plan.yaml: {problem}"


def test_the_last_of_very_many_keys_may_be_the_one_that_is_given_twice() -> None:
    keys = ", ".join(f'"k{number}": 0' for number in range(20_000))
    with pytest.raises(InputError, match='key "k19999" is given twice'):
        read_document(f'{{{keys}, "k19999": 1}}', "plan.json")
