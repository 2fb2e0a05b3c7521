"""Changes that the findings of a text justify, the most severe first, until a score is reached. Pure.

A change is kept only if its result still parses, if it leaves fewer findings of the rules that it answers,
and if no other rule finds more than before. Without a finding there is no change: an empty diff with a
reason is a valid answer. Scores count only changes that are made; those that ask a question and are not
wanted are listed with it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from faultkit.base.errors import InputError
from faultkit.base.text import count_of
from faultkit.code.advice.analysis import lowest_score, score_value, weight
from faultkit.code.advice.changed_text import parse_problem, removed_names
from faultkit.code.advice.line_origins import line_origins
from faultkit.code.advice.selection import EVERY_CHANGE, OpenQuestion, Selection
from faultkit.code.changes import codemods_for
from faultkit.code.changes.change import Change, Codemod, Source, apply_edits, unified_diff
from faultkit.code.changes.project import NO_PROJECT, Project
from faultkit.code.facts.groups import grouped
from faultkit.code.languages import Language, language_named
from faultkit.code.review.engine import findings_of
from faultkit.code.rules.rule import KINDS, Finding, Kind, Rule

LONGEST_TEXT = 1_000_000
"""Characters. A longer text is reviewed but not rewritten."""
_MOST_STEPS = 100
_MOST_ALONE = 20
"""Findings that are tried one by one where a change for all of them together is rejected."""
_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class Improvement:
    """The result of improving one text."""

    diff: str
    """Unified; empty if nothing is to be changed."""
    new: str
    dependencies: tuple[str, ...]
    """Packages that the new code needs."""
    imports: tuple[str, ...]
    """Import statements that belong at the top of the file and have no place in the given text."""
    changes: tuple[str, ...]
    """Descriptions of the changes in order, each kind once."""
    found: tuple[Finding, ...]
    """Findings in the old text."""
    answered: tuple[Finding, ...]
    """Findings in the old text that the new one does not have."""
    left: tuple[Finding, ...]
    """Findings in the new text."""
    score_before: float
    score_after: float
    reason: str
    """Why the change goes no further, or why there is none."""
    questions: tuple[OpenQuestion, ...] = ()
    """Questions of changes that were made, and of changes that were not made because of them."""


@dataclass(frozen=True, slots=True)
class _Job:
    """What is wanted, and from what."""

    language: Language
    kind: Kind | None
    target: float
    file: str
    project: Project
    selection: Selection
    rules: tuple[Rule, ...]

    def score(self, findings: Iterable[Finding]) -> float:
        """Return the score by the rules of a review, and those that are named: what a rule that is off finds
        is changed, and does not count."""
        named = self.selection.rules
        counted = (each for each in findings if each.rule.by_default or each.rule.id in named)
        return lowest_score(counted, self.kind)

    def is_done(self, findings: tuple[Finding, ...]) -> bool:
        """Return whether the score is good enough. For a score of 1 nothing may be left, of any rule."""
        is_reached = self.score(findings) >= self.target
        return is_reached and (self.target < 1 or lowest_score(findings, self.kind) >= 1)


@dataclass(slots=True)
class _Draft:
    """The text so far, with its findings and the changes that were accepted."""

    source: Source
    findings: tuple[Finding, ...]
    """Findings of all kinds: an improvement of one kind must not worsen the other."""
    lines: list[int]
    """For each line, the line of the given text that it stands for; from 1."""
    kept: list[Change] = field(default_factory=list)
    questions: list[OpenQuestion] = field(default_factory=list)

    @property
    def text(self) -> str:
        return self.source.text

    def as_given(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        """Return findings of the text so far with the lines of the given text."""
        last = len(self.lines) - 1
        return tuple(replace(each, line=self.lines[min(each.line - 1, last)]) for each in findings)


@dataclass(frozen=True, slots=True)
class _Trial:
    """A change that is accepted, and what comes of it."""

    change: Change
    answers: tuple[Finding, ...]
    source: Source
    findings: tuple[Finding, ...]


def improve(
    text: str,
    language: str | Language,
    kind: Kind | None,
    score: float | None,
    target_score: float,
    *,
    file: str = "",
    project: Project = NO_PROJECT,
    selection: Selection = EVERY_CHANGE,
) -> Improvement:
    """Improve a file, a function or a few lines. Without a kind both count, and the score is the lower one.

    `score` is the caller's opinion of the text; the rules' own score decides how far to go.
    """
    known = language_named(language) if isinstance(language, str) else language
    check_scores(kind, score, target_score)
    check_text(text, file)
    mark = _BOM if text.startswith(_BOM) else ""
    start = text.removeprefix(_BOM)
    rules = selection.rules_for(known.name)
    job = _Job(known, kind, target_score, file, project, selection, rules)
    before = _found_in(start, job)
    draft = _Draft(Source(start, known, project), before, list(range(1, start.count("\n") + 2)))
    reason = _obstacle(draft, job)
    if not reason:
        _improve_until(draft, job)
        draft.questions += _unanswered(draft, job)
        reason = _end(draft, job)
    new = mark + draft.text
    left = draft.as_given(draft.findings)
    return Improvement(
        diff=unified_diff(text, new, file or f"snippet{known.endings[0]}"),
        new=new,
        dependencies=tuple(sorted({each for change in draft.kept for each in change.dependencies})),
        imports=tuple(dict.fromkeys(each for change in draft.kept for each in change.imports)),
        changes=tuple(dict.fromkeys(change.description for change in draft.kept)),
        found=_of_kind(before, kind),
        answered=() if draft.text == start else _answered(_of_kind(before, kind), left),
        left=_of_kind(draft.findings, kind),
        score_before=job.score(before),
        score_after=job.score(draft.findings),
        reason=reason,
        questions=tuple(draft.questions),
    )


def check_scores(kind: Kind | None, score: float | None, target_score: float) -> None:
    """Raise InputError if the scores or the kind are not valid."""
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
    """Raise InputError if the text is empty, or too long to be rewritten."""
    if not text.strip():
        raise InputError(file or "snippet", "expected source code, got nothing")
    if len(text) > LONGEST_TEXT:
        raise InputError(file or "snippet", f"expected at most {LONGEST_TEXT} characters, got {len(text)}")


def _obstacle(draft: _Draft, job: _Job) -> str:
    """Return why nothing can be changed, whatever is found; empty if it can."""
    if not codemods_for(job.language.name):
        return f"no changes are known for {job.language.title}"
    broken = draft.source.syntax.broken_lines()
    if broken:
        return f"the text cannot be read as {job.language.title}: see line {broken[0]}"
    return ""


def _improve_until(draft: _Draft, job: _Job) -> None:
    """Change the draft until its score is good enough, or nothing more can be done."""
    given_up: set[tuple[str, str]] = set()
    for _ in range(_MOST_STEPS):
        if job.is_done(draft.findings) or not _step(draft, job, given_up):
            return


def _end(draft: _Draft, job: _Job) -> str:
    """Return why the change goes no further, with lines of the given text."""
    value = job.score(draft.findings)
    reached = f"the score is {value:.2f}, and {job.target:.2f} was asked for"
    if value >= job.target:
        return reached
    offered = [each for each in draft.questions if not each.is_applied]
    known = {(rule, line) for each in offered for rule in each.rules for line in each.lines}
    wanted = [
        each
        for each in draft.as_given(_of_kind(draft.findings, job.kind))
        if job.selection.includes(each) and (each.rule.id, each.line) not in known
    ]
    left = [each for each in wanted if job.selection.shows(each)]
    parts = []
    if offered:
        ask = "asks" if len(offered) == 1 else "ask"
        parts.append(f"{count_of(len(offered), 'change')} {ask} a question first")
    if left:
        named = "; ".join(f"{each.place}: {each.rule.title}" for each in left[:5])
        more = f"; and {len(left) - 5} more" if len(left) > 5 else ""
        parts.append(f"no change is known for what is left ({named}{more})")
    if len(left) < len(wanted):
        hidden = sorted({each.rule.id for each in wanted if not job.selection.shows(each)})
        parts.append(f"what a review does not show is left as it is ({', '.join(hidden)})")
    if not draft.kept:
        return "; ".join(parts) or "the rules find nothing to change"
    return f"{reached}: {'; '.join(parts) or 'what is left is of other rules'}"


def _step(draft: _Draft, job: _Job, given_up: set[tuple[str, str]]) -> bool:
    """Make the next change that is accepted; return False if there is none."""
    for codemod, findings in _candidates(draft, job):
        if (codemod.name, draft.text) in given_up:
            continue
        if _try(draft, job, codemod, findings):
            return True
        given_up.add((codemod.name, draft.text))
    return False


def _candidates(draft: _Draft, job: _Job) -> Iterator[tuple[Codemod, tuple[Finding, ...]]]:
    """Yield codemods with the findings that they may answer: by stage, then the most severe first."""
    own = _of_kind(draft.findings, job.kind)
    wanted = [
        (codemod, tuple(each for each in own if _is_wanted(codemod, each, draft, job)))
        for codemod in codemods_for(job.language.name)
    ]
    yield from sorted(
        ((codemod, found) for codemod, found in wanted if found),
        key=lambda each: (each[0].stage, -max(map(weight, each[1]))),
    )


def _is_wanted(codemod: Codemod, finding: Finding, draft: _Draft, job: _Job) -> bool:
    selection = job.selection
    if finding.rule.slug not in codemod.slugs or not selection.includes(finding):
        return False
    return selection.unsafe or (selection.shows(finding) and not codemod.asks(draft.source, finding))


def _try(draft: _Draft, job: _Job, codemod: Codemod, findings: tuple[Finding, ...]) -> bool:
    """Make the first change for these findings that is accepted; return False if none is."""
    for trial in _trials(draft, job, codemod, findings):
        if _new_packages(draft, trial.change) and not job.selection.unsafe:
            continue
        draft.questions += _questions(draft, codemod, trial, is_applied=True)
        draft.lines = [draft.lines[at] for at in line_origins(draft.text, trial.source.text)]
        draft.source, draft.findings = trial.source, trial.findings
        draft.kept.append(trial.change)
        return True
    return False


def _trials(draft: _Draft, job: _Job, codemod: Codemod, findings: tuple[Finding, ...]) -> Iterator[_Trial]:
    """Yield the change of all findings at once, if it is accepted; else those of single ones that are."""
    change = codemod.rewrite(draft.source, findings)
    if change is None:
        return  # A codemod that answers none of the findings answers no single one either.
    trial = _trial(draft, job, change, findings)
    if trial is not None:
        yield trial
    elif len(findings) > 1:
        for each in findings[:_MOST_ALONE]:
            change = codemod.rewrite(draft.source, (each,))
            trial = None if change is None else _trial(draft, job, change, (each,))
            if trial is not None:
                yield trial


def _trial(draft: _Draft, job: _Job, change: Change, findings: tuple[Finding, ...]) -> _Trial | None:
    """Return what comes of a change; None if it is not accepted."""
    new = Source(apply_edits(draft.text, change.edits), job.language, job.project)
    if new.text == draft.text or parse_problem(draft.source, new) or removed_names(draft.source, new):
        return None
    after = _found_in(new.text, job)
    if not _is_better(draft.findings, after, {each.rule.id for each in findings}):
        return None
    return _Trial(change, _gone(draft, new.text, findings, after) or findings, new, after)


def _gone(
    draft: _Draft, new: str, findings: tuple[Finding, ...], after: tuple[Finding, ...]
) -> tuple[Finding, ...]:
    """Return those of the findings that a change answers: a codemod may leave some as they are."""
    origins = line_origins(draft.text, new)
    moved = tuple(replace(each, line=origins[min(each.line, len(origins)) - 1] + 1) for each in after)
    gone = {id(each) for each in _answered(draft.findings, moved)}
    return tuple(each for each in findings if id(each) in gone)


def _found_in(text: str, job: _Job) -> tuple[Finding, ...]:
    manifest = job.selection.manifest
    return findings_of(text, job.language, file=job.file, rules=job.rules, project=manifest)


# Questions.


def _unanswered(draft: _Draft, job: _Job) -> Iterator[OpenQuestion]:
    """Yield the questions of changes that could be made, and are not wanted without an answer."""
    if job.selection.unsafe or job.is_done(draft.findings):
        return
    own = [each for each in _of_kind(draft.findings, job.kind) if job.selection.includes(each)]
    for codemod in codemods_for(job.language.name):
        answered = (each for each in own if each.rule.slug in codemod.slugs)
        for found in grouped(answered, partial(codemod.asks, draft.source)).values():
            for trial in _trials(draft, job, codemod, tuple(found)):
                yield from _questions(draft, codemod, trial, is_applied=False)


def _questions(draft: _Draft, codemod: Codemod, trial: _Trial, *, is_applied: bool) -> Iterator[OpenQuestion]:
    """Yield what a change asks, each question once."""
    packages = _new_packages(draft, trial.change)
    for question, found in grouped(trial.answers, partial(codemod.asks, draft.source)).items():
        if not question and not packages:
            continue
        parts = [question] if question else []
        if packages:
            named, where = " and ".join(packages), draft.source.project.declared_in
            parts.append(f"May {where} get a new dependency, {named}?")
        yield OpenQuestion(
            rules=tuple(sorted({each.rule.id for each in found})),
            lines=tuple(sorted({each.line for each in draft.as_given(found)})),
            question=" ".join(parts),
            change=trial.change.description,
            dependencies=packages,
            is_applied=is_applied,
        )


def _new_packages(draft: _Draft, change: Change) -> tuple[str, ...]:
    """Return packages that a change needs, that the project does not declare and the text does not import."""
    imported = {each.partition(".")[0] for each in draft.source.facts.imports.modules}
    return tuple(
        each for each in change.dependencies if draft.source.project.lacks(each) and each not in imported
    )


def _is_better(before: tuple[Finding, ...], after: tuple[Finding, ...], answered: set[str]) -> bool:
    old, new = (Counter(each.rule.id for each in found) for found in (before, after))
    fewer = sum(new[rule] for rule in answered) < sum(old[rule] for rule in answered)
    return fewer and all(new[rule] <= old[rule] for rule in new)


def _of_kind(findings: tuple[Finding, ...], kind: Kind | None) -> tuple[Finding, ...]:
    return tuple(each for each in findings if kind is None or each.rule.kind == kind)


def _answered(before: tuple[Finding, ...], after: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Return findings without a counterpart afterwards: same message on the same line, else same message,
    else same function, else same rule.

    A call that has another name after the change is still the same finding.
    """
    left, answered = list(after), list(before)
    likenesses: tuple[Callable[[Finding], object], ...] = (
        lambda each: (each.rule.id, each.message, each.line),
        lambda each: (each.rule.id, each.message),
        lambda each: (each.rule.id, each.function),
        lambda each: each.rule.id,
    )
    for like in likenesses:
        matched = Counter(map(like, left)) & Counter(map(like, answered))
        left, answered = (_without(found, like, matched) for found in (left, answered))
    return tuple(answered)


def _without(
    findings: list[Finding], like: Callable[[Finding], object], matched: Counter[object]
) -> list[Finding]:
    """Return the findings without the first ones that are matched."""
    rest = Counter(matched)
    kept = []
    for each in findings:
        if rest[like(each)] > 0:
            rest[like(each)] -= 1
        else:
            kept.append(each)
    return kept


# Explanations of findings and changes for people.


_MOST_THREATS = 5
_MOST_LINES = 3


def explain_change(improvement: Improvement) -> str:
    """Return the main threats with their lines, what was changed, and what is left."""
    if not improvement.found:
        return f"Nothing was changed: {improvement.reason}."
    parts = [f"The main threats: {_threats(improvement.found)}."]
    if improvement.changes:
        parts.append(f"The change: {'; '.join(improvement.changes)}.")
        if improvement.left:
            parts.append(f"What is left: {_threats(improvement.left)} (lines of the new code).")
    else:
        parts.append(f"Nothing was changed: {improvement.reason}.")
    return " ".join(parts)


def finding_lines(findings: Iterable[Finding], *, first_line: int = 1, most: int = 40) -> list[str]:
    """Return findings for a language model, one line each, the most severe first, counted from
    `first_line`."""
    listed = sorted(findings, key=lambda each: (-weight(each), each.line, each.rule.id))
    return [
        f"line {each.line - first_line + 1}: {each.rule.title}: {each.message}. {each.rule.fix}"
        for each in listed[:most]
    ]


def _threats(findings: Sequence[Finding]) -> str:
    """Return each rule once, by its cost to the score."""
    groups: dict[str, list[Finding]] = {}
    for each in findings:
        groups.setdefault(each.rule.title, []).append(each)
    ordered = sorted(groups.items(), key=lambda group: score_value(group[1]))
    named = [f"{title} ({_lines(found)})" for title, found in ordered[:_MOST_THREATS]]
    more = len(ordered) - len(named)
    return "; ".join(named) + (f"; and {more} more" if more else "")


def _lines(findings: Sequence[Finding]) -> str:
    lines = sorted({each.line for each in findings})
    more = f" and {len(lines) - _MOST_LINES} more" if len(lines) > _MOST_LINES else ""
    return f"line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines[:_MOST_LINES]))}{more}"
