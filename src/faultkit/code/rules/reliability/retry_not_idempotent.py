"""Finds retries of calls that are not idempotent: sent twice, they act twice."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Place, Scope, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import EVERY_LANGUAGE, JAVASCRIPT, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.call_paths import callers_of_function, makers_of_parts
from faultkit.code.rules.vocabulary.fresh_keys import FreshKey, fresh_keys
from faultkit.code.rules.vocabulary.http_requests import http_requests, request_of
from faultkit.code.rules.vocabulary.idempotency_keys import KNOWN_AGAIN
from faultkit.code.rules.vocabulary.remote_calls import sql_calls
from faultkit.code.rules.vocabulary.repetition import retries
from faultkit.code.rules.vocabulary.retry_loops import Retry
from faultkit.code.rules.vocabulary.retrying_clients import (
    ADAPTERS,
    CLIENT_OF,
    POLICY_HANDLERS,
    REPEATS_EVERY_METHOD,
    SPARES_SOME,
)
from faultkit.code.rules.vocabulary.service_clients import service_calls, type_of_receiver
from faultkit.code.rules.vocabulary.unsent_failures import is_of_unsent

_PAYS = lazy_regex(
    r"^(?i:charge|pay|capture|refund|transfer|debit|payout|withdraw|disburse|purchase)([A-Z_]\w*)?$"
    r"|^(?i:place_?order|create_?(order|payment|charge|shipment|invoice|booking|transfer|payout)"
    r"|send_?(sms|email|mail|money))(Async)?$"
)
"""Calls of a client that charge, order or send."""
_ALL_METHODS = lazy_regex(r"^(None|False)$|['\"](POST|PATCH)['\"]")


def _check(facts: Facts) -> Iterator[Hit]:
    fresh = tuple(fresh_keys(facts))
    for key in fresh:
        differs = "differs with the number of the try" if key.is_counted else "is made anew in every try"
        yield Hit(key.span, f"this key {differs}, so that a repetition is taken for a new request", LIKELY)
    again = tuple(each for each in retries(facts) if not is_of_unsent(each, facts))
    found = [hit for hit in _direct(again, facts) if not any(_is_about(hit, key, facts) for key in fresh)]
    yield from found
    if not fresh:
        yield from _through_helpers(again, {hit.span for hit in found}, facts)


def _is_about(hit: Hit, key: FreshKey, facts: Facts) -> bool:
    """Return whether a finding is about a request whose key is made anew."""
    around, made = facts.named_function_of(Place(hit.span)), facts.named_function_of(Place(key.span))
    if around is None or around is made or around in key.scopes:
        return around is not None
    calls = () if made is None else callers_of_function(made, facts)
    return any(facts.named_function_of(call) is around for call in calls)


def _direct(again: tuple[Retry, ...], facts: Facts) -> Iterator[Hit]:
    if again:
        yield from _requests(again, facts)
        yield from _typed(again, facts)
        yield from _chained(again, facts)
    yield from _of_adapter(facts)
    yield from _of_client(facts)
    if facts.language == "csharp":
        yield from _of_handlers(facts)
    if again:
        yield from _acts(again, facts)


def _requests(again: tuple[Retry, ...], facts: Facts) -> Iterator[Hit]:
    """Yield a POST or PATCH in the body of a retry."""
    for request in http_requests(facts):
        if request.method not in ("POST", "PATCH"):
            continue
        for retry in again:
            if is_within(request.call.span, retry.body) and not _has_key(request.call, retry.body, facts):
                what = f"{request.call.written}() is a {request.method} and is tried again"
                is_unsure = _headers_from_elsewhere(request.call, facts) or _changes_nothing(request.call)
                yield Hit(request.call.span, what, POSSIBLE if is_unsure else LIKELY)


def _acts(again: tuple[Retry, ...], facts: Facts) -> Iterator[Hit]:
    """Yield payments, orders and inserted rows in the body of a retry."""
    seen = {request.call for request in http_requests(facts)}
    for call in service_calls(facts):
        if call in seen or not _PAYS.match(call.method):
            continue
        for retry in again:
            if (
                is_within(call.span, retry.body)
                and retry.call is not call
                and not _has_key(call, retry.body, facts)
            ):
                what = f"{call.written}() acts again each time it is tried"
                yield Hit(call.span, what, LIKELY)
                break
    for sql in sql_calls(facts):
        if sql.verb == "insert" and not KNOWN_AGAIN.search(sql.sql):
            for retry in again:
                if is_within(sql.call.span, retry.body) and "rollback" not in facts.text(retry.body).lower():
                    yield Hit(sql.call.span, f"{sql.call.written}() inserts and is tried again", LIKELY)


_CLIENT = lazy_regex(
    r"(^|[./])(httpx\.(Async)?Client|requests\.(sessions\.)?Session|aiohttp\.ClientSession|HttpClient|AxiosInstance|RestTemplate"
    r"|RestClient|WebClient|http\.Client|IFlurlClient|RestOperations)$"
)
_POSTS = lazy_regex(
    r"^(post|Post|patch|PostAsync|PostAsJsonAsync|PatchAsync|postFor(Object|Entity|Location))$"
)


def _typed(again: tuple[Retry, ...], facts: Facts) -> Iterator[Hit]:
    """Yield a POST through a field that is declared as a client, and `client.Do(request)` of Go."""
    seen = {request.call for request in http_requests(facts)}
    for call in facts.calls:
        if call in seen or not call.arguments or not call.receiver_written:
            continue
        request = request_of(call, facts) if facts.language == "go" and call.method == "Do" else None
        is_post = request is not None and re.search(
            r"MethodPost|MethodPatch|\"POST\"|\"PATCH\"", facts.text(request.span)
        )
        if not is_post and not (_POSTS.match(call.method) and _is_client(call, facts)):
            continue
        for retry in again:
            if is_within(call.span, retry.body) and not _has_key(call, retry.body, facts):
                sure = POSSIBLE if _changes_nothing(call) else LIKELY
                yield Hit(call.span, f"{call.written}() is a POST and is tried again", sure)
                break


def _chained(again: tuple[Retry, ...], facts: Facts) -> Iterator[Hit]:
    """Yield a POST at the start of a chain whose operator tries it again: `web.post()….retryWhen(…)`."""
    seen = {request.call for request in http_requests(facts) if request.method in ("POST", "PATCH")}
    for retry in again:
        call = retry.call
        if call is None or call.method not in ("retry", "retryWhen") or retry.body != call.span:
            continue
        sent = next(
            (each for each in facts.within(facts.calls, call.span) if each.method in ("post", "patch")), None
        )
        if sent is None or sent.arguments or any(is_within(each.span, call.span) for each in seen):
            continue
        if ".uri(" not in facts.text(call.span):
            continue  # `form.post()` is no request.
        if not _has_key(call, call.span, facts):
            yield Hit(sent.span, f"{sent.written}() is a POST and is tried again", LIKELY)


_NAMED = lazy_regex(r"(?:^|[._])(?:http|axios|client|api|rest|session|gateway)$|(?:Client|Http|Api)$")
_ADDRESS = lazy_regex(
    r"[$@fF]?[\"'`](?:/|https?:|\$?\{)|\w*(?:url|Url|URL|uri|Uri|endpoint|path)\b", re.IGNORECASE
)


def _is_client(call: Call, facts: Facts) -> bool:
    type_ = type_of_receiver(call, facts)
    if type_:
        return _CLIENT.search(type_) is not None
    first = call.argument(place=0)
    named = _NAMED.search(call.receiver_written) is not None
    return named and first is not None and _ADDRESS.match(first.value.text) is not None


_MATTERS = lazy_regex(
    r"payment|charge|refund|transfer|payout|checkout|withdraw|purchase|place_?order|create_?order|/orders|invoice",
    re.IGNORECASE,
)
_POST_TEXT = lazy_regex(
    r"\.POST\(|MethodPost\b|HttpMethod\.(?:POST|Post)\b|method:\s*['\"]POST|['\"]POST['\"]|Method::POST"
)


def _through_helpers(again: tuple[Retry, ...], seen: set[Span], facts: Facts) -> Iterator[Hit]:
    """Yield retries of what pays or orders, whose POST is written in other functions of the text."""
    if not again:
        return
    posts = [request.call for request in http_requests(facts) if request.method == "POST"]
    posts += [each for each in facts.calls_with_method(_POSTS.match) if _is_client(each, facts)]
    for retry in again:
        scope = facts.named_function_of(retry)
        if retry.how == "decorator" or scope is None or any(is_within(each, scope.span) for each in seen):
            continue
        reached = _reached(scope, facts)
        sends = any(is_within(call.span, each.span) for call in posts for each in reached) or any(
            _POST_TEXT.search(facts.text(each.body)) for each in reached
        )
        if sends and any(
            _MATTERS.search(f"{each.name} {facts.text(each.body)}") for each in (scope, *reached)
        ):
            if KNOWN_AGAIN.search(facts.whole_text):
                return
            yield Hit(retry.span, "this sends a POST again that pays or orders, without a key", LIKELY)
            return


def _reached(scope: Scope, facts: Facts) -> list[Scope]:
    """Return functions of this text that a function calls, and those that these call."""
    found: list[Scope] = []
    for level in ([scope], found):
        for each in tuple(level):
            names = {call.method for call in facts.within(facts.calls, each.body)}
            found += [one for one in facts.functions_named(*names) if one not in found and one is not scope]
    return found


def _of_adapter(facts: Facts) -> Iterator[Hit]:
    """Yield retries of a client that are told to repeat every method, in a text that sends a POST."""
    adapters = facts.calls_of_method(*ADAPTERS)
    if not adapters:
        return
    posts = [request for request in http_requests(facts) if request.method in ("POST", "PATCH")]
    # A session from elsewhere: `session.post(…)`.
    others = [
        call for call in facts.calls_of_method("post", "patch") if call.receiver_written and call.arguments
    ]
    if (not posts and not others) or KNOWN_AGAIN.search(facts.whole_text):
        return
    for call in adapters:
        scope = facts.named_function_of(call)
        if scope is not None and _EVENTS.search(scope.name):
            continue
        given = call.argument("allowed_methods", "method_whitelist")
        condition = call.argument("retryCondition")
        if given is not None and _ALL_METHODS.search(given.value.text):
            yield Hit(given.value.span, "this repeats every request that fails, a POST as well", LIKELY)
        elif condition is not None and _asks_no_method(condition.value.text, facts):
            yield Hit(condition.value.span, "this repeats every request that fails, a POST as well", LIKELY)


def _asks_no_method(condition: str, facts: Facts) -> bool:
    """Return whether a function that decides about a retry is known here, and asks for no method."""
    own = facts.functions_named(condition) if condition.isidentifier() else ()
    text = facts.text(own[0].span) if own else condition
    is_known = bool(own) or "=>" in text or text.startswith("function")
    return is_known and not _ASKS_METHOD.search(text)


_ASKS_METHOD = lazy_regex(r"\bmethods?\b|[iI]dempot|[sS]afe")


_POSTS_TO = lazy_regex(
    r"\.(?:post|Post\w*|POST)\(\s*([^)\n]*)|MethodPost\s*,([^)\n]*)|@RequestLine\((\s*\"POST [^)\n]*)"
)
_HARMLESS = lazy_regex(
    r"search|query|graphql|token|oauth|auth|valid|lookup|quote|estimate|login|_bulk_get|rpc", re.I
)
"""Addresses whose POST changes nothing, or that are no address at all."""


_EVENTS = lazy_regex(r"web_?hook|call_?back|telemetry|ingest|analytics", re.IGNORECASE)
"""Addresses of what is told of events, at least once."""


def _changes_nothing(call: Call) -> bool:
    """Return whether the address of a POST says that it only asks, or tells a subscriber at least once."""
    first = call.argument("url", place=0)
    return first is not None and (
        _HARMLESS.search(first.value.text) is not None or _EVENTS.search(first.value.text) is not None
    )


def _of_client(facts: Facts) -> Iterator[Hit]:
    """Yield the POSTs of a text whose client repeats every request that fails."""
    if not facts.syntax.has_any(b"retry", b"resilience") or KNOWN_AGAIN.search(facts.whole_text):
        return
    text = facts.whole_text
    if REPEATS_EVERY_METHOD.search(text) is None or SPARES_SOME.search(text):
        return
    for found in _POSTS_TO.finditer(text):
        address = found[1] or found[2] or found[3] or ""
        if not re.search(r"[\"'`]", address) or _HARMLESS.search(address):
            continue
        place = facts.syntax.place_of(found)
        is_alone = found[3] is not None or facts.language in JAVASCRIPT
        if is_alone or facts.function_of(Place(place)) is not None:
            yield Hit(place, "this is a POST, and its client repeats every request that fails", LIKELY)


def _of_handlers(facts: Facts) -> Iterator[Hit]:
    """Yield the POSTs of a typed client whose handler repeats each request that fails (C#)."""
    for call in facts.calls_of_method(*POLICY_HANDLERS):
        given, client = call.argument(place=0), CLIENT_OF.search(facts.text(call.span))
        if given is None or client is None or "HttpMethod" in facts.text(call.span):
            continue
        made = [each.value.text for each in facts.assignments_to(given.value.text, call) if each.value]
        if not any("Retry" in text for text in (given.value.text, *made)):
            continue
        for each in facts.calls:
            scope = facts.named_function_of(each) if _POSTS.match(each.method) else None
            if scope is None or scope.owner.rpartition(".")[2] != client[1].rpartition(".")[2]:
                continue
            if not KNOWN_AGAIN.search(facts.text(scope.span)):
                what = f"{each.written}() is a POST, and {call.method}() tries it again"
                yield Hit(each.span, what, LIKELY)


_FRESH = lazy_regex(
    r"(idempot|dedup|request[-_]?id)[\w\-\"'\])]*\s*[:=,(]+\s*[^\n]*?"
    r"(uuid4|uuid1|randomUUID|NewString\(|uuid\.New\(|NewGuid|new_v4|now_v7|nanoid\(|ulid|uuidv4\(|\bv4\(\))",
    re.IGNORECASE,
)
"""A key that is made anew."""


def _has_key(call: Call, tried: Span, facts: Facts) -> bool:
    """Return whether a key is sent; one that each try makes anew is none."""
    inside = facts.text(tried)
    around = facts.loops_around(call)
    if _FRESH.search(facts.text(around[-1].body) if around else inside):
        return KNOWN_AGAIN.search(_FRESH.sub("", inside)) is not None
    if any(KNOWN_AGAIN.search(each) for each in (inside, facts.text_with_values(call))):
        return True
    if any(KNOWN_AGAIN.search(facts.text(each.body)) for each in makers_of_parts(call, facts)):
        return True
    return facts.syntax.has_any(b"idempot") and any(
        _has_key_field(each.method, facts) for each in facts.within(facts.calls, tried) if each.constructs
    )


def _has_key_field(name: str, facts: Facts) -> bool:
    """Return whether a type of this text has a field for a key: `record Order(String idempotencyKey)`."""
    found = re.search(
        rf"\b(?:class|record|struct|interface|type)\s+{re.escape(name)}\b[^;]{{0,600}}?idempot",
        facts.whole_text,
        re.IGNORECASE,
    )
    return found is not None


def _headers_from_elsewhere(call: Call, facts: Facts) -> bool:
    """Return whether the headers come from a parameter, so that a key may be among them."""
    given = call.argument("headers")
    if given is None or given.value.shape != "name":
        return call.spreads
    return not facts.assignments_to(given.value.text, call)


RULE = Rule(
    id="FK-R008",
    slug="retry-of-non-idempotent-call",
    title="Retry of a call that is not idempotent",
    why="When only the answer was lost, the work was done: the retry charges, orders or inserts a "
    "second time.",
    fix="Send an idempotency key with every try, or do not retry this call.",
    kind="reliability",
    severity="high",
    languages=EVERY_LANGUAGE,
    check=_check,
)
