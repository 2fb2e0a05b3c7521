"""Listeners of streams and jobs, and entries that tasks take after a look."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

# fmt: off
CASES = [
    bad("listener-leak", "java", """
        package com.acme.docs;

        import org.springframework.http.MediaType;
        import org.springframework.web.bind.annotation.GetMapping;
        import org.springframework.web.bind.annotation.RestController;
        import reactor.core.publisher.Flux;

        @RestController
        public class TradeFeed {
            private final TradeHub hub;

            public TradeFeed(TradeHub hub) {
                this.hub = hub;
            }

            @GetMapping(path = "/trades", produces = MediaType.TEXT_EVENT_STREAM_VALUE)
            public Flux<Trade> trades() {
                return Flux.create(sink -> hub.addListener(trade -> sink.next(trade)));
            }
        }
        """, 18),
    good("listener-leak", "java", """
        package com.acme.docs;

        import org.springframework.http.MediaType;
        import org.springframework.web.bind.annotation.GetMapping;
        import org.springframework.web.bind.annotation.RestController;
        import reactor.core.publisher.Flux;

        @RestController
        public class TradeFeed {
            private final TradeHub hub;

            public TradeFeed(TradeHub hub) {
                this.hub = hub;
            }

            @GetMapping(path = "/trades", produces = MediaType.TEXT_EVENT_STREAM_VALUE)
            public Flux<Trade> trades() {
                return Flux.create(sink -> {
                    TradeListener listener = sink::next;
                    hub.addListener(listener);
                    sink.onDispose(() -> hub.removeListener(listener));
                });
            }
        }
        """),
    bad("listener-leak", "kotlin", """
        import reactor.core.publisher.Flux
        import org.springframework.web.bind.annotation.GetMapping
        import org.springframework.web.bind.annotation.RestController

        @RestController
        class Positions(private val tracker: Tracker) {
            @GetMapping("/positions", produces = ["text/event-stream"])
            fun positions(): Flux<Position> = Flux.create { sink ->
                tracker.addListener { position -> sink.next(position) }
            }
        }
        """, 9),
    bad("listener-leak", "typescript", """
        import { WebSocketGateway, OnGatewayConnection, OnGatewayDisconnect } from "@nestjs/websockets";
        import type { Socket } from "socket.io";
        import { QuoteService } from "./quote.service";

        @WebSocketGateway()
        export class QuoteGateway implements OnGatewayConnection, OnGatewayDisconnect {
          constructor(private readonly quotes: QuoteService) {}

          handleConnection(client: Socket) {
            const pair = String(client.handshake.query.pair);
            this.quotes.stream$(pair).subscribe((quote) => client.emit("quote", quote));
          }

          handleDisconnect(client: Socket) {
            client.removeAllListeners();
          }
        }
        """, 11),
    good("listener-leak", "typescript", """
        import { WebSocketGateway, OnGatewayConnection, OnGatewayDisconnect } from "@nestjs/websockets";
        import { fromEvent, takeUntil } from "rxjs";
        import type { Socket } from "socket.io";
        import { QuoteService } from "./quote.service";

        @WebSocketGateway()
        export class QuoteGateway implements OnGatewayConnection, OnGatewayDisconnect {
          constructor(private readonly quotes: QuoteService) {}

          handleConnection(client: Socket) {
            const pair = String(client.handshake.query.pair);
            this.quotes
              .stream$(pair)
              .pipe(takeUntil(fromEvent(client, "disconnect")))
              .subscribe((quote) => client.emit("quote", quote));
          }

          handleDisconnect(client: Socket) {
            client.removeAllListeners();
          }
        }
        """),
    bad("listener-leak", "typescript", """
        import { Worker } from "bullmq";
        import { settings } from "./settings.js";

        export const worker = new Worker("render", async (job) => {
          let quality = settings.current().quality;
          settings.onChange((next) => {
            quality = next.quality;
          });
          for (const page of job.data.pages) {
            await renderPage(page, quality);
          }
        });
        """, 6),
    bad("listener-leak", "typescript", """
        import type { ServerWritableStream } from "@grpc/grpc-js";

        export class QuoteService {
          constructor(private readonly hub: QuoteHub) {}

          watch(call: ServerWritableStream<WatchRequest, Quote>): void {
            this.hub.on("quote", (quote: Quote) => {
              if (quote.symbol === call.request.symbol) call.write(quote);
            });
            call.on("cancelled", () => call.end());
          }
        }
        """, 7),
    bad("listener-leak", "kotlin", """
        package live

        import io.ktor.server.routing.Route
        import io.ktor.server.websocket.DefaultWebSocketServerSession
        import io.ktor.server.websocket.webSocket
        import io.ktor.websocket.Frame
        import java.util.Collections

        class Room {
            private val members = Collections.synchronizedSet(LinkedHashSet<DefaultWebSocketServerSession>())

            fun install(route: Route) {
                route.webSocket("/room") {
                    members += this
                    for (frame in incoming) {
                        if (frame is Frame.Text) broadcast(frame)
                    }
                }
            }

            suspend fun broadcast(frame: Frame.Text) {
                members.toList().forEach { it.send(frame.copy()) }
            }
        }
        """, 14),
    good("listener-leak", "kotlin", """
        package live

        import io.ktor.server.routing.Route
        import io.ktor.server.websocket.DefaultWebSocketServerSession
        import io.ktor.server.websocket.webSocket
        import io.ktor.websocket.Frame
        import java.util.Collections

        class Room {
            private val members = Collections.synchronizedSet(LinkedHashSet<DefaultWebSocketServerSession>())

            fun install(route: Route) {
                route.webSocket("/room") {
                    members += this
                    try {
                        for (frame in incoming) {
                            if (frame is Frame.Text) broadcast(frame)
                        }
                    } finally {
                        members -= this
                    }
                }
            }

            suspend fun broadcast(frame: Frame.Text) {
                members.toList().forEach { it.send(frame.copy()) }
            }
        }
        """),
    bad("listener-leak", "go", """
        package board

        import (
            "net/http"
            "sync"

            "github.com/gorilla/websocket"
        )

        type Hub struct {
            mu    sync.RWMutex
            rooms map[string]map[*Viewer]struct{}
        }

        type Viewer struct {
            conn *websocket.Conn
            out  chan []byte
        }

        var upgrader = websocket.Upgrader{}

        func (h *Hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
            conn, err := upgrader.Upgrade(w, r, nil)
            if err != nil {
                return
            }
            defer conn.Close()
            v := &Viewer{conn: conn, out: make(chan []byte, 32)}
            room := r.PathValue("room")
            h.mu.Lock()
            if h.rooms[room] == nil {
                h.rooms[room] = map[*Viewer]struct{}{}
            }
            h.rooms[room][v] = struct{}{}
            h.mu.Unlock()

            go v.writeLoop()
            for {
                if _, _, err := conn.ReadMessage(); err != nil {
                    return
                }
            }
        }

        func (v *Viewer) writeLoop() {
            for msg := range v.out {
                if err := v.conn.WriteMessage(websocket.TextMessage, msg); err != nil {
                    return
                }
            }
        }

        func (h *Hub) Broadcast(room string, msg []byte) {
            h.mu.RLock()
            defer h.mu.RUnlock()
            for v := range h.rooms[room] {
                select {
                case v.out <- msg:
                default:
                }
            }
        }
        """, 34),
    good("listener-leak", "go", """
        package board

        import (
            "net/http"
            "sync"

            "github.com/gorilla/websocket"
        )

        type Hub struct {
            mu    sync.RWMutex
            rooms map[string]map[*Viewer]struct{}
        }

        type Viewer struct {
            conn *websocket.Conn
            out  chan []byte
        }

        var upgrader = websocket.Upgrader{}

        func (h *Hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
            conn, err := upgrader.Upgrade(w, r, nil)
            if err != nil {
                return
            }
            defer conn.Close()
            v := &Viewer{conn: conn, out: make(chan []byte, 32)}
            room := r.PathValue("room")
            h.mu.Lock()
            if h.rooms[room] == nil {
                h.rooms[room] = map[*Viewer]struct{}{}
            }
            h.rooms[room][v] = struct{}{}
            h.mu.Unlock()
            defer h.leave(room, v)

            go v.writeLoop()
            for {
                if _, _, err := conn.ReadMessage(); err != nil {
                    return
                }
            }
        }

        func (h *Hub) leave(room string, v *Viewer) {
            h.mu.Lock()
            defer h.mu.Unlock()
            delete(h.rooms[room], v)
            close(v.out)
        }

        func (v *Viewer) writeLoop() {
            for msg := range v.out {
                if err := v.conn.WriteMessage(websocket.TextMessage, msg); err != nil {
                    return
                }
            }
        }
        """),
    good("listener-leak", "typescript", """
        export class Poller {
          private timer?: NodeJS.Timeout;
          constructor(private readonly signal: AbortSignal) {
            this.signal.addEventListener("abort", () => this.stop(), { once: true });
          }
          start(): void {
            this.timer = setInterval(() => this.tick(), 1000);
            this.signal.addEventListener("abort", () => clearInterval(this.timer), { once: true });
          }
          stop(): void { clearInterval(this.timer); }
          tick(): void {}
        }
        """),
    bad("checked-then-inserted", "python", """
        class Seats:
            def __init__(self, repo):
                self.holders = {}
                self.repo = repo

            async def hold(self, seat, user):
                if seat in self.holders:
                    return False
                if not await self.repo.may_book(user):
                    return False
                self.holders[seat] = user
                return True
        """, 7),
    bad("lock-held-over-io", "typescript", """
        import { Mutex } from "async-mutex";

        export class Roster {
          private readonly mutex = new Mutex();
          private entries = new Map<string, Entry>();

          constructor(private readonly feed: EntryFeed) {}

          find(name: string): Promise<Entry | undefined> {
            return this.mutex.runExclusive(() => this.entries.get(name));
          }

          async reload(): Promise<void> {
            await this.mutex.runExclusive(async () => {
              const rows = await this.feed.fetchAll();
              this.entries = new Map(rows.map((row) => [row.name, row]));
            });
          }
        }
        """, 15),
    bad("shared-mutable-state", "kotlin", """
        import java.util.concurrent.ConcurrentHashMap

        class Seats {
            private val holders = ConcurrentHashMap<String, String>()

            fun hold(seat: String, user: String): Boolean {
                if (holders[seat] != null) return false
                holders[seat] = user
                return true
            }
        }
        """, 7),
]
