"""Conditions of a manifest, in a subset of CEL. Pure; parsed once, evaluated often.

    args.city == "Oslo" && size(args.tags) > 1 || !has(args.limit)

Literals, lists, `args.a.b` and `args["a"]`, comparisons, `in`, `&&`, `||`, `!`, `? :`, arithmetic, `has`,
`size`, `string`, `int`, and the methods contains, startsWith, endsWith and matches. A name that the arguments
lack, or a value of the wrong type, makes a condition false, never an error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from faultkit.mcp.mock.answer_template import ROOTS

Value: TypeAlias = Callable[[Mapping[str, Any]], Any]
"""A compiled part of a condition, called with the names that it may use, such as `args`."""


class Missing(Exception):
    """Raised if the arguments lack what the condition refers to."""


UNTOLD = (Missing, TypeError, ValueError, ArithmeticError, RecursionError)
"""Errors during evaluation; the condition is then false."""


def item(value: Value, key: Value) -> Value:
    """Return the part that looks up `key` in `value`; it raises Missing if there is none."""

    def found(names: Mapping[str, Any]) -> Any:
        holder, name = value(names), key(names)
        if isinstance(holder, Mapping) and isinstance(name, str) and name in holder:
            return holder[name]
        if isinstance(holder, list) and type(name) is int and 0 <= name < len(holder):
            return holder[name]
        raise Missing

    return found


def is_there(value: Value, names: Mapping[str, Any]) -> bool:
    """Return whether everything that `value` refers to exists."""
    try:
        value(names)
    except Missing:
        return False
    return True


def truth(value: Any) -> bool:
    """Return a boolean. Raises TypeError for any other value."""
    if not isinstance(value, bool):
        raise TypeError("expected true or false")
    return value


def _and(left: Value, right: Value) -> Value:
    return lambda names: truth(left(names)) and truth(right(names))


def _or(left: Value, right: Value) -> Value:
    def either(names: Mapping[str, Any]) -> bool:
        # As in CEL, one true side is enough, even if the other cannot be evaluated.
        try:
            if truth(left(names)):
                return True
        except UNTOLD:
            pass
        return truth(right(names))

    return either


def _pairwise(act: Callable[[Any, Any], Any]) -> Callable[[Value, Value], Value]:
    return lambda left, right: lambda names: act(left(names), right(names))


def _numeric(act: Callable[[Any, Any], Any]) -> Callable[[Value, Value], Value]:
    """Arithmetic on numbers only: text times a number could fill the memory."""
    return lambda left, right: lambda names: act(number(left(names)), number(right(names)))


def number(value: Any) -> Any:
    """Return a number. Raises TypeError for any other value, also for a boolean."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError("expected a number")
    return value


def _same(left: Any, right: Any) -> bool:
    # True equals 1 in Python, but not in JSON.
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


def _is_in(value: Any, holder: Any) -> bool:
    if isinstance(holder, list):
        return any(_same(value, each) for each in holder)
    if isinstance(holder, Mapping | str) and isinstance(value, str):
        return value in holder
    raise TypeError("expected a list, a mapping or a text")


def _sum(left: Any, right: Any) -> Any:
    if isinstance(left, str) and isinstance(right, str):
        return left + right
    if isinstance(left, list) and isinstance(right, list):
        return left + right
    return number(left) + number(right)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _of_texts(act: Callable[[str, str], bool]) -> Callable[[Any, Any], bool]:
    def asked(text: Any, part: Any) -> bool:
        if not isinstance(text, str) or not isinstance(part, str):
            raise TypeError("expected a text")
        return act(text, part)

    return asked


def compiled(pattern: str) -> Any:
    """Compile a pattern; raises ValueError. RE2, as in CEL, matches in linear time, so that no pattern and no
    text can block the server."""
    # Imported late: few manifests have patterns, and a stdio client waits for every import.
    import re2

    quiet = re2.Options()
    quiet.log_errors = False
    try:
        return re2.compile(pattern, quiet)
    except re2.error as error:
        why = error.args[0]
        raise ValueError(why.decode("utf-8", "replace") if isinstance(why, bytes) else str(why)) from None


LEVELS = (("||",), ("&&",), ("==", "!=", "<", "<=", ">", ">=", "in"), ("+", "-"), ("*", "/", "%"))
OPERATORS: dict[str, Callable[[Value, Value], Value]] = {
    "||": _or,
    "&&": _and,
    "==": _pairwise(_same),
    "!=": _pairwise(lambda a, b: not _same(a, b)),
    "<": _pairwise(lambda a, b: a < b),
    "<=": _pairwise(lambda a, b: a <= b),
    ">": _pairwise(lambda a, b: a > b),
    ">=": _pairwise(lambda a, b: a >= b),
    "in": _pairwise(_is_in),
    "+": _pairwise(_sum),
    "-": _numeric(lambda a, b: a - b),
    "*": _numeric(lambda a, b: a * b),
    "/": _numeric(lambda a, b: a / b),
    "%": _numeric(lambda a, b: a % b),
}
METHODS: dict[str, Callable[[Any, Any], bool]] = {
    "contains": lambda holder, part: _is_in(part, holder),
    "startsWith": _of_texts(lambda text, part: text.startswith(part)),
    "endsWith": _of_texts(lambda text, part: text.endswith(part)),
    "matches": _of_texts(lambda text, pattern: compiled(pattern).search(text) is not None),
}
FUNCTIONS: dict[str, Callable[[Any], Any]] = {"size": len, "string": _text, "int": int}


Condition: TypeAlias = Callable[[Mapping[str, Any]], bool]
"""Called with the names that it may use, such as `args`."""

_TOKEN = re.compile(
    r"""\s*(?:(?P<number>\d+\.\d+|\d+)|(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
    r"""|(?P<name>[A-Za-z_]\w*)|(?P<sign>&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()\[\]]))"""
)
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None}
_DEEPEST = 30
_MOST_SIGNS = 300
"""Limit of tokens, because each may be one stack frame during evaluation."""


def condition_of(text: str) -> Condition:
    """Parse a condition. Raises ValueError with the place of the mistake."""
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
    """Check a literal pattern now; one from the arguments is checked when it is used."""
    try:
        pattern = given({})
    except Missing:
        return
    try:
        compiled(pattern)
    except (TypeError, ValueError) as error:
        raise ValueError(f"expected a pattern of RE2, got {pattern!r}: {error}") from None
