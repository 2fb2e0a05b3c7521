"""Finds HTTP responses whose body is left open."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Access, Argument, Call, Facts, is_within
from faultkit.code.facts.fact_values import Arm
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import CSHARP, GO, JAVA, JAVASCRIPT, KOTLIN, LIKELY, PYTHON, Hit, Rule
from faultkit.code.rules.vocabulary.http_requests import http_requests
from faultkit.code.rules.vocabulary.late_bodies import late_bodies
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.resources import is_closed_or_passed_on
from faultkit.code.rules.vocabulary.test_doubles import is_of_test_double

_READS = lazy_regex(
    r"\b(json|text|read|content|release|close|body|dump|arrayBuffer|blob|aclose|aread|iter_\w+)\b"
)


def _check(facts: Facts) -> Iterator[Hit]:
    for span, name in late_bodies(facts):
        yield Hit(span, f"{name} is still open where the function leaves", LIKELY)
    if facts.language == "python" or facts.language in JAVASCRIPT:
        yield from _left_unread(facts)
    if facts.language in JAVASCRIPT:
        return
    if facts.language == "csharp":
        yield from _headers_only(facts)
        return
    if facts.language in ("java", "kotlin"):
        yield from _okhttp(facts)
        yield from _url_connections(facts)
        return
    for request in http_requests(facts):
        call = request.call
        if request.library.name == "net/http":
            if is_of_test_double(call, facts):
                continue
            if _go_open(call, facts):
                yield Hit(call.span, f"the body that {call.written}() gives is never closed", LIKELY)
            elif (place := left_open_on_a_way(call, facts)) is not None:
                what = f"the body that {call.written}() gives is not closed on this way"
                yield Hit(place, what, LIKELY)
        elif _streams(call) and not _is_read_at_once(call, facts) and not is_closed_or_passed_on(call, facts):
            yield Hit(call.span, f"the answer that {call.written}() streams is not closed", LIKELY)


def _headers_only(facts: Facts) -> Iterator[Hit]:
    """Yield answers whose body is read later, and which nothing disposes (C#)."""
    if b"ResponseHeadersRead" not in facts.syntax.source:
        return
    for call in facts.calls_of_method("SendAsync", "GetAsync", "Send"):
        if call.is_managed or not call.assigned or not call.assigned[0].isidentifier():
            continue
        if not any("ResponseHeadersRead" in each.value.text for each in call.arguments):
            continue
        if re.search(r"\busing\b", facts.syntax.line_text(call.line)) or is_closed_or_passed_on(call, facts):
            continue
        yield Hit(call.span, f"the answer of {call.written}() is never disposed", LIKELY)


_TAKEN = lazy_regex(r"\.(string|bytes|close|use|closeQuietly)$")


def _okhttp(facts: Facts) -> Iterator[Hit]:
    """Yield answers of OkHttp and Apache that nothing closes or reads to the end."""
    for call in facts.calls_of_method("execute"):
        is_okhttp = _OKHTTP.search(call.name) is not None
        if not (is_okhttp or _is_apache(call, facts)) or not call.assigned or call.is_managed:
            continue
        if (place := _left_by_status(call, facts)) is not None:
            yield Hit(place, f"the answer of {call.written}() is not closed on this way", LIKELY)
            continue
        later = [*facts.calls_on(call)]
        later += [each for one in later for each in facts.calls_on(one)]
        if any(_TAKEN.search(each.name) for each in later) or is_closed_or_passed_on(call, facts):
            continue
        if is_okhttp:
            yield Hit(call.span, f"the answer of {call.written}() is never closed", LIKELY)


_OKHTTP = NamePattern(r"(^|\.)OkHttpClient\b.*\.newCall\(\)\.execute$")
_APACHE = NamePattern(r"\bCloseableHttpClient\.execute$|\bHttpClients?(Builder)?\.\w+\(\)(\..*)?\.execute$")


def _is_apache(call: Call, facts: Facts) -> bool:
    """Return whether a call of Apache's client gives a response; with a handler, it closes that itself."""
    return (
        _APACHE.search(call.name) is not None
        and len(call.positional) == 1
        and facts.imports_any("org.apache.http", "org.apache.hc")
    )


_STATUS = r"(?:code|isSuccessful|isRedirect|getStatusLine|getCode|statusLine)\b"


def _left_by_status(call: Call, facts: Facts) -> Span | None:
    """Return an arm that the status chooses and that leaves the response open, though another one closes it.

    Such an arm leaves the function, or nothing behind the choice uses the response."""
    scope = facts.function_of(call)
    if scope is None or not call.assigned[0].isidentifier():
        return None
    name, rest = re.escape(call.assigned[0]), Span(call.span.end, scope.body.end)
    used = re.compile(
        rf"\b{name}\b(?:\?|!!)?\.(?:body|close|closeQuietly|use|getEntity|entity|peekBody)\b"
        # The last line of a block of Kotlin is its value.
        rf"|[(,]\s*{name}\s*[,)]|\breturn\s+{name}\b(?!\.)|(?:=|^)\s*{name}\s*$",
        re.MULTILINE,
    )
    if not used.search(facts.text(rest)) or any(
        each.finally_ is not None and used.search(facts.text(each.finally_))
        for each in facts.within(facts.tries, scope.body)
    ):
        return None
    known = [
        target
        for each in facts.within(facts.assignments, rest)
        if each.value is not None and re.match(rf"{name}\.{_STATUS}", each.value.text)
        for target in each.targets
    ]
    asked = re.compile("|".join((rf"\b{name}\.{_STATUS}", *(rf"\b{re.escape(one)}\b" for one in known))))
    for step in facts.own(facts.steps, scope):
        if step.kind != "branch" or step.span.start < rest.start:
            continue
        if used.search(facts.text(Span(rest.start, step.span.start))):
            return None
        arms = [
            (each, *_condition_of(each, step.text, facts)) for each in facts.arms if each.fork == step.span
        ]
        after = used.search(facts.text(Span(step.span.end, rest.end))) is not None
        closes = any(used.search(body) for _, _, body in arms)
        for arm, condition, body in arms:
            if used.search(body) or not asked.search(condition):
                continue
            if arm.leaves == "function" or (closes and not after and not arm.leaves):
                return arm.span
    return None


def _condition_of(arm: Arm, text: str, facts: Facts) -> tuple[str, str]:
    """Return the condition of an arm and its code; those of Kotlin's `when` have one each."""
    condition, arrow, body = facts.text(arm.span).partition("->")
    is_case = bool(arrow) and "{" not in condition and "\n" not in condition.strip()
    return (condition, body) if is_case else (text, facts.text(arm.span))


_READERS = ("BufferedReader", "InputStreamReader", "Scanner", "BufferedInputStream", "bufferedReader")


def _url_connections(facts: Facts) -> Iterator[Hit]:
    """Yield readers over the answer of a URLConnection that nothing closes."""
    if not re.search(r"HttpURLConnection|HttpsURLConnection|URLConnection|openConnection", facts.whole_text):
        return
    for call in facts.calls_of_method(*_READERS):
        text = facts.text(call.span)
        if call.is_managed or call.is_argument or call.is_returned or not call.assigned:
            continue
        if (
            re.search(
                r"\bconn\w*\.(getInputStream\(\)|inputStream)|\bhttp\w*\.getInputStream\(\)",
                text,
                re.IGNORECASE,
            )
            is None
        ):
            continue
        scope = facts.named_function_of(call)
        if scope is not None and ".disconnect()" in facts.text(scope.body):
            continue
        if not is_closed_or_passed_on(call, facts):
            yield Hit(call.span, f"the answer that {call.written}() reads is never closed", LIKELY)


def _left_unread(facts: Facts) -> Iterator[Hit]:
    """Yield answers of aiohttp and undici that are left for their status before their body is read."""
    for call in facts.calls:
        in_python = call.name.startswith("aiohttp.ClientSession.") and call.method in _AIOHTTP
        if not in_python and not (call.name.startswith("undici.") and call.method == "request"):
            continue
        scope = facts.function_of(call)
        if scope is None or not call.is_awaited or call.is_managed or not call.assigned:
            continue
        name = call.assigned[0]
        parts = re.findall(r"\w+", name)
        if not parts or "." in name:
            continue
        for step in facts.own(facts.steps, scope):
            if step.kind != "branch" or step.span.start < call.span.end or "tatus" not in step.text:
                continue
            # In a branch, up to its end: `await res.body.dump()` reads it.
            before = facts.text(Span(call.span.end, step.span.start))
            inside = facts.text(step.span).replace(step.text, "", 1)
            used = rf"\b({'|'.join(map(re.escape, parts))})\b"
            if not re.search(used, step.text) or re.search(rf"{used}\.({_READS.pattern})|\bbody\.", before):
                continue
            touched = re.search(rf"{used}\.(\w+\.)?{_READS.pattern}|\bbody\.\w+\(", inside)
            leaves = any(each.leaves for each in facts.arms if each.fork == step.span)
            finally_ = any(
                each.finally_ is not None
                and is_within(step.span, each.span)
                and re.search(used, facts.text(each.finally_))
                for each in facts.tries
            )
            managed = any(each.written == name and is_within(step.span, body) for each, body in facts.managed)
            if leaves and not touched and not finally_ and not managed:
                what = f"the body that {call.written}() gives is neither read nor closed on this way"
                yield Hit(Span(step.span.start, step.span.end), what, LIKELY)
                break


_AIOHTTP = frozenset(("get", "post", "put", "delete", "patch", "request", "head"))


def _go_open(call: Call, facts: Facts) -> bool:
    if call.is_returned or not call.assigned:
        return call.is_discarded
    name = call.assigned[0]
    if name == "_":
        return True
    function = facts.function_of(call)
    if function is None:
        return False
    inside = list(facts.within(facts.calls, function.span))
    closed = any(each.written == f"{name}.Body.Close" for each in inside)
    # `defer func(body io.ReadCloser) { _ = body.Close() }(resp.Body)`, `defer closeBody(resp.Body)`
    given = any(
        argument.value.text == name
        or (
            argument.value.text == f"{name}.Body"
            and (each.is_deferred or CLOSES.search(each.written) or _closes_given(each, argument, facts))
        )
        for each in inside
        for argument in each.arguments
    )
    returned = any(
        step.kind == "return" and not {name, f"{name}.Body"}.isdisjoint(step.text.replace(",", " ").split())
        for step in facts.within(facts.steps, function.span)
    )
    return not (closed or given or returned)


def _closes_given(call: Call, argument: Argument, facts: Facts) -> bool:
    """Return whether a function of this text closes the body that it is given (Go)."""
    for scope in facts.functions_named(call.method):
        names = [each.name for each in scope.parameters][argument.place : argument.place + 1]
        inside = facts.within(facts.calls, scope.body)
        if argument.place >= 0 and names and any(each.written == f"{names[0]}.Close" for each in inside):
            return True
    return False


CLOSES = lazy_regex(r"(?i:close|drain|discard)\w*$")
"""Names of functions that are given a body to close it."""


def left_open_on_a_way(call: Call, facts: Facts) -> Span | None:
    """Return where a function or a round of a loop is left with the body of a response open (Go)."""
    scope = facts.function_of(call)
    if scope is None or not call.assigned or call.assigned[0] == "_":
        return None
    name = re.escape(call.assigned[0])
    if not re.search(rf"\b{name}\.StatusCode\b", facts.text(scope.body)):
        return None
    # What closes or reads the body, gets the whole response, or returns it.
    used = re.compile(
        rf"\b{name}\.Body\b|[(,]\s*{name}\s*[,)]|\breturn [^\n]*\b{name}\b(?!\.)|=\s*{name}\s*$", re.MULTILINE
    )
    # A span without what the condition of its branch only looks at.
    for step in facts.own(facts.steps, scope):
        if step.kind != "branch" or step.span.start < call.span.end:
            continue
        if not re.search(rf"\b{name}\.(StatusCode|Header)\b", step.text):
            continue
        for arm in (each for each in facts.arms if each.fork == step.span and each.leaves):
            if arm.leaves == "loop" and facts.loops_around(arm)[-1:] != facts.loops_around(call)[-1:]:
                continue
            before = facts.text(Span(call.span.end, step.span.start))
            if used.search(_without_other_ways(before, call, arm, facts)) or used.search(
                facts.text(arm.span)
            ):
                continue
            return step.span
    return None


def _without_other_ways(before: str, call: Call, arm: Arm, facts: Facts) -> str:
    """Return the text between a call and an arm, without the arms that leave before it comes to that."""
    start = call.span.end
    for other in reversed([*facts.within(facts.arms, Span(start, arm.span.start))]):
        if other.leaves and facts.are_exclusive(other, arm):
            text = facts.text(other.span)
            before = before.replace(text, "", 1)
    return before


_WHOLE = (".content", ".text", ".json")
"""What reads all of a body."""


def _is_read_at_once(call: Call, facts: Facts) -> bool:
    """Return whether an answer is read to its end, which closes it, and nothing else holds it (Python)."""
    used: list[Call | Access] = [*facts.calls_on(call), *facts.accesses_on(call)]
    if call.name.startswith("requests.") and any(each.name.endswith(_WHOLE) for each in used):
        return True
    if call.name != "urllib.request.urlopen" or call.assigned:
        return False
    return any(each.method == "read" and not each.arguments for each in facts.calls_on(call))


def _streams(call: Call) -> bool:
    stream = call.argument("stream")
    if call.name == "urllib.request.urlopen":
        return True
    return stream is not None and stream.value.shape == "true" and call.name.startswith("requests.")


RULE = Rule(
    id="FK-R014",
    slug="response-not-closed",
    title="HTTP response not closed",
    why="The connection cannot be used again: each call costs a new one until the system has none left.",
    fix="Close the body on every way out (Go: defer resp.Body.Close() after the check of err; Python: with).",
    kind="reliability",
    severity="high",
    languages=(*PYTHON, *JAVASCRIPT, *GO, *JAVA, *KOTLIN, *CSHARP),
    check=_check,
)
