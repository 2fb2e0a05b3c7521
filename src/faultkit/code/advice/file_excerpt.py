"""Lines of a file as a prompt shows them: numbered, without secrets, with dots for what is left out. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from faultkit.base.text import shortened
from faultkit.code.source_files import SourceFile
from faultkit.llm.redaction import Redaction

WHOLE_FILE = 24_000
"""Characters up to which a model receives a file whole."""
_HEAD_LINES = 60
"""First lines of a file that a model receives with each part of it."""
_LONGEST_LINE = 300


@dataclass(frozen=True, slots=True)
class FileExcerpt:
    """The lines of a file, and which of them a prompt shows."""

    lines: Sequence[str]

    @property
    def numbers(self) -> range:
        return range(1, len(self.lines) + 1)

    @property
    def is_short(self) -> bool:
        """Return whether a prompt can show all lines."""
        return self.size(self.numbers) <= WHOLE_FILE

    def size(self, wanted: Iterable[int]) -> int:
        """Return the number of characters of these lines."""
        return sum(len(self.lines[number - 1]) + 1 for number in wanted)

    def around(self, line: int, before: int, after: int) -> set[int]:
        """Return the numbers of the lines around one, and of the first lines of the file."""
        near = {*range(1, _HEAD_LINES + 1), *range(line - before, line + after + 1)}
        return near & set(self.numbers)

    def parts(self) -> list[range]:
        """Return the numbers of all lines in parts of up to WHOLE_FILE characters."""
        parts = list[range]()
        first, size = 1, 0
        for number, line in enumerate(self.lines, 1):
            if size and size + len(line) > WHOLE_FILE:
                parts.append(range(first, number))
                first, size = number, 0
            size += len(line) + 1
        return [*parts, range(first, len(self.lines) + 1)]

    def shown(self, wanted: Iterable[int]) -> str:
        """Return these lines with their numbers."""
        shown = list[str]()
        last = 0
        for number in sorted(wanted):
            if number != last + 1:
                shown.append("...")
            shown.append(f"{number:5} {self.lines[number - 1]}")
            last = number
        if last < len(self.lines):
            shown.append("...")
        return "\n".join(shown)


def excerpt_of(source: SourceFile) -> FileExcerpt:
    """Return the lines of a file. Secrets are taken out while it is whole: a part of one is not known."""
    text = source.source.decode("utf-8", "replace")
    lines = Redaction(text).hide(text).split("\n")
    return FileExcerpt([shortened(line.rstrip(), _LONGEST_LINE) for line in lines])
