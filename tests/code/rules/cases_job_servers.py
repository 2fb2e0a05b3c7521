"""Jobs that servers repeat, rows that are marked as sent too early, and brokers told to forget."""

# ruff: noqa: E101, E501  (snippets)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_ACKNOWLEDGED_BEFORE_WORK = "acknowledged-before-work"
_FAILED_MESSAGE_DROPPED = "failed-message-dropped"
_MESSAGE_HANDED_OFF = "message-handed-off"
_RETRY_OF_NON_IDEMPOTENT_CALL = "retry-of-non-idempotent-call"

CASES = [
    bad(
        _FAILED_MESSAGE_DROPPED,
        "csharp",
        """
        using System;
        using System.Threading.Tasks;
        using Hangfire;
        using Microsoft.Extensions.Logging;

        public class InvoiceJob
        {
            private readonly IErp _erp;
            private readonly ILogger<InvoiceJob> _log;
            public InvoiceJob(IErp erp, ILogger<InvoiceJob> log) { _erp = erp; _log = log; }

            [AutomaticRetry(Attempts = 5)]
            public async Task RunAsync(string invoiceId)
            {
                try { await _erp.PushAsync(invoiceId); }
                catch (Exception e) { _log.LogError(e, "invoice {Id}", invoiceId); }
            }
        }
        """,
        16,
    ),
    bad(
        _FAILED_MESSAGE_DROPPED,
        "csharp",
        """
        using System;
        using System.Threading.Tasks;
        using Rebus.Handlers;
        using Microsoft.Extensions.Logging;

        public class OrderPlacedHandler : IHandleMessages<OrderPlaced>
        {
            private readonly IOrders _orders;
            private readonly ILogger<OrderPlacedHandler> _log;
            public OrderPlacedHandler(IOrders orders, ILogger<OrderPlacedHandler> log) { _orders = orders; _log = log; }

            public async Task Handle(OrderPlaced message)
            {
                try { await _orders.ApplyAsync(message); }
                catch (Exception e) { _log.LogError(e, "order {Id}", message.Id); }
            }
        }
        """,
        15,
    ),
    bad(
        _FAILED_MESSAGE_DROPPED,
        "kotlin",
        """
        package x
        import org.eclipse.microprofile.reactive.messaging.Incoming
        import org.jboss.logging.Logger

        class Readings(private val store: ReadingStore) {
            private val log = Logger.getLogger(javaClass)

            @Incoming("readings")
            fun on(reading: Reading) {
                try {
                    store.append(reading)
                } catch (e: Exception) {
                    log.error("reading lost", e)
                }
            }
        }
        """,
        12,
    ),
    bad(
        _FAILED_MESSAGE_DROPPED,
        "python",
        """
        import logging
        from .broker import broker
        from .erp import push

        log = logging.getLogger(__name__)

        @broker.task(retry_on_error=True, max_retries=5)
        async def push_invoice(invoice_id: int) -> None:
            try:
                await push(invoice_id)
            except Exception:
                log.exception("invoice %s not pushed", invoice_id)
        """,
        11,
    ),
    bad(
        _FAILED_MESSAGE_DROPPED,
        "rust",
        """
        use apalis::prelude::*;

        pub async fn send_invoice(job: InvoiceJob, mailer: Data<Mailer>) -> Result<(), Error> {
            if let Err(e) = mailer.send(&job.address, &job.body).await {
                tracing::error!(error = %e, "invoice not sent");
            }
            Ok(())
        }
        """,
        4,
    ),
    bad(
        _FAILED_MESSAGE_DROPPED,
        "rust",
        """
        use aws_lambda_events::event::sqs::SqsEvent;
        use lambda_runtime::{Error, LambdaEvent};

        pub async fn handler(event: LambdaEvent<SqsEvent>, store: &Store) -> Result<(), Error> {
            for record in event.payload.records {
                if let Err(e) = store.apply(record.body.as_deref().unwrap_or_default()).await {
                    tracing::error!(error = %e, id = ?record.message_id, "record failed");
                }
            }
            Ok(())
        }
        """,
        6,
    ),
    bad(
        _FAILED_MESSAGE_DROPPED,
        "typescript",
        """
        import PgBoss from "pg-boss";
        import { push } from "./erp";
        import { log } from "./log";

        export async function start(boss: PgBoss): Promise<void> {
          await boss.work<{ id: string }>("invoices", async ([job]) => {
            try {
              await push(job.data.id);
            } catch (err) {
              log.error({ err, id: job.id }, "invoice not pushed");
            }
          });
        }
        """,
        9,
    ),
    good(
        _FAILED_MESSAGE_DROPPED,
        "typescript",
        """
        import PgBoss from "pg-boss";
        import { push } from "./erp";
        import { log } from "./log";

        export async function start(boss: PgBoss): Promise<void> {
          await boss.work<{ id: string }>("invoices", async ([job]) => {
            try {
              await push(job.data.id);
            } catch (err) {
              log.error({ err, id: job.id }, "invoice not pushed");
              throw err;
            }
          });
        }
        """,
    ),
    bad(
        _MESSAGE_HANDED_OFF,
        "python",
        """
        import asyncio
        import logging

        log = logging.getLogger(__name__)

        async def flush(outbox, broker, tasks):
            for row in await outbox.pending(100):
                task = asyncio.create_task(broker.publish(row.topic, row.payload))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
                await outbox.mark_sent(row.id)
        """,
        8,
    ),
    bad(
        _MESSAGE_HANDED_OFF,
        "typescript",
        """
        import type { Outbox } from "./outbox";
        import type { Broker } from "./broker";
        import { log } from "./log";

        export async function flush(outbox: Outbox, broker: Broker): Promise<void> {
          for (const row of await outbox.pending(100)) {
            broker.publish(row.topic, row.payload).catch((err) => log.warn({ err }, "not sent"));
            await outbox.markSent(row.id);
          }
        }
        """,
        7,
    ),
    bad(
        _MESSAGE_HANDED_OFF,
        "java",
        """
        package x;
        import java.util.*;
        import java.util.concurrent.*;
        import org.slf4j.*;

        public class Publisher {
            private static final Logger log = LoggerFactory.getLogger(Publisher.class);
            private final Broker broker;
            private final Outbox outbox;
            Publisher(Broker broker, Outbox outbox) { this.broker = broker; this.outbox = outbox; }

            public void flush() {
                for (Event event : outbox.pending(100)) {
                    broker.publish(event).whenComplete((ack, error) -> {
                        if (error != null) log.warn("event {} not sent", event.id(), error);
                    });
                    outbox.markSent(event.id());
                }
            }
        }
        """,
        14,
    ),
    bad(
        _MESSAGE_HANDED_OFF,
        "java",
        """
        package x;
        import org.apache.pulsar.client.api.*;
        import java.util.concurrent.ExecutorService;

        public class Readings implements MessageListener<byte[]> {
            private final ExecutorService pool;
            private final Store store;
            Readings(ExecutorService pool, Store store) { this.pool = pool; this.store = store; }
            @Override
            public void received(Consumer<byte[]> consumer, Message<byte[]> msg) {
                pool.submit(() -> store.append(msg.getValue()));
                consumer.acknowledgeAsync(msg);
            }
        }
        """,
        11,
    ),
    bad(
        _ACKNOWLEDGED_BEFORE_WORK,
        "go",
        """
        package x

        import (
        	"context"
        	"log/slog"

        	amqp "github.com/rabbitmq/amqp091-go"
        )

        func (w *Worker) Run(ctx context.Context, ch *amqp.Channel) error {
        	deliveries, err := ch.ConsumeWithContext(ctx, "jobs", "w1", true, false, false, false, nil)
        	if err != nil {
        		return err
        	}
        	for d := range deliveries {
        		if err := w.handle(ctx, d.Body); err != nil {
        			slog.Error("job", "err", err)
        		}
        	}
        	return nil
        }
        """,
        11,
    ),
    bad(
        _RETRY_OF_NON_IDEMPOTENT_CALL,
        "java",
        """
        package x;
        import feign.*;

        public class Clients {
            interface Payments {
                @RequestLine("POST /charges")
                Receipt charge(Charge charge);
            }
            static Payments payments(String url) {
                return Feign.builder()
                    .options(new Request.Options(2, java.util.concurrent.TimeUnit.SECONDS, 5, java.util.concurrent.TimeUnit.SECONDS, true))
                    .retryer(new Retryer.Default(100, 1000, 5))
                    .target(Payments.class, url);
            }
        }
        """,
        6,
    ),
]
