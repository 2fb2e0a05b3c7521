"""Messages that count as done too early: on the way to the work, with others, or although they failed."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import bad, good

EARLY = "acknowledged-before-work"
HANDED = "message-handed-off"
DROPPED = "failed-message-dropped"

CASES = [
    bad(
        EARLY,
        "go",
        """
        package clicks

        func (c *Batch) ConsumeClaim(s sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
        	batch := make([][]byte, 0, c.size)
        	for {
        		select {
        		case msg := <-claim.Messages():
        			batch = append(batch, msg.Value)
        			s.MarkMessage(msg, "")
        			if len(batch) < c.size {
        				continue
        			}
        			if err := c.store.Insert(batch); err != nil {
        				return err
        			}
        			batch = batch[:0]
        		}
        	}
        }
        """,
        9,
    ),
    bad(
        EARLY,
        "javascript",
        """
        class Results {
          take(msg) {
            const result = JSON.parse(msg.content.toString());
            this.channel.ack(msg);
            return result;
          }
          handle(msg) {
            const result = this.take(msg);
            if (!result) return Promise.resolve();
            return this.repository.upsert(result.id, result);
          }
        }
        """,
        4,
    ),
    bad(
        EARLY,
        "python",
        """
        from confluent_kafka import Consumer

        def next_batch(source: Consumer):
            batch = []
            for message in source.consume(num_messages=200, timeout=2.0):
                if message.error().code() != EOF:
                    batch.append(message)
            source.commit(asynchronous=False)
            return batch

        def run(source, db):
            while True:
                batch = next_batch(source)
                db.insert_all(batch)
        """,
        8,
    ),
    bad(
        EARLY,
        "go",
        """
        package labels

        func (p *Pool) Run(jobs <-chan amqp.Delivery) {
        	for i := 0; i < p.workers; i++ {
        		go p.work(jobs)
        	}
        }

        func (p *Pool) handle(d amqp.Delivery) error {
        	if err := p.printer.Print(d.Body); err != nil {
        		return d.Nack(false, false)
        	}
        	return d.Ack(true)
        }
        """,
        13,
    ),
    good(
        EARLY,
        "go",
        """
        package labels

        func (p *Pool) Run(jobs <-chan amqp.Delivery) {
        	go p.watch()
        	for d := range jobs {
        		p.batch = append(p.batch, d)
        		if len(p.batch) == 100 {
        			p.store(p.batch)
        			d.Ack(true)
        		}
        	}
        }
        """,
    ),
    bad(
        EARLY,
        "java",
        """
        class Labels {
            void deliver(ExecutorService pool, Channel channel, Delivery delivery) {
                pool.submit(() -> {
                    print(delivery.getBody());
                    channel.basicAck(delivery.getEnvelope().getDeliveryTag(), true);
                });
            }
        }
        """,
        5,
    ),
    bad(
        HANDED,
        "python",
        """
        from concurrent.futures import ThreadPoolExecutor

        class Readings:
            def __init__(self):
                self._writers = ThreadPoolExecutor(max_workers=8)

            def on_message(self, message):
                self._writers.submit(self._persist, message)
                message.ack()
        """,
        8,
    ),
    bad(
        DROPPED,
        "rust",
        """
        async fn turn(&self) -> anyhow::Result<()> {
            let mut done = self.sqs.delete_message_batch().queue_url(&self.queue);
            while let Some((message, outcome)) = settled.next().await {
                if let Err(err) = outcome {
                    tracing::error!(error = %err, "not closed");
                }
                let entry = DeleteMessageBatchRequestEntry::builder()
                    .set_receipt_handle(message.receipt_handle)
                    .build()?;
                done = done.entries(entry);
            }
            done.send().await?;
            Ok(())
        }
        """,
        4,
    ),
    bad(
        DROPPED,
        "typescript",
        """
        async function handle(message: Message): Promise<boolean> {
          try {
            await index(message.Body);
            return true;
          } catch (err) {
            log.error({ err }, 'not indexed');
            return false;
          }
        }
        async function drain() {
          const { Messages = [] } = await sqs.send(new ReceiveMessageCommand({ QueueUrl }));
          const indexed = await Promise.all(Messages.map(handle));
          const Entries = Messages.map((m, i) => ({ Id: String(i), ReceiptHandle: m.ReceiptHandle }));
          await sqs.send(new DeleteMessageBatchCommand({ QueueUrl, Entries }));
          return indexed.filter(Boolean).length;
        }
        """,
        12,
    ),
    good(
        DROPPED,
        "typescript",
        """
        async function handle(message: Message): Promise<boolean> {
          try {
            await index(message.Body);
            return true;
          } catch (err) {
            log.error({ err }, 'not indexed');
            return false;
          }
        }
        async function drain() {
          const { Messages = [] } = await sqs.send(new ReceiveMessageCommand({ QueueUrl }));
          const indexed = await Promise.all(Messages.map(handle));
          const Entries = Messages.map((m, i) => ({ Id: String(i), ReceiptHandle: m.ReceiptHandle })).filter(
            (_, i) => indexed[i],
          );
          await sqs.send(new DeleteMessageBatchCommand({ QueueUrl, Entries }));
        }
        """,
    ),
    bad(
        DROPPED,
        "python",
        """
        import asyncio

        async def handle(message):
            try:
                await store(message["Body"])
                return True
            except Exception:
                log.exception("not stored")
                return False

        async def drain(sqs, url):
            reply = await sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20)
            messages = reply["Messages"]
            await asyncio.gather(*(handle(m) for m in messages))
            await sqs.delete_message_batch(
                QueueUrl=url,
                Entries=[{"Id": m["MessageId"], "ReceiptHandle": m["ReceiptHandle"]} for m in messages],
            )
        """,
        14,
    ),
]
