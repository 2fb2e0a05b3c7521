"""Faults of LLM APIs: a request that a fault decides about, its verdict, and filters of answers. No clock.

A fault decides before the provider is asked, in one verdict: another request, an answer in place of the
provider's, or a filter through which the answer goes. Verdicts of several rules add up: their filters are a
chain, in the order of the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from faultkit.base.rng import Rng
from faultkit.faults.dialects.dialect import Dialect, LlmRequest, RefusalKind, headers_for
from faultkit.faults.dialects.frames import ArrayJoiner
from faultkit.faults.dialects.json_members import write_json
from faultkit.faults.dialects.llm_events import Chunk, End, Head, LlmEvent, Part, moved_to
from faultkit.faults.dialects.turn import count_tokens
from faultkit.faults.fault import Fault, Level, setting

INJECTED = "(fault injected)"
"""Stands at the end of every message of ours, so that no injected error is taken for a real one."""


@dataclass(frozen=True, slots=True)
class LlmCircumstances:
    """What a fault may use to decide and to act."""

    at: float
    """When the request came."""
    rng: Rng
    memory: dict[str, Any]
    """What the requests of a rule share."""
    note: Callable[[str, float | None], None]
    """Called when the fault acts, with the effect and its amount."""


class LlmFilter:
    """A fault at work on one answer. This base lets everything pass.

    Laws: what comes out is never earlier than what went in; after an End nothing comes out; an End that goes
    in, or one of its own, comes out once."""

    is_endless = False
    """True once it goes on by itself, with events that are made when they are taken."""

    def feed(self, event: LlmEvent) -> Iterable[LlmEvent]:
        """Take one event, and return what is to be passed on."""
        if isinstance(event, Chunk):
            return self.chunk(event)
        return self.head(event) if isinstance(event, Head) else self.end(event)

    def skipping(self) -> Callable[[Sequence[str]], bool] | None:
        """Return a function for chunks of which the texts are enough, until anything is fed; None if chunks
        are always needed.

        It takes chunks by their texts, none of which is empty, and returns True, if all of them pass as they
        are. False: nothing was taken, and the chunks are to be fed."""
        return None

    def head(self, head: Head) -> Iterable[LlmEvent]:
        """Return what becomes of the status and the headers."""
        return (head,)

    def chunk(self, chunk: Chunk) -> Iterable[LlmEvent]:
        """Return what becomes of a chunk."""
        return (chunk,)

    def end(self, end: End) -> Iterable[LlmEvent]:
        """Return what becomes of the end."""
        return (end,)

    def let_go(self, at: float) -> Iterable[LlmEvent]:
        """Return what is still held back, because the rule acts no more. The filter is not fed again."""
        return [event for event in self.end(End(at, "cut")) if not isinstance(event, End)]


@dataclass(frozen=True, slots=True)
class LlmVerdict:
    """The treatment of one request. By default request and answer pass unchanged."""

    body: Mapping[str, Any] | None = None
    """The document of the request, in place of the client's."""
    answer: tuple[LlmEvent, ...] | None = None
    """The answer; the provider is not asked."""
    filter: LlmFilter | None = None


@dataclass(frozen=True)
class LlmFault(Fault):
    """A fault that acts on a request to a model, or on its answer."""

    level: ClassVar[Level] = "llm"
    streams_only: ClassVar[bool] = False
    """True if it has no meaning on a whole answer."""

    def judge(self, request: LlmRequest, given: LlmCircumstances) -> LlmVerdict:
        """Return what becomes of a request."""
        raise NotImplementedError


# --- parts that faults are made of ------------------------------------------------------------------


def is_delta(chunk: Chunk) -> bool:
    """Return whether a chunk brings something of the answer: text, or a part of a call."""
    return any(part.value and part.kind in ("text", "arguments", "call_name") for part in chunk.parts)


def tokens_of(chunk: Chunk) -> int:
    """Return how many tokens a chunk brings."""
    count = 0
    for part in chunk.parts:
        if part.kind in ("text", "arguments"):
            count += count_tokens(text_of(part))
    return count


def text_of(part: Part) -> str:
    """Return the value of a part as text: arguments may be a JSON object."""
    return part.value if isinstance(part.value, str) else write_json(part.value).decode()


@dataclass(frozen=True)
class PositionedFault(LlmFault):
    """A fault that acts from a position of the answer on."""

    usual_tokens: ClassVar[int] = 0
    """Tokens that pass before it acts where `after_tokens` is None, and a stream has no `after_events`."""

    after_tokens: int | None = setting(0, "Tokens that pass before it acts.", minimum=0)
    after_events: int | None = setting(None, "Events with content that pass before it acts.", minimum=0)

    def check(self) -> None:
        if self.after_tokens and self.after_events:
            raise ValueError("after_events: expected it or after_tokens, got both")

    @property
    def tokens_before(self) -> int:
        """Tokens of a whole answer that pass before it acts."""
        return self.usual_tokens if self.after_tokens is None else self.after_tokens


@dataclass(frozen=True)
class MidwayFault(PositionedFault):
    """A fault that acts in the middle of an answer, if nothing else is asked for."""

    usual_tokens: ClassVar[int] = 3

    after_tokens: int | None = setting(
        None, "Tokens that pass before it acts; 3, unless after_events is set.", minimum=0
    )


class PositionedFilter(LlmFilter):
    """Counts tokens and events with content, and acts from a position on."""

    def __init__(self, fault: PositionedFault, request: LlmRequest, given: LlmCircumstances) -> None:
        self.request = request
        self.dialect: Dialect = request.dialect
        self.given = given
        self.after_tokens = fault.tokens_before
        self.after_events = fault.after_events or 0
        self._least_tokens = fault.tokens_before if fault.after_events is None else 0
        self._tokens = self._events = 0
        self.is_acting = False
        self.is_over = False
        """True if nothing comes out any more."""

    def feed(self, event: LlmEvent) -> Iterable[LlmEvent]:
        if self.is_over:
            return ()
        return self.chunk(event) if isinstance(event, Chunk) else super().feed(event)

    def chunk(self, chunk: Chunk) -> Iterable[LlmEvent]:
        if chunk.is_whole:
            return self.whole(chunk) if is_delta(chunk) else (chunk,)
        if self.is_acting:
            return self.later(chunk)
        if not is_delta(chunk):
            return (chunk,)
        if self._tokens >= self._least_tokens and self._events >= self.after_events:
            self.is_acting = True
            return self.first(chunk)
        self._tokens += tokens_of(chunk)
        self._events += 1
        return (chunk,)

    def skipping(self) -> Callable[[Sequence[str]], bool] | None:
        looks_at_each = type(self).chunk is not PositionedFilter.chunk
        return None if self.is_acting or self.is_over or looks_at_each else self._skip

    def _skip(self, texts: Sequence[str]) -> bool:
        tokens, events = self._tokens, self._events + len(texts) - 1
        for text in texts[:-1]:
            tokens += count_tokens(text)
        if tokens >= self._least_tokens and events >= self.after_events:
            return False
        self._tokens = tokens + count_tokens(texts[-1])
        self._events = events + 1
        return True

    def first(self, chunk: Chunk) -> Iterable[LlmEvent]:
        """Return what becomes of the first event with content behind the position."""
        raise NotImplementedError

    def later(self, chunk: Chunk) -> Iterable[LlmEvent]:
        """Return what becomes of every chunk after the first."""
        return (chunk,)

    def whole(self, chunk: Chunk) -> Iterable[LlmEvent]:
        """Return what becomes of a whole answer."""
        return (chunk,)

    def finish(self, *events: LlmEvent) -> tuple[LlmEvent, ...]:
        """Return the last events: nothing comes out after them."""
        self.is_over = True
        return events


def refused(
    request: LlmRequest,
    kind: RefusalKind,
    message: str,
    at: float,
    *,
    retry_after_s: float | None = None,
    headers: Iterable[tuple[str, str]] = (),
    status: int | None = None,
) -> tuple[LlmEvent, ...]:
    """Return an answer that is an error of the provider."""
    refusal = request.dialect.refusal(kind, f"{message} {INJECTED}", request.model, retry_after_s)
    body = refusal.body
    parts = (Part("error", refusal.document.get("error"), ("error",)),)
    chunk = Chunk(at, body, body, 0, len(body), parts=parts, is_whole=True)
    head = Head(at, status or refusal.status, headers_for("whole", (*refusal.headers, *headers)))
    return head, chunk, End(at)


class LlmChain:
    """Filters one after the other. It keeps the laws of time and of the end, and arrays well-formed."""

    def __init__(self, filters: Iterable[LlmFilter], *, is_array: bool = False) -> None:
        self._filters = list(filters)
        self._at = 0.0
        self._is_over = False
        self._joiner = ArrayJoiner() if is_array else None

    @property
    def is_endless(self) -> bool:
        """True once a filter goes on by itself: nothing that is fed later comes out."""
        return any(filter.is_endless for filter in self._filters)

    def feed(self, event: LlmEvent) -> Iterator[LlmEvent]:
        """Yield what comes out of the last filter. Take all of it before the next event is fed; a filter may
        make events without number, such as keep-alives, only when they are taken."""
        return self._feed(event, self._filters)

    def feed_chunks(self, chunks: Sequence[Chunk]) -> tuple[int, Iterable[LlmEvent]]:
        """Feed chunks while they pass as they are, which costs little. Return how many did, and what comes
        out for the next, which was fed, too; of that, the same is true as of what `feed` yields."""
        filters = self._filters
        if self._joiner is not None or self._is_over:
            return 0, self.feed(chunks[0])
        for number, chunk in enumerate(chunks):
            if chunk.at < self._at:
                return number, self.feed(chunk)
            for place, filter in enumerate(filters):
                given = filter.feed(chunk)
                if not isinstance(given, tuple) or len(given) != 1 or given[0] is not chunk:
                    return number, self._leave(_through_all(filters[place + 1 :], given))
            self._at = chunk.at
        return len(chunks), ()

    def skipping(self, at: float) -> Callable[[Sequence[str]], bool] | None:
        """Return a function as that of a filter, for what comes from `at` on."""
        if len(self._filters) != 1 or self._joiner is not None or self._is_over or at < self._at:
            return None
        return self._filters[0].skipping()

    def let_go(self, acts: Callable[[int], bool], at: float) -> list[LlmEvent]:
        """Take out the filters that act no more, asked by their position, and return what they hold back."""
        gone = [place for place in range(len(self._filters)) if not acts(place)]
        out: list[LlmEvent] = []
        self._at = min(self._at, at)
        for place in gone:
            held, self._filters[place] = self._filters[place].let_go(at), LlmFilter()
            for event in held:
                out += self._feed(event, self._filters[place + 1 :])
        return out

    def _feed(self, event: LlmEvent, filters: Sequence[LlmFilter]) -> Iterator[LlmEvent]:
        return self._leave(filters[0].feed(event) if len(filters) == 1 else _through_all(filters, (event,)))

    def _leave(self, events: Iterable[LlmEvent]) -> Iterator[LlmEvent]:
        """Yield what has come through all filters, until its end."""
        for each in events:
            if self._is_over:
                return
            yield self._out(each)

    def _out(self, event: LlmEvent) -> LlmEvent:
        self._at = max(self._at, event.at)
        self._is_over = isinstance(event, End)
        if self._joiner is not None and isinstance(event, Chunk) and not event.is_whole:
            raw = self._joiner.join(event.raw, event.start, is_object=bool(event.payload))
            if raw != event.raw:
                event = replace(event, raw=raw)
        return moved_to(event, self._at)


def _through_all(filters: Iterable[LlmFilter], events: Iterable[LlmEvent]) -> Iterable[LlmEvent]:
    for filter in filters:
        events = _through(filter, events)
    return events


def _through(filter: LlmFilter, events: Iterable[LlmEvent]) -> Iterator[LlmEvent]:
    for event in events:
        yield from filter.feed(event)
