"""Messages that count as done although they failed, and consumers that read again at once."""

# ruff: noqa: E101, E501  (snippets of Go and of other languages)

from __future__ import annotations

from tests.code.rules.cases import bad, good

CASES = [
    bad(
        "failed-message-dropped",
        "python",
        """
        class Consumer:
            def poll(self):
                done = []
                for message in self._sqs.receive_message(QueueUrl=URL, WaitTimeSeconds=20).get("Messages", []):
                    done.append({"Id": message["MessageId"], "ReceiptHandle": message["ReceiptHandle"]})
                    try:
                        self._book(message["Body"])
                    except Exception:
                        log.exception("booking failed")
                self._sqs.delete_message_batch(QueueUrl=URL, Entries=done)
        """,
        5,
    ),
    good(
        "failed-message-dropped",
        "python",
        """
        class Consumer:
            def poll(self):
                done = []
                for message in self._sqs.receive_message(QueueUrl=URL, WaitTimeSeconds=20).get("Messages", []):
                    try:
                        self._book(message["Body"])
                    except Exception:
                        log.exception("booking failed")
                        continue
                    done.append({"Id": message["MessageId"], "ReceiptHandle": message["ReceiptHandle"]})
                self._sqs.delete_message_batch(QueueUrl=URL, Entries=done)
        """,
    ),
    good(
        "failed-message-dropped",
        "python",
        """
        class Consumer:
            def poll(self):
                done, failed = [], set()
                for message in self._sqs.receive_message(QueueUrl=URL, WaitTimeSeconds=20).get("Messages", []):
                    done.append({"Id": message["MessageId"], "ReceiptHandle": message["ReceiptHandle"]})
                    try:
                        self._book(message["Body"])
                    except Exception:
                        failed.add(message["MessageId"])
                done = [each for each in done if each["Id"] not in failed]
                self._sqs.delete_message_batch(QueueUrl=URL, Entries=done)
        """,
    ),
    bad(
        "failed-message-dropped",
        "java",
        """
        class A {
          void poll() {
            List<DeleteMessageBatchRequestEntry> done = new ArrayList<>();
            for (Message m : sqs.receiveMessage(request).messages()) {
              done.add(entry(m));
              try {
                booking.book(mapper.readValue(m.body(), Event.class));
              } catch (Exception e) {
                log.error("booking failed", e);
              }
            }
            sqs.deleteMessageBatch(b -> b.queueUrl(url).entries(done));
          }
        }
        """,
        5,
    ),
    good(
        "failed-message-dropped",
        "go",
        """
        package x

        func (c *Consumer) poll(ctx context.Context) error {
        	out, err := c.sqs.ReceiveMessage(ctx, in)
        	if err != nil {
        		return err
        	}
        	var done []types.DeleteMessageBatchRequestEntry
        	for _, m := range out.Messages {
        		if err := c.book(ctx, m); err != nil {
        			c.log.Error("booking failed", "err", err)
        			continue
        		}
        		done = append(done, types.DeleteMessageBatchRequestEntry{Id: m.MessageId, ReceiptHandle: m.ReceiptHandle})
        	}
        	_, err = c.sqs.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: &c.url, Entries: done})
        	return err
        }
        """,
    ),
    bad(
        "failed-message-dropped",
        "typescript",
        """
        import { Job, Worker } from 'bullmq';
        const options = { attempts: 8, backoff: { type: 'exponential', delay: 5000 } };
        export class PayoutWorker {
          private async process(job: Job<Payout>): Promise<void> {
            try {
              await this.bank.send(job.data);
            } catch (err) {
              await this.payouts.recordAttempt(job.data.id, (err as Error).message);
              this.log.warn({ id: job.id }, 'attempt failed');
            }
          }
        }
        """,
        7,
    ),
    good(
        "failed-message-dropped",
        "typescript",
        """
        import { Job, Worker } from 'bullmq';
        const options = { attempts: 8, backoff: { type: 'exponential', delay: 5000 } };
        export class PayoutWorker {
          private async process(job: Job<Payout>): Promise<void> {
            try {
              await this.bank.send(job.data);
            } catch (err) {
              await this.payouts.recordAttempt(job.data.id, (err as Error).message);
              throw err;
            }
          }
        }
        """,
    ),
    good(
        "failed-message-dropped",
        "typescript",
        """
        import { Job, Worker } from 'bullmq';
        const options = { attempts: 8, backoff: { type: 'exponential', delay: 5000 } };
        export class PayoutWorker {
          private async process(job: Job<Payout>): Promise<void> {
            try {
              await this.bank.send(job.data);
            } catch (err) {
              await this.payouts.moveToDeadLetters(job.data.id, (err as Error).message);
              this.log.warn({ id: job.id }, 'gone');
            }
          }
        }
        """,
    ),
    bad(
        "failed-message-dropped",
        "python",
        """
        from celery import shared_task
        @shared_task(bind=True, max_retries=5)
        def pay(self, payout_id):
            payout = Payout.objects.get(pk=payout_id)
            try:
                reference = bank.send(payout, timeout=10)
                payout.mark_sent(reference)
            except BankError as exc:
                payout.record_failure(str(exc))
                log.warning("payout failed %s", payout_id)
        @shared_task(bind=True, max_retries=5)
        def fine(self, payout_id):
            try:
                bank.send(payout_id, timeout=10)
            except BankError as exc:
                record_failure(str(exc))
                raise self.retry(exc=exc, countdown=30)
        """,
        8,
    ),
    bad(
        "failed-message-dropped",
        "javascript",
        """
        const { Worker } = require('bullmq');
        class W {
          constructor(connection) {
            this.worker = new Worker('payouts', async (job) => this.handle(job), { connection, settings: {} });
            this.queue.add('x', {}, { attempts: 5 });
          }
          async handle(job) {
            try {
              await this.bank.pay(job.data);
            } catch (err) {
              this.log.error({ err }, 'failed');
            }
          }
        }
        """,
        10,
    ),
    bad(
        "failed-message-dropped",
        "typescript",
        """
        import { Worker, Job } from 'bullmq';
        new Worker('mails', async (job) => {
          try {
            await mailer.send(job.data);
          } catch (err) {
            logger.error({ err }, 'failed');
            return { ok: false };
          }
        }, { connection });
        new Worker('mails2', processMail, { connection });
        async function processMail(job: Job) {
          try {
            await mailer.send(job.data);
          } catch (err) {
            await saveError(job.id, err);
            await job.moveToDelayed(Date.now() + 1000);
          }
        }
        """,
        5,
    ),
    bad(
        "retry-without-backoff",
        "python",
        """
        import time
        import redis
        class C:
            def run(self):
                while not self._stop.is_set():
                    try:
                        entries = self._read()
                    except redis.RedisError:
                        log.exception("reading failed")
                        continue
                    try:
                        self._handle(entries)
                    except Exception:
                        log.exception("storing failed")
                        time.sleep(1)
            def _read(self):
                return self._redis.xreadgroup(GROUP, self._name, {STREAM: ">"}, count=200, block=2000)
        class G:
            def run(self):
                while not self._stop.is_set():
                    try:
                        entries = self._read()
                    except redis.RedisError:
                        log.exception("reading failed")
                        self._stop.wait(1)
                        continue
                    self._handle(entries)
            def _read(self):
                return self._redis.xreadgroup(GROUP, self._name, {STREAM: ">"}, count=200, block=2000)
        class H:
            def run(self):
                while not self._stop.is_set():
                    try:
                        entries = self._read()
                    except redis.TimeoutError:
                        continue
                    self._handle(entries)
            def _read(self):
                return self._redis.xreadgroup(GROUP, self._name, {STREAM: ">"}, count=200, block=2000)
        """,
        8,
    ),
    bad(
        "retry-without-backoff",
        "typescript",
        """
        export class C {
          async run() {
            while (!this.stopping) {
              let reply;
              try {
                reply = await this.read();
              } catch (err) {
                this.log.error({ err }, 'read failed');
                continue;
              }
              await this.handle(reply);
              await sleep(100);
            }
          }
          private read() {
            return this.redis.xreadgroup('GROUP', this.group, this.name, 'BLOCK', 2000, 'STREAMS', this.stream, '>');
          }
        }
        """,
        7,
    ),
    bad(
        "retry-without-backoff",
        "java",
        """
        class A {
          void run() {
            while (!stopped) {
              List<Message> messages;
              try {
                messages = receive();
              } catch (SdkException e) {
                log.error("receive failed", e);
                continue;
              }
              messages.forEach(this::handle);
            }
          }
          private List<Message> receive() {
            return sqs.receiveMessage(r -> r.queueUrl(url).waitTimeSeconds(20)).messages();
          }
        }
        """,
        7,
    ),
    bad(
        "retry-without-backoff",
        "kotlin",
        """
        class A {
            suspend fun run() {
                while (isActive) {
                    val batch = try {
                        receive()
                    } catch (e: SqsException) {
                        log.error("receive failed", e)
                        continue
                    }
                    batch.forEach { handle(it) }
                }
            }
            private suspend fun receive() = sqs.receiveMessage { queueUrl = url; waitTimeSeconds = 20 }.messages.orEmpty()
        }
        """,
        6,
    ),
    bad(
        "retry-without-backoff",
        "csharp",
        """
        class A {
          protected override async Task ExecuteAsync(CancellationToken ct) {
            while (!ct.IsCancellationRequested) {
              IReadOnlyList<Message> batch;
              try { batch = await ReceiveAsync(ct); }
              catch (AmazonSQSException e) { _log.LogError(e, "receive failed"); continue; }
              foreach (var m in batch) await HandleAsync(m, ct);
            }
          }
          private async Task<IReadOnlyList<Message>> ReceiveAsync(CancellationToken ct) =>
            (await _sqs.ReceiveMessageAsync(new ReceiveMessageRequest { QueueUrl = _url, WaitTimeSeconds = 20 }, ct)).Messages;
        }
        """,
        6,
    ),
    bad(
        "retry-without-backoff",
        "go",
        """
        package x

        func (c *C) Run(ctx context.Context) {
        	for ctx.Err() == nil {
        		msgs, err := c.read(ctx)
        		if err != nil {
        			c.log.Error("read failed", "err", err)
        			continue
        		}
        		c.handle(ctx, msgs)
        	}
        }

        func (c *C) read(ctx context.Context) ([]redis.XStream, error) {
        	return c.rdb.XReadGroup(ctx, &redis.XReadGroupArgs{Group: g, Streams: s, Block: time.Second}).Result()
        }
        """,
        6,
    ),
    bad(
        "retry-without-backoff",
        "rust",
        """
        use redis::AsyncCommands;
        impl Consumer {
            async fn read(&mut self) -> RedisResult<StreamReadReply> {
                self.redis.xread_options(&[STREAM], &[">"], &self.options).await
            }
            pub async fn run(mut self, stop: CancellationToken) {
                while !stop.is_cancelled() {
                    let reply = match self.read().await {
                        Ok(reply) => reply,
                        Err(err) => {
                            error!(%err, "reading failed");
                            continue;
                        }
                    };
                    if let Err(err) = self.handle(reply).await {
                        error!(%err, "storing failed");
                        tokio::time::sleep(Duration::from_secs(1)).await;
                    }
                }
            }
        }
        """,
        10,
    ),
    good(
        "retry-without-backoff",
        "rust",
        """
        use redis::AsyncCommands;
        impl Consumer {
            async fn read(&mut self) -> RedisResult<StreamReadReply> {
                self.redis.xread_options(&[STREAM], &[">"], &self.options).await
            }
            pub async fn run(mut self, stop: CancellationToken) {
                while !stop.is_cancelled() {
                    let reply = match self.read().await {
                        Ok(reply) => reply,
                        Err(err) => {
                            error!(%err, "reading failed");
                            tokio::time::sleep(Duration::from_secs(1)).await;
                            continue;
                        }
                    };
                    if let Err(err) = self.handle(reply).await {
                        error!(%err, "storing failed");
                        tokio::time::sleep(Duration::from_secs(1)).await;
                    }
                }
            }
        }
        """,
    ),
]
