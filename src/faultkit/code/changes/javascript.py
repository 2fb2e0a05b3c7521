"""Codemods for JavaScript and TypeScript: text edits at the places that facts name."""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.code.changes.change import (
    Change,
    Codemod,
    Edit,
    Source,
    add_key,
    after_statement,
    change_of,
    indent_at,
    indent_unit,
    insert,
    newline_of,
    statement_of,
)
from faultkit.code.facts import Call
from faultkit.code.languages.syntax import Node, walk
from faultkit.code.rules.rule import Finding
from faultkit.code.rules.vocabulary.http_requests import library_of

TIMEOUT_MS = 5000
_SIGNAL = f"signal: AbortSignal.timeout({TIMEOUT_MS})"
_TIMEOUT = f"timeout: {TIMEOUT_MS}"
_BLOCKS = ("statement_block", "program")
_SENDS_DATA = ("post", "put", "patch")
_OPTIONS: dict[str, tuple[str, int]] = {
    "fetch": (_SIGNAL, 1),
    "got": (f"timeout: {{ request: {TIMEOUT_MS} }}", 1),
    "http": (_SIGNAL, 1),
}
"""The entry to add to the options of a call, and the index of the options among its arguments."""


def _timeouts(source: Source, findings: tuple[Finding, ...]) -> Change | None:
    edits: dict[int, Edit] = {}
    for finding in findings:
        call = source.call_at(finding)
        library = None if call is None else library_of(call)
        if call is None or library is None:
            continue
        client = call.origin
        if library.name == "axios" and client is not None and client.name == "axios.create":
            call, entry, place = client, _TIMEOUT, 0
        else:
            entry, place = _axios(call) if library.name == "axios" else _OPTIONS.get(library.name, ("", 0))
        edit = _option(source, call, entry, place) if entry else None
        if edit is not None:
            edits[call.span.start] = edit
    return change_of(findings, "end HTTP calls that take too long", list(edits.values()))


def _axios(call: Call) -> tuple[str, int]:
    if call.method in _SENDS_DATA:
        return _TIMEOUT, 2
    if call.method == "request" or call.name in ("axios", "axios.create()"):
        first = call.argument(place=0)
        return _TIMEOUT, 1 if first is not None and first.value.shape == "text" else 0
    return _TIMEOUT, 1


def _option(source: Source, call: Call, entry: str, place: int) -> Edit | None:
    """Add an entry to the options object of a call; a new object if it has none."""
    arguments = _arguments(source, call)
    if arguments is None:
        return None
    given = [each for each in arguments.named_children if not each.is_extra]
    if place < len(given) and given[place].type == "object":
        return add_key(source, given[place], entry)
    if place < len(given) and given[place].type not in ("arrow_function", "function_expression", "function"):
        return None
    if place > len(given):
        missing = ", undefined" * (place - len(given))
        return insert(source, given[-1].end_byte, f"{missing}, {{ {entry} }}") if given else None
    if place < len(given):
        # Node's http.get takes its callback last.
        return insert(source, given[place].start_byte, f"{{ {entry} }}, ")
    if not given:
        return source.edit(arguments.start_byte, arguments.end_byte, f"({{ {entry} }})")
    return insert(source, given[-1].end_byte, f", {{ {entry} }}")


def _arguments(source: Source, call: Call) -> Node | None:
    node = source.node_at(call.span)
    for each in () if node is None else walk(node):
        if each.type == "arguments" and each.end_byte == call.span.end and each.start_byte >= call.callee.end:
            return each
    return None


def _statuses(source: Source, findings: tuple[Finding, ...]) -> Change | None:
    return change_of(
        findings,
        "throw an error for answers with a status of 400 and above",
        list(_status_edits(source, findings)),
    )


def _status_edits(source: Source, findings: tuple[Finding, ...]) -> Iterator[Edit]:
    for call in filter(None, map(source.call_at, findings)):
        library = library_of(call)
        if library is None or library.name != "fetch" or not call.is_awaited or len(call.assigned) != 1:
            continue
        name = call.assigned[0]
        statement = statement_of(source.node_at(call.span), _BLOCKS)
        if statement is None or not name.isidentifier() or not _declares(statement):
            continue
        text = f"throw new Error(`${{{name}.url}} answered with status ${{{name}.status}}`);"
        lines = (f"if (!{name}.ok) {{", f"{indent_unit(source, '  ')}{text}", "}")
        yield after_statement(source, statement, lines)


def _declares(statement: Node) -> bool:
    return statement.type in ("lexical_declaration", "variable_declaration", "expression_statement")


def _closings(source: Source, findings: tuple[Finding, ...]) -> Change | None:
    edits: list[Edit] = []
    for call in filter(None, map(source.call_at, findings)):
        if not edits:
            # One at a time: the edits of two in one block overlap.
            edits = list(_closing_edits(source, call))
    return change_of(findings, "close files on every way out", edits)


def _closing_edits(source: Source, call: Call) -> Iterator[Edit]:
    statement = statement_of(source.node_at(call.span), _BLOCKS)
    if statement is None or statement.parent is None or len(call.assigned) != 1 or not _declares(statement):
        return
    name = call.assigned[0]
    rest = [each for each in statement.parent.named_children if each.start_byte > statement.end_byte]
    if not rest or not name.isidentifier() or _spans_lines(rest):
        return
    close = (
        f"await {name}.close();"
        if call.is_awaited
        else f"{call.written.rpartition('.')[0]}.closeSync({name});"
    )
    indent, unit, end = indent_at(source, statement.start_byte), indent_unit(source, "  "), newline_of(source)
    yield insert(source, rest[0].start_byte, f"try {{{end}{indent}{unit}")
    for line in range(source.syntax.line(rest[0].start_byte) + 1, source.syntax.line(rest[-1].end_byte) + 1):
        if source.syntax.line_text(line).strip():
            yield insert(source, _start_of(source, line), unit)
    yield insert(
        source, rest[-1].end_byte, f"{end}{indent}}} finally {{{end}{indent}{unit}{close}{end}{indent}}}"
    )


def _start_of(source: Source, line: int) -> int:
    lines = source.syntax.source.split(b"\n")
    return sum(len(each) + 1 for each in lines[: line - 1])


def _spans_lines(nodes: list[Node]) -> bool:
    """Return whether a text literal spans lines, which must not be indented."""
    return any(
        each.type == "template_string" and each.start_point.row != each.end_point.row
        for node in nodes
        for each in walk(node)
    )


JAVASCRIPT: tuple[Codemod, ...] = (
    Codemod("http-timeout", ("http-call-without-timeout",), _timeouts),
    Codemod("status-check", ("unchecked-response-status",), _statuses),
    Codemod("closing", ("file-not-closed",), _closings),
)
