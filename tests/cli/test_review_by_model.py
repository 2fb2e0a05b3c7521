"""`fault review --ask-model`: a model confirms findings or hides them, and receives nothing unasked."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from faultkit.cli.main import invoke
from faultkit.code.review.cache import ReviewCache
from tests.llm.scripted_provider import Break, ScriptedServer, Send, said

APP = """\
import requests

PASSWORD = "hunter22hunter22"


def load(url):
    return requests.get(url).json()


def save(url, item):
    return requests.post(url, json=item).json()
"""
ARGS = ("review", "app.py", "--select", "FK-R001")
ASK = (*ARGS, "--ask-model", "--llm-client", "ollama")


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    for name in tuple(os.environ):
        if name.endswith("_API_KEY") or name.startswith("FAULT_"):
            monkeypatch.delenv(name)
    server = ScriptedServer()
    monkeypatch.setenv("OLLAMA_HOST", server.url)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "shop").mkdir()
    monkeypatch.chdir(tmp_path / "shop")
    Path("app.py").write_text(APP)
    yield server
    server.close()


def verdicts(*words: str) -> Send:
    rows = [{"finding": at, "verdict": word, "reason": f"{word}."} for at, word in enumerate(words, 1)]
    return said("openai", json.dumps({"verdicts": rows}))


def document(capfd: pytest.CaptureFixture[str], *args: str, code: int = 0) -> dict[str, Any]:
    assert invoke([*args, "--json"]) == code
    found: dict[str, Any] = json.loads(capfd.readouterr().out)
    return found


def test_only_what_a_model_confirms_is_shown(
    model: ScriptedServer, capfd: pytest.CaptureFixture[str]
) -> None:
    model.play(verdicts("defect", "wrong"))
    found = document(capfd, *ASK)
    assert [(each["line"], each["verdict"]) for each in found["findings"]] == [(7, "defect")]
    assert [(each["line"], each["reason"]) for each in found["not_confirmed"]] == [(11, "wrong.")]
    assert (found["hidden"]["refuted"], found["hidden"]["minor"]) == (1, 0)
    assert found["checked_by"] == {"engine": "ollama", "model": "gemma3:4b"}


def test_the_text_has_the_reason_and_says_what_is_not_shown(
    model: ScriptedServer, capfd: pytest.CaptureFixture[str]
) -> None:
    model.play(verdicts("defect", "minor"))
    assert invoke(list(ASK)) == 0
    out = capfd.readouterr().out
    assert "app.py:7  high  HTTP call without a timeout (FK-R001)\n" in out
    assert "    confirmed: defect.\n" in out
    assert "app.py:11" not in out
    assert "checked by ollama (gemma3:4b): 1 minor and 0 wrong not shown; --json has them" in out


@pytest.mark.parametrize("verdict", ["minor", "wrong"])
def test_if_a_model_confirms_nothing_the_text_says_so(
    model: ScriptedServer, capfd: pytest.CaptureFixture[str], verdict: str
) -> None:
    model.play(verdicts(verdict, verdict))
    assert invoke(list(ASK)) == 0
    assert capfd.readouterr().out.startswith("1 file: nothing confirmed; reliability ")


def test_the_gate_counts_only_what_is_confirmed(model: ScriptedServer) -> None:
    model.play(verdicts("minor", "wrong"))
    assert invoke([*ARGS, "--fail-on", "low"]) == 1
    assert invoke([*ASK, "--fail-on", "low"]) == 0


def test_the_model_receives_claims_and_numbered_lines_without_secrets(model: ScriptedServer) -> None:
    model.play(verdicts("defect", "defect"))
    assert invoke(list(ASK)) == 0
    (request,) = model.requests
    asked = request.body["messages"][-1]["content"]
    assert "1. line 7: HTTP call without a timeout (FK-R001): requests.get() has no timeout" in asked
    assert "    7     return requests.get(url).json()\n" in asked
    assert "hunter22" not in asked


BEGIN, END = "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"
SECRET = "kJ8dLs02mNqPz7XcVb5nR4tYw9"


@pytest.mark.parametrize(
    "lines",
    [
        [f"{' ' * 270}x = {SECRET!r}"],
        ["connect(password=", f'    "{SECRET[:12]}")'],
        [f"KEY = '''{BEGIN}", *[SECRET] * 120, f"{END}'''"],
    ],
    ids=["beyond the end of a cut line", "below its name", "a key that begins before the part"],
)
def test_a_secret_is_taken_out_before_the_file_is_cut(
    lines: list[str], model: ScriptedServer, capfd: pytest.CaptureFixture[str]
) -> None:
    filler = "".join(f"NUMBER_{each} = {each}  # {'x' * 40}\n" for each in range(1000))
    text = "\n".join(lines)
    Path("app.py").write_text(f"{filler}{text}\n{APP}")
    assert invoke([*ASK, "--show-prompt"]) == 0
    out = capfd.readouterr().out
    assert "REDACTED" in out
    assert SECRET[:12] not in out


def test_findings_that_are_far_apart_are_separate_questions(
    model: ScriptedServer, capfd: pytest.CaptureFixture[str]
) -> None:
    filler = "".join(f"NUMBER_{each} = {each}  # {'x' * 190}\n" for each in range(300))
    Path("app.py").write_text(f"import requests\n{(filler + 'requests.get(URL)' + chr(10)) * 4}")
    assert invoke([*ASK, "--show-prompt"]) == 0
    assert capfd.readouterr().out.count("A checker that reads code by rules") == 4


def test_a_stored_answer_that_cannot_be_used_is_asked_for_again(
    model: ScriptedServer, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    model.play(verdicts("defect", "defect"))
    found = document(capfd, *ASK)
    for stored in ("{}", "no JSON", '{"verdicts": []}'):
        monkeypatch.setattr(ReviewCache, "get", lambda self, key, stored=stored: stored)
        model.play(verdicts("defect", "defect"))
        assert document(capfd, *ASK, "--jobs", "1") == found


def test_of_a_long_file_the_model_receives_the_parts_that_matter(
    model: ScriptedServer, capfd: pytest.CaptureFixture[str]
) -> None:
    filler = "".join(f"NUMBER_{each} = {each}  # {'x' * 40}\n" for each in range(1000))
    Path("app.py").write_text(f"{filler}{APP}{filler}")
    assert invoke([*ASK, "--show-prompt"]) == 0
    out, err = capfd.readouterr()
    assert " 1007     return requests.get(url).json()\n" in out
    assert "    1 NUMBER_0 = 0" in out
    assert "NUMBER_400 =" not in out
    assert out.count("\n...\n") == 2
    assert err == "nothing was sent to ollama\n"
    assert model.requests == []


def test_what_was_answered_is_not_asked_again_until_the_file_changes(
    model: ScriptedServer, capfd: pytest.CaptureFixture[str]
) -> None:
    model.play(verdicts("defect", "wrong"))
    first = document(capfd, *ASK)
    assert document(capfd, *ASK) == first
    assert len(model.requests) == 1
    Path("app.py").write_text(f"{APP}\n# changed\n")
    assert document(capfd, *ASK) == first
    assert len(model.requests) == 2
    assert document(capfd, *ASK, "--no-cache") == first
    assert len(model.requests) == 3


def test_many_findings_of_a_file_are_asked_about_in_parts(
    model: ScriptedServer, capfd: pytest.CaptureFixture[str]
) -> None:
    calls = "".join(f"def load_{each}(url):\n    return requests.get(url)\n\n\n" for each in range(25))
    Path("app.py").write_text(f"import requests\n\n\n{calls}")
    model.play(verdicts(*["defect"] * 20))
    # The second question has five findings: twenty verdicts are too many, also when they are corrected.
    assert invoke(list(ASK)) == 4
    err = capfd.readouterr().err
    assert err.startswith("error: app.py: ollama (gemma3:4b) gave no usable answer")
    assert "expected one verdict for each finding from 1 to 5" in err
    model.requests.clear()
    model.play(verdicts(*["defect"] * 5))
    assert len(document(capfd, *ASK)["findings"]) == 25
    assert len(model.requests) == 1


def test_findings_of_low_confidence_are_asked_about_too(
    model: ScriptedServer, capfd: pytest.CaptureFixture[str]
) -> None:
    Path("app.py").write_text(
        'import requests\n\n\ndef load():\n    return requests.get("http://localhost:80/a").json()\n'
    )
    assert document(capfd, *ARGS)["hidden"]["confidence"] == 1
    model.play(verdicts("defect"))
    assert len(document(capfd, *ASK)["findings"]) == 1
    model.requests.clear()
    assert document(capfd, *ASK, "--min-confidence", "0.8")["hidden"]["confidence"] == 1
    assert model.requests == []


def test_a_baseline_gets_what_the_model_does_not_confirm(
    model: ScriptedServer, capfd: pytest.CaptureFixture[str]
) -> None:
    model.play(verdicts("defect", "wrong"))
    assert invoke([*ASK, "--baseline", "known.json", "--write-baseline"]) == 0
    known = json.loads(Path("known.json").read_text())["findings"]
    assert [each["function"] for each in known] == ["save"]
    capfd.readouterr()
    later = document(capfd, *ARGS, "--baseline", "known.json")
    assert [each["function"] for each in later["findings"]] == ["load"]
    assert len(model.requests) == 1


def test_sarif_has_what_is_not_confirmed_as_suppressed_if_asked_for(
    model: ScriptedServer, capfd: pytest.CaptureFixture[str]
) -> None:
    model.play(verdicts("defect", "wrong"))
    assert invoke([*ASK, "--format", "sarif", "--sarif-accepted"]) == 0
    results = json.loads(capfd.readouterr().out)["runs"][0]["results"]
    assert [each.get("suppressions") for each in results] == [
        None,
        [{"kind": "external", "justification": "wrong."}],
    ]


def test_a_model_that_fails_is_an_error(model: ScriptedServer, capfd: pytest.CaptureFixture[str]) -> None:
    model.play(said("openai", "They look fine to me."))
    assert invoke(list(ASK)) == 4
    assert "ollama (gemma3:4b) gave no usable answer" in capfd.readouterr().err
    model.play(Break())
    assert invoke([*ASK, "--llm-time-budget", "1"]) == 3
    assert "Traceback" not in capfd.readouterr().err


def test_nothing_is_sent_without_the_flag(model: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAULT_AGENT_CLIENT", "ollama")
    assert invoke(list(ARGS)) == 0
    assert model.requests == []


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (
            ["--ask-model"],
            "--ask-model: expected a language model, chosen by --llm-client or FAULT_AGENT_CLIENT",
        ),
        (["--llm-client", "ollama"], "--llm-client: expected --ask-model beside it, got none"),
        (["--show-prompt"], "--show-prompt: expected --ask-model beside it, got none"),
        (
            [
                "--ask-model",
                "--llm-client",
                "ollama",
                "--show-prompt",
                "--baseline",
                "b.json",
                "--write-baseline",
            ],
            "--show-prompt: expected no --write-baseline beside it, got one",
        ),
    ],
)
def test_bad_options_exit_with_two(
    model: ScriptedServer, capfd: pytest.CaptureFixture[str], args: list[str], problem: str
) -> None:
    assert invoke([*ARGS, *args]) == 2
    assert capfd.readouterr().err.startswith(f"error: {problem}")
    assert model.requests == []
