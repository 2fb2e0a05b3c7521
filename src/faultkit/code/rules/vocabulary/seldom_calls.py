"""Code that runs once in a process, or once for a user who logs in."""

from __future__ import annotations

import re

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Facts, Scope, is_within
from faultkit.code.facts.facts import Placed
from faultkit.code.rules.vocabulary.command_lines import is_for_one_user

_LEVELS = 3
_KEEPS_FIRST = ("??=", "||=")
_ONCE = lazy_regex(r"(?:^|\.)(?:Do|get_or_init|get_or_try_init|call_once|once|lazy|memoize)$")
_OF_DESKTOP = lazy_regex(r"\btauri(?:\.|::)command$")
_LOGIN = lazy_regex(
    r"pkce|(?:log_?in|sign_?in|sign_?up)(?-i:(?![a-z]))|log_?out|device_?(?:code|flow|auth)|cli_?(?:code|auth)"
    r"|(?:change|reset|validate|update)_?password|delete_?account|exchange_?(?:code|auth)",
    re.IGNORECASE,
)
_FLOW = lazy_regex(r"pkce|device_?(?:code|flow|auth)", re.IGNORECASE)
"""Logins of programs that users run themselves, whatever listens for the answer."""
_SELDOM = lazy_regex(
    r"(?:main|register|install|uninstall)(?:_?async)?$|\w*(?:licen[cs]e|telemetry|usage_?report|latest_?version)",
    re.IGNORECASE,
)
"""Functions that run once for a program, a user or a day."""


def runs_seldom_here(place: Placed, facts: Facts) -> bool:
    """Return whether a place runs once in its process, by its callers, or once for a user who logs in."""
    if is_for_one_user(facts):
        return True
    around = [*facts.functions_around(place)]
    if any(_OF_DESKTOP.search(each.name) for scope in around for each in scope.decorators):
        return True
    names = [f"{scope.owner.rpartition('.')[2]} {scope.short_name}" for scope in around]
    if any(map(_FLOW.search, names)) or any(_SELDOM.match(scope.short_name) for scope in around):
        return True
    if any(map(_LOGIN.search, names)) and not any(scope.route for scope in around):
        return True
    return _is_kept_by_callers(place, facts, _LEVELS)


def _is_kept_by_callers(place: Placed, facts: Facts, levels: int) -> bool:
    """Return whether all calls that lead to a place keep the first result: `task ??= run()`."""
    if _keeps_first(place, facts):
        return True
    scope: Scope | None = facts.named_function_of(place)
    callers = () if scope is None or not levels else facts.callers_of(scope)
    return bool(callers) and all(_is_kept_by_callers(each, facts, levels - 1) for each in callers)


def _keeps_first(place: Placed, facts: Facts) -> bool:
    if any(_ONCE.search(each.written) for each in facts.calls_around(place)):
        return True
    return any(
        each.operator in _KEEPS_FIRST and is_within(place.span, each.span)
        for each in facts.assignments
        if each.span.start <= place.span.start
    )
