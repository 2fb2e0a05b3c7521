"""`fault explain`: the list of rules, explanations as text and as JSON, and names that are unknown."""

from __future__ import annotations

import json

import pytest

from faultkit.cli.main import invoke
from faultkit.code.review.engine import ALL_RULES

MUTABLE_DEFAULT = """\
FK-R025  mutable-default-argument
Mutable default argument
reliability, medium; Python; on by default

Why
    What one call puts into it is there in the next: data of one user turns up with another.

Evidence
    A list, dict or set as the default of a parameter. Certain if the function changes it, likely if
    it keeps it in an object whose class changes it, possible if it only keeps or returns it. One
    that is only read does no harm and is left alone.

Bad (Python)
    def add(item, into=[]):
        into.append(item)
        return into

Good (Python)
    def add(item, into=None):
        into = [] if into is None else into
        into.append(item)
        return into

Fix
    Use None as the default and make the list or dict inside the function.

When to ignore
    When the default is a memory that all calls are meant to share. A name at the top of the file
    says so more clearly.

Suppress
    # fault: ignore[FK-R025] reason
"""


def explain(*args: str) -> int:
    return invoke(["explain", *args])


def test_without_a_name_all_rules_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert explain() == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["RULE", "SLUG", "SEVERITY", "DEFAULT", "LANGUAGES"]
    assert [row.split()[0] for row in rows[: len(ALL_RULES)]] == [rule.id for rule in ALL_RULES]
    assert [row.split()[1:] for row in rows if row.startswith(("FK-R005", "FK-R012"))] == [
        [
            "no-retry-on-idempotent-call",
            "medium",
            "off",
            "Python,",
            "JavaScript,",
            "TypeScript,",
            "TSX,",
            "Go",
        ],
        ["ignored-error", "high", "on", "Go"],
    ]
    assert rows[-1].startswith("`fault explain RULE` shows")


@pytest.mark.parametrize("name", ["FK-R025", "fk-r025", "mutable-default-argument"])
def test_a_rule_is_explained_by_its_id_or_slug(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert explain(name) == 0
    assert capsys.readouterr().out == MUTABLE_DEFAULT


def test_several_rules_are_explained_once_each_in_the_order_given(capsys: pytest.CaptureFixture[str]) -> None:
    assert explain("FK-R025", "broad-catch", "FK-R025") == 0
    out = capsys.readouterr().out
    assert out.startswith(MUTABLE_DEFAULT + "\n\nFK-R010  broad-catch\n")
    assert out.count("\nWhy\n") == 2
    assert explain("FK-R02", "--json") == 0
    assert [each["rule"] for each in json.loads(capsys.readouterr().out)["rules"]] == [
        f"FK-R02{digit}" for digit in range(10)
    ]


def test_json_has_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert explain("FK-R001", "--json") == 0
    (document,) = json.loads(capsys.readouterr().out)["rules"]
    assert {key: document[key] for key in ("rule", "slug", "title", "kind", "severity", "by_default")} == {
        "rule": "FK-R001",
        "slug": "http-call-without-timeout",
        "title": "HTTP call without a timeout",
        "kind": "reliability",
        "severity": "high",
        "by_default": True,
    }
    assert [each["language"] for each in document["bad"]] == ["python", "javascript"]
    assert "timeout=5" in document["good"][0]["code"]
    assert document["suppress"] == "# fault: ignore[FK-R001] reason"
    assert {"why", "evidence", "fix", "when_to_ignore", "languages"} <= {*document}


def test_the_list_as_json_reads_no_explanation(capsys: pytest.CaptureFixture[str]) -> None:
    assert explain("--json") == 0
    rows = json.loads(capsys.readouterr().out)["rules"]
    assert len(rows) == len(ALL_RULES)
    assert {*rows[0]} == {"rule", "slug", "title", "kind", "severity", "languages", "by_default"}


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("FK-R2", 'RULE: unknown rule "FK-R2"; did you mean "FK-R002"?'),
        ("broad-catches", 'RULE: unknown rule "broad-catches"; did you mean "broad-catch"?'),
        ("FK-R999", 'RULE: unknown rule "FK-R999"'),
        (" ", "RULE: expected the name of a rule such as FK-R001, a prefix such as FK-P, or a kind"),
    ],
)
def test_an_unknown_rule_is_wrong_input(name: str, problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert explain(name) == 2
    assert capsys.readouterr().err == f"error: {problem}\n"
