"""What rules do to one stream: own answers, and the effects of HTTP/2 and gRPC faults.

These functions only change what waits in a stream; `exchange` sends it. GOAWAY concerns the whole connection
and is carried out there.
"""

from __future__ import annotations

import math
from dataclasses import replace

from faultkit.faults.http2_fault import (
    DropTrailers,
    EndCall,
    ExceedDeadline,
    ResetStream,
    SendGoaway,
    WithholdWindow,
)
from faultkit.faults.http_fault import HttpVerdict
from faultkit.faults.protocol_codes import GRPC_CODES
from faultkit.proxy.http.own_answer import OwnAnswer, content_of
from faultkit.proxy.http2.grpc import STATUS_FIELDS, status_fields
from faultkit.proxy.http2.items import Abort, Chunk, End, Head
from faultkit.proxy.http2.leg import Fields
from faultkit.proxy.http2.stream import Answer, Stream

_NO_ERROR = 0x0


def begin(stream: Stream, verdict: HttpVerdict, now: float) -> float:
    """Let a verdict and the effect of the stream begin to act. Return when the request may be sent."""
    at = now + verdict.delay_s
    stream.answer_at = at
    if verdict.status is not None:
        stream.answer = http_answer(verdict)
        stream.swallows = not verdict.call_upstream
        stream.deaf = True
        return at
    match stream.effect:
        case ResetStream(code, None, None):
            stream.swallows = stream.deaf = True
            stream.down.items.append(Abort(at, code))
            stream.note("reset", code)
        case WithholdWindow("upload", after_bytes):
            stream.up.most = after_bytes
        case WithholdWindow("download", after_bytes):
            stream.down.most = after_bytes
        case EndCall(status, message, 0, call_upstream):
            stream.answer = grpc_answer(status, message, b"grpc_status")
            stream.swallows = not call_upstream
            stream.deaf = True
            stream.note("status", status)
        case ExceedDeadline(after_s, call_upstream):
            stream.note("unanswered", 1.0)
            if after_s is not None:
                due = at + min(after_s, stream.request.grpc_timeout_s)
                exceeded = GRPC_CODES["DEADLINE_EXCEEDED"]
                stream.answer = grpc_answer(exceeded, "Deadline exceeded", b"grpc_deadline")
                stream.swallows = not call_upstream
                stream.deaf = True
                stream.answer_at = due
            elif call_upstream:
                stream.deaf = True
            else:
                return math.inf
        case ResetStream() | DropTrailers() | EndCall() | SendGoaway() | WithholdWindow() | None:
            pass  # They act on the answer, or on the connection.
    return at


def answers_at_once(stream: Stream) -> bool:
    """Return whether an own answer does not wait for the rest of the request, or the upstream's answer.

    A gRPC call may be a stream that goes on until it is answered."""
    if isinstance(stream.effect, ExceedDeadline):
        return True
    return stream.swallows and (stream.request_ended or stream.request.is_grpc)


def queue_answer(stream: Stream, now: float) -> None:
    """Let the own answer be sent, and end the stream behind it (RFC 9113 §8.1)."""
    answer, stream.answer = stream.answer, None
    assert answer is not None
    at = max(now, stream.answer_at)
    body = answer.body if stream.request.method != "HEAD" else b""
    stream.down.items.append(Head(at, list(answer.fields), ends=not body))
    if body:
        stream.down.items += (Chunk(at, body, 0), End(at))
    if not stream.request_ended:
        stream.down.items.append(Abort(at, _NO_ERROR))
        stream.swallows = True


def head_passes(stream: Stream, fields: Fields, ends: bool, now: float) -> bool:
    """Queue the head of the upstream's answer. True if a rule ends the stream behind it."""
    effect = stream.effect
    if isinstance(effect, DropTrailers) and ends and any(name in STATUS_FIELDS for name, _ in fields):
        # Trailers-Only: the status of a call that has no messages is in its only block of fields.
        fields = [field for field in fields if field[0] not in STATUS_FIELDS]
        stream.note("trailers_lost", 1.0)
        stream.down.items.append(Head(now, fields, ends=not effect.hangs))
        return effect.hangs
    stream.down.items.append(Head(now, fields, ends))
    if not ends and isinstance(effect, ResetStream) and 0 in (effect.after_bytes, effect.after_messages):
        _break_off(stream, effect, now)
        return True
    return False


def body_passes(stream: Stream, payload: bytes, credit: int, now: float) -> bool:
    """Queue a part of the upstream's body. True if a rule ends the stream behind it."""
    effect = stream.effect
    end: int | None = None
    if isinstance(effect, ResetStream) and effect.after_bytes is not None:
        left = effect.after_bytes - stream.seen_down
        end = left if left <= len(payload) else None
        stream.seen_down += len(payload)
    elif isinstance(effect, (ResetStream, EndCall)) and effect.after_messages:
        end = stream.messages.end_of(effect.after_messages, payload)
    if end is None or not isinstance(effect, (ResetStream, EndCall)):
        stream.down.items.append(Chunk(now, payload, credit))
        return False
    stream.down.items.append(Chunk(now, payload[:end], credit))
    _break_off(stream, effect, now)
    return True


def trailers_pass(stream: Stream, fields: Fields, now: float) -> bool:
    """Queue the trailers of the upstream's answer. True if a rule drops them, and the end with them."""
    effect = stream.effect
    if not isinstance(effect, DropTrailers):
        stream.down.items.append(Head(now, fields, ends=True))
        return False
    stream.note("trailers_lost", 1.0)
    if not effect.hangs:
        stream.down.items.append(End(now))
    return effect.hangs


def _break_off(stream: Stream, effect: ResetStream | EndCall, now: float) -> None:
    stream.deaf = True
    if isinstance(effect, ResetStream):
        stream.down.items.append(Abort(now, effect.code))
        stream.note("reset", effect.code)
        return
    stream.down.items.append(Head(now, status_fields(effect.status, effect.message), ends=True))
    if not stream.request_ended:
        stream.down.items.append(Abort(now, _NO_ERROR))
    stream.note("status", effect.status)


def let_go(stream: Stream, now: float) -> None:
    """Take the effect off a stream, because its rule acts no more."""
    stream.effect = None
    stream.up.most = stream.down.most = None
    if stream.up.items and stream.up.items[0].at == math.inf:
        stream.up.items[0] = replace(stream.up.items[0], at=now)


def http_answer(verdict: HttpVerdict) -> Answer:
    """Return the answer that a verdict asks for."""
    assert verdict.status is not None
    own = OwnAnswer(verdict.status, verdict.body or "", verdict.headers, verdict.fault)
    fields, body = content_of(own)
    # RFC 9113 §8.2.1: names in lower case.
    written = ((name.lower().encode("ascii"), value.encode("ascii")) for name, value in fields)
    return Answer(((b":status", str(verdict.status).encode()), *written), body)


def grpc_answer(status: int, message: str, fault: bytes) -> Answer:
    """Return a status in the form of an answer without messages (Trailers-Only)."""
    fields = [(b":status", b"200"), (b"content-type", b"application/grpc"), *status_fields(status, message)]
    return Answer((*fields, (b"x-fault-injected", fault)))
