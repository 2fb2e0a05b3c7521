"""Time limits that leave the wait for the answer without one: of the connection alone, or ignored.

`timeout=(3, None)` limits connecting; an attribute `timeout` of a session of requests limits nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts
from faultkit.code.facts.facts import Placed
from faultkit.code.languages.syntax import Span

_OF_ANSWER = {
    "httpx.Timeout": ("read", "timeout"),
    "aiohttp.ClientTimeout": ("total", "sock_read"),
    "urllib3.Timeout": ("read", "total"),
    "urllib3.util.Timeout": ("read", "total"),
    "urllib3.util.timeout.Timeout": ("read", "total"),
}
"""Limits of Python's clients, with the keywords that bound the wait for an answer; the second or first may
be given by position."""
_PAIR = lazy_regex(r"[(\[]\s*[^,]+,\s*None\s*,?\s*[)\]]")
_LASTS = lazy_regex(r"stream|event|\bsse\b|subscri|websocket|ws_connect|long_?poll|tail|watch", re.IGNORECASE)
"""What may take any time: streams of events, long polls."""
_SESSIONS = ("requests.Session", "requests.session", "requests.sessions.Session")


@lru_cache(maxsize=4)
def half_limits(facts: Facts) -> tuple[tuple[Span, str], ...]:
    """Return the place of each such limit, and what is wrong with it."""
    if facts.syntax.language.family == "javascript":
        return tuple(_of_handlers(facts)) if facts.syntax.has_any(b"connectiontimeout") else ()
    if facts.language == "python" and facts.syntax.has_any(b"timeout", b"zeep"):
        return (*_of_steps(facts), *_of_pairs(facts), *_of_sessions(facts), *_of_operations(facts))
    return ()


def _of_steps(facts: Facts) -> Iterator[tuple[Span, str]]:
    for call in facts.calls_named(*_OF_ANSWER):
        wanted = _OF_ANSWER[call.name]
        if call.spreads or not call.arguments or _lasts(call, facts) or _is_for_socket(call, facts):
            continue
        given = {each.name: each.value.text for each in call.arguments if each.name}
        first = call.argument(place=0)
        named = [given[name] for name in wanted if name in given]
        if call.name == "httpx.Timeout":
            # A value for all steps holds for those that are not named.
            rest = given.get("timeout", "" if first is None else first.value.text)
            named = [given["read"]] if "read" in given else [rest] if rest else ["None"]
        elif first is not None:
            named.append(first.value.text)
        others = [text for name, text in given.items() if name not in wanted]
        if "read" in given and first is not None:
            others.append(first.value.text)
        if all(text == "None" for text in named) and any(text != "None" for text in others):
            yield call.span, f"{call.written}() limits no more than connecting: the answer may take for ever"


_OF_AWS_ANSWER = ("requestTimeout", "socketTimeout", "throwOnRequestTimeout")


def _of_handlers(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield handlers of the AWS SDK that limit no more than connecting (JavaScript)."""
    for call in facts.calls_of_method("NodeHttpHandler", "NodeHttp2Handler"):
        if call.has("connectionTimeout") and not call.has(*_OF_AWS_ANSWER) and not call.spreads:
            yield call.span, f"{call.written}() limits no more than connecting: the answer may take for ever"
    for call in facts.calls if b"requestHandler" in facts.syntax.source else ():
        is_half = call.constructs and call.has("requestHandler.connectionTimeout") and not call.spreads
        if is_half and not call.has(*(f"requestHandler.{name}" for name in _OF_AWS_ANSWER)):
            yield call.span, f"{call.written}() limits no more than connecting: the answer may take for ever"


def _of_pairs(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield `timeout=(3, None)` of requests."""
    if not facts.imports_any("requests"):
        return
    for found in re.finditer(r"\btimeout\s*=\s*(?=[(\[])", facts.whole_text):
        pair = _PAIR.match(facts.whole_text, found.end())
        if pair is None:
            continue
        place = facts.syntax.place_of(pair)
        line = facts.syntax.line_text(facts.syntax.line(place.start))
        if not line.lstrip().startswith("#") and not _LASTS.search(line):
            yield place, f"{pair[0]} limits no more than connecting: the answer may take for ever"


def _of_sessions(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield `session.timeout = 5`, which requests does not read."""
    names = {name for call in facts.calls_named(*_SESSIONS) for name in call.assigned}
    if not names:
        return
    for each in facts.assignments:
        target = each.targets[0]
        if len(each.targets) != 1 or not target.endswith(".timeout") or target[:-8] not in names:
            continue
        # The attribute may be there for calls of this text: `timeout=session.timeout`.
        if facts.whole_text.count(target) == facts.whole_text.count(f"{target} =") and not _is_own(facts):
            yield each.span, f"requests does not read {target}: its calls have no limit of time"


def _is_own(facts: Facts) -> bool:
    """Return whether this text has a session or adapter of its own, which may read the attribute."""
    return any(
        base.endswith(("Session", "HTTPAdapter")) and base.startswith("requests")
        for bases in facts.classes.values()
        for base in bases
    ) or bool(re.search(r"getattr\([^)]*timeout", facts.whole_text))


_SOAP_CLIENTS = ("zeep.Client", "zeep.CachingClient", "zeep.AsyncClient", "zeep.client.Client")
_TRANSPORTS = ("zeep.transports.Transport", "zeep.transports.AsyncTransport", "zeep.Transport")


def _of_operations(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield transports of zeep whose `timeout` is that of loading the description alone."""
    if not facts.imports_any("zeep") or b"operation_timeout" in facts.syntax.source:
        return
    for call in facts.calls_named(*_SOAP_CLIENTS):
        if not call.spreads and not call.has("transport") and len(call.positional) < 3:
            yield call.span, f"{call.written}() has a transport without a limit for its operations"
    for call in facts.calls_named(*_TRANSPORTS):
        if not call.spreads:
            what = f"{call.written}() sets no operation_timeout: timeout is that of loading the WSDL alone"
            yield call.span, what


def _lasts(place: Placed, facts: Facts) -> bool:
    """Return whether a comment gives a reason, or the place is about what lasts."""
    line = facts.syntax.line_text(facts.line(place))
    return bool(facts.comment_at(place)) or _LASTS.search(line) is not None


def _is_for_socket(call: Call, facts: Facts) -> bool:
    """Return whether the client of a limit opens a websocket, which has limits of its own."""
    return call.name.startswith("aiohttp.") and b"ws_connect" in facts.syntax.source


# JavaScript: options that do not end a request.

_CONTROLLER = lazy_regex(r"^(\w+)\.signal$")
_ANSWER_KEYS = ("timeout.request", "timeout.response", "timeout.read", "timeout.socket")
_ON_TIMEOUT = lazy_regex(r"\.(?:on|once|addListener)\(\s*['\"`]timeout['\"`]")
_WITH_CALLBACK = lazy_regex(r"\.setTimeout\(\s*[^()]*(?:\([^()]*\)[^()]*)?,\s*(?:\(|async\b|function\b|\w)")


def is_ignored(name: str, call: Call, library: str, facts: Facts) -> bool:
    """Return whether an option of a request does not end it when the time is over (JavaScript)."""
    given = call.argument(name)
    if given is None:
        return False
    text = given.value.text
    if name == "signal":
        return _never_aborts(text, call, facts)
    if text in ("0", "Infinity", "undefined", "null"):
        return True
    if library == "fetch":
        # Only node-fetch 2 had such an option.
        return call.name in ("fetch", "undici.fetch", "globalThis.fetch")
    if library == "got":
        return given.value.shape == "object" and not call.has(*_ANSWER_KEYS)
    return library == "http" and not is_ended(facts)


def is_ended(facts: Facts) -> bool:
    """Return whether something ends a request of Node when its socket says that the time is over."""
    return (
        _ON_TIMEOUT.search(facts.whole_text) is not None
        or _WITH_CALLBACK.search(facts.whole_text) is not None
    )


def _never_aborts(text: str, call: Call, facts: Facts) -> bool:
    """Return whether a signal is that of a controller of this function that nothing aborts."""
    found = _CONTROLLER.match(text)
    if found is None:
        return False
    made = facts.assignments_to(found[1], call)
    return (
        bool(made)
        and all(each.call is not None and each.call.name == "AbortController" for each in made)
        and all(each.scope is not None for each in made)
        and b"abort" not in facts.syntax.source.replace(b"AbortController", b"").replace(b"AbortError", b"")
    )
