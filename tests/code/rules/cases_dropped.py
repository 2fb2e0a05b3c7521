"""Tasks whose results or errors are dropped, in the forms of eight languages."""

# ruff: noqa: E101, E501  (snippets of Go; a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

CASES = [
    bad(
        "fire-and-forget",
        "python",
        """
        import asyncio

        class Session:
            def on_message(self, message):
                self.loop.create_task(self.handle(message))

            def on_event(self, event):
                asyncio.run_coroutine_threadsafe(self.handle(event), self.loop)

            async def handle(self, message):
                await self.store.save(message)
        """,
        5,
        8,
    ),
    good(
        "fire-and-forget",
        "python",
        """
        import asyncio

        class Session:
            def on_message(self, message):
                self.task = self.loop.create_task(self.handle(message))
                self.board.create_task("sweep")

            def on_event(self, event):
                asyncio.run_coroutine_threadsafe(self.handle(event), self.loop)

            async def handle(self, message):
                try:
                    await self.store.save(message)
                except OSError:
                    log.exception("not saved")
        """,
    ),
    bad(
        "fire-and-forget",
        "javascript",
        """
        class Orders {
          async place(order) {
            const saved = await this.repo.insert(order);
            this.mailer.sendConfirmation(saved.email);
            this.stock.reserve(order);
            return saved;
          }

          async replace(order) {
            await this.stock.reserve(order);
            order.lines.map(async (line) => {
              await this.lines.write(line);
            });
          }
        }
        """,
        4,
        5,
        11,
    ),
    good(
        "fire-and-forget",
        "javascript",
        """
        class Orders {
          async place(order, res) {
            const saved = await this.repo.insert(order);
            this.mailer.sendConfirmation(saved.email).catch((error) => this.log.error(error));
            this.bus.emit('placed', saved);
            res.send(saved);
            const lines = order.lines.map(async (line) => this.lines.write(line));
            await Promise.all(lines);
          }
        }
        """,
    ),
    bad(
        "fire-and-forget",
        "csharp",
        """
        public class OrdersController : ControllerBase
        {
            [HttpPost]
            public async Task<IActionResult> Create(Order order)
            {
                await _orders.AddAsync(order);
                _mailer.SendAsync(order);
                _ = _search.IndexAsync(order);
                _ = Task.Run(() => _crm.PushAsync(order));
                return Ok();
            }
        }
        """,
        7,
        8,
        9,
    ),
    good(
        "fire-and-forget",
        "csharp",
        """
        public class OrdersController : ControllerBase
        {
            [HttpPost]
            public async Task<IActionResult> Create(Order order)
            {
                await _orders.AddAsync(order);
                var sent = _mailer.SendAsync(order);
                await sent;
                _ = Task.Run(async () =>
                {
                    try { await _crm.PushAsync(order); } catch (Exception error) { _log.LogError(error, "push"); }
                });
                return Ok();
            }
        }

        public class Pump
        {
            public void Start() { _ = RunAsync(); }
        }
        """,
    ),
    bad(
        "fire-and-forget",
        "kotlin",
        """
        import kotlinx.coroutines.*

        class Ingest(private val store: Store, private val other: CoroutineScope) {
            private val scope = CoroutineScope(Dispatchers.IO)

            fun accept(event: Event) {
                scope.launch { store.save(event) }
            }

            fun push(event: Event) {
                CoroutineScope(Dispatchers.IO).launch { store.push(event) }
                other.async { store.index(event) }
            }
        }
        """,
        4,
        11,
        12,
    ),
    good(
        "fire-and-forget",
        "kotlin",
        """
        import kotlinx.coroutines.*

        class Ingest(private val store: Store, private val other: CoroutineScope) {
            private val scope = CoroutineScope(SupervisorJob() + Dispatchers.IO + handler)

            fun accept(event: Event) {
                scope.launch { store.save(event) }
                val found = other.async { store.index(event) }
                wait(found)
            }
        }
        """,
    ),
    bad(
        "dropped-future",
        "python",
        """
        from concurrent.futures import ThreadPoolExecutor

        executor = ThreadPoolExecutor(max_workers=4)

        def register(user):
            executor.submit(welcome, user.email)

        def welcome(email):
            mailer.send(email)
        """,
        6,
    ),
    good(
        "dropped-future",
        "python",
        """
        from concurrent.futures import ThreadPoolExecutor

        executor = ThreadPoolExecutor(max_workers=4)

        def register(user):
            executor.submit(welcome, user.email)
            form.submit(user)
            done = executor.submit(load, user)
            return done.result()

        def welcome(email):
            try:
                mailer.send(email)
            except OSError:
                log.exception("not sent")
        """,
    ),
    bad(
        "dropped-future",
        "java",
        """
        class Events {
            private final KafkaTemplate<String, Placed> kafka;

            void placed(Placed event) {
                kafka.send("orders", event.id(), event);
            }
        }
        """,
        5,
    ),
    good(
        "dropped-future",
        "java",
        """
        class Events {
            private final KafkaTemplate<String, Placed> kafka;

            void placed(Placed event) throws Exception {
                kafka.send("orders", event.id(), event).get(5, TimeUnit.SECONDS);
                kafka.send("orders", event).whenComplete((sent, error) -> report(error));
            }
        }
        """,
    ),
    bad(
        "task-results-dropped",
        "rust",
        """
        async fn warm(cache: Arc<Cache>, keys: Vec<Key>) -> Result<()> {
            let mut set = JoinSet::new();
            for key in keys {
                let cache = cache.clone();
                set.spawn(async move { cache.load(&key).await });
            }
            while set.join_next().await.is_some() {}
            let mut handles = vec![];
            handles.push(tokio::spawn(async move { cache.fill().await }));
            for handle in handles {
                let _ = handle.await;
            }
            tokio::spawn(async move {
                let text = read().await?;
                store(text).await
            });
            Ok(())
        }
        """,
        7,
        11,
        13,
    ),
    good(
        "task-results-dropped",
        "rust",
        """
        async fn warm(cache: Arc<Cache>, keys: Vec<Key>) -> Result<()> {
            let mut set = JoinSet::new();
            for key in keys {
                set.spawn(async move {
                    if let Err(error) = load(&key).await {
                        tracing::warn!(%error, "load");
                    }
                });
            }
            while set.join_next().await.is_some() {}
            tokio::spawn(async move {
                if let Err(error) = serve().await {
                    tracing::error!(%error, "serve");
                }
            });
            Ok(())
        }

        async fn stop(handles: Vec<JoinHandle<()>>) {
            for handle in handles {
                let _ = handle.await;
            }
        }
        """,
    ),
    bad(
        "task-results-dropped",
        "go",
        """
        package warm

        import "golang.org/x/sync/errgroup"

        func warm(ctx context.Context, shards []Shard) error {
        	g, ctx := errgroup.WithContext(ctx)
        	for _, s := range shards {
        		g.Go(func() error { return s.Load(ctx) })
        	}
        	g.Wait()
        	return nil
        }
        """,
        10,
    ),
    good(
        "task-results-dropped",
        "go",
        """
        package warm

        import (
        	"sync"

        	"golang.org/x/sync/errgroup"
        )

        func warm(ctx context.Context, shards []Shard) error {
        	g, ctx := errgroup.WithContext(ctx)
        	for _, s := range shards {
        		g.Go(func() error { return s.Load(ctx) })
        	}
        	return g.Wait()
        }

        func wait(wg *sync.WaitGroup) {
        	wg.Wait()
        }
        """,
    ),
    bad(
        "task-results-dropped",
        "typescript",
        """
        async function purge(files: File[]) {
          await Promise.allSettled(files.map((file) => remove(file)));
          await markPurged(files);
        }
        """,
        2,
    ),
    good(
        "task-results-dropped",
        "typescript",
        """
        async function purge(files: File[]) {
          const results = await Promise.allSettled(files.map((file) => remove(file)));
          await markPurged(files.filter((_, at) => results[at].status === 'fulfilled'));
        }

        async function shutdown() {
          await Promise.allSettled(workers.map((worker) => worker.end()));
        }
        """,
    ),
]
