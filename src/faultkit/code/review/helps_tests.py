"""Which files help to test others, whatever their names: by what they import, and by what they say. Pure.

Tests by their paths: see `context`. Tests beside other code in a file: see `unit_tests`.
"""

from __future__ import annotations

import re

from faultkit.base.patterns import lazy_regex
from faultkit.code.review.file_head import FileHead
from faultkit.code.review.helper_projects import TESTS
from faultkit.code.rules.rule import JAVA, JAVASCRIPT, KOTLIN
from faultkit.code.rules.vocabulary.text_pattern import TextPattern

_DOUBLE = lazy_regex(r"(?:^|/|_|-)(?:stub|fake|mock|dummy)(?:s|ed)?(?:[-_]\w+)?\.\w+$")
_FOR_TESTS = lazy_regex(
    r"\b(?:for|in|within|during|used (?:by|in)) (?:\w+ ){0,3}test(?:s|ing)?\b", re.IGNORECASE
)


def _of_js(modules: str) -> dict[str, TextPattern[str]]:
    sign = TextPattern(
        rf"""^(?:import\b.*\bfrom|import|(?:const|var|let) .*= require\(|\}} from)\s*['"](?:{modules})['"]""",
        re.MULTILINE,
    )
    return dict.fromkeys(JAVASCRIPT, sign)


def _of_jvm(packages: str) -> dict[str, TextPattern[str]]:
    return dict.fromkeys(
        (*JAVA, *KOTLIN), TextPattern(rf"^import (?:static )?(?:{packages})\.", re.MULTILINE)
    )


_TEST_IMPORTS = {
    "go": TextPattern(
        r"^\s*(?:import\s+)?(?:\w+\s+)?\"(?:testing|github\.com/stretchr/testify/\w+)\"$"
        r"|^//go:build (?:e2e|integration|tests?|testing)$",
        re.MULTILINE,
    ),
    "csharp": TextPattern(
        r"^using (?:Xunit|NUnit\.Framework|Moq|NSubstitute|FluentAssertions|Shouldly|AutoFixture"
        r"|Testcontainers|Microsoft\.VisualStudio\.TestTools|Microsoft\.AspNetCore\.(?:Mvc\.Testing|TestHost))\b",
        re.MULTILINE,
    ),
    "python": TextPattern(
        r"^(?:import (?:pytest|unittest)$|from pytest import"
        r"|from (?:django\.test|unittest) import .*TestCase)",
        re.MULTILINE,
    ),
    **_of_jvm(
        r"org\.(?:junit|testng|mockito|assertj|hamcrest|testcontainers|robolectric|awaitility)"
        r"|org\.springframework\.(?:boot\.)?test|io\.(?:mockk|kotest|restassured)|kotlin\.test|androidx\.test"
        r"|okhttp3\.mockwebserver|com\.github\.tomakehurst"
    ),
    **_of_js(
        r"@jest/globals|@playwright/test|@testing-library/[\w-]+|@vue/test-utils|ava|chai|mocha|nock|node:test"
        r"|sinon|supertest|vitest"
    ),
}
_DOUBLE_IMPORTS = _of_js(r"@storybook/[\w-]+|msw(?:/\w+)?|storybook/[\w-]+")
"""Of libraries that show components with made-up data, or answer for a server."""
_BENCHMARK_IMPORTS = {
    "csharp": TextPattern(r"^using BenchmarkDotNet\b", re.MULTILINE),
    "python": TextPattern(r"^(?:import|from) (?:locust|pytest_benchmark)\b", re.MULTILINE),
    **_of_jvm(r"org\.openjdk\.jmh|io\.gatling"),
    **_of_js(r"autocannon|benchmark|k6(?:/[\w/.-]+)?|mitata|tinybench"),
}


def imports_tests(head: FileHead) -> bool:
    """Return whether a file imports what only tests use: it helps to test, whatever its name."""
    return _imports(_TEST_IMPORTS, head)


def imports_benchmarks(head: FileHead) -> bool:
    """Return whether a file imports what only benchmarks and load tests use."""
    return _imports(_BENCHMARK_IMPORTS, head)


def _imports(signs: dict[str, TextPattern[str]], head: FileHead) -> bool:
    sign = signs.get(head.language)
    return sign is not None and sign.is_in(head.text)


def is_test_project(head: FileHead) -> bool:
    """Return whether the manifests say that the project of a file is for tests."""
    return TESTS in head.project.kinds


def is_double(head: FileHead) -> bool:
    """Return whether a file imports what makes doubles, or is named so and says that it is for tests."""
    if _DOUBLE.search(head.path) and _FOR_TESTS.search(head.text):
        return True
    return _imports(_DOUBLE_IMPORTS, head)
