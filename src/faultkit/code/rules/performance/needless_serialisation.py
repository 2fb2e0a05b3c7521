"""Finds values that are serialised and parsed again, and deep copies for every item."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Loop, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.rules.rule import GO, JAVASCRIPT, LIKELY, POSSIBLE, PYTHON, Hit, Rule
from faultkit.code.rules.vocabulary.repetition import frequency_of, is_over_items, uses_item

_BACK = {
    "json.loads": ("json.dumps",),
    "orjson.loads": ("orjson.dumps",),
    "pickle.loads": ("pickle.dumps",),
    "yaml.safe_load": ("yaml.dump", "yaml.safe_dump"),
    "JSON.parse": ("JSON.stringify",),
}
_COPIES = frozenset(("copy.deepcopy", "deepcopy", "lodash.cloneDeep", "structuredClone"))
_CLONES = lazy_regex(r"clone|copy|serializ|safe|plain|json|ensure", re.IGNORECASE)
_WRITES = frozenset(("json.dumps", "JSON.stringify", "encoding/json.Marshal", "pickle.dumps"))


def _check(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls:
        if call.name in _BACK:
            yield from _read_back(call, facts)
        elif call.name in _COPIES or call.name in _WRITES:
            loops = [loop for loop in facts.loops_around(call) if is_over_items(loop)]
            if not loops or not call.positional or _depends(call, loops[-1], facts):
                continue
            if call.name in _WRITES:
                yield Hit(call.span, f"{call.written}() writes the same value for every item", POSSIBLE)
            elif not _is_changed(call, facts):
                yield Hit(call.span, f"{call.written}() copies the same tree for every item", LIKELY)
    if facts.language == "go":
        yield from _go(facts)


def _read_back(call: Call, facts: Facts) -> Iterator[Hit]:
    first = call.argument(place=0)
    if first is None or not _is_often(call, facts):
        return
    for each in facts.calls_named(*_BACK[call.name]):
        # With a replacer or `default=` it changes the value.
        if each.span == first.value.span and len(each.arguments) == 1:
            what = f"{call.written}() reads back what {each.written}() has just written"
            yield Hit(call.span, what, LIKELY)


def _is_often(call: Call, facts: Facts) -> bool:
    """Return whether it runs for each item or request; elsewhere it is a copy that is meant."""
    if call.is_discarded or facts.tries_around(call):
        return False
    scope = facts.named_function_of(call)
    if scope is not None and _CLONES.search(scope.short_name):
        return False
    return frequency_of(call, facts) is not None


def _depends(call: Call, loop: Loop, facts: Facts) -> bool:
    """Return whether the value changes with the item, or is only logged or needed when something failed."""
    if uses_item(call, loop, facts):
        return True
    if any(is_logging(each) for each in facts.calls_around(call)) or any(
        is_within(call.span, handler.span)
        for each in facts.within(facts.tries, loop.body)
        for handler in each.handlers
    ):
        return True
    heads = {re.split(r"\W", each.value.text.lstrip("&*"))[0] for each in call.positional}
    return any(
        re.split(r"\W", target)[0] in heads
        for each in facts.within(facts.assignments, loop.body)
        for target in each.targets
    ) or any(
        step.kind in ("return", "raise", "break") and step.span.start > call.span.start
        for step in facts.within(facts.steps, loop.body)
    )


def _is_changed(call: Call, facts: Facts) -> bool:
    """Return whether the copy is changed, and so is meant: `p = deepcopy(base)`, then `p.update(…)`."""
    if not call.assigned:
        return call.is_argument
    name, scope = call.assigned[0], facts.function_of(call)
    if not name.isidentifier():
        return False
    changes = (
        *(target for each in facts.assignments if each.scope is scope for target in each.targets),
        *(each.receiver_written for each in facts.calls if facts.function_of(each) is scope),
    )
    return any(re.match(rf"{name}(\.|\[|$)", each) for each in changes if each != name) or any(
        each.receiver_written == name for each in facts.calls
    )


def _go(facts: Facts) -> Iterator[Hit]:
    written = facts.calls_named("encoding/json.Marshal")
    for call in facts.calls_named("encoding/json.Unmarshal"):
        first = call.argument(place=0)
        for each in written:
            if (
                first is not None
                and each.assigned
                and first.value.text == each.assigned[0]
                and facts.function_of(each) is facts.function_of(call)
                and frequency_of(call, facts) is not None
            ):
                yield Hit(
                    call.span, f"{call.written}() reads back what {each.written}() has just written", LIKELY
                )


RULE = Rule(
    id="FK-P016",
    slug="needless-serialisation",
    title="Needless serialisation or copy",
    why="Serialised text costs many times as much as the value itself, in time and in memory.",
    fix="Pass the value on, copy only what changes, or move it out of the loop.",
    kind="performance",
    severity="low",
    languages=(*PYTHON, *JAVASCRIPT, *GO),
    check=_check,
    by_default=False,
)
