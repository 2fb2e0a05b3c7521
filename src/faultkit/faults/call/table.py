"""The faults that act on calls, in the order in which users see them.

Adding one is one file beside this, one test file, and one row here: the short form of the command line, plan
files, schemas, help and docs follow from the row.
"""

from __future__ import annotations

from faultkit.faults.call.call import CallFault
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
