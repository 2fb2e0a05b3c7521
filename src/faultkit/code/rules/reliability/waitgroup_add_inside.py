"""Go: finds `WaitGroup.Add` inside the goroutine that it counts."""

from __future__ import annotations

from collections.abc import Iterator

from faultkit.code.facts import Facts, is_within
from faultkit.code.rules.rule import CERTAIN, GO, Hit, Rule
from faultkit.code.rules.vocabulary.channels import goroutine_around


def _check(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls_of_method("Add"):
        inside = goroutine_around(call.span, facts)
        if inside is None or not _is_group(call.name, call.receiver_written, facts):
            continue
        group = call.receiver_written
        waits = [each for each in facts.calls_of_method("Wait") if each.receiver_written == group]
        done = any(
            each.receiver_written == group and is_within(each.span, inside.callee)
            for each in facts.calls_of_method("Done")
        )
        before = any(
            each.receiver_written == group
            and not is_within(each.span, inside.callee)
            and each.span.start < inside.span.start
            for each in facts.calls_of_method("Add")
        )
        waits_outside = any(not is_within(each.span, inside.callee) for each in waits)
        if done and waits_outside and not before:
            what = f"{group}.Wait() may run before this goroutine has called {group}.Add()"
            yield Hit(call.span, what, CERTAIN)


def _is_group(name: str, group: str, facts: Facts) -> bool:
    return name == "sync.WaitGroup.Add" or (
        facts.imports_any("sync") and group.lower().endswith(("wg", "waitgroup"))
    )


RULE = Rule(
    id="FK-R048",
    slug="waitgroup-add-inside-goroutine",
    title="WaitGroup.Add inside the goroutine",
    why="Wait may return before goroutines that have not started yet are counted: results are missing.",
    fix="Call Add before the go statement.",
    kind="reliability",
    severity="high",
    languages=GO,
    check=_check,
)
