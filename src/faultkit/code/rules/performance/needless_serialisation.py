"""Finds values that are serialised and parsed again, and deep copies for every item."""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.code.facts import Facts
from faultkit.code.facts.facts import is_within
from faultkit.code.rules.rule import CERTAIN, GO, JAVASCRIPT, LIKELY, POSSIBLE, PYTHON, Hit, Rule
from faultkit.code.rules.vocabulary.repetition import is_over_items, uses_item

_BACK = {
    "json.loads": ("json.dumps",),
    "orjson.loads": ("orjson.dumps",),
    "pickle.loads": ("pickle.dumps",),
    "yaml.safe_load": ("yaml.dump", "yaml.safe_dump"),
    "JSON.parse": ("JSON.stringify",),
}
_WRITES = frozenset(("json.dumps", "JSON.stringify", "encoding/json.Marshal", "pickle.dumps"))


def _check(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls:
        if call.name in _BACK:
            first = call.argument(place=0)
            if first is None:
                continue
            inside = [
                each
                for each in facts.calls_named(*_BACK[call.name])
                if is_within(each.span, first.value.span)
            ]
            if inside:
                yield Hit(
                    call.span,
                    f"{call.written}() reads back what {inside[0].written}() has just written",
                    CERTAIN,
                )
        elif call.name in ("copy.deepcopy", "deepcopy", "lodash.cloneDeep", "structuredClone"):
            loops = [loop for loop in facts.loops_around(call) if is_over_items(loop)]
            if loops and not uses_item(call, loops[-1], facts):
                yield Hit(call.span, f"{call.written}() copies the same tree for every item", LIKELY)
        elif call.name in _WRITES:
            loops = [loop for loop in facts.loops_around(call) if is_over_items(loop)]
            if loops and call.positional and not uses_item(call, loops[-1], facts):
                yield Hit(call.span, f"{call.written}() writes the same value for every item", POSSIBLE)
    if facts.language == "go":
        yield from _go(facts)


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
)
