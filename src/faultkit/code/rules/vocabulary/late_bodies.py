"""Bodies of answers that a function has, and leaves before it reads or closes them.

val body = response.body() ?: throw …          upstream = await client.send(request, stream=True)
if (body.contentLength() > MAX) throw …        if upstream.status_code != 200: raise …
return body.byteStream().use { … }             return StreamingResponse(relay(upstream))
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, Step, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.exits import is_done_before

_OF_ANSWER = lazy_regex(r"\w+[?!]*\.body(?:\(\))?(?:!!)?\s*(?:\?:|$)")
_ENDS = frozenset(("aclose", "close", "aread", "read"))


def late_bodies(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield where a function leaves with a body that is still open, with the name of that."""
    if facts.language in ("java", "kotlin"):
        is_streamed = facts.imports_any("okhttp3") and (
            not facts.imports_any("retrofit2") or b"Streaming" in facts.syntax.source
        )
        yield from _of_okhttp(facts) if is_streamed else ()
    elif facts.language == "python":
        yield from _of_httpx(facts)


def _of_okhttp(facts: Facts) -> Iterator[tuple[Span, str]]:
    for each in facts.assignments:
        scope = each.scope
        if scope is None or each.value is None or len(each.targets) != 1:
            continue
        if not _OF_ANSWER.match(each.value.text) or not each.targets[0].isidentifier():
            continue
        if facts.managed_around(each) or any(one.method == "use" for one in facts.calls_around(each)):
            continue
        name, rest = re.escape(each.targets[0]), Span(each.span.end, scope.body.end)
        taken = re.search(
            rf"\b{name}[?!]*\.(?:byteStream|source|charStream|string|bytes|use|close)\b|\btry\s*\(\s*{name}\b"
            rf"|[(,]\s*{name}\s*[,)]|\breturn\s+{name}\b",
            facts.text(rest),
        )
        if taken is None:
            continue
        end = facts.syntax.place_of(taken, rest.start).start
        asked = re.compile(rf"\b{name}\b(?:\s*[!=]=\s*null)")
        for step in facts.own(facts.steps, scope):
            if step.kind not in ("return", "raise") or not rest.start < step.span.start < end:
                continue
            if step.span.end > end or _is_in_try(step, scope, facts):
                continue
            if not any(asked.search(one.text) for one in _branches(step, scope, facts)):
                yield Span(step.span.start, end), each.targets[0]
                break


def _branches(step: Step, scope: Scope, facts: Facts) -> Iterator[Step]:
    for one in facts.own(facts.steps, scope):
        if one.kind == "branch" and is_within(step.span, one.span):
            yield one


def _is_in_try(step: Step, scope: Scope, facts: Facts) -> bool:
    """Return whether a `finally` of the function follows, in which it may close what it has."""
    return any(
        each.finally_ is not None and is_within(step.span, each.span)
        for each in facts.within(facts.tries, scope.body)
    )


def _of_httpx(facts: Facts) -> Iterator[tuple[Span, str]]:
    for call in facts.calls_of_method("send") if facts.imports_any("httpx") else ():
        streams, scope = call.argument("stream"), facts.function_of(call)
        if streams is None or streams.value.text != "True" or scope is None or len(call.assigned) != 1:
            continue
        name = call.assigned[0]
        ends = [
            each
            for each in facts.own(facts.calls, scope)
            if each.receiver_written == name and each.method in _ENDS
        ]
        used = re.compile(rf"(?<![\w.]){re.escape(name)}(?![\w.])")
        for step in facts.own(facts.steps, scope):
            if step.kind not in ("return", "raise") or step.span.start < call.span.end:
                continue
            if used.search(step.text) or _is_of_failure(step, call, facts) or _is_in_try(step, scope, facts):
                continue
            if _ends_in_given(name, step, scope, facts):
                continue
            if not any(is_done_before(end, step, facts) for end in ends):
                yield step.span, name
                break


def _ends_in_given(name: str, step: Step, scope: Scope, facts: Facts) -> bool:
    """Return whether a function inside this one closes the answer, and a step hands that function out."""
    closing = {
        facts.function_of(each)
        for each in facts.within(facts.calls, scope.body)
        if each.receiver_written == name and each.method in _ENDS
    }
    inner = {each.short_name for each in closing if each is not None and each is not scope}
    return any(re.search(rf"\b{re.escape(one)}\b", step.text) for one in inner if one)


def _is_of_failure(step: Step, call: Call, facts: Facts) -> bool:
    """Return whether a step handles that the call itself has failed, so that there is no answer."""
    handlers = facts.handlers_around(step)
    return any(one in handlers for each in facts.tries_around(call) for one in each.handlers)
