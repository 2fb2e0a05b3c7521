"""Messages that are acknowledged whether the work has failed or not."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_EARLY = "acknowledged-before-work"
_DROPPED = "failed-message-dropped"

CASES = [
    bad(
        _EARLY,
        "typescript",
        """
        export async function poll(sqs: SQSClient, url: string, refunds: Refunds) {
          const out = await sqs.send(new ReceiveMessageCommand({ QueueUrl: url }));
          for (const each of out.Messages ?? []) {
            try {
              await refunds.execute(each.Body);
            } catch (err) {
              console.error(err);
            } finally {
              await sqs.send(new DeleteMessageCommand({ QueueUrl: url, ReceiptHandle: each.ReceiptHandle }));
            }
          }
        }
        """,
        9,
    ),
    good(
        _EARLY,
        "typescript",
        """
        export async function poll(sqs: SQSClient, url: string, refunds: Refunds) {
          const out = await sqs.send(new ReceiveMessageCommand({ QueueUrl: url }));
          for (const each of out.Messages ?? []) {
            let done = false;
            try {
              await refunds.execute(each.Body);
              done = true;
            } finally {
              if (done) {
                await sqs.send(new DeleteMessageCommand({ ReceiptHandle: each.ReceiptHandle }));
              }
              await sqs.send(new MetricCommand({ done }));
            }
          }
        }
        """,
    ),
    bad(
        _EARLY,
        "go",
        """
        package worker
        func (w *Worker) process(ctx context.Context, m types.Message) {
        	defer w.client.DeleteMessage(ctx, &sqs.DeleteMessageInput{ReceiptHandle: m.ReceiptHandle})
        	if err := w.handler.Handle(ctx, *m.Body); err != nil {
        		slog.Error("handle", "err", err)
        	}
        }
        """,
        3,
    ),
    good(
        _EARLY,
        "go",
        """
        package worker
        func (w *Worker) process(ctx context.Context, m types.Message) (err error) {
        	defer func() {
        		if err == nil {
        			w.client.DeleteMessage(ctx, &sqs.DeleteMessageInput{ReceiptHandle: m.ReceiptHandle})
        		}
        	}()
        	return w.handler.Handle(ctx, *m.Body)
        }
        """,
    ),
    bad(
        _EARLY,
        "java",
        """
        class Listener implements MessageListener {
            public void onMessage(Message message) {
                try {
                    archive.store(message);
                } finally {
                    done(message);
                }
            }
            private void done(Message message) {
                message.acknowledge();
            }
        }
        """,
        6,
    ),
    bad(
        _EARLY,
        "python",
        """
        def run(client, stream, group, process):
            for _, entries in client.xreadgroup(group, "me", {stream: ">"}):
                for key, fields in entries:
                    client.xack(stream, group, key)
                    process(fields)
        """,
        4,
    ),
    good(
        _EARLY,
        "python",
        """
        def run(client, stream, group, process):
            for _, entries in client.xreadgroup(group, "me", {stream: ">"}):
                for key, fields in entries:
                    process(fields)
                    client.xack(stream, group, key)
        def tidy(bot, chat):
            bot.delete_message(chat.id, chat.last)
            bot.post(chat.id)
        """,
    ),
    bad(
        _EARLY,
        "csharp",
        """
        class Worker {
            async Task Run(ServiceBusClient client) {
                var options = new Options { ReceiveMode = ServiceBusReceiveMode.ReceiveAndDelete };
                var receiver = client.CreateReceiver("refunds", options);
            }
        }
        """,
        3,
    ),
    bad(
        _DROPPED,
        "typescript",
        """
        import { Worker } from 'bullmq';
        export const worker = new Worker('billing', async (job) => {
          try {
            await chargeCard(job.data.customer);
          } catch (err) {
            console.error(err);
          }
        });
        """,
        5,
    ),
    good(
        _DROPPED,
        "typescript",
        """
        import { Worker } from 'bullmq';
        export const worker = new Worker('billing', async (job) => {
          try {
            await chargeCard(job.data.customer);
          } catch (err) {
            console.error(err);
            throw err;
          }
        });
        """,
    ),
    bad(
        _DROPPED,
        "csharp",
        """
        class Pump {
            private async Task Handle(ProcessMessageEventArgs args) {
                try {
                    await payslips.Generate(args.Message.Body.ToString());
                }
                catch (Exception error) {
                    log.LogError(error, "failed");
                }
            }
        }
        """,
        6,
    ),
    bad(
        _DROPPED,
        "python",
        """
        from celery import shared_task
        @shared_task
        def settle(invoice):
            try:
                gateway.settle(invoice)
            except Exception:
                logger.exception("settle failed")
        """,
        6,
    ),
    good(
        _DROPPED,
        "python",
        """
        from celery import shared_task
        @shared_task(bind=True)
        def settle(self, invoice):
            try:
                gateway.settle(invoice)
            except Exception as error:
                logger.exception("settle failed")
                raise self.retry(exc=error)
        def plain(invoice):
            try:
                gateway.settle(invoice)
            except Exception:
                logger.exception("settle failed")
        """,
    ),
    bad(
        _EARLY,
        "javascript",
        """
        function read(message) {
          return JSON.parse(message.content.toString());
        }
        async function onMessage(message) {
          let order;
          try {
            order = read(message);
          } catch (error) {
            channel.nack(message, false, false);
            return;
          }
          channel.ack(message);
          await store.save(order);
        }
        """,
        12,
    ),
    good(
        _EARLY,
        "javascript",
        """
        async function book(order) {
          await store.save(order);
        }
        async function onMessage(message) {
          const order = JSON.parse(message.content.toString());
          await book(order);
          channel.ack(message);
          await events.publish(order.id);
        }
        """,
    ),
    bad(
        _EARLY,
        "kotlin",
        """
        class Listener(private val claims: Claims) {
            fun onClaim(record: ConsumerRecord<String, String>, ack: Acknowledgment) {
                ack.acknowledge()
                val claim = decode(record) ?: return
                claims.settle(claim)
            }
        }
        """,
        3,
    ),
    bad(
        _EARLY,
        "rust",
        """
        async fn run(consumer: StreamConsumer, db: Db, stop: CancellationToken) -> Result<()> {
            loop {
                let message = tokio::select! {
                    _ = stop.cancelled() => break,
                    message = consumer.recv() => message?,
                };
                consumer.commit_message(&message, CommitMode::Async)?;
                apply(&db, &message).await?;
            }
            Ok(())
        }
        """,
        7,
    ),
    bad(
        _EARLY,
        "go",
        """
        package a
        import "github.com/segmentio/kafka-go"
        func open() *kafka.Reader {
            return kafka.NewReader(kafka.ReaderConfig{GroupID: "claims", Topic: "claims"})
        }
        func run(ctx context.Context, reader *kafka.Reader, claims *Claims) error {
            for {
                message, err := reader.ReadMessage(ctx)
                if err != nil {
                    return err
                }
                if err := claims.Settle(ctx, message.Value); err != nil {
                    return err
                }
            }
        }
        """,
        8,
    ),
    good(
        _EARLY,
        "go",
        """
        package a
        import "github.com/segmentio/kafka-go"
        func open() *kafka.Reader {
            return kafka.NewReader(kafka.ReaderConfig{GroupID: "claims", Topic: "claims"})
        }
        func run(ctx context.Context, reader *kafka.Reader, claims *Claims) error {
            for {
                message, err := reader.FetchMessage(ctx)
                if err != nil {
                    return err
                }
                if err := claims.Settle(ctx, message.Value); err != nil {
                    return err
                }
                if err := reader.CommitMessages(ctx, message); err != nil {
                    return err
                }
            }
        }
        """,
    ),
    bad(
        _DROPPED,
        "typescript",
        """
        import { Job, Worker } from 'bullmq';
        export class Digests {
          constructor(private readonly mailer: Mailer, private readonly logger: Logger) {}
          async process(job: Job<Digest>): Promise<void> {
            try {
              await this.mailer.send(job.data.to, job.data.text);
            } catch (err) {
              this.logger.error({ err }, 'digest failed');
            }
          }
        }
        """,
        7,
    ),
    good(
        _DROPPED,
        "typescript",
        """
        import { Job, Worker } from 'bullmq';
        export class Digests {
          constructor(private readonly mailer: Mailer, private readonly logger: Logger) {}
          async process(job: Job<Digest>): Promise<void> {
            try {
              await this.mailer.send(job.data.to, job.data.text);
            } catch (err) {
              this.logger.error({ err }, 'digest failed');
              throw err;
            }
          }
        }
        """,
    ),
]
