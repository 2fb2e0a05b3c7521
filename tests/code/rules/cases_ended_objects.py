"""Listeners, timers and tasks of objects and connections that end."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

LISTENER = "listener-leak"
TIMER = "interval-leak"
TASK = "task-left-running"

CASES = [
    bad(LISTENER, "csharp", """
        sealed class Session : IDisposable
        {
            private readonly IFeed _feed;
            public Session(IFeed feed) { _feed = feed; _feed.Tick += OnTick; }
            private void OnTick(object sender, Tick tick) { Send(tick); }
            public void Dispose() { _client.Close(); }
        }
        """, 4),
    good(LISTENER, "csharp", """
        sealed class Session : IDisposable
        {
            private readonly IFeed _feed;
            public Session(IFeed feed) { _feed = feed; _feed.Tick += OnTick; }
            private void OnTick(object sender, Tick tick) { Send(tick); }
            public void Dispose() { _feed.Tick -= OnTick; }
        }
        """),
    good(LISTENER, "csharp", """
        sealed class Session : IDisposable
        {
            private readonly Watcher _watcher = new Watcher();
            public Session() { _watcher.Changed += OnChanged; }
            private void OnChanged(object sender, Change change) { Send(change); }
            public void Dispose() { _watcher.Dispose(); }
        }
        """),
    good(LISTENER, "csharp", """
        class Total
        {
            public Total(Cart cart) { cart.Sum += Price; }
        }
        """),
    bad(LISTENER, "kotlin", """
        fun positions(tracker: Tracker): Flow<Position> = callbackFlow {
            val listener = PositionListener { trySend(it) }
            tracker.addListener(listener)
            awaitClose { log.debug("ended") }
        }
        """, 3),
    good(LISTENER, "kotlin", """
        fun positions(tracker: Tracker): Flow<Position> = callbackFlow {
            val listener = PositionListener { trySend(it) }
            tracker.addListener(listener)
            awaitClose { tracker.removeListener(listener) }
        }
        """),
    bad(LISTENER, "java", """
        class Endpoint extends jakarta.websocket.Endpoint {
            private final Feed feed;
            Endpoint(Feed feed) { this.feed = feed; }
            public void onOpen(Session session, EndpointConfig config) {
                feed.addListener(quote -> session.getAsyncRemote().sendText(quote.text()));
            }
        }
        """, 5),
    good(LISTENER, "java", """
        class Prices {
            private final Feed feed;
            Prices(Feed feed) { this.feed = feed; }
            public void start() {
                feed.addListener(quote -> keep(quote));
            }
        }
        """),
    bad(LISTENER, "typescript", """
        export class Feed {
          private readonly trades = new Subject<Trade>();
          attach(socket: WebSocket): void {
            this.trades.subscribe((trade) => socket.send(trade.text));
          }
        }
        """, 4),
    good(LISTENER, "typescript", """
        export class Feed {
          private readonly trades = new Subject<Trade>();
          attach(socket: WebSocket): void {
            const kept = this.trades.subscribe((trade) => socket.send(trade.text));
            socket.once("close", () => kept.unsubscribe());
          }
        }
        """),
    bad(TIMER, "typescript", """
        export class Room {
          constructor(private readonly id: string) {
            setInterval(() => this.ping(), 15_000);
          }
          close(): void {
            this.members.clear();
          }
        }
        """, 3),
    good(TIMER, "typescript", """
        export class Metrics {
          constructor(private readonly sink: Sink) {
            setInterval(() => this.flush(), 15_000);
          }
        }
        """),
    bad(TIMER, "csharp", """
        sealed class Heartbeat : IDisposable
        {
            private readonly Timer _timer;
            public Heartbeat() { _timer = new Timer(_ => Ping(), null, 0, 1000); }
            public void Dispose() { _connection.Close(); }
        }
        """, 4),
    good(TIMER, "csharp", """
        sealed class Heartbeat : IDisposable
        {
            private readonly Timer _timer;
            public Heartbeat() { _timer = new Timer(_ => Ping(), null, 0, 1000); }
            public void Dispose() { _timer.Dispose(); }
        }
        """),
    bad(TASK, "python", """
        import asyncio
        async def beat(name):
            while True:
                await touch(name)
                await asyncio.sleep(10)
        async def chat(socket):
            beats = asyncio.create_task(beat(socket.name))
            log.info("started %s", beats.get_name())
            async for message in socket:
                await handle(message)
        """, 7),
    bad(TASK, "python", """
        import asyncio
        async def beat(name):
            while True:
                await touch(name)
                await asyncio.sleep(10)
        async def chat(socket):
            beats = asyncio.create_task(beat(socket.name))
            await handle(socket)
            beats.cancel()
        """, 7),
    good(TASK, "python", """
        import asyncio
        async def beat(name):
            while True:
                await touch(name)
                await asyncio.sleep(10)
        async def chat(socket):
            beats = asyncio.create_task(beat(socket.name))
            try:
                await handle(socket)
            finally:
                beats.cancel()
        """),
    good(TASK, "python", """
        import asyncio
        async def beat(name):
            while True:
                await touch(name)
                await asyncio.sleep(10)
        async def start(self):
            beats = asyncio.create_task(beat(self.name))
            self.tasks.add(beats)
        async def main():
            beats = asyncio.create_task(beat("a"))
            await serve()
        """),
    good(TASK, "python", """
        import asyncio
        async def read(socket):
            while True:
                line = await socket.readline()
                if not line:
                    return
        async def chat(socket):
            reader = asyncio.create_task(read(socket))
            await handle(socket)
        """),
    bad(TASK, "rust", """
        pub async fn session(mut socket: WebSocket, presence: Presence) {
            let task = tokio::spawn(async move {
                loop {
                    presence.touch().await;
                    tokio::time::sleep(PAUSE).await;
                }
            });
            while let Some(Ok(message)) = socket.recv().await {
                handle(message);
            }
        }
        """, 2),
    good(TASK, "rust", """
        pub async fn session(mut socket: WebSocket, presence: Presence) {
            let task = tokio::spawn(async move {
                loop {
                    presence.touch().await;
                    tokio::time::sleep(PAUSE).await;
                }
            });
            while let Some(Ok(message)) = socket.recv().await {
                handle(message);
            }
            task.abort();
        }
        """),
    bad(TASK, "kotlin", """
        fun Route.prices(feed: Feed, scope: CoroutineScope) {
            webSocket("/prices") {
                scope.launch { feed.updates().collect { send(it) } }
                for (frame in incoming) read(frame)
            }
        }
        """, 3),
    good(TASK, "kotlin", """
        fun Route.prices(feed: Feed) {
            webSocket("/prices") {
                launch { feed.updates().collect { send(it) } }
                for (frame in incoming) read(frame)
            }
        }
        """),
]  # fmt: skip
