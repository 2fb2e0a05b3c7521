"""The merged report is that of one machine, to the byte, for any number of workers and order of arrivals."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultkit.agents.report.reporters import REPORTERS
from faultkit.agents.shards import case_runner
from faultkit.agents.shards.suite_plan import cases_of
from faultkit.load.split import split
from tests.agents.execute.suite_runs import HEAD, write
from tests.agents.shards.replayed_place import ReplayedPlace, chosen_of, on_one_machine, planned, sharded

AGENTS = ("naive", "retrying", "looping", "backing_off", "falling_back", "verifying")
FAULTS = ("hung", "back", "rare")
_agent_tests = st.builds(
    "  - {{ name: {}, agent: {}, inject: [{}], runs: {}, recovery: {{ max_detection_ms: 3000 }}, "
    "tags: [{}] }}".format,
    st.just("NAME"),
    st.sampled_from(AGENTS),
    st.sampled_from(FAULTS),
    st.integers(1, 3),
    st.sampled_from(("x", "é")),
)
_skipped_tests = st.just("  - { name: NAME, agent: naive, inject: [back], skip: later }")
_plain_tests = st.just(
    '  - { name: NAME, agent: { script: [grep] }, expect: [{ target: final_response, contains: "no such" }] }'
)
_errors = st.just("  - { name: NAME, model: claude-sonnet-4-5, prompt: go, runs: 2, inject: [back] }")
_suites = st.lists(st.one_of(_agent_tests, _skipped_tests, _plain_tests, _errors), min_size=1, max_size=5)
LANES = ("", "compliance: {}\n")


def body_of(tests: list[str], seed: int, lane: str) -> str:
    lines = [test.replace("NAME", f"t{number}") for number, test in enumerate(tests)]
    return f"{HEAD}seed: {seed}\n{lane}agents:\n" + "\n".join(lines) + "\n"


@settings(max_examples=15)
@given(
    written=st.lists(st.tuples(_suites, st.integers(0, 9), st.sampled_from(LANES)), min_size=1, max_size=3),
    workers=st.integers(1, 5),
    order=st.lists(st.integers(0, 4), max_size=20),
    retries=st.integers(0, 1),
    is_copied=st.booleans(),
)
def test_every_report_is_that_of_one_machine(
    written: list[tuple[list[str], int, str]], workers: int, order: list[int], retries: int, is_copied: bool
) -> None:
    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.delenv("ANTHROPIC_API_KEY", raising=False)
        if is_copied:
            patch.setattr(case_runner, "_has_files", lambda plan: False)
        folder = Path(name)
        files = [write(folder, body_of(*each), f"{number}.yml") for number, each in enumerate(written)]
        chosen = chosen_of(*files)
        one = on_one_machine(chosen, retries=retries)
        many = sharded(chosen, ReplayedPlace(workers, order), retries=retries)
    assert many == one
    for reporter in REPORTERS.values():
        assert reporter.render(many) == reporter.render(one)


def test_the_tests_of_a_worker_are_every_nth_of_all_suites(tmp_path: Path) -> None:
    names = "abcdefg"
    tests = [f"  - {{ name: {name}, agent: naive, inject: [back] }}" for name in names]
    chosen = chosen_of(write(tmp_path, HEAD + "agents:\n" + "\n".join(tests) + "\n"))
    parts = split(planned(chosen), ["x", "y", "z"])
    assert [[*cases_of(part)] for part in parts] == [[0, 3, 6], [1, 4], [2, 5]]
    assert [case.run for case in parts[0].plan.cases()] == [None] * 7


def test_each_run_of_a_test_is_a_case_of_its_own(tmp_path: Path) -> None:
    tests = """agents:
  - { name: a, agent: naive, inject: [rare], runs: 3, allow_unhit: true }
  - { name: b, agent: naive, inject: [back] }
  - { name: c, agent: naive, inject: [back], runs: 2, skip: later }
"""
    chosen = chosen_of(write(tmp_path, HEAD + tests))
    assert [(case.test, case.run) for case in planned(chosen).cases()] == [
        (0, 0),
        (0, 1),
        (0, 2),
        (1, None),
        (2, None),
    ]
    # A test that is repeated until it passes is repeated as a whole.
    assert [case.run for case in planned(chosen, retries=1).cases()] == [None] * 3
    assert planned(chosen, repeat=100).most_parts == 201
