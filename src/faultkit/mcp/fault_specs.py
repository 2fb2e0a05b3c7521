"""Faults of calls in one word of a command line: `hang`, `slow:500@search`, `rate_limit:http%0.2`.

    spec    = kind [ ":" main ] { "," key "=" value } [ "%" probability ] [ "@" target { "," target } ]
    kind    = a fault of calls, with hyphens or underscores; `none` for no fault
    main    = the value of the fault's main setting
    key     = a setting of the fault, or a key of the trigger: first, after, every, burst, probability
    target  = a tool, a method with a slash, or one of tool: resource: prompt: method: server: and a glob

Double quotes protect signs in a value: `tool_error:"no, not @ home"`. A spec is a rule of a plan like any
other; its parts are checked by `faultkit.plan.plan_keys`, whose errors are told in the words of the spec.
"""

from __future__ import annotations

from collections.abc import Container
from math import isfinite
from typing import Any, get_args

from faultkit.base.errors import InputError
from faultkit.base.text import did_you_mean
from faultkit.faults import CALL_FAULTS, PROXY_FAULTS
from faultkit.faults.call_fault import CallFault
from faultkit.plan import Rule, acts_elsewhere, fresh_name, parse_rule
from faultkit.plan.match import SUBJECTS
from faultkit.plan.plan_keys import TRIGGER

NONE = "none"
ALIASES = {"error": "protocol_error", "http_error": "http_status"}
"""Names that mean a call fault in a spec, and nothing or something else in a plan."""
EXAMPLE = "such as hang, slow:500 or slow:500@search"
FORM = "KIND[:VALUE][,KEY=VALUE…][%PROBABILITY][@TARGET]"

_TARGETS = (*SUBJECTS, "method", "server")
_METHOD_FAMILIES = {
    "tools",
    "resources",
    "prompts",
    "completion",
    "logging",
    "subscriptions",
    "server",
    "tasks",
}
_WORDS = {"true": True, "false": False}


def parse_spec(text: str, taken: Container[str] = ()) -> Rule | None:
    """Parse a spec into a rule named after its fault; None for `none`. Errors have the spec as their path."""
    try:
        return _parse(text.strip(), taken)
    except InputError as error:
        raise InputError(
            f'"{text}"', f"{error.path}: {error.problem}" if error.path else error.problem
        ) from None


def _parse(text: str, taken: Container[str]) -> Rule | None:
    if text == NONE:
        return None
    head, target = _split(text, "@")
    head, chance = _split(head, "%")
    word, *pairs = _pieces(head, ",")
    word, main = _split(word, ":")
    fault = _fault(word)
    settings: dict[str, object] = {}
    trigger: dict[str, object] = {}
    if main is not None:
        if not fault.main:
            raise InputError(fault.kind, f"expected no value, got {main!r}{_known(fault)}")
        settings[fault.main] = _value(fault, fault.main, main)
    for pair in pairs:
        key, value = _split(pair, "=")
        if value is None:
            raise InputError("", f"expected KEY=VALUE after a comma, got {pair!r}{_known(fault)}")
        home = settings if key in fault.settings() or key not in TRIGGER.names else trigger
        if key in home:
            raise InputError(key, "expected it once, got it twice")
        home[key] = _value(fault, key, value) if home is settings else _number(key, value)
    if chance is not None:
        trigger["probability"] = _number("%", chance)
    match = {} if target is None else _match(fault, target, settings)
    document = {"fault": fault.kind, "with": settings, "match": match, "trigger": trigger}
    try:
        return parse_rule({**document, "name": fresh_name(fault.kind, taken)})
    except InputError as error:
        path = error.path.removeprefix("with.").removeprefix("match.").removeprefix("trigger.")
        raise error.at(path) from None


def short_form(fault: type[CallFault]) -> str:
    """Return how a spec of this fault begins, for help and docs."""
    return f"{fault.kind}:{fault.main.upper()}" if fault.main else fault.kind


def _fault(word: str) -> type[CallFault]:
    kind = word.strip().replace("-", "_")
    kind = ALIASES.get(kind, kind)
    if kind in CALL_FAULTS:
        return CALL_FAULTS[kind]
    if kind == NONE:
        raise InputError("", f"{NONE} stands alone: no fault has no settings, no chance and no target")
    if not kind:
        raise InputError("", f"expected {FORM}, {EXAMPLE}, got {word!r}")
    if kind in PROXY_FAULTS:
        where = acts_elsewhere(PROXY_FAULTS[kind])
        raise InputError("", f"{kind} {where}; here a fault of calls {EXAMPLE}")
    guess = did_you_mean(kind, (NONE, *CALL_FAULTS, *ALIASES), "'")
    raise InputError(
        "", f"unknown fault {word!r}{guess} (expected a fault of calls {EXAMPLE}; `fault faults` lists them)"
    )


def _known(fault: type[CallFault]) -> str:
    names = ", ".join(fault.settings()) or "none"
    return f" (settings of {fault.kind}: {names}; of its trigger: {', '.join(TRIGGER.names)})"


def _value(fault: type[CallFault], name: str, text: str) -> object:
    """Convert text to the type of a setting; unchanged if that fails, so that the setting reports the
    mistake."""
    type_: Any = fault.types().get(name, str)
    kinds = set(get_args(type_)) or {type_}
    if bool in kinds:
        return _WORDS.get(text, text)
    for kind in (int, float):
        if kind in kinds:
            try:
                number = kind(text)
            except ValueError:
                return text
            return number if isfinite(number) else text
    return text


def _number(key: str, text: str) -> float:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise InputError(key, f"expected a number, got {text!r}")


def _match(fault: type[CallFault], target: str, settings: dict[str, object]) -> dict[str, object]:
    match: dict[str, object] = {}
    for piece in _pieces(target, ","):
        key, name = _target(piece)
        if key == "tool" and "tools" in fault.settings():
            # Such a fault acts on a tool list: the target is a listed tool, not a call.
            key, home = "tools", settings
        else:
            home = match
        if not name:
            raise InputError("@", f"expected a tool or a method, {EXAMPLE}, got {piece!r}")
        if key in home:
            raise InputError("@", f"expected one {key}, got {home[key]!r} and {name!r}")
        home[key] = name
    return match


def _target(piece: str) -> tuple[str, str]:
    key, name = _split(piece, ":")
    if name is not None and key in _TARGETS:
        return key, name
    whole = _unquoted(piece)
    family, slash, _ = whole.partition("/")
    return ("method", whole) if slash and family in _METHOD_FAMILIES else ("tool", whole)


def _split(text: str, sign: str) -> tuple[str, str | None]:
    """Split at the first such sign outside quotes; the second part is None if there is none."""
    place = _place(text, sign)
    if place is None:
        return text, None
    # The part after `@` is split further; any other part is final and loses its quotes.
    rest = text[place + 1 :]
    return text[:place], rest if sign == "@" else _unquoted(rest)


def _pieces(text: str, sign: str) -> list[str]:
    pieces: list[str] = []
    rest: str | None = text
    while rest is not None:
        place = _place(rest, sign)
        pieces.append(rest if place is None else rest[:place])
        rest = None if place is None else rest[place + 1 :]
    return pieces


def _place(text: str, sign: str) -> int | None:
    quoted = False
    for place, character in enumerate(text):
        if character == '"':
            quoted = not quoted
        elif character == sign and not quoted:
            return place
    return None


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) >= 2 and text[0] == text[-1] == '"' else text
