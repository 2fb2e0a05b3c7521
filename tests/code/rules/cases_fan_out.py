"""One task for every item: the forms of eight languages, and limits that make it right."""

# ruff: noqa: E101, E501  (snippets of Go; a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_RULE = "unbounded-fan-out"
_PY, _JS, _TS, _GO, _JAVA, _RUST, _CS, _KT = (
    "python", "javascript", "typescript", "go", "java", "rust", "csharp", "kotlin",
)  # fmt: skip

CASES = [
    bad(
        _RULE,
        _PY,
        """
        import asyncio
        import httpx

        async def probe(client: httpx.AsyncClient, host):
            return await client.get(f"http://{host}/")

        async def sweep(store, site):
            hosts = await store.hosts(site)
            async with httpx.AsyncClient(timeout=5, limits=httpx.Limits(max_connections=None)) as client:
                return await asyncio.gather(*(probe(client, host) for host in hosts))

        async def sweep_again(client, hosts):
            tasks = []
            for host in hosts:
                tasks.append(probe(client, host))
            return await asyncio.gather(*tasks)

        async def sweep_in_group(client, hosts):
            async with asyncio.TaskGroup() as group:
                for host in hosts:
                    group.create_task(probe(client, host))

        async def first_ones(client, hosts):
            for done in asyncio.as_completed([probe(client, host) for host in hosts]):
                await done
        """,
        10,
        16,
        21,
        24,
    ),
    good(
        _RULE,
        _PY,
        """
        import asyncio
        import httpx

        HOSTS = ["a", "b"]
        client = httpx.AsyncClient(timeout=5)

        async def probe(host):
            return await client.get(f"http://{host}/")

        async def known():
            return await asyncio.gather(*(probe(host) for host in HOSTS))

        async def two(a, b):
            return await asyncio.gather(probe(a), probe(b))

        async def in_parts(hosts):
            for at in range(0, len(hosts), 20):
                await asyncio.gather(*(probe(host) for host in hosts[at : at + 20]))

        async def guarded(hosts):
            gate = asyncio.Semaphore(20)

            async def one(host):
                async with gate:
                    return await probe(host)

            return await asyncio.gather(*(one(host) for host in hosts))

        async def few(store):
            hosts = await store.hosts(limit=20)
            return await asyncio.gather(*(probe(host) for host in hosts))
        """,
    ),
    bad(
        _RULE,
        _TS,
        """
        import pLimit from 'p-limit';
        const limitWrites = pLimit(5);
        export class Prices {
          constructor(private readonly products: Products, private readonly api: SupplierApi) {}
          async run() {
            const skus = await this.products.active();
            const prices = await Promise.allSettled(skus.map((sku) => this.api.price(sku)));
            await Promise.all(prices.map((p) => limitWrites(() => this.products.save(p))));
          }
          async again(ids: string[]) {
            const pending: Promise<void>[] = [];
            for (const id of ids) {
              pending.push(this.api.price(id));
            }
            await Promise.all(pending);
          }
        }
        """,
        7,
        15,
    ),
    good(
        _RULE,
        _TS,
        """
        import pLimit from 'p-limit';
        const limit = pLimit(5);
        export class Prices {
          private readonly shards = ['a', 'b'];
          async run() {
            await Promise.all(this.shards.map((shard) => this.api.refresh(shard)));
            const ids = await this.products.active();
            await Promise.all(ids.map((id) => limit(() => this.api.price(id))));
            await Promise.all([this.api.price(ids.map((id) => id.sku)), this.api.total()]);
            for (const chunk of chunks(ids, 20)) {
              await Promise.all(chunk.map((id) => this.api.price(id)));
            }
            const names = ids.map((id) => id.name);
            const sums = await Promise.all(names.map(async (name) => name.length));
          }
        }
        """,
    ),
    bad(
        _RULE,
        _GO,
        """
        package a

        import (
        	"context"
        	"sync"

        	"golang.org/x/sync/errgroup"
        )

        func (s *Sender) Send(ctx context.Context, list string) error {
        	recipients, err := s.subs.Active(ctx, list)
        	if err != nil {
        		return err
        	}
        	var g errgroup.Group
        	for _, to := range recipients {
        		g.Go(func() error {
        			return s.mailer.Send(ctx, to)
        		})
        	}
        	return g.Wait()
        }

        func (s *Sender) Restore(ctx context.Context, keys []string) error {
        	g, ctx := errgroup.WithContext(ctx)
        	for _, key := range keys {
        		g.Go(func() error { return s.one(ctx, key) })
        	}
        	return g.Wait()
        }

        func (s *Sender) one(ctx context.Context, key string) error {
        	_, err := s.bucket.GetObject(ctx, key)
        	return err
        }

        func (s *Sender) Both(ctx context.Context, keys []string) {
        	var wg sync.WaitGroup
        	for _, key := range keys {
        		wg.Add(1)
        		go func(key string) {
        			defer wg.Done()
        			s.bucket.GetObject(ctx, key)
        		}(key)
        	}
        	wg.Wait()
        }
        """,
        17,
        27,
        41,
    ),
    good(
        _RULE,
        _GO,
        """
        package a

        import (
        	"context"

        	"golang.org/x/sync/errgroup"
        )

        func (s *Sender) Send(ctx context.Context, recipients []string) error {
        	var g errgroup.Group
        	g.SetLimit(16)
        	for _, to := range recipients {
        		g.Go(func() error { return s.mailer.Send(ctx, to) })
        	}
        	return g.Wait()
        }

        func (s *Sender) Slots(ctx context.Context, recipients []string) {
        	slots := make(chan struct{}, 16)
        	for _, to := range recipients {
        		slots <- struct{}{}
        		go func() {
        			defer func() { <-slots }()
        			s.mailer.Send(ctx, to)
        		}()
        	}
        }

        func Sums(parts [][]int) {
        	for _, part := range parts {
        		go sum(part)
        	}
        }
        """,
    ),
    bad(
        _RULE,
        _JAVA,
        """
        import java.util.List;
        import java.util.concurrent.Executors;
        class Mailer {
          private final SmtpClient client;
          void all(List<String> to) {
            try (var executor = Executors.newVirtualThreadPerTaskExecutor()) {
              for (String each : to) {
                executor.submit(() -> client.send(each));
              }
            }
          }
          void threads(List<String> to) {
            for (String each : to) {
              new Thread(() -> client.send(each)).start();
            }
          }
        }
        """,
        8,
        14,
    ),
    good(
        _RULE,
        _JAVA,
        """
        import java.util.List;
        import java.util.concurrent.ExecutorService;
        import java.util.concurrent.Semaphore;
        class Mailer {
          private final SmtpClient client;
          private final ExecutorService mails;
          void all(List<String> to) {
            for (String each : to) {
              mails.submit(() -> client.send(each));
            }
          }
          void threads() {
            for (int i = 0; i < 4; i++) {
              new Thread(() -> client.send("a")).start();
            }
          }
        }
        """,
    ),
    bad(
        _RULE,
        _RUST,
        """
        use futures::future::join_all;
        use futures::stream::FuturesUnordered;
        use tokio::task::JoinSet;

        async fn fetch(client: &reqwest::Client, url: String) -> Result<String, reqwest::Error> {
            client.get(url).send().await?.text().await
        }
        async fn all(client: &reqwest::Client, urls: Vec<String>) {
            join_all(urls.into_iter().map(|url| fetch(client, url))).await;
        }
        async fn set(client: reqwest::Client, urls: Vec<String>) {
            let mut set = JoinSet::new();
            for url in urls {
                set.spawn(async move { fetch(&client, url).await });
            }
        }
        async fn unordered(client: &reqwest::Client, urls: Vec<String>) {
            let mut running = FuturesUnordered::new();
            for url in urls {
                running.push(fetch(client, url));
            }
        }
        async fn spawned(client: reqwest::Client, urls: Vec<String>) {
            for url in urls {
                tokio::spawn(async move { fetch(&client, url).await });
            }
        }
        """,
        9,
        14,
        20,
        25,
    ),
    good(
        _RULE,
        _RUST,
        """
        use futures::stream::{self, FuturesUnordered, StreamExt};
        use std::sync::Arc;
        use tokio::sync::Semaphore;
        use tokio::task::JoinSet;

        async fn fetch(client: &reqwest::Client, url: String) -> Result<String, reqwest::Error> {
            client.get(url).send().await?.text().await
        }
        async fn buffered(client: &reqwest::Client, urls: Vec<String>) {
            stream::iter(urls).map(|url| fetch(client, url)).buffer_unordered(16).collect::<Vec<_>>().await;
        }
        async fn set(client: reqwest::Client, urls: Vec<String>) {
            let permits = Arc::new(Semaphore::new(16));
            let mut set = JoinSet::new();
            for url in urls {
                let permit = permits.clone().acquire_owned().await;
                set.spawn(async move { let _held = permit; fetch(&client, url).await });
            }
        }
        async fn unordered(client: &reqwest::Client, urls: Vec<String>) {
            let mut running = FuturesUnordered::new();
            for url in urls {
                if running.len() >= 16 { running.next().await; }
                running.push(fetch(client, url));
            }
        }
        """,
    ),
    bad(
        _RULE,
        _CS,
        """
        class Importer {
          private readonly ISupplierApi _api;
          public async Task Run(IReadOnlyList<string> skus) {
            var tasks = new List<Task>();
            foreach (var sku in skus) {
              tasks.Add(_api.LoadAsync(sku));
            }
            await Task.WhenAll(tasks);
          }
          public Task Again(IReadOnlyList<string> skus) => Task.WhenAll(skus.Select(sku => _api.LoadAsync(sku)));
          public async Task Third(IReadOnlyList<string> skus) {
            var loads = skus.Select(async sku => await _api.LoadAsync(sku)).ToList();
            await Task.WhenAll(loads);
          }
        }
        """,
        8,
        10,
        13,
    ),
    good(
        _RULE,
        _CS,
        """
        class Importer {
          private readonly ISupplierApi _api;
          private readonly SemaphoreSlim _slots = new(8);
          public async Task Run(IReadOnlyList<string> skus) {
            await Task.WhenAll(skus.Select(sku => OneAsync(sku)));
            await Task.WhenAll(_api.LoadAsync("a"), _api.LoadAsync("b"));
            await Parallel.ForEachAsync(skus, async (sku, ct) => await _api.LoadAsync(sku));
            foreach (var part in skus.Chunk(20)) {
              await Task.WhenAll(part.Select(sku => _api.LoadAsync(sku)));
            }
          }
          private async Task OneAsync(string sku) {
            await _slots.WaitAsync();
            try { await _api.LoadAsync(sku); } finally { _slots.Release(); }
          }
        }
        """,
    ),
    bad(
        _RULE,
        _KT,
        """
        import kotlinx.coroutines.async
        import kotlinx.coroutines.awaitAll
        import kotlinx.coroutines.coroutineScope
        import kotlinx.coroutines.launch
        class Prices(private val api: SupplierApi) {
            suspend fun all(skus: List<String>) = coroutineScope {
                skus.map { sku -> async { api.price(sku) } }.awaitAll()
            }
            suspend fun each(skus: List<String>) = coroutineScope {
                skus.forEach { sku -> launch { api.price(sku) } }
            }
            suspend fun loop(skus: List<String>) = coroutineScope {
                for (sku in skus) {
                    launch { api.price(sku) }
                }
            }
        }
        """,
        7,
        10,
        14,
    ),
    good(
        _RULE,
        _KT,
        """
        import kotlinx.coroutines.async
        import kotlinx.coroutines.awaitAll
        import kotlinx.coroutines.coroutineScope
        import kotlinx.coroutines.launch
        import kotlinx.coroutines.sync.Semaphore
        import kotlinx.coroutines.sync.withPermit
        class Prices(private val api: SupplierApi) {
            private val permits = Semaphore(10)
            suspend fun all(skus: List<String>) = coroutineScope {
                skus.map { sku -> async { permits.withPermit { api.price(sku) } } }.awaitAll()
            }
            suspend fun parts(skus: List<String>) = coroutineScope {
                skus.chunked(20).forEach { part -> part.map { sku -> async { api.price(sku) } }.awaitAll() }
            }
            suspend fun two(sku: String) = coroutineScope {
                launch { api.price(sku) }
                launch { api.stock(sku) }
            }
        }
        """,
    ),
    bad(
        _RULE,
        _PY,
        """
        import asyncio

        async def convert(path):
            child = await asyncio.create_subprocess_exec("convert", path)
            await asyncio.wait_for(child.wait(), 60)

        async def convert_all(folder):
            await asyncio.gather(*[convert(path) for path in folder.rglob("*.png")])
        """,
        8,
    ),
    bad(
        _RULE,
        _GO,
        """
        package a
        import "golang.org/x/sync/errgroup"
        func mirror(ctx context.Context, list io.Reader) error {
            group, ctx := errgroup.WithContext(ctx)
            scanner := bufio.NewScanner(list)
            for scanner.Scan() {
                url := scanner.Text()
                group.Go(func() error { return download(ctx, url) })
            }
            return group.Wait()
        }
        """,
        8,
    ),
    good(
        _RULE,
        _GO,
        """
        package a
        import "golang.org/x/sync/errgroup"
        func mirror(ctx context.Context, list io.Reader) error {
            group, ctx := errgroup.WithContext(ctx)
            group.SetLimit(8)
            scanner := bufio.NewScanner(list)
            for scanner.Scan() {
                url := scanner.Text()
                group.Go(func() error { return download(ctx, url) })
            }
            return group.Wait()
        }
        """,
    ),
]
