"""Listeners and subscriptions of a request, connection or job on objects that outlive it."""

# ruff: noqa: E101, E501  (snippets of Go; a line of a snippet stays one)

from __future__ import annotations

from tests.code.rules.cases import bad, good

LISTENER = "listener-leak"

CASES = [
    bad(LISTENER, "javascript", """
        module.exports = async function (fastify, { hub }) {
          fastify.get('/live', { websocket: true }, (socket, req) => {
            hub.on('tick', (t) => socket.send(JSON.stringify(t)));
            socket.on('message', (m) => hub.emit('cmd', m));
            socket.on('close', () => fastify.log.info('gone'));
          });
        };
        """, 3),
    bad(LISTENER, "typescript", """
        import { EventEmitter } from 'node:events';
        import { WebSocketServer, WebSocket } from 'ws';
        export class PriceGateway {
          private readonly feed = new EventEmitter();
          private readonly wss: WebSocketServer;
          constructor(port: number) {
            this.wss = new WebSocketServer({ port });
            this.wss.on('connection', (ws: WebSocket) => this.accept(ws));
          }
          private accept(ws: WebSocket): void {
            const onPrice = (p: unknown) => ws.send(JSON.stringify(p));
            this.feed.on('price', onPrice);
            ws.on('error', (e) => console.error(e));
            ws.on('close', () => console.log('closed'));
          }
        }
        """, 12),
    bad(LISTENER, "typescript", """
        import { interval, Subject } from 'rxjs';
        import { Controller, Sse, Req } from '@nestjs/common';
        @Controller()
        export class OrdersController {
          constructor(private readonly orders: OrderEvents) {}
          @Get('stream/:id')
          stream(@Param('id') id: string, @Res() res: Response) {
            res.setHeader('content-type', 'text/event-stream');
            this.orders.changes$.subscribe((c) => { if (c.id === id) res.write(`data: ${c.state}\n\n`); });
          }
        }
        """, 9),
    bad(LISTENER, "python", """
        import asyncio
        from fastapi import FastAPI, WebSocket, WebSocketDisconnect
        app = FastAPI()
        hub = Hub()
        @app.websocket("/ws/{room}")
        async def ws(websocket: WebSocket, room: str):
            await websocket.accept()
            queue = hub.subscribe(room)
            try:
                while True:
                    message = await queue.get()
                    await websocket.send_json(message)
            except WebSocketDisconnect:
                log.info("gone")
        """, 8),
    bad(LISTENER, "go", """
        package api

        import "net/http"

        type Server struct{ hub *Hub }

        func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
        	flusher := w.(http.Flusher)
        	ch := s.hub.Subscribe(r.PathValue("room"))
        	for {
        		select {
        		case msg := <-ch:
        			w.Write(msg)
        			flusher.Flush()
        		case <-r.Context().Done():
        			return
        		}
        	}
        }
        """, 9),
    bad(LISTENER, "csharp", """
        using System.Net.WebSockets;
        public class TickerEndpoint
        {
            private readonly PriceFeed _feed;
            public TickerEndpoint(PriceFeed feed) => _feed = feed;
            public async Task HandleAsync(HttpContext context)
            {
                using var socket = await context.WebSockets.AcceptWebSocketAsync();
                _feed.PriceChanged += async (_, p) => await SendAsync(socket, p);
                await ReceiveUntilClosedAsync(socket, context.RequestAborted);
            }
        }
        """, 9),
    bad(LISTENER, "kotlin", """
        class TrackController(private val bus: PositionBus) {
            @GetMapping("/track/{id}")
            fun track(@PathVariable id: String): SseEmitter {
                val emitter = SseEmitter(0L)
                bus.addListener(id) { position -> emitter.send(position) }
                return emitter
            }
        }
        """, 5),
    bad(LISTENER, "java", """
        @RestController
        class FeedController {
            private final EventBus bus;
            FeedController(EventBus bus) { this.bus = bus; }
            @GetMapping("/feed")
            public SseEmitter feed() {
                SseEmitter emitter = new SseEmitter(0L);
                bus.subscribe(event -> send(emitter, event));
                emitter.onCompletion(() -> log.debug("done"));
                return emitter;
            }
        }
        """, 8),
    bad(LISTENER, "typescript", """
        export async function delay(ms: number, signal?: AbortSignal): Promise<void> {
          return new Promise((resolve, reject) => {
            const timer = setTimeout(resolve, ms);
            signal?.addEventListener('abort', () => { clearTimeout(timer); reject(signal.reason); }, { once: true });
          });
        }
        export async function poll(api: Api, signal: AbortSignal): Promise<void> {
          while (!signal.aborted) {
            try { await api.tick(); } catch (err) { log.warn(err); }
            await delay(1000, signal);
          }
        }
        """, 4),
    good(LISTENER, "javascript", """
        module.exports = async function (fastify, { hub }) {
          fastify.get('/live', { websocket: true }, (socket, req) => {
            const send = (t) => socket.send(JSON.stringify(t));
            hub.on('tick', send);
            socket.on('close', () => hub.off('tick', send));
          });
        };
        """),
    good(LISTENER, "typescript", """
        export class PriceGateway {
          private readonly feed = new EventEmitter();
          private readonly handlers = new Map<WebSocket, (p: unknown) => void>();
          accept(ws: WebSocket): void {
            const onPrice = (p: unknown) => ws.send(JSON.stringify(p));
            this.handlers.set(ws, onPrice);
            this.feed.on('price', onPrice);
            ws.on('close', () => this.drop(ws));
          }
          private drop(ws: WebSocket): void {
            const handler = this.handlers.get(ws);
            if (handler) this.feed.off('price', handler);
            this.handlers.delete(ws);
          }
        }
        """),
    good(LISTENER, "typescript", """
        @Controller()
        export class OrdersController {
          constructor(private readonly orders: OrderEvents, private readonly http: HttpService) {}
          @Get('stream/:id')
          stream(@Param('id') id: string, @Res() res: Response) {
            const sub = this.orders.changes$.subscribe((c) => res.write(c.state));
            res.on('close', () => sub.unsubscribe());
            this.http.get(`/x/${id}`).subscribe((r) => res.write(r.data));
          }
          @Get('one/:id')
          one(@Param('id') id: string, @Res() res: Response) {
            this.orders.changes$.pipe(first()).subscribe((c) => res.json(c));
          }
        }
        """),
    good(LISTENER, "python", """
        @app.websocket("/ws/{room}")
        async def ws(websocket: WebSocket, room: str):
            await websocket.accept()
            queue = hub.subscribe(room)
            try:
                while True:
                    await websocket.send_json(await queue.get())
            finally:
                hub.unsubscribe(room, queue)
        """),
    good(LISTENER, "go", """
        package api

        func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
        	ch := s.hub.Subscribe(r.PathValue("room"))
        	defer s.hub.Unsubscribe(ch)
        	sub := s.rdb.Subscribe(r.Context(), "x")
        	defer sub.Close()
        	ev := s.bus.Subscribe(r.Context())
        	for m := range ev {
        		w.Write(m)
        	}
        }
        """),
    good(LISTENER, "csharp", """
        public class TickerEndpoint
        {
            private readonly PriceFeed _feed;
            public async Task HandleAsync(HttpContext context)
            {
                using var socket = await context.WebSockets.AcceptWebSocketAsync();
                EventHandler<Price> onPrice = (_, p) => _queue.Add(p);
                _feed.PriceChanged += onPrice;
                try { await ReceiveUntilClosedAsync(socket, context.RequestAborted); }
                finally { _feed.PriceChanged -= onPrice; }
            }
            public void Run(HttpContext context, CancellationToken token)
            {
                token.Register(() => _queue.Cancel());
                using var r = _lifetime.ApplicationStopping.Register(() => context.Abort());
                var p = new Process();
                p.Exited += (_, _) => Done(p);
            }
        }
        public sealed class Settings
        {
            public Settings(IOptionsMonitor<X> options) { options.OnChange(x => _x = x); }
        }
        public static class Setup {
            public static void Add(IServiceCollection services) => services.AddSingleton<Settings>();
        }
        """),
    good(LISTENER, "kotlin", """
        class TrackController(private val bus: PositionBus) {
            @GetMapping("/track/{id}")
            fun track(@PathVariable id: String): SseEmitter {
                val emitter = SseEmitter(0L)
                val listener = PositionListener { position -> emitter.send(position) }
                bus.addListener(listener)
                emitter.onCompletion { bus.removeListener(listener) }
                return emitter
            }
        }
        """),
    good(LISTENER, "java", """
        @RestController
        class FeedController {
            private final EventBus bus;
            @GetMapping("/feed")
            public SseEmitter feed() {
                SseEmitter emitter = new SseEmitter(0L);
                Subscription sub = bus.subscribe(event -> send(emitter, event));
                emitter.onCompletion(sub::cancel);
                return emitter;
            }
            @PostMapping("/x")
            public void post(@RequestBody Order order) {
                Validator v = new Validator();
                v.addHandler(e -> log(e));
                v.run(order);
                repository.save(order).thenAccept(o -> log.info("x"));
            }
        }
        """),
    good(LISTENER, "typescript", """
        export async function delay(ms: number, signal?: AbortSignal): Promise<void> {
          return new Promise((resolve, reject) => {
            const onAbort = () => { clearTimeout(timer); reject(signal!.reason); };
            const timer = setTimeout(() => { signal?.removeEventListener('abort', onAbort); resolve(); }, ms);
            signal?.addEventListener('abort', onAbort, { once: true });
          });
        }
        export async function poll(api: Api, signal: AbortSignal): Promise<void> {
          while (!signal.aborted) {
            await delay(1000, signal);
          }
        }
        export function handler(req: Request, res: Response) {
          const controller = new AbortController();
          controller.signal.addEventListener('abort', () => res.end());
          req.on('close', () => controller.abort());
        }
        export function once(signal: AbortSignal) { signal.addEventListener('abort', () => stop(), { once: true }); }
        """),
    good(LISTENER, "javascript", """
        class Stream {
          constructor() { this.onTick = this.onTick.bind(this); }
          handle(req, res) {
            bus.on('tick', this.onTick);
            req.on('close', () => bus.off('tick', this.onTick));
          }
          other(req, res) {
            const wrapped = wrap(this.push);
            bus.on('x', wrapped);
            res.on('close', () => bus.off('x', wrapped));
          }
        }
        """),
    good(LISTENER, "csharp", """
        class A { 
          void S() { _bus.X += Handle; _bus.Y += (s, e) => Other(); }
          void E() { _bus.X -= Handle; }
          void Handle(object s, E e) {}
        }
        """),
    bad(LISTENER, "javascript", """
        class Captions {
          handle(req, res) {
            this.bus.on("caption", (text) => this.push(res, text));
            res.once("close", () => this.bus.off("caption", this.push));
          }
          push(res, text) {
            res.write(text);
          }
        }
        """, 4),
    bad(LISTENER, "csharp", """
        class Screen
        {
            void Open() { _feed.Ticked += (_, tick) => Show(tick); }
            void Close() { _feed.Ticked -= Show; }
            void Show(Tick tick) { }
        }
        """, 4),
    bad(LISTENER, "python", """
        class Screen:
            def open(self):
                self.bus.subscribe("tick", lambda tick: self.show(tick))
            def close(self):
                self.bus.unsubscribe("tick", self.show)
            def show(self, tick):
                print(tick)
        """, 5),
    bad(LISTENER, "csharp", """
        public sealed class Markup
        {
            public Markup(IOptionsMonitor<Rule> options)
            {
                _rule = options.CurrentValue;
                options.OnChange(changed => _rule = changed);
            }
        }
        public static class Setup
        {
            public static void Add(IServiceCollection services) => services.AddScoped<IMarkup, Markup>();
        }
        """, 6),
    bad(LISTENER, "java", """
        class Tracking extends TextWebSocketHandler {
            private final RedisMessageListenerContainer redis;
            private final Map<String, WebSocketSession> open = new ConcurrentHashMap<>();
            public void afterConnectionEstablished(WebSocketSession session) {
                MessageListener listener = (message, pattern) -> forward(session, message);
                open.put(session.getId(), session);
                redis.addMessageListener(listener, new ChannelTopic("courier"));
            }
            public void afterConnectionClosed(WebSocketSession session, CloseStatus status) {
                open.remove(session.getId());
            }
        }
        """, 7),
    bad(LISTENER, "typescript", """
        const shutdown = new AbortController();
        async function render(job: Job, signal: AbortSignal): Promise<void> {
          const page = await browser.newPage();
          signal.addEventListener("abort", () => page.close(), { once: true });
          await page.print(job.data);
        }
        new Worker("render", (job) => render(job, shutdown.signal));
        """, 4),
    good(LISTENER, "javascript", """
        app.get("/export", async (req, res) => {
          const upstream = await axios.get(url, { responseType: "stream" });
          upstream.data.on("error", (err) => res.destroy(err));
        });
        """),
]  # fmt: skip
