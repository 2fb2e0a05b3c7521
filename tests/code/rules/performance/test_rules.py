"""Each performance rule finds exactly the lines of its file in `cases` that are marked with `here`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from faultkit.code.review.engine import RULES, findings_of
from faultkit.code.rules.performance import PERFORMANCE
from faultkit.code.rules.rule import Rule

FOLDER = Path(__file__).parent / "cases"
_HERE = re.compile(r"(#|//) here\s*$")


@dataclass(frozen=True, slots=True)
class Case:
    rule: Rule
    language: str
    text: str
    place: int

    @property
    def marked(self) -> list[int]:
        return [at for at, line in enumerate(self.text.split("\n"), 1) if _HERE.search(line)]


def cases() -> list[Case]:
    return [
        Case(rule, language, text, place)
        for rule in PERFORMANCE
        for place, (language, text) in enumerate(blocks(FOLDER / f"{rule.id}.txt"), 1)
    ]


def blocks(path: Path) -> list[tuple[str, str]]:
    parts = re.split(r"^=== (\w+)\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert parts[0] == ""
    return list(zip(parts[1::2], parts[2::2], strict=True))


def named(case: Case) -> str:
    return f"{case.rule.id}-{case.language}-{case.place}"


@pytest.mark.parametrize("case", cases(), ids=named)
def test_a_rule_finds_the_marked_lines_and_no_others(case: Case) -> None:
    found = findings_of(case.text, case.language, rules=(case.rule,))
    assert sorted({each.line for each in found}) == case.marked


@pytest.mark.parametrize("rule", PERFORMANCE, ids=lambda rule: rule.id)
def test_a_rule_has_cases_with_marked_lines_in_its_languages(rule: Rule) -> None:
    own = [case for case in cases() if case.rule is rule]
    assert any(case.marked for case in own)
    assert {case.language for case in own} <= {*rule.languages}


@pytest.mark.parametrize("rule", PERFORMANCE, ids=lambda rule: rule.id)
def test_a_rule_has_a_title_a_reason_and_a_fix(rule: Rule) -> None:
    assert rule.kind == "performance"
    assert re.fullmatch(r"FK-P\d{3}", rule.id)
    assert re.fullmatch(r"[a-z]+(-[a-z]+)+", rule.slug)
    assert rule.title
    assert rule.why.endswith(".")
    assert rule.fix.endswith(".")
    assert rule in RULES


def test_ids_and_slugs_are_unique_and_ids_count_up() -> None:
    ids = [rule.id for rule in PERFORMANCE]
    assert ids == sorted(set(ids))
    assert len({rule.slug for rule in RULES}) == len(RULES)


SEED_APP = """import os

import httpx
from fastapi import FastAPI

UPSTREAM_URL = os.getenv("UPSTREAM_URL", "https://jsonplaceholder.typicode.com")

app = FastAPI()


@app.get("/")
def index():
    return httpx.get(f"{UPSTREAM_URL}/todos/1", headers={
        "Host": "jsonplaceholder.typicode.com"
    }).json()
"""


def test_the_demo_app_makes_a_client_for_each_call() -> None:
    found = findings_of(SEED_APP, "python", rules=PERFORMANCE)
    assert [(each.rule.slug, each.line, each.function) for each in found] == [
        ("http-client-per-call", 13, "index")
    ]
