"""The grammar of PromQL by precedence climbing, with the types of what is written. No tree is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal, TypeAlias, TypeVar

from faultkit.code.promql.functions import (
    AGGREGATIONS,
    EXPERIMENTAL,
    FUNCTIONS,
    NAMES,
    Signature,
    ValueType,
)
from faultkit.code.promql.patterns import matches_empty, problem_of_pattern
from faultkit.code.promql.problem import Problem
from faultkit.code.promql.tokens import Token, duration_ms, number, tokens_of

DEEPEST = 50
"""Of expressions in expressions. Prometheus takes more; nobody can read it."""

_SETS = frozenset({"and", "or", "unless"})
_COMPARISONS = frozenset({"==", "!=", "<", ">", "<=", ">="})
_LEVELS = (
    frozenset({"or"}),
    frozenset({"and", "unless"}),
    _COMPARISONS,
    {"+", "-"},
    {"*", "/", "%", "atan2"},
)
_POWER = len(_LEVELS)
_PRECEDENCE = {sign: level for level, signs in enumerate(_LEVELS) for sign in signs} | {"^": _POWER}
_NO_METRICS = frozenset({"bool", "on", "ignoring", "group_left", "group_right", "atan2"})
"""Keywords that cannot name a metric; `sum`, `by` and `offset` can."""

Shape: TypeAlias = Literal["selector", "range", "subquery", "other"]
T = TypeVar("T")


@dataclass(slots=True)
class _Part:
    """A piece of an expression that was read."""

    at: int
    type: ValueType
    shape: Shape = "other"
    has_offset: bool = False
    has_time: bool = False


def problem_of(expression: str) -> str | None:
    """What is wrong, and at which column; None if Prometheus takes it."""
    try:
        _parsed(expression)
    except Problem as problem:
        return problem.placed_in(expression)
    return None


def type_of(expression: str) -> ValueType:
    """What it gives. Raises ValueError if it is no PromQL."""
    try:
        return _parsed(expression)
    except Problem as problem:
        raise ValueError(problem.placed_in(expression)) from None


def _parsed(expression: str) -> ValueType:
    return _Parser(tokens_of(expression)).whole()


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._place = 0
        self._depth = 0

    def whole(self) -> ValueType:
        first = self._next
        if first.kind == "end":
            raise Problem(first.at, "expected an expression, got nothing")
        part, rest = self._expression(0), self._next
        if rest.kind != "end":
            raise Problem(rest.at, f"expected an operator or the end, got {rest}")
        return part.type

    # Tokens.

    @property
    def _next(self) -> Token:
        return self._tokens[self._place]

    @property
    def _after_next(self) -> Token:
        return self._tokens[min(self._place + 1, len(self._tokens) - 1)]

    def _take(self) -> Token:
        token = self._next
        self._place += token.kind != "end"
        return token

    def _is_sign(self, *signs: str) -> bool:
        return self._next.kind == "sign" and self._next.text in signs

    def _want(self, sign: str, why: str) -> Token:
        if not self._is_sign(sign):
            raise Problem(self._next.at, f"expected {sign!r} {why}, got {self._next}")
        return self._take()

    def _listed(self, end: str, item: Callable[[], T], why: str, *, last_comma: bool) -> list[T]:
        """Items between commas up to the sign that ends them, which is taken."""
        items: list[T] = []
        while not self._is_sign(end):
            items.append(item())
            if not self._is_sign(","):
                break
            comma = self._take()
            if self._is_sign(end) and not last_comma:
                raise Problem(comma.at, f"expected another argument after ',', got {end!r}")
        self._want(end, why)
        return items

    # Operators.

    def _expression(self, least: int) -> _Part:
        self._depth += 1
        if self._depth > DEEPEST:
            raise Problem(self._next.at, f"expected at most {DEEPEST} expressions in one another")
        left = self._signed()
        while (level := self._level()) >= least:
            left = self._binary(left, self._take(), level)
        self._depth -= 1
        return left

    def _level(self) -> int:
        text = self._next.word or (self._next.text if self._next.kind == "sign" else "")
        return _PRECEDENCE.get(text, -1)

    def _signed(self) -> _Part:
        if not self._is_sign("+", "-"):
            return self._modified(self._primary())
        sign = self._take()
        # Binds less than ^, so that -x ^ 2 is -(x ^ 2).
        part = self._expression(_POWER)
        if part.type not in ("scalar", "instant"):
            raise Problem(
                part.at, f"expected a number or an instant vector after {sign}, got {NAMES[part.type]}"
            )
        return _Part(sign.at, part.type)

    def _binary(self, left: _Part, operator: Token, level: int) -> _Part:
        sign = operator.word or operator.text
        is_bool = self._next.word == "bool"
        if is_bool:
            token = self._take()
            if sign not in _COMPARISONS:
                raise Problem(token.at, f"expected `bool` after a comparison only, got it after {sign!r}")
        matching = self._matching(sign)
        # Only ^ groups from the right.
        right = self._expression(level + (sign != "^"))
        for part in (left, right):
            if part.type not in ("scalar", "instant"):
                raise Problem(
                    part.at,
                    f"expected a number or an instant vector beside {sign!r}, got {NAMES[part.type]}",
                )
        types = {left.type, right.type}
        if sign in _SETS and "scalar" in types:
            raise Problem(operator.at, f"expected instant vectors on both sides of {sign!r}, got a number")
        if matching is not None and "scalar" in types:
            raise Problem(matching.at, "expected instant vectors where labels are matched, got a number")
        if sign in _COMPARISONS and types == {"scalar"} and not is_bool:
            raise Problem(operator.at, f"expected {sign!r} with `bool` between two numbers")
        return _Part(left.at, "scalar" if types == {"scalar"} else "instant")

    def _matching(self, sign: str) -> Token | None:
        if self._next.word not in ("on", "ignoring"):
            return None
        how = self._take()
        labels = self._labels(f"after {how.text!r}")
        if self._next.word in ("group_left", "group_right"):
            group = self._take()
            if sign in _SETS:
                raise Problem(group.at, f"expected no {group.word} with {sign!r}")
            more = self._labels(f"after {group.text!r}") if self._is_sign("(") else []
            both = [label for label in more if label in labels]
            if how.word == "on" and both:
                raise Problem(group.at, f"expected other labels in {group.word} than in on, got {both[0]!r}")
        return how

    # What stands between operators.

    def _primary(self) -> _Part:
        token = self._next
        if token.kind == "number":
            number(token.text, token.at)
        if token.kind == "number" or token.word in ("inf", "nan"):
            return _Part(self._take().at, "scalar")
        if token.kind == "duration":
            duration_ms(token.text, token.at)
            return _Part(self._take().at, "scalar")
        if token.kind == "text":
            return _Part(self._take().at, "text")
        if self._is_sign("("):
            self._take()
            inner = self._expression(0)
            self._want(")", f"to close that of column {token.at + 1}")
            return _Part(token.at, inner.type)
        if self._is_sign("{"):
            return self._selector("")
        if token.kind == "name":
            return self._named()
        raise Problem(token.at, f"expected an expression, got {token}")

    def _named(self) -> _Part:
        token, after = self._next, self._after_next
        is_call = after.kind == "sign" and after.text == "("
        if token.word in AGGREGATIONS and (is_call or after.word in ("by", "without")):
            return self._aggregation()
        if token.word in _NO_METRICS:
            raise Problem(token.at, f"expected an expression, got the keyword {token}")
        if is_call:
            return self._call()
        return self._selector(self._take().text)

    def _call(self) -> _Part:
        name = self._take()
        signature = FUNCTIONS.get(name.text)
        if name.text in EXPERIMENTAL:
            raise Problem(name.at, f"{name.text!r} is experimental: most servers refuse it")
        if signature is None:
            near = get_close_matches(name.text, [*FUNCTIONS, *AGGREGATIONS], n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise Problem(name.at, f"there is no function {name.text[:60]!r}{hint}")
        self._arguments(name, signature)
        return _Part(name.at, signature.gives)

    def _aggregation(self) -> _Part:
        name = self._take()
        grouped = self._grouping()
        self._arguments(name, AGGREGATIONS[name.word])
        if not grouped:
            self._grouping()
        return _Part(name.at, "instant")

    def _grouping(self) -> bool:
        if self._next.word not in ("by", "without"):
            return False
        self._labels(f"after {self._take().text!r}")
        return True

    def _arguments(self, name: Token, signature: Signature) -> None:
        self._want("(", f"after {name.text!r}")
        parts = self._listed(")", lambda: self._expression(0), f"or ',' in {name.text}()", last_comma=False)
        if not signature.fits(len(parts)):
            raise Problem(name.at, f"expected {signature.expected()} for {name.text}(), got {len(parts)}")
        for place, part in enumerate(parts):
            wanted = signature.type_at(place)
            if part.type != wanted:
                which = f"argument {place + 1} of {name.text}()"
                raise Problem(part.at, f"expected {NAMES[wanted]} as {which}, got {NAMES[part.type]}")

    def _labels(self, why: str) -> list[str]:
        self._want("(", why)
        return self._listed(")", self._label, "or ',' in a list of labels", last_comma=True)

    def _label(self) -> str:
        token = self._take()
        is_name = token.kind == "name" and ":" not in token.text
        if not is_name and not (token.kind == "text" and token.text):
            raise Problem(token.at, f"expected a label, got {token}")
        return token.text

    # Selectors and what follows them.

    def _selector(self, metric: str) -> _Part:
        at = self._tokens[self._place - bool(metric)].at
        named, chooses = [metric] if metric else [], False
        if self._is_sign("{"):
            brace = self._take()
            for name, matches in self._listed("}", self._matcher, "or ',' among matchers", last_comma=True):
                if name:
                    named.append(name)
                chooses = chooses or matches
            if len(named) > 1:
                raise Problem(brace.at, f"expected one name of a metric, got {named[0]!r} and {named[1]!r}")
            if not named and not chooses:
                raise Problem(brace.at, "expected a matcher that does not match the empty text")
        return _Part(at, "instant", "selector")

    def _matcher(self) -> tuple[str, bool]:
        """The name of a metric that it gives, and whether it leaves out series without the label."""
        token = self._next
        label = self._label()
        if not self._is_sign("=", "!=", "=~", "!~"):
            if token.kind == "text":
                return label, True
            raise Problem(
                self._next.at, f"expected =, !=, =~ or !~ after the label {label!r}, got {self._next}"
            )
        sign, value = self._take().text, self._take()
        if value.kind != "text":
            raise Problem(value.at, f"expected a text in quotes after {sign}, got {value}")
        if sign in ("=", "!="):
            matches_none = (value.text == "") == (sign == "=")
            return (value.text if label == "__name__" and sign == "=" else ""), not matches_none
        wrong = problem_of_pattern(value.text)
        if wrong is not None:
            raise Problem(value.at, f"expected a regular expression, got {value.text[:40]!r}: {wrong}")
        return "", matches_empty(value.text) != (sign == "=~")

    def _modified(self, part: _Part) -> _Part:
        while True:
            if self._is_sign("["):
                part = self._ranged(part)
            elif self._is_sign("@"):
                self._timed(part)
            elif self._next.word == "offset":
                self._offset(part)
            else:
                return part

    def _ranged(self, part: _Part) -> _Part:
        bracket = self._take()
        self._duration("a range")
        if self._is_sign(":"):
            self._take()
            if not self._is_sign("]"):
                self._duration("a step")
            self._want("]", "after the step")
            if part.type != "instant":
                raise Problem(
                    part.at, f"expected an instant vector before a subquery, got {NAMES[part.type]}"
                )
            return _Part(part.at, "range", "subquery")
        self._want("]", "after the range")
        if part.shape != "selector":
            raise Problem(bracket.at, "expected the name of a metric or a selector before a range")
        if part.has_offset or part.has_time:
            raise Problem(bracket.at, "expected the range before `offset` and `@`")
        return _Part(part.at, "range", "range")

    def _duration(self, what: str) -> None:
        token = self._take()
        if token.kind == "duration":
            length_ms = float(duration_ms(token.text, token.at))
        elif token.kind == "number":
            length_ms = number(token.text, token.at) * 1000
        else:
            raise Problem(token.at, f"expected {what} such as 5m, got {token}")
        if length_ms < 1:
            raise Problem(token.at, f"expected {what} above 0, got {token}")

    def _timed(self, part: _Part) -> None:
        at = self._take()
        self._may_move(part, at, part.has_time)
        part.has_time = True
        if self._next.word in ("start", "end"):
            word = self._take().text
            self._want("(", f"after {word!r}")
            self._want(")", f"after {word}(")
            return
        if self._is_sign("+", "-"):
            self._take()
        token = self._take()
        if token.kind != "number":
            raise Problem(token.at, f"expected a time in seconds, start() or end() after @, got {token}")
        number(token.text, token.at)

    def _offset(self, part: _Part) -> None:
        self._may_move(part, self._take(), part.has_offset)
        part.has_offset = True
        if self._is_sign("+", "-"):
            self._take()
        self._duration("an offset")

    def _may_move(self, part: _Part, token: Token, is_again: bool) -> None:
        if part.shape == "other":
            raise Problem(token.at, f"expected a selector, a range or a subquery before {token}")
        if is_again:
            raise Problem(token.at, f"expected {token} once")
