"""What is written about a rule beyond its table row: evidence, bad and good code, and when to ignore it.

The texts are data of the package, one file a rule: `code/rules/explained/FK-R001.md`, with the sections
`## Evidence`, `## Bad`, `## Good` and `## When to ignore`. A file is read when its rule is explained.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from faultkit.base.patterns import lazy_regex
from faultkit.code.languages import LANGUAGES
from faultkit.code.review.model_rules import MODEL_RULES
from faultkit.code.rules.rule import Rule

SECTIONS = ("Evidence", "Bad", "Good", "When to ignore")
_HEADING = lazy_regex(r"^## (.+)\n", re.MULTILINE)
_FENCE = lazy_regex(r"^```(\w+)\n(.*?)^```$\n?", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class CodeExample:
    """A few lines of code in one language."""

    language: str
    """A name as in `faultkit.code.languages`."""
    text: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """The text about one rule."""

    evidence: str
    """What the rule relies on in the text, and how sure it is."""
    bad: tuple[CodeExample, ...]
    """Code in which the rule finds something."""
    good: tuple[CodeExample, ...]
    """Code in which it finds nothing."""
    when_to_ignore: str


def explanation_of(rule: Rule) -> Explanation:
    """Return the explanation of a rule."""
    file = files("faultkit.code.rules") / "explained" / f"{rule.id}.md"
    return parse_explanation(file.read_text("utf-8"))


def parse_explanation(text: str) -> Explanation:
    """Return the explanation in a Markdown file; raise ValueError if it has other sections, or no code."""
    before, *parts = _HEADING.split(text)
    if before.strip() or tuple(parts[::2]) != SECTIONS:
        raise ValueError(f"expected the sections {', '.join(SECTIONS)}, got {', '.join(parts[::2])}")
    evidence, bad, good, ignore = parts[1::2]
    return Explanation(_prose(evidence), _examples(bad), _examples(good), _prose(ignore))


def _prose(text: str) -> str:
    """Return paragraphs, each on one line."""
    return "\n\n".join(" ".join(part.split()) for part in text.strip().split("\n\n"))


def _examples(text: str) -> tuple[CodeExample, ...]:
    found = tuple(CodeExample(language, code) for language, code in _FENCE.findall(text))
    unknown = [each.language for each in found if each.language not in LANGUAGES]
    if not found or unknown or _FENCE.sub("", text).strip():
        raise ValueError(f"expected only blocks of code, each with its language, got {text!r}")
    return found


def suppression_of(rule: Rule) -> str:
    """Return the comment that suppresses a finding of a rule in its first language."""
    mark = "#" if rule.languages[0] in ("python", "ruby", "bash") else "//"
    return f"{mark} fault: ignore[{rule.id}] reason"


def state_of(rule: Rule) -> str:
    """Return whether a rule runs by default, and if not, how to run it."""
    if rule.by_default:
        return "on by default"
    how = "--ask-model --find-more runs it" if rule in MODEL_RULES else "select it by name"
    return f"off by default: {how}"


def rule_document(rule: Rule) -> dict[str, Any]:
    """Return the row of a rule as a JSON document."""
    return {
        "rule": rule.id,
        "slug": rule.slug,
        "title": rule.title,
        "kind": rule.kind,
        "severity": rule.severity,
        "languages": list(rule.languages),
        "by_default": rule.by_default,
    }


def explained_document(rule: Rule) -> dict[str, Any]:
    """Return a rule with its explanation as a JSON document."""
    explanation = explanation_of(rule)
    return {
        **rule_document(rule),
        "why": rule.why,
        "evidence": explanation.evidence,
        "bad": [{"language": each.language, "code": each.text} for each in explanation.bad],
        "good": [{"language": each.language, "code": each.text} for each in explanation.good],
        "fix": rule.fix,
        "when_to_ignore": explanation.when_to_ignore,
        "suppress": suppression_of(rule),
    }


def languages_text(rule: Rule) -> str:
    """Return the languages of a rule: `Python, Go`, or `all`."""
    if len(rule.languages) == len(LANGUAGES):
        return "all"
    return ", ".join(LANGUAGES[name].title for name in rule.languages)
