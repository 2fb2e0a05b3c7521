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
                new ThreadPoolExecutor(4, 4, 0, TimeUnit.SECONDS, new LinkedBlockingQueue<>());
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
]

COUNTED = [
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
