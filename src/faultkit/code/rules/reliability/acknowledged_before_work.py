"""Finds messages that are acknowledged before they are worked on.

Evidence that it matters: the work follows in the same text, or a consumer that works on messages is made
there. Replies to own requests, reads of a kept stream and queues that are emptied on purpose lose nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Argument, Call, Facts, Place, Scope, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.facts.facts import Placed
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import EVERY_LANGUAGE, LIKELY, Hit, Rule
from faultkit.code.rules.vocabulary.acknowledgements import ACKS, COMMITS, is_acknowledgement

_QUICK = lazy_regex(
    r"^(loads|json|debug|info|warn\w*|error|log|print(f|ln)?|Print(f|ln)?|Unmarshal|String|len|now|Now|time|split|strip"
    r"|format|str|int|dict|list|isinstance|append|inc|observe|start|ack|close|stop|exit|select|cancelled|context"
    r"|poll|Poll|consume|Consume|fetch|FetchMessage|ReadMessage|recv|next|ofSeconds|ofMillis|model_validate\w*"
    r"|records|value|key|offset|payload|topic|partition|subscribe|seconds|milliseconds|ok|Ok|Some|size|sorted|entries"
    r"|values|items|keys|extend|iterator|stream|filter|flatMap|collect|count|forEach|partitions|timeout|unwrap"
    r"|unwrap_\w+|messages|receipt_handle|body|Context|Done|Err|error_code|MarkMessage|monotonic|NewDecoder|on|done|clone|to_owned|to_string|into|to_vec|into_owned|into_bytes|orElseThrow|ok_or_else|echo(_\w+)?)$"
)
_READS = lazy_regex(
    r"^([gG]et|[rR]ead|[pP]arse|[tT]ryParse|[dD]ecode|[dD]eserialize|[eE]xtract|[vV]alidate|[vV]erify|[cC]heck|[aA]ssert"
    r"|[eE]nsure|[iI]s|[hH]as|[tT]o|[fF]rom|[aA]s|[rR]eceive|[cC]ommit|[cC]onvert|map)(_\w+|[A-Z0-9]\w*)?$"
    r"|^([nN]ack|[rR]eject|[dD]ead_?[lL]etter|[aA]bandon)|_(nack|reject)$|(Nack|Reject)(Async)?$"
)
"""Calls that look at a message, or that return it to its queue."""


def _check(facts: Facts) -> Iterator[Hit]:
    for call in facts.calls_of_method(*ACKS, *COMMITS, "send"):
        scope = facts.function_of(call)
        if scope is None or call.is_argument or (call.is_returned and not call.is_awaited):
            continue
        if call.method != "send" and not (is_acknowledgement(call) and _is_of_message(call)):
            continue
        if call.method == "send" and not facts.text(call.span).partition("(")[2].lstrip().startswith(
            "new DeleteMessage"
        ):
            continue
        for each in (call, *_through(call, scope, facts)):
            if facts.is_in_finally(each) or facts.is_deferred(each):
                if (done := _tried(each, facts)) is not None:
                    what = f"{each.written}() runs also if {done.written}() fails, and the message is lost"
                    yield Hit(each.span, what, LIKELY)
                continue
            inner = facts.function_of(each)
            if each is call and _acknowledges(each, facts):
                continue
            work = None if inner is None else _work_after(each, inner, facts)
            if inner is None or _work_before(each, inner, facts):
                continue
            if work is not None:
                # A function that gives the message back acknowledges it on the way.
                at = call if each.assigned else each
                what = f"{at.written}() comes before {work.written}(): if that fails, the message is lost"
                yield Hit(at.span, what, LIKELY)
            elif buffer := _kept_in(each, inner, facts):
                what = f"{each.written}() comes before what {buffer} holds is written: a crash loses it"
                yield Hit(each.span, what, LIKELY)
    if facts.syntax.has_any(b"ack") and facts.syntax.has_any(b"true", b"multiple"):
        yield from _acknowledged_with_others(facts)
    if facts.syntax.has_any(b"receiveanddelete", b"receive_and_delete"):
        yield from _received_and_deleted(facts)
    if facts.syntax.has_any(b"commit") and re.search(rb"auto.?commit", facts.syntax.source, re.IGNORECASE):
        yield from _committed_by_time(facts)
    if facts.imports_any("github.com/segmentio/kafka-go") and b"GroupID:" in facts.syntax.source:
        yield from _committed_when_read(facts)
    if facts.syntax.has_any(*_UNACKNOWLEDGED):
        what = "messages count as done when they are sent, not when they are worked on"
        for span in _never_acknowledged(facts):
            if not _loses_nothing(Place(span), facts):
                yield Hit(span, what, LIKELY)


_PLACES = lazy_regex(r"queue|channel|consumer|reader|session|subscription|receiver|context", re.IGNORECASE)
_MESSAGES = lazy_regex(r"message|msg|delivery|record|ack|args", re.IGNORECASE)


def _is_of_message(call: Call) -> bool:
    """Return whether an acknowledgement says of which message it is: it is given one, or is called on it."""
    if call.arguments or call.method in COMMITS or call.method.lower().startswith(("commit", "mark")):
        return True
    last = call.receiver_written.rpartition(".")[2]
    return _PLACES.search(last) is None or _MESSAGES.search(last) is not None


_IS_ACK = lazy_regex(
    r"_*(?:ack|Ack|acknowledge|Acknowledge|confirm|Confirm|settle|Settle)(?:_\w+|[A-Z]\w*)?$"
)


def _acknowledges(call: Call, facts: Facts) -> bool:
    """Return whether a function is an acknowledgement itself, by its name: its caller has done the work."""
    scope = facts.named_function_of(call)
    return scope is not None and _IS_ACK.match(scope.short_name) is not None


_EMPTIES_QUEUE = lazy_regex(
    r"purge|clear|drain|peek|browse|watch|history|visit|keys|empty|discard", re.IGNORECASE
)
_READS_ONLY = lazy_regex(
    r"\b[oO]rdered|[rR]eply|[rR]eplies|\brpc\b|[hH]eadersOnly|headers_only|LastPerSubject|[bB]roadcast|[fF]anout"
    r"|[hH]eartbeat|(?:exclusive|auto_?[dD]elete)[\"']?\s*[:=]\s*[tT]rue|message_?[tT]tl|\bexpires\b"
)
"""Consumers of a stream that is kept, replies to own requests, and news that the next ones replace."""


_OWN_QUEUE = lazy_regex(r"[qQ]ueue_?[dD]eclare(?:Async)?\(\s*(?:[\"']{2}|\))|assertQueue\(\s*['\"]{2}")
"""A queue without a name, which the broker makes for one consumer and deletes with it."""
_SHORT_LIVED = lazy_regex(
    r"\b(?:message_ttl|queue_ttl|queue_expires|auto_?delete)\s*=\s*(?!False|None|false)"
)


def _loses_nothing(place: Place, facts: Facts) -> bool:
    """Return whether messages may be forgotten at once: they are replies, are kept, or are to be deleted."""
    scope = facts.named_function_of(place)
    if scope is None:
        return False
    if _EMPTIES_QUEUE.search(scope.short_name):
        return True
    if _OWN_QUEUE.search(facts.text(scope.span)) or _SHORT_LIVED.search(facts.whole_text):
        return True
    return _READS_ONLY.search(facts.text(scope.span)) is not None


_CHOSEN = lazy_regex(r"\bif\b.*\belse\b|\?.*:|\bcase\b|=>|\bwhen\b")


def _is_chosen(place: Placed, facts: Facts) -> bool:
    """Return whether a mode is one of several that an option chooses: `DELETE if no_ack else PEEK`."""
    line = facts.line(place)
    return (
        _CHOSEN.search(" ".join(map(facts.syntax.line_text, range(max(1, line - 2), line + 3)))) is not None
    )


_UNACKNOWLEDGED = (
    b"noack", b"no_ack", b"autoack", b"auto_ack", b"basicconsume", b".consume(", b"consumewithcontext",
    b"acknone", b"ackpolicy",
    b"ack_policy", b"ackmode", b"acknowledgemode",
)  # fmt: skip
_OPTIONS = frozenset(("auto_ack", "noAck", "no_ack", "autoAck", "noack", "NoAck", "NOACK", "AutoAck"))
"""Options of consumers with which a broker forgets a message when it has sent it."""
_POLICY = lazy_regex(
    r"(?:^|[.:])(?:AckPolicy|AckPolicyEnum|ConsumerConfigAckPolicy|AcknowledgeMode)(?:\.|::)(?:None|NONE)$"
    r"|\.(?:AckNone|AckNonePolicy|AckPolicyNone)$"
)
_MODES = frozenset(("ackMode", "ack_policy", "ackPolicy", "AckPolicy", "ack_mode"))


_REPLIES = lazy_regex(r"reply|callback_queue|rpc", re.IGNORECASE)


def _is_reply(call: Call) -> bool:
    """Return whether answers to own requests are consumed: their sender waits, and asks again."""
    queue = call.argument("queue", place=0)
    return queue is not None and _REPLIES.search(queue.value.text) is not None


def _never_acknowledged(facts: Facts) -> Iterator[Span]:
    """Yield what says that a broker need not wait for an acknowledgement."""
    given = [
        each
        for call in facts.calls
        for each in call.arguments
        if each.name.rpartition(".")[2] in _OPTIONS and each.value.shape == "true" and not _is_reply(call)
    ]
    for call in facts.calls_of_method(
        "basicConsume", "BasicConsume", "BasicConsumeAsync", "Consume", "ConsumeWithContext"
    ):
        positional = _positional_auto_ack(call, facts)
        if positional is not None and positional.value.shape == "true":
            given.append(positional)
    seen = {each.value.span for each in given}
    for call in facts.calls:
        if _POLICY.search(call.name) and call.is_argument:
            seen.add(call.span)  # `nats.AckNone()`
        for each in call.arguments:
            is_mode = each.name.rpartition(".")[2] in _MODES and each.value.literal.upper() == "NONE"
            if is_mode or (each.value.shape == "name" and _POLICY.search(each.value.text)):
                seen.add(each.value.span)
    yield from sorted(seen)


_AUTO = lazy_regex(
    r"[\"']enable\.auto\.commit[\"']\s*[:,]\s*(?:True|true|[\"']true[\"'])|\bEnableAutoCommit\s*=\s*true"
)


def _committed_by_time(facts: Facts) -> Iterator[Hit]:
    """Yield consumers whose offsets a timer commits, whether the work is done or not."""
    if re.search(r"enable\.auto\.offset\.store|EnableAutoOffsetStore\s*=\s*false", facts.whole_text):
        return
    what = "a timer commits the offsets, whether the messages have been worked on or not"
    for call in facts.calls_of_method("AIOKafkaConsumer"):
        given = call.argument("enable_auto_commit")
        if given is not None and given.value.shape == "true":
            yield Hit(given.value.span, what, LIKELY)
    if facts.language in ("python", "csharp", "rust"):
        for found in _AUTO.finditer(facts.whole_text):
            yield Hit(facts.syntax.place_of(found), what, LIKELY)


def _received_and_deleted(facts: Facts) -> Iterator[Hit]:
    """Yield receivers of Service Bus that delete a message when they get it."""
    found: list[Placed] = []
    for read in facts.accesses:
        if read.written.rpartition(".")[2] == "ReceiveAndDelete" or read.written.endswith(
            "RECEIVE_AND_DELETE"
        ):
            found.append(read)
    found += [text for text in facts.texts if text.text == "receiveAndDelete"]
    for place in found:
        if not _loses_nothing(Place(place.span), facts) and not _is_chosen(place, facts):
            what = "messages are deleted when they are received, not when the work is done"
            yield Hit(place.span, what, LIKELY)


def _committed_when_read(facts: Facts) -> Iterator[Hit]:
    """Yield `reader.ReadMessage` of kafka-go, which commits the offset before it returns (FetchMessage does
    not)."""
    for call in facts.calls_of_method("ReadMessage"):
        scope = facts.function_of(call)
        work = None if scope is None else _work_after(call, scope, facts)
        if work is not None:
            what = f"{call.written}() commits the offset: if {work.written}() fails, the message is lost"
            yield Hit(call.span, what, LIKELY)


_SIDE_BY_SIDE = lazy_regex(
    r"\bgo\s+(func|\w+[.(])|\.Go\(|\bspawn\w*\(|create_task\(|\.submit\(|ThreadPool|ExecutorService|\blaunch\b"
    r"|Task\.Run\(|[dD]ispatch_?[cC]oncurrency|concurrentConsumers|setConcurrency|asyncio|\basync\b|\.consume\("
)
"""What lets several messages be worked on at a time."""
_MULTIPLE = {
    "Ack": 0, "ack": 1, "basicAck": 1, "BasicAck": 1, "BasicAckAsync": 1, "basic_ack": 1,
}  # fmt: skip
"""Acknowledgements of AMQP, with the place of the argument that counts all before a message as done, too."""


def _acknowledged_with_others(facts: Facts) -> Iterator[Hit]:
    """Yield acknowledgements of one message that count for those that others still work on."""
    for call in facts.calls_of_method(*_MULTIPLE):
        given = call.argument("multiple", "multiple_", place=_MULTIPLE[call.method])
        if given is None or given.value.shape != "true" or not call.receiver_written:
            continue
        scope = facts.named_function_of(call)
        if scope is None or not _SIDE_BY_SIDE.search(facts.whole_text) or _ends_batch(call, scope, facts):
            continue
        what = f"{call.written}() counts all earlier messages as done, also those that others still work on"
        yield Hit(call.span, what, LIKELY)


_COLLECTED = lazy_regex(
    r"\.(append|push|add|Add|push_back)\(|=\s*append\(|%\s*\w|\+\+|\+=\s*1|\blast|batch|chunk|buffer",
    re.IGNORECASE,
)


def _ends_batch(call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether a function collects messages, and acknowledges the last of them."""
    return _COLLECTED.search(facts.text(scope.span)) is not None


def _tried(ack: Call, facts: Facts) -> Call | None:
    """Return the work after which a message is acknowledged whether it failed or not."""
    late = [
        each.finally_
        for each in facts.tries
        if each.finally_ is not None and is_within(ack.span, each.finally_)
    ]
    inner = facts.function_of(ack)
    if facts.is_deferred(ack) and inner is not None and inner.is_anonymous:
        late.append(inner.body)
    # `finally { if (done) ack() }`
    if any(
        is_within(ack.span, arm.span) and any(is_within(arm.span, one) for one in late) for arm in facts.arms
    ):
        return None
    if facts.is_deferred(ack):
        scope = next((each for each in facts.functions_around(ack) if each.name), None)
        guarded = [] if scope is None else [Span(ack.span.end, scope.body.end)]
    else:
        guarded = [each.body for each in facts.tries if each.finally_ in late]
    for body in guarded[-1:]:
        for call in facts.within(facts.calls, body):
            if _is_work(call, facts) and not facts.is_deferred(call):
                return call
    return None


def _positional_auto_ack(call: Call, facts: Facts) -> Argument | None:
    """Return the argument that says whether messages need an acknowledgement, where it has no name."""
    if call.method in ("basicConsume", "BasicConsume", "BasicConsumeAsync"):
        return call.argument(place=1)
    if facts.language == "go" and call.method == "Consume" and len(call.positional) == 7:
        return call.argument(place=2)
    if call.method == "ConsumeWithContext" and len(call.positional) == 8:
        return call.argument(place=3)
    return None


def _through(call: Call, scope: Scope, facts: Facts) -> tuple[Call, ...]:
    """Return the calls of a function that does nothing but acknowledge the message that it is given."""
    inside = (each for each in facts.within(facts.calls, scope.body) if each is not call)
    # A call in a condition looks at something: `if message.error().code() != EOF`.
    if not scope.name or any(_is_step(each) and _is_work(each, facts) for each in inside):
        return ()
    if any(
        step.kind == "branch"
        and is_within(call.span, step.span)
        and call.written not in step.text
        and not _IS_ANY.fullmatch(step.text.strip())
        for step in facts.within(facts.steps, scope.body)
    ):
        return ()  # It does so in one case.
    return tuple(each for each in facts.callers_of(scope) if each.arguments and not each.is_argument)


_IS_ANY = lazy_regex(r"[(!\s]*(?:len\()?[\w.]+(?:\(\))?\)?\s*(?:[><!=]=?=?\s*0)?\s*\)*")
"""A condition that there is something: `if batch`, `if (!batch.isEmpty())`."""


def _is_step(call: Call) -> bool:
    return bool(call.is_discarded or call.is_awaited or call.is_returned or call.assigned)


def _is_received(call: Call, facts: Facts) -> bool:
    """Return whether a call gives the channel of a receive: `<-claim.Messages()` (Go)."""
    start = call.span.start
    return facts.language == "go" and facts.syntax.source[max(0, start - 3) : start].rstrip().endswith(b"<-")


def _is_work(call: Call, facts: Facts) -> bool:
    if _is_received(call, facts):
        return False
    # A parameter of the type `Callable` is called by its own name.
    makes = call.constructs and not call.written.rpartition(".")[2][:1].islower()
    if _QUICK.match(call.method) or _READS.search(call.method) or is_logging(call) or makes:
        return False
    if facts.language == "rust" and call.method[:1].isupper():
        return False  # `Message::Text(…)` makes a value.
    own = next((each for each in facts.functions_named(call.method) if call in facts.callers_of(each)), None)
    # A function of this file that only reads the message is no work, whatever its name.
    return own is None or any(
        each.method != call.method and not _QUICK.match(each.method) and _may_fail(each)
        for each in facts.within(facts.calls, own.body)
    )


def _may_fail(call: Call) -> bool:
    return not (_READS.search(call.method) or is_logging(call) or call.constructs)


def _round(call: Call, scope: Scope, facts: Facts) -> Span:
    """Return the code for one message: the body of the loop around the acknowledgement, or the function."""
    loops = facts.loops_around(call)
    return loops[-1].body if loops else scope.body


def _work_before(call: Call, scope: Scope, facts: Facts) -> bool:
    return any(
        each.span.end < call.span.start
        and not is_within(each.span, call.span)
        and not facts.are_exclusive(each, call)
        and _is_work(each, facts)
        for each in facts.within(facts.calls, _round(call, scope, facts))
    )


def _work_after(call: Call, scope: Scope, facts: Facts) -> Call | None:
    """Return the first call after an acknowledgement that does the work."""
    if any(is_within(call.span, handler.body) for each in facts.tries for handler in each.handlers):
        return None
    body = _round(call, scope, facts)
    branches = [
        step.span
        for step in facts.within(facts.steps, body)
        if step.kind == "branch" and step.span.start > call.span.end
    ]
    # `if err := reader.CommitMessages(…); err != nil { return err }`
    branches += [one.span for each in facts.within(facts.tries, body) for one in each.handlers]
    leaves = [
        step.span.end
        for step in facts.within(facts.steps, body)
        if step.kind in ("return", "continue", "break", "raise")
        and step.span.start > call.span.end
        and not any(is_within(step.span, branch) for branch in branches)
        # `val order = parse(record) ?: return`
        and not any(is_within(step.span, each.span) for each in facts.within(facts.assignments, body))
    ]
    end = min(leaves, default=body.end)
    names = _names_of_round(call, scope, body, facts)
    # What a handler does runs because the acknowledgement failed.
    failed = [one.body for each in facts.tries_around(call) for one in each.handlers]
    for each in facts.within(facts.calls, body):
        if (
            call.span.end < each.span.start <= end
            and not any(is_within(each.span, one) for one in failed)
            and not any(one.span.start == call.span.start for one in facts.calls_around(each))
            and _is_run_by(each, scope, facts)
            and _is_work(each, facts)
            and _uses_any(each, names, facts)
        ):
            return each
    return None


def _names_of_round(call: Call, scope: Scope, body: Span, facts: Facts) -> frozenset[str]:
    """Return the names that may hold the message: parameters, items of loops, and what the round assigns."""
    names = {each.name for one in facts.functions_around(call) for each in one.parameters}
    loops = (*facts.loops_around(call), *facts.within(facts.loops, scope.body))
    names.update(target for loop in loops for target in loop.targets)
    names.update(target for each in facts.within(facts.assignments, scope.body) for target in each.targets)
    return frozenset(word for name in names for word in _WORD.findall(name))


_WORD = lazy_regex(r"[A-Za-z_]\w*")


def _uses_any(call: Call, names: frozenset[str], facts: Facts) -> bool:
    """Return whether a call is given one of some names, or is called on it."""
    return not names.isdisjoint(_WORD.findall(facts.text(call.span)))


_KEEPS = frozenset(
    ("append", "push", "add", "Add", "push_back", "extend", "addLast", "Enqueue", "put_nowait")
)
_EMPTIES = (
    r"\b{0}\s*(?:\.\s*(?:clear|Clear|drain|take|splice|RemoveAll|popleft|get_nowait)\(|=\s*(?:\[\]|nil\b|new\b|(?:\w+\.)?{0}\[:0\]"
    r"|make\(|mutableListOf|Vec::new|list\(\)))|mem::(?:take|replace)\([^()]*\b{0}\b|\.length\s*=\s*0"
)


def _kept_in(ack: Call, scope: Scope, facts: Facts) -> str:
    """Return the list in memory that a message was put into before; empty if there is none.

    The list is of the object or of the function around the loop, and is emptied elsewhere."""
    body = _round(ack, scope, facts)
    before = Span(body.start, ack.span.start)
    lists = [
        call.receiver_written
        for call in facts.within(facts.calls, before)
        if call.method in _KEEPS and call.arguments and not facts.are_exclusive(call, ack)
    ]
    lists += [
        each.targets[0]
        for each in facts.within(facts.assignments, before)
        if facts.language == "go" and each.value is not None and each.value.text.startswith("append(")
    ]
    for name in lists:
        inside = any(name in each.targets for each in facts.within(facts.assignments, before))
        last = re.escape(name.rpartition(".")[2])
        if (facts.language == "go" or not inside) and re.search(_EMPTIES.format(last), facts.whole_text):
            return facts.in_words_of(ack, name)
    return ""


def _is_run_by(call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether a function makes a call itself, or by what it gives to `forEach`."""
    inner = facts.function_of(call)
    if inner is not scope and inner is not None and inner.is_anonymous and inner.outer is scope:
        return any(loop.kind == "comprehension" and loop.body == inner.span for loop in facts.loops)
    return inner is scope


RULE = Rule(
    id="FK-R056",
    slug="acknowledged-before-work",
    title="Message acknowledged before the work",
    why="If the work fails or the process ends, the queue has forgotten the message: it is lost.",
    fix="Acknowledge after the work is done; make the work idempotent, since a message may then come twice.",
    kind="reliability",
    severity="high",
    languages=EVERY_LANGUAGE,
    check=_check,
)
