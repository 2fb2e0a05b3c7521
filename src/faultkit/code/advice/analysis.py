"""Analysis of a function by rules alone: risks by concern, prompts to act on them, and scores. Pure.

The result fits `answers.ANALYSIS`, so that it has the same form as the answer of a model. A risk is
everything that one rule found: its impact is the severity of the finding, its likelihood the confidence of
the rule, and its cost is low where a codemod makes the change.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from faultkit.base.errors import InputError
from faultkit.base.text import count_of, one_line, shortened
from faultkit.code.advice.answers import check_concerns
from faultkit.code.advice.threats import RULE_SLUGS, ThreatFinding, threats_in
from faultkit.code.changes import codemods_for
from faultkit.code.facts import facts_of, is_within
from faultkit.code.facts.build import GRAMMARS
from faultkit.code.functions import Function
from faultkit.code.languages import Language
from faultkit.code.languages.syntax import Syntax
from faultkit.code.review.engine import findings_in
from faultkit.code.rules.rule import KINDS, Finding, Kind, Severity

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
"""Rules whose fix reaches beyond the function: into a schema, an interface or the start of the program."""
_NOT_JUDGED = (
    "Offline, only this is looked at: input in queries, shell commands, paths, hosts and code, secrets in "
    "the source, and TLS verification. Who may call it, what it logs and what one caller can use up is not "
    "judged."
)


@dataclass(frozen=True, slots=True)
class _ConcernFinding:
    """A finding of a rule or of a threat check, in one form."""

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


def check_language_has_rules(language: Language) -> None:
    """Raise InputError if the rules do not know the language: an empty result would look like praise."""
    if language.name not in GRAMMARS:
        raise InputError(
            "lang",
            f"expected one of {', '.join(GRAMMARS)}, which the rules know, got {language.title}: "
            "name a language model with --llm-client to have it judged",
        )


def findings_inside(syntax: Syntax, function: Function, *, file: str = "") -> tuple[Finding, ...]:
    """Return what the rules find in a function, functions inside it included, with the whole file in view."""
    found = findings_in(syntax, file=file)
    return tuple(each for each in found if is_within(each.span, function.full))


def analyse_function(
    syntax: Syntax, function: Function, *, concerns: Sequence[str] = (), file: str = ""
) -> dict[str, Any]:
    """Return one evaluation for each concern, in the order asked for; all if none. Lines are those of
    the file."""
    wanted = tuple(dict.fromkeys(check_concerns(tuple(concerns))))
    check_language_has_rules(syntax.language)
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


def _found(
    concern: str, syntax: Syntax, function: Function, findings: Iterable[Finding]
) -> list[_ConcernFinding]:
    """Return the findings of a concern, the most severe first."""
    language = syntax.language.name
    if concern != "threat":
        listed = [_of_rule(concern, each, language) for each in findings if each.rule.kind == concern]
    else:
        listed = [_of_threat(each) for each in threats_in(facts_of(syntax), function.full)]
        listed += [_of_rule(concern, each, language) for each in findings if each.rule.slug in RULE_SLUGS]
    return sorted(listed, key=lambda each: (-each.weight, each.line, each.title))


def _of_rule(concern: str, finding: Finding, language: str) -> _ConcernFinding:
    rule = finding.rule
    cost = "high" if rule.slug in _COSTLY else "medium"
    if any(rule.slug in codemod.slugs for codemod in codemods_for(language)):
        cost = "low"
    return _ConcernFinding(
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


def _of_threat(found: ThreatFinding) -> _ConcernFinding:
    threat = found.threat
    return _ConcernFinding(
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


def _by_title(found: Iterable[_ConcernFinding]) -> list[list[_ConcernFinding]]:
    """Group findings by rule, the most severe first."""
    groups: dict[str, list[_ConcernFinding]] = {}
    for each in found:
        groups.setdefault(each.title, []).append(each)
    return list(groups.values())


def _risk(same: Sequence[_ConcernFinding]) -> dict[str, Any]:
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


def _where(same: Sequence[_ConcernFinding]) -> str:
    lines = list(dict.fromkeys(each.line for each in same))
    more = f" and {len(lines) - _MOST_LINES} more" if len(lines) > _MOST_LINES else ""
    return (
        f"line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines[:_MOST_LINES]))}{more}".capitalize()
    )


def _message(found: _ConcernFinding) -> str:
    return shortened(one_line(found.message), _MOST_MESSAGE)


def _summary(
    concern: str,
    syntax: Syntax,
    function: Function,
    findings: Iterable[Finding],
    found: Sequence[_ConcernFinding],
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
        count = count_of(len(found), "finding")
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


def _prompts(found: list[_ConcernFinding], syntax: Syntax, function: Function, file: str) -> list[str]:
    """Return one prompt for each rule, the most severe of all concerns first."""
    groups = _by_title(sorted(found, key=lambda each: (-each.weight, each.line, each.title)))
    return [_prompt(same, syntax.language, function, file) for same in groups[:_MOST_PROMPTS]]


def _prompt(same: Sequence[_ConcernFinding], language: Language, function: Function, file: str) -> str:
    first = same[0]
    where = f"In {file}, change" if file else "Change"
    by_rule = f" Afterwards, `fault review` must not report {first.rule_id} for it." if first.rule_id else ""
    return (
        f"{where} the {language.title} function {function.qualified_name[-100:]} (line {function.line}). "
        f"{_where(same)}: {_message(first)}. {first.why} {first.fix} Keep its name, its arguments, its "
        "results and its style, change no more than that takes, and add a test that fails without it."
        f"{by_rule}"
    )[:1000]


# Scores from 0 to 1 for the findings of the rules, separate for reliability and performance.
#
#     weight   low 0.08, medium 0.27, high 0.55, critical 1.0, times the confidence of the finding
#     loss     of one rule: its weights, the greatest first, each counting half of the one before:
#              w1 + w2 / 2 + w3 / 4 + …; of all rules together: the sum
#     score    e to the power of -loss, rounded to two digits
#
# No findings score 1.0. One more finding never raises the score: the sorted weights of a rule only grow, and
# so does the loss. A repeated mistake counts half, which separates a long file with one bad habit from a file
# with every fault. A folder has the mean of its files.


WEIGHTS: dict[Severity, float] = {"low": 0.08, "medium": 0.27, "high": 0.55, "critical": 1.0}
MOST_NAMED = 12
"""Findings named in an explanation; the rest is a number."""


@dataclass(frozen=True, slots=True)
class Score:
    """The score of one text for one kind, with the findings behind it."""

    kind: Kind
    value: float
    explanation: str
    """Names the findings with their lines, the most severe first."""
    findings: tuple[Finding, ...]
    """The findings that were counted, the most severe first."""


def weight(finding: Finding) -> float:
    """Return the weight of a finding: its severity times its confidence."""
    return WEIGHTS[finding.severity] * finding.confidence


def score_value(findings: Iterable[Finding]) -> float:
    """Return the score of the given findings by the formula alone."""
    by_rule: dict[str, list[float]] = {}
    for finding in findings:
        by_rule.setdefault(finding.rule.id, []).append(weight(finding))
    # Summed in a fixed order, so that the same findings in any order are the same number.
    loss = math.fsum(
        math.ldexp(each, -place)
        for weights in by_rule.values()
        for place, each in enumerate(sorted(weights, reverse=True))
    )
    return round(math.exp(-loss), 2)


def score_of(findings: Iterable[Finding], kind: Kind) -> Score:
    """Return the score of one text from all its findings; those of the other kind are ignored."""
    own = sorted(
        (each for each in findings if each.rule.kind == kind),
        key=lambda each: (-weight(each), each.file, each.line, each.rule.id),
    )
    value = score_value(own)
    return Score(kind, value, _explanation(kind, value, own), tuple(own))


def lowest_score(findings: Iterable[Finding], kind: Kind | None) -> float:
    """Return the score of one kind; without a kind, the lower one of both."""
    listed = tuple(findings)
    return min(score_of(listed, each).value for each in KINDS if kind in (None, each))


def mean_value(values: Iterable[float]) -> float:
    """Return the score of a folder from those of its files; 1.0 if there are none."""
    listed = list(values)
    return round(math.fsum(listed) / len(listed), 2) if listed else 1.0


def _explanation(kind: Kind, value: float, findings: list[Finding]) -> str:
    if not findings:
        return f"No rule about {kind} found anything."
    count = count_of(len(findings), "finding")
    named = [f"{each.place}: {each.rule.title} ({each.message})." for each in findings[:MOST_NAMED]]
    more = len(findings) - len(named)
    rest = f" And {more} more." if more > 0 else ""
    return f"{value:.2f} for {kind}, by {count}. {' '.join(named)}{rest}"
