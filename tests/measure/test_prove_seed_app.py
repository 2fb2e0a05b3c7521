"""The proof of a change to the seed's app with every fault and the usual settings.

In a file of its own, since it takes as long as the other proofs together.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from faultkit.cli.main import invoke
from tests.measure.test_prove import SEED_APP


@pytest.mark.slow
def test_the_seeds_app_misses_its_objectives_and_the_changed_one_answers_in_bounded_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "app.py"
    file.write_text(SEED_APP)
    code = invoke(["review", str(file), "--prove", "--json"])
    proof = json.loads(capsys.readouterr().out)["proof"]
    faults = {each["fault"]: each for each in proof["faults"]}
    assert list(faults) == [
        "healthy",
        "blackhole",
        "latency of 2 s",
        "bursts of 503",
        "30 % of 503",
        "bursts of resets",
        "slow stream",
    ]
    for name in ("blackhole", "latency of 2 s", "slow stream"):
        assert faults[name]["before"]["slos_missed"]
    for each in faults.values():
        assert 30 <= each["after"]["requests"] == each["after"]["answered"]
    for name, status in (("blackhole", "504"), ("bursts of resets", "502")):
        assert "500" in faults[name]["before"]["statuses"]
        assert "500" not in faults[name]["after"]["statuses"]
        assert status in faults[name]["after"]["statuses"]
    assert proof["verdict"] == "better"
    expected = {"better": 6 if proof["not_exercised"] else 0, "worse": 1, "no difference": 6, "not shown": 6}
    assert code == expected[proof["verdict"]]
