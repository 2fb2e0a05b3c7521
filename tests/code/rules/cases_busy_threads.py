"""Work and waits that keep a thread of an event loop or runtime busy, also through helpers."""

from __future__ import annotations

from tests.code.rules.cases import Case, bad, good

_BLOCKING_CALL_IN_ASYNC_CODE = "blocking-call-in-async-code"

CASES: list[Case] = [
    bad(
        _BLOCKING_CALL_IN_ASYNC_CODE,
        "rust",
        """
        use axum::{body::Bytes, extract::State, http::StatusCode};
        fn decode(body: &[u8]) -> anyhow::Result<Vec<Reading>> {
            let raw = zstd::decode_all(body)?;
            Ok(serde_json::from_slice(&raw)?)
        }
        pub async fn ingest(State(store): State<Store>, body: Bytes) -> Result<StatusCode, StatusCode> {
            let readings = decode(&body).map_err(|_| StatusCode::BAD_REQUEST)?;
            store.insert(readings).await.map_err(|_| StatusCode::SERVICE_UNAVAILABLE)?;
            Ok(StatusCode::ACCEPTED)
        }
        """,
        7,
    ),
    good(
        _BLOCKING_CALL_IN_ASYNC_CODE,
        "rust",
        """
        use axum::{body::Bytes, extract::State, http::StatusCode};
        fn decode(body: &[u8]) -> anyhow::Result<Vec<Reading>> {
            let raw = zstd::decode_all(body)?;
            Ok(serde_json::from_slice(&raw)?)
        }
        pub async fn ingest(State(store): State<Store>, body: Bytes) -> Result<StatusCode, StatusCode> {
            let readings = tokio::task::spawn_blocking(move || decode(&body))
                .await
                .map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?
                .map_err(|_| StatusCode::BAD_REQUEST)?;
            store.insert(readings).await.map_err(|_| StatusCode::SERVICE_UNAVAILABLE)?;
            Ok(StatusCode::ACCEPTED)
        }
        """,
    ),
    bad(
        _BLOCKING_CALL_IN_ASYNC_CODE,
        "rust",
        """
        use argon2::{Argon2, PasswordHash, PasswordVerifier};
        pub struct Accounts {
            db: sqlx::PgPool,
        }
        impl Accounts {
            fn matches(&self, stored: &str, given: &str) -> bool {
                let Ok(hash) = PasswordHash::new(stored) else { return false };
                Argon2::default().verify_password(given.as_bytes(), &hash).is_ok()
            }
            pub async fn sign_in(&self, name: &str, given: &str) -> anyhow::Result<bool> {
                let row = sqlx::query!("SELECT hash FROM account WHERE name = $1", name)
                    .fetch_optional(&self.db)
                    .await?;
                Ok(row.is_some_and(|row| self.matches(&row.hash, given)))
            }
        }
        """,
        14,
    ),
    bad(
        _BLOCKING_CALL_IN_ASYNC_CODE,
        "python",
        """
        import gzip
        import json
        from fastapi import APIRouter, HTTPException, Request
        router = APIRouter()
        def _unpack(body: bytes) -> list[dict]:
            return json.loads(gzip.decompress(body))
        @router.post("/usage")
        async def usage(request: Request) -> dict:
            body = await request.body()
            if len(body) > 20_000_000:
                raise HTTPException(413)
            rows = _unpack(body)
            await request.app.state.store.insert(rows)
            return {"rows": len(rows)}
        """,
        12,
    ),
    good(
        _BLOCKING_CALL_IN_ASYNC_CODE,
        "python",
        """
        import asyncio
        import gzip
        import json
        from fastapi import APIRouter, HTTPException, Request
        router = APIRouter()
        def _unpack(body: bytes) -> list[dict]:
            return json.loads(gzip.decompress(body))
        @router.post("/usage")
        async def usage(request: Request) -> dict:
            body = await request.body()
            if len(body) > 20_000_000:
                raise HTTPException(413)
            rows = await asyncio.to_thread(_unpack, body)
            await request.app.state.store.insert(rows)
            return {"rows": len(rows)}
        """,
    ),
    bad(
        _BLOCKING_CALL_IN_ASYNC_CODE,
        "python",
        """
        import joblib
        from fastapi import FastAPI
        from pydantic import BaseModel
        app = FastAPI()
        model = joblib.load("/srv/models/churn.joblib")
        class Features(BaseModel):
            values: list[float]
        def score(features: Features) -> float:
            return float(model.predict_proba([features.values])[0][1])
        @app.post("/score")
        async def score_route(features: Features) -> dict:
            return {"score": score(features)}
        """,
        12,
    ),
    bad(
        _BLOCKING_CALL_IN_ASYNC_CODE,
        "python",
        """
        from aiohttp import web
        from azure.storage.blob import BlobServiceClient
        class Documents:
            def __init__(self, service: BlobServiceClient) -> None:
                self._container = service.get_container_client("documents")
            def fetch(self, name: str) -> bytes:
                return self._container.download_blob(name, timeout=10).readall()
        async def document(request: web.Request) -> web.Response:
            documents: Documents = request.app["documents"]
            return web.Response(body=documents.fetch(request.match_info["name"]))
        """,
        10,
    ),
    bad(
        _BLOCKING_CALL_IN_ASYNC_CODE,
        "typescript",
        """
        import { unzipSync, strFromU8 } from 'fflate';
        import type { FastifyInstance } from 'fastify';
        function readManifest(archive: Uint8Array): Manifest {
          const files = unzipSync(archive);
          return JSON.parse(strFromU8(files['manifest.json']));
        }
        export function routes(app: FastifyInstance): void {
          app.post('/packages', async (request, reply) => {
            const manifest = readManifest(request.body as Uint8Array);
            await app.store.save(manifest);
            return reply.code(201).send({ id: manifest.id });
          });
        }
        """,
        4,
    ),
    bad(
        _BLOCKING_CALL_IN_ASYNC_CODE,
        "javascript",
        """
        import { parse } from 'csv-parse/sync';
        import { Router } from 'express';
        export function importRoutes(store) {
          const router = Router();
          router.post('/imports', async (req, res, next) => {
            try {
              const rows = parse(req.body, { columns: true, skip_empty_lines: true });
              await store.insertAll(rows);
              res.status(202).json({ rows: rows.length });
            } catch (err) {
              next(err);
            }
          });
          return router;
        }
        """,
        7,
    ),
    bad(
        _BLOCKING_CALL_IN_ASYNC_CODE,
        "kotlin",
        """
        import io.ktor.http.HttpStatusCode
        import io.ktor.server.application.call
        import io.ktor.server.request.receive
        import io.ktor.server.response.respond
        import io.ktor.server.routing.Route
        import io.ktor.server.routing.post
        import java.util.zip.GZIPInputStream
        class FeedRoutes(private val feeds: FeedStore) {
            private fun inflate(body: ByteArray): ByteArray =
                GZIPInputStream(body.inputStream()).use { it.readNBytes(64 * 1024 * 1024) }
            fun install(route: Route) {
                route.post("/feeds/{shop}") {
                    val feed = inflate(call.receive<ByteArray>())
                    feeds.store(call.parameters["shop"]!!, feed)
                    call.respond(HttpStatusCode.Accepted)
                }
            }
        }
        """,
        13,
    ),
    good(
        _BLOCKING_CALL_IN_ASYNC_CODE,
        "kotlin",
        """
        import io.ktor.http.HttpStatusCode
        import io.ktor.server.request.receive
        import io.ktor.server.response.respond
        import io.ktor.server.routing.Route
        import io.ktor.server.routing.post
        import java.util.zip.GZIPInputStream
        import kotlinx.coroutines.Dispatchers
        import kotlinx.coroutines.withContext
        class FeedRoutes(private val feeds: FeedStore) {
            private fun inflate(body: ByteArray): ByteArray =
                GZIPInputStream(body.inputStream()).use { it.readNBytes(64 * 1024 * 1024) }
            fun install(route: Route) {
                route.post("/feeds/{shop}") {
                    val body = call.receive<ByteArray>()
                    val feed = withContext(Dispatchers.IO) { inflate(body) }
                    feeds.store(call.parameters["shop"]!!, feed)
                    call.respond(HttpStatusCode.Accepted)
                }
            }
        }
        """,
    ),
    bad(
        _BLOCKING_CALL_IN_ASYNC_CODE,
        "java",
        """
        import org.springframework.security.crypto.password.PasswordEncoder;
        import org.springframework.web.bind.annotation.PostMapping;
        import org.springframework.web.bind.annotation.RequestBody;
        import org.springframework.web.bind.annotation.RestController;
        import reactor.core.publisher.Mono;
        @RestController
        public class LoginController {
            private final AccountRepository accounts;
            private final PasswordEncoder encoder;
            public LoginController(AccountRepository accounts, PasswordEncoder encoder) {
                this.accounts = accounts;
                this.encoder = encoder;
            }
            @PostMapping("/login")
            public Mono<Session> login(@RequestBody Credentials credentials) {
                return accounts.findByName(credentials.name())
                    .filter(account -> encoder.matches(credentials.password(), account.hash()))
                    .map(Session::of)
                    .switchIfEmpty(Mono.error(new BadCredentials()));
            }
        }
        """,
        17,
    ),
    bad(
        _BLOCKING_CALL_IN_ASYNC_CODE,
        "java",
        """
        import org.springframework.http.ResponseEntity;
        import org.springframework.web.bind.annotation.GetMapping;
        import org.springframework.web.bind.annotation.PathVariable;
        import org.springframework.web.bind.annotation.RestController;
        import reactor.core.publisher.Flux;
        import reactor.core.publisher.Mono;
        @RestController
        public class OrderController {
            private final OrderJpaRepository orderRepository;
            public OrderController(OrderJpaRepository orderRepository) {
                this.orderRepository = orderRepository;
            }
            @GetMapping("/customers/{id}/orders")
            public Flux<Order> orders(@PathVariable long id) {
                return Flux.fromIterable(orderRepository.findAllByCustomerId(id));
            }
        }
        """,
        15,
    ),
    good(
        _BLOCKING_CALL_IN_ASYNC_CODE,
        "java",
        """
        import org.springframework.web.bind.annotation.GetMapping;
        import org.springframework.web.bind.annotation.PathVariable;
        import org.springframework.web.bind.annotation.RestController;
        import reactor.core.publisher.Flux;
        import reactor.core.publisher.Mono;
        import reactor.core.scheduler.Schedulers;
        @RestController
        public class OrderController {
            private final OrderJpaRepository orderRepository;
            public OrderController(OrderJpaRepository orderRepository) {
                this.orderRepository = orderRepository;
            }
            @GetMapping("/customers/{id}/orders")
            public Flux<Order> orders(@PathVariable long id) {
                return Mono.fromCallable(() -> orderRepository.findAllByCustomerId(id))
                    .subscribeOn(Schedulers.boundedElastic())
                    .flatMapIterable(found -> found);
            }
        }
        """,
    ),
    bad(
        _BLOCKING_CALL_IN_ASYNC_CODE,
        "csharp",
        """
        using Azure.Storage.Blobs;
        using Microsoft.AspNetCore.Mvc;
        [ApiController]
        [Route("documents")]
        public sealed class DocumentsController : ControllerBase
        {
            private readonly BlobContainerClient _container;
            private readonly IAudit _audit;
            public DocumentsController(BlobContainerClient container, IAudit audit)
            {
                _container = container;
                _audit = audit;
            }
            [HttpGet("{name}")]
            public async Task<IActionResult> Get(string name, CancellationToken ct)
            {
                BlobClient blob = _container.GetBlobClient(name);
                var content = blob.DownloadContent(ct).Value.Content;
                await _audit.ReadAsync(name, ct);
                return File(content.ToArray(), "application/pdf");
            }
        }
        """,
        18,
    ),
]
