"""Conditions of a manifest, in the part of CEL that they need. Pure; read once, asked often.

    args.city == "Oslo" && size(args.tags) > 1 || !has(args.limit)

Literals, lists, `args.a.b` and `args["a"]`, comparisons, `in`, `&&`, `||`, `!`, `? :`, arithmetic, `has`,
`size`, `string`, `int`, and the methods contains, startsWith, endsWith and matches. What is missing in the
arguments, or of the wrong kind, makes a condition false, and never an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from faultkit.mcp.mock.operators import (
    FUNCTIONS,
    LEVELS,
    METHODS,
    OPERATORS,
    UNTOLD,
    Missing,
    Value,
    compiled,
    is_there,
    item,
    number,
    truth,
)
from faultkit.mcp.mock.template import ROOTS

Condition: TypeAlias = Callable[[Mapping[str, Any]], bool]
"""Asked with the names that it may use, such as `args`."""

_TOKEN = re.compile(
    r"""\s*(?:(?P<number>\d+\.\d+|\d+)|(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
    r"""|(?P<name>[A-Za-z_]\w*)|(?P<sign>&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()\[\]]))"""
)
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None}
_DEEPEST = 30
_MOST_SIGNS = 300
"""Of one condition: each may be one more frame of the stack when it is asked."""


def condition_of(text: str) -> Condition:
    """ValueError if it cannot be read; it says where."""
    value = _Parser(text).whole()

    def holds(names: Mapping[str, Any]) -> bool:
        try:
            return value(names) is True
        except UNTOLD:
            return False

    return holds


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens(text))
        self._at = 0
        self._depth = 0

    def whole(self) -> Value:
        value = self._choice()
        if self._at < len(self._tokens):
            raise ValueError(f"expected an operator, got {self._tokens[self._at][1]!r}")
        return value

    def _peek(self) -> str:
        return self._tokens[self._at][1] if self._at < len(self._tokens) else ""

    def _take(self, *signs: str) -> str | None:
        if self._peek() in signs and self._tokens[self._at][0] in ("sign", "name"):
            self._at += 1
            return self._tokens[self._at - 1][1]
        return None

    def _must(self, sign: str) -> None:
        if self._take(sign) is None:
            raise ValueError(f"expected {sign!r}, got {self._peek() or 'the end'!r}")

    def _choice(self) -> Value:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ValueError("expected a condition that is nested less deeply")
        condition = self._binary(0)
        if self._take("?"):
            yes = self._choice()
            self._must(":")
            no = self._choice()
            self._depth -= 1
            return lambda names: yes(names) if truth(condition(names)) else no(names)
        self._depth -= 1
        return condition

    def _binary(self, level: int) -> Value:
        if level == len(LEVELS):
            return self._unary()
        left = self._binary(level + 1)
        while (sign := self._take(*LEVELS[level])) is not None:
            left = OPERATORS[sign](left, self._binary(level + 1))
        return left

    def _unary(self) -> Value:
        if self._take("!"):
            inner = self._unary()
            return lambda names: not truth(inner(names))
        if self._take("-"):
            inner = self._unary()
            return lambda names: -number(inner(names))
        return self._member(self._primary())

    def _member(self, value: Value) -> Value:
        while True:
            if self._take("."):
                value = self._dotted(value)
            elif self._take("["):
                key = self._choice()
                self._must("]")
                value = item(value, key)
            else:
                return value

    def _dotted(self, value: Value) -> Value:
        kind, name = self._next("a name")
        if kind != "name":
            raise ValueError(f"expected a name behind the dot, got {name!r}")
        if not self._take("("):
            return item(value, lambda names: name)
        if name not in METHODS:
            raise ValueError(f"expected one of {', '.join(METHODS)}, got {name!r}")
        given = self._choice()
        self._must(")")
        if name == "matches":
            _check_pattern(given)
        method = METHODS[name]
        return lambda names: method(value(names), given(names))

    def _primary(self) -> Value:
        kind, text = self._next("a value")
        if kind == "number":
            figure = float(text) if "." in text else int(text)
            return lambda names: figure
        if kind == "text":
            plain = _unquoted(text)
            return lambda names: plain
        if text == "(":
            inner = self._choice()
            self._must(")")
            return inner
        if text == "[":
            return self._list()
        if kind != "name":
            raise ValueError(f"expected a value, got {text!r}")
        if text in _WORDS:
            word = _WORDS[text]
            return lambda names: word
        if self._take("("):
            return self._function(text)
        if text not in ROOTS:
            raise ValueError(f"expected a name of {', '.join(ROOTS)}, got {text!r}")
        return item(lambda names: names, lambda names: text)

    def _function(self, name: str) -> Value:
        if name not in ("has", *FUNCTIONS):
            raise ValueError(f"expected one of has, {', '.join(FUNCTIONS)}, got {name!r}")
        given = self._choice()
        self._must(")")
        if name == "has":
            return lambda names: is_there(given, names)
        function = FUNCTIONS[name]
        return lambda names: function(given(names))

    def _list(self) -> Value:
        items: list[Value] = []
        while not self._take("]"):
            if items:
                self._must(",")
            items.append(self._choice())
        return lambda names: [each(names) for each in items]

    def _next(self, what: str) -> tuple[str, str]:
        if self._at >= len(self._tokens):
            raise ValueError(f"expected {what}, got the end")
        self._at += 1
        return self._tokens[self._at - 1]


def _tokens(text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    at = 0
    while text[at:].strip():
        match = _TOKEN.match(text, at)
        if match is None:
            raise ValueError(f"expected a condition, got {text[at:].strip()[:20]!r} at character {at}")
        found.append((str(match.lastgroup), match[str(match.lastgroup)]))
        at = match.end()
        if len(found) > _MOST_SIGNS:
            raise ValueError(f"expected at most {_MOST_SIGNS} names, values and signs")
    if not found:
        raise ValueError("expected a condition, got nothing")
    return found


def _unquoted(text: str) -> str:
    escapes = {"n": "\n", "t": "\t", "r": "\r"}
    return re.sub(r"\\(.)", lambda match: escapes.get(match[1], match[1]), text[1:-1])


def _check_pattern(given: Value) -> None:
    """A pattern that is written out is looked at now; one of the arguments when it comes."""
    try:
        pattern = given({})
    except Missing:
        return
    try:
        compiled(pattern)
    except (TypeError, ValueError) as error:
        raise ValueError(f"expected a pattern of RE2, got {pattern!r}: {error}") from None
