"""What the benchmarks read and write: events, configurations, tables, the document."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.configs import haproxy_config, nginx_origin_config, nginx_stream_config
from bench.events import ProxySummary, parse_events
from bench.experiments import EXPERIMENTS, loss_check
from bench.injections import FAULTS
from bench.layers import LAYERS, haproxy_layer_config, nginx_layer_config
from bench.load import Count, LoadError, h2load_count
from bench.machine import PROJECT, CpuTimes, Machine, steal_percent
from bench.relays import NO_FAULT, RELAYS
from bench.report import document
from bench.tables import aligned_table, figure, markdown
from bench.tls_files import TlsFiles

from bench import fidelity, proxy

MACHINE = Machine(2, "Linux 6.1", "3.11.7", 65536)


def test_losses_are_counted_and_the_last_lateness_counts() -> None:
    lines = [
        '{"event": "injected", "effect": "loss_ms", "value": 200.0}',
        '{"event": "injected", "effect": "delay_ms", "value": 50.0}',
        '{"event": "injected", "effect": "loss_ms", "value": 600.0}',
        '{"event": "summary", "lateness": {"p50_us": 90.0, "early": 0}}',
        '{"event": "summary", "lateness": {"p50_us": 80.0, "early": 1}}',
    ]
    assert parse_events(lines) == ProxySummary(losses=2, lateness_p50_us=80.0, early=1)


def test_lines_that_are_no_events_are_passed_over() -> None:
    assert parse_events(["", "listening", "[1]", "7", '{"event": "inj']) == ProxySummary()


def test_haproxy_splices_by_force_only_where_bulk_goes_through() -> None:
    text = haproxy_config({"echo": 1, "sink": 2}, {"echo": 11, "sink": 12}, open_files=20_328)
    echo, sink = text.split("listen sink")
    assert "splice-request" not in echo
    assert "option splice-request" in sink
    assert "maxconn 10000" in text
    assert "server origin 127.0.0.1:2" in sink


@pytest.mark.parametrize(
    "text",
    [
        nginx_stream_config({"echo": 1}, {"echo": 11}, 4096, Path("folder")),
        nginx_origin_config(11, 4096, Path("folder")),
        haproxy_config({"echo": 1}, {"echo": 11}, 4096),
    ],
)
def test_peers_listen_on_loopback_only(text: str) -> None:
    listening = [line for line in text.splitlines() if "listen 1" in line or "bind" in line]
    assert len(listening) == 1
    assert "127.0.0.1:11" in listening[0]


def test_experiments_have_names_of_their_own_and_each_injects_something() -> None:
    assert len({experiment.name for experiment in EXPERIMENTS}) == len(EXPERIMENTS)
    assert all(experiment.injection.flags for experiment in EXPERIMENTS)


def test_peers_without_faults_are_never_asked_to_inject() -> None:
    plain = {kind.name for kind in RELAYS if not any(kind.can(e.injection) for e in EXPERIMENTS)}
    assert plain == {"direct", "haproxy", "nginx", "mitmproxy"}
    assert all(kind.can(NO_FAULT) for kind in RELAYS if kind.name != "mitmproxy")


def test_peers_are_measured_beside_the_layers_that_they_have() -> None:
    beside = {
        name: {kind.name for kind in RELAYS if kind.can(FAULTS[name])} - {"faultkit"}
        for name in ("tls-both", "http2-error", "h2c", "intercept", "tls-latency")
    }
    assert beside == {
        "tls-both": {"haproxy", "nginx"},
        "http2-error": {"haproxy", "nginx"},
        "h2c": {"haproxy"},
        "intercept": {"mitmproxy"},
        "tls-latency": set(),
    }


def test_peers_speak_tls_where_a_layer_does_and_verify_their_upstream() -> None:
    files, both = TlsFiles(Path("ca"), Path("server.pem")), LAYERS["tls-both"]
    haproxy = haproxy_layer_config(both, 7, 8, files, 100).splitlines()
    assert "  bind 127.0.0.1:8 ssl crt server.pem" in haproxy
    assert f"  server origin 127.0.0.1:7 ssl verify required ca-file {files.trusted}" in haproxy
    nginx = nginx_layer_config(both, 7, 8, files, 100, Path("x"))
    assert "listen 127.0.0.1:8 ssl backlog" in nginx
    assert "proxy_ssl_verify on;" in nginx
    clear = nginx_layer_config(LAYERS["tls-client"], 7, 8, files, 100, Path("x"))
    assert "proxy_ssl" not in clear


def test_what_h2load_prints_is_counted() -> None:
    text = (
        "finished in 950.5ms, 20 req/s, 1KB/s\n"
        "requests: 21 total, 21 started, 19 done, 17 succeeded, 2 failed, 2 errored, 0 timeout\n"
        "status codes: 17 2xx, 0 3xx, 0 4xx, 2 5xx\n"
    )
    assert h2load_count(text) == Count(19, 2, 0.9505)
    with pytest.raises(LoadError):
        h2load_count("nothing")


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (12345.6, "12,346"), (234.5, "234"), (12.34, "12.3"), (1.234, "1.23"), (-0.0364, "-0.036")],
)
def test_a_figure_has_three_digits_that_count(value: float | None, text: str) -> None:
    assert figure(value) == text


def test_tables_line_up() -> None:
    assert aligned_table(["relay", "x"], [["a", "10"], ["long name", "7"]]) == (
        "relay       x\n-------------\na          10\nlong name   7"
    )
    assert markdown(["relay", "x"], [["a", "10"]]) == "| relay | x |\n| --- | ---: |\n| a | 10 |"


def test_steal_is_a_share_of_all_time() -> None:
    assert steal_percent(CpuTimes(1000, 10), CpuTimes(1200, 14)) == 2.0
    assert steal_percent(CpuTimes(1000, 10), CpuTimes(1000, 10)) == 0.0


def test_the_document_shows_both_benchmarks_and_no_folder_of_this_machine() -> None:
    passing = proxy.Result(
        MACHINE, rounds=3, relays=["direct", "faultkit", "nginx"], skipped=["haproxy left out"]
    )
    passing.figures = {
        "requests-64": {
            "direct": {"per_s": 100_000.0, "cpu_us": 0.0},
            "faultkit": {"per_s": 50_000.0, "cpu_us": 14.0},
            "nginx": {"per_s": 60_000.0, "cpu_us": 10.0},
        }
    }
    faithful = fidelity.Result(MACHINE, seconds=8.0, direct_p50_us=45.0)
    faithful.checks = {"faultkit": [loss_check("losses", 320, 6400)]}
    text = document(passing, faithful)
    assert "| CPU per request, 64 connections, × nginx | ≤ 1.1 | 1.40 | MISS |" in text
    assert "| direct | 100,000 | – |" in text
    assert "| Packet loss: losses | 5 % | 4.149 to 5.958 % | 5.00 % | PASS |" in text
    assert "- haproxy left out" in text
    assert str(PROJECT) not in text
