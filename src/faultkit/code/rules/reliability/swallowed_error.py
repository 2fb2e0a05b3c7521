"""Finds handlers that drop an error.

It is shown if the file has evidence that something is lost: a write or a message stays
undone (`undone_work.py`). What is read and has a default, reports and clean-up are counted only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Handler, Try
from faultkit.code.facts.build import is_logging
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import (
    CERTAIN,
    EVERY_LANGUAGE,
    JAVASCRIPT,
    KOTLIN,
    LIKELY,
    POSSIBLE,
    RUST,
    Hit,
    Rule,
)
from faultkit.code.rules.vocabulary.built_requests import chain
from faultkit.code.rules.vocabulary.dropped_failures import is_passed_on
from faultkit.code.rules.vocabulary.failures import (
    has_comment,
    is_clean_up,
    is_count_or_report,
    is_for_one_code,
)
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.remote_calls import remote_calls
from faultkit.code.rules.vocabulary.suppressing_exits import suppressing_exits
from faultkit.code.rules.vocabulary.undone_work import ACTS, is_undone, leaves_undone, says_best_effort
from faultkit.code.rules.vocabulary.waits import is_sleep

_EXPECTED = frozenset(
    {
        "KeyError",
        "IndexError",
        "StopIteration",
        "StopAsyncIteration",
        "FileNotFoundError",
        "FileExistsError",
        "ImportError",
        "ModuleNotFoundError",
        "AttributeError",
        "ProcessLookupError",
        "KeyboardInterrupt",
        "BrokenPipeError",
        "queue.Empty",
        "queue.Full",
        "asyncio.QueueEmpty",
        "asyncio.CancelledError",
        "NotImplementedError",
        "ValueError",
        "TypeError",
        "UnicodeDecodeError",
        "OSError",
        "InterruptedException",
        "NumberFormatException",
        "EOFError",
        "BlockingIOError",
        "InterruptedError",
        "RecursionError",
        "SSLWantReadError",
        "SSLWantWriteError",
        "TimeoutExpired",
        "TimeoutError",
        "LookupError",
        "ConnectionResetError",
        "CancelledError",
        "UnsupportedEncodingException",
        "CloneNotSupportedException",
        "MalformedInputException",
        "CharacterCodingException",
        "Empty",
        "Full",
        "DoesNotExist",
        "PackageNotFoundError",
        "NotADirectoryError",
        "IsADirectoryError",
        "UnicodeError",
        "UnicodeEncodeError",
        "ReferenceError",
        "binascii.Error",
        "OperationCanceledException",
        "TaskCanceledException",
        "ObjectDisposedException",
        "ThreadAbortException",
        "ArgumentException",
        "ArgumentOutOfRangeException",
        "FormatException",
        "InvalidOperationException",
        "UnauthorizedAccessException",
        "NotSupportedException",
        "PlatformNotSupportedException",
        "InvalidCastException",
        "OverflowException",
        "CancellationException",
        "JSONDecodeError",
        "JsonException",
        "UnidentifiedImageError",
    }
)
"""Errors that often answer a question instead of reporting a failure: `except KeyError: pass`."""
_LATE = lazy_regex(
    r"(NotFound|NotBound|Exists|Duplicate\w*|Finished|Closed\w*|InvalidState|BrokenResource|Disconnect\w*)"
    r"(Error|Exception)?$|(^|\.)(Skip|Break|Stop)[A-Z]\w*$"
)
"""Errors that mean that the work is done already, that the peer has closed, or that something is left out."""
_PROBES = frozenset(
    (
        "get_running_loop",
        "get_event_loop",
        "current_task",
        "access",
        "accessSync",
        "stat",
        "statSync",
        "Stat",
        "call_soon_threadsafe",
    )
)
"""Functions that raise if there is no loop, task or file: the error is an answer."""
_ENDS = frozenset(
    (
        "close", "aclose", "closeSync", "Close", "shutdown", "stop", "kill", "unlink", "unlinkSync", "remove",
        "rmtree", "rmSync", "rmdir", "terminate", "disconnect", "cancel", "abort", "destroy", "dispose",
        "release", "removeListener", "removeEventListener", "off", "detach", "rollback", "interrupt", "quit",
        "unsubscribe", "unref", "clearTimeout", "clearInterval", "killpg", "end", "closeQuietly",
        "settimeout", "Dispose", "DisposeAsync", "Kill", "Cancel", "Abort", "Disconnect", "Stop", "Shutdown",
        "CloseAsync", "Delete", "deleteRecursively",
    )
)  # fmt: skip
_CLEANS_UP = lazy_regex(
    r"^_*(a?close|stop|shut_?down|clean_?up|tear_?down|dispose|destroy|disconnect|abort|cancel|release"
    r"|__a?exit__|__del__|finali[sz]e|kill|terminate|on_?(exit|close|disconnect))",
    re.IGNORECASE,
)
_READS = lazy_regex(
    r"^_*(get|find|\w*[iI]mport|read|load|fetch|query|list|wait|is[A-Z]|has[A-Z]|ready|count|lookup)"
)
_DIRECTIVE = lazy_regex(
    r"(?:#|//|/?\*+)\s*(?:pylint|noqa|nosec|type:|eslint|@ts-|pragma|NOSONAR|NOPMD|nolint|istanbul|biome"
    r"|prettier|tslint|c8|todo|fixme|xxx|hack)\b.*",
    re.IGNORECASE,
)
_IGNORED = lazy_regex(r"(ignore|expected|unused|swallow|_+$|_*ignored)", re.IGNORECASE)

_RUST_WRITES = lazy_regex(r"^(std|tokio)\.fs\.(write|rename|copy)$")
_FALLBACKS = ("=>null", "=>undefined", "=>void0")


def _check(facts: Facts) -> Iterator[Hit]:
    for each in facts.tries:
        for handler in each.handlers:
            if handler.is_empty and not _is_harmless(each, handler, facts):
                is_certain = handler.is_broad and not _has_fallback(each, handler, facts)
                is_certain = is_certain and not (facts.language == "go" and not handler.exits)
                if is_certain and leaves_undone(each, facts):
                    yield Hit(handler.head, _message(handler, facts), CERTAIN)
                else:
                    yield Hit(handler.head, _message(handler, facts), POSSIBLE, "medium")
            elif _only_prints(handler, facts) and not _is_harmless(each, handler, facts):
                what = f"{', '.join(handler.types)} is only printed to the console, and then dropped"
                is_likely = not _is_little_loss(each, handler, facts)
                yield Hit(handler.head, what, LIKELY if is_likely else POSSIBLE, "medium")
    for span in suppressing_exits(facts):
        what = "this is true for every exception, so that all errors of the block are dropped"
        yield Hit(span, what, LIKELY, "medium")
    if facts.language in JAVASCRIPT:
        yield from _promises(facts)
        yield from _callbacks(facts)
    if facts.language in KOTLIN:
        yield from _flows(facts)
        yield from _ignored_outcomes(facts)
    if facts.language in RUST:
        yield from _dropped_results(facts)


def _has_fallback(each: Try, handler: Handler, facts: Facts) -> bool:
    """Return whether a slower way follows: `try: return quick() except Exception: pass`."""
    gives = any(
        step.kind == "return" and (step.text or facts.language in ("csharp", "java"))
        for step in facts.within(facts.steps, each.body)
    )
    return gives and "return" not in facts.text(handler.body)


def _actions(body: Span, facts: Facts) -> list[Call]:
    """Return the calls whose failure leaves something undone; of a lookup, a default remains.

    They are calls whose result nothing uses (in Go: nothing but its error), or with a name that says so.
    """
    return [
        call
        for call in facts.within(facts.calls, body)
        if call.is_discarded
        or ACTS.match(call.method) is not None
        or (facts.language == "rust" and call.is_awaited)
        or (facts.language == "go" and call.assigned and {*call.assigned} <= {"_", "err"})
    ]


def _is_no_loss(call: Call) -> bool:
    """Return whether a failure of the call is none: it ends, asks, logs or waits."""
    return (
        call.method in _ENDS
        or call.method.endswith(("AndClose", "Quietly", "_and_close"))
        or call.method.startswith(("unregister", "unlink", "remove", "Delete", "Remove", "Unregister"))
        or call.method in _PROBES
        or is_logging(call)
        or is_sleep(call)
        or is_count_or_report(call)
        or _OF_METRICS.search(call.receiver_written) is not None
        or (call.constructs and call.method in _CHECKED_BY_MAKING)
    )


_OF_METRICS = NamePattern(
    r"gauge|histogram|telemetry|(?:^|_)span$|clipboard|(?:local|session)Storage", re.IGNORECASE
)
"""Receivers of which nothing depends on what they are given."""
_CHECKED_BY_MAKING = frozenset(("URL", "RegExp", "Uri", "URI"))
"""Classes that are made to see whether a text is valid."""
_GO_CHECKS = lazy_regex(r"^(?:Parse|Decode|Unmarshal|Verify|Validate)")


def _is_skipped_input(each: Try, handler: Handler, facts: Facts) -> bool:
    """Return whether an item that cannot be read is left out (Go), or a wait is over (Rust)."""
    calls = list(facts.within(facts.calls, each.body))
    if facts.language == "rust":
        return any(call.method == "timeout" for call in calls)
    return (
        facts.language == "go"
        and "continue" in facts.text(handler.body)
        and bool(calls)
        and any(_GO_CHECKS.match(call.method) for call in calls)
    )


def _only_prints(handler: Handler, facts: Facts) -> bool:
    """Return whether a Java handler only calls `e.printStackTrace()`. A program that ends may do so."""
    if facts.language != "java":
        return False
    calls = list(facts.within(facts.calls, handler.body))
    scope = facts.named_function_of(handler)
    return (
        bool(calls)
        and all(call.method == "printStackTrace" and not call.arguments for call in calls)
        and not handler.raises
        and not any(facts.within(facts.assignments, handler.body))
        and (scope is None or scope.short_name != "main")
    )


_GUESSES = lazy_regex(r"guess|detect|probe|respond|error|exception|^main", re.IGNORECASE)
_OF_REFLECTION = lazy_regex(
    r"(?:NoSuch(?:Field|Method)|IllegalAccess|ClassNotFound|Instantiation|UnsupportedEncoding"
    r"|ParserConfiguration|NoSuchAlgorithm)Exception$"
)
"""Exceptions that the program's own code causes, rather than data or other systems."""


def _is_little_loss(each: Try, handler: Handler, facts: Facts) -> bool:
    """Return whether a printed error cannot be, or leaves undone a guess, an error page or a removal."""
    if all(map(_OF_REFLECTION.search, handler.types)) or facts.functions_named("main"):
        return True
    if not any(is_logging(call) and call.method != "printStackTrace" for call in facts.calls):
        return True  # A file without a log has no better place for it.
    if any(_GUESSES.search(scope.short_name) for scope in facts.functions_around(handler)):
        return True
    calls = list(facts.within(facts.calls, each.body))
    return all(call.method in ("delete", "start") for call in calls) or says_best_effort(each, facts)


def _is_harmless(each: Try, handler: Handler, facts: Facts) -> bool:
    if handler.types and all(map(_is_expected, handler.types)):
        return True
    if is_for_one_code(handler, facts) or _is_skipped_input(each, handler, facts):
        return True
    if _explains(handler, facts) or all(map(_is_no_loss, _actions(each.body, facts))):
        return True
    if not handler.is_broad and not all(map(_is_failure, handler.types)):
        return True
    if any(_CLEANS_UP.match(scope.short_name) for scope in facts.functions_around(handler)):
        return True
    return is_clean_up(each, facts) or _is_question(each, facts) or _is_tried_again(each, facts)


def _is_question(each: Try, facts: Facts) -> bool:
    """Return whether an `else` goes on after success, so that the error is the other answer."""
    return facts.language == "python" and any(
        arm.fork == each.span and arm.place == 0 and arm.span != each.body
        for arm in facts.within(facts.arms, each.span)
    )


def _is_tried_again(each: Try, facts: Facts) -> bool:
    """Return whether success ends the loop around it, and an error leads to another try."""
    return bool(facts.loops_around(each)) and any(
        step.kind in ("return", "break") for step in facts.within(facts.steps, each.body)
    )


def _is_expected(name: str) -> bool:
    return name in _EXPECTED or name.rpartition(".")[2] in _EXPECTED or _LATE.search(name) is not None


def _is_failure(name: str) -> bool:
    """Return whether a name is that of an error; others leave nested code: `_Endless`, `Found`."""
    return name.endswith(("Error", "Exception", "Failure", "Fault", "Failed"))


def _explains(handler: Handler, facts: Facts) -> bool:
    """Return whether a comment or the name of the error says why, besides comments for other tools."""
    if _IGNORED.match(handler.name):
        return True
    end = facts.syntax.line_text(facts.syntax.line(max(handler.span.start, handler.span.end - 1)))
    beside = end.rpartition("}")[2] if facts.language != "python" else ""
    if facts.language in ("csharp", "java", "kotlin"):
        above = facts.syntax.line_text(facts.line(handler) - 1).strip()
        beside += above if above.startswith("//") else ""
    return has_comment(_DIRECTIVE.sub("", facts.text(handler.span) + beside))


def _message(handler: Handler, facts: Facts) -> str:
    what = ", ".join(handler.types) or ("any error" if facts.language != "go" else f"{handler.name}")
    return f"{what} is caught and nothing is done with it"


_CALLBACKS = frozenset(
    ("execFile", "exec", "readFile", "writeFile", "appendFile", "query", "execute", "readdir", "mkdir",
     "rename", "copyFile", "send", "sendMail", "publish", "get", "set", "request", "connect", "putObject",
     "getObject", "upload", "run", "all", "verify", "sign", "hash", "compare")
)  # fmt: skip


def _callbacks(facts: Facts) -> Iterator[Hit]:
    """Yield callbacks `(err, rows) => …` that use the result and never look at the error."""
    for call in facts.calls_of_method(*_CALLBACKS):
        if not call.positional or call.positional[-1].value.shape != "function" or facts.comment_at(call):
            continue
        given = facts.function_at(call.positional[-1].value.span)
        if given is None or len(given.parameters) < 2 or given.parameters[0].name not in ("err", "error"):
            continue
        name = given.parameters[0].name
        text = facts.text(given.body)
        if re.search(r"//[^\n]*(?:ignor|swallow|error)", text, re.IGNORECASE):
            continue
        if len(text.strip("{} \n")) > 3 and re.search(rf"\b{name}\b", text) is None:
            what = f"the error of {call.written}() is given to its callback, which does not look at it"
            sure = POSSIBLE if _is_of_project(call, facts) else LIKELY
            yield Hit(Span(call.span.start, given.body.start), what, sure)


def _is_of_project(call: Call, facts: Facts) -> bool:
    """Return whether a call is one of another file of the project, which may handle errors itself."""
    module = facts.imports.names.get(call.receiver_written.partition(".")[0] or call.method, "")
    return module.startswith((".", "/", "@/", "~/", "src/"))


def _flows(facts: Facts) -> Iterator[Hit]:
    """Yield `flow.catch { }` (Kotlin)."""
    if not facts.imports_any("kotlinx.coroutines.flow"):
        return
    for call in facts.calls_of_method("catch"):
        given = call.argument(place=0)
        if given is not None and re.fullmatch(r"\{\s*(\w+\s*->)?\s*\}", given.value.text.strip()):
            yield Hit(
                Span(call.callee.start, call.span.end),
                "catch { } ends the flow as if it were complete",
                LIKELY,
            )


def _ignored_outcomes(facts: Facts) -> Iterator[Hit]:
    """Yield `runCatching { save() }` whose outcome is not used (Kotlin)."""
    for call in facts.calls_named("runCatching"):
        given = call.argument(place=0)
        later = facts.calls_on(call)
        ignored = (
            len(later) == 1 and later[0].method in ("getOrNull", "getOrDefault") and later[0].is_discarded
        )
        if (
            not (call.is_discarded or ignored)
            or given is None
            or facts.comment_at(call)
            or is_clean_up(call, facts)
        ):
            continue
        inside = facts.within(facts.calls, given.value.span)
        # `apply { … }` runs a block on an object.
        acts = [each for each in inside if ACTS.match(each.method) and each.method != "apply"]
        if acts and not all(map(_is_no_loss, acts)):
            yield Hit(call.span, f"an error of {acts[0].written}() is caught and dropped", LIKELY, "medium")


def _dropped_results(facts: Facts) -> Iterator[Hit]:
    """Yield `let _ = f()` and `f().ok();` of calls that write something elsewhere (Rust)."""
    sent = {each.call for each in remote_calls(facts) if each.through is None and not each.is_read}
    for call in facts.calls:
        calls = chain(call)
        if not any(each in sent or _RUST_WRITES.match(each.name) for each in calls):
            continue
        ignored = call.assigned == ("_",) or (call.method == "ok" and call.is_discarded)
        if not ignored or is_clean_up(call, facts) or facts.comment_at(call):
            continue
        if is_passed_on(call, facts) or _is_documented(call, facts):
            continue
        if any(
            scope.short_name == "drop" or _CLEANS_UP.match(scope.short_name)
            for scope in facts.functions_around(call)
        ):
            continue
        what = next(each for each in calls if each in sent or _RUST_WRITES.match(each.name))
        yield Hit(call.span, f"the error of {what.written}() is dropped", LIKELY, "medium")


def _is_documented(call: Call, facts: Facts) -> bool:
    """Return whether the comment above a function says that its errors do not matter."""
    scope = facts.named_function_of(call)
    return scope is not None and says_best_effort(scope, facts)


def _promises(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls_of_method("catch", "then"):
        given = call.argument(place=0 if call.method == "catch" else 1)
        if given is None or given.value.shape != "function":
            continue
        bare = "".join(given.value.text.split())
        fallback = bare.endswith(_FALLBACKS)
        if not fallback and not bare.endswith(("=>{}", "){}")):
            continue
        # `task.catch(() => {})`: the task is awaited elsewhere, and its error is handled there.
        source = call.origin if call.receiver_written.endswith("()") else None
        while source is not None and source.method in ("then", "finally") and source.origin is not None:
            source = source.origin
        if source is None or source.method in ("then", "finally") or _may_be_dropped(source, call, facts):
            continue
        what = f"{call.written}() drops every error"
        is_lost = not fallback and is_undone(source, facts) and not says_best_effort(call, facts)
        is_lost = is_lost and not _reports_itself(source, facts) and not _is_followed(call, facts)
        if not is_lost:
            yield Hit(given.value.span, what, POSSIBLE, "medium")
        else:
            yield Hit(given.value.span, what, LIKELY)


def _is_followed(call: Call, facts: Facts) -> bool:
    """Return whether a later part of the chain asks what was done: `.catch(…).finally(() => …)`."""
    return any(
        step.kind == "branch"
        for later in facts.calls_on(call)
        if later.method in ("then", "finally") and later.positional
        for step in facts.within(facts.steps, later.positional[0].value.span)
    )


def _reports_itself(source: Call, facts: Facts) -> bool:
    """Return whether a function of this file has a handler of its own that does something with the error."""
    own = facts.functions_named(source.method)
    return len(own) == 1 and any(
        any(facts.within(facts.calls, handler.body))
        for each in facts.within(facts.tries, own[0].body)
        for handler in each.handlers
    )


def _may_be_dropped(source: Call, call: Call, facts: Facts) -> bool:
    """Return whether the error of a promise is no loss: of a lookup, of a clean-up, or with a reason."""
    if is_count_or_report(source) or _is_no_loss(source) or _READS.match(source.method):
        return True
    if is_clean_up(call, facts):
        return True
    if source.method in ("json", "formData", "parseBody"):
        return True  # The body of a request: what comes instead is refused as no valid input.
    if facts.comment_at(call) or "//" in facts.syntax.line_text(call.end_line):
        return True
    return any(_CLEANS_UP.match(scope.short_name) for scope in facts.functions_around(call))


RULE = Rule(
    id="FK-R009",
    slug="swallowed-error",
    title="Error caught and dropped",
    why="The failure stays silent: data is lost or stale, and there is no trace of when or why.",
    fix="Handle it, log it with its cause, or let it go up to code that can.",
    kind="reliability",
    severity="high",
    languages=EVERY_LANGUAGE,
    check=_check,
)
