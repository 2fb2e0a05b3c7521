"""The advisor with a model behind a scripted provider: what is sent, accepted and refused."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from faultkit.base.errors import InputError, RunError, TargetError
from faultkit.code.advice.advisor import Advisor
from faultkit.code.advice.answers import Engine
from tests.code.changes.test_diff import git_apply
from tests.llm.conftest import OpenModel
from tests.llm.scripted_provider import PATIENCE_S, Hang, ScriptedServer, Send, error, said

BAD = "import requests\n\n\ndef load(url):\n    return requests.get(url, timeout=None).json()\n"
BETTER = BAD.replace("timeout=None", "timeout=5")
WORSE = BAD.replace(", timeout=None", ", timeout=None, verify=False")
BROKEN = BAD.replace("def load(url):", "def load(url:")
CRASHING = BAD.replace("    return", "    break\n    return")
SECRET = "sk-live-0123456789abcdefghijkl"


def change(new: str, **more: Any) -> Send:
    data = {"explanation": "a timeout of 5 s", "score": 0.7, "new": new, "dependencies": ["requests"], **more}
    return said("openai", json.dumps(data))


def slo(prometheus: str) -> dict[str, Any]:
    return {
        "type": "latency",
        "title": "p95",
        "objective": 95,
        "explanation": "users wait",
        "threshold": 0.3,
        "unit": "s",
        "window": "300s",
        "sli": {
            "prometheus": prometheus,
            "gcp/cloudrun": {
                "displayName": "p95",
                "goal": 0.95,
                "serviceLevelIndicator": {"windowsBased": {}},
            },
        },
    }


def evaluation(concern: str, line: int | None = None) -> dict[str, Any]:
    risk = {
        "title": "no timeout",
        "explanation": "it waits",
        "recommendation": "give one",
        "impact": "high",
        "likelihood": "medium",
        "cost": "low",
        **({} if line is None else {"line": line}),
    }
    return {"concern": concern, "summary": "so so", "risks": [risk]}


GOOD_SLO = slo("histogram_quantile(0.95, sum by (le) (rate(http_request_duration_seconds_bucket[5m])))")
SCORE = json.dumps({"score": 0.25, "explanation": "no timeout on line 5"})


@pytest.fixture
def advisor(open_model: OpenModel) -> Advisor:
    return Advisor(open_model("openai"))


def prompt_of(server: ScriptedServer, request: int = 0) -> str:
    return str(server.requests[request].body["messages"][1]["content"])


def told_to_repair(server: ScriptedServer) -> str:
    assert len(server.requests) == 2
    return str(server.requests[1].body["messages"][-1]["content"])


# The engine, and what is sent to it.


def test_every_answer_names_the_provider_and_its_model(
    advisor: Advisor, server: ScriptedServer, tmp_path: Path
) -> None:
    path = tmp_path / "a.py"
    path.write_text(BAD)
    assert advisor.engine == Engine("openai", "o4-mini")
    server.play(
        said("openai", SCORE),
        change(BETTER),
        change(BETTER),
        said("openai", json.dumps({"answer": [GOOD_SLO]})),
        said("openai", json.dumps({"evaluations": [evaluation("threat")], "prompts": []})),
    )
    answers: list[Any] = [
        advisor.score(BAD, "python", "reliability"),
        advisor.suggest(BAD, "python", "reliability"),
        advisor.change_file(path),
        advisor.slos(BAD, "python"),
        advisor.analyse(path, "load", concerns=["threat"]),
    ]
    assert [(each.engine, each.model) for each in answers] == [("openai", "said-by-server")] * 5
    assert [each.document()["engine"] for each in answers] == ["openai"] * 5
    assert len(server.requests) == 5


def test_a_score_is_the_models_and_the_findings_go_with_the_question(
    advisor: Advisor, server: ScriptedServer
) -> None:
    server.play(said("openai", f"```json\n{SCORE}\n```"))
    answer = advisor.score(BAD, "python", "reliability")
    assert (answer.score, answer.explanation) == (0.25, "no timeout on line 5")
    text = prompt_of(server)
    assert BAD in text
    assert "## What a checker found in it" in text
    assert "line 5: HTTP call without a timeout: requests.get() has no timeout" in text
    assert "HTTP client made for each call" not in text, "that is performance"


def test_search_results_go_with_the_question_but_for_the_code_itself(
    open_model: OpenModel, server: ScriptedServer
) -> None:
    queries: list[tuple[str, str]] = []

    def near(query: str, language: str) -> list[tuple[str, str]]:
        queries.append((query, language))
        return [("retry.py: again", "def again(): ..."), ("a.py: load", BAD)]

    server.play(said("openai", SCORE))
    Advisor(open_model("openai"), context=near).score(BAD, "py", "performance")
    assert queries == [(BAD, "python")]
    assert "## Other code of the project: retry.py: again\n```python\ndef again(): ...\n```" in prompt_of(
        server
    )
    assert "a.py: load" not in prompt_of(server)


def test_a_language_that_the_rules_do_not_know_is_judged_by_the_model_alone(
    advisor: Advisor, server: ScriptedServer
) -> None:
    server.play(said("openai", SCORE))
    assert advisor.score("func f() {}\n", "swift", "reliability").score == 0.25
    assert "What a checker found" not in prompt_of(server)


def test_secrets_stay_here_and_come_back_in_the_code(advisor: Advisor, server: ScriptedServer) -> None:
    code = f'import requests\n\nKEY = "{SECRET}"\n\n\ndef f(u):\n    return requests.get(u, timeout=None)\n'
    server.play(change(code.replace("timeout=None", "timeout=5").replace(SECRET, "REDACTED_1_KEY")))
    answer = advisor.suggest(code, "python", "reliability")
    assert SECRET not in json.dumps([each.body for each in server.requests])
    assert 'KEY = "REDACTED_1_KEY"' in prompt_of(server)
    assert answer.new == code.replace("timeout=None", "timeout=5")
    assert SECRET not in answer.diff.replace(f' KEY = "{SECRET}"', "")


# Changes.


def test_a_change_that_holds_is_taken_with_a_diff_of_ours(
    advisor: Advisor, server: ScriptedServer, tmp_path: Path
) -> None:
    path = tmp_path / "app.py"
    path.write_text(BAD)
    server.play(change(BETTER, dependencies=["tenacity>=9", " requests", "tenacity>=9"]))
    answer = advisor.change_file(path, target_score=0.9)
    assert answer.diff.startswith("--- a/app.py\n+++ b/app.py\n")
    assert git_apply(tmp_path, answer.diff) == ""
    assert path.read_text() == answer.new == BETTER
    assert answer.dependencies == ("tenacity>=9", "requests")
    assert answer.score < answer.score_after < 1.0
    assert answer.explanation == "a timeout of 5 s"
    assert answer.reason == "openai scores the new code 0.70, and 0.90 was asked for"
    assert "Improve the reliability and performance of the file." in str(server.requests[0].body)


def test_the_score_that_a_caller_has_is_told(advisor: Advisor, server: ScriptedServer) -> None:
    server.play(change(BETTER))
    advisor.suggest(BAD, "python", "reliability", score=0.15, target_score=0.9)
    assert "Its score is 0.15 of 1; aim at 0.9" in str(server.requests[0].body)


def test_a_score_that_is_good_enough_already_is_not_told(advisor: Advisor, server: ScriptedServer) -> None:
    server.play(change(BETTER))
    advisor.suggest(BAD, "python", "reliability", target_score=0.0)
    assert "Aim at a score of 0 of 1" in str(server.requests[0].body)


FORMS = {
    "in a fence": f"```python\n{BETTER}```",
    "in a fence with blanks": f"\n~~~\n{BETTER}~~~\n",
    "without its last line end": BETTER.rstrip("\n"),
}


@pytest.mark.parametrize("new", FORMS.values(), ids=FORMS)
def test_slips_of_form_are_forgiven(new: str, advisor: Advisor, server: ScriptedServer) -> None:
    server.play(change(new))
    assert advisor.suggest(BAD, "python", "reliability").new == BETTER
    assert len(server.requests) == 1


def test_a_mark_and_line_ends_are_kept_whatever_the_model_sends(
    advisor: Advisor, server: ScriptedServer, tmp_path: Path
) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(("\ufeff" + BAD.replace("\n", "\r\n")).encode())
    server.play(change(BETTER))
    answer = advisor.change_file(path)
    assert "\r" not in prompt_of(server)
    assert answer.new == "\ufeff" + BETTER.replace("\n", "\r\n")
    assert git_apply(tmp_path, answer.diff) == ""
    assert path.read_bytes() == answer.new.encode()


def test_nothing_worth_changing_is_an_answer(advisor: Advisor, server: ScriptedServer) -> None:
    server.play(change("", explanation="it is fine"))
    answer = advisor.suggest(BAD, "python", "reliability")
    assert (answer.diff, answer.new, answer.dependencies) == ("", BAD, ())
    assert (answer.explanation, answer.score_after) == ("it is fine", answer.score)
    assert answer.reason == "openai found nothing that is worth changing"


METHOD = "    def load(self, url):\n        return requests.get(url)\n"
REFUSED = {
    "does not parse": (BAD, BROKEN, "new: it cannot be read as Python: see line 4"),
    "does not compile": (BAD, CRASHING, "new: Python refuses it: 'break' outside loop, line 5"),
    "is worse": (BAD, WORSE, "new: its reliability is worse by our checker, "),
    "is the same": (BAD, BAD, "new: it is the code that you were given"),
    "is words": (BAD, "Add a timeout to the call.", "new: it cannot be read as Python: see line 1"),
    "lost its indentation": (
        METHOD,
        "def load(self, url):\n    return requests.get(url, timeout=5)\n",
        "new: its first line is indented by 0, that of the code you were given by 4",
    ),
    "holds a NUL": (BAD, f"{BETTER}\0", "new: it holds a NUL character"),
}


@pytest.mark.parametrize(("old", "new", "why"), REFUSED.values(), ids=REFUSED)
def test_a_rejected_change_is_repaired_from_the_reported_problem(
    old: str, new: str, why: str, advisor: Advisor, server: ScriptedServer
) -> None:
    mended = old.replace("timeout=None", "timeout=5").replace("get(url)", "get(url, timeout=5)")
    server.play(change(new), change(mended))
    assert advisor.suggest(old, "python", "reliability").new == mended
    assert why in told_to_repair(server)


@pytest.mark.parametrize(("old", "new", "why"), REFUSED.values(), ids=REFUSED)
def test_a_change_that_stays_invalid_is_refused_with_the_reason(
    old: str, new: str, why: str, advisor: Advisor, server: ScriptedServer
) -> None:
    server.play(change(new))
    with pytest.raises(RunError) as caught:
        advisor.suggest(old, "python", "reliability")
    assert why in str(caught.value)
    assert len(server.requests) == 2


def test_a_change_of_one_kind_must_not_lower_the_score_of_the_other(
    advisor: Advisor, server: ScriptedServer
) -> None:
    old = "import time\n\n\nasync def f(u):\n    return await get(u)\n"
    server.play(change(old.replace("    return", "    time.sleep(1)\n    return")))
    with pytest.raises(
        RunError, match=r"new: its performance is worse by our checker, .* line 5: Blocking call"
    ):
        advisor.suggest(old, "python", "reliability")


def test_a_language_that_the_rules_do_not_know_is_scored_by_the_model(
    advisor: Advisor, server: ScriptedServer
) -> None:
    server.play(said("openai", SCORE), change("func f() { g(); }\n"))
    answer = advisor.suggest("func f() {}\n", "swift", "reliability")
    assert (answer.score, answer.score_after) == (0.25, 0.7)
    server.play(change("func f( { g(); }\n"))
    with pytest.raises(RunError, match="it cannot be read as Swift: see line 1"):
        advisor.suggest("func f() {}\n", "swift", "reliability", score=0.3)


def test_a_target_below_the_score_is_refused_before_the_model_is_asked(
    advisor: Advisor, server: ScriptedServer
) -> None:
    with pytest.raises(InputError, match=r"target_score: expected at least the score, 0\.9, got 0\.5"):
        advisor.suggest(BAD, "python", "reliability", score=0.9, target_score=0.5)
    assert server.requests == []


# Objectives and analyses.


def test_objectives_with_wrong_promql_are_repaired(advisor: Advisor, server: ScriptedServer) -> None:
    wrong = json.dumps({"answer": [GOOD_SLO, slo("sum(rate(x[5m])")]})
    server.play(said("openai", wrong), said("openai", json.dumps({"answer": [GOOD_SLO]})))
    assert advisor.slos(BAD, "python").slos == (GOOD_SLO,)
    assert "$[1].sli.prometheus: expected PromQL: " in told_to_repair(server)


def test_objectives_that_stay_wrong_are_refused(advisor: Advisor, server: ScriptedServer) -> None:
    server.play(said("openai", json.dumps({"answer": [slo("the 95th percentile")]})))
    with pytest.raises(RunError, match=r"\$\[0\]\.sli\.prometheus: expected PromQL: "):
        advisor.slos(BAD, "python")


def test_objectives_of_one_function_are_requested_for_it_alone(
    advisor: Advisor, server: ScriptedServer
) -> None:
    server.play(said("openai", json.dumps({"answer": [GOOD_SLO]})))
    advisor.slos(BAD, "python", function="load")
    text = prompt_of(server)
    assert text.startswith("## The code\n```python\ndef load(url):\n")
    assert "line 2: HTTP call without a timeout" in text
    assert "## Other code of the project: the file that it is in" in text
    with pytest.raises(InputError, match='unknown name "lod"; did you mean "load"'):
        advisor.slos(BAD, "python", function="lod")


def test_an_analysis_has_the_lines_of_the_file(
    advisor: Advisor, server: ScriptedServer, tmp_path: Path
) -> None:
    path = tmp_path / "a.py"
    path.write_text(BAD)
    data = {"evaluations": [evaluation("threat"), evaluation("reliability", 2)], "prompts": ["Do it."]}
    server.play(said("openai", json.dumps(data)))
    answer = advisor.analyse(path, "load", concerns=["reliability", "threat"])
    assert "line 2: HTTP call without a timeout" in prompt_of(server)
    assert [each["concern"] for each in answer.evaluations] == ["reliability", "threat"]
    assert answer.evaluations[0]["risks"][0]["line"] == 5
    assert "line" not in answer.evaluations[1]["risks"][0]
    assert answer.prompts == ("Do it.",)


ANALYSES = {
    "a concern too few": (["threat"], "expected one evaluation for each of reliability, threat, got threat"),
    "a concern too many": (["reliability", "threat", "threat"], "got reliability, threat, threat"),
}


@pytest.mark.parametrize(("concerns", "why"), ANALYSES.values(), ids=ANALYSES)
def test_an_analysis_of_other_concerns_is_refused(
    concerns: list[str], why: str, advisor: Advisor, server: ScriptedServer, tmp_path: Path
) -> None:
    path = tmp_path / "a.py"
    path.write_text(BAD)
    data = {"evaluations": list(map(evaluation, concerns)), "prompts": []}
    server.play(said("openai", json.dumps(data)))
    with pytest.raises(RunError, match=why):
        advisor.analyse(path, "load", concerns=["reliability", "threat"])


def test_an_analysis_of_lines_that_are_not_there_is_refused(
    advisor: Advisor, server: ScriptedServer, tmp_path: Path
) -> None:
    path = tmp_path / "a.py"
    path.write_text(BAD)
    server.play(said("openai", json.dumps({"evaluations": [evaluation("threat", 5)], "prompts": []})))
    with pytest.raises(RunError, match="expected lines from 1 to 2, got 5"):
        advisor.analyse(path, "load", concerns=["threat"])


# Providers that fail: the rules never answer silently in their place.


def test_garbage_is_an_error(advisor: Advisor, server: ScriptedServer) -> None:
    server.play(said("openai", "I would rather write a poem."))
    with pytest.raises(RunError, match="gave no usable answer"):
        advisor.score(BAD, "python", "reliability")
    assert len(server.requests) == 2


@pytest.mark.parametrize("status", [429, 500])
def test_a_provider_that_fails_is_an_error(status: int, advisor: Advisor, server: ScriptedServer) -> None:
    server.play(error("openai", status, "not now"))
    with pytest.raises((RunError, TargetError), match="not now"):
        advisor.suggest(BAD, "python", "reliability")


def test_a_question_can_be_cancelled_while_the_model_answers(
    advisor: Advisor, server: ScriptedServer
) -> None:
    cancel = threading.Event()
    server.play(Hang())
    errors: list[BaseException] = []

    def ask() -> None:
        try:
            advisor.score(BAD, "python", "reliability", cancel=cancel)
        except RunError as problem:
            errors.append(problem)

    thread = threading.Thread(target=ask)
    thread.start()
    assert server.arrived.wait(PATIENCE_S)
    cancel.set()
    thread.join(PATIENCE_S)
    assert [str(each) for each in errors] == ["the question to the language model was cancelled"]
