"""Clients and limits made anew, tasks of all pages, files written in place, queries for each row."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

CLIENT = "http-client-per-call"
CONNECTION = "connection-per-call"
FAN_OUT = "unbounded-fan-out"
PLACE = "file-written-in-place"
OBJECT = "query-per-object"
LAZY = "lazy-relation-in-loop"
COUNT = "count-by-loading"
CLOCK = "wall-clock-for-durations"
OVERLAP = "overlapping-runs"
SHUTDOWN = "no-graceful-shutdown"

CASES = [
    bad(CLIENT, "java", """
        import okhttp3.OkHttpClient;
        class Proctoring {
            Session open(Vendor vendor) throws IOException {
                try (Response response = clientFor(vendor).newCall(request(vendor)).execute()) {
                    return read(response);
                }
            }
            private OkHttpClient clientFor(Vendor vendor) {
                return new OkHttpClient.Builder().readTimeout(vendor.limit()).build();
            }
        }
        """, 4),
    good(CLIENT, "java", """
        import okhttp3.OkHttpClient;
        class Proctoring {
            private final OkHttpClient shared = new OkHttpClient.Builder().build();
            Session open(Vendor vendor) throws IOException {
                try (Response response = clientFor(vendor).newCall(request(vendor)).execute()) {
                    return read(response);
                }
            }
            private OkHttpClient clientFor(Vendor vendor) {
                return shared.newBuilder().readTimeout(vendor.limit()).build();
            }
        }
        """),
    bad(CLIENT, "typescript", """
        import { Agent, request } from 'undici';
        export class Bank {
          async confirm(iban: string) {
            const { body } = await request(`${this.origin}/checks/${iban}`, {
              dispatcher: this.dispatcher(),
            });
            return body.json();
          }
          private dispatcher(): Agent {
            return new Agent({ connections: 16 });
          }
        }
        """, 5),
    bad(CLIENT, "javascript", """
        const axios = require('axios');
        const https = require('https');
        async function statement(iban) {
          const { data } = await axios.get(`${BANK}/statements/${iban}`, {
            httpsAgent: new https.Agent({ cert, key }),
            timeout: 5000,
          });
          return data;
        }
        """, 5),
    good(CLIENT, "javascript", """
        const axios = require('axios');
        const https = require('https');
        const httpsAgent = new https.Agent({ cert, key });
        async function statement(iban) {
          const { data } = await axios.get(`${BANK}/statements/${iban}`, { httpsAgent, timeout: 5000 });
          return data;
        }
        """),
    bad(CLIENT, "typescript", """
        import * as soap from 'soap';
        export class Coverage {
          async check(memberId: string) {
            const client = await this.connect();
            return client.GetCoverageAsync({ memberId });
          }
          private async connect(): Promise<soap.Client> {
            const client = await soap.createClientAsync(WSDL, { disableCache: true });
            client.setSecurity(SECURITY);
            return client;
          }
        }
        """, 4),
    good(CLIENT, "typescript", """
        import * as soap from 'soap';
        export class Coverage {
          private client?: Promise<soap.Client>;
          async check(memberId: string) {
            this.client ??= this.connect();
            return (await this.client).GetCoverageAsync({ memberId });
          }
          private async connect(): Promise<soap.Client> {
            return soap.createClientAsync(WSDL);
          }
        }
        """),
    bad(CONNECTION, "rust", """
        use axum::{routing::post, Router};
        async fn storage() -> aws_sdk_s3::Client {
            let config = aws_config::load_from_env().await;
            aws_sdk_s3::Client::new(&config)
        }
        async fn ticket() -> String {
            let signed = storage().await.put_object().bucket("a").presigned(LIFE).await;
            signed.uri()
        }
        pub fn router() -> Router {
            Router::new().route("/tickets", post(ticket))
        }
        """, 7),
    bad(FAN_OUT, "javascript", """
        const pLimit = require('p-limit');
        function enrich(stop) {
          const limit = pLimit(8);
          return limit(() => load(stop.id));
        }
        """, 3),
    good(FAN_OUT, "javascript", """
        const pLimit = require('p-limit');
        async function enrichAll(stops) {
          const limit = pLimit(8);
          return Promise.all(stops.map((stop) => limit(() => load(stop.id))));
        }
        """),
    good(FAN_OUT, "python", """
        import asyncio
        async def load_all(stops):
            slots = asyncio.Semaphore(8)
            async def one(stop):
                async with slots:
                    return await fetch(stop)
            return await asyncio.gather(*(one(stop) for stop in stops))
        """),
    good(FAN_OUT, "csharp", """
        private async Task LoadAllAsync(IReadOnlyList<Stop> stops)
        {
            using var slots = new SemaphoreSlim(8);
            var tasks = stops.Select(async stop =>
            {
                await slots.WaitAsync();
                try { await _client.GetAsync(stop.Id); }
                finally { slots.Release(); }
            });
            await Task.WhenAll(tasks);
        }
        """),
    bad(FAN_OUT, "typescript", """
        export class Notifier {
          async announce(event: LiveEvent) {
            const pushes: Promise<void>[] = [];
            let cursor: string | undefined;
            do {
              const page = await this.subscribers.page(event.id, 1000, cursor);
              for (const subscriber of page.items) {
                pushes.push(this.sendTo(subscriber, event));
              }
              cursor = page.next;
            } while (cursor);
            await Promise.all(pushes);
          }
        }
        """, 12),
    good(FAN_OUT, "typescript", """
        export class Notifier {
          async announce(event: LiveEvent) {
            let cursor: string | undefined;
            do {
              const page = await this.subscribers.page(event.id, 50, cursor);
              const pushes: Promise<void>[] = [];
              for (const subscriber of page.items) {
                pushes.push(this.sendTo(subscriber, event));
              }
              await Promise.all(pushes);
              cursor = page.next;
            } while (cursor);
          }
        }
        """),
    bad(PLACE, "javascript", """
        const fs = require('node:fs/promises');
        class Playlist {
          constructor(dir) { this.file = path.join(dir, 'live.m3u8'); this.segments = []; }
          async append(segment) {
            this.segments.push(segment);
            await this.store(this.render());
          }
          async store(text) { await fs.writeFile(this.file, text); }
        }
        """, 8),
    good(PLACE, "javascript", """
        const fs = require('node:fs/promises');
        class Playlist {
          constructor(dir) { this.file = path.join(dir, 'live.m3u8'); this.segments = []; }
          async append(segment) {
            this.segments.push(segment);
            await this.store(this.render());
          }
          async store(text) {
            await fs.writeFile(`${this.file}.tmp`, text);
            await fs.rename(`${this.file}.tmp`, this.file);
          }
        }
        """),
    bad(PLACE, "kotlin", """
        import java.nio.channels.FileChannel
        import java.nio.file.Files
        class PlanStore(directory: Path) {
            private val planFile: Path = directory.resolve("plan.json")
            fun save(plan: Plan) {
                write(planFile, Json.encodeToString(plan).encodeToByteArray())
            }
            fun load(): Plan = Json.decodeFromString(Files.readString(planFile))
            private fun write(target: Path, bytes: ByteArray) {
                FileChannel.open(target, CREATE, TRUNCATE_EXISTING, WRITE).use { it.write(wrap(bytes)) }
            }
        }
        """, 6),
    bad(PLACE, "rust", """
        use tokio::fs::File;
        pub struct RemittanceOutbox { folder: PathBuf }
        impl RemittanceOutbox {
            pub async fn publish(&self, day: &str, rows: &[Row]) -> Result<()> {
                let target = self.folder.join(format!("{day}.835"));
                write_file(&target, rows).await
            }
        }
        async fn write_file(path: &Path, rows: &[Row]) -> Result<()> {
            let mut out = File::create(path).await?;
            out.write_all(&encode(rows)).await?;
            out.sync_all().await
        }
        """, 10),
    bad(PLACE, "python", """
        class Exporter:
            # The partner's job polls this folder every minute.
            def __init__(self, folder: Path) -> None:
                self._folder = folder

            def publish(self, day: str, rows: list[str]) -> None:
                target = self._folder / f"{day}.csv"
                with open(target, "w") as out:
                    out.writelines(rows)
        """, 8),
    good(PLACE, "python", """
        class Exporter:
            # The partner's job polls this folder every minute.
            def __init__(self, folder: Path) -> None:
                self._folder = folder

            def publish(self, day: str, rows: list[str]) -> None:
                target = self._folder / f"{day}.csv"
                part = target.with_suffix(".part")
                with open(part, "w") as out:
                    out.writelines(rows)
                os.replace(part, target)
        """),
    bad(OBJECT, "typescript", """
        export const resolvers = {
          Trip: {
            driver: async (trip: TripRow, _: unknown, ctx: Context) =>
              trip.driver_id
                ? ((await ctx.db<Driver>('drivers').first('id').where('id', trip.driver_id)) ?? null)
                : null,
          },
        };
        """, 5),
    good(OBJECT, "typescript", """
        export const resolvers = {
          Trip: {
            driver: (trip: TripRow, _: unknown, ctx: Context) =>
              trip.driver_id ? ctx.drivers.load(trip.driver_id) : null,
          },
        };
        """),
    bad(LAZY, "python", """
        def get(self, request):
            rows = Enrollment.objects.filter(active=True).prefetch_related("submissions")
            page = self.paginator.paginate_queryset(rows, request)
            return [_row(each) for each in page]

        def _row(enrollment):
            return {"graded": enrollment.submissions.filter(state="graded").count()}
        """, 7),
    good(LAZY, "python", """
        def get(self, request):
            rows = Enrollment.objects.filter(active=True).prefetch_related("submissions")
            page = self.paginator.paginate_queryset(rows, request)
            return [_row(each) for each in page]

        def _row(enrollment):
            return {"all": [each.score for each in enrollment.submissions.all()]}
        """),
    good(COUNT, "python", """
        class View(ListAPIView):
            def get_queryset(self):
                return Driver.objects.prefetch_related(Prefetch("trips", queryset=recent))

        def trips(driver):
            return len(driver.trips.all())
        """),
    good(CLOCK, "javascript", """
        async function write(text) {
          const startedAt = Date.now();
          await store(text);
          const tookMs = Date.now() - startedAt;
          if (tookMs > SLOW_MS) {
            log.warn({ tookMs }, 'slow write');
          }
        }
        """),
    bad(CLOCK, "javascript", """
        async function write(text) {
          const startedAt = Date.now();
          await store(text);
          const tookMs = Date.now() - startedAt;
          if (tookMs > SLOW_MS) {
            this.degraded = true;
          }
        }
        """, 4),
    good(OVERLAP, "typescript", """
        const REFRESH_MS = 15 * 60_000;
        setInterval(() => { reload().catch(report); }, REFRESH_MS);
        async function reload() {
          const res = await fetch(DIRECTORY, { signal: AbortSignal.timeout(10_000) });
          use(await res.json());
        }
        """),
    bad(OVERLAP, "typescript", """
        setInterval(() => { reload().catch(report); }, 5_000);
        async function reload() {
          const res = await fetch(DIRECTORY, { signal: AbortSignal.timeout(10_000) });
          use(await res.json());
        }
        """, 1),
    good(SHUTDOWN, "typescript", """
        import Koa from 'koa';
        export function serve(port: number): Server {
          const app = new Koa();
          const server = app.listen(port);
          server.requestTimeout = 15_000;
          return server;
        }
        """),
]  # fmt: skip
