"""The FastAPI application that a file makes, and what is to be done when it stops."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from faultkit.code.changes.python.calls import keyword_of, with_keyword
from faultkit.code.changes.python.codemod import Work
from faultkit.code.changes.python.names import free_name
from faultkit.code.changes.python.tree import nodes_in


@dataclass(frozen=True, slots=True)
class App:
    call: cst.Call
    statement: cst.SimpleStatementLine


def made_app(work: Work) -> App | None:
    """If it is made at the top of the file."""
    for call in work.facts.calls_named("fastapi.FastAPI", "FastAPI"):
        node = work.node(call)
        statement = None if node is None else work.tree.top(node)
        if node is not None and isinstance(statement, cst.SimpleStatementLine) and call.assigned:
            return App(node, statement)
    return None


def close_with_app(work: Work, before: cst.BaseStatement, lines: list[str]) -> None:
    """Does this when the app that is made there stops; nothing if there is none, or no place for it."""
    app = made_app(work)
    if app is None or app.statement is not before:
        return
    given = keyword_of(app.call, "lifespan")
    if given is not None:
        _add_to(work, given.value, lines)
    elif not any(call.method in ("on_event", "add_event_handler") for call in work.facts.calls):
        # An app with a lifespan forgets its handlers of events.
        _add_new(work, app, lines)


def _add_new(work: Work, app: App, lines: list[str]) -> None:
    name = free_name(work.tree, "_lifespan")
    manager = work.new.need("contextlib", "asynccontextmanager")
    ordered = sorted(lines, key=lambda each: not each.startswith("global "))
    heads = sum(each.startswith("global ") for each in lines)
    inner = "".join(f"    {each}\n" for each in (*ordered[:heads], "yield", *ordered[heads:]))
    work.new.above(app.statement, f"@{manager}\nasync def {name}(_app):\n{inner}")
    work.new.replace(
        app.call, lambda each: with_keyword(cst.ensure_type(each, cst.Call), "lifespan", cst.Name(name))
    )


def _add_to(work: Work, lifespan: cst.BaseExpression, lines: list[str]) -> None:
    if not isinstance(lifespan, cst.Name):
        return
    for function in nodes_in(work.tree.module, cst.FunctionDef):
        if function.name.value == lifespan.value and isinstance(function.body, cst.IndentedBlock):
            for line in function.body.body:
                if isinstance(line, cst.SimpleStatementLine) and any(nodes_in(line, cst.Yield)):
                    work.new.after(line, "\n".join(lines))
                    return
