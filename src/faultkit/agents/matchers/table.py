"""The matchers there are, by the names under which suites know them. Adding one is a row of its file. Pure.

What asks a language model is refused here, by name: a verdict has to be the same twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faultkit.agents.matchers.difference import quoted
from faultkit.agents.matchers.formats import FORMAT_MATCHERS
from faultkit.agents.matchers.matcher import Matcher
from faultkit.agents.matchers.texts import TEXT_MATCHERS
from faultkit.agents.matchers.values import VALUE_MATCHERS
from faultkit.base.documents.shape import advice, joined, shown
from faultkit.base.errors import InputError


def match(matcher: str, wanted: Any, got: Any) -> str | None:
    """What is wrong with what came; None if nothing is. `wanted` has passed `check`.

    Of a snapshot, `wanted` is what is stored: to keep it is another's work."""
    return MATCHERS[matcher].judge(wanted, got)


def check(matcher: object, wanted: Any) -> None:
    """InputError if there is no such matcher, or if nothing could ever be judged by what is wanted."""
    if matcher in _JUDGES:
        raise InputError(
            "",
            f"{matcher} asks a language model, and its verdict may be another one the next time: "
            "not served; say what must hold by contains, regex, schema or numeric",
        )
    if matcher in _NOT_SERVED:
        raise InputError("", f"mcptest knows this matcher, Faultkit does not serve it{_instead(matcher)}")
    if not isinstance(matcher, str) or matcher not in MATCHERS:
        raise InputError("", f"unknown matcher; {advice(matcher, tuple(MATCHERS))}")
    MATCHERS[matcher].check(wanted)


# --- matchers made of matchers --------------------------------------------------------------------


def _not(wanted: Any, got: Any) -> str | None:
    name, inner = _only(wanted)
    if match(name, inner, got) is not None:
        return None
    return f"expected that {name} {quoted(inner)} does not hold, but it does of {quoted(got)}"


def _all_of(wanted: Any, got: Any) -> str | None:
    problems = [problem for problem in _each(wanted, got) if problem is not None]
    return "\n".join(problems) if problems else None


def _any_of(wanted: Any, got: Any) -> str | None:
    problems = [problem for problem in _each(wanted, got) if problem is not None]
    if len(problems) < len(wanted):
        return None
    return "\n".join(["expected one of them to hold, but none does:", *map(_indented, problems)])


def _one_of(wanted: Any, got: Any) -> str | None:
    held = [_only(each)[0] for each, problem in zip(wanted, _each(wanted, got), strict=True) if not problem]
    if len(held) == 1:
        return None
    if held:
        return (
            f"expected exactly one of them to hold, but {len(held)} do ({', '.join(held)}) of {quoted(got)}"
        )
    return _any_of(wanted, got)


def _each(wanted: Any, got: Any) -> list[str | None]:
    return [match(*_only(each), got) for each in wanted]


def _only(wanted: Any) -> tuple[str, Any]:
    ((name, inner),) = wanted.items()
    return name, inner


def _indented(text: str) -> str:
    return "  " + text.replace("\n", "\n  ")


def _check_one(wanted: Any) -> None:
    if not isinstance(wanted, Mapping) or len(wanted) != 1:
        raise InputError("", f"expected one matcher and what it wants, got {_count(wanted)}")
    name, inner = _only(wanted)
    if name == "snapshot":
        raise InputError(
            joined("", name), "expected it on its own: there is one stored value to hold it against"
        )
    try:
        check(name, inner)
    except InputError as error:
        raise error.within(joined("", name)) from None


def _check_some(wanted: Any) -> None:
    if not isinstance(wanted, list) or not wanted:
        raise InputError(
            "", f"expected a list of matchers, got {'an empty list' if wanted == [] else shown(wanted)}"
        )
    for index, each in enumerate(wanted):
        try:
            _check_one(each)
        except InputError as error:
            raise error.within(f"[{index}]") from None


def _count(wanted: Any) -> str:
    return f"{len(wanted)} of them" if isinstance(wanted, Mapping) else shown(wanted)


_ONE = {"$ref": "#/$defs/matcher"}
_SOME = {"type": "array", "minItems": 1, "items": _ONE}

MATCHERS: dict[str, Matcher] = {
    matcher.name: matcher
    for matcher in (
        *VALUE_MATCHERS,
        *TEXT_MATCHERS,
        *FORMAT_MATCHERS,
        Matcher("not", "The matcher does not hold.", _not, _check_one, _ONE),
        Matcher("oneOf", "Exactly one of the matchers holds.", _one_of, _check_some, _SOME),
        Matcher("anyOf", "One of the matchers holds, or more.", _any_of, _check_some, _SOME),
        Matcher("allOf", "All of the matchers hold.", _all_of, _check_some, _SOME),
    )
}

_JUDGES = ("llm-judge", "llm-jury", "factuality", "answer-relevance", "context-faithfulness", "similar")
_NOT_SERVED = {
    "cel": "",
    "citation": "",
    "is-sql": "",
    "is-valid-tools-call": "schema says what arguments must be",
}


def _instead(matcher: object) -> str:
    advice = _NOT_SERVED.get(str(matcher))
    return f": {advice}" if advice else ""
