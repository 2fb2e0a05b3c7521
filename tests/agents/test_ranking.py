from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from faultkit.agents.kinds.scripted import SHIPPED_AGENTS
from faultkit.agents.ranking import rank_agents, score_of_run
from faultkit.cli.main import invoke
from tests.agents.execute.suite_runs import HEAD, row, run, write

BATTERY = str(Path(__file__).parents[2] / "examples" / "suites" / "battery.yml")


def test_the_shipped_agents_are_ranked_as_one_would_expect(capsys: pytest.CaptureFixture[str]) -> None:
    vary = "agent=" + ",".join(SHIPPED_AGENTS)
    assert invoke(["test", "rank", BATTERY, "--vary", vary, "--json"]) == 0
    standings = json.loads(capsys.readouterr().out)
    names = [one["agent"] for one in standings]
    assert names[2:] == ["backing_off", "retrying", "naive", "looping"]
    assert set(names[:2]) == {"falling_back", "verifying"}
    scores = [one["score"] for one in standings]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == len(scores)
    assert all(one["hit"] == one["runs"] == 10 for one in standings)
    assert invoke(["test", "rank", BATTERY, "--vary", vary]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["agent", *names]


AGENT = """
agents:
  - name: a
    agent: %s
    inject: [%s]
    recovery: { max_detection_ms: 3000 }
    allow_unhit: true
"""


@pytest.mark.parametrize(
    ("agent", "fault", "expected"),
    [
        # The agent claims success wrongly: 20 points for thrift and 20 for care.
        ("naive", "hung", 40.0),
        # Honest and careful, with two useless calls.
        ("retrying", "hung", 20 / 3 + 40),
        ("retrying", "back", 100.0),
        # A run that fails its gate scores 0, whatever else it did.
        ("looping", "hung", 0.0),
    ],
)
def test_what_a_run_is_worth(tmp_path: Path, agent: str, fault: str, expected: float) -> None:
    results = run(write(tmp_path, HEAD + AGENT % (agent, fault)))
    (done,) = row(results, "a (recovery)").runs
    score = score_of_run(done)
    assert [score.least, score.most] == pytest.approx([expected, expected])


def test_a_run_that_met_no_fault_counts_for_nothing(tmp_path: Path) -> None:
    body = HEAD + AGENT % ("{ kind: naive, goal: grep }", "hung")
    results = run(write(tmp_path, body))
    (standing,) = rank_agents([("naive", row(results, "a (recovery)"))])
    assert (standing.score, standing.runs, standing.hit) == (None, 1, 0)


@pytest.mark.parametrize("vary", ["agent", "=a", "agent=", "agent=a,,b"])
def test_a_variation_that_is_none_is_refused(vary: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["test", "rank", BATTERY, "--vary", vary]) == 2
    assert "--vary: expected NAME=A,B" in capsys.readouterr().err


PROGRAM = """
import os, sys
print({"liar": "12 euros", "honest": "The price is unknown."}[sys.argv[1]])
"""


def test_programs_that_differ_in_their_arguments_are_different_agents(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "agent.py").write_text(PROGRAM)
    command = json.dumps({"command": [sys.executable, str(tmp_path / "agent.py"), "${m}"]})
    path = write(tmp_path, HEAD + AGENT % (command, "hung"))
    assert invoke(["test", "rank", str(path), "--vary", "m=liar,honest", "--json"]) == 0
    names = [one["agent"] for one in json.loads(capsys.readouterr().out)]
    assert sorted(name.rpartition(" ")[2] for name in names) == ["honest", "liar"]


def test_a_suite_without_a_test_does_not_disturb_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = write(tmp_path, "compliance: []\n", "empty.yml")
    full = write(tmp_path, HEAD + AGENT % ("retrying", "back"))
    assert invoke(["test", "rank", str(empty), str(full), "--json"]) == 0
    (standing,) = json.loads(capsys.readouterr().out)
    assert (standing["agent"], standing["runs"]) == ("retrying", 1)
