"""Findings about sizes are shown only where the file has evidence that something is large."""

from __future__ import annotations

from textwrap import dedent

import pytest

from faultkit.code.review.engine import RULES, findings_of
from faultkit.code.rules.rule import LIKELY

BY_SLUG = {rule.slug: rule for rule in RULES}
_PAGE = "unbounded-page-size"
_QUEUE = "unbounded-queue"
_CACHE = "unbounded-cache"
_FAN_OUT = "unbounded-fan-out"
_FILE = "whole-file-loaded"
_BODY = "whole-body-loaded"
_LIST = "list-as-queue"
_COPY = "deep-copy-in-loop"

SHOWN = [
    (
        _PAGE,
        "typescript",
        """
        app.get("/parcels", async (req, res) => {
          const limit = Number(req.query.limit ?? 50);
          res.json(await Parcel.find({ where: { depot: req.query.depot }, take: limit }));
        });
        """,
    ),
    (
        _PAGE,
        "typescript",
        """
        const schema = z.object({ page: z.coerce.number(), pageSize: z.coerce.number().min(1) });
        export async function GET(request: Request) {
          const query = await parseRequest(request.query, schema);
          return json(await listParcels({ pageSize: query.pageSize }));
        }
        """,
    ),
    (
        _QUEUE,
        "java",
        """
        import java.util.concurrent.*;

        class Mailer {
            private final ExecutorService pool =
                new ThreadPoolExecutor(4, 16, 0, TimeUnit.SECONDS, new LinkedBlockingQueue<>());
        }
        """,
    ),
    (
        _QUEUE,
        "rust",
        """
        use sqlx::PgPool;
        use tokio::sync::mpsc;

        pub fn start(pool: PgPool) -> mpsc::UnboundedSender<Reading> {
            let (readings, taken) = mpsc::unbounded_channel();
            tokio::spawn(write(pool, taken));
            readings
        }
        """,
    ),
    (
        _QUEUE,
        "rust",
        """
        use tokio::sync::mpsc;

        pub fn start(sink: Sink) -> mpsc::UnboundedSender<Reading> {
            let (readings, taken) = mpsc::unbounded_channel();
            tokio::spawn(forward(sink, taken));
            readings
        }

        async fn forward(sink: Sink, mut taken: mpsc::UnboundedReceiver<Reading>) {
            while let Some(reading) = taken.recv().await {
                sink.write(reading).await;
            }
        }
        """,
    ),
    (
        _CACHE,
        "python",
        """
        import requests

        _places_cache = {}

        def place_of(ip):
            if ip not in _places_cache:
                _places_cache[ip] = requests.get(f"https://geo.example/{ip}", timeout=2).json()
            return _places_cache[ip]
        """,
    ),
    (
        _FAN_OUT,
        "python",
        """
        import asyncio

        async def notify_all(store, client):
            devices = await store.devices()
            await asyncio.gather(*(client.post(device.url) for device in devices))
        """,
    ),
    # Each task has a connection of its own.
    (
        _FAN_OUT,
        "csharp",
        """
        public class PricesController : ControllerBase
        {
            public async Task<IActionResult> Post([FromBody] Prices prices)
            {
                var tasks = prices.Rows.Select(async row =>
                {
                    await using var scope = services.CreateAsyncScope();
                    await scope.ServiceProvider.GetRequiredService<Db>().SaveChangesAsync();
                });
                await Task.WhenAll(tasks);
                return Ok();
            }
        }
        """,
    ),
    (
        _FILE,
        "python",
        """
        def total(path):
            found = 0
            with open(f"{path}/access.log") as lines:
                for line in lines.readlines():
                    found += size_of(line)
            return found
        """,
    ),
    (
        _BODY,
        "typescript",
        """
        import { writeFile } from "fs/promises";

        export async function mirror(url: string, path: string) {
          const answer = await fetch(url);
          const bytes = await answer.arrayBuffer();
          await writeFile(path, Buffer.from(bytes));
        }
        """,
    ),
    (
        _LIST,
        "python",
        """
        class Recent:
            def __init__(self):
                self.samples = []

            def add(self, sample):
                self.samples.append(sample)
                if len(self.samples) > 100_000:
                    self.samples.pop(0)
        """,
    ),
    (
        _COPY,
        "python",
        """
        import copy
        from flask import Flask

        app = Flask(__name__)

        @app.get("/cells")
        def cells():
            rows = db.execute("SELECT id FROM cells").fetchall()
            return [cell_of(copy.deepcopy(template), row) for row in rows]
        """,
    ),
]

SHOWN += [
    # The handler of requests is known by its parameters.
    (
        _CACHE,
        "javascript",
        """
        const answerCache = {};

        exports.handle = async (req, res) => {
          const name = nameOf(req.url);
          if (!(name in answerCache)) answerCache[name] = await rendered(name);
          res.send(answerCache[name]);
        };
        """,
    ),
]

COUNTED = [
    # A type checks nothing: what reads the request in another file may limit it.
    (
        _PAGE,
        "typescript",
        """
        export type NoteQuery = {
          text: string;
          limit: number;
        };

        export class Search {
          async notes(query: NoteQuery) {
            return this.rows.createQueryBuilder("note").limit(query.limit).getMany();
          }
        }
        """,
    ),
    # The function of another file that gets the size may limit it.
    (
        _PAGE,
        "typescript",
        """
        app.get("/parcels", async (req, res) => {
          const limit = Number(req.query.limit ?? 50);
          res.json(await listParcels(req.query.depot, limit));
        });
        """,
    ),
    # The store refuses more than ten thousand itself.
    (
        _PAGE,
        "python",
        """
        from elasticsearch import Elasticsearch
        from flask import Flask, request

        app = Flask(__name__)
        es = Elasticsearch()

        @app.get("/parcels")
        def parcels():
            limit = int(request.args.get("limit", 50))
            return es.search(index="parcels", limit=limit)
        """,
    ),
    # Without a size, everything is given, so that a maximum would change nothing.
    (
        _PAGE,
        "csharp",
        """
        public class ParcelsController : ControllerBase
        {
            [HttpGet]
            public async Task<List<Parcel>> Get([FromQuery] int? limit = null)
            {
                var query = db.Parcels.AsNoTracking();
                if (limit != null) query = query.Take(limit.Value);
                return await query.ToListAsync();
            }
        }
        """,
    ),
    # Commands of the program itself.
    (
        _QUEUE,
        "rust",
        """
        use tokio::sync::mpsc;

        pub struct Control {
            commands: mpsc::UnboundedSender<Command>,
        }

        impl Control {
            pub fn new() -> (Self, mpsc::UnboundedReceiver<Command>) {
                let (commands, taken) = mpsc::unbounded_channel();
                (Self { commands }, taken)
            }
        }
        """,
    ),
    # A program has few files of its own.
    (
        _CACHE,
        "typescript",
        """
        const scriptCache = new Map<string, string>();

        export function load(file: string): string {
          let text = scriptCache.get(file);
          if (text === undefined) {
            text = readFileSync(join(DIR, file), "utf8");
            scriptCache.set(file, text);
          }
          return text;
        }
        """,
    ),
    # Callers give a setting.
    (
        _CACHE,
        "python",
        """
        import requests

        _key_cache = {}

        def keys_of(url):
            if url not in _key_cache:
                _key_cache[url] = requests.get(url, timeout=2).json()
            return _key_cache[url]

        def verify(token, settings):
            return decode(token, keys_of(settings.jwks_url))
        """,
    ),
    # One connection has all commands.
    (
        _FAN_OUT,
        "typescript",
        """
        export async function plans(user: User) {
          const teams = await teamsOf(user.id);
          return Promise.all(teams.map((team) => redis.fetch(`plan:${team.id}`)));
        }
        """,
    ),
    # The program made the items itself.
    (
        _FAN_OUT,
        "typescript",
        """
        export async function enable(user: User) {
          const codes = generateCodes(user.id);
          await Promise.all(codes.map((code) => api.post("/codes", code)));
        }
        """,
    ),
    # An operator starts it now and then.
    (
        _FAN_OUT,
        "python",
        """
        import threading
        from flask import Flask

        app = Flask(__name__)

        @app.post("/tags/<name>/clear")
        def clear(name):
            threading.Thread(target=clear_tag, args=(name,), daemon=True).start()
            return "started"
        """,
    ),
    # A file of the program.
    (
        _FILE,
        "python",
        """
        def names(path):
            found = {}
            with open(path) as lines:
                for line in lines.readlines():
                    key, _, value = line.partition(":")
                    found[key] = value
            return found
        """,
    ),
    # What the program has packed itself.
    (
        _FILE,
        "python",
        """
        import brotli
        from flask import Flask, Response

        app = Flask(__name__)

        @app.get("/pages/<name>")
        def page(name):
            with open(path_of(name), "rb") as file:
                return Response(brotli.decompress(file.read()))
        """,
    ),
    # A user on the command line.
    (
        _BODY,
        "typescript",
        """
        import { Command } from "commander";
        import { writeFile } from "fs/promises";

        export async function save(url: string, path: string) {
          const answer = await fetch(url);
          const bytes = await answer.arrayBuffer();
          await writeFile(path, Buffer.from(bytes));
        }
        """,
    ),
    # Few of them, in turn.
    (
        _LIST,
        "java",
        """
        import java.util.ArrayList;
        import java.util.List;

        class Pool {
            private final List<Entry> entries = new ArrayList<>();

            Entry next() {
                Entry entry = entries.remove(0);
                entries.add(entry);
                return entry;
            }
        }
        """,
    ),
    # The request takes longer than the copy.
    (
        _COPY,
        "python",
        """
        import copy
        import requests

        def notify(template, rows):
            for row in rows:
                payload = copy.deepcopy(template)
                payload["to"] = row
                requests.post(URL, json=payload, timeout=5)
        """,
    ),
]


def _confidence(slug: str, language: str, code: str) -> list[float]:
    found = findings_of(dedent(code).strip("\n") + "\n", language, rules=[BY_SLUG[slug]])
    return [each.confidence for each in found]


@pytest.mark.parametrize(("slug", "language", "code"), SHOWN)
def test_a_finding_with_evidence_is_shown(slug: str, language: str, code: str) -> None:
    assert max(_confidence(slug, language, code), default=0) >= LIKELY


@pytest.mark.parametrize(("slug", "language", "code"), COUNTED)
def test_a_finding_without_evidence_is_only_counted(slug: str, language: str, code: str) -> None:
    found = _confidence(slug, language, code)
    assert found
    assert max(found) < LIKELY
