"""The values of a run of probes: options, responses, judgements with their evidence, and the report. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from faultkit.base.text import escaped_line, one_line
from faultkit.faults.call_fault import Era, Transport
from faultkit.mcp.wire.era import era_of
from faultkit.mcp.wire.message import Id, encode, read

Level: TypeAlias = Literal["MUST", "SHOULD"]
ProbeVerdict: TypeAlias = Literal["passed", "failed", "not applicable", "inconclusive"]
VERDICTS: tuple[ProbeVerdict, ...] = ("passed", "failed", "not applicable", "inconclusive")


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict with its reason."""

    verdict: ProbeVerdict
    why: str
    is_unanswered: bool = False
    """True if it failed because a valid request got no reply, or the server ended; a malformed reply is none.
    Such a failure counts at every level."""


def passed(why: str) -> Judgement:
    """Return the judgement that the server did as expected."""
    return Judgement("passed", why)


def failed(why: str) -> Judgement:
    """Return the judgement that the server did not do as expected."""
    return Judgement("failed", why)


def unanswered(why: str) -> Judgement:
    """Return the judgement that a valid request got no valid reply, or that the server ended."""
    return Judgement("failed", why, is_unanswered=True)


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
    took_s: float = 0.0

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
    expected_failures: tuple[str, ...] = ()
    """Ids of the probes that are known to fail."""
    started_at: str = ""
    """ISO 8601; empty if unknown."""

    def is_expected(self, result: ProbeResult) -> bool:
        """Return whether a probe failed as expected."""
        return result.verdict == "failed" and result.id in self.expected_failures

    def failures(self, *, strict: bool) -> list[ProbeResult]:
        """Return the results that fail the run: of a MUST or, if strict, of a SHOULD, and those of a server
        that did not answer. Expected failures are not among them."""
        return [
            each
            for each in self.results
            if each.verdict == "failed"
            and (strict or each.level == "MUST" or each.judgement.is_unanswered)
            and each.id not in self.expected_failures
        ]

    @property
    def unexpected_passes(self) -> list[ProbeResult]:
        """The results that passed although they were expected to fail."""
        return [
            each for each in self.results if each.verdict == "passed" and each.id in self.expected_failures
        ]

    def is_met(self, *, strict: bool) -> bool:
        """Return whether nothing failed the run, and each expected failure was one."""
        return not self.failures(strict=strict) and not self.unexpected_passes

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
    skip: tuple[str, ...] = ()
    """Ids of the probes to leave out."""
    expected_failures: tuple[str, ...] = ()
    """Ids of the probes that are known to fail."""
    tools: tuple[str, ...] = ()
    """The tools that may be called; by default those that declare themselves read-only."""
    arguments: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """Arguments for calls of tools, by their names; by default they are made from the schema."""
    era: Era | None = None
    """The protocol era to use; by default the legacy one, and the modern one if the server refuses that."""
    slow: tuple[str, Mapping[str, object] | None] | None = None
    """A tool that takes longer than the time limit of the server, and its arguments."""
    wait_s: float = 10.0
    """Seconds to wait for each answer."""


INPUT_REQUIRED = "input_required"
_COMPLETE = "complete"
_RESULT_TYPES = (_COMPLETE, INPUT_REQUIRED)
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
    id: Id | None = None
    """The id of the request; None if replies with any id are its own."""
    other_lines: tuple[bytes, ...] = ()
    """What came while no reply did: replies with another id, and lines or events that are no message."""

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
            others = f", but {_described(self.other_lines)}" if self.other_lines else ""
            return f"{self.trouble or 'no reply came'}{others}"
        if len(self.replies) > 1:
            return f"{len(self.replies)} replies came for one request"
        return self._flaw(self.reply)

    def _flaw(self, reply: Mapping[str, Any]) -> str:
        """Return what is wrong with a reply; empty if nothing is."""
        flaw = _malformed(reply) or _wrong_id(reply, self.id)
        if not flaw and self._result_type not in _RESULT_TYPES:
            # MCP 2026-07-28, Overview, Result Responses: a client treats it as an error.
            flaw = f"the result has the unknown resultType {shortened(encode(self._result_type))}"
        return flaw

    @property
    def _result_type(self) -> object:
        """The type of the result, which only the modern era has."""
        given = _COMPLETE if self.result is None else self.result.get("resultType", _COMPLETE)
        is_typed = given != _COMPLETE and era_of(read(self.sent)) == "modern"
        return given if is_typed else _COMPLETE

    @property
    def asks_for_input(self) -> bool:
        """True if the server asks for input in place of a result."""
        return self._result_type == INPUT_REQUIRED

    @property
    def is_unanswered(self) -> bool:
        """True if neither a reply nor an HTTP error came; a reply that is malformed, of an unknown type or
        with another id is none."""
        if self.reply is not None and not self._flaw(self.reply):
            return False
        return self.is_lost or self.status is None or self.status < 400

    @property
    def kind(self) -> str:
        """The kind of answer in a word; answers of one kind may differ in content."""
        if self.problem:
            return self.problem
        if self.code is not None:
            return f"error {self.code}"
        if self.asks_for_input:
            return INPUT_REQUIRED
        return "isError" if self.is_tool_error else "result"

    @property
    def evidence(self) -> ProbeEvidence:
        status = "" if self.status is None else f"HTTP {self.status} "
        came = " ".join(shortened(encode(dict(reply))) for reply in self.replies)
        others = "; came: ".join(("", *map(shortened, self.other_lines)))
        return ProbeEvidence(
            shortened(self.sent), f"{status}{came or self.trouble or 'nothing'}{others}".strip()
        )


def _described(lines: tuple[bytes, ...]) -> str:
    """Return what came instead of a reply, by its first line."""
    incoming = read(lines[0])
    if incoming.kind == "response":
        return f"a reply with id {encode(incoming.message.get('id')).decode()}"
    return "a line that is not a JSON-RPC message"


def _wrong_id(reply: Mapping[str, Any], id: Id | None) -> str:
    """Return what is wrong with the id of a reply: a null id answers any, and `"1"` is not `1` (JSON-RPC 2.0,
    section 5)."""
    got = reply.get("id")
    if id is None or got is None or (type(got) is type(id) and got == id):
        return ""
    return f"the reply has id {encode(got).decode()}, and the request has {encode(id).decode()}"


def _malformed(reply: Mapping[str, Any]) -> str:
    if reply.get("jsonrpc") != "2.0":
        return 'the reply lacks "jsonrpc": "2.0"'
    if ("result" in reply) == ("error" in reply):
        return "the reply has both a result and an error" if "result" in reply else "the reply has neither"
    if "result" in reply and not isinstance(reply["result"], Mapping):
        # MCP 2025-11-25, Overview, Responses: the result is an object.
        return "the result of the reply is not an object"
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
    text = _visible(raw[: 4 * _MOST_CHARACTERS])
    if len(raw) <= 4 * _MOST_CHARACTERS and len(text) <= _MOST_CHARACTERS:
        return text
    end = _visible(raw[-4 * _END_CHARACTERS :])[-_END_CHARACTERS:]
    return f"{text[:_END_CHARACTERS]} … ({len(raw):,} bytes) … {end}"


def _visible(raw: bytes) -> str:
    return escaped_line(one_line(raw.decode("utf-8", "replace")))
