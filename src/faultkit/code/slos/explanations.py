"""Explanations of objectives, in sentences that name calls and lines. Pure."""

from __future__ import annotations

from faultkit.base.text import shortened
from faultkit.code.slos.costs import (
    BLOCKED,
    BOUNDED,
    COSTS,
    LEAST_S,
    OWN_WORK,
    Dependency,
    EntryKind,
    FunctionProfile,
    FunctionPromise,
    cost_s,
)

LONGEST = 1000
"""Characters that the schema of answers allows."""
_MOST_NAMED = 4
_FRAMEWORKS = {
    "fastapi": "FastAPI", "flask": "Flask", "starlette": "Starlette", "django": "Django", "quart": "Quart",
    "sanic": "Sanic", "aiohttp": "aiohttp", "litestar": "Litestar", "tornado": "Tornado",
    "express": "Express",
    "koa": "Koa", "fastify": "Fastify", "hono": "Hono", "nest": "NestJS", "next": "Next.js",
    "node": "Node.js",
    "spring": "Spring", "servlet": "Servlet", "gin": "Gin", "echo": "Echo", "fiber": "Fiber", "grpc": "gRPC",
}  # fmt: skip
_HOW_CALLED: dict[EntryKind, str] = {
    "request": "answers requests",
    "stream": "streams its answers",
    "message": "works off messages",
    "job": "runs as a job",
    "function": "is called by other code",
}


def explain_latency95(profile: FunctionProfile, expected: FunctionPromise) -> str:
    """Explain the objective for the 95th percentile."""
    return _joined(
        _about(profile),
        _calls(profile),
        _total(profile, expected),
        _assumed(profile),
        "What is measured is the time to the first byte, since an answer may stay open for long."
        if profile.entry.kind == "stream"
        else "",
    )


def explain_latency99(profile: FunctionProfile, expected: FunctionPromise) -> str:
    """Explain the objective for the 99th percentile."""
    slow = [
        f"{each.call} on line {each.line} ({cost_s(each)[1]:g} s)"
        for each in profile.dependencies[:_MOST_NAMED]
    ]
    limits = [_limit_sentence(each) for each in profile.dependencies if each.kind in BOUNDED]
    blocked, worst = "", ""
    if profile.blocks_loop:
        blocked = (
            f"Line {profile.blocks_loop} blocks the event loop, so that requests wait for one another: "
            f"{BLOCKED:g} times as much."
        )
    if any(limits) and expected.worst_s:
        worst = f"In the worst case it waits for {expected.worst_s:g} s."
    return _joined(
        f"{_subject_at_start(profile)} may take {expected.p99_s:g} s in 99 of 100, for it has "
        f"{OWN_WORK.p99_s:g} s for its own work{' and waits for ' if slow else ''}{', '.join(slow)}.",
        *dict.fromkeys(each for each in limits[:_MOST_NAMED] if each),
        blocked,
        worst,
    )


def explain_availability(profile: FunctionProfile, expected: FunctionPromise) -> str:
    """Explain the objective for availability."""
    hard = [each for each in profile.dependencies if not each.is_soft and COSTS[each.kind].up < 1]
    if profile.entry.is_http:
        good = "Every answer but a server error (5xx) counts as good"
    elif profile.entry.kind == "message":
        good = "Messages that arrive are to be worked off"
    else:
        good = "Runs that end without an error count as good"
    if not hard:
        return _joined(
            f"{good}.",
            f"{_subject_at_start(profile)} is not known to depend on anything outside of its process.",
        )
    again = [each for each in hard if each.tries != 1]
    return _joined(
        f"{good}.",
        f"{_subject_at_start(profile)} fails when {_named(hard)} {'fails' if len(hard) == 1 else 'fail'}, "
        f"so that more than {expected.availability:g} % cannot be promised.",
        f"{_named(again)} {'is' if len(again) == 1 else 'are'} tried again, which helps for short failures."
        if again
        else "",
    )


def explain_errors(profile: FunctionProfile, expected: FunctionPromise) -> str:
    """Explain the objective for the error rate."""
    if not profile.entry.is_http:
        return _joined(
            f"At most {expected.errors:g} of 100 may end with an error.",
            _cause(profile),
            _unanalysed(profile),
        )
    return _joined(
        f"At most {expected.errors:g} of 100 answers may be server errors (5xx) or time out: more than that "
        "means that a release or an upstream broke something. Errors of clients (4xx) do not count.",
        _cause(profile),
    )


def _cause(profile: FunctionProfile) -> str:
    hard = [each for each in profile.dependencies if not each.is_soft and COSTS[each.kind].up < 1]
    return f"Look at {_named(hard)} first." if hard else ""


def _subject(profile: FunctionProfile) -> str:
    entry = profile.entry
    if entry.name:
        return entry.name[:80]
    return f"the handler of {entry.method} {entry.path}"[:100] if entry.path else "this code"


def _subject_at_start(profile: FunctionProfile) -> str:
    subject = _subject(profile)
    return subject if profile.entry.name else subject[0].upper() + subject[1:]


def _about(profile: FunctionProfile) -> str:
    entry = profile.entry
    doing = _HOW_CALLED[entry.kind]
    if entry.is_http and entry.path and entry.name:
        doing = f"{'streams' if entry.kind == 'stream' else 'answers'} {entry.method} {entry.path[:80]}"
        doing = doing.replace("ANY ", "")
    framework = _FRAMEWORKS.get(entry.framework, entry.framework)
    where = f" ({framework})" if framework and entry.is_http else ""
    return f"{_subject_at_start(profile)} {doing}{where}."


def _calls(profile: FunctionProfile) -> str:
    found = profile.dependencies
    if not found:
        return "No call in it is known to leave its process."
    named = [_call(each) for each in found[:_MOST_NAMED]]
    more = len(found) - len(named)
    rest = f", and {more} more" if more > 0 else ""
    return f"It waits for {'; '.join(named)}{rest}."


def _call(each: Dependency) -> str:
    times = "" if each.times == 1 else f", {each.times} times"
    beside = ", at the same time as others" if each.is_concurrent else ""
    one_s = cost_s(each)[0] / each.times
    return f"{each.call} on line {each.line} ({COSTS[each.kind].words}, {one_s:g} s{times}{beside})"


def _total(profile: FunctionProfile, expected: FunctionPromise) -> str:
    if expected.p95_s == LEAST_S.get(profile.entry.kind):
        return f"No caller waits for it: {expected.p95_s:g} s is the lowest threshold for this kind of entry."
    rounded = ", rounded up" if expected.is_rounded else ""
    return (
        f"With {OWN_WORK.p95_s:g} s for its own work that makes {expected.p95_s:g} s in 95 of 100{rounded}."
    )


def _assumed(profile: FunctionProfile) -> str:
    most = max((each.times for each in profile.dependencies), default=1)
    loops = f"The code does not say how many items there are: {most} are assumed." if most > 1 else ""
    return _joined(loops, _unanalysed(profile), _others(profile))


def _unanalysed(profile: FunctionProfile) -> str:
    words = (
        f"Calls in {profile.language_by_words} are known by their words only: check them."
        if profile.language_by_words
        else ""
    )
    broken = (
        f"Line {profile.broken_line} cannot be read: calls there are missing." if profile.broken_line else ""
    )
    return _joined(words, broken)


def _others(profile: FunctionProfile) -> str:
    if not profile.others:
        return ""
    many = "1 other function was" if profile.others == 1 else f"{profile.others} other functions were"
    return f"{many} not looked at."


def _limit_sentence(each: Dependency) -> str:
    what = f"{each.call} on line {each.line}"
    if each.tries is None:
        return f"{what} is tried again without an end, so that nothing bounds it."
    if each.timeout_is == "missing":
        return f"{what} has no timeout: nothing bounds the slowest requests until it gets one."
    if each.timeout_is == "default":
        return f"{what} sets no timeout; only the {each.timeout_s:g} s of {each.library} bound it."
    if each.timeout_s is None:
        return ""
    tried = "" if each.tries == 1 else f" and is tried up to {each.tries} times"
    return f"{what} has a timeout of {each.timeout_s:g} s{tried}."


def _named(found: list[Dependency]) -> str:
    named = list(dict.fromkeys(f"{each.call} (line {each.line})" for each in found))
    shown, more = named[:_MOST_NAMED], len(named) - _MOST_NAMED
    if more > 0:
        return f"{', '.join(shown)} or one of {more} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"


def _joined(*sentences: str) -> str:
    return shortened(" ".join(each for each in sentences if each), LONGEST)
