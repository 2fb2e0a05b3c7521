"""Channels that a client has closed, receivers that have failed, and loops that receive again at once."""

from __future__ import annotations

from tests.code.rules.cases import Case, bad, good

CASES: list[Case] = [
    bad(
        "busy-loop",
        "go",
        """
        package outbox
        func (r *Relay) Run(ctx context.Context) {
            for ctx.Err() == nil {
                n, err := r.relayBatch(ctx)
                switch {
                case err != nil:
                    r.log.Error("batch failed", "error", err)
                    pause(ctx, failurePause)
                case n == 0:
                    r.log.Debug("empty")
                }
            }
        }
        func (r *Relay) relayBatch(ctx context.Context) (int, error) {
            rows, err := r.db.QueryContext(ctx, `SELECT id FROM outbox LIMIT 100`)
            if err != nil {
                return 0, err
            }
            defer rows.Close()
            return r.send(ctx, rows)
        }
        func pause(ctx context.Context, d time.Duration) {
            select {
            case <-ctx.Done():
            case <-time.After(d):
            }
        }
        """,
        3,
    ),
    good(
        "busy-loop",
        "go",
        """
        package outbox
        func (r *Relay) Run(ctx context.Context) {
            for ctx.Err() == nil {
                n, err := r.relayBatch(ctx)
                switch {
                case err != nil:
                    pause(ctx, failurePause)
                case n == 0:
                    pause(ctx, idlePause)
                }
            }
        }
        func (r *Relay) relayBatch(ctx context.Context) (int, error) {
            rows, err := r.db.QueryContext(ctx, `SELECT id FROM outbox LIMIT 100`)
            if err != nil {
                return 0, err
            }
            defer rows.Close()
            return r.send(ctx, rows)
        }
        func pause(ctx context.Context, d time.Duration) {
            select {
            case <-ctx.Done():
            case <-time.After(d):
            }
        }
        """,
    ),
    bad(
        "busy-loop",
        "go",
        """
        package a
        import "github.com/fsnotify/fsnotify"
        func (w *W) Run(ctx context.Context, sub *redis.PubSub) {
            ch := sub.Channel()
            for {
                select {
                case <-ctx.Done():
                    return
                case msg := <-ch:
                    w.handle(msg.Payload)
                }
            }
        }
        """,
        9,
    ),
    good(
        "busy-loop",
        "go",
        """
        package a
        func (w *W) Run(ctx context.Context, sub *redis.PubSub) {
            ch := sub.Channel()
            for {
                select {
                case <-ctx.Done():
                    return
                case msg, ok := <-ch:
                    if !ok {
                        return
                    }
                    w.handle(msg.Payload)
                }
            }
        }
        """,
    ),
    good(
        "busy-loop",
        "csharp",
        """
        class Reader
        {
            void Read(StreamReader sr)
            {
                while (true)
                {
                    string line = sr.ReadLine();
                    if (line == null) break;
                    if (line.Length == 0) continue;
                    Handle(line);
                }
            }
        }
        """,
    ),
    good(
        "busy-loop",
        "python",
        """
        class Protocol:
            def _send_pending_requests(self):
                while self._pending_pool and self.active_streams < self.allowed:
                    stream = self._pending_pool.popleft()
                    stream.initiate_request()
        """,
    ),
    good(
        "busy-loop",
        "rust",
        """
        async fn provision(&self, serial: &str) -> Result<Certificate, Error> {
            let mut attempt = 0;
            loop {
                match self.client.get(self.url(serial)).send().await {
                    Ok(certificate) => return Ok(certificate),
                    Err(err) if attempt >= MAX_ATTEMPTS => return Err(err),
                    Err(err) => {
                        tokio::time::sleep(self.pause(attempt)).await;
                        attempt += 1;
                    }
                }
            }
        }
        """,
    ),
    bad(
        "goroutine-leak",
        "go",
        """
        package a
        import ("golang.org/x/sync/errgroup"; "context")
        func run(ctx context.Context, ids []string) error {
            g, ctx := errgroup.WithContext(ctx)
            work := make(chan string)
            g.Go(func() error {
                defer close(work)
                for _, id := range ids {
                    work <- id
                }
                return nil
            })
            for i := 0; i < 4; i++ {
                g.Go(func() error {
                    for id := range work {
                        if err := handle(ctx, id); err != nil {
                            return err
                        }
                    }
                    return nil
                })
            }
            return g.Wait()
        }
        """,
        9,
    ),
    good(
        "goroutine-leak",
        "go",
        """
        package a
        import ("golang.org/x/sync/errgroup"; "context")
        func run(ctx context.Context, ids []string) error {
            g, ctx := errgroup.WithContext(ctx)
            work := make(chan string)
            g.Go(func() error {
                defer close(work)
                for _, id := range ids {
                    select {
                    case work <- id:
                    case <-ctx.Done():
                        return ctx.Err()
                    }
                }
                return nil
            })
            g.Go(func() error {
                for id := range work {
                    if err := handle(ctx, id); err != nil {
                        return err
                    }
                }
                return nil
            })
            return g.Wait()
        }
        """,
    ),
    bad(
        "goroutine-leak",
        "go",
        """
        package a
        func quotes(ctx context.Context, carriers []Carrier) []Quote {
            answers := make(chan Quote)
            for _, c := range carriers {
                go func(c Carrier) {
                    answers <- c.Quote(ctx)
                }(c)
            }
            var all []Quote
        collect:
            for range carriers {
                select {
                case a := <-answers:
                    all = append(all, a)
                case <-ctx.Done():
                    break collect
                }
            }
            return all
        }
        """,
        6,
    ),
    bad(
        "retry-without-backoff",
        "python",
        """
        import websockets
        async def pump(ws, handle):
            while True:
                try:
                    msg = await ws.recv()
                    await handle(msg)
                except Exception:
                    log.exception("receive failed")
        """,
        7,
    ),
    bad(
        "retry-without-backoff",
        "typescript",
        """
        export class Worker {
          async run() {
            while (this.running) {
              try {
                const messages = await this.queue.receiveMessages({ maxMessages: 10, waitSeconds: 20 });
                for (const m of messages) await this.handle(m);
              } catch (err) {
                this.log.error({ err }, 'receive failed');
              }
            }
          }
        }
        """,
        7,
    ),
    bad(
        "retry-without-backoff",
        "java",
        """
        package a;
        class D implements Runnable {
            public void run() {
                while (!stopped) {
                    try {
                        Message m = consumer.receive();
                        handle(m);
                    } catch (Exception e) {
                        log.error("receive", e);
                    }
                }
            }
        }
        """,
        8,
    ),
    bad(
        "retry-without-backoff",
        "csharp",
        """
        public class E : BackgroundService
        {
            protected override async Task ExecuteAsync(CancellationToken ct)
            {
                while (!ct.IsCancellationRequested)
                {
                    try
                    {
                        var result = _consumer.Consume(ct);
                        await HandleAsync(result, ct);
                    }
                    catch (Exception e)
                    {
                        _log.LogError(e, "consume");
                    }
                }
            }
        }
        """,
        12,
    ),
    good(
        "retry-without-backoff",
        "go",
        """
        package a
        func (s *S) loop(ctx context.Context) {
            for {
                msg, err := s.r.FetchMessage(ctx)
                if err != nil {
                    if errors.Is(err, io.EOF) || ctx.Err() != nil {
                        return
                    }
                    s.log.Error("fetch", "err", err)
                    time.Sleep(time.Second)
                    continue
                }
                s.handle(msg)
            }
        }
        """,
    ),
    good(
        "retry-without-backoff",
        "python",
        """
        async def pump(ws, handle):
            while True:
                try:
                    msg = await asyncio.wait_for(ws.recv(), 30)
                except TimeoutError:
                    continue
                await handle(msg)
        """,
    ),
    good(
        "retry-without-backoff",
        "python",
        """
        class Consumer:
            async def __anext__(self):
                while True:
                    try:
                        return await self.inner.getone()
                    except RecordTooLargeError:
                        log.exception("record skipped")
        """,
    ),
]
