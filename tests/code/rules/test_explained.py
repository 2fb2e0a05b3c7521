"""The explanations of rules: each has its file, finds its bad code, and finds nothing in its good code."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files

import pytest

from faultkit.code.languages import language_named
from faultkit.code.languages.syntax import parse
from faultkit.code.review.engine import ALL_RULES, review_text
from faultkit.code.review.explanation import (
    CodeExample,
    Explanation,
    explanation_of,
    parse_explanation,
    suppression_of,
)
from faultkit.code.review.model_rules import MODEL_RULES
from faultkit.code.rules import Rule

FOLDER = files("faultkit.code.rules") / "explained"
FILES = {each.name for each in FOLDER.iterdir()}
EXPLAINED = [rule for rule in ALL_RULES if f"{rule.id}.md" in FILES]
CHECKED = [rule for rule in EXPLAINED if rule not in MODEL_RULES]
LONGEST_LINE = 110
MOST_LINES = 32


def examples(rule: Rule) -> Iterator[tuple[CodeExample, bool]]:
    explanation = explanation_of(rule)
    yield from ((each, True) for each in explanation.bad)
    yield from ((each, False) for each in explanation.good)


def is_found(rule: Rule, example: CodeExample) -> bool:
    syntax = parse(example.text.encode(), language_named(example.language))
    return any(each.rule is rule for each in review_text(syntax, rules=(rule,)).findings)


def test_every_rule_has_its_file_and_every_file_its_rule() -> None:
    assert {f"{rule.id}.md" for rule in ALL_RULES} == FILES


@pytest.mark.parametrize("rule", CHECKED, ids=lambda rule: rule.id)
def test_a_rule_finds_its_bad_code_and_nothing_in_its_good_code(rule: Rule) -> None:
    for example, is_bad in examples(rule):
        assert is_found(rule, example) is is_bad, example.text


@pytest.mark.parametrize("rule", EXPLAINED, ids=lambda rule: rule.id)
def test_examples_are_short_and_in_a_language_of_the_rule(rule: Rule) -> None:
    explanation = explanation_of(rule)
    bad, good = ([each.language for each in part] for part in (explanation.bad, explanation.good))
    assert bad == good, "one good example for each bad one, in the same order"
    for example, _ in examples(rule):
        assert example.language in rule.languages
        lines = example.text.splitlines()
        assert len(lines) <= MOST_LINES
        assert max(map(len, lines)) <= LONGEST_LINE
        assert not parse(example.text.encode(), language_named(example.language)).has_errors, example.text


@pytest.mark.parametrize("rule", EXPLAINED, ids=lambda rule: rule.id)
def test_an_explanation_ends_its_sentences(rule: Rule) -> None:
    explanation = explanation_of(rule)
    assert explanation.evidence.endswith(".")
    assert explanation.when_to_ignore.endswith(".")


def test_an_explanation_has_four_sections() -> None:
    text = (
        "## Evidence\n\nA call\nwithout it.\n\nSure.\n\n## Bad\n\n```go\nf()\n```\n\n```java\ng();\n```\n\n"
        "## Good\n\n```go\nf(1)\n```\n\n## When to ignore\n\nNever.\n"
    )
    assert parse_explanation(text) == Explanation(
        "A call without it.\n\nSure.",
        (CodeExample("go", "f()\n"), CodeExample("java", "g();\n")),
        (CodeExample("go", "f(1)\n"),),
        "Never.",
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("## Evidence\n\nx\n", "expected the sections Evidence, Bad, Good, When to ignore, got Evidence"),
        (
            "## Evidence\nx\n## Bad\nf()\n## Good\n```go\nf()\n```\n## When to ignore\nx\n",
            "expected only blocks of code",
        ),
        (
            "## Evidence\nx\n## Bad\n```cobol\nf\n```\n## Good\n```go\nf()\n```\n## When to ignore\nx\n",
            "expected only blocks of code",
        ),
    ],
)
def test_a_file_of_another_form_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        parse_explanation(text)


def test_a_suppression_is_a_comment_of_the_language() -> None:
    by_id = {rule.id: rule for rule in ALL_RULES}
    assert suppression_of(by_id["FK-R001"]) == "# fault: ignore[FK-R001] reason"
    assert suppression_of(by_id["FK-R012"]) == "// fault: ignore[FK-R012] reason"
