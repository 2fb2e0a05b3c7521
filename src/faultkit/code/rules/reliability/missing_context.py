"""Go: finds calls that cannot be cancelled although a context is available.

Evidence that it matters: the caller waits for the answer of what is given the other context. What only
changes something may have to be done in any case. A context for log lines or spans, one whose reason is in a
comment, one that replaces a missing or ended context, and one of a function that runs later than the call it
is made in, are not reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope, is_within
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import GO, LIKELY, POSSIBLE, Hit, Rule
from faultkit.code.rules.vocabulary.remote_calls import sql_calls
from faultkit.code.rules.vocabulary.repetition import runs_once

_CONTEXT = ("context.Context", "net/http.Request", "github.com/gin-gonic/gin.Context")
_CONTEXT_NAME = lazy_regex(r"[cC]tx\w*|[cC]ontext\b")
_PLAIN = {
    "net/http.NewRequest": "http.NewRequestWithContext",
    "net/http.Get": "http.NewRequestWithContext and Do",
    "net/http.Post": "http.NewRequestWithContext and Do",
    "os/exec.Command": "exec.CommandContext",
}
_BARE = ("context.Background", "context.TODO")
_ENDED = lazy_regex(
    r"<-\s*\w*[cC]tx\w*\.Done\(\)|<-\s*r\.Context\(\)\.Done\(\)|\b\w*[cC]tx\w*\.Err\(\)|\.Context\(\)\.Err\(\)"
)
_SQL_PACKAGES = ("database/sql", "github.com/jmoiron/sqlx")
_SQL = {"Query": "QueryContext", "QueryRow": "QueryRowContext", "Exec": "ExecContext"}


def _check(facts: Facts) -> Iterator[Hit]:
    sql = {each.call for each in sql_calls(facts)}
    for call in facts.calls:
        may_hit = call.name in _PLAIN or call.name in _BARE or (call.method in _SQL and call in sql)
        scope = _with_context(call, facts) if may_hit else None
        if scope is None:
            if call.name in _BARE and _is_of_handlers(call, facts):
                what = f"{call.written}() goes on after the client has gone; pass the context of the request"
                yield Hit(call.span, what, LIKELY)
            continue
        if call.name in _PLAIN:
            if _gets_context(call, scope, facts) or _is_left_running(call, scope, facts):
                continue
            yield Hit(
                call.span,
                f"{call.written}() continues after the caller has gone; use {_PLAIN[call.name]}",
                LIKELY,
            )
        elif call in sql and call.method in _SQL and _has_other_form(call, facts):
            what = f"{call.written}() continues after the caller has gone; use {_SQL[call.method]}"
            yield Hit(call.span, what, LIKELY)
        elif call.name in _BARE and not _is_apart(call, scope, facts):
            # The caller waits for an answer; what only changes something may have to be done in any case.
            is_awaited = not runs_once(scope) and _gives_answer(call, scope, facts)
            # A request holds it as long as its client waits; other callers wait for the limit.
            is_request = any(each.type in _CONTEXT[1:] and each.name != "_" for each in scope.parameters)
            is_long = is_request or not _has_limit(call, facts)
            sure = LIKELY if is_awaited and is_long else POSSIBLE
            yield Hit(call.span, f"{call.written}() hides the caller's context", sure)


def _is_of_handlers(call: Call, facts: Facts) -> bool:
    """Return whether only handlers of requests call the function of a context, and wait for it."""
    scope = facts.named_function_of(call)
    if scope is None or scope.short_name[:1].isupper() or _is_apart(call, scope, facts):
        return False
    callers = facts.callers_of(scope)
    around = [facts.function_of(each) for each in callers]
    return bool(callers) and all(
        one is not None
        and any(each.type == "net/http.Request" for each in one.parameters)
        and each_call.assigned
        and not facts.is_launched(each_call)
        and not facts.is_deferred(each_call)
        for one, each_call in zip(around, callers, strict=True)
    )


def _has_limit(call: Call, facts: Facts) -> bool:
    """Return whether the new context ends after a time of its own: `WithTimeout(context.Background(), …)`."""
    return any(each.method in ("WithTimeout", "WithDeadline") for each in facts.calls_around(call))


_KEEPS = lazy_regex(
    r"^(Clone|Listen|ListenPacket|(With|New|Open|Connect|Dial|Start|Watch|Subscribe)([A-Z]\w*)?)$"
)
"""Methods that return what may keep the context, or need it for a moment."""
_AFTER_FAILURE = lazy_regex(r"\w*[eE]rr\w* != nil\b")


def _gives_answer(call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether what is given the new context returns a value besides its error, which is used.

    A failure may be cleaned up although the caller has gone: calls in its handler do not count."""
    around = [each for each in facts.calls_around(call) if not each.method.startswith("With")]
    if around and around[-1].arguments and is_within(call.span, around[-1].arguments[0].value.span):
        return _is_used(around[-1], facts)
    held = {
        each.targets[0]
        for each in facts.within(facts.assignments, scope.body)
        if each.value is not None and is_within(call.span, each.span)
    }
    given = [
        each
        for each in facts.within(facts.calls, Span(call.span.end, scope.body.end))
        if each.arguments and each.arguments[0].value.shape == "name"
    ]
    for each in given:
        if each.method.startswith("With") and each.arguments[0].value.text in held:
            held.update(each.assigned)
    return any(_is_used(each, facts) for each in given if each.arguments[0].value.text in held)


def _is_used(call: Call, facts: Facts) -> bool:
    if call.name == "net/http.NewRequestWithContext":
        return True
    values = [name for name in call.assigned if name != "_" and not name.lower().endswith("err")]
    return (
        (bool(values) or call.is_returned)
        and not _KEEPS.match(call.method)
        and not any(
            arm.place == 0 and _AFTER_FAILURE.search(facts.text(Span(arm.fork.start, arm.span.start)))
            for arm in facts.arms
            if is_within(call.span, arm.span)
        )
    )


def _has_other_form(call: Call, facts: Facts) -> bool:
    """Return whether the object has the same method with a context, as in `database/sql`, not in GORM."""
    first = call.argument(place=0)
    if first is not None and _CONTEXT_NAME.search(first.value.text) is not None:
        return False
    if call.receiver == "self" or facts.text(Span(call.span.end, call.span.end + 6)) == ".Error":
        return False  # An object of this text, or a query of GORM.
    if call.method != "QueryRow" and len(call.assigned) == 1:
        return False
    type_ = next(
        (
            each.type
            for scope in facts.functions_around(call)
            for each in scope.parameters
            if each.name == call.receiver_written
        ),
        "",
    )
    if type_:
        return type_.startswith(_SQL_PACKAGES)
    return facts.imports_any(*_SQL_PACKAGES) or not facts.imports_any("gorm.io/gorm")


def _with_context(call: Call, facts: Facts) -> Scope | None:
    """Return the enclosing function that has a context, or a request with one."""
    for scope in facts.functions_around(call):
        if any(each.type in _CONTEXT for each in scope.parameters):
            return scope
    return None


def _gets_context(call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether a request gets its context later: `req.WithContext(ctx)`, `client.do(ctx, req)`."""
    if not call.assigned:
        return False
    name = call.assigned[0]
    contexts = {each.name for each in scope.parameters if each.type in _CONTEXT}
    again = [
        each.span.start
        for each in facts.within(facts.assignments, scope.body)
        if name in each.targets and each.span.start > call.span.start
    ]
    for each in facts.within(facts.calls, Span(call.span.end, min(again, default=scope.body.end) + 1)):
        given = {argument.value.text for argument in each.arguments}
        if each.written == f"{name}.WithContext" or (name in given and contexts & given):
            return True
    return any(f"{name}.WithContext(" in facts.text(each.span) for each in facts.assignments_to(name, call))


def _is_left_running(call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether a program is started and not waited for, so that it outlives its caller."""
    if call.name != "os/exec.Command":
        return False
    later = [*facts.calls_on(call)]
    if call.assigned:
        name = call.assigned[0]
        later += [each for each in facts.within(facts.calls, scope.body) if each.receiver_written == name]
    methods = {each.method for each in later}
    return "Start" in methods and "Wait" not in methods


def _is_apart(call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether it outlives the request on purpose, as a shutdown does, or has an end of its own."""
    if any(each.name == "context.WithCancel" for each in facts.calls_around(call)):
        return True
    if _replaces_missing(call, facts) or _runs_later(call, scope, facts) or _is_choice(call, scope, facts):
        return True
    if any(_OF_LOGS.search(each.written) for each in facts.calls_around(call)):
        return True
    if _REASON.search(_comment_above(call, facts)):
        return True
    # After the context has ended, work that must still be done needs another one.
    if _ENDED.search(facts.text(Span(scope.body.start, call.span.start))) or facts.is_deferred(call):
        return True
    return facts.is_launched(call) or "hutdown" in facts.text(scope.span)


_IF_MISSING = lazy_regex(
    r"\bif\b[^{]*(?:\b(?:\w*[cC]tx\w*|\w*[cC]ontext\w*)(?:\(\))?\s*==\s*nil\b|\.Err\(\)\s*!=\s*nil\b)"
)


def _replaces_missing(call: Call, facts: Facts) -> bool:
    """Return whether a context is made only where there is none, or one that has ended."""
    return any(
        _IF_MISSING.match(facts.text(Span(arm.fork.start, arm.span.start)))
        for arm in facts.arms
        if is_within(call.span, arm.span)
    )


def _is_choice(call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether an earlier branch passes the context on, and this one leaves it out on purpose."""
    names = {each.name for each in scope.parameters if each.type in _CONTEXT} - {"_"}
    arms = [*facts.within(facts.arms, scope.body)]
    return any(
        facts.mentions(name, other.span)
        for arm in arms
        if is_within(call.span, arm.span)
        for other in arms
        if other.fork == arm.fork and other.place != arm.place and other.span.start < arm.span.start
        for name in names
    )


_LATER = lazy_regex(
    r"^(AfterFunc|Go|TryGo|AddFunc|AddJob|Submit|Cleanup|Defer|On[A-Z]?\w*|Handle\w*|Subscribe\w*|Register\w*"
    r"|Schedule\w*|Every\w*|Enqueue\w*|Set\w*(Func|Handler|Callback|Hook))$",
)
"""Methods that keep the function they are given, and run it later."""


def _runs_later(call: Call, scope: Scope, facts: Facts) -> bool:
    """Return whether a closure runs after its function: it is returned, kept, or given to a scheduler."""
    for inner in facts.functions_around(call):
        if inner is scope or not is_within(inner.span, scope.body):
            continue
        around = [each for each in facts.calls_around(inner) if is_within(each.span, scope.body)]
        if around and _LATER.match(around[-1].method):
            return True
        kept = next(
            (
                each
                for each in facts.within(facts.assignments, scope.body)
                if each.value is not None and each.value.span == inner.span
            ),
            None,
        )
        if kept is not None:
            name = kept.targets[0]
            return "." in name or not any(
                each.written == name for each in facts.within(facts.calls, scope.body)
            )
        if any(
            step.kind == "return" and is_within(inner.span, step.span)
            for step in facts.own(facts.steps, scope)
        ):
            return not around
    return False


_OF_LOGS = lazy_regex(
    r"(^|\.)(Enabled|LogAttrs|\w*Logger|\w*[lL]ogs?|Ctx|(Debug|Info|Warn|Error)(f|w|Context)?|\w*Span\w*|\w*Baggage)$"
    r"|(^|\.)(log|logs|logger|slog|logrus|zap|zerolog|tracer|trace)\.\w+$"
)
"""What takes a context only to find a logger, or the span of a trace."""
_REASON = lazy_regex(
    r"context|ctx|cancel|background|detach|independent|outlive|regardless|even (if|when)", re.IGNORECASE
)
_LINES_OF_COMMENT = 6


def _comment_above(call: Call, facts: Facts) -> str:
    """Return the lines of comment right above the line of a call, and the comment on it."""
    found, line = [facts.comment_at(call)], facts.line(call) - 1
    while line > 0 and len(found) <= _LINES_OF_COMMENT:
        text = facts.syntax.line_text(line).strip()
        if not text.startswith("//"):
            break
        found.append(text)
        line -= 1
    return " ".join(found)


RULE = Rule(
    id="FK-R027",
    slug="missing-cancellation",
    title="Call without the caller's context",
    why="When the client goes away or its deadline is over, the work goes on and holds "
    "connections for no client.",
    fix="Pass the context on: r.Context(), http.NewRequestWithContext, QueryContext, exec.CommandContext.",
    kind="reliability",
    severity="medium",
    languages=GO,
    check=_check,
)
