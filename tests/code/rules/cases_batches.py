"""Messages that failed and count as done with their batch."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_DROPPED = "failed-message-dropped"

CASES = [
    # A batch that is acknowledged as a whole.
    bad(
        _DROPPED,
        "python",
        """
        class Poller:
            def poll(self):
                messages = self._sqs.receive_message(QueueUrl=self._url).get("Messages", [])
                for message in messages:
                    try:
                        self._store.upsert(json.loads(message["Body"]))
                    except Exception:
                        log.exception("not stored")
                if messages:
                    self._remove(messages)
            def _remove(self, messages):
                self._sqs.delete_message_batch(
                    Entries=[{"Id": m["Id"], "ReceiptHandle": m["ReceiptHandle"]} for m in messages]
                )
        """,
        7,
    ),
    good(
        _DROPPED,
        "python",
        """
        def poll(self):
            messages = self._sqs.receive_message(QueueUrl=self._url).get("Messages", [])
            failed = 0
            for message in messages:
                try:
                    self._store.upsert(json.loads(message["Body"]))
                except Exception:
                    log.exception("not stored")
                    failed += 1
            if failed == 0:
                self._sqs.delete_message_batch(
                    Entries=[{"Id": m["Id"], "ReceiptHandle": m["ReceiptHandle"]} for m in messages]
                )
        """,
    ),
    good(
        _DROPPED,
        "python",
        """
        def poll(self):
            messages = self._sqs.receive_message(QueueUrl=self._url).get("Messages", [])
            done = set()
            for message in messages:
                try:
                    self._store.upsert(json.loads(message["Body"]))
                    done.add(message["Id"])
                except Exception:
                    log.exception("not stored")
            self._sqs.delete_message_batch(
                Entries=[{"ReceiptHandle": m["ReceiptHandle"]} for m in messages if m["Id"] in done]
            )
        """,
    ),
    bad(
        _DROPPED,
        "python",
        """
        async def poll(self):
            messages = await self._queue.receive_messages()
            results = await asyncio.gather(*(self._handle(m) for m in messages), return_exceptions=True)
            for result in results:
                if isinstance(result, Exception):
                    log.error("failed", exc_info=result)
            for message in messages:
                await self._queue.delete_message(message)
        """,
        3,
    ),
    bad(
        _DROPPED,
        "java",
        """
        class Poller {
            void poll() {
                List<Message> messages = sqs.receiveMessage(r -> r.queueUrl(url)).messages();
                for (Message message : messages) {
                    try {
                        ledger.apply(json.readValue(message.body(), Adjustment.class));
                    } catch (JsonProcessingException | RuntimeException e) {
                        log.error("not applied", e);
                    }
                }
                delete(messages);
            }
            private void delete(List<Message> messages) {
                List<Entry> entries = new ArrayList<>();
                for (Message message : messages) {
                    entries.add(Entry.builder().receiptHandle(message.receiptHandle()).build());
                }
                sqs.deleteMessageBatch(r -> r.queueUrl(url).entries(entries));
            }
        }
        """,
        7,
    ),
    good(
        _DROPPED,
        "java",
        """
        class Poller {
            void poll() {
                List<Message> messages = sqs.receiveMessage(r -> r.queueUrl(url)).messages();
                List<Message> applied = new ArrayList<>(messages.size());
                for (Message message : messages) {
                    try {
                        ledger.apply(json.readValue(message.body(), Adjustment.class));
                        applied.add(message);
                    } catch (JsonProcessingException | RuntimeException e) {
                        log.error("not applied", e);
                    }
                }
                delete(applied);
            }
            private void delete(List<Message> messages) {
                List<Entry> entries = new ArrayList<>();
                for (Message message : messages) {
                    entries.add(Entry.builder().receiptHandle(message.receiptHandle()).build());
                }
                sqs.deleteMessageBatch(r -> r.queueUrl(url).entries(entries));
            }
        }
        """,
    ),
    bad(
        _DROPPED,
        "typescript",
        """
        export class Consumer {
          private async handle(messages: Message[]): Promise<void> {
            const results = await Promise.allSettled(messages.map((m) => this.apply(m)));
            results.forEach((result) => {
              if (result.status === "rejected") this.log.error({ err: result.reason }, "failed");
            });
            const entries = messages.map((m) => ({ Id: m.MessageId, ReceiptHandle: m.ReceiptHandle }));
            await this.sqs.send(new DeleteMessageBatchCommand({ QueueUrl: this.url, Entries: entries }));
          }
        }
        """,
        3,
    ),
    good(
        _DROPPED,
        "typescript",
        """
        export class Consumer {
          private async handle(messages: Message[]): Promise<void> {
            const results = await Promise.allSettled(messages.map((m) => this.apply(m)));
            const done = messages.filter((_, i) => results[i].status === "fulfilled");
            const entries = done.map((m) => ({ Id: m.MessageId, ReceiptHandle: m.ReceiptHandle }));
            await this.sqs.send(new DeleteMessageBatchCommand({ QueueUrl: this.url, Entries: entries }));
          }
        }
        """,
    ),
    bad(
        _DROPPED,
        "javascript",
        """
        async function poll(sqs, url, work) {
          const { Messages = [] } = await sqs.send(new ReceiveMessageCommand({ QueueUrl: url }));
          await Promise.all(Messages.map(async (message) => {
            try {
              await work.apply(JSON.parse(message.Body));
            } catch (err) {
              log.error({ err }, 'failed');
            }
          }));
          await sqs.send(new DeleteMessageBatchCommand({
            QueueUrl: url,
            Entries: Messages.map((m, i) => ({ Id: String(i), ReceiptHandle: m.ReceiptHandle })),
          }));
        }
        """,
        6,
    ),
    bad(
        _DROPPED,
        "go",
        """
        package worker
        func (w *Worker) poll(ctx context.Context) error {
        	out, err := w.client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &w.url})
        	if err != nil {
        		return err
        	}
        	var entries []types.Entry
        	for _, m := range out.Messages {
        		if err := w.handle(ctx, m); err != nil {
        			slog.ErrorContext(ctx, "message failed", "err", err)
        		}
        		entries = append(entries, types.Entry{ReceiptHandle: m.ReceiptHandle})
        	}
        	_, err = w.client.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{Entries: entries})
        	return err
        }
        """,
        9,
    ),
    good(
        _DROPPED,
        "go",
        """
        package worker
        func (w *Worker) poll(ctx context.Context) error {
        	out, err := w.client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &w.url})
        	if err != nil {
        		return err
        	}
        	var entries []types.Entry
        	for _, m := range out.Messages {
        		if err := w.handle(ctx, m); err != nil {
        			slog.ErrorContext(ctx, "message failed", "err", err)
        			continue
        		}
        		entries = append(entries, types.Entry{ReceiptHandle: m.ReceiptHandle})
        	}
        	_, err = w.client.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{Entries: entries})
        	return err
        }
        """,
    ),
    bad(
        _DROPPED,
        "csharp",
        """
        class Poller {
            async Task PollAsync(CancellationToken ct) {
                var answer = await _sqs.ReceiveMessageAsync(_request, ct);
                foreach (var message in answer.Messages) {
                    try {
                        await _orders.ApplyAsync(message.Body, ct);
                    } catch (Exception ex) {
                        _logger.LogError(ex, "message {Id} failed", message.MessageId);
                    }
                }
                var entries = answer.Messages.Select(m => new Entry(m.MessageId, m.ReceiptHandle)).ToList();
                await _sqs.DeleteMessageBatchAsync(_url, entries, ct);
            }
        }
        """,
        7,
    ),
    bad(
        _DROPPED,
        "kotlin",
        """
        class Poller(private val sqs: SqsClient, private val orders: Orders) {
            suspend fun poll() {
                val messages = sqs.receiveMessage(request).messages.orEmpty()
                messages.forEach { message ->
                    try {
                        orders.apply(message.body)
                    } catch (e: Exception) {
                        log.error("message {} failed", message.messageId, e)
                    }
                }
                sqs.deleteMessageBatch { entries = messages.map { Entry(it.receiptHandle) } }
            }
        }
        """,
        7,
    ),
    bad(
        _DROPPED,
        "rust",
        """
        async fn poll(client: &Client, url: &str, store: &Store) -> Result<(), Error> {
            let out = client.receive_message().queue_url(url).send().await?;
            let messages = out.messages.unwrap_or_default();
            for message in &messages {
                if let Err(err) = store.apply(message).await {
                    tracing::error!(%err, "message failed");
                }
            }
            let entries: Vec<_> = messages.iter().map(entry).collect();
            client.delete_message_batch().queue_url(url).set_entries(Some(entries)).send().await?;
            Ok(())
        }
        """,
        5,
    ),
]
