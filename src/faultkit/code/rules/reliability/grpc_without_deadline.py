"""Finds gRPC calls that have no deadline.

Evidence that it matters: the text makes the client, or its calls, without a limit and is part of a service.
The user of a command sees that it hangs: `POSSIBLE`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import EVERY_LANGUAGE, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.command_lines import is_command_line
from faultkit.code.rules.vocabulary.endless_contexts import is_endless_context
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.waits import is_bounded

_STUB = NamePattern(r"(^|[.\w])\w*Stub\.[A-Z]\w*$")
_GO_CLIENT = NamePattern(r"\.(New\w+Client\(\)|\w+Client)\.[A-Z]\w*$")
_JAVA_STUB = NamePattern(
    r"Grpc\.new(Blocking|Future)Stub\(\)(\.\w+\(\))*\.[a-z]\w*$|Grpc\.\w+(Blocking|Future)Stub(\.\w+\(\))*\.[a-z]\w*$"
    r"|Grpc(Kt)?\.\w+Stub(\.\w+\(\))*\.[a-z]\w*$|(^|\.)\w+(Blocking|Future|Coroutine)Stub\.[a-z]\w*$"
)
_GO_PACKAGE = NamePattern(r"(pb|proto|grpc|/gen/[\w./-]+|/v\d+)\.\w+Client\.[A-Z]\w*$")
_CSHARP_CLIENT = NamePattern(r"(^|\.)(\w+)\.\2Client\.[A-Z]\w*$")
_RUST_CLIENT = NamePattern(
    r"(^|\.)\w+Client(\.(new|connect|with_interceptor)\(\))?(\.clone\(\))?\.(?!clone$)[a-z_]\w*$"
)
_STUB_OPTIONS = lazy_regex(r"^with[A-Z]|^build$|^getChannel$|^getCallOptions$")
_STREAMS = lazy_regex(r"Watch|Stream|Subscribe|Listen|Follow|Tail")


def _check(facts: Facts) -> Iterator[Hit]:
    find = {
        "python": _python,
        "go": _go,
        "java": _java,
        "kotlin": _java,
        "csharp": _csharp,
        "rust": _rust,
    }.get(facts.language, _node)
    seen = set[str]()
    for call in find(facts):
        if is_bounded(call, facts):
            continue
        if facts.language == "csharp" and not _MADE_HERE.search(facts.whole_text):
            if call.receiver_written not in seen:
                seen.add(call.receiver_written)
                what = f"{call.written}() is given no deadline, and none is set for its client here"
                yield Hit(call.span, what, POSSIBLE, "medium")
        else:
            sure = POSSIBLE if is_command_line(facts) else LIKELY
            yield Hit(call.span, f"{call.written}() waits for ever if the server does not answer", sure)
    if facts.language in ("java", "kotlin"):
        for call in facts.calls_of_method("withDeadlineAfter", "withDeadline"):
            if _is_kept(call, facts):
                what = f"{call.method}() sets a point in time, after which every call of this stub fails"
                yield Hit(Span(call.callee.end - len(call.method), call.span.end), what, LIKELY)


_MADE_HERE = lazy_regex(r"\bGrpcChannel\b|new \w+\.\w+Client\(")
"""Where C# makes a channel or a client. One that is injected may be limited by its factory."""


def _is_kept(call: Call, facts: Facts) -> bool:
    """Return whether a stub with a deadline is made once and kept."""
    scope = facts.named_function_of(call)
    if scope is not None and any(
        each.method in ("Bean", "Provides", "Singleton") for each in scope.decorators
    ):
        return True
    makes = scope is not None and scope.short_name in ("constructor", "init", scope.owner.rpartition(".")[2])
    for each in facts.assignments:
        if each.value is None or not is_within(call.span, each.value.span) or facts.calls_around(call):
            continue
        if (each.scope is None and each.owner) or (makes and each.targets[0].startswith("self.")):
            return True
        name = each.targets[0]
        return makes and any(
            each.scope is None and each.owner and name in each.targets for each in facts.assignments
        )
    return False


def _python(facts: Facts) -> Iterator[Call]:
    if not any("grpc" in module or "_pb2" in module for module in facts.imports.modules):
        return
    for call in facts.calls:
        is_made = call.origin is not None and call.origin.constructs
        is_stub = (
            (_STUB.search(call.name) and (is_made or "_pb2_grpc" in call.name))
            or _STUB_FIELD.search(call.written)
            or _is_method_of_stub(call, facts)
        )
        # The timeout is the second parameter.
        if is_stub and len(call.positional) == 1 and not call.has("timeout") and not call.spreads:
            yield call


_STUB_FIELD = lazy_regex(r"^self\._?\w*stub\.[A-Z]\w*$")
_STUB_NAME = lazy_regex(r"(?:^|[._])\w*stub$", re.IGNORECASE)
_STUB_METHOD = lazy_regex(r"(?:^|[._])\w*stub\.[A-Z]\w*$", re.IGNORECASE)


def _is_method_of_stub(call: Call, facts: Facts) -> bool:
    """Return whether a variable or parameter that is called holds a method of a stub (Python).

    `rpc = getattr(stub, name)`, then `rpc(message)`; or a function that others give `stub.Quote`."""
    if not call.written.isidentifier():
        return False
    if call.name == "getattr()" and call.origin is not None and call.origin.positional:
        return _STUB_NAME.search(call.origin.positional[0].value.text) is not None
    scope = facts.named_function_of(call)
    names = [] if scope is None else [each.name for each in scope.parameters if each.name != "self"]
    if scope is None or call.written not in names:
        return False
    given = [each.argument(call.written, place=names.index(call.written)) for each in facts.callers_of(scope)]
    return any(each is not None and _STUB_METHOD.search(each.value.text) for each in given)


def _csharp(facts: Facts) -> Iterator[Call]:
    if re.search(r"\bDefaultDeadline|Interceptor|MethodConfig", facts.whole_text):
        return
    for call in facts.calls:
        if not _CSHARP_CLIENT.search(call.name) or not call.arguments or call.has("deadline"):
            continue
        # A token may have a limit; a call without either has none.
        given = [each.value.text for each in call.arguments]
        if (
            (call.method.endswith("Async") or call.is_awaited)
            and not any(map(_LIMITS.search, given))
            and not _has_options(call, facts)
        ):
            yield call


_LIMITS = lazy_regex(r"deadline|AddSeconds|\bcts\.Token|timeout", re.IGNORECASE)
_TOKENS = lazy_regex(r"CancellationTokenSource|CancelAfter|\.Token\b")
_OPTIONS = lazy_regex(r"[oO]ptions\b")


def _has_options(call: Call, facts: Facts) -> bool:
    """Return whether a call of C# is given options that may have a deadline: with one, or made elsewhere."""
    for each in call.arguments:
        text = each.value.text
        if each.value.shape == "call" and text.startswith("new CallOptions"):
            return _may_limit(facts.text_with_values(call))
        if each.name != "options" and not _OPTIONS.search(text):
            continue
        made = facts.assignments_to(text, call) if text.isidentifier() else ()
        if not made or not all(one.value is not None and "new CallOptions" in one.value.text for one in made):
            return True
        return _may_limit(facts.text_with_values(call))
    return False


def _may_limit(text: str) -> bool:
    return _LIMITS.search(text) is not None or _TOKENS.search(text) is not None


def _rust(facts: Facts) -> Iterator[Call]:
    text = facts.whole_text
    if not facts.imports_any("tonic") and "tonic::" not in text:
        return
    if re.search(r"\.timeout\(|set_timeout|TimeoutLayer|grpc-timeout", text):
        return
    # Only where the connection is made here is it known to have no limit.
    if not re.search(r"Client::connect\(|Channel::|Endpoint::", text):
        return
    for call in facts.calls:
        # `Client::from_settings(…)` makes a client: methods of a service have an object.
        is_made = call.receiver_written.rpartition(".")[2].rpartition("::")[2][:1].isupper()
        if _RUST_CLIENT.search(call.name) and call.is_awaited and call.arguments and not is_made:
            scope = facts.named_function_of(call)
            if scope is None or "Streaming<" not in facts.text(scope.head):
                yield call


def _go(facts: Facts) -> Iterator[Call]:
    imports_grpc = facts.imports_any("google.golang.org/grpc")
    for call in facts.calls:
        name = _GO_CLIENT if imports_grpc else _GO_PACKAGE
        first = call.argument(place=0) if name.search(call.name) else None
        if first is None or len(call.positional) < 2:
            continue
        given = first.value.text
        if is_endless_context(given, call, facts) or (
            not facts.assignments_to(given, call)
            and not _is_stream(call, facts)
            and _is_of_worker(given, call, facts)
        ):
            yield call


def _is_stream(call: Call, facts: Facts) -> bool:
    """Return whether it opens a stream, which may last as long as the worker."""
    return _STREAMS.match(call.method) is not None or any(
        each.method in ("Recv", "Send", "CloseSend", "CloseAndRecv", "RecvMsg")
        for each in facts.calls_on(call)
    )


def _is_of_worker(name: str, call: Call, facts: Facts, levels: int = 2) -> bool:
    """Return whether a context lives as long as a worker: it is a parameter of a function that calls in an
    endless loop or for each value of a channel, or of one that such a function calls (Go)."""
    scope = facts.function_of(call)
    if scope is None or scope.route is not None or facts.assignments_to(name, call):
        return False
    if not any(each.name == name and each.type == "context.Context" for each in scope.parameters):
        return False
    channels = {each.name for each in scope.parameters if "chan " in each.type}
    if any(loop.kind == "endless" or loop.over in channels for loop in facts.loops_around(call)):
        return True
    callers = facts.callers_of(scope) if levels else ()
    place = next(at for at, each in enumerate(scope.parameters) if each.name == name)
    given = [(each, each.argument(place=place)) for each in callers]
    return bool(given) and all(
        value is not None and _is_of_worker(value.value.text, each, facts, levels - 1)
        for each, value in given
    )


def _java(facts: Facts) -> Iterator[Call]:
    if b"Grpc" not in facts.syntax.source and b"Stub" not in facts.syntax.source:
        return
    if re.search(r"ClientInterceptor|defaultServiceConfig|DeadlineInterceptor", facts.whole_text):
        return
    for call in facts.calls:
        if not _JAVA_STUB.search(call.name) or _STUB_OPTIONS.match(call.method) or not call.arguments:
            continue
        if any("StreamObserver" in each.value.text for each in call.arguments):
            continue  # A stream may last, and no thread waits for it.
        made = call.origin
        if made is not None and made.arguments and _JAVA_STUB.search(made.name) and not _is_option(made):
            continue  # What is called on the answer, or on its future.
        if "withDeadline" not in call.name and not _is_stubbed(call, facts) and not _ends(call, facts):
            yield call


def _is_option(call: Call) -> bool:
    return _STUB_OPTIONS.match(call.method) is not None or call.method.startswith("new")


def _ends(call: Call, facts: Facts) -> bool:
    """Return whether the wait for the future of a call has a limit: `future.get(3, SECONDS)`."""
    return any(each.method in ("get", "orTimeout") and each.arguments for each in facts.calls_on(call))


def _is_stubbed(call: Call, facts: Facts) -> bool:
    """Return whether the stub of a call is given its deadline where it is made, or in its function."""
    scope = facts.named_function_of(call)
    made = "" if call.origin is None else facts.text(call.origin.span)
    return "withDeadline" in made or (scope is not None and "withDeadline" in facts.text(scope.span))


_CONNECT = ("@connectrpc/connect.createClient", "@connectrpc/connect.createPromiseClient")
_TRANSPORTS = ("createGrpcTransport", "createConnectTransport", "createGrpcWebTransport")


def _of_connect(facts: Facts) -> Iterator[Call]:
    """Yield calls of clients of Connect whose transport of this text has no limit."""
    made = facts.calls_of_method(*_TRANSPORTS)
    if not made or any(each.has("defaultTimeoutMs") or each.spreads for each in made):
        return
    for client in facts.calls_named(*_CONNECT):
        for call in facts.calls_on(client):
            options = call.argument(place=1)
            named = options is not None and options.value.shape in ("name", "call", "other")
            if call.is_awaited and not named and not call.has("timeoutMs", "signal") and not call.spreads:
                yield call


def _node(facts: Facts) -> Iterator[Call]:
    if facts.imports_any("@connectrpc/connect"):
        yield from _of_connect(facts)
    if not facts.imports_any("@grpc/grpc-js", "grpc"):
        return
    if b"deadline" not in facts.syntax.source and b"nterceptor" not in facts.syntax.source:
        yield from _with_metadata(facts)
        yield from _promised(facts)
    for call in facts.calls:
        client = call.origin
        if client is None or not client.constructs or not call.positional:
            continue
        if "credentials" not in facts.text(client.span) or "deadline" in facts.text_with_values(call):
            continue
        last = call.positional[-1].value
        # A promise is made of such a call by `promisify`.
        if (call.is_awaited and last.shape != "function" and call.method != "waitForReady") or (
            last.shape == "function"
            and len(call.positional) in (2, 3)
            and call.method not in ("on", "waitForReady")
        ):
            yield call


_PROMISED = NamePattern(r"(?:^|[./~])\w*[a-z]Client\.[a-z]\w*$")


def _promised(facts: Facts) -> Iterator[Call]:
    """Yield calls of methods of a client that `promisify` made promises of, with a message alone."""
    if not facts.calls_named("util.promisify"):
        return
    for call in facts.calls:
        if call.origin is None and call.is_awaited and len(call.positional) == 1 and not call.spreads:
            last = call.written.rpartition(".")[2]
            # `this.get` holds the method `read` of a client, or is called like it.
            is_promised = any(
                each.call is not None and each.call.name == "util.promisify"
                for each in facts.assignments_of(last, f"self.{last}")
            )
            if is_promised and _PROMISED.search(call.name):
                yield call


_OF_GRPC = NamePattern(r"@grpc/grpc-js\.Metadata$|^grpc\.Metadata$")
_ERRORS = frozenset(("err", "error", "e", "failure", "_err"))


def _with_metadata(facts: Facts) -> Iterator[Call]:
    """Yield calls with a callback and metadata, whose options are written out (JavaScript).

    That is a method of a client that was made elsewhere, or one that is called by `call`."""
    made = {name for each in facts.calls if _OF_GRPC.search(each.name) for name in each.assigned}
    if not made:
        return
    for call in facts.calls:
        if len(call.positional) < 3 or call.positional[-1].value.shape != "function" or call.spreads:
            continue
        callback = facts.function_at(call.positional[-1].value.span)
        between = [each.value for each in call.positional[1:-1]]
        if callback is None or not callback.parameters or callback.parameters[0].name not in _ERRORS:
            continue
        is_metadata = [each.text in made or each.text.startswith("new ") for each in between]
        others = [
            each
            for each, known in zip(between, is_metadata, strict=True)
            if not known and each.shape != "object"
        ]
        # The first argument of `method.call(client, request, …)` is the client.
        if any(is_metadata) and len(others) <= (1 if call.method == "call" else 0):
            yield call


RULE = Rule(
    id="FK-R057",
    slug="grpc-call-without-deadline",
    title="gRPC call without a deadline",
    why="gRPC has no default: a server that hangs holds the caller, its thread and its memory for ever.",
    fix="Give each call a deadline: timeout=, context.WithTimeout, withDeadlineAfter, {deadline}.",
    kind="reliability",
    severity="high",
    languages=EVERY_LANGUAGE,
    check=_check,
    words=(b"grpc", b"Grpc", b"connectrpc", b"_pb2", b"Stub", b"Client", b"tonic"),
)
