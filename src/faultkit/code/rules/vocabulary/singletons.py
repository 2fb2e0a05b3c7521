"""Classes of which one object serves all requests, on several threads or between awaits."""

from __future__ import annotations

from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Facts
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_ANNOTATED = lazy_regex(
    r"@(?:RestController|Controller|Service|Component|Repository|Singleton|ApplicationScoped|WebServlet|WebFilter|Path"
    r"|Injectable|RestControllerAdvice|JsonController)\b(?:\((?P<given>[^)]*)\))?[^{};]{0,300}?\bclass\s+(?P<name>\w+)"
)
_SCOPED = TextPattern(
    r"@(RequestScope|Scope|SessionScope|RequestScoped|ViewScoped|Dependent)\b|Scope\.(REQUEST|TRANSIENT)"
)
_REGISTERED = TextPattern(
    r"\b(?:Add|TryAdd)(?:Keyed)?(?:Singleton|HostedService)\s*<\s*(?:[\w.]+\s*,\s*)?(?:\w+\.)*(\w+)\s*>"
)
_PRIMARY = TextPattern(r"\bclass\s+(\w+)\s*\(([^()]*)\)")
_TYPE = lazy_regex(r"(?:^|,)\s*(?:\[[^\]]*\]\s*)?(?:\w+\.)*(\w+)\s+\w+")
_BASES = frozenset(
    ("BackgroundService", "IHostedService", "IMiddleware", "HttpServlet", "Filter", "OncePerRequestFilter",
     "HandlerInterceptor", "GenericFilterBean")
)  # fmt: skip


@lru_cache(maxsize=4)
def singletons(facts: Facts) -> frozenset[str]:
    """Return the short names of the classes of a text of which all requests share one object."""
    text, language = facts.whole_text, facts.language
    if language != "csharp" and "Scope" in text and _SCOPED.search(text):
        return frozenset()
    declared = {name.rpartition(".")[2]: bases for name, bases in facts.classes.items()}
    found = {
        name for name, bases in declared.items() if any(each.rpartition(".")[2] in _BASES for each in bases)
    }
    if language in ("java", "kotlin", "typescript", "tsx") and not facts.imports_any("@angular/core"):
        found |= {each["name"] for each in _ANNOTATED.finditer(text)}
    if language == "csharp":
        found |= {name for name in declared if name.endswith("Middleware")} | {*_REGISTERED.findall(text)}
        found |= _given_to(found, facts)
    if language in ("python", "javascript", "typescript", "tsx") and _serves(facts):
        found |= {
            each.call.method
            for each in facts.assignments
            if each.scope is None and not each.owner and each.call is not None and each.call.constructs
        }
    return frozenset(found & {*declared})


def _serves(facts: Facts) -> bool:
    """Return whether a text has handlers of requests."""
    return any(scope.route is not None for scope in facts.scopes)


def _given_to(classes: set[str], facts: Facts) -> set[str]:
    """Return the types that constructors of single objects are given: they live as long (C#)."""
    found = {
        one.type.rpartition(".")[2]
        for scope in facts.scopes
        if scope.short_name == scope.owner.rpartition(".")[2] in classes
        for one in scope.parameters
    }
    for name, parameters in _PRIMARY.findall(facts.whole_text):
        if name in classes:
            found |= {*_TYPE.findall(parameters)}
    return found
