"""The settings of a review: what a configuration file sets, and what flags set in its place."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from faultkit.base.errors import InputError
from faultkit.base.text import did_you_mean
from faultkit.code.review.config_file import ReviewConfig
from faultkit.code.review.context import CONTEXT_NAMES
from faultkit.code.review.engine import ALL_RULES
from faultkit.code.review.outcome import Judgement
from faultkit.code.review.path_patterns import path_patterns
from faultkit.code.review.review_files import PathChoice
from faultkit.code.review.selection import check_rule_name, selected_rules
from faultkit.code.review.suppressions import WITHOUT_REASON
from faultkit.code.rules.rule import LIKELY, Rule, Severity


@dataclass(frozen=True, slots=True)
class ReviewFlags:
    """What the command line sets. None, or nothing in it: not set."""

    select: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    is_strict: bool = False
    kind: str | None = None
    min_severity: Severity | None = None
    min_confidence: float | None = None


def listed(flag: str, values: Sequence[str]) -> tuple[str, ...]:
    """Return the values of a flag that may be repeated and may hold several, with commas between."""
    found = tuple(each.strip() for value in values for each in value.split(",") if each.strip())
    if values and not found:
        raise InputError(flag, "expected at least one name, got nothing")
    return found


def rules_of(config: ReviewConfig, flags: ReviewFlags, *, on: Iterable[Rule] = ()) -> tuple[Rule, ...]:
    """Return the rules to run. `--select` replaces all that the file selects and ignores.

    on: rules that count as on by default"""
    for flag, names in (
        ("--select", flags.select),
        ("--extend-select", flags.extend_select),
        ("--ignore", flags.ignore),
    ):
        for name in names:
            try:
                check_rule_name(name, ALL_RULES)
            except InputError as error:
                raise error.at(flag) from None
    reason = (WITHOUT_REASON.id,) if config.require_reason else ()
    if flags.select:
        return selected_rules(ALL_RULES, flags.select, flags.extend_select, flags.ignore, on=on)
    extend = (*config.extend_select, *flags.extend_select, *reason)
    return selected_rules(ALL_RULES, config.select, extend, (*config.ignore, *flags.ignore), on=on)


def path_choice(config: ReviewConfig, flags: ReviewFlags) -> PathChoice:
    """Return which files are reviewed, and as what."""
    for name in flags.include:
        if name not in CONTEXT_NAMES:
            expected = f"expected some of {', '.join(CONTEXT_NAMES)}"
            raise InputError("--include", f'{expected}, got "{name}"{did_you_mean(name, CONTEXT_NAMES)}')
    try:
        given = path_patterns(flags.exclude, os.getcwd())
    except InputError as error:
        raise error.at("--exclude") from None
    own = path_patterns((*config.extend_exclude, *(() if flags.exclude else config.exclude)), config.folder)
    return PathChoice(
        exclude=(given, own),
        contexts=tuple(
            (path_patterns((each,), config.folder), name) for each, name in config.context.items()
        ),
        include=frozenset({*config.include, *flags.include}),
        is_strict=flags.is_strict,
        excluded_by=_exclusions(config, flags),
    )


def _exclusions(config: ReviewConfig, flags: ReviewFlags) -> str:
    """Return the settings that exclude files: `--exclude or extend-exclude`."""
    settings = {
        "--exclude": flags.exclude,
        "exclude": () if flags.exclude else config.exclude,
        "extend-exclude": config.extend_exclude,
    }
    return " or ".join(name for name, patterns in settings.items() if patterns)


def judgement_of(config: ReviewConfig, flags: ReviewFlags, min_confidence: float = LIKELY) -> Judgement:
    """Return by what findings are shown or hidden; `min_confidence` counts if nothing sets another."""
    least = flags.min_confidence if flags.min_confidence is not None else config.min_confidence
    return Judgement(
        kind=flags.kind,
        min_severity=flags.min_severity or config.min_severity or "low",
        min_confidence=min_confidence if least is None else least,
        severities=config.severity,
        ignores=tuple(
            (path_patterns((each,), config.folder), names) for each, names in config.per_path_ignores.items()
        ),
    )
