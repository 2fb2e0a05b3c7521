"""Codemods for Go: text edits at the places that facts name."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.changes.change import (
    TIMEOUT_S,
    Change,
    Codemod,
    Edit,
    Source,
    add_key,
    after_statement,
    before_statement,
    insert,
    newline_of,
    statement_of,
)
from faultkit.code.changes.go_closing import (
    BLOCKS,
    close_opened,
    closing_question,
    guard_below,
    is_read_at_once,
    returned_by,
)
from faultkit.code.changes.go_contexts import ENDS, pass_contexts, with_context
from faultkit.code.changes.go_imports import GoImports, alias_of
from faultkit.code.changes.project import sets_default_client
from faultkit.code.changes.questions import STREAM, always, ends_soon, is_stream, streams_in_go
from faultkit.code.facts import Call
from faultkit.code.languages.syntax import Node, walk
from faultkit.code.rules.rule import Finding
from faultkit.code.rules.vocabulary.http_requests import library_of

PROGRAM_TIMEOUT_S = 60


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
        # A client that is made apart from its calls is reported where it is made.
        client = call if call.name == "net/http.Client" else call.origin
        if client is not None and client.name == "net/http.Client":
            literal = _literal(source, client)
            is_open = literal is not None and all(
                each.type != "literal_element" for each in literal.named_children
            )
            time = imports.need("time") if is_open else ""
            if literal is not None and time:
                edits[client.span.start] = add_key(source, literal, f"Timeout: {TIMEOUT_S} * {time}.Second")
        elif _is_default(call):
            name = _shared_client(source, imports, edits)
            if name:
                edits[call.callee.start] = source.edit(
                    call.callee.start, call.callee.end, f"{name}.{call.method}"
                )
    return _change(findings, "end HTTP calls that take too long", list(edits.values()), imports)


def _is_default(call: Call) -> bool:
    """Return whether a call uses the client of the library: `http.Get`, `http.DefaultClient.Do`."""
    return call.name.startswith("net/http.DefaultClient.") or call.name.count(".") == 1


def _literal(source: Source, call: Call) -> Node | None:
    node = source.node_at(call.span)
    found = [] if node is None else [each for each in walk(node) if each.type == "literal_value"]
    return found[0] if found else None


def _shared_client(source: Source, imports: GoImports, edits: dict[int, Edit]) -> str:
    """Return the package variable for the client; an existing one if an earlier change made it, here or in
    another file of the package. Empty if it cannot be declared."""
    http, time = alias_of(source, "net/http"), alias_of(source, "time")
    value = f"&{http}.Client{{Timeout: {TIMEOUT_S} * {time}.Second}}"
    for text in (source.text, *_always_built(source)):
        known = re.search(rf"^var (\w+) = {re.escape(value)}", text, re.MULTILINE)
        if known and (text is source.text or not _is_bound(known[1], source.text)):
            return known[1]
    if not imports.need("time"):
        return ""
    texts = _package_texts(source)
    name, number = "httpClient", 2
    while any(re.search(rf"\b{name}\b", text) for text in texts):
        name, number = f"httpClient{number}", number + 1
    first = next((each for each in source.syntax.root.named_children if each.type.endswith("_declaration")
                  and each.type != "import_declaration"), None)  # fmt: skip
    if first is not None:
        before = _above_comments(first)
        end = newline_of(source)
        edits[-1] = insert(source, before.start_byte, f"var {name} = {value}{end}{end}")
    return name


def _always_built(source: Source) -> Iterator[str]:
    """Yield the files of the package that are built whenever this one is: no tests, no build constraints."""
    clause = re.search(r"^package \w+", source.text, re.MULTILINE)
    for name, text in source.project.package:
        is_plain = not name.endswith("_test.go") and "_" not in name and "//go:build" not in text
        if is_plain and clause is not None and re.search(rf"^{clause[0]}$", text, re.MULTILINE):
            yield text


def _is_bound(name: str, text: str) -> bool:
    """Return whether a name is used for anything but calls on it, so that it may mean something else."""
    return re.search(rf"\b{name}\b(?!\.)", text) is not None


def _above_comments(node: Node) -> Node:
    """Return the first of the comments directly above a node."""
    while True:
        above = node.prev_sibling
        if above is None or above.type != "comment" or above.end_point.row + 1 != node.start_point.row:
            return node
        node = above


def _statuses(source: Source, findings: tuple[Finding, ...]) -> Change | None:
    imports, edits = GoImports(source), list[Edit]()
    for call in filter(None, map(source.call_at, findings)):
        library = library_of(call)
        guard = guard_below(source, call)
        if library is None or library.name != "net/http" or guard is None or len(call.assigned) != 2:
            continue
        returned = returned_by(source, guard)
        response, error = call.assigned
        if returned is None or not re.search(rf"(^|,\s*|\s){re.escape(error)}$", returned):
            continue
        fmt = imports.need("fmt")
        if not fmt:
            continue
        values = f'{returned.removesuffix(error)}{fmt}.Errorf("unexpected status %s", {response}.Status)'
        lines = (f"if {response}.StatusCode >= 400 {{", f"\treturn {values}", "}")
        edits.append(after_statement(source, _after_defer(guard), lines))
    return _change(findings, "return an error for answers with a status of 400 and above", edits, imports)


def _after_defer(statement: Node) -> Node:
    following = statement.next_named_sibling
    return following if following is not None and following.type == "defer_statement" else statement


def _programs(source: Source, findings: tuple[Finding, ...]) -> Change | None:
    imports, edits, seen = GoImports(source), list[Edit](), set[int]()
    for call in filter(None, map(source.call_at, findings)):
        scope = source.facts.function_of(call)
        statement = statement_of(source.node_at(call.span), BLOCKS)
        if call.name != "os/exec.Command" or scope is None or statement is None or scope.body.start in seen:
            continue
        words = [each.value.literal for each in call.positional[:2]]
        if not words or not words[0] or not ends_soon(words):
            continue
        text = source.facts.text(scope.span)
        if re.search(r"\b(ctx|cancel)\b", text) or source.facts.loops_around(call):
            continue
        context, time = imports.need("context"), imports.need("time")
        if not context or not time:
            continue
        seen.add(scope.body.start)
        made = f"{context}.WithTimeout({context}.Background(), {PROGRAM_TIMEOUT_S}*{time}.Second)"
        edits.append(before_statement(source, statement, (f"ctx, cancel := {made}", "defer cancel()")))
        edits += with_context(source, call, "CommandContext", "ctx")
    return _change(findings, "end programs that run too long", edits, imports)


_SETTINGS = "Does this call need the settings of http.DefaultClient? The new client does not have them."


def _question(source: Source, finding: Finding) -> str:
    """Ask about the time limit of a client, which covers the body of the answer, too; and about settings of
    the client that another one replaces."""
    call = source.call_at(finding)
    if call is None:
        return ""
    client = call if call.name == "net/http.Client" else call.origin
    if client is not None and client.name == "net/http.Client":
        return STREAM if is_stream(call, source.facts) or not _is_confined(source, client) else ""
    if is_stream(call, source.facts) or not is_read_at_once(source, call):
        return STREAM
    is_set = source.project.sets_default_client or any(map(sets_default_client, _package_texts(source)))
    return _SETTINGS if _is_default(call) and is_set else ""


def _is_confined(source: Source, client: Call) -> bool:
    """Return whether all requests of a client are in its function or package, and none is a transfer."""
    scope, statement = source.facts.function_of(client), statement_of(source.node_at(client.span), BLOCKS)
    is_local = scope is not None and statement is not None and statement.type == "short_var_declaration"
    texts = (source.facts.text(scope.span),) if is_local and scope is not None else _package_texts(source)
    if len(client.assigned) != 1 or not re.fullmatch(r"[a-z]\w*", client.assigned[0]):
        return False
    mentions = sum(len(re.findall(rf"\b{client.assigned[0]}\b(?!\.)", text)) for text in texts)
    requests = [each for each in source.facts.calls_on(client) if library_of(each) is not None]
    is_seen = mentions == 1 and all(is_read_at_once(source, each) for each in requests)
    return is_seen and not any(map(streams_in_go, texts))


def _package_texts(source: Source) -> tuple[str, ...]:
    return (source.text, *(text for _, text in source.project.package))


GO: tuple[Codemod, ...] = (
    Codemod("http-timeout", ("http-call-without-timeout",), _timeouts, asks=_question),
    Codemod(
        "closing",
        ("response-not-closed", "file-not-closed", "connection-not-closed"),
        close_opened,
        asks=closing_question,
    ),
    Codemod(
        "status-check",
        ("unchecked-response-status",),
        _statuses,
        asks=always("Is every status of 400 and above an error here, and is the returned error handled?"),
    ),
    Codemod("context", ("missing-cancellation",), pass_contexts, asks=always(ENDS)),
    Codemod(
        "program-timeout",
        ("subprocess-without-timeout",),
        _programs,
        asks=always(f"Does the program always end within {PROGRAM_TIMEOUT_S} s?"),
    ),
)
