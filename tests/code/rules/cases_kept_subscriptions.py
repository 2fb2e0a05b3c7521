"""Subscriptions and timers that stay after a connection, a request or a call has ended."""

# ruff: noqa: E501  (lines of other languages)

from __future__ import annotations

from tests.code.rules.cases import bad, good

# fmt: off
CASES = [
    bad("listener-leak", "python", """
        from channels.generic.websocket import AsyncJsonWebsocketConsumer

        from .hub import prices


        class PriceConsumer(AsyncJsonWebsocketConsumer):
            async def connect(self):
                await self.accept()
                prices.add_listener(self.on_price)

            async def on_price(self, price):
                await self.send_json(price)

            async def disconnect(self, code):
                self.closed = True
        """, 9),
    good("listener-leak", "python", """
        from channels.generic.websocket import AsyncJsonWebsocketConsumer

        from .hub import prices


        class PriceConsumer(AsyncJsonWebsocketConsumer):
            async def connect(self):
                await self.accept()
                prices.add_listener(self.on_price)

            async def on_price(self, price):
                await self.send_json(price)

            async def disconnect(self, code):
                prices.remove_listener(self.on_price)
        """),
    bad("listener-leak", "kotlin", """
        package docs

        import org.springframework.web.bind.annotation.GetMapping
        import org.springframework.web.bind.annotation.RestController
        import org.springframework.web.servlet.mvc.method.annotation.SseEmitter

        @RestController
        class OrderEvents(private val hub: OrderHub) {
            @GetMapping("/orders/events")
            fun events(): SseEmitter {
                val emitter = SseEmitter(0L)
                hub.register { event -> emitter.send(event) }
                emitter.onError { emitter.complete() }
                return emitter
            }
        }
        """, 12),
    good("listener-leak", "kotlin", """
        package docs

        import org.springframework.web.bind.annotation.GetMapping
        import org.springframework.web.bind.annotation.RestController
        import org.springframework.web.servlet.mvc.method.annotation.SseEmitter

        @RestController
        class OrderEvents(private val hub: OrderHub) {
            @GetMapping("/orders/events")
            fun events(): SseEmitter {
                val emitter = SseEmitter(0L)
                val registration = hub.register { event -> emitter.send(event) }
                emitter.onCompletion { registration.cancel() }
                emitter.onError { emitter.complete() }
                return emitter
            }
        }
        """),
    bad("listener-leak", "go", """
        package live

        import (
            "encoding/json"
            "net/http"

            "github.com/nats-io/nats.go"
        )

        type Handler struct{ nc *nats.Conn }

        func (h *Handler) Stream(w http.ResponseWriter, r *http.Request) {
            flusher := w.(http.Flusher)
            w.Header().Set("Content-Type", "text/event-stream")
            msgs := make(chan *nats.Msg, 16)
            if _, err := h.nc.ChanSubscribe("prices."+r.PathValue("symbol"), msgs); err != nil {
                http.Error(w, "unavailable", http.StatusServiceUnavailable)
                return
            }
            for {
                select {
                case <-r.Context().Done():
                    return
                case m := <-msgs:
                    json.NewEncoder(w).Encode(string(m.Data))
                    flusher.Flush()
                }
            }
        }
        """, 16),
    bad("listener-leak", "go", """
        package feed

        import (
            "google.golang.org/grpc"
            pb "example.com/feed/pb"
        )

        type Server struct {
            pb.UnimplementedFeedServer
            hub *Hub
        }

        func (s *Server) Watch(req *pb.WatchRequest, stream grpc.ServerStreamingServer[pb.Quote]) error {
            quotes := s.hub.Subscribe(req.GetSymbol())
            for {
                select {
                case <-stream.Context().Done():
                    return nil
                case q := <-quotes:
                    if err := stream.Send(q); err != nil {
                        return err
                    }
                }
            }
        }
        """, 14),
    good("listener-leak", "go", """
        package feed

        import (
            "google.golang.org/grpc"
            pb "example.com/feed/pb"
        )

        type Server struct {
            pb.UnimplementedFeedServer
            hub *Hub
        }

        func (s *Server) Watch(req *pb.WatchRequest, stream grpc.ServerStreamingServer[pb.Quote]) error {
            quotes := s.hub.Subscribe(req.GetSymbol())
            defer s.hub.Unsubscribe(req.GetSymbol(), quotes)
            for {
                select {
                case <-stream.Context().Done():
                    return nil
                case q := <-quotes:
                    if err := stream.Send(q); err != nil {
                        return err
                    }
                }
            }
        }
        """),
    bad("listener-leak", "typescript", """
        import type { FastifyInstance } from "fastify";
        import { prices } from "./prices.js";

        export async function streamRoutes(app: FastifyInstance) {
          app.get("/prices/:symbol/stream", (request, reply) => {
            const { symbol } = request.params as { symbol: string };
            reply.hijack();
            reply.raw.writeHead(200, { "content-type": "text/event-stream" });
            const unsubscribe = prices.subscribe(symbol, (price) => {
              reply.raw.write(`data: ${JSON.stringify(price)}\\n\\n`);
            });
            request.raw.on("close", () => {
              request.log.debug({ symbol }, "client left");
            });
          });
        }
        """, 9),
    good("listener-leak", "typescript", """
        import type { FastifyInstance } from "fastify";
        import { prices } from "./prices.js";

        export async function streamRoutes(app: FastifyInstance) {
          app.get("/prices/:symbol/stream", (request, reply) => {
            const { symbol } = request.params as { symbol: string };
            reply.hijack();
            reply.raw.writeHead(200, { "content-type": "text/event-stream" });
            const unsubscribe = prices.subscribe(symbol, (price) => {
              reply.raw.write(`data: ${JSON.stringify(price)}\\n\\n`);
            });
            request.raw.on("close", () => {
              unsubscribe();
              request.log.debug({ symbol }, "client left");
            });
          });
        }
        """),
    bad("listener-leak", "csharp", """
        using System;
        using Microsoft.AspNetCore.Mvc;

        [ApiController]
        public sealed class FeedController : ControllerBase
        {
            private readonly IPriceStream _stream;

            public FeedController(IPriceStream stream) => _stream = stream;

            [HttpGet("/prices/{symbol}")]
            public async Task GetAsync(string symbol, CancellationToken ct)
            {
                Response.ContentType = "text/event-stream";
                var prices = Channel.CreateBounded<Price>(64);
                _stream.Of(symbol).Subscribe(price => prices.Writer.TryWrite(price));
                await foreach (var price in prices.Reader.ReadAllAsync(ct))
                {
                    await Response.WriteAsync($"data: {price}\\n\\n", ct);
                }
            }
        }
        """, 16),
    bad("listener-leak", "java", """
        package x;

        import java.util.concurrent.CompletableFuture;
        import org.springframework.web.bind.annotation.GetMapping;
        import org.springframework.web.bind.annotation.PathVariable;
        import org.springframework.web.bind.annotation.RestController;
        import org.springframework.web.context.request.async.DeferredResult;

        @RestController
        class Waits {
            private final JobEvents events;

            Waits(JobEvents events) {
                this.events = events;
            }

            @GetMapping("/jobs/{id}/result")
            DeferredResult<Job> wait(@PathVariable String id) {
                DeferredResult<Job> result = new DeferredResult<>(30_000L);
                events.addListener(job -> {
                    if (job.id().equals(id)) {
                        result.setResult(job);
                    }
                });
                return result;
            }
        }
        """, 20),
    bad("listener-leak", "typescript", """
        export class Downloader {
          constructor(private readonly stopSignal: AbortSignal, private readonly http: Http) {}

          async fetchPart(part: Part): Promise<Buffer> {
            const local = new AbortController();
            this.stopSignal.addEventListener("abort", () => local.abort());
            const timer = setTimeout(() => local.abort(), 5000);
            try {
              return await this.http.get(part.url, { signal: local.signal });
            } finally {
              clearTimeout(timer);
            }
          }
        }
        """, 6),
    good("listener-leak", "typescript", """
        export class Downloader {
          constructor(private readonly stopSignal: AbortSignal, private readonly http: Http) {}

          async fetchPart(part: Part): Promise<Buffer> {
            const signal = AbortSignal.any([this.stopSignal, AbortSignal.timeout(5000)]);
            return await this.http.get(part.url, { signal });
          }
        }
        """),
    bad("listener-leak", "javascript", """
        import { shutdownSignal } from './lifecycle.js';

        export async function withDeadline(work, ms) {
          const controller = new AbortController();
          const timer = setTimeout(() => controller.abort(new Error('deadline')), ms);
          shutdownSignal.addEventListener('abort', () => controller.abort(shutdownSignal.reason), { once: true });
          try {
            return await work(controller.signal);
          } finally {
            clearTimeout(timer);
          }
        }
        """, 6),
    good("listener-leak", "typescript", """
        export function delay(ms: number, signal: AbortSignal): Promise<void> {
          return new Promise((resolve, reject) => {
            const timer = setTimeout(resolve, ms);
            signal.addEventListener("abort", () => { clearTimeout(timer); reject(signal.reason); }, { once: true });
          });
        }
        """),
    bad("interval-leak", "java", """
        package com.acme.live;

        import java.util.concurrent.Executors;
        import java.util.concurrent.ScheduledExecutorService;
        import java.util.concurrent.TimeUnit;
        import org.springframework.web.bind.annotation.GetMapping;
        import org.springframework.web.bind.annotation.RestController;
        import org.springframework.web.servlet.mvc.method.annotation.SseEmitter;

        @RestController
        public class TempController {
            private final ScheduledExecutorService beats = Executors.newScheduledThreadPool(2);

            @GetMapping("/temps")
            public SseEmitter temps() {
                SseEmitter emitter = new SseEmitter(0L);
                beats.scheduleWithFixedDelay(() -> {
                    try {
                        emitter.send(SseEmitter.event().comment("beat"));
                    } catch (Exception e) {
                        emitter.complete();
                    }
                }, 10, 10, TimeUnit.SECONDS);
                return emitter;
            }
        }
        """, 17),
    bad("interval-leak", "java", """
        package com.acme.live;

        import java.time.Duration;
        import org.springframework.scheduling.TaskScheduler;
        import org.springframework.web.socket.TextMessage;
        import org.springframework.web.socket.WebSocketSession;
        import org.springframework.web.socket.handler.TextWebSocketHandler;
        import org.springframework.web.socket.CloseStatus;

        public class FleetSocketHandler extends TextWebSocketHandler {
            private final TaskScheduler scheduler;
            private final FleetState state;

            public FleetSocketHandler(TaskScheduler scheduler, FleetState state) {
                this.scheduler = scheduler;
                this.state = state;
            }

            @Override
            public void afterConnectionEstablished(WebSocketSession session) {
                scheduler.scheduleAtFixedRate(() -> push(session), Duration.ofSeconds(2));
            }

            @Override
            public void afterConnectionClosed(WebSocketSession session, CloseStatus status) {
                state.forget(session.getId());
            }

            private void push(WebSocketSession session) {
                try {
                    session.sendMessage(new TextMessage(state.json()));
                } catch (java.io.IOException e) {
                    // the next beat tries again
                }
            }
        }
        """, 21),
    good("interval-leak", "java", """
        package com.acme.live;

        import java.time.Duration;
        import java.util.Map;
        import java.util.concurrent.ConcurrentHashMap;
        import java.util.concurrent.ScheduledFuture;
        import org.springframework.scheduling.TaskScheduler;
        import org.springframework.web.socket.TextMessage;
        import org.springframework.web.socket.WebSocketSession;
        import org.springframework.web.socket.handler.TextWebSocketHandler;
        import org.springframework.web.socket.CloseStatus;

        public class FleetSocketHandler extends TextWebSocketHandler {
            private final TaskScheduler scheduler;
            private final FleetState state;
            private final Map<String, ScheduledFuture<?>> pushes = new ConcurrentHashMap<>();

            public FleetSocketHandler(TaskScheduler scheduler, FleetState state) {
                this.scheduler = scheduler;
                this.state = state;
            }

            @Override
            public void afterConnectionEstablished(WebSocketSession session) {
                pushes.put(session.getId(), scheduler.scheduleAtFixedRate(() -> push(session), Duration.ofSeconds(2)));
            }

            @Override
            public void afterConnectionClosed(WebSocketSession session, CloseStatus status) {
                ScheduledFuture<?> push = pushes.remove(session.getId());
                if (push != null) {
                    push.cancel(false);
                }
            }

            private void push(WebSocketSession session) {
                try {
                    session.sendMessage(new TextMessage(state.json()));
                } catch (java.io.IOException e) {
                    // the next beat tries again
                }
            }
        }
        """),
    bad("interval-leak", "typescript", """
        import type { Server, Socket } from "socket.io";

        export function attachTracking(io: Server, positions: PositionStore): void {
          const timers = new Map<string, NodeJS.Timeout>();

          io.on("connection", (socket: Socket) => {
            socket.on("track", (vehicleId: string) => {
              timers.set(
                socket.id,
                setInterval(() => socket.emit("position", positions.latest(vehicleId)), 1000),
              );
            });
            socket.on("untrack", () => {
              clearInterval(timers.get(socket.id));
              timers.delete(socket.id);
            });
            socket.on("disconnect", () => {
              positions.forget(socket.id);
            });
          });
        }
        """, 10),
    good("interval-leak", "typescript", """
        import type { Server, Socket } from "socket.io";

        export function attachTracking(io: Server, positions: PositionStore): void {
          const timers = new Map<string, NodeJS.Timeout>();

          io.on("connection", (socket: Socket) => {
            const stop = () => {
              clearInterval(timers.get(socket.id));
              timers.delete(socket.id);
            };
            socket.on("track", (vehicleId: string) => {
              stop();
              timers.set(
                socket.id,
                setInterval(() => socket.emit("position", positions.latest(vehicleId)), 1000),
              );
            });
            socket.on("untrack", stop);
            socket.on("disconnect", stop);
          });
        }
        """),
]
