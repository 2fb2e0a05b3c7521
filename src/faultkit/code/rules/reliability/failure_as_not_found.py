"""Finds request handlers that answer every failure with "not found", and lookups that report one as such."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Facts, Handler, Scope
from faultkit.code.facts.build import is_logging
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.reliability.failure_taken_for_data import catches_failures
from faultkit.code.rules.rule import EVERY_LANGUAGE, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.answers import responder_of
from faultkit.code.rules.vocabulary.failures import is_handler
from faultkit.code.rules.vocabulary.remote_calls import remote_calls

_NOT_FOUND = lazy_regex(
    r"StatusNotFound|http\.NotFound\(|\b404\b|HTTP_404|HttpStatus\.NOT_FOUND|HttpStatusCode\.NotFound"
    r"|StatusCode::NOT_FOUND|\bNotFound\(|\.notFound\(|NotFoundException\(|HTTPStatus\.NOT_FOUND|Http404"
    r"|sendStatus\(404|Status404"
)
_TOLD_APART = lazy_regex(
    r"errors\.(?:Is|As)\(|ErrNoRows|ErrNotFound|NotFoundError|IsNotFound|RowNotFound|NoResultFound|DoesNotExist"
    r"|ErrRecordNotFound|\bcode\s*[!=]==?|\b(?:e|ex|err|error)\??\.(?:response\??\.)?status\b|\.name\s*==="
    r"|instanceof|isinstance|\bis \w+Exception|ErrNoDocuments|RecordNotFound|StatusInternalServerError"
    r"|\b50[0-4]\b|INTERNAL_SERVER|ENOENT|redis\.Nil|\bP2025\b|status\.Code\("
)
_LOCAL = lazy_regex(
    r"^(?:parse\w*|Parse\w*|Atoi|UUID|fromString|int|ObjectId|ObjectIdFromHex|ObjectIDFromHex|from_str|stat|Stat"
    r"|access|exists|Open|open|readFile|ReadFile|read_to_string|valueOf|decode\w*|PathValue|Vars"
    r"|get_object_or_404|Get|sendFile|download)$"
)
"""Calls whose failure means that there is no such thing."""


_LOOKS_UP = lazy_regex(
    r"^_*(?i:get|find|load|fetch|read|query|select|list|search|lookup|retrieve|resolve|describe|delete|remove|update"
    r"|generate|stream|download|show|view)(?![a-z])|By[A-Z]|_by_|(?:Async|Files?|Summary|ById|Details?|Info)$"
)
"""Calls that look for a thing; others, such as one that draws a page, do not say whether there is one."""
_FILES = lazy_regex(r"(?:^|\.)(?:fs|assets|static\w*)$")


def _check(facts: Facts) -> Iterator[Hit]:
    for each in facts.tries:
        scope = facts.function_of(each)
        if scope is None or not _answers(scope, facts):
            continue
        for handler in each.handlers:
            if not _takes_all(handler, facts) or not _says_not_found(handler, facts):
                continue
            if _is_chosen(handler, facts):
                continue
            asked = [
                call
                for call in facts.within(facts.calls, each.body)
                if not is_logging(call) and not call.constructs and call.receiver_written
            ]
            waits = [
                call
                for call in asked
                if call.arguments and not (_LOCAL.match(call.method) or _FILES.search(call.receiver_written))
            ]
            if waits and not _TOLD_APART.search(facts.text(scope.body)):
                found = next((call for call in waits if _LOOKS_UP.search(call.method)), None)
                failed = waits[0] if found is None else found
                what = f"every failure of {failed.written}() is answered as if there were no such thing"
                yield Hit(handler.span, what, POSSIBLE if found is None else LIKELY)
    yield from _reported(facts)
    if facts.language == "rust":
        yield from _mapped(facts)


_REPORTS = lazy_regex(
    r"(?:^|[\s.:(&])\w*Not_?Found(?:Err|Error|Exception)?\b(?!\.)|\bDoesNotExist\b", re.IGNORECASE
)
_ASKED_WHICH = lazy_regex(
    r"errors\.(?:Is|As)\(|ErrNoRows|NoResultFound|ErrRecordNotFound|ErrNoDocuments|\bcode\s*[!=]==?|instanceof|isinstance"
    r"|IsNotFound\(|redis\.Nil|status\.Code\(|\bP2025\b|\.status\b|when\s*\("
)


def _reported(facts: Facts) -> Iterator[Hit]:
    """Yield lookups of a database or a service that report every failure as a missing thing to their caller.

    `if err := row.Scan(&id); err != nil { return nil, ErrNotFound }`"""
    asked = {each.call for each in remote_calls(facts) if each.kind != "cache" and each.is_read}
    for each in facts.tries if asked else ():
        scope = facts.function_of(each)
        if scope is None or _answers(scope, facts):
            continue
        # The query of `row.Scan(&id)` stands before it.
        made = (one for call in facts.within(facts.calls, each.body) for one in (call, call.origin))
        failed = next((call for call in made if call in asked), None)
        if failed is None:
            continue
        for handler in each.handlers:
            if handler.uses_error or not catches_failures(handler, facts) or _is_logged(handler, facts):
                continue
            ends = [
                step for step in facts.within(facts.steps, handler.body) if step.kind in ("return", "raise")
            ]
            if len(ends) != 1 or not _is_report(ends[0].text, facts):
                continue
            if not _ASKED_WHICH.search(facts.text(scope.body)):
                what = f"every failure of {failed.written}() is reported as if there were no such thing"
                yield Hit(handler.span, what, LIKELY)


def _is_report(text: str, facts: Facts) -> bool:
    """Return whether what a handler raises, or the error that it returns (Go), says "not found"."""
    given = text.rpartition(",")[2] if facts.language == "go" else text.partition("(")[0]
    return _REPORTS.search(given) is not None


def _is_logged(handler: Handler, facts: Facts) -> bool:
    return any(map(is_logging, facts.within(facts.calls, handler.body)))


def _answers(scope: Scope, facts: Facts) -> bool:
    return is_handler(scope) or scope.route is not None or bool(responder_of(scope, facts))


def _takes_all(handler: Handler, facts: Facts) -> bool:
    return handler.name.endswith("err") if facts.language == "go" else handler.is_broad


def _says_not_found(handler: Handler, facts: Facts) -> bool:
    logs = [facts.text(call.span) for call in facts.within(facts.calls, handler.body) if is_logging(call)]
    text = facts.text(handler.body)
    for each in logs:
        text = text.replace(each, "")
    return _NOT_FOUND.search(text) is not None


def _is_chosen(handler: Handler, facts: Facts) -> bool:
    """Return whether a handler asks what the error is, and says "not found" in one of several cases."""
    name = handler.name or "err"
    arms = [arm for arm in facts.within(facts.arms, handler.body) if arm.span != handler.body]
    asked = [
        arm
        for arm in arms
        if re.search(rf"\b{re.escape(name)}\b", facts.text(Span(arm.fork.start, arm.span.start)))
    ]
    found = [arm for arm in asked if _NOT_FOUND.search(facts.text(arm.span))]
    rest = facts.text(handler.body)
    for arm in found:
        rest = rest.replace(facts.text(arm.span), "")
    return bool(found) and _NOT_FOUND.search(rest) is None


def _mapped(facts: Facts) -> Iterator[Hit]:
    """Yield `load(id).await.map_err(|_| StatusCode::NOT_FOUND)?` (Rust)."""
    for call in facts.calls_of_method("map_err"):
        given, made = call.argument(place=0), call.origin
        if given is None or made is None or not made.is_awaited:
            continue
        maps = re.match(r"\|_\w*\|\s*(?:\w+::)*(?:NOT_FOUND|NotFound|ErrorNotFound)", given.value.text)
        if maps is not None:
            yield Hit(call.span, f"every failure of {made.written}() is answered as not found", LIKELY)


RULE = Rule(
    id="FK-R163",
    slug="failure-answered-as-not-found",
    title="Failure answered as not found",
    why="While the database is down, clients learn that what they ask for is gone: they drop it or make it "
    "again, and no alert counts an error.",
    fix="Answer 404 only to the error that means it, and 500 or 503 to all others.",
    kind="reliability",
    severity="medium",
    languages=EVERY_LANGUAGE,
    check=_check,
    words=(b"otFound", b"NOT_FOUND", b"404", b"DoesNotExist"),
)
