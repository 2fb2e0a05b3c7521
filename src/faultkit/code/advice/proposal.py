"""A change proposed by a language model: normalised to the form of the old text, and checked. Pure.

The model sends the whole new code; the diff is made here. The code is accepted only if it parses, applies,
and scores no worse by the rules. Each problem is a sentence for the model, so that it can repair the code.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from faultkit.code.advice.analysis import score_of
from faultkit.code.advice.improvement import parse_problem
from faultkit.code.changes.diff import applied, unified_diff
from faultkit.code.facts.build import GRAMMARS
from faultkit.code.languages import Language
from faultkit.code.review.engine import findings_of
from faultkit.code.rules.rule import KINDS, Finding, Kind

_BOM = "\ufeff"
_FENCED = re.compile(r"\s*(?P<fence>`{3,}|~{3,})[^\n]*\n(?P<code>.*\n)(?P=fence)\s*", re.DOTALL)
_MOST_NAMED = 5


@dataclass(frozen=True)
class Original:
    """The code before the change, and the checks of a proposal against it."""

    text: str
    language: Language
    file: str = ""
    """The file name in the diff."""

    @property
    def is_judged(self) -> bool:
        """Whether the rules know the language."""
        return self.language.name in GRAMMARS

    @property
    def sent(self) -> str:
        """The code as the model receives it: without a byte order mark, with `\\n` as line end."""
        text = self.text.removeprefix(_BOM)
        return text.replace("\r\n", "\n") if self._is_crlf else text

    @property
    def _is_crlf(self) -> bool:
        return "\r\n" in self.text and self.text.count("\r\n") == self.text.count("\n")

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        return findings_of(self.text.removeprefix(_BOM), self.language)

    def score(self, kind: Kind | None) -> float:
        return _score(self.findings, kind)

    def score_of_new(self, new: str, kind: Kind | None) -> float:
        return _score(findings_of(new.removeprefix(_BOM), self.language), kind)

    def taken(self, new: str) -> str:
        """Return the received code with the byte order mark and line ends of the old text."""
        fenced = _FENCED.fullmatch(new)
        code = fenced["code"] if fenced is not None else new
        if not code.strip():
            return self.text
        code = code.removeprefix(_BOM)
        if self.sent.endswith("\n") and not code.endswith("\n"):
            code += "\n"
        if self._is_crlf:
            code = code.replace("\r\n", "\n").replace("\n", "\r\n")
        return (_BOM if self.text.startswith(_BOM) else "") + code

    def diff(self, new: str) -> str:
        return unified_diff(self.text, new, self.file or f"snippet{self.language.endings[0]}")

    def problems(self, sent: str) -> list[str]:
        """Return why the received code cannot be accepted; empty if it can."""
        new = self.taken(sent)
        if not sent.strip():
            return []
        if new == self.text:
            return [
                "new: it is the code that you were given; if nothing is worth changing, send an empty text"
            ]
        problem = self._form_problem(new) or self._fall(new)
        return [f"new: {problem}"] if problem else []

    def _form_problem(self, new: str) -> str:
        if "\0" in new:
            return "it holds a NUL character"
        wrong = parse_problem(self.text.removeprefix(_BOM), new.removeprefix(_BOM), self.language)
        if wrong:
            return wrong
        indent, came = _indent(self.text), _indent(new)
        if self.language.name == "python" and indent != came:
            return (
                f"its first line is indented by {len(came)}, that of the code you were given by {len(indent)}"
            )
        try:
            fits = applied(self.text, self.diff(new)) == new
        except ValueError as error:
            return str(error)
        return "" if fits else "its diff does not apply to the code you were given"

    def _fall(self, new: str) -> str:
        """Return what is worse by the rules than before; empty if nothing is."""
        if not self.is_judged:
            return ""
        after = findings_of(new.removeprefix(_BOM), self.language)
        for kind in KINDS:
            was, comes = self.score(kind), _score(after, kind)
            if comes < was:
                named = "; ".join(_added(self.findings, after, kind))
                return f"its {kind} is worse by our checker, {comes:.2f}, than it was, {was:.2f}: {named}"
        return ""


def _score(findings: tuple[Finding, ...], kind: Kind | None) -> float:
    """Return the score; without a kind the lower one of both."""
    return min(score_of(findings, each).value for each in KINDS if kind in (None, each))


def _added(before: tuple[Finding, ...], after: tuple[Finding, ...], kind: Kind) -> list[str]:
    """Return findings of rules that find more than before."""
    old, new = (Counter(each.rule.id for each in found) for found in (before, after))
    more = [each for each in score_of(after, kind).findings if new[each.rule.id] > old[each.rule.id]]
    graver = more or score_of(after, kind).findings
    return [f"{each.place}: {each.rule.title} ({each.message})" for each in graver[:_MOST_NAMED]]


def _indent(text: str) -> str:
    first = next((line for line in text.removeprefix(_BOM).splitlines() if line.strip()), "")
    return first[: len(first) - len(first.lstrip())]
