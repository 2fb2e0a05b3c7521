"""Times and counts as code writes them: `5 * time.Second`, `AbortSignal.timeout(5000)`, `RETRIES`. Pure."""

from __future__ import annotations

import re

from faultkit.code.facts import Facts

_NUMBER = r"[0-9][0-9_]*(?:\.[0-9]+)?|\.[0-9]+"
_PRODUCT = re.compile(rf"(?:{_NUMBER})[fFdDlL]?(?:\s*\*\s*(?:{_NUMBER}))*")
_UNITS_S: dict[str, float] = {
    "nanosecond": 1e-9,
    "microsecond": 1e-6,
    "millisecond": 1e-3,
    "milli": 1e-3,
    "second": 1.0,
    "minute": 60.0,
    "hour": 3600.0,
}
_UNIT = "(nanosecond|microsecond|millisecond|milli|second|minute|hour)s?"
_GO = re.compile(rf"(?:({_NUMBER})\s*\*\s*)?time\.{_UNIT}(?:\s*\*\s*({_NUMBER}))?", re.IGNORECASE)
_BUILT = re.compile(
    rf"[\w.]*(?:Duration\.of{_UNIT}\(\s*|timedelta\(\s*{_UNIT}\s*=\s*)({_NUMBER})\s*\)", re.IGNORECASE
)
_PAIR = re.compile(rf"[(\[]\s*({_NUMBER})\s*,\s*({_NUMBER})\s*[)\]]")
_HOLDER = re.compile(r"[\w.]*timeout\w*\(.*\)|\{.*\}", re.IGNORECASE | re.DOTALL)
_KEY = re.compile(rf"\b(?:total|timeout|request|response|read)\s*[=:]\s*({_NUMBER})")
_FIRST = re.compile(rf"[\w.]*\(\s*({_NUMBER})\s*[,)]")
_NAME = re.compile(r"[A-Za-z_][\w.]*")
_DEEPEST = 3
_DEFAULT_UNIT_S = {"javascript": 0.001, "typescript": 0.001, "tsx": 0.001}
_LONGEST_S = 86_400.0


def seconds_of(text: str, facts: Facts) -> float | None:
    """None if it is no fixed time, or not one that this reads."""
    found = _seconds(text.strip(), facts, 0)
    return found if found is not None and 0 < found <= _LONGEST_S else None


def count_of(text: str, facts: Facts) -> int | None:
    """A whole number, written or named."""
    bare = _looked_up(text.strip(), facts, 0)
    return int(bare) if re.fullmatch(r"[0-9]{1,6}", bare) else None


def _seconds(text: str, facts: Facts, depth: int) -> float | None:
    unit_s = _DEFAULT_UNIT_S.get(facts.language, 1.0)
    if _PRODUCT.fullmatch(text):
        return _product(text) * unit_s
    if _NAME.fullmatch(text) and not text.startswith("time."):
        value = _assigned(text, facts)
        return None if value is None or depth == _DEEPEST else _seconds(value, facts, depth + 1)
    if found := _GO.fullmatch(text):
        return _product(f"{found[1] or 1} * {found[3] or 1}") * _UNITS_S[found[2].lower()]
    if found := _BUILT.fullmatch(text):
        return _number(found[3]) * _UNITS_S[(found[1] or found[2]).lower()]
    if found := _PAIR.fullmatch(text):
        # (connect, read): both may be used up.
        return (_number(found[1]) + _number(found[2])) * unit_s
    if _HOLDER.fullmatch(text) and (found := _KEY.search(text) or _FIRST.match(text)):
        return _number(found[1]) * unit_s
    return None


def _product(text: str) -> float:
    value = 1.0
    for each in re.findall(_NUMBER, text):
        value *= _number(each)
    return value


def _number(text: str) -> float:
    return float(text.replace("_", ""))


def _looked_up(text: str, facts: Facts, depth: int) -> str:
    if depth == _DEEPEST or not _NAME.fullmatch(text):
        return text
    value = _assigned(text, facts)
    return text if value is None else _looked_up(value, facts, depth + 1)


def _assigned(name: str, facts: Facts) -> str | None:
    """What a name holds, if it is given one value in this text."""
    values = {
        each.value.text.strip()
        for each in facts.assignments
        if name in each.targets and each.value is not None and each.operator in ("=", ":=")
    }
    return values.pop() if len(values) == 1 else None
