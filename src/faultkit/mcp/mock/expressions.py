"""Expressions in a manifest: `${…}` names in answers, and conditions. Pure.

Names. A text that is nothing but one `${args.city}` becomes the value itself, with its type; inside a longer
text it becomes text. A name without a value becomes an empty text, or null if it stands alone.

Conditions are a subset of CEL, parsed once and evaluated often:

    args.city == "Oslo" && size(args.tags) > 1 || !has(args.limit)

They have literals, lists, `args.a.b` and `args["a"]`, comparisons, `in`, `&&`, `||`, `!`, `? :`, arithmetic,
`has`, `size`, `string`, `int`, and the methods contains, startsWith, endsWith and matches. A name that the
arguments lack, or a value of the wrong type, makes a condition false, never an error. Own code instead of a
CEL library, because a mock on stdio has to start fast.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from faultkit.base.patterns import LinearPattern

_NAME = re.compile(r"\$\{\s*([A-Za-z_][\w.\-]*)\s*\}")
NAME_ROOTS = ("args", "tool", "call", "sampling", "elicitation", "roots", "calls")


def has_names(value: object) -> bool:
    """Return whether the value holds `${…}` names."""
    if isinstance(value, str):
        return _NAME.search(value) is not None
    if isinstance(value, Mapping):
        return any(map(has_names, value.values()))
    return isinstance(value, list) and any(map(has_names, value))


def unknown_name(value: object, roots: tuple[str, ...] = NAME_ROOTS) -> str | None:
    """Return the first name whose root is not one of `roots`; None if all are known."""
    if isinstance(value, str):
        names = (match[1].partition(".")[0] for match in _NAME.finditer(value))
        return next((name for name in names if name not in roots), None)
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return next((name for each in inner if (name := unknown_name(each, roots)) is not None), None)


def names_behind(root: str, value: object) -> Iterator[str]:
    """Yield what follows a root in the names of a value: `x` of `${calls.x}`; empty if nothing does."""
    if isinstance(value, str):
        for match in _NAME.finditer(value):
            first, *rest = match[1].split(".")
            if first == root:
                yield rest[0] if rest else ""
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    for each in inner:
        yield from names_behind(root, each)


def fill_names(value: Any, names: Mapping[str, Any]) -> Any:
    """Return the value with its `${…}` names replaced."""
    if isinstance(value, str):
        alone = _NAME.fullmatch(value)
        if alone is not None:
            return _look_up(alone[1], names)
        return _NAME.sub(
            lambda match: "" if (found := _look_up(match[1], names)) is None else _text(found), value
        )
    # dict and list, not Mapping and Sequence: JSON values are these, and the checks are much faster.
    if isinstance(value, dict):
        return {key: fill_names(each, names) for key, each in value.items()}
    if isinstance(value, list):
        return [fill_names(each, names) for each in value]
    return value


def fill_text(text: str, names: Mapping[str, Any]) -> str:
    """Return a text with its `${…}` names replaced, as text even where it is nothing but one name."""
    filled = fill_names(text, names)
    return "" if filled is None else _text(filled)


def _look_up(path: str, names: Mapping[str, Any]) -> Any:
    value: Any = names
    for key in path.split("."):
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            return None
    return value


# --- conditions ----------------------------------------------------------------------------------

Value: TypeAlias = Callable[[Mapping[str, Any]], Any]
"""A compiled part of a condition, called with the names that it may use, such as `args`."""


class Missing(Exception):
    """Raised if the arguments lack what the condition refers to."""


EVALUATION_ERRORS = (Missing, TypeError, ValueError, ArithmeticError, RecursionError)
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


def exists(value: Value, names: Mapping[str, Any]) -> bool:
    """Return whether everything that `value` refers to exists."""
    try:
        value(names)
    except Missing:
        return False
    return True


def boolean(value: Any) -> bool:
    """Return the value if it is a boolean. Raises TypeError otherwise."""
    if not isinstance(value, bool):
        raise TypeError("expected true or false")
    return value


def _and(left: Value, right: Value) -> Value:
    return lambda names: boolean(left(names)) and boolean(right(names))


def _or(left: Value, right: Value) -> Value:
    def either(names: Mapping[str, Any]) -> bool:
        # As in CEL, one true side is enough, even if the other cannot be evaluated.
        try:
            if boolean(left(names)):
                return True
        except EVALUATION_ERRORS:
            pass
        return boolean(right(names))

    return either


def _binary_operator(act: Callable[[Any, Any], Any]) -> Callable[[Value, Value], Value]:
    return lambda left, right: lambda names: act(left(names), right(names))


def _numeric_operator(act: Callable[[Any, Any], Any]) -> Callable[[Value, Value], Value]:
    """Arithmetic on numbers only: text times a number could fill the memory."""
    return lambda left, right: lambda names: act(number(left(names)), number(right(names)))


def number(value: Any) -> Any:
    """Return the value if it is a number. Raises TypeError otherwise, also for a boolean."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError("expected a number")
    return value


def _equal(left: Any, right: Any) -> bool:
    # True equals 1 in Python, but not in JSON.
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


def _is_in(value: Any, holder: Any) -> bool:
    if isinstance(holder, list):
        return any(_equal(value, each) for each in holder)
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


def _on_texts(act: Callable[[str, str], bool]) -> Callable[[Any, Any], bool]:
    def asked(text: Any, part: Any) -> bool:
        if not isinstance(text, str) or not isinstance(part, str):
            raise TypeError("expected a text")
        return act(text, part)

    return asked


LEVELS = (("||",), ("&&",), ("==", "!=", "<", "<=", ">", ">=", "in"), ("+", "-"), ("*", "/", "%"))
OPERATORS: dict[str, Callable[[Value, Value], Value]] = {
    "||": _or,
    "&&": _and,
    "==": _binary_operator(_equal),
    "!=": _binary_operator(lambda a, b: not _equal(a, b)),
    "<": _binary_operator(lambda a, b: a < b),
    "<=": _binary_operator(lambda a, b: a <= b),
    ">": _binary_operator(lambda a, b: a > b),
    ">=": _binary_operator(lambda a, b: a >= b),
    "in": _binary_operator(_is_in),
    "+": _binary_operator(_sum),
    "-": _numeric_operator(lambda a, b: a - b),
    "*": _numeric_operator(lambda a, b: a * b),
    "/": _numeric_operator(lambda a, b: a / b),
    "%": _numeric_operator(lambda a, b: a % b),
}
METHODS: dict[str, Callable[[Any, Any], bool]] = {
    "contains": lambda holder, part: _is_in(part, holder),
    "startsWith": _on_texts(lambda text, part: text.startswith(part)),
    "endsWith": _on_texts(lambda text, part: text.endswith(part)),
    "matches": _on_texts(lambda text, pattern: LinearPattern(pattern).found_in(text)),
}
FUNCTIONS: dict[str, Callable[[Any], Any]] = {"size": len, "string": _text, "int": int}


Condition: TypeAlias = Callable[[Mapping[str, Any]], bool]
"""Called with the names that it may use, such as `args`."""

_TOKEN = re.compile(
    r"""\s*(?:(?P<number>\d+\.\d+|\d+)|(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
    r"""|(?P<name>[A-Za-z_]\w*)|(?P<sign>&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()\[\]]))"""
)
_CONSTANTS: dict[str, Any] = {"true": True, "false": False, "null": None}
_MOST_DEPTH = 30
_MOST_TOKENS = 300
"""Limit of tokens, because each may be one stack frame during evaluation."""


def tools_of_condition(text: str) -> Iterator[str]:
    """Yield each tool whose calls a condition counts: X of `calls.X` and `calls["X"]`."""
    tokens = [("sign", ""), *_tokens(text), ("sign", ""), ("sign", "")]
    for at in range(1, len(tokens) - 2):
        if tokens[at] == ("name", "calls") and tokens[at - 1][1] != ".":
            kind, word = tokens[at + 2]
            if tokens[at + 1][1] == "." and kind == "name":
                yield word
            elif tokens[at + 1][1] == "[" and kind == "text":
                yield _unquoted(word)


def parse_condition(text: str, roots: tuple[str, ...] = NAME_ROOTS) -> Condition:
    """Parse a condition whose names begin with these roots. Raises ValueError with the place of the
    mistake."""
    value = _ConditionParser(text, roots).condition()

    def holds(names: Mapping[str, Any]) -> bool:
        try:
            return value(names) is True
        except EVALUATION_ERRORS:
            return False

    return holds


class _ConditionParser:
    def __init__(self, text: str, roots: tuple[str, ...]) -> None:
        self._roots = roots
        self._tokens = list(_tokens(text))
        self._at = 0
        self._depth = 0

    def condition(self) -> Value:
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

    def _expect(self, sign: str) -> None:
        if self._take(sign) is None:
            raise ValueError(f"expected {sign!r}, got {self._peek() or 'the end'!r}")

    def _choice(self) -> Value:
        self._depth += 1
        if self._depth > _MOST_DEPTH:
            raise ValueError("expected a condition that is nested less deeply")
        condition = self._binary(0)
        if self._take("?"):
            yes = self._choice()
            self._expect(":")
            no = self._choice()
            self._depth -= 1
            return lambda names: yes(names) if boolean(condition(names)) else no(names)
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
            return lambda names: not boolean(inner(names))
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
                self._expect("]")
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
        self._expect(")")
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
            self._expect(")")
            return inner
        if text == "[":
            return self._list()
        if kind != "name":
            raise ValueError(f"expected a value, got {text!r}")
        if text in _CONSTANTS:
            word = _CONSTANTS[text]
            return lambda names: word
        if self._take("("):
            return self._function(text)
        if text not in self._roots:
            raise ValueError(f"expected a name of {', '.join(self._roots)}, got {text!r}")
        return item(lambda names: names, lambda names: text)

    def _function(self, name: str) -> Value:
        if name not in ("has", *FUNCTIONS):
            raise ValueError(f"expected one of has, {', '.join(FUNCTIONS)}, got {name!r}")
        given = self._choice()
        self._expect(")")
        if name == "has":
            return lambda names: exists(given, names)
        function = FUNCTIONS[name]
        return lambda names: function(given(names))

    def _list(self) -> Value:
        items: list[Value] = []
        while not self._take("]"):
            if items:
                self._expect(",")
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
        if len(found) > _MOST_TOKENS:
            raise ValueError(f"expected at most {_MOST_TOKENS} names, values and signs")
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
        LinearPattern(pattern)
    except (TypeError, ValueError) as error:
        raise ValueError(f"expected a pattern of RE2, got {pattern!r}: {error}") from None
