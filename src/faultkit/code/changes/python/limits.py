"""Codemods that add limits: timeouts, sizes of caches and queues, the number of concurrent tasks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeGuard

import libcst as cst

from faultkit.code.changes.change import Source, timeout_of
from faultkit.code.changes.python.codemod import (
    CodemodContext,
    add_keyword,
    add_keywords,
    context_of,
    keyword_of,
    python_codemod,
    with_keyword,
)
from faultkit.code.changes.python.names import replaces_parts_of
from faultkit.code.changes.python.rewriting import NodeChange, spaced
from faultkit.code.changes.python.tree import free_name, is_binding, nodes_in, variables_in
from faultkit.code.changes.questions import STREAM, always, ends_soon, faked_question, is_stream
from faultkit.code.facts import Call
from faultkit.code.facts.facts import is_within
from faultkit.code.rules.rule import Finding
from faultkit.code.rules.vocabulary.http_requests import library_of

# Timeouts of HTTP calls. A timeout goes to the client if the text creates one, otherwise to the call. httpx
# has limits of its own, so that a limit there would change nothing but the score.


_PLAIN = ("requests", "urllib", "urllib3")
_AIOHTTP = "How long may the slowest call take? aiohttp allows 300 s."
_OWN_LIMITS = ("mount", "send", "request", "get_adapter")
"""Methods of a session whose use, or replacement, may give all its calls a limit."""
_FOR_ALL = ("socket.setdefaulttimeout", "urllib.request.install_opener")
"""Functions that may give all calls of a process a limit."""
_PACKAGES = frozenset(("requests", "socket", "urllib", "urllib3"))
_MEMBERS = frozenset(
    ("delete", "get", "get_adapter", "head", "options", "patch", "post", "put", "request", "send", "urlopen")
)
"""Members of packages and sessions, which a program may replace by functions without a limit."""
_GIVEN_SESSION = (
    "Has the session no limit of its own, such as one of an adapter, from where it is made or passed?"
)
_SESSION_USES = frozenset(
    (
        "auth", "cert", "close", "cookies", "delete", "get", "head", "headers", "max_redirects", "options",
        "params", "patch", "post", "proxies", "put", "request", "trust_env", "urlopen", "verify",
    )
)  # fmt: skip
"""Members of a session that give it no limit, nor to anything else."""
_WHOLE = frozenset(
    (
        "close",
        "code",
        "getcode",
        "getheader",
        "geturl",
        "headers",
        "info",
        "msg",
        "read",
        "reason",
        "status",
        "url",
    )
)
"""Members of an answer of urlopen that do not take its body piece by piece."""
_LOADS = ("json.load", "pickle.load", "tomllib.load", "yaml.safe_load")
"""Functions that read all of a file."""


def _collect_http_timeout(context: CodemodContext) -> None:
    if context.facts.calls_named(*_FOR_ALL) or replaces_parts_of(context.code, _PACKAGES, _MEMBERS):
        return
    for _, call, node in context.calls():
        library = library_of(call)
        if library is None or keyword_of(node, "timeout") is not None or _has_own_limit(context, call):
            continue
        limit = float(timeout_of(call, context.facts))
        if library.name == "aiohttp":
            client = context.node(call.origin) if _is_session(call.origin) else None
            value = f"{context.new.member('aiohttp', 'ClientTimeout')}(total={limit})"
            add_keyword(context, client or node, "timeout", value)
        elif library.name in _PLAIN:
            add_keyword(context, node, "timeout", str(limit))


def _is_session(call: Call | None) -> TypeGuard[Call]:
    return call is not None and call.name == "aiohttp.ClientSession"


def _has_own_limit(context: CodemodContext, call: Call) -> bool:
    """Return whether a limit may come from elsewhere: an adapter of the session, the caller's timeout, or
    options that are spread, with which a second `timeout` would be an error."""
    if call.spreads:
        return True
    if any(
        "timeout" in each.name.lower()
        for scope in context.facts.functions_around(call)
        for each in scope.parameters
    ):
        return True
    session = call.origin
    if session is None:
        return False
    names = {f"{each}.{method}" for each in session.assigned for method in _OWN_LIMITS}
    return any(each.method == "mount" for each in context.facts.calls_on(session)) or any(
        {*each.targets} & names for each in context.facts.assignments
    )


def _http_question(source: Source, finding: Finding) -> str:
    call = source.call_at(finding)
    library = None if call is None else library_of(call)
    if call is None or library is None:
        return ""
    if library.name == "aiohttp":
        return _AIOHTTP
    if is_stream(call, source.facts) or (library.name == "urllib" and _is_read_on(source, finding, call)):
        return STREAM
    if _is_session_passed(source, finding, call):
        return _GIVEN_SESSION
    return faked_question(source.project, call.name, compares=True)


def _is_read_on(source: Source, finding: Finding, call: Call) -> bool:
    """Return whether an answer of urlopen, which is always a stream, may be read piece by piece."""
    context = context_of(source, (finding,))
    node = None if context is None else context.node(call)
    if context is None or node is None:
        return True
    names = [each for each in call.assigned if each.isidentifier()]
    top = context.tree.function(node) or context.tree.module
    item = context.tree.parent(node)
    if isinstance(item, cst.WithItem) and item.asname is not None:
        names = [context.tree.code(item.asname.name)]
    if len(names) > 1 or (isinstance(item, (cst.Assign, cst.AnnAssign)) and not names):
        return True
    uses = [each for each in variables_in(context.tree, top) if [each.value] == names]
    is_bound = isinstance(item, (cst.Assign, cst.AnnAssign, cst.WithItem))
    return not (is_bound or _is_read_whole(context, node)) or not all(
        is_binding(context.tree, each) or _is_read_whole(context, each) for each in uses
    )


def _is_read_whole(context: CodemodContext, answer: cst.BaseExpression) -> bool:
    above = context.tree.parent(answer)
    if isinstance(above, cst.Attribute):
        called = context.tree.parent(above)
        has_size = isinstance(called, cst.Call) and above.attr.value == "read" and bool(called.args)
        return above.attr.value in _WHOLE and not has_size
    call = context.tree.parent(above) if isinstance(above, cst.Arg) else None
    if isinstance(call, cst.Call):
        return context.resolved_name(call) in _LOADS
    return isinstance(above, cst.Expr)


def _is_session_passed(source: Source, finding: Finding, call: Call) -> bool:
    """Return whether a session may be used in a way that is not seen: made elsewhere, passed or returned."""
    if call.receiver in _PLAIN or call.receiver in ("requests.api", "urllib.request"):
        return False
    context = context_of(source, (finding,))
    if context is None or call.origin is None:
        return True
    return not all(
        _is_plain_use(context, use)
        for name in call.origin.assigned
        for use in _uses_of(context, name, call.origin)
    )


def _uses_of(context: CodemodContext, name: str, made: Call) -> Iterator[cst.BaseExpression]:
    """Yield where a name stands: a member in the whole text, a variable in the function that makes it."""
    owner, _, last = name.rpartition(".")
    if owner:
        every = nodes_in(context.tree.module, cst.Attribute)
        yield from (each for each in every if each.attr.value == last)
        return
    node = context.node(made)
    function = None if node is None else context.tree.function(node)
    names = variables_in(context.tree, function or context.tree.module)
    yield from (each for each in names if each.value == name)


def _is_plain_use(context: CodemodContext, session: cst.BaseExpression) -> bool:
    """Return whether a use neither gives a session a limit nor hands it on."""
    above = context.tree.parent(session)
    if isinstance(above, cst.Attribute):
        return above.value is session and above.attr.value in _SESSION_USES
    if isinstance(above, cst.AssignTarget):
        assign = context.tree.parent(above)
        return isinstance(assign, cst.Assign) and isinstance(assign.value, cst.Call)
    return isinstance(above, (cst.AsName, cst.WithItem))


HTTP_TIMEOUT = python_codemod(
    "http-timeout",
    ("http-call-without-timeout",),
    "give HTTP calls, or the clients that make them, a timeout; they raise an error when it is over",
    _collect_http_timeout,
    asks=_http_question,
)


# Timeouts of sockets.


SOCKET_TIMEOUT_S = 30.0


def _collect_socket_timeout(context: CodemodContext) -> None:
    add_keywords(context, {"socket.create_connection": ("timeout", str(SOCKET_TIMEOUT_S))})
    for _, call, node in context.calls():
        if call.name == "asyncio.open_connection" and not context.new.has(node):
            wait_for = f"{context.new.need('asyncio')}.wait_for"
            wrapper = cst.ensure_type(
                context.new.expression(f"{wait_for}(x, timeout={SOCKET_TIMEOUT_S})"), cst.Call
            )
            first, rest = wrapper.args
            context.new.replace(node, _wrapped(wrapper, first, rest))


def _wrapped(wrapper: cst.Call, first: cst.Arg, rest: cst.Arg) -> NodeChange:
    def step(node: cst.CSTNode) -> cst.CSTNode:
        return wrapper.with_changes(args=[first.with_changes(value=node), rest])

    return step


SOCKET_TIMEOUT = python_codemod(
    "socket-timeout",
    ("socket-without-timeout",),
    "give connections a timeout",
    _collect_socket_timeout,
    asks=always(
        f"May the connection be silent for {SOCKET_TIMEOUT_S:g} s, and do callers set no limit of their own?"
    ),
)


# Timeouts of child processes. Popen is for programs that run beside the caller: they get none. Nor do
# programs that are known to run long, and those that only a variable names: they may be the user's own.


SUBPROCESS_TIMEOUT_S = 60.0
_RUNS = ("subprocess.run", "subprocess.call", "subprocess.check_call", "subprocess.check_output")


def _collect_subprocess_timeout(context: CodemodContext) -> None:
    for _, call, node in context.calls():
        if call.name in _RUNS and _ends_soon(node):
            add_keyword(context, node, "timeout", str(SUBPROCESS_TIMEOUT_S))


def _ends_soon(node: cst.Call) -> bool:
    """Return whether the program is named in the code, and is not one that may run for long."""
    given = next(
        (each.value for each in node.args if each.keyword is None or each.keyword.value == "args"), None
    )
    if isinstance(given, cst.SimpleString):
        words = str(given.evaluated_value).split()
    elif isinstance(given, (cst.List, cst.Tuple)):
        first = [each.value for each in given.elements[:2]]
        words = [str(each.evaluated_value) for each in first if isinstance(each, cst.SimpleString)]
        words = words if first and isinstance(first[0], cst.SimpleString) else []
    else:
        words = []
    return ends_soon(words)


SUBPROCESS_TIMEOUT = python_codemod(
    "subprocess-timeout",
    ("subprocess-without-timeout",),
    "give programs that are run a timeout; they are killed when it is over",
    _collect_subprocess_timeout,
    asks=always(
        f"Does the program always end within {SUBPROCESS_TIMEOUT_S:g} s, and is subprocess.TimeoutExpired "
        "handled?"
    ),
)


# Sizes of caches.


MOST_CACHED_RESULTS = 1024
_ENDLESS = ("functools.cache", "cache")


def _collect_cache_size(context: CodemodContext) -> None:
    for scope in context.facts.scopes:
        for each in scope.decorators:
            if not any(is_within(each.span, finding.span) for finding in context.findings):
                continue
            node = _decorator(context, each.span.start, each.span.end)
            if node is None:
                continue
            if each.name in _ENDLESS:
                bounded = _renamed_import(context) or context.new.need("functools", "lru_cache")
                decorator = context.new.expression(f"{bounded}(maxsize={MOST_CACHED_RESULTS})")
                context.new.swap(node.decorator, decorator)
            elif isinstance(node.decorator, cst.Call):
                _bounded(context, node.decorator)


def _bounded(context: CodemodContext, call: cst.Call) -> None:
    size = cst.Integer(str(MOST_CACHED_RESULTS))
    if call.args and call.args[0].keyword is None:
        context.new.swap(call.args[0].value, size)
    else:
        context.new.swap(call, with_keyword(call, "maxsize", size))


def _renamed_import(context: CodemodContext) -> str:
    """Import the bounded function instead in `from functools import cache`, if nothing else uses the name."""
    used = [each for each in variables_in(context.tree, context.tree.module) if each.value == "cache"]
    if len(used) != 2 or any(each.value == "lru_cache" for each in nodes_in(context.tree.module, cst.Name)):
        return ""
    for alias in nodes_in(context.tree.module, cst.ImportAlias):
        if alias.name is used[0] and alias.asname is None:
            context.new.swap(alias.name, cst.Name("lru_cache"))
            return "lru_cache"
    return ""


def _decorator(context: CodemodContext, start: int, end: int) -> cst.Decorator | None:
    for node in nodes_in(context.tree.module, cst.Decorator):
        span = context.tree.span(node)
        if span.start <= start and end <= span.end:
            return node
    return None


CACHE_SIZE = python_codemod(
    "cache-size",
    ("unbounded-cache",),
    f"let functions remember {MOST_CACHED_RESULTS} results at most",
    _collect_cache_size,
    asks=always(
        f"May results be worked out again once {MOST_CACHED_RESULTS} others are kept? "
        "A recursion that relies on them gets slow."
    ),
)


# Sizes of queues.


MOST_QUEUED_ITEMS = 1000
_QUEUES = (
    "queue.Queue", "queue.LifoQueue", "queue.PriorityQueue", "asyncio.Queue", "asyncio.LifoQueue",
    "asyncio.PriorityQueue", "multiprocessing.Queue",
)  # fmt: skip


def _collect_queue_size(context: CodemodContext) -> None:
    for _, call, node in context.calls():
        # A full queue raises there instead of waiting: the author has to decide how to handle that.
        if call.name not in _QUEUES or any(
            each.method == "put_nowait" for each in context.facts.calls_on(call)
        ):
            continue
        if not node.args:
            add_keyword(context, node, "maxsize", str(MOST_QUEUED_ITEMS))
        elif len(node.args) == 1 and node.args[0].keyword is None:
            context.new.swap(node.args[0].value, cst.Integer(str(MOST_QUEUED_ITEMS)))
        elif len(node.args) == 1:
            add_keyword(context, node, "maxsize", str(MOST_QUEUED_ITEMS))


QUEUE_SIZE = python_codemod(
    "queue-size",
    ("unbounded-queue",),
    f"let queues hold {MOST_QUEUED_ITEMS} items at most, then make writers wait",
    _collect_queue_size,
    asks=always(f"May the writers of the queue wait while it holds {MOST_QUEUED_ITEMS} items?"),
)


# Tasks that `asyncio.gather` starts at once.


AT_ONCE = 10
_TASKS = ("asyncio.create_task", "asyncio.ensure_future")


def _collect_fan_out(context: CodemodContext) -> None:
    done: set[cst.CSTNode] = set()
    for _, call, node in context.calls():
        line = context.tree.statement(node)
        if call.name != "asyncio.gather" or not isinstance(line, cst.BaseStatement) or line in done:
            continue
        function = context.tree.function(node)
        starred = [each for each in node.args if each.star == "*"]
        if (
            function is None
            or function.asynchronous is None
            or context.tree.block(line) is None
            or len(starred) != 1
        ):
            continue
        each = starred[0].value
        if not isinstance(each, (cst.GeneratorExp, cst.ListComp)) or any(nodes_in(each.elt, cst.Await)):
            continue
        awaitable = _started(context, each.elt)
        if awaitable is None:
            continue
        limit, limited = (free_name(context.tree, name, node) for name in ("limit", "limited"))
        context.new.before(
            line,
            f"{limit} = {context.new.need('asyncio')}.Semaphore({AT_ONCE})\n\n"
            f"async def {limited}(awaitable):\n"
            f"    async with {limit}:\n"
            f"        return await awaitable\n",
        )
        context.new.replace(line, lambda node: spaced(node, 1))
        context.new.replace(awaitable, _given_to(limited))
        done.add(line)


def _started(context: CodemodContext, each: cst.BaseExpression) -> cst.Call | None:
    """Return the call whose coroutine is awaited; of `create_task(f(x))` the inner one."""
    if not isinstance(each, cst.Call):
        return None
    known = {call.span: call.name for call in context.facts.calls}
    if known.get(context.tree.span(each)) not in _TASKS:
        return each
    inner = each.args[0].value if each.args else None
    return inner if isinstance(inner, cst.Call) else None


def _given_to(function: str) -> NodeChange:
    def step(node: cst.CSTNode) -> cst.CSTNode:
        return cst.Call(cst.Name(function), [cst.Arg(cst.ensure_type(node, cst.Call))])

    return step


FAN_OUT = python_codemod(
    "fan-out",
    ("unbounded-fan-out",),
    f"let {AT_ONCE} tasks run at a time, and not one for every item",
    _collect_fan_out,
    asks=always(
        f"May the others wait while {AT_ONCE} of the tasks run? Tasks that need each other would stop."
    ),
)
