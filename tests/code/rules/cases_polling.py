"""Tickers, loops that poll without a pause, and other work that never ends."""

# ruff: noqa: E101  (snippets of Go; a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_BUSY = "busy-loop"
_PY = "python"
_JS = "javascript"
_GO = "go"
_JAVA = "java"
_RUST = "rust"
_KT = "kotlin"
_TICKER = "ticker-not-stopped"

CASES = [
    bad(
        _TICKER,
        _GO,
        """
        package a

        import "time"

        func (h *Hub) watch(conn *Conn) {
        	ticker := time.NewTicker(time.Second)
        	for {
        		select {
        		case <-conn.closed:
        			return
        		case <-ticker.C:
        			conn.ping()
        		}
        	}
        }
        """,
        6,
    ),
    good(
        _TICKER,
        _GO,
        """
        package a

        import "time"

        func (h *Hub) watch(conn *Conn) {
        	ticker := time.NewTicker(time.Second)
        	defer ticker.Stop()
        	for {
        		select {
        		case <-conn.closed:
        			return
        		case <-ticker.C:
        			conn.ping()
        		}
        	}
        }

        func made() *time.Ticker {
        	ticker := time.NewTicker(time.Second)
        	return ticker
        }

        func run() {
        	ticker := time.NewTicker(time.Second)
        	for range ticker.C {
        		work()
        	}
        }
        """,
    ),
    bad(
        _BUSY,
        _JS,
        """
        async function waitFor(client, id) {
          let job = await client.getExport(id);
          while (job.status !== 'done') {
            job = await client.getExport(id);
          }
          return job.url;
        }
        """,
        3,
    ),
    good(
        _BUSY,
        _JS,
        """
        async function waitFor(client, id) {
          let job = await client.getExport(id);
          while (job.status !== 'done') {
            await sleep(1000);
            job = await client.getExport(id);
          }
          return job.url;
        }
        """,
    ),
    bad(
        _BUSY,
        _KT,
        """
        class Worker(private val repo: JobRepository) {
            fun run() {
                while (running) {
                    val job = repo.findNextPending()
                    if (job != null) {
                        process(job)
                    }
                }
            }
        }
        """,
        4,
    ),
    bad(
        "unbounded-fan-out",
        _RUST,
        """
        pub async fn push_all(client: reqwest::Client, devices: Vec<Device>) {
            let handles: Vec<_> = devices
                .into_iter()
                .map(|device| tokio::spawn(push(client.clone(), device)))
                .collect();
            futures::future::join_all(handles).await;
        }
        async fn push(client: reqwest::Client, device: Device) {
            client.post(&device.url).send().await.unwrap();
        }
        """,
        4,
    ),
    bad(
        "unbounded-fan-out",
        _JAVA,
        """
        import java.util.*;
        import java.util.concurrent.*;
        class Mailing {
          private final ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor();
          void send(List<Recipient> recipients) {
            for (Recipient each : recipients) {
              CompletableFuture.runAsync(() -> gateway.deliver(each), executor);
            }
          }
        }
        """,
        7,
    ),
    bad(
        "released-on-success-only",
        _KT,
        """
        import javax.sql.DataSource
        class StockDao(private val ds: DataSource) {
            fun stock(sku: String): Int {
                val con = ds.connection
                val found = con.prepareStatement("SELECT 1").executeQuery()
                con.close()
                return read(found)
            }
        }
        """,
        4,
    ),
    good(
        "released-on-success-only",
        _KT,
        """
        import javax.sql.DataSource
        class StockDao(private val ds: DataSource) {
            fun stock(sku: String): Int = ds.connection.use { read(it) }
            fun other(sku: String): Int {
                val con = ds.connection
                try {
                    return read(con)
                } finally {
                    con.close()
                }
            }
        }
        """,
    ),
    bad(
        "loaded-by-every-caller",
        _JAVA,
        """
        import java.util.concurrent.ConcurrentHashMap;
        class HitCounter {
          private final ConcurrentHashMap<String, Integer> hits = new ConcurrentHashMap<>();
          void record(String page) {
            Integer n = hits.get(page);
            hits.put(page, n == null ? 1 : n + 1);
          }
          void merged(String page) { hits.merge(page, 1, Integer::sum); }
        }
        """,
        6,
    ),
    bad(
        "loaded-by-every-caller",
        _PY,
        """
        import time
        class Bank:
            async def _bearer(self):
                if self._token is None or time.monotonic() >= self._expires:
                    resp = await self._http.post("/token")
                    self._token = resp.json()["access_token"]
                return self._token
        """,
        5,
    ),
    bad(
        "busy-loop",
        "go",
        """
        package a
        func (b *Batcher) Run(ctx context.Context) {
            var events []Event
            for {
                select {
                case event := <-b.queue:
                    events = append(events, event)
                case <-ctx.Done():
                    return
                default:
                }
                if len(events) >= 100 {
                    b.flush(ctx, events)
                    events = nil
                }
            }
        }
        """,
        10,
    ),
]
