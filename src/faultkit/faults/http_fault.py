"""What an HTTP fault is, and what it may decide, independent of the version of HTTP.

A fault acts in one of two places, and decides by plain values only:

    HttpFault.judge      on a request, before it goes to the upstream     ->  HttpVerdict
    AnswerFault.open     on an answer of the upstream, as it comes        ->  AnswerFilter

A layer that understands a version of HTTP carries the decisions out: `proxy/http` for HTTP/1.1, `proxy/http2`
for HTTP/2, with the same values:

    HttpVerdict(delay_s)          hold the request (or its own answer) back for so long
    HttpVerdict(status, …)        answer it here; with `call_upstream` the upstream gets it, and its answer
                                  is dropped
    AnswerHead(at, …)             status and header fields, complete at `at`; with `over_s` the client gets
                                  them little by little during the seconds before (in HTTP/2: at once)
    Content(at, payload)          a part of the content, not before `at`, without any framing
    Finished(at)                  the end of the message: `0 CRLF CRLF`, or END_STREAM
    Broken(at, how)               the message does not end: "close" ends the connection by FIN (in HTTP/2:
                                  GOAWAY, then FIN), "reset" breaks it off (RST; in HTTP/2: RST_STREAM),
                                  "hang" sends nothing more and leaves the connection open

A filter takes the pieces of one answer and returns pieces, so a chain of filters is a filter. Its laws: `at`
never decreases and is never before that of the piece that went in; the head comes first; nothing comes after
`Finished` or `Broken`. A piece that is returned as the same object is sent as it came.

`AnswerHead.fields` has no framing: the carrying layer derives it. `length` is what the answer claims as its
Content-Length, None if it claims none; a filter that changes it makes a wrong claim, and the layer sends
it as it is. Interim answers (1xx), answers that switch protocols, and own answers are not fed to filters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias

from faultkit.base.rng import Rng
from faultkit.faults.fault import FOREVER, Fault, Level

Fields: TypeAlias = tuple[tuple[str, str], ...]
"""Header fields: names as they were written, and values."""

Breaking: TypeAlias = Literal["close", "reset", "hang"]
"""How an answer ends that does not end as a message; see the module."""

MOST_HELD_BYTES = 1 << 20
"""Content of one answer that a filter may hold back because it does not know how much will come."""


@dataclass(frozen=True, slots=True)
class HttpVerdict:
    """What becomes of one HTTP request. By default it passes unchanged."""

    delay_s: float = 0.0
    """Seconds to wait before the request goes to the upstream, or before it is answered here."""
    status: int | None = None
    """Status to answer with instead of the upstream's."""
    body: str | None = None
    headers: Fields = ()
    """Fields of the answer beside those that its body needs."""
    call_upstream: bool = False
    """True if the upstream still gets the request; its answer is dropped."""
    fault: str = "http_error"
    """The kind of the fault that answers: the value of `X-Fault-Injected`."""


@dataclass(frozen=True, slots=True)
class RequestContext:
    """What a fault gets beside the request."""

    at: float
    """When the request arrived, in seconds on a monotonic clock."""
    rng: Rng
    memory: dict[str, Any] = field(default_factory=dict)
    """What the requests of a rule share, on one proxy."""


@dataclass(frozen=True)
class HttpFault(Fault):
    """A fault that acts on a request where HTTP is understood."""

    level: ClassVar[Level] = "http"

    @property
    def hides_answers(self) -> bool:
        """True if the upstream may do what it is asked to, and the client never gets its answer: what was
        done is then recorded in the ledger of the proxy."""
        return False

    @property
    def constant_verdict(self) -> HttpVerdict | None:
        """What becomes of every request, if it is the same for all; None: `judge` returns it."""
        return None

    def judge(self, given: RequestContext) -> HttpVerdict:
        """Return what becomes of a request."""
        raise NotImplementedError


# --- answers ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AnswerHead:
    """Status and header fields of a final answer."""

    at: float
    status: int
    fields: Fields = ()
    """Without those that frame the message or concern the connection."""
    length: int | None = None
    """Bytes of content that the answer claims to have; None if it claims nothing."""
    has_content: bool = True
    """False if none can follow: the answer to HEAD, 204, 304, or a length of 0."""
    over_s: float = 0.0
    """Seconds that the head takes to be sent; it is complete at `at`."""


@dataclass(frozen=True, slots=True)
class Content:
    """A part of the content."""

    at: float
    payload: bytes


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of a complete answer."""

    at: float


@dataclass(frozen=True, slots=True)
class Broken:
    """The end of an answer that is not complete."""

    at: float
    how: Breaking


AnswerPiece: TypeAlias = AnswerHead | Content | Finished | Broken


@dataclass(frozen=True, slots=True)
class AnswerContext:
    """What a filter gets when it opens on one answer."""

    rng: Rng
    note: Callable[[str, float], None]
    """Records what was injected: an effect such as `delay_ms` and its value."""


@dataclass(frozen=True, slots=True)
class Skipping:
    """Content of which a filter only needs the texts: events that are alike but for their text."""

    before: bytes
    """What stands before the text of each event."""
    behind: bytes
    """What stands behind it, from the quotation mark on."""
    takes: Callable[[Sequence[str]], bool]
    """Takes events by their texts, none of which is empty, and returns True, if all of them pass as they are,
    at once. False: nothing was taken, and their content is to be fed."""


class AnswerFilter:
    """One fault at work on one answer. This base lets everything pass."""

    __slots__ = ()
    reads_all: ClassVar[bool] = False
    """True if it reads the answer to its end, though a filter behind it ends it early."""

    @property
    def wake_at(self) -> float:
        """When the filter has more to send, whatever comes from the upstream; usually never."""
        return FOREVER

    def feed(self, piece: AnswerPiece) -> Iterable[AnswerPiece]:
        """Take one piece, and return what is to be sent."""
        return (piece,)

    def skipping(self, at: float) -> Skipping | None:
        """Return which content from `at` on may pass without being fed, until any is; None if none may."""
        return None

    def let_go(self, at: float) -> Iterable[AnswerPiece]:
        """Return what is still held back, because the rule acts no more. The filter is not fed again."""
        return ()

    def wake(self, at: float) -> Iterable[AnswerPiece]:
        """Return what is to be sent now that `wake_at` is reached."""
        return ()

    def cut_short(self, at: float) -> Iterable[AnswerPiece]:
        """Return what is held back only until its end is known: the upstream has ended before the answer."""
        return ()


@dataclass(frozen=True)
class AnswerFault(HttpFault):
    """A fault that acts on the upstream's answer to a request."""

    @property
    def paces(self) -> bool:
        """True if it sends content later than it comes: the upstream is then read no faster."""
        return False

    def judge(self, given: RequestContext) -> HttpVerdict:
        """Let the request pass."""
        return HttpVerdict()

    def open(self, answer: AnswerContext) -> AnswerFilter:
        """Return the filter for one answer."""
        raise NotImplementedError


def feed_through(filters: Iterable[AnswerFilter], piece: AnswerPiece) -> list[AnswerPiece]:
    """Feed a piece to a chain of filters, and return what leaves it."""
    pieces = [piece]
    for filter in filters:
        pieces = [given for each in pieces for given in filter.feed(each)]
    return pieces


def field_problem(name: str, value: str) -> str | None:
    """Return why a header field cannot be sent, None if it can (RFC 9110 §5.1, §5.5)."""
    if not name or not all(c.isalnum() or c in "!#$%&'*+-.^_`|~" for c in name) or not name.isascii():
        return f"a header name such as X-Reason, got {name!r}"
    if name.lower() in _OF_THE_LAYER:
        return f"no {name}, which the proxy writes itself"
    if not value.isascii() or not all(c.isprintable() or c == "\t" for c in value) or value != value.strip():
        return f"a value of printable ASCII for {name}, got {value!r}"
    return None


_OF_THE_LAYER = frozenset(
    ("content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "te")
)
