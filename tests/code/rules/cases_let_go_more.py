"""Failures that are let go before a message or a row counts as done: Go and Rust."""

# ruff: noqa: E101, E501  (snippets of Go and of other languages)

from __future__ import annotations

from tests.code.rules.cases import bad

CASES = [
    bad(
        "failed-message-dropped",
        "go",
        """
    package worker

    import "github.com/segmentio/kafka-go"

    func (w *Worker) Run(ctx context.Context) error {
    	for {
    		msg, err := w.reader.FetchMessage(ctx)
    		if err != nil {
    			return err
    		}
    		if err := w.handler.Handle(ctx, msg.Value); err != nil {
    			w.log.Error("message failed", "offset", msg.Offset, "err", err)
    		}
    		if err := w.reader.CommitMessages(ctx, msg); err != nil {
    			return err
    		}
    	}
    }
    """,
        11,
    ),
    bad(
        "failed-message-dropped",
        "go",
        """
    package worker

    import "github.com/IBM/sarama"

    func (h *handler) ConsumeClaim(sess sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
    	for msg := range claim.Messages() {
    		if err := h.orders.Apply(sess.Context(), msg.Value); err != nil {
    			h.log.Warn("order event failed", "err", err)
    		}
    		sess.MarkMessage(msg, "")
    	}
    	return nil
    }
    """,
        7,
    ),
    bad(
        "failed-message-dropped",
        "go",
        """
    package worker

    import "github.com/nats-io/nats.go"

    func (w *Worker) handle(msg *nats.Msg) {
    	var event Event
    	if err := json.Unmarshal(msg.Data, &event); err != nil {
    		_ = msg.Term()
    		return
    	}
    	if err := w.store.Apply(context.Background(), event); err != nil {
    		w.log.Error("apply failed", "err", err)
    	}
    	_ = msg.Ack()
    }
    """,
        11,
    ),
    bad(
        "acknowledged-before-work",
        "go",
        """
    package worker

    import "github.com/nats-io/nats.go"

    func (w *Worker) handle(msg *nats.Msg) {
    	defer msg.Ack()
    	if err := w.store.Apply(context.Background(), msg.Data); err != nil {
    		w.log.Error("apply failed", "err", err)
    	}
    }
    """,
        6,
    ),
    bad(
        "failed-message-dropped",
        "go",
        """
    package worker

    import "cloud.google.com/go/pubsub"

    func (w *Worker) Run(ctx context.Context) error {
    	return w.sub.Receive(ctx, func(ctx context.Context, m *pubsub.Message) {
    		if err := w.thumbs.Render(ctx, string(m.Data)); err != nil {
    			w.log.Error("render failed", "err", err)
    		}
    		m.Ack()
    	})
    }
    """,
        7,
    ),
    bad(
        "failed-message-dropped",
        "go",
        """
    package worker

    import "github.com/aws/aws-sdk-go-v2/service/sqs"

    func (w *Worker) poll(ctx context.Context) error {
    	out, err := w.sqs.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &w.url, WaitTimeSeconds: 20})
    	if err != nil {
    		return err
    	}
    	for _, m := range out.Messages {
    		if err := w.handle(ctx, *m.Body); err != nil {
    			w.log.Error("message failed", "id", *m.MessageId, "err", err)
    		}
    		if _, err := w.sqs.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &w.url, ReceiptHandle: m.ReceiptHandle}); err != nil {
    			return err
    		}
    	}
    	return nil
    }
    """,
        11,
    ),
    bad(
        "failed-message-dropped",
        "go",
        """
    package worker

    import amqp "github.com/rabbitmq/amqp091-go"

    func (w *Worker) Run(ctx context.Context, deliveries <-chan amqp.Delivery) {
    	for d := range deliveries {
    		if err := w.process(ctx, d.Body); err != nil {
    			w.failed.Inc()
    		}
    		d.Ack(false)
    	}
    }
    """,
        7,
    ),
    bad(
        "failure-only-logged",
        "go",
        """
    package outbox

    func (r *Relay) drain(ctx context.Context) error {
    	rows, err := r.store.Unsent(ctx, 100)
    	if err != nil {
    		return err
    	}
    	for _, row := range rows {
    		if err := r.publisher.Publish(ctx, row.Topic, row.Payload); err != nil {
    			r.log.Error("publish failed", "id", row.ID, "err", err)
    		}
    		if err := r.store.MarkSent(ctx, row.ID); err != nil {
    			return err
    		}
    	}
    	return nil
    }
    """,
        9,
    ),
    bad(
        "failed-message-dropped",
        "rust",
        """
    use rdkafka::producer::{FutureProducer, FutureRecord};
    impl Relay {
        async fn drain(&self) -> Result<(), sqlx::Error> {
            for row in self.unsent().await? {
                let record = FutureRecord::to(&row.topic).key(&row.key).payload(&row.payload);
                self.producer.send(record, Duration::from_secs(5)).await.ok();
                sqlx::query("UPDATE outbox SET sent_at = now() WHERE id = $1").bind(row.id).execute(&self.db).await?;
            }
            Ok(())
        }
    }
    """,
        6,
    ),
    bad(
        "failed-message-dropped",
        "rust",
        """
    use rdkafka::producer::{FutureProducer, FutureRecord};
    impl Relay {
        async fn drain(&self) -> Result<(), sqlx::Error> {
            for row in self.unsent().await? {
                let record = FutureRecord::to(&row.topic).key(&row.key).payload(&row.payload);
                let _ = self.producer.send(record, Duration::from_secs(5)).await;
                sqlx::query("UPDATE outbox SET sent_at = now() WHERE id = $1").bind(row.id).execute(&self.db).await?;
            }
            Ok(())
        }
    }
    """,
        6,
    ),
    bad(
        "failure-only-logged",
        "rust",
        """
    use async_nats::jetstream::Context;
    impl Relay {
        async fn drain(&self) -> anyhow::Result<()> {
            for row in self.store.unsent(100).await? {
                if let Err(err) = self.js.publish(row.subject.clone(), row.payload.clone().into()).await {
                    tracing::error!(%err, id = row.id, "publish failed");
                }
                self.store.mark_sent(row.id).await?;
            }
            Ok(())
        }
    }
    """,
        5,
    ),
    bad(
        "failed-message-dropped",
        "rust",
        """
    use lapin::options::BasicAckOptions;
    async fn consume(mut consumer: lapin::Consumer, handler: Handler) -> anyhow::Result<()> {
        while let Some(delivery) = consumer.next().await {
            let delivery = delivery?;
            if let Err(err) = handler.handle(&delivery.data).await {
                tracing::error!(%err, "message failed");
            }
            delivery.ack(BasicAckOptions::default()).await?;
        }
        Ok(())
    }
    """,
        5,
    ),
    bad(
        "failed-message-dropped",
        "rust",
        """
    use lapin::options::BasicAckOptions;
    async fn consume(mut consumer: lapin::Consumer, handler: Handler) -> anyhow::Result<()> {
        while let Some(delivery) = consumer.next().await {
            let delivery = delivery?;
            match handler.handle(&delivery.data).await {
                Ok(()) => metrics::counter!("done").increment(1),
                Err(err) => tracing::warn!(?err, "message failed"),
            }
            delivery.ack(BasicAckOptions::default()).await?;
        }
        Ok(())
    }
    """,
        7,
    ),
    bad(
        "failed-message-dropped",
        "rust",
        """
    impl Worker {
        async fn poll(&self) -> anyhow::Result<()> {
            let out = self.sqs.receive_message().queue_url(&self.url).wait_time_seconds(20).send().await?;
            for message in out.messages() {
                let result = self.handle(message.body().unwrap_or_default()).await;
                if result.is_err() {
                    tracing::error!("message failed");
                }
                self.sqs.delete_message().queue_url(&self.url).set_receipt_handle(message.receipt_handle.clone()).send().await?;
            }
            Ok(())
        }
    }
    """,
        6,
    ),
    bad(
        "failed-message-dropped",
        "rust",
        """
    use rdkafka::consumer::{CommitMode, Consumer, StreamConsumer};
    async fn run(consumer: StreamConsumer, store: Store) -> anyhow::Result<()> {
        loop {
            let msg = consumer.recv().await?;
            if let Some(payload) = msg.payload() {
                if let Err(e) = store.apply(payload).await {
                    log::error!("apply failed: {e}");
                }
            }
            consumer.commit_message(&msg, CommitMode::Async)?;
        }
    }
    """,
        6,
    ),
]
