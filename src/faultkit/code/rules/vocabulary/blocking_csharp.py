"""C#: calls that keep a thread of the pool waiting in async code."""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import LIKELY, POSSIBLE, Hit, Severity
from faultkit.code.rules.vocabulary.blocking_clients import blocks_in_csharp
from faultkit.code.rules.vocabulary.blocking_queries import is_in_lambda_of_list, waits_for_ef
from faultkit.code.rules.vocabulary.call_paths import callers_through
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.repetition import runs_once
from faultkit.code.rules.vocabulary.served_code import is_served

_CSHARP = NamePattern(
    r"^(Thread\.Sleep|Task\.WaitAll|Task\.WaitAny|File\.(ReadAll|WriteAll|AppendAll)(Text|Lines|Bytes)"
    r"|(StreamReader|File\.OpenText\(\))\.ReadToEnd|.*\bSaveChanges|SqlCommand\.Execute(Reader|Scalar|NonQuery)"
    r"|BCrypt(\.Net\.BCrypt)?\.(Verify|HashPassword|EnhancedVerify)|Image\.(Load|Save\w*)|SmtpClient\.Send|ZipFile\.(ExtractToDirectory|CreateFromDirectory)"
    r"|(\w+\.)?SemaphoreSlim\.Wait|(\w+\.)?Task\.Wait|Npgsql(DataSource\.OpenConnection|Command\.Execute\w+(?<!Async))"
    r"|(My)?SqlCommand\.Execute(Reader|Scalar|NonQuery)|.*\.GetDatabase\(\)\.(String|Hash|List|Set|Key|SortedSet)(?!\w*Async)\w+"
    r"|Rfc2898DeriveBytes\.(Pbkdf2|GetBytes)|(GZip|Deflate|Brotli|ZLib)Stream\.(CopyTo|Read|ReadByte|ReadExactly|Write)|ZipArchive\w*\.(ExtractToDirectory|ExtractToFile)"
    r"|(Image|SKBitmap|SKImage|Bitmap)\.(Decode|Encode|FromStream|FromFile)|XLWorkbook\.SaveAs|ExcelPackage\.(Load|Save)|PdfDocument\.(Save|Open|Load)"
    r"|Argon2\w*\.(GetBytes|Hash|Verify)|KeyDerivation\.Pbkdf2"
    r"|Dns\.GetHost\w+|TcpClient\.Connect"
    r"|Process\b.*\.WaitForExit|(HttpClient|WebClient)\.(Send|DownloadString|DownloadData))$"
)


def blocking_in_csharp(facts: Facts) -> Iterator[Hit]:
    """Yield such calls, and calls of functions of this text that make one."""
    for call in facts.calls:
        blocks = _CSHARP.match(call.name) or blocks_in_csharp(call, facts) or waits_for_ef(call, facts)
        if not blocks or call.is_awaited or call.method.endswith("Async") or _is_in_query(call, facts):
            continue
        if any(each.method.endswith("Async") for each in facts.calls_on(call)):
            continue  # The last call of a chain sends it: `session.Query<User>().ListAsync()`.
        mild: Severity | None = "low" if call.name.startswith(("File.", "StreamReader.")) else "medium"
        if facts.is_in_async(call) or is_in_lambda_of_list(call, facts):
            scope = facts.named_function_of(call)
            at_start = mild == "low" and scope is not None and runs_once(scope)
            if not at_start and not _is_in_task(call, facts):
                what = f"{call.written}() keeps a thread of the pool waiting in async code"
                yield Hit(call.span, what, _confidence(call, mild, facts), mild)
        elif mild != "low":
            for caller in callers_through(call, facts):
                if _ENDS.match(caller.method):
                    continue
                if facts.is_in_async(caller) and not caller.is_awaited and not _is_in_task(caller, facts):
                    what = (
                        f"{caller.written}() keeps a thread of the pool waiting (it calls {call.written}())"
                    )
                    yield Hit(caller.span, what, _confidence(call, mild, facts), mild)


_WORK = NamePattern(
    r"^(BCrypt|Image|SKBitmap|SKImage|Bitmap|Rfc2898DeriveBytes|KeyDerivation|Argon2\w*|XLWorkbook|ExcelPackage|PdfDocument)\."
)
"""Work of the processor: it keeps a thread of the pool wherever it is done."""
_ENDS = lazy_regex(r"(Dispose|Close|Stop|Shutdown|Kill|Cleanup)\w*$")
"""Methods that end something: what they wait for is seldom long."""


def _confidence(call: Call, mild: Severity | None, facts: Facts) -> float:
    """Return how sure a finding is: a file matters where many wait, and a wait with a limit is short."""
    if mild == "low":
        return LIKELY if is_served(call, facts) else POSSIBLE
    if call.method == "WaitForExit" and _is_after_kill(call, facts):
        return POSSIBLE
    if call.method == "WaitForExit" and call.arguments:
        return LIKELY if is_served(call, facts) else POSSIBLE
    scope = facts.named_function_of(call)
    if scope is not None and scope.short_name == "Main":
        return POSSIBLE  # The thread of the program itself.
    if scope is not None and runs_once(scope) and not facts.loops_around(call):
        return POSSIBLE
    return POSSIBLE if _WORK.match(call.name) else LIKELY


def _is_after_kill(call: Call, facts: Facts) -> bool:
    """Return whether a process is killed before it is waited for, in the same function."""
    scope = facts.named_function_of(call)
    return scope is not None and any(
        each.method == "Kill" and each.receiver_written == call.receiver_written
        for each in facts.within(facts.calls, Span(scope.body.start, call.span.start))
    )


_QUERY = lazy_regex(r"\bfrom\s+\w+\s+in\b[^;]*$")


_BEFORE = 3000
"""Bytes before a call in which its query may begin."""


def _is_in_query(call: Call, facts: Facts) -> bool:
    """Return whether a call is a part of a query expression, which the database runs: `from o in …`."""
    return _QUERY.search(facts.text(Span(max(0, call.span.start - _BEFORE), call.span.start))) is not None


_TASKS = frozenset(("Task.Run", "Task.Factory.StartNew", "Thread"))


def _is_in_task(call: Call, facts: Facts) -> bool:
    """Return whether a task or thread runs a call, or the only calls of its function."""
    if any(each.name in _TASKS for each in facts.calls_around(call)):
        return True
    scope = facts.named_function_of(call)
    callers = () if scope is None else facts.callers_of(scope)
    return bool(callers) and all(
        any(each.name in _TASKS for each in facts.calls_around(caller)) for caller in callers
    )
