"""Each rule finds the faults in its snippets, on the right lines, and nothing in correct code."""

from __future__ import annotations

import importlib
import runpy
from pathlib import Path

import pytest

from faultkit.code.review.engine import RULES, findings_of
from tests.code.rules.cases import Case

MODULES = [path.stem for path in sorted(Path(__file__).parent.glob("cases_*.py"))]
CASES: list[Case] = [
    case for name in MODULES for case in importlib.import_module(f"tests.code.rules.{name}").CASES
]
BY_SLUG = {rule.slug: rule for rule in RULES}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_rule_finds_what_it_must_and_nothing_else(case: Case) -> None:
    found = findings_of(case.code, case.language, rules=[BY_SLUG[case.rule]])
    assert tuple(each.line for each in found) == case.lines, [each.message for each in found]


@pytest.mark.parametrize(
    "rule", [rule for rule in RULES if rule.kind == "reliability"], ids=lambda rule: rule.slug
)
def test_every_rule_has_snippets_on_both_sides(rule: object) -> None:
    cases = [case for case in CASES if BY_SLUG[case.rule] is rule]
    assert any(case.lines for case in cases)
    assert any(not case.lines for case in cases)


# docs/findings.md, which is generated from the table of rules.


DOCS = Path(__file__).parents[3] / "docs"


def test_the_page_is_generated_from_the_table() -> None:
    page = runpy.run_path(str(DOCS / "generate_findings.py"))["findings_page"]()
    assert (DOCS / "findings.md").read_text("utf-8") == page, "run `python docs/generate_findings.py`"
