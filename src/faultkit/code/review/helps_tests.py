"""Which files help to test others, whatever their names: by what they import, and by what they say. Pure.

Tests by their paths: see `context`. Tests beside other code in a file: see `unit_tests`.
"""

from __future__ import annotations

import re

from faultkit.code.review.file_head import FileHead

_DOUBLE = re.compile(r"(?:^|/|_|-)(?:stub|fake|mock|dummy)(?:s|ed)?(?:[-_]\w+)?\.\w+$")
_FOR_TESTS = re.compile(
    r"\b(?:for|in|within|during|used (?:by|in)) (?:\w+ ){0,3}test(?:s|ing)?\b", re.IGNORECASE
)
_JS_TEST_IMPORTS = re.compile(
    r"""^(?:import\b.*\bfrom|const .*= require\()\s*['"](?:vitest|@jest/globals|supertest|sinon|chai)['"]""",
    re.MULTILINE,
)
_TEST_IMPORTS = {
    "go": re.compile(
        r"^\s*(?:import\s+)?(?:\w+\s+)?\"(?:testing|github\.com/stretchr/testify/\w+)\"$", re.MULTILINE
    ),
    "java": re.compile(r"^import (?:static )?org\.(?:junit|testng|mockito|assertj)\.", re.MULTILINE),
    "kotlin": re.compile(r"^import (?:org\.junit|kotlin\.test|io\.mockk|io\.kotest)\.", re.MULTILINE),
    "csharp": re.compile(
        r"^using (?:Xunit|NUnit\.Framework|Moq|NSubstitute|FluentAssertions|AutoFixture)\b", re.MULTILINE
    ),
    "python": re.compile(r"^(?:import pytest\b|from pytest import)", re.MULTILINE),
    "javascript": _JS_TEST_IMPORTS,
    "typescript": _JS_TEST_IMPORTS,
}


def imports_tests(head: FileHead) -> bool:
    """Return whether a file imports what only tests use: it helps to test, whatever its name."""
    imported = _TEST_IMPORTS.get(head.language)
    return imported is not None and imported.search(head.text) is not None


def is_test_project(head: FileHead) -> bool:
    return head.project.has_any("Microsoft.NET.Test.Sdk", "xunit", "NUnit", "MSTest.TestFramework", "TUnit")


def is_double(head: FileHead) -> bool:
    """Return whether a file named after a test double says that it is for tests."""
    return _DOUBLE.search(head.path) is not None and _FOR_TESTS.search(head.text) is not None
