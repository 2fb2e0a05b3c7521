"""The table of matchers by their names in suites, and matchers that combine others. Pure.

A new matcher is a row in its file. Matchers that ask a language model are refused by name, because a verdict
must be reproducible.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faultkit.agents.matchers.matcher import Matcher, quoted
from faultkit.agents.matchers.text_matchers import FORMAT_MATCHERS, TEXT_MATCHERS, matches_any_text
from faultkit.agents.matchers.value_matchers import VALUE_MATCHERS
from faultkit.base.documents.checks import advice, join_path, shown
from faultkit.base.errors import InputError


def match(matcher: str, wanted: Any, got: Any) -> str | None:
    """Return what is wrong with a value, or None. `wanted` must have passed `check`.

    For a snapshot, `wanted` is the stored value.
    """
    return MATCHERS[matcher].judge(wanted, got)


def check(matcher: object, wanted: Any) -> None:
    """Raise InputError if the matcher is unknown or its argument is invalid."""
    if matcher in _MODEL_MATCHERS:
        raise InputError(
            "",
            f"{matcher} asks a language model, whose verdict may differ the next time: "
            "not supported; state what must hold by contains, regex, schema or numeric",
        )
    if matcher in _UNSUPPORTED:
        instead = _UNSUPPORTED[str(matcher)]
        hint = f": {instead}" if instead else ""
        raise InputError("", f"a matcher of mcptest that Faultkit does not support{hint}")
    if not isinstance(matcher, str) or matcher not in MATCHERS:
        raise InputError("", f"unknown matcher; {advice(matcher, tuple(MATCHERS))}")
    MATCHERS[matcher].check(wanted)


def asserts_nothing(matcher: str, wanted: Any) -> bool:
    """Return whether a matcher holds for every text, or for every mapping: `contains: ""`."""
    if matcher in ("allOf", "anyOf"):
        inner = (asserts_nothing(*_name_and_argument(each)) for each in wanted)
        return all(inner) if matcher == "allOf" else any(inner)
    if matcher == "not":
        name, inner = _name_and_argument(wanted)
        return name == "not" and asserts_nothing(*_name_and_argument(inner))
    if matcher == "regex":
        return matches_any_text(wanted)
    if matcher == "length":
        return isinstance(wanted, Mapping) and all(
            (name, limit) == ("ge", 0) or (name in ("ge", "gt") and limit < 0)
            for name, limit in wanted.items()
        )
    return matcher in _HOLDS_ALWAYS and bool(wanted == _HOLDS_ALWAYS[matcher])


_HOLDS_ALWAYS: dict[str, Any] = {"contains": "", "subset": {}, "schema": {}}


# Matchers that combine others


def _not(wanted: Any, got: Any) -> str | None:
    name, inner = _name_and_argument(wanted)
    if match(name, inner, got) is not None:
        return None
    return f"expected that {name} {quoted(inner)} does not hold, but it does of {quoted(got)}"


def _all_of(wanted: Any, got: Any) -> str | None:
    problems = [problem for problem in _problems(wanted, got) if problem is not None]
    return "\n".join(problems) if problems else None


def _any_of(wanted: Any, got: Any) -> str | None:
    problems = [problem for problem in _problems(wanted, got) if problem is not None]
    if len(problems) < len(wanted):
        return None
    indented = ["  " + problem.replace("\n", "\n  ") for problem in problems]
    return "\n".join(["expected one of them to hold, but none does:", *indented])


def _one_of(wanted: Any, got: Any) -> str | None:
    held = [
        _name_and_argument(each)[0]
        for each, problem in zip(wanted, _problems(wanted, got), strict=True)
        if not problem
    ]
    if len(held) == 1:
        return None
    if held:
        return (
            f"expected exactly one of them to hold, but {len(held)} do ({', '.join(held)}) of {quoted(got)}"
        )
    return _any_of(wanted, got)


def _problems(wanted: Any, got: Any) -> list[str | None]:
    return [match(*_name_and_argument(each), got) for each in wanted]


def _name_and_argument(wanted: Any) -> tuple[str, Any]:
    ((name, inner),) = wanted.items()
    return name, inner


def _check_one(wanted: Any) -> None:
    if not isinstance(wanted, Mapping) or len(wanted) != 1:
        got = f"{len(wanted)} of them" if isinstance(wanted, Mapping) else shown(wanted)
        raise InputError("", f"expected one matcher and its argument, got {got}")
    name, inner = _name_and_argument(wanted)
    if name == "snapshot":
        raise InputError(join_path("", name), "expected outside other matchers: a snapshot is of one target")
    try:
        check(name, inner)
    except InputError as error:
        raise error.within(join_path("", name)) from None


def _check_list(wanted: Any) -> None:
    if not isinstance(wanted, list) or not wanted:
        raise InputError(
            "", f"expected a list of matchers, got {'an empty list' if wanted == [] else shown(wanted)}"
        )
    for index, each in enumerate(wanted):
        try:
            _check_one(each)
        except InputError as error:
            raise error.within(f"[{index}]") from None


_MATCHER = {"$ref": "#/$defs/matcher"}
_MATCHERS = {"type": "array", "minItems": 1, "items": _MATCHER}

MATCHERS: dict[str, Matcher] = {
    matcher.name: matcher
    for matcher in (
        *VALUE_MATCHERS,
        *TEXT_MATCHERS,
        *FORMAT_MATCHERS,
        Matcher("not", "The matcher does not hold.", _not, _check_one, _MATCHER),
        Matcher("oneOf", "Exactly one of the matchers holds.", _one_of, _check_list, _MATCHERS),
        Matcher("anyOf", "One of the matchers holds, or more.", _any_of, _check_list, _MATCHERS),
        Matcher("allOf", "All of the matchers hold.", _all_of, _check_list, _MATCHERS),
    )
}

_MODEL_MATCHERS = (
    "llm-judge",
    "llm-jury",
    "factuality",
    "answer-relevance",
    "context-faithfulness",
    "similar",
)
_UNSUPPORTED = {
    "cel": "",
    "citation": "",
    "is-sql": "",
    "is-valid-tools-call": "schema says what arguments must be",
}
