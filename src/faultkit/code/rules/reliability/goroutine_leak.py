"""Go: finds goroutines that wait for ever to send what is received no more."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Assignment, Call, Facts, Scope, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import GO, LIKELY, Hit, Rule
from faultkit.code.rules.vocabulary.channels import (
    ChannelUse,
    cases_of,
    channel_uses,
    goroutine_around,
    goroutines,
    made_channels,
)
from faultkit.code.rules.vocabulary.started_tasks import is_endless

_ENDS = lazy_regex(r"\b(panic|runtime\.Goexit|os\.Exit|goto)\b")
_LEAVES = lazy_regex(r"\breturn\b|\b(break|goto)[ \t]+\w")
"""Ends of a case that leave the loop around its `select`: a plain `break` does not."""
_OVER = lazy_regex(r"\.Done\(\)|\btime\.After\(|[tT]imeout|[dD]eadline")
"""Cases after which a loop that collects answers does not go on."""
_MAIN = lazy_regex(r"main|cmd", re.IGNORECASE)
"""Functions after which the process ends, and its goroutines with it."""


def _check(facts: Facts) -> Iterator[Hit]:
    yield from _endless(facts)
    made = tuple(made_channels(facts))
    if not made:
        return
    uses = channel_uses(facts)
    yield from _abandoned(made, uses, facts)
    for each in made:
        name, scope = each.targets[0], each.scope
        if scope is not None and (sent := _sent_to_caller(name, each, scope, uses, facts)) is not None:
            what = (
                f"this goroutine waits for ever to send on {name} if its receiver stops: ctx is not looked at"
            )
            yield Hit(sent.span, what, LIKELY)
            continue
        if scope is None or _MAIN.match(scope.short_name) or _is_given_away(each, scope, facts):
            continue
        mine = [use for use in uses if use.channel == name and is_within(use.span, scope.body)]
        if (unclosed := _unclosed_range(name, mine, scope, facts)) is not None:
            what = f"{name} is never closed, so this goroutine waits for ever for the next value"
            yield Hit(unclosed.span, what, LIKELY)
            continue
        if each.call is None or len(each.call.arguments) != 1:
            continue
        started = [
            (use, sender)
            for use in mine
            if use.sends and use.select is None and (sender := goroutine_around(use.span, facts)) is not None
        ]
        started += _sent_by_others(name, scope, uses, facts)
        receives = [use for use in mine if not use.sends and goroutine_around(use.span, facts) is None]
        if (waits := _waits_first([sender for _, sender in started], receives, scope, facts)) is not None:
            what = (
                f"{waits.written}() waits for goroutines that wait to send on {name}, which is received later"
            )
            yield Hit(waits.span, what, LIKELY)
            continue
        for send, sender in started:
            if not is_within(sender.span, scope.body) or not receives or _serves(sender, facts):
                continue
            # One that sends in a loop waits for a receiver that has gone as several do.
            several = {one for _, one in started} | {*facts.loops_around(send)}
            if why := _is_left(sender, receives, scope, facts, len(several)):
                what = f"this goroutine waits for ever to send on {name} if {why}"
                inside = is_within(send.span, sender.span)
                yield Hit(send.span if inside else Span(sender.span.start, sender.callee.end), what, LIKELY)
                break


_SERVES = frozenset(("Serve", "ServeTLS", "ListenAndServe", "ListenAndServeTLS"))


def _serves(sender: Call, facts: Facts) -> bool:
    """Return whether a goroutine runs a server, which ends with the process."""
    return any(call.method in _SERVES for call in facts.within(facts.calls, sender.span))


def _sent_by_others(
    name: str, scope: Scope, uses: tuple[ChannelUse, ...], facts: Facts
) -> list[tuple[ChannelUse, Call]]:
    """Return sends of functions of this text that a goroutine runs and gives the channel: `go ask(u, ch)`."""
    found = [*_sent_by_closures(name, scope, uses, facts)]
    for call in goroutines(facts):
        body = _given_body(name, call, facts) if is_within(call.span, scope.body) else None
        for use in uses if body is not None else ():
            own = body is not None and use.channel == body[1] and is_within(use.span, body[0])
            if own and use.sends and use.select is None:
                found.append((use, call))
    return found


def _sent_by_closures(
    name: str, scope: Scope, uses: tuple[ChannelUse, ...], facts: Facts
) -> Iterator[tuple[ChannelUse, Call]]:
    """Yield sends of a function in a variable that goroutines run: `ask := func(u URL) { ch <- get(u) }`."""
    for call in goroutines(facts):
        if not call.written.isidentifier() or not is_within(call.span, scope.body):
            continue
        made = [
            each
            for each in facts.assignments_to(call.written, call)
            if each.scope is scope and each.value is not None and each.value.shape == "function"
        ]
        for use in uses if len(made) == 1 else ():
            value = made[0].value
            inside = value is not None and is_within(use.span, value.span)
            if inside and use.channel == name and use.sends and use.select is None:
                yield use, call


def _given_body(name: str, call: Call, facts: Facts) -> tuple[Span, str] | None:
    """Return the code that a goroutine runs and gets a channel for, and the name of the channel there."""
    at = next((place for place, each in enumerate(call.positional) if each.value.text == name), None)
    if at is None:
        return None
    written = facts.function_at(call.callee)
    own = (written,) if written is not None else facts.functions_named(call.method)
    given = own[0].parameters if len(own) == 1 and own[0] is not None else ()
    return (own[0].body, given[at].name) if at < len(given) else None


def _sent_to_caller(
    name: str, made: Assignment, scope: Scope, uses: tuple[ChannelUse, ...], facts: Facts
) -> ChannelUse | None:
    """Return a send in a loop on a channel that a function returns, if the function has a context for it."""
    context = next((one.name for one in scope.parameters if one.type == "context.Context"), "")
    if not context or context == "_" or made.call is None or len(made.call.arguments) != 1:
        return None
    returned = any(
        step.kind == "return" and re.match(rf"{re.escape(name)}\b", step.text.strip())
        for step in facts.own(facts.steps, scope)
    )
    for use in uses if returned else ():
        sender = goroutine_around(use.span, facts)
        if use.channel != name or not use.sends or use.select is not None or sender is None:
            continue
        # What fails with the context ends the goroutine, too, but not while it waits to send.
        if is_within(sender.span, scope.body) and facts.loops_around(use):
            return use
    return None


def _waits_first(senders: list[Call], receives: list[ChannelUse], scope: Scope, facts: Facts) -> Call | None:
    """Return `wg.Wait()` between goroutines that send on a channel without room and the first receive."""
    started = [each.span.end for each in senders if is_within(each.span, scope.body)]
    if not started or not receives:
        return None
    way = Span(min(started), min(one.span.start for one in receives))
    if way.start >= way.end:
        return None
    for call in facts.within(facts.calls_of_method("Wait"), way):
        if facts.function_of(call) is scope and not call.arguments and not call.is_deferred:
            return call
    return None


def _abandoned(made: tuple[Assignment, ...], uses: tuple[ChannelUse, ...], facts: Facts) -> Iterator[Hit]:
    """Yield sends in a loop of a task of an errgroup, if the task that receives may end with an error."""
    for each in made:
        name, scope = each.targets[0], each.scope
        if scope is None:
            continue
        groups = [
            call
            for call in facts.within(facts.calls, scope.body)
            if call.method in ("Go", "TryGo") and len(call.positional) == 1
        ]
        mine = [
            (task, use)
            for task in groups
            for place, inside in _places_of(name, task, facts)
            for use in uses
            if use.channel == inside and is_within(use.span, place)
        ]
        early = any(
            not use.sends and _is_range(use, facts) and _returns_inside(use, facts) for _, use in mine
        )
        for _, use in mine:
            if early and use.sends and use.select is None and facts.loops_around(use):
                what = f"this waits for ever to send on {name} once the task that receives has failed"
                yield Hit(use.span, what, LIKELY)


def _places_of(name: str, task: Call, facts: Facts) -> Iterator[tuple[Span, str]]:
    """Yield the code of a task that has a channel, and the name of the channel there."""
    yield task.span, name
    for call in facts.within(facts.calls, task.span):
        at = next((place for place, one in enumerate(call.positional) if one.value.text == name), None)
        own = facts.functions_named(call.method) if at is not None else ()
        if at is not None and len(own) == 1 and at < len(own[0].parameters):
            yield own[0].body, own[0].parameters[at].name


def _returns_inside(use: ChannelUse, facts: Facts) -> bool:
    loop = next((loop for loop in facts.loops if is_within(use.span, loop.head)), None)
    return loop is not None and any(
        step.kind == "return" and facts.function_of(step) is facts.function_of(loop)
        for step in facts.within(facts.steps, loop.body)
    )


def _endless(facts: Facts) -> Iterator[Hit]:
    """Yield goroutines that a request starts and that only the end of the process stops."""
    for call in goroutines(facts):
        if facts.route_of(call) is None:
            continue
        for loop in facts.within(facts.loops, call.callee):
            scope = facts.function_of(loop)
            if not is_endless(loop, facts) or scope is None or scope.span != call.callee:
                continue
            if not any(
                (step.kind == "return" and facts.function_of(step) is scope) or step.kind == "break"
                for step in facts.within(facts.steps, loop.body)
            ) and not _ENDS.search(facts.text(loop.body)):
                what = "each request starts this goroutine, and nothing ends its loop"
                yield Hit(Span(call.span.start, loop.body.start), what, LIKELY)
                break


def _unclosed_range(name: str, uses: list[ChannelUse], scope: Scope, facts: Facts) -> ChannelUse | None:
    """Return `for x := range ch` in a goroutine, if the function that sends never closes the channel."""
    if any(
        call.name == "close" and any(each.value.text == name for each in call.arguments)
        for call in facts.within(facts.calls, scope.body)
    ):
        return None
    sends = [use for use in uses if use.sends and goroutine_around(use.span, facts) is None]
    for use in uses:
        if sends and _is_range(use, facts) and goroutine_around(use.span, facts) is not None:
            return use
    return None


def _is_range(use: ChannelUse, facts: Facts) -> bool:
    return not use.sends and "range " in facts.text(use.span)


def _is_given_away(made: Assignment, scope: Scope, facts: Facts) -> bool:
    """Return whether other functions may receive from the channel."""
    name = made.targets[0]
    word = re.compile(rf"(?<![\w.]){re.escape(name)}\b(?!\s*<-)")
    for call in facts.within(facts.calls, scope.body):
        if call.method in ("close", "len", "cap") or (
            call.is_launched and _given_body(name, call, facts) is not None
        ):
            continue
        if any(each.value.text == name for each in call.arguments):
            return True
    return any(
        step.kind == "return" and word.search(step.text.replace(f"<-{name}", ""))
        for step in facts.within(facts.steps, scope.body)
    ) or any(
        each.value is not None and each is not made and re.fullmatch(rf"&?{re.escape(name)}", each.value.text)
        for each in facts.within(facts.assignments, scope.body)
    )


def _is_left(sender: Call, receives: list[ChannelUse], scope: Scope, facts: Facts, others: int = 1) -> str:
    """Return when the function ends without having received everything; empty if it does not."""
    first = min(receives, key=lambda use: use.span.start)
    returns = [
        step
        for step in facts.within(facts.steps, scope.body)
        if step.kind == "return" and facts.function_of(step) is scope
    ]
    begin = first.span if first.select is None else first.select
    between = [
        step for step in returns if sender.span.end <= step.span.start and step.span.end <= begin.start
    ]
    if between:
        return f"the function returns in line {between[0].line}"
    selects = [use for use in receives if use.select is not None]
    if len(selects) == len(receives):
        # Of several selects in a row, the last one decides what is received at all.
        last = max(use.select.start for use in selects if use.select is not None)
        for use in selects:
            assert use.select is not None
            is_last = use.select.start == last
            in_loop = any(is_within(use.select, loop.body) for loop in facts.loops_around(use))
            for condition, body in cases_of(use.select, facts):
                other = condition and f"<-{use.channel}" not in condition.replace("<- ", "<-")
                ends = not in_loop or _OVER.search(condition) is not None
                if other and (_LEAVES.search(body) or (is_last and ends)):
                    return f"{' '.join(condition.split())[:40]} comes first"
        return ""
    once = len(receives) == 1 and not facts.loops_around(receives[0]) and not _is_range(receives[0], facts)
    if once and facts.loops_around(sender):
        return "another one was quicker: only one value is received"
    for use in receives:
        if others > 1 and _is_range(use, facts) and _returns_inside(use, facts):
            return "its receiver returns before it has everything"
        loops = facts.loops_around(use)
        inside = [step for step in returns if loops and is_within(step.span, loops[-1].body)]
        if use.select is None and inside and (facts.loops_around(sender) or others > 1):
            return f"the function returns in line {inside[0].line}"
    return ""


RULE = Rule(
    id="FK-R046",
    slug="goroutine-leak",
    title="Goroutine that can wait for ever",
    why="It keeps its memory, connections and locks until the process ends; under load there are thousands.",
    fix="Give the channel room for every send (make(chan T, 1)), or send in a select with ctx.Done().",
    kind="reliability",
    severity="medium",
    languages=GO,
    check=_check,
)
