"""One client connection with HTTP/2 and its upstream connection: which frames go where, and when.

Requests are judged one by one as their headers arrive. Streams are independent: one that a rule delays does
not hold up another. Nothing goes out with a time in the future, as it would in HTTP/1.1; what has to wait
waits here, and `wake_at` tells when to call `wake`.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from h2 import events as h2_events
from h2.exceptions import ProtocolError

from faultkit.faults.events import Close, Data, Eof, Event, Reset
from faultkit.faults.http2_fault import Http2Effect, SendGoaway
from faultkit.faults.http_fault import HttpVerdict
from faultkit.proxy.http import Output, ToClient, ToUpstream
from faultkit.proxy.http2 import stream_effects
from faultkit.proxy.http2.answer_pump import AnswerPump, JudgeAnswer
from faultkit.proxy.http2.authority import HOST_FIELDS, rehosting
from faultkit.proxy.http2.frame_scanner import BadFrames, FrameScanner, GoawayFrame, Slice
from faultkit.proxy.http2.items import Chunk, End, Head
from faultkit.proxy.http2.leg import Fields, reason
from faultkit.proxy.http2.stream import RequestFields, Stream
from faultkit.proxy.http2.stream_pump import INTERNAL_ERROR, NO_ERROR, REFUSED_STREAM, Side

_HIGHEST_ID = 2**31 - 1
_MOST_HEADERS = 8 << 20
"""Bytes of header fields of one connection's requests; beyond that further ones are refused."""


def _record_nothing(effect: str, value: float) -> None:
    """Record nothing."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What rules do to a request."""

    verdict: HttpVerdict = field(default_factory=HttpVerdict)
    delays: Mapping[Any, float] = field(default_factory=dict)
    """Seconds of its delay, by rule."""
    effect: Http2Effect | None = None
    rule: Hashable = None
    """The rule of the effect."""
    note: Callable[[str, float], None] = _record_nothing
    """Records what the effect has done."""


Judge: TypeAlias = Callable[[RequestFields], Judged]


class Http2Exchange(AnswerPump):
    """An HTTP/2 connection: feed it the events of both legs, and carry out what it returns, in order."""

    __slots__ = (
        "_client_end",
        "_draining",
        "_ends_passed",
        "_inbox",
        "_judge",
        "_judged",
        "_last_client_id",
        "_out",
        "_refusing",
        "_rehost",
        "_scanners",
        "_upstream_end",
        "closed",
        "trouble",
    )

    def __init__(
        self,
        judge: Judge,
        host: str | None = None,
        own_port: int | None = None,
        judge_answer: JudgeAnswer | None = None,
    ) -> None:
        """`host`: what replaces the authority of requests; with `own_port`, only where it has that port."""
        super().__init__(judge_answer)
        self._judge = judge
        self._rehost = None if host is None else rehosting(host, own_port)
        self._scanners: dict[Side, FrameScanner] = {
            "client": FrameScanner(preface=True),
            "upstream": FrameScanner(preface=False),
        }
        self._inbox: deque[tuple[Side, Slice | Eof]] = deque()
        """What has arrived and is still to be read."""
        self._last_client_id = 0
        self._judged = 0
        """Requests so far."""
        self._refusing = False
        """No further requests: GOAWAY has been sent to the client, or the upstream has sent it."""
        self._draining = False
        """The client's connection is closed once no stream is left."""
        self._client_end = False
        self._upstream_end = False
        self._ends_passed: set[Side] = set()
        self._out: list[Output] = []
        self.closed = False
        self.trouble: str | None = None
        """Why the connection was ended here, if it was."""

    # --- what the link calls ------------------------------------------------------------------

    def start(self, at: float) -> list[Output]:
        """Send our own preface on both legs."""
        out = self._begin(at)
        self._end_round()
        return out

    def from_client(self, event: Event) -> list[Output]:
        """Handle an event of the client's leg."""
        return self._from("client", event)

    def from_upstream(self, event: Event) -> list[Output]:
        """Handle an event of the upstream's leg."""
        return self._from("upstream", event)

    @property
    def wants_input(self) -> bool:
        """False while bytes that have arrived are still to be read."""
        return self.closed or not self._inbox

    @property
    def wake_at(self) -> float:
        """When `wake` has something to do; infinity if not before further events."""
        if self.closed:
            return math.inf
        if self._inbox:
            return self._now
        return self._timers[0][0] if self._timers else math.inf

    def wake(self, at: float) -> list[Output]:
        """Send what has become due, and read on."""
        out = self._begin(at)
        if not self.closed:
            self._read_on()
            self._pump_due()
            self._end_round()
        return out

    def end_rules(self, acting: Collection[Any], now: float) -> list[Output]:
        """Let go what rules hold back that act no more."""
        out = self._begin(now)
        if self.closed:
            return out
        for stream in tuple(self._by_client.values()):
            gone_s = sum(s for rule, s in stream.delays.items() if rule not in acting)
            if gone_s:
                stream.delays = {rule: s for rule, s in stream.delays.items() if rule in acting}
                stream.bring_forward(gone_s, self._now)
            if stream.effect is not None and stream.rule not in acting:
                stream_effects.let_go(stream, self._now)
            self._let_go(stream, acting)
            self._pump(stream)
        self._end_round()
        return out

    # --- reading ------------------------------------------------------------------------------

    def _begin(self, now: float) -> list[Output]:
        self._now = max(self._now, now)
        self._out = []
        return self._out

    def _from(self, side: Side, event: Event) -> list[Output]:
        out = self._begin(event.at)
        if self.closed:
            return out
        if isinstance(event, (Close, Reset)):
            while self._inbox and not self.closed:
                self._read_on()
            self._pass_end(side, event)
            self.closed = True
            return out
        if isinstance(event, Data):
            try:
                slices = self._scanners[side].feed(event.payload, event.at)
            except BadFrames as problem:
                self._fail(side, str(problem), problem.code)
                return out
            self._inbox.extend((side, each) for each in slices)
        else:
            self._inbox.append((side, event))
        self._read_on()
        self._end_round()
        return out

    def _read_on(self) -> None:
        """Read one slice: the rest follows in later rounds, so that other connections have their turn."""
        if not self._inbox:
            return
        side, item = self._inbox.popleft()
        if isinstance(item, Eof):
            self._ended(side)
        elif isinstance(item, GoawayFrame):
            self._goaway(side, item)
        else:
            leg = self._client if side == "client" else self._upstream
            try:
                found = leg.receive(item)
            except ProtocolError as problem:
                self._fail(side, reason(problem), None)
                return
            handlers = _HANDLERS[side]
            for each in found:
                handler = handlers.get(type(each))
                if handler is not None:
                    handler(self, each)

    def _fail(self, side: Side, why: str, code: int | None) -> None:
        """End the connection: what a peer sends is no HTTP/2. `code` is None if `h2` has sent GOAWAY."""
        who = "a client" if side == "client" else "the upstream"
        self.trouble = f"the HTTP/2 of {who} cannot be read: {why}"
        if side == "upstream":
            self._client.send_goaway(self._last_client_id, INTERNAL_ERROR, b"")
        elif code is not None:
            self._client.send_goaway(self._last_client_id, code, b"")
        if side == "upstream" and code is not None:
            self._upstream.send_goaway(0, code, b"")
        self._send_frames()
        self._out.append(ToClient(Close(self._now)))
        self.closed = True

    # --- from the client ----------------------------------------------------------------------

    def _on_request(self, event: h2_events.RequestReceived) -> None:
        stream_id, fields = event.stream_id, list(event.headers)
        request = RequestFields(fields)
        if self._refusing or self._headers_size + request.size > _MOST_HEADERS:
            self._client.reset(stream_id, REFUSED_STREAM)
            return
        stream, judged = Stream(stream_id, request), self._judge(request)
        stream.delays, stream.note = judged.delays, judged.note
        stream.number = self._judged
        self._judged += 1
        if judged.verdict.status is None:
            stream.effect, stream.rule = judged.effect, judged.rule
        if isinstance(stream.effect, SendGoaway):
            self._send_goaway(stream, stream.effect)
            if not stream.effect.answered:
                return
        self._last_client_id = stream_id
        stream.request_ended = event.stream_ended is not None
        self._add(stream)
        at = stream_effects.begin(stream, judged.verdict, self._now)
        if stream.swallows:
            stream.up.done = True
        else:
            stream.up.items.append(Head(at, self._for_upstream(fields), stream.request_ended))
        self._answer_if_due(stream)
        self._pump(stream)

    def _for_upstream(self, fields: Fields) -> Fields:
        """Return the fields of a request, with the upstream's authority where it replaces the client's."""
        rehost = self._rehost
        if rehost is None:
            return fields
        return [
            (each[0], host) if each[0] in HOST_FIELDS and (host := rehost(each[1])) != each[1] else each
            for each in fields
        ]

    def _on_upload(self, event: h2_events.DataReceived) -> None:
        stream, size = self._by_client.get(event.stream_id), event.flow_controlled_length
        self._client.received(size)
        if stream is None or stream.swallows:
            self._client.passed(event.stream_id, size)
        elif size:
            stream.up.items.append(Chunk(self._now, event.data, size))
        if stream is not None:
            if event.stream_ended is not None:
                self._request_ended(stream, End(self._now))
            self._pump(stream)

    def _on_request_trailers(self, event: h2_events.TrailersReceived) -> None:
        stream = self._by_client.get(event.stream_id)
        if stream is not None:
            self._request_ended(stream, Head(self._now, list(event.headers), ends=True))
            self._pump(stream)

    def _request_ended(self, stream: Stream, last: End | Head) -> None:
        stream.request_ended = True
        if not stream.swallows:
            stream.up.items.append(last)
        self._answer_if_due(stream)

    def _answer_if_due(self, stream: Stream) -> None:
        if stream.answer is not None and stream_effects.answers_at_once(stream):
            stream_effects.queue_answer(stream, self._now)

    def _on_client_reset(self, event: h2_events.StreamReset) -> None:
        stream = self._by_client.get(event.stream_id)
        if stream is not None:
            self._cancel(stream, event.error_code)
            self._remove(stream)

    # --- windows and settings -----------------------------------------------------------------

    def _on_window_of_client(self, event: h2_events.WindowUpdated) -> None:
        if event.stream_id:
            self._pump_if_known(self._by_client.get(event.stream_id))
        else:
            self._pump_blocked("client")

    def _on_window_of_upstream(self, event: h2_events.WindowUpdated) -> None:
        if event.stream_id:
            self._pump_if_known(self._by_upstream.get(event.stream_id))
        else:
            self._pump_blocked("upstream")

    def _pump_if_known(self, stream: Stream | None) -> None:
        if stream is not None:
            self._pump(stream)

    def _on_settings_of_client(self, event: h2_events.RemoteSettingsChanged) -> None:
        self._pump_blocked("client")

    def _on_settings_of_upstream(self, event: h2_events.RemoteSettingsChanged) -> None:
        settings = self._upstream.h2.remote_settings
        self._client.limit_streams(settings.max_concurrent_streams)
        if settings.enable_connect_protocol:
            self._client.allow_extended_connect()
        self._pump_blocked("upstream")
        self._open_waiting()

    # --- GOAWAY and ends ----------------------------------------------------------------------

    def _send_goaway(self, stream: Stream, effect: SendGoaway) -> None:
        """Send GOAWAY as a rule says. Streams below this one go on; the client forgets this one by itself."""
        last = max((self._last_finished_id, *self._by_client))
        self._client.send_goaway(stream.client_id if effect.answered else last, effect.code, effect.debug)
        self._refusing = self._draining = True
        stream.note("goaway", effect.code)

    def _goaway(self, side: Side, frame: GoawayFrame) -> None:
        """Pass GOAWAY on, with the id that means the same on the other leg."""
        if side == "client":
            self._upstream.send_goaway(0, frame.code, frame.debug)  # It concerns pushes: there are none.
            return
        if frame.last_stream_id == _HIGHEST_ID:
            self._client.send_goaway(_HIGHEST_ID, frame.code, frame.debug)  # A notice: another follows.
            return
        self._refusing = True
        refused = [stream for stream in self._by_client.values() if _is_beyond(stream, frame.last_stream_id)]
        kept = self._by_client.keys() - {stream.client_id for stream in refused}
        last = max((self._last_finished_id, *kept))
        for stream in refused:
            if stream.client_id < last:
                self._refuse(stream)  # Its id does not say so, because a later request overtook it.
            else:
                self._remove(stream)
        self._client.send_goaway(last, frame.code, frame.debug)

    def _ended(self, side: Side) -> None:
        """Note that a peer sends nothing more."""
        if side == "client":
            self._client_end = True
            for stream in tuple(self._by_client.values()):
                if stream.up.items and stream.up.items[0].at == math.inf:
                    self._remove(stream)  # A rule keeps it from ever being sent.
            return
        self._upstream_end = True
        for stream in tuple(self._by_upstream.values()):
            self._drop_request(stream)
            self._dropped(stream, ends=True)
            self._pump(stream)

    def _end_round(self) -> None:
        """Send what the legs have written, and the ends that nothing holds back any more."""
        if self.closed:
            return
        if self._hangs_up:
            self._client.send_goaway(self._last_client_id, NO_ERROR, b"")
        self._send_frames()
        if self._hangs_up:
            self._out.append(ToClient(Close(self._now)))
            self.closed = True
            return
        streams = self._by_client.values()
        if self._client_end and not self._inbox and not any(stream.up.items for stream in streams):
            self._pass_end("client", Eof(self._now))
        is_answering = any(stream.has_more or stream.answer is not None for stream in streams)
        if self._upstream_end and not self._inbox and not is_answering:
            self._pass_end("upstream", Eof(self._now))
        if self._draining and not streams:
            self._out.append(ToClient(Close(self._now)))
            self.closed = True

    def _pass_end(self, side: Side, event: Event) -> None:
        if side not in self._ends_passed:
            self._send_frames()
            self._ends_passed.add(side)
            self._out.append(ToUpstream(event) if side == "client" else ToClient(event))

    def _send_frames(self) -> None:
        self._client.settle()
        self._upstream.settle()
        to_upstream, to_client = self._upstream.output(), self._client.output()
        if to_upstream and "client" not in self._ends_passed:
            self._out.append(ToUpstream(Data(self._now, to_upstream)))
        if to_client and "upstream" not in self._ends_passed:
            self._out.append(ToClient(Data(self._now, to_client)))


def _is_beyond(stream: Stream, last_stream_id: int) -> bool:
    """Return whether the upstream does nothing about a request after GOAWAY with this id."""
    if stream.upstream_id is None:
        return bool(stream.up.items)
    return stream.upstream_id > last_stream_id


Handler: TypeAlias = Callable[[Http2Exchange, Any], None]

_HANDLERS: dict[Side, dict[type[h2_events.Event], Handler]] = {
    "client": {
        h2_events.RequestReceived: Http2Exchange._on_request,
        h2_events.DataReceived: Http2Exchange._on_upload,
        h2_events.TrailersReceived: Http2Exchange._on_request_trailers,
        h2_events.StreamReset: Http2Exchange._on_client_reset,
        h2_events.WindowUpdated: Http2Exchange._on_window_of_client,
        h2_events.RemoteSettingsChanged: Http2Exchange._on_settings_of_client,
    },
    "upstream": {
        h2_events.InformationalResponseReceived: Http2Exchange._on_interim,
        h2_events.ResponseReceived: Http2Exchange._on_response,
        h2_events.DataReceived: Http2Exchange._on_download,
        h2_events.TrailersReceived: Http2Exchange._on_trailers,
        h2_events.StreamReset: Http2Exchange._on_upstream_reset,
        h2_events.WindowUpdated: Http2Exchange._on_window_of_upstream,
        h2_events.RemoteSettingsChanged: Http2Exchange._on_settings_of_upstream,
    },
}
