"""Calls that tasks and threads of Rust wait for while they hold a lock."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.failures import node_at
from faultkit.code.rules.vocabulary.lock_regions import guard_of
from faultkit.code.rules.vocabulary.locked_waits import is_blocking_in_rust, is_short_elsewhere
from faultkit.code.rules.vocabulary.name_pattern import NamePattern

_OF_FIELD = NamePattern(r"self\.\w+\.\w+")
_STREAMS = frozenset(("write_all", "flush", "read_exact", "read_line", "read_to_end", "read_to_string"))


def held_in_rust(waits: set[Call], facts: Facts) -> Iterator[tuple[Span, str, bool]]:
    """Yield calls that a task or thread waits for while it holds a lock that others need, with what is held,
    and whether the lock is meant for that."""
    for taken in facts.calls_of_method("lock", "write", "read"):
        scope = facts.function_of(taken)
        if scope is None or taken.arguments:
            continue
        found = guard_of(taken, facts)
        if found is None:
            yield from _temporary(taken, scope, facts)
            continue
        guard, rest = found
        if guard == "_":
            continue
        word = re.compile(
            rf"\b(?:{'|'.join((re.escape(guard), *_transactions_of(guard, facts.text(rest))))})\b"
        )
        items = _items_of(guard, facts.text(rest))
        orders_only = taken.is_awaited and _is_of_nothing(taken, facts)
        for each in facts.within(facts.calls, rest):
            if each.method == "drop" and word.search(facts.text(each.span)):
                break
            if facts.function_of(each) is not scope:
                continue
            text = facts.text(each.span)
            of_item = items is not None and items.search(text) is not None
            if not taken.is_awaited:
                blocks = each in waits and is_blocking_in_rust(each, facts) and not word.search(text)
                if not blocks and not (of_item and each.method in _STREAMS and not each.is_awaited):
                    continue
            elif each in waits:
                # A connection behind a lock can do one thing at a time anyway.
                if word.search(text) or not (each.is_awaited or _awaits_later(each, facts)):
                    continue
                if taken.method == "read":
                    continue
            elif not (of_item and each.is_awaited and not each.constructs) and not (
                each.is_awaited
                and taken.method != "read"
                and _OF_FIELD.fullmatch(each.written)
                and each.receiver_written != taken.receiver_written
                and not word.search(text)
                and is_short_elsewhere(taken, facts)
            ):
                continue
            what = f"{each.written}() waits while {taken.receiver_written} is held"
            is_meant = orders_only or (taken.is_awaited and _is_asked_first(guard, rest, each, facts))
            span = Span(taken.span.start, each.span.end) if of_item else each.span
            yield span, what, is_meant
            break


_MAPS = r"(?:get|get_mut|values|values_mut|iter|iter_mut|into_iter|entry)"


def _transactions_of(guard: str, text: str) -> list[str]:
    """Return variables that hold a transaction or connection of what is behind a guard."""
    begun = r"(?:begin|begin_with|transaction|acquire|conn|connection)\("
    return re.findall(rf"\blet\s+(?:mut\s+)?(\w+)[^=;]*=\s*{re.escape(guard)}\.{begun}", text)


def _items_of(guard: str, text: str) -> re.Pattern[str] | None:
    """Return what names the items that are taken from the collection behind a guard, if there are any."""
    own = re.escape(guard)
    found = re.findall(
        rf"(?:\(|\blet\s+(?:mut\s+)?|\bfor\s+\(?)([\w,\s&]+?)\)?\)?\s*(?:=|\bin\b)\s*&?(?:mut\s+)?{own}\.{_MAPS}\(",
        text,
    )
    found += re.findall(rf"\bfor\s+\(?([\w,\s&]+?)\)?\s+in\s+&(?:mut\s+)?\*?{own}\b", text)
    names = {name for each in found for name in re.findall(r"[a-z_]\w*", each)} - {"mut", "_", "ref", "let"}
    return re.compile(rf"\b({'|'.join(map(re.escape, sorted(names)))})\b") if names else None


def _temporary(taken: Call, scope: Scope, facts: Facts) -> Iterator[tuple[Span, str, bool]]:
    """Yield a lock that is held to the end of `if let Some(x) = peers.lock().await.get(id) { … }`."""
    node = node_at(taken.span, facts)
    kinds = ("if_expression", "match_expression", "block", "while_expression")
    while node is not None and node.type not in kinds:
        node = node.parent
    if node is None or node.type == "block" or not taken.is_awaited:
        return
    head = facts.text(Span(node.start_byte, taken.span.end))
    after = facts.text(Span(taken.span.end, node.end_byte))
    if not re.match(r"(if|while)\s+let\b|match\b", head) or not re.match(rf"\.await\s*\.{_MAPS}\(", after):
        return
    for each in facts.within(facts.calls, Span(taken.span.end, node.end_byte)):
        if (
            each.is_awaited
            and facts.function_of(each) is scope
            and not each.constructs
            and each.origin is not taken
        ):
            what = f"{each.written}() waits while {taken.receiver_written} is held, to the end of this block"
            yield Span(taken.span.start, each.span.end), what, False
            return


def _awaits_later(call: Call, facts: Facts) -> bool:
    return any(each.is_awaited for each in facts.calls_on(call))


def _is_of_nothing(taken: Call, facts: Facts) -> bool:
    """Return whether a mutex holds no value, `Mutex<()>`: all that it does is to let one load at a time."""
    name = re.escape(taken.receiver_written.rpartition(".")[2])
    made = re.search(rf"\b{name}\s*:\s*(?:[\w:]+<)*\s*[\w:]*Mutex<\(\)>", facts.whole_text)
    return made is not None


def _is_asked_first(guard: str, rest: Span, call: Call, facts: Facts) -> bool:
    """Return whether the function leaves with the one value behind a guard, if it is there: all that take the
    lock need what is loaded. A value that is looked up by a key is no such, nor an old one that would do if
    the load fails."""
    if re.search(
        rf"\b{re.escape(guard)}\s*\.\s*(?:as_\w+|clone|filter)\(", facts.text(Span(call.span.end, rest.end))
    ):
        return False
    asked = re.compile(rf"\b{re.escape(guard)}\b(?!\s*\.\s*(?:get|contains|contains_key|entry|iter)\(|\[)")
    return any(
        step.kind == "branch"
        and rest.start <= step.span.start
        and step.span.end <= call.span.start
        and asked.search(step.text)
        and any(arm.leaves == "function" for arm in facts.arms if arm.fork == step.span)
        for step in facts.within(facts.steps, rest)
    )
