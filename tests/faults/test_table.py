"""The table of faults: its order, its folders, and its names on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

import faultkit.faults
from faultkit.faults import CALL_FAULTS, FAULTS, LLM_FAULTS, NETWORK_FAULTS
from faultkit.faults.flag_names import env_name, flag_name, setting_env, setting_flag

KNOWN = (
    "latency jitter bandwidth packet_loss blackhole reset half_open slow_close limit_data slicer "
    "timeout corrupt refuse slow_accept dns http_error http_delay "
    "hang wedged frozen slow slow_drip recover_after fail_from "
    "tool_error protocol_error flaky rate_limit http_status "
    "malformed_json wrong_id mistyped_id duplicate_reply out_of_order reply_after_cancel lost_reply "
    "truncated_reply stream_end keep_alive_only disconnect tcp_reset "
    "empty_result oversized_result corrupt_value stale_value prompt_injection schema_drift "
    "vanished_tools notification_storm progress_storm "
    "header_mismatch unsupported_version unknown_result_type input_required_loop stale_cache_hints "
    "dead_subscription"
)
"""Kinds that plans of users name. A new fault need not be added."""


def test_kinds_that_users_know_stay_and_keep_their_order() -> None:
    known = KNOWN.split()
    assert set(known) <= set(FAULTS)
    assert [kind for kind in FAULTS if kind in known] == known


def test_users_see_the_faults_of_the_network_first_and_those_of_llm_apis_last() -> None:
    assert list(FAULTS) == [*NETWORK_FAULTS, *CALL_FAULTS, *LLM_FAULTS]


@pytest.mark.parametrize(
    "folder", ["stream", "connection", "tls", "http", "http2", "websocket", "call", "llm"]
)
def test_each_file_of_a_fault_folder_is_one_fault(folder: str) -> None:
    files = {path.stem for path in (Path(faultkit.faults.__file__).parent / folder).glob("*.py")}
    faults = {kind for kind, fault in FAULTS.items() if f".{folder}." in fault.__module__}
    assert files - {"__init__"} == faults


def test_a_fault_has_the_name_of_its_file_and_is_imported_when_it_is_looked_up() -> None:
    assert [fault.kind for fault in FAULTS.values()] == list(FAULTS)
    assert FAULTS["latency"] is NETWORK_FAULTS["latency"]
    assert "latency" not in CALL_FAULTS
    with pytest.raises(KeyError):
        FAULTS["latencies"]


def test_a_kind_is_of_one_level_only() -> None:
    assert len(FAULTS) == len(NETWORK_FAULTS) + len(CALL_FAULTS) + len(LLM_FAULTS)
    assert {fault.level for fault in LLM_FAULTS.values()} == {"llm"}
    assert {fault.level for fault in CALL_FAULTS.values()} == {"call"}
    levels = {fault.level for fault in NETWORK_FAULTS.values()}
    assert levels == {"stream", "connection", "name", "tls", "http"}


@pytest.mark.parametrize(
    ("kind", "name", "flag", "env"),
    [
        ("latency", "distribution", "latency-distribution", "FAULT_LATENCY_DISTRIBUTION"),
        ("latency", "per", "latency-per-read-write", "FAULT_LATENCY_PER_READ_WRITE"),
        ("latency", "mean_ms", "latency-mean", "FAULT_LATENCY_MEAN"),
        ("latency", "stddev_ms", "latency-stddev", "FAULT_LATENCY_STANDARD_DEVIATION"),
        ("latency", "shape", "latency-shape", "FAULT_LATENCY_SHAPE"),
        ("latency", "scale_ms", "latency-scale", "FAULT_LATENCY_SCALE"),
        ("latency", "min_ms", "latency-min", "FAULT_LATENCY_MIN"),
        ("latency", "max_ms", "latency-max", "FAULT_LATENCY_MAX"),
        ("bandwidth", "rate", "bandwidth-rate", "FAULT_BANDWIDTH_RATE"),
        ("bandwidth", "unit", "bandwidth-unit", "FAULT_BANDWIDTH_UNIT"),
        ("jitter", "amplitude_ms", "jitter-amplitude", "FAULT_JITTER_AMPLITUDE"),
        ("jitter", "frequency_hz", "jitter-frequency", "FAULT_JITTER_FREQ"),
        ("http_error", "status", "http-response-status", "FAULT_HTTP_FAULT_STATUS"),
        ("http_error", "body", "http-response-body", "FAULT_HTTP_FAULT_BODY"),
        ("packet_loss", "segment_bytes", "packet-loss-segment", "FAULT_PACKET_LOSS_SEGMENT"),
        ("slicer", "delay_us", "slicer-delay", "FAULT_SLICER_DELAY"),
        ("limit_data", "bytes", "limit-data-bytes", "FAULT_LIMIT_DATA_BYTES"),
    ],
)
def test_flags_and_variables_have_the_names_that_users_know(
    kind: str, name: str, flag: str, env: str
) -> None:
    fault = FAULTS[kind]
    assert f"{flag_name(fault)}-{setting_flag(fault, name)}" == flag
    assert setting_env(fault, name) == env


@pytest.mark.parametrize(
    ("kind", "flag", "env"),
    [
        ("packet_loss", "packet-loss", "FAULT_PACKET_LOSS"),
        ("dns", "dns", "FAULT_DNS"),
        ("http_error", "http-response", "FAULT_HTTP_FAULT"),
    ],
)
def test_a_fault_has_a_name_on_the_command_line(kind: str, flag: str, env: str) -> None:
    assert (flag_name(FAULTS[kind]), env_name(FAULTS[kind])) == (flag, env)


def test_no_two_settings_share_a_flag_or_a_variable() -> None:
    network = NETWORK_FAULTS.values()
    flags = [f"{flag_name(cls)}-{setting_flag(cls, name)}" for cls in network for name in cls.settings()]
    envs = [setting_env(cls, name) for cls in network for name in cls.settings()]
    assert len(flags) == len(set(flags))
    assert len(envs) == len(set(envs))


def test_every_fault_and_every_setting_says_what_it_does() -> None:
    for kind, fault in FAULTS.items():
        assert fault.summary.endswith("."), kind
        for name, fact in fault.settings().items():
            assert fact.help.endswith("."), f"{kind}: {name}"
