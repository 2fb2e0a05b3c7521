from __future__ import annotations

from typing import Any

import pytest

from faultkit.agents.matchers.schema_validator import SchemaValidator


@pytest.mark.parametrize(
    ("schema", "value", "problems"),
    [
        ({"pattern": "^(a+)+$"}, "a" * 4000 + "!", 1),
        ({"pattern": "^a"}, "ab", 0),
        ({"pattern": "^a"}, 7, 0),
        ({"pattern": "(?=a)"}, "a", 1),
        ({"patternProperties": {"^x": {"type": "integer"}}}, {"x1": "one", "y": "two"}, 1),
        ({"patternProperties": {"^(x+)+$": {}}}, {"x" * 4000 + "!": 1}, 0),
    ],
)
def test_patterns_of_a_schema_take_linear_time(schema: dict[str, Any], value: Any, problems: int) -> None:
    assert len(list(SchemaValidator(schema).iter_errors(value))) == problems
