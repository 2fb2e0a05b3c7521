"""Codemods that add limits: timeouts, sizes of caches and queues, the number of concurrent tasks."""

from __future__ import annotations

import libcst as cst

from faultkit.code.changes.python.codemod import (
    CodemodContext,
    add_keyword,
    add_keywords,
    python_codemod,
    with_keyword,
)
from faultkit.code.changes.python.rewriting import NodeChange, spaced
from faultkit.code.changes.python.tree import free_name, nodes_in, variables_in
from faultkit.code.facts import Call
from faultkit.code.facts.facts import is_within
from faultkit.code.rules.vocabulary.http_requests import library_of

# Timeouts of HTTP calls. A timeout goes to the client if the text creates one, otherwise to the call.


TIMEOUT_S, CONNECT_TIMEOUT_S = 5.0, 2.0
_ON_CLIENT = {
    "httpx": (
        ("httpx.Client", "httpx.AsyncClient"),
        "httpx",
        "Timeout",
        f"{TIMEOUT_S}, connect={CONNECT_TIMEOUT_S}",
    ),
    "aiohttp": (("aiohttp.ClientSession",), "aiohttp", "ClientTimeout", f"total={TIMEOUT_S}"),
}
_PLAIN = ("requests", "httpx", "urllib", "urllib3")


def _collect_http_timeout(context: CodemodContext) -> None:
    for _, call, node in context.calls():
        library = library_of(call)
        if library is None:
            continue
        client = _client(context, call, library.name)
        if client is not None:
            add_keyword(context, client, "timeout", _value(context, library.name))
        elif library.name == "aiohttp":
            add_keyword(context, node, "timeout", _value(context, library.name))
        elif library.name in _PLAIN:
            add_keyword(context, node, "timeout", str(TIMEOUT_S))


def _client(context: CodemodContext, call: Call, library: str) -> cst.Call | None:
    if library not in _ON_CLIENT or call.origin is None or call.origin.name not in _ON_CLIENT[library][0]:
        return None
    return context.node(call.origin)


def _value(context: CodemodContext, library: str) -> str:
    _, module, name, arguments = _ON_CLIENT[library]
    return f"{context.new.member(module, name)}({arguments})"


HTTP_TIMEOUT = python_codemod(
    "http-timeout",
    ("http-call-without-timeout",),
    "give HTTP calls, or the clients that make them, a timeout",
    _collect_http_timeout,
)


# Timeouts of sockets.


SOCKET_TIMEOUT_S = 5.0


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
    "socket-timeout", ("socket-without-timeout",), "give connections a timeout", _collect_socket_timeout
)


# Timeouts of child processes.


SUBPROCESS_TIMEOUT_S = 60.0
_RUNS = ("run", "call", "check_call", "check_output", "Popen.wait", "Popen.communicate")
_TABLE = {f"subprocess.{name}": ("timeout", str(SUBPROCESS_TIMEOUT_S)) for name in _RUNS}


def _collect_subprocess_timeout(context: CodemodContext) -> None:
    add_keywords(context, _TABLE)


SUBPROCESS_TIMEOUT = python_codemod(
    "subprocess-timeout",
    ("subprocess-without-timeout",),
    "give programs that are run a timeout",
    _collect_subprocess_timeout,
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
)
