"""Calls that give a message to a broker or a job to a queue."""

from __future__ import annotations

import re

from faultkit.code.facts import Call, Facts
from faultkit.code.rules.vocabulary.name_pattern import NamePattern
from faultkit.code.rules.vocabulary.service_clients import type_of_receiver

_TYPES = NamePattern(
    r"(^|[./])(I?\w*(KafkaTemplate|RabbitTemplate|AmqpTemplate|JmsTemplate|SqsTemplate|SnsTemplate|StreamBridge"
    r"|KafkaProducer|AIOKafkaProducer|FutureProducer|BaseProducer|ThreadedProducer|SyncProducer|AsyncProducer"
    r"|PubSubTemplate|ServiceBusSender|PublishEndpoint|SendEndpoint|EventBus|MessageBus|MessageSession"
    r"|MessagePublisher|EventPublisher|KafkaWriter|JetStream\w*|ServiceBusClient|SNSClient|SnsClient|SqsClient"
    r"|PublisherClient|MessageProducer|EventProducer|KafkaSender|ReactiveKafkaProducerTemplate))$"
    r"|(^|[./])(IProducer|IBus|IPublishEndpoint|ISendEndpointProvider|IMessageSession|IEventBus)$|kafka-go\.Writer$|amqp091-go\.Channel$|streadway/amqp\.Channel$|nats\.go\.Conn$"
    r"|kafka(js)?\.Producer$|confluent_kafka\.(Serializing)?Producer$|lapin\.Channel$|pubsub\.Topic$|async_nats\.(Client|jetstream\.Context)$|nats\.(aio\.client\.Client|JetStreamContext)$"
)
_LOCAL = NamePattern(r"ApplicationEventPublisher$|MediatR|IMediator$|ApplicationEvents$|DomainEvent\w*$")
"""Publishers inside the process."""
_SENDS = NamePattern(
    r"^(send|sendMessage|sendBatch|send_and_wait|SendMessages?(Async)?|SendAsync|Send|convertAndSend|publish|Publish\w*"
    r"|ProduceAsync|Produce|produce|WriteMessages|sendToQueue|basic_publish|basicPublish|BasicPublish(Async)?"
    r"|send_result|PublishWithContext|send_message|SendMessage\w*|emit|publishMessage)$"
)
_MADE = NamePattern(
    r"(kafkajs.*\.producer\(\)|Kafka\.producer\(\)|createChannel\(\)|createConfirmChannel\(\)|\.channel\(\)"
    r"|kafka\.KafkaProducer|aiokafka\.AIOKafkaProducer|confluent_kafka\.Producer|rabbitmq\.Channel|amqplib\w*"
    r"|google\.cloud\.pubsub_v1\.PublisherClient|boto3\.client\(\)|NewSyncProducer\(\)|kafka-go\.Writer"
    r"|kafka\.NewProducer\(\)|\.Channel\(\))\.\w+$"
)
_NAMES = NamePattern(r"(^|[._])_?\w*([pP]roducer|[pP]ublisher|kafka|rabbit|amqp|sns|[bB]roker|[nN]ats)$")


def is_published(call: Call, facts: Facts) -> bool:
    """Return whether a call gives a message to a broker."""
    if not _SENDS.match(call.method) or call.is_decorator or not call.arguments:
        return False
    type_ = type_of_receiver(call, facts)
    if _LOCAL.search(type_):
        return False
    if type_ and _TYPES.search(type_):
        return True
    if _MADE.search(call.name):
        return call.method not in ("send", "emit") or "producer" in call.name.lower()
    is_known = type_ or (call.origin is not None and not call.receiver.startswith("self."))
    return not is_known and _NAMES.search(call.receiver_written) is not None


_OWN = NamePattern(r"(^|[./])I?\w*(EventBus|MessageBus|MessagePublisher|EventPublisher|EventProducer)$")
"""Types of one's own program that may hand an event to functions of the same process."""


def may_stay_inside(call: Call, facts: Facts) -> bool:
    """Return whether nothing but the name of a publisher's type says that it sends to a broker."""
    type_ = type_of_receiver(call, facts)
    if not _OWN.search(type_):
        return False
    return not any(map(_LIBRARIES.search, (type_, *facts.imports.modules)))


_LIBRARIES = NamePattern(
    r"kafka|rabbit|amqp|\bnats|sqs|\bsns\b|pubsub|pulsar|mqtt|MassTransit|NServiceBus|servicebus|Rebus|rocketmq|EasyNetQ|CAP\b",
    re.IGNORECASE,
)


_TASKS = NamePattern(r"^(delay|apply_async|send_with_options|delay_on_commit)$")
_QUEUES = NamePattern(r"(^|[._])\w*([qQ]ueue|[sS]cheduler|[jJ]obs?|_q|[jJ]obClient|asynq)$")
_QUEUE_TYPES = NamePattern(r"(^|[./])(Queue|JobScheduler|IBackgroundJobClient|BackgroundJob|asynq\.Client)$")
_IN_MEMORY = NamePattern(
    r"^(queue|asyncio|multiprocessing|collections)\.|java\.util|ArrayDeque|BlockingQueue"
)


def is_enqueued(call: Call, facts: Facts) -> bool:
    """Return whether a call gives a job to a queue whose workers may start at once."""
    # Few calls have such a name.
    return not call.is_decorator and _gives_job(call, facts) and _IN_MEMORY.search(call.name) is None


def _gives_job(call: Call, facts: Facts) -> bool:
    if facts.language == "python":
        if _TASKS.match(call.method) and call.method != "delay_on_commit":
            return bool(call.receiver_written)
        if call.name in ("django_q.tasks.async_task", "django_rq.enqueue"):
            return True
        if call.method == "send" and facts.imports_any("dramatiq"):
            return call.receiver_written.isidentifier() and bool(call.arguments)
        return call.method in ("enqueue", "enqueue_call", "enqueue_job") and bool(call.receiver_written)
    if facts.language in ("javascript", "typescript", "tsx"):
        if call.method not in ("add", "addBulk", "enqueue"):
            return False
        is_queue = _QUEUES.search(call.receiver_written) or _QUEUE_TYPES.search(type_of_receiver(call, facts))
        return is_queue is not None and len(call.arguments) > 1
    if facts.language == "csharp":
        return call.method in ("Enqueue", "Schedule") and (
            call.receiver.endswith(("BackgroundJob", "BackgroundJobClient"))
            or "BackgroundJobClient" in type_of_receiver(call, facts)
        )
    if facts.language == "go":
        return call.method in ("Enqueue", "EnqueueContext") and "asynq" in call.name
    return call.method == "enqueue" and "JobScheduler" in call.name
