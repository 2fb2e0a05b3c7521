"""Plans from YAML files."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultkit.base.errors import InputError
from faultkit.faults.stream.latency import Latency
from faultkit.plan import Match, Plan, Rule, load_plan, read_plan

GOOD = """\
seed: 42
rules:
  - name: slow-db   # a comment
    fault: latency
    with: {mean_ms: 300}
    match: {proxy: db}
"""


@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_a_plan_is_read_from_a_yaml_file(tmp_path: Path, start: str) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text(start + GOOD, encoding="utf-8")
    expected = Plan((Rule("slow-db", Latency(mean_ms=300), Match("db")),), 42)
    assert load_plan(file) == expected
    assert load_plan(str(file)) == expected


def test_json_is_yaml_too() -> None:
    assert read_plan('{"seed": "a", "rules": [{"fault": "latency"}]}') == Plan(
        (Rule("latency", Latency()),), "a"
    )


def test_anchors_and_merges_work_and_may_be_overridden() -> None:
    plan = read_plan(
        """
rules:
  - &base {fault: latency, with: &slow {mean_ms: 5, stddev_ms: 1}}
  - <<: *base
    with: {<<: *slow, mean_ms: 9}
"""
    )
    assert [rule.fault for rule in plan.rules] == [
        Latency(mean_ms=5, stddev_ms=1),
        Latency(mean_ms=9, stddev_ms=1),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "plan.yaml: expected a mapping, got nothing"),
        ("- a", "plan.yaml: line 1: expected a mapping, got a list"),
        ("seed: 1\nseed: 2\n", 'plan.yaml: line 2, column 1: key "seed" is given twice'),
        (
            "rules:\n  - fault: latency\n    with: {mean_ms: 1, mean_ms: 2}\n",
            'plan.yaml: line 3, column 24: key "mean_ms" is given twice',
        ),
        ("seed: [1, 2", "plan.yaml: line 1, column 12: expected ',' or ']', but got '<stream end>'"),
        ("a: 1\n---\nb: 2\n", "plan.yaml: line 2, column 1: but found another document"),
        (
            "seed: !!python/name:os.system x",
            "plan.yaml: line 1, column 7: could not determine a constructor for "
            "the tag 'tag:yaml.org,2002:python/name:os.system'",
        ),
        (
            "seed: 2024-13-45",
            'plan.yaml: line 1, column 7: expected a date or a time, got "2024-13-45"',
        ),
        ("? {a: 1}\n: 2", "plan.yaml: line 1, column 3: found unhashable key"),
        (
            "rules: [{fault: latency, trigger: {first: x}}]",
            'plan.yaml: line 1: rules[0].trigger.first: expected a whole number of at least 1, got "x"',
        ),
        (
            "seed: 1\nrules:\n  - fault: latency\n    mach: {}\n",
            'plan.yaml: line 4: rules[0].mach: unknown key; did you mean "match"?',
        ),
        (
            '{\n\t"rules": [\n\t\t{"fault": 5}\n\t]\n}',
            "plan.yaml: line 3: rules[0].fault: expected the kind of a fault such as latency or hang, got 5",
        ),
        ('{\n\t"seed": 1,\n\t"seed": 2\n}', 'plan.yaml: line 3, column 2: key "seed" is given twice'),
        ("[" * 5000, "plan.yaml: expected a plan, got YAML that is nested too deeply"),
    ],
)
def test_bad_files_are_answered_with_file_place_and_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("plan.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_plan("plan.yaml")
    assert str(caught.value) == message


def test_control_characters_are_refused_on_one_line() -> None:
    with pytest.raises(InputError) as caught:
        read_plan("seed: \x00", "plan.yaml")
    assert str(caught.value) == (
        "plan.yaml: line 1, column 7: found the character U+0000, which YAML does not allow"
    )
    assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"^nowhere\.yaml: cannot be read: no such file or directory$"):
        load_plan("nowhere.yaml")
    with pytest.raises(InputError, match=r"^\.: cannot be read: is a directory$"):
        load_plan(".")
    Path("latin.yaml").write_bytes(b"name: caf\xe9\n")
    with pytest.raises(InputError, match=r"^latin\.yaml: expected UTF-8 text, got byte 0xe9$"):
        load_plan("latin.yaml")
