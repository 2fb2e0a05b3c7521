"""The YAML loader of all files: libyaml's scanner where it is there, PyYAML's own otherwise.

Nodes are composed in Python in both cases, because the C composer overflows the stack on deep nesting. It is
YAML as other tools read it: only `true` and `false` are truth values, `=` is a text, control characters from
U+007F to U+009F may stand in texts, and so may blank lines with tabs in a block, and a literal
block whose first line begins with a tab after its indentation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, TypeVar

import yaml
from yaml.composer import Composer
from yaml.constructor import SafeConstructor
from yaml.parser import Parser, ParserError
from yaml.reader import Reader
from yaml.resolver import Resolver
from yaml.scanner import Scanner, ScannerError

from faultkit.base.documents.checks import shown

_TAG = "tag:yaml.org,2002:"
MERGE_TAG = f"{_TAG}merge"
BOOL_TAG = f"{_TAG}bool"
_WORDS = {
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "timestamp": "a date or a time",
}
"""The tags whose constructors fail on texts of another form, and what they expect."""
_FORM_ERRORS = (ValueError, KeyError, AttributeError, IndexError, TypeError, OverflowError)

_REFUSED = re.compile("[^\t\n\r\x20-\x7e\x7f-\x9f\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_CONTROLS = re.compile("[\x7f-\x84\x86-\x9f]")
_STAND_INS = {code: 0x10FF00 + code for code in (*range(0x7F, 0x85), *range(0x86, 0xA0))}
"""Private characters that stand for control characters while a text is scanned."""
_TAB = chr(0x10FF09)
"""Stands for a tab at the beginning of a literal block, which libyaml takes for a part of its indentation.
Not in folded blocks (`>`): a tab decides there whether the next line is joined to this one."""
_RESTORED = {stand_in: code for code, stand_in in (*_STAND_INS.items(), (9, ord(_TAB)))}
_BLANK_WITH_TAB = re.compile("^ *\t[ \t]*$", re.MULTILINE)
_BLOCK_WITH_TAB = re.compile(
    r"""
    ( (?:^|[ \t]) [|][-+]? (?:[ \t]+\#.*)? \r?\n    # the header of a block, without a number
      (?:[ ]*\r?\n)*                                # blank lines
      [ ]+ ) \t                                      # the indentation, and the tab
    """,
    re.MULTILINE | re.VERBOSE,
)
_TAB_PROBLEMS = ("found a tab character", r"found character '\t'")

_MOST_SCANNED_TWICE = 50_000
HALF_PAIR = "expected text, got half of a surrogate pair, which has no UTF-8"
_OTHER_WORDS = {"found invalid Unicode character escape code": HALF_PAIR}

_T = TypeVar("_T")


class _PythonParser(Reader, Scanner, Parser):
    """PyYAML's own scanner and parser."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)


# Typed as Any: the two parsers have no base in common, and only one of them may be there.
FastParser: Any = _PythonParser
if yaml.__with_libyaml__:
    from yaml import cyaml

    FastParser = cyaml.CParser  # type: ignore[attr-defined]


class YamlLoader(Composer, FastParser, SafeConstructor, Resolver):  # type: ignore[misc]
    """A loader with the booleans of YAML 1.2, only `true` and `false`: `on: data` has the key `on`."""

    yaml_implicit_resolvers = {  # noqa: RUF012 (the name and the kind of the base)
        first: [(tag, pattern) for tag, pattern in resolvers if tag not in (BOOL_TAG, f"{_TAG}value")]
        for first, resolvers in Resolver.yaml_implicit_resolvers.items()
    }

    def __init__(self, text: str) -> None:
        check_characters(text)
        if _TAB in text or _CONTROLS.search(text) is not None:
            text = text.translate(_STAND_INS)
            self.compose_scalar_node = self._compose_restored  # type: ignore[method-assign]
        FastParser.__init__(self, text)
        Composer.__init__(self)
        SafeConstructor.__init__(self)
        Resolver.__init__(self)

    def _compose_restored(self, anchor: Any) -> yaml.ScalarNode:
        """Return the next scalar, with the control characters that were in the text."""
        node: yaml.ScalarNode = super().compose_scalar_node(anchor)
        node.value = node.value.translate(_RESTORED)
        return node


YamlLoader.add_implicit_resolver(
    BOOL_TAG, re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z"), list("tTfF")
)


def _checked(construct: Callable[[Any, Any], object], what: str) -> Callable[[Any, Any], object]:
    """Return a constructor that reports a text of the wrong form (`!!bool maybe`) with its line."""

    def construct_or_refuse(loader: Any, node: yaml.Node) -> object:
        try:
            return construct(loader, node)
        except _FORM_ERRORS:
            raise refusal(f"expected {what}, got {shown(node.value)}", node) from None

    return construct_or_refuse


for _name, _what in _WORDS.items():
    _tag = f"{_TAG}{_name}"
    YamlLoader.add_constructor(_tag, _checked(SafeConstructor.yaml_constructors[_tag], _what))


def refusal(problem: str, node: yaml.Node) -> yaml.MarkedYAMLError:
    """Return an error at a node."""
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


def problem_of(error: yaml.MarkedYAMLError, text: str) -> str:
    """Return the problem, with its place if that is known."""
    if isinstance(error, ScannerError | ParserError) and len(text) <= _MOST_SCANNED_TWICE:
        error = _error_of_python(text, error)
    mark = error.problem_mark or error.context_mark
    problem = str(error.problem or error.context)
    problem = _OTHER_WORDS.get(problem, problem)
    return problem if mark is None else f"line {mark.line + 1}, column {mark.column + 1}: {problem}"


def _error_of_python(text: str, error: yaml.MarkedYAMLError) -> yaml.MarkedYAMLError:
    """Return the error of PyYAML's own parser at the same place: it says what it found, libyaml does not."""
    try:
        parser: Any = _PythonParser(text)
        while parser.check_event():
            parser.get_event()
    except yaml.MarkedYAMLError as other:
        lines = [each.problem_mark.line for each in (error, other) if each.problem_mark is not None]
        # libyaml counts the end of a text without a newline as a line of its own.
        return other if len(lines) == 2 and abs(lines[0] - lines[1]) <= 1 else error
    except (yaml.YAMLError, RecursionError):
        pass
    return error


def check_characters(text: str) -> None:
    """Raise MarkedYAMLError at the first character that no YAML may have."""
    found = _REFUSED.search(text)
    if found is not None:
        before = text[: found.start()]
        line, column = before.count("\n"), len(before) - before.rfind("\n") - 1
        mark = yaml.Mark("", found.start(), line, column, None, 0)
        problem = f"found the character U+{ord(found[0]):04X}, which YAML does not allow"
        raise yaml.MarkedYAMLError(problem=problem, problem_mark=mark)


def read_tolerantly(text: str, read: Callable[[str], _T]) -> _T:
    """Return what `read` makes of a text; if tabs are in its way, of the text without those that may be
    there."""
    try:
        return read(text)
    except ScannerError as error:
        return read(_without_tabs(text, error))


def nodes_of(loader: type[YamlLoader], text: str) -> Iterator[tuple[YamlLoader, yaml.Node]]:
    """Yield the root of each document of a text, and the loader that constructs it."""
    given = 0
    try:
        for pair in _nodes(loader, text):
            given += 1
            yield pair
    except ScannerError as error:
        yield from islice(_nodes(loader, _without_tabs(text, error)), given, None)


def _nodes(kind: type[YamlLoader], text: str) -> Iterator[tuple[YamlLoader, yaml.Node]]:
    loader = kind(text)
    while loader.check_node():
        node = loader.get_node()
        assert node is not None, "check_node found one"
        yield loader, node


def _without_tabs(text: str, error: ScannerError) -> str:
    """Return the text with blank lines for lines of tabs, and with a stand-in for a tab that begins a block.

    All lines keep their numbers. Raises the error if it is about something else."""
    if not str(error.problem).startswith(_TAB_PROBLEMS):
        raise error
    found = _BLOCK_WITH_TAB.sub(rf"\1{_TAB}", _BLANK_WITH_TAB.sub("", text))
    if found == text:
        raise error
    return found
