"""How results are written: JSON that people can read, and diffs in a Markdown code block."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

_FENCE = re.compile(r"^`{3,}", re.MULTILINE)


def as_json(document: Any) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False)


def as_diff_block(diff: str, notes: Sequence[str] = ()) -> str:
    """Notes stand before the first `---`, where whoever applies a diff passes over them."""
    lines = "".join(f"# {' '.join(note.split())}\n" for note in notes)
    body = lines + diff + ("" if diff.endswith("\n") or not diff else "\n")
    longest = max((len(found) for found in _FENCE.findall(body)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}diff\n{body}{fence}"
