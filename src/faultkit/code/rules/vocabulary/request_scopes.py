"""Objects that a container of dependency injection makes anew for each request, or more often."""

from __future__ import annotations

import re

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.languages.syntax import Span

_LIVES = {
    "AddScoped": "for each scope",
    "TryAddScoped": "for each scope",
    "AddKeyedScoped": "for each scope",
    "AddTransient": "for each object that asks",
    "TryAddTransient": "for each object that asks",
}
"""For what a container of .NET makes an object anew."""
_DECORATORS = frozenset(("RequestScope", "RequestScoped"))
_STATED = frozenset(("Injectable", "Scope", "provide", "inject", "injectable"))
_REQUEST = lazy_regex(r"\bREQUEST\b|^['\"]request['\"]$|SCOPE_REQUEST")
_CLASS = lazy_regex(r"[\s\w@(){}'\",.:<>=]*?\bclass\s+(\w+)")
_ANNOTATED = lazy_regex(r"@RequestScoped?\b[\s\w@()'\",.:<>=]*?\bclass\s+(\w+)")
_KEPT = lazy_regex(r"\bstatic\b|\?\?=|\|\|=|\bcache", re.IGNORECASE)
_BEFORE, _AFTER = 240, 160
_REGISTERED = (
    r"\b(?:Try)?Add(?:Keyed)?(?:Scoped|Transient)\s*"
    r"(?:<\s*(?:[\w.<>]+\s*,\s*)?(?:\w+\.)*{name}\s*>|\(typeof\([^;]*\b{name}\))"
)


def request_scope_of(call: Call, facts: Facts) -> str:
    """Return why a container makes an object for each request or more often, as a clause; or nothing.

    Nest, Spring, Jakarta CDI, .NET and dishka."""
    if facts.language == "csharp":
        for around in facts.calls_around(call):
            if around.method in _LIVES and (call.constructs or call.method[:1].isupper()):
                return f"{around.method}() makes one {_LIVES[around.method]}"
        scope = facts.function_of(call)
        owner = _owner_of(call, scope, facts)
        # What it is given may be shared: `new HttpClient(handler)`.
        if not owner or (scope is not None and not _makes(scope, owner)) or call.positional:
            return ""
        if scope is not None and "static " in facts.text(scope.head):
            return ""
        return f"{owner} is made for each request" if is_made_per_request(owner, facts) else ""
    if facts.language not in ("java", "kotlin", "python", "javascript", "typescript"):
        return ""
    scope = facts.function_of(call)
    if scope is not None and (by := _stated_for(scope, call, facts)):
        return by
    owner = _owner_of(call, scope, facts)
    if not owner or (scope is not None and not _makes(scope, owner)):
        return ""
    return f"{owner} is made for each request" if owner in _classes(facts) else ""


def is_made_per_request(owner: str, facts: Facts) -> bool:
    """Return whether a container makes objects of a class for each request or more often."""
    if facts.language in _BASES and _has_short_base(owner, facts):
        return True
    if facts.language == "csharp":
        return re.search(_REGISTERED.format(name=re.escape(owner)), facts.whole_text) is not None
    return owner in _classes(facts)


_BASES = {
    "csharp": frozenset(
        (
            "Controller", "ControllerBase", "ApiController", "Hub", "PageModel", "ViewComponent", "IConsumer",
            "IHandleMessages", "IRequestHandler", "INotificationHandler", "IJob",
        )
    ),
    "python": frozenset(("View", "APIView", "MethodView", "RequestHandler", "Resource", "HTTPEndpoint")),
}  # fmt: skip
"""Bases of classes whose objects serve one request or message, by the frameworks that call them."""
_SINGLE = r"\b(?:Try)?Add(?:Keyed)?Singleton\s*<\s*(?:[\w.<>]+\s*,\s*)?(?:\w+\.)*{name}\s*>"


def _has_short_base(owner: str, facts: Facts) -> bool:
    bases = next((found for name, found in facts.classes.items() if name.rpartition(".")[2] == owner), ())
    if not any(each.rpartition(".")[2].partition("<")[0] in _BASES[facts.language] for each in bases):
        return False
    return re.search(_SINGLE.format(name=re.escape(owner)), facts.whole_text) is None


def _makes(scope: Scope, owner: str) -> bool:
    """Return whether a function runs when an object is made."""
    return scope.short_name in ("constructor", "__init__", "init", owner) or any(
        each.method == "PostConstruct" for each in scope.decorators
    )


def _stated_for(scope: Scope, call: Call, facts: Facts) -> str:
    """Return the scope that is stated for a method that provides, or beside a factory of Nest."""
    for each in scope.decorators:
        if each.method in _DECORATORS or (each.method in _STATED and _is_request(each)):
            return f"{scope.short_name}() runs for each request"
    if facts.language not in ("javascript", "typescript") or not facts.imports_any("@nestjs/common"):
        return ""
    text = facts.syntax.source
    start, end = scope.span.start, scope.span.end
    before = text[max(0, start - _BEFORE) : start].rpartition(b"{")[2]
    after = text[end : end + _AFTER].partition(b"}")[0]
    if b"useFactory" in before and (b"Scope.REQUEST" in before or b"Scope.REQUEST" in after):
        return "its provider has the scope of a request"
    return ""


def _is_request(call: Call) -> bool:
    return any(
        _REQUEST.search(each.value.text) for each in call.arguments if each.name in ("", "scope", "value")
    )


def _owner_of(call: Call, scope: Scope | None, facts: Facts) -> str:
    if scope is not None:
        return scope.owner.rpartition(".")[2]
    made = [each for each in facts.assignments if each.call is call and each.scope is None]
    if not made or _KEPT.search(facts.text(made[0].span)):
        return ""
    return made[0].owner.rpartition(".")[2]


def _classes(facts: Facts) -> set[str]:
    """Return the classes whose decorators say that they are made for each request."""
    found = set[str]()
    if facts.language == "java":
        # Annotations without arguments are no calls there.
        found.update(_ANNOTATED.findall(facts.whole_text))
    for each in facts.calls_of_method(*_DECORATORS, *_STATED):
        if each.method in _DECORATORS or _is_request(each):
            after = facts.text(Span(each.span.end, min(each.span.end + 600, len(facts.syntax.source))))
            if of := _CLASS.match(after):
                found.add(of[1])
    return found
