"""Codemods for JavaScript and TypeScript: text edits at the places that facts name."""

from __future__ import annotations

import re
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
    timeout_of,
)
from faultkit.code.changes.questions import STREAM, always, is_stream
from faultkit.code.facts import Call
from faultkit.code.facts.fact_values import Value
from faultkit.code.languages.syntax import Node, walk
from faultkit.code.rules.rule import Finding
from faultkit.code.rules.vocabulary.http_requests import library_of

_BLOCKS = ("statement_block", "program")
_FUNCTIONS = ("arrow_function", "function_expression", "function", "generator_function")
_NAMES = ("identifier", "member_expression")
_SENDS_DATA = ("post", "put", "patch")
_SIGNAL_SINCE = (17, 3)
"""The first Node.js with AbortSignal.timeout."""
_URL_NAME = re.compile(r"^(url|uri|href|link|endpoint)$|(Url|URL|Uri|URI|Href)$")
_NO_HANDLER = (
    "Is the event 'error' of the request handled? It is emitted when the time is over, and ends the program."
)


def _timeouts(source: Source, findings: tuple[Finding, ...]) -> Change | None:
    edits: dict[int, Edit] = {}
    for finding in findings:
        call = source.call_at(finding)
        if call is None:
            continue
        limit_ms = 1000 * timeout_of(call, source.facts)
        library, client = library_of(call), _axios_client(call)
        if client is not None:
            edit = _option(source, client, f"timeout: {limit_ms}", 0)
            call = client
        elif library is None:
            continue
        elif library.name == "http":
            edit = _node_option(source, call, _signal(limit_ms)) if _has_signals(source) else None
        elif library.name == "fetch":
            edit = _option(source, call, _signal(limit_ms), 1) if _has_signals(source) else None
        elif library.name == "axios":
            edit = _option(source, call, f"timeout: {limit_ms}", _axios_place(call))
        elif library.name == "got":
            edit = _option(source, call, f"timeout: {{ request: {limit_ms} }}", 1)
        else:
            edit = None
        if edit is not None:
            edits[call.span.start] = edit
    return change_of(findings, "end HTTP calls that take too long, with an error", list(edits.values()))


def _signal(limit_ms: int) -> str:
    return f"signal: AbortSignal.timeout({limit_ms})"


def _has_signals(source: Source) -> bool:
    return source.project.node is None or source.project.node >= _SIGNAL_SINCE


def _axios_client(call: Call) -> Call | None:
    """Return the call that makes the client of axios: this one, or the one that its receiver comes from."""
    client = call if call.name == "axios.create" else call.origin
    return client if client is not None and client.name == "axios.create" else None


def _axios_place(call: Call) -> int:
    """Return the index of the options among the arguments."""
    if call.method in _SENDS_DATA:
        return 2
    if call.method == "request" or call.name in ("axios", "axios.create()"):
        first = call.argument(place=0)
        return 1 if first is not None and first.value.shape == "text" else 0
    return 1


def _node_option(source: Source, call: Call, entry: str) -> Edit | None:
    """Add an entry to the options of Node's http.request: (url), (options) or (url, options), each with or
    without a callback."""
    arguments = _arguments(source, call)
    given = [] if arguments is None else [each for each in arguments.named_children if not each.is_extra]
    if not given or len(given) > 3:
        return None
    if given[0].type == "object":
        return add_key(source, given[0], entry)
    if len(given) > 1 and given[1].type == "object":
        return add_key(source, given[1], entry)
    shape = _shape_of(source, call, given[0])
    if shape == "object":
        return _spread(source, given[0], entry)
    if len(given) == 3 and given[1].type in _NAMES:
        return _spread(source, given[1], entry)
    if shape == "url" and (len(given) == 1 or (len(given) == 2 and given[1].type in _FUNCTIONS)):
        return insert(source, given[0].end_byte, f", {{ {entry} }}")
    return None


def _shape_of(source: Source, call: Call, node: Node) -> str:
    """Return `url` or `object` if the text shows what the first argument is; else an empty text."""
    if node.type in ("string", "template_string"):
        return "url"
    text = source.syntax.text(node)
    if node.type == "new_expression" and re.match(r"new\s+URL\b", text):
        return "url"
    if node.type == "identifier":
        values = [each.value for each in source.facts.assignments_to(text, call) if text in each.targets]
        shapes = {"" if each is None else _value_shape(each) for each in values}
        if len(shapes) == 1:
            return shapes.pop()
        if not values and _URL_NAME.search(text):
            return "url"
    return ""


def _value_shape(value: Value) -> str:
    if value.shape == "object":
        return "object"
    is_url = value.shape == "text" or re.match(r"new\s+URL\b|`", value.text)
    return "url" if is_url else ""


def _question(source: Source, finding: Finding) -> str:
    call = source.call_at(finding)
    library = None if call is None else library_of(call)
    if call is None or library is None:
        return ""
    if is_stream(call, source.facts):
        return STREAM
    if library.name == "http" and not _handles_errors(source, call):
        return _NO_HANDLER
    return ""


def _handles_errors(source: Source, call: Call) -> bool:
    return any(
        each.method in ("on", "once", "addListener")
        and each.argument(place=0) is not None
        and "error" in each.arguments[0].value.text
        for each in source.facts.calls_on(call)
    )


def _option(source: Source, call: Call, entry: str, place: int) -> Edit | None:
    """Add an entry to the options object of a call; a new object if it has none."""
    arguments = _arguments(source, call)
    if arguments is None:
        return None
    given = [each for each in arguments.named_children if not each.is_extra]
    if any(each.type == "spread_element" for each in given):
        return None
    if place < len(given):
        options = given[place]
        if options.type == "object":
            return add_key(source, options, entry)
        if options.type in _NAMES:
            return _spread(source, options, entry)
        return None
    if place > len(given):
        missing = ", undefined" * (place - len(given))
        return insert(source, given[-1].end_byte, f"{missing}, {{ {entry} }}") if given else None
    if not given:
        return source.edit(arguments.start_byte, arguments.end_byte, f"({{ {entry} }})")
    return insert(source, given[-1].end_byte, f", {{ {entry} }}")


def _spread(source: Source, options: Node, entry: str) -> Edit:
    """Replace options that are a variable by an object with an entry, and with theirs, which win."""
    text = f"{{ {entry}, ...{source.syntax.text(options)} }}"
    return source.edit(options.start_byte, options.end_byte, text)


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
    Codemod("http-timeout", ("http-call-without-timeout",), _timeouts, asks=_question),
    Codemod(
        "status-check",
        ("unchecked-response-status",),
        _statuses,
        asks=always("Is every status of 400 and above an error here, and is the exception handled?"),
    ),
    Codemod("closing", ("file-not-closed",), _closings),
)
