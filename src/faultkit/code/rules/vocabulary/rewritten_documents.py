"""Documents under a key that a function reads, changes and writes back, such as a cart in Redis."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Facts, Scope
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.claimed_things import Thing, asked_things, set_things
from faultkit.code.rules.vocabulary.lock_regions import lock_regions

_READS = lazy_regex(r"(?i)^(h?get|string_?get(async)?|get_?string(async)?|getasync|get_?item(async)?|send)$")
_CHANGES = (
    r"(?:push|append|add|Add|insert|Insert|extend|remove|Remove|delete|pop|splice|unshift|put|update|retain"
    r"|push_back|setdefault|concat|plus)"
)
_GUARDS = lazy_regex(
    r"\bwatch\(|\bWatch\(|\bWATCH\b|\beval\w*\(|\bEval|[sS]cript\w*\(|[tT]ransaction|ConditionExpression|[vV]ersion"
    r"|[cC]ompare|[lL]ock\b|[lL]ock\(|[mM]utex|runExclusive|IfMatch|\bcas\("
)
_NAME = lazy_regex(r"(?<![\w.])[A-Za-z_]\w*")
_NO_HOLDERS = frozenset(("err", "ok", "_", "self", "this", "mut"))


def rewritten_documents(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield where a document is written back that was read and changed before, with its key."""
    settings = [each for each in set_things(facts) if each.kind == "key" and each.call is not None]
    if not settings:
        return
    for read in asked_things(facts):
        call = read.call
        if read.kind != "key" or call is None or not _READS.match(call.method):
            continue
        for write in settings:
            if not read.is_same(write) or write.counts or write.place.start < read.place.end:
                continue
            if _is_written_back(read, write, facts):
                yield Span(read.place.start, write.place.end), read.raw_key or read.key
                break


def _is_written_back(read: Thing, write: Thing, facts: Facts) -> bool:
    scope = read.scope
    if _GUARDS.search(facts.text(scope.span)):
        return False
    if any(each.span.start <= read.place.start < each.span.end for each in lock_regions(facts)):
        return False
    held = _holders(read, write, scope, facts) - _set_anew(read, write, facts)
    between = facts.text(Span(read.place.end, write.place.end))
    assert write.call is not None
    given = " ".join(each.value.text for each in write.call.arguments[1:] or write.call.arguments)
    for name in held & {*_NAME.findall(given)} | _sources(held, given, read, write, facts):
        word = re.escape(name)
        if re.search(
            rf"(?<![\w.]){word}(?:[!?]?\.\w+(?:\(\))?|\[[^\]]*\])*[!?]?\.{_CHANGES}\("
            rf"|(?<![\w.]){word}(?:\.\w+|\[[^\]]*\])+\s*(?:[-+*|]|\|\|)?=(?!=)|\.\.\.{word}\b"
            rf"|(?<![\w.]){word}\s*=\s*append\(",
            between,
        ):
            return True
    return False


def _holders(read: Thing, write: Thing, scope: Scope, facts: Facts) -> set[str]:
    """Return the variables that hold what was read, or something made of it."""
    found: set[str] = set()
    for each in facts.within(facts.assignments, scope.body):
        if each.value is None or each.span.start > write.place.start:
            continue
        own = each.value.span.start <= read.place.start and read.place.end <= each.value.span.end
        if own or found & {*_NAME.findall(each.value.text)}:
            found.update(name for target in each.targets for name in re.findall(r"[A-Za-z_]\w*", target))
            found -= _NO_HOLDERS
    # `json.Unmarshal(raw, &session)`
    for call in facts.within(facts.calls, Span(read.place.end, write.place.start)):
        texts = [one.value.text for one in call.positional]
        if found & {*texts}:
            found.update(text[1:] for text in texts if text.startswith("&") and text[1:].isidentifier())
    return found


def _set_anew(read: Thing, write: Thing, facts: Facts) -> set[str]:
    """Return variables that get another value in between, as a cache that is filled from its source."""
    return {
        name
        for each in facts.within(facts.assignments, Span(read.place.end, write.place.start))
        if each.operator == "=" and each.call is not None and each.call.is_awaited
        for name in each.targets
        if name not in _NAME.findall("" if each.value is None else each.value.text)
    }


def _sources(held: set[str], given: str, read: Thing, write: Thing, facts: Facts) -> set[str]:
    """Return the held variables from which what is written was made: `raw = json.Marshal(session)`."""
    names = {*_NAME.findall(given)}
    found: set[str] = set()
    for each in facts.within(facts.assignments, Span(read.place.end, write.place.start)):
        targets = {name for target in each.targets for name in re.findall(r"[A-Za-z_]\w*", target)}
        if each.value is not None and targets & names:
            found |= held & {*_NAME.findall(each.value.text)}
    return found
