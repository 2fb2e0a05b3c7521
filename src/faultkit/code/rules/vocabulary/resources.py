"""Objects that must be closed, and whether code closes them or passes them on."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Call, Facts
from faultkit.code.languages.syntax import Span

_CLOSES = frozenset(
    (
        "close", "aclose", "Close", "closeSync", "shutdown", "destroy", "end", "terminate", "release",
        "disconnect", "quit", "Shutdown", "dispose", "closeQuietly", "wait_closed", "stop", "cancel",
        "discard", "Dispose", "DisposeAsync", "CloseAsync", "use",
    )
)  # fmt: skip
_TAKE_OVER = frozenset(
    (
        "closing", "contextlib.closing", "contextlib.aclosing", "enter_context", "enter_async_context",
        "push_async_exit", "callback", "register", "addCleanup",
    )
)  # fmt: skip
_COPIES = ("toString", "toByteArray", "copy", "readLines")
_USES = frozenset(
    (
        "io.ReadAll", "io.Copy", "io.CopyN", "io.ReadFull", "io.WriteString", "io/ioutil.ReadAll",
        "fmt.Fprint", "fmt.Fprintf", "fmt.Fprintln", "fmt.Fscan", "fmt.Fscanf", "fmt.Fscanln",
        "json.load", "json.dump", "pickle.load", "pickle.dump", "marshal.load", "marshal.dump",
        "tomllib.load", "tomli.load", "yaml.load", "yaml.safe_load", "yaml.dump", "yaml.safe_dump",
        "shutil.copyfileobj", "hashlib.file_digest", "ast.parse",
        "xml.etree.ElementTree.parse", "numpy.load", "numpy.save", "pandas.read_csv", "plistlib.load",
        "configparser.ConfigParser.read_file", "email.message_from_file",
        "java.util.Properties.load", "java.util.Properties.store", "Properties.load", "Properties.store",
        "ImageIO.read", "javax.imageio.ImageIO.read", "java.nio.file.Files.copy",
        *(f"{package}IOUtils.{name}" for package in ("", "org.apache.commons.io.") for name in _COPIES),
    )
)  # fmt: skip
"""Functions that read or write a file and leave it open."""
_CSHARP_USES = frozenset(
    (
        "CopyToAsync", "CopyTo", "Serialize", "SerializeAsync", "Deserialize", "DeserializeAsync",
        "SqlCommand", "NpgsqlCommand", "MySqlCommand", "SqliteCommand", "OracleCommand", "SqlDataAdapter",
    )
)  # fmt: skip
"""Functions and commands of C# that use a stream or a connection and leave it open."""
_WRAPS = frozenset(
    (
        "bufio.NewReader", "bufio.NewWriter", "bufio.NewScanner", "encoding/json.NewDecoder",
        "encoding/json.NewEncoder", "encoding/csv.NewReader", "encoding/csv.NewWriter",
        "encoding/xml.NewDecoder", "csv.reader", "csv.writer", "csv.DictReader", "csv.DictWriter",
    )
)  # fmt: skip
"""Functions that return a reader or writer of the file: its holder has the file."""
_NEED_CONNECTION = frozenset(("execute", "executemany", "cursor", "makefile", "query"))
"""Methods of connections whose results need the connection, such as cursors."""
_BUILT_IN = frozenset(("print", "list", "tuple", "set", "sum", "len", "sorted", "max", "min", "dict", "next"))
"""Python functions; in other languages such names may mean anything."""


def is_closed_or_passed_on(call: Call, facts: Facts) -> bool:
    """Return whether what a call opened is closed, or passed on to code that may close it."""
    if call.is_managed or call.is_returned or call.is_argument or call.is_deferred:
        return True
    if any(each.method in _CLOSES for each in facts.calls_on(call)):
        return True
    if not call.assigned:
        return False
    name = call.assigned[0]
    if "." in name or "[" in name or "{" in name:
        return True
    function = facts.function_of(call)
    if function is None:
        return True
    if facts.language == "go" and any(
        each.call is call and each.operator == "=" for each in facts.assignments
    ):
        # A variable of an outer scope, such as a named result.
        return True
    if _is_outer(name, call, facts):
        return True
    return _closed_by_name(name, function.body, facts) or _escapes(name, call, function.body, facts)


def _is_outer(name: str, call: Call, facts: Facts) -> bool:
    """Return whether the variable belongs to an enclosing function or to the file."""
    if facts.language == "python":
        return any(
            step.kind == "global" and re.search(rf"\b{re.escape(name)}\b", facts.text(step.span))
            for step in facts.steps
        )
    function = facts.function_of(call)
    if facts.language == "go" or function is None:
        return False
    outer = {None, *(scope for scope in facts.functions_around(call) if scope is not function)}
    names = {name, f"self.{name}"} if facts.language == "java" else {name}
    return any(not names.isdisjoint(each.targets) and each.scope in outer for each in facts.assignments)


def only_uses(call: Call, facts: Facts) -> bool:
    """Return whether a call reads or writes its argument, and neither keeps nor closes it."""
    if facts.language == "csharp" and call.method in _CSHARP_USES:
        return True
    if facts.language == "kotlin" and call.name in ("load", "store") and "Properties" in facts.whole_text:
        return True
    return (
        call.name in _USES or call.name in _WRAPS or (facts.language == "python" and call.name in _BUILT_IN)
    )


def _closed_by_name(name: str, body: Span, facts: Facts) -> bool:
    for each in facts.within(facts.calls, body):
        owner = each.written.partition(".")[0]
        if owner == name and each.method in _CLOSES:
            return True
        if (each.method in _CLOSES or each.method in _TAKE_OVER) and any(
            argument.value.text == name for argument in each.arguments
        ):
            return True
        # self.addCleanup(f.close): another function calls it later.
        if any(_is_closer(argument.value.text, name) for argument in each.arguments):
            return True
    return any(each.written == name and each.is_managed for each, _ in facts.managed)


def _is_closer(text: str, name: str) -> bool:
    owner, dot, method = text.rpartition(".")
    return bool(dot) and owner == name and method in _CLOSES


def _escapes(name: str, call: Call, body: Span, facts: Facts, deep: bool = True) -> bool:
    """Return whether the variable itself is returned, stored or passed to another function."""
    # `conn.(*net.TCPConn)` in Go is the variable itself, with another type.
    word = re.compile(rf"(?<![\w.\"']){re.escape(name)}(?!\w|\s*\.[^(]|[(\[\"'])".encode())
    given = [
        other
        for other in facts.within(facts.calls, body)
        if other is not call
        # A descriptor is given to `fs` to read and write with it, not to keep.
        and not other.name.startswith("fs.")
        and any(_is_itself(argument.value.text, name) for argument in other.arguments)
    ]
    if _is_taken_by_thread(word, name, body, facts) or _cursor_escapes(call, body, facts):
        return True
    used = [other for other in given if only_uses(other, facts)]
    if any(not only_uses(other, facts) or (deep and _wrapper_escapes(other, body, facts)) for other in given):
        return True
    for step in facts.within(facts.steps, body):
        sends = step.kind == "await" and facts.language == "go"
        leaves = step.kind in ("return", "yield") and not _is_read_out(name, step.span, facts)
        if (sends or leaves) and any(_bare(word, step.span, used, facts)):
            return True
    for each in facts.within(facts.assignments, body):
        value = None if each.call is call else each.value
        stores = value is not None and value.shape in ("name", "object", "list")
        if value is not None and stores and any(_bare(word, value.span, used, facts)):
            return True
    return False


def _is_itself(text: str, name: str) -> bool:
    return text in (name, f"&{name}", f"*{name}") or text.startswith(f"{name}.(")


def _is_read_out(name: str, span: Span, facts: Facts) -> bool:
    """Return whether a list is made of it: `[row for row in reader]`; a generator would need it later."""
    source = facts.syntax.source
    return any(
        loop.over == name and source[loop.span.start : loop.span.start + 1] in (b"[", b"{")
        for loop in facts.within(facts.loops, span)
    )


def _is_taken_by_thread(word: re.Pattern[bytes], name: str, body: Span, facts: Facts) -> bool:
    """Return whether a thread or goroutine takes it over: `Thread(target=work, args=(f,))`, `go func() {
    … f … }()`."""
    source = facts.syntax.source
    uses = re.compile(rf"(?<![\w.\"']){re.escape(name)}(?![\w\"'])".encode())
    for each in facts.within(facts.calls, body):
        if each.is_launched and uses.search(source, each.span.start, each.span.end):
            return True
        if facts.language != "go" and any(
            argument.value.shape in ("list", "object")
            and word.search(source, argument.value.span.start, argument.value.span.end)
            for argument in each.arguments
        ):
            return True
    return False


def _cursor_escapes(call: Call, body: Span, facts: Facts) -> bool:
    """Return whether a cursor is returned: `return conn.execute(…)`, directly or through a variable."""
    if facts.language != "python":
        return False
    for cursor in facts.calls_on(call):
        if cursor.method not in _NEED_CONNECTION:
            continue
        if cursor.is_returned or _cursor_escapes(cursor, body, facts):
            return True
        if any(
            step.kind in ("return", "yield") and step.text == name
            for name in cursor.assigned[:1]
            for step in facts.within(facts.steps, body)
        ):
            return True
    return False


def _bare(word: re.Pattern[bytes], span: Span, used: list[Call], facts: Facts) -> Iterator[bool]:
    """Yield True for each use of the word, except among the arguments of calls that only use it."""
    for found in word.finditer(facts.syntax.source, span.start, span.end):
        if not any(other.callee.end <= found.start() < other.span.end for other in used):
            yield True


def _wrapper_escapes(wrapper: Call, body: Span, facts: Facts) -> bool:
    """Return whether a wrapper is returned: `return bufio.NewReader(f)`, directly or through a variable."""
    if wrapper.name not in _WRAPS:
        return False
    if wrapper.is_argument:
        # `list(csv.reader(f))` reads it to the end.
        around = facts.calls_around(wrapper)
        return not around or not only_uses(around[-1], facts)
    if wrapper.is_returned:
        return True
    return any(
        "." in name or "[" in name or _escapes(name, wrapper, body, facts, deep=False)
        for name in wrapper.assigned[:1]
    )
