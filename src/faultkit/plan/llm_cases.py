"""Cases of `fault run llm`: presets that expand to rules of the one table of faults. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from faultkit.base.errors import InputError
from faultkit.plan.plan_keys import parse_rule
from faultkit.plan.rule import Rule


@dataclass(frozen=True, slots=True)
class CaseSettings:
    """What the flags of the cases say; None is what the fault has by default."""

    probability: float = 1.0
    mean_delay_ms: float = 300.0
    scramble_pattern: str | None = None
    scramble_with: str | None = None
    instruction: str | None = None
    bias_pattern: str | None = None
    bias_replacement: str | None = None


Document: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class LlmCase:
    """One case: its flags, and the rules that it stands for."""

    name: str
    summary: str
    rules: Callable[[CaseSettings], Iterator[Document]]
    flags: tuple[str, ...] = ()
    """Flags that have a meaning for this case only."""


def _slow_stream(given: CaseSettings) -> Iterator[Document]:
    if not 0.001 <= given.mean_delay_ms <= 86_400_000:
        raise InputError(
            "--slow-stream-mean-delay", f"expected 0.001 to 86400000 ms, got {given.mean_delay_ms:g}"
        )
    yield {"fault": "slow_first_token", "with": {"delay_ms": given.mean_delay_ms}}
    yield {"fault": "token_rate", "with": {"tokens_per_s": 1000 / given.mean_delay_ms}}


def _prompt_scramble(given: CaseSettings) -> Iterator[Document]:
    if given.scramble_pattern is not None:
        yield _replacing("replace_prompt", given.scramble_pattern, given.scramble_with, "--scramble-pattern")
    elif given.scramble_with is not None:
        raise InputError("--scramble-with", "expected --scramble-pattern beside it, got it alone")
    if given.instruction is not None:
        yield {"fault": "add_instruction", "with": {"text": given.instruction}}
    elif given.scramble_pattern is None:
        yield {"fault": "add_instruction"}


def _inject_bias(given: CaseSettings) -> Iterator[Document]:
    if given.bias_pattern is None:
        raise InputError("--bias-pattern", "expected a regular expression with --case inject-bias, got none")
    yield _replacing("replace_text", given.bias_pattern, given.bias_replacement, "--bias-pattern")


def _replacing(kind: str, pattern: str, replacement: str | None, flag: str) -> Document:
    if not pattern:
        raise InputError(flag, 'expected a regular expression, got ""')
    return {"fault": kind, "with": {"pattern": pattern, "replacement": replacement or ""}}


def _one(kind: str, **settings: object) -> Callable[[CaseSettings], Iterator[Document]]:
    def rules(given: CaseSettings) -> Iterator[Document]:
        yield {"fault": kind, "with": settings}

    return rules


CASES: dict[str, LlmCase] = {
    case.name: case
    for case in (
        LlmCase(
            "slow-stream",
            "Each token takes --slow-stream-mean-delay; a whole answer comes when its last token would.",
            _slow_stream,
            ("slow_stream_mean_delay",),
        ),
        LlmCase(
            "prompt-scramble",
            "The model gets another prompt: --scramble-pattern is replaced by --scramble-with, --instruction "
            "is added.",
            _prompt_scramble,
            ("scramble_pattern", "scramble_with", "instruction"),
        ),
        LlmCase("token-drop", "Pieces of the answer are missing.", _one("dropped_delta")),
        LlmCase(
            "inject-bias",
            "In the answer, --bias-pattern is replaced by --bias-replacement, also across deltas.",
            _inject_bias,
            ("bias_pattern", "bias_replacement"),
        ),
        LlmCase(
            "truncate-response",
            "The answer ends after its first tokens, without an error.",
            _one("clean_end"),
        ),
        LlmCase(
            "http-error",
            "Requests to models are answered with 500, in the provider's shape; it does not get them.",
            _one("server_error"),
        ),
    )
}


def rules_of_cases(names: tuple[str, ...], given: CaseSettings) -> list[Rule]:
    """Return the rules of cases, in the order given. Raises InputError that names the wrong flag."""
    rules: list[Rule] = []
    for name in dict.fromkeys(names):
        for document in CASES[name].rules(given):
            kind = document["fault"]
            trigger = {} if given.probability == 1 else {"trigger": {"probability": given.probability}}
            try:
                rules.append(parse_rule({**document, **trigger, "name": f"{name}: {kind}"}))
            except InputError as error:
                raise error.at(_FLAGS.get((kind, error.path), f"--case {name}")) from None
    return rules


_FLAGS = {
    ("replace_prompt", "with.pattern"): "--scramble-pattern",
    ("replace_prompt", "with.replacement"): "--scramble-with",
    ("replace_text", "with.pattern"): "--bias-pattern",
    ("replace_text", "with.replacement"): "--bias-replacement",
    ("add_instruction", "with.text"): "--instruction",
}
"""The flag that sets a setting, for messages about it."""
