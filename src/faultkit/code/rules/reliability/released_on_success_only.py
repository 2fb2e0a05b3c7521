"""Finds connections, files and locks that are released only if nothing fails in between."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, Step, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.reliability.response_not_closed import left_open_on_a_way
from faultkit.code.rules.rule import EVERY_LANGUAGE, JAVASCRIPT, LIKELY, POSSIBLE, Hit, Rule, Severity
from faultkit.code.rules.vocabulary.begun_transactions import (
    kept_after_failure,
    left_open,
    never_rolled_back,
    never_rolled_back_in_jdbc,
)
from faultkit.code.rules.vocabulary.command_lines import is_for_browser
from faultkit.code.rules.vocabulary.exits import (
    call_that_fails_before,
    exit_between,
    exit_without_release,
    is_exit_with_nothing,
    is_survived,
)
from faultkit.code.rules.vocabulary.go_releases import missed_in_go
from faultkit.code.rules.vocabulary.kept_marks import kept_marks
from faultkit.code.rules.vocabulary.object_queues import returned_on_success_only
from faultkit.code.rules.vocabulary.own_releases import (
    RELEASES,
    ends_with_block,
    is_collected,
    is_left_by_failure,
    is_of_memory,
    is_stored,
    released_by_its_taker,
    releases,
)
from faultkit.code.rules.vocabulary.taken_resources import OF_SOURCE, taken_severity

_POOLS = lazy_regex(r"(^|[._])\w*(pool|Pool)\w*(\(\))?$")
_ANSWERS = lazy_regex(r"^net/http\.|RoundTrip$|retryablehttp|^okhttp3\.|HttpClient\b.*\.execute$")
"""Calls that give an HTTP response, which is released with its body."""
_OF_ANSWER = frozenset(
    ("code", "isSuccessful", "header", "headers", "message", "body", "protocol", "isRedirect",
     "getStatusLine", "getStatusCode", "getCode", "getEntity", "getReasonPhrase")
)  # fmt: skip
"""Methods of a response that read what is there already."""
_READ_UP = frozenset(("string", "bytes", "consume", "toString", "toByteArray", "consumeQuietly"))
"""Methods that read a body to its end and close it."""
_TRANSACTIONS = frozenset({"Begin", "BeginTx", "Beginx", "BeginTxx", "transaction", "startTransaction"})
_MANAGER = lazy_regex(r"(^|\.)(async)?contextmanager$")
_MUTEX = lazy_regex(r"mutex|lock|sem", re.IGNORECASE)


def _check(facts: Facts) -> Iterator[Hit]:
    # Rust gives back what goes out of scope.
    found = () if facts.language == "rust" else tuple(_released(facts))
    yield from found
    if facts.language != "rust":
        for span, what in returned_on_success_only(facts):
            yield Hit(span, what, LIKELY, "medium")
    for span, what in kept_marks(facts):
        # In a browser, a mark is lost with its page.
        yield Hit(span, what, POSSIBLE if is_for_browser(facts) else LIKELY, "medium")
    seen = {facts.named_function_of(hit) for hit in found}
    for span, what in _transactions(facts):
        hit = Hit(span, what, LIKELY, "medium")
        if facts.named_function_of(hit) not in seen:
            yield hit


def _transactions(facts: Facts) -> Iterator[tuple[Span, str]]:
    if facts.language in JAVASCRIPT:
        found = tuple(never_rolled_back(facts))
        yield from found
        begun = {span.start for span, _ in found}
        yield from (each for each in left_open(facts) if each[0].start not in begun)
    elif facts.language in ("java", "kotlin"):
        yield from never_rolled_back_in_jdbc(facts)
    elif facts.language == "python":
        yield from kept_after_failure(facts)


def _released(facts: Facts) -> Iterator[Hit]:
    if facts.language == "kotlin":
        yield from _properties(facts)
    known_names = partial(taken_severity, language=facts.language)
    taking = facts.calls_with_name(known_names)
    if facts.language in JAVASCRIPT:
        taking = tuple(dict.fromkeys((*taking, *facts.calls_of_method("acquire", "connect", "transaction"))))
    direct = [(call, severity) for call in taking if (severity := _severity(call, facts)) is not None]
    known = (*direct, *_by_helpers(direct, facts))
    own = tuple(released_by_its_taker(facts))
    unknown = {call for call, _ in own} - {call for call, _ in known}
    for call, severity in (*known, *(each for each in own if each[0] in unknown)):
        scope = facts.function_of(call)
        if scope is None or not call.assigned or call.is_managed:
            continue
        name = _held_by(call)
        if not name.isidentifier() or name == "_" or is_of_memory(call) or ends_with_block(call, facts):
            continue
        if (late := _managed_late(name, call, scope, facts)) is not None:
            what = f"{name} is not released where the function leaves before the block that does it"
            yield Hit(Span(call.span.start, late.span.end), what, LIKELY, severity)
            continue
        if _is_outer(name, call, scope, facts) or is_stored(name, scope, facts):
            continue
        if _ANSWERS.search(call.name) and _is_given(name, scope, facts):
            continue
        if call.name.startswith("net/http.") and left_open_on_a_way(call, facts) is not None:
            continue  # FK-R014 names the way.
        ends = [
            each
            for each in facts.within(facts.calls, scope.body)
            if each.span.start > call.span.end
            and (not facts.are_exclusive(call, each) or _is_after_failure(each, call, facts))
            and (_ends(each, name, call) or _ends_by_helper(each, name, call, facts))
        ]
        sure = any(_is_sure(each, scope, facts) for each in ends)
        if sure and facts.language != "go":
            left = exit_without_release(call.span.end, ends, scope, facts)
            if left is not None and not is_exit_with_nothing(left, name, scope, facts):
                what = f"{_shown(ends[0], name)} is skipped when the function returns earlier"
                yield Hit(Span(call.span.start, left.span.end), what, LIKELY, severity)
            elif left is None and (
                failing := call_that_fails_before(call.span.end, ends, scope, facts, name)
            ):
                what = f"{_shown(ends[0], name)} is skipped when {failing.written}() fails, before the try"
                yield Hit(Span(call.span.start, failing.span.end), what, LIKELY, severity)
        if not ends or sure or _is_of_memory_pool(call, ends, facts):
            continue
        find_early = missed_in_go if facts.language == "go" else _early_return
        early = find_early(call, ends, scope, facts)
        if early is not None:
            ended = "function returns" if early.kind == "return" else "round of the loop ends"
            what = f"{_shown(ends[0], name)} is left out where the {ended} early"
            yield Hit(Span(call.span.start, early.span.end), what, LIKELY, severity)
        elif facts.language != "go" and _may_miss(call, ends, scope, facts, call not in unknown):
            what = f"{_shown(ends[0], name)} is left out when something between it and {call.written}() fails"
            sure_of = POSSIBLE if call in unknown and is_collected(call, ends[0], facts) else LIKELY
            yield Hit(Span(call.span.start, max(call.span.end, ends[0].span.end)), what, sure_of, severity)


def _is_after_failure(end: Call, call: Call, facts: Facts) -> bool:
    """Return whether a release stands in a handler of a try that a call is in."""
    handlers = {each.span for each in facts.handlers_around(end)}
    return bool(handlers) and any(
        one.span in handlers for each in facts.tries_around(call) for one in each.handlers
    )


def _is_of_memory_pool(call: Call, ends: list[Call], facts: Facts) -> bool:
    """Return whether a thing is of a `sync.Pool`: what is not put back is collected (Go)."""
    return facts.language == "go" and call.method == "Get" and all(end.method == "Put" for end in ends)


def _held_by(call: Call) -> str:
    """Return the variable that is released: of `const [value, release] = await slots.acquire()` the last."""
    name = call.assigned[0]
    parts = re.findall(r"\w+", name) if name.startswith("[") and call.method == "acquire" else []
    return parts[-1] if parts else name


def _by_helpers(direct: list[tuple[Call, Severity]], facts: Facts) -> Iterator[tuple[Call, Severity]]:
    """Yield calls of functions of this text that return what they have taken: `conn = self._checkout()`."""
    for taken, severity in direct:
        scope = facts.named_function_of(taken) if taken.is_returned and not taken.assigned else None
        if scope is not None and not _ANSWERS.search(taken.name) and facts.language != "go":
            yield from ((call, severity) for call in facts.callers_of(scope))


def _early_return(call: Call, ends: list[Call], scope: Scope, facts: Facts) -> Step | None:
    """Return a `return` before which nothing releases what a call has taken, while others do."""
    name = call.assigned[0]
    if all(facts.handlers_around(end) for end in ends):
        return None  # Without an error it is kept.
    for step in facts.own(facts.steps, scope):
        if step.kind != "return" or step.span.start < call.span.end or facts.handlers_around(step):
            continue
        if facts.are_exclusive(call, step):
            continue  # Nothing was taken on the way to it.
        released = any(
            is_within(end.span, step.span)
            or (end.span.end <= step.span.start and not facts.are_exclusive(end, step))
            for end in ends
        )
        if (
            not released
            and not is_exit_with_nothing(step, name, scope, facts)
            and re.search(rf"\b{re.escape(name)}\b(?!\s*\.)", step.text) is None
            and not _is_handed_on(name, step, facts)
        ):
            return step
    return None


def _is_handed_on(name: str, step: Step, facts: Facts) -> bool:
    """Return whether the branch of a `return` gives the whole object to another function before it leaves."""
    arm = next((each for each in reversed(facts.arms) if is_within(step.span, each.span)), None)
    return arm is not None and any(
        _gets(name, call) for call in facts.within(facts.calls, Span(arm.span.start, step.span.start))
    )


def _gets(name: str, call: Call) -> bool:
    """Return whether a call is given the whole object."""
    return any(each.value.text == name for each in call.positional)


_MANAGES = lazy_regex(r"\bwith\s|\btry\s*\(|\busing\s*\(|\.use\s*\{")


def _managed_late(name: str, call: Call, scope: Scope, facts: Facts) -> Step | None:
    """Return a way out of a function between a call and the `with`, `try (…)`, `using` or `use` that closes
    what it took."""
    if facts.language in JAVASCRIPT or facts.language == "go":
        return None
    word = re.escape(name)
    rest = Span(call.span.end, scope.body.end)
    text = facts.text(rest)
    if not _MANAGES.search(text):
        return None
    found = re.search(
        rf"\bwith\s+{word}\s*[:,]|\btry\s*\(\s*{word}\s*[;)]|\busing\s*\(\s*{word}\s*\)|\b{word}\.use\s*\{{",
        text,
    )
    if found is None:
        return None
    start = facts.syntax.place_of(found, rest.start).start
    ends = [each for each in facts.within(facts.calls, scope.body) if _ends(each, name, call)]
    left = exit_between(call.span.end, start, ends, scope, facts)
    if left is None or is_exit_with_nothing(left, name, scope, facts):
        return None
    return None if re.search(rf"\b{word}\b(?!\s*\.)", left.text) else left  # What is returned has it.


def _properties(facts: Facts) -> Iterator[Hit]:
    """Yield `val conn = dataSource.connection`, closed only if nothing fails in between (Kotlin)."""
    for each in facts.assignments:
        if each.scope is None or each.value is None or not OF_SOURCE.search(each.value.text):
            continue
        name = each.targets[0]
        inside = [call for call in facts.own(facts.calls, each.scope) if call.span.start > each.span.end]
        ends = [call for call in inside if call.written == f"{name}.close"]
        sure = any(facts.is_in_finally(call) or facts.handlers_around(call) for call in ends)
        if not ends or sure or any(call.written == f"{name}.use" for call in inside):
            continue
        if any(call.span.end < ends[-1].span.start and not is_logging(call) for call in inside):
            what = f"{name}.close() is left out when something between it and {each.value.text} fails"
            yield Hit(each.span, what, LIKELY)


def _severity(call: Call, facts: Facts) -> Severity | None:
    if (known := taken_severity(call.name, facts.language)) is not None:
        return known
    if facts.language not in JAVASCRIPT or not call.is_awaited:
        return None
    owner = call.receiver_written
    if call.method in ("connect", "acquire") and (_POOLS.search(owner) or call.name == "pg.Pool.connect"):
        return "high"
    if call.method == "acquire" and (_MUTEX.search(owner) or _MUTEX.search(call.receiver)):
        return "high"
    if call.method != "transaction" or not owner:
        return None
    return None if any(each.value.shape == "function" for each in call.positional) else "high"


def _is_outer(name: str, call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether the variable is a field, belongs to others, or is released by a `with` or `try (…)`."""
    # `with conn` of psycopg2 ends a transaction, and does not give the connection back to its pool.
    if b"getconn" not in facts.syntax.source and any(
        each.written == name and each.is_managed and is_within(each.span, scope.body)
        for each, _ in facts.managed
    ):
        return True
    if not facts.file_names.isdisjoint((name, f"self.{name}")):
        return True
    # The body of a `with` runs at the yield of its context manager, which gets the errors of that body.
    is_manager = any(_MANAGER.search(each.name) for each in scope.decorators)
    handed = ("return",) if is_manager else ("return", "yield")
    # What Go releases in a deferred call is only lent to the function that is called last.
    lent = facts.language == "go" and any(
        facts.is_deferred(each) and each.method in RELEASES and each.receiver_written == name
        for each in facts.within(facts.calls, scope.body)
    )
    if not lent and any(
        step.kind in handed
        and name in step.text
        and re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.(])", step.text)
        for step in facts.within(facts.steps, scope.body)
    ):
        return True
    outer = {each for each in facts.functions_around(call) if each is not scope}
    return any(name in each.targets and each.scope in outer for each in facts.assignments)


def _is_given(name: str, scope: Scope, facts: Facts) -> bool:
    """Return whether another function gets the whole response, and may close it."""
    return any(
        each.value.text == name and call.method not in RELEASES
        for call in facts.within(facts.calls, scope.body)
        for each in call.arguments
    )


def _ends(call: Call, name: str, taken: Call) -> bool:
    if _ANSWERS.search(taken.name):
        owner = call.receiver_written
        if owner.rstrip("!?") in (f"{name}.Body", f"{name}.body") and call.method in RELEASES | _READ_UP | {
            "use"
        }:
            return True
        if call.method in _READ_UP and any(each.value.text.startswith(f"{name}.") for each in call.arguments):
            return True
    if taken.method == "acquire" and call.written == name:
        return True  # `const release = await mutex.acquire()`
    if taken.method in _TRANSACTIONS:
        return call.method.lower() in ("commit", "rollback") and call.receiver_written == name
    if call.receiver_written.rstrip("?!") == name and releases(call.method):
        return True
    return call.method in RELEASES and any(each.value.text == name for each in call.arguments)


def _ends_by_helper(call: Call, name: str, taken: Call, facts: Facts) -> bool:
    """Return whether a function of this text that is given the object releases it: `rollback(tx)`."""
    given = [at for at, each in enumerate(call.positional) if each.value.text == name]
    if not given or call.method in RELEASES:
        return False
    for scope in facts.functions_named(call.method):
        if call not in facts.callers_of(scope):
            continue
        own = [each.name for each in scope.parameters if each.name not in ("self", "this")]
        if given[0] < len(own) and any(
            _ends(each, own[given[0]], taken) for each in facts.within(facts.calls, scope.body)
        ):
            return True
    return False


def _shown(end: Call, name: str) -> str:
    if end.written == name:
        return f"{name}()"
    return f"{end.written}()" if end.written.startswith(f"{name}.") else f"{end.written}({name})"


def _is_sure(end: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether a release runs on every way: in `finally`, deferred, or in a callback."""
    if facts.language == "go" and (end.is_deferred or facts.is_deferred(end)):
        return False  # It runs for the returns behind it only.
    if end.is_managed or facts.function_of(end) is not scope:
        return True
    return facts.is_in_finally(end)


def _may_miss(call: Call, ends: list[Call], scope: Scope, facts: Facts, is_known: bool) -> bool:
    """Return whether the function can be left between the two."""
    handlers = [
        handler for each in facts.tries for handler in each.handlers if handler.is_broad or handler.types
    ]
    in_handlers = [each for each in ends if any(is_within(each.span, one.body) for one in handlers)]
    normal = [each for each in ends if each not in in_handlers]
    if not normal:
        return False  # Released after an error; without one it is kept.
    if in_handlers:
        return _is_raised_past(call, in_handlers, normal[-1], facts)
    last = normal[-1]
    if _ANSWERS.search(call.name):
        return _is_left_open(call, ends, scope, facts)
    between = [
        each
        for each in facts.own(facts.calls, scope)
        if call.span.end < each.span.start
        and each.span.end < last.span.start
        and not (_gets(call.assigned[0], each) and facts.are_exclusive(each, last))
    ]
    if not is_known:
        between = [each for each in between if not is_logging(each)]
        return is_left_by_failure(call, last, between, scope, facts)
    if facts.language == "python" and _FILES.search(call.name):
        return _is_worked_on(call, between, last, scope, facts)
    steps = facts.own(facts.steps_of("yield"), scope)
    yields = any(call.span.end < each.span.start < last.span.start for each in steps)
    return yields or any(not is_logging(each) and not is_survived(each, facts) for each in between)


def _is_raised_past(call: Call, ends: list[Call], last: Call, facts: Facts) -> bool:
    """Return whether an error is raised that none of the handlers that release catches."""
    for step in facts.within(facts.steps, Span(call.span.end, last.span.start)):
        if step.kind != "raise" or not step.text.strip() or facts.handlers_around(step):
            continue
        if facts.function_of(step) is not facts.function_of(call):
            continue
        around = [handler for each in facts.tries_around(step) for handler in each.handlers]
        releasing = [each for each in around if any(is_within(end.span, each.body) for end in ends)]
        raised = re.match(r"(?:new\s+)?([\w.]+)", step.text.strip())
        if not releasing or raised is None or any(each.is_broad or not each.types for each in releasing):
            continue
        caught = {name.rpartition(".")[2] for each in around for name in each.types}
        own = raised[1].rpartition(".")[2]
        bases = {name.rpartition(".")[2] for name in facts.classes.get(own, ())}
        if own not in caught and not bases & caught:
            return True
    return False


_FILES = lazy_regex(r"^(io\.|gzip\.|codecs\.|builtins\.|bz2\.|tarfile\.)?open$|^zipfile\.ZipFile$")


def _is_worked_on(call: Call, between: list[Call], last: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether more than the file itself may fail while it is open."""
    name = call.assigned[0]
    raises = any(
        step.kind == "raise" and call.span.end < step.span.start < last.span.start
        for step in facts.own(facts.steps, scope)
    )
    if any(_raises(each, facts) for each in between):
        return True
    return raises or any(
        each.receiver_written.startswith("self.")
        and not is_logging(each)
        and name not in each.written.split(".")
        for each in between
    )


def _raises(call: Call, facts: Facts) -> bool:
    """Return whether a function of this text is called that raises an error of its own."""
    return any(
        step.kind == "raise" and facts.function_of(step) is scope
        for scope in facts.functions_named(call.method)
        if call in facts.callers_of(scope)
        for step in facts.within(facts.steps, scope.body)
    )


def _is_left_open(call: Call, ends: list[Call], scope: Scope, facts: Facts) -> bool:
    """Return whether a response stays open where the function throws, returns, or calls what may fail."""
    name, last = call.assigned[0], ends[-1]
    arms = [each for each in facts.arms if any(is_within(end.span, each.span) for end in ends[:-1])]
    ways: list[Step | Call] = [
        step for step in facts.own(facts.steps, scope) if step.kind in ("return", "raise")
    ]
    ways += [
        each
        for each in facts.own(facts.calls, scope)
        if not is_logging(each)
        and not each.constructs
        and not (each.receiver_written == name and each.method in _OF_ANSWER)
    ]
    return any(
        call.span.end < each.span.start
        and each.span.end < last.span.start
        and not any(is_within(each.span, arm.span) for arm in arms)
        for each in ways
    )


RULE = Rule(
    id="FK-R053",
    slug="released-on-success-only",
    title="Released only if nothing fails",
    why="Each error keeps one connection, file or lock for ever: after as many errors as the pool "
    "has places, everything waits.",
    fix="Release it in finally (Java: try-with-resources; Python: with; C#: using; Kotlin: use; "
    "Go: defer right after the check).",
    kind="reliability",
    severity="high",
    languages=EVERY_LANGUAGE,
    check=_check,
)
