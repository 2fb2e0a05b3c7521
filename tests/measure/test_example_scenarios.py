"""The example scenarios against the real demo service pass and fail as their README states."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PATIENCE_S = 60.0
ATTEMPTS = 3
FOLDER = Path(__file__).parents[2] / "examples" / "scenarios"
FAULT = [sys.executable, "-m", "faultkit"]
QUIET = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith("FAULT_") and not name.lower().endswith("_proxy")
}
ROWS = re.findall(
    r"^\| \[(\S+)\]\(\S+\) \|.*\| (pass|\*\*fail\*\*).*\| (\d) \|$",
    (FOLDER / "README.md").read_text("utf-8"),
    re.MULTILINE,
)
LIKE_OTHERS = ("blackhole.yaml", "jitter.yaml", "packet-loss.yaml", "pulses.yaml")
"""Run the same way as the others, with another fault."""


@pytest.fixture(scope="module")
def ports() -> Iterator[dict[str, int]]:
    """Run the demo; yield its port, the port of its dependency, and the proxy port between them."""
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
    service, dependency, between = (listener.getsockname()[1] for listener in listeners)
    for listener in listeners:
        listener.close()
    command = [*FAULT, "demo", "run", "127.0.0.1", str(service), "--upstream-port", str(dependency)]
    command += ["--upstream", f"http://127.0.0.1:{between}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=QUIET) as demo:
        assert demo.stdout is not None
        assert demo.stdout.readline().startswith(b"demo on ")
        with subprocess.Popen(["cat"], stdin=demo.stdout, stdout=subprocess.DEVNULL):
            yield {"7070": service, "7071": dependency, "7072": between}
            demo.terminate()


def test_the_readme_has_a_row_for_every_scenario() -> None:
    assert sorted(name for name, _, _ in ROWS) == sorted(path.name for path in FOLDER.glob("*.yaml"))
    assert len(ROWS) == 8


@pytest.mark.parametrize(
    ("name", "outcome", "code"),
    [
        pytest.param(*row, marks=pytest.mark.thorough if row[0] in LIKE_OTHERS else (), id=row[0])
        for row in ROWS
    ],
)
def test_a_scenario_ends_as_the_readme_states(
    name: str, outcome: str, code: str, ports: dict[str, int], tmp_path: Path
) -> None:
    text = (FOLDER / name).read_text("utf-8")
    for written, port in ports.items():
        text = text.replace(f":{written}", f":{port}").replace(f'"{written}=', f'"{port}=')
    # Shorter than shipped where the duration does not matter, to save time.
    (tmp_path / name).write_text(re.sub(r"duration: 8s$", "duration: 4s", text, flags=re.MULTILINE), "utf-8")
    for _ in range(ATTEMPTS):
        ran = subprocess.run(
            [*FAULT, "scenario", "run", name, "--seed", "7", "--no-baseline", "--no-ui"],
            cwd=tmp_path,
            env=QUIET,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        (item,) = json.loads((tmp_path / "results.json").read_text("utf-8"))["scenarios"][0]["items"]
        # On a busy machine the run may be inconclusive, and is tried again.
        if item["verdict"] != "inconclusive":
            break
    else:
        pytest.skip(f"this machine is too busy: {item['reasons'][0]}")
    assert item["verdict"] == ("passed" if outcome == "pass" else "failed"), item["reasons"]
    assert ran.returncode == int(code)
