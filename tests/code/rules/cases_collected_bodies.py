"""Bodies of requests that are put together part by part."""

# ruff: noqa: E101, E501  (snippets of Go; a line of a snippet stays one)

from __future__ import annotations

from tests.code.rules.cases import bad, good

CASES = [
    bad(
        "whole-file-loaded",
        "python",
        """
        from aiohttp import web

        async def upload(request: web.Request) -> web.Response:
            data = bytearray()
            async for chunk in request.content.iter_chunked(64 * 1024):
                data += chunk
            key = await request.app["store"].put(bytes(data))
            return web.json_response({"key": key}, status=201)
        """,
        5,
    ),
    good(
        "whole-file-loaded",
        "python",
        """
        from aiohttp import web
        MAX = 8 * 1024 * 1024
        async def upload(request: web.Request) -> web.Response:
            data = bytearray()
            async for chunk in request.content.iter_chunked(64 * 1024):
                data += chunk
                if len(data) > MAX:
                    raise web.HTTPRequestEntityTooLarge(max_size=MAX, actual_size=len(data))
            key = await request.app["store"].put(bytes(data))
            return web.json_response({"key": key}, status=201)
        """,
    ),
    bad(
        "whole-file-loaded",
        "python",
        """
        from starlette.requests import Request
        from starlette.responses import JSONResponse

        LIMIT = 5_000_000

        async def ingest(request: Request) -> JSONResponse:
            if int(request.headers.get("content-length", 0)) > LIMIT:
                return JSONResponse({"error": "too large"}, status_code=413)
            parts = []
            async for part in request.stream():
                parts.append(part)
            await request.app.state.queue.put(b"".join(parts))
            return JSONResponse({"ok": True}, status_code=202)
        """,
        10,
    ),
    bad(
        "whole-file-loaded",
        "python",
        """
        from fastapi import APIRouter, Request, Depends
        from app.deps import storage

        router = APIRouter()

        @router.put("/scans/{scan_id}")
        async def put_scan(scan_id: str, request: Request, store=Depends(storage)):
            payload = await request.body()
            await store.put(scan_id, payload)
            return {"bytes": len(payload)}
        """,
        8,
    ),
    bad(
        "whole-file-loaded",
        "javascript",
        """
        const http = require('node:http');
        async function readAll(stream) {
          const parts = [];
          for await (const part of stream) parts.push(part);
          return Buffer.concat(parts).toString('utf8');
        }
        http.createServer(async (req, res) => {
          try {
            const body = JSON.parse(await readAll(req));
            res.writeHead(202).end(String(body.id));
          } catch (err) {
            res.writeHead(400).end('bad body');
          }
        }).listen(8080);
        """,
        4,
    ),
    bad(
        "whole-file-loaded",
        "javascript",
        """
        const http = require('node:http');
        function readJson(req) {
          return new Promise((resolve, reject) => {
            let received = 0;
            const chunks = [];
            req.on('data', (chunk) => {
              received += chunk.length;
              chunks.push(chunk);
            });
            req.on('end', () => resolve({ received, body: Buffer.concat(chunks) }));
            req.on('error', reject);
          });
        }
        module.exports = { readJson };
        """,
        6,
    ),
    bad(
        "whole-file-loaded",
        "typescript",
        """
        import type { IncomingMessage } from "node:http";
        export async function rawBody(message: IncomingMessage): Promise<Buffer> {
          let body = Buffer.alloc(0);
          for await (const chunk of message) {
            body = Buffer.concat([body, chunk]);
          }
          return body;
        }
        """,
        4,
    ),
    bad(
        "whole-file-loaded",
        "go",
        """
        package api

        import (
        	"encoding/json"
        	"io"
        	"net/http"
        )

        func decode(r *http.Request, into any) error {
        	raw, err := io.ReadAll(r.Body)
        	if err != nil {
        		return err
        	}
        	return json.Unmarshal(raw, into)
        }

        func (a *API) create(w http.ResponseWriter, r *http.Request) {
        	var order Order
        	if err := decode(r, &order); err != nil {
        		http.Error(w, "bad body", http.StatusBadRequest)
        		return
        	}
        	w.WriteHeader(http.StatusCreated)
        }
        """,
        10,
    ),
    bad(
        "whole-file-loaded",
        "go",
        """
        package api

        import (
        	"bytes"
        	"net/http"
        )

        func (a *API) upload(w http.ResponseWriter, r *http.Request) {
        	var buf bytes.Buffer
        	if _, err := buf.ReadFrom(r.Body); err != nil {
        		http.Error(w, "read failed", http.StatusBadRequest)
        		return
        	}
        	if err := a.store.Put(r.Context(), buf.Bytes()); err != nil {
        		http.Error(w, "not stored", http.StatusInternalServerError)
        		return
        	}
        	w.WriteHeader(http.StatusCreated)
        }
        """,
        10,
    ),
    bad(
        "whole-file-loaded",
        "go",
        """
        package api

        import (
        	"bytes"
        	"io"
        	"net/http"
        )

        func (a *API) upload(w http.ResponseWriter, r *http.Request) {
        	buf := new(bytes.Buffer)
        	if _, err := io.Copy(buf, r.Body); err != nil {
        		http.Error(w, "read failed", http.StatusBadRequest)
        		return
        	}
        	if err := a.store.Put(r.Context(), buf.Bytes()); err != nil {
        		http.Error(w, "not stored", http.StatusInternalServerError)
        		return
        	}
        	w.WriteHeader(http.StatusCreated)
        }
        """,
        11,
    ),
    bad(
        "whole-file-loaded",
        "java",
        """
        package com.acme;

        import jakarta.servlet.http.HttpServlet;
        import jakarta.servlet.http.HttpServletRequest;
        import jakarta.servlet.http.HttpServletResponse;
        import java.io.IOException;
        import java.util.stream.Collectors;

        public class HookServlet extends HttpServlet {
            @Override
            protected void doPost(HttpServletRequest request, HttpServletResponse response) throws IOException {
                String body = request.getReader().lines().collect(Collectors.joining("\\n"));
                new HookProcessor().accept(body);
                response.setStatus(HttpServletResponse.SC_ACCEPTED);
            }
        }
        """,
        12,
    ),
    bad(
        "whole-file-loaded",
        "java",
        """
        package com.acme;

        import com.sun.net.httpserver.HttpExchange;
        import com.sun.net.httpserver.HttpHandler;
        import java.io.ByteArrayOutputStream;
        import java.io.IOException;

        public class IngestHandler implements HttpHandler {
            private final Sink sink;
            IngestHandler(Sink sink) { this.sink = sink; }

            @Override
            public void handle(HttpExchange exchange) throws IOException {
                ByteArrayOutputStream out = new ByteArrayOutputStream();
                exchange.getRequestBody().transferTo(out);
                sink.accept(out.toByteArray());
                exchange.sendResponseHeaders(202, -1);
                exchange.close();
            }
        }
        """,
        15,
    ),
    bad(
        "whole-file-loaded",
        "rust",
        """
        use actix_web::{post, web, HttpResponse};
        use futures_util::StreamExt;

        #[post("/volumes")]
        async fn upload(mut payload: web::Payload, store: web::Data<Store>) -> actix_web::Result<HttpResponse> {
            let mut body = web::BytesMut::new();
            while let Some(chunk) = payload.next().await {
                body.extend_from_slice(&chunk?);
            }
            store.put(body.freeze()).await.map_err(actix_web::error::ErrorInternalServerError)?;
            Ok(HttpResponse::Created().finish())
        }
        """,
        7,
    ),
    bad(
        "whole-file-loaded",
        "rust",
        """
        use http_body_util::BodyExt;
        use hyper::{body::Incoming, Request, Response};

        async fn handle(req: Request<Incoming>) -> Result<Response<Full>, Error> {
            let bytes = req.into_body().collect().await?.to_bytes();
            let event: Event = serde_json::from_slice(&bytes)?;
            accept(event).await
        }
        """,
        5,
    ),
    bad(
        "whole-file-loaded",
        "csharp",
        """
        using System.Net;

        public sealed class HookListener(HttpListener listener, IHookSink sink)
        {
            public async Task RunAsync(CancellationToken ct)
            {
                while (!ct.IsCancellationRequested)
                {
                    var context = await listener.GetContextAsync().WaitAsync(ct);
                    using var reader = new StreamReader(context.Request.InputStream);
                    var body = await reader.ReadToEndAsync(ct);
                    await sink.AcceptAsync(body, ct);
                    context.Response.StatusCode = 202;
                    context.Response.Close();
                }
            }
        }
        """,
        11,
    ),
    bad(
        "whole-file-loaded",
        "kotlin",
        """
        package com.acme

        import io.ktor.server.application.*
        import io.ktor.server.request.*
        import io.ktor.server.response.*
        import io.ktor.server.routing.*
        import io.ktor.utils.io.*

        fun Route.uploads(store: ScanStore) {
            put("/scans/{id}") {
                val bytes = call.receiveChannel().toByteArray()
                store.put(call.parameters["id"]!!, bytes)
                call.respondText("ok")
            }
        }
        """,
        11,
    ),
    good(
        "whole-file-loaded",
        "python",
        """
        from fastapi import APIRouter, HTTPException, UploadFile
        router = APIRouter()
        MAX = 5 * 1024 * 1024

        @router.post("/avatars")
        async def avatar(file: UploadFile):
            if file.size is None or file.size > MAX:
                raise HTTPException(413, "too large")
            data = await file.read()
            return {"bytes": len(data)}
        """,
    ),
    good(
        "whole-file-loaded",
        "javascript",
        """
        const http = require('node:http');
        const MAX = 1024 * 1024;
        async function readBody(req) {
          let size = 0;
          const parts = [];
          for await (const part of req) {
            size += part.length;
            if (size > MAX) throw Object.assign(new Error('too large'), { status: 413 });
            parts.push(part);
          }
          return Buffer.concat(parts);
        }
        module.exports = { readBody };
        """,
    ),
]
