"""Things that a function takes and gives back itself, whatever library they come from.

document = Loader.loadPDF(file)     A function that closes what a call returned owns it, and has to close it
text = strip(document)              on every other way out, too. No list of libraries is needed: the call
document.close()                    that gives it back shows that it must be.

What holds memory only, or ends with something else that is closed, is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import Severity
from faultkit.code.rules.vocabulary.command_lines import is_for_browser
from faultkit.code.rules.vocabulary.exits import is_survived
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.repetition import is_for_screen, runs_once
from faultkit.code.rules.vocabulary.taken_resources import taken_severity

RELEASES = frozenset(
    ("close", "Close", "release", "Release", "end", "closeQuietly", "putconn", "releaseConnection",
     "returnResource", "returnObject", "put_connection", "release_connection", "disconnect", "endSession",
     "Dispose", "DisposeAsync", "CloseAsync", "unlock", "Return", "quit", "closeSync", "Put", "giveBack",
     "give_back", "putBack", "put_back", "checkin", "checkIn", "check_in", "ReturnAsync", "ReleaseAsync",
     "recycle", "GiveBack", "returnConnection", "return_connection")
)  # fmt: skip
"""Methods that give back what a call has taken, by their names."""
_OWN = (RELEASES - {"Return", "Put"}) | frozenset(
    ("aclose", "dispose", "destroy", "terminate", "Disconnect", "DisconnectAsync", "ReleaseAsync",
     "releaseLock", "giveBack", "give_back", "checkin", "logout", "unsubscribe",
     "Unsubscribe", "disconnectSync", "Logout", "shutdown", "shutdownNow", "Terminate", "Unlock",
     "UnlockAsync", "abandon", "release_lock", "unlockAsync", "releaseAsync", "deallocate", "Free", "free")
)  # fmt: skip
"""The same, of the object itself."""
_IN_MEMORY = NamePattern(
    r"Byte(Array|Buffer)?(In|Out)putStream|String(Reader|Writer|IO|Builder|Content)|BytesIO|MemoryStream|bytes\.|strings\."
    r"|zip\.NewWriter|(gzip|zlib|flate|lzw|bzip2|brotli|zstd|lz4|s2|snappy)\.New\w+|multipart\.NewWriter|tar\.NewWriter|csv\.|GZIP\w+Stream"
    r"|CancellationTokenSource|HttpRequestMessage|\w+Content$|createDeferred|Subject$|tracer|[sS]pan|Scanner$|Printer$"
    r"|[sS]top[wW]atch|[pP]rogress|[sS]pinner|tqdm|Formatter$|PrintWriter$|createInterface|io\.Pipe$|Object(In|Out)putStream$"
    r"|InitialContext$|(Xml|XML|Json|JSON)(Text)?(Reader|Writer|Generator)$|\.(createGenerator|createParser|createXML\w+)$"
    r"|Okio\.buffer$|[cC]reate(Graphics|ImageBitmap|Bitmap)$|getImage(Writ|Read)ers\w*|Brush$|(^|\.)Pen$|Dialog$|Scope$|LayoutScope$|RegistryKey$|OpenSubKey$"
)
"""Makers of what holds memory only, measures time, belongs to a screen, or has rules of its own."""
_FINDS = NamePattern(
    r"^_?(get|Get|find|Find|lookup|remove|Remove|pop|Pop|peek|shift|poll|[dD]equeue|execute$|select|query|[a-z]\w*Getter$)"
)
"""Methods that give what is there already, or what others own; in Go what can be closed has to be."""
_OF_ANOTHER = frozenset(
    ("cursor", "createStatement", "prepareStatement", "executeQuery", "getInputStream", "getOutputStream",
     "prepare", "prepareCall", "getResultSet", "getGeneratedKeys", "StdoutPipe", "StdinPipe", "StderrPipe",
     "getReader", "GetStream", "CreateCommand", "getWriter", "listen", "getBody", "clone", "createQuery",
     "ExecuteReader", "ExecuteReaderAsync", "pipe", "getParameterMetaData", "makefile", "fork", "Body")
)  # fmt: skip
"""Methods whose results end with the object that they are called on."""
_TO_OWNER = (
    "Return", "ReturnAsync", "giveBack", "give_back", "GiveBack", "putBack", "put_back", "checkin", "checkIn",
    "check_in", "recycle", "returnObject", "release", "Release", "ReleaseAsync",
)  # fmt: skip
"""Methods that are given back what another method of the same object has lent."""
_MAINS = frozenset(("main", "Main", "cli", "__main__", "realMain", "runMain"))
_PROCESSES = frozenset(
    ("quit", "terminate", "shutdown", "disconnect", "release", "logout", "give_back", "checkin")
)
"""Ends without which a process, a session or a permit stays: no collector of memory gives it back."""


def releases(method: str) -> bool:
    """Return whether a method ends the object that it is called on."""
    return method in _OWN or method == "Return"


def released_by_its_taker(facts: Facts) -> Iterator[tuple[Call, Severity]]:
    """Yield calls whose result the same function gives back, beyond those that are known by their names."""
    of_scripts = facts.syntax.language.family == "javascript"
    ended = facts.calls_of_method(*(_OWN if of_scripts else _OWN - {"end"}))
    given_back = facts.calls_of_method(*_TO_OWNER)
    if not (ended or given_back) or is_for_screen(facts) or is_for_browser(facts):
        return
    seen = set[Call]()
    for end in ended:
        taken = end.origin
        if taken is None or taken in seen or not taken.assigned:
            continue
        if end.receiver_written.rstrip("?!") != taken.assigned[0] or not is_on_way(end, taken, facts):
            continue
        seen.add(taken)
        if taken_severity(taken.name, facts.language) is None and _must_be_released(taken, end, facts):
            yield taken, "medium"
    for end in given_back:
        given = end.positional[0].value.text if end.receiver_written and len(end.positional) == 1 else ""
        scope = facts.function_of(end) if given.isidentifier() else None
        if scope is None or not _is_lender(end.receiver_written, facts):
            continue
        for each in facts.assignments_to(given, end):
            lent = each.call
            if lent is None or lent in seen or lent.receiver_written != end.receiver_written:
                continue
            seen.add(lent)
            known = taken_severity(lent.name, facts.language) is not None
            if not known and each.scope is scope and is_on_way(end, lent, facts) and lent.assigned:
                yield lent, "medium"


def _is_lender(path: str, facts: Facts) -> bool:
    """Return whether an object lives longer than the function that takes from it and gives back to it."""
    return "." in path or path.startswith("_") or f"self.{path}" in facts.assigned_names


def _must_be_released(taken: Call, end: Call, facts: Facts) -> bool:
    scope = facts.function_of(taken)
    if scope is None or facts.function_of(end) is not scope or scope.short_name in _MAINS:
        return False
    if taken.method in _OF_ANOTHER or _IN_MEMORY.search(taken.name) or taken.is_managed:
        return False
    if (
        (runs_once(scope) and not scope.parameters)
        or _wraps_given(taken, scope, facts)
        or _ENDS.match(scope.short_name)
    ):
        return False
    if facts.language != "go" and _FINDS.match(taken.method):
        return False
    if _ends_with_another(taken, scope, facts) or is_stored(taken.assigned[0], scope, facts):
        return False
    if _is_taken_later(taken, end, scope, facts) or _exits_after(end, scope, facts):
        return False
    if facts.language == "go":
        return (
            len(taken.assigned) > 1 and re.search(r"err\d?$", taken.assigned[-1], re.IGNORECASE) is not None
        )
    if facts.language in ("javascript", "typescript", "tsx"):
        return taken.is_awaited or end.is_awaited
    return True


def is_on_way(end: Call, taken: Call, facts: Facts) -> bool:
    """Return whether the function gives a thing back where nothing has gone wrong: in no branch behind it.

    What is closed in one branch only is kept or handed on in the others."""
    if facts.is_in_finally(end):
        return True
    tries = {each.span for each in facts.tries}
    rest = Span(taken.span.end, len(facts.syntax.source))
    return not any(
        is_within(end.span, arm.span) and arm.fork.start > taken.span.end and arm.fork not in tries
        for arm in facts.within(facts.arms, rest)
    )


def _ends_with_another(taken: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether the object that a call is on is closed or managed here, and what it gave with it."""
    head = re.split(r"[.(\[]", taken.receiver_written)[0]
    if not head or head in ("self", "this"):
        return False
    return any(head in call.assigned for call, _ in facts.managed) or any(
        each.method in _OWN and each.receiver_written == head
        for each in facts.within(facts.calls, scope.body)
    )


def _wraps_given(taken: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether a reader or writer is made over another stream, whose owner closes that."""
    first = taken.positional[0].value if taken.positional else None
    if not taken.constructs or first is None:
        return False
    given = {one.name for one in scope.parameters if _STREAMS.search(one.type)}
    wraps = _STREAMS.search(taken.method) is not None and first.shape in ("name", "call")
    if first.text in given or (wraps and not _PATHS.search(first.text)):
        return True
    if first.shape == "call" and _IN_MEMORY.search(re.split(r"[(<]", first.text.removeprefix("new "))[0]):
        return True
    made = [one.call for one in facts.assignments_to(first.text, taken)] if first.shape == "name" else []
    return any(call is not None and call.constructs and _STREAMS.search(call.method) for call in made)


_STREAMS = NamePattern(r"(Stream|Reader|Writer|Socket|Connection|Channel|byte\[\]|Memory|Span)(<.*>)?\??$")
_PATHS = lazy_regex(r"path|file|name|url|uri|dir|dest|target", re.IGNORECASE)
_ENDS = NamePattern(r"^_?(close|shutdown|stop|destroy|dispose|terminate|teardown|disconnect)", re.IGNORECASE)
"""Functions that end something else: what they take on the way has no more use."""


def is_stored(name: str, scope: Scope, facts: Facts) -> bool:
    """Return whether the object is put where other functions have it."""
    return any(
        each.value is not None
        and each.value.text == name
        and any("." in target or "[" in target for target in each.targets)
        for each in facts.within(facts.assignments, scope.body)
    )


_MEMORY = lazy_regex(
    r"(ArrayPool|MemoryPool)\b.*\.Rent$|[mM]emoryPool\w*\.Rent$|(^|\.)Unpooled\.\w+$|Lease(<.*>)?\.Create$"
)


_BUILT = lazy_regex(r"(Writer|Merger|Builder|Buffer|Document|Workbook|Canvas|Presentation)$")
"""Documents that are built in memory, if they are made without a path or stream."""


def is_of_memory(call: Call) -> bool:
    """Return whether what a call takes holds memory only, which is collected: a buffer, `:memory:`."""
    if _MEMORY.search(call.name) or (
        call.method == "Rent" and re.search(r"\.Shared$", call.receiver_written)
    ):
        return True
    if call.constructs and not call.arguments and _BUILT.search(call.method):
        return True
    return any(":memory:" in each.value.literal for each in call.positional[:1])


def ends_with_block(call: Call, facts: Facts) -> bool:
    """Return whether a call is on what a `with` around it closes, or on something got from that (Python)."""
    around = facts.managed_around(call) if facts.language == "python" else ()
    names = {name for each in around for name in each.assigned}
    root = call.receiver_written.partition(".")[0]
    if not names or not root:
        return False
    given = [each.value.text for each in facts.assignments_to(root, call) if each.value is not None]
    return root in names or any(not names.isdisjoint(re.findall(r"\w+", text)) for text in given)


_PERMITS = frozenset(("release", "Release", "ReleaseAsync", "unlock", "Unlock", "UnlockAsync", "releaseLock"))
_TAKES_PERMIT = NamePattern(r"^(try_?)?(acquire|lock|enter|take|wait)(_?async)?$", re.IGNORECASE)
_EXITS = (
    "System.exit", "java.lang.System.exit", "sys.exit", "os._exit", "process.exit", "Environment.Exit",
    "os.Exit", "exitProcess", "kotlin.system.exitProcess",
)  # fmt: skip


def _is_taken_later(taken: Call, end: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether an object is only made here, and what is given back is taken by another call on it: a
    lock, or the session of a service that has a `logout`."""
    if taken.constructs and end.method.lower() == "logout":
        return True
    is_made = taken.constructs or taken.method.startswith(("new", "New", "create", "Create"))
    return (
        is_made
        and end.method in _PERMITS
        and any(
            _TAKES_PERMIT.match(each.method) and each.receiver_written == taken.assigned[0]
            for each in facts.within(facts.calls, scope.body)
        )
    )


def _exits_after(end: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether the program ends in this function after the release: then all is given back."""
    return any(
        each.span.start > end.span.end for each in facts.within(facts.calls_named(*_EXITS), scope.body)
    )


def is_collected(taken: Call, end: Call, facts: Facts) -> bool:
    """Return whether a thing that no list of libraries knows ends when it is dropped: Python closes what has
    no references, and `release` of an object of the JVM that was not acquired gives back memory."""
    if facts.language == "python":
        return end.method not in _PROCESSES
    return (
        facts.language in ("java", "kotlin")
        and end.method == "release"
        and not re.match(r"(try_?)?(acquire|borrow|lease|take|lock|checkout)", taken.method, re.IGNORECASE)
    )


def is_left_by_failure(taken: Call, end: Call, between: list[Call], scope: Scope, facts: Facts) -> bool:
    """Return whether what fails between the two keeps a thing that no list of libraries knows.

    Where a collector closes what is dropped, or a plain call hardly fails, more must be done in between than
    to use the thing itself."""
    name = taken.assigned[0]
    way = [
        step
        for step in facts.own(facts.steps, scope)
        if step.kind in ("raise", "branch") and taken.span.end < step.span.start < end.span.start
    ]
    missing = re.compile(rf"(?:!|not |=\s*)\(?{re.escape(name)}\b|\b{re.escape(name)}\s*(?:==|is)")
    raises = any(
        step.kind == "raise"
        and not any(
            one.kind == "branch" and is_within(step.span, one.span) and missing.search(one.text)
            for one in way
        )
        for step in way
    )
    between = [each for each in between if not is_survived(each, facts)]
    if raises or any(each.is_awaited for each in between):
        return True
    if facts.language in ("javascript", "typescript", "tsx"):
        return False
    if facts.language == "python" and end.method not in _PROCESSES:
        return any(
            each.receiver_written.startswith("self.") and name not in each.written.split(".")
            for each in between
        )
    return bool(between)
