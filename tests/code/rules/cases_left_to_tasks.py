"""Messages whose work is started and not awaited."""

# ruff: noqa: E101, E501  (snippets)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_MESSAGE_HANDED_OFF = "message-handed-off"

CASES = [
    bad(
        _MESSAGE_HANDED_OFF,
        "python",
        """
        import asyncio, json
        import aio_pika
        import asyncpg

        class Consumer:
            def __init__(self, pool):
                self._pool = pool
                self._tasks = set()

            async def store(self, body):
                row = json.loads(body)
                async with self._pool.acquire(timeout=5) as conn:
                    await conn.execute("INSERT INTO meter (id, kwh) VALUES ($1, $2)", row["id"], row["kwh"], timeout=5)

            async def run(self, queue):
                async with queue.iterator() as messages:
                    async for message in messages:
                        async with message.process():
                            task = asyncio.ensure_future(self.store(message.body))
                            self._tasks.add(task)
                            task.add_done_callback(self._tasks.discard)
        """,
        19,
    ),
    bad(
        _MESSAGE_HANDED_OFF,
        "python",
        """
        import asyncio
        from faststream.rabbit import RabbitBroker
        from .orders import ship_order

        broker = RabbitBroker("amqp://guest@localhost")
        background = set()

        @broker.subscriber("orders")
        async def on_order(order: dict) -> None:
            task = asyncio.create_task(ship_order(order))
            background.add(task)
            task.add_done_callback(background.discard)
        """,
        10,
    ),
    good(
        _MESSAGE_HANDED_OFF,
        "python",
        """
        import asyncio
        from faststream.rabbit import RabbitBroker
        from .orders import ship_order

        broker = RabbitBroker("amqp://guest@localhost")

        @broker.subscriber("orders")
        async def on_order(order: dict) -> None:
            async with asyncio.timeout(20):
                await ship_order(order)
        """,
    ),
    good(
        _MESSAGE_HANDED_OFF,
        "python",
        """
        import asyncio, json
        import aio_pika

        class Consumer:
            def __init__(self, store):
                self._store = store

            async def on_message(self, message: aio_pika.abc.AbstractIncomingMessage) -> None:
                async with message.process():
                    rows = json.loads(message.body)
                    tasks = [asyncio.create_task(self._store.put(row)) for row in rows[:10]]
                    await asyncio.gather(*tasks)
        """,
    ),
    good(
        _MESSAGE_HANDED_OFF,
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
        _MESSAGE_HANDED_OFF,
        "java",
        """
        package x;
        import java.util.concurrent.*;
        import org.springframework.amqp.rabbit.annotation.RabbitListener;
        import org.springframework.stereotype.Component;

        @Component
        public class ParcelListener {
            private final ExecutorService pool = Executors.newFixedThreadPool(8);
            private final ParcelService parcels;
            ParcelListener(ParcelService parcels) { this.parcels = parcels; }

            @RabbitListener(queues = "parcels")
            public void onParcel(Parcel parcel) {
                pool.execute(() -> parcels.register(parcel));
            }

            @jakarta.annotation.PreDestroy
            void stop() { pool.shutdown(); }
        }
        """,
        14,
    ),
    good(
        _MESSAGE_HANDED_OFF,
        "java",
        """
        package x;
        import java.util.*;
        import java.util.concurrent.*;
        import org.springframework.amqp.rabbit.annotation.RabbitListener;

        public class ParcelListener {
            private final ExecutorService pool;
            private final ParcelService parcels;
            ParcelListener(ExecutorService pool, ParcelService parcels) { this.pool = pool; this.parcels = parcels; }

            @RabbitListener(queues = "parcels")
            public void onParcel(List<Parcel> batch) throws Exception {
                List<Future<?>> jobs = new ArrayList<>();
                for (Parcel parcel : batch) {
                    jobs.add(pool.submit(() -> parcels.register(parcel)));
                }
                for (Future<?> job : jobs) job.get(10, TimeUnit.SECONDS);
            }
        }
        """,
    ),
    good(
        _MESSAGE_HANDED_OFF,
        "java",
        """
        package x;
        import java.util.concurrent.*;
        import org.springframework.kafka.annotation.KafkaListener;

        public class TariffListener {
            private final TariffService tariffs;
            TariffListener(TariffService tariffs) { this.tariffs = tariffs; }

            @KafkaListener(topics = "tariffs")
            public void onTariff(TariffChanged event) throws Exception {
                CompletableFuture.runAsync(() -> tariffs.apply(event)).get(10, TimeUnit.SECONDS);
            }
        }
        """,
    ),
    bad(
        _MESSAGE_HANDED_OFF,
        "kotlin",
        """
        package x
        import kotlinx.coroutines.*
        import org.springframework.kafka.annotation.KafkaListener
        import org.slf4j.LoggerFactory

        class SeatListener(private val seats: SeatService) {
            private val log = LoggerFactory.getLogger(javaClass)
            private val scope = CoroutineScope(SupervisorJob() + Dispatchers.IO + CoroutineExceptionHandler { _, e -> log.error("seat", e) })

            @KafkaListener(topics = ["seats"])
            fun onSeat(event: SeatReleased) {
                scope.launch { seats.release(event.seatId) }
            }
        }
        """,
        12,
    ),
    bad(
        _MESSAGE_HANDED_OFF,
        "csharp",
        """
        using System;
        using System.Threading.Tasks;
        using MassTransit;
        using Microsoft.Extensions.Logging;

        public class InvoiceConsumer : IConsumer<InvoiceIssued>
        {
            private readonly IInvoiceStore _store;
            private readonly ILogger<InvoiceConsumer> _log;
            public InvoiceConsumer(IInvoiceStore store, ILogger<InvoiceConsumer> log) { _store = store; _log = log; }

            public Task Consume(ConsumeContext<InvoiceIssued> context)
            {
                _ = Task.Run(async () =>
                {
                    try { await _store.SaveAsync(context.Message); }
                    catch (Exception e) { _log.LogError(e, "invoice not stored"); }
                });
                return Task.CompletedTask;
            }
        }
        """,
        14,
    ),
    bad(
        _MESSAGE_HANDED_OFF,
        "csharp",
        """
        using System;
        using System.Text;
        using System.Threading.Tasks;
        using RabbitMQ.Client;
        using RabbitMQ.Client.Events;

        public class Listener
        {
            public async Task StartAsync(IChannel channel, IOrderService orders)
            {
                var consumer = new AsyncEventingBasicConsumer(channel);
                consumer.ReceivedAsync += async (_, ea) =>
                {
                    var body = Encoding.UTF8.GetString(ea.Body.ToArray());
                    _ = orders.PlaceAsync(body);
                    await channel.BasicAckAsync(ea.DeliveryTag, multiple: false);
                };
                await channel.BasicConsumeAsync("orders", autoAck: false, consumer);
            }
        }
        """,
        15,
    ),
    bad(
        _MESSAGE_HANDED_OFF,
        "javascript",
        """
        import { Kafka } from "kafkajs";
        import { applyPrice } from "./prices.js";
        import log from "./log.js";

        const kafka = new Kafka({ clientId: "prices", brokers: ["localhost:9092"] });
        const consumer = kafka.consumer({ groupId: "prices" });

        export async function start() {
          await consumer.connect();
          await consumer.subscribe({ topic: "prices" });
          await consumer.run({
            eachMessage: async ({ message }) => {
              const price = JSON.parse(message.value.toString());
              applyPrice(price).catch((err) => log.error({ err }, "price not applied"));
            },
          });
        }
        """,
        14,
    ),
    good(
        _MESSAGE_HANDED_OFF,
        "javascript",
        """
        import { Kafka } from "kafkajs";
        import { applyPrice } from "./prices.js";
        import log from "./log.js";

        const kafka = new Kafka({ clientId: "prices", brokers: ["localhost:9092"] });
        const consumer = kafka.consumer({ groupId: "prices" });

        export async function start() {
          await consumer.connect();
          await consumer.subscribe({ topic: "prices" });
          await consumer.run({
            eachMessage: async ({ message }) => {
              const price = JSON.parse(message.value.toString());
              await applyPrice(price);
            },
          });
        }
        """,
    ),
    bad(
        _MESSAGE_HANDED_OFF,
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
            void importFile(JSON.parse(message.Body!)).catch((err) => log.error({ err }, "import failed"));
            return message;
          },
        });
        consumer.on("error", (err) => log.error({ err }));
        """,
        10,
    ),
    bad(
        _MESSAGE_HANDED_OFF,
        "go",
        """
        package x

        import (
        	"github.com/ThreeDotsLabs/watermill/message"
        	"log/slog"
        )

        type Handler struct{ store Store }

        func (h *Handler) Handle(msg *message.Message) error {
        	go func() {
        		if err := h.store.Save(msg.Context(), msg.Payload); err != nil {
        			slog.Error("not saved", "err", err)
        		}
        	}()
        	return nil
        }
        """,
        11,
    ),
]
