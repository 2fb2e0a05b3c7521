"""The vocabulary: every fault there is, in the order in which users see them.

Adding a fault is one file in `stream/`, `connection/`, `http/` or `call/`, one test file, and one row in a
table below. YAML, command-line flags, schemas, help and docs follow from the row.

    fault             what a fault is, for each level; `call_fault` for calls
    fault_settings    one setting of a fault: its facts, checks and schema
    fault_data        faults from and to plain data
    flag_names        names on the command line and in the environment
    events            what happens on a stream, as timed values
    stream_filters, loss_chain, distribution, call_replies, json_leaves   parts that faults are made of
"""

from __future__ import annotations

from faultkit.faults.call.corrupt_value import CorruptValue
from faultkit.faults.call.dead_subscription import DeadSubscription
from faultkit.faults.call.disconnect import Disconnect
from faultkit.faults.call.duplicate_reply import DuplicateReply
from faultkit.faults.call.empty_result import EmptyResult
from faultkit.faults.call.fail_from import FailFrom
from faultkit.faults.call.flaky import Flaky
from faultkit.faults.call.frozen import Frozen
from faultkit.faults.call.hang import Hang
from faultkit.faults.call.header_mismatch import HeaderMismatch
from faultkit.faults.call.http_status import HttpStatus
from faultkit.faults.call.input_required_loop import InputRequiredLoop
from faultkit.faults.call.keep_alive_only import KeepAliveOnly
from faultkit.faults.call.lost_reply import LostReply
from faultkit.faults.call.malformed_json import MalformedJson
from faultkit.faults.call.mistyped_id import MistypedId
from faultkit.faults.call.notification_storm import NotificationStorm
from faultkit.faults.call.out_of_order import OutOfOrder
from faultkit.faults.call.oversized_result import OversizedResult
from faultkit.faults.call.progress_storm import ProgressStorm
from faultkit.faults.call.prompt_injection import PromptInjection
from faultkit.faults.call.protocol_error import ProtocolError
from faultkit.faults.call.rate_limit import RateLimit
from faultkit.faults.call.recover_after import RecoverAfter
from faultkit.faults.call.reply_after_cancel import ReplyAfterCancel
from faultkit.faults.call.schema_drift import SchemaDrift
from faultkit.faults.call.slow import Slow
from faultkit.faults.call.slow_drip import SlowDrip
from faultkit.faults.call.stale_cache_hints import StaleCacheHints
from faultkit.faults.call.stale_value import StaleValue
from faultkit.faults.call.stream_end import StreamEnd
from faultkit.faults.call.tcp_reset import TcpReset
from faultkit.faults.call.tool_error import ToolError
from faultkit.faults.call.truncated_reply import TruncatedReply
from faultkit.faults.call.unknown_result_type import UnknownResultType
from faultkit.faults.call.unsupported_version import UnsupportedVersion
from faultkit.faults.call.vanished_tools import VanishedTools
from faultkit.faults.call.wedged import Wedged
from faultkit.faults.call.wrong_id import WrongId
from faultkit.faults.call_fault import CallFault
from faultkit.faults.connection.dns import Dns
from faultkit.faults.connection.refuse import Refuse
from faultkit.faults.connection.slow_accept import SlowAccept
from faultkit.faults.fault import Fault
from faultkit.faults.http.http_delay import HttpDelay
from faultkit.faults.http.http_error import HttpError
from faultkit.faults.stream.bandwidth import Bandwidth
from faultkit.faults.stream.blackhole import Blackhole
from faultkit.faults.stream.corrupt import Corrupt
from faultkit.faults.stream.half_open import HalfOpen
from faultkit.faults.stream.jitter import Jitter
from faultkit.faults.stream.latency import Latency
from faultkit.faults.stream.limit_data import LimitData
from faultkit.faults.stream.packet_loss import PacketLoss
from faultkit.faults.stream.reset import Reset
from faultkit.faults.stream.slicer import Slicer
from faultkit.faults.stream.slow_close import SlowClose
from faultkit.faults.stream.timeout import Timeout

NETWORK_FAULTS: dict[str, type[Fault]] = {
    fault.kind: fault
    for fault in (
        Latency,
        Jitter,
        Bandwidth,
        PacketLoss,
        Blackhole,
        Reset,
        HalfOpen,
        SlowClose,
        LimitData,
        Slicer,
        Timeout,
        Corrupt,
        Refuse,
        SlowAccept,
        Dns,
        HttpError,
        HttpDelay,
    )
}
"""Faults that a proxy carries out, on streams, connections, names and HTTP requests."""

CALL_FAULTS: dict[str, type[CallFault]] = {
    fault.kind: fault
    for fault in (
        Hang,
        Wedged,
        Frozen,
        Slow,
        SlowDrip,
        RecoverAfter,
        FailFrom,
        ToolError,
        ProtocolError,
        Flaky,
        RateLimit,
        HttpStatus,
        MalformedJson,
        WrongId,
        MistypedId,
        DuplicateReply,
        OutOfOrder,
        ReplyAfterCancel,
        LostReply,
        TruncatedReply,
        StreamEnd,
        KeepAliveOnly,
        Disconnect,
        TcpReset,
        EmptyResult,
        OversizedResult,
        CorruptValue,
        StaleValue,
        PromptInjection,
        SchemaDrift,
        VanishedTools,
        NotificationStorm,
        ProgressStorm,
        HeaderMismatch,
        UnsupportedVersion,
        UnknownResultType,
        InputRequiredLoop,
        StaleCacheHints,
        DeadSubscription,
    )
}
"""Faults that a mock or a gateway carries out, on calls."""

FAULTS: dict[str, type[Fault]] = {**NETWORK_FAULTS, **CALL_FAULTS}

__all__ = ["CALL_FAULTS", "FAULTS", "NETWORK_FAULTS"]
