"""`fault review --ask-model --find-more`: what a model finds besides the rules, and checks like them."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from faultkit.cli.main import invoke
from faultkit.llm.language_model import LanguageModel
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
LONG = BANK + "".join(f"N{each} = {each}  # {'x' * 60}\n" for each in range(600))
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
    args = ("review", "app.py", "--select", "FK-R001,FK-M", *ARGS[2:])
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
    Path("bank.py").write_text(LONG)
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
    model.play(defects({"line": 7}))
    Path("bank.py").write_text(BANK)
    assert document(capfd, *ARGS, "--ignore", "FK-M001")["findings"] == []


def test_no_file_is_sent_if_all_rules_of_a_model_are_off(
    model: ScriptedServer, capfd: pytest.CaptureFixture[str]
) -> None:
    for more in (
        ("--ignore", "FK-M"),
        ("--select", "FK-R001"),
        ("--ignore", "FK-M001", "--kind", "reliability"),
    ):
        assert invoke([*ARGS, *more]) == 2
        assert (
            "--find-more: expected FK-M001 or FK-M002 among the rules, got neither" in capfd.readouterr().err
        )
    assert invoke(["review", "bank.py", "--select", "FK-M001"]) == 2
    assert "--select: expected --ask-model --find-more for FK-M001" in capfd.readouterr().err
    assert model.requests == []


def test_a_file_in_which_the_rules_of_a_model_are_ignored_is_not_sent(
    model: ScriptedServer, capfd: pytest.CaptureFixture[str]
) -> None:
    Path("faultkit.toml").write_text('[review.per-path-ignores]\n"bank.py" = ["all"]\n')
    model.play(defects())
    assert document(capfd, "review", ".", "--select", "FK-M", *ARGS[2:])["files"] == 2
    sent = [each.body["messages"][-1]["content"] for each in model.requests]
    assert not any("The file bank.py" in each for each in sent)
    assert any("The file app.py" in each for each in sent)


def commit_all() -> None:
    for args in (("init", "-q"), ("add", "."), ("commit", "-qm", "first")):
        subprocess.run(("git", "-c", "user.name=a", "-c", "user.email=a@b", *args), check=True)


def test_with_diff_only_lines_on_or_beside_a_change_count(
    model: ScriptedServer, capfd: pytest.CaptureFixture[str]
) -> None:
    commit_all()
    args = ("review", ".", "--diff", "HEAD", *ARGS[2:])
    capfd.readouterr()
    Path("bank.py").write_text(BANK.replace("db.rows()", "db.rows()[:10]"))
    model.play(defects({}, {"line": 7}), verdicts("defect"))
    assert places(document(capfd, *args)) == [("FK-M001", 7)]
    assert not any("The file app.py" in each.body["messages"][-1]["content"] for each in model.requests)
    Path("bank.py").write_text(BANK.replace("    db.take(source, amount)\n", ""))
    model.play(defects({"line": 2}, {"line": 6}), verdicts("defect"))
    assert places(document(capfd, *args)) == [("FK-M001", 2)]


def test_with_diff_parts_without_a_change_are_not_sent(
    model: ScriptedServer, capfd: pytest.CaptureFixture[str]
) -> None:
    Path("long.py").write_text(LONG)
    commit_all()
    Path("long.py").write_text(LONG.replace("N599 = 599", "N599 = 600"))
    capfd.readouterr()
    assert invoke(["review", ".", "--diff", "HEAD", *ARGS[2:], "--show-prompt"]) == 0
    out = capfd.readouterr().out
    assert out.count("Find the defects of a file") == 1
    assert "N599 = 600" in out
    assert "N300 =" not in out


def test_what_a_model_writes_cannot_control_a_terminal_or_add_lines(
    model: ScriptedServer, capfd: pytest.CaptureFixture[str]
) -> None:
    claim = "evil \x1b]0;title\x07\x1b[2J\nbank.py:1  high  made up (FK-R001)\u202e."
    model.play(
        defects({"claim": claim}),
        said(
            "openai",
            json.dumps({"verdicts": [{"finding": 1, "verdict": "defect", "reason": "so\n2. line 1: it is"}]}),
        ),
    )
    assert invoke(list(ARGS)) == 0
    out = capfd.readouterr().out
    assert "    evil ]0;title [2J bank.py:1 high made up (FK-R001)\n" in out
    assert "    confirmed: so 2. line 1: it is\n" in out
    assert out.count("\nbank.py:") == 0
    assert "\nbank.py:1" not in model.requests[1].body["messages"][-1]["content"]


def test_a_claim_without_words_is_returned(model: ScriptedServer, capfd: pytest.CaptureFixture[str]) -> None:
    model.play(defects({"claim": "..."}), defects())
    assert document(capfd, *ARGS)["findings"] == []
    assert (
        "$.defects[0].claim: expected a sentence, got '...'"
        in (model.requests[1].body["messages"][-1]["content"])
    )


def test_whole_numbers_may_have_a_fraction_of_zero(
    model: ScriptedServer, capfd: pytest.CaptureFixture[str]
) -> None:
    verdict = {"finding": 1.0, "verdict": "defect", "reason": "so"}
    model.play(defects({"line": 3.0}), said("openai", json.dumps({"verdicts": [verdict]})))
    assert places(document(capfd, *ARGS)) == [("FK-M001", 3)]
    assert places(document(capfd, *ARGS)) == [("FK-M001", 3)]
    assert len(model.requests) == 2


def test_a_defect_on_an_empty_line_stays_there_and_an_empty_file_is_not_sent(
    model: ScriptedServer, capfd: pytest.CaptureFixture[str]
) -> None:
    Path("bank.py").write_text(BANK.replace("\n    db.give", "\n\t \n    db.give"))
    Path("empty.py").write_text("\n\n")
    model.play(defects({"line": 3}, {"line": 4}), verdicts("defect"))
    args = ("review", "bank.py", "empty.py", *ARGS[2:])
    assert places(document(capfd, *args)) == [("FK-M001", 4)]
    assert len(model.requests) == 2


def test_a_file_may_change_while_the_model_answers(
    model: ScriptedServer, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = LanguageModel.ask

    def ask(*args: Any, **kwargs: Any) -> Any:
        Path("bank.py").unlink(missing_ok=True)
        return asked(*args, **kwargs)

    monkeypatch.setattr(LanguageModel, "ask", ask)
    model.play(defects({}), verdicts("defect"))
    assert places(document(capfd, *ARGS)) == [("FK-M001", 3)]


@pytest.mark.parametrize("form", ["sarif", "gitlab"])
def test_services_know_a_finding_again_whatever_its_words(
    form: str, model: ScriptedServer, capfd: pytest.CaptureFixture[str]
) -> None:
    def fingerprints(claim: str) -> list[str]:
        model.play(defects({"claim": claim}), verdicts("defect"))
        assert invoke([*ARGS, "--no-cache", "--format", form]) == 0
        return re.findall(r'ingerprints?[^"]*": (?:{[^"]*"[^"]*": )?"([^"]+)"', capfd.readouterr().out)

    first = fingerprints("some words")
    assert len(first) == 1
    assert fingerprints("other words") == first


def test_a_finding_of_another_kind_or_a_suppressed_one_does_not_take_a_line(
    model: ScriptedServer, capfd: pytest.CaptureFixture[str]
) -> None:
    comment = "# fault: ignore[FK-R001] local"
    Path("app.py").write_text(APP.replace("requests.get(url).json()", f"requests.get(url).json()  {comment}"))
    args = ("review", "app.py", "--select", "FK-R001,FK-M", *ARGS[2:])
    model.play(
        defects({"line": 7}, {"line": 11, "concern": "performance"}, {"line": 11}),
        verdicts("defect", "defect", "defect"),
    )
    assert places(document(capfd, *args)) == [("FK-M001", 7), ("FK-M002", 11), ("FK-R001", 11)]


def test_a_claim_keeps_its_words(model: ScriptedServer, capfd: pytest.CaptureFixture[str]) -> None:
    Path("bank.js").write_text("function f(db) {\n  db.take();\n}\n")
    model.play(defects({"line": 2, "claim": "self.take() is lost"}), verdicts("defect"))
    found = document(capfd, "review", "bank.js", *ARGS[2:])
    assert [each["message"] for each in found["findings"]] == ["self.take() is lost"]


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
