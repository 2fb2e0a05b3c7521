"""Corrupt value: one value of the result is replaced by another of the same type, without a sign of it.

A text becomes a marker that is unique, so that it can be traced into later calls and answers. A value that
the tool's output schema restricts (a choice, a pattern) is replaced only if there is no free one, and a
number stays within its bounds.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar

from faultkit.faults.call_fault import Call, CallFault, Circumstances, Verdict
from faultkit.faults.call_replies import changed_result, items, marker_from, text_of
from faultkit.faults.json_leaves import Leaf, leaves_of, put, value_at

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
        substitute = Substitute(marker, given.rng.uniform(), given.rng.below(900_000) + 100_000)
        key = _BLOCKS.get(call.method, "content")
        schema = given.output_schema

        def corrupted(result: dict[str, Any]) -> dict[str, Any]:
            if "structuredContent" not in result:
                return _with_wrong_text(result, key, substitute)
            return _with_wrong_structure(result, key, substitute, schema)

        return Verdict(frames=changed_result(corrupted), effect=self.kind, marker=marker)


@dataclass(frozen=True, slots=True)
class Substitute:
    """What replaces the value, drawn before the reply is known."""

    marker: str
    pick: float
    """Which of the values is replaced: its place among all, from 0 to 1."""
    number: int

    def pick_leaf(self, leaves: list[Leaf]) -> Leaf:
        """Return the leaf to replace."""
        return leaves[int(self.pick * len(leaves))]

    def value_for(self, leaf: Leaf, value: object) -> object:
        """Return another value of the same type that the schema allows."""
        if isinstance(value, str):
            return leaf.other_text(value, self.marker)
        if isinstance(value, bool):
            return not value
        return leaf.other_number(value, self.number) if isinstance(value, int | float) else value


def _with_wrong_structure(
    result: dict[str, Any], key: str, substitute: Substitute, schema: Any
) -> dict[str, Any]:
    before = result["structuredContent"]
    leaves = leaves_of(before, schema)
    if not leaves:
        return _with_wrong_text(result, key, substitute)
    leaf = substitute.pick_leaf(leaves)
    truth = value_at(before, leaf.path)
    wrong = substitute.value_for(leaf, truth)
    after = put(before, leaf.path, wrong)
    blocks = [_matching_block(block, before, after, truth, wrong) for block in items(result, key)]
    return {**result, key: blocks, "structuredContent": after}


def _matching_block(block: Any, before: Any, after: Any, truth: object, wrong: object) -> Any:
    """Return a block with the same replacement, if its text repeats the structured content."""
    if not _has_text(block):
        return block
    text: str = block["text"]
    if _parsed(text) == before:
        return {**block, "text": json.dumps(after, ensure_ascii=text.isascii())}
    if isinstance(truth, bool) or truth == "":
        return block
    return {**block, "text": text.replace(str(truth), str(wrong))}


def _with_wrong_text(result: dict[str, Any], key: str, substitute: Substitute) -> dict[str, Any]:
    blocks = items(result, key)
    place = next((index for index, block in enumerate(blocks) if _has_text(block)), None)
    if place is None:
        return result
    block = {**blocks[place], "text": _wrong_text(blocks[place]["text"], substitute)}
    return {**result, key: [*blocks[:place], block, *blocks[place + 1 :]]}


def _wrong_text(text: str, substitute: Substitute) -> str:
    parsed = _parsed(text)
    if isinstance(parsed, dict | list) and (leaves := leaves_of(parsed, None)):
        leaf = substitute.pick_leaf(leaves)
        return text_of(put(parsed, leaf.path, substitute.value_for(leaf, value_at(parsed, leaf.path))))
    words = text.split(" ")
    words[int(substitute.pick * len(words))] = substitute.marker
    return " ".join(words)


def _has_text(block: Any) -> bool:
    return isinstance(block, dict) and isinstance(block.get("text"), str)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
