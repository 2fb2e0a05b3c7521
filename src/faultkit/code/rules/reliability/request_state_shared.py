"""Finds what belongs to one request and is kept where all requests see it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Access, Assignment, Call, Facts, Scope
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import CSHARP, JAVA, JAVASCRIPT, KOTLIN, LIKELY, PYTHON, Hit, Rule
from faultkit.code.rules.vocabulary.message_loops import words_of
from faultkit.code.rules.vocabulary.singletons import singletons
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_SINGLETON = lazy_regex(
    r"@(RestController|Controller|Service|Component|WebFilter|ApplicationScoped|Singleton)\b[^{;]*\bclass\s+(\w+)"
)
_HANDLERS = frozenset(
    ("doFilter", "doFilterInternal", "preHandle", "doGet", "doPost", "service", "InvokeAsync", "Invoke")
)
_OF_REQUEST = lazy_regex(
    r"\b(user|tenant|session|locale|token|principal|account|customer|org(anization)?|request|req|trace|correlation"
    r"|identity|role|permission|client_?ip|lang(uage)?)",
    re.IGNORECASE,
)
"""Names of what differs between requests."""
_SCOPED = TextPattern(r"@(RequestScope|Scope|SessionScope|RequestScoped)\b|ThreadLocal|AsyncLocal|ContextVar")


def _check(facts: Facts) -> Iterator[Hit]:
    seen = set[Span]()
    for hit in _globals(facts) if facts.language in (*PYTHON, *JAVASCRIPT) else _fields(facts):
        seen.add(hit.span)
        yield hit
    for hit in _hidden_parameters(facts):
        if hit.span not in seen:
            yield hit


_PREPARES = lazy_regex(
    r"^_*(constructor|__init__|init|on_?(module|application)|set|configure|connect|start|open$|setup|use|register|bootstrap"
    r"|load|refresh|reload|update|after|post_?construct|reset|stop|close|shutdown|Configure|Set|Start|Init|Stop|Refresh"
    r"|Load|Update|Execute)"
)
"""Methods that keep something for long on purpose."""


def _hidden_parameters(facts: Facts) -> Iterator[Hit]:
    """Yield fields of single objects that a method sets for one call, for another method to read."""
    classes = singletons(facts)
    if not classes:
        return
    for each in facts.assignments:
        scope = each.scope
        if scope is None or scope.owner.rpartition(".")[2] not in classes or each.operator != "=":
            continue
        name = each.targets[0].removeprefix("self.")
        if each.value is None or not name.isidentifier() or not _is_field_of(name, scope, facts):
            continue
        given = {one.name for one in scope.parameters} - {"self"}
        if name == each.targets[0] and (name in given or _is_local(name, scope, facts)):
            continue
        if scope.short_name == scope.owner.rpartition(".")[2] or not given & words_of(each.value.text):
            continue
        if _PREPARES.match(scope.short_name) and not (scope.is_async and _is_of_request(name)):
            continue
        if any(one.method in ("PostConstruct", "Autowired", "Inject", "Value") for one in scope.decorators):
            continue
        if _is_read_by_other(name, scope, facts) and (
            _is_of_request(name) or _calls_reader(name, scope, facts)
        ):
            what = f"{name} belongs to one request, and all requests that run at the same time share it"
            yield Hit(each.span, what, LIKELY)


def _is_field_of(name: str, scope: Scope, facts: Facts) -> bool:
    """Return whether a name is a field that the class declares or its constructor sets."""
    return any(
        each.owner == scope.owner
        and each.targets[0] in (f"self.{name}", name)
        and not each.is_constant
        and (each.scope is None or each.scope.short_name == "__init__")
        for each in facts.assignments
    )


def _readers(name: str, scope: Scope, facts: Facts) -> Iterator[Scope]:
    word = re.compile(rf"(?<![\w.])(?:this\.|self\.){re.escape(name)}\b(?!\s*=[^=])")
    bare = re.compile(rf"(?<![\w.])(?:this\.)?{re.escape(name)}\b(?!\s*=[^=])")
    pattern = bare if facts.language in (*JAVA, *KOTLIN, *CSHARP) else word
    for other in facts.scopes:
        if other is scope or other.owner != scope.owner or not other.is_method:
            continue
        if not any(one.name == name for one in other.parameters) and pattern.search(facts.text(other.body)):
            yield other


def _is_read_by_other(name: str, scope: Scope, facts: Facts) -> bool:
    return any(True for _ in _readers(name, scope, facts))


def _calls_reader(name: str, scope: Scope, facts: Facts) -> bool:
    """Return whether the method that sets a field calls one that reads it."""
    return any(
        scope in facts.functions_around(call)
        for other in _readers(name, scope, facts)
        for call in facts.callers_of(other)
    )


def _globals(facts: Facts) -> Iterator[Hit]:
    """Yield variables of a file that a handler sets for its request, and that another function reads."""
    names = {
        name
        for each in facts.assignments
        if each.scope is None and not each.owner and not each.is_constant
        for name in each.targets
        if name.isidentifier()
    }
    for each in facts.assignments if names else ():
        name, scope = each.targets[0], each.scope
        if name not in names or scope is None or each.operator != "=" or not _is_of_request(name):
            continue
        handler = _handler(each, facts)
        if (
            handler is None
            or each.value is None
            or each.value.shape in ("none", "true", "false", "number", "text")
        ):
            continue
        if facts.language == "python" and name not in facts.globals_in(scope):
            continue
        if facts.language in JAVASCRIPT and _is_declared(name, scope, facts):
            continue
        if _is_read_elsewhere(name, handler, facts) and _comes_of_request(each, handler):
            what = f"{name} belongs to one request, and all requests that run at the same time share it"
            yield Hit(each.span, what, LIKELY)


def _handler(each: Assignment, facts: Facts) -> Scope | None:
    """Return the function around an assignment that handles requests."""
    for scope in facts.functions_around(each):
        if scope.route is not None or any(
            one.method in ("before_request", "before_app_request", "middleware") for one in scope.decorators
        ):
            return scope
        kinds = [one.name for one in scope.parameters]
        if facts.language in JAVASCRIPT and kinds[:2] in (
            ["req", "res"],
            ["request", "response"],
            ["request", "reply"],
        ):
            return scope
        if facts.language in JAVASCRIPT and kinds[:2] == ["ctx", "next"]:
            return scope
    return None


def _is_of_request(name: str) -> bool:
    spaced = re.sub(r"([a-z])([A-Z])", r"\1 \2", name).replace("_", " ")
    return _OF_REQUEST.search(spaced) is not None


def _comes_of_request(each: Assignment, handler: Scope) -> bool:
    """Return whether the value is made of what the handler was given, or of Flask's request."""
    assert each.value is not None
    words = {*re.findall(r"\w+", each.value.text)}
    return bool(words & {"request", "req", "ctx", "g", "session", *(one.name for one in handler.parameters)})


def _is_declared(name: str, scope: Scope, facts: Facts) -> bool:
    return re.search(rf"\b(const|let|var)\s+{re.escape(name)}\b", facts.text(scope.body)) is not None


def _is_read_elsewhere(name: str, handler: Scope, facts: Facts) -> bool:
    used: tuple[Access | Call, ...] = (*facts.accesses, *facts.calls)
    return any(
        each.written.split(".")[0] == name and facts.function_of(each) not in (None, handler) for each in used
    ) or any(
        re.search(rf"(?<![\w.]){re.escape(name)}\b", facts.text(scope.body))
        for scope in facts.scopes
        if scope is not handler and scope.outer is None
    )


def _fields(facts: Facts) -> Iterator[Hit]:
    """Yield fields of singletons that a handler sets for its request (Java, Kotlin, C#)."""
    text = facts.whole_text
    if _SCOPED.search(text):
        return
    classes = {found[2] for found in _SINGLETON.finditer(text)}
    if facts.language == "csharp":
        # A controller is made for each request, a middleware is not.
        classes = {name.rpartition(".")[2] for name in facts.classes if name.endswith("Middleware")}
    for scope in facts.scopes:
        owner = scope.owner.rpartition(".")[2]
        handles = scope.route is not None or scope.short_name in _HANDLERS
        is_filter = scope.short_name in _HANDLERS and facts.language != "csharp"
        if not handles or not (owner in classes or is_filter):
            continue
        # A method that returns its object sets a part of what is built: `AuthRequest service(String name)`.
        if scope.route is None and _RETURNS_ITSELF.search(facts.text(scope.body)):
            continue
        given = {one.name for one in scope.parameters}
        for each in facts.own(facts.assignments, scope):
            name = each.targets[0].removeprefix("self.")
            if each.operator != "=" or each.value is None or not _is_field(name, scope, facts):
                continue
            if name == each.targets[0] and (name in given or _is_local(name, scope, facts)):
                continue
            if given & {*re.findall(r"\w+", each.value.text)}:
                what = f"{name} belongs to one request, and all requests that run at the same time share it"
                yield Hit(each.span, what, LIKELY)


_RETURNS_ITSELF = lazy_regex(r"\breturn\s+this\s*;|=\s*apply\s*\{")


def _is_field(name: str, scope: Scope, facts: Facts) -> bool:
    return any(
        each.scope is None
        and each.owner == scope.owner
        and each.targets[0] == f"self.{name}"
        and not each.is_constant
        for each in facts.assignments
    )


def _is_local(name: str, scope: Scope, facts: Facts) -> bool:
    return (
        re.search(
            rf"\b(var|val|final|[A-Z]\w*(<[^;=]*>)?)\s+{re.escape(name)}\s*[=;:]", facts.text(scope.body)
        )
        is not None
    )


RULE = Rule(
    id="FK-R128",
    slug="request-state-shared",
    title="State of a request kept where all requests see it",
    why="Two requests at the same time overwrite each other: a user gets the data of another one.",
    fix="Pass it as an argument, or keep it in the request, a context variable or a request-scoped object.",
    kind="reliability",
    severity="high",
    languages=(*PYTHON, *JAVASCRIPT, *JAVA, *CSHARP, *KOTLIN),
    check=_check,
    words=(
        b"req",
        b"ctx",
        b"Request",
        b"Mapping",
        b"HttpContext",
        b"before_request",
        b"route",
        b"Injectable",
        b"Service",
        b"Component",
        b"Singleton",
        b"get(",
        b"post(",
    ),
)
