"""`fault review --ask-model --find-more`: what a model finds besides the rules, and checks like them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from faultkit.cli.main import invoke
from tests.cli.test_review_by_model import APP, document, model, verdicts
from tests.llm.scripted_provider import ScriptedServer, Send, said

__all__ = ["model"]

BANK = """\
def transfer(db, source, target, amount):
    db.take(source, amount)
    db.give(target, amount)


def report(db):
    return db.rows()
"""
LOST = "a failure between take and give loses the amount"
ARGS = ("review", "bank.py", "--ask-model", "--find-more", "--llm-client", "ollama")


@pytest.fixture(autouse=True)
def bank(model: ScriptedServer) -> None:
    Path("bank.py").write_text(BANK)


def defects(*rows: dict[str, Any]) -> Send:
    given = {"line": 3, "concern": "reliability", "severity": "high", "claim": f"{LOST}."}
    return said("openai", json.dumps({"defects": [given | row for row in rows]}))


def places(found: dict[str, Any]) -> list[tuple[str, int]]:
    return [(each["rule"], each["line"]) for each in found["findings"]]


def test_a_defect_is_a_finding_after_the_model_has_confirmed_it(
    model: ScriptedServer, capfd: pytest.CaptureFixture[str]
) -> None:
    model.play(defects({}, {"line": 7, "concern": "performance"}), verdicts("defect", "wrong"))
    found = document(capfd, *ARGS)
    (finding,) = found["findings"]
    assert (finding["rule"], finding["line"], finding["function"]) == ("FK-M001", 3, "transfer")
    assert (finding["message"], finding["severity"], finding["column"]) == (LOST, "high", 5)
    assert [each["rule"] for each in found["not_confirmed"]] == ["FK-M002"]
    search, check = (each.body["messages"][-1]["content"] for each in model.requests)
    assert "    3     db.give(target, amount)" in search
    assert f"1. line 3: Reliability defect that a model found (FK-M001): {LOST}\n" in check


def test_the_model_knows_what_is_reported_and_adds_nothing_on_those_lines(
    model: ScriptedServer, capfd: pytest.CaptureFixture[str]
) -> None:
    args = ("review", "app.py", "--select", "FK-R001", *ARGS[2:])
    model.play(defects({"line": 7}, {"line": 10}, {"line": 10}), verdicts("defect", "defect", "defect"))
    assert places(document(capfd, *args)) == [("FK-R001", 7), ("FK-M001", 10), ("FK-R001", 11)]
    assert (
        "line 7: HTTP call without a timeout: requests.get() has"
        in (model.requests[0].body["messages"][-1]["content"])
    )


def test_a_file_without_defects_is_asked_about_once(
    model: ScriptedServer, capfd: pytest.CaptureFixture[str]
) -> None:
    model.play(defects())
    assert document(capfd, *ARGS)["findings"] == []
    assert document(capfd, *ARGS)["findings"] == []
    assert len(model.requests) == 1


def test_an_answer_with_a_line_that_is_not_there_is_returned(
    model: ScriptedServer, capfd: pytest.CaptureFixture[str]
) -> None:
    model.play(defects({"line": 90}), defects({}), verdicts("defect"))
    assert places(document(capfd, *ARGS)) == [("FK-M001", 3)]
    repair = model.requests[1].body["messages"][-1]["content"]
    assert "$.defects[0].line: expected a line from 1 to 8, got 90" in repair


def test_a_long_file_is_sent_in_parts_with_its_first_lines(
    model: ScriptedServer, capfd: pytest.CaptureFixture[str]
) -> None:
    Path("bank.py").write_text(BANK + "".join(f"N{each} = {each}  # {'x' * 60}\n" for each in range(600)))
    assert invoke([*ARGS, "--show-prompt"]) == 0
    out, _ = capfd.readouterr()
    assert out.count("Find the defects of a file") == 2
    assert out.count("    2     db.take(source, amount)\n") == 2
    assert out.count("  607 N599 = 599") == 1
    assert model.requests == []


def test_comments_and_settings_count_for_what_a_model_finds(
    model: ScriptedServer, capfd: pytest.CaptureFixture[str]
) -> None:
    comment = "  # fault: ignore[FK-M001] the database undoes both"
    Path("bank.py").write_text(BANK.replace("give(target, amount)", f"give(target, amount){comment}"))
    model.play(defects({}))
    found = document(capfd, *ARGS)
    assert (found["findings"], found["hidden"]["comment"]) == ([], 1)
    assert document(capfd, "review", "bank.py")["findings"] == []
    assert document(capfd, *ARGS, "--ignore", "FK-M001")["hidden"]["comment"] == 0


def test_with_diff_only_changed_lines_count(model: ScriptedServer, capfd: pytest.CaptureFixture[str]) -> None:
    def git(*args: str) -> None:
        subprocess.run(("git", "-c", "user.name=a", "-c", "user.email=a@b", *args), check=True)

    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "first")
    Path("bank.py").write_text(BANK.replace("db.rows()", "db.rows()[:10]"))
    model.play(defects({}, {"line": 7}), verdicts("defect"))
    args = ("review", ".", "--diff", "HEAD", *ARGS[2:])
    capfd.readouterr()
    assert places(document(capfd, *args)) == [("FK-M001", 7)]
    assert APP not in model.requests[0].body["messages"][-1]["content"]


def test_a_baseline_knows_a_finding_whatever_its_words(
    model: ScriptedServer, capfd: pytest.CaptureFixture[str]
) -> None:
    base = ("--baseline", "base.json")
    model.play(defects({}), verdicts("minor"))
    assert invoke([*ARGS, *base, "--write-baseline"]) == 0
    capfd.readouterr()
    Path("bank.py").write_text(f"# Accounts.\n{BANK}")
    model.play(defects({"line": 4, "claim": "other words"}))
    found = document(capfd, *ARGS, *base)
    assert (found["findings"], found["hidden"]["baseline"]) == ([], 1)


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (("--find-more",), "--find-more: expected --ask-model beside it, got none"),
        (("--find-more", "--ask-model"), "--ask-model: expected a language model, chosen by --llm-client"),
    ],
)
def test_find_more_needs_a_model(
    args: tuple[str, ...], problem: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert invoke(["review", "bank.py", *args]) == 2
    assert problem in capfd.readouterr().err
