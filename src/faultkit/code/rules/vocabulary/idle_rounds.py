"""Loops that ask for work or for a state, and ask again at once when there is none.

    while running:                      while (Date.now() < deadline) {
        job = store.claim_next()          const job = await api.job(id);
        if job is None:                   if (job.state === "done") return job;
            continue                    }
        run(job)

A round without work must wait somewhere: in the call that asks, as `queue.get()` does, or in a pause.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Loop, Step, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.channels import channel_uses
from faultkit.code.rules.vocabulary.loop_conditions import WAITS_IN_HEAD, goes_on
from faultkit.code.rules.vocabulary.remote_calls import remote_calls
from faultkit.code.rules.vocabulary.waits import NO_TIME, is_sleep, is_yield

TAKES_NOW = frozenset(
    ("get_nowait", "recv_nowait", "receive_nowait", "try_recv", "try_pop", "try_next", "TryDequeue",
     "TryDequeueAsync", "TryRead", "TryPop", "TryPeek", "tryReceive", "pollFirst", "pollLast", "lpop",
     "rpop", "lmove", "rpoplpush", "spop", "zpopmin", "zpopmax", "lPop", "rPop", "lMove", "ListLeftPopAsync",
     "ListRightPopAsync", "LPop", "RPop")
)  # fmt: skip
"""Methods that answer at once when there is nothing."""
_NOW_BARE = frozenset(("poll", "TryTake", "shift", "popleft"))
"""Methods that answer at once, unless they are told how long to wait."""
_BLOCKS = lazy_regex(
    r"^_*(b[lr]?pop|bl?r?(pop|move)|brpop\w*|blpop\w*|bzpop\w*|BLPop|BRPop|BLMove|XRead\w*|xread\w*|recv\w*|receive\w*"
    r"|Recv\w*|Receive\w*|read|read_?\w*|Read\w*|accept\w*|Accept\w*|take|Take|wait\w*|Wait\w*|await\w*|select|Select"
    r"|consume\w*|Consume\w*|listen\w*|Listen\w*|join|acquire\w*|Acquire\w*|lock|tick|get|getOrWait|next|Next"
    r"|readline|input|prompt|question|race|any|all|allSettled|poll\w*|Poll\w*|fetch_?message\w*|FetchMessage\w*|getone|getmany|park\w*|epoll\w*"
    r"|iterator|recvfrom|scan|Scan|yield_?\w*|Yield|Gosched|flush|sleep\w*|Sleep\w*|delay|Delay|throttle|limit)$"
)
"""Methods that may wait until there is something."""
_LONG = lazy_regex(
    r"timeout|time_?out|wait|block|duration|seconds|millis|TimeUnit|Timeout|interval|long_?poll|visibility",
    re.IGNORECASE,
)
"""Arguments that say how long a call may wait."""
_WORK = lazy_regex(
    r"^_*(try_?)?(claim|dequeue|find|fetch|load|list|query|reserve|lease|pick|pop|next|get|peek|take|select|poll"
    r"|Claim|Dequeue|Find|Fetch|Load|List|Query|Reserve|Lease|Pick|Pop|Next|Get|Peek|TryClaim|TryGet|TryTake|Take)"
    r"(_?(next|pending|due|batch|jobs?|tasks?|work|unsent|unprocessed|unpublished|ready|queued|outstanding|available"
    r"|open|one|Next|Pending|Due|Batch|Jobs?|Tasks?|Work|Unsent|Unprocessed|Unpublished|Ready|Queued|Outstanding"
    r"|Available|Open|One))"
)
_STORED = lazy_regex(r"(repo(sitory)?|dao|store|db|database|outbox|jobs|tasks|inbox|backlog)$", re.IGNORECASE)
_FINDS = lazy_regex(
    r"^_*(find|fetch|load|list|claim|query|reserve|dequeue|get|next|pick|pop|peek|lease)", re.IGNORECASE
)
STATES = lazy_regex(
    r"status|state|done|ready|phase|finish|complete|succe|running|pending|processing|failed|healthy|progress|exists",
    re.IGNORECASE,
)
_SERVICES = lazy_regex(
    r"(client|api|service|http|gateway|session|svc|sdk|repo(sitory)?|store|db)$", re.IGNORECASE
)
_ELSE_CONTINUE = lazy_regex(r"[?.\w()\s]{0,40}else\s*\{\s*continue\b|[.\w()\s]{0,40}\?:\s*continue\b")
"""What follows a call of Rust or Kotlin whose missing result goes on with the next round."""
_NO_ARM = lazy_regex(
    r"(?:None|Ok\(None\)|Err\([\w:]*(?:Empty|WouldBlock)\)|Err\(_\))\s*=>\s*(?:\{\s*)?(?:continue\b|\(\)|\}|,)"
)
_NO_ROWS = lazy_regex(r"\b(ErrNoRows|redis\.Nil|ErrRecordNotFound|ErrNoDocuments|ErrNoJobs?|ErrEmpty)\b")
_EXITS = ("return", "break", "raise", "yield")


@dataclass(frozen=True, slots=True)
class IdleRound:
    """A call that finds nothing, and the way from it to the next round."""

    call: Call
    span: Span
    what: str
    loop: Loop | None = None
    """The loop, if the call stands in its condition or in a function that it calls."""


def idle_rounds(facts: Facts) -> Iterator[IdleRound]:
    """Yield the calls that a loop repeats at once when they find nothing."""
    for loop in facts.loops:
        if loop.kind == "while" and WAITS_IN_HEAD.search(loop.over):
            continue
        if goes_on(loop, facts):
            found = _idle(loop, facts) or _asked_for_state(loop, facts)
            if found is not None:
                yield found


def _idle(loop: Loop, facts: Facts) -> IdleRound | None:
    return idle_in(loop, facts, lambda call: _may_be_work(call, facts) and answers_at_once(call, facts))


def idle_in(loop: Loop, facts: Facts, asks: Callable[[Call], bool]) -> IdleRound | None:
    """Return a call of a loop that asks, and the way to the next round when it finds nothing."""
    for call in facts.within(facts.calls, loop.body):
        if facts.loops_around(call)[-1:] != (loop,) or not asks(call):
            continue
        if _is_for_item(call, loop, facts):
            continue
        end = _end_of_idle_round(call, loop, facts)
        if end is None or _waits_before(call, end, loop, facts):
            continue
        what = f"{call.written}() is called again at once when there is nothing"
        return IdleRound(call, Span(call.span.start, max(end.end, call.span.end)), what, loop)
    return None


_TAKES_ITEM = frozenset(
    ("pop", "popleft", "shift", "poll", "remove", "removeFirst", "Dequeue", "take", "next")
)


def _is_for_item(call: Call, loop: Loop, facts: Facts) -> bool:
    """Return whether a call asks for an item that the round took before: the loop ends with the items."""
    taken = {
        name
        for each in facts.within(facts.calls, Span(loop.body.start, call.span.start))
        if each.method in _TAKES_ITEM
        for name in each.assigned
        if name.isidentifier()
    }
    chain = [each for each in facts.calls_on(call) if each.span.start == call.span.start] if taken else []
    while chain and (longer := [each for each in facts.calls_on(chain[-1]) if each is not chain[-1]]):
        chain = longer
    words = {word for each in (call, *chain) for word in re.findall(r"\w+", facts.text(each.span))}
    return not taken.isdisjoint(words)


def _may_be_work(call: Call, facts: Facts) -> bool:
    """Return whether a name allows that a call asks for work: the rest takes longer."""
    return (
        _takes_now(call)
        or call.method in _NOW_BARE
        or not (_BLOCKS.match(call.method) or is_sleep(call) or is_logging(call) or call.constructs)
    )


def _takes_now(call: Call) -> bool:
    """Return whether a call takes what there is and does not wait: `get_nowait()`, `get(block=False)`."""
    if call.method != "get":
        return call.method in TAKES_NOW
    block, limit = call.argument("block", place=0), call.argument("timeout", place=1)
    return (block is not None and block.value.text == "False") or (
        limit is not None and limit.name == "timeout" and NO_TIME.fullmatch(limit.value.text) is not None
    )


def is_told_to_wait(call: Call) -> bool:
    """Return whether an argument says how long a call may wait."""
    return any(
        (_LONG.search(each.value.text) or _LONG.search(each.name)) and not NO_TIME.fullmatch(each.value.text)
        for each in call.arguments
    )


def answers_at_once(call: Call, facts: Facts) -> bool:
    """Return whether a call asks for work and answers at once when there is none."""
    if _takes_now(call):
        return True
    if is_told_to_wait(call):
        return False
    if call.method in _NOW_BARE:
        return len(call.positional) <= (1 if call.method == "TryTake" else 0) and "." in call.written
    if _WORK.match(call.method) or (_FINDS.match(call.method) and _STORED.search(call.receiver_written)):
        return not _own_wait(call, facts)
    return call in _remote(facts) and not _own_wait(call, facts)


@lru_cache(maxsize=4)
def _remote(facts: Facts) -> set[Call]:
    return {
        each.call for each in remote_calls(facts) if each.kind != "cache" and (each.is_read or each.through)
    }


def _own_wait(call: Call, facts: Facts) -> bool:
    """Return whether a function of this text that is called may wait."""
    # A function of another module may have the name of one here; a method is known by its name alone.
    is_free = call.receiver_written in ("", "self", "Self", "this", "super")
    own = [scope for scope in facts.functions_named(call.method) if is_free or scope.owner]
    return any(
        is_sleep(each) or _BLOCKS.match(each.method) is not None
        for scope in own
        for each in facts.within(facts.calls, scope.body)
        if each.method
        not in ("get", "lock", "acquire", "read", "scan", "Scan", "next", "Next", "limit", "flush")
    )


def _end_of_idle_round(call: Call, loop: Loop, facts: Facts) -> Span | None:
    """Return where the round ends in which a call found nothing: a `continue`, or all work in a branch."""
    after = facts.text(Span(call.span.end, min(loop.body.end, call.span.end + 200)))
    if facts.language in ("rust", "kotlin") and (found := _ELSE_CONTINUE.match(after)):
        return facts.syntax.place_of(found, call.span.end)
    names = names_of_answer(call, loop, facts)
    for step in facts.within(facts.steps, loop.body):
        if step.kind != "branch" or step.span.end < call.span.end or not _is_direct(step, loop, facts):
            continue
        if facts.language == "rust" and is_within(call.span, step.span):
            if (arm := _empty_arm(call, step, loop, facts)) is not None:
                return arm
            continue
        if says_nothing(step.text, names, call, facts):
            goes_on = [
                each
                for each in facts.within(facts.steps, step.span)
                if each.kind == "continue" and facts.loops_around(each)[-1:] == (loop,)
            ]
            arm = _first_arm(step, facts)
            is_idle = arm is not None and _is_bare(arm, facts) and not _moves_on(arm, loop, facts)
            # `if not rows: if more: continue; break` ends as well.
            is_idle &= not any(one.kind in _EXITS for one in facts.within(facts.steps, step.span))
            if goes_on and arm is not None and is_within(goes_on[0].span, arm) and is_idle:
                return goes_on[0].span
        elif says_something(step.text, names, call, facts) and _is_all(call, step, loop, facts):
            return Span(call.span.start, max(call.span.end, step.span.start + 1))
    return _handler_goes_on(call, loop, facts)


def _is_direct(step: Step, loop: Loop, facts: Facts) -> bool:
    return facts.loops_around(step)[-1:] == (loop,)


def names_of_answer(call: Call, loop: Loop, facts: Facts) -> set[str]:
    """Return the variables of a loop that hold what a call returned."""
    found = {name for each in call.assigned for name in re.findall(r"\w+", each)}
    for each in facts.within(facts.assignments, loop.body):
        if each.value is not None and is_within(call.span, each.value.span):
            found.update(name for target in each.targets for name in re.findall(r"\w+", target))
    if facts.language == "csharp":
        found.update(re.findall(r"\bout\s+(?:var|\w+\??)\s+(\w+)", facts.text(call.span)))
    return found - {"err", "_", "self", "this", "var", "val", "const", "let"}


def says_nothing(condition: str, names: set[str], call: Call, facts: Facts) -> bool:
    """Return whether a condition means that the call found nothing."""
    text = " ".join(condition.split())
    if facts.language == "go" and _NO_ROWS.search(text):
        return True
    if text.strip("() ").startswith(("!", "not ")) and facts.text(call.callee) in text:
        return True
    for name in names:
        word = re.escape(name)
        if re.search(
            rf"(?:^|[(\s])(?:!|not )\s*{word}(?:\.\w+(?:\(\))?)?\s*\)*$"
            rf"|\b{word}\s*(?:===?|is)\s*(?:null|None|nil|undefined)\b"
            rf"|\b{word}\.(?:isEmpty|is_empty|IsEmpty|isNullOrEmpty|is_none|empty)\b|\blen\({word}\)\s*==\s*0"
            rf"|\b{word}\.(?:length|size\(\)|size|Count|Length|len\(\))\s*===?\s*0|\b{word}\s*==\s*0",
            text,
        ):
            return True
    return False


def says_something(condition: str, names: set[str], call: Call, facts: Facts) -> bool:
    """Return whether a condition means that the call found something."""
    text = " ".join(condition.split()).strip("() ")
    if text.startswith(facts.text(call.callee)):
        return True
    for name in names:
        word = re.escape(name)
        if re.fullmatch(
            rf"{word}|{word}\s*(?:!==?|is not)\s*(?:null|None|nil|undefined)|{word} is \{{\s*\}}.*"
            rf"|len\({word}\)\s*>\s*0|{word}\.(?:length|size\(|size|Count|Length)\)?\s*>\s*0|!{word}\.(?:isEmpty|is_empty)\(?|{word}\.is_some\(?"
            rf"|{word}\.isNotEmpty\(?",
            text,
        ):
            return True
    return False


def _first_arm(step: Step, facts: Facts) -> Span | None:
    for arm in facts.within(facts.arms, step.span):
        if arm.fork == step.span:
            return arm.span
    return None


def _is_bare(arm: Span, facts: Facts) -> bool:
    """Return whether nothing is done in a branch besides a log line, so that nothing waits in it."""
    return all(
        is_logging(call) or call.is_argument or call.method in ("debug", "info", "trace", "log", "println")
        for call in facts.within(facts.calls, arm)
    ) and not any(step.kind == "await" for step in facts.within(facts.steps, arm))


def _moves_on(arm: Span, loop: Loop, facts: Facts) -> bool:
    """Return whether a branch changes what the next round asks for: `offset += limit`."""
    changed = {name for each in facts.within(facts.assignments, arm) for name in each.targets}
    return any(
        not changed.isdisjoint(re.findall(r"\w+", argument.value.text))
        for call in facts.within(facts.calls, loop.body)
        if not is_within(call.span, arm) and not is_logging(call)
        for argument in call.arguments
    )


def _is_all(call: Call, step: Step, loop: Loop, facts: Facts) -> bool:
    """Return whether a branch holds all that a loop does, and what stands beside it does not wait."""
    arm = _first_arm(step, facts)
    if arm is None:
        return False
    beside = [each for each in facts.within(facts.calls, loop.body) if not is_within(each.span, arm)]
    if any(may_wait(each, facts) for each in beside if each is not call):
        return False
    return not any(
        each.kind in _EXITS and not is_within(each.span, arm) for each in facts.within(facts.steps, loop.body)
    )


def _empty_arm(call: Call, step: Step, loop: Loop, facts: Facts) -> Span | None:
    """Return the arm `None => continue` of a match on the answer of a call (Rust)."""
    text = facts.text(step.span)
    if not text.startswith("match") or call.span.end > step.span.start + text.find("{"):
        return None
    found = _NO_ARM.search(text)
    if found is None:
        return None
    arm = facts.syntax.place_of(found, step.span.start)
    beside = [
        each
        for each in facts.within(facts.calls, loop.body)
        if not is_within(each.span, step.span) and may_wait(each, facts)
    ]
    return None if beside else arm


def _handler_goes_on(call: Call, loop: Loop, facts: Facts) -> Span | None:
    """Return the handler for an empty queue, if it goes on with the next round."""
    if not _takes_now(call):
        return None
    for each in facts.tries_around(call):
        if not is_within(each.span, loop.body):
            continue
        for handler in each.handlers:
            is_empty = any(name.endswith(("Empty", "WouldBlock")) for name in handler.types)
            if (is_empty or (handler.is_broad and handler.is_empty)) and not handler.exits:
                after = Span(each.span.end, loop.body.end)
                skips = facts.text(handler.body).rstrip().endswith("continue")
                later = () if skips else tuple(facts.within(facts.calls, after))
                inside = facts.within(facts.calls, handler.body)
                if not any(may_wait(one, facts) for one in (*inside, *later)):
                    return handler.span
    return None


def _waits_before(call: Call, end: Span, loop: Loop, facts: Facts) -> bool:
    """Return whether something on the way to the end of the idle round may wait."""
    way = Span(loop.body.start, max(end.end, call.span.end))
    last = IdleRound(call, end, "")
    for each in facts.within(facts.calls, way):
        if each is call or is_within(each.span, call.span) or not may_wait(each, facts):
            continue
        if not facts.are_exclusive(each, last) and not is_within(call.span, each.span):
            return True
    if facts.language == "go":
        return any(not use.sends for use in channel_uses(facts) if is_within(use.span, way))
    return facts.language == "rust" and "select!" in facts.text(way)


def may_wait(call: Call, facts: Facts) -> bool:
    """Return whether a call may wait: it pauses, receives, or is a function of this text that does."""
    if is_yield(call):
        return False
    if is_sleep(call) or (_BLOCKS.match(call.method) and not _is_lookup(call)):
        return True
    return _own_wait(call, facts)


def _is_lookup(call: Call) -> bool:
    """Return whether `get`, `next` or `lock` does not wait: it is given a key, or is no part of a queue."""
    return call.method in (
        "get",
        "read",
        "lock",
        "limit",
        "scan",
        "Scan",
        "flush",
        "acquire",
        "select",
    ) and not (call.method == "get" and re.search(r"queue|inbox", call.receiver_written, re.IGNORECASE))


def _asked_for_state(loop: Loop, facts: Facts) -> IdleRound | None:
    """Return a call that is repeated with the same arguments until its answer has a certain state."""
    calls = list(facts.within(facts.calls, loop.body))
    changed = {name for each in facts.within(facts.assignments, loop.body) for name in each.targets}
    for call in calls:
        if facts.loops_around(call)[-1:] != (loop,) or not asks_service(call, facts):
            continue
        names = names_of_answer(call, loop, facts)
        names |= _read_from(names, loop, facts)
        given = {word for each in call.arguments for word in re.findall(r"\w+", each.value.text)}
        if not names or given & changed or not _ends_by_state(call, names, loop, facts):
            continue
        others = [each for each in calls if each is not call and not is_within(each.span, call.span)]
        if any(may_wait(each, facts) for each in others) or not all(
            _is_beside(each, names, loop, facts) for each in others
        ):
            continue
        if facts.language == "go" and "<-" in facts.text(loop.body):
            continue
        what = f"{call.written}() is called again at once until the state is another"
        return IdleRound(call, Span(loop.span.start, call.span.end), what)
    return None


def _read_from(names: set[str], loop: Loop, facts: Facts) -> set[str]:
    """Return variables that hold a part of an answer: `body = resp.json()`."""
    return {
        name
        for each in facts.within(facts.assignments, loop.body)
        if each.value is not None
        for head in re.findall(r"^(?:await\s+)?\(?(\w+)\b", each.value.text)
        if head in names
        for target in each.targets
        for name in re.findall(r"\w+", target)
    } - {"err", "_", "self"}


def asks_service(call: Call, facts: Facts) -> bool:
    """Return whether a call asks another service or a store, and answers at once."""
    if _BLOCKS.match(call.method) and call not in _remote(facts) and not _is_lookup(call):
        return False
    if is_sleep(call) or is_logging(call) or call.constructs or not call.arguments:
        return False
    if is_told_to_wait(call):
        return False
    if _own_wait(call, facts):
        return False
    if facts.language == "go" and re.fullmatch(r"\w*[cC]tx", call.arguments[0].value.text):
        return bool(call.receiver_written)
    return call.is_awaited or call in _remote(facts) or _SERVICES.search(call.receiver_written) is not None


def _ends_by_state(call: Call, names: set[str], loop: Loop, facts: Facts) -> bool:
    """Return whether what a call returned ends the loop when it names a state."""
    branches = [step for step in facts.within(facts.steps, loop.body) if step.kind == "branch"]
    exits = [step for step in facts.within(facts.steps, loop.body) if step.kind in _EXITS]
    by_state = False
    for step in exits:
        around = [each for each in branches if is_within(step.span, each.span)]
        if not around:
            return False
        text = around[-1].text
        if says_nothing(text, names, call, facts):
            return False  # Nothing is left to do.
        bare = re.sub(rf"\b(?:{'|'.join(map(re.escape, names))})\b", "", text)
        if bare != text and (STATES.search(bare) or STATES.search(call.method)):
            by_state = True
    return by_state


def _is_beside(call: Call, names: set[str], loop: Loop, facts: Facts) -> bool:
    """Return whether a call does no work of the loop: it logs, reads the answer, or stands on the way out."""
    if (
        is_logging(call)
        or call.constructs
        or call.is_argument
        or call.receiver_written.partition(".")[0] in names
    ):
        return True
    if not call.receiver_written or re.match(
        r"(Date|time|performance|System|process|fmt|errors|Instant)\b", call.written
    ):
        return True
    if any(
        is_within(call.span, handler.body) for each in facts.tries_around(call) for handler in each.handlers
    ):
        return True
    arms = [arm for arm in facts.within(facts.arms, loop.body) if is_within(call.span, arm.span)]
    return any(arm.leaves for arm in arms)
