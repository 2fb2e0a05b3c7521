"""Loops that ask again at once when there is nothing, and loops that connect again at once."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

BUSY = "busy-loop"
BACKOFF = "retry-without-backoff"
_TWO_SELECTS = """
        package a

        func run(quit chan bool, tick chan int) {
            for {
                select {
                case <-quit:
                    return
                default:
                }
                select {
                case <-quit:
                    return
                case <-tick:
                    send()
                }
            }
        }
        """

CASES = [
    # A round without work.
    bad(BUSY, "python", """
        def run(self):
            while self.running:
                job = self.store.claim_next()
                if job is None:
                    continue
                self.execute(job)
        """, 3),
    good(BUSY, "python", """
        def run(self):
            while self.running:
                job = self.store.claim_next()
                if job is None:
                    self.stopping.wait(1)
                    continue
                self.execute(job)
        """),
    good(BUSY, "python", """
        def run(self):
            while self.running:
                job = self.store.claim_next(timeout=5)
                if job is None:
                    continue
                self.execute(job)
        """),
    good(BUSY, "python", """
        def parse(self):
            while True:
                token = self.lexer.next()
                if token is None:
                    continue
                self.take(token)
        """),
    bad(BUSY, "csharp", """
        class Worker : BackgroundService
        {
            protected override async Task ExecuteAsync(CancellationToken token)
            {
                while (!token.IsCancellationRequested)
                {
                    var job = await _jobs.ClaimNextAsync(token);
                    if (job is null)
                    {
                        continue;
                    }
                    await RunAsync(job, token);
                }
            }
        }
        """, 7),
    good(BUSY, "csharp", """
        class Worker : BackgroundService
        {
            protected override async Task ExecuteAsync(CancellationToken token)
            {
                while (!token.IsCancellationRequested)
                {
                    var job = await _jobs.ClaimNextAsync(token);
                    if (job is null)
                    {
                        await Task.Delay(1000, token);
                        continue;
                    }
                    await RunAsync(job, token);
                }
            }
        }
        """),
    bad(BUSY, "java", """
        class Worker implements Runnable {
            public void run() {
                while (running) {
                    List<Message> batch = outbox.nextBatch(100);
                    if (batch.isEmpty()) {
                        continue;
                    }
                    send(batch);
                }
            }
        }
        """, 4),
    bad(BUSY, "kotlin", """
        suspend fun run() {
            while (isActive) {
                val event = events.tryReceive().getOrNull() ?: continue
                sink.write(event)
            }
        }
        """, 3),
    bad(BUSY, "rust", """
        async fn run(&self, stop: CancellationToken) -> Result<(), Error> {
            while !stop.is_cancelled() {
                let Some(job) = self.jobs.claim_next().await? else {
                    continue;
                };
                job.run().await;
            }
            Ok(())
        }
        """, 3),
    bad(BUSY, "rust", """
        fn run(self) {
            loop {
                match self.events.try_recv() {
                    Ok(event) => self.sink.write(event),
                    Err(TryRecvError::Empty) => continue,
                    Err(TryRecvError::Disconnected) => break,
                }
            }
        }
        """, 3),
    good(BUSY, "rust", """
        fn run(self) {
            loop {
                match self.events.try_recv() {
                    Ok(event) => self.sink.write(event),
                    Err(TryRecvError::Empty) => {}
                    Err(TryRecvError::Disconnected) => break,
                }
                std::thread::sleep(PAUSE);
            }
        }
        """),
    bad(BUSY, "go", """
        package a
        func (r *Runner) Run(ctx context.Context) error {
            for ctx.Err() == nil {
                job, err := r.store.ClaimNext(ctx)
                if errors.Is(err, sql.ErrNoRows) {
                    continue
                }
                if err != nil {
                    return err
                }
                r.run(ctx, job)
            }
            return nil
        }
        """, 4),
    # A state that is asked for.
    bad(BUSY, "typescript", """
        async function finished(api: Api, id: string): Promise<Job> {
          while (performance.now() < deadline) {
            const job = await api.job(id);
            if (job.state === "done") return job;
            if (job.state === "failed") throw new Error(job.error);
          }
          throw new Error("too late");
        }
        """, 2),
    good(BUSY, "typescript", """
        async function finished(api: Api, id: string): Promise<Job> {
          while (performance.now() < deadline) {
            const job = await api.job(id);
            if (job.state === "done") return job;
            await setTimeout(2000);
          }
          throw new Error("too late");
        }
        """),
    good(BUSY, "typescript", """
        async function purge(db: Db): Promise<void> {
          for (;;) {
            const done = await db.deleteBatch(1000);
            if (done.count === 0) return;
          }
        }
        """),
    good(BUSY, "typescript", """
        async function listAll(api: Api): Promise<void> {
          let cursor = "";
          for (;;) {
            const page = await api.list(cursor);
            show(page.items);
            if (page.done) return;
            cursor = page.next;
          }
        }
        """),
    # Connections.
    bad(BACKOFF, "java", """
        class Feed implements Runnable {
            public void run() {
                while (running) {
                    try (Socket socket = new Socket()) {
                        socket.connect(address, 3000);
                        read(socket);
                    } catch (IOException e) {
                        log.warn("lost", e);
                    }
                }
            }
        }
        """, 7),
    good(BACKOFF, "java", """
        class Feed implements Runnable {
            public void run() {
                while (running) {
                    try (Socket socket = new Socket()) {
                        socket.connect(address, 3000);
                        read(socket);
                    } catch (IOException e) {
                        log.warn("lost", e);
                        backOff();
                    }
                }
            }
        }
        """),
    bad(BACKOFF, "kotlin", """
        suspend fun run() {
            while (isActive) {
                try {
                    connector.connect().use { it.messages().collect { handle(it) } }
                } catch (e: IOException) {
                    log.warn("lost", e)
                }
            }
        }
        """, 5),
    bad(BACKOFF, "go", """
        package a
        func (f *Feed) Run(ctx context.Context) {
            for ctx.Err() == nil {
                conn, err := f.dialer.DialContext(ctx, f.url, nil)
                if err != nil {
                    log.Printf("dial: %v", err)
                    continue
                }
                f.read(conn)
            }
        }
        """, 5),
    good(BACKOFF, "go", """
        package a
        func (f *Feed) Run(ctx context.Context) {
            for {
                select {
                case <-ctx.Done():
                    return
                case <-f.tick.C:
                }
                conn, err := f.dialer.DialContext(ctx, f.url, nil)
                if err != nil {
                    log.Printf("dial: %v", err)
                    continue
                }
                f.read(conn)
            }
        }
        """),
    bad(BACKOFF, "rust", """
        async fn run(client: Client, stop: CancellationToken) {
            loop {
                tokio::select! {
                    _ = stop.cancelled() => return,
                    result = follow(&client) => match result {
                        Ok(()) => info!("closed"),
                        Err(e) => warn!(error = %e, "failed"),
                    },
                }
            }
        }
        async fn follow(client: &Client) -> Result<()> {
            let stream = client.connect().await?;
            read(stream).await
        }
        """, 7),
    good(BACKOFF, "rust", """
        async fn run(client: Client, stop: CancellationToken) {
            loop {
                tokio::select! {
                    _ = stop.cancelled() => return,
                    result = follow(&client) => match result {
                        Ok(()) => info!("closed"),
                        Err(e) => warn!(error = %e, "failed"),
                    },
                }
                tokio::time::sleep(PAUSE).await;
            }
        }
        async fn follow(client: &Client) -> Result<()> {
            let stream = client.connect().await?;
            read(stream).await
        }
        """),
    good(BACKOFF, "python", """
        async def run(self):
            while True:
                message = await self.queue.get()
                try:
                    await self.connection.connect()
                    await self.connection.send(message)
                except OSError:
                    log.warning("lost")
        """),
    # The next round asks for other rows.
    bad(BUSY, "javascript", """
        async function copy(db, limit) {
          let misses = 0;
          while (true) {
            const rows = await db.jobs.findPending(limit);
            if (rows.length === 0) {
              misses += 1;
              continue;
            }
            await write(rows);
          }
        }
        """, 4),
    good(BUSY, "javascript", """
        async function copy(db, limit, total) {
          let offset = 0;
          while (true) {
            if (offset >= total) {
              break;
            }
            const rows = await db.jobs.findPending(limit, offset);
            if (rows.length === 0) {
              offset += limit;
              continue;
            }
            await write(rows);
          }
        }
        """),
    # The second select waits.
    bad(BUSY, "go", _TWO_SELECTS.replace("case <-tick:", "default:"), 8),
    good(BUSY, "go", _TWO_SELECTS),
]  # fmt: skip
