"""Contexts of Go callers: work that ends with the request or the function it is done for. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.changes.change import Change, Edit, Source, change_of, insert
from faultkit.code.facts import Call, Scope
from faultkit.code.languages.syntax import Node, walk
from faultkit.code.rules.rule import Finding

ENDS = (
    "May this work stop when its caller goes away or the program is told to stop? Not if it cleans up, "
    "or goes on after the answer."
)
_WITH_CONTEXT = {"net/http.NewRequest": "NewRequestWithContext", "os/exec.Command": "CommandContext"}
_SQL = ("Query", "QueryRow", "Exec")
_BINDS = ("short_var_declaration", "range_clause", "receive_statement")
_RUNS_LATER = frozenset(("time.AfterFunc", "context.AfterFunc"))


def pass_contexts(source: Source, findings: tuple[Finding, ...]) -> Change | None:
    """Pass the context of the caller to requests, programs and queries."""
    edits: dict[int, Edit] = {}
    for call in filter(None, map(source.call_at, findings)):
        context = "" if _outlives(source, call) else _context(source, call)
        name = _WITH_CONTEXT.get(call.name) or (f"{call.method}Context" if call.method in _SQL else "")
        if context and name:
            edits |= {each.span.start: each for each in with_context(source, call, name, context)}
    return change_of(findings, "stop work when the caller has gone", list(edits.values()))


def with_context(source: Source, call: Call, name: str, context: str) -> Iterator[Edit]:
    """Yield the edits that call a function by another name, with a context before its arguments."""
    yield source.edit(call.callee.end - len(call.method), call.callee.end, name)
    if call.arguments:
        yield insert(source, call.arguments[0].value.span.start, f"{context}, ")
    else:
        yield insert(source, source.syntax.source.index(b"(", call.callee.end) + 1, context)


def _outlives(source: Source, call: Call) -> bool:
    """Return whether a call is made when the context has ended, or may have: in a goroutine, a deferred
    function, a timer, or after a wait for the end."""
    facts = source.facts
    if facts.is_launched(call) or facts.is_deferred(call):
        return True
    if any(each.name in _RUNS_LATER for each in facts.calls_around(call)):
        return True
    scopes = list(facts.functions_around(call))
    above = source.syntax.source[scopes[0].span.start : call.span.start] if scopes else b""
    return b".Done()" in above or any(_is_launched(source, each) for each in scopes if each.name)


def _is_launched(source: Source, scope: Scope) -> bool:
    """Return whether a file of the package runs a function by `go`, `defer` or a timer."""
    name = re.escape(scope.short_name)
    started = re.compile(rf"\b(?:go|defer)\s+(?:[\w.]+\.)?{name}\(|\bAfterFunc\([^\n]*\b{name}\b")
    return any(started.search(text) for text in (source.text, *(text for _, text in source.project.package)))


def _context(source: Source, call: Call) -> str:
    for scope in reversed(list(source.facts.functions_around(call))):
        for each in scope.parameters:
            if each.type not in ("context.Context", "net/http.Request") or each.name == "_":
                continue
            if _is_hidden(source, scope, each.name):
                return ""
            return each.name if each.type == "context.Context" else f"{each.name}.Context()"
    return ""


def _is_hidden(source: Source, scope: Scope, name: str) -> bool:
    """Return whether a parameter's name is given to something else in its function; a context made from it
    may have its name."""
    body = source.node_at(scope.body)
    for node in () if body is None else walk(body):
        if node.type == "identifier" and source.syntax.text(node) == name:
            declaration = _declaration_of(node)
            if declaration is not None and not _derives(source, declaration):
                return True
    return False


def _declaration_of(node: Node) -> Node | None:
    """Return the statement that declares an identifier; None if it is only used there."""
    outer = node.parent
    if outer is None:
        return None
    if outer.type in ("parameter_declaration", "var_spec", "const_spec"):
        return outer if node in outer.children_by_field_name("name") else None
    if outer.type == "expression_list" and outer.parent is not None:
        around = outer.parent
        is_left = around.child_by_field_name("left") == outer and around.type in _BINDS
        return around if is_left or around.child_by_field_name("alias") == outer else None
    return None


def _derives(source: Source, declaration: Node) -> bool:
    right = declaration.child_by_field_name("right")
    return right is not None and source.syntax.text(right).startswith("context.With")
