"""JavaScript: calls on other objects whose promise is dropped, by what this text says of the same methods."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts
from faultkit.code.rules.rule import LIKELY, POSSIBLE
from faultkit.code.rules.vocabulary.service_clients import type_of_receiver
from faultkit.code.rules.vocabulary.text_pattern import TextPattern


def awaited_elsewhere(facts: Facts) -> dict[Call, float]:
    """Return calls of what is awaited elsewhere, and of what sends by a client that is, with how sure it is
    that they return a promise (JavaScript)."""
    awaited = _usually_awaited(facts)
    clients = {call.receiver_written for call in facts.calls if call.is_awaited}
    found = {}
    for call in facts.calls:
        if not call.is_discarded or call.is_awaited or "." not in call.written:
            continue
        if call.receiver.endswith(")") or not facts.is_in_async(call) or has_callback(call):
            continue
        if (
            call.written in awaited
            and call.receiver_written not in _REPLIES
            and call.method not in _EITHER
            and call.receiver_written != "self"
        ) or (
            (_SENDS.search(call.written) and call.receiver_written in clients)
            or (_MAILS.search(call.written) and not _is_own_object(call, facts))
        ):
            found[call] = LIKELY
        elif _is_promised(call, facts):
            is_store = _STORES.search(type_of_receiver(call, facts)) and not _is_own_object(call, facts)
            found[call] = LIKELY if is_store else POSSIBLE
    return found


def _usually_awaited(facts: Facts) -> frozenset[str]:
    """Return what stands with `await` as a statement of its own at least as often as without.

    To await it for its result does not show that its end matters where the result is not used."""
    count = Counter[str]()
    for call in facts.calls:
        if call.is_discarded and "." in call.written:
            count[call.written] += 1 if call.is_awaited else -1
    waited = {call.written for call in facts.calls if call.is_awaited and call.is_discarded}
    return frozenset(name for name in waited if count[name] >= 0)


def _is_own_object(call: Call, facts: Facts) -> bool:
    """Return whether the object is one of this program, made here: `const queue = new TaskQueue()`.

    What its methods return is not known; a client of a broker is given, or made by a package."""
    for each in facts.assignments_of(call.receiver_written):
        found = None if each.value is None else _MADE.match(each.value.text)
        if found is not None and facts.imports.names.get(found[1], ".").startswith(_OWN_MODULES):
            return True
    return False


_OWN_MODULES = (".", "@/", "~/", "#", "src/")
"""Beginnings of modules of the program itself."""
_MADE = lazy_regex(r"new\s+(\w+)")
_PROMISED = TextPattern(
    r"^\s*(?:public\s+|abstract\s+)?(\w+)\s*(?:<[^>(]*>)?\([^()]*\)\s*:\s*Promise<", re.MULTILINE
)
_OF_SERVICE = lazy_regex(
    r"(Repository|Client|Api|Gateway|Publisher|Producer|Mailer|Mail|MailService|Notifier|Notifications?|Queue|Audit\w*"
    r"|Store|Sender|Storage|Webhooks?|Crm)(Service)?$"
)
_STORES = lazy_regex(r"(Repository|Client|Gateway|Publisher|Producer|Queue|Audit\w*|Store|Storage)$")
"""Types whose methods wait for another program; those of other services may only tell listeners."""
_DOES = lazy_regex(
    r"^(send|save|insert|create|update|upsert|delete|remove|notify|upload|record|store|index|charge|refund|publish|enqueue"
    r"|sync|track|write|append|mark|push|archive|process)([A-Z]\w*)?$"
)


def _is_promised(call: Call, facts: Facts) -> bool:
    """Return whether a method returns a promise, by an interface of this text or the type of its object."""
    if facts.language not in ("typescript", "tsx") or call.receiver_written in ("self", "this", "super"):
        return False
    if call.method in _EITHER or call.method.endswith(("Listener", "Listeners")):
        return False
    if call.method in _promised(facts) and call.receiver_written.startswith(("this.", "self.")):
        return True
    kind = type_of_receiver(call, facts)
    if not kind or _OF_SERVICE.search(kind) is None or _DOES.match(call.method) is None:
        return False
    # This text may say what its methods return; to look for that takes longest.
    return kind not in facts.classes and not re.search(
        rf"\binterface\s+{re.escape(kind)}\b", facts.whole_text
    )


@lru_cache(maxsize=4)
def _promised(facts: Facts) -> frozenset[str]:
    """Return the names of methods that are declared without a body and return a promise (TypeScript)."""
    found = {*_PROMISED.findall(facts.whole_text)}
    return frozenset(found - {scope.short_name for scope in facts.scopes if scope.name})


_EITHER = frozenset(
    (
        "emit",
        "fire",
        "trigger",
        "dispatch",
        "push",
        "close",
        "destroy",
        "end",
        "cancel",
        "write",
        "click",
        "next",
        "abort",
        "send",
        "json",
        "set",
    )
)
_REPLIES = frozenset(("reply", "res", "response", "rep"))
"""Answers of a server: their methods send at once, and are thenable to be returned."""
_SENDS = lazy_regex(
    r"(^|\.)\w*([rR]epo(sitory)?|[cC]lient|[aA]pi|[gG]ateway|[sS]torage|[sS]tore|[aA]udit\w*|[cC]rm|[dD]b)"
    r"\.(send|save|insert|create|update|upsert|delete|notify|upload|record|store|index|charge|refund)([A-Z]\w*)?$"
)
_MAILS = lazy_regex(
    r"(^|\.)\w*([mM]ailer|[mM]ailService|[eE]mailService|[nN]otifier|[nN]otificationService|[pP]ublisher|[pP]roducer"
    r"|[qQ]ueue)\.(send|publish|notify|enqueue|add)\w*$"
)


def has_callback(call: Call) -> bool:
    """Return whether a call is given a function for its result, so that it may return nothing."""
    last = call.positional[-1].value if call.positional else None
    return last is not None and (
        last.shape == "function" or last.text in ("cb", "callback", "done", "next", "fn", "resolve")
    )
