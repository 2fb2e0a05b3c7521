"""Batches that a function drops in its round, and messages that come back at once."""

# ruff: noqa: E101, E501  (snippets)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_FAILED_MESSAGE_DROPPED = "failed-message-dropped"
_FAILING_MESSAGE_REQUEUED = "failing-message-requeued"
_FAILURE_ONLY_LOGGED = "failure-only-logged"
_REJECTION_IN_HANDLER = "rejection-in-handler"

CASES = [
    bad(
        _FAILED_MESSAGE_DROPPED,
        "python",
        """
        import logging
        import psycopg
        from confluent_kafka import Consumer

        log = logging.getLogger(__name__)

        class Writer:
            def __init__(self, consumer: Consumer, store):
                self._consumer = consumer
                self._store = store
                self._running = True

            def run(self):
                while self._running:
                    messages = self._consumer.consume(num_messages=500, timeout=1.0)
                    if messages:
                        self._handle(messages)

            def _handle(self, messages):
                try:
                    self._store.put([message.value() for message in messages])
                except psycopg.Error:
                    log.exception("could not store %d", len(messages))
                    return
                self._consumer.commit(asynchronous=False)
        """,
        22,
    ),
    bad(
        _FAILED_MESSAGE_DROPPED,
        "go",
        """
        package x

        import (
        	"context"
        	"log/slog"

        	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs"
        )

        func process(ctx context.Context, pc *azeventhubs.ProcessorPartitionClient, h Handler) error {
        	for {
        		events, err := pc.ReceiveEvents(ctx, 100, nil)
        		if err != nil {
        			return err
        		}
        		for _, e := range events {
        			if err := h.Handle(ctx, e.Body); err != nil {
        				slog.Error("event", "err", err)
        			}
        		}
        		if len(events) > 0 {
        			if err := pc.UpdateCheckpoint(ctx, events[len(events)-1], nil); err != nil {
        				return err
        			}
        		}
        	}
        }
        """,
        17,
    ),
    bad(
        _FAILED_MESSAGE_DROPPED,
        "kotlin",
        """
        package x
        import org.slf4j.LoggerFactory
        import reactor.kafka.receiver.KafkaReceiver

        class Prices(private val receiver: KafkaReceiver<String, String>, private val prices: PriceService) {
            private val log = LoggerFactory.getLogger(javaClass)
            fun start() = receiver.receive().subscribe { record ->
                try {
                    prices.apply(record.value())
                } catch (e: Exception) {
                    log.error("price not applied", e)
                }
                record.receiverOffset().acknowledge()
            }
        }
        """,
        10,
    ),
    bad(
        _FAILING_MESSAGE_REQUEUED,
        "javascript",
        """
        const { deliver } = require("./deliver");
        const log = require("./log");

        async function start(channel) {
          await channel.consume("deliveries", (msg) => {
            deliver(JSON.parse(msg.content.toString()))
              .then(() => channel.ack(msg))
              .catch((err) => {
                log.error({ err }, "delivery failed");
                channel.nack(msg, false, true);
              });
          });
        }
        module.exports = { start };
        """,
        10,
    ),
    good(
        _FAILING_MESSAGE_REQUEUED,
        "javascript",
        """
        const { deliver } = require("./deliver");
        const log = require("./log");

        async function start(channel) {
          await channel.consume("deliveries", (msg) => {
            deliver(JSON.parse(msg.content.toString()))
              .then(() => channel.ack(msg))
              .catch((err) => {
                log.error({ err }, "delivery failed");
                channel.nack(msg, false, false);
              });
          });
        }
        module.exports = { start };
        """,
    ),
    bad(
        _FAILING_MESSAGE_REQUEUED,
        "java",
        """
        package x;
        import com.rabbitmq.client.*;
        import java.io.IOException;

        class Handler extends DefaultConsumer {
            private final Controller controller;
            Handler(Channel channel, Controller controller) { super(channel); this.controller = controller; }
            @Override
            public void handleDelivery(String consumerTag, Envelope envelope, AMQP.BasicProperties props, byte[] body) throws IOException {
                long tag = envelope.getDeliveryTag();
                try {
                    controller.apply(body);
                } catch (RuntimeException e) {
                    getChannel().basicNack(tag, false, true);
                    return;
                }
                getChannel().basicAck(tag, false);
            }
        }
        """,
        14,
    ),
    bad(
        _FAILURE_ONLY_LOGGED,
        "typescript",
        """
        import express, { Request, Response } from "express";
        import { applyEvent } from "./events";
        import { log } from "./log";

        const router = express.Router();
        router.post("/webhooks/payments", express.json(), async (req: Request, res: Response) => {
          const handled = await applyEvent(req.body).then(
            () => true,
            (err: Error) => {
              log.error({ err }, "event not applied");
              return false;
            },
          );
          res.status(200).json({ handled });
        });
        export default router;
        """,
        7,
    ),
    good(
        _FAILURE_ONLY_LOGGED,
        "typescript",
        """
        import express, { Request, Response } from "express";
        import { applyEvent } from "./events";
        import { log } from "./log";

        const router = express.Router();
        router.post("/webhooks/payments", express.json(), async (req: Request, res: Response) => {
          const handled = await applyEvent(req.body).then(
            () => true,
            (err: Error) => {
              log.error({ err }, "event not applied");
              return false;
            },
          );
          res.status(handled ? 200 : 500).json({ handled });
        });
        export default router;
        """,
    ),
    good(
        _FAILURE_ONLY_LOGGED,
        "go",
        """
        package x

        import (
        	"context"
        	"log/slog"
        )

        func (f *Flusher) flush(ctx context.Context, batch []Sample) []Sample {
        	if err := f.sink.Write(ctx, batch); err != nil {
        		slog.Error("samples lost", "count", len(batch), "err", err)
        	}
        	return batch[:0]
        }
        """,
    ),
    good(
        _REJECTION_IN_HANDLER,
        "typescript",
        """
        import express, { Request, Response } from "express";
        import { applyEvent } from "./events";
        import { log } from "./log";

        const router = express.Router();
        router.post("/webhooks/payments", express.json(), async (req: Request, res: Response) => {
          const handled = await applyEvent(req.body).then(
            () => true,
            (err: Error) => {
              log.error({ err }, "event not applied");
              return false;
            },
          );
          res.status(handled ? 200 : 500).json({ handled });
        });
        export default router;
        """,
    ),
]
