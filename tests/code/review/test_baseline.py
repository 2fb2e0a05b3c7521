"""Baselines: what a finding is known by, what is fixed, and files that are none."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from faultkit.base.errors import InputError
from faultkit.code.review.baseline import (
    Reviewed,
    against,
    baseline_text,
    empty_baseline,
    read_baseline,
    renewed,
)
from faultkit.code.review.engine import findings_of
from faultkit.code.review.outcome import Hiding, JudgedFinding

RULES = frozenset({"FK-R001"})


def judged(folder: Path, name: str, text: str) -> list[JudgedFinding]:
    (folder / name).write_text(text)
    found = findings_of(text, "python", file=name)
    return [JudgedFinding(each, str(folder / name)) for each in found if each.rule.id == "FK-R001"]


CALL = "requests.get(u)\n"
TWICE = f"import requests\n{CALL}{CALL}"


def written(folder: Path, findings: list[JudgedFinding], *names: str) -> Path:
    path = folder / "b.json"
    start = read_baseline(str(path)) if path.exists() else empty_baseline(str(path))
    path.write_text(baseline_text(renewed(start, findings, reviewed(folder, *names))))
    return path


def reviewed(folder: Path, *names: str) -> Reviewed:
    return {str(folder / name): RULES for name in names}


def test_equal_findings_are_counted(tmp_path: Path) -> None:
    path = written(tmp_path, judged(tmp_path, "a.py", TWICE), "a.py")
    (entry,) = json.loads(path.read_text())["findings"]
    assert (entry["rule"], entry["file"], entry["count"]) == ("FK-R001", "a.py", 2)
    three = judged(tmp_path, "a.py", f"# moved\n{TWICE}{CALL}")
    left, fixed = against(read_baseline(str(path)), three, reviewed(tmp_path, "a.py"))
    assert [each.hidden for each in left] == ["baseline", "baseline", ""]
    assert fixed == {}
    one = judged(tmp_path, "a.py", f"import requests\n{CALL}")
    left, fixed = against(read_baseline(str(path)), one, reviewed(tmp_path, "a.py"))
    assert [each.hidden for each in left] == ["baseline"]
    assert [*fixed.values()] == [1]


def test_only_what_was_looked_at_can_be_fixed(tmp_path: Path) -> None:
    both = [*judged(tmp_path, "a.py", TWICE), *judged(tmp_path, "b.py", TWICE)]
    path = written(tmp_path, both, "a.py", "b.py")
    baseline = read_baseline(str(path))
    assert [key[1] for key in against(baseline, [], reviewed(tmp_path, "a.py"))[1]] == ["a.py"]
    others = {str(tmp_path / "a.py"): frozenset({"FK-R003"})}
    assert against(baseline, [], others)[1] == {}
    (tmp_path / "b.py").unlink()
    assert [key[1] for key in against(baseline, [], others)[1]] == ["b.py"]


def test_a_new_baseline_keeps_what_was_not_looked_at(tmp_path: Path) -> None:
    both = [*judged(tmp_path, "a.py", TWICE), *judged(tmp_path, "b.py", TWICE)]
    path = written(tmp_path, both, "a.py", "b.py")
    written(tmp_path, [], "a.py")
    assert [each["file"] for each in json.loads(path.read_text())["findings"]] == ["b.py"]


def test_what_is_hidden_is_not_written(tmp_path: Path) -> None:
    found = [replace(each, hidden="comment") for each in judged(tmp_path, "a.py", TWICE)]
    assert json.loads(written(tmp_path, found, "a.py").read_text())["findings"] == []


@pytest.mark.parametrize("threshold", ["severity", "confidence"])
def test_what_a_threshold_hides_is_kept_but_not_added(tmp_path: Path, threshold: Hiding) -> None:
    first, second = judged(tmp_path, "a.py", TWICE)
    hidden = [replace(each, hidden=threshold) for each in (first, second)]
    path = written(tmp_path, [first], "a.py")
    for found in (hidden, [first, hidden[1]], [hidden[0]]):
        (entry,) = json.loads(written(tmp_path, found, "a.py").read_text())["findings"]
        assert "count" not in entry
    assert against(read_baseline(str(path)), hidden, reviewed(tmp_path, "a.py"))[1] == {}
    assert json.loads(written(tmp_path, [], "a.py").read_text())["findings"] == []


def test_lines_that_a_message_names_do_not_count(tmp_path: Path) -> None:
    (first, _) = judged(tmp_path, "a.py", TWICE)
    other = replace(first.finding, message="as on lines 3, 4 and 5")
    again = replace(first.finding, message="as on line 12")
    baseline = empty_baseline(str(tmp_path / "b.json"))
    assert baseline.identity(other, first.path) == baseline.identity(again, first.path)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("no", "expected a baseline that --write-baseline wrote, got no JSON"),
        ("[]", "expected a mapping, got a list"),
        ('{"version": 2}', "version: expected 1, got 2"),
        ('{"version": 1}', "findings: expected a list of findings, got nothing"),
        ('{"version": 1, "findings": [1]}', "findings[0]: expected a mapping, got 1"),
        ('{"version": 1, "findings": [{}]}', "findings[0].rule: expected a text, got nothing"),
        ('{"version": 1, "findings": [{"rul": 1}]}', 'findings[0].rul: unknown key; did you mean "rule"?'),
    ],
)
def test_another_file_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "b.json"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_baseline(str(path))
    assert str(caught.value) == f"{path}: {problem}"
