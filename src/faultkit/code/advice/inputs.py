"""Which names in a function hold what its caller gave: parameters, and what is taken straight out of them.

A name is followed through plain copies, methods called on it and text that it is put into, and no further:
what goes through any other function is held for checked there. So this misses much, and blames little.
Pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from faultkit.code.facts import Assignment, Call, Facts, Parameter, Scope
from faultkit.code.facts.facts import Placed

_LITERAL = re.compile(
    r"""(?P<prefix>\b[a-zA-Z]{1,2})?(?P<quote>\"{3}|'{3}|"|'|`)(?P<text>(?:\\.|(?!(?P=quote)).)*)(?P=quote)""",
    re.DOTALL,
)
_HOLE = re.compile(r"\{([^{}]*)\}")
_TEMPLATE_HOLE = re.compile(r"\$\{([^{}]*)\}")
_HARMLESS = re.compile(
    # A number, a count or a text that was made harmless; `for _ in names` reads how many there are.
    r"\b(?:len|int|float|bool|Number|parseInt|encodeURIComponent|(?:\w+\.)*(?:quote\w*|escape\w*|Atoi))"
    r"\s*\([^()]*\)|\bin\s+[\w.]+|\.(?:length|size)\b"
)
_ROOT = re.compile(r"(?<![\w.$])[A-Za-z_]\w*")
_KEYWORD = re.compile(r"\b\w+\s*=(?!=)")
_THROUGH = frozenset(
    {"str", "String", "decodeURIComponent", "unquote", "urllib.parse.unquote", "pathlib.Path"}
)
"""Functions that give back what they are given."""
_NO_INPUT = frozenset({"self", "cls", "this", "ctx", "context", "w", "res", "response", "reply", "next"})
_TYPES = (
    "int", "float", "bool", "Int", "Integer", "Long", "long", "Boolean", "boolean", "double", "number",
    "uuid.UUID", "UUID", "java.util.UUID", "datetime.date", "datetime.datetime", "int64", "int32", "uint",
    "context.Context", "net/http.ResponseWriter",
)  # fmt: skip
"""Nothing can be smuggled in by a value of these."""
_GIVEN_BY_FRAMEWORK = re.compile(r"^(?:\w+\.)*(?:Depends|Security|BackgroundTasks)\b")
_FRAMEWORK_GLOBALS = {"flask": "request", "quart": "request", "bottle": "request"}
_MOST_ROUNDS = 4


@dataclass(frozen=True, slots=True)
class Inputs:
    names: frozenset[str]
    """Names that hold something which the caller gave."""

    def among(self, text: str) -> list[str]:
        """Those that an expression takes as they are, in its order."""
        return [name for name in roots_in(text) if name in self.names]


def inputs_at(place: Placed, facts: Facts) -> Inputs:
    """Of the functions around a place."""
    around = tuple(facts.functions_around(place))
    names = {each.name for scope in around for each in scope.parameters if _is_input(each)}
    if any(scope.route is not None for scope in around):
        names |= {name for module, name in _FRAMEWORK_GLOBALS.items() if facts.imports_any(module)}
    assigned = [each for each in facts.assignments if each.scope in around]
    for _ in range(_MOST_ROUNDS):
        more = {
            name
            for each in assigned
            if _passes_on(each, names)
            for name in _targets(each)
            if name not in names
        }
        if not more:
            break
        names |= more
    return Inputs(frozenset(names))


def roots_in(text: str) -> list[str]:
    """The names that an expression reads, of `a.b` only `a`; none out of the literal part of a text."""
    code = _LITERAL.sub(_holes, text)
    code = _KEYWORD.sub(" ", _HARMLESS.sub(" ", code))
    return list(dict.fromkeys(_ROOT.findall(code)))


def is_checked(name: str, scope: Scope, facts: Facts) -> bool:
    """Whether the function asks if the name is one of a known set."""
    word = rf"\b{re.escape(name)}\b"
    asks = re.compile(rf"{word}\s+(?:not\s+)?in\b|(?:includes|has|contains|fullmatch|match|test)\(.*{word}")
    steps = facts.within(facts.steps_of("branch", "assert"), scope.span)
    return any(asks.search(each.text) for each in steps)


def _is_input(parameter: Parameter) -> bool:
    default = "" if parameter.default is None else parameter.default.text
    is_ours = parameter.name in _NO_INPUT or _GIVEN_BY_FRAMEWORK.match(default)
    return not is_ours and parameter.type not in _TYPES


def _holes(found: re.Match[str]) -> str:
    if found["quote"] == "`":
        holes = _TEMPLATE_HOLE.findall(found["text"])
    elif "f" in (found["prefix"] or "").lower():
        holes = _HOLE.findall(found["text"].replace("{{", "").replace("}}", ""))
    else:
        holes = []
    return f" {' , '.join(holes)} "


def _passes_on(assignment: Assignment, names: set[str]) -> bool:
    value, call = assignment.value, assignment.call
    if value is None or not any(name in names for name in roots_in(value.text)):
        return False
    if call is None:
        return value.shape in ("name", "other")
    return call.name in _THROUGH or _receiver(call) in names


def _receiver(call: Call) -> str:
    """The first name of `r.URL.Query().Get`; empty if it is called on nothing, or on a text."""
    found = re.match(r"[A-Za-z_]\w*(?=[.\[(])", call.written)
    return found[0] if found is not None and "." in call.written else ""


def _targets(assignment: Assignment) -> list[str]:
    """Plain names, and those in `{ id, name }`; what is kept in an object is not followed."""
    return [
        name for each in assignment.targets if "." not in each for name in re.findall(r"[A-Za-z_]\w*", each)
    ]
