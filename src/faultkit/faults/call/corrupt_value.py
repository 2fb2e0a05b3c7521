"""Corrupt value: one value of the result is another one of the same type, and nothing says so.

A text becomes a marker that stands nowhere else, so that its way into later calls and answers can be found.
A value that the tool's output schema binds (a choice, a pattern) is left alone if there is a free one, and a
number stays within its bounds.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar

from faultkit.faults.call.call import Call, CallFault, Circumstances, Verdict
from faultkit.faults.call.leaves import Leaf, leaves_of, put, value_at
from faultkit.faults.call.reply import changed_result, items, marker_from, text_of

_BLOCKS = {"tools/call": "content", "resources/read": "contents"}


@dataclass(frozen=True)
class CorruptValue(CallFault):
    kind: ClassVar[str] = "corrupt_value"
    summary: ClassVar[str] = "One value of the result is wrong, of the right type, and can be traced."
    only: ClassVar[tuple[str, ...]] = tuple(_BLOCKS)
    instead: ClassVar[str] = (
        "only results of tools and resources have values; use schema_drift for lists of tools"
    )

    def judge(self, call: Call, given: Circumstances) -> Verdict:
        marker = marker_from(given.rng)
        lie = Lie(marker, given.rng.uniform(), given.rng.below(900_000) + 100_000)
        key = _BLOCKS.get(call.method, "content")
        schema = given.output_schema

        def corrupted(result: dict[str, Any]) -> dict[str, Any]:
            if "structuredContent" not in result:
                return _with_wrong_text(result, key, lie)
            return _with_wrong_structure(result, key, lie, schema)

        return Verdict(frames=changed_result(corrupted), effect=self.kind, marker=marker)


@dataclass(frozen=True, slots=True)
class Lie:
    """What is said in place of the truth, drawn beforehand."""

    marker: str
    pick: float
    """Which of the values is wrong, as a share of all."""
    number: int

    def chosen(self, leaves: list[Leaf]) -> Leaf:
        return leaves[int(self.pick * len(leaves))]

    def about(self, leaf: Leaf, value: object) -> object:
        """Another value of the same type, within what the schema allows."""
        if isinstance(value, str):
            return leaf.other_text(value, self.marker)
        if isinstance(value, bool):
            return not value
        return leaf.other_number(value, self.number) if isinstance(value, int | float) else value


def _with_wrong_structure(result: dict[str, Any], key: str, lie: Lie, schema: Any) -> dict[str, Any]:
    before = result["structuredContent"]
    leaves = leaves_of(before, schema)
    if not leaves:
        return _with_wrong_text(result, key, lie)
    leaf = lie.chosen(leaves)
    truth = value_at(before, leaf.path)
    wrong = lie.about(leaf, truth)
    after = put(before, leaf.path, wrong)
    blocks = [_retold(block, before, after, truth, wrong) for block in items(result, key)]
    return {**result, key: blocks, "structuredContent": after}


def _retold(block: Any, before: Any, after: Any, truth: object, wrong: object) -> Any:
    """The same lie where a block tells in text what the structure tells."""
    if not _has_text(block):
        return block
    text: str = block["text"]
    if _parsed(text) == before:
        return {**block, "text": json.dumps(after, ensure_ascii=text.isascii())}
    if isinstance(truth, bool) or truth == "":
        return block
    return {**block, "text": text.replace(str(truth), str(wrong))}


def _with_wrong_text(result: dict[str, Any], key: str, lie: Lie) -> dict[str, Any]:
    blocks = items(result, key)
    place = next((index for index, block in enumerate(blocks) if _has_text(block)), None)
    if place is None:
        return result
    block = {**blocks[place], "text": _wrong_text(blocks[place]["text"], lie)}
    return {**result, key: [*blocks[:place], block, *blocks[place + 1 :]]}


def _wrong_text(text: str, lie: Lie) -> str:
    parsed = _parsed(text)
    if isinstance(parsed, dict | list) and (leaves := leaves_of(parsed, None)):
        leaf = lie.chosen(leaves)
        return text_of(put(parsed, leaf.path, lie.about(leaf, value_at(parsed, leaf.path))))
    words = text.split(" ")
    words[int(lie.pick * len(words))] = lie.marker
    return " ".join(words)


def _has_text(block: Any) -> bool:
    return isinstance(block, dict) and isinstance(block.get("text"), str)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
