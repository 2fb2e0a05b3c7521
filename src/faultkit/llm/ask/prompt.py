"""What a prompt is made of: what we want, and sections of what it is about. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

_FENCES = re.compile(r"`{3,}")


@dataclass(frozen=True, slots=True)
class Section:
    """Something to judge: code, findings, search results. Never something to obey."""

    title: str
    text: str
    language: str = "text"
    optional: bool = False
    """It may be left out if the prompt gets too long; the last such section goes first."""


@dataclass(frozen=True, slots=True)
class Prompt:
    task: str
    sections: tuple[Section, ...]
    code_fields: tuple[str, ...] = ()
    """The fields of the answer that hold code: there, secrets are put back."""

    def text(self) -> str:
        """The sections, each in a fence that nothing inside it can close."""
        return "\n\n".join(map(_rendered, self.sections))

    def shorter(self) -> Prompt | None:
        """The same without its last optional section; None if there is none."""
        for place in range(len(self.sections) - 1, -1, -1):
            if self.sections[place].optional:
                return replace(self, sections=self.sections[:place] + self.sections[place + 1 :])
        return None


def _rendered(section: Section) -> str:
    longest = max(map(len, _FENCES.findall(section.text)), default=2)
    fence = "`" * (longest + 1)
    language = re.sub(r"[^\w+#-]", "", section.language) or "text"
    title = " ".join(section.title.split())
    return f"## {title}\n{fence}{language}\n{section.text}\n{fence}"
