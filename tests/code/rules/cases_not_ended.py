"""Timers, tasks, streams, schedules and promises that go on, or end, when nothing expects it."""

# ruff: noqa: E101, E501  (snippets of Go; a line of a snippet stays one)

from __future__ import annotations

from tests.code.rules.cases import bad, good

TIMER = "interval-leak"
TASK = "task-left-running"
PIPE = "pipe-without-error-handler"
PERIODIC = "periodic-work-ends-with-first-error"
CACHED = "failed-result-cached"
LATE = "promise-awaited-late"

CASES = [
    bad(TIMER, "typescript", """
        io.on('connection', (socket) => {
          let timer: NodeJS.Timeout | undefined;
          socket.on('quotes:start', (symbol: string) => {
            timer = setInterval(() => socket.emit('quote', quotes.get(symbol)), 1000);
          });
          socket.on('quotes:stop', () => clearInterval(timer));
        });
        """, 4),
    bad(TIMER, "java", """
        @Component
        public class PulseHandler extends TextWebSocketHandler {
            private final ScheduledExecutorService timer = Executors.newScheduledThreadPool(2);
            private final Map<String, ScheduledFuture<?>> pulses = new ConcurrentHashMap<>();
            @Override
            public void afterConnectionEstablished(WebSocketSession session) {
                pulses.put(session.getId(), timer.scheduleAtFixedRate(() -> ping(session), 0, 5, TimeUnit.SECONDS));
            }
            @Override
            protected void handleTextMessage(WebSocketSession session, TextMessage message) {
                if (message.getPayload().equals("bye")) {
                    ScheduledFuture<?> pulse = pulses.remove(session.getId());
                    if (pulse != null) pulse.cancel(false);
                }
            }
            @Override
            public void afterConnectionClosed(WebSocketSession session, CloseStatus status) {
                log.debug("closed {}", session.getId());
            }
        }
        """, 7),
    bad(PIPE, "javascript", """
        app.get('/export', async (req, res) => {
          const upstream = await axios.get(url, { responseType: 'stream', timeout: 5000 });
          upstream.data.on('error', (err) => res.destroy(err));
          upstream.data.pipe(res);
        });
        """, 4),
    bad(PIPE, "typescript", """
        import http from 'node:http';
        export function proxy(req: http.IncomingMessage, res: http.ServerResponse): void {
          const up = http.request({ host, path: req.url, timeout: 3000 }, (answer) => {
            res.writeHead(answer.statusCode ?? 502, answer.headers);
            answer.pipe(res);
          });
          up.on('error', () => res.destroy());
          req.pipe(up);
        }
        """, 5),
    bad(PERIODIC, "java", """
        class Rates {
            void start() {
                scheduler.scheduleAtFixedRate(() -> {
                    try {
                        Rates fresh = client.fetch();
                        store.save(fresh);
                    } catch (SQLException | IOException e) {
                        log.warn("not refreshed", e);
                    }
                }, 0, 1, TimeUnit.MINUTES);
            }
        }
        """, 3),
    bad(PERIODIC, "kotlin", """
        class Sync(private val scope: CoroutineScope, private val api: Api, private val repo: Repo) {
            fun start() = scope.launch {
                while (isActive) {
                    try {
                        val page = api.fetch()
                        repo.store(page)
                    } catch (e: IOException) {
                        log.warn("sync failed", e)
                    }
                    delay(30_000)
                }
            }
        }
        """, 3),
    bad(PERIODIC, "csharp", """
        public class RateRefresher : BackgroundService
        {
            protected override async Task ExecuteAsync(CancellationToken stoppingToken)
            {
                using var timer = new PeriodicTimer(TimeSpan.FromMinutes(1));
                while (await timer.WaitForNextTickAsync(stoppingToken))
                {
                    try
                    {
                        var rates = await _client.GetRatesAsync(stoppingToken);
                        await _store.SaveAsync(rates, stoppingToken);
                    }
                    catch (HttpRequestException ex)
                    {
                        _log.LogWarning(ex, "rates not refreshed");
                    }
                }
            }
        }
        """, 6),
    bad(PERIODIC, "python", """
        import asyncio, aiohttp
        async def refresh_loop(session, store):
            while True:
                try:
                    async with session.get(URL, timeout=T) as r:
                        data = await r.json()
                    await store.save(data["rates"])
                except aiohttp.ClientError:
                    log.warning("failed")
                await asyncio.sleep(60)
        async def start(app):
            app["task"] = asyncio.create_task(refresh_loop(app["s"], app["store"]))
        """, 3),
    bad(PERIODIC, "python", """
        import threading, time, requests
        class Refresher:
            def start(self):
                self._thread = threading.Thread(target=self._run, daemon=True)
                self._thread.start()
            def _run(self):
                while not self._stop.wait(30):
                    rates = requests.get(URL, timeout=5).json()
                    self._rates = rates["rates"]
        """, 7),
    bad(PERIODIC, "java", """
        class Cleaner {
            private final Timer timer = new Timer("cleaner", true);
            void start() {
                timer.schedule(new TimerTask() {
                    @Override public void run() {
                        repository.deleteExpired(Instant.now());
                    }
                }, 0, 60_000);
            }
        }
        """, 4),
    bad(PERIODIC, "go", """
        package p

        func (r *Refresher) Run(ctx context.Context) error {
        	t := time.NewTicker(time.Minute)
        	defer t.Stop()
        	for {
        		select {
        		case <-ctx.Done():
        			return ctx.Err()
        		case <-t.C:
        			if err := r.refresh(ctx); err != nil {
        				return err
        			}
        		}
        	}
        }
        func Start(ctx context.Context, r *Refresher) {
        	go r.Run(ctx)
        }
        """, 6),
    bad(LATE, "typescript", """
        export async function dashboard(api: Api, id: string) {
          const orders = api.orders(id);
          const profile = api.profile(id);
          const p = await profile;
          return { orders: await orders, p };
        }
        """, 2),
    bad(CACHED, "python", """
        import asyncio
        class Loader:
            def __init__(self):
                self._pending = {}
            async def get(self, key):
                task = self._pending.get(key)
                if task is None:
                    task = asyncio.create_task(self._load(key))
                    self._pending[key] = task
                value = await task
                del self._pending[key]
                return value
        """, 9),
    bad(CACHED, "java", """
        class Loader {
            private final Map<String, CompletableFuture<Fee>> pending = new ConcurrentHashMap<>();
            CompletableFuture<Fee> get(String id) {
                return pending.computeIfAbsent(id, key -> client.load(key).thenApply(fee -> {
                    cache.put(key, fee);
                    pending.remove(key);
                    return fee;
                }));
            }
        }
        """, 4),
    good(TIMER, "typescript", """
        io.on('connection', (socket) => {
          let timer: NodeJS.Timeout | undefined;
          socket.on('quotes:start', (symbol: string) => {
            timer = setInterval(() => socket.emit('quote', quotes.get(symbol)), 1000);
          });
          const stop = () => clearInterval(timer);
          socket.on('quotes:stop', stop);
          socket.on('disconnect', stop);
        });
        wss.on('connection', (ws) => {
          const beat = setInterval(() => { if (ws.readyState !== 1) return clearInterval(beat); ws.ping(); }, 1000);
        });
        """),
    good(TASK, "kotlin", """
        fun Application.sockets(hub: Hub, scope: CoroutineScope) {
            routing {
                webSocket("/a") {
                    val pump = scope.launch { hub.events.collect { send(it) } }
                    try { for (frame in incoming) read(frame) } finally { pump.cancel() }
                }
                webSocket("/b") {
                    val jobs = listOf(scope.launch { hub.events.collect { send(it) } })
                    hub.events.onEach { send(it) }.launchIn(this)
                    for (frame in incoming) read(frame)
                    jobs.forEach { it.cancel() }
                }
            }
        }
        """),
    good(PIPE, "javascript", """
        app.get('/a', (req, res) => {
          const file = fs.createReadStream(path);
          file.on('error', (err) => res.destroy(err));
          res.on('close', () => file.destroy());
          file.pipe(res);
        });
        app.get('/b', async (req, res, next) => {
          try { await pipeline(fs.createReadStream(p), res); } catch (err) { next(err); }
        });
        app.get('/c', (req, res) => {
          const doc = new PDFDocument();
          doc.pipe(res);
          doc.end();
        });
        app.get('/d', (req, res) => {
          const up = http.get(url, (answer) => { answer.pipe(res); });
          up.on('error', () => res.destroy());
          req.on('close', () => up.destroy());
        });
        """),
    good(PERIODIC, "java", """
        class Rates {
            void start() {
                scheduler.scheduleAtFixedRate(() -> {
                    try { store.save(client.fetch()); } catch (IOException | RuntimeException e) { log.warn("x", e); }
                }, 0, 1, TimeUnit.MINUTES);
                scheduler.scheduleAtFixedRate(this::tick, 0, 1, TimeUnit.MINUTES);
                scheduler.schedule(() -> client.fetch(), 5, TimeUnit.SECONDS);
            }
            private void tick() { count.incrementAndGet(); }
        }
        """),
    good(PERIODIC, "go", """
        package p

        func (r *Refresher) Run(ctx context.Context) error {
        	t := time.NewTicker(time.Minute)
        	defer t.Stop()
        	for {
        		select {
        		case <-ctx.Done():
        			return ctx.Err()
        		case <-t.C:
        			if err := r.refresh(ctx); err != nil {
        				return err
        			}
        		}
        	}
        }
        func Start(ctx context.Context, r *Refresher, g *errgroup.Group) {
        	g.Go(func() error { return r.Run(ctx) })
        }
        func (p *Pinger) loop() {
        	for range p.ticker.C {
        		if err := p.conn.Ping(); err != nil {
        			p.close()
        			return
        		}
        	}
        }
        func (p *Pinger) Start() { go p.loop() }
        """),
    good(LATE, "typescript", """
        export async function dashboard(api: Api, id: string) {
          const orders = api.orders(id);
          orders.catch(() => {});
          const profile = await api.profile(id);
          const name = format(profile);
          const user = await api.user(name);
          const timeout = sleep(100);
          await api.ping();
          await timeout;
          const a = api.a(); const b = api.b();
          const [x, y] = await Promise.all([a, b]);
          const c = api.c();
          const d = await c;
          const e = api.e().catch(() => null);
          const f = await api.f();
          return { orders: await orders, e: await e };
        }
        """),
    good(CACHED, "python", """
        class Loader:
            async def get(self, key):
                task = self._pending.get(key)
                if task is None:
                    task = asyncio.create_task(self._load(key))
                    self._pending[key] = task
                try:
                    return await task
                finally:
                    self._pending.pop(key, None)
        """),
    bad(TASK, "kotlin", """
        fun Application.sockets(rooms: Rooms, scope: CoroutineScope) {
            webSocket("/rooms") {
                val pump = scope.launch { rooms.events.collect { event -> outbox.send(event) } }
                val writer = launch { for (event in outbox) send(event) }
                try {
                    for (frame in incoming) read(frame)
                } finally {
                    writer.cancel()
                }
            }
        }
        """, 3),
    bad(LATE, "typescript", """
        app.post("/transfers", async (request, reply) => {
          const scoring = risk.score(request.body);
          const account = await accounts.find(request.body.account);
          if (!account) return reply.code(404).send();
          const score = await scoring;
          return reply.send({ score });
        });
        """, 2),
    good(PERIODIC, "kotlin", """
        class Delivery(private val store: Store, private val scope: CoroutineScope) {
            fun start() = scope.launch {
                while (isActive) {
                    try {
                        val batch = store.lease(50)
                        if (batch.isEmpty()) delay(1000)
                    } catch (e: SQLException) {
                        log.error("store not available", e)
                        delay(1000)
                    }
                }
            }
        }
        """),
    good("unguarded-parse", "javascript", """
        async function quote(carrier) {
          const res = await fetch(carrier.url, { signal: AbortSignal.timeout(1000) });
          return JSON.parse(await read(res.body));
        }
        const all = (carriers) => Promise.allSettled(carriers.map((each) => quote(each)));
        """),
]  # fmt: skip
