"""Finds endless loops without a pause, which take a whole core."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Loop, Place, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import EVERY_LANGUAGE, LIKELY, Hit, Rule
from faultkit.code.rules.vocabulary.channels import cases_of, channel_uses, default_of
from faultkit.code.rules.vocabulary.ended_sources import ended_sources
from faultkit.code.rules.vocabulary.failed_accepts import failed_accepts
from faultkit.code.rules.vocabulary.idle_helpers import idle_by_helper, self_scheduled
from faultkit.code.rules.vocabulary.idle_rounds import (
    idle_rounds,
    is_told_to_wait,
)
from faultkit.code.rules.vocabulary.loop_conditions import WAITS_IN_HEAD, is_ended_by_answer
from faultkit.code.rules.vocabulary.remote_calls import remote_calls
from faultkit.code.rules.vocabulary.text_pattern import TextPattern
from faultkit.code.rules.vocabulary.unpaused_rounds import asks_something_else, unpaused_rounds
from faultkit.code.rules.vocabulary.waits import is_sleep
from faultkit.code.rules.vocabulary.yielded_rounds import yielded_rounds

_POLLS = frozenset(
    (
        "poll", "get_nowait", "empty", "is_alive", "isAlive", "isDone", "done", "qsize", "is_set",
        "locked", "alive", "ready", "now", "len", "isEmpty", "size", "Load", "load", "is_finished",
        "is_empty", "isCompleted", "exists", "Exists",
    )
)  # fmt: skip
_ASKS = frozenset({"get_nowait", "recv_nowait", "receive_nowait"})
_WAITS = frozenset({"wait", "join", "get", "select", "poll", "acquire", "recv", "accept"})
_EMPTY = lazy_regex(r"(Empty|WouldBlock)$")
_COMMENT = lazy_regex(r"//[^\n]*|\bcontinue\b")
_COMMENTS = lazy_regex(r"//[^\n]*|#[^\n]*|/\*.*?\*/", re.DOTALL)
_NOTHING = lazy_regex(r"\.(empty|isEmpty|is_empty)\(\)|\.(qsize|size)\(\)\s*==\s*0|\.length\s*===?\s*0")
"""Conditions that hold while there is nothing to do."""
_NO_ITEM = lazy_regex(r"(?:!|not )(\w+)$|(\w+)\s*(?:===?|is)\s*(?:null|undefined|None)$")
_TAKES = frozenset({"shift", "poll", "popleft"})
_TAKES_OF_REDIS = frozenset(
    {"lpop", "rpop", "lmove", "rpoplpush", "spop", "zpopmin", "zpopmax", "lPop", "rPop", "lMove"}
)
"""Commands that answer at once when there is nothing; `blpop` and its relatives wait."""
_ADVANCES = lazy_regex(r"(?<![=!<>])=(?![=>])|\+\+|--")
"""Conditions that do the work of the loop: `while ((to[i++] = from[j++])) {}`."""
_LEAVES = ("return", "break", "raise", "yield", "await")


def _check(facts: Facts) -> Iterator[Hit]:
    seen = set[Span]()
    for each in idle_rounds(facts):
        seen.add(facts.loops_around(each.call)[-1].span)
        yield Hit(each.span, each.what, LIKELY)
    for each in (*idle_by_helper(facts), *unpaused_rounds(facts), *yielded_rounds(facts)):
        loop = each.loop
        if loop is not None and loop.span not in seen:
            seen.add(loop.span)
            yield Hit(each.span, each.what, LIKELY)
    for each in self_scheduled(facts):
        yield Hit(each.span, each.what, LIKELY)
    for place, what in ended_sources(facts):
        seen.update(loop.span for loop in facts.loops_around(Place(place)))
        yield Hit(place, what, LIKELY)
    for place, loop, what in failed_accepts(facts):
        seen.add(loop.span)
        yield Hit(place, what, LIKELY)
    for loop in facts.loops:
        if loop.span in seen:
            continue
        if loop.kind == "while":
            yield from _spinning(loop.body, loop.span, loop.over, facts)
        if facts.language == "go" and loop.kind in ("endless", "while"):
            yield from _selecting(loop, facts)
        if loop.kind in ("endless", "while") and _polls_empty(loop, facts):
            yield _asking(loop, facts)
            continue
        if loop.kind in ("endless", "while") and _polls_remote(loop, facts):
            yield Hit(
                loop.head, "this loop asks again at once, without a pause, when there is nothing", LIKELY
            )
            continue
        if loop.kind != "endless":
            continue
        steps = [step for step in facts.within(facts.steps, loop.body) if step.kind in _LEAVES]
        calls = list(facts.within(facts.calls, loop.body))
        if steps or not all(map(_is_quick, calls)):
            continue
        yield Hit(loop.head, "this loop has no end and no pause", LIKELY)


_PAUSES = TextPattern(
    r"<-|\bselect\b|\.(tick|recv|receive|accept|wait\w*|take|next|read\w*|Read\w*|Recv|Receive\w*|Accept|Next|Wait\w*"
    r"|Delay|brpop|blpop|bzpop\w+|BLPop|BRPop|XReadGroup|xreadgroup|poll|Poll|consume|Consume|fetch_?message\w*"
    r"|FetchMessage|select|join|getOrWait|acquire|Acquire|block|xread|lock)\b|\bdelay\(|sleep|Sleep|backoff|BLOCK|block="
    r"|yield\b|readline|input\(|WaitTimeSeconds|wait_time",
)
"""What may wait in a round."""
_STOPS = lazy_regex(
    r"ctx|err|stop|cancel|clos|shut|done|interrupt|signal|quit|running|alive|active", re.IGNORECASE
)


def _polls_remote(loop: Loop, facts: Facts) -> bool:
    """Return whether a loop asks a database or service again at once, whatever the answer was."""
    text = facts.text(loop.body)
    if _PAUSES.search(text) or WAITS_IN_HEAD.search(loop.over) or facts.loops_around(loop):
        return False
    condition = loop.over.strip("() ")
    if loop.kind == "while" and _STATE.search(condition):
        return _asks_for_state(loop, facts)
    if loop.kind == "while" and not _STOPS.search(condition) and condition not in ("true", "True"):
        return False
    if is_ended_by_answer(loop, facts):
        return False
    remote = {each.call: each for each in remote_calls(facts)}
    inside = [call for call in facts.within(facts.calls, loop.body) if call in remote]
    asks = [call for call in inside if remote[call].is_read and remote[call].kind != "cache"]
    asks += [call for call in inside if remote[call].through is not None]
    asks += [call for call in facts.within(facts.calls, loop.body) if _asks_store(call)]
    # A call that is given a part of the last answer asks for the next page.
    asks = [call for call in asks if not asks_something_else(call, loop, facts)]
    if not asks or any(_may_pause(call, facts) for call in facts.within(facts.calls, loop.body)):
        return False
    branches = [step for step in facts.within(facts.steps, loop.body) if step.kind == "branch"]
    for step in facts.within(facts.steps, loop.body):
        if step.kind not in ("return", "break", "raise", "yield"):
            continue
        around = [each for each in branches if is_within(step.span, each.span)]
        if not around or not _STOPS.search(around[-1].text):
            return False
    return True


_FINDS = lazy_regex(
    r"^(find|fetch|load|list|claim|select|query|reserve|dequeue|getNext|nextPending|Find|Fetch|Load|Claim)"
)
_STORED = lazy_regex(r"(repo(sitory)?|dao|store|db|outbox|jobs|tasks|queue|client|api)$", re.IGNORECASE)
_STATE = lazy_regex(r"\b(\w+)\.(status|state|Status|State|done|ready|isDone|Phase|phase|progress)\b")


def _asks_store(call: Call) -> bool:
    """Return whether a call looks for work by the names of its method and its receiver."""
    return (
        _FINDS.match(call.method) is not None
        and _STORED.search(call.receiver_written) is not None
        and not is_told_to_wait(call)
    )


def _asks_for_state(loop: Loop, facts: Facts) -> bool:
    """Return whether each round only asks a service for a state: `while (job.status !== "done")`."""
    found = _STATE.search(loop.over)
    if found is None or any(
        step.kind in ("break", "return") for step in facts.within(facts.steps, loop.body)
    ):
        return False
    asks = [
        each.call
        for each in facts.within(facts.assignments, loop.body)
        if each.targets == (found[1],) and each.call is not None
    ]
    return any(call is not None and call.receiver_written and call.arguments for call in asks) and not any(
        _may_pause(call, facts) for call in facts.within(facts.calls, loop.body)
    )


def _may_pause(call: Call, facts: Facts) -> bool:
    """Return whether a function of this text that a loop calls waits, or is of another text."""
    return any(_PAUSES.search(facts.text(scope.body)) for scope in facts.functions_named(call.method))


def _selecting(loop: Loop, facts: Facts) -> Iterator[Hit]:
    """Yield `select` statements in a loop whose `default` does nothing, so that nothing is waited for."""
    calls = list(facts.within(facts.calls, loop.body))
    if any(map(is_sleep, calls)) or _waits_in_select(loop, facts):
        return
    for use in channel_uses(facts):
        if use.select is None or not is_within(use.select, loop.body):
            continue
        if facts.loops_around(use)[-1:] != (loop,) or _is_conditional(use.select, loop, facts):
            continue
        cases = cases_of(use.select, facts)
        idle = any(not head and _does_nothing(_COMMENT.sub("", body)) for head, body in cases)
        alone = not any(
            call.span.end < use.select.start or call.span.start > use.select.end
            for call in calls
            if not _is_quick(call)
            and not call.name.startswith("time.")
            and not _is_conditional(call.span, loop, facts)
        )
        if idle and alone:
            yield Hit(default_of(use.select, facts), "this select never waits, so the loop spins", LIKELY)
            return


_CLOCK_ONLY = lazy_regex(
    r"if\s+(time\.Since\(|time\.Now\(\)\.(After|Sub|Before)\(|\w+\.(Before|After)\(time\.Now\(\)|now\.Sub\()[^{}]*"
    r"\{[^{}]*\}"
)


def _does_nothing(body: str) -> bool:
    """Return whether a `default` is empty, only lets others run, or only looks at the clock."""
    bare = body.strip(" \n\t;")
    if bare in ("runtime.Gosched()", "time.Sleep(0)"):
        return True
    return not bare or _CLOCK_ONLY.fullmatch(bare) is not None


def _waits_in_select(loop: Loop, facts: Facts) -> bool:
    """Return whether each round of a loop comes to a `select` without a `default`."""
    selects = {
        use.select
        for use in channel_uses(facts)
        if use.select is not None
        and is_within(use.select, loop.body)
        and facts.loops_around(use)[-1:] == (loop,)
    }
    return any(
        all(head for head, _ in cases_of(each, facts)) and not _is_conditional(each, loop, facts)
        for each in selects
    )


def _is_conditional(select: Span, loop: Loop, facts: Facts) -> bool:
    """Return whether a select or call stands in a branch or in a case; what a condition calls always runs."""
    return any(
        is_within(select, arm.span) and arm.fork != select for arm in facts.within(facts.arms, loop.body)
    )


_UNTIL_EMPTY = lazy_regex(
    r"^(?!.*\|\|)[\w.\[\]]+\.(?:length|size(?:\(\))?|Count)(?:\s*>\s*0)?$|^len\([\w.]+\)"
)


def _polls_empty(loop: Loop, facts: Facts) -> bool:
    """Return whether the loop goes on at once when `get_nowait()` or `empty()` finds nothing.

    A loop that waits in its condition, or ends when a list is empty, does not."""
    if WAITS_IN_HEAD.search(loop.over) or _UNTIL_EMPTY.search(loop.over.strip("() ")):
        return False
    if is_ended_by_answer(loop, facts):
        return False
    if _skips_nothing(loop, facts) or _works_on_something_only(loop, facts) or _tries(loop, facts):
        return True
    asks = [call for call in facts.within(facts.calls, loop.body) if call.method in _ASKS]
    if not asks or any(
        is_sleep(call) or call.method in _WAITS for call in facts.within(facts.calls, loop.body)
    ):
        return False
    if any(step.kind == "await" for step in facts.within(facts.steps, loop.body)):
        return False
    return any(
        is_within(asks[0].span, each.body)
        and any(
            (handler.is_broad and handler.is_empty) or any(map(_EMPTY.search, handler.types))
            for handler in each.handlers
        )
        and not any(handler.exits for handler in each.handlers)
        for each in facts.tries
        if is_within(each.span, loop.body)
    )


def _asking(loop: Loop, facts: Facts) -> Hit:
    """Return the finding about a loop that asks an empty queue, at the command that could wait instead."""
    for call in facts.within(facts.calls, loop.body):
        if call.method in _TAKES_OF_REDIS:
            what = f"{call.written}() answers at once when there is nothing, and the loop asks again"
            return Hit(call.span, what, LIKELY)
    return Hit(loop.head, "this loop asks an empty queue again and again without a pause", LIKELY)


def _skips_nothing(loop: Loop, facts: Facts) -> bool:
    """Return whether the first thing in the loop is `if queue.empty(): continue`."""
    if "(" in loop.over.strip().removeprefix("(").removesuffix(")"):
        return False  # The condition reads the next line, or takes the next item.
    first = next((step for step in facts.within(facts.steps, loop.body) if step.kind == "branch"), None)
    if first is None or not (_NOTHING.search(first.text) or _is_taken_from_empty(first.text, loop, facts)):
        return False
    inside = [step for step in facts.within(facts.steps, first.span) if step.kind == "continue"]
    before = [
        call
        for call in facts.within(facts.calls, loop.body)
        if call.span.end <= first.span.start and call.method not in (*_TAKES, *_TAKES_OF_REDIS)
    ]
    others = [call for call in facts.within(facts.calls, first.span) if call.method not in _POLLS]
    return len(inside) == 1 and not before and not others


def _is_taken_from_empty(condition: str, loop: Loop, facts: Facts) -> bool:
    """Return whether a condition says that `queue.shift()` had nothing to give."""
    found = _NO_ITEM.match(condition.strip().removeprefix("(").removesuffix(")"))
    return found is not None and any(
        (call.method in _TAKES_OF_REDIS or (call.method in _TAKES and not call.arguments))
        and call.assigned == (found[1] or found[2],)
        for call in facts.within(facts.calls, loop.body)
    )


def _works_on_something_only(loop: Loop, facts: Facts) -> bool:
    """Return whether all work depends on what `queue.poll()` found, and nothing waits (Java)."""
    if facts.language != "java":
        return False
    calls = list(facts.within(facts.calls, loop.body))
    polls = [call for call in calls if call.method == "poll" and not call.arguments and call.assigned]
    if not polls or "queue" not in polls[0].receiver_written.lower() or any(map(is_sleep, calls)):
        return False
    name = polls[0].assigned[0]
    branches = [
        step.span
        for step in facts.within(facts.steps, loop.body)
        if step.kind == "branch" and re.search(rf"\b{re.escape(name)}\s*!=\s*null", step.text)
    ]
    return bool(branches) and all(
        call in polls or any(is_within(call.span, each) for each in branches) for call in calls
    )


_TRIES = frozenset(
    ("try_recv", "try_pop", "try_next", "TryDequeue", "TryTake", "TryRead", "TryPop", "tryReceive", "poll")
)
"""Methods that answer at once when there is nothing."""
_YIELDS = lazy_regex(r"yield|park|Spin|Yield|Wait|delay|join|await|Thread|Sleep|timeout", re.IGNORECASE)


def _tries(loop: Loop, facts: Facts) -> bool:
    """Return whether a loop takes what there is, and goes on at once when there is nothing."""
    if facts.language not in ("rust", "csharp", "kotlin") or facts.loops_around(loop):
        return False
    tries = [
        call
        for call in facts.within(facts.calls, loop.body)
        if call.method in _TRIES
        and (call.method != "poll" or (not call.arguments and "queue" in call.receiver_written.lower()))
        and (call.method != "TryTake" or len(call.arguments) == 1)
    ]
    if not tries or any(method in loop.over for method in _TRIES):
        return False
    text = facts.text(loop.body)
    for call in tries:
        text = text.replace(facts.text(call.callee), "")
    if (
        _PAUSES.search(text)
        or _YIELDS.search(text)
        or any(map(is_sleep, facts.within(facts.calls, loop.body)))
    ):
        return False
    return not any(step.kind in ("break", "return") for step in facts.within(facts.steps, loop.body))


def _spinning(body: Span, span: Span, condition: str, facts: Facts) -> Iterator[Hit]:
    """Yield loops that wait by polling, such as `while not done: pass`."""
    if [
        *facts.within(facts.calls, body),
        *facts.within(facts.assignments, body),
        *facts.within(facts.steps, body),
    ]:
        return
    text = _COMMENTS.sub("", facts.text(body)).strip("{} \t\n;")
    if text not in ("", "pass", "...", "continue"):
        return
    if _ADVANCES.search(condition) or _is_of_function(condition, span, facts):
        return
    if condition.lstrip().startswith("{") and "(" in condition:
        return  # `while { reader.advance()?; depth > 0 } {}` of Rust does its work in the condition.
    called = re.findall(r"(\w+)\s*\(", condition)
    if called and (any(word not in _POLLS for word in called) or _takes(called, facts)):
        return
    yield Hit(Span(span.start, body.start), f"this waits for {condition[:40]} without a pause", LIKELY)


def _is_of_function(condition: str, span: Span, facts: Facts) -> bool:
    """Return whether a condition is a variable of the function alone, which no other thread can change."""
    name = condition.strip("()! ")
    scope = facts.function_of(Place(span))
    declared = facts.assignments_to(name, Place(span)) if name.isidentifier() else ()
    return (
        bool(declared)
        and all(each.scope is scope for each in declared)
        and not any(facts.mentions(name, inner.span) for inner in facts.scopes if inner.outer is scope)
    )


def _takes(called: list[str], facts: Facts) -> bool:
    """Return whether the condition itself works: `queue.poll()` in Java takes an item in every round."""
    return "get_nowait" in called or ("poll" in called and facts.language == "java")


def _is_quick(call: Call) -> bool:
    """Return whether a call neither waits nor ends the loop, judged by its name."""
    return call.method in _POLLS or is_logging(call)


RULE = Rule(
    id="FK-R040",
    slug="busy-loop",
    title="Loop without an end or a pause",
    why="It takes a whole core for nothing, and starves what it waits for.",
    fix="Wait for an event, a queue or a condition with a timeout, or sleep between checks.",
    kind="reliability",
    severity="medium",
    languages=EVERY_LANGUAGE,
    check=_check,
)
