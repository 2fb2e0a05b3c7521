"""Functions that queues call, which drop a failure."""

# ruff: noqa: E101, E501  (snippets)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_FAILED_MESSAGE_DROPPED = "failed-message-dropped"
_FAILURE_ONLY_LOGGED = "failure-only-logged"

CASES = [
    bad(
        _FAILED_MESSAGE_DROPPED,
        "csharp",
        """
        using System;
        using System.Threading.Tasks;
        using Microsoft.Azure.Functions.Worker;
        using Microsoft.Extensions.Logging;

        public class MeterFunction
        {
            private readonly IMeterStore _store;
            private readonly ILogger<MeterFunction> _log;
            public MeterFunction(IMeterStore store, ILogger<MeterFunction> log) { _store = store; _log = log; }

            [Function("meter")]
            public async Task Run([ServiceBusTrigger("meters")] MeterReading reading)
            {
                try { await _store.AppendAsync(reading); }
                catch (Exception e) { _log.LogError(e, "reading not stored"); }
            }
        }
        """,
        16,
    ),
    bad(
        _FAILED_MESSAGE_DROPPED,
        "go",
        """
        package x

        import (
        	"github.com/ThreeDotsLabs/watermill/message"
        	"log/slog"
        )

        type Handler struct{ store Store }

        func (h *Handler) Handle(msg *message.Message) error {
        	if err := h.store.Save(msg.Context(), msg.Payload); err != nil {
        		slog.Error("not saved", "err", err)
        	}
        	return nil
        }
        """,
        11,
    ),
    bad(
        _FAILED_MESSAGE_DROPPED,
        "go",
        """
        package x

        import (
        	"context"
        	"encoding/json"
        	"github.com/hibiken/asynq"
        	"log/slog"
        )

        func (p *Processor) HandleSendInvoice(ctx context.Context, t *asynq.Task) error {
        	var payload InvoicePayload
        	if err := json.Unmarshal(t.Payload(), &payload); err != nil {
        		return err
        	}
        	if err := p.mailer.SendInvoice(ctx, payload.InvoiceID); err != nil {
        		slog.Error("invoice mail", "err", err)
        		return nil
        	}
        	return nil
        }
        """,
        15,
    ),
    bad(
        _FAILED_MESSAGE_DROPPED,
        "go",
        """
        package x

        import (
        	"log/slog"

        	"github.com/nats-io/nats.go"
        )

        func Start(js nats.JetStreamContext, store Store) (*nats.Subscription, error) {
        	return js.Subscribe("readings", func(m *nats.Msg) {
        		if err := store.Append(m.Data); err != nil {
        			slog.Error("append", "err", err)
        		}
        	}, nats.Durable("readings"))
        }
        """,
        11,
    ),
    bad(
        _FAILED_MESSAGE_DROPPED,
        "java",
        """
        package x;
        import jakarta.jms.*;
        import org.slf4j.*;

        public class OrderListener implements MessageListener {
            private static final Logger log = LoggerFactory.getLogger(OrderListener.class);
            private final OrderService orders;
            OrderListener(OrderService orders) { this.orders = orders; }

            @Override
            public void onMessage(Message message) {
                try {
                    orders.place(((TextMessage) message).getText());
                } catch (JMSException | RuntimeException e) {
                    log.error("order not placed", e);
                }
            }
        }
        """,
        14,
    ),
    bad(
        _FAILED_MESSAGE_DROPPED,
        "java",
        """
        package x;
        import java.util.function.Consumer;
        import org.slf4j.*;
        import org.springframework.context.annotation.*;

        @Configuration
        class Bindings {
            private static final Logger log = LoggerFactory.getLogger(Bindings.class);
            @Bean
            Consumer<org.springframework.messaging.Message<Reading>> readings(ReadingStore store) {
                return message -> {
                    try {
                        store.append(message.getPayload());
                    } catch (Exception e) {
                        log.error("reading lost", e);
                    }
                };
            }
        }
        """,
        14,
    ),
    bad(
        _FAILED_MESSAGE_DROPPED,
        "typescript",
        """
        import { Consumer } from "sqs-consumer";
        import { SQSClient } from "@aws-sdk/client-sqs";
        import { importFile } from "./import-file";
        import { log } from "./log";

        export const consumer = Consumer.create({
          queueUrl: process.env.QUEUE_URL!,
          sqs: new SQSClient({}),
          handleMessage: async (message) => {
            try {
              await importFile(JSON.parse(message.Body!));
            } catch (err) {
              log.error({ err, id: message.MessageId }, "import failed");
            }
            return message;
          },
        });
        consumer.on("error", (err) => log.error({ err }));
        """,
        12,
    ),
    bad(
        _FAILED_MESSAGE_DROPPED,
        "python",
        """
        import logging
        import httpx

        log = logging.getLogger(__name__)

        async def sync_contact(ctx, contact_id: int) -> None:
            client: httpx.AsyncClient = ctx["http"]
            try:
                resp = await client.put(f"https://crm.example/contacts/{contact_id}", json={}, timeout=10)
                resp.raise_for_status()
            except httpx.HTTPError:
                log.exception("contact %s not synced", contact_id)


        class WorkerSettings:
            functions = [sync_contact]
            max_tries = 5
        """,
        11,
    ),
    bad(
        _FAILED_MESSAGE_DROPPED,
        "csharp",
        """
        using System;
        using System.Threading;
        using System.Threading.Tasks;
        using Confluent.Kafka;

        public class Loop
        {
            public void Run(IConsumer<string, string> consumer, IHandler handler, CancellationToken ct)
            {
                while (!ct.IsCancellationRequested)
                {
                    var result = consumer.Consume(ct);
                    try
                    {
                        handler.Handle(result.Message.Value);
                    }
                    catch (Exception e)
                    {
                        Console.Error.WriteLine(e);
                    }
                    consumer.Commit(result);
                }
            }
        }
        """,
        17,
    ),
    good(
        _FAILED_MESSAGE_DROPPED,
        "python",
        """
        import asyncio, json
        import aio_pika

        class Consumer:
            def __init__(self, store, audit):
                self._store = store
                self._audit = audit
                self._tasks = set()

            async def on_message(self, message: aio_pika.abc.AbstractIncomingMessage) -> None:
                async with message.process():
                    row = json.loads(message.body)
                    await self._store.put(row)
                    task = asyncio.create_task(self._audit.note(row["id"]))
                    self._tasks.add(task)
                    task.add_done_callback(self._tasks.discard)
        """,
    ),
    bad(
        _FAILURE_ONLY_LOGGED,
        "python",
        """
        import logging
        log = logging.getLogger(__name__)

        async def drain(outbox, broker):
            for row in await outbox.pending(100):
                try:
                    await broker.publish(row.topic, row.payload)
                except ConnectionError:
                    log.warning("publish of %s failed", row.id)
                finally:
                    await outbox.mark_sent(row.id)
        """,
        8,
    ),
]
