"""The vocabulary: every fault there is, in the order in which users see them.

Adding a fault is one file in `stream/`, `connection/`, `tls/`, `http/`, `http2/`, `websocket/`, `call/` or
`llm/`, one test file, and one row in a table below. YAML, command-line flags, schemas, help and docs follow
from the row.

    fault             what a fault is, for each level; `http_fault` for HTTP, `http2_fault` for HTTP/2,
                      `websocket_fault` for WebSocket, `call_fault` for calls, `llm_fault` for LLM APIs
    fault_table       a table that imports a fault when it is looked up
    fault_settings    one setting of a fault: its facts, checks and schema
    fault_data        faults from and to plain data
    flag_names        names on the command line and in the environment
    events            what happens on a stream, as timed values
    protocol_codes    names of the codes of HTTP/2 and gRPC
    dialects          what providers of models speak on the wire
    stream_filters, loss_chain, distribution, drawn_delay, call_replies, json_leaves, llm_answers, llm_texts,
    llm_tool_calls    parts that faults are made of
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from faultkit.faults.fault import Fault
from faultkit.faults.fault_table import FaultTable

if TYPE_CHECKING:
    from faultkit.faults.call_fault import CallFault
    from faultkit.faults.llm_fault import LlmFault

NETWORK_FAULTS: FaultTable[Fault] = FaultTable(
    "stream.latency",
    "stream.jitter",
    "stream.bandwidth",
    "stream.packet_loss",
    "stream.blackhole",
    "stream.reset",
    "stream.half_open",
    "stream.slow_close",
    "stream.limit_data",
    "stream.slicer",
    "stream.timeout",
    "stream.corrupt",
    "connection.refuse",
    "connection.slow_accept",
    "connection.dns",
    "tls.tls_slow_handshake",
    "tls.tls_handshake_failure",
    "tls.tls_bad_certificate",
    "tls.tls_old_version",
    "tls.tls_truncated_close",
    "http.http_error",
    "http.http_delay",
    "http.http_quota",
    "http.http_slow_headers",
    "http.http_drip",
    "http.http_cut",
    "http.http_garbage",
    "http.http_wrong_length",
    "http.http_wrong_encoding",
    "http.http_lost_reply",
    "http2.stream_reset",
    "http2.goaway",
    "http2.withheld_window",
    "http2.lost_trailers",
    "http2.grpc_status",
    "http2.grpc_deadline",
    "websocket.ws_delay",
    "websocket.ws_drop",
    "websocket.ws_duplicate",
    "websocket.ws_corrupt",
    "websocket.ws_close",
    "websocket.ws_ping_silence",
)
"""Faults that a proxy carries out, on streams, connections, names, TLS, HTTP requests and WebSocket
messages."""

CALL_FAULTS: FaultTable[CallFault] = FaultTable(
    "call.hang",
    "call.wedged",
    "call.frozen",
    "call.slow",
    "call.slow_drip",
    "call.recover_after",
    "call.fail_from",
    "call.tool_error",
    "call.protocol_error",
    "call.flaky",
    "call.rate_limit",
    "call.http_status",
    "call.malformed_json",
    "call.wrong_id",
    "call.mistyped_id",
    "call.duplicate_reply",
    "call.out_of_order",
    "call.reply_after_cancel",
    "call.lost_reply",
    "call.truncated_reply",
    "call.stream_end",
    "call.keep_alive_only",
    "call.disconnect",
    "call.tcp_reset",
    "call.empty_result",
    "call.oversized_result",
    "call.corrupt_value",
    "call.stale_value",
    "call.prompt_injection",
    "call.schema_drift",
    "call.vanished_tools",
    "call.notification_storm",
    "call.progress_storm",
    "call.header_mismatch",
    "call.unsupported_version",
    "call.unknown_result_type",
    "call.input_required_loop",
    "call.stale_cache_hints",
    "call.dead_subscription",
)
"""Faults that a mock or a gateway carries out, on calls."""

LLM_FAULTS: FaultTable[LlmFault] = FaultTable(
    "llm.slow_first_token",
    "llm.token_rate",
    "llm.token_stall",
    "llm.llm_keep_alive_only",
    "llm.llm_rate_limit",
    "llm.server_error",
    "llm.overloaded",
    "llm.quota_exhausted",
    "llm.context_length",
    "llm.auth",
    "llm.content_filter",
    "llm.clean_end",
    "llm.answer_cut",
    "llm.error_event",
    "llm.malformed_event",
    "llm.missing_event_name",
    "llm.duplicate_delta",
    "llm.dropped_delta",
    "llm.reordered_delta",
    "llm.no_usage",
    "llm.no_finish",
    "llm.done_without_end",
    "llm.truncated_arguments",
    "llm.invalid_arguments",
    "llm.mistyped_arguments",
    "llm.unknown_tool",
    "llm.wrong_call_id",
    "llm.duplicate_call_id",
    "llm.tool_call_as_text",
    "llm.empty_answer",
    "llm.wrong_model",
    "llm.length_stop",
    "llm.canary",
    "llm.replace_text",
    "llm.replace_prompt",
    "llm.add_instruction",
)
"""Faults that proxies and mocks of LLM APIs carry out, on requests to models and on their answers."""

PROXY_FAULTS: FaultTable[Fault] = FaultTable(*NETWORK_FAULTS.rows, *LLM_FAULTS.rows)
"""Faults that a proxy carries out."""

FAULTS: FaultTable[Fault] = FaultTable(*NETWORK_FAULTS.rows, *CALL_FAULTS.rows, *LLM_FAULTS.rows)

__all__ = ["CALL_FAULTS", "FAULTS", "LLM_FAULTS", "NETWORK_FAULTS", "PROXY_FAULTS"]
