"""Connections that a function of the text makes for others, sizes that a callee limits, rows asked for by keys."""

# ruff: noqa: E501  (lines of other languages)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_CONNECTION = "connection-per-call"
_CLIENT = "http-client-per-call"
_JS = "javascript"
_TS = "typescript"
_OPEN = """
        const { Pool } = require('pg');
        function openShard(shard) {
          const pool = new Pool({ connectionString: config.shards[shard], max: 10 });
          pool.on('error', (err) => logger.error({ err }, 'idle connection failed'));
          return pool;
        }
"""
_CONNECT = """
        import { ChannelCredentials } from '@grpc/grpc-js';
        function connect({ address, rootCert }: Options): EmbeddingsClient {
          return new EmbeddingsClient(address, ChannelCredentials.createSsl(rootCert), {});
        }
"""

CASES = [
    bad(
        _CONNECTION,
        _JS,
        f"""{_OPEN}
        async function queryTenant(tenant, text) {{
          const pool = openShard(tenant.shard);
          try {{
            return await pool.query(text);
          }} finally {{
            await pool.end();
          }}
        }}
        """,
        9,
    ),
    good(
        _CONNECTION,
        _JS,
        f"""{_OPEN}
        const pools = new Map(Object.keys(config.shards).map((shard) => [shard, openShard(shard)]));
        async function queryTenant(tenant, text) {{
          return pools.get(tenant.shard).query(text);
        }}
        """,
    ),
    bad(
        _CLIENT,
        _TS,
        f"""{_CONNECT}
        async function embed(options: Options, body: Body) {{
          const client = connect(options);
          try {{
            return await ask(client, body);
          }} finally {{
            client.close();
          }}
        }}
        """,
        7,
    ),
    good(
        _CLIENT,
        _TS,
        f"""{_CONNECT}
        export async function routes(app: FastifyInstance, options: Options) {{
          const client = connect(options);
          app.addHook('onClose', async () => client.close());
          app.post('/v1/embeddings', async (req) => ask(client, req.body));
        }}
        """,
    ),
    bad(
        _CONNECTION,
        _TS,
        """
        import { Injectable, Scope } from '@nestjs/common';
        import { Pool } from 'pg';
        @Injectable({ scope: Scope.REQUEST })
        export class LedgerDatabase {
          readonly pool: Pool;
          constructor(config: ConfigService) {
            this.pool = new Pool({ connectionString: config.url, max: 10 });
          }
        }
        """,
        7,
    ),
    good(
        _CONNECTION,
        _TS,
        """
        import { Injectable, Scope } from '@nestjs/common';
        import { Pool } from 'pg';
        @Injectable()
        export class LedgerDatabase {
          readonly pool: Pool;
          constructor(config: ConfigService) {
            this.pool = new Pool({ connectionString: config.url, max: 10 });
          }
        }
        @Injectable({ scope: Scope.REQUEST })
        export class LedgerService {
          constructor(private readonly database: LedgerDatabase) {}
        }
        """,
    ),
    good(
        "unbounded-page-size",
        "csharp",
        """
        public sealed class History
        {
            public async Task<List<Message>> PageAsync(Guid channel, int limit)
            {
                limit = Math.Clamp(limit, 1, 100);
                return await _db.Messages.Take(limit).ToListAsync();
            }
        }
        public static class Endpoints
        {
            public static void Map(IEndpointRouteBuilder routes)
            {
                routes.MapGet("/channels/{id}", async (Guid id, int? limit, History history) =>
                    Results.Ok(await history.PageAsync(id, limit ?? 50)));
            }
        }
        """,
    ),
    good(
        "missing-limit",
        _JS,
        """
        const router = require('express').Router();
        router.get('/courses/:id/roster', async (req, res) => {
          const page = await Enrolment.find({ course: req.params.id }).limit(100).lean();
          const students = await Student.find({ _id: { $in: page.map((e) => e.student) } }).lean();
          res.json({ page, students });
        });
        """,
    ),
    bad(
        "whole-file-loaded",
        "rust",
        """
        const MAX_ENTRIES: usize = 200;
        impl FeedImporter {
            async fn entries(&self, feed: &url::Url) -> anyhow::Result<Vec<Entry>> {
                let response = self.http.get(feed.clone()).send().await?.error_for_status()?;
                let body = response.bytes().await?;
                Ok(parse(&body, MAX_ENTRIES))
            }
        }
        """,
        5,
    ),
]
