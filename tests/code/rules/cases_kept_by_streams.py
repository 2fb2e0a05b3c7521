"""Listeners of streams and of single clients, and what waits for the end of the process."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import bad, good

LISTENER = "listener-leak"

CASES = [
    bad(LISTENER, "typescript", """
        @Controller('prices')
        export class PricesController {
          constructor(private readonly bus: EventEmitter2) {}
          @Sse(':symbol')
          stream(@Param('symbol') symbol: string): Observable<MessageEvent> {
            return new Observable((subscriber) => {
              this.bus.on(`price.${symbol}`, (price) => subscriber.next({ data: price }));
            });
          }
        }
        """, 7),
    bad(LISTENER, "python", """
        @router.get("/events")
        async def events(request: Request):
            async def stream():
                queue = asyncio.Queue()
                broker.subscribers.add(queue)
                while not await request.is_disconnected():
                    yield await queue.get()
            return StreamingResponse(stream())
        """, 5),
    bad(LISTENER, "python", """
        class Feed:
            async def follow(self, symbol):
                queue = self._hub.subscribe(symbol)
                while True:
                    yield await queue.get()
        """, 3),
    bad(LISTENER, "java", """
        @Service
        class Ticks {
            private final TickFeed feed;
            Flux<Tick> ticks(String symbol) {
                return Flux.create(sink -> {
                    feed.addListener(symbol, tick -> sink.next(tick));
                });
            }
        }
        """, 6),
    bad(LISTENER, "typescript", """
        export async function GET(request: Request) {
          const stream = new ReadableStream({
            start(controller) {
              bus.on('notice', (n) => controller.enqueue(encode(n)));
            },
          });
          return new Response(stream);
        }
        """, 4),
    bad(LISTENER, "typescript", """
        export class Session {
          private timer: NodeJS.Timeout;
          constructor(private readonly socket: WebSocket, private readonly bus: EventEmitter) {
            this.timer = setInterval(() => this.socket.ping(), 10_000);
            this.bus.on('notice', (n) => this.socket.send(n));
            this.socket.on('close', () => clearInterval(this.timer));
          }
        }
        """, 5),
    bad(LISTENER, "javascript", """
        const redis = createClient();
        app.get('/sse/:room', async (req, res) => {
          res.writeHead(200, { 'content-type': 'text/event-stream' });
          await redis.subscribe(`room:${req.params.room}`, (m) => res.write(`data: ${m}\n\n`));
          req.on('close', () => res.end());
        });
        """, 4),
    bad(LISTENER, "javascript", """
        app.get('/tail', (req, res) => {
          const watcher = fs.watch(LOG, () => sendTail(res));
          req.on('close', () => res.end());
        });
        """, 2),
    bad(LISTENER, "python", """
        @receiver
        def noop(): ...
        def checkout(request):
            def on_paid(sender, **kw):
                notify(request.user)
            payment_done.connect(on_paid, weak=False)
            return redirect("/")
        """, 6),
    bad(LISTENER, "java", """
        @RestController
        class Export {
            @GetMapping("/export")
            public Resource export() throws IOException {
                File file = File.createTempFile("export", ".csv");
                file.deleteOnExit();
                Runtime.getRuntime().addShutdownHook(new Thread(file::delete));
                return new FileSystemResource(file);
            }
        }
        """, 6, 7),
    good(LISTENER, "typescript", """
        @Controller('prices')
        export class PricesController {
          constructor(private readonly bus: EventEmitter2) {}
          @Sse(':symbol')
          stream(@Param('symbol') symbol: string): Observable<MessageEvent> {
            return new Observable((subscriber) => {
              const send = (price) => subscriber.next({ data: price });
              this.bus.on(`price.${symbol}`, send);
              return () => this.bus.off(`price.${symbol}`, send);
            });
          }
        }
        """),
    good(LISTENER, "javascript", """
        module.exports = function emitEvents(req, res, next) {
          res.on("finish", function trigger() {
            res.removeListener("finish", trigger);
          });
          next();
        };
        function Server(sock) {
          this.sock = sock;
          this.sock.on("message", this.onmessage.bind(this));
        }
        """),
    good(LISTENER, "python", """
        class Feed:
            async def follow(self, symbol):
                queue = self._hub.subscribe(symbol)
                try:
                    while True:
                        yield await queue.get()
                finally:
                    self._hub.unsubscribe(symbol, queue)
        @router.get("/events")
        async def events(request: Request):
            async def stream():
                queue = asyncio.Queue(10)
                broker.subscribers.add(queue)
                try:
                    yield await queue.get()
                finally:
                    broker.subscribers.discard(queue)
            return StreamingResponse(stream())
        """),
    bad(LISTENER, "typescript", """
        export class NotificationsGateway implements OnGatewayConnection, OnGatewayDisconnect {
          constructor(private readonly events: EventEmitter2) {}
          handleConnection(client: Socket) {
            this.events.on(`user.${client.data.userId}`, (n) => client.emit('notification', n));
          }
          handleDisconnect(client: Socket) {
            this.logger.log(`gone ${client.id}`);
          }
        }
        """, 4),
    bad(LISTENER, "java", """
        @Component
        class PriceSocket extends TextWebSocketHandler {
            private final Sinks.Many<Price> prices;
            @Override
            public void afterConnectionEstablished(WebSocketSession session) {
                prices.asFlux().subscribe(p -> send(session, p));
            }
        }
        """, 6),
    bad(LISTENER, "csharp", """
        public class OrderStream : IDisposable
        {
            public OrderStream(IObservable<Order> orders, ILogger log)
            {
                orders.Subscribe(o => Push(o));
            }
            public void Dispose() { _channel.Writer.Complete(); }
        }
        """, 5),
    bad(LISTENER, "go", """
        package ws

        func (s *Server) Watch(req *pb.WatchRequest, stream pb.Prices_WatchServer) error {
        	ch := make(chan Price, 16)
        	s.feed.AddListener(ch)
        	for {
        		select {
        		case p := <-ch:
        			if err := stream.Send(p); err != nil {
        				return err
        			}
        		case <-stream.Context().Done():
        			return nil
        		}
        	}
        }
        """, 5),
    bad(LISTENER, "go", """
        package ws

        type Hub struct{ clients map[*websocket.Conn]chan []byte }

        func (h *Hub) ServeWS(w http.ResponseWriter, r *http.Request) {
        	conn, err := upgrader.Upgrade(w, r, nil)
        	if err != nil {
        		return
        	}
        	send := make(chan []byte, 16)
        	h.mu.Lock()
        	h.clients[conn] = send
        	h.mu.Unlock()
        	go func() {
        		for m := range send {
        			conn.WriteMessage(1, m)
        		}
        	}()
        	for {
        		if _, _, err := conn.ReadMessage(); err != nil {
        			conn.Close()
        			return
        		}
        	}
        }
        """, 12),
    bad(LISTENER, "kotlin", """
        class Sessions(private val bus: Bus) {
            suspend fun handle(session: DefaultWebSocketServerSession) {
                bus.subscribe("room") { msg -> session.outgoing.trySend(Frame.Text(msg)) }
                for (frame in session.incoming) handleFrame(frame)
            }
        }
        """, 3),
    good(LISTENER, "go", """
        package ws

        func (h *Hub) ServeWS(w http.ResponseWriter, r *http.Request) {
        	conn, _ := upgrader.Upgrade(w, r, nil)
        	h.clients[conn] = make(chan []byte, 16)
        	defer delete(h.clients, conn)
        	seen := map[string]int{}
        	seen["a"] = 1
        	read(conn)
        }
        """),
    bad(LISTENER, "rust", """
        async fn ws(mut socket: WebSocket, state: Arc<State>) {
            let id = Uuid::new_v4();
            let (tx, mut rx) = mpsc::unbounded_channel();
            state.clients.lock().await.insert(id, tx);
            while let Some(Ok(msg)) = socket.recv().await {
                state.handle(msg).await;
            }
        }
        """, 4),
    good(LISTENER, "rust", """
        async fn ws(mut socket: WebSocket, state: Arc<State>) {
            let id = Uuid::new_v4();
            let (tx, mut rx) = mpsc::unbounded_channel();
            state.clients.lock().await.insert(id, tx);
            while let Some(Ok(msg)) = socket.recv().await {
                state.handle(msg).await;
            }
            state.clients.lock().await.remove(&id);
        }
        """),
    good(LISTENER, "python", """
        class Handler:
            def client_for(self, request):
                client = make(request.proxy)
                self._clients[request.proxy] = client
                return client
        """),
]  # fmt: skip
