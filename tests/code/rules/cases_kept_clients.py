"""Clients that a collection keeps after their connection or request has ended."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

# fmt: off
CASES = [
    bad("listener-leak", "python", """
        import asyncio
        import json

        from aiohttp import web


        class Ticker:
            def __init__(self, source):
                self.source = source
                self.clients = set()

            async def handler(self, request):
                ws = web.WebSocketResponse(heartbeat=20)
                await ws.prepare(request)
                self.clients.add(ws)
                async for message in ws:
                    if message.type == web.WSMsgType.TEXT and message.data == "ping":
                        await ws.send_str("pong")
                return ws

            async def publish(self, tick):
                data = json.dumps(tick)
                for ws in list(self.clients):
                    if not ws.closed:
                        await asyncio.wait_for(ws.send_str(data), 2)
        """, 15),
    good("listener-leak", "python", """
        import asyncio
        import json

        from aiohttp import web


        class Ticker:
            def __init__(self, source):
                self.source = source
                self.clients = set()

            async def handler(self, request):
                ws = web.WebSocketResponse(heartbeat=20)
                await ws.prepare(request)
                self.clients.add(ws)
                try:
                    async for message in ws:
                        if message.type == web.WSMsgType.TEXT and message.data == "ping":
                            await ws.send_str("pong")
                finally:
                    self.clients.discard(ws)
                return ws

            async def publish(self, tick):
                data = json.dumps(tick)
                for ws in list(self.clients):
                    if not ws.closed:
                        await asyncio.wait_for(ws.send_str(data), 2)
        """),
    bad("listener-leak", "python", """
        import asyncio

        from fastapi import APIRouter, Request
        from sse_starlette.sse import EventSourceResponse

        router = APIRouter()


        class Feed:
            def __init__(self) -> None:
                self._listeners: list[asyncio.Queue[str]] = []

            def listen(self) -> asyncio.Queue[str]:
                queue: asyncio.Queue[str] = asyncio.Queue(maxsize=100)
                self._listeners.append(queue)
                return queue

            def publish(self, item: str) -> None:
                for queue in self._listeners:
                    if not queue.full():
                        queue.put_nowait(item)


        feed = Feed()


        @router.get("/events")
        async def events(request: Request) -> EventSourceResponse:
            queue = feed.listen()

            async def stream():
                while not await request.is_disconnected():
                    yield {"data": await queue.get()}

            return EventSourceResponse(stream())
        """, 15),
    good("listener-leak", "python", """
        import asyncio

        from fastapi import APIRouter, Request
        from sse_starlette.sse import EventSourceResponse

        router = APIRouter()


        class Feed:
            def __init__(self) -> None:
                self._listeners: list[asyncio.Queue[str]] = []

            def listen(self) -> asyncio.Queue[str]:
                queue: asyncio.Queue[str] = asyncio.Queue(maxsize=100)
                self._listeners.append(queue)
                return queue

            def forget(self, queue: asyncio.Queue[str]) -> None:
                self._listeners.remove(queue)

            def publish(self, item: str) -> None:
                for queue in self._listeners:
                    if not queue.full():
                        queue.put_nowait(item)


        feed = Feed()


        @router.get("/events")
        async def events(request: Request) -> EventSourceResponse:
            queue = feed.listen()

            async def stream():
                try:
                    while not await request.is_disconnected():
                        yield {"data": await queue.get()}
                finally:
                    feed.forget(queue)

            return EventSourceResponse(stream())
        """),
    bad("listener-leak", "java", """
        package com.acme.live;

        import java.io.IOException;
        import java.util.List;
        import java.util.concurrent.CopyOnWriteArrayList;
        import org.springframework.web.bind.annotation.GetMapping;
        import org.springframework.web.bind.annotation.RestController;
        import org.springframework.web.servlet.mvc.method.annotation.SseEmitter;

        @RestController
        public class AlertController {
            private final List<SseEmitter> emitters = new CopyOnWriteArrayList<>();

            @GetMapping("/alerts")
            public SseEmitter alerts() {
                SseEmitter emitter = new SseEmitter(300_000L);
                emitters.add(emitter);
                return emitter;
            }

            public void publish(Alert alert) {
                for (SseEmitter emitter : emitters) {
                    try {
                        emitter.send(alert);
                    } catch (IOException e) {
                        emitter.completeWithError(e);
                    }
                }
            }
        }
        """, 17),
    good("listener-leak", "java", """
        package com.acme.live;

        import java.io.IOException;
        import java.util.List;
        import java.util.concurrent.CopyOnWriteArrayList;
        import org.springframework.web.bind.annotation.GetMapping;
        import org.springframework.web.bind.annotation.RestController;
        import org.springframework.web.servlet.mvc.method.annotation.SseEmitter;

        @RestController
        public class AlertController {
            private final List<SseEmitter> emitters = new CopyOnWriteArrayList<>();

            @GetMapping("/alerts")
            public SseEmitter alerts() {
                SseEmitter emitter = new SseEmitter(300_000L);
                emitters.add(emitter);
                emitter.onCompletion(() -> emitters.remove(emitter));
                return emitter;
            }

            public void publish(Alert alert) {
                for (SseEmitter emitter : emitters) {
                    try {
                        emitter.send(alert);
                    } catch (IOException e) {
                        emitter.completeWithError(e);
                    }
                }
            }
        }
        """),
    bad("listener-leak", "javascript", """
        const express = require('express');

        function createBoard() {
          const viewers = new Set();
          const router = express.Router();

          router.get('/live', (req, res) => {
            res.set({ 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
            res.flushHeaders();
            viewers.add(res);
          });

          function publish(event) {
            const line = `data: ${JSON.stringify(event)}\\n\\n`;
            for (const res of viewers) res.write(line);
          }
          return { router, publish };
        }

        module.exports = { createBoard };
        """, 10),
    good("listener-leak", "javascript", """
        const express = require('express');

        function createBoard() {
          const viewers = new Set();
          const router = express.Router();

          router.get('/live', (req, res) => {
            res.set({ 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
            res.flushHeaders();
            viewers.add(res);
            req.on('close', () => viewers.delete(res));
          });

          function publish(event) {
            const line = `data: ${JSON.stringify(event)}\\n\\n`;
            for (const res of viewers) res.write(line);
          }
          return { router, publish };
        }

        module.exports = { createBoard };
        """),
    bad("listener-leak", "typescript", """
        import { WebSocketServer, WebSocket } from "ws";

        export class Notifier {
          private readonly sockets = new Map<string, Set<WebSocket>>();

          attach(server: WebSocketServer): void {
            server.on("connection", (socket, request) => {
              const user = userOf(request);
              const own = this.sockets.get(user) ?? new Set();
              own.add(socket);
              this.sockets.set(user, own);
              socket.on("error", (error) => log.warn({ error }, "socket failed"));
            });
          }

          notify(user: string, text: string): void {
            for (const socket of this.sockets.get(user) ?? []) socket.send(text);
          }
        }
        """, 10, 11),
    good("listener-leak", "typescript", """
        import { WebSocketServer } from "ws";

        export function attach(server: WebSocketServer, hub: Hub): void {
          server.on("connection", (ws, request) => {
            hub.join(ws, roomOf(request));
            ws.on("message", (data) => hub.handle(ws, data));
          });
        }

        export class Hub2 {
          private readonly clients = new Set<WebSocket>();
          attach(server: WebSocketServer): void {
            server.on("connection", (ws) => {
              this.clients.add(ws);
              ws.once("close", () => this.drop(ws));
            });
          }
          private drop(ws: WebSocket): void {
            this.clients.delete(ws);
          }
        }
        """),
    bad("listener-leak", "csharp", """
        using System.Collections.Generic;
        using System.Runtime.CompilerServices;
        using System.Threading;
        using System.Threading.Channels;
        using System.Collections.Concurrent;

        public sealed class PriceBoard
        {
            private readonly ConcurrentDictionary<Guid, Channel<Price>> _readers = new();

            public async IAsyncEnumerable<Price> Watch([EnumeratorCancellation] CancellationToken ct)
            {
                var channel = Channel.CreateBounded<Price>(100);
                _readers.TryAdd(Guid.NewGuid(), channel);
                await foreach (var price in channel.Reader.ReadAllAsync(ct))
                {
                    yield return price;
                }
            }

            public void Publish(Price price)
            {
                foreach (var reader in _readers.Values)
                {
                    reader.Writer.TryWrite(price);
                }
            }
        }
        """, 14),
    good("listener-leak", "csharp", """
        using System.Collections.Generic;
        using System.Runtime.CompilerServices;
        using System.Threading;
        using System.Threading.Channels;
        using System.Collections.Concurrent;

        public sealed class PriceBoard
        {
            private readonly ConcurrentDictionary<Guid, Channel<Price>> _readers = new();

            public async IAsyncEnumerable<Price> Watch([EnumeratorCancellation] CancellationToken ct)
            {
                var channel = Channel.CreateBounded<Price>(100);
                var id = Guid.NewGuid();
                _readers.TryAdd(id, channel);
                try
                {
                    await foreach (var price in channel.Reader.ReadAllAsync(ct))
                    {
                        yield return price;
                    }
                }
                finally
                {
                    _readers.TryRemove(id, out _);
                }
            }

            public void Publish(Price price)
            {
                foreach (var reader in _readers.Values)
                {
                    reader.Writer.TryWrite(price);
                }
            }
        }
        """),
    bad("listener-leak", "rust", """
        use std::collections::HashMap;
        use std::sync::Arc;

        use axum::extract::ws::{Message, WebSocket};
        use tokio::sync::{mpsc, Mutex};
        use uuid::Uuid;

        #[derive(Default)]
        pub struct Hub {
            viewers: Mutex<HashMap<Uuid, mpsc::Sender<String>>>,
        }

        pub async fn serve(mut socket: WebSocket, hub: Arc<Hub>) {
            let (tx, mut rx) = mpsc::channel(32);
            let id = Uuid::new_v4();
            hub.viewers.lock().await.insert(id, tx);
            while let Some(text) = rx.recv().await {
                if socket.send(Message::Text(text.into())).await.is_err() {
                    break;
                }
            }
        }

        impl Hub {
            pub async fn publish(&self, text: &str) {
                for tx in self.viewers.lock().await.values() {
                    let _ = tx.try_send(text.to_owned());
                }
            }
        }
        """, 16),
    good("listener-leak", "rust", """
        use std::collections::HashMap;
        use std::sync::Arc;

        use axum::extract::ws::{Message, WebSocket};
        use tokio::sync::{mpsc, Mutex};
        use uuid::Uuid;

        #[derive(Default)]
        pub struct Hub {
            viewers: Mutex<HashMap<Uuid, mpsc::Sender<String>>>,
        }

        pub async fn serve(mut socket: WebSocket, hub: Arc<Hub>) {
            let (tx, mut rx) = mpsc::channel(32);
            let id = Uuid::new_v4();
            hub.viewers.lock().await.insert(id, tx);
            while let Some(text) = rx.recv().await {
                if socket.send(Message::Text(text.into())).await.is_err() {
                    break;
                }
            }
            hub.viewers.lock().await.remove(&id);
        }
        """),
    good("listener-leak", "java", """
        package near;

        import java.util.Map;
        import java.util.concurrent.ConcurrentHashMap;
        import org.springframework.web.bind.annotation.PostMapping;
        import org.springframework.web.bind.annotation.RestController;

        @RestController
        class Registry {
            private final Map<String, Device> devices = new ConcurrentHashMap<>();

            @PostMapping("/devices")
            Device register(Device device) {
                devices.put(device.id(), device);
                return device;
            }
        }
        """),
]
