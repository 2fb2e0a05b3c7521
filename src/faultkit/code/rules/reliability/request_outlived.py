"""Finds work that goes on after its request, with something that ends with the request.

Evidence that it matters: the work itself uses it, and makes no context or session of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Parameter, Scope
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import CSHARP, GO, JAVA, KOTLIN, LIKELY, PYTHON, Hit, Rule
from faultkit.code.rules.vocabulary.cancelled_cleanup import cleanup_by_cancelled

_WAITS = lazy_regex(r"\.Wait\(|<-\s*\w|\bselect\s*\{")
_GO_REQUESTS = lazy_regex(r"(^|\.)(net/http\.Request|Request)$")
_GO_CONTEXTS = lazy_regex(r"(gin|echo|fiber)(/v\d+)?\.(Context|Ctx)$")
_SESSIONS = lazy_regex(r"(^|\.)(AsyncSession|Session|Connection|AsyncConnection|\w*SessionDep|DbSession)$")
_STARTS = frozenset(("submit", "execute", "runAsync", "supplyAsync"))


def _check(facts: Facts) -> Iterator[Hit]:
    for span, what in cleanup_by_cancelled(facts):
        yield Hit(span, what, LIKELY, "medium")
    if facts.language == "go":
        yield from _go(facts)
    elif facts.language == "python":
        yield from _sessions(facts)
        yield from _flask(facts)
    elif facts.language == "java":
        yield from _servlets(facts)
    elif facts.language == "kotlin":
        yield from _ktor(facts)


def _go(facts: Facts) -> Iterator[Hit]:
    """Yield goroutines that are given the context of a request, and that the handler does not wait for."""
    for call in facts.calls:
        if not call.is_launched:
            continue
        scope = facts.function_of(call)
        if scope is None or _WAITS.search(facts.text(Span(call.span.end, scope.body.end))):
            continue
        if _DEFERRED_WAIT.search(facts.text(scope.body)) or _waits_in_helper(call, scope, facts):
            continue
        # A goroutine that waits for the end of the request is meant to see it.
        if _WATCHES.search(facts.text(call.span)):
            continue
        text = _WATCHED.sub("", facts.text(call.span))
        if _has_own_context(text) or _makes_own_context(call, facts):
            continue
        for each in scope.parameters:
            if (contexts := _contexts_of(each, scope)) is None:
                continue
            names = [contexts, *(rf"\b{re.escape(name)}\b" for name in _derived(contexts, scope, facts))]
            ends = "is cancelled"
            if _GO_CONTEXTS.search(each.type):
                names.insert(0, rf"\b{each.name}\.(?!Copy\b)\w|[(,]\s*{each.name}\s*[,)]")
            found = next((name for name in names if re.search(name, text) is not None), None)
            if found is not None:
                if _GO_CONTEXTS.search(each.type) and found is names[0]:
                    ends = "is used again by another request"
                what = f"the context of the request {ends} when the handler returns, before this is done"
                yield Hit(call.span, what, LIKELY)
                break


_DEFERRED_WAIT = lazy_regex(r"\bdefer\s+[\w.]+\.Wait\(\)")
_WATCHED = lazy_regex(r"<-\s*[\w.()]+\.Done\(\)")
_WATCHES = lazy_regex(r"^\s*func\([^)]*\)\s*\{\s*<-\s*[\w.()]+\.Done\(\)\s*\n")
_JOINS = lazy_regex(r"\.Wait\(\)|(?:^|[^\w\s])\s*<-\s*(?!\w+\.Done)\w|\bselect\s*\{")


def _waits_in_helper(launched: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether the handler goes on with a function of this text that waits for goroutines."""
    after = Span(launched.span.end, scope.body.end)
    return any(
        _JOINS.search(facts.text(each.body)) is not None
        for call in facts.within(facts.calls, after)
        if not call.is_launched and call.receiver in ("", "self") and facts.function_of(call) is scope
        for each in facts.functions_named(call.method)
    )


def _has_own_context(text: str) -> bool:
    return "WithoutCancel" in text or "context.Background()" in text or "context.TODO()" in text


def _makes_own_context(launched: Call, facts: Facts) -> bool:
    """Return whether a function of this text that is started makes a context that lasts longer."""
    called = [launched, *facts.within(facts.calls, launched.span)]
    return any(
        _has_own_context(facts.text(scope.body))
        for call in called
        for scope in facts.functions_named(call.method)
        if call.method
    )


_GO_MESSAGES = lazy_regex(r"(?:pb|proto|/gen/[\w./-]+|/v\d+)\.\w+Request$")


def _contexts_of(parameter: Parameter, scope: Scope) -> str | None:
    """Return the expressions, as a pattern, that are the context of a request (Go): by what it is given."""
    name = re.escape(parameter.name)
    if _GO_REQUESTS.search(parameter.type):
        return rf"\b{name}\.Context\(\)"
    if _GO_CONTEXTS.search(parameter.type):
        return rf"\b{name}\.(?:Request(?:\(\))?\.Context|UserContext|Context)\(\)"
    of_rpc = len(scope.parameters) == 2 and _GO_MESSAGES.search(scope.parameters[1].type)
    return rf"\b{name}\b" if of_rpc and parameter.type == "context.Context" else None


def _derived(contexts: str, scope: Scope, facts: Facts) -> list[str]:
    """Return variables that hold such a context, or one that is made of it and ends with it."""
    found = list[str]()
    for each in facts.own(facts.assignments, scope):
        known = "|".join([contexts, *(rf"\b{re.escape(name)}\b" for name in found)])
        if each.value is not None and re.fullmatch(
            rf"(?:context\.With(?!outCancel)\w+\(\s*)?(?:{known})(?:,.*)?\)?", each.value.text, re.DOTALL
        ):
            found += [name for name in each.targets[:1] if name != "_"]
    return found


def _sessions(facts: Facts) -> Iterator[Hit]:
    """Yield sessions of a request that are given to work after it (FastAPI)."""
    for call in facts.calls_of_method("add_task", "create_task", "ensure_future"):
        route = facts.route_of(call)
        if route is None or call.is_awaited:
            continue
        if call.method != "add_task" and not call.is_discarded:
            continue
        for each in route.parameters:
            depends = each.default is not None and "Depends(" in each.default.text
            if not _SESSIONS.search(each.type) or not (
                depends or each.type.endswith("Dep") or _is_annotated(each.name, route, facts)
            ):
                continue
            if re.search(rf"[(,]\s*{re.escape(each.name)}\s*[,)]", facts.text(call.span)):
                what = (
                    f"{each.name} is closed when the request ends, and {call.written}() still needs it then"
                )
                yield Hit(call.span, what, LIKELY)
                break


def _is_annotated(name: str, route: Scope, facts: Facts) -> bool:
    head = facts.text(Span(route.span.start, route.body.start))
    return re.search(rf"\b{re.escape(name)}\s*:\s*Annotated\[[^\n]*Depends\(", head) is not None


def _flask(facts: Facts) -> Iterator[Hit]:
    """Yield threads that read the request of Flask, which belongs to the thread that answers it."""
    if not facts.imports_any("flask"):
        return
    for call in facts.calls:
        if call.name == "threading.Thread":
            given = call.argument("target")
        elif call.method == "submit" and re.search(r"exec|pool", call.receiver_written, re.IGNORECASE):
            given = call.argument(place=0)
        else:
            continue
        if given is None:
            continue
        for scope in facts.scopes:
            if scope.span != given.value.span and scope.short_name != given.value.text:
                continue
            text = facts.text(scope.body)
            used = re.search(r"(?<![\w.])(request|session|g|current_app)\.\w+", text)
            if used is None or re.search(r"app_context|request_context|copy_current", facts.text(scope.span)):
                continue
            own = {name for each in facts.within(facts.assignments, scope.body) for name in each.targets}
            if used[1] not in own | {each.name for each in scope.parameters}:
                what = f"{used[0]} belongs to the thread of the request: it cannot be read in another one"
                yield Hit(call.span, what, LIKELY)


def _servlets(facts: Facts) -> Iterator[Hit]:
    """Yield tasks that use the request or response of a servlet, which the server uses again."""
    for call in facts.calls_of_method(*_STARTS):
        scope = facts.named_function_of(call)
        given = call.argument(place=0)
        if scope is None or given is None or given.value.shape != "function":
            continue
        chain = facts.text(Span(call.span.end, min(call.span.end + 300, scope.body.end)))
        if call.is_returned or call.assigned or re.match(r"\s*\.\s*(join|get)\(", chain):
            continue
        for each in scope.parameters:
            used = re.search(rf"\b{re.escape(each.name)}\.\w+", given.value.text)
            if used is not None and each.type.rpartition(".")[2] in (
                "HttpServletRequest",
                "HttpServletResponse",
            ):
                what = (
                    f"{used[0]}() may run after the request, when the server uses the object for another one"
                )
                yield Hit(call.span, what, LIKELY)
                break


def _ktor(facts: Facts) -> Iterator[Hit]:
    """Yield coroutines of other scopes that answer a call after its handler has returned (Ktor)."""
    for call in facts.calls_of_method("launch"):
        route = facts.route_of(call)
        if route is None or not call.receiver_written or not call.is_discarded:
            continue
        used = re.search(r"\bcall\.(respond\w*|receive\w*)", facts.text(call.span))
        if used is not None and not re.search(r"\.join\(\)", facts.text(Span(call.span.end, route.body.end))):
            yield Hit(call.span, f"{used[0]}() may run after the handler, when the call is over", LIKELY)


RULE = Rule(
    id="FK-R129",
    slug="request-outlived",
    title="Work after the request that uses what ends with it",
    why="The context is cancelled, the session closed, or the object in use by another request: the work "
    "fails, or mixes up two users.",
    fix="Take what is needed out of the request first, and give the work a context or session of its own.",
    kind="reliability",
    severity="high",
    languages=(*PYTHON, *GO, *JAVA, *KOTLIN, *CSHARP),
    check=_check,
    words=(
        b"go ",
        b"add_task",
        b"create_task",
        b"Thread",
        b"submit",
        b"Async(",
        b"execute(",
        b"launch",
        b"ensure_future",
        b"defer ",
        b"CanceledException",
    ),
)
