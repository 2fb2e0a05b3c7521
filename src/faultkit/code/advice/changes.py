"""Changes that the findings of a text justify, the gravest first, until a score is reached. Offline and pure.

A change is kept only if its result still parses, if it leaves fewer findings of the rules that it answers,
and if no other rule finds more than before. No finding, no change: an empty diff with a reason is an answer.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from faultkit.base.errors import InputError
from faultkit.code.advice.parsing import parse_problem
from faultkit.code.advice.score import score_of, weight
from faultkit.code.changes.change import Change, Codemod, Source
from faultkit.code.changes.diff import apply_edits, unified_diff
from faultkit.code.changes.table import codemods_for
from faultkit.code.languages import Language, language_named
from faultkit.code.rules.engine import findings_of
from faultkit.code.rules.rule import KINDS, Finding, Kind

LONGEST_TEXT = 1_000_000
"""Characters. A longer text is reviewed, and not rewritten."""
_MOST_STEPS = 100
_MOST_ALONE = 20
"""Findings that are tried one by one where a change for all of them together does not hold."""
_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class Improvement:
    diff: str
    """Unified; empty if nothing is to be changed."""
    new: str
    dependencies: tuple[str, ...]
    """Packages that the new code needs."""
    imports: tuple[str, ...]
    """Statements that belong at the top of the file and have no place in the text that was given."""
    changes: tuple[str, ...]
    """What was done, in the order in which it was; each kind once."""
    found: tuple[Finding, ...]
    """Findings of the old text."""
    answered: tuple[Finding, ...]
    """Findings of the old text that the new one does not have."""
    left: tuple[Finding, ...]
    """Findings of the new text."""
    score_before: float
    score_after: float
    reason: str
    """Why it goes no further, or why there is no change."""


@dataclass(slots=True)
class _Draft:
    text: str
    findings: tuple[Finding, ...]
    """Of all kinds: what is better in one way must not be worse in another."""
    kept: list[Change] = field(default_factory=list)


def improve(
    text: str,
    language: str | Language,
    kind: Kind | None,
    score: float | None,
    target_score: float,
    *,
    file: str = "",
) -> Improvement:
    """Of a file, a function or a few lines. `kind` None is both kinds, and their score is the lower one.

    `score` is what the caller holds the text for; how far to go is decided by our own."""
    known = language_named(language) if isinstance(language, str) else language
    check_scores(kind, score, target_score)
    check_text(text, file)
    mark = _BOM if text.startswith(_BOM) else ""
    draft = _Draft(text.removeprefix(_BOM), findings_of(text.removeprefix(_BOM), known, file=file))
    before, start = draft.findings, draft.text
    reason = _blocked(draft, known) or _go_on(draft, known, kind, target_score, file)
    new = mark + draft.text
    return Improvement(
        diff=unified_diff(text, new, file or f"snippet{known.endings[0]}"),
        new=new,
        dependencies=tuple(sorted({each for change in draft.kept for each in change.dependencies})),
        imports=tuple(dict.fromkeys(each for change in draft.kept for each in change.imports)),
        changes=tuple(dict.fromkeys(change.description for change in draft.kept)),
        found=_own(before, kind),
        answered=() if draft.text == start else _gone(_own(before, kind), draft.findings),
        left=_own(draft.findings, kind),
        score_before=_score(before, kind),
        score_after=_score(draft.findings, kind),
        reason=reason,
    )


def check_scores(kind: Kind | None, score: float | None, target_score: float) -> None:
    """Raises InputError if they cannot be asked for."""
    if kind is not None and kind not in KINDS:
        raise InputError("kind", f'expected one of {", ".join(KINDS)}, got "{kind}"')
    for name, value in (("score", score), ("target_score", target_score)):
        if value is None:
            continue
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not is_number or math.isnan(value) or not 0 <= value <= 1:
            raise InputError(name, f"expected a number from 0 to 1, got {value!r}")
    if score is not None and target_score < score:
        raise InputError("target_score", f"expected at least the score, {score:g}, got {target_score:g}")


def check_text(text: str, file: str = "") -> None:
    """Raises InputError if there is nothing in it, or more than is rewritten."""
    if not text.strip():
        raise InputError(file or "snippet", "expected source code, got nothing")
    if len(text) > LONGEST_TEXT:
        raise InputError(file or "snippet", f"expected at most {LONGEST_TEXT} characters, got {len(text)}")


def _blocked(draft: _Draft, language: Language) -> str:
    """Why nothing can be done, whatever is found."""
    if not codemods_for(language.name):
        return f"no changes are known for {language.title}"
    broken = Source(draft.text, language).syntax.broken_lines()
    if broken:
        return f"the text cannot be read as {language.title}: see line {broken[0]}"
    return ""


def _go_on(draft: _Draft, language: Language, kind: Kind | None, target: float, file: str) -> str:
    """Changes the draft until it is good enough, and says why it stopped."""
    given_up: set[tuple[str, str]] = set()
    for _ in range(_MOST_STEPS):
        value = _score(draft.findings, kind)
        if value >= target:
            return f"the score is {value:.2f}, and {target:.2f} was asked for"
        if not _step(draft, language, kind, file, given_up):
            break
    left = _own(draft.findings, kind)
    if not left:
        return "the rules find nothing to change"
    named = "; ".join(f"{each.place}: {each.rule.title}" for each in left[:5])
    more = f"; and {len(left) - 5} more" if len(left) > 5 else ""
    return f"no change is known for what is left ({named}{more})"


def _step(
    draft: _Draft, language: Language, kind: Kind | None, file: str, given_up: set[tuple[str, str]]
) -> bool:
    """Makes the next change that holds."""
    for codemod, findings in _next(draft.findings, language, kind):
        if (codemod.name, draft.text) in given_up:
            continue
        if _try(draft, language, codemod, findings, file):
            return True
        given_up.add((codemod.name, draft.text))
    return False


def _next(
    findings: tuple[Finding, ...], language: Language, kind: Kind | None
) -> Iterator[tuple[Codemod, tuple[Finding, ...]]]:
    """Codemods with the findings that they may answer: by stage, then the gravest first."""
    own = _own(findings, kind)
    wanted = [
        (codemod, tuple(each for each in own if each.rule.slug in codemod.slugs))
        for codemod in codemods_for(language.name)
    ]
    ordered = sorted(
        ((codemod, found) for codemod, found in wanted if found),
        key=lambda each: (each[0].stage, -max(map(weight, each[1]))),
    )
    yield from ordered


def _try(
    draft: _Draft, language: Language, codemod: Codemod, findings: tuple[Finding, ...], file: str
) -> bool:
    """All findings at once; if that does not hold, the first one alone that does."""
    groups = [findings]
    if len(findings) > 1:
        groups += [(each,) for each in findings[:_MOST_ALONE]]
    for group in groups:
        change = codemod.rewrite(Source(draft.text, language), group)
        if change is None:
            # What cannot be done for all of them cannot be done for one.
            if group is findings:
                return False
            continue
        new = apply_edits(draft.text, change.edits)
        if new == draft.text or parse_problem(draft.text, new, language):
            continue
        after = findings_of(new, language, file=file)
        if _is_better(draft.findings, after, {each.rule.id for each in group}):
            draft.text, draft.findings = new, after
            draft.kept.append(change)
            return True
    return False


def _is_better(before: tuple[Finding, ...], after: tuple[Finding, ...], answered: set[str]) -> bool:
    old, new = (Counter(each.rule.id for each in found) for found in (before, after))
    fewer = sum(new[rule] for rule in answered) < sum(old[rule] for rule in answered)
    return fewer and all(new[rule] <= old[rule] for rule in new)


def _own(findings: tuple[Finding, ...], kind: Kind | None) -> tuple[Finding, ...]:
    return tuple(each for each in findings if kind is None or each.rule.kind == kind)


def _gone(before: tuple[Finding, ...], after: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Those without a like one afterwards: the same message, else the same function, else the same rule. A
    call that has another name now is still the same finding."""
    left, gone = list(after), list(before)
    for like in (_message, _function, _rule):
        for each in tuple(gone):
            found = next((other for other in left if like(other) == like(each)), None)
            if found is not None:
                left.remove(found)
                gone.remove(each)
    return tuple(gone)


def _message(each: Finding) -> tuple[str, str]:
    return each.rule.id, each.message


def _function(each: Finding) -> tuple[str, str]:
    return each.rule.id, each.function


def _rule(each: Finding) -> str:
    return each.rule.id


def _score(findings: tuple[Finding, ...], kind: Kind | None) -> float:
    return min(score_of(findings, each).value for each in KINDS if kind in (None, each))
