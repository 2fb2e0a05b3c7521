"""The verdicts: one table of defects, each with its rule, and what it means to cope. Pure.

A rule goes by evidence alone: requests and times of the server, exit code and output of the client, and the
same of a control run without a fault. It knows no SDK.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

from faultkit.base.program_output import ended_how, last_words
from faultkit.base.text import counted
from faultkit.llm.profile.cases import Case, dialect_name
from faultkit.llm.profile.evidence import (
    ClientRun,
    SeenRequest,
    attempts_of,
    gaps_ms,
    is_answered,
    new_lines,
    retries_of,
    says_nothing_new,
    words_of,
)

DefectName: TypeAlias = Literal[
    "took half an answer for a whole one",
    "never gave up",
    "ignored Retry-After",
    "retried what must not be retried",
    "retried after output was shown",
    "storm",
    "lost the error's reason",
    "leaked connections",
]
Verdict: TypeAlias = Literal["coped", "defect", "not exercised", "inconclusive"]
VERDICTS: tuple[Verdict, ...] = ("coped", "defect", "not exercised", "inconclusive")

EARLY_MS = 50.0
"""How much too early a retry may come: clocks and rounding of the client."""
MOST_ATTEMPTS = 10
STORM_ATTEMPTS, STORM_MS = 4, 1000.0
OVERLAP_MS = 1000.0
_NOTHING_TO_ACT_ON = "the client asks for nothing that the fault acts on"


@dataclass(frozen=True, slots=True)
class Defect:
    """What a client did wrong, and the evidence."""

    name: DefectName
    evidence: str


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of the table of defects."""

    name: DefectName
    when: str
    """The rule in words, for the docs."""
    find: Callable[[Case, ClientRun, ClientRun], str]
    """Return the evidence from the case, its run and the control run; empty if there is none."""


@dataclass(frozen=True, slots=True)
class CaseResult:
    """How the client behaved in one case: a row of the profile."""

    case: str
    verdict: Verdict
    why: str
    defects: tuple[Defect, ...] = ()
    exit_code: int | None = None
    requests: int = 0
    retries: int = 0
    gaps_ms: tuple[float, ...] = ()
    last_words: str = ""
    elapsed_ms: float = 0.0


def judge(case: Case, run: ClientRun, control: ClientRun, *, is_comparable: bool = True) -> CaseResult:
    """Judge a run against the control run. `is_comparable`: runs without a fault print the same."""
    defects = tuple(
        Defect(rule.name, evidence) for rule in RULES if (evidence := rule.find(case, run, control))
    )
    verdict: Verdict
    if not any(request.is_hit for request in run.requests):
        verdict, why, defects = "not exercised", _why_not_exercised(run), ()
    elif defects:
        verdict, why = "defect", "; ".join(f"{each.name}: {each.evidence}" for each in defects)
    elif not is_comparable and _is_silent_success(case, run, control):
        verdict, why = "inconclusive", "it ended with 0, and what it prints differs each time"
    else:
        verdict, why = "coped", _how_it_coped(case, run, control)
    return CaseResult(
        case.name,
        verdict,
        why,
        defects,
        run.exit_code,
        len(run.requests),
        retries_of(run, control),
        gaps_ms(run),
        last_words(run.exit_code, run.stdout, run.stderr),
        run.elapsed_ms,
    )


def unmet_result(case: Case) -> CaseResult:
    """Return the result of a case whose fault cannot act on what the client does."""
    return CaseResult(case.name, "not exercised", _NOTHING_TO_ACT_ON)


def control_problem(run: ClientRun, dialect: str = "") -> str:
    """Return why the control run cannot be compared with; empty if it can. `dialect` is the one that it must
    use, by its name on the command line."""
    if run.exit_code is None:
        return "the client did not end within its time limit, though nothing was wrong"
    if run.exit_code != 0:
        line = last_words(run.exit_code, run.stdout, run.stderr)
        how = f"the client {ended_how(run.exit_code)}, though nothing was wrong"
        return how + (f": {line}" if line else "")
    if not run.requests:
        return "the client never called a model: does it use the URL from its environment, or {url}?"
    spoken = dialect_name(run.requests[0].dialect)
    if dialect and spoken != dialect:
        return f"the client speaks {spoken}, expected {dialect}"
    return ""


def _why_not_exercised(run: ClientRun) -> str:
    if not run.requests:
        return "the client sent no request"
    return _NOTHING_TO_ACT_ON


def _how_it_coped(case: Case, run: ClientRun, control: ClientRun) -> str:
    retries = retries_of(run, control)
    after = f" after {counted(retries, 'retry', 'retries')}" if retries else ""
    if run.exit_code:
        line = last_words(run.exit_code, run.stdout, run.stderr)
        return f"it {ended_how(run.exit_code)}{after} and said why: {line}"
    if is_answered(run, control):
        return f"it gave the whole answer{after}"
    if case.shows == "nothing":
        return f"nothing in the answer shows the fault; it ended with 0{after}"
    return f"it ended with 0{after} and said that something was wrong"


def _is_silent_success(case: Case, run: ClientRun, control: ClientRun) -> bool:
    """Return whether only the output could show what the client made of the fault."""
    is_visible = case.shows != "nothing" and not _is_recovered(run)
    return is_visible and run.exit_code == 0 and not new_lines(run.stderr, control.stderr)


# --- the rules --------------------------------------------------------------------------------------


def _is_recovered(run: ClientRun) -> bool:
    """Return whether each request that was hit has an attempt that was not."""
    return all(any(not each.is_hit for each in group) for group in attempts_of(run))


def _half_for_whole(case: Case, run: ClientRun, control: ClientRun) -> str:
    if case.shows == "nothing" or run.exit_code != 0 or _is_recovered(run):
        return ""
    said, usual = words_of(run.stdout), words_of(control.stdout)
    sent = " ".join(request.text for group in attempts_of(run) for request in group)
    if (case.shows == "error" and not sent) or is_answered(run, control):
        return ""
    if new_lines(run.stderr, control.stderr) or not says_nothing_new(said, usual):
        return ""
    beginning = last_words(0, run.stdout, "")
    return f'exit code 0, nothing said on stderr, and only part of the answer: "{beginning}"'


def _never_gave_up(case: Case, run: ClientRun, control: ClientRun) -> str:
    if run.exit_code is not None:
        return ""
    waits = [request for request in run.requests if request.end == "open"]
    state = "waiting for an answer" if waits else "with no request open"
    return f"still running {run.elapsed_ms / 1000:.0f} s after its first request, {state}"


def _ignored_retry_after(case: Case, run: ClientRun, control: ClientRun) -> str:
    for group in attempts_of(run):
        for earlier, later in pairwise(group):
            asked = earlier.retry_after_s
            waited_ms = later.at_ms - earlier.ended_ms
            if asked is not None and waited_ms < asked * 1000 - EARLY_MS:
                return f"asked to wait {asked:g} s, came again after {waited_ms / 1000:.2f} s"
    return ""


def _retried_the_permanent(case: Case, run: ClientRun, control: ClientRun) -> str:
    retries = retries_of(run, control)
    if not case.is_permanent or not retries:
        return ""
    hit = attempts_of(run)[0][0]
    return f"{hit.status} {case.kind}, then {counted(retries, 'retry', 'retries')} of the same request"


def _retried_after_output(case: Case, run: ClientRun, control: ClientRun) -> str:
    if not retries_of(run, control):
        return ""
    for group in attempts_of(run):
        for earlier, later in pairwise(group):
            if earlier.text and earlier.is_hit and _begins(earlier, later.shown_before):
                return f'"{earlier.text.strip()[:40]}" was on stdout when the request came again'
    return ""


def _begins(request: SeenRequest, shown: str) -> bool:
    """Return whether the first words of an answer have been shown."""
    return says_nothing_new(words_of(request.text)[:3], words_of(shown))


def _storm(case: Case, run: ClientRun, control: ClientRun) -> str:
    for group in attempts_of(run):
        if len(group) > MOST_ATTEMPTS:
            return f"{len(group)} attempts of one request"
        for first, last in zip(group, group[STORM_ATTEMPTS - 1 :], strict=False):
            if last.at_ms - first.at_ms < STORM_MS:
                return f"{STORM_ATTEMPTS} attempts within {last.at_ms - first.at_ms:.0f} ms"
    return ""


def _lost_the_reason(case: Case, run: ClientRun, control: ClientRun) -> str:
    if run.exit_code is None:
        return ""
    if run.exit_code == 0 and (case.shows != "error" or is_answered(run, control)):
        return ""
    printed = f"{run.stdout}\n{run.stderr}"
    how = ended_how(run.exit_code)
    reasons = [reason for group in attempts_of(run) for each in group for reason in each.reasons]
    if case.shows == "error" and reasons:
        spoken = words_of(printed.casefold(), with_numbers=True)
        if any(_is_said(reason, spoken) for reason in reasons):
            return ""
        return f"{how}, without the message, the code or the status of the error"
    new = new_lines(run.stderr, control.stderr) or new_lines(run.stdout, control.stdout)
    return "" if new else f"{how} and said nothing"


def _is_said(reason: str, spoken: list[str]) -> bool:
    wanted = words_of(reason.casefold(), with_numbers=True)
    size = len(wanted)
    return any(spoken[at : at + size] == wanted for at in range(len(spoken) - size + 1))


def _leaked(case: Case, run: ClientRun, control: ClientRun) -> str:
    if run.left_open:
        return f"{counted(run.left_open, 'answer')} not read to the end, and open after the client had ended"
    longest = max((each.overlap_ms for group in attempts_of(run) for each in group), default=0.0)
    if longest <= OVERLAP_MS:
        return ""
    return f"an abandoned answer was still open {longest / 1000:.1f} s after the request came again"


RULES: tuple[Rule, ...] = (
    Rule(
        "took half an answer for a whole one",
        "The answer is not whole and the client can know it, no other attempt was answered, and it ends "
        "with 0, says nothing new on stderr, and prints less than in the control run and nothing else.",
        _half_for_whole,
    ),
    Rule(
        "never gave up",
        "The client is still running at the time limit, which begins with its first request.",
        _never_gave_up,
    ),
    Rule(
        "ignored Retry-After",
        f"The request comes again more than {EARLY_MS:g} ms earlier than the answer asked for.",
        _ignored_retry_after,
    ),
    Rule(
        "retried what must not be retried",
        "The request comes again after a refusal of the key, of the quota, of the prompt's length or of its "
        "content.",
        _retried_the_permanent,
    ),
    Rule(
        "retried after output was shown",
        "The request comes again when the first words of the failed answer are on stdout already.",
        _retried_after_output,
    ),
    Rule(
        "storm",
        f"One request comes more than {MOST_ATTEMPTS} times, or {STORM_ATTEMPTS} times within "
        f"{STORM_MS / 1000:g} s.",
        _storm,
    ),
    Rule(
        "lost the error's reason",
        "There is no whole answer, and neither stdout nor stderr has the message, a code or the status of "
        "the provider's error; without such an error, the client fails and prints nothing new.",
        _lost_the_reason,
    ),
    Rule(
        "leaked connections",
        "An answer that is not read to its end stays open after the client has ended, or for more than "
        f"{OVERLAP_MS / 1000:g} s after the request came again.",
        _leaked,
    ),
)
"""All defects, in the order in which they are named."""
