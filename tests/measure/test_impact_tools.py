"""The impact tools on a real app: where the fault acts, the report, and cleaning up."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

import pytest
import trustme
from jsonschema import Draft202012Validator

from faultkit.agent_tools.impact_tools import OUTPUT
from faultkit.agent_tools.load_limits import LoadLimits
from faultkit.agent_tools.tool import Services
from faultkit.base.errors import FaultkitError, InputError, RunError, TargetError
from tests.agent_tools.impact_app import TOOLS, App, app, call_of, perform, run
from tests.proxy.origin import serving
from tests.proxy.wires import listening

PATIENCE_S = 20.0


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        return probe.connect_ex(("127.0.0.1", port)) != 0


def held(verdict: str) -> bool:
    """Accept an inconclusive verdict on a busy machine: that is no failure of the tool."""
    return verdict in ("passed", "inconclusive")


# Where the fault acts, and the report


def test_without_proxies_the_client_is_hit_and_the_app_is_not() -> None:
    with app() as dependency, app(dependency.url) as service:
        found = run("latency", url=service.url, latency=120, duration="500ms", rps=20)
    assert (found["baseline"]["requests"], found["figures"]["requests"], found["injected"]) == (10, 10, 10)
    assert len(service.asked) == len(service.outgoing) == len(dependency.asked) == 20
    assert found["figures"]["min_ms"] >= 120
    assert median(each.took_ms for each in service.asked[10:]) < 120
    assert found["figures"]["errors"] == found["baseline"]["errors"] == 0
    assert held(found["verdict"])


def test_with_proxies_the_calls_of_the_app_are_hit_and_the_figures_are_those_of_the_app(
    closed_port: int,
) -> None:
    with app() as dependency, app(f"http://127.0.0.1:{closed_port}") as service:
        found = run(
            "latency",
            url=service.url,
            latency=120,
            duration="500ms",
            rps=20,
            proxies=[f"{closed_port}=http://{dependency.endpoint}"],
        )
    assert (found["baseline"]["requests"], found["figures"]["requests"], found["injected"]) == (10, 10, 10)
    before, during = service.asked[:10], service.asked[10:]
    assert len(during) == 10
    assert [each.outgoing_status for each in service.asked] == [200] * 20
    assert min(each.outgoing_ms or 0 for each in during) >= 120
    assert median(each.outgoing_ms or 0 for each in before) < 120
    # Each request takes the client longer than the app, by the overhead between them, not by another fault.
    took_ms = sorted(each.took_ms for each in during)
    assert took_ms[0] <= found["figures"]["min_ms"]
    assert median(took_ms) <= found["figures"]["p50_ms"] < median(took_ms) + 120
    (mean, *_) = found["impact"]
    assert (mean["name"], mean["shown"]) == ("mean", True)
    assert mean["difference"] == pytest.approx(found["figures"]["mean_ms"] - found["baseline"]["mean_ms"])
    assert len(dependency.asked) == 20
    assert is_free(closed_port)


def behind(port: int, outgoing_timeout_s: float = 5.0) -> contextlib.AbstractContextManager[App]:
    """Run an app that reaches its dependency through this port."""
    return app(f"http://127.0.0.1:{port}", outgoing_timeout_s)


def run_between(kind: str, port: int, service: App, dependency: App, **given: Any) -> dict[str, Any]:
    proxies = [f"{port}=http://{dependency.endpoint}"]
    return run(kind, url=service.url, duration="500ms", rps=10, proxies=proxies, **given)


def test_http_errors_reach_the_app_in_place_of_its_dependencys_answers(closed_port: int) -> None:
    with app() as dependency, behind(closed_port) as service:
        found = run_between("http_error", closed_port, service, dependency, status_code="503")
    assert [each.outgoing_status for each in service.asked] == [200] * 5 + [503] * 5
    assert len(dependency.asked) == 5
    assert (found["baseline"]["errors"], found["figures"]["errors"], found["injected"]) == (0, 5, 5)


def test_http_errors_without_proxies_answer_for_the_app() -> None:
    with app() as service:
        found = run("http_error", url=service.url, duration="500ms", rps=10, error_body="no", baseline=False)
    assert service.asked == []
    assert (found["figures"]["errors"], found["injected"], found["baseline"]) == (5, 5, None)
    assert found["report"]["scenarios"][0]["items"][0]["run"]["statuses"] == {"500": 5}


def test_a_blackhole_lets_the_app_wait_until_its_own_limit(closed_port: int) -> None:
    with app() as dependency, behind(closed_port, outgoing_timeout_s=0.3) as service:
        found = run_between("blackhole", closed_port, service, dependency)
    assert [each.outgoing_status for each in service.asked] == [200] * 5 + [None] * 5
    assert (found["figures"]["errors"], found["injected"]) == (5, 5)


def test_a_blackhole_without_proxies_lasts_until_the_client_gives_up() -> None:
    with app() as service:
        found = run("blackhole", url=service.url, duration="300ms", rps=10, timeout="0.4", baseline=False)
    assert (found["figures"]["requests"], found["figures"]["errors"]) == (3, 3)
    assert found["figures"]["min_ms"] >= 400
    assert found["report"]["scenarios"][0]["items"][0]["run"]["failures"] == {"timeout": 3}


def test_bandwidth_is_in_bytes_a_second(closed_port: int) -> None:
    with app() as dependency, behind(closed_port) as service:
        found = run_between(
            "bandwidth", closed_port, service, dependency, rate=10, unit="KBps", baseline=False
        )
    # A thousand bytes of body at 10 000 a second.
    assert min(each.outgoing_ms or 0 for each in service.asked) >= 100
    assert found["figures"]["min_ms"] >= 100
    assert found["report"]["scenarios"][0]["items"][0]["faults"][0]["rule"]["with"] == {
        "rate": 10.0,
        "unit": "KBps",
    }


def test_jitter_changes_the_waits_of_the_app(closed_port: int) -> None:
    with app() as dependency, behind(closed_port) as service:
        found = run_between("jitter", closed_port, service, dependency, amplitude=200, baseline=False)
    waited = [each.outgoing_ms or 0 for each in service.asked]
    assert found["injected"] >= 5
    assert found["figures"]["max_ms"] >= max(waited) > min(waited)


def test_packet_loss_costs_the_app_the_time_of_a_retransmission(closed_port: int) -> None:
    with app() as dependency, behind(closed_port, outgoing_timeout_s=0.5) as service:
        found = run_between("packet_loss", closed_port, service, dependency, rate=0.9, baseline=False)
    slow = [each for each in service.asked if (each.outgoing_ms or 0) >= 200]
    assert 1 <= len(slow) <= found["injected"]
    assert {each.outgoing_status for each in service.asked} <= {200, None}


def test_an_https_app_and_an_https_dependency(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, closed_port: int
) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    short: dict[str, Any] = {"duration": "300ms", "rps": 10, "baseline": False}
    with serving(context) as secure:
        url = f"https://localhost:{secure.server_port}/"
        slow = run("latency", url=url, latency=80, **short)
        with behind(closed_port) as service:
            proxies = [f"{closed_port}=https://localhost:{secure.server_port}"]
            behind_tls = run("latency", url=service.url, latency=80, proxies=proxies, **short)
    assert (slow["figures"]["requests"], slow["figures"]["errors"], slow["injected"]) == (3, 0, 3)
    assert slow["figures"]["min_ms"] >= 80
    assert [each.outgoing_status for each in service.asked] == [200] * 3
    assert (behind_tls["figures"]["errors"], behind_tls["injected"]) == (0, 3)
    assert min(each.outgoing_ms or 0 for each in service.asked) >= 80


# The answer


def test_the_text_is_the_report_and_the_data_fit_the_schema() -> None:
    told: list[tuple[float, float | None, str]] = []
    services = Services()
    with app() as service:
        call = call_of("latency", {"url": service.url, "duration": "300ms", "rps": "10"}, services)
        call.progress = lambda *notice: told.append(notice)
        result = perform("latency", call)
    title = f"Evaluating runtime performance of {service.url}"
    lines = result.text.splitlines()
    assert lines[0] == "# Scenarios Report"
    assert f"## Scenario: {title}  (items: 1)" in lines
    assert "**Strategy**: load for 300ms with 1 clients @ 10 RPS" in lines
    assert "| Figure | Baseline | With Faults | Difference | 95% Interval | Shown? |" in lines
    assert any(line.startswith("| 99% @ 350ms | ✅ | 99% < 350ms |") for line in lines)
    assert any(line.startswith("| 95% @ 200ms | ") for line in lines)
    Draft202012Validator(OUTPUT).validate(result.structured)
    assert result.structured["markdown"] == result.text
    (stored,) = services.reports.all()
    assert (stored.id, stored.title, stored.markdown) == (result.structured["report_id"], title, result.text)
    assert stored.document == result.structured["report"]
    done = [notice[0] for notice in told]
    assert done == sorted(done)
    assert told[0] == (0.0, 0.6, "without the fault: begins")
    assert "with the fault: begins" in {notice[2] for notice in told}
    assert told[-1] == (0.6, 0.6, f"done: {result.structured['verdict']}")


def test_an_app_that_does_not_use_the_proxies_gets_advice(closed_port: int) -> None:
    with app() as dependency, app(dependency.url) as service:
        found = run_between("latency", closed_port, service, dependency, baseline=False)
    assert (found["verdict"], found["injected"]) == ("not exercised", 0)
    assert found["advice"] == [
        "No call of the app came through the proxies: start the app so that it calls "
        f"http://127.0.0.1:{closed_port} instead of {dependency.endpoint}."
    ]
    assert found["markdown"].endswith(f"**Advice**:\n\n- {found['advice'][0]}\n")
    Draft202012Validator(OUTPUT).validate(found)


# Errors


def test_a_taken_port_is_an_error_at_once_that_names_its_map(closed_port: int) -> None:
    with app() as service, listening() as taken:
        port = taken.getsockname()[1]
        proxies = [f"{closed_port}=a.test:80", f"{port}=b.test:80"]
        with pytest.raises(TargetError) as raised:
            run("latency", url=service.url, duration="60s", proxies=proxies)
    assert str(raised.value) == (
        f"proxies[1]: expected a port that is free, got 127.0.0.1:{port}: Address already in use "
        "(another program or run has it)"
    )
    assert service.asked == []
    assert is_free(closed_port)


@pytest.mark.parametrize(
    ("given", "kind", "problem"),
    [
        ({"url": "http://192.0.2.1/"}, InputError, "url: expected a host on this machine"),
        ({"url": "http://127.0.0.1/", "duration": "1h"}, InputError, "duration: expected at most 5m, got 1h"),
        ({"url": "http://127.0.0.1/", "num_clients": 20, "rps": 50}, InputError, "rps: expected at most 500"),
        ({"url": "http://127.0.0.1/", "timeout": 1e300}, InputError, "timeout: expected at most 1m"),
        ({"url": "localhost:9090"}, InputError, "url: expected an absolute URL"),
        (
            {"url": "http://127.0.0.1/", "proxies": ["34000=a.test:80", "34000=b.test:80"]},
            InputError,
            "proxies[1]: expected each map to listen elsewhere",
        ),
        ({"url": "http://absent.invalid/"}, TargetError, "url: cannot reach absent.invalid"),
    ],
)
def test_errors_of_a_run_name_the_argument(
    given: dict[str, Any], kind: type[FaultkitError], problem: str
) -> None:
    with pytest.raises(kind) as raised:
        run("latency", **given)
    assert str(raised.value).startswith(problem)


def test_an_app_that_is_not_there_is_an_error_that_names_the_url(closed_port: int) -> None:
    with pytest.raises(TargetError) as raised:
        run("jitter", url=f"http://127.0.0.1:{closed_port}/")
    assert str(raised.value) == (
        f"url: expected an app that listens on 127.0.0.1:{closed_port}, got none: Connection refused. "
        "Start it first"
    )


def test_an_operator_allows_more_or_less() -> None:
    with app() as service:
        given = {"url": service.url, "duration": "200ms"}
        with pytest.raises(InputError, match="duration: expected at most 100ms, got 200ms"):
            perform("latency", call_of("latency", given, Services(limits=LoadLimits(max_duration_s=0.1))))
        with pytest.raises(RunError, match="expected at most 0 impact runs at a time"):
            perform("latency", call_of("latency", given, Services(limits=LoadLimits(max_runs=0))))
    assert service.asked == []


# Many runs at once, and cancelled ones


def test_a_cancelled_run_ends_its_traffic_and_frees_its_ports(closed_port: int) -> None:
    began, cancelled = threading.Event(), threading.Event()
    with app() as dependency, behind(closed_port) as service, ThreadPoolExecutor(1) as threads:
        given = {
            "url": service.url,
            "duration": "60s",
            "rps": 20,
            "baseline": False,
            "proxies": [f"{closed_port}=http://{dependency.endpoint}"],
        }
        services = Services()
        call = call_of("blackhole", given, services, cancelled)
        call.progress = lambda done, of, message: began.set() if done > 0 else None
        running = threads.submit(perform, "blackhole", call)
        assert began.wait(PATIENCE_S)
        assert not is_free(closed_port)
        cancelled.set()
        with pytest.raises(RunError, match="the run was cancelled"):
            running.result(PATIENCE_S)
        assert is_free(closed_port)
        with socket.create_server(("127.0.0.1", closed_port)):
            pass
    assert services.reports.all() == ()


def test_ten_runs_at_once_each_meet_their_own_fault_only() -> None:
    delays_ms = [100 * number for number in range(1, 11)]

    def one(delay_ms: int) -> dict[str, Any]:
        return run("latency", url=service.url, latency=delay_ms, duration="1s", rps=4, baseline=False)

    with app() as service, ThreadPoolExecutor(10) as threads:
        found = list(threads.map(one, delays_ms))
    assert [each["figures"]["requests"] for each in found] == [4] * 10
    assert [each["injected"] for each in found] == [4] * 10
    assert [each["figures"]["errors"] for each in found] == [0] * 10
    assert len(service.asked) == 40
    for delay_ms, each in zip(delays_ms, found, strict=True):
        assert delay_ms <= each["figures"]["min_ms"] < delay_ms + 100


def test_every_tool_has_a_function_of_its_own() -> None:
    assert {TOOLS[kind].run for kind in TOOLS} == {
        f"faultkit.agent_tools.impact_functions:{kind}" for kind in TOOLS
    }
    assert list(TOOLS) == ["latency", "jitter", "bandwidth", "packet_loss", "blackhole", "http_error"]
