"""Finds gRPC calls that have no deadline."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Call, Facts
from faultkit.code.rules.rule import GO, JAVA, JAVASCRIPT, LIKELY, PYTHON, Hit, Rule
from faultkit.code.rules.vocabulary.waits import is_bounded

_STUB = re.compile(r"(^|[.\w])\w*Stub\.[A-Z]\w*$")
_GO_CLIENT = re.compile(r"\.(New\w+Client\(\)|\w+Client)\.[A-Z]\w*$")
_JAVA_STUB = re.compile(r"Grpc\.new(Blocking|Future)Stub\(\)(\.\w+\(\))*\.[a-z]\w*$")
_STUB_OPTIONS = re.compile(r"^with[A-Z]|^build$|^getChannel$|^getCallOptions$")
_BARE = re.compile(r"^context\.(Background|TODO)\(\)$")


def _check(facts: Facts) -> Iterator[Hit]:
    find = {"python": _python, "go": _go, "java": _java}.get(facts.language, _node)
    for call in find(facts):
        if not is_bounded(call, facts):
            yield Hit(call.span, f"{call.written}() waits for ever if the server does not answer", LIKELY)


def _python(facts: Facts) -> Iterator[Call]:
    if not any("grpc" in module for module in facts.imports.modules):
        return
    for call in facts.calls:
        is_stub = _STUB.search(call.name) and call.origin is not None and call.origin.constructs
        # The timeout is the second parameter.
        if is_stub and len(call.positional) == 1 and not call.has("timeout") and not call.spreads:
            yield call


def _go(facts: Facts) -> Iterator[Call]:
    if not facts.imports_any("google.golang.org/grpc"):
        return
    for call in facts.calls:
        first = call.argument(place=0)
        if not _GO_CLIENT.search(call.name) or first is None or len(call.positional) < 2:
            continue
        given = first.value.text
        made = [each for each in facts.assignments_to(given, call) if each.value is not None]
        values = [each.value.text for each in made if each.value is not None and each.targets[0] == given]
        if _BARE.match(given) or (values and all(_BARE.match(value) for value in values)):
            yield call


def _java(facts: Facts) -> Iterator[Call]:
    if b"Grpc" not in facts.syntax.source or b"withDeadline" in facts.syntax.source:
        return
    for call in facts.calls:
        if _JAVA_STUB.search(call.name) and not _STUB_OPTIONS.match(call.method) and call.arguments:
            yield call


def _node(facts: Facts) -> Iterator[Call]:
    if not facts.imports_any("@grpc/grpc-js", "grpc"):
        return
    for call in facts.calls:
        client = call.origin
        if client is None or not client.constructs or not call.positional:
            continue
        if "credentials" not in facts.text(client.span) or "deadline" in facts.text_with_values(call):
            continue
        last = call.positional[-1].value
        if (
            last.shape == "function"
            and len(call.positional) in (2, 3)
            and call.method not in ("on", "waitForReady")
        ):
            yield call


RULE = Rule(
    id="FK-R057",
    slug="grpc-call-without-deadline",
    title="gRPC call without a deadline",
    why="gRPC has no default: a server that hangs holds the caller, its thread and its memory for ever.",
    fix="Give each call a deadline: timeout=, context.WithTimeout, withDeadlineAfter, {deadline}.",
    kind="reliability",
    severity="high",
    languages=(*PYTHON, *JAVASCRIPT, *GO, *JAVA),
    check=_check,
)
