"""Finds consumers that only log a failure, after which the queue counts the message as done."""

from __future__ import annotations

import re
from collections.abc import Iterator

from faultkit.code.facts import Call, Facts, Handler, Scope, Try, is_within
from faultkit.code.facts.build import is_logging
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import EVERY_LANGUAGE, JAVASCRIPT, LIKELY, Hit, Rule
from faultkit.code.rules.vocabulary.acknowledgements import is_acknowledgement
from faultkit.code.rules.vocabulary.failures import only_reports
from faultkit.code.rules.vocabulary.name_pattern import NamePattern

_LISTENERS = frozenset({"KafkaListener", "RabbitListener", "SqsListener", "JmsListener"})
_RECORDS = re.compile(r"""\[["']Records["']\]|\.get\(["']Records["']""")
_COMMENT = re.compile(r"(?:#|//|/\*)\W*\w")
_SETTLES = re.compile(
    r"^(n?ack|term|reject|basic_(n?ack|reject)|double_ack|in_progress)(_with)?(Async)?$", re.IGNORECASE
)
_PARSES = frozenset(
    ("loads", "parse", "toString", "decode", "readValue", "get", "String", "value", "Unmarshal", "Decode",
     "Deserialize", "from_slice", "from_str", "readTree", "decodeFromString", "fromJson")
)  # fmt: skip


_TASKS = NamePattern(r"(^|\.)(shared_task|task|actor|periodic_task)$")
_WORKERS = NamePattern(r"^(bullmq\.Worker|bull\w*\.process|\w+[qQ]ueue\.process|bull\(?\)?\.process)$")
_JOB = re.compile(r"^(bull\w*\.)?(Sandboxed)?Job\b")
_PARAMETERS = re.compile(r"(ProcessMessageEventArgs|ConsumeContext|ServiceBusReceivedMessage|SQSEvent)\b")


def _check(facts: Facts) -> Iterator[Hit]:
    for scope, returns_to in _consumers(facts):
        for each in facts.own(facts.tries, scope):
            if not _works(each, facts) or _fails_later(each, scope, facts):
                continue
            for handler in each.handlers:
                drops = handler.is_broad and (handler.only_logs or only_reports(handler, facts))
                if drops and not _COMMENT.search(facts.text(handler.span)):
                    what = f"the failure is only logged, so {returns_to} counts the message as done"
                    yield Hit(handler.span, what, LIKELY)
        if facts.language == "kotlin":
            yield from _caught(scope, returns_to, facts)
    yield from _acknowledged(facts)


def _caught(scope: Scope, returns_to: str, facts: Facts) -> Iterator[Hit]:
    """Yield `runCatching { work(event) }.onFailure { log.error(…) }` (Kotlin)."""
    for call in facts.within(facts.calls_named("runCatching"), scope.body):
        later = [each for each in facts.calls_on(call)]
        if any(
            each.method in ("getOrThrow", "getOrElse", "fold", "isFailure", "exceptionOrNull")
            for each in later
        ):
            continue
        fails = next((each for each in later if each.method == "onFailure"), None)
        ended = call if fails is None else fails
        inside = (
            []
            if fails is None
            else [each for each in facts.within(facts.calls, Span(fails.callee.end, fails.span.end))]
        )
        if (
            ended.is_discarded
            and all(map(is_logging, inside))
            and not _COMMENT.search(facts.text(ended.span))
        ):
            what = f"the failure is only logged, so {returns_to} counts the message as done"
            yield Hit(ended.span, what, LIKELY)


def _fails_later(each: Try, scope: Scope, facts: Facts) -> bool:
    """Return whether the function raises after all, for example after its last try."""
    return any(
        step.kind == "raise" and step.span.start > each.span.end for step in facts.own(facts.steps, scope)
    )


def _acknowledged(facts: Facts) -> Iterator[Hit]:
    """Yield handlers that only log, after which the message is acknowledged all the same."""
    acks = [call for call in facts.calls if is_acknowledgement(call)]
    for each in facts.tries if acks else ():
        if not _works(each, facts) or any(is_within(call.span, each.body) for call in acks):
            continue
        if facts.handlers_around(each) or _answers(each, facts):
            continue
        for handler in each.handlers:
            if not only_reports(handler, facts) or handler.exits or _leaves(handler, facts):
                continue
            if not (handler.is_broad or not handler.types) or _COMMENT.search(facts.text(handler.span)):
                continue
            after = next((call for call in acks if _comes_after(call, each, facts)), None)
            if after is not None:
                what = f"the failure is only logged, and {after.written}() counts the message as done"
                yield Hit(handler.span, what, LIKELY)


_ANSWERS = re.compile(
    r"^(n?ack|nak|term|reject|basic_n?ack|requeue|abandon|dead_?letter)(_with)?", re.IGNORECASE
)


def _answers(each: Try, facts: Facts) -> bool:
    """Return whether the broker is answered in the body: what fails there is the answer, not the work."""
    return any(_ANSWERS.match(call.method) for call in facts.within(facts.calls, each.body))


def _leaves(handler: Handler, facts: Facts) -> bool:
    return any(
        step.kind in ("continue", "break", "return", "raise")
        for step in facts.within(facts.steps, handler.body)
    )


def _comes_after(call: Call, each: Try, facts: Facts) -> bool:
    """Return whether a message is acknowledged after a try that failed: behind it, or in its `finally`."""
    if facts.function_of(call) is not facts.function_of(each):
        return False
    if call.span.start < each.body.end or any(is_within(call.span, one.span) for one in each.handlers):
        return False
    around = facts.loops_around(each)
    if around and not any(is_within(call.span, loop.body) for loop in around):
        return False
    return not any(
        is_within(call.span, arm.span) and not is_within(each.span, arm.span)
        for arm in facts.arms
        if not is_within(arm.span, each.span)
    )


def _consumers(facts: Facts) -> Iterator[tuple[Scope, str]]:
    """Yield functions that are called for each message and fail it by raising, with who calls them."""
    if facts.language in JAVASCRIPT:
        for call in facts.calls_of_method("run"):
            given = call.argument("eachMessage", "eachBatch")
            for scope in facts.scopes if given is not None else ():
                by_name = scope.name and given is not None and _names(given.value.text, scope)
                if given is not None and (scope.span == given.value.span or by_name):
                    yield scope, "the consumer"
        yield from _workers(facts)
    elif facts.language == "csharp":
        for scope in facts.scopes:
            if scope.name and any(_PARAMETERS.search(each.type) for each in scope.parameters):
                yield scope, "the processor"
    elif facts.language in ("java", "kotlin"):
        for scope in facts.scopes:
            if any(each.method in _LISTENERS for each in scope.decorators):
                yield scope, "the listener"
    elif facts.language == "python" and not _reports_items(facts):
        for scope in facts.scopes:
            if [each.name for each in scope.parameters] == ["event", "context"] and any(
                _RECORDS.search(loop.over) for loop in facts.own(facts.loops, scope)
            ):
                yield scope, "the event source"
            elif any(_TASKS.search(each.name) for each in scope.decorators) and facts.imports_any(
                "celery", "dramatiq"
            ):
                yield scope, "the worker"


def _reports_items(facts: Facts) -> bool:
    """Return whether failed records are named in the answer; an empty list says that all went well."""
    source = facts.syntax.source
    return b"batchItemFailures" in source and b"itemIdentifier" in source


def _workers(facts: Facts) -> Iterator[tuple[Scope, str]]:
    """Yield the functions of BullMQ's workers, and those that get the records of a queue from AWS."""
    for call in facts.calls:
        if _WORKERS.match(call.name) or (call.method == "Worker" and facts.imports_any("bullmq")):
            for argument in call.positional:
                scope = facts.function_at(argument.value.span)
                named = [
                    each for each in facts.scopes if each.name and each.short_name == argument.value.text
                ]
                for each in [scope] if scope is not None else named:
                    yield each, "the worker"
    for scope in facts.scopes if facts.imports_any("bullmq", "bull") else ():
        # A method of another class, or of a file that starts the worker: its job says what it is for.
        if scope.name and any(_JOB.search(each.type) for each in scope.parameters[:1]):
            yield scope, "the worker"
    if _reports_items(facts):
        return
    for scope in facts.scopes:
        if scope.parameters and any(
            loop.over == f"{scope.parameters[0].name}.Records" for loop in facts.own(facts.loops, scope)
        ):
            yield scope, "the event source"


def _names(given: str, scope: Scope) -> bool:
    """Return whether an argument is a function of this text, or passes its message on to it."""
    word = rf"(await )?(this\.)?{re.escape(scope.short_name)}(\.bind\(this\)|\(.*\))?"
    return re.fullmatch(rf"((async\s*)?\(?[\w{{}}, ]*\)?\s*=>\s*)?{word}", given, re.DOTALL) is not None


def _works(each: Try, facts: Facts) -> bool:
    """Return whether more is tried than to parse the message: one that cannot be read never can."""
    return any(
        call.method not in _PARSES
        and not call.constructs
        and not is_logging(call)
        and not _SETTLES.match(call.method)
        for call in facts.within(facts.calls, each.body)
    )


RULE = Rule(
    id="FK-R076",
    slug="failed-message-dropped",
    title="Failed message counted as done",
    why="The function returns as if all went well: the offset moves on or the message is deleted, and the "
    "work is lost.",
    fix="Let the error go up so that the message comes again, or send it to a dead-letter queue first.",
    kind="reliability",
    severity="medium",
    languages=EVERY_LANGUAGE,
    check=_check,
)
