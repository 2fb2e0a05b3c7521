"""Improvements: how far they go, which changes are kept, and the reason if there are none."""

from __future__ import annotations

import subprocess
import sys

import pytest

from faultkit.base.errors import InputError
from faultkit.code.advice.analysis import score_of
from faultkit.code.advice.improvement import LONGEST_TEXT, improve
from faultkit.code.advice.selection import EVERY_CHANGE, Selection, selection_of
from faultkit.code.review.engine import findings_of
from faultkit.code.rules.rule import Kind
from tests.code.changes.cases import CASES, Case

TWO = "import requests\n\n\ndef load(url, found=[]):\n    found.append(url)\n    return requests.get(url)\n"
CLEAN = "def add(a, b):\n    return a + b\n"
METHOD = '    async def wait(self):\n        """Doc\nwithout indent."""\n        time.sleep(1)\n'


def test_the_most_severe_finding_comes_first_and_a_low_target_is_soon_reached() -> None:
    first = improve(TWO, "python", "reliability", None, 0.5)
    assert first.changes == (
        "give HTTP calls, or the clients that make them, a timeout; they raise an error when it is over",
    )
    assert first.score_before < 0.5 <= first.score_after < 1.0
    assert {each.rule.slug for each in first.answered} == {"http-call-without-timeout"}


def test_a_higher_target_goes_further() -> None:
    whole = improve(TWO, "python", "reliability", None, 1.0)
    assert (whole.score_after, whole.left) == (1.0, ())
    assert len(whole.changes) == 3
    assert whole.reason == "the score is 1.00, and 1.00 was asked for"


def test_only_findings_of_the_kind_are_answered() -> None:
    text = (
        "import time\n\nimport requests\n\n\nasync def f(url):\n    time.sleep(1)\n"
        "    return requests.get(url).text\n"
    )
    better = improve(text, "python", "performance", None, 1.0)
    assert {each.rule.kind for each in better.answered} == {"performance"}
    assert "timeout" not in better.new


@pytest.mark.parametrize("target", [0.0, 0.5, 1.0])
def test_clean_code_is_unchanged_and_the_reason_given(target: float) -> None:
    same = improve(CLEAN, "python", None, None, target)
    assert (same.diff, same.new, same.changes, same.answered) == ("", CLEAN, (), ())
    assert same.reason == f"the score is 1.00, and {target:.2f} was asked for"


def test_a_finding_without_a_known_change_is_named() -> None:
    text = "def f(work):\n    try:\n        work()\n    except Exception:\n        pass\n"
    same = improve(text, "python", None, None, 1.0, file="a.py")
    assert same.diff == ""
    assert same.reason.startswith("no change is known for what is left (a.py:")


def test_a_text_that_does_not_parse_is_not_touched() -> None:
    text = "import requests\n\n\ndef f(:\n    return requests.get('http://a')\n"
    same = improve(text, "python", None, None, 1.0)
    assert (same.diff, same.new) == ("", text)
    assert same.reason == "the text cannot be read as Python: see line 4"


def test_a_language_without_changes_is_the_reason() -> None:
    same = improve("class A { }\n", "java", None, None, 1.0)
    assert (same.diff, same.reason) == ("", "no changes are known for Java")


def test_a_method_without_its_class_keeps_its_indent_and_its_imports_are_listed() -> None:
    better = improve(METHOD, "python", None, None, 1.0)
    assert better.new == METHOD.replace("time.sleep", "await asyncio.sleep")
    assert better.imports == ("import asyncio",)
    assert better.diff.startswith("--- a/snippet.py\n+++ b/snippet.py\n")


def test_a_method_of_javascript_is_changed_where_it_stands() -> None:
    better = improve("async load(u) {\n  return fetch(u);\n}\n", "js", None, None, 1.0)
    assert better.new == "async load(u) {\n  return fetch(u, { signal: AbortSignal.timeout(30000) });\n}\n"


def test_a_function_of_go_without_its_file_names_its_imports() -> None:
    text = "func Load(u string) (*http.Response, error) {\n\treturn http.Get(u)\n}\n"
    better = improve(text, "go", None, None, 1.0)
    assert better.new == (
        "var httpClient = &http.Client{Timeout: 30 * time.Second}\n\n"
        "func Load(u string) (*http.Response, error) {\n\treturn httpClient.Get(u)\n}\n"
    )
    assert better.imports == ('import "time"',)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_improved_code_is_not_improved_again(case: Case) -> None:
    once = improve(case.before, case.language, None, None, 1.0)
    again = improve(once.new, case.language, None, None, 1.0)
    assert (again.diff, again.score_before) == ("", once.score_after)
    assert once.score_after >= once.score_before
    assert once.answered


def test_marks_and_line_ends_are_kept() -> None:
    text = "\ufeff" + TWO.replace("\n", "\r\n")
    better = improve(text, "python", None, None, 1.0)
    assert better.new.startswith("\ufeffimport requests\r\n")
    assert better.new.count("\n") == better.new.count("\r\n")


def test_libcst_is_imported_only_for_python() -> None:
    code = (
        "import sys; from faultkit.code.advice.improvement import improve; "
        "improve('fetch(u)', 'js', None, None, 1.0); assert 'libcst' not in sys.modules; "
        "improve('x = 1', 'python', None, None, 0.5); assert 'libcst' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], timeout=30, check=True)


BAD = {
    "above 1": (None, 1.5, "target_score: expected a number from 0 to 1, got 1.5"),
    "below 0": (None, -0.1, "target_score: expected a number from 0 to 1, got -0.1"),
    "not a number": (None, float("nan"), "target_score: expected a number from 0 to 1, got nan"),
    "below the score": (0.7, 0.5, "target_score: expected at least the score, 0.7, got 0.5"),
    "a score above 1": (2, 0.5, "score: expected a number from 0 to 1, got 2"),
}


@pytest.mark.parametrize(("score", "target", "text"), BAD.values(), ids=BAD)
def test_a_wrong_target_is_refused(score: float | None, target: float, text: str) -> None:
    with pytest.raises(InputError) as caught:
        improve(TWO, "python", "reliability", score, target)
    assert str(caught.value) == text


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(InputError, match='kind: expected one of reliability, performance, got "speed"'):
        improve(TWO, "python", "speed", None, 1.0)  # type: ignore[arg-type]


def test_an_empty_text_is_no_code() -> None:
    with pytest.raises(InputError, match="expected source code, got nothing"):
        improve(" \n", "python", None, None, 1.0)


def test_a_text_that_is_too_long_is_refused() -> None:
    with pytest.raises(InputError, match=r"a\.py: expected at most 1000000 characters"):
        improve("x = 1\n" * (LONGEST_TEXT // 6 + 1), "python", None, None, 1.0, file="a.py")


def test_a_kind_of_change_is_listed_once_however_often_it_was_made() -> None:
    text = "".join(
        f"import os\n\n\ndef f{n}(p):\n    f = open(p)\n    g = open(p)\n    return f.read() + g.read()\n"
        for n in range(3)
    )
    better = improve(text, "python", "reliability", None, 1.0)
    assert better.changes == ("close what is opened, on every way out, with a with block",)
    assert better.left == ()


def test_a_blocking_call_in_a_handler_gets_its_errors_mapped_and_leaves_the_loop() -> None:
    text = (
        "import requests\nfrom fastapi import FastAPI\n\napp = FastAPI()\n\n\n@app.get('/')\n"
        "async def index():\n    answer = requests.get('http://a')\n    return answer.json()\n"
    )
    better = improve(text, "python", None, None, 1.0)
    assert (better.score_after, better.left) == (1.0, ())
    assert "answer = await asyncio.to_thread(lambda: " in better.new
    assert "except requests.Timeout as error:" in better.new


@pytest.mark.parametrize(("old", "new"), [("\n", "\r\n"), ("    ", "\t")])
def test_helpers_of_an_earlier_change_are_known_whatever_the_line_ends_and_indents_are(
    old: str, new: str
) -> None:
    text = (
        "import requests\n\n\ndef first(url):\n    return requests.get(url).text\n\n\n"
        "def second(url):\n    return requests.get(url).text\n"
    )
    half = improve(text, "python", "reliability", None, 1.0).new
    half += "\n\ndef third(url):\n    return requests.get(url).text\n"
    whole = improve(half, "python", "reliability", None, 1.0).new
    assert whole.count("@tenacity.retry(") == 1
    assert improve(half.replace(old, new), "python", "reliability", None, 1.0).new == whole.replace(old, new)


SEED = """\
@app.get("/")
def index():
    response = httpx.get("http://a/b")
    return response.json()
"""


@pytest.mark.parametrize("kind", ["reliability", "performance"])
@pytest.mark.parametrize("selection", [EVERY_CHANGE, Selection()])
def test_a_change_is_measured_by_the_score_of_a_review(kind: Kind, selection: Selection) -> None:
    for text in (SEED, TWO, "import requests\ndef f(u):\n    return requests.get(u, timeout=3).json()\n"):
        score = score_of(findings_of(text, "python"), kind).value
        assert improve(text, "python", kind, None, 1.0, selection=selection).score_before == score
        same = improve(text, "python", kind, None, score, selection=selection)
        assert (same.diff, same.reason) == ("", f"the score is {score:.2f}, and {score:.2f} was asked for")


def test_changes_of_rules_that_are_off_are_made_for_the_best_score() -> None:
    text = "import requests\n\n\ndef f(u):\n    return requests.get(u, timeout=3).status_code\n"
    whole = improve(text, "python", "reliability", None, 1.0)
    assert (whole.score_before, whole.score_after) == (1.0, 1.0)
    assert "tenacity" in whole.new
    assert improve(text, "python", "reliability", None, 0.99).diff == ""


def test_a_change_that_misses_the_score_says_so() -> None:
    text = (
        "import requests\n\n\nasync def notify(url):\n    try:\n        requests.post(url, json={})\n"
        "    except Exception:\n        pass\n"
    )
    part = improve(text, "python", "reliability", None, 0.95)
    assert part.diff
    assert part.score_after < 0.95
    assert part.reason.startswith(
        f"the score is {part.score_after:.2f}, and 0.95 was asked for: no change is known for what is left ("
    )
    assert "\n" not in part.reason
    named = improve(text, "python", None, None, 1.0, selection=selection_of(["FK-R001"]))
    assert named.reason.endswith(", and 1.00 was asked for: what is left is of other rules")


def test_questions_and_reasons_have_lines_of_the_given_text() -> None:
    asked = improve(SEED, "python", "reliability", None, 1.0).questions
    assert {rule: each.lines for each in asked for rule in each.rules} == {
        "FK-R011": (3,),
        "FK-R026": (3,),
        "FK-R005": (3,),
    }
    blank = "\n# more\n" * 20
    two = f"import requests\n{blank}\ndef f(u):\n    requests.post(u)\n{blank}\ndef g(u):\n    x()\n"
    lines = two.splitlines()
    sent = 1 + lines.index("    requests.post(u)")
    part = improve(two, "python", "reliability", None, 1.0, file="a.py")
    assert f"(a.py:{sent}: Response status not checked)" in part.reason
    both = f"{two}    return requests.get(u, timeout=3).json()['a']\n"
    (question,) = [
        each for each in improve(both, "python", None, None, 1.0).questions if each.rules == ("FK-R026",)
    ]
    # The codemod knows no change for what is sent, and leaves it as it is.
    assert question.lines == (len(lines) + 1,)


def test_a_call_in_a_thread_is_still_not_checked() -> None:
    text = "import requests\n\n\nasync def notify(url):\n    requests.post(url, json={}, timeout=3)\n"
    moved = improve(text, "python", None, None, 1.0)
    assert "to_thread" in moved.new
    assert [each.rule.id for each in moved.left] == ["FK-R026"]
    assert [each.rule.id for each in moved.answered] == ["FK-P001"]
    assert moved.score_after < 1.0
