"""The parts that are fuzzed, by name."""

from __future__ import annotations

from collections.abc import Callable

from tests.fuzz.api_fuzz import fuzz_control, fuzz_gateway_control, fuzz_toxiproxy
from tests.fuzz.document_fuzz import fuzz_documents
from tests.fuzz.fuzz_budget import Budget
from tests.fuzz.proxy_fuzz import fuzz_proxies
from tests.fuzz.tool_server_fuzz import fuzz_agent_tools, fuzz_chaos_tools, fuzz_mock_and_gateway

PARTS: dict[str, Callable[[Budget], None]] = {
    "documents": fuzz_documents,
    "proxies": fuzz_proxies,
    "control API": fuzz_control,
    "control API of the gateway": fuzz_gateway_control,
    "Toxiproxy API": fuzz_toxiproxy,
    "agent tools": fuzz_agent_tools,
    "chaos tools": fuzz_chaos_tools,
    "mock and gateway": fuzz_mock_and_gateway,
}
