"""The advisor without a model: answers of the rules, the named engine, and invalid input."""

from __future__ import annotations

import codecs
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from faultkit.base.errors import InputError, RunError
from faultkit.code.advice.advisor import Advisor
from faultkit.code.advice.answers import ANALYSIS, RULES, SLOS
from faultkit.code.facts.build import GRAMMARS
from faultkit.llm.prompt import schema_problems
from tests.code.changes.test_demo_app import APP
from tests.code.changes.test_diff import git_apply

CLEAN = "def add(a, b):\n    return a + b\n"
BAD = "import requests\n\n\ndef load(url):\n    return requests.get(url).json()\n"


@pytest.fixture
def app(tmp_path: Path) -> Path:
    path = tmp_path / "app.py"
    path.write_text(APP)
    return path


def test_every_answer_names_the_rules_as_its_engine(app: Path) -> None:
    advisor = Advisor()
    answers: list[Any] = [
        advisor.score(BAD, "python", "reliability"),
        advisor.suggest(BAD, "python", "reliability"),
        advisor.change_file(app),
        advisor.slos(APP, "python", function="index"),
        advisor.analyse(app, "index"),
    ]
    assert advisor.engine == RULES
    for answer in answers:
        assert (answer.engine, answer.model) == ("rules", None)
        document = answer.document()
        assert (document["engine"], document["model"]) == ("rules", None)


def test_a_score_explains_itself_with_lines() -> None:
    answer = Advisor().score(BAD, "python", "reliability")
    assert answer.score < 0.6
    assert "line 5: HTTP call without a timeout" in answer.explanation
    assert answer.document() == {
        "score": answer.score,
        "explanation": answer.explanation,
        "engine": "rules",
        "model": None,
    }


def test_a_text_with_very_many_findings_has_a_score() -> None:
    snippet = "import requests\n" + "requests.get(URL)\n" * 1_200
    assert Advisor().score(snippet, "python", "reliability").score < 0.5


def test_a_score_mentions_lines_that_cannot_be_parsed() -> None:
    answer = Advisor().score(f"{BAD}\n\ndef f(:\n    pass\n", "python", "reliability")
    assert answer.score < 0.6
    assert "cannot be read as Python, so something may be missed." in answer.explanation


@pytest.mark.parametrize("snippet", ["def f(:", "hello world this is not code"])
def test_code_that_cannot_be_parsed_has_no_score(snippet: str, tmp_path: Path) -> None:
    said = "expected code that can be read as Python, got something else on line 1: it has no score"
    for kind in ("reliability", "performance"):
        with pytest.raises(InputError, match=f"^snippet: {said}$"):
            Advisor().score(snippet, "python", kind)
    with pytest.raises(InputError, match=f"^snippet: {said}$"):
        Advisor().suggest(snippet, "python", "reliability")
    file = tmp_path / "app.py"
    file.write_text(snippet)
    with pytest.raises(InputError, match=f"{said}$"):
        Advisor().change_file(str(file))


def test_the_diff_of_a_file_applies_from_the_root_of_its_repository(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    file = tmp_path / "app" / "web" / "app.py"
    file.parent.mkdir(parents=True)
    file.write_text(APP)
    answer = Advisor().change_file(str(file))
    assert answer.diff.startswith("--- a/app/web/app.py\n+++ b/app/web/app.py\n")
    subprocess.run(["git", "apply", "-"], input=answer.diff.encode(), cwd=tmp_path, check=True)
    assert file.read_text() == answer.new


def test_the_demo_app_is_changed_as_a_file(app: Path) -> None:
    answer = Advisor().change_file(app)
    assert answer.score <= 0.5
    assert answer.score_after >= 0.8
    assert (answer.old, answer.target_score) == (APP, 1.0)
    assert "tenacity" in answer.dependencies
    assert answer.diff.startswith("--- a/app.py\n+++ b/app.py\n")
    assert git_apply(app.parent, answer.diff) == ""
    assert app.read_text() == answer.new
    assert list(answer.document())[:6] == ["score", "explanation", "old", "new", "dependencies", "diff"]


def test_the_explanation_names_the_threats_with_lines_and_what_was_changed(app: Path) -> None:
    text = Advisor().change_file(app).explanation
    assert text.startswith("The main threats: ")
    assert "HTTP call without a timeout (line 13)" in text
    assert "The change: " in text
    assert "share one HTTP client" in text.partition("The change: ")[2]


def test_clean_code_is_not_changed_and_the_reason_is_given() -> None:
    answer = Advisor().suggest(CLEAN, "python", "performance", target_score=0.9)
    assert (answer.diff, answer.new, answer.dependencies) == ("", CLEAN, ())
    assert answer.explanation == "Nothing was changed: the score is 1.00, and 0.90 was asked for."


def test_a_finding_without_a_known_change_is_explained() -> None:
    text = "def f(work):\n    try:\n        work()\n    except Exception:\n        pass\n"
    answer = Advisor().suggest(text, "python", None, target_score=1.0)
    assert answer.diff == ""
    assert answer.explanation.startswith(
        "The main threats: Error caught and dropped (line 4). Nothing was changed"
    )


def test_a_mark_and_line_ends_of_a_file_are_kept_and_the_diff_applies(tmp_path: Path) -> None:
    path = tmp_path / "app.py"
    raw = codecs.BOM_UTF8 + APP.replace("\n", "\r\n").encode()
    path.write_bytes(raw)
    answer = Advisor().change_file(path)
    assert answer.old.encode() == raw
    assert answer.diff
    assert git_apply(tmp_path, answer.diff) == ""
    assert path.read_bytes() == answer.new.encode()


def test_an_analysis_fits_the_schema_of_the_models(app: Path) -> None:
    document = Advisor().analyse(app, "index", concerns=["threat", "reliability"]).document()
    assert [each["concern"] for each in document["evaluations"]] == ["threat", "reliability"]
    assert all(each.startswith("In app.py, ") for each in document["prompts"])
    body = {name: document[name] for name in ("evaluations", "prompts")}
    assert schema_problems(body, ANALYSIS) == []


def test_objectives_fit_the_schema_of_the_models() -> None:
    slos = Advisor().slos(APP, "python", function="index").document()["slos"]
    assert schema_problems(slos, SLOS) == []


def test_a_cancelled_question_is_not_started(app: Path) -> None:
    cancel = threading.Event()
    cancel.set()
    advisor = Advisor()
    for ask in (
        lambda: advisor.score(BAD, "python", "reliability", cancel=cancel),
        lambda: advisor.suggest(BAD, "python", None, cancel=cancel),
        lambda: advisor.change_file(app, cancel=cancel),
        lambda: advisor.slos(BAD, "python", cancel=cancel),
        lambda: advisor.analyse(app, "index", cancel=cancel),
    ):
        with pytest.raises(RunError, match="cancelled"):
            ask()


SNIPPETS: dict[str, tuple[Callable[[Advisor], object], str]] = {
    "nothing to score": (
        lambda a: a.score(" \n", "python", "reliability"),
        "snippet: expected source code, got nothing",
    ),
    "nothing to change": (
        lambda a: a.suggest("", "python", None),
        "snippet: expected source code, got nothing",
    ),
    "nothing to objectify": (lambda a: a.slos("", "python"), "snippet: expected source code, got nothing"),
    "too much": (
        lambda a: a.score("x = 1\n" * 200_000, "python", "reliability"),
        "snippet: expected at most 1000000 characters, got 1200000",
    ),
    "an unknown language": (
        lambda a: a.score(BAD, "cobol", "reliability"),
        "lang: expected one of python, ",
    ),
    "a language without rules": (
        lambda a: a.score("def f; end", "ruby", "reliability"),
        f"lang: expected one of {', '.join(GRAMMARS)}, which the rules know, got "
        "Ruby: name a language model with --llm-client to have it judged",
    ),
    "a change of one": (lambda a: a.suggest("def f; end", "ruby", None), "lang: expected one of python, "),
    "an unknown kind": (
        lambda a: a.score(BAD, "python", "beauty"),  # type: ignore[arg-type]
        'kind: expected one of reliability, performance, got "beauty"',
    ),
    "no kind": (
        lambda a: a.score(BAD, "python", None),  # type: ignore[arg-type]
        "kind: expected reliability or performance, got nothing",
    ),
    "a target below the score": (
        lambda a: a.suggest(BAD, "python", None, score=0.9, target_score=0.8),
        "target_score: expected at least the score, 0.9, got 0.8",
    ),
    "a target above 1": (
        lambda a: a.suggest(BAD, "python", None, target_score=1.1),
        "target_score: expected a number from 0 to 1, got 1.1",
    ),
}


@pytest.mark.parametrize(("ask", "text"), SNIPPETS.values(), ids=SNIPPETS)
def test_a_wrong_question_is_refused_with_what_to_do(ask: Callable[[Advisor], object], text: str) -> None:
    with pytest.raises(InputError) as caught:
        ask(Advisor())
    assert str(caught.value).startswith(text)


FILES: dict[str, tuple[str, bytes | None, str]] = {
    "missing": ("gone.py", None, "cannot be read: no such file or directory"),
    "a folder": ("", None, "expected a file, got a folder"),
    "not UTF-8": (
        "a.js",
        b"let a = '\xff';\n",
        "expected UTF-8 text, got byte 0xff on line 1; save it as UTF-8",
    ),
    "huge": ("a.py", b"#" * (10 * 2**20 + 1), "expected at most 10 MiB of source, got more"),
    "empty": ("a.py", b"\n", "expected source code, got an empty file"),
    "no language": ("a.txt", b"text\n", "expected a file that ends with one of .py "),
    "a binary": ("a.py", b"\x00\x01", "expected source text, got a binary file"),
}


@pytest.mark.parametrize(("name", "data", "text"), FILES.values(), ids=FILES)
def test_a_file_that_cannot_be_judged_is_refused_by_its_name(
    name: str, data: bytes | None, text: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    if data is not None:
        path.write_bytes(data)
    for ask in (lambda: Advisor().change_file(path), lambda: Advisor().analyse(path, "f")):
        with pytest.raises(InputError) as caught:
            ask()
        assert str(caught.value).startswith(f"{path}: {text}")


def test_a_file_in_another_encoding_is_judged_and_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes("# coding: latin-1\ndef f():\n    return 'é'\n".encode("latin-1"))
    assert Advisor().analyse(path, "f").evaluations
    with pytest.raises(InputError, match="got another encoding: save it as UTF-8 to change it"):
        Advisor().change_file(path)


def test_an_unknown_function_is_refused_with_a_hint(app: Path) -> None:
    with pytest.raises(InputError, match=r'app\.py: function: unknown name "idex"; did you mean "index"\?'):
        Advisor().analyse(app, "idex")


def test_no_client_library_is_imported_for_the_rules() -> None:
    code = (
        "import sys; from faultkit.code.advice.advisor import Advisor; "
        "Advisor().score('x = 1', 'python', 'reliability'); "
        "assert not {'openai', 'anthropic', 'libcst', 'jsonschema'} & {*sys.modules}"
    )
    subprocess.run([sys.executable, "-c", code], timeout=30, check=True)
