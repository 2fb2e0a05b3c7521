"""Tasks of all pages at once, lists that grow, and calls behind type arguments and functions."""

# ruff: noqa: E101, E501  (snippets of Go and of other languages)

from __future__ import annotations

from tests.code.rules.cases import bad, good

CASES = [
    bad(
        "unbounded-fan-out",
        "python",
        """
        import asyncio
        import httpx

        URLS = ["a", "b"]

        async def one(client: httpx.AsyncClient):
            tasks = []
            async for page in pages():
                tasks.extend(fetch(client, item) for item in page)
            return await asyncio.gather(*tasks)

        async def two(client: httpx.AsyncClient, pool):
            rows = await pool.fetch("SELECT id FROM account")
            ids = [row["id"] for row in rows]
            return await asyncio.gather(*[fetch(client, each) for each in ids])

        async def three(client: httpx.AsyncClient):
            names = ["a", "b", "c"]
            return await asyncio.gather(*[fetch(client, each) for each in names])

        async def four(client: httpx.AsyncClient):
            names = [url + "/x" for url in URLS]
            return await asyncio.gather(*[fetch(client, each) for each in names])

        async def five(client: httpx.AsyncClient, pool):
            out = []
            for page in await chunks(pool):
                tasks = []
                tasks.extend(fetch(client, each) for each in page)
                out += await asyncio.gather(*tasks)
            return out

        async def fetch(client: httpx.AsyncClient, item):
            return (await client.get(f"/x/{item}", timeout=3)).json()
        """,
        10,
        15,
    ),
    bad(
        "unbounded-fan-out",
        "typescript",
        """
        import axios from 'axios';
        export async function poll(db: Db) {
          const pending: Promise<void>[] = [];
          let after = 0;
          while (true) {
            const meters = await db.page(after);
            if (!meters.length) break;
            for (const meter of meters) pending.push(read(meter));
            after = meters.at(-1)!.id;
          }
          await Promise.all(pending);
        }
        export async function good(db: Db) {
          let after = 0;
          while (true) {
            const pending: Promise<void>[] = [];
            const meters = await db.page(after);
            if (!meters.length) break;
            pending.push(...meters.map((m) => read(m)));
            await Promise.all(pending);
            after = meters.at(-1)!.id;
          }
        }
        async function read(meter: Meter): Promise<void> { await axios.get(`/m/${meter.id}`, { timeout: 1000 }); }
        """,
        11,
    ),
    bad(
        "unbounded-fan-out",
        "javascript",
        """
        import axios from 'axios';
        const read = (meter) => axios.get(`/meters/${meter.serial}`, { timeout: 1000 });
        export async function poll(db) {
          const pending = [];
          for (let after = 0; ; ) {
            const meters = await nextPage(db, after);
            if (meters.length === 0) break;
            pending.push(...meters.map((meter) => read(meter)));
            after = meters[meters.length - 1].id;
          }
          return Promise.all(pending);
        }
        """,
        11,
    ),
    bad(
        "unbounded-fan-out",
        "python",
        """
        import asyncio, asyncpg, httpx
        class Refresher:
            def __init__(self, pool: asyncpg.Pool, client: httpx.AsyncClient) -> None:
                self._pool, self._client = pool, client
            async def refresh(self):
                rows = await self._pool.fetch("SELECT id FROM consent WHERE due <= now()", timeout=15)
                consents = [Consent(row["id"]) for row in rows]
                return await asyncio.gather(*(self._fetch(each) for each in consents))
            async def _fetch(self, consent):
                return await self._client.get(f"/balances/{consent.id}", timeout=5)
        """,
        8,
    ),
    bad(
        "unbounded-fan-out",
        "go",
        """
        package x

        import (
        	"net/http"
        	"golang.org/x/sync/errgroup"
        )

        func (p *Poller) Run(ctx context.Context) error {
        	g, ctx := errgroup.WithContext(ctx)
        	after := int64(0)
        	for {
        		page, err := p.next(ctx, after)
        		if err != nil {
        			return err
        		}
        		if len(page) == 0 {
        			break
        		}
        		for _, m := range page {
        			g.Go(func() error { return p.read(ctx, m) })
        		}
        		after = page[len(page)-1].ID
        	}
        	return g.Wait()
        }

        func (p *Poller) read(ctx context.Context, m Meter) error {
        	resp, err := p.client.Do(req)
        	return err
        }
        """,
        20,
    ),
    bad(
        "unbounded-fan-out",
        "kotlin",
        """
        import io.ktor.client.HttpClient
        class Poll(private val http: HttpClient) {
            suspend fun run() = coroutineScope {
                val jobs = mutableListOf<Deferred<Reading>>()
                var after = 0L
                while (true) {
                    val page = db.nextPage(after)
                    if (page.isEmpty()) break
                    jobs += page.map { async { read(it) } }
                    after = page.last().id
                }
                jobs.awaitAll()
            }
            private suspend fun read(m: Meter) = http.get("/m/${m.id}")
        }
        """,
        9,
    ),
    bad(
        "unbounded-fan-out",
        "csharp",
        """
        class Poll {
          private readonly HttpClient _http;
          public async Task RunAsync(CancellationToken ct) {
            var tasks = new List<Task>();
            long after = 0;
            while (true) {
              var page = await _db.NextPageAsync(after, 500, ct);
              if (page.Count == 0) break;
              tasks.AddRange(page.Select(m => ReadAsync(m, ct)));
              after = page[^1].Id;
            }
            await Task.WhenAll(tasks);
          }
          private async Task ReadAsync(Meter m, CancellationToken ct) => await _http.GetAsync($"/m/{m.Id}", ct);
        }
        """,
        12,
    ),
    bad(
        "unbounded-fan-out",
        "rust",
        """
        use reqwest::Client;
        async fn run(db: &PgPool, http: Client) -> anyhow::Result<()> {
            let mut handles = Vec::new();
            let mut after = 0;
            loop {
                let page = next_page(db, after).await?;
                if page.is_empty() { break; }
                after = page[page.len() - 1].id;
                handles.extend(page.into_iter().map(|m| tokio::spawn(read(http.clone(), m))));
            }
            futures::future::join_all(handles).await;
            Ok(())
        }
        async fn read(http: Client, m: Meter) -> anyhow::Result<()> { http.get(format!("/m/{}", m.id)).send().await?; Ok(()) }
        """,
        11,
    ),
    good(
        "unbounded-fan-out",
        "kotlin",
        """
        import io.ktor.client.HttpClient
        class Poll(private val http: HttpClient) {
            suspend fun run() = coroutineScope {
                val jobs = mutableListOf<Deferred<Reading>>()
                var after = 0L
                while (true) {
                    val page = db.nextPage(after)
                    if (page.isEmpty()) break
                    page.map { async { read(it) } }.awaitAll()
                    after = page.last().id
                }
                jobs.awaitAll()
            }
            private suspend fun read(m: Meter) = http.get("/m/${m.id}")
        }
        """,
    ),
    good(
        "unbounded-fan-out",
        "go",
        """
        package x

        import (
        	"net/http"
        	"golang.org/x/sync/errgroup"
        )

        func (p *Poller) Run(ctx context.Context) error {
        	after := int64(0)
        	for {
        		page, err := p.next(ctx, after)
        		if err != nil {
        			return err
        		}
        		if len(page) == 0 {
        			break
        		}
        		g, ctx := errgroup.WithContext(ctx)
        		for _, m := range page {
        			g.Go(func() error { return p.read(ctx, m) })
        		}
        		if err := g.Wait(); err != nil {
        			return err
        		}
        		after = page[len(page)-1].ID
        	}
        	return nil
        }

        func (p *Poller) read(ctx context.Context, m Meter) error {
        	resp, err := p.client.Do(req)
        	return err
        }
        """,
    ),
    bad(
        "http-client-per-call",
        "kotlin",
        """
        import okhttp3.OkHttpClient
        class Passes(private val issuer: HttpUrl) {
            private fun client(): OkHttpClient = OkHttpClient.Builder().callTimeout(Duration.ofSeconds(8)).build()
            fun issue(request: Request): ByteArray {
                client().newCall(request).execute().use { response ->
                    val body = response.body
                    if (!response.isSuccessful || body == null) throw PassRefused("${response.code}")
                    return body.bytes()
                }
            }
        }
        """,
        5,
    ),
    good(
        "http-client-per-call",
        "kotlin",
        """
        import okhttp3.OkHttpClient
        class Passes(private val issuer: HttpUrl) {
            private var shared: OkHttpClient? = null
            private fun client(): OkHttpClient = OkHttpClient.Builder().callTimeout(Duration.ofSeconds(8)).build()
            fun issue(request: Request): ByteArray {
                var client = shared
                if (client == null) {
                    client = client()
                    shared = client
                }
                return client.newCall(request).execute().use { it.body!!.bytes() }
            }
        }
        """,
    ),
    bad(
        "blocking-call-in-async-code",
        "python",
        """
        import boto3
        from fastapi import APIRouter
        router = APIRouter()
        kms = boto3.client("kms")
        def signature(body):
            return kms.sign(KeyId=KEY, Message=body)
        @router.get("/consents")
        async def consents():
            return signature(b"x")
        """,
        9,
    ),
    bad(
        "blocking-call-in-async-code",
        "python",
        """
        import boto3
        from fastapi import APIRouter
        router = APIRouter()
        kms = boto3.client("kms")
        def signature(body):
            return kms.decrypt(KeyId=KEY, Message=body)
        @router.get("/consents")
        async def consents():
            return signature(b"x")
        """,
        9,
    ),
    good(
        "blocking-call-in-async-code",
        "python",
        """
        import asyncio, boto3
        from fastapi import APIRouter
        router = APIRouter()
        kms = boto3.client("kms")
        def signature(body):
            return kms.sign(KeyId=KEY, Message=body)
        @router.get("/consents")
        async def consents():
            url = kms.generate_presigned_url("x")
            return url, await asyncio.to_thread(signature, b"x")
        """,
    ),
    bad(
        "unbounded-cache",
        "typescript",
        """
        export class Risk {
          private readonly scores = new Map<string, { score: number; expiresAt: number }>();
          async score(attempt: Attempt): Promise<number> {
            const key = attempt.device;
            const cached = this.scores.get(key);
            if (cached && cached.expiresAt > Date.now()) return cached.score;
            const { data } = await this.http.get<{ score: number }>(`/devices/${encodeURIComponent(key)}/score`);
            this.scores.set(key, { score: data.score, expiresAt: Date.now() + TTL_MS });
            this.log.debug('scored');
            return data.score;
          }
        }
        """,
        2,
    ),
    good(
        "unbounded-cache",
        "typescript",
        """
        export class Risk {
          private readonly scores = new Map<string, { score: number; expiresAt: number }>();
          async score(attempt: Attempt): Promise<number> {
            const key = attempt.device;
            const cached = this.scores.get(key);
            if (cached && cached.expiresAt > Date.now()) return cached.score;
            const { data } = await this.http.get<{ score: number }>(`/devices/${encodeURIComponent(key)}/score`);
            this.scores.set(key, { score: data.score, expiresAt: Date.now() + TTL_MS });
            if (this.scores.size > MAX) this.scores.clear();
            return data.score;
          }
        }
        """,
    ),
    bad(
        "call-per-item",
        "typescript",
        """
        import { Repository } from 'typeorm';
        export class Turnover {
          constructor(private readonly accounts: Repository<Account>, private readonly entries: Repository<Entry>) {}
          async forCustomer(customerId: string) {
            const result = [];
            for (const account of await this.accounts.find({ where: { customerId } })) {
              result.push(await this.turnover(account.id));
            }
            return result;
          }
          private async turnover(id: string) {
            const row = await this.entries.createQueryBuilder('e').select('SUM(e.amount)', 'sum')
              .where('e.accountId = :id', { id }).getRawOne<{ sum: string }>();
            return row?.sum;
          }
        }
        """,
        7,
    ),
    bad(
        "catastrophic-expression",
        "typescript",
        r"""
        const A = /^(\p{L}+[ '’-]?)+$/u;
        const B = /^\p{L}+(?:[ '’-]\p{L}+)*$/u;
        const C = /^(\p{L}|\p{N})+$/u;
        const D = /^(?:[\p{L}\p{M}]+[\s.'’–-]?)*$/u;
        const E = /^[\p{L}\p{M}]+(?:[\s'’-][\p{L}\p{M}]+)*$/u;
        const F = /^(?:\p{Lu}\p{Ll}+\s?)+$/u;
        const G = /^(\p{P}*\p{Z}*)+x$/u;
        const H = /^(\p{Script=Han}+|\p{Script=Latin}+)*$/u;
        """,
        1,
        4,
        7,
        8,
    ),
]
