"""Finds clients of HTTP and gRPC that are created for one request, so that connections are not reused.

Evidence that it matters: each request, message or item of some data makes one, or a method with arguments
makes it, sends with it and drops it. Plain functions whose callers are not seen, requests of Python without
a session outside of loops, clients that Python code makes for jobs, and those made once in a process or for
a login, are `POSSIBLE`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.facts.facts import Placed
from faultkit.code.rules.rule import CERTAIN, EVERY_LANGUAGE, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary import client_names
from faultkit.code.rules.vocabulary.built_requests import chain
from faultkit.code.rules.vocabulary.client_factories import (
    is_for_many,
    is_kept_in_request,
    is_used_by_method,
    is_wrapped_result,
    read_of_property,
    stored_factory_calls,
)
from faultkit.code.rules.vocabulary.command_lines import is_command_line
from faultkit.code.rules.vocabulary.data_sizes import is_over_data
from faultkit.code.rules.vocabulary.grpc_clients import WORDS as GRPC_WORDS
from faultkit.code.rules.vocabulary.grpc_clients import is_grpc_client
from faultkit.code.rules.vocabulary.http_requests import http_requests, library_of
from faultkit.code.rules.vocabulary.one_use import is_ended_here, is_for_one_use
from faultkit.code.rules.vocabulary.other_hosts import (
    asks_items,
    goes_to_given_host,
    names_host,
    posts_to_items,
)
from faultkit.code.rules.vocabulary.own_classes import is_of_own_package
from faultkit.code.rules.vocabulary.repetition import frequency_of, runs_once
from faultkit.code.rules.vocabulary.request_scopes import request_scope_of
from faultkit.code.rules.vocabulary.seldom_calls import runs_seldom_here

_TEST = lazy_regex(r"(^|\.)test$|^test_case|^(Fact|Theory|TestMethod|Test)$")
_OPTIONS_ONLY = frozenset(("axios.create", "got.extend"))
"""They hold options; the connections are those of the agent, and without one those of the global agent."""
_AGENTS = ("agent", "httpAgent", "httpsAgent", "dispatcher")


def _check(facts: Facts) -> Iterator[Hit]:
    for hit in _made(facts):
        is_sure = hit.confidence != LIKELY or (_repeats(hit, facts) and not runs_seldom_here(hit, facts))
        yield hit if is_sure else replace(hit, confidence=POSSIBLE)


def _repeats(place: Placed, facts: Facts) -> bool:
    """Return whether a place runs again and again: for each request, message or item, or as an operation
    with arguments of an object."""
    scope = facts.named_function_of(place)
    if scope is None or frequency_of(place, facts) is not None:
        return True
    return scope.is_method and any(each.name not in _NO_DATA for each in scope.parameters)


_NO_DATA = frozenset(("self", "cls", "ctx", "ct", "token", "cancellationToken"))
"""Parameters that are the object itself, or end a call."""


def _made(facts: Facts) -> Iterator[Hit]:
    is_script = facts.syntax.language.family == "javascript"
    for call in facts.calls:
        if call.is_decorator or _is_derived(call):
            continue
        is_grpc = is_grpc_client(call, facts)
        is_client = is_grpc or _is_client(call, facts)
        if is_client and b"WebAssemblyHostBuilder" in facts.syntax.source:
            continue  # In a browser, a scope lasts as long as the program.
        if is_client and (by := request_scope_of(call, facts)):
            yield Hit(call.span, f"{call.written}() connects anew: {by}", CERTAIN)
            continue
        if facts.function_of(call) is None:
            continue
        often = is_grpc and facts.language not in ("python", "go")
        if is_client and (use := _use_of_factory(call, facts, often)) is not None:
            user = facts.named_function_of(use)
            by = "" if user is None else f" of {user.short_name}()"
            what = f"{use.written}() makes a new client, by {call.written}(), for each call{by}"
            # A change of Python code begins where the client is made; there is none of one with arguments.
            is_plain = facts.language == "python" and not _takes_arguments(call, facts)
            is_seldom = facts.language == "python" and not frequency_of(use, facts)
            sure = POSSIBLE if is_seldom or _keeps_nothing(call) else LIKELY
            yield Hit(call.span if is_plain else use.span, what, sure)
            continue
        if facts.language == "python":
            yield from _python(call, is_client, facts)
        elif is_grpc and not is_script:
            if _is_new_channel(call, facts):
                yield Hit(call.span, f"{call.written}() makes a new channel and connection each time")
        elif facts.language == "go":
            yield from _go(call, facts)
        elif facts.language == "rust":
            if client_names.RUST.match(call.name) and _is_for_one(call, facts):
                yield Hit(call.span, f"{call.written}() makes a new client, with new connections, each time")
        elif facts.language == "csharp":
            if call.constructs and call.name in client_names.CSHARP and _is_for_one(call, facts):
                what = f"new {call.written}() for one use leaves its sockets behind for minutes"
                yield Hit(call.span, what, LIKELY, "high" if frequency_of(call, facts) == "request" else None)
        elif facts.language == "kotlin":
            if is_client and (_is_for_one(call, facts) or _is_closed_here(call, facts)):
                yield Hit(call.span, f"{call.written}() makes a new client, with new connections, each time")
        elif facts.language == "java":
            if (
                client_names.JAVA.search(call.name)
                and not is_of_own_package(call, facts)
                and _is_short_lived(call, facts)
            ):
                yield Hit(call.span, f"{call.written}() makes a new client, with new connections, each time")
        elif (_is_of_scripts(call) or is_grpc) and (
            _is_for_request(call, facts)
            or ((frequency_of(call, facts) or _is_used_here(call, facts)) and _is_short_lived(call, facts))
        ):
            what = f"{call.written}() makes a new client, with new connections, each time"
            yield Hit(call.span, what, POSSIBLE if _keeps_nothing(call) else LIKELY)


_DERIVED = lazy_regex(r"OkHttpClient\b.*\.newBuilder\(\)")


def _is_derived(call: Call) -> bool:
    """Return whether a client of OkHttp is made from another, whose connections it shares."""
    return "OkHttpClient" in call.name and _DERIVED.search(call.name) is not None


def _is_client(call: Call, facts: Facts) -> bool:
    """Return whether it makes a client of another protocol than gRPC."""
    if facts.language == "python":
        return call.name in client_names.PYTHON
    if facts.language == "go":
        return call.name in client_names.GO and _owns_transport(call, facts)
    if facts.language == "csharp":
        return call.constructs and call.name in client_names.CSHARP
    if facts.language == "java" and call.method in ("create", "custom", "builder"):
        return False  # What it returns makes the client later.
    by_language = {
        "rust": client_names.RUST.match,
        "kotlin": client_names.KOTLIN.match,
        "java": client_names.JAVA.search,
    }
    find = by_language.get(facts.language)
    if find is not None:
        return find(call.name) is not None and not is_of_own_package(call, facts)
    if call.name in _OPTIONS_ONLY:
        return any(_is_made_here(each, call, facts) for each in _AGENTS)
    return _is_of_scripts(call)


def _keeps_nothing(call: Call) -> bool:
    """Return whether the client opens a connection for each use anyway."""
    return call.name == client_names.MAIL and not call.has("pool")


def _is_of_scripts(call: Call) -> bool:
    """Return whether it makes one of the clients of JavaScript."""
    return call.name in client_names.JAVASCRIPT or client_names.AWS.match(call.name) is not None


def _takes_arguments(call: Call, facts: Facts) -> bool:
    """Return whether the function that makes a client is given what the client is made of."""
    scope = facts.named_function_of(call)
    return scope is not None and any(each.name not in ("self", "cls") for each in scope.parameters)


def _is_new_channel(call: Call, facts: Facts) -> bool:
    """Return whether a channel of gRPC is made again and again, and kept nowhere."""
    if is_for_one_use(call, facts):
        return True
    is_kept_here = call.is_argument or not _is_short_lived(call, facts)
    return facts.language in ("csharp", "rust") and not is_kept_here and frequency_of(call, facts) is not None


_MAKES = lazy_regex(r"\bnew\b|\w\{|\b(new|make|create|build|clone)\w*\(", re.IGNORECASE)


def _is_made_here(option: str, call: Call, facts: Facts) -> bool:
    """Return whether the value of an option is made in the function around a call, and not shared."""
    given, scope = call.argument(option), facts.named_function_of(call)
    if given is None or scope is None:
        return False
    made = {name for each in facts.within(facts.assignments, scope.body) for name in each.targets}
    made -= {each.name for each in scope.parameters}
    return _MAKES.search(given.value.text) is not None or not made.isdisjoint(
        re.findall(r"\w+", given.value.text)
    )


def _owns_transport(call: Call, facts: Facts) -> bool:
    """Return whether a client of Go has connections of its own: without a transport it shares the default."""
    if "DisableKeepAlives: true" in " ".join(facts.text(call.span).split()):
        return False  # No connection is to be kept.
    return call.name.endswith("Transport") or _is_made_here("Transport", call, facts)


_KEEPS = lazy_regex(
    r"(?<!disable)(?<!no-)(?<!disable_)cache|lazy|once|singleton|is None|== ?null|=== ?undefined|\?\?=|\|\|="
    r"|== ?nil|get_or_init",
    re.IGNORECASE,
)


def _use_of_factory(call: Call, facts: Facts, often: bool = False) -> Call | None:
    """Return a call of the function around a call, whose new client is used and kept nowhere.

    With `often`, only one that runs for each request or message, or whose client is ended or used at once
    there."""
    scope = facts.named_function_of(call)
    callers = stored_factory_calls(call, facts)
    if not callers:
        if scope is not None and call.is_returned and (used := read_of_property(scope, facts)) is not None:
            return None if _KEEPS.search(facts.text(scope.span)) else used
        if scope is None or not scope.name or scope.route is not None or not _is_result(call, scope, facts):
            return None
        if scope.decorators or _KEEPS.search(facts.text(scope.span)):
            return None
        callers = facts.callers_of(scope)
    for caller in callers:
        user = facts.named_function_of(caller)
        if user is None or user is scope or runs_once(user) or user.short_name in _MAKERS:
            continue
        frequency = frequency_of(caller, facts)
        is_often = frequency in ("request", "message") or is_ended_here(caller, facts)
        if often and not is_often and not is_used_by_method(caller, user, scope, facts):
            continue
        if frequency == "request" and is_kept_in_request(caller, facts):
            return caller
        kept = caller.is_returned and not facts.calls_on(caller)
        if kept or any("." in name for name in caller.assigned):
            continue
        if frequency != "request" and is_for_many(caller, facts):
            continue
        if caller.is_argument:
            if _is_for_request(caller, facts):
                return caller
            continue
        if _keeps(user, caller, facts) or not {*caller.assigned}.isdisjoint(facts.file_names):
            continue
        if caller.is_managed or facts.calls_on(caller) or caller.assigned:
            return caller
    return None


_WORDS_OF_KEEPING = lazy_regex(
    r"(?<!disable)(?<!no-)(?<!disable_)cache|lazy|\bonce\b|singleton|get_or_init|\?\?=|\|\|=", re.IGNORECASE
)
_NOT_CODE = lazy_regex(r"\"(?:\\.|[^\"\\\n])*\"|//[^\n]*|/\*.*?\*/", re.DOTALL)
_MISSING = lazy_regex(r"([\w.]+)(?:\s+is\s+None|\s*===?\s*(?:null|undefined|nil))\b")


def _keeps(user: Scope, made: Call, facts: Facts) -> bool:
    """Return whether a function that calls a factory keeps what it gets, or makes it only if it has none.

    Whether an answer or another value is missing says nothing of the client."""
    text = _NOT_CODE.sub("", facts.text(user.span))
    if _WORDS_OF_KEEPING.search(text):
        return True
    missing = {found[1].rpartition(".")[2] for found in _MISSING.finditer(text)}
    kept = {name.rpartition(".")[2] for name in made.assigned}
    return not missing.isdisjoint(kept) or any("client" in name.lower() for name in missing)


_MAKERS = frozenset(
    ("__init__", "constructor", "init", "new", "New", "build", "create", "main", "start", "setup")
)


_CARRIES = frozenset(
    ("dispatcher", "agent", "httpAgent", "httpsAgent", "client", "httpClient", "session", "transport")
)
"""Options of a request that hold what sends it."""


def _is_for_request(made: Call, facts: Facts) -> bool:
    """Return whether a client is given to one request and to nothing else: `{ agent: agentOf(url) }`."""
    if facts.syntax.language.family != "javascript":
        return False
    around = facts.calls_around(made)
    if not around or around[-1].constructs or around[-1].method in ("create", "extend", "defaults"):
        return False
    given = [each.name for each in around[-1].arguments if each.name and each.value.span == made.span]
    return any(name.rpartition(".")[2] in _CARRIES for name in given) and (
        library_of(around[-1], facts.language) is not None or around[-1].is_awaited
    )


def _is_result(call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether a function returns the client that it makes, wrapped in `Ok(…)` or not."""
    if call.is_returned or _is_kept_later(call, facts) or is_wrapped_result(call, scope, facts):
        return True
    if call.is_argument:
        return any(each.is_returned and each.written in ("Ok", "Some") for each in facts.calls_around(call))
    names = {*call.assigned}
    last = facts.text(scope.body).rstrip().removesuffix("}").rstrip()
    # In Go an error is returned beside it.
    return any(
        step.kind == "return" and (step.text in names or step.text.removesuffix(", nil") in names)
        for step in facts.within(facts.steps, scope.body)
    ) or (facts.language == "rust" and last.endswith(facts.text(call.span)))


def _python(call: Call, is_client: bool, facts: Facts) -> Iterator[Hit]:
    is_function = client_names.FUNCTIONS.match(call.name) is not None
    frequency = frequency_of(call, facts) if is_client or is_function else None
    if is_function:
        loops = facts.loops_around(call)
        few = frequency == "item" and loops and not any(is_over_data(loop, facts) for loop in loops)
        # A message is worked on for longer than a connection takes to open.
        if frequency and frequency != "message" and not few and not posts_to_items(call, facts):
            what = f"{call.written}() has no client that keeps connections: every {frequency} opens a new one"
            # One more connection in a request, or in a function of a loop, costs little beside the answer.
            is_sure = frequency == "item" and loops and not asks_items(call, facts)
            yield Hit(call.span, what, LIKELY if is_sure else POSSIBLE)
    elif is_client and _is_short_lived(call, facts):
        if frequency:
            what = f"{call.written}() is made anew for every {frequency}, and its connections with it"
            few = frequency == "item" and not any(
                is_over_data(each, facts) for each in facts.loops_around(call)
            )
            # A job lasts longer than it takes to connect.
            yield Hit(call.span, what, POSSIBLE if few or frequency == "message" else LIKELY)
        elif not call.name.startswith(client_names.SESSIONS) and _is_used_here(call, facts):
            what = f"{call.written}() reads its models and credentials and connects anew in each call"
            yield Hit(call.span, what, POSSIBLE)
        elif _serves_one(call, facts):
            yield Hit(call.span, f"{call.written}() is made for one request and then thrown away", POSSIBLE)


_FACTORY = lazy_regex(r"(?:[cC]reate|[nN]ew|[mM]ake|[bB]uild|[sS]etup|[iI]nit|[cC]onfigure)(?![a-z])")


def _go(call: Call, facts: Facts) -> Iterator[Hit]:
    if call.name not in client_names.GO or not _is_short_lived(call, facts):
        return
    scope = facts.named_function_of(call)
    if scope is not None and _FACTORY.match(scope.short_name):
        return
    if any(call is not each and each.name in client_names.GO for each in facts.calls_around(call)):
        return
    if call.is_argument or facts.calls_around(call):
        return  # What it is given to may keep its connection, as a websocket does.
    if goes_to_given_host(call, facts):
        return
    if _owns_transport(call, facts) and (frequency_of(call, facts) or _sends(call, facts)):
        yield Hit(call.span, f"{call.written}{{}} with a transport of its own shares no connections", LIKELY)


def _is_for_one(call: Call, facts: Facts) -> bool:
    """Return whether the function that makes a client sends with it and keeps it nowhere."""
    if call.is_argument or not _is_short_lived(call, facts):
        return False
    scope = facts.named_function_of(call)
    if scope is None or any(_TEST.search(each.name) for each in scope.decorators):
        return False
    sends = [each for each in http_requests(facts) if call in chain(each.call)]
    if call.name == "WebClient":
        return any(
            each.method.startswith(("Download", "Upload", "OpenRead")) for each in facts.calls_on(call)
        )
    if call.name == "RestClient":
        return any(each.is_awaited and each.arguments for each in facts.calls_on(call))
    names = {*call.assigned}
    given = any(
        argument.value.text.removeprefix("&").removesuffix(".clone()") in names
        for each in facts.within(facts.calls, scope.body)
        for argument in each.arguments
    )
    items = {target for loop in facts.loops_around(call) for target in loop.targets}
    if sends and all(names_host(each.url, scope) or each.url.lstrip("&") in items for each in sends):
        return False  # Each host has connections of its own.
    return bool(sends) and not given


def _is_closed_here(call: Call, facts: Facts) -> bool:
    """Return whether a function with arguments makes a client and closes it: `HttpClient(CIO).use { … }`."""
    return any(
        each.method == "use" and each.span.start == call.span.start for each in facts.calls_on(call)
    ) and is_for_one_use(call, facts)


_OF_COMMAND = lazy_regex(r"(?:Command|CommandDependencies|Configuration)$")


def _is_short_lived(call: Call, facts: Facts) -> bool:
    """Return whether the client is not kept in an object or global, returned, or made at the start."""
    scope = facts.named_function_of(call) or facts.function_of(call)
    if scope is None or call.is_returned or (runs_once(scope) and scope.route is None):
        return False
    if _OF_COMMAND.search(scope.owner) or is_command_line(facts):
        return False  # A command runs once in its process, and a configuration is read once.
    if call.is_discarded or _is_kept_later(call, facts) or _is_part_of_result(call, facts):
        return False
    if any("." in name or "[" in name for name in call.assigned):
        return False
    names = {*call.assigned}
    if names & facts.globals_in(scope):
        return False
    for step in facts.within(facts.steps, scope.body):
        if step.kind in ("return", "yield") and step.text in names:
            return False
    for each in facts.within(facts.assignments, scope.body):
        if each.value is not None and each.value.text in names and any("." in name for name in each.targets):
            return False
    return not _is_global(call, facts)


def _is_part_of_result(call: Call, facts: Facts) -> bool:
    """Return whether it is a part of a new object that the function returns: `new Bundle(b.build())`."""
    around = facts.calls_around(call)
    return call.is_argument and bool(around) and around[-1].constructs and around[-1].is_returned


def _is_kept_later(call: Call, facts: Facts, levels: int = 12) -> bool:
    """Return whether the end of a chain is returned or kept: `return Builder.create().build()`."""
    for each in facts.calls_on(call):
        if each.span.start != call.span.start:
            continue
        if each.is_returned or any("." in name for name in each.assigned):
            return True
        if levels and _is_kept_later(each, facts, levels - 1):
            return True
    return False


def _is_global(call: Call, facts: Facts) -> bool:
    """Return whether it is assigned to a global name: `client = client ?? axios.create()`."""
    return facts.language != "python" and not facts.file_names.isdisjoint(call.assigned)


def _sends(call: Call, facts: Facts) -> bool:
    scope = facts.function_of(call)
    return scope is not None and any(
        library_of(each, facts.language) for each in facts.own(facts.calls, scope)
    )


def _is_used_here(call: Call, facts: Facts) -> bool:
    """Return whether a function with parameters makes the client, uses it, and drops it."""
    scope = facts.named_function_of(call)
    if scope is None or not any(each.name not in ("self", "cls") for each in scope.parameters):
        return False
    uses = facts.calls_on(call)
    # What a function inside uses lives on with it.
    here = all(facts.function_of(each) is facts.function_of(call) for each in uses)
    return bool(uses) and here and not scope.is_anonymous


_REASON = 40
"""Characters of a comment that gives a reason."""


def _serves_one(call: Call, facts: Facts) -> bool:
    """Return whether it is in a function with parameters that sends one request outside of a loop."""
    scope = facts.named_function_of(call)
    if (
        scope is None
        or not call.is_managed
        or not any(p.name not in ("self", "cls") for p in scope.parameters)
    ):
        return False
    if len(facts.comment_at(call)) > _REASON or call.has("transport"):
        return False  # A reason is given; or what the client does with its connections is unknown.
    sent = [each for each in facts.calls_on(call) if library_of(each, facts.language) is not None]
    return len(sent) == 1 and not facts.loops_around(sent[0])


_WORDS = (
    b"httpx", b"requests", b"aiohttp", b"urllib3", b"boto3", b"openai", b"anthropic", b"zeep", b"suds",
    b"soap", b"azure", b"google", b"stripe", b"twilio", b"ssh2", b"elastic", b"opensearch", b"minio",
    b"slack", b"algolia", b"sendgrid", b"ldapjs", *GRPC_WORDS, b"axios", b"Agent", b"undici", b"got",
    b"aws-sdk", b"awssdk", b"aws.sdk", b"nodemailer", b"HttpClient", b"RestTemplate", b"WebClient",
    b"RestClient", b"reqwest", b"net/http",
)  # fmt: skip

RULE = Rule(
    id="FK-P002",
    slug="http-client-per-call",
    title="HTTP client made for each call",
    why="Every request pays for a new connection and handshake, and under load ports and sockets run out.",
    fix="Make one client for the process, give it limits and timeouts, and close it at shutdown.",
    kind="performance",
    severity="medium",
    languages=EVERY_LANGUAGE,
    check=_check,
    words=_WORDS,
)
