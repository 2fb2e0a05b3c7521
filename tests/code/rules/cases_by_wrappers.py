"""What rules find in loops that end with the program, through types, and through other wrappers."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import bad, good

CASES = [
    # Retries in a loop that ends when the program does.
    bad(
        "retry-without-backoff",
        "python",
        """
        class Mirror:
            def copy(self, item):
                while not self._stopped.is_set():
                    try:
                        requests.put(item.url, data=item.data, timeout=5).raise_for_status()
                        return
                    except requests.RequestException:
                        log.warning("again")
        """,
        3,
    ),
    good(
        "retry-without-backoff",
        "python",
        """
        class Mirror:
            def copy(self, item):
                pause = 1
                while not self._stopped.is_set():
                    try:
                        requests.put(item.url, data=item.data, timeout=5).raise_for_status()
                        return
                    except requests.RequestException:
                        self._stopped.wait(pause)
                        pause = min(60, pause * 2)
        """,
    ),
    bad(
        "busy-loop",
        "go",
        """
        package batch

        import "time"

        func (w *Writer) loop() {
        	for {
        		select {
        		case row := <-w.rows:
        			w.add(row)
        		default:
        			if time.Since(w.written) > w.every {
        				w.write()
        			}
        		}
        	}
        }
        """,
        10,
    ),
    bad(
        "retry-of-non-idempotent-call",
        "csharp",
        """
        public static class Setup
        {
            public static void Add(IServiceCollection services)
            {
                var again = HttpPolicyExtensions.HandleTransientHttpError().RetryAsync(2);
                services.AddHttpClient<OrderApi>().AddPolicyHandler(again);
            }
        }

        public class OrderApi(HttpClient http)
        {
            public async Task PlaceAsync(Order order) =>
                (await http.PostAsJsonAsync("orders", order)).EnsureSuccessStatusCode();
        }
        """,
        13,
    ),
    good(
        "retry-of-non-idempotent-call",
        "csharp",
        """
        public static class Setup
        {
            public static void Add(IServiceCollection services)
            {
                var again = HttpPolicyExtensions.HandleTransientHttpError().RetryAsync(2);
                services.AddHttpClient<OrderApi>().AddPolicyHandler(
                    request => request.Method == HttpMethod.Get ? again : none);
            }
        }

        public class OrderApi(HttpClient http)
        {
            public async Task PlaceAsync(Order order) =>
                (await http.PostAsJsonAsync("orders", order)).EnsureSuccessStatusCode();
        }
        """,
    ),
    bad(
        "fire-and-forget",
        "typescript",
        """
        export class Orders {
          async close(id: string): Promise<void> {
            await this.store.close(id);
            void this.tell(id);
          }

          private async tell(id: string): Promise<void> {
            await this.mail.send(id);
          }
        }
        """,
        4,
    ),
    good(
        "fire-and-forget",
        "typescript",
        """
        export class Orders {
          async close(id: string): Promise<void> {
            await this.store.close(id);
            void this.tell(id);
          }

          private async tell(id: string): Promise<void> {
            try {
              await this.mail.send(id);
            } catch (error) {
              this.log.error(error);
            }
          }
        }
        """,
    ),
    bad(
        "whole-file-loaded",
        "rust",
        """
        use std::fs;
        use anyhow::Context;

        fn total(path: &Path) -> anyhow::Result<u64> {
            let text = fs::read_to_string(path).context("no such export")?;
            let mut sum = 0;
            for row in text.lines() {
                sum += row.parse::<u64>()?;
            }
            Ok(sum)
        }
        """,
        5,
    ),
    bad(
        "secret-in-log",
        "csharp",
        """
        public record QueueOptions
        {
            public string Host { get; init; } = "";
            public string Password { get; init; } = "";
        }

        public class Startup(ILogger<Startup> logger)
        {
            public void Read(IConfiguration configuration)
            {
                var options = configuration.GetSection("Queue").Get<QueueOptions>();
                logger.LogInformation("Queue: {Options}", options);
            }
        }
        """,
        12,
    ),
    bad(
        "race-between-tasks",
        "python",
        """
        import asyncio
        from sqlalchemy.ext.asyncio import AsyncSession

        async def _sold(db: AsyncSession, shop):
            return (await db.execute(SOLD, shop)).scalar()

        async def _returned(db: AsyncSession, shop):
            return (await db.execute(RETURNED, shop)).scalar()

        async def numbers(db: AsyncSession, shop):
            return await asyncio.gather(_sold(db, shop), _returned(db, shop))
        """,
        11,
    ),
    good(
        "race-between-tasks",
        "python",
        """
        import asyncio
        from sqlalchemy.ext.asyncio import AsyncSession

        async def _sold(db: AsyncSession, shop):
            return (await db.execute(SOLD, shop)).scalar()

        async def numbers(one: AsyncSession, other: AsyncSession, shop):
            return await asyncio.gather(_sold(one, shop), _sold(other, shop))
        """,
    ),
    bad(
        "nested-search",
        "python",
        """
        def unite(rows):
            people = []
            for row in rows:
                person = read(row)
                same = next((each for each in people if each.email == person.email), None)
                if same is None:
                    people.append(person)
            return people
        """,
        5,
    ),
    bad(
        "failed-message-dropped",
        "typescript",
        """
        export const handler = async (event: SQSEvent) => {
          const batchItemFailures = [];
          for (const record of event.Records) {
            try {
              await book(JSON.parse(record.body));
            } catch (error) {
              console.error(error);
            }
          }
          return { batchItemFailures };
        };
        """,
        6,
    ),
    good(
        "failed-message-dropped",
        "typescript",
        """
        export const handler = async (event: SQSEvent) => {
          const batchItemFailures = [];
          for (const record of event.Records) {
            try {
              await book(JSON.parse(record.body));
            } catch (error) {
              console.error(error);
              batchItemFailures.push({ itemIdentifier: record.messageId });
            }
          }
          return { batchItemFailures };
        };
        """,
    ),
    bad(
        "lock-held-over-io",
        "typescript",
        """
        import { Mutex } from 'async-mutex';

        export class Prices {
          private readonly mutex = new Mutex();

          async of(code: string) {
            return this.mutex.runExclusive(async () => {
              const answer = await fetch(`${this.url}/${code}`, { signal: AbortSignal.timeout(2000) });
              return answer.json();
            });
          }
        }
        """,
        8,
    ),
    bad(
        "deadlock",
        "java",
        """
        import java.util.concurrent.*;

        class Search {
            private final ExecutorService threads = fixed(4);

            private static ExecutorService fixed(int count) {
                return Executors.newFixedThreadPool(count);
            }

            Future<Integer> all(Query query) {
                return threads.submit(() -> count(query));
            }

            int count(Query query) throws Exception {
                Future<Integer> part = threads.submit(() -> query.run());
                return part.get(2, TimeUnit.SECONDS);
            }
        }
        """,
        15,
    ),
    bad(
        "request-outlived",
        "go",
        """
        package web

        import (
        	"context"
        	"net/http"
        	"time"
        )

        func (s *Server) order(w http.ResponseWriter, r *http.Request) {
        	limited, cancel := context.WithTimeout(r.Context(), time.Second)
        	defer cancel()
        	go s.mail.Confirm(limited, r.FormValue("id"))
        	w.WriteHeader(http.StatusAccepted)
        }
        """,
        12,
    ),
    bad(
        "worker-ends-with-one-item",
        "rust",
        """
        async fn serve(door: TcpListener) -> std::io::Result<()> {
            loop {
                let (guest, _) = door.accept().await?;
                tokio::spawn(talk(guest));
            }
        }
        """,
        3,
    ),
    good(
        "worker-ends-with-one-item",
        "rust",
        """
        async fn serve(door: TcpListener) -> std::io::Result<()> {
            loop {
                let (guest, _) = match door.accept().await {
                    Ok(pair) => pair,
                    Err(error) => { warn!(%error); continue; }
                };
                tokio::spawn(talk(guest));
            }
        }
        """,
    ),
    bad(
        "file-written-in-place",
        "java",
        """
        import java.nio.file.Files;

        class Offsets {
            private final java.nio.file.Path state;

            Map<String, Long> load() throws java.io.IOException {
                return mapper.readValue(state.toFile(), TYPE);
            }

            void save(Map<String, Long> offsets) throws java.io.IOException {
                Files.write(state, mapper.writeValueAsBytes(offsets));
            }
        }
        """,
        11,
    ),
    bad(
        "unbounded-fan-out",
        "rust",
        """
        use futures::future::join_all;

        struct Settings {
            articles: PathBuf,
        }

        async fn download(client: &reqwest::Client, article: &str) -> reqwest::Result<String> {
            client.get(article).send().await?.text().await
        }

        async fn crawl(client: &reqwest::Client, settings: &Settings) {
            let articles = named_in(&settings.articles).await;
            join_all(articles.iter().map(|article| download(client, article))).await;
        }
        """,
        13,
    ),
]
