"""Precision: the shares of true, arguable and false findings, weighted to the corpus, with intervals.

Findings are judged by sample. Within one rule, language and severity (a stratum) the sample stands for all
findings, so each judged finding counts for (findings ÷ judged findings) of its stratum. A stratum without a
judgement counts as unjudged, never as true.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from bench.review.findings import Found
from bench.review.judgements import VERDICTS, Judgement, Verdict, match
from faultkit.base.sample_statistics import Interval, proportion_interval
from faultkit.code.review.engine import RULES

LEAST_TRUE_OR_ARGUABLE = 0.6
"""A rule with a smaller share is off by default."""
_TITLES = {rule.id: f"{rule.id} {rule.slug}" for rule in RULES}


@dataclass(slots=True)
class Stratum:
    """The findings of one rule, language and severity."""

    findings: int = 0
    judged: Counter[Verdict] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Share:
    """A weighted share with its 95 % interval."""

    value: float
    interval: Interval

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.value:.0%} ({100 * low:.0f}-{100 * high:.0f})"


@dataclass(frozen=True, slots=True)
class Precision:
    """What is known about a group of findings."""

    findings: int
    unjudged: int
    """Findings of strata in which none has been judged."""
    judged: Counter[Verdict]
    shares: Mapping[Verdict, Share]
    """Empty if none has been judged."""

    @property
    def is_too_low(self) -> bool:
        """Whether fewer than 60 % are true or arguable."""
        return bool(self.shares) and 1 - self.shares["false"].value < LEAST_TRUE_OR_ARGUABLE


def strata_of(
    findings: Iterable[Found], judgements: Iterable[Judgement]
) -> dict[tuple[str, str, str], Stratum]:
    """Return the findings and their judgements by rule, language and severity."""
    strata: defaultdict[tuple[str, str, str], Stratum] = defaultdict(Stratum)
    for each, judgement in match(findings, judgements):
        stratum = strata[each.stratum]
        stratum.findings += 1
        if judgement is not None:
            stratum.judged[judgement.verdict] += 1
    return dict(strata)


def precision_of(strata: Iterable[Stratum]) -> Precision:
    """Return the weighted shares of the judged strata."""
    listed = list(strata)
    judged = [each for each in listed if each.judged]
    counted: Counter[Verdict] = Counter()
    for each in judged:
        counted.update(each.judged)
    return Precision(
        findings=sum(each.findings for each in listed),
        unjudged=sum(each.findings for each in listed if not each.judged),
        judged=counted,
        shares={verdict: _share(judged, verdict) for verdict in VERDICTS} if judged else {},
    )


def _share(judged: list[Stratum], verdict: Verdict) -> Share:
    """Return a share with Wilson's interval for as many simple draws as have the same variance."""
    total = sum(each.findings for each in judged)
    draws = sum(each.judged.total() for each in judged)
    value = sum(each.findings / total * each.judged[verdict] / each.judged.total() for each in judged)
    # A stratum with one draw, or with draws of one kind, shows no variance of its own: two draws of the
    # group's mean, itself kept off 0 and 1, are added to each.
    middle = (value * draws + 1) / (draws + 2)
    variance = 0.0
    for each in judged:
        likely = (each.judged[verdict] + 2 * middle) / (each.judged.total() + 2)
        variance += (each.findings / total) ** 2 * likely * (1 - likely) / each.judged.total()
    worth = min(middle * (1 - middle) / variance, draws)
    return Share(value, proportion_interval(value * worth, worth))


def precision_tables(findings: Iterable[Found], judgements: Iterable[Judgement]) -> str:
    """Return Markdown tables: all, by severity, by language, by rule; and what is no longer found."""
    found, judged = list(findings), list(judgements)
    strata = strata_of(found, judged)
    parts = [_table("all", strata, lambda name: "all")]
    parts += [
        _table(title, strata, group)
        for title, group in (
            ("severity", lambda name: name[2]),
            ("language", lambda name: name[1]),
            ("rule", lambda name: _TITLES.get(name[0], name[0])),
        )
    ]
    low = sorted(
        rule
        for rule, each in _grouped(strata, lambda name: _TITLES.get(name[0], name[0])).items()
        if each.is_too_low
    )
    parts.append(f"Under {LEAST_TRUE_OR_ARGUABLE:.0%} true or arguable: {', '.join(low) or 'none'}.")
    parts.append(_no_longer_found(found, judged))
    return "\n\n".join(parts)


def _no_longer_found(findings: Sequence[Found], judgements: Sequence[Judgement]) -> str:
    """Return how many judged findings have gone, and the true ones among them: those should have stayed."""
    kept = {judgement.key for _, judgement in match(findings, judgements) if judgement is not None}
    gone = [each for each in judgements if each.key not in kept]
    counted = Counter(each.verdict for each in gone)
    lines = [f"No longer found: {', '.join(f'{counted[verdict]} {verdict}' for verdict in VERDICTS)}."]
    lines += [
        f"- {each.rule} {each.project} {each.file}:{each.line}: {each.reason}"
        for each in sorted(gone, key=lambda each: each.key)
        if each.verdict == "true"
    ]
    return "\n".join(lines)


def _grouped(
    strata: Mapping[tuple[str, str, str], Stratum], group: Callable[[tuple[str, str, str]], str]
) -> dict[str, Precision]:
    groups: defaultdict[str, list[Stratum]] = defaultdict(list)
    for name, stratum in strata.items():
        groups[group(name)].append(stratum)
    made = {name: precision_of(members) for name, members in groups.items()}
    return dict(sorted(made.items(), key=lambda each: (-each[1].findings, each[0])))


def _table(
    title: str, strata: Mapping[tuple[str, str, str], Stratum], group: Callable[[tuple[str, str, str]], str]
) -> str:
    rows = [
        f"| {title} | findings | unjudged | true / arguable / false judged | true | arguable | false |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, each in _grouped(strata, group).items():
        judged = " / ".join(str(each.judged[verdict]) for verdict in VERDICTS) if each.shares else "-"
        shares = " | ".join(str(each.shares[verdict]) if each.shares else "-" for verdict in VERDICTS)
        rows.append(f"| {name} | {each.findings} | {each.unjudged} | {judged} | {shares} |")
    return "\n".join(rows)
