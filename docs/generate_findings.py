"""Writes docs/findings.md from the table of rules and their explanations: `python docs/generate_findings.py`.

No text about a single rule is written here. A test compares the page with the output.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from faultkit.code.advice.analysis import WEIGHTS
from faultkit.code.languages import LANGUAGES
from faultkit.code.review.engine import ALL_RULES, RULES
from faultkit.code.review.explanation import CodeExample, explanation_of, languages_text, state_of
from faultkit.code.rules import KINDS, Rule

PAGE = Path(__file__).with_name("findings.md")
_FENCES = {"python": "py"}
"""Names of languages behind a fence. Tests run code behind `python` in the docs, and bad code must not be."""

_HEAD = """\
# The findings of `fault review`

Generated from the table of rules and `code/rules/explained/` by `python docs/generate_findings.py`: change
those, not this page. `fault explain RULE` prints the same.

`fault review FILE|DIR` runs {count} rules over code and reports what will fail or be slow in production,
where, and how to fix it. It is offline and deterministic: the same text has the same findings. A rule sees
one file at a time, so each finding has a confidence: 0.95 if the text alone proves it, 0.8 if only unusual
code elsewhere could make it right, 0.5 if code elsewhere may well do so. The last ones are counted, and shown
only with `--min-confidence 0.5`.

A comment `fault: ignore[FK-R001, broad-catch] reason` suppresses findings of its statement;
[code.md](code.md#suppressions) has the other forms. Rules named FK-S are about such comments,
those named FK-M are for what a [language model](code.md#confirmed-by-a-model) finds.

## The score

One score for reliability and one for performance, from 0 to 1. A finding weighs {weights}, times its
confidence. The findings of one rule are sorted by weight, and each counts half of the one before it; the sum
over all rules is the loss, and the score is e to the power of minus the loss. No findings score 1.0, and one
more finding never raises the score. A folder has the mean of its files; a file that could not be read whole
has no score.
"""


def findings_page() -> str:
    """Return the page."""
    weights = ", ".join(f"{weight:g} if {severity}" for severity, weight in WEIGHTS.items())
    parts = [_HEAD.format(count=len(RULES), weights=weights)]
    for kind in (*KINDS, "suppression"):
        rules = [rule for rule in ALL_RULES if rule.kind == kind]
        if rules:
            rows = [_row(rule) for rule in rules]
            parts += [f"## {kind.capitalize()}", _table(("rule", "what", "severity", "languages"), rows)]
            parts += [_section(rule) for rule in rules]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _row(rule: Rule) -> tuple[str, ...]:
    return f"[{rule.id}](#{rule.slug})", rule.title, rule.severity, languages_text(rule)


def _section(rule: Rule) -> str:
    head = f"### {rule.slug}\n\n{rule.id}, {rule.severity}: {rule.title}."
    off = "" if rule.by_default else f" {state_of(rule).capitalize()}."
    text = explanation_of(rule)
    code = "\n\n".join(
        f"{word} ({LANGUAGES[each.language].title}):\n\n{_block(each)}"
        for bad, good in zip(text.bad, text.good, strict=True)
        for word, each in (("Bad", bad), ("Good", good))
    )
    return "\n\n".join(
        (
            f"{head}{off}",
            rule.why,
            f"**Evidence.** {text.evidence}",
            f"**Fix.** {rule.fix}",
            f"**When to ignore it.** {text.when_to_ignore}",
            f"<details><summary>Bad and good code</summary>\n\n{code}\n\n</details>",
        )
    )


def _block(example: CodeExample) -> str:
    return f"```{_FENCES.get(example.language, example.language)}\n{example.text}```"


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines)


if __name__ == "__main__":
    PAGE.write_text(findings_page(), encoding="utf-8")
