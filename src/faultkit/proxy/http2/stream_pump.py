"""The streams of one connection, and how what waits in them is sent: in order, not before its time, and
within the windows of the peers."""

from __future__ import annotations

import heapq
import math
from collections import deque
from dataclasses import replace
from typing import Literal, TypeAlias

from h2.exceptions import ProtocolError

from faultkit.proxy.http2.items import Abort, Chunk, End, Head
from faultkit.proxy.http2.leg import Leg
from faultkit.proxy.http2.stream import Lane, Stream

Side: TypeAlias = Literal["client", "upstream"]

NO_ERROR, INTERNAL_ERROR, REFUSED_STREAM, CANCEL = 0x0, 0x2, 0x7, 0x8


class StreamPump:
    """The streams of both legs. `Http2Exchange` fills them."""

    __slots__ = (
        "_blocked",
        "_by_client",
        "_by_upstream",
        "_client",
        "_hangs_up",
        "_headers_size",
        "_last_finished_id",
        "_now",
        "_timers",
        "_upstream",
        "_waiting",
    )

    def __init__(self) -> None:
        self._client = Leg(to_upstream=False)
        self._upstream = Leg(to_upstream=True)
        self._by_client: dict[int, Stream] = {}
        self._by_upstream: dict[int, Stream] = {}
        self._waiting: deque[Stream] = deque()
        """Streams that wait until the upstream takes one more."""
        self._blocked: dict[Side, dict[Stream, None]] = {"client": {}, "upstream": {}}
        """Streams that wait for window of a peer."""
        self._timers: list[tuple[float, int]] = []
        """When streams have something to do, with their ids on the client's side."""
        self._headers_size = 0
        """Bytes of the header fields of all requests."""
        self._last_finished_id = 0
        self._hangs_up = False
        """The client's connection is closed at the end of this round."""
        self._now = 0.0
        """Time of what is being handled."""

    # --- one stream ---------------------------------------------------------------------------

    def _add(self, stream: Stream) -> None:
        self._by_client[stream.client_id] = stream
        self._headers_size += stream.request.size

    def _pump(self, stream: Stream) -> None:
        """Send what may be sent of a stream."""
        self._pump_up(stream, math.inf)
        self._pump_down(stream, math.inf)
        if stream.is_over:
            self._remove(stream)

    def _pump_up(self, stream: Stream, most_chunks: float) -> float:
        """Send so many chunks of a request, and return how many more might have gone."""
        lane, leg = stream.up, self._upstream
        while lane.items and self._is_due(stream, lane):
            item, stream_id = lane.items[0], stream.upstream_id
            if stream_id is None:
                if not isinstance(item, Head) or not self._open(stream, item):
                    return most_chunks
                lane.done = item.ends
            elif isinstance(item, Chunk):
                if most_chunks <= 0 or not self._send_part(
                    lane, item, (leg, stream_id), (self._client, stream.client_id), stream
                ):
                    self._blocked["upstream"][stream] = None
                    return most_chunks
                most_chunks -= 1
                continue
            elif isinstance(item, Head):
                leg.send_fields(stream_id, item.fields, ends=True)
                lane.done = True
            elif isinstance(item, End):
                leg.send_data(stream_id, b"", ends=True)
                lane.done = True
            lane.items.popleft()
        return most_chunks

    def _pump_down(self, stream: Stream, most_chunks: float) -> float:
        """Send so many chunks of an answer, and return how many more might have gone."""
        lane, leg, stream_id = stream.down, self._client, stream.client_id
        while lane.items and self._is_due(stream, lane):
            item = lane.items[0]
            if isinstance(item, Chunk):
                if most_chunks <= 0 or not self._send_part(
                    lane, item, (leg, stream_id), (self._upstream, stream.upstream_id or 0), stream
                ):
                    self._blocked["client"][stream] = None
                    return most_chunks
                most_chunks -= 1
                continue
            lane.items.popleft()
            if isinstance(item, Head):
                leg.send_fields(stream_id, item.fields, item.ends)
                lane.done = item.ends
            elif isinstance(item, End):
                leg.send_data(stream_id, b"", ends=True)
                lane.done = True
            elif isinstance(item, Abort):
                leg.reset(stream_id, item.code)
                self._drop_request(stream)
                lane.done = True
            else:
                self._hangs_up = lane.done = True
        return most_chunks

    def _is_due(self, stream: Stream, lane: Lane) -> bool:
        at = lane.items[0].at
        if at <= self._now:
            return True
        if at != math.inf and at != lane.armed_at:
            lane.armed_at = at
            heapq.heappush(self._timers, (at, stream.client_id))
        return False

    def _send_part(
        self, lane: Lane, item: Chunk, target: tuple[Leg, int], source: tuple[Leg, int], stream: Stream
    ) -> bool:
        """Send as much of a chunk as one frame and the window allow. False if that is nothing."""
        leg, stream_id = target
        room = leg.window(stream_id)
        if lane.most is not None and lane.passed + len(item.payload) > lane.most:
            if not lane.is_full:
                lane.is_full = True
                stream.note("withheld_after_bytes", lane.most)
            room = min(room, lane.most - lane.passed)
        part = item.payload[:room]
        if item.payload and not part:
            return False
        lane.passed += len(part)
        is_whole = len(part) == len(item.payload)
        is_last = is_whole and len(lane.items) > 1 and isinstance(lane.items[1], End)
        is_last = is_last and lane.items[1].at <= self._now
        if part:
            leg.send_data(stream_id, part, ends=is_last)
        credit = item.credit if is_whole else len(part)
        if item.credit:
            source[0].passed(source[1], credit)
        if not is_whole:
            rest = item.credit - credit if item.credit else 0
            lane.items[0] = replace(item, payload=item.payload[len(part) :], credit=rest)
            return True
        lane.items.popleft()
        if is_last and part:
            lane.items.popleft()
            lane.done = True
        return True

    # --- opening and ending -------------------------------------------------------------------

    def _open(self, stream: Stream, head: Head) -> bool:
        """Send a request to the upstream. False if the upstream takes no more for now, or refuses it."""
        leg = self._upstream.h2
        if len(self._by_upstream) >= leg.remote_settings.max_concurrent_streams:
            if stream not in self._waiting:
                self._waiting.append(stream)
            return False
        try:
            stream_id = leg.get_next_available_stream_id()
            leg.send_headers(stream_id, head.fields, end_stream=head.ends)
        except ProtocolError:
            self._refuse(stream)
            return False
        stream.upstream_id = stream_id
        self._by_upstream[stream_id] = stream
        return True

    def _open_waiting(self) -> None:
        """Send requests that wait, as long as the upstream takes them."""
        while self._waiting:
            stream = self._waiting.popleft()
            self._pump(stream)
            if self._waiting and self._waiting[-1] is stream:
                self._waiting.rotate(1)  # It still waits, and keeps its place.
                return

    def _refuse(self, stream: Stream) -> None:
        """Tell the client that the upstream did nothing about a request (RFC 9113 §8.7)."""
        self._client.reset(stream.client_id, REFUSED_STREAM)
        self._drop_request(stream)
        self._remove(stream)

    def _drop_request(self, stream: Stream) -> None:
        """Send no more of a request to the upstream."""
        lane = stream.up
        self._client.passed(stream.client_id, lane.credit)
        lane.items.clear()
        lane.done = stream.swallows = True

    def _drop_answer(self, stream: Stream) -> None:
        """Send no more of an answer to the client."""
        lane, path = stream.down, stream.path
        self._upstream.passed(stream.upstream_id or 0, lane.credit)
        lane.items.clear()
        if path is not None:
            self._upstream.passed(stream.upstream_id or 0, path.credit)
            path.backlog.clear()
        lane.done = stream.deaf = True

    def _cancel(self, stream: Stream, code: int) -> None:
        """Reset the upstream's stream, and drop what was meant for it."""
        if stream.upstream_id is not None:
            self._upstream.reset(stream.upstream_id, code)
        self._drop_request(stream)

    def _remove(self, stream: Stream) -> None:
        """Forget a stream."""
        if self._by_client.pop(stream.client_id, None) is None:
            return
        self._drop_request(stream)
        self._drop_answer(stream)
        self._client.forget(stream.client_id)
        self._headers_size -= stream.request.size
        self._last_finished_id = max(self._last_finished_id, stream.client_id)
        for blocked in self._blocked.values():
            blocked.pop(stream, None)
        if stream.upstream_id is not None:
            self._upstream.forget(stream.upstream_id)
            del self._by_upstream[stream.upstream_id]
            self._open_waiting()

    # --- all streams --------------------------------------------------------------------------

    def _pump_due(self) -> None:
        """Send what has become due."""
        while self._timers and self._timers[0][0] <= self._now:
            stream = self._by_client.get(heapq.heappop(self._timers)[1])
            if stream is not None:
                self._pump(stream)

    def _pump_blocked(self, side: Side) -> None:
        """Send a frame of each stream that waits for window, in turn, until the window is used up."""
        blocked = self._blocked[side]
        pump = self._pump_down if side == "client" else self._pump_up
        progress = True
        while progress:
            progress = False
            for stream in tuple(blocked):
                blocked.pop(stream, None)
                # Not by the bytes: a frame may have nothing but padding.
                progress = pump(stream, 1) < 1 or progress
                if stream.is_over:
                    self._remove(stream)
