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
    indent_unit,
    insert,
    statement_of,
    timeout_of,
)
from faultkit.code.changes.javascript_answers import is_read_here
from faultkit.code.changes.javascript_closing import BLOCKS, close_files, closing_question
from faultkit.code.changes.javascript_values import FUNCTIONS, is_exported, is_url
from faultkit.code.changes.questions import STREAM, always, is_stream
from faultkit.code.facts import Call
from faultkit.code.languages.syntax import Node, walk
from faultkit.code.rules.rule import Finding
from faultkit.code.rules.vocabulary.http_requests import library_of

_NAMES = ("identifier", "member_expression")
_SENDS_DATA = ("post", "put", "patch")
_SIGNAL_SINCE = (17, 3)
"""The first Node.js with AbortSignal.timeout."""
_URL_NAME = re.compile(r"^(url|uri|href|link|endpoint)$|(Url|URL|Uri|URI|Href)$")
_NO_HANDLER = (
    "Is the event 'error' of the request handled? It is emitted when the time is over, and ends the program."
)
_MAY_BE_OPTIONS = "Is the first argument always a URL, and never an object with options?"
_MAY_BE_REQUEST = "Is the first argument always a string or a URL? A Request would lose its own signal."
_OWN_FETCH = re.compile(
    r"\b(?:globalThis|global|window)(?:\.fetch|\[['\"]fetch['\"]\])\s*=(?!=)|\bstubGlobal\(\s*['\"]fetch"
    r"|\bObject\.(?:assign|defineProperty)\(\s*(?:globalThis|global|window)\b[^;]*\bfetch\b"
)
"""A text that puts a function of its own in the place of fetch."""
_MADE = re.compile(r"new\s+(?!URL\b)")


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
            edit = _option(source, call, _signal(limit_ms), 1) if _may_have_signal(source, call) else None
        elif library.name == "axios":
            edit = _option(source, call, f"timeout: {limit_ms}", _axios_place(source, call))
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


def _may_have_signal(source: Source, call: Call) -> bool:
    """Return whether a call of fetch may get a signal: it is the function of the platform, and is not given a
    Request, which has a signal of its own."""
    if not _has_signals(source) or _OWN_FETCH.search(source.text):
        return False
    given = _given(source, call)
    texts = [source.syntax.text(each) for each in given[:1]]
    values = [each.value for text in texts for each in source.facts.assignments_to(text, call)]
    texts += [each.text for each in values if each is not None]
    return not any(_MADE.match(text) for text in texts)


def _axios_client(call: Call) -> Call | None:
    """Return the call that makes the client of axios: this one, or the one that its receiver comes from."""
    client = call if call.name == "axios.create" else call.origin
    return client if client is not None and client.name == "axios.create" else None


def _axios_place(source: Source, call: Call) -> int:
    """Return the index of the options among the arguments; -1 if it is not known."""
    if call.method in _SENDS_DATA:
        return 2
    if call.method != "request" and call.name not in ("axios", "axios.create()"):
        return 1
    given = _given(source, call)
    shape = "" if not given else _shape_of(source, call, given[0])
    return {"url": 1, "object": 0}.get(shape, -1)


def _node_option(source: Source, call: Call, entry: str) -> Edit | None:
    """Add an entry to the options of Node's http.request: (url), (options) or (url, options), each with or
    without a callback."""
    given = _given(source, call)
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
    if shape in ("url", "name") and (len(given) == 1 or (len(given) == 2 and given[1].type in FUNCTIONS)):
        return insert(source, given[0].end_byte, f", {{ {entry} }}")
    return None


def _shape_of(source: Source, call: Call, node: Node) -> str:
    """Return `url` or `object` if the text shows what the first argument is, `name` if only its name says
    that it is a URL; else an empty text."""
    if node.type == "object":
        return "object"
    if is_url(source, node):
        return "url"
    text = source.syntax.text(node)
    if node.type != "identifier":
        return ""
    if any(text in each.targets for each in source.facts.loops_around(call, across=True)):
        return ""
    values = [each.value for each in source.facts.assignments_to(text, call) if text in each.targets]
    parameters = [
        each
        for scope in source.facts.functions_around(call)
        for each in scope.parameters
        if each.name == text
    ]
    if parameters:
        is_config = all(each.type.endswith("RequestConfig") for each in parameters) and not values
        return "object" if is_config else "name" if _URL_NAME.search(text) and not values else ""
    return "object" if values and all(each is not None and each.shape == "object" for each in values) else ""


def _question(source: Source, finding: Finding) -> str:
    call = source.call_at(finding)
    client = None if call is None else _axios_client(call)
    if client is not None:
        return "" if _is_confined(source, client) else STREAM
    library = None if call is None else library_of(call)
    if call is None or library is None:
        return ""
    is_node = library.name == "http"
    may_last = library.name in ("fetch", "http") and not is_read_here(source, call, is_node=is_node)
    if may_last or is_stream(call, source.facts):
        return STREAM
    given = _given(source, call)
    if is_node and not _handles_errors(source, call):
        return _NO_HANDLER
    if is_node and given and _shape_of(source, call, given[0]) == "name":
        return _MAY_BE_OPTIONS
    return _MAY_BE_REQUEST if library.name == "fetch" and given and not is_url(source, given[0]) else ""


def _is_confined(source: Source, client: Call) -> bool:
    """Return whether all requests of a client are in this text, and none is a stream or a transfer."""
    node = source.node_at(client.span)
    if (
        len(client.assigned) != 1
        or not client.assigned[0].isidentifier()
        or node is None
        or is_exported(node)
    ):
        return False
    mentions = re.findall(rf"(?<![\w$.]){client.assigned[0]}(?![\w$])(?!\s*[.(<])", source.text)
    requests = (client, *source.facts.calls_on(client))
    return len(mentions) == 1 and not any(is_stream(each, source.facts) for each in requests)


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
    given = _given(source, call)
    if place < 0 or any(each.type == "spread_element" for each in given):
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


def _given(source: Source, call: Call) -> list[Node]:
    arguments = _arguments(source, call)
    return [] if arguments is None else [each for each in arguments.named_children if not each.is_extra]


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
        statement = statement_of(source.node_at(call.span), BLOCKS)
        if statement is None or not name.isidentifier() or not _declares(statement):
            continue
        text = f"throw new Error(`${{{name}.url}} answered with status ${{{name}.status}}`);"
        lines = (f"if (!{name}.ok) {{", f"{indent_unit(source, '  ')}{text}", "}")
        yield after_statement(source, statement, lines)


def _declares(statement: Node) -> bool:
    return statement.type in ("lexical_declaration", "variable_declaration", "expression_statement")


JAVASCRIPT: tuple[Codemod, ...] = (
    Codemod("http-timeout", ("http-call-without-timeout",), _timeouts, asks=_question),
    Codemod(
        "status-check",
        ("unchecked-response-status",),
        _statuses,
        asks=always("Is every status of 400 and above an error here, and is the exception handled?"),
    ),
    Codemod("closing", ("file-not-closed",), close_files, asks=closing_question),
)
