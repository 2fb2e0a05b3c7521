"""Metrics, read by the parser of prometheus_client."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from faultkit.audit.access.access_settings import AccessSettings
from tests.web.served import ADMIN, AUDIT, OURS, PORTAL, Served, served


def samples(server: Served) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    answer = server.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    found: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}
    for family in text_string_to_metric_families(answer.text):
        assert family.documentation
        assert family.type in ("counter", "gauge", "histogram")
        for sample in family.samples:
            name = (sample.name, frozenset(sample.labels.items()))
            assert name not in found
            found[name] = sample.value
    return found


def value(found: dict[tuple[str, frozenset[tuple[str, str]]], float], name: str, **labels: str) -> float:
    return found[name, frozenset(labels.items())]


def test_calls_are_counted_by_tool_and_outcome() -> None:
    with served() as server:
        before = samples(server)
        assert value(before, "faultkit_calls_total", tool="echo", outcome="success") == 0
        server.call("echo")
        server.call("echo")
        server.call("error", {"as_tool": True})
        server.call("flaky", {"fail_rate": 1})
        server.call("nosuch")
        server.call("another")
        server.client.post(f"{ADMIN}/tryit/echo", headers=OURS)
        server.flush()
        after = samples(server)
        assert value(after, "faultkit_calls_total", tool="echo", outcome="success") == 3
        assert value(after, "faultkit_calls_total", tool="error", outcome="tool_error") == 1
        assert value(after, "faultkit_calls_total", tool="flaky", outcome="protocol_error") == 1
        # Callers cannot create any number of series.
        assert value(after, "faultkit_calls_total", tool="unknown", outcome="protocol_error") == 2
        assert value(after, "faultkit_audit_rows_written_total") == 7
        assert value(after, "faultkit_audit_rows_waiting") == 0
        assert value(after, "faultkit_audit_rows_dropped_total") == 0
        assert value(after, "faultkit_audit_rows_refused_total") == 0
        assert value(after, "faultkit_audit_store_up") == 1
        assert value(after, "faultkit_calls_running") == 0
        assert value(after, "faultkit_draining") == 0
        assert value(after, "process_start_time_seconds") > 1.7e9


def test_durations_are_a_histogram() -> None:
    with served() as server:
        server.call("slow", {"milliseconds": 3})
        server.call("slow", {"milliseconds": 3})
        found = samples(server)
        name = "faultkit_call_duration_seconds"
        bounds = [
            (dict(labels)["le"], count)
            for (sample, labels), count in found.items()
            if sample == f"{name}_bucket"
        ]
        counts = [count for _, count in bounds]
        assert counts == sorted(counts)
        assert bounds[-1] == ("+Inf", 2)
        assert (dict(bounds)["0.0025"], value(found, f"{name}_count", tool="slow")) == (0, 2)
        assert value(found, f"{name}_sum", tool="slow") >= 0.006


def test_sessions_requests_and_refusals_are_counted() -> None:
    with served(settings=AccessSettings(origins=())) as server:
        opening = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        }
        message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": opening}
        accept = {"accept": "application/json, text/event-stream"}
        assert server.client.post("/", json=message, headers=accept).status_code == 200
        server.get(f"{PORTAL}/tools/echo")
        server.get(f"{PORTAL}/tools/nosuch")
        server.get("/a")
        server.get("/b")
        server.get("/portal/nosuch")
        page = server.get("/portal/")
        server.client.get("/portal/", headers={"if-none-match": page.headers["etag"]})
        server.client.get(f"{AUDIT}/events", headers={"x-api-key": "fk_wrong"})
        server.client.get("/healthz", headers={"host": "evil.example.org"})
        found = samples(server)
        assert value(found, "faultkit_sessions") == 1
        tools = f"{PORTAL}/tools/{{name}}"
        assert value(found, "faultkit_http_requests_total", route=tools, status="200") == 1
        assert value(found, "faultkit_http_requests_total", route=tools, status="404") == 1
        assert value(found, "faultkit_http_requests_total", route="(none)", status="404") == 2
        for status in ("200", "304", "404"):
            assert value(found, "faultkit_http_requests_total", route="/portal*", status=status) == 1
        assert value(found, "faultkit_refusals_total", category="auth") == 1
        assert value(found, "faultkit_refusals_total", category="origin") == 1
        assert value(found, "faultkit_refusals_total", category="rate") == 0
