"""Workers that one item ends, that nothing waits for, or whose errors go nowhere."""

# ruff: noqa: E101  (snippets of Go)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_RULE = "worker-ends-with-one-item"

CASES = [
    bad(
        _RULE,
        "go",
        """
        package pool

        func (p *Pool) Start() {
        	go func() {
        		for raw := range p.jobs {
        			if err := p.handle(raw); err != nil {
        				panic(err)
        			}
        		}
        	}()
        	go p.loop()
        }

        func (p *Pool) loop() {
        	for job := range p.others {
        		if err := job.Run(); err != nil {
        			log.Fatal(err)
        		}
        	}
        }
        """,
        7,
        17,
    ),
    good(
        _RULE,
        "go",
        """
        package pool

        func (p *Pool) Start() {
        	go func() {
        		defer func() {
        			if v := recover(); v != nil {
        				log.Print(v)
        			}
        		}()
        		for raw := range p.jobs {
        			if !p.known(raw) {
        				panic("unknown")
        			}
        		}
        	}()
        	for _, part := range p.parts {
        		if part == nil {
        			panic("part")
        		}
        	}
        }
        """,
    ),
    bad(
        _RULE,
        "rust",
        """
        fn start(rx: Receiver<Job>, stats: Arc<Mutex<Stats>>) {
            thread::spawn(move || {
                for job in rx {
                    let done = job.run().unwrap();
                    stats.lock().unwrap().add(done);
                }
            });
        }
        """,
        4,
    ),
    good(
        _RULE,
        "rust",
        """
        fn start(rx: Receiver<Job>, stats: Arc<Mutex<Stats>>) {
            thread::spawn(move || {
                for job in rx {
                    match job.run() {
                        Ok(done) => stats.lock().unwrap().add(done),
                        Err(error) => tracing::warn!(%error, "job"),
                    }
                }
            });
        }

        fn read(lines: Lines) {
            for line in lines {
                line.parse::<u64>().unwrap();
            }
        }
        """,
    ),
    bad(
        _RULE,
        "python",
        """
        import threading

        def work():
            while True:
                job = jobs.get()
                store(job)
                jobs.task_done()

        threading.Thread(target=work, daemon=True).start()
        """,
        6,
    ),
    good(
        _RULE,
        "python",
        """
        import threading

        def work():
            while True:
                job = jobs.get()
                try:
                    store(job)
                except Exception:
                    log.exception("job")
                finally:
                    jobs.task_done()

        def once():
            while True:
                job = jobs.get()
                store(job)

        threading.Thread(target=work, daemon=True).start()
        """,
    ),
    bad(
        _RULE,
        "java",
        """
        class Worker implements Runnable {
            public void run() {
                while (!Thread.currentThread().isInterrupted()) {
                    try {
                        Job job = queue.take();
                        store.save(job);
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                }
            }
        }
        """,
        6,
    ),
    good(
        _RULE,
        "java",
        """
        class Worker implements Runnable {
            public void run() {
                while (!Thread.currentThread().isInterrupted()) {
                    try {
                        Job job = queue.take();
                        store.save(job);
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    } catch (RuntimeException e) {
                        log.warn("job", e);
                    }
                }
            }
        }
        """,
    ),
    bad(
        "unguarded-access",
        "python",
        """
        import threading

        class Index:
            def __init__(self):
                self._lock = threading.Lock()
                self._seen = set()
                threading.Thread(target=self._work).start()

            def add(self, name):
                with self._lock:
                    self._seen.add(name)

            def _work(self):
                self._seen.discard(take())
        """,
        14,
    ),
    bad(
        "workers-not-awaited",
        "csharp",
        """
        public class Mails : IHostedService
        {
            public Task StartAsync(CancellationToken token)
            {
                _ = Task.Run(ConsumeAsync);
                return Task.CompletedTask;
            }

            public Task StopAsync(CancellationToken token)
            {
                _channel.Writer.Complete();
                return Task.CompletedTask;
            }
        }
        """,
        5,
    ),
    bad(
        "ticker-not-stopped",
        "go",
        """
        package ping

        import "context"

        func ping(ctx context.Context) error {
        	ctx, _ = context.WithTimeout(ctx, time.Second)
        	return call(ctx)
        }
        """,
        6,
    ),
    good(
        "ticker-not-stopped",
        "go",
        """
        package ping

        import "context"

        func ping(ctx context.Context) error {
        	ctx, cancel := context.WithTimeout(ctx, time.Second)
        	defer cancel()
        	return call(ctx)
        }
        """,
    ),
    bad(
        "fire-and-forget",
        "typescript",
        """
        async function each(message: Message) {
          await note(message);
          handle(message).then(() => console.log('handled'));
        }
        """,
        3,
    ),
    good(
        "fire-and-forget",
        "typescript",
        """
        async function each(message: Message) {
          await note(message);
          handle(message).then(done, failed);
          handle(message).then(done).catch(failed);
          return handle(message).then(done);
        }
        """,
    ),
    bad(
        "work-cut-off-at-the-end",
        "python",
        """
        import asyncio
        import signal

        def main():
            loop = asyncio.new_event_loop()
            task = loop.create_task(consume())
            for sig in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(sig, loop.stop)
            loop.run_forever()
        """,
        8,
    ),
    good(
        "work-cut-off-at-the-end",
        "python",
        """
        import asyncio
        import signal

        def main():
            loop = asyncio.new_event_loop()
            task = loop.create_task(consume())
            loop.add_signal_handler(signal.SIGTERM, loop.stop)
            loop.run_forever()
            task.cancel()
            loop.run_until_complete(task)
        """,
    ),
    bad(
        "workers-not-awaited",
        "rust",
        """
        async fn main() {
            let (tx, rx) = mpsc::channel::<Order>(256);
            tokio::spawn(ship(rx));
            axum::serve(listener, app(tx)).with_graceful_shutdown(stopped()).await.unwrap();
        }
        """,
        3,
    ),
    good(
        "workers-not-awaited",
        "rust",
        """
        async fn main() {
            let (tx, rx) = mpsc::channel::<Order>(256);
            let shipping = tokio::spawn(ship(rx));
            tokio::spawn(report());
            axum::serve(listener, app(tx)).with_graceful_shutdown(stopped()).await.unwrap();
            shipping.await.unwrap();
        }
        """,
    ),
    bad(
        "workers-not-awaited",
        "kotlin",
        """
        class Mails(private val sender: Sender) : AutoCloseable {
            private val scope = CoroutineScope(SupervisorJob())
            private val queue = Channel<Mail>(500)

            init {
                scope.launch {
                    for (mail in queue) {
                        sender.send(mail)
                    }
                }
            }

            override fun close() {
                scope.cancel()
            }
        }
        """,
        14,
    ),
    good(
        "workers-not-awaited",
        "kotlin",
        """
        class Mails(private val sender: Sender) : AutoCloseable {
            private val scope = CoroutineScope(SupervisorJob())
            private val queue = Channel<Mail>(500)
            private val worker = scope.launch { for (mail in queue) sender.send(mail) }

            override fun close() {
                queue.close()
                runBlocking { worker.join() }
                scope.cancel()
            }
        }
        """,
    ),
    bad(
        "unbounded-fan-out",
        "go",
        """
        package ingest

        func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
        	var batch []Event
        	json.NewDecoder(r.Body).Decode(&batch)
        	for _, event := range batch {
        		go h.store.Append(context.Background(), event)
        	}
        }
        """,
        7,
    ),
]
