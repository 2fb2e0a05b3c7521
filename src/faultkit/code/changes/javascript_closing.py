"""Closing the files that a block of JavaScript opens: `try { … } finally { … }` around the rest. Pure.

The change is safe if every use of the file is a call that has done its work when the next statement runs. Any
other use asks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.changes.change import (
    Change,
    Edit,
    Source,
    change_of,
    indent_at,
    indent_unit,
    insert,
    newline_of,
    statement_of,
)
from faultkit.code.changes.javascript_values import FUNCTIONS
from faultkit.code.changes.questions import KEPT
from faultkit.code.facts import Call
from faultkit.code.languages.syntax import Node, walk
from faultkit.code.rules.rule import Finding

BLOCKS = ("statement_block", "program")
_NAMES = ("identifier", "shorthand_property_identifier", "shorthand_property_identifier_pattern")
_STAYS = (
    "class_declaration", "export_statement", "function_declaration", "generator_function_declaration",
    "import_statement",
)  # fmt: skip
"""Statements that mean something else inside a block: what they declare is known before and outside."""
_SYNC = frozenset(
    (
        "appendFileSync", "fchmodSync", "fchownSync", "fdatasyncSync", "fstatSync", "fsyncSync",
        "ftruncateSync", "futimesSync", "readFileSync", "readSync", "readvSync", "writeFileSync",
        "writeSync", "writevSync",
    )
)  # fmt: skip
"""Functions of fs that take an open file."""
_AWAITED = frozenset(
    (
        "appendFile", "chmod", "chown", "datasync", "read", "readFile", "readv", "stat", "sync", "truncate",
        "utimes", "write", "writeFile", "writev",
    )
)  # fmt: skip
"""Methods of an open file whose work is done when they have been awaited."""


def close_files(source: Source, findings: tuple[Finding, ...]) -> Change | None:
    """Close files at the end of the block that opens them."""
    edits: list[Edit] = []
    for call in filter(None, map(source.call_at, findings)):
        if not edits:
            # One at a time: the edits of two in one block overlap.
            edits = list(_closing_edits(source, call))
    return change_of(findings, "close files on every way out", edits)


def closing_question(source: Source, finding: Finding) -> str:
    """Ask whether a file is used for longer than its block runs, unless the text shows that it is not."""
    call = source.call_at(finding)
    statement = None if call is None else statement_of(source.node_at(call.span), BLOCKS)
    if call is None or statement is None:
        return ""
    rest = _below(statement)
    mentions = [each for node in rest for each in _mentions(source, node, call.assigned)]
    is_done = all(_is_done(source, each, call, statement.parent) for each in mentions)
    # A file that is never used may be open for its own sake.
    return "" if mentions and is_done else KEPT


def _closing_edits(source: Source, call: Call) -> Iterator[Edit]:
    statement = statement_of(source.node_at(call.span), BLOCKS)
    if statement is None or not _declares_file(source, statement, call):
        return
    name, rest = call.assigned[0], _below(statement)
    if not rest or _spans_lines(rest) or not _may_be_inside(source, statement, rest):
        return
    if any(_is_closed(source, node, name) for node in rest):
        return
    close = f"await {name}.close();" if call.is_awaited else f"{call.receiver_written}.closeSync({name});"
    indent, unit, end = indent_at(source, statement.start_byte), indent_unit(source, "  "), newline_of(source)
    yield insert(source, rest[0].start_byte, f"try {{{end}{indent}{unit}")
    for line in range(source.syntax.line(rest[0].start_byte) + 1, source.syntax.line(rest[-1].end_byte) + 1):
        if source.syntax.line_text(line).strip():
            yield insert(source, _start_of(source, line), unit)
    yield insert(
        source, rest[-1].end_byte, f"{end}{indent}}} finally {{{end}{indent}{unit}{close}{end}{indent}}}"
    )


def _below(statement: Node) -> list[Node]:
    """Return the statements of its block below a statement."""
    block = statement.parent
    return (
        []
        if block is None
        else [each for each in block.named_children if each.start_byte > statement.end_byte]
    )


def _declares_file(source: Source, statement: Node, call: Call) -> bool:
    """Return whether a statement of a block declares a variable of that block that holds nothing but the
    result."""
    is_block = statement.type == "lexical_declaration" or (
        statement.type == "variable_declaration" and _is_body(statement.parent)
    )
    if not is_block or len(call.assigned) != 1 or not call.assigned[0].isidentifier():
        return False
    if not call.is_awaited and (call.method != "openSync" or not call.receiver_written):
        return False
    wanted = call.span.end
    for each in statement.named_children:
        value = each.child_by_field_name("value")
        if value is not None and value.end_byte == wanted:
            start = re.sub(r"^await\s+", "", source.syntax.text(value))
            return start == source.facts.text(call.span)
    return False


def _is_body(block: Node | None) -> bool:
    return block is not None and (
        block.type == "program" or (block.parent is not None and block.parent.type in FUNCTIONS)
    )


def _may_be_inside(source: Source, statement: Node, rest: list[Node]) -> bool:
    """Return whether statements mean the same in a block of their own: nothing above uses what they
    declare."""
    if any(each.type in _STAYS for each in rest) or statement.parent is None:
        return False
    declared = {
        source.syntax.text(each)
        for node in rest
        if node.type == "lexical_declaration"
        for declarator in node.named_children
        for each in walk(declarator.child_by_field_name("name") or declarator)
        if each.type in _NAMES
    }
    above = [each for each in statement.parent.named_children if each.start_byte <= statement.start_byte]
    return not any(True for node in above for _ in _mentions(source, node, tuple(declared)))


def _mentions(source: Source, top: Node, names: tuple[str, ...]) -> Iterator[Node]:
    for each in walk(top):
        if each.type in _NAMES and source.syntax.text(each) in names:
            yield each


def _is_closed(source: Source, node: Node, name: str) -> bool:
    closes = rf"\bclose(Sync)?\(\s*{re.escape(name)}\b|\b{re.escape(name)}\s*\??\.\s*(close|\[)"
    return re.search(closes, source.syntax.text(node)) is not None


def _is_done(source: Source, node: Node, opening: Call, block: Node | None) -> bool:
    """Return whether a use of a file has ended when the next statement of its block runs."""
    if block is None or node.parent is None or node.parent.parent is None or _is_in_function(node, block):
        return False
    outer, call = node.parent, node.parent.parent
    called = call.child_by_field_name("function")
    if call.type != "call_expression" or called is None:
        return False
    if not opening.is_awaited:
        known = {f"{opening.receiver_written}.{each}" for each in _SYNC}
        return outer.type == "arguments" and source.syntax.text(called) in known
    name = called.child_by_field_name("property") if called == outer else None
    return name is not None and source.syntax.text(name) in _AWAITED and _is_awaited(call)


def _is_in_function(node: Node, block: Node) -> bool:
    """Return whether a function inside a block uses it, which may run at any time."""
    outer = node.parent
    while outer is not None and outer != block:
        if outer.type in FUNCTIONS:
            return True
        outer = outer.parent
    return False


def _is_awaited(call: Node) -> bool:
    return call.parent is not None and call.parent.type == "await_expression"


def _start_of(source: Source, line: int) -> int:
    lines = source.syntax.source.split(b"\n")
    return sum(len(each) + 1 for each in lines[: line - 1])


def _spans_lines(nodes: list[Node]) -> bool:
    """Return whether a text literal spans lines, which must not be indented."""
    return any(
        each.type in ("string", "template_string", "jsx_text") and each.start_point.row != each.end_point.row
        for node in nodes
        for each in walk(node)
    )
