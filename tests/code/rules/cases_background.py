"""Work beside the requests: loops, timers and workers, and how they end."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_ENDS = "periodic-work-ends-with-first-error"
_PY, _JS, _TS, _GO, _JAVA, _RUST, _CS, _KT = (
    "python", "javascript", "typescript", "go", "java", "rust", "csharp", "kotlin",
)  # fmt: skip

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
