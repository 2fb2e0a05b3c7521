"""Closing what a Go function opens: `defer f.Close()` below the check of its error. Pure.

The change is safe if every use of what is opened, and of everything made from it, is one of those listed
here: they end before the function does. Any other use asks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.changes.change import Change, Edit, Source, after_statement, change_of, statement_of
from faultkit.code.changes.questions import KEPT
from faultkit.code.facts import Call, Scope
from faultkit.code.languages.syntax import Node, walk
from faultkit.code.rules.rule import Finding
from faultkit.code.rules.vocabulary.http_requests import library_of

BLOCKS = ("block", "source_file", "statement_list")
_LEAVES = frozenset(
    (
        "log.Fatal", "log.Fatalf", "log.Fatalln", "log.Panic", "log.Panicf", "log.Panicln", "os.Exit",
        "panic", "testing.T.FailNow", "testing.T.Fatal", "testing.T.Fatalf", "testing.T.Skip",
    )
)  # fmt: skip
"""Calls that never return."""
_FIELDS = frozenset(("ContentLength", "Header", "Proto", "Status", "StatusCode", "Trailer", "Uncompressed"))
"""Fields of a response that do not need its body."""
_METHODS = frozenset(
    (
        "Accept", "Addr", "Buffer", "Bytes", "Chmod", "Close", "Cookies", "Decode", "Encode", "Err", "Error",
        "Flush", "LocalAddr", "Location", "More", "Name", "Peek", "Read", "ReadAll", "ReadAt", "ReadByte",
        "ReadBytes", "ReadDir", "ReadLine", "ReadRune", "ReadString", "Readdir", "Readdirnames",
        "RemoteAddr", "Scan", "Seek", "SetDeadline", "SetIndent", "SetReadDeadline", "SetWriteDeadline",
        "Split", "Stat", "Sync", "Text", "Token", "Truncate", "UseNumber", "Write", "WriteAll", "WriteAt",
        "WriteByte", "WriteRune", "WriteString",
    )
)  # fmt: skip
"""Methods that have done all their work when they return."""
_READS = frozenset(
    (
        "bytes.Buffer.ReadFrom", "encoding/binary.Read", "encoding/binary.Write", "fmt.Fprint", "fmt.Fprintf",
        "fmt.Fprintln", "fmt.Fscan", "fmt.Fscanf", "fmt.Fscanln", "io.Copy", "io.CopyBuffer", "io.CopyN",
        "io.ReadAll", "io.ReadAtLeast", "io.ReadFull", "io.WriteString", "io/ioutil.ReadAll",
        "strings.Builder.ReadFrom",
    )
)  # fmt: skip
"""Functions that have done all their work when they return."""
_WRAPS = frozenset(
    (
        "bufio.NewReadWriter", "bufio.NewReader", "bufio.NewReaderSize", "bufio.NewScanner",
        "bufio.NewWriter", "bufio.NewWriterSize", "compress/gzip.NewReader", "compress/gzip.NewWriter",
        "encoding/csv.NewReader",
        "encoding/csv.NewWriter", "encoding/gob.NewDecoder", "encoding/gob.NewEncoder",
        "encoding/json.NewDecoder", "encoding/json.NewEncoder", "encoding/xml.NewDecoder",
        "encoding/xml.NewEncoder", "io.LimitReader", "io.TeeReader",
    )
)  # fmt: skip
"""Functions whose result reads or writes what they are given."""
_MOST_NAMES = 10


def close_opened(source: Source, findings: tuple[Finding, ...]) -> Change | None:
    """Close files, connections and bodies of answers when their function ends."""
    edits = list[Edit]()
    for call in filter(None, map(source.call_at, findings)):
        guard = guard_below(source, call)
        if guard is None or source.facts.loops_around(call) or not call.assigned[0].isidentifier():
            continue
        name = call.assigned[0]
        if name != "_":
            body = ".Body" if _is_response(call) else ""
            edits.append(after_statement(source, guard, (f"defer {name}{body}.Close()",)))
    return change_of(findings, "close what is opened, on every way out", edits)


def closing_question(source: Source, finding: Finding) -> str:
    """Ask whether what is opened is used for longer than its function runs, unless the text shows that it
    is not."""
    call = source.call_at(finding)
    return KEPT if call is not None and not ends_in_function(source, call) else ""


def _is_response(call: Call) -> bool:
    library = library_of(call)
    return library is not None and library.name == "net/http"


# The check of the error below a call: after it, the call has succeeded.


def guard_below(source: Source, call: Call) -> Node | None:
    """Return the statement `if err != nil { … }` that follows a call and surely leaves the function."""
    statement = statement_of(source.node_at(call.span), BLOCKS)
    if statement is None or statement.type not in ("short_var_declaration", "assignment_statement"):
        return None
    following = statement.next_named_sibling
    while following is not None and following.type == "comment":
        following = following.next_named_sibling
    error = call.assigned[-1] if len(call.assigned) > 1 else "_"
    if following is None or following.type != "if_statement" or error == "_":
        return None
    condition = following.child_by_field_name("condition")
    is_check = condition is not None and source.syntax.text(condition) == f"{error} != nil"
    has_more = following.child_by_field_name("initializer") or following.child_by_field_name("alternative")
    last = _last_statement(following.child_by_field_name("consequence"))
    if not is_check or has_more is not None or last is None or not _leaves(source, last):
        return None
    return following


def _last_statement(block: Node | None) -> Node | None:
    inner = [] if block is None else [each for each in block.named_children if each.type != "comment"]
    if len(inner) == 1 and inner[0].type == "statement_list":
        inner = [each for each in inner[0].named_children if each.type != "comment"]
    return inner[-1] if inner else None


def _leaves(source: Source, statement: Node) -> bool:
    if statement.type == "return_statement":
        return True
    call = _call_of(source, statement)
    return statement.type == "expression_statement" and call is not None and call.name in _LEAVES


def returned_by(source: Source, guard: Node) -> str | None:
    """Return the values that the last statement of a check returns, as written; None if it returns none."""
    last = _last_statement(guard.child_by_field_name("consequence"))
    if last is None or last.type != "return_statement":
        return None
    return source.syntax.text(last).removeprefix("return").strip()


# Uses of what is opened.


def ends_in_function(source: Source, call: Call) -> bool:
    """Return whether everything made from the result of a call is surely done with when its function ends."""
    return all(made is not None for _, made in _uses_of(source, call))


def is_read_at_once(source: Source, call: Call) -> bool:
    """Return whether the body of an answer is surely read in its function, and not piece by piece: neither in
    a loop nor while it is passed on."""
    body = _body_around(source, call)
    if body is None:
        return False
    around = {each.id for each in _loops_around(source.node_at(call.span), body)}
    for node, made in _uses_of(source, call):
        if node is None or made is None:
            return False
        is_in_loop = any(each.id not in around for each in _loops_around(node, body))
        if (is_in_loop or _is_copied(source, node)) and not _is_field(source, node):
            return False
    return True


def _body_around(source: Source, call: Call) -> Node | None:
    scope = source.facts.function_of(call)
    return None if scope is None else source.node_at(scope.body)


def _uses_of(source: Source, call: Call) -> Iterator[tuple[Node | None, tuple[str, ...] | None]]:
    """Yield each mention of the result of a call, and of what is made from it, with the variables that it
    makes; None for a use that is not known."""
    statement = statement_of(source.node_at(call.span), BLOCKS)
    scope, body = source.facts.function_of(call), _body_around(source, call)
    if statement is None or statement.type != "short_var_declaration" or scope is None or not call.assigned:
        yield None, None
        return
    if body is None or _is_bound_before(source, scope, call.assigned[0], statement):
        yield None, None
        return
    names, at = [call.assigned[0]], 0
    while at < len(names) < _MOST_NAMES:
        for node in _mentions(source, body, names[at], after=statement.end_byte):
            made = _made_by(source, node, body)
            yield node, made
            names += [each for each in made or () if each not in names]
        at += 1
    if at < len(names):
        yield None, None


def _loops_around(node: Node | None, body: Node) -> Iterator[Node]:
    while node is not None and node != body:
        if node.type == "for_statement":
            yield node
        node = node.parent


def _is_field(source: Source, node: Node) -> bool:
    """Return whether a mention of an answer reads a field that does not need its body."""
    outer = node.parent
    is_part = outer is not None and outer.type == "selector_expression"
    return is_part and outer is not None and source.syntax.text(outer.named_children[-1]) in _FIELDS


def _is_copied(source: Source, node: Node) -> bool:
    """Return whether a mention is an argument of a function that writes elsewhere what it reads."""
    outer = node.parent
    while outer is not None and outer.type in ("argument_list", "call_expression", "selector_expression"):
        call = _call_of(source, outer)
        if call is not None and call.name == "io.TeeReader":
            return True
        outer = outer.parent
    return False


def _is_bound_before(source: Source, scope: Scope, name: str, statement: Node) -> bool:
    """Return whether a name may be a parameter, a named result or a variable from above, which lives on."""
    above = source.syntax.source[scope.span.start : statement.start_byte].decode("utf-8", "replace")
    return re.search(rf"\b{re.escape(name)}\b", above) is not None


def _mentions(source: Source, body: Node, name: str, *, after: int) -> Iterator[Node]:
    for node in walk(body):
        if node.type == "identifier" and node.start_byte >= after and source.syntax.text(node) == name:
            yield node


def _made_by(source: Source, node: Node, body: Node) -> tuple[str, ...] | None:
    """Return the variables that hold something made from a mention; None if the use is not known."""
    if _is_in_literal(node, body):
        return None
    part, outer = node, node.parent
    while outer is not None:
        if outer.type == "selector_expression":
            field = source.syntax.text(outer.named_children[-1])
            is_called = outer.parent is not None and outer.parent.type == "call_expression"
            if field in (_METHODS if is_called else _FIELDS):
                return ()
            if field != "Body" or is_called:
                return None
            part, outer = outer, outer.parent
        elif outer.type == "argument_list":
            call = _call_of(source, outer.parent)
            if call is None or call.name in _READS or call.name not in _WRAPS:
                return () if call is not None and call.name in _READS else None
            assert outer.parent is not None
            part, outer = outer.parent, outer.parent.parent
        elif outer.type == "expression_list":
            return _declared_by(source, part, outer)
        elif outer.type == "binary_expression":
            return () if source.syntax.text(outer.named_children[-1]) == "nil" else None
        else:
            return None
    return None


def _declared_by(source: Source, part: Node, values: Node) -> tuple[str, ...] | None:
    """Return the variable that `s := bufio.NewScanner(f)` declares, or none for the declared name itself."""
    outer = values.parent
    if outer is None or outer.type != "short_var_declaration":
        return None
    left, right = outer.child_by_field_name("left"), outer.child_by_field_name("right")
    if left is None or right is None or right != values or part.type != "call_expression":
        # The name of a variable that is made from something known.
        return () if left == values and _holds_wrapper(source, right) else None
    name = source.syntax.text(left.named_children[0])
    return (name,) if len(right.named_children) == 1 else None


def _holds_wrapper(source: Source, values: Node | None) -> bool:
    call = None if values is None else _call_of(source, values)
    return call is not None and call.name in _WRAPS


def _is_in_literal(node: Node, body: Node) -> bool:
    """Return whether a function inside the body uses it, which may run at any time; a deferred one ends with
    the function around it."""
    outer = node.parent
    while outer is not None and outer != body:
        if outer.type == "go_statement" or (outer.type == "func_literal" and not _is_deferred(outer)):
            return True
        outer = outer.parent
    return False


def _is_deferred(literal: Node) -> bool:
    call = literal.parent
    return call is not None and call.parent is not None and call.parent.type == "defer_statement"


def _call_of(source: Source, node: Node | None) -> Call | None:
    """Return the call that a node is, or is nothing but."""
    spans = () if node is None else (node.start_byte, node.end_byte)
    return next((each for each in source.facts.calls if tuple(each.span) == spans), None)
