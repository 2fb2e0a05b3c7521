"""Work beside the requests: loops, timers and workers, and how they end."""

# ruff: noqa: E101, E501  (snippets of Go; a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_ENDS = "periodic-work-ends-with-first-error"
_PY = "python"
_JS = "javascript"
_GO = "go"
_JAVA = "java"
_RUST = "rust"
_CS = "csharp"
_KT = "kotlin"

CASES = [
    bad(
        _ENDS,
        _JAVA,
        """
        import java.util.concurrent.*;
        class Prices {
          private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
          private final Api api;
          void start() {
            timer.scheduleWithFixedDelay(this::reload, 0, 5, TimeUnit.SECONDS);
            timer.scheduleAtFixedRate(() -> api.ping(), 0, 5, TimeUnit.SECONDS);
            timer.scheduleAtFixedRate(new Job(), 0, 5, TimeUnit.SECONDS);
          }
          private void reload() { prices = Map.copyOf(api.fetchAll()); }
          class Job implements Runnable { public void run() { store.clean(); } }
        }
        """,
        6,
        7,
        8,
    ),
    good(
        _ENDS,
        _JAVA,
        """
        import java.util.concurrent.*;
        class Prices {
          private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
          private final AtomicLong count = new AtomicLong();
          void start() {
            timer.scheduleWithFixedDelay(this::reload, 0, 5, TimeUnit.SECONDS);
            timer.scheduleAtFixedRate(() -> count.incrementAndGet(), 0, 5, TimeUnit.SECONDS);
            timer.scheduleAtFixedRate(() -> { try { api.ping(); } catch (Exception e) { log.warn("no ping", e); } }, 0, 5, TimeUnit.SECONDS);
            timer.scheduleAtFixedRate(given, 0, 5, TimeUnit.SECONDS);
            timer.schedule(() -> api.ping(), 5, TimeUnit.SECONDS);
          }
          private void reload() {
            try { prices = api.fetchAll(); } catch (RuntimeException e) { log.error("not loaded", e); }
          }
        }
        """,
    ),
    bad(
        _ENDS,
        _PY,
        """
        import asyncio

        class Cache:
            def start(self):
                self._task = asyncio.create_task(self._refresh())

            async def _refresh(self):
                while True:
                    self.rates = await self.api.rates()
                    await asyncio.sleep(60)
        """,
        8,
    ),
    good(
        _ENDS,
        _PY,
        """
        import asyncio

        class Cache:
            def start(self):
                self._task = asyncio.create_task(self._refresh())

            async def _refresh(self):
                while True:
                    try:
                        self.rates = await self.api.rates()
                    except Exception:
                        log.exception("rates not refreshed")
                    await asyncio.sleep(60)

        async def poll_until_done(job):
            while True:
                if await job.is_done():
                    return
                await asyncio.sleep(1)
        """,
    ),
    bad(
        _ENDS,
        _CS,
        """
        public class Worker : BackgroundService {
          protected override async Task ExecuteAsync(CancellationToken stoppingToken) {
            using var timer = new PeriodicTimer(TimeSpan.FromMinutes(1));
            while (await timer.WaitForNextTickAsync(stoppingToken)) {
              await _archiver.RunAsync(stoppingToken);
            }
          }
        }
        """,
        4,
    ),
    good(
        _ENDS,
        _CS,
        """
        public class Worker : BackgroundService {
          protected override async Task ExecuteAsync(CancellationToken stoppingToken) {
            while (!stoppingToken.IsCancellationRequested) {
              try {
                await _archiver.RunAsync(stoppingToken);
              } catch (Exception ex) when (ex is not OperationCanceledException) {
                _logger.LogError(ex, "not archived");
              }
              await Task.Delay(Pause, stoppingToken);
            }
          }
        }
        """,
    ),
    bad(
        _ENDS,
        _KT,
        """
        import kotlinx.coroutines.*
        class Cache(private val scope: CoroutineScope, private val api: Api) {
            fun start() = scope.launch {
                while (isActive) {
                    api.refresh()
                    delay(60_000)
                }
            }
        }
        """,
        4,
    ),
    good(
        _ENDS,
        _KT,
        """
        import kotlinx.coroutines.*
        class Cache(private val scope: CoroutineScope, private val api: Api) {
            fun start() = scope.launch {
                while (isActive) {
                    try {
                        api.refresh()
                    } catch (e: CancellationException) {
                        throw e
                    } catch (e: Exception) {
                        log.error("not refreshed", e)
                    }
                    delay(60_000)
                }
            }
        }
        """,
    ),
    bad(
        _ENDS,
        _RUST,
        """
        fn start(api: Api) {
            tokio::spawn(async move {
                let mut every = tokio::time::interval(Duration::from_secs(5));
                loop {
                    every.tick().await;
                    let fresh = api.refresh().await?;
                    publish(fresh);
                }
                #[allow(unreachable_code)]
                Ok::<(), Error>(())
            });
        }
        """,
        4,
    ),
    good(
        _ENDS,
        _RUST,
        """
        fn start(api: Api) {
            tokio::spawn(async move {
                let mut every = tokio::time::interval(Duration::from_secs(5));
                loop {
                    every.tick().await;
                    if let Err(error) = api.refresh().await {
                        tracing::warn!(%error, "not refreshed");
                    }
                }
            });
        }
        """,
    ),
]

_STOP, _OVERLAP = "loop-ignores-stop", "overlapping-runs"
_VOID, _CANCEL = "async-void", "swallowed-cancellation"
CASES += [
    bad(
        _STOP,
        _CS,
        """
        public class Archive : BackgroundService {
          protected override async Task ExecuteAsync(CancellationToken stoppingToken) {
            while (true) {
              await _archiver.RunAsync(CancellationToken.None);
              await Task.Delay(Pause);
            }
          }
        }
        """,
        3,
    ),
    good(
        _STOP,
        _CS,
        """
        public class Archive : BackgroundService {
          protected override async Task ExecuteAsync(CancellationToken stoppingToken) {
            while (true) {
              await _archiver.RunAsync(CancellationToken.None);
              await Task.Delay(Pause, stoppingToken);
            }
          }
          public async Task<int> Count(CancellationToken ct) {
            while (true) { if (await Next()) return 1; }
          }
        }
        """,
    ),
    bad(
        _STOP,
        _GO,
        """
        package a

        import (
        	"context"
        	"time"
        )

        func (w *Worker) Run(ctx context.Context) {
        	for {
        		w.sweep(ctx)
        		time.Sleep(time.Minute)
        	}
        }
        """,
        9,
    ),
    good(
        _STOP,
        _GO,
        """
        package a

        import (
        	"context"
        	"time"
        )

        func (w *Worker) Run(ctx context.Context) {
        	for {
        		w.sweep(ctx)
        		select {
        		case <-ctx.Done():
        			return
        		case <-time.After(time.Minute):
        		}
        	}
        }

        func (w *Worker) Try(ctx context.Context) error {
        	for {
        		if err := w.sweep(ctx); err == nil {
        			return nil
        		}
        		time.Sleep(time.Second)
        	}
        }
        """,
    ),
    bad(
        _OVERLAP,
        _JS,
        """
        class ContactSync {
          async syncOnce() {
            for await (const page of this.crm.changes()) {
              await this.store.upsert(page);
            }
          }
          start() {
            this.timer = setInterval(async () => {
              try { await this.syncOnce(); } catch (err) { this.log.error(err); }
            }, 5000);
            setInterval(() => this.syncOnce().catch(report), 5000);
            setInterval(refresh, 60000);
          }
        }
        async function refresh() {
          rates = await api.rates();
        }
        """,
        8,
        11,
        12,
    ),
    good(
        _OVERLAP,
        _JS,
        """
        class ContactSync {
          start() {
            this.timer = setInterval(async () => {
              if (this.running) return;
              this.running = true;
              try { await this.syncOnce(); } finally { this.running = false; }
            }, 5000);
            setInterval(() => this.report(), 5000);
            setInterval(() => log.info('alive'), 5000);
            setTimeout(async () => { await this.syncOnce(); }, 5000);
          }
          report() { this.metrics.push(this.count); }
        }
        """,
    ),
    bad(
        _OVERLAP,
        _CS,
        """
        public class Flusher {
          public void Start() {
            _timer = new Timer(OnTick, null, TimeSpan.Zero, TimeSpan.FromSeconds(5));
          }
          private async void OnTick(object? state) {
            try { await _sink.WriteAsync(_counters); } catch (Exception e) { _logger.LogError(e, "no"); }
          }
        }
        """,
        3,
    ),
    bad(
        _OVERLAP,
        _GO,
        """
        package a

        func (w *Worker) Run() {
        	for range w.ticker.C {
        		go w.sweep()
        	}
        }
        """,
        5,
    ),
    bad(
        _VOID,
        _CS,
        """
        public class Notifier : IHostedService {
          public Task StartAsync(CancellationToken ct) {
            _feed.Changed += OnChanged;
            _timer.Elapsed += async (s, e) => { await FlushAsync(); };
            return Task.CompletedTask;
          }
          private async void OnChanged(object? sender, ChangedEventArgs e) {
            await _store.UpdateAsync(e.Id);
          }
          private void All(List<string> ids) {
            ids.ForEach(async id => await _store.UpdateAsync(id));
          }
        }
        """,
        4,
        7,
        11,
    ),
    good(
        _VOID,
        _CS,
        """
        public class Notifier : IHostedService {
          private async void OnChanged(object? sender, ChangedEventArgs e) {
            if (e.Id is null) { _logger.LogDebug("no id"); return; }
            try {
              await _store.UpdateAsync(e.Id);
            } catch (Exception ex) {
              _logger.LogError(ex, "not updated");
            } finally {
              Interlocked.Exchange(ref _running, 0);
            }
          }
          private void All(List<string> ids) {
            ids.ForEach(id => _log.Add(id));
          }
        }
        """,
    ),
    bad(
        _CANCEL,
        _KT,
        """
        import kotlinx.coroutines.*
        import kotlinx.coroutines.channels.Channel
        class Writer(private val store: Store) {
            private val items = Channel<Item>(256)
            fun start(scope: CoroutineScope): Job = scope.launch {
                while (true) {
                    runCatching {
                        val item = items.receive()
                        store.upsert(item)
                    }.onFailure { log.error("not stored", it) }
                }
            }
        }
        """,
        7,
    ),
    good(
        _CANCEL,
        _KT,
        """
        import kotlinx.coroutines.*
        import kotlinx.coroutines.channels.Channel
        class Writer(private val store: Store) {
            private val items = Channel<Item>(256)
            fun start(scope: CoroutineScope): Job = scope.launch {
                for (item in items) {
                    runCatching { store.upsert(item) }
                        .onFailure { if (it is CancellationException) throw it else log.error("not stored", it) }
                }
            }
            fun parse(text: String) = runCatching { text.toInt() }.getOrNull()
        }
        """,
    ),
    good(
        _OVERLAP,
        _JS,
        """
        let checking = false;
        setInterval(async () => {
          if (checking) { return; }
          checking = true;
          try { await restore(); } finally { checking = false; }
        }, 5000);
        """,
    ),
    good(
        _ENDS,
        _JAVA,
        """
        import java.util.concurrent.*;
        class Loops {
          private final ArrayDeque<Loop> loops = new ArrayDeque<>();
          void start(ScheduledExecutorService timer) {
            timer.scheduleAtFixedRate(() -> loops.removeFirst(), 0, 5, TimeUnit.SECONDS);
          }
        }
        """,
    ),
]
