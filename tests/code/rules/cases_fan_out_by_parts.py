"""Tasks for all parts of a list or stream, threads for requests, and lists that are short by nature."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

_FAN_OUT = "unbounded-fan-out"

CASES = [
    bad(
        _FAN_OUT,
        "go",
        """
        package firmware
        func (r *Rollout) Run(ctx context.Context, image string) error {
            g, gctx := errgroup.WithContext(ctx)
            err := func() error {
                for after := ""; gctx.Err() == nil; {
                    page, err := r.fleet.Page(gctx, after, 200)
                    if err != nil || len(page) == 0 {
                        return err
                    }
                    for _, d := range page {
                        g.Go(func() error { return r.pusher.Push(gctx, d, image) })
                    }
                    after = page[len(page)-1].Serial
                }
                return nil
            }()
            return errors.Join(err, g.Wait())
        }
        """,
        11,
    ),
    bad(
        _FAN_OUT,
        "go",
        """
        package invoices
        func (c *Consumer) Run(ctx context.Context) error {
            for {
                fetches := c.cl.PollRecords(ctx, 500)
                for it := fetches.RecordIter(); !it.Done(); {
                    rec := it.Next()
                    go func() {
                        if err := c.sem.Acquire(ctx, 1); err != nil {
                            return
                        }
                        defer c.sem.Release(1)
                        c.render(ctx, rec)
                    }()
                }
            }
        }
        """,
        7,
    ),
    good(
        _FAN_OUT,
        "go",
        """
        package hedge
        func First(ctx context.Context, calls ...func(context.Context) (Quote, error)) (Quote, error) {
            results := make(chan outcome, len(calls))
            for _, call := range calls {
                go func() {
                    v, err := call(ctx)
                    results <- outcome{v, err}
                }()
            }
            return first(results)
        }
        """,
    ),
    bad(
        _FAN_OUT,
        "kotlin",
        """
        class Rates(private val http: HttpClient) {
            suspend fun collect(hotels: List<String>): List<Rate> = coroutineScope {
                hotels.map { async { rates(it) } }.awaitAll().flatten()
            }
            private suspend fun rates(hotel: String): List<Rate> = http.get("$base/$hotel/rates").body()
        }
        """,
        3,
    ),
    bad(
        _FAN_OUT,
        "typescript",
        """
        import { Worker } from 'node:worker_threads';
        import express from 'express';
        function chart(pattern: Pattern): Promise<string> {
          return new Promise((resolve, reject) => {
            const worker = new Worker(SCRIPT, { workerData: pattern });
            worker.once('message', resolve);
            worker.once('error', reject);
          });
        }
        const app = express();
        app.post('/charts', (req, res, next) => {
          chart(req.body).then((svg) => res.send(svg)).catch(next);
        });
        """,
        5,
    ),
    good(
        _FAN_OUT,
        "typescript",
        """
        import { Worker } from 'node:worker_threads';
        import express from 'express';
        import pLimit from 'p-limit';
        const slots = pLimit(4);
        function chart(pattern: Pattern): Promise<string> {
          return new Promise((resolve, reject) => {
            const worker = new Worker(SCRIPT, { workerData: pattern });
            worker.once('message', resolve);
            worker.once('error', reject);
          });
        }
        const app = express();
        app.post('/charts', (req, res, next) => {
          slots(() => chart(req.body)).then((svg) => res.send(svg)).catch(next);
        });
        """,
    ),
    bad(
        _FAN_OUT,
        "rust",
        """
        use tokio_util::task::TaskTracker;
        async fn serve(listener: TcpListener, stop: CancellationToken) -> Result<()> {
            let tasks = TaskTracker::new();
            loop {
                let (socket, peer) = tokio::select! {
                    accepted = listener.accept() => accepted?,
                    _ = stop.cancelled() => break,
                };
                tasks.spawn(async move { handle(socket, peer).await });
            }
            Ok(())
        }
        """,
        9,
    ),
    good(
        _FAN_OUT,
        "rust",
        """
        use tokio_util::task::TaskTracker;
        async fn serve(listener: TcpListener, stop: CancellationToken) -> Result<()> {
            let tasks = TaskTracker::new();
            let slots = Arc::new(Semaphore::new(4000));
            loop {
                let slot = slots.clone().acquire_owned().await?;
                let (socket, peer) = tokio::select! {
                    accepted = listener.accept() => accepted?,
                    _ = stop.cancelled() => break,
                };
                tasks.spawn(async move { let _slot = slot; handle(socket, peer).await });
            }
            Ok(())
        }
        """,
    ),
    good(
        _FAN_OUT,
        "python",
        """
        class Rooms:
            async def publish(self, game, frame):
                async with self._lock:
                    targets = list(self._members.get(game, ()))
                await asyncio.gather(*(self._send(one, frame) for one in targets))

            async def _send(self, one, frame):
                await asyncio.wait_for(one.send(frame), 5)

            async def describe(self, resources):
                futures = []
                for broker_id in resources:
                    futures.append(self._send_request(resources[broker_id], broker_id))
                return await asyncio.gather(*futures)
        """,
    ),
]
