"""Messages: acknowledged too early, counted as done although they failed, put back for ever, handed on."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

EARLY = "acknowledged-before-work"
DROPPED = "failed-message-dropped"
REQUEUED = "failing-message-requeued"
HANDED = "message-handed-off"

CASES = [
    bad(EARLY, "java", """
        class Worker {
            private final KafkaConsumer<String, Claim> consumer;
            private final Claims claims;
            void run() {
                while (true) {
                    var records = consumer.poll(Duration.ofSeconds(1));
                    if (!records.isEmpty()) { consumer.commitSync(); }
                    for (var record : records) { claims.register(record.value()); }
                }
            }
        }
        """, 7),
    good(EARLY, "java", """
        class Worker {
            private final KafkaConsumer<String, Claim> consumer;
            private final Claims claims;
            void run() {
                while (true) {
                    var records = consumer.poll(Duration.ofSeconds(1));
                    for (var record : records) { claims.register(record.value()); }
                    consumer.commitSync();
                }
            }
        }
        """),
    bad(EARLY, "go", """
        package a
        import ("context"; "github.com/segmentio/kafka-go")
        func run(ctx context.Context, r *kafka.Reader, store Store) error {
            for {
                m, err := r.FetchMessage(ctx)
                if err != nil { return err }
                if err := r.CommitMessages(ctx, m); err != nil { return err }
                if err := store.Apply(ctx, m.Value); err != nil { return err }
            }
        }
        """, 7),
    bad(EARLY, "csharp", """
        class Worker {
            private readonly IConsumer<string, string> _consumer;
            public async Task Run(CancellationToken ct) {
                while (!ct.IsCancellationRequested) {
                    var result = _consumer.Consume(ct);
                    _consumer.Commit(result);
                    await _store.ApplyAsync(result.Message.Value, ct);
                }
            }
        }
        """, 6),
    good(EARLY, "csharp", """
        class Worker {
            private readonly IConsumer<string, string> _consumer;
            public async Task Run(CancellationToken ct) {
                while (!ct.IsCancellationRequested) {
                    var result = _consumer.Consume(ct);
                    await _store.ApplyAsync(result.Message.Value, ct);
                    _consumer.Commit(result);
                }
            }
            public async Task Save(Order order) {
                _db.Commit();
                await _mail.SendAsync(order);
            }
        }
        """),
    bad(EARLY, "rust", """
        async fn run(consumer: StreamConsumer, store: Store) -> anyhow::Result<()> {
            loop {
                let message = consumer.recv().await?;
                consumer.commit_message(&message, CommitMode::Async)?;
                store.apply(message.payload()).await?;
            }
        }
        """, 4),
    bad(EARLY, "kotlin", """
        class Worker(private val store: Store) {
            @KafkaListener(topics = ["orders"])
            fun on(message: String, ack: Acknowledgment) {
                ack.acknowledge()
                store.apply(message)
            }
        }
        """, 4),
    # Counted as done although the work failed.
    bad(DROPPED, "go", """
        package a
        import ("log/slog"; "github.com/IBM/sarama")
        func (c *Worker) ConsumeClaim(s sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
            for msg := range claim.Messages() {
                if err := c.store.Apply(s.Context(), msg.Value); err != nil {
                    slog.Error("apply", "err", err)
                }
                s.MarkMessage(msg, "")
            }
            return nil
        }
        """, 5),
    good(DROPPED, "go", """
        package a
        import ("log/slog"; "github.com/IBM/sarama")
        func (c *Worker) ConsumeClaim(s sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
            for msg := range claim.Messages() {
                if err := c.store.Apply(s.Context(), msg.Value); err != nil {
                    slog.Error("apply", "err", err)
                    return err
                }
                s.MarkMessage(msg, "")
            }
            return nil
        }
        """),
    bad(DROPPED, "python", """
        def on_message(channel, method, properties, body):
            try:
                print_label(body)
            except Exception:
                log.exception("failed")
            channel.basic_ack(method.delivery_tag)
        """, 4),
    bad(DROPPED, "python", """
        def on_message(channel, method, properties, body):
            try:
                print_label(body)
            except Exception:
                log.exception("failed")
            finally:
                channel.basic_ack(method.delivery_tag)
        """, 4),
    good(DROPPED, "python", """
        def on_message(channel, method, properties, body):
            try:
                print_label(body)
            except Exception:
                log.exception("failed")
                dead_letters.put(body)
            channel.basic_ack(method.delivery_tag)
        """),
    bad(DROPPED, "rust", """
        async fn run(consumer: StreamConsumer, store: Store) -> anyhow::Result<()> {
            loop {
                let message = consumer.recv().await?;
                if let Err(err) = store.apply(message.payload()).await {
                    tracing::error!(%err, "not applied");
                }
                consumer.commit_message(&message, CommitMode::Async)?;
            }
        }
        """, 4),
    bad(DROPPED, "kotlin", """
        class Worker(private val store: Store) {
            @KafkaListener(topics = ["orders"])
            fun on(message: String) {
                try { store.apply(message) } catch (e: Exception) { log.error("failed", e) }
            }
        }
        """, 4),
    # Put back for ever.
    bad(REQUEUED, "python", """
        def on_message(channel, method, properties, body):
            try:
                print_label(body)
            except Exception:
                channel.basic_nack(method.delivery_tag, requeue=True)
                return
            channel.basic_ack(method.delivery_tag)
        """, 5),
    good(REQUEUED, "python", """
        def on_message(channel, method, properties, body):
            try:
                print_label(body)
            except TransientError:
                channel.basic_nack(method.delivery_tag, requeue=True)
                return
            except Exception:
                channel.basic_nack(method.delivery_tag, requeue=False)
                return
            channel.basic_ack(method.delivery_tag)
        """),
    bad(REQUEUED, "typescript", """
        export const start = (channel: Channel) =>
          channel.consume('labels', async (msg) => {
            try {
              await printLabel(msg.content);
              channel.ack(msg);
            } catch (err) {
              channel.nack(msg);
            }
          });
        """, 7),
    good(REQUEUED, "typescript", """
        export const start = (channel: Channel) =>
          channel.consume('labels', async (msg) => {
            try {
              await printLabel(msg.content);
              channel.ack(msg);
            } catch (err) {
              channel.nack(msg, false, false);
            }
          });
        """),
    bad(REQUEUED, "go", """
        package a
        import amqp "github.com/rabbitmq/amqp091-go"
        func run(deliveries <-chan amqp.Delivery) {
            for d := range deliveries {
                if err := printLabel(d.Body); err != nil {
                    d.Nack(false, true)
                    continue
                }
                d.Ack(false)
            }
        }
        """, 6),
    good(REQUEUED, "go", """
        package a
        import amqp "github.com/rabbitmq/amqp091-go"
        func run(deliveries <-chan amqp.Delivery) {
            for d := range deliveries {
                if err := printLabel(d.Body); err != nil {
                    d.Nack(false, !d.Redelivered)
                    continue
                }
                d.Ack(false)
            }
        }
        """),
    bad(REQUEUED, "java", """
        class Worker {
            void on(Channel channel, byte[] body, long tag) throws IOException {
                try {
                    labels.print(body);
                    channel.basicAck(tag, false);
                } catch (Exception e) {
                    channel.basicNack(tag, false, true);
                }
            }
        }
        """, 7),
    bad(REQUEUED, "rust", """
        async fn on(delivery: Delivery) -> lapin::Result<()> {
            match print_label(&delivery.data).await {
                Ok(()) => delivery.ack(BasicAckOptions::default()).await,
                Err(_) => delivery.nack(BasicNackOptions { requeue: true, ..Default::default() }).await,
            }
        }
        """, 4),
    # Handed on.
    bad(HANDED, "java", """
        import org.apache.kafka.clients.consumer.KafkaConsumer;
        class Worker {
            private final KafkaConsumer<String, String> consumer;
            private final ExecutorService pool;
            void run() {
                while (true) {
                    for (var record : consumer.poll(Duration.ofSeconds(1))) {
                        pool.submit(() -> store.apply(record.value()));
                    }
                }
            }
        }
        """, 8),
    good(HANDED, "java", """
        import org.apache.kafka.clients.consumer.KafkaConsumer;
        class Worker {
            private final KafkaConsumer<String, String> consumer;
            void run() {
                while (true) {
                    for (var record : consumer.poll(Duration.ofSeconds(1))) { store.apply(record.value()); }
                }
            }
        }
        """),
    good(HANDED, "java", """
        import org.apache.kafka.clients.consumer.KafkaConsumer;
        class Worker {
            private final KafkaConsumer<String, String> consumer;
            private final ExecutorService pool;
            void run(Properties properties) {
                properties.put("enable.auto.commit", "false");
                while (true) {
                    for (var record : consumer.poll(Duration.ofSeconds(1))) {
                        pool.submit(() -> store.apply(record.value()));
                    }
                }
            }
        }
        """),
    bad(HANDED, "python", """
        import asyncio
        from aiokafka import AIOKafkaConsumer
        async def run():
            consumer = AIOKafkaConsumer("clicks", group_id="clicks")
            async for message in consumer:
                asyncio.create_task(handle(message))
        """, 6),
    bad(HANDED, "go", """
        package a
        import ("context"; "github.com/segmentio/kafka-go")
        func run(ctx context.Context, r *kafka.Reader) error {
            for {
                m, err := r.ReadMessage(ctx)
                if err != nil { return err }
                go handle(ctx, m)
            }
        }
        """, 7),
]  # fmt: skip
