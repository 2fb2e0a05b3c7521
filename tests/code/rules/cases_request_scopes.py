"""Clients with connections that are made for each request: by containers, by factories, in handlers."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

CONNECTION = "connection-per-call"
CLIENT = "http-client-per-call"

CASES = [
    bad(CONNECTION, "typescript", """
        import { Injectable, Scope } from '@nestjs/common';
        import { Pool } from 'pg';
        @Injectable({ scope: Scope.REQUEST })
        export class Ledger {
            readonly pool: Pool;
            constructor(config: Config) {
                this.pool = new Pool({ connectionString: config.url });
            }
        }
        """, 7),
    bad(CONNECTION, "typescript", """
        import { Module, Scope } from '@nestjs/common';
        import { Pool } from 'pg';
        @Module({
            providers: [{ provide: 'POOL', scope: Scope.REQUEST, useFactory: () => new Pool({ max: 5 }) }],
        })
        export class Ledger {}
        """, 4),
    good(CONNECTION, "typescript", """
        import { Injectable, Module, Scope } from '@nestjs/common';
        import { Pool } from 'pg';
        @Injectable()
        export class Ledger {
            readonly pool: Pool;
            constructor(config: Config) {
                this.pool = new Pool({ connectionString: config.url });
            }
        }
        @Injectable({ scope: Scope.REQUEST })
        export class Tenant {
            constructor(private readonly ledger: Ledger) {}
        }
        @Module({ providers: [Tenant, { provide: 'POOL', useFactory: () => new Pool({ max: 5 }) }] })
        export class LedgerModule {}
        """),
    bad(CONNECTION, "java", """
        @Component
        @RequestScope
        class Store {
            private final MongoClient client = MongoClients.create(URL);
        }
        """, 4),
    good(CONNECTION, "java", """
        @Component
        class Store {
            private final MongoClient client = MongoClients.create(URL);
        }
        """),
    bad(CLIENT, "java", """
        @RestController
        class Embeddings {
            @GetMapping("/embed") Reply embed(@RequestParam String text) {
                ManagedChannel channel = ManagedChannelBuilder.forAddress(host, 443).build();
                try {
                    return EmbedGrpc.newBlockingStub(channel).withDeadlineAfter(2, SECONDS).embed(text);
                } finally {
                    channel.shutdown();
                }
            }
        }
        """, 4),
    bad(CONNECTION, "csharp", """
        var builder = WebApplication.CreateBuilder(args);
        builder.Services.AddScoped(_ => new CosmosClient(settings));
        """, 2),
    bad(CLIENT, "csharp", """
        var builder = WebApplication.CreateBuilder(args);
        builder.Services.AddTransient(_ => GrpcChannel.ForAddress(address));
        """, 2),
    good(CONNECTION, "typescript", """
        import { credentials } from '@grpc/grpc-js';
        import { EmbedderClient } from './gen/embedder';
        export async function embed(address: string, text: string) {
            const client = new EmbedderClient(address, credentials.createInsecure());
            const vector = await send(client, text);
            client.close();
            return vector;
        }
        """),
    good(CONNECTION, "typescript", """
        import { Injectable, Scope } from '@nestjs/common';
        import { Pool } from 'pg';
        @Injectable({ scope: Scope.TRANSIENT })
        export class Ledger {
            readonly pool: Pool;
            constructor(config: Config) {
                this.pool = new Pool({ connectionString: config.url });
            }
        }
        """),
    good(CONNECTION, "csharp", """
        var builder = WebApplication.CreateBuilder(args);
        builder.Services.AddSingleton(_ => new CosmosClient(settings));
        builder.Services.AddScoped<Orders>();
        """),
    bad(CLIENT, "csharp", """
        public class Embeddings {
            public async Task<Reply> Embed(string text) {
                using var channel = GrpcChannel.ForAddress(address);
                var client = new Embedder.EmbedderClient(channel);
                return await client.EmbedAsync(new Request { Text = text });
            }
        }
        """, 3),
    bad(CONNECTION, "javascript", """
        const { Pool } = require('pg');
        function openShard(shard) {
            const pool = new Pool({ connectionString: shards[shard] });
            pool.on('error', (err) => log.error(err));
            return pool;
        }
        app.get('/events', async (req, res) => {
            const pool = openShard(req.tenant.shard);
            res.json((await pool.query('SELECT 1')).rows);
        });
        """, 8),
    good(CONNECTION, "javascript", """
        const { Pool } = require('pg');
        function openShard(shard) {
            const pool = new Pool({ connectionString: shards[shard] });
            pool.on('error', (err) => log.error(err));
            return pool;
        }
        const pools = new Map(Object.keys(shards).map((shard) => [shard, openShard(shard)]));
        app.get('/events', async (req, res) => {
            res.json((await pools.get(req.tenant.shard).query('SELECT 1')).rows);
        });
        """),
    bad(CONNECTION, "python", """
        import asyncpg
        async def get_pool():
            pool = await asyncpg.create_pool(DSN)
            try:
                yield pool
            finally:
                await pool.close()
        @app.get("/x")
        async def x(pool=fastapi.Depends(get_pool)):
            return await pool.fetch("select 1")
        """, 3),
    bad(CLIENT, "rust", """
        use greeter::greeter_client::GreeterClient;
        async fn hello(State(app): State<App>, Json(body): Json<Body>) -> Result<Json<Reply>, Error> {
            let mut client = GreeterClient::connect(app.address.clone()).await?;
            Ok(Json(client.say(Request::new(body)).await?))
        }
        """, 3),
    bad(CLIENT, "typescript", """
        import { credentials } from '@grpc/grpc-js';
        import { EmbedderClient } from './gen/embedder';
        function connect(address: string) {
            return new EmbedderClient(address, credentials.createInsecure());
        }
        export function routes(app: FastifyInstance) {
            app.post('/embed', async (req, reply) => {
                const client = connect(process.env.EMBEDDER);
                try {
                    return await embed(client, req.body);
                } finally {
                    client.close();
                }
            });
        }
        """, 8),
    good(CLIENT, "typescript", """
        import { credentials } from '@grpc/grpc-js';
        import { EmbedderClient } from './gen/embedder';
        function connect(address: string) {
            return new EmbedderClient(address, credentials.createInsecure());
        }
        export function routes(app: FastifyInstance) {
            const client = connect(process.env.EMBEDDER);
            app.addHook('onClose', async () => client.close());
            app.post('/embed', async (req, reply) => embed(client, req.body));
        }
        """),
]  # fmt: skip
