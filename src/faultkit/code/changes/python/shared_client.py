"""One HTTP client for the whole process in place of one for every call, with limits and a timeout.

A client whose settings depend on the request stays where it is. So does an async one where nothing is served:
it belongs to one event loop, and `asyncio.run` makes a new one each time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import libcst as cst

from faultkit.code.changes.python.calls import keyword_of, parenthesised, without_keyword
from faultkit.code.changes.python.codemod import Work, python_codemod
from faultkit.code.changes.python.fastapi_app import close_with_app, made_app
from faultkit.code.changes.python.http_timeout import CONNECT_TIMEOUT_S, TIMEOUT_S
from faultkit.code.changes.python.names import free_name, is_known_before, variables_in
from faultkit.code.facts import Call

MOST_CONNECTIONS = 100
_METHODS = ("get", "post", "put", "patch", "delete", "head", "options", "request")
_ON_CLIENT_ONLY = ("verify", "cert", "proxy", "proxies", "trust_env", "cookies")
"""What functions of httpx take and methods of its clients do not, or not in the same sense."""
_NAMES = {"httpx.Client": "_client", "httpx.AsyncClient": "_client", "requests.Session": "_session"}
_MAKERS = {**{each: each for each in _NAMES}, "requests.session": "requests.Session"}


_LONGEST_LINE = 110


@dataclass(frozen=True, slots=True)
class _Shared:
    name: str
    kind: str
    arguments: tuple[str, ...]
    anchor: cst.BaseStatement
    """The statement of the file before which it is made."""

    def closing(self, construction: str) -> list[str]:
        """Lines. A client of httpx cannot be used again, but an app may be started again, as tests do."""
        if self.kind == "requests.Session":
            return [f"{self.name}.close()"]
        close = f"await {self.name}.aclose()" if self.kind == "httpx.AsyncClient" else f"{self.name}.close()"
        why = "# Ready for another start: a closed client cannot be used again."
        return [f"global {self.name}", close, why, *construction.splitlines()]


_Clients: TypeAlias = dict[tuple[str, tuple[str, ...]], _Shared]


def _collect(work: Work) -> None:
    if work.tree.is_indented:
        return
    serves = bool(work.facts.routes())
    shared: _Clients = {}
    for _, call, node in work.calls():
        module, _, method = call.name.rpartition(".")
        if module in ("httpx", "requests") and method in _METHODS:
            _of_function(work, call, node, module, shared, serves=serves)
        elif call.name in _MAKERS and (serves or call.name != "httpx.AsyncClient"):
            _of_block(work, _MAKERS[call.name], node, shared)
    _place(work, list(shared.values()))


def _of_function(
    work: Work, call: Call, node: cst.Call, module: str, shared: _Clients, *, serves: bool
) -> None:
    """`httpx.get(…)`, which makes a client of its own inside."""
    if module == "httpx" and any(keyword_of(node, each) for each in _ON_CLIENT_ONLY):
        return
    scope = work.facts.function_of(call)
    is_async = module == "httpx" and scope is not None and scope.is_async
    if work.tree.function(node) is None or work.new.has(node) or (is_async and not serves):
        return
    kind = "requests.Session" if module == "requests" else "httpx.AsyncClient" if is_async else "httpx.Client"
    client = _shared(work, kind, (), node, shared)
    function = cst.Attribute(cst.Name(client.name), cst.Name(call.method))

    def step(each: cst.CSTNode) -> cst.CSTNode:
        made = cst.ensure_type(each, cst.Call).with_changes(func=function)
        timeout = keyword_of(made, "timeout")
        if module == "httpx" and timeout is not None and work.tree.code(timeout.value) == str(TIMEOUT_S):
            # What this client has by itself.
            made = without_keyword(made, "timeout")
        if not is_async:
            return made
        waits = cst.Await(made.with_changes(lpar=(), rpar=()), lpar=made.lpar, rpar=made.rpar)
        return parenthesised(waits) if isinstance(work.tree.parent(node), cst.Attribute) else waits

    work.new.replace(node, step)


def _of_block(work: Work, kind: str, node: cst.Call, shared: _Clients) -> None:
    """`with httpx.Client() as client:`."""
    item = work.tree.parent(node)
    block = None if item is None else work.tree.parent(item)
    function = work.tree.function(node)
    if not isinstance(item, cst.WithItem) or not isinstance(block, cst.With) or function is None:
        return
    top = work.tree.top(node)
    if (
        len(block.items) != 1
        or item.asname is None
        or not isinstance(item.asname.name, cst.Name)
        or top is None
    ):
        return
    local = item.asname.name.value
    if not isinstance(block.body, cst.IndentedBlock) or block.body.footer or work.tree.block(block) is None:
        return
    anchor = _anchor(work, node)
    if not all(is_known_before(work.tree, each.value, anchor) for each in node.args):
        return
    inside = [each for each in variables_in(work.tree, block.body) if each.value == local]
    everywhere = [each for each in variables_in(work.tree, function) if each.value == local]
    bound = [
        each
        for each in inside
        if isinstance(work.tree.parent(each), (cst.AssignTarget, cst.Param, cst.AsName))
    ]
    if bound or len(everywhere) != len(inside) + 1:
        return
    client = _shared(work, kind, tuple(_bare(work, each) for each in node.args), node, shared)
    for name in inside:
        work.new.replace(name, lambda each: each.with_changes(value=client.name))
    work.new.unwrap(block)


def _bare(work: Work, argument: cst.Arg) -> str:
    space = cst.SimpleWhitespace("")
    return work.tree.code(
        argument.with_changes(comma=cst.MaybeSentinel.DEFAULT, whitespace_after_arg=space)
    ).strip()


def _shared(work: Work, kind: str, arguments: tuple[str, ...], node: cst.Call, shared: _Clients) -> _Shared:
    """One client for all that would be made alike."""
    key = kind, arguments
    if key not in shared:
        taken = {each.name for each in shared.values()}
        name, number = free_name(work.tree, _NAMES[kind]), 2
        while name in taken:
            name, number = free_name(work.tree, f"{_NAMES[kind]}_{number}"), number + 1
        shared[key] = _Shared(name, kind, arguments, _anchor(work, node))
    return shared[key]


def _place(work: Work, clients: list[_Shared]) -> None:
    made = {each.name: _construction(work, each) for each in clients}
    for each in clients:
        work.new.above(each.anchor, made[each.name])
        work.dependencies.append(each.kind.partition(".")[0])
    for anchor in dict.fromkeys(each.anchor for each in clients):
        here = [each for each in clients if each.anchor is anchor]
        close_with_app(work, anchor, [line for each in here for line in each.closing(made[each.name])])


def _construction(work: Work, client: _Shared) -> str:
    module, _, name = client.kind.partition(".")
    arguments = list(client.arguments)
    if module == "httpx":
        timeout, limits = (work.new.member(module, each) for each in ("Timeout", "Limits"))
        wanted = {
            "timeout": f"{timeout}({TIMEOUT_S}, connect={CONNECT_TIMEOUT_S})",
            "limits": f"{limits}(max_connections={MOST_CONNECTIONS})",
        }
        given = {each.partition("=")[0].strip() for each in arguments}
        arguments += [f"{key}={value}" for key, value in wanted.items() if key not in given]
    head = f"{client.name} = {work.new.member(module, name)}("
    line = f"{head}{', '.join(arguments)})\n"
    if len(line) <= _LONGEST_LINE:
        return line
    return "".join((f"{head}\n", *(f"    {each},\n" for each in arguments), ")\n"))


def _anchor(work: Work, node: cst.CSTNode) -> cst.BaseStatement:
    """The statement of the file before which a client is made: where the app is, else where it is used."""
    app = made_app(work)
    top = work.tree.top(node)
    assert top is not None
    body: list[cst.BaseStatement] = list(work.tree.module.body)
    if app is not None and body.index(app.statement) < body.index(top):
        return app.statement
    return top


CODEMOD = python_codemod(
    "shared-client",
    ("http-client-per-call",),
    "share one HTTP client, which keeps connections (and cookies), between all calls",
    _collect,
)
