"""The values of a run of probes: options, responses, judgements with their evidence, and the report. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from faultkit.base.text import one_line
from faultkit.faults.call_fault import Era, Transport
from faultkit.mcp.wire.message import encode

Level: TypeAlias = Literal["MUST", "SHOULD"]
ProbeVerdict: TypeAlias = Literal["passed", "failed", "not applicable", "inconclusive"]
VERDICTS: tuple[ProbeVerdict, ...] = ("passed", "failed", "not applicable", "inconclusive")


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict with its reason."""

    verdict: ProbeVerdict
    why: str


def passed(why: str) -> Judgement:
    """Return the judgement that the server did as expected."""
    return Judgement("passed", why)


def failed(why: str) -> Judgement:
    """Return the judgement that the server did not do as expected."""
    return Judgement("failed", why)


def not_applicable(why: str) -> Judgement:
    """Return the judgement that the probe does not fit this server."""
    return Judgement("not applicable", why)


def inconclusive(why: str) -> Judgement:
    """Return the judgement that the probe showed nothing."""
    return Judgement("inconclusive", why)


@dataclass(frozen=True, slots=True)
class ProbeEvidence:
    """One message that was sent and what was received for it, both shortened."""

    sent: str
    came: str


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """The result of one probe."""

    id: str
    title: str
    level: Level
    judgement: Judgement
    evidence: tuple[ProbeEvidence, ...] = ()
    called: tuple[str, ...] = ()
    """The tools that the probe called, one entry for each call."""

    @property
    def verdict(self) -> ProbeVerdict:
        return self.judgement.verdict


@dataclass(frozen=True, slots=True)
class EdgeReport:
    """The results of all probes of one server."""

    target: str
    transport: Transport
    era: Era
    server: str
    """Name and version, as the server gives them."""
    results: tuple[ProbeResult, ...]
    notes: tuple[str, ...] = ()
    restarts: int = 0
    """Number of restarts because a probe had ended the server."""

    def failures(self, *levels: Level) -> list[ProbeResult]:
        """Return the failed results of these levels."""
        return [each for each in self.results if each.verdict == "failed" and each.level in levels]

    def is_met(self, *, strict: bool) -> bool:
        """Return whether no MUST failed and, if strict, no SHOULD."""
        return not (self.failures("MUST", "SHOULD") if strict else self.failures("MUST"))

    @property
    def called(self) -> Mapping[str, int]:
        """Number of calls by tool."""
        names = [name for each in self.results for name in each.called]
        return {name: names.count(name) for name in sorted(set(names))}


@dataclass(frozen=True, slots=True)
class ProbeOptions:
    """The options of a run."""

    only: tuple[str, ...] = ()
    """Ids of the probes to run; all if empty."""
    tools: tuple[str, ...] = ()
    """The tools that may be called; by default those that declare themselves harmless."""
    slow: tuple[str, Mapping[str, object] | None] | None = None
    """A tool that takes longer than the time limit of the server, and its arguments."""
    wait_s: float = 10.0
    """Seconds to wait for each answer."""


_MOST_CHARACTERS = 200
_END_CHARACTERS = 80
"""Characters at each end of a longer text that are shown."""


@dataclass(frozen=True, slots=True)
class ProbeResponse:
    """The replies to one request, as the judgements see them."""

    sent: bytes
    replies: tuple[Mapping[str, Any], ...] = ()
    """The responses that were received."""
    status: int | None = None
    """The HTTP status of the answer; None over stdio."""
    trouble: str = ""
    """Why there is no reply: timeout, lost connection, ended process, or an answer that is no response."""
    is_lost: bool = False
    """True if the connection or the process was lost."""

    @property
    def reply(self) -> Mapping[str, Any] | None:
        return self.replies[0] if self.replies else None

    @property
    def code(self) -> int | None:
        """The code of a JSON-RPC error; None for other replies."""
        error = None if self.reply is None else self.reply.get("error")
        code = error.get("code") if isinstance(error, Mapping) else None
        return code if type(code) is int else None

    @property
    def result(self) -> Mapping[str, Any] | None:
        found = None if self.reply is None else self.reply.get("result")
        return found if isinstance(found, Mapping) else None

    @property
    def is_tool_error(self) -> bool:
        return self.result is not None and self.result.get("isError") is True

    @property
    def problem(self) -> str:
        """Why this is not a clean answer; empty if it is one, whether a result or an error."""
        if self.reply is None:
            return self.trouble or "no reply came"
        if len(self.replies) > 1:
            return f"{len(self.replies)} replies came for one request"
        return _malformed(self.reply)

    @property
    def kind(self) -> str:
        """The kind of answer in a word; answers of one kind may differ in content."""
        if self.problem:
            return self.problem
        if self.code is not None:
            return f"error {self.code}"
        return "isError" if self.is_tool_error else "result"

    @property
    def evidence(self) -> ProbeEvidence:
        status = "" if self.status is None else f"HTTP {self.status} "
        came = " ".join(shortened(encode(dict(reply))) for reply in self.replies)
        return ProbeEvidence(shortened(self.sent), f"{status}{came or self.trouble or 'nothing'}".strip())


def _malformed(reply: Mapping[str, Any]) -> str:
    if reply.get("jsonrpc") != "2.0":
        return 'the reply lacks "jsonrpc": "2.0"'
    if ("result" in reply) == ("error" in reply):
        return "the reply has both a result and an error" if "result" in reply else "the reply has neither"
    error = reply.get("error")
    if "error" in reply and not (
        isinstance(error, Mapping)
        and type(error.get("code")) is int
        and isinstance(error.get("message"), str)
    ):
        return "the error of the reply lacks a whole number as code or a text as message"
    return ""


def shortened(raw: bytes) -> str:
    """Return the text on one line, without its middle if it is long."""
    text = one_line(raw[: 4 * _MOST_CHARACTERS].decode("utf-8", "replace"))
    if len(raw) <= 4 * _MOST_CHARACTERS and len(text) <= _MOST_CHARACTERS:
        return text
    end = one_line(raw[-4 * _END_CHARACTERS :].decode("utf-8", "replace"))[-_END_CHARACTERS:]
    return f"{text[:_END_CHARACTERS]} … ({len(raw):,} bytes) … {end}"
