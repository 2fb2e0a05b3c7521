"""Failures that are let go before a message or a row counts as done: Java, Kotlin, C#."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

CASES = [
    bad(
        "failed-message-dropped",
        "java",
        """
    import org.springframework.kafka.annotation.KafkaListener;
    @Component
    public class RefundListener {
        private static final Logger log = LoggerFactory.getLogger(RefundListener.class);
        @KafkaListener(topics = "refunds")
        public void on(ConsumerRecord<String, String> record, Acknowledgment ack) {
            try {
                refunds.refund(record.value());
            } catch (RuntimeException e) {
                log.debug("refund of {} not possible", record.key());
            }
            ack.acknowledge();
        }
    }
    """,
        9,
    ),
    bad(
        "failed-message-dropped",
        "java",
        """
    import org.springframework.kafka.annotation.KafkaListener;
    @Component
    public class RefundListener {
        private static final Logger log = LoggerFactory.getLogger(RefundListener.class);
        @KafkaListener(topics = "refunds")
        public void on(RefundRequested event) {
            try {
                gateway.refund(event.orderId(), event.amount());
            } catch (GatewayException | IOException e) {
                log.warn("refund of {} failed", event.orderId(), e);
            }
        }
    }
    """,
        9,
    ),
    good(
        "failed-message-dropped",
        "java",
        """
    import org.springframework.kafka.annotation.KafkaListener;
    @Component
    public class RefundListener {
        private static final Logger log = LoggerFactory.getLogger(RefundListener.class);
        @KafkaListener(topics = "refunds")
        public void on(RefundRequested event) {
            try {
                gateway.refund(event.orderId(), event.amount());
            } catch (GatewayException e) {
                log.warn("refund of {} failed", event.orderId(), e);
                deadLetters.send(event);
            }
        }
    }
    """,
    ),
    bad(
        "message-handed-off",
        "java",
        """
    import org.springframework.kafka.annotation.KafkaListener;
    @Component
    public class LabelListener {
        @KafkaListener(topics = "parcels")
        public void on(ParcelPacked event, Acknowledgment ack) {
            labels.order(event.parcelId())
                .thenAccept(label -> parcels.attach(event.parcelId(), label))
                .exceptionally(e -> { log.error("no label", e); return null; });
            ack.acknowledge();
        }
    }
    """,
        6,
    ),
    bad(
        "message-handed-off",
        "java",
        """
    import org.springframework.kafka.annotation.KafkaListener;
    @Component
    public class LabelListener {
        @KafkaListener(topics = "parcels")
        public void on(ParcelPacked event, Acknowledgment ack) {
            executor.submit(() -> labels.order(event.parcelId()));
            ack.acknowledge();
        }
    }
    """,
        6,
    ),
    bad(
        "failed-message-dropped",
        "java",
        """
    public class Worker implements Runnable {
        public void run() {
            while (!closed.get()) {
                ConsumerRecords<String, String> records = consumer.poll(Duration.ofMillis(500));
                for (ConsumerRecord<String, String> record : records) {
                    try {
                        handler.handle(record.value());
                    } catch (Exception e) {
                        log.error("record {} failed", record.offset(), e);
                    }
                }
                consumer.commitSync();
            }
        }
    }
    """,
        8,
    ),
    bad(
        "failed-message-dropped",
        "java",
        """
    public class Poller {
        void drain() {
            for (Message message : sqs.receiveMessage(request).messages()) {
                try {
                    handler.handle(message.body());
                } catch (Exception e) {
                    failures.increment();
                }
                sqs.deleteMessage(b -> b.queueUrl(url).receiptHandle(message.receiptHandle()));
            }
        }
    }
    """,
        6,
    ),
    bad(
        "failed-message-dropped",
        "kotlin",
        """
    @Component
    class InvoiceListener(private val invoices: InvoiceService) {
        private val log = LoggerFactory.getLogger(javaClass)
        @RabbitListener(queues = ["invoices"])
        fun on(event: InvoiceRequested) {
            try {
                invoices.create(event.orderId)
            } catch (e: Exception) {
                log.error("invoice for ${event.orderId} failed", e)
            }
        }
    }
    """,
        8,
    ),
    bad(
        "failed-message-dropped",
        "kotlin",
        """
    class Worker(private val consumer: KafkaConsumer<String, String>, private val handler: Handler) {
        private val log = LoggerFactory.getLogger(javaClass)
        fun run() {
            while (running) {
                val records = consumer.poll(Duration.ofMillis(500))
                records.forEach { record ->
                    runCatching { handler.handle(record.value()) }
                        .onFailure { log.error("record failed", it) }
                }
                consumer.commitSync()
            }
        }
    }
    """,
        7,
    ),
    bad(
        "failed-message-dropped",
        "kotlin",
        """
    class Poller(private val sqs: SqsClient, private val handler: Handler) {
        suspend fun drain() {
            val messages = sqs.receiveMessage { queueUrl = url }.messages.orEmpty()
            for (message in messages) {
                try {
                    handler.handle(message.body!!)
                } catch (e: Exception) {
                    log.warn(e) { "message failed" }
                }
                sqs.deleteMessage { queueUrl = url; receiptHandle = message.receiptHandle }
            }
        }
    }
    """,
        7,
    ),
    bad(
        "failed-message-dropped",
        "csharp",
        """
    public sealed class InvoiceProcessor
    {
        private async Task OnMessageAsync(ProcessMessageEventArgs args)
        {
            try
            {
                var invoice = args.Message.Body.ToObjectFromJson<Invoice>();
                await _invoices.CreateAsync(invoice, args.CancellationToken);
            }
            catch (Exception ex)
            {
                _logger.LogError(ex, "Invoice message {Id} failed", args.Message.MessageId);
            }
            await args.CompleteMessageAsync(args.Message);
        }
    }
    """,
        10,
    ),
    bad(
        "failed-message-dropped",
        "csharp",
        """
    public sealed class InvoiceWorker : BackgroundService
    {
        protected override Task ExecuteAsync(CancellationToken stoppingToken)
        {
            var consumer = new AsyncEventingBasicConsumer(_channel);
            consumer.ReceivedAsync += async (_, ea) =>
            {
                try
                {
                    await _handler.HandleAsync(ea.Body, stoppingToken);
                }
                catch (Exception ex)
                {
                    _logger.LogError(ex, "message failed");
                }
                finally
                {
                    await _channel.BasicAckAsync(ea.DeliveryTag, false);
                }
            };
            return _channel.BasicConsumeAsync("invoices", false, consumer);
        }
    }
    """,
        12,
    ),
    bad(
        "failed-message-dropped",
        "csharp",
        """
    public sealed class Worker : BackgroundService
    {
        protected override async Task ExecuteAsync(CancellationToken stoppingToken)
        {
            while (!stoppingToken.IsCancellationRequested)
            {
                var result = _consumer.Consume(stoppingToken);
                try
                {
                    await _handler.HandleAsync(result.Message.Value, stoppingToken);
                }
                catch (Exception ex) when (ex is not OperationCanceledException)
                {
                    _logger.LogError(ex, "offset {Offset} failed", result.Offset);
                }
                _consumer.Commit(result);
            }
        }
    }
    """,
        12,
    ),
    bad(
        "failed-message-dropped",
        "csharp",
        """
    public sealed class OrderPlacedConsumer : IConsumer<OrderPlaced>
    {
        public async Task Consume(ConsumeContext<OrderPlaced> context)
        {
            try
            {
                await _warehouse.ReserveAsync(context.Message.OrderId, context.CancellationToken);
            }
            catch (HttpRequestException ex)
            {
                _logger.LogWarning(ex, "reservation of {OrderId} failed", context.Message.OrderId);
            }
        }
    }
    """,
        9,
    ),
    bad(
        "failed-message-dropped",
        "csharp",
        """
    public sealed class OutboxDispatcher
    {
        public async Task DispatchAsync(CancellationToken ct)
        {
            var rows = await _db.Outbox.Where(r => r.SentAt == null).Take(100).ToListAsync(ct);
            foreach (var row in rows)
            {
                try
                {
                    await _bus.Publish(row.Payload, ct);
                }
                catch (Exception ex)
                {
                    _logger.LogError(ex, "outbox row {Id} not published", row.Id);
                }
                row.SentAt = _clock.UtcNow;
            }
            await _db.SaveChangesAsync(ct);
        }
    }
    """,
        12,
    ),
    bad(
        "message-handed-off",
        "java",
        """
    import org.springframework.kafka.annotation.KafkaListener;
    @Component
    public class LabelListener {
        @KafkaListener(topics = "parcels")
        public void on(ParcelPacked event, Acknowledgment ack) {
            executor.submit(() -> labels.order(event.parcelId()));
            if (event.isLast()) {
                ack.acknowledge();
            } else {
                ack.acknowledge();
            }
        }
    }
    """,
        6,
    ),
]
