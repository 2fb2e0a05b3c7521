"""A limit and growing waits for tenacity's decorator where it has none."""

from __future__ import annotations

import libcst as cst

from faultkit.code.changes.python.calls import with_keyword
from faultkit.code.changes.python.codemod import Work, python_codemod
from faultkit.code.changes.python.retry import FIRST_WAIT_S, LONGEST_WAIT_S, TRIES
from faultkit.code.changes.python.tree import nodes_in

_WANTED = {
    "retry-without-limit": ("stop", "stop_after_attempt", f"({TRIES})"),
    "retry-without-backoff": (
        "wait",
        "wait_random_exponential",
        f"(multiplier={FIRST_WAIT_S}, max={LONGEST_WAIT_S})",
    ),
}


def _collect(work: Work) -> None:
    for node in nodes_in(work.tree.module, cst.Decorator):
        span = work.tree.span(node)
        found = [
            each for each in work.findings if span.start <= each.span.start and each.span.end <= span.end
        ]
        if not found or not _is_tenacity(work, found[0].span.start, found[0].span.end):
            continue
        wanted = [_WANTED[each.rule.slug] for each in found]
        texts = {keyword: work.new.member("tenacity", name) + rest for keyword, name, rest in wanted}
        work.new.swap(node.decorator, _bounded(work, node.decorator, texts))
        work.dependencies.append("tenacity")


def _is_tenacity(work: Work, start: int, end: int) -> bool:
    return any(
        each.name.startswith("tenacity.") and each.span.start <= start and end <= each.span.end + 1
        for scope in work.facts.scopes
        for each in scope.decorators
    )


def _bounded(work: Work, decorator: cst.BaseExpression, texts: dict[str, str]) -> cst.Call:
    call = decorator if isinstance(decorator, cst.Call) else cst.Call(decorator)
    for keyword, text in texts.items():
        call = with_keyword(call, keyword, work.new.expression(text))
    return call


CODEMOD = python_codemod(
    "retry-bounds",
    ("retry-without-limit", "retry-without-backoff"),
    "give retries a limit and growing waits",
    _collect,
)
