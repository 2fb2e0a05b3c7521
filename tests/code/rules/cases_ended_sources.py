"""Loops that go on to read from what has ended, and rounds whose pause stands only where nothing fails."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import bad, good

SPINS = "busy-loop"
PAUSE = "retry-without-backoff"

CASES = [
    bad(
        SPINS,
        "go",
        """
        package merge

        func run(ctx context.Context, left, right <-chan Sample) {
        	var leftEnded, rightEnded bool
        	for !leftEnded || !rightEnded {
        		select {
        		case <-ctx.Done():
        			return
        		case s, ok := <-left:
        			if !ok {
        				leftEnded = true
        				continue
        			}
        			use(s)
        		case s, ok := <-right:
        			if !ok {
        				right = nil
        				rightEnded = true
        				continue
        			}
        			use(s)
        		}
        	}
        }
        """,
        9,
    ),
    bad(
        SPINS,
        "go",
        """
        package merge

        func run(ctx context.Context, events <-chan Event) {
        	for {
        		select {
        		case e, ok := <-events:
        			if !ok {
        				break
        			}
        			use(e)
        		case <-ctx.Done():
        			return
        		}
        	}
        }
        """,
        6,
    ),
    good(
        SPINS,
        "go",
        """
        package merge

        func run(ctx context.Context, events <-chan Event) {
        	for {
        		select {
        		case e, ok := <-events:
        			if !ok {
        				return
        			}
        			use(e)
        		case <-ctx.Done():
        			return
        		}
        	}
        }
        """,
    ),
    good(
        SPINS,
        "go",
        """
        package merge

        func run(ctx context.Context, events <-chan Event) {
        	ended := false
        	for !ended {
        		select {
        		case e, ok := <-events:
        			if !ok {
        				ended = true
        				continue
        			}
        			use(e)
        		case <-ctx.Done():
        			return
        		}
        	}
        }
        """,
    ),
    bad(
        SPINS,
        "go",
        """
        package lines

        func (s *Shipper) Run(ctx context.Context, r io.Reader) {
        	lines := make(chan string)
        	go func() {
        		defer close(lines)
        		scan(r, lines)
        	}()
        	for {
        		select {
        		case line := <-lines:
        			s.batch = append(s.batch, line)
        		case <-ctx.Done():
        			return
        		}
        	}
        }
        """,
        11,
    ),
    good(
        SPINS,
        "go",
        """
        package lines

        func (s *Shipper) Run(ctx context.Context, lines <-chan string) {
        	for {
        		select {
        		case line := <-lines:
        			s.batch = append(s.batch, line)
        		case <-ctx.Done():
        			return
        		}
        	}
        }
        """,
    ),
    bad(
        SPINS,
        "rust",
        """
        async fn work(mut jobs: mpsc::Receiver<Job>) {
            loop {
                if let Some(job) = jobs.recv().await {
                    run(job).await;
                }
            }
        }
        """,
        3,
    ),
    good(
        SPINS,
        "rust",
        """
        async fn work(mut jobs: mpsc::Receiver<Job>) {
            loop {
                match jobs.recv().await {
                    Some(job) => run(job).await,
                    None => break,
                }
            }
        }
        """,
    ),
    bad(
        SPINS,
        "kotlin",
        """
        suspend fun work(jobs: Channel<Job>) {
            while (true) {
                val job = jobs.receiveCatching().getOrNull() ?: continue
                run(job)
            }
        }
        """,
        3,
    ),
    bad(
        SPINS,
        "python",
        """
        async def serve(reader, writer):
            while True:
                line = await reader.readline()
                if not line:
                    continue
                handle(line)
        """,
        3,
    ),
    good(
        SPINS,
        "python",
        """
        async def serve(reader, writer):
            while True:
                line = await reader.readline()
                if not line:
                    break
                handle(line)
        """,
    ),
    # A pause after the work of a round, in the function that it calls.
    good(
        SPINS,
        "csharp",
        """
        public class Worker : BackgroundService
        {
            protected override async Task ExecuteAsync(CancellationToken stopping)
            {
                while (!stopping.IsCancellationRequested)
                {
                    await RunNextAsync(stopping);
                }
            }
            private async Task RunNextAsync(CancellationToken ct)
            {
                await using var db = await _db.OpenConnectionAsync(ct);
                var job = await db.QueryFirstOrDefaultAsync<Job>("SELECT id FROM jobs LIMIT 1");
                if (job is null)
                {
                    await Task.Delay(2000, ct);
                    return;
                }
                await _encoder.EncodeAsync(job);
            }
        }
        """,
    ),
    # A pause that a failure skips.
    bad(
        PAUSE,
        "python",
        """
        def poll(client, store):
            while True:
                try:
                    store.save(client.prices())
                    time.sleep(30)
                except Exception:
                    log.exception("poll failed")
        """,
        6,
    ),
    good(
        PAUSE,
        "python",
        """
        def poll(client, store):
            while True:
                try:
                    store.save(client.prices())
                except Exception:
                    log.exception("poll failed")
                time.sleep(30)
        """,
    ),
    bad(
        PAUSE,
        "typescript",
        """
        async function poll(api: Api) {
          while (!stopping) {
            try {
              await apply(await api.prices());
            } catch (err) {
              log.error({ err }, 'poll failed');
              continue;
            }
            await sleep(30_000);
          }
        }
        """,
        5,
    ),
    bad(
        PAUSE,
        "go",
        """
        package poll

        func run(c *Client) {
        	for {
        		prices, err := c.Prices()
        		if err != nil {
        			log.Printf("poll: %v", err)
        			continue
        		}
        		apply(prices)
        		time.Sleep(30 * time.Second)
        	}
        }
        """,
        6,
    ),
    bad(
        PAUSE,
        "java",
        """
        class Poller implements Runnable {
            public void run() {
                while (running) {
                    try {
                        store.save(client.prices());
                        Thread.sleep(30_000);
                    } catch (IOException e) {
                        log.warn("poll failed", e);
                    } catch (InterruptedException e) {
                        return;
                    }
                }
            }
        }
        """,
        7,
    ),
    bad(
        PAUSE,
        "rust",
        """
        async fn run(mut events: EventLoop, stop: CancellationToken) {
            loop {
                let polled = tokio::select! {
                    () = stop.cancelled() => return,
                    polled = events.poll() => polled,
                };
                match polled {
                    Ok(event) => handle(event),
                    Err(err) => {
                        warn!(error = %err, "connection lost");
                    }
                }
            }
        }
        """,
        9,
    ),
    good(
        PAUSE,
        "rust",
        """
        async fn run(mut events: EventLoop, stop: CancellationToken) {
            loop {
                let polled = tokio::select! {
                    () = stop.cancelled() => return,
                    polled = events.poll() => polled,
                };
                match polled {
                    Ok(event) => handle(event),
                    Err(err) => {
                        warn!(error = %err, "connection lost");
                        tokio::time::sleep(pause()).await;
                    }
                }
            }
        }
        """,
    ),
    good(
        "write-per-row",
        "javascript",
        """
        async function sync(pool) {
          const { rows } = await pool.query('SELECT id FROM items LIMIT 50');
          for (const item of rows) {
            await push(item);
            await pool.query('UPDATE items SET state = $2 WHERE id = $1', [item.id, 'synced']);
          }
        }
        async function push(item) {
          await axios.put(`https://s.example/items/${item.id}`, item, { timeout: 3000 });
        }
        """,
    ),
    # A function that runs itself again.
    bad(
        SPINS,
        "javascript",
        """
        async function poll() {
          const job = await store.claimNext();
          if (job) await handle(job);
          setImmediate(poll);
        }
        """,
        4,
    ),
    good(
        SPINS,
        "javascript",
        """
        async function poll() {
          const job = await store.claimNext();
          if (job) await handle(job);
          setTimeout(poll, job ? 0 : 1000);
        }
        """,
    ),
]
