"""The battery: every fault of LLM APIs as one or more cases, and what a client can know of it. Pure.

A case has one fault. `shows` says what the answer itself shows of the fault, and so what may be asked of a
client: it is not to be blamed for what no client can see.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from faultkit.base.errors import InputError
from faultkit.base.text import did_you_mean
from faultkit.faults import FAULTS
from faultkit.faults.dialects.dialect import Dialect
from faultkit.faults.dialects.dialect_table import DIALECTS
from faultkit.llm.profile.evidence import ClientRun
from faultkit.plan import Plan, llm_namesake, parse_rule

Shows: TypeAlias = Literal["late", "error", "incomplete", "nothing"]
SHOWS: dict[Shows, str] = {
    "late": "the answer comes late, or never",
    "error": "the provider gives an error with its reason",
    "incomplete": "the answer is not whole, and its protocol shows that",
    "nothing": "nothing in the answer shows it",
}
Need: TypeAlias = Literal["stream", "calls", "call_ids", "event_names", "usage", "filter_reason"]

DIALECT_NAMES: dict[str, str] = {
    "openai": "openai_chat",
    "openai-responses": "openai_responses",
    "anthropic": "anthropic_messages",
    "gemini": "gemini",
    "ollama": "ollama",
}
"""Names of dialects on the command line, and in the table of dialects."""


def dialect_name(own: str) -> str:
    """Return the name on the command line of a dialect of the table; empty for none."""
    return next((name for name, each in DIALECT_NAMES.items() if each == own), "")


_WITH_CALL_IDS = ("openai_chat", "openai_responses", "anthropic_messages")
_WITH_EVENT_NAMES = ("openai_responses", "anthropic_messages")

RETRY_AFTER_S = 2.0
_SHORT_MS = 1500.0
_AFTER = 4
"""Tokens of the answer that come before a fault in its middle."""


@dataclass(frozen=True, slots=True)
class Case:
    """One run of the battery."""

    name: str
    """The kind of the fault, and after a colon the variant if there are several."""
    shows: Shows
    settings: Mapping[str, Any] = field(default_factory=dict)
    first: int | None = None
    """The fault acts on so many requests and then no more; None for all."""
    is_permanent: bool = False
    """A retry cannot help: the request, the key or the account must change first."""
    needs: frozenset[Need] = frozenset()

    @property
    def kind(self) -> str:
        """The fault."""
        return self.name.partition(":")[0]

    def plan(self, seed: int | str) -> Plan:
        """Return the plan with its one rule."""
        document: dict[str, Any] = {"fault": self.kind, "with": dict(self.settings)}
        if self.first is not None:
            document["trigger"] = {"first": self.first}
        return Plan((parse_rule(document),), seed)


@dataclass(frozen=True, slots=True)
class Traffic:
    """What the client does if nothing is wrong, as far as it decides which faults can act."""

    dialect: Dialect
    is_streamed: bool
    has_calls: bool
    has_usage: bool

    def meets(self, case: Case) -> bool:
        """Return whether the fault of a case can act."""
        met: dict[Need, bool] = {
            "stream": self.is_streamed,
            "calls": self.has_calls,
            "call_ids": self.has_calls and self.dialect.name in _WITH_CALL_IDS,
            "event_names": self.is_streamed and self.dialect.name in _WITH_EVENT_NAMES,
            "usage": self.has_usage,
            "filter_reason": self.dialect.finishes["content_filter"] != self.dialect.finishes["stop"],
        }
        return all(met[need] for need in case.needs)


def traffic_of(control: ClientRun) -> Traffic:
    """Return what the client does if nothing is wrong."""
    first = control.requests[0]
    return Traffic(
        DIALECTS[first.dialect],
        any(request.is_streamed for request in control.requests),
        any(request.has_calls for request in control.requests),
        any(request.has_usage for request in control.requests),
    )


def battery(limit_s: float) -> tuple[Case, ...]:
    """Return all cases. Faults that never end last for longer than the time limit of a run."""
    for_ever_s = 2 * limit_s + 60
    for_ever_ms = 1000 * for_ever_s
    middle = {"after_tokens": _AFTER}
    stream, calls, ids = (
        frozenset[Need]({"stream"}),
        frozenset[Need]({"calls"}),
        frozenset[Need]({"call_ids"}),
    )
    return (
        # Time.
        Case("slow_first_token:late", "late", {"delay_ms": _SHORT_MS}),
        Case("slow_first_token:never", "late", {"delay_ms": for_ever_ms}),
        Case("token_rate", "late", {"tokens_per_s": 20.0, "jitter": 0.5}),
        Case("token_stall:short", "late", {"stall_ms": _SHORT_MS, **middle}, needs=stream),
        Case("token_stall:never", "late", {"stall_ms": for_ever_ms, **middle}, needs=stream),
        Case("llm_keep_alive_only", "late", {"every_ms": 500.0, "limit_s": for_ever_s, **middle}),
        Case("done_without_end", "late", {"hold_s": for_ever_s}, needs=stream),
        # Refusals.
        Case("llm_rate_limit:once", "error", {"retry_after_s": RETRY_AFTER_S}, first=1),
        Case("llm_rate_limit:always", "error", {"retry_after_s": 1.0}),
        Case("server_error", "error"),
        Case("overloaded:once", "error", first=1),
        Case("overloaded:always", "error"),
        Case("overloaded:event", "error", {"as_event": True, **middle}, needs=stream),
        Case("quota_exhausted", "error", is_permanent=True),
        Case("context_length", "error", is_permanent=True),
        Case("auth", "error", is_permanent=True),
        Case("content_filter:error", "error", {"form": "error"}, is_permanent=True),
        Case(
            "content_filter:stop",
            "incomplete",
            {"form": "stop", **middle},
            needs=frozenset({"filter_reason"}),
        ),
        # Streams.
        Case("clean_end", "incomplete", middle),
        Case("answer_cut:close", "incomplete", middle),
        Case("answer_cut:reset", "incomplete", {"reset": True, **middle}),
        Case("error_event", "error", middle, needs=stream),
        Case("malformed_event", "incomplete", middle),
        Case("missing_event_name", "incomplete", middle, needs=frozenset({"event_names"})),
        Case("duplicate_delta", "nothing", middle, needs=stream),
        Case("dropped_delta", "nothing", middle),
        Case("reordered_delta", "nothing", middle, needs=stream),
        Case("no_usage", "nothing", needs=frozenset({"usage"})),
        Case("no_finish", "nothing"),
        # Tool calls.
        Case("truncated_arguments", "nothing", needs=calls),
        Case("invalid_arguments", "nothing", needs=calls),
        Case("mistyped_arguments", "nothing", needs=calls),
        Case("unknown_tool", "nothing", needs=calls),
        Case("duplicate_call_id", "nothing", needs=ids),
        Case("wrong_call_id", "nothing", needs=ids),
        Case("tool_call_as_text", "nothing", needs=calls),
        # Content.
        Case("empty_answer", "nothing"),
        Case("wrong_model", "nothing"),
        Case("length_stop", "incomplete", middle),
        Case("canary", "nothing", middle),
        Case("replace_text", "nothing", {"pattern": r"\w+", "replacement": "word"}),
        Case("replace_prompt", "nothing", {"pattern": r"\w+", "replacement": "word"}),
        Case("add_instruction", "nothing"),
    )


def chosen(cases: Sequence[Case], only: Sequence[str], path: str = "--only") -> tuple[Case, ...]:
    """Return the cases with these names: of a case, or of a fault for all of its cases. `path` is that of
    errors."""
    known = {name for case in cases for name in (case.name, case.kind)}
    for name in only:
        if name not in known:
            fault = FAULTS.get(name)
            why = did_you_mean(name, known)
            if fault is not None:
                why = f", which is of level {fault.level}{llm_namesake(name)}"
            raise InputError(path, f'expected a fault of level llm, got "{name}"{why}')
    return tuple(case for case in cases if not only or {case.name, case.kind} & set(only))
