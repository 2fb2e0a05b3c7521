"""Endless tasks, threads and schedules that are started for a connection, a request or a call."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

LEFT = "task-left-running"

CASES = [
    bad(
        LEFT,
        "rust",
        """
        async fn beat(redis: Redis, user: String) {
            loop {
                sleep(BEAT).await;
                let _ = redis.touch(&user).await;
            }
        }

        pub async fn serve(mut socket: WebSocket, redis: Redis, user: String) {
            tokio::spawn(beat(redis, user.clone()));
            while let Some(Ok(message)) = socket.recv().await {
                handle(message);
            }
        }
        """,
        9,
    ),
    good(
        LEFT,
        "rust",
        """
        async fn beat(redis: Redis, user: String) {
            loop {
                sleep(BEAT).await;
                let _ = redis.touch(&user).await;
            }
        }

        pub async fn serve(mut socket: WebSocket, redis: Redis, user: String) {
            let task = tokio::spawn(beat(redis, user.clone()));
            while let Some(Ok(message)) = socket.recv().await {
                handle(message);
            }
            task.abort();
        }
        """,
    ),
    good(
        LEFT,
        "rust",
        """
        async fn beat(redis: Redis, user: String) -> Result<(), Error> {
            loop {
                sleep(BEAT).await;
                redis.touch(&user).await?;
            }
        }

        pub async fn serve(mut socket: WebSocket, redis: Redis, user: String) {
            tokio::spawn(beat(redis, user.clone()));
        }
        """,
    ),
    good(
        LEFT,
        "rust",
        """
        async fn report(stats: Stats) {
            loop {
                sleep(BEAT).await;
                stats.write().await;
            }
        }

        pub async fn run(stats: Stats) {
            tokio::spawn(report(stats));
        }
        """,
    ),
    bad(
        LEFT,
        "go",
        """
        package a

        func (h *Hub) serve(conn net.Conn) {
            defer conn.Close()
            go h.beat(conn)
            for h.read(conn) {
            }
        }

        func (h *Hub) beat(conn net.Conn) {
            ticker := time.NewTicker(h.every)
            for range ticker.C {
                _, _ = conn.Write(ping)
            }
        }
        """,
        5,
    ),
    good(
        LEFT,
        "go",
        """
        package a

        func (h *Hub) serve(conn net.Conn) {
            defer conn.Close()
            go h.beat(conn)
            for h.read(conn) {
            }
        }

        func (h *Hub) beat(conn net.Conn) {
            ticker := time.NewTicker(h.every)
            for range ticker.C {
                if _, err := conn.Write(ping); err != nil {
                    return
                }
            }
        }
        """,
    ),
    bad(
        LEFT,
        "go",
        """
        package a

        func (l *Locker) Acquire(ctx context.Context, key string) (*Lock, error) {
            if err := l.take(ctx, key); err != nil {
                return nil, err
            }
            go func() {
                for range time.Tick(l.ttl / 3) {
                    l.rdb.Expire(context.Background(), key, l.ttl)
                }
            }()
            return &Lock{key}, nil
        }
        """,
        7,
    ),
    good(
        LEFT,
        "go",
        """
        package a

        func (l *Locker) Acquire(ctx context.Context, key string) (*Lock, error) {
            done := make(chan struct{})
            go func() {
                ticker := time.NewTicker(l.ttl / 3)
                for {
                    select {
                    case <-done:
                        return
                    case <-ticker.C:
                        l.rdb.Expire(ctx, key, l.ttl)
                    }
                }
            }()
            return &Lock{key, done}, nil
        }
        """,
    ),
    bad(
        LEFT,
        "java",
        """
        class FeedSocket {
            void onOpen(Session session) {
                new Thread(this::beat).start();
            }
            private void beat() {
                while (true) {
                    presence.touch();
                    pause();
                }
            }
        }
        """,
        3,
    ),
    bad(
        LEFT,
        "csharp",
        """
        class Sockets
        {
            async Task HandleAsync(WebSocket socket, string user)
            {
                _ = Task.Run(async () =>
                {
                    while (true)
                    {
                        await Task.Delay(20000);
                        await _presence.TouchAsync(user);
                    }
                });
                await ReadAllAsync(socket);
            }
        }
        """,
        5,
    ),
    good(
        LEFT,
        "csharp",
        """
        class Sockets
        {
            async Task HandleAsync(WebSocket socket, string user)
            {
                _ = Task.Run(async () =>
                {
                    while (true)
                    {
                        await Task.Delay(20000);
                        await socket.SendAsync(Ping);
                    }
                });
                await ReadAllAsync(socket);
            }
        }
        """,
    ),
    bad(
        LEFT,
        "python",
        """
        async def serve(websocket, redis, user):
            asyncio.create_task(beat(redis, user))
            async for message in websocket:
                await handle(message)

        async def beat(redis, user):
            while True:
                await redis.set(user, 1)
                await asyncio.sleep(20)
        """,
        2,
    ),
    bad(
        LEFT,
        "kotlin",
        """
        class Prices(private val api: Api, private val scope: CoroutineScope) {
            fun watch(symbol: String): StateFlow<Price?> {
                val state = MutableStateFlow<Price?>(null)
                scope.launch {
                    while (isActive) {
                        state.value = api.price(symbol)
                        delay(5000)
                    }
                }
                return state
            }
        }
        """,
        4,
    ),
    good(
        LEFT,
        "kotlin",
        """
        class Prices(private val api: Api, private val scope: CoroutineScope) {
            fun watch(symbol: String): Job = scope.launch {
                while (isActive) {
                    sink.emit(api.price(symbol))
                    delay(5000)
                }
            }
        }
        """,
    ),
    bad(
        LEFT,
        "csharp",
        """
        class NotificationHub : Hub
        {
            public override Task OnConnectedAsync()
            {
                var user = Context.UserIdentifier;
                Timers[Context.ConnectionId] = new Timer(_ => _presence.Touch(user), null, 0, 20000);
                return base.OnConnectedAsync();
            }
        }
        """,
        6,
    ),
    good(
        LEFT,
        "csharp",
        """
        class NotificationHub : Hub
        {
            public override Task OnConnectedAsync()
            {
                var user = Context.UserIdentifier;
                Timers[Context.ConnectionId] = new Timer(_ => _presence.Touch(user), null, 0, 20000);
                return base.OnConnectedAsync();
            }

            public override Task OnDisconnectedAsync(Exception? error)
            {
                Timers.Remove(Context.ConnectionId, out var timer);
                timer?.Dispose();
                return base.OnDisconnectedAsync(error);
            }
        }
        """,
    ),
]
