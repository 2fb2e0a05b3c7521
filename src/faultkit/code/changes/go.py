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
from faultkit.code.changes.questions import STREAM, always, ends_soon, is_stream
from faultkit.code.facts import Call, Scope, is_within
from faultkit.code.languages.syntax import Node, walk
from faultkit.code.rules.rule import Finding
from faultkit.code.rules.vocabulary.http_requests import library_of

PROGRAM_TIMEOUT_S = 60
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
        # A client that is made apart from its calls is reported where it is made.
        client = call if call.name == "net/http.Client" else call.origin
        if client is not None and client.name == "net/http.Client":
            literal = _literal(source, client)
            if literal is not None and all(each.type != "literal_element" for each in literal.named_children):
                seconds = f"{imports.need('time')}.Second"
                edits[client.span.start] = add_key(source, literal, f"Timeout: {TIMEOUT_S} * {seconds}")
        elif call.name.startswith("net/http.DefaultClient.") or call.name.count(".") == 1:
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
    """Return the package variable for the client; an existing one if an earlier change made it, here or in
    another file of the package."""
    http, time = alias_of(source, "net/http"), alias_of(source, "time")
    value = f"&{http}.Client{{Timeout: {TIMEOUT_S} * {time}.Second}}"
    for text in (source.text, *_always_built(source)):
        known = re.search(rf"^var (\w+) = {re.escape(value)}", text, re.MULTILINE)
        if known and (text is source.text or not _is_bound(known[1], source.text)):
            return known[1]
    imports.need("time")
    texts = (source.text, *(text for _, text in source.project.package))
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
        place = _after_error(source, call)
        if library is None or library.name != "net/http" or place is None or len(call.assigned) != 2:
            continue
        statement, returned = place
        response, error = call.assigned
        if returned is None or not re.search(rf"(^|,\s*|\s){re.escape(error)}$", returned):
            continue
        error_value = f'{imports.need("fmt")}.Errorf("unexpected status %s", {response}.Status)'
        values = returned.removesuffix(error) + error_value
        lines = (f"if {response}.StatusCode >= 400 {{", f"\treturn {values}", "}")
        edits.append(after_statement(source, _after_defer(statement), lines))
    return _change(findings, "return an error for answers with a status of 400 and above", edits, imports)


def _closings(source: Source, findings: tuple[Finding, ...]) -> Change | None:
    edits = []
    for call in filter(None, map(source.call_at, findings)):
        place = _after_error(source, call)
        if (
            place is None
            or source.facts.loops_around(call)
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
    """Return the error check that follows a call, or its statement; and what that check returns."""
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
        context = "" if _is_launched(source, call) else _context(source, call)
        name = _WITH_CONTEXT.get(call.name) or (f"{call.method}Context" if call.method in _SQL else "")
        if not context or not name:
            continue
        edits |= {each.span.start: each for each in _with_context(source, call, name, context)}
    return _change(findings, "stop work when the caller has gone", list(edits.values()), GoImports(source))


def _is_launched(source: Source, call: Call) -> bool:
    """Return whether a goroutine makes the call: it may go on after the caller's context has ended."""
    return any(each.is_launched and is_within(call.span, each.span) for each in source.facts.calls)


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
        words = [each.value.literal for each in call.positional[:2]]
        if not words or not words[0] or not ends_soon(words):
            continue
        text = source.facts.text(scope.span)
        if re.search(r"\b(ctx|cancel)\b", text) or source.facts.loops_around(call):
            continue
        seen.add(scope.body.start)
        with_timeout = f"{imports.need('context')}.WithTimeout({imports.need('context')}.Background(), "
        lines = (
            f"ctx, cancel := {with_timeout}{PROGRAM_TIMEOUT_S}*{imports.need('time')}.Second)",
            "defer cancel()",
        )
        edits.append(before_statement(source, statement, lines))
        edits += _with_context(source, call, "CommandContext", "ctx")
    return _change(findings, "end programs that run too long", edits, imports)


def _question(source: Source, finding: Finding) -> str:
    """Ask about the time limit of a client, which covers the body of the answer, too."""
    call = source.call_at(finding)
    return STREAM if call is not None and is_stream(call, source.facts) else ""


GO: tuple[Codemod, ...] = (
    Codemod("http-timeout", ("http-call-without-timeout",), _timeouts, asks=_question),
    Codemod("closing", ("response-not-closed", "file-not-closed", "connection-not-closed"), _closings),
    Codemod(
        "status-check",
        ("unchecked-response-status",),
        _statuses,
        asks=always("Is every status of 400 and above an error here, and is the returned error handled?"),
    ),
    Codemod("context", ("missing-cancellation",), _contexts),
    Codemod(
        "program-timeout",
        ("subprocess-without-timeout",),
        _programs,
        asks=always(f"Does the program always end within {PROGRAM_TIMEOUT_S} s?"),
    ),
)


# Imports of a Go file: the name of a package there, and the place of a new import.


class GoImports:
    """Collects required packages and returns the edits for all of them."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._wanted: set[str] = set()

    def need(self, path: str) -> str:
        """Return the local name of a package; it is imported if it is not yet."""
        if not self._source.facts.imports_any(path):
            self._wanted.add(path)
        return alias_of(self._source, path)

    def edits(self) -> tuple[tuple[Edit, ...], tuple[str, ...]]:
        """Return edits, and statements for which there is no place, because a part of a file has none."""
        root, end = self._source.syntax.root, newline_of(self._source)
        declared = [each for each in root.named_children if each.type == "import_declaration"]
        lists = [each for one in declared for each in one.named_children if each.type == "import_spec_list"]
        package = next((each for each in root.named_children if each.type == "package_clause"), None)
        wanted = sorted(self._wanted)
        if lists:
            return tuple(self._in_list(lists[0], path, end) for path in wanted), ()
        if declared:
            return (self._listed(declared[0].named_children[0], wanted, end),) if wanted else (), ()
        if package is not None:
            lines = "".join(f'{end}import "{each}"' for each in wanted)
            return (insert(self._source, package.end_byte, f"{end}{lines}"),) if wanted else (), ()
        return (), tuple(f'import "{each}"' for each in wanted)

    def _listed(self, spec: Node, wanted: list[str], end: str) -> Edit:
        """Turn `import "a"` into a list."""
        old = self._source.syntax.text(spec)
        specs = sorted((old, *(f'"{each}"' for each in wanted)), key=lambda each: each[each.index('"') :])
        lines = "".join(f"\t{each}{end}" for each in specs)
        return self._source.edit(spec.start_byte, spec.end_byte, f"({end}{lines})")

    def _in_list(self, specs: Node, path: str, end: str) -> Edit:
        """Insert before the next package of the same group by name, else below the last of the first
        group."""
        group = list[Node]()
        for each in specs.named_children:
            if each.type != "import_spec":
                continue
            if group and each.start_point.row > group[-1].end_point.row + 1:
                break
            group.append(each)
        if not group:
            return insert(self._source, specs.start_byte + 1, f'{end}\t"{path}"{end}')
        follower = next((each for each in group if _path(self._source, each) > path), None)
        if follower is not None:
            return insert(self._source, follower.start_byte, f'"{path}"{end}\t')
        return insert(self._source, group[-1].end_byte, f'{end}\t"{path}"')


def alias_of(source: Source, path: str) -> str:
    """Return the local name of a package; the last part of its path if it is not imported."""
    names = source.facts.imports.names
    return next((name for name, whole in names.items() if whole == path), path.rpartition("/")[2])


def _path(source: Source, spec: Node) -> str:
    node = spec.child_by_field_name("path")
    return "" if node is None else source.syntax.text(node).strip('"`')
