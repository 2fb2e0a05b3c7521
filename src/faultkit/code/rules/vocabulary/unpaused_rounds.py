"""Loops whose round without work waits nowhere: leases, spool folders, locks, queues that are asked at once.

    while not stop.is_set():                       while (running) {
        for name in os.listdir(spool): ...             leader = lease.tryAcquire(node);
                                                   }

A round is what is done in any case. What stands in a branch, in a loop over an answer or behind a failure is
left out; a loop with what may wait, or what is not known, is not reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Loop, Scope, Step, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.vocabulary.channels import cases_of, channel_uses
from faultkit.code.rules.vocabulary.idle_rounds import (
    IdleRound,
    answers_at_once,
    idle_in,
    is_told_to_wait,
    may_wait,
    names_of_answer,
    says_nothing,
    says_something,
)
from faultkit.code.rules.vocabulary.loop_conditions import WAITS_IN_HEAD, goes_on
from faultkit.code.rules.vocabulary.remote_calls import remote_calls
from faultkit.code.rules.vocabulary.waits import NO_TIME, is_sleep

_LISTS = lazy_regex(
    r"(^|\.)(os|fs|fs/promises|std\.fs|tokio\.fs|path/filepath|filepath|ioutil|io/ioutil|glob|async_std\.fs|aiofiles\.os"
    r"|fs-extra|(java\.nio\.file\.)?Files|(System\.IO\.)?Directory)\.(listdir|scandir|readdir|readdirSync|read_dir"
    r"|ReadDir|Glob|glob|iglob|list|newDirectoryStream|walk|GetFiles|EnumerateFiles|EnumerateFileSystemEntries)$"
)
"""Functions that list the files of a folder."""
_LISTS_OF_PATH = frozenset(
    ("iterdir", "listFiles", "EnumerateFiles", "GetFiles", "glob", "listdir_attr", "listDirectoryEntries")
)
_TRIES = lazy_regex(
    r"^_*(try|Try)_?(acquire|lock|claim|lease|lead|become|elect|reserve|renew|Acquire|Lock|Claim|Lease"
    r"|Lead|Become|Elect|Reserve|Renew)|^LockTake(Async)?$|^(set_?nx|SetNX|setIfAbsent|putIfAbsentAsync)$"
)
_POLLS = frozenset(("poll", "Poll", "consume", "Consume"))
_RECEIVES = frozenset(
    ("receive_message", "receiveMessage", "ReceiveMessage", "ReceiveMessageAsync", "ReceiveMessageCommand")
)
_LONG_POLL = lazy_regex(r"[wW]ait_?[tT]ime(?!\w*\W{1,4}0\b)")
_POPS = frozenset(
    ("pop_front", "popleft", "pop", "pollFirst", "removeFirst", "removeFirstOrNull", "poll", "shift")
)
_SHARED = lazy_regex(
    r"\.(lock|write|borrow_mut)\(\)|queue|jobs|tasks|pending|inbox|mailbox|events|backlog|buffer", re.I
)
_QUICK = lazy_regex(
    r"^(len|cap|append|bool|int|str|string|list|set|dict|min|max|float|copy|delete|close|print\w*|println|format|Ok|Some|Err"
    r"|unwrap\w*|expect|ok|clone|lock|Lock|Unlock|RLock|RUnlock|unlock|load\w*|Load\w*|store|Store\w*|swap|Swap|get|Get|set|Set"
    r"|getAndSet|getAndIncrement|incrementAndGet|compareAndSet|compareAndExchange|CompareAndSwap\w*|CompareExchange|Exchange"
    r"|is_\w+|is[A-Z]\w*|has_\w+|has[A-Z]\w*|inc|Inc|observe|Observe|record|gauge|increment|Add|now|Now|Since|elapsed|ensureActive"
    r"|ThrowIfCancellationRequested|throwIfAborted|throwIfInterrupted|currentCoroutineContext|Result|Val|Bool|Int|from_secs"
    r"|from_millis|ofSeconds|ofMillis|FromSeconds|FromMilliseconds|size|length|Count|Any|as_ref|as_path|clear|to_string|toString"
    r"|display|join|Join|obtain|withTimeout|withTimeoutOrNull|withContext|runCatching|timeout|use|let|also|checkpoint|select)$"
)
"""Methods that neither wait nor work. Whether one may wait is asked first."""
_NOT_YET = lazy_regex(
    r"(FileExists\w*|FileAlreadyExists\w*|BlockingIO\w*|WouldBlock\w*|EWOULDBLOCK|LockHeld\w*|NotAcquired\w*)$"
)
"""Errors that say that something is not there yet, or is still taken."""
_EMPTY = lazy_regex(r"(Empty|Timeout|TimeoutException|TimeoutError|WouldBlock)$")
_FAILED = lazy_regex(r"\s*(?:Some\()?Err\(|\s*case\s+(?:err\s*!=|errors\.)|\s*is\s+\w*(?:Failure|Error)")
_UNTIL = lazy_regex(r"^(?:!|not\s+)\s*([A-Za-z_]\w*)$|^([A-Za-z_]\w*)\s*==\s*false$")
_READS_LINE = frozenset(("readline", "read_line", "readLine", "ReadLine", "ReadLineAsync", "ReadString"))
_OF_FILE = lazy_regex(r"(^|\.)open\(\)\.|File|BufReader|StreamReader")
_NO_LINE = lazy_regex(
    r"\bif\s+not\s+\w+\s*:|==\s*null\b|\bis\s+null\b|\)\?*\s*(?:\.await\?*)?\s*==\s*0\b|\b(?:n|read|bytes|size|len)\s*==\s*0\b"
    r"|==\s*(?:''|\"\")\s*:"
)
"""Conditions that hold at the end of a file, and not for an empty line."""
_ATOMIC = lazy_regex(r"(^|\.)(Load\w*|load|compare\w*|Compare\w*)$")
_SPINS = lazy_regex(
    r"^(Load\w*|load|get|Lock|Unlock|lock|unlock|RLock|RUnlock|len|is_empty|isEmpty|size|unwrap|expect)$"
)
_LESS = lazy_regex(r"<(?![-=<])|\b(less|fewer)\b")


@dataclass(frozen=True, slots=True)
class _Round:
    """What a round of a loop does in any case."""

    asks: tuple[Call, ...]
    names: frozenset[str]
    """Variables that hold answers."""


def unpaused_rounds(facts: Facts) -> Iterator[IdleRound]:
    """Yield loops that ask again at once, without a pause, as long as there is nothing to do."""
    for loop in facts.loops:
        if loop.kind not in ("endless", "while") or WAITS_IN_HEAD.search(loop.over):
            continue
        condition = " ".join(loop.over.split()).strip("() ")
        until = _UNTIL.match(condition) if loop.kind == "while" else None
        stands = goes_on(loop, facts)
        if not stands and until is None:
            continue
        found = (
            _asked_again(loop, until, stands, facts)
            or (stands and idle_in(loop, facts, lambda call: asks_or_leads_to_it(call, facts)))
            or (stands and (_not_yet(loop, facts) or _at_end_of_file(loop, facts) or _spinning(loop, facts)))
            or None
        )
        if found is not None:
            yield found


def asks_now(call: Call, facts: Facts) -> bool:
    """Return whether a call answers at once when there is nothing, or when another has what it asks for."""
    if _LISTS.search(call.name) or (call.method in _LISTS_OF_PATH and call.receiver_written):
        return True
    if _TRIES.match(call.method):
        first = call.argument(place=0)
        is_keyed = first is not None and not re.match(
            r"[\d.]+|\w*(timeout|wait)|Duration|TimeSpan", first.value.text
        )
        return is_keyed or not call.arguments
    if call.method == "set" and call.receiver_written:
        return re.search(r"\bnx\s*=\s*True|['\"]NX['\"]|\bNX:\s*true", facts.text(call.span)) is not None
    if call.method in _POLLS:
        return any(NO_TIME.fullmatch(each.value.text) for each in call.arguments[:1])
    if call.method in ("XRead", "XReadGroup") and facts.language == "go":  # Without it, the client waits.
        return re.search(r"\bBlock:\s*-", facts.text_with_values(call)) is not None
    if call.method in ("xread", "xreadgroup", "xReadGroup", "xRead"):
        return call.receiver_written != "" and not re.search(r"\bblock\b", facts.text_with_values(call), re.I)
    if call.method in _RECEIVES:
        return not _LONG_POLL.search(facts.text_with_values(call))
    return False


def _asks(call: Call, facts: Facts) -> bool:
    if asks_now(call, facts):
        return True
    if call.method in _POPS and not call.arguments and _SHARED.search(facts.text(call.callee)):
        return True
    if call.constructs or call not in _remote(facts) or is_told_to_wait(call):
        return False
    own = _own(call, facts)
    return own is None or not _pauses(own, facts)


def _pauses(scope: Scope, facts: Facts) -> bool:
    """Return whether a function pauses where nothing has failed, as after it found nothing."""
    return any(
        is_sleep(call) and not any(is_within(each.body, scope.body) for each in facts.handlers_around(call))
        for call in facts.within(facts.calls, scope.body)
    )


def asks_or_leads_to_it(call: Call, facts: Facts) -> bool:
    """Return whether a call answers at once, itself or as a function of this text that does."""
    if asks_now(call, facts):
        return True
    own = None if is_logging(call) or call.constructs else _own(call, facts)
    return own is not None and _kind_of(own, facts, 2) == "asks"


@lru_cache(maxsize=4)
def _remote(facts: Facts) -> set[Call]:
    return {each.call for each in remote_calls(facts) if each.kind != "cache" or each.is_read}


def _asked_again(loop: Loop, until: re.Match[str] | None, stands: bool, facts: Facts) -> IdleRound | None:
    done = _round(loop, facts)
    if done is None or not done.asks:
        return None
    call = done.asks[0]
    source = facts.text(call.callee).rpartition(".")[0]
    if loop.kind == "while" and source and re.search(rf"(?<![\w.]){re.escape(source)}(?![\w.])", loop.over):
        return None  # While there is something to take.
    if asks_something_else(call, loop, facts) or not _exits_by_success(call, done, loop, facts):
        return None
    if not stands:
        name = "" if until is None else until[1] or until[2]
        if name not in done.names and not _is_set_after(call, name, loop, facts):
            return None
    what = f"{call.written}() is called again at once when there is nothing"
    return IdleRound(call, Span(loop.span.start, call.span.end), what, loop)


def _is_set_after(call: Call, name: str, loop: Loop, facts: Facts) -> bool:
    """Return whether a flag is set once a call has worked, and a failure leads to the next round."""
    is_set = any(
        name in each.targets and each.value is not None and each.value.shape == "true"
        for each in facts.within(facts.assignments, Span(call.span.end, loop.body.end))
    )
    handlers = [handler for each in facts.tries_around(call) for handler in each.handlers]
    return (
        is_set
        and bool(handlers)
        and not any(
            handler.exits or any(may_wait(one, facts) for one in facts.within(facts.calls, handler.body))
            for handler in handlers
        )
    )


def asks_something_else(call: Call, loop: Loop, facts: Facts) -> bool:
    """Return whether a loop sets what a call is given, so that each round asks something else."""
    changed = {name for each in facts.within(facts.assignments, loop.body) for name in each.targets}
    given = {word for each in call.arguments for word in re.findall(r"\w+", each.value.text)}
    return not given.isdisjoint(changed)


def _round(loop: Loop, facts: Facts) -> _Round | None:
    """Return what each round asks; None if it may wait, or does something that is not known."""
    failed = [
        handler.body
        for each in facts.within(facts.tries, loop.body)
        for handler in each.handlers
        if not any(_EMPTY.search(name) or _NOT_YET.search(name) for name in handler.types)
    ]
    failed += [
        arm.span for arm in facts.within(facts.arms, loop.body) if _FAILED.match(facts.text(arm.span)[:40])
    ]
    # An error of `try_recv` says that there is nothing.
    failed = [] if facts.language == "rust" and ".try_" in facts.text(loop.body) else failed
    if _receives(loop, failed, facts) or any(
        step.kind == "yield" for step in facts.within(facts.steps, loop.body)
    ):
        return None
    calls = [
        call
        for call in facts.within(facts.calls, loop.body)
        if not any(is_within(call.span, each) for each in failed)
    ]
    known = [call for call in calls if _asks(call, facts)]
    asks, names = list[Call](), set[str]()
    for call in calls:
        place = _place(call, loop, names, facts)
        if place == "out":
            continue
        if call in known:
            if place == "always":
                asks.append(call)
                names.update(names_of_answer(call, loop, facts))
            continue
        if any(call.span.start == each.span.start or is_within(call.span, each.span) for each in known):
            continue  # A part of the question, or of how its answer is read.
        if is_logging(call) or (call.constructs and not call.is_awaited):
            continue
        kind = _kind(call, names, facts, 2)
        if kind == "asks" and place == "always":
            asks.append(call)
            names.update(names_of_answer(call, loop, facts))
        elif kind == "waits" or (kind == "unknown" and place == "always"):
            return None
    return _Round(tuple(asks), frozenset(names))


def _place(call: Call, loop: Loop, names: set[str], facts: Facts) -> str:
    """Return `always`, `sometimes`, or `out` for what no round without work comes to."""
    for arm in facts.within(facts.arms, loop.body):
        # A match of Rust with an arm for failures is a try, and its other arms are a choice.
        if is_within(call.span, arm.span) and (facts.language == "rust" or not _is_try(arm.fork, facts)):
            if arm.leaves == "loop" and re.search(r"\bcontinue\b", facts.text(arm.span)):
                return "sometimes"
            if arm.leaves or _is_found(arm.fork, names, call, facts):
                return "out"
            return "sometimes"
    for inner in facts.loops_around(call, across=True):
        if is_within(inner.span, loop.body):
            return "out" if inner.kind in ("each", "comprehension") else "sometimes"
    scope = facts.function_of(call)
    if scope is not None and is_within(scope.span, loop.body):
        # A lambda of Kotlin runs where it stands; others run when they are called.
        return "always" if facts.language == "kotlin" else "sometimes"
    return "always"


def _is_try(fork: Span, facts: Facts) -> bool:
    return any(each.span == fork for each in facts.within(facts.tries, fork))


def _is_found(fork: Span, names: set[str], call: Call, facts: Facts) -> bool:
    """Return whether a choice is made by an answer that has something."""
    return any(
        step.kind == "branch"
        and step.span == fork
        and (says_something(step.text, names, call, facts) or re.search(r"^let\s+(Some|Ok\(Some)", step.text))
        for step in facts.within(facts.steps, fork)
    )


def _kind(call: Call, names: set[str], facts: Facts, levels: int) -> str:
    """Return whether a call `asks`, `waits`, is `quick` or `unknown`."""
    if is_sleep(call):
        return "waits"
    if call.receiver_written.partition(".")[0] in names or any(
        re.search(rf"(?<![\w.]){re.escape(name)}\b", each.value.text)
        for name in names
        for each in call.arguments
    ):
        return "quick"
    own = _own(call, facts)
    if own is not None:
        return _kind_of(own, facts, levels)
    if may_wait(call, facts):
        return "quick" if call.method in ("join", "Join") and call.is_argument else "waits"
    if answers_at_once(call, facts):
        return "asks"
    return "quick" if _QUICK.match(call.method) or (call.is_argument and not call.is_awaited) else "unknown"


def kind_of_call(call: Call, names: set[str], facts: Facts) -> str:
    """Return whether a call `asks`, `waits`, is `quick` or `unknown`; `names` hold answers."""
    return "asks" if _asks(call, facts) else _kind(call, names, facts, 2)


def _own(call: Call, facts: Facts) -> Scope | None:
    if call.receiver_written not in ("", "self", "this", "Self"):
        return None
    found = facts.functions_named(call.method)
    return found[0] if len(found) == 1 else None


def _kind_of(scope: Scope, facts: Facts, levels: int) -> str:
    """Return what a function of this text does, without what it does after a failure."""
    failed = [handler.body for each in facts.within(facts.tries, scope.body) for handler in each.handlers]
    if facts.language == "go" and any(
        is_within(use.span, scope.body) and "<-" in facts.text(use.span) for use in channel_uses(facts)
    ):
        return "waits"
    found, names = "quick", set[str]()
    for call in facts.within(facts.calls, scope.body):
        if any(is_within(call.span, each) for each in failed) or is_logging(call) or call.constructs:
            continue
        if _asks(call, facts):
            found = "asks"
            names.update({*call.assigned} - {"err", "_"})
            continue
        kind = _kind(call, names, facts, levels - 1) if levels else "unknown"
        if kind == "waits":
            return "waits"
        if kind == "unknown" and call.is_awaited and not facts.loops_around(call):
            return "unknown"
        if kind == "asks":
            found = "asks"
    return found


def _receives(loop: Loop, failed: list[Span], facts: Facts) -> bool:
    """Return whether a round waits in a way that is no call: a channel, a `select`."""
    if facts.language == "rust":
        return (
            "select!" in facts.text(loop.body)
            or re.search(r"\b\w+\.await\b", facts.text(loop.body)) is not None
        )
    if facts.language != "go":
        return False
    for use in channel_uses(facts):
        if not is_within(use.span, loop.body) or any(is_within(use.span, each) for each in failed):
            continue
        if use.select is None and "<-" not in facts.text(use.span):
            continue  # `range`, mostly over a list.
        if use.select is None or all(head for head, _ in cases_of(use.select, facts)):
            return True
    return False


_EMPTY = lazy_regex(
    r"(IndexError|KeyError|Empty|StopIteration|NoSuchElement\w*|InvalidOperation\w*|EOFError)$"
)


def _exits_by_success(call: Call, done: _Round, loop: Loop, facts: Facts) -> bool:
    """Return whether the loop is left only by a choice that does not mean that nothing is left to do."""
    counted = {
        name
        for each in facts.within(facts.assignments, loop.body)
        if each.operator not in ("=", ":=")
        for name in each.targets
    }
    # `before = self.last`: the round ends the loop if nothing has changed.
    counted |= {
        name
        for each in facts.within(facts.assignments, loop.body)
        if each.value is not None and each.value.shape == "name"
        for name in each.targets
    }
    branches = [step for step in facts.within(facts.steps, loop.body) if step.kind == "branch"]
    for step in facts.within(facts.steps, loop.body):
        if step.kind not in ("return", "break", "raise"):
            continue
        around = [each for each in branches if is_within(step.span, each.span)]
        failed = [each for each in facts.handlers_around(step) if is_within(each.span, loop.body)]
        if failed:
            says_empty = any(map(_EMPTY.search, failed[-1].types))
            if says_empty or call.method.startswith("try_") or call.method.endswith("nowait"):
                return False  # Its failure says that there is nothing.
            continue
        if not around or call.method in _POPS or _ends_empty(step, around[-1], done, call, facts):
            return False
        if counted.intersection(re.findall(r"\w+", around[-1].text)):
            return False
    return True


def _ends_empty(step: Step, branch: Step, done: _Round, call: Call, facts: Facts) -> bool:
    names = set(done.names)
    if says_nothing(branch.text, names, call, facts) or _LESS.search(branch.text):
        return True
    before = facts.text(Span(branch.span.start, step.span.start))
    if re.search(r"\bOk\((?!Some|true|\d)(?:[^()]|\(\))*\)\s*=>(?:[^=]|==)*$", before):
        return True  # Any answer ends it: only failures are repeated.
    return (
        re.search(r"\belse\b|\bNone\s*=>|\?:|\bdefault\s*:|[!=]=\s*(?:null|nil|None)\b", before) is not None
    )


def _not_yet(loop: Loop, facts: Facts) -> IdleRound | None:
    """Return a call that fails as long as something is not there, in a loop that tries again at once."""
    for each in facts.within(facts.tries, loop.body):
        for handler in each.handlers:
            if handler.exits or handler.raises or not any(map(_NOT_YET.search, handler.types)):
                continue
            rest = (handler.body, Span(each.span.end, loop.body.end), Span(loop.body.start, each.span.start))
            later = [one for span in rest for one in facts.within(facts.calls, span)]
            calls = list(facts.within(facts.calls, each.body))
            if not calls or any(may_wait(one, facts) for one in later) or _receives(loop, [], facts):
                continue
            if any(one.method == "select" or is_sleep(one) for one in (*calls, *later)):
                continue
            if any(facts.within(facts.assignments, handler.body)) or asks_something_else(
                calls[0], loop, facts
            ):
                continue
            what = f"{calls[0].written}() is called again at once when it fails with {handler.types[0]}"
            return IdleRound(calls[0], Span(loop.span.start, handler.span.end), what, loop)
    return None


def _at_end_of_file(loop: Loop, facts: Facts) -> IdleRound | None:
    """Return a read of a line that goes on at once at the end of a file: `if not line: continue`."""
    for call in facts.within(facts.calls, loop.body):
        if call.method not in _READS_LINE or not _OF_FILE.search(call.name):
            continue
        for arm in facts.within(facts.arms, loop.body):
            if arm.leaves != "loop" or arm.span.start < call.span.start:
                continue
            condition = facts.text(Span(arm.fork.start, arm.span.start))
            goes_on = re.search(r"\bcontinue\b", facts.text(arm.span)) is not None
            nothing = _NO_LINE.search(condition) is not None
            inside = facts.within(facts.calls, Span(loop.body.start, arm.span.end))
            if goes_on and nothing and not any(one is not call and may_wait(one, facts) for one in inside):
                what = f"{call.written}() is called again at once at the end of the file"
                return IdleRound(call, Span(call.span.start, arm.span.end), what, loop)
    return None


def _spinning(loop: Loop, facts: Facts) -> IdleRound | None:
    """Return a look at shared state that goes on at once: `if cur >= max { continue }`."""
    if any(is_sleep(call) for call in facts.within(facts.calls, loop.body)) or _receives(loop, [], facts):
        return None
    for arm in facts.within(facts.arms, loop.body):
        if arm.leaves != "loop" or facts.loops_around(arm)[-1:] != (loop,):
            continue
        if not re.search(r"\bcontinue\b", facts.text(arm.span)):
            continue
        way = [
            call
            for call in facts.within(facts.calls, Span(loop.body.start, arm.span.end))
            if not facts.are_exclusive(call, arm)
        ]
        looks = [call for call in way if _ATOMIC.search(call.name) or call.method in ("Lock", "lock")]
        if not looks or not all(_SPINS.match(call.method) for call in way):
            continue
        if any(
            each.call is None or each.operator not in ("=", ":=")
            for each in facts.within(facts.assignments, Span(loop.body.start, arm.span.end))
        ):
            continue
        what = f"{looks[0].written}() is looked at again at once until another thread changes it"
        return IdleRound(looks[0], Span(loop.span.start, arm.span.end), what, loop)
    return None
