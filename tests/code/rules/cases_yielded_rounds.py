"""Loops whose only pause waits for nothing, and loops that accept again at once after a failure."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import bad, good

SPINS = "busy-loop"

CASES = [
    bad(
        SPINS,
        "csharp",
        """
        class Locks {
            async Task Take(IDatabase db, string key, string owner) {
                while (!await db.LockTakeAsync(key, owner, Lease)) {
                    await Task.Yield();
                }
            }
        }
        """,
        3,
    ),
    good(
        SPINS,
        "csharp",
        """
        class Locks {
            async Task Take(IDatabase db, string key, string owner) {
                while (!await db.LockTakeAsync(key, owner, Lease)) {
                    await Task.Delay(50);
                }
            }
        }
        """,
    ),
    bad(
        SPINS,
        "python",
        """
        import asyncio

        async def wait(client, job):
            while True:
                reply = await client.get(f"/jobs/{job}")
                if reply.json()["state"] == "done":
                    return reply.json()
                await asyncio.sleep(0)
        """,
        4,
    ),
    good(
        SPINS,
        "python",
        """
        import asyncio

        async def pages(client, job):
            cursor = None
            while True:
                page = await client.list(job, cursor)
                handle(page.items)
                cursor = page.next
                await asyncio.sleep(0)
        """,
    ),
    bad(
        SPINS,
        "python",
        """
        import queue

        def work(jobs):
            while True:
                try:
                    job = jobs.get(block=False)
                except queue.Empty:
                    continue
                handle(job)
        """,
        6,
    ),
    bad(
        SPINS,
        "kotlin",
        """
        class Drain {
            suspend fun run() {
                while (true) {
                    val next = inbox.tryReceive()
                    if (next.isClosed) return
                    val first = next.getOrNull()
                    if (first != null) store(first) else yield()
                }
            }
        }
        """,
        3,
    ),
    bad(
        SPINS,
        "rust",
        """
        async fn wait(db: &Pool, id: i64) -> Result<Job> {
            loop {
                let job = sqlx::query_as("select 1").bind(id).fetch_one(db).await?;
                if job.done { return Ok(job); }
                tokio::task::yield_now().await;
            }
        }
        """,
        2,
    ),
    bad(
        SPINS,
        "rust",
        """
        async fn run(mut commands: Receiver<Command>, mut pace: Interval) {
            loop {
                tokio::select! {
                    command = commands.recv() => {
                        if let Some(command) = command {
                            apply(command);
                        }
                    }
                    _ = pace.tick() => step().await,
                }
            }
        }
        """,
        4,
    ),
    good(
        SPINS,
        "rust",
        """
        async fn run(mut commands: Receiver<Command>, mut pace: Interval) {
            loop {
                tokio::select! {
                    command = commands.recv() => match command {
                        Some(command) => apply(command),
                        None => break,
                    },
                    Some(event) = events.recv() => on(event),
                    _ = pace.tick() => step().await,
                }
            }
        }
        """,
    ),
    bad(
        SPINS,
        "go",
        """
        package merge

        func run(left, right <-chan Sample) {
        	leftUp, rightUp := true, true
        	for leftUp || rightUp {
        		select {
        		case s, ok := <-left:
        			if leftUp = ok; !ok {
        				continue
        			}
        			use(s)
        		case s, ok := <-right:
        			if !ok {
        				return
        			}
        			use(s)
        		}
        	}
        }
        """,
        7,
    ),
    bad(
        SPINS,
        "go",
        """
        package drain

        func drain(q chan int) {
        	for {
        		select {
        		case v := <-q:
        			use(v)
        		default:
        			runtime.Gosched()
        		}
        	}
        }
        """,
        8,
    ),
    bad(
        SPINS,
        "go",
        """
        package work

        func (w *Worker) Run(ctx context.Context) error {
        	for ctx.Err() == nil {
        		res, err := w.rdb.XReadGroup(ctx, &redis.XReadGroupArgs{Group: "g", Block: -1}).Result()
        		if errors.Is(err, redis.Nil) {
        			continue
        		}
        		if err != nil {
        			return err
        		}
        		handle(res)
        	}
        	return nil
        }
        """,
        5,
    ),
    bad(
        SPINS,
        "go",
        """
        package serve

        func serve(ln net.Listener) {
        	for {
        		c, err := ln.Accept()
        		if err != nil {
        			if errors.Is(err, net.ErrClosed) {
        				return
        			}
        			log.Printf("accept: %v", err)
        			continue
        		}
        		go handle(c)
        	}
        }
        """,
        7,
    ),
    good(
        SPINS,
        "go",
        """
        package serve

        func serve(ln net.Listener) {
        	for {
        		c, err := ln.Accept()
        		if err != nil {
        			log.Printf("accept: %v", err)
        			time.Sleep(100 * time.Millisecond)
        			continue
        		}
        		go handle(c)
        	}
        }
        """,
    ),
    bad(
        SPINS,
        "python",
        """
        def serve(sock):
            while True:
                try:
                    conn, addr = sock.accept()
                except OSError as error:
                    log.warning("accept failed: %s", error)
                    continue
                start(conn)
        """,
        6,
    ),
    bad(
        SPINS,
        "java",
        """
        class Server {
            void serve(ServerSocket server) {
                while (running) {
                    try {
                        Socket s = server.accept();
                        pool.execute(() -> handle(s));
                    } catch (IOException e) {
                        log.warn("accept failed", e);
                    }
                }
            }
        }
        """,
        7,
    ),
    bad(
        SPINS,
        "rust",
        """
        async fn answer(listener: TcpListener, stop: CancellationToken) {
            loop {
                let accepted = tokio::select! {
                    _ = stop.cancelled() => break,
                    accepted = listener.accept() => accepted,
                };
                let stream = match accepted {
                    Ok((stream, _)) => stream,
                    Err(err) => {
                        tracing::warn!(error = %err, "not accepted");
                        continue;
                    }
                };
                tokio::spawn(serve(stream));
            }
        }
        """,
        9,
    ),
    good(
        SPINS,
        "javascript",
        """
        async function restore(redis, working) {
          while ((await redis.lmove(working, READY, 'RIGHT', 'LEFT')) !== null);
        }
        """,
    ),
]
