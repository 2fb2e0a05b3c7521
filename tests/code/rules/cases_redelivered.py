"""Messages that come again, and answers to brokers that fail."""

from __future__ import annotations

from tests.code.rules.cases import good

CASES = [
    good(
        "unguarded-parse",
        "python",
        """
        import json

        def run(consumer, store):
            while True:
                record = consumer.poll(1.0)
                store.save(json.loads(record.value()))
                consumer.commit(message=record)
        """,
    ),
    good(
        "failed-message-dropped",
        "rust",
        """
        async fn consume(mut notes: Stream, store: Store) -> Result<()> {
            while let Some(note) = notes.next().await {
                if let Err(error) = note.ack_with(AckKind::Progress).await {
                    tracing::warn!(%error, "progress");
                }
                store.save(&note.payload).await?;
                note.ack().await?;
            }
            Ok(())
        }
        """,
    ),
]
