"""Clients that try again by themselves, and the retries of the same text that use them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.retry_loops import Retry

POLICY_HANDLERS = ("AddPolicyHandler", "AddTransientHttpErrorPolicy")
_HANDLERS = (*POLICY_HANDLERS, "AddResilienceHandler", "AddHttpMessageHandler")
ADAPTERS = ("Retry", "axiosRetry", "axios-retry")
"""Calls that are told which requests a client repeats."""
NAMES_OF_CLIENTS = ("RetryClient", "retryablehttp", "RetryTransport", "HTTPAdapter")
"""Types of clients that repeat, in the names of what they are called by."""
REPEATS_EVERY_METHOD = lazy_regex(
    r"AddStandardResilienceHandler\(\s*\)|RetryTransientMiddleware::new_with_policy|retryablehttp\.NewClient\("
    r"|install\(HttpRequestRetry\)|retryCondition:\s*(?:axiosRetry\.)?is(?:Retryable|Network)Error\b"
    r"|methods:\s*\[[^\]]*['\"]POST['\"]|\.SetRetryCount\(|new\s+Retryer\.Default\("
)
"""Clients that repeat every request that fails, a POST as well."""
SPARES_SOME = lazy_regex(
    r"DisableFor|HttpMethod\.(?:Get|GET)|request\.method|Method::GET|isIdempotent|CheckRetry|idempotent|AddRetryCondition"
)
"""What tells such a client which requests it may repeat."""
CLIENT_OF = lazy_regex(r"\bAddHttpClient<(?:[\w.]+,\s*)?([\w.]+)>")
_RETRY = lazy_regex(r"[rR]etry(?!After|Count\s*=\s*0|s\s*[=:]\s*0)")
_NONE = lazy_regex(r"^(0|0L|false|False|None|nil|null|\{\s*limit:\s*0\s*\}|Retryer\.NEVER_RETRY)$")
_NUMBERED = {
    "HTTPTransport": ("retries",),
    "AsyncHTTPTransport": ("retries",),
    "HTTPAdapter": ("max_retries",),
    "OpenAI": ("max_retries", "maxRetries"),
    "AsyncOpenAI": ("max_retries",),
    "Anthropic": ("max_retries", "maxRetries"),
    "AsyncAnthropic": ("max_retries",),
    "AzureOpenAI": ("max_retries", "maxRetries"),
    "Stripe": ("maxNetworkRetries",),
    "RetryClient": ("retry_options",),
    "ExponentialRetry": ("attempts",),
    "create": ("retry", "retry.limit"),
    "extend": ("retry", "retry.limit"),
}
"""Calls that make a client, with the arguments that say how often it tries again."""
_ALWAYS = frozenset(
    (
        "axiosRetry", "axios-retry", "fetchRetry", "fetch-retry", "RetryAgent",
        "AddStandardResilienceHandler", "setRetryStrategy", "setRetryHandler", "SetRetryCount",
        "RetryTransientMiddleware",
        "new_with_policy", "RetryExec", "AddStandardHedgingHandler",
    )
)  # fmt: skip
"""Calls that make a client try again, or are such a client."""
_TAKES_CLIENT = frozenset(("axiosRetry", "axios-retry", "fetchRetry", "fetch-retry"))
"""Those that are given the client which tries again."""
_MAKES = lazy_regex(
    r"^(new|New|create|client|resource|build|connect|from|make|init|default)|Client$|^(of|get_client)$"
)
"""Methods that make an object which lasts."""
_TOLD = lazy_regex(
    r"\b(?:max_?retries|retries|max_?network_?retries|retry_?max_?attempts|max_?retry_?attempts|retry_?count|max_?attempts"
    r"|total_?max_?attempts|retry_?attempts|num_?retries|numRetries)\b[\"']?\s*(?:[:=(,]|=>)\s*(\w[\w.]*)",
    re.IGNORECASE,
)
"""Settings that say how often a client tries again, with their value."""
_ONCE = lazy_regex(r"^(0|1|0L|1L|none|null|nil|false|undefined|zero)$", re.IGNORECASE)
_NO_CLIENT = lazy_regex(
    r"retry|retrier|backoff|attempt|policy|limiter|queue|worker|job|task|strategy|config$|options$|params$|settings$|error"
    r"|exception|request$|schema|model|consumer|listener|container|subscri|event|breaker",
    re.IGNORECASE,
)
"""Names of what is told how often to try, and sends no requests itself."""
_GO_CLIENT = lazy_regex(r"(^|[/.])(go-retryablehttp|retryablehttp)\.NewClient$")
_BY_DEFAULT = lazy_regex(r"^(got|ky)(\.(get|put|head|delete|default|extend))?$")
"""Clients that repeat what is safe to repeat unless they are told not to."""
_ASKS = lazy_regex(r"http|client|session|axios|got\b|\bky\b|api|sdk|rest", re.IGNORECASE)
_LEVELS = 2


@dataclass(frozen=True, slots=True)
class RetryingClient:
    """A client that tries again by itself."""

    span: Span
    names: frozenset[str]
    """Variables and fields that hold it, without `self.`; empty if they are not known."""
    owner: str = ""
    """The class that is given it, if only this one is."""


@lru_cache(maxsize=4)
def retrying_clients(facts: Facts) -> tuple[RetryingClient, ...]:
    """Return the clients of a text that try again by themselves."""
    if not facts.syntax.has_any(b"retr", b"resilience") and not facts.imports_any("got", "ky"):
        return ()
    return tuple(_clients(facts))


def _clients(facts: Facts) -> Iterator[RetryingClient]:
    for call in facts.calls:
        if call.method in _HANDLERS and facts.language == "csharp":
            if _is_told_to_retry(call, facts):
                found = CLIENT_OF.search(facts.text(call.span))
                yield RetryingClient(call.callee, frozenset(), "" if found is None else found[1])
        elif call.method in _ALWAYS or call.name in _ALWAYS or _GO_CLIENT.search(call.name):
            if not any(_NONE.match(each.value.text) for each in call.arguments if "retr" in each.name):
                first = call.argument(place=0) if call.name in _TAKES_CLIENT else None
                given = (
                    {first.value.text} if first is not None and first.value.shape == "name" else set[str]()
                )
                given.update(_held_by(call, facts))
                found = CLIENT_OF.search(facts.text(call.span)) if facts.language == "csharp" else None
                owner = "" if found is None else found[1]
                yield RetryingClient(call.span, _bare({*given, *call.assigned}), owner)
        elif call.method in _NUMBERED:
            limit = call.argument(*_NUMBERED[call.method])
            if call.method in ("create", "extend") and not _BY_DEFAULT.match(call.name):
                continue
            if limit is not None and not _NONE.match(limit.value.text):
                names = frozenset[str]() if call.method == "HTTPAdapter" else _bare({*call.assigned})
                yield RetryingClient(call.span, names)
        elif call.method == "install" and facts.language == "kotlin":
            if call.arguments and call.arguments[0].value.text == "HttpRequestRetry":
                yield RetryingClient(call.span, frozenset())
        elif call.name in ("tower.retry.RetryLayer.new", "feign.Retryer.Default") or (
            call.method == "Default" and "Retryer" in call.written
        ):
            yield RetryingClient(call.span, frozenset())
        elif _is_made_to_retry(call, facts):
            yield RetryingClient(call.span, _bare(_held_by(call, facts)))


def _held_by(call: Call, facts: Facts) -> set[str]:
    """Return what holds the object that a call makes, also in the middle of a chain or of arguments."""
    found = {*call.assigned}
    if not found and (scope := facts.function_of(call)) is not None:
        for each in facts.own(facts.assignments, scope):
            if each.value is not None and is_within(call.span, each.value.span):
                found.update(each.targets)
    return found


def _is_made_to_retry(call: Call, facts: Facts) -> bool:
    """Return whether a call makes a client, and says how often that tries again: more than once."""
    if not (call.constructs or _MAKES.search(call.method)) or not call.assigned:
        return False
    # `NewFromConfig` makes a client, not a configuration.
    names = (call.method.partition("From")[0], call.written.partition(".")[0], *call.assigned)
    if any(map(_NO_CLIENT.search, names)):
        return False
    text = facts.text(call.span)
    for each in call.positional:
        # The settings may stand in a variable.
        for made in facts.assignments_to(each.value.text, call) if each.value.shape == "name" else ():
            text += "\n" + facts.text(made.span)
    seen = _TOLD.findall(text)
    return bool(seen) and not all(map(_ONCE.match, seen))


def _is_told_to_retry(call: Call, facts: Facts) -> bool:
    """Return whether what a handler is given tries again: written here, or in a variable or function."""
    if call.method == "AddHttpMessageHandler":
        found = re.search(
            r"AddHttpMessageHandler<(\w*Retry\w*)>", facts.text(Span(call.callee.start, call.span.end))
        )
        return found is not None
    for each in call.arguments:
        text = each.value.text
        if _RETRY.search(text):
            return True
        name = re.match(r"[\w.]+", text)
        if name is None:
            continue
        last = name[0].rpartition(".")[2]
        made = [one.value.text for one in facts.assignments_to(last, call) if one.value is not None]
        made += [facts.text(scope.span) for scope in facts.functions_named(last)]
        if any(_RETRY.search(one) for one in made):
            return True
    return False


def _bare(names: set[str]) -> frozenset[str]:
    return frozenset(
        name.removeprefix("self.").removeprefix("this.") for name in names if re.fullmatch(r"[\w.]+", name)
    )


def reached_by(outer: Retry, facts: Facts) -> list[Scope]:
    """Return the functions of this text that run in every try, called in the body of a retry."""
    around = facts.named_function_of(outer)
    found, spans = list[Scope](), [outer.body]
    for _ in range(_LEVELS):
        following = list[Span]()
        for span in spans:
            for call in facts.within(facts.calls, span):
                for scope in _own(call, facts):
                    if scope is not around and scope not in found:
                        found.append(scope)
                        following.append(scope.body)
        spans = following
    return found


def _own(call: Call, facts: Facts) -> list[Scope]:
    """Return the only function of this text that a call may mean."""
    # In Go, the object of a method has a short name of its own: `c.send(ctx)`.
    is_go = facts.language == "go" and len(call.receiver_written) < 3
    if not is_go and call.receiver_written not in ("", "self", "this", "Self", "cls"):
        return []
    own = facts.functions_named(call.method)
    return [own[0]] if len(own) == 1 and (is_go or call in facts.callers_of(own[0])) else []


def client_in(outer: Retry, facts: Facts) -> RetryingClient | None:
    """Return the client that tries again by itself in every try of a retry."""
    clients, by_default = retrying_clients(facts), facts.imports_any("got", "ky")
    if not clients and not by_default:
        return None
    scopes = reached_by(outer, facts)
    spans = [outer.body, *(scope.body for scope in scopes)]
    asked = [call for span in spans for call in facts.within(facts.calls, span) if call is not outer.call]
    around = facts.named_function_of(outer)
    receivers = {name for call in asked for name in _objects(call)}
    for client in clients:
        if is_within(client.span, outer.place) or is_within(outer.place, client.span):
            continue
        if client.owner:
            owner = "" if around is None else around.owner.rpartition(".")[2]
            asks = any(_ASKS.search(call.receiver_written) for call in asked)
            if owner == client.owner.rpartition(".")[2] and asks:
                return client
            continue
        if any(is_within(client.span, span) for span in spans):
            continue
        if client.names & receivers:
            return client
        if _is_passed_on(client, facts) and any(
            (call.is_awaited or call.arguments) and _ASKS.search(call.receiver_written) for call in asked
        ):
            return client
    for call in asked if by_default and not facts.syntax.has_any(b"limit: 0", b"retry: 0") else ():
        asks = _BY_DEFAULT.match(call.name) is not None and call.method != "extend" and bool(call.arguments)
        if asks and "retry" not in facts.text_with_values(call):
            return RetryingClient(call.span, frozenset())
    return None


def _objects(call: Call) -> Iterator[str]:
    """Yield what a call is made on: of `self.client.messages.create()` also `client`."""
    whole = call.receiver_written.removeprefix("self.").removeprefix("this.")
    first, _, rest = whole.partition(".")
    yield whole
    yield first
    if len(first) < 3 and rest:  # The object of a method has a short name in Go: `s.db`.
        yield rest.partition(".")[0]


def _is_passed_on(client: RetryingClient, facts: Facts) -> bool:
    """Return whether a client has other names elsewhere: it is returned, mounted, or has none here."""
    if not client.names:
        return True
    return any(
        step.kind == "return"
        and any(re.search(rf"(?<![\w.]){re.escape(name)}\b", step.text) for name in client.names)
        for step in facts.steps
    )
