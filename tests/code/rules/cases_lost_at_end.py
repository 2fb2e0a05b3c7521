"""Errors that are lost at the end of a write, of a loop over pages, or of a request."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_OUTCOME = "outcome-ignored"
_ERROR = "ignored-error"
_DATA = "failure-taken-for-data"
_SUCCESS = "error-answered-as-success"
_DROPPED = "failed-message-dropped"
_LOGGED = "failure-only-logged"

CASES = [
    bad(
        _OUTCOME,
        "go",
        """
        package export
        import ("encoding/csv"; "os")
        func Export(path string, rows [][]string) error {
        	f, err := os.Create(path)
        	if err != nil {
        		return err
        	}
        	defer f.Close()
        	w := csv.NewWriter(f)
        	for _, row := range rows {
        		if err := w.Write(row); err != nil {
        			return err
        		}
        	}
        	w.Flush()
        	return nil
        }
        """,
        15,
    ),
    good(
        _OUTCOME,
        "go",
        """
        package export
        import ("encoding/csv"; "os")
        func Export(f *os.File, rows [][]string) error {
        	w := csv.NewWriter(f)
        	for _, row := range rows {
        		if err := w.Write(row); err != nil {
        			return err
        		}
        	}
        	w.Flush()
        	return w.Error()
        }
        """,
    ),
    bad(
        _OUTCOME,
        "rust",
        """
        use tokio::fs::File;
        use tokio::io::AsyncWriteExt;
        async fn save(path: &Path, data: &[u8]) -> Result<()> {
            let mut file = File::create(path).await?;
            file.write_all(data).await?;
            tokio::fs::rename(path, path.with_extension("done")).await?;
            Ok(())
        }
        """,
        4,
    ),
    good(
        _OUTCOME,
        "rust",
        """
        use tokio::fs::File;
        use tokio::io::AsyncWriteExt;
        async fn save(path: &Path, data: &[u8]) -> Result<()> {
            let mut file = File::create(path).await?;
            file.write_all(data).await?;
            file.sync_all().await?;
            Ok(())
        }
        async fn copy(path: &Path, mut body: Body) -> Result<()> {
            let mut file = File::create(path).await?;
            tokio::io::copy(&mut body, &mut file).await?;
            Ok(())
        }
        """,
    ),
    bad(
        _ERROR,
        "go",
        """
        package upload
        import "cloud.google.com/go/storage"
        func Upload(ctx context.Context, client *storage.Client, data []byte) error {
        	w := client.Bucket("b").Object("o").NewWriter(ctx)
        	defer w.Close()
        	_, err := w.Write(data)
        	return err
        }
        """,
        5,
    ),
    good(
        _ERROR,
        "go",
        """
        package upload
        import "cloud.google.com/go/storage"
        func Upload(ctx context.Context, client *storage.Client, data []byte) error {
        	w := client.Bucket("b").Object("o").NewWriter(ctx)
        	if _, err := w.Write(data); err != nil {
        		return err
        	}
        	return w.Close()
        }
        """,
    ),
    bad(
        _DATA,
        "javascript",
        """
        async function allItems(base) {
          const all = [];
          for (let page = 1; ; page++) {
            const res = await fetch(`${base}/items?page=${page}`, { signal: AbortSignal.timeout(5000) });
            if (!res.ok) break;
            const items = await res.json();
            if (items.length === 0) break;
            all.push(...items);
          }
          return all;
        }
        """,
        5,
    ),
    good(
        _DATA,
        "javascript",
        """
        async function allItems(base) {
          const all = [];
          for (let page = 1; ; page++) {
            const res = await fetch(`${base}/items?page=${page}`, { signal: AbortSignal.timeout(5000) });
            if (res.status === 404) break;
            if (!res.ok) throw new Error(`page ${page}: ${res.status}`);
            all.push(...(await res.json()));
          }
          return all;
        }
        """,
    ),
    bad(
        _SUCCESS,
        "go",
        """
        package api
        import "net/http"
        func (a *API) Create(w http.ResponseWriter, r *http.Request) {
        	order, err := a.read(r)
        	if err != nil {
        		http.Error(w, "bad order", http.StatusBadRequest)
        		return
        	}
        	if err := a.orders.Save(r.Context(), order); err != nil {
        		a.log.Errorf("order not stored: %v", err)
        		return
        	}
        	w.WriteHeader(http.StatusCreated)
        }
        """,
        9,
    ),
    good(
        _SUCCESS,
        "go",
        """
        package api
        import "net/http"
        func (a *API) Watch(w http.ResponseWriter, r *http.Request) {
        	conn, err := a.upgrader.Upgrade(w, r, nil)
        	if err != nil {
        		a.log.Errorf("upgrade: %v", err)
        		return
        	}
        	if err := a.serve(conn); err != nil {
        		a.log.Errorf("serve: %v", err)
        		return
        	}
        }
        """,
    ),
    bad(
        _DROPPED,
        "go",
        """
        package main
        func handler(ctx context.Context, event events.SQSEvent) error {
        	for _, record := range event.Records {
        		if err := process(ctx, record); err != nil {
        			slog.Error("record failed", "err", err)
        		}
        	}
        	return nil
        }
        """,
        4,
    ),
    bad(
        _DROPPED,
        "typescript",
        """
        export const handler = async (event: SQSEvent): Promise<void> => {
          await Promise.all(event.Records.map(async (record) => {
            try {
              await orders.apply(JSON.parse(record.body));
            } catch (err) {
              logger.error({ err }, "record failed");
            }
          }));
        };
        """,
        5,
    ),
    bad(
        _DROPPED,
        "java",
        """
        class Relay {
            void relay() {
                List<Row> rows = outbox.pending();
                for (Row row : rows) {
                    try {
                        template.send(row.topic(), row.payload()).get(5, TimeUnit.SECONDS);
                    } catch (Exception e) {
                        log.error("publish failed", e);
                    }
                }
                outbox.markSent(rows);
            }
        }
        """,
        7,
    ),
    good(
        _DROPPED,
        "java",
        """
        class Relay {
            void relay() {
                List<Row> rows = outbox.pending();
                List<Row> sent = new ArrayList<>();
                for (Row row : rows) {
                    try {
                        template.send(row.topic(), row.payload()).get(5, TimeUnit.SECONDS);
                        sent.add(row);
                    } catch (Exception e) {
                        log.error("publish failed", e);
                    }
                }
                outbox.markSent(sent);
            }
        }
        """,
    ),
    bad(
        _LOGGED,
        "kotlin",
        """
        class Hook(private val service: Service) {
            @PostMapping("/hooks/orders")
            fun hook(@RequestBody order: OrderEvent): ResponseEntity<Void> {
                runCatching { service.apply(order) }.onFailure { log.error("order failed", it) }
                return ResponseEntity.ok().build()
            }
        }
        """,
        4,
    ),
]
