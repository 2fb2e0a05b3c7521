"""Commits, uploads and archives whose error or whose end is lost."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_OUTCOME = "outcome-ignored"
_ERROR = "ignored-error"
_LOGGED = "failure-only-logged"
_DROPPED = "failed-message-dropped"

CASES = [
    bad(
        _ERROR,
        "go",
        """
        package store
        func save(ctx context.Context, db *sql.DB) error {
        	tx, err := db.BeginTx(ctx, nil)
        	if err != nil {
        		return err
        	}
        	defer tx.Commit()
        	_, err = tx.ExecContext(ctx, "INSERT INTO a VALUES (1)")
        	return err
        }
        """,
        7,
    ),
    good(
        _ERROR,
        "go",
        """
        package store
        func save(ctx context.Context, db *sql.DB) error {
        	tx, err := db.BeginTx(ctx, nil)
        	if err != nil {
        		return err
        	}
        	defer tx.Rollback()
        	if _, err = tx.ExecContext(ctx, "INSERT INTO a VALUES (1)"); err != nil {
        		return err
        	}
        	return tx.Commit()
        }
        """,
    ),
    bad(
        _LOGGED,
        "rust",
        """
        async fn save(pool: &PgPool, order: &Order) -> Result<(), Error> {
            let mut tx = pool.begin().await?;
            insert(&mut tx, order).await?;
            let _ = tx.commit().await;
            Ok(())
        }
        """,
        4,
    ),
    bad(
        _LOGGED,
        "rust",
        """
        use axum::{extract::State, http::StatusCode, Json};
        async fn revoke(State(store): State<Store>, Json(token): Json<Token>) -> StatusCode {
            let updated = store.update(&token).await;
            match updated {
                Ok(done) => tracing::info!(done, "token revoked"),
                Err(err) => {
                    tracing::error!(%err, "revoking token");
                }
            }
            StatusCode::OK
        }
        """,
        6,
    ),
    bad(
        _LOGGED,
        "python",
        """
        from contextlib import suppress
        def save(session, order):
            session.add(order)
            with suppress(Exception):
                session.commit()
            return {"status": "saved"}
        """,
        5,
    ),
    good(
        _LOGGED,
        "python",
        """
        from contextlib import suppress
        def save(session, order):
            session.add(order)
            with suppress(DuplicateOrder):
                session.commit()
            return {"status": "saved"}
        """,
    ),
    bad(
        _LOGGED,
        "javascript",
        """
        const app = require('express')();
        app.post('/webhooks/push', (req, res) => {
          queue.add('push', req.body).catch((err) => logger.error({ err }, 'not queued'));
          res.sendStatus(202);
        });
        app.post('/webhooks/orders', async (req, res) => {
          try {
            await orders.save(req.body);
          } catch (err) {
            logger.error({ err }, 'not stored');
          } finally {
            res.sendStatus(200);
          }
        });
        """,
        3,
        9,
    ),
    bad(
        _LOGGED,
        "javascript",
        """
        exports.handler = async (event) => {
          const order = JSON.parse(event.body);
          try {
            await table.put(order);
          } catch (err) {
            console.error('put failed', err);
          }
          return { statusCode: 200, body: 'ok' };
        };
        """,
        5,
    ),
    good(
        _LOGGED,
        "javascript",
        """
        exports.handler = async (event) => {
          const order = JSON.parse(event.body);
          try {
            await table.put(order);
          } catch (err) {
            console.error('put failed', err);
            return { statusCode: 503, body: 'try again' };
          }
          return { statusCode: 200, body: 'ok' };
        };
        """,
    ),
    bad(
        _DROPPED,
        "java",
        """
        class Processor implements ShardRecordProcessor {
            public void processRecords(ProcessRecordsInput input) {
                for (KinesisClientRecord record : input.records()) {
                    try {
                        store.insert(decode(record));
                    } catch (Exception e) {
                        log.error("record {} failed", record.sequenceNumber(), e);
                    }
                }
                input.checkpointer().checkpoint();
            }
        }
        """,
        6,
    ),
    bad(
        _OUTCOME,
        "go",
        """
        package pack
        import ("bytes"; "compress/gzip")
        func pack(data []byte) ([]byte, error) {
        	var buf bytes.Buffer
        	gz := gzip.NewWriter(&buf)
        	defer gz.Close()
        	if _, err := gz.Write(data); err != nil {
        		return nil, err
        	}
        	return buf.Bytes(), nil
        }
        """,
        6,
    ),
    good(
        _OUTCOME,
        "go",
        """
        package pack
        import ("bytes"; "compress/gzip")
        func pack(data []byte) ([]byte, error) {
        	var buf bytes.Buffer
        	gz := gzip.NewWriter(&buf)
        	if _, err := gz.Write(data); err != nil {
        		return nil, err
        	}
        	if err := gz.Close(); err != nil {
        		return nil, err
        	}
        	return buf.Bytes(), nil
        }
        """,
    ),
    bad(
        _OUTCOME,
        "rust",
        """
        fn compress(data: &[u8], path: &Path) -> io::Result<()> {
            let file = File::create(path)?;
            let mut encoder = GzEncoder::new(file, Compression::default());
            encoder.write_all(data)?;
            Ok(())
        }
        """,
        3,
    ),
    bad(
        _OUTCOME,
        "python",
        """
        import tempfile
        def convert(data, bucket):
            tmp = tempfile.NamedTemporaryFile(suffix=".csv")
            tmp.write(data)
            bucket.upload_file(tmp.name, "report.csv")
        """,
        3,
    ),
    good(
        _OUTCOME,
        "python",
        """
        import tempfile
        def convert(data, bucket):
            with tempfile.NamedTemporaryFile(suffix=".csv") as tmp:
                tmp.write(data)
                tmp.flush()
                bucket.upload_file(tmp.name, "report.csv")
        def keep(data, bucket):
            with tempfile.NamedTemporaryFile(delete=False) as out:
                out.write(data)
            bucket.upload_file(out.name, "report.csv")
        """,
    ),
]
