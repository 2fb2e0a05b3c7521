"""Finds HTTP responses that are used without a check of their status.

Evidence that it matters: an answer is read or dropped where nothing handles that it is no answer. A read
within a try that handles its failure, beside a look at an error in the body, for a caller who gets the whole
body, or in a program of one user is `POSSIBLE`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Access, Call, Facts
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.reliability.response_not_closed import CLOSES
from faultkit.code.rules.rule import EVERY_LANGUAGE, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.command_lines import is_command_line, is_for_one_user
from faultkit.code.rules.vocabulary.http_requests import HttpRequest, http_requests
from faultkit.code.rules.vocabulary.threaded_requests import threaded_requests

_READS = frozenset(
    [
        "json",
        "text",
        "content",
        "read",
        "body",
        "data",
        "iter_content",
        "iter_lines",
        "aread",
        "bytes",
        "ReadAsStringAsync",
        "ReadAsStreamAsync",
        "ReadAsByteArrayAsync",
        "ReadFromJsonAsync",
    ]
)
_CHECKS = lazy_regex(
    r"\b(raise_for_status|error_for_status\w*|EnsureSuccessStatusCode|IsSuccessStatusCode|isSuccessful|code|status_code|is_success|is_error|StatusCode|statusCode|ok|status|reason)\b"
)

_VALIDATES = lazy_regex(
    r"\bexpectSuccess\s*=\s*true\b|\bHttpResponseValidator\b|\baddDefaultResponseValidation\b"
)
"""What a client of Ktor is configured with to throw for every bad status."""


def _check(facts: Facts) -> Iterator[Hit]:
    for request in http_requests(facts):
        yield from _unchecked(request, request.call.written, request.call.span, facts)
    for each in threaded_requests(facts):
        yield from _unchecked(each.request, each.written, each.span, facts)
    if facts.imports_any("retrofit2.Response"):
        yield from _retrofit(facts)
    if facts.imports_any("axios"):
        yield from _any_status(facts)
    if facts.imports_any("undici"):
        yield from _undici(facts)


def _unchecked(request: HttpRequest, written: str, span: Span, facts: Facts) -> Iterator[Hit]:
    """Yield a request whose response is read or dropped whatever its status is."""
    if request.library.status_raises or request.library.name in ("http", "got"):
        return
    if _is_parsed(request, facts):
        return
    if _is_read(request, facts) and not _is_checked(request, facts):
        what = f"the answer of {written}() is used whatever its status is"
        is_open = is_command_line(facts) or _is_handled(request, facts) or _is_for_others(request, facts)
        yield Hit(span, what, POSSIBLE if is_open else LIKELY)
    elif _is_dropped(request, facts) and not _is_checked(request, facts):
        what = f"the response of {written}() is not checked, so a refusal goes unnoticed"
        is_open = is_for_one_user(facts) or _is_best_effort(request.call, facts)
        yield Hit(span, what, POSSIBLE if is_open else LIKELY)


_ERROR_IN_BODY = lazy_regex(r"[\"'.](?:errors?|success|failed|error_?(?:code|message)|message)\b")
_COMMENT = lazy_regex(r"(?:^|\s)(?:#|//)\s.*$", re.MULTILINE)


def _is_handled(request: HttpRequest, facts: Facts) -> bool:
    """Return whether a try around each read handles an error page, or the body is asked for an error."""
    call = request.call
    uses: list[Call | Access] = [*facts.calls_on(call), *facts.accesses_on(call)]
    reads = [each for each in uses if each.name.rpartition(".")[2] in _READS]
    if reads and all(_is_caught(each, facts) for each in reads):
        return True
    scope = facts.named_function_of(call)
    if scope is None:
        return False
    users = [scope, *(facts.named_function_of(each) for each in facts.callers_of(scope))]
    texts = (_COMMENT.sub("", facts.text(each.body)) for each in users if each is not None)
    return any(map(_ERROR_IN_BODY.search, texts))


_WHOLE = lazy_regex(r"[\s)!]*(?:as\s[^;\n]*?)?[;,)\s}]*(?:(?:#|//|/\*)[^\n]*)?(?:\n|$)")
"""What may follow a body that is returned as it is, with a comment."""


def _is_for_others(request: HttpRequest, facts: Facts) -> bool:
    """Return whether the status is left to others: a function returns the body as it is, a program of one
    user shows it, or what reads it into a type refuses an error page. Not in a text that looks at
    the status of other requests, nor for a body that answers a request, with status 200."""
    call = request.call
    uses: list[Call | Access] = [*facts.calls_on(call), *facts.accesses_on(call)]
    reads = [each for each in uses if each.name.rpartition(".")[2] in _READS]
    is_left = (
        is_for_one_user(facts)
        or (bool(reads) and all(_is_typed(each, facts) for each in reads))
        or (facts.route_of(call) is None and any(_is_whole_result(each, facts) for each in reads))
        or _is_read_for_caller(call, facts)
    )
    # The request itself is not checked.
    return is_left and not _checks_any(facts)


@lru_cache(maxsize=4)
def _checks_any(facts: Facts) -> bool:
    """Return whether the text looks at the status of any request."""
    return any(_is_checked(each, facts) for each in http_requests(facts))


def _is_typed(read: Call | Access, facts: Facts) -> bool:
    """Return whether a body is read into a type whose fields an error page lacks (Rust, Kotlin)."""
    wanted = {"rust": "json", "kotlin": "body"}.get(facts.language)
    return isinstance(read, Call) and read.method == wanted


def _is_read_for_caller(call: Call, facts: Facts) -> bool:
    """Return whether a function returns the whole body that it reads: `io.ReadAll(resp.Body)` (Go)."""
    scope, answer = facts.function_of(call), call.assigned[0] if call.assigned else ""
    if facts.language != "go" or scope is None:
        return False
    reads = [
        each
        for each in facts.own(facts.calls, scope)
        if each.name == "io.ReadAll" and [one.value.text for one in each.positional] == [f"{answer}.Body"]
    ]
    names = {name for each in reads for name in each.assigned[:1]}
    return any(each.is_returned for each in reads) or any(
        step.kind == "return" and step.text.partition(",")[0].strip() in names
        for step in facts.own(facts.steps, scope)
    )


def _is_whole_result(read: Call | Access, facts: Facts) -> bool:
    """Return whether a function returns what is read, and nothing in it."""
    ends = read.span.end
    if not isinstance(read, Call):
        return any(
            step.kind == "return"
            and step.span.start < read.span.start
            and step.text.strip(" ;") == read.written
            for step in facts.own(facts.steps, facts.function_of(read))
        )
    last = next((each for each in facts.calls_on(read) if each.is_returned), read)
    ends = last.span.end
    return last.is_returned and _WHOLE.match(facts.text(Span(ends, ends + 120))) is not None


_NO_JSON = ("ValueError", "DecodeError", "SyntaxError", "JsonException", "JSONException", "ParseException")


def _is_caught(read: Call | Access, facts: Facts) -> bool:
    """Return whether a handler takes the failure to read an error page, not only errors of the client."""
    handlers = [handler for each in facts.tries_around(read) for handler in each.handlers]
    return any(each.is_broad or any(name.endswith(_NO_JSON) for name in each.types) for each in handlers)


_SCHEMA = lazy_regex(r"(?:[sS]chema|\b[A-Z]\w*)\.(?:parse|safeParse|model_validate|parse_obj)(?:Async)?$")


def _is_parsed(request: HttpRequest, facts: Facts) -> bool:
    """Return whether a schema checks what is read of an answer: `Token.parse(await res.json())`."""
    return any(
        each.method == "json" and any(_SCHEMA.search(around.written) for around in facts.calls_around(each))
        for each in facts.calls_on(request.call)
    )


_KEPT_ON = frozenset(("context", "with_context", "map_err", "unwrap", "expect", "close", "closeQuietly"))
"""What is called on a response, or on an error in its place, that looks at no status."""
_WRITES = ("POST", "PUT", "PATCH", "DELETE")


def _undici(facts: Facts) -> Iterator[Hit]:
    """Yield `const { body } = await request(url)` of undici in a function that asks for no status."""
    for call in facts.calls_named("undici.request"):
        scope = facts.function_of(call)
        if scope is None or not call.assigned or "statusCode" in facts.text(scope.body):
            continue
        if re.search(r"\bbody\b", facts.text(scope.body)) and "throwOnError" not in facts.text(call.span):
            yield Hit(call.span, f"the answer of {call.written}() is used whatever its status is", LIKELY)


def _is_dropped(request: HttpRequest, facts: Facts) -> bool:
    """Return whether the response of a write is unused. Calls that are not awaited belong to another rule."""
    call = request.call
    if request.library.name == "net/http":
        return request.method in _WRITES and _is_only_closed(call, facts)
    if request.library.name == "superagent":
        return False
    later = facts.calls_on(call)
    if later and not call.assigned and all(each.method in _KEPT_ON for each in later):
        return request.method in _WRITES and any(each.is_discarded for each in later)
    if len(call.assigned) == 1 and request.method in _WRITES and not later:
        scope, name = facts.function_of(call), call.assigned[0]
        used = "" if scope is None else facts.text(scope.body)
        return name.isidentifier() and len(re.findall(rf"(?<![\w.]){re.escape(name)}\b", used)) == 1
    if not call.is_discarded:
        return False
    return request.method in ("POST", "PUT", "PATCH", "DELETE") and (
        call.is_awaited or request.library.name in ("requests", "urllib3", "java.net.http", "httpx")
    )


_STATISTICS = lazy_regex(
    r"telemetry|usage|analytics|statistic|metric|heartbeat|beacon|fail\w*_?report|track(?!er)|feedback",
    re.IGNORECASE,
)


def _is_best_effort(call: Call, facts: Facts) -> bool:
    """Return whether a request may fail unseen: it sends statistics, or a handler drops its failure."""
    scope = facts.named_function_of(call)
    if scope is not None and _STATISTICS.search(f"{scope.owner} {scope.short_name}"):
        return True
    handlers = [handler for each in facts.tries_around(call) for handler in each.handlers]
    return any(not _CODE.search(facts.text(each.body)) for each in handlers)


_CODE = lazy_regex(r"^(?!\s*(?://|/\*|#|\*))[^\n]*[\w(]", re.MULTILINE)


def _is_only_closed(call: Call, facts: Facts) -> bool:
    """Return whether a response of Go is thrown away, or its body is closed and nothing else is done."""
    scope = facts.function_of(call)
    if scope is None or len(call.assigned) != 2:
        return False
    name = call.assigned[0]
    if name == "_":
        return True
    uses = re.findall(rf"(?<![\w.]){re.escape(name)}\b[\w.]*", facts.text(scope.body))
    return all(each in (name, f"{name}.Body.Close", f"{name}.Body") for each in uses) and (
        uses.count(name) == 1 and f"{name}.Body.Close" in uses
    )


_LOOKED_AT = lazy_regex(
    r"\b(isSuccessful|errorBody|HttpException|raw\(\)|isSuccess)\b|\.code\(\)|\.code\b|== ?null|!= ?null"
)


def _retrofit(facts: Facts) -> Iterator[Hit]:
    """Yield bodies of Retrofit's answers, which are null for every bad status, whose status is not read."""
    for call in facts.calls_of_method("body"):
        scope = facts.named_function_of(call)
        if scope is None or call.arguments or not re.fullmatch(r"[\w.()]+", call.receiver_written):
            continue
        if not _LOOKED_AT.search(facts.text(scope.body)):
            what = f"{call.written}() is null for every bad status, and the status is not looked at"
            yield Hit(call.span, what, LIKELY)


_TAKES_ALL = lazy_regex(r"=>\s*true\b|^null$|return true\b")


def _any_status(facts: Facts) -> Iterator[Hit]:
    """Yield requests of a client of axios that takes every status for success, if none is read."""
    clients = [
        each
        for each in facts.calls
        if (given := each.argument("validateStatus")) is not None and _TAKES_ALL.search(given.value.text)
    ]
    if not clients or re.search(r"\bstatus\b", facts.whole_text):
        return
    for client in clients:
        sent = [each for each in facts.calls_on(client) if each.is_awaited] or [client]
        for call in sent:
            what = f"{call.written}() takes every status for success, and no status is looked at"
            yield Hit(call.span, what, LIKELY)


def _is_read(request: HttpRequest, facts: Facts) -> bool:
    call = request.call
    if request.library.name == "net/http":
        name = call.assigned[0] if call.assigned else ""
        scope = facts.function_of(call)
        if scope is None or not name or name == "_":
            return False
        used = [
            each.written
            for each in facts.within(facts.accesses, scope.span)
            if not facts.is_deferred(each) and not any(map(_closes, facts.calls_around(each)))
        ]
        used += [each.written for each in facts.within(facts.calls, scope.span)]
        return any(each.startswith(f"{name}.Body") and each != f"{name}.Body.Close" for each in used)
    used = [each.method for each in facts.calls_on(call)]
    used += [each.name.rpartition(".")[2] for each in facts.accesses_on(call)]
    return any(each in _READS for each in used)


def _closes(call: Call) -> bool:
    return CLOSES.search(call.written) is not None


_OF_STATUS = lazy_regex(r"(^|\.)((Redirect|Server)?ResponseException|ClientRequestException)$")
"""Errors that a client of Ktor raises for bad statuses, where it is told to."""


def _is_checked(request: HttpRequest, facts: Facts) -> bool:
    call = request.call
    if facts.language == "kotlin" and any(
        _OF_STATUS.search(name)
        for each in facts.tries_around(call)
        for handler in each.handlers
        for name in handler.types
    ):
        return True
    client = request.client
    if request.library.name == "Ktor":
        made = facts.calls_named("io.ktor.client.HttpClient")
        # A client that is made elsewhere may be told there to raise for bad statuses.
        if not made or (client is None and all(_VALIDATES.search(facts.text(each.span)) for each in made)):
            return True
    if request.library.name == "aiohttp" and (
        call.has("raise_for_status") or (client and client.has("raise_for_status"))
    ):
        return True
    if client is not None and client.has("event_hooks", "raise_for_status"):
        return True
    if client is not None and _VALIDATES.search(facts.text(client.span)):
        return True
    later = [each.written for each in facts.calls_on(call)] + [
        each.written for each in facts.accesses_on(call)
    ]
    later += [each.name for each in facts.calls_on(call)] + [each.name for each in facts.accesses_on(call)]
    if any(_CHECKS.search(each.rpartition(").")[2] or each) for each in later):
        return True
    # The whole response may be passed to a function that checks it.
    for name in call.assigned[:1]:
        scope = facts.function_of(call)
        if scope is None:
            return False
        for other in facts.within(facts.calls, scope.span):
            if other is not call and any(argument.value.text == name for argument in other.arguments):
                return True
    return False


RULE = Rule(
    id="FK-R026",
    slug="unchecked-response-status",
    title="Response status not checked",
    why="An error page is read as data: what fails is the parser, or nothing, and wrong values go on.",
    fix="Check the status first: raise_for_status(), if (!res.ok) throw, resp.StatusCode.",
    kind="reliability",
    severity="medium",
    languages=EVERY_LANGUAGE,
    check=_check,
)
