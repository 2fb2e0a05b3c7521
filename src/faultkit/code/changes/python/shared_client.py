"""Codemod that replaces an HTTP client per call by one for the process, with limits and a timeout.

A client whose settings depend on the request stays where it is. So does an async client in code that serves
nothing: it belongs to one event loop, and `asyncio.run` makes a new loop each time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import libcst as cst

from faultkit.code.changes.python.codemod import (
    CodemodContext,
    keyword_of,
    parenthesised,
    python_codemod,
    with_keyword,
    without_keyword,
)
from faultkit.code.changes.python.tree import free_name, is_known_before, nodes_in, variables_in
from faultkit.code.changes.questions import always
from faultkit.code.facts import Call


@dataclass(frozen=True, slots=True)
class App:
    """A FastAPI application that the file makes."""

    call: cst.Call
    statement: cst.SimpleStatementLine


def find_app(context: CodemodContext) -> App | None:
    """Return the application if it is made at the top of the file."""
    for call in context.facts.calls_named("fastapi.FastAPI", "FastAPI"):
        node = context.node(call)
        statement = None if node is None else context.tree.top(node)
        if node is not None and isinstance(statement, cst.SimpleStatementLine) and call.assigned:
            return App(node, statement)
    return None


def close_with_app(context: CodemodContext, before: cst.BaseStatement, lines: list[str]) -> None:
    """Run statements when the application stops; nothing if there is none, or no place for them."""
    app = find_app(context)
    if app is None or app.statement is not before:
        return
    given = keyword_of(app.call, "lifespan")
    if given is not None:
        _add_to(context, given.value, lines)
    elif not any(call.method in ("on_event", "add_event_handler") for call in context.facts.calls):
        # FastAPI ignores the event handlers of an app with a lifespan.
        _add_new(context, app, lines)


def _add_new(context: CodemodContext, app: App, lines: list[str]) -> None:
    name = free_name(context.tree, "_lifespan")
    manager = context.new.need("contextlib", "asynccontextmanager")
    ordered = sorted(lines, key=lambda each: not each.startswith("global "))
    heads = sum(each.startswith("global ") for each in lines)
    inner = "".join(f"    {each}\n" for each in (*ordered[:heads], "yield", *ordered[heads:]))
    context.new.above(app.statement, f"@{manager}\nasync def {name}(_app):\n{inner}")
    context.new.replace(
        app.call, lambda each: with_keyword(cst.ensure_type(each, cst.Call), "lifespan", cst.Name(name))
    )


def _add_to(context: CodemodContext, lifespan: cst.BaseExpression, lines: list[str]) -> None:
    if not isinstance(lifespan, cst.Name):
        return
    for function in nodes_in(context.tree.module, cst.FunctionDef):
        if function.name.value == lifespan.value and isinstance(function.body, cst.IndentedBlock):
            for line in function.body.body:
                if isinstance(line, cst.SimpleStatementLine) and any(nodes_in(line, cst.Yield)):
                    context.new.after(line, "\n".join(lines))
                    return


# The codemod.


TIMEOUT_S, CONNECT_TIMEOUT_S = 5.0, 2.0
"""httpx allows 5 s for each step, connecting included."""
MOST_CONNECTIONS = 100
_METHODS = ("get", "post", "put", "patch", "delete", "head", "options", "request")
_ON_CLIENT_ONLY = ("verify", "cert", "proxy", "proxies", "trust_env", "cookies")
"""Arguments of httpx functions that client methods do not take, or take in another sense."""
_NAMES = {"httpx.Client": "_client", "httpx.AsyncClient": "_client", "requests.Session": "_session"}
_MAKERS = {**{each: each for each in _NAMES}, "requests.session": "requests.Session"}


_LONGEST_LINE = 110


@dataclass(frozen=True, slots=True)
class _Shared:
    """A client of the file that replaces clients per call."""

    name: str
    kind: str
    arguments: tuple[str, ...]
    anchor: cst.BaseStatement
    """The top-level statement before which the client is made."""
    exists: bool = False
    """Whether the file has this client already."""

    def closing(self, construction: str) -> list[str]:
        """Return closing lines. An httpx client cannot be reused, but an application may start again, as
        in tests."""
        if self.kind == "requests.Session":
            return [f"{self.name}.close()"]
        close = f"await {self.name}.aclose()" if self.kind == "httpx.AsyncClient" else f"{self.name}.close()"
        why = "# Ready for another start: a closed client cannot be used again."
        return [f"global {self.name}", close, why, *construction.splitlines()]


_Clients: TypeAlias = dict[tuple[str, tuple[str, ...]], _Shared]


def _collect_shared_client(context: CodemodContext) -> None:
    if context.tree.is_indented:
        return
    serves = bool(context.facts.routes())
    shared: _Clients = {}
    for _, call, node in context.calls():
        module, _, method = call.name.rpartition(".")
        if module in ("httpx", "requests") and method in _METHODS:
            _replace_call(context, call, node, module, shared, serves=serves)
        elif call.name in _MAKERS and (serves or call.name != "httpx.AsyncClient"):
            _replace_block(context, _MAKERS[call.name], node, shared)
    _place(context, list(shared.values()))


def _replace_call(
    context: CodemodContext, call: Call, node: cst.Call, module: str, shared: _Clients, *, serves: bool
) -> None:
    """Handle `httpx.get(…)`, which makes a client of its own."""
    if module == "httpx" and any(keyword_of(node, each) for each in _ON_CLIENT_ONLY):
        return
    scope = context.facts.function_of(call)
    is_async = module == "httpx" and scope is not None and scope.is_async
    if context.tree.function(node) is None or context.new.has(node) or (is_async and not serves):
        return
    kind = "requests.Session" if module == "requests" else "httpx.AsyncClient" if is_async else "httpx.Client"
    client = _shared(context, kind, (), node, shared)
    function = cst.Attribute(cst.Name(client.name), cst.Name(call.method))

    def step(each: cst.CSTNode) -> cst.CSTNode:
        new_call = cst.ensure_type(each, cst.Call).with_changes(func=function)
        timeout = keyword_of(new_call, "timeout")
        if module == "httpx" and timeout is not None and context.tree.code(timeout.value) == str(TIMEOUT_S):
            # The shared client has this timeout already.
            new_call = without_keyword(new_call, "timeout")
        if not is_async:
            return new_call
        waits = cst.Await(new_call.with_changes(lpar=(), rpar=()), lpar=new_call.lpar, rpar=new_call.rpar)
        return parenthesised(waits) if isinstance(context.tree.parent(node), cst.Attribute) else waits

    context.new.replace(node, step)


def _replace_block(context: CodemodContext, kind: str, node: cst.Call, shared: _Clients) -> None:
    """Handle `with httpx.Client() as client:`."""
    item = context.tree.parent(node)
    block = None if item is None else context.tree.parent(item)
    function = context.tree.function(node)
    if not isinstance(item, cst.WithItem) or not isinstance(block, cst.With) or function is None:
        return
    top = context.tree.top(node)
    if (
        len(block.items) != 1
        or item.asname is None
        or not isinstance(item.asname.name, cst.Name)
        or top is None
    ):
        return
    local = item.asname.name.value
    if (
        not isinstance(block.body, cst.IndentedBlock)
        or block.body.footer
        or context.tree.block(block) is None
    ):
        return
    anchor = _anchor(context, node)
    if not all(is_known_before(context.tree, each.value, anchor) for each in node.args):
        return
    inside = [each for each in variables_in(context.tree, block.body) if each.value == local]
    everywhere = [each for each in variables_in(context.tree, function) if each.value == local]
    bound = [
        each
        for each in inside
        if isinstance(context.tree.parent(each), (cst.AssignTarget, cst.Param, cst.AsName))
    ]
    if bound or len(everywhere) != len(inside) + 1:
        return
    client = _shared(context, kind, tuple(_bare(context, each) for each in node.args), node, shared)
    for name in inside:
        context.new.replace(name, lambda each: each.with_changes(value=client.name))
    context.new.unwrap(block)


def _bare(context: CodemodContext, argument: cst.Arg) -> str:
    space = cst.SimpleWhitespace("")
    return context.tree.code(
        argument.with_changes(comma=cst.MaybeSentinel.DEFAULT, whitespace_after_arg=space)
    ).strip()


def _shared(
    context: CodemodContext, kind: str, arguments: tuple[str, ...], node: cst.Call, shared: _Clients
) -> _Shared:
    """Return one client for all calls with equal settings."""
    key = kind, arguments
    if key not in shared and not arguments and (known := _existing(context, kind)):
        shared[key] = _Shared(known, kind, arguments, _anchor(context, node), exists=True)
    if key not in shared:
        used = {each.name for each in shared.values()}
        name, number = free_name(context.tree, _NAMES[kind]), 2
        while name in used:
            name, number = free_name(context.tree, f"{_NAMES[kind]}_{number}"), number + 1
        shared[key] = _Shared(name, kind, arguments, _anchor(context, node))
    return shared[key]


def _existing(context: CodemodContext, kind: str) -> str:
    """Return the name of a client of this kind, without settings, that the file makes at its top."""
    for each in context.facts.assignments:
        if each.scope is not None or each.owner or each.call is None or len(each.targets) != 1:
            continue
        if _MAKERS.get(each.call.name) == kind and not each.call.arguments:
            return each.targets[0]
    return ""


def _place(context: CodemodContext, every: list[_Shared]) -> None:
    clients = [each for each in every if not each.exists]
    constructions = {each.name: _construction(context, each) for each in clients}
    for each in clients:
        context.new.above(each.anchor, constructions[each.name])
        context.dependencies.append(each.kind.partition(".")[0])
    for anchor in dict.fromkeys(each.anchor for each in clients):
        here = [each for each in clients if each.anchor is anchor]
        close_with_app(
            context, anchor, [line for each in here for line in each.closing(constructions[each.name])]
        )


def _construction(context: CodemodContext, client: _Shared) -> str:
    module, _, name = client.kind.partition(".")
    arguments = list(client.arguments)
    if module == "httpx":
        timeout, limits = (context.new.member(module, each) for each in ("Timeout", "Limits"))
        wanted = {
            "timeout": f"{timeout}({TIMEOUT_S}, connect={CONNECT_TIMEOUT_S})",
            "limits": f"{limits}(max_connections={MOST_CONNECTIONS})",
        }
        given = {each.partition("=")[0].strip() for each in arguments}
        arguments += [f"{key}={value}" for key, value in wanted.items() if key not in given]
    head = f"{client.name} = {context.new.member(module, name)}("
    line = f"{head}{', '.join(arguments)})\n"
    if len(line) <= _LONGEST_LINE:
        return line
    return "".join((f"{head}\n", *(f"    {each},\n" for each in arguments), ")\n"))


def _anchor(context: CodemodContext, node: cst.CSTNode) -> cst.BaseStatement:
    """Return the top-level statement before which a client is made: at the application, else at its
    first use."""
    app = find_app(context)
    top = context.tree.top(node)
    assert top is not None
    body: list[cst.BaseStatement] = list(context.tree.module.body)
    if app is not None and body.index(app.statement) < body.index(top):
        return app.statement
    return top


SHARED_CLIENT = python_codemod(
    "shared-client",
    ("http-client-per-call",),
    "share one HTTP client, which keeps connections (and cookies), between all calls",
    _collect_shared_client,
    asks=always(
        "May all calls share one client, with its cookies and between threads? Tests that replace functions "
        "of the library no longer reach the calls."
    ),
)
