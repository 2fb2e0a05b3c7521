"""A function looked at in depth by rules alone: risks by concern, and requests to act on them. Pure.

What it gives fits `llm.schemas.ANALYSIS`, so that it reads the same whoever made it. A risk is all that one
rule found: its impact is the severity of the finding, its likelihood how sure the rule is, and the cost is
low where a codemod knows the change.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from faultkit.base.errors import InputError
from faultkit.code.advice.score import WEIGHTS, score_value
from faultkit.code.advice.threats import RULE_SLUGS, FoundThreat, threats_in
from faultkit.code.changes.table import codemods_for
from faultkit.code.facts import facts_of, is_within
from faultkit.code.facts.build import GRAMMARS
from faultkit.code.function import Function
from faultkit.code.languages import Language
from faultkit.code.rules.engine import findings_in
from faultkit.code.rules.rule import Finding, Severity
from faultkit.code.syntax import Syntax
from faultkit.llm.ask.schemas import check_concerns

_MOST_RISKS = 3
_MOST_PROMPTS = 5
_MOST_LINES = 5
_MOST_MESSAGE = 240
_IMPACTS: dict[Severity, str] = {"low": "low", "medium": "medium", "high": "high", "critical": "high"}
_LIKELIHOODS = ((0.9, "high"), (0.7, "medium"), (0.0, "low"))
_ABOUT = {"reliability": "reliability", "performance": "performance", "threat": "threats"}
_COSTLY = frozenset(
    {
        "call-per-item",
        "missing-idempotency-key",
        "no-graceful-shutdown",
        "retry-of-non-idempotent-call",
        "shared-mutable-state",
        "whole-table-loaded",
        "writes-without-transaction",
    }
)
"""Rules whose answer reaches beyond the function: into a schema, an interface or the start of the program."""
_NOT_JUDGED = (
    "Offline, only this is looked at: input in queries, shell commands, paths, hosts and code, secrets in "
    "the source, and TLS verification. Who may call it, what it logs and what one caller can use up is not "
    "judged."
)


@dataclass(frozen=True, slots=True)
class _Found:
    """Something that a rule or a check found."""

    concern: str
    title: str
    why: str
    fix: str
    message: str
    line: int
    severity: Severity
    confidence: float
    cost: str
    rule_id: str = ""

    @property
    def weight(self) -> float:
        return WEIGHTS[self.severity] * self.confidence


def check_rules_know(language: Language) -> None:
    """Raises InputError if the rules cannot judge the language: no finding would then be no praise."""
    if language.name not in GRAMMARS:
        raise InputError(
            "lang",
            f"expected one of {', '.join(GRAMMARS)}, which the rules know, got {language.title}: "
            "name a language model with --llm-client to have it judged",
        )


def findings_inside(syntax: Syntax, function: Function, *, file: str = "") -> tuple[Finding, ...]:
    """What the rules find in a function, functions inside it included, as they see it in its file."""
    found = findings_in(syntax, file=file)
    return tuple(each for each in found if is_within(each.span, function.full))


def analyse_function(
    syntax: Syntax, function: Function, *, concerns: Sequence[str] = (), file: str = ""
) -> dict[str, Any]:
    """One evaluation a concern, in the order asked for; all if none is named. Lines are the file's."""
    wanted = tuple(dict.fromkeys(check_concerns(tuple(concerns))))
    check_rules_know(syntax.language)
    findings = findings_inside(syntax, function, file=file)
    found = {concern: _found(concern, syntax, function, findings) for concern in wanted}
    return {
        "evaluations": [
            {
                "concern": concern,
                "summary": _summary(concern, syntax, function, findings, listed),
                "risks": [_risk(same) for same in _by_title(listed)[:_MOST_RISKS]],
            }
            for concern, listed in found.items()
        ],
        "prompts": _prompts([each for listed in found.values() for each in listed], syntax, function, file),
    }


def _found(concern: str, syntax: Syntax, function: Function, findings: Iterable[Finding]) -> list[_Found]:
    """The gravest first."""
    language = syntax.language.name
    if concern != "threat":
        listed = [_of_rule(concern, each, language) for each in findings if each.rule.kind == concern]
    else:
        listed = [_of_threat(each) for each in threats_in(facts_of(syntax), function.full)]
        listed += [_of_rule(concern, each, language) for each in findings if each.rule.slug in RULE_SLUGS]
    return sorted(listed, key=lambda each: (-each.weight, each.line, each.title))


def _of_rule(concern: str, finding: Finding, language: str) -> _Found:
    rule = finding.rule
    cost = "high" if rule.slug in _COSTLY else "medium"
    if any(rule.slug in codemod.slugs for codemod in codemods_for(language)):
        cost = "low"
    return _Found(
        concern,
        rule.title,
        rule.why,
        rule.fix,
        finding.message,
        finding.line,
        finding.severity,
        finding.confidence,
        cost,
        rule.id,
    )


def _of_threat(found: FoundThreat) -> _Found:
    threat = found.threat
    return _Found(
        "threat",
        threat.title,
        threat.why,
        threat.fix,
        found.message,
        found.line,
        found.severity,
        found.confidence,
        "low",
    )


def _by_title(found: Iterable[_Found]) -> list[list[_Found]]:
    """All that one rule found as one, the gravest first."""
    groups: dict[str, list[_Found]] = {}
    for each in found:
        groups.setdefault(each.title, []).append(each)
    return list(groups.values())


def _risk(same: Sequence[_Found]) -> dict[str, Any]:
    first = same[0]
    return {
        "title": first.title,
        "explanation": f"{_where(same)}: {_message(first)}. {first.why}",
        "recommendation": first.fix,
        "impact": _IMPACTS[first.severity],
        "likelihood": next(word for least, word in _LIKELIHOODS if first.confidence >= least),
        "cost": first.cost,
        "line": first.line,
    }


def _where(same: Sequence[_Found]) -> str:
    lines = list(dict.fromkeys(each.line for each in same))
    more = f" and {len(lines) - _MOST_LINES} more" if len(lines) > _MOST_LINES else ""
    return (
        f"line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines[:_MOST_LINES]))}{more}".capitalize()
    )


def _message(found: _Found) -> str:
    text = " ".join(found.message.split())
    return text if len(text) <= _MOST_MESSAGE else f"{text[: _MOST_MESSAGE - 1]}…"


def _summary(
    concern: str, syntax: Syntax, function: Function, findings: Iterable[Finding], found: Sequence[_Found]
) -> str:
    name = function.qualified_name[-200:]
    parts = []
    if not found:
        parts.append(f"The rules about {_ABOUT[concern]} find nothing in {name}.")
    else:
        score = ""
        if concern != "threat":
            value = score_value(each for each in findings if each.rule.kind == concern)
            score = f", scored {value:.2f}"
        count = f"{len(found)} finding{'s' if len(found) > 1 else ''}"
        gravest = f"{found[0].title} (line {found[0].line})"
        parts.append(f"{count} about {_ABOUT[concern]} in {name}{score}. The gravest: {gravest}.")
    left_out = [same[0].title for same in _by_title(found)[_MOST_RISKS:]]
    if left_out:
        parts.append(f"Not among the risks below: {'; '.join(left_out)}.")
    if concern == "threat":
        parts.append(_NOT_JUDGED)
    broken = [line for line in syntax.broken_lines() if function.start_line <= line <= function.end_line]
    if broken:
        parts.append(f"Line {broken[0]} cannot be read as {syntax.language.title}: something may be missed.")
    return " ".join(parts)[:2000]


def _prompts(found: list[_Found], syntax: Syntax, function: Function, file: str) -> list[str]:
    """The gravest of all concerns, one request a rule."""
    groups = _by_title(sorted(found, key=lambda each: (-each.weight, each.line, each.title)))
    return [_prompt(same, syntax.language, function, file) for same in groups[:_MOST_PROMPTS]]


def _prompt(same: Sequence[_Found], language: Language, function: Function, file: str) -> str:
    first = same[0]
    where = f"In {file}, change" if file else "Change"
    by_rule = f" Afterwards, `fault review` must not report {first.rule_id} for it." if first.rule_id else ""
    return (
        f"{where} the {language.title} function {function.qualified_name[-100:]} (line {function.line}). "
        f"{_where(same)}: {_message(first)}. {first.why} {first.fix} Keep its name, its arguments, its "
        "results and its style, change no more than that takes, and add a test that fails without it."
        f"{by_rule}"
    )[:1000]
