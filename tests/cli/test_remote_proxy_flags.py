"""`fault scenario run --proxy-at`: a proxy that runs elsewhere, and mistakes in its flags."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultkit.base.address import LOOPBACK, Endpoint
from faultkit.cli.main import invoke
from faultkit.plan import Plan
from faultkit.proxy.control.control_server import ControlServer
from faultkit.proxy.data_plane import ProxySpec
from faultkit.proxy.plane import Plane
from tests.proxy.origin import serving

ANY = Endpoint(LOOPBACK, 0)
SCENARIO = """
title: one
items:
  - call: {{method: GET, url: "http://{}/x"}}
    context: {{faults: [{{type: latency, mean: 20, stddev: 0}}]}}
    expect: {{status: 200}}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FAULT_CONTROL_TOKEN", raising=False)
    (tmp_path / "one.yaml").write_text(SCENARIO.format("127.0.0.1:9"))
    return tmp_path


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        (
            ["--proxy-at", "http://127.0.0.1:9", "--proxy-address", "127.0.0.1:3180"],
            "--proxy-address: expected none beside --proxy-at http://127.0.0.1:9, whose proxies are open",
        ),
        (["--proxy-key", "a.key"], "--proxy-key: expected --proxy-at beside it, got none"),
        (
            ["--proxy-at", "http://proxy.test:7900"],
            '--proxy-at: expected https beyond loopback, since the token is a secret, got "http://proxy.tes',
        ),
        (
            ["--proxy-at", "https://proxy.test:7900", "--proxy-cert", "a.pem"],
            "--proxy-key: expected a file beside `cert`, got nothing",
        ),
        (
            ["--proxy-at", "http://127.0.0.1:9", "--proxy-token-env", "NO_SUCH"],
            "--proxy-token-env: expected the token in the variable NO_SUCH, got none",
        ),
    ],
)
def test_a_mistake_names_its_flag_and_nothing_runs(
    folder: Path, capsys: pytest.CaptureFixture[str], flags: list[str], problem: str
) -> None:
    assert invoke(["scenario", "run", "--no-ui", "one.yaml", *flags]) == 2
    assert capsys.readouterr().err.startswith(f"error: {problem}")
    assert [path.name for path in folder.iterdir()] == ["one.yaml"]


def test_the_faults_act_in_the_proxy_that_the_flag_names(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("A_TOKEN", "secret")
    with serving() as origin, Plane(Plan()) as plane:
        bound = plane.open_proxy(ProxySpec("web", ANY, origin.endpoint))
        (folder / "one.yaml").write_text(SCENARIO.format(bound))
        with ControlServer(plane, ANY, "secret") as control:
            at = f"http://{control.bound}"
            code = invoke(
                ["scenario", "run", "--no-ui", "one.yaml", "--proxy-at", at, "--proxy-token-env", "A_TOKEN"]
            )
        assert plane.snapshot().injected == {"latency": 1}
        assert plane.plan == Plan()
    assert code in (0, 6)  # 6: this machine was too busy to tell.
    assert f"at {at}" in (folder / "report.md").read_text()
    assert "secret" not in (folder / "results.json").read_text()
