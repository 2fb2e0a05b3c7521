"""Finds remote data that is parsed as JSON without a handler for malformed input.

It is shown if the text comes from a client: a function of Node that answers requests, or one that takes
messages, parses it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, is_within
from faultkit.code.rules.rule import JAVASCRIPT, LIKELY, POSSIBLE, PYTHON, Hit, Rule
from faultkit.code.rules.vocabulary.failures import handler_around
from faultkit.code.rules.vocabulary.message_consumers import message_consumers

_PARSERS = ("json.loads", "JSON.parse", "orjson.loads", "ujson.loads")
_DIRECT = lazy_regex(
    r"\.(text|content|body|data)\b|\b(message|msg|record|event|target|item|\w)\.value\b|recv|localStorage"
)
_PARSES = lazy_regex(r"json|pars|load|decode|read|from_", re.IGNORECASE)
_REMOTE = lazy_regex(
    r"\b(message|msg|event|payload|body|response|resp|res|req|request|raw|data|chunk|frame|packet)\b"
    r"|\.text\b|\.content\b|\.body\b|\.recv\(|localStorage|\.value\b",
    re.IGNORECASE,
)

_ADDS = frozenset({"on", "once", "addListener", "addEventListener"})
_EVENTS = frozenset({"message", "data", "pmessage", "messageBuffer", "packet", "publish"})
_SUBSCRIBES = frozenset({"subscribe", "pSubscribe", "consume", "eachMessage", "run"})
_BODY = lazy_regex(r"\[['\"](body|Body|Message|message|data)['\"]\]|\.body\b")
_LISTENER = lazy_regex(
    r"^_?(on_?message|handle_?message|process_?message|message_?handler|callback)$", re.IGNORECASE
)
_STREAMS = lazy_regex(
    r"\bws\b|web_?socket|socket|pubsub|consumer|subscription|listen\(|iter_lines|messages", re.IGNORECASE
)


_CONTENT = lazy_regex(
    r"\w+(?:$|\(|(?:\.|\[[\"'])(?:value|data|body|content|payload|text|message|decode|get)\b)", re.IGNORECASE
)
"""A message, or what it carries; other members are columns of a row with the name of a message."""


def _check(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls_named(*_PARSERS):
        given = call.argument(place=0)
        if given is None or not _REMOTE.search(given.value.text) or facts.tries_around(call):
            continue
        if (
            given.value.text.startswith("JSON.stringify")
            or _has_catch(call, facts)
            or _caller_guards(call, facts)
        ):
            continue
        if given.value.text.startswith("self.") or _is_parser(call, facts) or _comes_again(call, facts):
            continue
        if _is_tested(call, given.value.text, facts) or _is_suppressed(call, facts):
            continue
        known = _DIRECT.search(given.value.text) or (
            facts.route_of(call) is not None and not _is_stored(given.value.text, call, facts)
        )
        is_message = _is_message(call, given.value.text, facts)
        if known or is_message:
            what = f"{call.written}({given.value.text[:40]}) fails on anything that is not JSON"
            is_foreign = is_message and not _is_of_own_channel(call, facts)
            is_likely = is_foreign or _is_of_client(call, given.value.text, facts)
            yield Hit(call.span, what, LIKELY if is_likely else POSSIBLE)


_NEXT = frozenset({"next", "res", "_res", "reply", "response", "h"})


def _is_of_client(call: Call, text: str, facts: Facts) -> bool:
    """Return whether a text is a part of a request that a function of Node answers, or came out of a socket.

    A handler of Python fails for one request alone, and so does a function that asked another service."""
    for scope in facts.functions_around(call):
        names = [each.name for each in scope.parameters]
        if names[:1] == ["req"] and _NEXT.intersection(names[1:]):
            return not _is_replaced_before(call, facts)
    if ".recv" in text:
        return True
    return facts.language != "python" and handler_around(call, facts) is not None and "req" in text


_OWN_CHANNELS = lazy_regex(r"redis|messenger|pub_?sub|\bsub$|subscriber|bus$", re.IGNORECASE)


def _is_of_own_channel(call: Call, facts: Facts) -> bool:
    """Return whether a message came by a channel of Redis or a bus, on which the program itself publishes.

    An async listener is another matter: what it rejects with ends the process, whoever published it."""
    scope = facts.function_of(call)
    if scope is None or facts.language == "python":
        return False
    own = f".{scope.short_name}" if scope.name else ""
    listens = [
        each
        for each in facts.calls_of_method(*_ADDS, *_SUBSCRIBES)
        if any(
            argument.value.span == scope.span or (own and f".{argument.value.text}".endswith(own))
            for argument in each.arguments
        )
    ]
    return (not scope.is_async or bool(scope.name)) and any(
        _OWN_CHANNELS.search(each.receiver_written) for each in listens
    )


def _is_replaced_before(call: Call, facts: Facts) -> bool:
    """Return whether an earlier function of the same route gives the request another body (Express)."""
    for route in facts.calls_around(call):
        for each in route.positional:
            if each.value.shape != "name" or each.value.span.start > call.span.start:
                continue
            for scope in facts.functions_named(each.value.text):
                if any("req.body" in made.targets for made in facts.within(facts.assignments, scope.body)):
                    return True
    return False


_STORED = lazy_regex(
    r"\b(?:db|row|rows|record|cache\w*|settings|config|stored|existing)\b|_row\b|\bdb_|_db\b|[rR]epo"
)


def _is_stored(name: str, call: Call, facts: Facts) -> bool:
    """Return whether a variable holds what the program has written itself."""
    made = facts.assignments_to(name, call) if name.isidentifier() else ()
    return bool(made) and made[-1].value is not None and _STORED.search(made[-1].value.text) is not None


def _is_suppressed(call: Call, facts: Facts) -> bool:
    return any(each.method == "suppress" for each in facts.managed_around(call))


def _is_message(call: Call, text: str, facts: Facts) -> bool:
    """Return whether a message is parsed that a listener was given, or that came out of a stream."""
    head = re.split(r"[.\[(]", text)[0]
    outer = facts.named_function_of(call)
    if outer is not None and outer.short_name in ("lambda_handler", "handler") and _BODY.search(text):
        given = {each.name for each in outer.parameters}
        return head in given or any(head in loop.targets for loop in facts.loops_around(call))
    if any(head in loop.targets and _STREAMS.search(loop.over) for loop in facts.loops_around(call)):
        return _CONTENT.match(text) is not None
    scope = facts.function_of(call)
    if scope is None or head not in " ".join(each.name for each in scope.parameters):
        return False
    if _LISTENER.match(scope.short_name):
        # In JavaScript, the answer of any function of a browser comes to a callback.
        return scope.short_name != "callback" or (facts.language == "python" and head != "response")
    for each in facts.calls_around(call):
        if not any(argument.value.span == scope.span for argument in each.arguments):
            continue
        first = each.argument(place=0)
        event = "" if first is None else first.value.literal
        if (each.method in _ADDS and event in _EVENTS) or each.method in _SUBSCRIBES:
            return True
    return False


_COMMITS = lazy_regex(r"^(commit|ack|acknowledge|basic_ack|delete_message|commitOffsets|deleteMessage)\w*$")


_AWAITED_HANDLERS = frozenset(("eachMessage", "eachBatch", "handleMessage", "handleMessageBatch"))
"""Functions whose rejection a client of a broker awaits, and after which it does not commit (Node)."""


def _comes_again(call: Call, facts: Facts) -> bool:
    """Return whether a broker delivers the message again when the consumer fails before it says so."""
    for each in message_consumers(facts):
        # One bad record of a batch brings back the whole batch.
        if is_within(call.span, each.body) and each.called_by != "the event source":
            return True
    scope = facts.named_function_of(call)
    if scope is not None and scope.is_async and scope.short_name in _AWAITED_HANDLERS:
        return facts.function_of(call) is scope
    return scope is not None and any(
        _COMMITS.match(each.method) and each.span.start > call.span.end
        for each in facts.within(facts.calls, scope.body)
    )


def _is_parser(call: Call, facts: Facts) -> bool:
    """Return whether the function exists to parse: its error informs the caller."""
    scope = facts.named_function_of(call)
    return scope is not None and _PARSES.search(scope.short_name) is not None


def _is_tested(call: Call, text: str, facts: Facts) -> bool:
    """Return whether the text is known there: `if (v === 'true' || v === 'false') JSON.parse(v)`."""
    equal = re.compile(rf"(?<![\w.]){re.escape(text)}\s*={{2,3}}\s*['\"`\d]")
    if re.search(r"\b(safe|valid)", facts.comment_at(call)):
        return True
    return any(
        equal.search(step.text) and is_within(call.span, step.span) for step in facts.steps_of("branch")
    )


def _has_catch(call: Call, facts: Facts) -> bool:
    return any(is_within(call.span, each.span) for each in facts.calls_of_method("catch"))


def _caller_guards(call: Call, facts: Facts) -> bool:
    scope = facts.named_function_of(call)
    if scope is None:
        return False
    callers = facts.callers_of(scope)
    # A listener inside the function runs after its callers have gone on.
    is_own = facts.function_of(call) is scope
    return bool(callers) and all(
        facts.tries_around(each)
        or (is_own and _has_catch(each, facts))
        or (is_own and any(around.method == "allSettled" for around in facts.calls_around(each)))
        for each in callers
    )


RULE = Rule(
    id="FK-R035",
    slug="unguarded-parse",
    title="Remote data parsed without a guard",
    why="One malformed message, or an HTML error page, ends the request, the consumer or the whole process.",
    fix="Catch the parser's error and treat the message as bad input: refuse it or set it aside.",
    kind="reliability",
    severity="medium",
    languages=(*PYTHON, *JAVASCRIPT),
    check=_check,
)
