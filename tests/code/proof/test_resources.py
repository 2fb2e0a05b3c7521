"""What a process uses while it is measured."""

from __future__ import annotations

import subprocess
import sys

import pytest

from faultkit.code.proof.resources import Usage, usage_costs, usage_of
from faultkit.code.proof.verdict import CPU, MEMORY, OPEN_FILES


def test_means_are_of_the_samples_and_the_processor_s_time_is_that_of_a_call() -> None:
    samples = [Usage(1.0 + 0.2 * n, 10 + n % 2, 50_000_000) for n in range(5)]
    costs = usage_costs(samples, 40)
    assert round(costs[CPU.name].value, 6) == 20.0
    assert costs[OPEN_FILES.name].value == 10.4
    low, high = costs[OPEN_FILES.name].interval
    assert low < 10.4 < high
    assert costs[MEMORY.name].interval == (50.0, 50.0)


def test_too_few_samples_have_no_mean() -> None:
    assert usage_costs([Usage(1.0, 10, 1)] * 3, 40) == {}
    assert usage_costs([Usage(1.0, 10, 1)] * 9, 0) == {}


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.parametrize("starts", ["start()", "pool.submit(start).result()"], ids=["itself", "a thread"])
def test_children_count(starts: str) -> None:
    # A process of its own: threads of this one open and close files meanwhile.
    program = (
        "import subprocess, sys\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "pool = ThreadPoolExecutor(1)\n"
        "def start():\n"
        "    return subprocess.Popen([sys.executable, '-c', 'input()'], stdin=subprocess.PIPE)\n"
        "print('alone', flush=True); input()\n"
        f"child = {starts}\n"
        "print('both', flush=True); input()\n"
        "child.communicate()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        assert parent.stdout.readline() == "alone\n"
        alone = usage_of(parent.pid)
        print(file=parent.stdin, flush=True)
        assert parent.stdout.readline() == "both\n"
        both = usage_of(parent.pid)
        parent.communicate("\n")
    assert alone is not None
    assert both is not None
    # The parent's end of the pipe, and the three files of the child. The figure of memory lags behind.
    assert both.open_files >= alone.open_files + 4
    assert usage_of(parent.pid) is None
