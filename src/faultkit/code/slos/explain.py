"""Why an objective is what it is, in sentences that name calls and lines. Pure."""

from __future__ import annotations

from faultkit.code.slos.costs import BLOCKED, BOUNDED, COSTS, LEAST_S, OWN_WORK, Expectation, cost_s
from faultkit.code.slos.prometheus import label_value, metrics_of, quoted
from faultkit.code.slos.work import Dependency, EntryKind, Work

LONGEST = 1000
"""Characters; what the schema of answers allows."""
_MOST_NAMED = 4
_FRAMEWORKS = {
    "fastapi": "FastAPI", "flask": "Flask", "starlette": "Starlette", "django": "Django", "quart": "Quart",
    "sanic": "Sanic", "aiohttp": "aiohttp", "litestar": "Litestar", "tornado": "Tornado",
    "express": "Express",
    "koa": "Koa", "fastify": "Fastify", "hono": "Hono", "nest": "NestJS", "next": "Next.js",
    "node": "Node.js",
    "spring": "Spring", "servlet": "Servlet", "gin": "Gin", "echo": "Echo", "fiber": "Fiber", "grpc": "gRPC",
}  # fmt: skip
_WHO: dict[EntryKind, str] = {
    "request": "answers requests",
    "stream": "streams its answers",
    "message": "works off messages",
    "job": "runs as a job",
    "function": "is called by other code",
}


def latency95(work: Work, expected: Expectation) -> str:
    return _joined(
        _about(work),
        _calls(work),
        _total(work, expected),
        _assumed(work),
        "What is measured is the time to the first byte, since an answer may stay open for long."
        if work.entry.kind == "stream"
        else "",
        _by_route(work),
    )


def latency99(work: Work, expected: Expectation) -> str:
    slow = [
        f"{each.call} on line {each.line} ({cost_s(each)[1]:g} s)" for each in work.dependencies[:_MOST_NAMED]
    ]
    patience = [_patience(each) for each in work.dependencies if each.kind in BOUNDED]
    blocked, worst = "", ""
    if work.blocks_loop:
        blocked = (
            f"Line {work.blocks_loop} blocks the event loop, so that requests wait for one another: "
            f"{BLOCKED:g} times as much."
        )
    if any(patience) and expected.worst_s:
        worst = f"In the worst case it waits for {expected.worst_s:g} s."
    return _joined(
        f"{_first_word(work)} may take {expected.p99_s:g} s in 99 of 100, for it has "
        f"{OWN_WORK.p99_s:g} s for its own work{' and waits for ' if slow else ''}{', '.join(slow)}.",
        *dict.fromkeys(each for each in patience[:_MOST_NAMED] if each),
        blocked,
        worst,
    )


def availability(work: Work, expected: Expectation) -> str:
    hard = [each for each in work.dependencies if not each.is_soft and COSTS[each.kind].up < 1]
    if work.entry.is_http:
        good = "Every answer but a server error (5xx) counts as good"
    elif work.entry.kind == "message":
        good = "Messages that arrive are to be worked off"
    else:
        good = "Runs that end without an error count as good"
    if not hard:
        return _joined(
            f"{good}.", f"{_first_word(work)} is not known to depend on anything outside of its process."
        )
    again = [each for each in hard if each.tries != 1]
    return _joined(
        f"{good}.",
        f"{_first_word(work)} fails when {_named(hard)} {'fails' if len(hard) == 1 else 'fail'}, "
        f"so that more than {expected.availability:g} % cannot be promised.",
        f"{_named(again)} {'is' if len(again) == 1 else 'are'} tried again, which helps for short failures."
        if again
        else "",
    )


def error(work: Work, expected: Expectation) -> str:
    if not work.entry.is_http:
        return _joined(
            f"At most {expected.errors:g} of 100 may end with an error.", _cause(work), _unread(work)
        )
    why = (
        "clients can send what is wrong or ask for what is not there"
        if work.takes_input
        else "a client can do little wrong here"
    )
    return _joined(
        f"At most {expected.errors:g} of 100 answers may be errors (4xx or 5xx): {why}, and more than that "
        "means that a release or an upstream broke something.",
        _cause(work),
    )


def _cause(work: Work) -> str:
    hard = [each for each in work.dependencies if not each.is_soft and COSTS[each.kind].up < 1]
    return f"Look at {_named(hard)} first." if hard else ""


def _subject(work: Work) -> str:
    entry = work.entry
    if entry.name:
        return entry.name[:80]
    return f"the handler of {entry.method} {entry.path}"[:100] if entry.path else "this code"


def _first_word(work: Work) -> str:
    subject = _subject(work)
    return subject if work.entry.name else subject[0].upper() + subject[1:]


def _about(work: Work) -> str:
    entry = work.entry
    doing = _WHO[entry.kind]
    if entry.is_http and entry.path and entry.name:
        doing = f"{'streams' if entry.kind == 'stream' else 'answers'} {entry.method} {entry.path[:80]}"
        doing = doing.replace("ANY ", "")
    framework = _FRAMEWORKS.get(entry.framework, entry.framework)
    where = f" ({framework})" if framework and entry.is_http else ""
    return f"{_first_word(work)} {doing}{where}."


def _calls(work: Work) -> str:
    found = work.dependencies
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


def _total(work: Work, expected: Expectation) -> str:
    if expected.p95_s == LEAST_S.get(work.entry.kind):
        return f"Nobody waits for it by the second: {expected.p95_s:g} s is the least that is asked of it."
    rounded = ", rounded up" if expected.is_rounded else ""
    return (
        f"With {OWN_WORK.p95_s:g} s for its own work that makes {expected.p95_s:g} s in 95 of 100{rounded}."
    )


def _by_route(work: Work) -> str:
    """The name of the function is what the code tells; what the metrics call it, it does not tell."""
    entry, label = work.entry, metrics_of(work.entry).label
    if not entry.is_http or not entry.path or label_value(entry) == entry.path:
        return ""
    return f"Where requests are counted by route, write {label}={quoted(entry.path[:80])}."


def _assumed(work: Work) -> str:
    most = max((each.times for each in work.dependencies), default=1)
    loops = f"The code does not say how many items there are: {most} are assumed." if most > 1 else ""
    return _joined(loops, _unread(work), _others(work))


def _unread(work: Work) -> str:
    words = f"Calls in {work.unread} are known by their words only: check them." if work.unread else ""
    broken = f"Line {work.broken_line} cannot be read: calls there are missing." if work.broken_line else ""
    return _joined(words, broken)


def _others(work: Work) -> str:
    if not work.others:
        return ""
    many = "1 other function was" if work.others == 1 else f"{work.others} other functions were"
    return f"{many} not looked at."


def _patience(each: Dependency) -> str:
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
    text = " ".join(each for each in sentences if each)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
