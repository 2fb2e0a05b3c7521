"""Codemods for Go: text edits at the places that facts name. What they import is in `go_imports`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.changes.change import Change, Codemod, Edit, Source
from faultkit.code.changes.go_imports import GoImports, alias_of
from faultkit.code.changes.layout import (
    add_key,
    after_statement,
    before_statement,
    insert,
    newline_of,
    statement_of,
)
from faultkit.code.facts import Call, Scope
from faultkit.code.rules.rule import Finding
from faultkit.code.rules.vocabulary.http import library_of
from faultkit.code.syntax import Node, walk

TIMEOUT_S, PROGRAM_TIMEOUT_S = 10, 60
_BLOCKS = ("block", "source_file", "statement_list")
_CLOSES = {
    "os.Open": "{}.Close()", "os.Create": "{}.Close()", "os.OpenFile": "{}.Close()", "net.Dial": "{}.Close()",
    "net.DialTimeout": "{}.Close()", "net.Listen": "{}.Close()",
}  # fmt: skip
_WITH_CONTEXT = {"net/http.NewRequest": "NewRequestWithContext", "os/exec.Command": "CommandContext"}
_SQL = ("Query", "QueryRow", "Exec")


def _change(
    findings: tuple[Finding, ...], description: str, edits: list[Edit], imports: GoImports
) -> Change | None:
    if not edits:
        return None
    rules = tuple(sorted({each.rule.id for each in findings}))
    placed, left_out = imports.edits()
    return Change(rules, description, tuple(edits) + placed, left_out)


def _timeouts(source: Source, findings: tuple[Finding, ...]) -> Change | None:
    imports, edits = GoImports(source), dict[int, Edit]()
    for call in filter(None, map(source.call_at, findings)):
        made = call.origin
        if made is not None and made.name == "net/http.Client":
            literal = _literal(source, made)
            if literal is not None:
                seconds = f"{imports.need('time')}.Second"
                edits[made.span.start] = add_key(source, literal, f"Timeout: {TIMEOUT_S} * {seconds}")
        elif call.name.startswith(("net/http.DefaultClient.",)) or call.name.count(".") == 1:
            name = _shared_client(source, imports, edits)
            edits[call.callee.start] = source.edit(
                call.callee.start, call.callee.end, f"{name}.{call.method}"
            )
    return _change(findings, "end HTTP calls that take too long", list(edits.values()), imports)


def _literal(source: Source, call: Call) -> Node | None:
    node = source.node_at(call.span)
    found = [] if node is None else [each for each in walk(node) if each.type == "literal_value"]
    return found[0] if found else None


def _shared_client(source: Source, imports: GoImports, edits: dict[int, Edit]) -> str:
    """A variable of the package; the same one if it is there from an earlier change."""
    http = alias_of(source, "net/http")
    value = f"&{http}.Client{{Timeout: {TIMEOUT_S} * {imports.need('time')}.Second}}"
    known = re.search(rf"^var (\w+) = {re.escape(value)}", source.text, re.MULTILINE)
    if known:
        return known[1]
    name, number = "httpClient", 2
    while re.search(rf"\b{name}\b", source.text):
        name, number = f"httpClient{number}", number + 1
    first = next((each for each in source.syntax.root.named_children if each.type.endswith("_declaration")
                  and each.type != "import_declaration"), None)  # fmt: skip
    if first is not None:
        before = _above_comments(first)
        end = newline_of(source)
        edits[-1] = insert(source, before.start_byte, f"var {name} = {value}{end}{end}")
    return name


def _above_comments(node: Node) -> Node:
    """The first of the comments that stand directly above it."""
    while True:
        above = node.prev_sibling
        if above is None or above.type != "comment" or above.end_point.row + 1 != node.start_point.row:
            return node
        node = above


def _statuses(source: Source, findings: tuple[Finding, ...]) -> Change | None:
    imports, edits = GoImports(source), list[Edit]()
    for call in filter(None, map(source.call_at, findings)):
        library = library_of(call)
        place = _after_error(source, call)
        if library is None or library.name != "net/http" or place is None or len(call.assigned) != 2:
            continue
        statement, returned = place
        response, error = call.assigned
        if returned is None or not re.search(rf"(^|,\s*|\s){re.escape(error)}$", returned):
            continue
        made = f'{imports.need("fmt")}.Errorf("unexpected status %s", {response}.Status)'
        values = returned.removesuffix(error) + made
        lines = (f"if {response}.StatusCode >= 400 {{", f"\treturn {values}", "}")
        edits.append(after_statement(source, _after_defer(statement), lines))
    return _change(findings, "return an error for answers with a status of 400 and above", edits, imports)


def _closings(source: Source, findings: tuple[Finding, ...]) -> Change | None:
    edits = []
    for call in filter(None, map(source.call_at, findings)):
        place = _after_error(source, call)
        if (
            place is None
            or not call.assigned
            or not call.assigned[0].isidentifier()
            or call.assigned[0] == "_"
        ):
            continue
        name = call.assigned[0]
        library = library_of(call)
        if library is not None and library.name == "net/http":
            close = f"{name}.Body.Close()"
        else:
            close = _CLOSES.get(call.name, "{}.Close()").format(name)
        edits.append(after_statement(source, place[0], (f"defer {close}",)))
    return _change(findings, "close what is opened, on every way out", edits, GoImports(source))


def _after_error(source: Source, call: Call) -> tuple[Node, str | None] | None:
    """The check of the error that follows a call, or its statement; and what that check returns."""
    statement = statement_of(source.node_at(call.span), _BLOCKS)
    if statement is None or statement.type not in (
        "short_var_declaration",
        "assignment_statement",
        "var_declaration",
    ):
        return None
    following = statement.next_named_sibling
    while following is not None and following.type == "comment":
        following = following.next_named_sibling
    error = call.assigned[-1] if len(call.assigned) > 1 else ""
    if following is None or following.type != "if_statement" or not error or error == "_":
        return statement, None
    condition = following.child_by_field_name("condition")
    if condition is None or source.syntax.text(condition) != f"{error} != nil":
        return statement, None
    returns = [each for each in walk(following) if each.type == "return_statement"]
    text = source.syntax.text(returns[-1]).removeprefix("return").strip() if returns else None
    return following, text


def _after_defer(statement: Node) -> Node:
    following = statement.next_named_sibling
    return following if following is not None and following.type == "defer_statement" else statement


def _contexts(source: Source, findings: tuple[Finding, ...]) -> Change | None:
    edits: dict[int, Edit] = {}
    for call in filter(None, map(source.call_at, findings)):
        context = _context(source, call)
        name = _WITH_CONTEXT.get(call.name) or (f"{call.method}Context" if call.method in _SQL else "")
        if not context or not name:
            continue
        edits |= {each.span.start: each for each in _with_context(source, call, name, context)}
    return _change(findings, "stop work when the caller has gone", list(edits.values()), GoImports(source))


def _with_context(source: Source, call: Call, name: str, context: str) -> Iterator[Edit]:
    yield source.edit(call.callee.end - len(call.method), call.callee.end, name)
    opening = source.syntax.source.index(b"(", call.callee.end) + 1
    yield insert(source, opening, f"{context}, " if call.arguments else context)


def _context(source: Source, call: Call) -> str:
    scopes: list[Scope] = list(source.facts.functions_around(call))
    for scope in reversed(scopes):
        for each in scope.parameters:
            if each.type == "context.Context" and each.name != "_":
                return each.name
            if each.type == "net/http.Request" and each.name != "_":
                return f"{each.name}.Context()"
    return ""


def _programs(source: Source, findings: tuple[Finding, ...]) -> Change | None:
    imports, edits, seen = GoImports(source), list[Edit](), set[int]()
    for call in filter(None, map(source.call_at, findings)):
        scope = source.facts.function_of(call)
        statement = statement_of(source.node_at(call.span), _BLOCKS)
        if call.name != "os/exec.Command" or scope is None or statement is None or scope.body.start in seen:
            continue
        text = source.facts.text(scope.span)
        if re.search(r"\b(ctx|cancel)\b", text) or source.facts.loops_around(call):
            continue
        seen.add(scope.body.start)
        made = f"{imports.need('context')}.WithTimeout({imports.need('context')}.Background(), "
        lines = (f"ctx, cancel := {made}{PROGRAM_TIMEOUT_S}*{imports.need('time')}.Second)", "defer cancel()")
        edits.append(before_statement(source, statement, lines))
        edits += _with_context(source, call, "CommandContext", "ctx")
    return _change(findings, "end programs that run too long", edits, imports)


GO: tuple[Codemod, ...] = (
    Codemod("http-timeout", ("http-call-without-timeout",), _timeouts),
    Codemod("closing", ("response-not-closed", "file-not-closed", "connection-not-closed"), _closings),
    Codemod("status-check", ("unchecked-response-status",), _statuses),
    Codemod("context", ("missing-cancellation",), _contexts),
    Codemod("program-timeout", ("subprocess-without-timeout",), _programs),
)
