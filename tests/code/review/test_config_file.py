"""Configuration files of a review: where they are found, what they set, and what is wrong in them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from faultkit.base.documents.key_tables import markdown_of
from faultkit.base.errors import InputError
from faultkit.code.review.config_file import CONFIG_KEYS, find_config, read_config

DOCS = Path(__file__).parents[3] / "docs"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / "src" / "app").mkdir(parents=True)
    (tmp_path / "src" / "app" / "a.py").write_text("a = 1\n")
    return tmp_path


def test_the_nearest_file_with_the_table_counts(project: Path) -> None:
    file = str(project / "src" / "app" / "a.py")
    assert find_config(file) is None
    (project / "pyproject.toml").write_text('[tool.faultkit.review]\nselect = ["FK-R"]\n')
    (project / "src" / "pyproject.toml").write_text("[tool.other]\nx = 1\n")
    found = find_config(file)
    assert found is not None
    assert (found.select, found.folder) == (("FK-R",), str(project))
    (project / "src" / "faultkit.toml").write_text('[review]\nselect = ["FK-P"]\n')
    found = find_config(file)
    assert found is not None
    assert (found.select, found.folder) == (("FK-P",), str(project / "src"))


def test_files_above_the_repository_do_not_count(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.faultkit.review]\nselect = ["FK-R"]\n')
    (project / "src" / ".git").mkdir()
    assert find_config(str(project / "src" / "app")) is None


def test_all_keys_are_read(project: Path) -> None:
    (project / "faultkit.toml").write_text(
        """\
[review]
select = ["reliability", "FK-P001"]
extend-select = ["FK-P002"]
ignore = ["no-retry-on-idempotent-call"]
exclude = ["legacy/**"]
extend-exclude = ["*.gen.py"]
include = ["tests"]
min-severity = "medium"
min-confidence = 0.8
fail-on = "high"
require-reason = true
baseline = "review.json"
severity = { "FK-R001" = "low" }
[review.context]
"tools/**" = "scripts"
[review.per-path-ignores]
"app/*" = ["FK-R002"]
"""
    )
    found = read_config("faultkit.toml")
    assert {key.name.replace("-", "_") for key in CONFIG_KEYS} == {*found.__slots__} - {"folder"}
    assert found.select == ("reliability", "FK-P001")
    assert (found.severity, found.context) == ({"FK-R001": "low"}, {"tools/**": "scripts"})
    assert found.per_path_ignores == {"app/*": ("FK-R002",)}
    assert (found.min_confidence, found.require_reason, found.baseline) == (0.8, True, "review.json")


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ("selekt = []", 'line 2: tool.faultkit.review.selekt: unknown key; did you mean "select"?'),
        (
            'select = [\n  "FK-R001",\n  "broad-cach",\n]',
            'line 4: tool.faultkit.review.select[1]: unknown rule "broad-cach"; did you mean "broad-catch"?',
        ),
        ("select = true", "line 2: tool.faultkit.review.select: expected a list of names of rules, got true"),
        ("ignore = [1]", "line 2: tool.faultkit.review.ignore[0]: expected the name of a rule"),
        (
            '[tool.faultkit.review.severity]\n"FK-R001" = "lo"',
            "line 3: tool.faultkit.review.severity.FK-R001: expected one of low, medium, high, critical, "
            'got "lo"; did you mean "low"?',
        ),
        (
            "min-confidence = 2",
            "line 2: tool.faultkit.review.min-confidence: expected a number from 0 to 1, got 2",
        ),
        ("require-reason = 1", "line 2: tool.faultkit.review.require-reason: expected true or false, got 1"),
        ('exclude = ["a", ""]', "line 2: tool.faultkit.review.exclude[1]: expected a pattern"),
        (
            'context = { "a" = "test" }',
            'line 2: tool.faultkit.review.context.a: expected one of generated, .*; did you mean "tests"?',
        ),
        ("select = [", "line 2: expected TOML"),
    ],
)
def test_mistakes_are_reported_with_their_lines(project: Path, table: str, problem: str) -> None:
    (project / "pyproject.toml").write_text(f"[tool.faultkit.review]\n{table}\n")
    with pytest.raises(InputError) as caught:
        find_config("src")
    assert re.match(re.escape(f"pyproject.toml: {problem}").replace(r"\.\*", ".*"), str(caught.value))


def test_every_mistake_of_a_file_is_reported(project: Path) -> None:
    (project / "faultkit.toml").write_text('[reviw]\n[review]\nfail-on = "hi"\nselect = ["x"]\n')
    with pytest.raises(InputError) as caught:
        find_config(".")
    assert [line.partition(": expected")[0] for line in str(caught.value).splitlines()] == [
        'faultkit.toml: line 1: reviw: unknown key; did you mean "review"?',
        'faultkit.toml: line 4: review.select[0]: unknown rule "x"',
        "faultkit.toml: line 3: review.fail-on",
    ]


def test_a_misspelt_table_is_not_passed_over(project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.faultkit.reveiw]\nselect = []\n")
    with pytest.raises(InputError, match=r'line 1: tool.faultkit.reveiw: unknown key; did you mean "review"'):
        find_config(".")


def test_a_file_that_is_named_must_have_the_table(project: Path) -> None:
    Path("other.toml").write_text("")
    with pytest.raises(
        InputError, match=r"other.toml: expected a table \[review\] or \[tool.faultkit.review\], found none"
    ):
        read_config("other.toml")
    with pytest.raises(InputError, match=r"no.toml: cannot be read"):
        read_config("no.toml")


def test_a_file_of_any_name_may_have_the_table_of_a_project(project: Path) -> None:
    Path("ci.toml").write_text('[tool.ruff]\nline-length = 9\n[tool.faultkit.review]\nfail-on = "high"\n')
    assert read_config("ci.toml").fail_on == "high"
    Path("ci.toml").write_text('[tool.faultkit.review]\nfail = "high"\n')
    with pytest.raises(InputError, match=r"ci.toml: line 2: tool.faultkit.review.fail: unknown key"):
        read_config("ci.toml")
    Path("ci.toml").write_text('[tool.faultkit.review]\nfail-on = "high"\n[review]\nfail-on = "low"\n')
    with pytest.raises(InputError, match=r"ci.toml: line 3: review: expected \[review\] or .*, got both"):
        read_config("ci.toml")


def test_the_docs_list_the_keys() -> None:
    assert markdown_of(CONFIG_KEYS) in (DOCS / "code.md").read_text("utf-8")
