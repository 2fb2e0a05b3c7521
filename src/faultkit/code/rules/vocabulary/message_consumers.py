"""Functions that a queue calls for each message, and whose return counts the message as done.

    @KafkaListener void on(Order order)    eachMessage: async ({ message }) => …    new Worker("mails", send)
    func (h *Handler) HandleMessage(m *nsq.Message) error         async with message.process(): …

The message comes again only if they fail: what they drop, and what they leave to another task, is lost.
What calls a function that acknowledges by itself is in `acknowledgements`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from faultkit.base.patterns import lazy_regex
from faultkit.code.facts import Call, Facts, Scope
from faultkit.code.languages.syntax import Span
from faultkit.code.rules.rule import JAVASCRIPT
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.text_pattern import TextPattern


@dataclass(frozen=True, slots=True)
class Consumer:
    """A function, or a block in it, at whose end a message counts as done."""

    scope: Scope
    body: Span
    """The function's body, or the block."""
    called_by: str
    """What counts the message as done: `the listener`, `the worker`, `the block`."""
    messages: frozenset[str]
    """Names by which the body knows the message."""


@lru_cache(maxsize=4)
def message_consumers(facts: Facts) -> tuple[Consumer, ...]:
    """Return the functions and blocks of a text at whose end a message counts as done."""
    if not _ANY_WORD.is_in(facts.syntax.source):
        return ()
    find = {"python": _of_python, "go": _of_types, "rust": _of_types, "csharp": _of_csharp}
    if facts.language in JAVASCRIPT:
        found = _of_javascript(facts)
    elif facts.language in ("java", "kotlin"):
        found = _of_jvm(facts)
    elif facts.language in find:
        found = find[facts.language](facts)
    else:
        found = iter(())
    seen: dict[Scope, Consumer] = {}
    for scope, called_by in found:
        if scope not in seen:
            names = frozenset(name for one in scope.parameters for name in _NAME.findall(one.name))
            seen[scope] = Consumer(scope, scope.body, called_by, names)
    return (*seen.values(), *(_blocks(facts) if facts.language == "python" else ()))


CONSUMER_WORDS = (
    b"Listener", b"KafkaHandler", b"RabbitHandler", b"SqsMessageHandler", b"IMessageHandlerContext",
    b"Incoming", b"EventPattern", b"RabbitSubscribe", b"RabbitRPC", b"KafkaSubscribe", b"SQSEvent",
    b"SqsEvent", b"SqsBatchEvent", b"KinesisEvent", b"KafkaEvent", b"DynamodbEvent", b"DynamoDBEvent",
    b"asynq", b"nsq", b"watermill", b"ProcessMessageEventArgs", b"ConsumeContext",
    b"ServiceBusReceivedMessage", b"ServiceBusTrigger", b"QueueTrigger", b"EventHubTrigger", b"KafkaTrigger",
    b"RabbitMQTrigger", b"_trigger", b"Records", b"celery", b"dramatiq", b"huey", b"subscriber", b".process(",
    b"eachMessage", b"eachBatch", b"handleMessage", b"bull", b"@Processor", b"Worker(", b"ueue.process",
    b"Consumer<", b"JetStream", b"WorkerSettings", b"AutomaticRetry", b"CapSubscribe", b"IHandleMessages",
    b".task(", b".work", b"genda", b"apalis", b".actor(",
)  # fmt: skip
"""Parts of which one stands in each text with a consumer."""
_ANY_WORD = TextPattern(b"|".join(map(re.escape, CONSUMER_WORDS)))
_NAME = lazy_regex(r"[A-Za-z_$][\w$]*")
_Found = Iterator[tuple[Scope, str]]
_LISTENERS = NamePattern(
    r"(?:Kafka|Rabbit|Sqs|Jms|Pulsar|Stream|Nats)(?:Stream)?(?:Listener|Handler)$|^(?:Incoming|EventPattern|RabbitSubscribe"
    r"|SqsMessageHandler|Processor|KafkaSubscribe|RabbitRPC)$"
)
"""Annotations and decorators of listeners."""
_DECLARED = frozenset(("MessageListener", "AcknowledgingMessageListener", "SessionAwareMessageListener"))
"""Interfaces of listeners, with the method `onMessage`."""
_EVENTS = lazy_regex(
    r"(^|[./:<])(SQSEvent|SqsEvent|KinesisEvent|KafkaEvent|DynamodbEvent|DynamoDBEvent|asynq\.Task|(?:go-)?nsq\.Message"
    r"|watermill/message\.Message|SqsEventObj|SqsBatchEvent)$"
)
"""Types of what a queue gives to a function whose error brings the message back."""


def _takes_message(scope: Scope) -> bool:
    return any(_EVENTS.search(each.type) for each in scope.parameters)


@lru_cache(maxsize=4)
def reports_items(facts: Facts) -> bool:
    """Return whether failed records are named in the answer; an empty list says that all went well."""
    source = facts.syntax.source
    # Without their first letters, which are capitals in C# and Go.
    return b"atchItemFailure" in source and b"temIdentifier" in source


_DONE = lazy_regex(r"->\s*Result<\(\)")
_SUBSCRIBED = ("Subscribe", "QueueSubscribe")


def _of_types(facts: Facts) -> _Found:
    if facts.language == "go" and b"JetStream" in facts.syntax.source:
        for call in facts.calls_of_method(*_SUBSCRIBED):
            # Without ManualAck, JetStream acknowledges when the function has returned.
            given = [facts.function_at(each.value.span) for each in call.positional]
            if "ManualAck" not in facts.text(call.span) and "JetStream" in call.receiver:
                yield from ((scope, "the subscription") for scope in given if scope is not None)
    is_job = facts.language == "rust" and b"use apalis" in facts.syntax.source
    for scope in facts.scopes if not reports_items(facts) else ():
        if (scope.name and _takes_message(scope)) or _takes_event(scope, facts):
            yield scope, "the event source"
        elif scope.name and scope.is_async and is_job and _DONE.search(facts.text(scope.head)):
            yield scope, "the worker"


_LAMBDA_EVENT = lazy_regex(r"LambdaEvent<\s*(?:\w+::)*(?:Sqs|Kinesis|Kafka|DynamoDb)\w*Event")


def _takes_event(scope: Scope, facts: Facts) -> bool:
    """Return whether AWS calls a function with `LambdaEvent<SqsEvent>` (Rust)."""
    return (
        facts.language == "rust"
        and bool(scope.name)
        and b"LambdaEvent<" in facts.syntax.source
        and _LAMBDA_EVENT.search(facts.text(scope.head)) is not None
    )


def _of_jvm(facts: Facts) -> _Found:
    for scope in facts.scopes:
        is_marked = any(_LISTENERS.search(each.method) for each in scope.decorators)
        if is_marked or (scope.short_name == "onMessage" and _is_declared(scope, facts)):
            yield scope, "the listener"
        elif scope.is_anonymous and _is_binding(scope.outer, facts):
            yield scope, "the binding"
        elif scope.name and not reports_items(facts) and _takes_message(scope):
            yield scope, "the event source"


_BOUND = lazy_regex(r"\bConsumer<")


def _is_binding(scope: Scope | None, facts: Facts) -> bool:
    """Return whether a function returns what Spring binds to a queue: `@Bean Consumer<Message<Order>>`."""
    return (
        scope is not None
        and any(each.method == "Bean" for each in scope.decorators)
        and _BOUND.search(facts.text(scope.head)) is not None
    )


def _is_declared(scope: Scope, facts: Facts) -> bool:
    bases = facts.classes.get(scope.owner, ())
    return any(base.partition("<")[0].rpartition(".")[2] in _DECLARED for base in bases)


_PARAMETERS = lazy_regex(
    r"(ProcessMessageEventArgs|ConsumeContext|ServiceBusReceivedMessage|SQSEvent|IMessageHandlerContext)\b"
)
_TRIGGERS = (b"ServiceBusTrigger", b"QueueTrigger", b"EventHubTrigger", b"KafkaTrigger", b"RabbitMQTrigger")
_TRIGGER = lazy_regex(r"\[(?:ServiceBus|Queue|EventHub|Kafka|RabbitMQ)Trigger\b")


def _of_csharp(facts: Facts) -> _Found:
    triggered = any(word in facts.syntax.source for word in _TRIGGERS)
    for scope in facts.scopes:
        if scope.name and any(_PARAMETERS.search(each.type) for each in scope.parameters):
            yield scope, "the processor"
        elif scope.name and triggered and _TRIGGER.search(facts.text(scope.head)):
            yield scope, "the trigger"
        elif any(each.method in ("AutomaticRetry", "CapSubscribe") for each in scope.decorators):
            yield scope, "the job server"
        elif scope.short_name == "Handle" and any(
            each.partition("<")[0].endswith("IHandleMessages") for each in facts.classes.get(scope.owner, ())
        ):
            yield scope, "the bus"


_RECORDS = lazy_regex(r"""\[["']Records["']\]|\.get\(["']Records["']""")
_TASKS = NamePattern(r"(^|\.)(shared_task|task|actor|periodic_task)$")
_WORKERS_OF_PYTHON = ("celery", "dramatiq", "huey")
_SUBSCRIBES = NamePattern(
    r"(^|\.)(\w*(broker|router)\.subscriber|\w+\.service_bus_(queue|topic)_trigger|\w+\.queue_trigger)$"
)
"""Decorators of FastStream and of Azure."""


def _of_python(facts: Facts) -> _Found:
    if reports_items(facts):
        return
    has_workers = facts.imports_any(*_WORKERS_OF_PYTHON)
    is_arq = b"class WorkerSettings" in facts.syntax.source
    for scope in facts.scopes:
        if [each.name for each in scope.parameters] == ["event", "context"] and any(
            _RECORDS.search(loop.over) for loop in facts.own(facts.loops, scope)
        ):
            yield scope, "the event source"
        elif any(_TASKS.search(each.name) and (has_workers or _retries(each)) for each in scope.decorators):
            yield scope, "the worker"
        elif any(_SUBSCRIBES.search(each.written) for each in scope.decorators):
            yield scope, "the subscriber"
        elif is_arq and scope.is_async and [each.name for each in scope.parameters[:1]] == ["ctx"]:
            yield scope, "the worker"


def _retries(decorator: Call) -> bool:
    """Return whether a queue is told to try a failed job again: `@broker.task(retry_on_error=True)`."""
    return any("retr" in each.name or each.name == "acks_late" for each in decorator.arguments)


_SETTLED_BY_BLOCK = lazy_regex(r"(?:^|[._])((?:\w+_)?(?:message|msg|delivery))\.process$")
"""`async with message.process():` acknowledges at its end, unless an error leaves it (aio-pika)."""


def _blocks(facts: Facts) -> Iterator[Consumer]:
    for call, body in facts.managed if not reports_items(facts) else ():
        found = _SETTLED_BY_BLOCK.search(call.written)
        scope = facts.function_of(call) if found is not None else None
        if found is not None and scope is not None:
            yield Consumer(scope, body, "the block", frozenset((found[1],)))


_WORKERS = NamePattern(r"^(bullmq\.Worker|bull\w*\.process|\w+[qQ]ueue\.process|bull\(?\)?\.process)$")
_JOB = lazy_regex(r"^(bull\w*\.)?(Sandboxed)?Job\b")
_GIVEN = {
    "run": ("eachMessage", "eachBatch"),
    "create": ("handleMessage", "handleMessageBatch"),
    "Consumer": ("handleMessage", "handleMessageBatch"),
}
"""Options that hold the function of a consumer (kafkajs, sqs-consumer)."""


def _of_javascript(facts: Facts) -> _Found:
    for call in facts.calls_of_method(*_GIVEN):
        given = call.argument(*_GIVEN[call.method])
        for scope in facts.scopes if given is not None else ():
            by_name = scope.name and given is not None and _names(given.value.text, scope)
            if given is not None and (scope.span == given.value.span or by_name):
                yield scope, "the consumer"
    yield from _workers(facts)
    yield from _given_jobs(facts)
    for scope in facts.scopes:
        if any(_LISTENERS.search(each.method) for each in scope.decorators):
            yield scope, "the listener"


def _workers(facts: Facts) -> _Found:
    """Yield the functions of BullMQ's workers, and those that get the records of a queue from AWS."""
    for call in facts.calls_of_method("Worker", "process"):
        if _WORKERS.match(call.name) or (call.method == "Worker" and facts.imports_any("bullmq")):
            for argument in call.positional:
                scope = facts.function_at(argument.value.span)
                if scope is not None:
                    yield scope, "the worker"
                # `processMail`, `(job) => this.process(job)`
                for each in facts.scopes if len(argument.value.text) < 120 else ():
                    if each.name and each is not scope and _names(argument.value.text, each):
                        yield each, "the worker"
    for scope in facts.scopes if facts.imports_any("bullmq", "bull") else ():
        # A method of another class, or of a file that starts the worker: its job says what it is for.
        if scope.name and any(_JOB.search(each.type) for each in scope.parameters[:1]):
            yield scope, "the worker"
    if reports_items(facts) or b".Records" not in facts.syntax.source:
        return
    for scope in facts.scopes:
        records = f"{scope.parameters[0].name}.Records" if scope.parameters else ""
        for loop in facts.own(facts.loops, scope) if records else ():
            if loop.over == records and loop.kind != "comprehension":
                yield scope, "the event source"
                break
            inner = facts.function_at(loop.body) if loop.over.startswith(records) else None
            if inner is not None:
                yield inner, "the event source"


def _given_jobs(facts: Facts) -> _Found:
    """Yield `boss.work("mails", async (job) => …)` and `agenda.define("mails", async (job) => …)`."""
    for call in facts.calls_of_method("work", "define"):
        first, last = call.argument(place=0), call.positional[-1:]
        if first is None or first.value.shape != "text" or len(call.positional) < 2:
            continue
        scope = facts.function_at(last[0].value.span)
        if scope is not None and scope.is_async and (call.method == "work" or "genda" in call.written):
            yield scope, "the worker"


def _names(given: str, scope: Scope) -> bool:
    """Return whether an argument is a function of this text, or passes its message on to it."""
    if scope.short_name not in given:
        return False
    word = rf"(await )?(this\.)?{re.escape(scope.short_name)}(\.bind\(this\)|\(.*\))?"
    return re.fullmatch(rf"((async\s*)?\(?[\w{{}}, ]*\)?\s*=>\s*)?{word}", given, re.DOTALL) is not None
