"""A real service with a time-out and a retry, searched by the command: a cliff."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
import yaml

from faultkit.base.address import Endpoint
from faultkit.cli.main import invoke
from faultkit.demo.demo_server import DemoServer
from tests.smoke import free_port

TIMEOUT_S = 0.4
"""Long beside the noise of a busy machine."""
PATIENCE_S = 20.0


@pytest.mark.thorough
def test_a_service_with_a_time_out_and_a_retry_is_reported_as_a_cliff(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    proxy = free_port()
    service = DemoServer(
        Endpoint("127.0.0.1", 0), upstream=f"http://127.0.0.1:{proxy}/", timeout_s=TIMEOUT_S, retries=1
    )
    item = {
        "call": {"method": "GET", "url": f"http://{service.endpoint}/ping", "timeout": "2s"},
        "context": {
            "proxy": {"proxies": [f"{proxy}=http://{service.upstream}"], "disable_http_proxies": True},
            "faults": [{"type": "latency", "mean": 0, "stddev": 0}],
            "strategy": {
                "mode": "search",
                "vary": "faults.latency.mean",
                "from": 0,
                "to": 1600,
                "budget": 1500,
                "rps": 50,
            },
            "slo": [{"type": "latency", "title": "Soon", "objective": 80, "threshold": "1s"}],
        },
    }
    (tmp_path / "cliff.yaml").write_text(yaml.safe_dump({"title": "A cliff", "items": [item]}))
    thread = threading.Thread(target=service.run, daemon=True)
    thread.start()
    try:
        assert invoke(["breakpoint", "cliff.yaml", "--seed", "1"]) == 0
    finally:
        service.stop()
        thread.join(PATIENCE_S)
        service.close()
    assert "at once: a cliff" in " ".join(capsys.readouterr().out.split())
    search = json.loads((tmp_path / "results.json").read_text())["scenarios"][0]["items"][0]["search"]
    assert (search["outcome"], search["is_cliff"], search["estimate"]) == ("found", True, None)
    # A call takes no less than the latency, so none is answered from the time-out on.
    assert search["held"] < 1000 * TIMEOUT_S
