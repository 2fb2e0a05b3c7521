"""All probes, in the order in which they are run. Those of our own are numbered from 101."""

from __future__ import annotations

from faultkit.mcp.probe.servers.probes import calls, messages
from faultkit.mcp.probe.servers.probes.probe import Probe

PROBES: dict[str, Probe] = {
    probe.id: probe
    for probe in (
        Probe("EDGE-001", "Unicode in arguments arrives unharmed", calls.unicode_arguments),
        Probe("EDGE-002", "A very large argument gets a clean answer", calls.large_input),
        Probe("EDGE-003", "Empty input is answered the same way each time", calls.empty_input),
        Probe("EDGE-004", "Identical calls at once are each answered once", calls.concurrent_calls),
        Probe("EDGE-005", "Sessions that end as soon as they began leave no trouble", messages.rapid_init),
        Probe("EDGE-006", "A call beyond the server's own limit ends in a clean error", calls.server_timeout),
        Probe(
            "EDGE-007",
            "Answers to requests at once carry the id of their own",
            messages.by_id,
            "MUST",
            ("http",),
        ),
        Probe(
            "EDGE-008",
            "Half a line is answered with a parse error (-32700)",
            messages.truncated_line,
            transports=("stdio",),
        ),
        Probe(
            "EDGE-009",
            "A malformed envelope is answered with -32600",
            messages.malformed_envelope,
            "MUST",
        ),
        Probe("EDGE-010", "A cursor leads to the same page each time", messages.cursor_stability),
        Probe("EDGE-101", "An empty array gets a clean answer", calls.empty_arrays),
        Probe("EDGE-102", "An oversized message is served or refused in words", messages.oversized_payload),
        Probe("EDGE-103", "Arguments against the schema are refused", calls.invalid_arguments),
        Probe("EDGE-104", "A tool that there is not is refused", messages.unknown_tool),
        Probe("EDGE-105", "A call that is called off leaves the server well", calls.called_off),
    )
}
