"""Keys of maps of which there is no end: clients choose them, or they are texts, people or addresses.

What a program has few of, such as its files, plugins and settings, is no such key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Assignment, Call, Facts, Scope
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.client_keys import has_addresses, is_asked_by_clients, takes_request
from faultkit.code.rules.vocabulary.failures import is_handler
from faultkit.code.rules.vocabulary.remote_calls import remote_calls
from faultkit.code.rules.vocabulary.service_clients import service_calls
from faultkit.code.rules.vocabulary.stores import MapStore, Put, bound_names, given_words, plain_key, words

OPEN_WORD = lazy_regex(
    r"(?<![a-z])(ids?|ip|user|email|query|prefix|url|uri|token|session|sku|address|phone|customer|account|order"
    r"|device|search|term|hash|sha(?!\d)|visitor|client_?id|member|product|item|remote_?addr|plate|isbn|message"
    r"|coord\w*|lat|lon|zip|postcode|postal\w*|input|word|phrase|domain)(?![a-z])"
    r"|(?<=[a-z])(Id|ID|Ip|IP|Email|Url|URL|Token|Sku|Address|Hash|Query|Addr)(?![a-z])",
    re.IGNORECASE,
)
"""Words in keys that clients choose, so that there is no end of them."""
CLIENTS_TEXT = lazy_regex(
    r"(source|expression|expr|formula|script|sql|statement|text|content|markup|markdown|html|term|q|search|phrase|keyword"
    r"|prompt|sentence|pattern|xpath|template|filter|criteria|addr|host_?name|fingerprint|signature)"
    r"(_?(text|source|string|str|body|hash|key))?",
    re.IGNORECASE,
)
"""Names of keys that are written by clients: texts that are compiled, rendered or searched for."""
_FETCHED_FEW = lazy_regex(
    r"topic|table|bucket|queue|schema|service|host|node|broker|partition|repo|stream|database|collection|index|model"
    r"|tenant|package|provider|issuer|kid|cluster|class|file|path|module|plugin|channel|driver|column|field|feature|flag",
    re.IGNORECASE,
)
"""Keys of things that an installation has few of."""
_OF_DIGEST = lazy_regex(r"hash", re.IGNORECASE)
_CONFIGURED = lazy_regex(
    r"cert|jwks|well_?known|config|setting|option|environ|issuer|metadata|endpoint", re.IGNORECASE
)
"""Words of values that a program is set up with."""


def has_open_key(put: Put, store: MapStore, facts: Facts) -> bool:
    """Return whether the file shows that there is no end of the keys of a put."""
    given = given_words(put.scope, facts)
    if has_addresses(store) or is_of_client(put, given):
        return True
    if given & words(put.key) and (is_asked_by_clients(put, facts) or _is_in_handler(put, facts)):
        return True
    if _is_configured(plain_key(put.key), put.scope, facts):
        return False
    return is_open_by_name(put, facts) or is_fetched(put, given, facts)


def is_open_by_name(put: Put, facts: Facts) -> bool:
    """Return whether a key, or what it is made of, is by its name something of which there is no end."""
    made = (each.value.text for each in _made(put, facts) if each.value is not None)
    for text in (put.key, *made):
        word = _OF_DIGEST.sub("", text)
        if OPEN_WORD.search(word) or CLIENTS_TEXT.fullmatch(plain_key(word)):
            return True
    return False


def _is_in_handler(put: Put, facts: Facts) -> bool:
    """Return whether a handler of requests puts the value, by its parameters: `(req, res)`."""
    return any(map(is_handler, facts.functions_around(put)))


_LEVELS = 2
"""Levels of callers that are examined."""


def _is_configured(name: str, scope: Scope, facts: Facts, levels: int = _LEVELS) -> bool:
    """Return whether all callers in the file give constants or settings for a parameter."""
    names = [each.name for each in scope.parameters if each.name not in ("self", "cls")]
    if name not in names:
        return False
    found = False
    for call in facts.callers_of(scope):
        given = call.argument(name, place=names.index(name))
        if given is None:
            continue
        text, caller, found = given.value.text, facts.named_function_of(call), True
        if given.value.shape == "text" or _CONFIGURED.search(text):
            continue
        if caller is None or levels == 1 or not _is_configured(text, caller, facts, levels - 1):
            return False
    return found


def is_of_client(put: Put, given: frozenset[str]) -> bool:
    """Return whether a key is made of what a request brings."""
    return takes_request(put.scope) and bool(given & words(put.key))


def is_fetched(put: Put, given: frozenset[str], facts: Facts) -> bool:
    """Return whether the value is loaded from outside, for what the key is made of."""
    made = (each.value.text for each in _made(put, facts) if each.value is not None)
    return not any(map(_FETCHED_FEW.search, (put.key, *made))) and is_loaded(put, given, facts)


@lru_cache(maxsize=4)
def _remote(facts: Facts) -> frozenset[Call]:
    return frozenset((*(each.call for each in remote_calls(facts)), *service_calls(facts)))


def _made(put: Put, facts: Facts) -> Iterator[Assignment]:
    """Yield the assignments that make the key of a put."""
    assigned = facts.within(facts.assignments, put.scope.body)
    yield from (each for each in assigned if put.key in each.targets and each.value is not None)


def is_loaded(put: Put, given: frozenset[str], facts: Facts) -> bool:
    """Return whether the value is loaded from outside, for what the key is made of, however few there are."""
    if not given & words(put.key):
        return False
    assigned = [*facts.within(facts.assignments, put.scope.body)]
    keys = words(put.key) & given
    for each in _made(put, facts):
        keys |= words(each.value.text) & given if each.value is not None else frozenset()
    held = words(put.value)
    made = [each for each in assigned if held & bound_names(each) and not keys & bound_names(each)]
    # `answer = await client.ask(id)`, then `value = answer.data`
    parts = {name for each in made if each.value is not None for name in words(each.value.text)} - held
    made += [each for each in assigned if parts & bound_names(each) and not keys & bound_names(each)]
    remote = _remote(facts)
    return any(
        call in remote or (call.is_awaited and facts.language != "kotlin")
        for span in (_line_of(put, facts), *(each.span for each in made))
        for call in facts.within(facts.calls, span)
        if keys & words(facts.text(call.span))
    )


def _line_of(put: Put, facts: Facts) -> Span:
    """Return the place of a put, in Kotlin with what it is chained to: `load(id).also { known[id] = it }`."""
    if facts.language != "kotlin" or not put.value.endswith((".also", ".let", ".apply")):
        return put.span
    around = [each for each in facts.calls_around(put) if each.method in ("also", "let", "apply")]
    return around[-1].span if around else put.span
