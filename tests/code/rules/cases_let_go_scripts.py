"""Failures that are let go before a message or a row counts as done: Python and JavaScript."""

# ruff: noqa: E501  (snippets of Go and of other languages)

from __future__ import annotations

from tests.code.rules.cases import bad, good

CASES = [
    bad(
        "failed-message-dropped",
        "python",
        """
    import logging
    import boto3

    log = logging.getLogger(__name__)

    class Worker:
        def poll(self):
            messages = self.sqs.receive_message(QueueUrl=self.url, MaxNumberOfMessages=10, WaitTimeSeconds=20).get("Messages", [])
            done = []
            for message in messages:
                try:
                    self.apply(json.loads(message["Body"]))
                except Exception:
                    log.exception("message %s failed", message["MessageId"])
                done.append({"Id": message["MessageId"], "ReceiptHandle": message["ReceiptHandle"]})
            if done:
                self.sqs.delete_message_batch(QueueUrl=self.url, Entries=done)
    """,
        13,
    ),
    good(
        "failed-message-dropped",
        "python",
        """
    import logging
    import boto3

    log = logging.getLogger(__name__)

    class Worker:
        def poll(self):
            messages = self.sqs.receive_message(QueueUrl=self.url, MaxNumberOfMessages=10, WaitTimeSeconds=20).get("Messages", [])
            done = []
            for message in messages:
                try:
                    self.apply(json.loads(message["Body"]))
                except Exception:
                    log.exception("message %s failed", message["MessageId"])
                    continue
                done.append({"Id": message["MessageId"], "ReceiptHandle": message["ReceiptHandle"]})
            if done:
                self.sqs.delete_message_batch(QueueUrl=self.url, Entries=done)
    """,
    ),
    bad(
        "failed-message-dropped",
        "python",
        """
    from aiokafka import AIOKafkaConsumer

    async def run(consumer: AIOKafkaConsumer, handler):
        async for msg in consumer:
            try:
                await handler.handle(msg.value)
            except Exception:
                log.exception("offset %s failed", msg.offset)
            await consumer.commit()
    """,
        7,
    ),
    bad(
        "failed-message-dropped",
        "python",
        """
    import aio_pika

    async def on_message(message: aio_pika.IncomingMessage) -> None:
        async with message.process():
            try:
                await invoices.create(json.loads(message.body))
            except Exception:
                log.exception("invoice failed")
    """,
        7,
    ),
    bad(
        "failed-message-dropped",
        "python",
        """
    from google.cloud import pubsub_v1

    def callback(message: pubsub_v1.subscriber.message.Message) -> None:
        try:
            render(message.data)
        except RenderError:
            log.exception("render failed")
        message.ack()
    """,
        6,
    ),
    bad(
        "failed-message-dropped",
        "python",
        """
    import redis.asyncio as redis

    async def drain(client: redis.Redis):
        for _, entries in await client.xreadgroup("g", "c", {"orders": ">"}, count=10, block=5000):
            for entry_id, fields in entries:
                try:
                    await apply(fields)
                except Exception as exc:
                    log.error("entry %s failed: %s", entry_id, exc)
                finally:
                    await client.xack("orders", "g", entry_id)
    """,
        8,
    ),
    bad(
        "failed-message-dropped",
        "python",
        """
    from confluent_kafka import Consumer

    def run(consumer: Consumer, store):
        while True:
            msg = consumer.poll(1.0)
            if msg is None or msg.error():
                continue
            try:
                store.apply(json.loads(msg.value()))
            except StoreError as exc:
                log.warning("event at %s not applied: %s", msg.offset(), exc)
            consumer.commit(msg, asynchronous=False)
    """,
        10,
    ),
    bad(
        "failed-message-dropped",
        "python",
        """
    def relay(session, producer):
        rows = session.scalars(select(Outbox).where(Outbox.sent_at.is_(None)).limit(100)).all()
        for row in rows:
            try:
                producer.send(row.topic, row.payload).get(timeout=5)
            except KafkaError:
                log.exception("outbox row %s", row.id)
            row.sent_at = datetime.now(UTC)
        session.commit()
    """,
        6,
    ),
    bad(
        "failed-message-dropped",
        "python",
        """
    from celery import shared_task

    @shared_task(bind=True, max_retries=5)
    def send_invoice(self, invoice_id):
        invoice = Invoice.objects.get(pk=invoice_id)
        try:
            mailer.send(invoice)
        except SMTPException:
            logger.exception("invoice %s not sent", invoice_id)
    """,
        8,
    ),
    bad(
        "failed-items-ignored",
        "python",
        """
    from elasticsearch import helpers

    def index(es, consumer, batch):
        actions = [to_action(msg) for msg in batch]
        helpers.bulk(es, actions, raise_on_error=False, request_timeout=30)
        consumer.commit(asynchronous=False)
    """,
        5,
    ),
    bad(
        "failed-message-dropped",
        "javascript",
        """
    const { Kafka } = require('kafkajs');
    async function start(consumer, stock) {
      await consumer.run({
        eachMessage: async ({ message }) => {
          try {
            await stock.adjust(JSON.parse(message.value.toString()));
          } catch (err) {
            metrics.failed.inc();
          }
        },
      });
    }
    """,
        7,
    ),
    bad(
        "failed-message-dropped",
        "javascript",
        """
    const amqp = require('amqplib');
    async function start(channel) {
      await channel.consume('orders', async (msg) => {
        try {
          await applyOrder(JSON.parse(msg.content.toString()));
        } catch (err) {
          logger.error({ err }, 'order failed');
        }
        channel.ack(msg);
      });
    }
    """,
        6,
    ),
    bad(
        "failed-message-dropped",
        "javascript",
        """
    const amqp = require('amqplib');
    async function start(channel) {
      await channel.consume('orders', (msg) => {
        applyOrder(JSON.parse(msg.content.toString()))
          .catch((err) => logger.error({ err }, 'order failed'))
          .finally(() => channel.ack(msg));
      });
    }
    """,
        4,
    ),
    bad(
        "failed-message-dropped",
        "typescript",
        """
    import { DeleteMessageCommand, Message, SQSClient } from '@aws-sdk/client-sqs';
    export class Worker {
      private async handle(message: Message): Promise<void> {
        try {
          const { sku, delta } = JSON.parse(message.Body ?? '{}');
          await this.stock.adjust(sku, delta);
        } catch {
          this.skipped += 1;
        }
        await this.sqs.send(new DeleteMessageCommand({ QueueUrl: this.url, ReceiptHandle: message.ReceiptHandle }));
      }
    }
    """,
        7,
    ),
    bad(
        "failed-message-dropped",
        "typescript",
        """
    import { DeleteMessageBatchCommand, SQSClient } from '@aws-sdk/client-sqs';
    export class Worker {
      async poll() {
        const messages = await this.receive();
        await Promise.all(messages.map((m) => this.process(m).catch((err) => this.log.error({ err }, 'message failed'))));
        await this.sqs.send(new DeleteMessageBatchCommand({ QueueUrl: this.url, Entries: messages.map((m) => ({ Id: m.MessageId!, ReceiptHandle: m.ReceiptHandle! })) }));
      }
    }
    """,
        5,
    ),
    bad(
        "task-results-dropped",
        "typescript",
        """
    import { DeleteMessageBatchCommand, SQSClient } from '@aws-sdk/client-sqs';
    export class Worker {
      async poll() {
        const messages = await this.receive();
        await Promise.allSettled(messages.map((m) => this.process(m)));
        await this.sqs.send(new DeleteMessageBatchCommand({ QueueUrl: this.url, Entries: messages.map((m) => ({ Id: m.MessageId!, ReceiptHandle: m.ReceiptHandle! })) }));
      }
    }
    """,
        5,
    ),
    bad(
        "failed-message-dropped",
        "typescript",
        """
    import { Controller } from '@nestjs/common';
    import { Ctx, EventPattern, Payload, RmqContext } from '@nestjs/microservices';
    @Controller()
    export class OrdersConsumer {
      @EventPattern('order.placed')
      async onPlaced(@Payload() event: OrderPlaced, @Ctx() ctx: RmqContext) {
        const channel = ctx.getChannelRef();
        try {
          await this.warehouse.reserve(event.orderId);
        } catch (err) {
          this.logger.error(`reserve ${event.orderId} failed`, err);
        }
        channel.ack(ctx.getMessage());
      }
    }
    """,
        10,
    ),
    bad(
        "failed-message-dropped",
        "typescript",
        """
    export class OutboxRelay {
      async drain(): Promise<void> {
        const rows = await this.repo.find({ where: { sentAt: IsNull() }, take: 100 });
        for (const row of rows) {
          await this.producer.send({ topic: row.topic, messages: [{ value: row.payload }] })
            .catch((err) => this.log.error({ err }, 'publish failed'));
          row.sentAt = new Date();
          await this.repo.save(row);
        }
      }
    }
    """,
        5,
    ),
    bad(
        "failed-message-dropped",
        "typescript",
        """
    import { PubSub, Message } from '@google-cloud/pubsub';
    export function listen(sub: Subscription, render: Renderer, log: Logger) {
      sub.on('message', async (message: Message) => {
        try {
          await render.page(message.data.toString());
        } catch (err) {
          log.error({ err }, 'render failed');
        } finally {
          message.ack();
        }
      });
    }
    """,
        6,
    ),
]
