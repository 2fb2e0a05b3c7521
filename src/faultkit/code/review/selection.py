"""Names of rules as users write them, in `--select`, in configuration files and in comments. Pure.

A name is an id (`FK-R001`), a slug (`http-call-without-timeout`), the beginning of ids (`FK-P`, `FK-R00`), a
kind (`performance`), or `all`. Where names contradict each other, the more exact one counts: ignoring `FK-R`
leaves a selected `FK-R001` switched on. Ignoring wins if both are as exact.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from faultkit.base.errors import InputError
from faultkit.base.patterns import lazy_regex
from faultkit.base.text import did_you_mean
from faultkit.code.rules.rule import Rule

ALL = "all"
_PREFIX = lazy_regex(r"FK-?[A-Z]?\d{0,2}", re.IGNORECASE)
_ALMOST_ID = lazy_regex(r"(?:FK)?[-_ ]?([A-Z])[-_ ]?(\d{1,9})")
_BY_ALL, _BY_KIND, _BY_NAME = 1, 2, 100


def exactness(name: str, rule: Rule) -> int:
    """Return how exactly a name means a rule; 0 if it does not."""
    wanted = name.strip().lower()
    if wanted in (rule.id.lower(), rule.slug):
        return _BY_NAME
    if wanted == rule.kind:
        return _BY_KIND
    if _PREFIX.fullmatch(wanted) and rule.id.lower().startswith(wanted):
        return _BY_KIND + len(wanted)
    return _BY_ALL if wanted == ALL else 0


def check_rule_name(name: object, rules: Sequence[Rule]) -> str:
    """Return the name of a rule, or of several; raise InputError, without a path, if none has it."""
    if not isinstance(name, str) or not name.strip():
        raise InputError("", "expected the name of a rule such as FK-R001, a prefix such as FK-P, or a kind")
    if not any(exactness(name, rule) for rule in rules):
        raise InputError("", f'unknown rule "{name}"{near_rule(name, rules)}')
    return name


def rule_named(name: str, rules: Iterable[Rule]) -> Rule | None:
    """Return the rule with this id or slug; None if there is none."""
    return next((rule for rule in rules if exactness(name, rule) == _BY_NAME), None)


def near_rule(name: str, rules: Sequence[Rule], *, groups: bool = True) -> str:
    """Return `; did you mean "…"?` for a misspelt name, or an empty text.

    groups: whether names of several rules, such as a kind, may be meant"""
    number = _ALMOST_ID.fullmatch(name.strip().upper())
    if number is not None:
        meant = f"FK-{number[1]}{int(number[2]):03}"
        return f'; did you mean "{meant}"?' if any(rule.id == meant for rule in rules) else ""
    several = [*sorted({rule.kind for rule in rules}), ALL] if groups else []
    return did_you_mean(name.strip().lower(), [*several, *(rule.slug for rule in rules)])


def selected_rules(
    rules: Iterable[Rule],
    select: Sequence[str] | None = None,
    extend_select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    *,
    on: Iterable[Rule] = (),
) -> tuple[Rule, ...]:
    """Return the rules to run, in the order given.

    Without `select`, those that are on by default, and those of `on`. A rule that is off is selected by its
    id, its slug or `all`, not by a prefix or a kind."""
    switched_on = frozenset(on)
    return tuple(
        rule
        for rule in rules
        if _chosen(rule, select, extend_select, is_on=rule.by_default or rule in switched_on)
        > _strongest(ignore, rule)
    )


def _chosen(rule: Rule, select: Sequence[str] | None, extend_select: Sequence[str], *, is_on: bool) -> int:
    by_default = _BY_ALL if select is None and is_on else 0
    named = [
        exactness(name, rule)
        for name in (*(select or ()), *extend_select)
        if is_on or exactness(name, rule) in (_BY_ALL, _BY_NAME)
    ]
    # `all` that is ignored and a default that is not written down are equally exact: ignoring wins.
    return max([by_default, *named])


def _strongest(names: Iterable[str], rule: Rule) -> int:
    return max((exactness(name, rule) for name in names), default=0)
