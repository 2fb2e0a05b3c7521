"""Counters, marks and flags of what runs, which a function sets and takes back only if nothing fails.

if (this.active >= this.max) throw new Busy();     if feed in self._running: return "busy"
this.active++;                                     self._running.add(feed)
const rows = await this.db.execute(query);         await self._store.save(feed)
this.active--;                                     self._running.discard(feed)

Each failure takes one place away, until all callers are refused. A counter must be compared with a limit and
a mark asked for before: those of metrics are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Facts, Scope, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.exits import left_before

_RAISES = {
    "incrementAndGet": "decrementAndGet", "getAndIncrement": "decrementAndGet", "fetch_add": "fetch_sub",
    "Increment": "Decrement", "AddInt32": "AddInt32", "AddInt64": "AddInt64", "Add": "Add", "inc": "dec",
    "increment": "decrement", "addAndGet": "addAndGet", "getAndAdd": "getAndAdd",
}  # fmt: skip
_SUMS = frozenset(("Add", "AddInt32", "AddInt64", "addAndGet", "getAndAdd"))
_LOWERS = frozenset(("decrementAndGet", "getAndDecrement", "fetch_sub", "Decrement", "dec", "decrement"))
_MARKS = frozenset(("add", "Add", "TryAdd", "insert", "put", "set", "putIfAbsent"))
_UNMARKS = frozenset(("discard", "remove", "delete", "Remove", "TryRemove", "pop"))
_LIMIT = (
    r"(?<![\w.])(?:(?:self|this|\w)\.)?#?_?{0}"
    r"(?:\.(?:get|load|Load|size|Read)\([^()]*\)|\.(?:Value|value|current))?\s*(?:>=?|<=?)\s*[\w.(]"
)
_COMPARED = lazy_regex(r"\)\s*(>=?|<=?)\s*\w")
_DEPTHS = lazy_regex(r"depth|level|nest|indent|recurs|pos$|index|offset|refs?$", re.IGNORECASE)
"""Counters of an object that is dropped when its work fails, such as a parser."""
_HAS = lazy_regex(r"^(has|contains|containsKey|Contains|ContainsKey|contains_key|includes)$")


class _Change(NamedTuple):
    """A place where a counter or mark changes."""

    key: str
    """The member, with what is marked."""
    span: Span
    up: bool


def kept_marks(facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield where a counter or mark is set that a failure leaves as it is, with what is skipped."""
    changes = [*_counted(facts), *_marked(facts), *_flagged(facts)]
    lowered = {each.key for each in changes if not each.up}
    for each in changes:
        scope = facts.function_of(each) if each.up and each.key in lowered else None
        if scope is None:
            continue
        ends = [
            one
            for one in changes
            if not one.up
            and one.key == each.key
            and is_within(one.span, scope.body)
            and one.span.start > each.span.end
            and not facts.are_exclusive(each, one)
        ]
        if not ends or _is_recursive(scope, facts) or not _is_limit(each, scope, facts):
            continue
        begin = _begin(each, facts)
        left = [one for one in ends if one.span.start > begin]
        if left and (how := left_before(begin, left, scope, facts)):
            name = each.key.partition("(")[0].rstrip("?")
            yield each.span, f"{name} stays as it is set here when {how}: nothing takes it back"


def _is_recursive(scope: Scope, facts: Facts) -> bool:
    """Return whether a function calls itself: it marks the way that it has gone."""
    return any(is_within(call.span, scope.body) for call in facts.callers_of(scope))


def _counted(facts: Facts) -> Iterator[_Change]:
    for each in facts.assignments:
        if each.operator not in ("++", "--", "+=", "-=") or each.scope is None or len(each.targets) != 1:
            continue
        by_one = each.operator in ("++", "--") or (each.value is not None and each.value.text == "1")
        name = each.targets[0]
        if by_one and ("." in name or _is_outer(name, each.scope, facts)):
            yield _Change(_key(name), each.span, each.operator[0] == "+")
    # Sums of several languages are called like additions to a list, of which there are many.
    summed = b"-1)" in facts.syntax.source
    names = [name for name in _RAISES if summed or name not in _SUMS]
    lowered = summed or facts.calls_of_method(*_LOWERS)
    for call in facts.calls_of_method(*names, *_LOWERS) if lowered else ():
        given = [one.value.text for one in call.positional]
        if call.receiver_written in ("Interlocked", "atomic", "System.Threading.Interlocked") and given:
            name, amount = re.sub(r"^(ref\s+|&)", "", given[0]), (given[1:] or ["1"])[0]
        elif call.method in ("AddInt32", "AddInt64"):
            continue
        else:
            name, amount = call.receiver_written, (given or ["1"])[0]
        if not name or (call.method in ("Add", "addAndGet", "getAndAdd") and amount not in ("1", "-1")):
            continue
        up = call.method not in _LOWERS and not amount.startswith("-")
        yield _Change(_key(name), call.span, up)


def _is_outer(name: str, scope: Scope, facts: Facts) -> bool:
    """Return whether a variable belongs to a function around, or to the file."""
    return name in facts.file_names or any(
        name in each.targets and each.operator in ("=", ":=") and is_within(scope.span, each.scope.body)
        for each in facts.assignments_of(name)
        if each.scope is not None and each.scope is not scope
    )


def _marked(facts: Facts) -> Iterator[_Change]:
    taken_back = {_key(call.receiver_written) for call in facts.calls_of_method(*_UNMARKS)}
    for call in facts.calls_of_method(*_MARKS, *_UNMARKS) if taken_back else ():
        path = call.receiver_written
        if not path or _key(path) not in taken_back:
            continue
        scope = facts.function_of(call)
        is_member = "." in path or f"self.{path}" in facts.assigned_names
        if not is_member and (scope is None or not _is_outer(path, scope, facts)):
            continue
        given = call.positional[0].value.text if call.positional else ""
        if re.fullmatch(r"&?[\w.]+(?:\.clone\(\)|\.to_string\(\))?", given):
            key = re.sub(r"^&|\.(clone|to_string)\(\)$", "", given)
            yield _Change(f"{_key(path)}({key})", call.span, call.method in _MARKS)


_BUSY = lazy_regex(
    r"(?i:busy|locked|active|in_?progress|in_?flight)$"
    r"|(?i:(?<!incom)(?<!outgo)(?<!str)(?<!sett)(?<!miss)(?<!exist)(?<!remain)(?<!encod)(?<!head)(?<!pend)ing)$"
)
"""Flags that say that work is under way."""
_ENDS_OF_BUSY = ("busy", "locked", "active", "progress", "flight", "ing")
"""How each of them ends, in small letters."""
_TRUTHS = {"true": True, "True": True, "false": False, "False": False}
_SETS = ("set", "store", "Store", "lazySet")
_SWAPS = ("compareAndSet", "CompareAndSwap", "compare_exchange", "swap", "Swap", "getAndSet")


def _flagged(facts: Facts) -> Iterator[_Change]:
    """Yield where a flag is set or taken back, of those that have a name for work that is under way."""
    for each in facts.assignments:
        name = each.targets[0] if each.operator == "=" and len(each.targets) == 1 else ""
        if not name.lower().endswith(_ENDS_OF_BUSY) or each.scope is None:
            continue
        value = None if each.value is None else _TRUTHS.get(each.value.text)
        if value is None or not _BUSY.search(name):
            continue
        if "." in name or f"self.{name}" in facts.file_names or _is_outer(name, each.scope, facts):
            yield _Change(f"{_key(name)}?", each.span, value)
    for call in facts.calls_of_method(*_SETS, *_SWAPS):
        path = call.receiver_written
        if not _BUSY.search(path):
            continue
        given = [_TRUTHS.get(one.value.text) for one in call.positional]
        if not given or (call.method in _SETS and given[0] is None):
            continue
        up = given[0] is True or given[:2] == [False, True]
        if call.method in _SETS or up:
            yield _Change(f"{_key(path)}?", call.span, up)


def _is_asked(each: _Change, name: str, scope: Scope, facts: Facts) -> bool:
    """Return whether the function leaves, before it sets a flag, if that is set already."""
    # `if (!signing.HasValue)` asks whether a setting is known.
    asked = re.compile(
        rf"(?<![\w]){re.escape(name)}\b(?!\??\.HasValue|\s*(?:[!=]==?|is|is not)\s*(?:null|None|undefined)\b)"
    )
    for step in facts.own(facts.steps, scope):
        if step.kind != "branch" or step.span.start > each.span.start or not asked.search(step.text):
            continue
        if any(arm.leaves == "function" for arm in facts.arms if arm.fork == step.span):
            return True
    return False


def _key(path: str) -> str:
    return re.sub(r"^(self|this)\.|[?!#]|\.(lock|write|borrow_mut|unwrap|expect|await)(\(\))?", "", path)


def _is_limit(each: _Change, scope: Scope, facts: Facts) -> bool:
    """Return whether callers are refused by a counter or mark."""
    member, _, given = each.key.partition("(")
    last = member.rpartition(".")[2]
    if last.endswith("?"):
        return _is_asked(each, last[:-1], scope, facts)
    if not given:
        return _DEPTHS.search(last) is None and _is_compared(each, last, scope, facts)
    before = Span(scope.body.start, each.span.end)
    asked = [
        call
        for call in facts.within(facts.calls, before)
        if _HAS.match(call.method) and _key(call.receiver_written) == member
    ]
    text = facts.text(before)
    return (
        bool(asked)
        or re.search(rf"\b{re.escape(given.rstrip(')'))}\s+in\s+[\w.]*\b{re.escape(last)}\b", text)
        is not None
        or _is_condition(each, facts)
    )


def _is_compared(each: _Change, name: str, scope: Scope, facts: Facts) -> bool:
    """Return whether a counter is compared with a limit by a branch or a loop."""
    limit = re.compile(_LIMIT.format(re.escape(name)))
    for step in facts.within(facts.steps, scope.body):
        if step.kind == "branch" and (
            limit.search(step.text) or (is_within(each.span, step.span) and _COMPARED.search(step.text))
        ):
            return True
    return any(
        limit.search(loop.over) for loop in facts.within(facts.loops, scope.body) if loop.kind == "while"
    )


def _is_condition(each: _Change, facts: Facts) -> bool:
    """Return whether the call that marks also tells whether it was marked: `if !running.insert(id) {`."""
    text = facts.text(each.span)
    return any(
        step.kind == "branch" and is_within(each.span, step.span) and text in step.text
        for step in facts.steps
    )


def _begin(each: _Change, facts: Facts) -> int:
    """Return the offset from which the place is taken: behind the branch that refuses, if there is one."""
    for step in facts.steps:
        if step.kind == "branch" and is_within(each.span, step.span) and facts.text(each.span) in step.text:
            return step.span.end
    return each.span.end
