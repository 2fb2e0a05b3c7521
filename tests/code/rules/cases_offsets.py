"""Messages that count as done with one behind them, or while they are kept in memory."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_DROPPED = "failed-message-dropped"
_EARLY = "acknowledged-before-work"

CASES = [
    # Offsets that move past a failed message.
    bad(
        _DROPPED,
        "go",
        """
        package ingest
        func (c *Consumer) Run(ctx context.Context) error {
        	for {
        		msg, err := c.reader.FetchMessage(ctx)
        		if err != nil {
        			return err
        		}
        		if err := c.process(ctx, msg); err != nil {
        			slog.ErrorContext(ctx, "not stored", "offset", msg.Offset, "err", err)
        			continue
        		}
        		if err := c.reader.CommitMessages(ctx, msg); err != nil {
        			return err
        		}
        	}
        }
        """,
        8,
    ),
    good(
        _DROPPED,
        "go",
        """
        package ingest
        func (c *Consumer) Run(ctx context.Context) error {
        	for {
        		msg, err := c.reader.FetchMessage(ctx)
        		if err != nil {
        			slog.Error("fetch", "err", err)
        			continue
        		}
        		if err := c.process(ctx, msg); err != nil {
        			if err := c.deadLetter.WriteMessages(ctx, msg); err != nil {
        				return err
        			}
        		}
        		if err := c.reader.CommitMessages(ctx, msg); err != nil {
        			return err
        		}
        	}
        }
        """,
    ),
    bad(
        _DROPPED,
        "go",
        """
        package ingest
        func (h *Handler) ConsumeClaim(session sarama.Session, claim sarama.Claim) error {
        	for msg := range claim.Messages() {
        		if err := h.store.Insert(session.Context(), msg.Value); err != nil {
        			h.log.Errorf("offset %d: %v", msg.Offset, err)
        			continue
        		}
        		session.MarkMessage(msg, "")
        	}
        	return nil
        }
        """,
        4,
    ),
    bad(
        _DROPPED,
        "python",
        """
        from confluent_kafka import Consumer
        def run(self):
            while not self._stop.is_set():
                msg = self._consumer.poll(1.0)
                if msg is None or msg.error():
                    continue
                try:
                    self._apply(msg)
                except OperationalError:
                    logger.exception("ledger down")
                    self._stop.wait(5)
                    continue
                self._consumer.commit(message=msg, asynchronous=False)
        """,
        9,
    ),
    good(
        _DROPPED,
        "python",
        """
        from confluent_kafka import Consumer
        def run(self):
            while not self._stop.is_set():
                msg = self._consumer.poll(1.0)
                if msg is None or msg.error():
                    continue
                try:
                    self._apply(msg)
                except OperationalError:
                    logger.exception("ledger down")
                    self._consumer.seek(TopicPartition(msg.topic(), msg.partition(), msg.offset()))
                    continue
                self._consumer.commit(message=msg, asynchronous=False)
        """,
    ),
    good(
        _DROPPED,
        "python",
        """
        from confluent_kafka import Consumer
        def run(self):
            while not self._stop.is_set():
                msg = self._consumer.poll(1.0)
                while True:
                    try:
                        self._apply(msg)
                        break
                    except OperationalError:
                        logger.exception("ledger down")
                        self._stop.wait(5)
                self._consumer.commit(message=msg, asynchronous=False)
        """,
    ),
    bad(
        _DROPPED,
        "java",
        """
        class Loader {
            void run() {
                while (running) {
                    for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofSeconds(1))) {
                        try {
                            repository.insert(record.value());
                            consumer.commitSync(Map.of(partition(record), after(record)));
                        } catch (DataAccessException e) {
                            log.warn("record at {} not stored", record.offset(), e);
                        }
                    }
                }
            }
        }
        """,
        7,
    ),
    bad(
        _DROPPED,
        "csharp",
        """
        class Loader {
            async Task RunAsync(CancellationToken ct) {
                while (!ct.IsCancellationRequested) {
                    var result = _consumer.Consume(ct);
                    try {
                        await _store.InsertAsync(result.Message.Value, ct);
                        _consumer.Commit(result);
                    } catch (NpgsqlException ex) {
                        _logger.LogError(ex, "offset {Offset} not stored", result.Offset);
                    }
                }
            }
        }
        """,
        7,
    ),
    bad(
        _DROPPED,
        "rust",
        """
        async fn run(consumer: StreamConsumer, store: Store) -> Result<(), Error> {
            loop {
                let message = consumer.recv().await?;
                match store.insert(&message).await {
                    Ok(()) => consumer.commit_message(&message, CommitMode::Async)?,
                    Err(err) => tracing::error!(%err, "not stored"),
                }
            }
        }
        """,
        5,
    ),
    bad(
        _DROPPED,
        "typescript",
        """
        await consumer.run({
          eachBatchAutoResolve: false,
          eachBatch: async ({ batch, resolveOffset, heartbeat }) => {
            for (const message of batch.messages) {
              try {
                await store.insert(JSON.parse(message.value.toString()));
                resolveOffset(message.offset);
              } catch (err) {
                logger.error({ err }, "not stored");
              }
              await heartbeat();
            }
          },
        });
        """,
        8,
    ),
    # Messages that are kept in memory when they count as done.
    bad(
        _EARLY,
        "python",
        """
        class Loader:
            def on_message(self, msg):
                self._pending.append(msg)
                self._consumer.store_offsets(message=msg)
            def flush(self):
                self._db.insert("rows", self._pending)
                self._pending.clear()
        """,
        4,
    ),
    good(
        _EARLY,
        "python",
        """
        class Loader:
            def on_message(self, msg):
                self._pending.append(msg)
            def flush(self):
                self._db.insert("rows", self._pending)
                for msg in self._pending:
                    self._consumer.store_offsets(message=msg)
                self._pending.clear()
        """,
    ),
    bad(
        _EARLY,
        "go",
        """
        package load
        func (l *Loader) Run(ctx context.Context) error {
        	for {
        		msg, err := l.reader.FetchMessage(ctx)
        		if err != nil {
        			return err
        		}
        		l.batch = append(l.batch, msg)
        		if err := l.reader.CommitMessages(ctx, msg); err != nil {
        			return err
        		}
        	}
        }
        func (l *Loader) flush(ctx context.Context) error {
        	err := l.db.InsertAll(ctx, l.batch)
        	l.batch = l.batch[:0]
        	return err
        }
        """,
        9,
    ),
]
