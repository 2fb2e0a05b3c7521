"""Finds messages that go back into their queue whenever they fail."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Handler
from faultkit.code.rules.rule import EVERY_LANGUAGE, JAVASCRIPT, LIKELY, Hit, Rule
from faultkit.code.rules.vocabulary.acknowledgements import NACKS, is_requeued

_COUNTS = lazy_regex(
    r"x-death|x-delivery|[dD]elivery_?[cC]ount|[rR]edelivered|attempt|retr(y|ies)|tries|x-delivery-limit|dead_letter"
    r"|deadLetter|poison|quorum|isRedeliver",
)
_OF_DATA = lazy_regex(
    r"(ValueError|KeyError|TypeError|Decode\w*|Validation\w*|Json\w*|JSON\w*|Format\w*|Parse\w*|IllegalArgument\w*|RuntimeException)"
)
_SLEEPS = lazy_regex(r"[sS]leep\(|[dD]elay\(|setTimeout")


def _check(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls_of_method(*NACKS):
        if not is_requeued(call, facts) or facts.imports_any("google.cloud", "@google-cloud/pubsub"):
            continue  # The subscription of Pub/Sub has the waits and the limit.
        scope = facts.named_function_of(call)
        text = facts.whole_text if scope is None else facts.text(scope.span)
        if _COUNTS.search(_without_comments(text)) or _SLEEPS.search(text) or _has_other_end(call, facts):
            continue
        handler = _handler(call, facts)
        if _is_in_catch(call, facts) if handler is None else _takes_all(handler):
            what = f"{call.written}() puts every message that fails back: one that always fails never leaves"
            yield Hit(call.span, what, LIKELY)


def _without_comments(text: str) -> str:
    return re.sub(r"(?m)(#|//).*$", "", text)


def _handler(call: Call, facts: Facts) -> Handler | None:
    """Return the handler of the error that a message is put back for; in Rust, an arm `Err(…)`."""
    around = facts.handlers_around(call)
    return around[-1] if around else None


def _is_in_catch(call: Call, facts: Facts) -> bool:
    """Return whether it stands in `work(message).catch((err) => channel.nack(message))` (JavaScript)."""
    return facts.language in JAVASCRIPT and any(each.method == "catch" for each in facts.calls_around(call))


def _takes_all(handler: Handler) -> bool:
    """Return whether errors of the message itself, which come again, are among those handled."""
    return handler.is_broad or not handler.types or any(map(_OF_DATA.search, handler.types))


def _has_other_end(call: Call, facts: Facts) -> bool:
    """Return whether the same function lets some failed messages go, or chooses by the error."""
    scope = facts.named_function_of(call)
    if scope is None:
        return False
    for each in facts.within(facts.calls, scope.span):
        if each is call or each.method not in (
            call.method,
            "reject",
            "Reject",
            "basic_reject",
            "basicReject",
        ):
            continue
        if not is_requeued(each, facts):
            return True
    return False


RULE = Rule(
    id="FK-R085",
    slug="failing-message-requeued",
    title="Failing message requeued for ever",
    why="A message that can never be processed is delivered again at once, in a loop that keeps the worker "
    "and the broker busy and holds up the messages behind it.",
    fix="Send it to a dead-letter queue (requeue=False) after a number of tries, or at once if it cannot "
    "be read.",
    kind="reliability",
    severity="high",
    languages=EVERY_LANGUAGE,
    check=_check,
)
