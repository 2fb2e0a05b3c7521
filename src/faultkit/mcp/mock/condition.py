"""Conditions of a manifest, in the part of CEL that they need. Pure; read once, asked often.

    args.city == "Oslo" && size(args.tags) > 1 || !has(args.limit)

Literals, lists, `args.a.b` and `args["a"]`, comparisons, `in`, `&&`, `||`, `!`, `? :`, arithmetic, `has`,
`size`, `string`, `int`, and the methods contains, startsWith, endsWith and matches. What is missing in the
arguments makes a condition false, and never an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Condition: TypeAlias = Callable[[Mapping[str, Any]], bool]
"""Asked with the names that it may use, such as `args`."""
_Value: TypeAlias = Callable[[Mapping[str, Any]], Any]

_TOKEN = re.compile(
    r"""\s*(?:(?P<number>\d+\.\d+|\d+)|(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
    r"""|(?P<name>[A-Za-z_]\w*)|(?P<sign>&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()\[\]]))"""
)
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None}
_DEEPEST = 50


class Missing(Exception):
    """The arguments do not have what the condition asks about."""


def condition_of(text: str) -> Condition:
    """ValueError if it cannot be read; it says where."""
    value = _Parser(text).whole()

    def holds(names: Mapping[str, Any]) -> bool:
        try:
            return value(names) is True
        except (Missing, TypeError, ValueError, ZeroDivisionError, re.error):
            return False

    return holds


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens(text))
        self._at = 0
        self._depth = 0

    def whole(self) -> _Value:
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

    def _choice(self) -> _Value:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ValueError("expected a condition that is nested less deeply")
        condition = self._binary(0)
        if self._take("?"):
            yes = self._choice()
            self._must(":")
            no = self._choice()
            self._depth -= 1
            return lambda names: yes(names) if condition(names) else no(names)
        self._depth -= 1
        return condition

    def _binary(self, level: int) -> _Value:
        if level == len(_LEVELS):
            return self._unary()
        left = self._binary(level + 1)
        while (sign := self._take(*_LEVELS[level])) is not None:
            left = _OPERATORS[sign](left, self._binary(level + 1))
        return left

    def _unary(self) -> _Value:
        if self._take("!"):
            inner = self._unary()
            return lambda names: not inner(names)
        if self._take("-"):
            inner = self._unary()
            return lambda names: -inner(names)
        return self._member(self._primary())

    def _member(self, value: _Value) -> _Value:
        while True:
            if self._take("."):
                value = self._dotted(value)
            elif self._take("["):
                key = self._choice()
                self._must("]")
                value = _item(value, key)
            else:
                return value

    def _dotted(self, value: _Value) -> _Value:
        kind, name = self._next("a name")
        if kind != "name":
            raise ValueError(f"expected a name behind the dot, got {name!r}")
        if not self._take("("):
            return _item(value, lambda names: name)
        if name not in _METHODS:
            raise ValueError(f"expected one of {', '.join(_METHODS)}, got {name!r}")
        given = self._choice()
        self._must(")")
        method = _METHODS[name]
        return lambda names: method(value(names), given(names))

    def _primary(self) -> _Value:
        kind, text = self._next("a value")
        if kind == "number":
            number = float(text) if "." in text else int(text)
            return lambda names: number
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
        return _item(lambda names: names, lambda names: text)

    def _function(self, name: str) -> _Value:
        if name not in ("has", *_FUNCTIONS):
            raise ValueError(f"expected one of has, {', '.join(_FUNCTIONS)}, got {name!r}")
        given = self._choice()
        self._must(")")
        if name == "has":
            return lambda names: _is_there(given, names)
        function = _FUNCTIONS[name]
        return lambda names: function(given(names))

    def _list(self) -> _Value:
        items: list[_Value] = []
        while not self._take("]"):
            if items:
                self._must(",")
            items.append(self._choice())
        return lambda names: [item(names) for item in items]

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
    if not found:
        raise ValueError("expected a condition, got nothing")
    return found


def _unquoted(text: str) -> str:
    escapes = {"n": "\n", "t": "\t", "r": "\r"}
    return re.sub(r"\\(.)", lambda match: escapes.get(match[1], match[1]), text[1:-1])


def _item(value: _Value, key: _Value) -> _Value:
    def found(names: Mapping[str, Any]) -> Any:
        holder, name = value(names), key(names)
        if isinstance(holder, Mapping) and name in holder:
            return holder[name]
        if isinstance(holder, list) and type(name) is int and 0 <= name < len(holder):
            return holder[name]
        raise Missing

    return found


def _is_there(value: _Value, names: Mapping[str, Any]) -> bool:
    try:
        value(names)
    except Missing:
        return False
    return True


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError("expected true or false")
    return value


def _and(left: _Value, right: _Value) -> _Value:
    return lambda names: _truth(left(names)) and _truth(right(names))


def _or(left: _Value, right: _Value) -> _Value:
    def either(names: Mapping[str, Any]) -> bool:
        # As in CEL, one side that holds is enough, even if the other cannot be told.
        try:
            if _truth(left(names)):
                return True
        except (Missing, TypeError, ValueError):
            pass
        return _truth(right(names))

    return either


def _pairwise(act: Callable[[Any, Any], Any]) -> Callable[[_Value, _Value], _Value]:
    return lambda left, right: lambda names: act(left(names), right(names))


_LEVELS = (("||",), ("&&",), ("==", "!=", "<", "<=", ">", ">=", "in"), ("+", "-"), ("*", "/", "%"))
_OPERATORS: dict[str, Callable[[_Value, _Value], _Value]] = {
    "||": _or,
    "&&": _and,
    "==": _pairwise(lambda a, b: a == b),
    "!=": _pairwise(lambda a, b: a != b),
    "<": _pairwise(lambda a, b: a < b),
    "<=": _pairwise(lambda a, b: a <= b),
    ">": _pairwise(lambda a, b: a > b),
    ">=": _pairwise(lambda a, b: a >= b),
    "in": _pairwise(lambda a, b: a in b),
    "+": _pairwise(lambda a, b: a + b),
    "-": _pairwise(lambda a, b: a - b),
    "*": _pairwise(lambda a, b: a * b),
    "/": _pairwise(lambda a, b: a / b),
    "%": _pairwise(lambda a, b: a % b),
}
_METHODS: dict[str, Callable[[Any, Any], bool]] = {
    "contains": lambda text, part: part in text,
    "startsWith": lambda text, part: bool(text.startswith(part)) if isinstance(text, str) else False,
    "endsWith": lambda text, part: bool(text.endswith(part)) if isinstance(text, str) else False,
    "matches": lambda text, pattern: re.search(pattern, text) is not None,
}
_FUNCTIONS: dict[str, Callable[[Any], Any]] = {"size": len, "string": str, "int": int}
