"""Workers that end with one item, and waits that never end."""

# ruff: noqa: E101  (snippets of Go; a line of a snippet stays one)

from __future__ import annotations

from tests.code.rules.cases import bad, good

TASK = "task-left-running"
PIPE = "pipe-without-error-handler"
PERIODIC = "periodic-work-ends-with-first-error"
LATE = "promise-awaited-late"
WORKER = "worker-ends-with-one-item"
RECEIVE = "receive-never-ends"
GOROUTINE = "goroutine-leak"

CASES = [
    bad(RECEIVE, "rust", """
        pub async fn fetch_all(urls: Vec<String>) -> Vec<Page> {
            let (tx, mut rx) = mpsc::channel(16);
            for url in urls {
                let tx = tx.clone();
                tokio::spawn(async move {
                    let page = fetch(&url).await;
                    let _ = tx.send(page).await;
                });
            }
            let mut pages = Vec::new();
            while let Some(page) = rx.recv().await {
                pages.push(page);
            }
            pages
        }
        """, 11),
    bad(GOROUTINE, "go", """
        package p

        func All(ctx context.Context, ids []string) []Item {
        	results := make(chan Item)
        	var wg sync.WaitGroup
        	for _, id := range ids {
        		wg.Add(1)
        		go func() {
        			defer wg.Done()
        			results <- load(ctx, id)
        		}()
        	}
        	wg.Wait()
        	close(results)
        	var out []Item
        	for r := range results {
        		out = append(out, r)
        	}
        	return out
        }
        """, 13),
    bad(TASK, "kotlin", """
        class Prices(private val scope: CoroutineScope, private val upstream: Upstream) {
            fun prices(symbol: String): StateFlow<Price?> =
                upstream.ticks(symbol).map { it.price }.stateIn(scope, SharingStarted.Eagerly, null)
        }
        """, 3),
    bad(WORKER, "python", """
        import threading
        class Worker(threading.Thread):
            def run(self):
                while True:
                    job = self.queue.get()
                    self.handle(job)
                    self.queue.task_done()
        """, 6),
    bad(WORKER, "csharp", """
        public class Mailer : BackgroundService
        {
            protected override async Task ExecuteAsync(CancellationToken ct)
            {
                await foreach (var mail in _channel.Reader.ReadAllAsync(ct))
                {
                    await _smtp.SendAsync(mail, ct);
                }
            }
        }
        """, 7),
    bad(WORKER, "kotlin", """
        class Mailer(private val scope: CoroutineScope, private val mails: Channel<Mail>) {
            fun start() {
                scope.launch {
                    for (mail in mails) {
                        smtp.send(mail)
                    }
                }
            }
        }
        """, 5),
    bad(TASK, "csharp", """
        public class SessionService
        {
            public async Task WatchAsync(string id)
            {
                var timer = new System.Timers.Timer(5000);
                timer.Elapsed += (_, _) => Touch(id);
                timer.Start();
                await _store.SaveAsync(id);
            }
        }
        """, 5),
    bad(WORKER, "java", """
        class Poller implements Runnable {
            public void run() {
                while (!Thread.currentThread().isInterrupted()) {
                    try {
                        Message m = queue.take();
                        handle(m);
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                }
            }
        }
        """, 6),
    bad(WORKER, "rust", """
        pub fn start(mut rx: mpsc::Receiver<Job>, db: Pool) {
            tokio::spawn(async move {
                while let Some(job) = rx.recv().await {
                    if let Err(e) = run(&db, job).await {
                        tracing::error!(?e, "job failed");
                        return;
                    }
                }
            });
        }
        """, 4),
    good(RECEIVE, "rust", """
        pub async fn fetch_all(urls: Vec<String>) -> Vec<Page> {
            let (tx, mut rx) = mpsc::channel(16);
            for url in urls {
                let tx = tx.clone();
                tokio::spawn(async move { let _ = tx.send(fetch(&url).await).await; });
            }
            drop(tx);
            let mut pages = Vec::new();
            while let Some(page) = rx.recv().await {
                pages.push(page);
            }
            pages
        }
        pub async fn pump(source: Source) {
            let (tx, mut rx) = mpsc::channel(16);
            tokio::spawn(produce(source, tx));
            while let Some(item) = rx.recv().await { show(item); }
        }
        """),
    bad(WORKER, "go", """
        package p

        type Worker struct{ jobs chan Job }

        func (w *Worker) Start() {
        	go func() {
        		for job := range w.jobs {
        			if err := w.handle(job); err != nil {
        				log.Printf("job failed: %v", err)
        				return
        			}
        		}
        	}()
        }
        """, 8),
    good(WORKER, "go", """
        package p

        type Worker struct{ jobs chan Job }

        func (w *Worker) Start(failed chan error) {
        	go func() {
        		for job := range w.jobs {
        			if err := w.handle(job); err != nil {
        				failed <- err
        				return
        			}
        		}
        	}()
        	go func() {
        		for job := range w.jobs {
        			if err := w.handle(job); err != nil {
        				log.Printf("job failed: %v", err)
        			}
        		}
        	}()
        }
        """),
    good(WORKER, "csharp", """
        public class Mailer : BackgroundService
        {
            protected override async Task ExecuteAsync(CancellationToken ct)
            {
                await foreach (var mail in _channel.Reader.ReadAllAsync(ct))
                {
                    try { await _smtp.SendAsync(mail, ct); }
                    catch (Exception ex) { _log.LogError(ex, "mail not sent"); }
                }
            }
        }
        """),
    good(TASK, "kotlin", """
        class Prices(private val scope: CoroutineScope, private val upstream: Upstream) {
            private val flows = ConcurrentHashMap<String, StateFlow<Price?>>()
            fun prices(symbol: String): StateFlow<Price?> = flows.getOrPut(symbol) {
                upstream.ticks(symbol).stateIn(scope, SharingStarted.Eagerly, null)
            }
        }
        """),
    good(WORKER, "kotlin", """
        class Ingest(private val writer: Writer) {
            private val queue = Channel<Position>(100)
            fun start(scope: CoroutineScope) = scope.launch {
                for (first in queue) {
                    val batch = arrayListOf(first)
                    batch += queue.tryReceive().getOrNull() ?: continue
                    try { writer.write(batch) } catch (e: IOException) { log.warn("lost", e) }
                }
            }
        }
        fun Application.sockets(rooms: Rooms) {
            webSocket("/rooms") {
                val outbox = Channel<Event>(10)
                launch { for (event in outbox) session.send(event) }
            }
        }
        """),
    bad(PIPE, "typescript", """
        app.get('/csv', async (req, res) => {
          const stream = client.query(new QueryStream('SELECT * FROM t'));
          stream.on('error', (e) => res.destroy(e));
          stream.pipe(stringify()).pipe(res);
        });
        """, 4),
    bad(PERIODIC, "java", """
        class Poller {
            @PostConstruct
            void start() {
                executor.scheduleWithFixedDelay(this::safePoll, 0, 5, TimeUnit.SECONDS);
            }
            private void safePoll() {
                try {
                    poll();
                } catch (PollException e) {
                    log.warn("poll failed", e);
                }
            }
            private void poll() throws PollException {
                List<Item> items = client.fetch();
                items.forEach(handler::handle);
            }
            static class PollException extends Exception { }
        }
        """, 4),
    bad(PERIODIC, "kotlin", """
        class Refresher(private val executor: ScheduledExecutorService) {
            fun start() {
                executor.scheduleAtFixedRate({ refresh() }, 0, 30, TimeUnit.SECONDS)
            }
            private fun refresh() {
                try {
                    val body = client.get("/rates")
                    rates = parser.parse(body)
                } catch (e: IOException) {
                    log.warn("refresh failed", e)
                }
            }
        }
        """, 3),
    bad(PERIODIC, "java", """
        class Agent {
            void start() {
                Thread t = new Thread(() -> {
                    while (running) {
                        try {
                            report(collector.collect());
                            Thread.sleep(1000);
                        } catch (InterruptedException e) {
                            return;
                        }
                    }
                });
                t.start();
            }
            private void report(Stats s) { client.send(s); }
        }
        """, 4),
    bad(PERIODIC, "python", """
        import threading
        def start():
            threading.Timer(60, tick).start()
        def tick():
            refresh()
            threading.Timer(60, tick).start()
        def refresh():
            data = requests.get(URL, timeout=3).json()
        """, 5),
    bad(PERIODIC, "csharp", """
        public class Agent
        {
            public void Start() => _ = Task.Run(async () =>
            {
                while (!_cts.IsCancellationRequested)
                {
                    await _client.ReportAsync(_stats.Take());
                    await Task.Delay(1000, _cts.Token);
                }
            });
        }
        """, 5),
    bad(LATE, "typescript", """
        export async function load(ids: string[]) {
          const tasks = ids.map((id) => fetchOne(id));
          const meta = await loadMeta();
          const items = await Promise.all(tasks);
          return { meta, items };
        }
        """, 2),
    bad(GOROUTINE, "go", """
        package p

        func Stream(ctx context.Context, src Source) <-chan Item {
        	out := make(chan Item)
        	go func() {
        		defer close(out)
        		for src.Next() {
        			out <- src.Item()
        		}
        	}()
        	return out
        }
        """, 8),
    good(GOROUTINE, "go", """
        package p

        func Stream(ctx context.Context, src Source) <-chan Item {
        	out := make(chan Item)
        	go func() {
        		defer close(out)
        		for src.Next() {
        			select {
        			case out <- src.Item():
        			case <-ctx.Done():
        				return
        			}
        		}
        	}()
        	return out
        }
        """),
    good(PERIODIC, "java", """
        class Agent {
            void start() {
                Thread t = new Thread(() -> {
                    while (running) {
                        try {
                            client.send(collector.collect());
                            Thread.sleep(1000);
                        } catch (InterruptedException e) {
                            return;
                        } catch (RuntimeException e) {
                            log.warn("not sent", e);
                        }
                    }
                });
                t.start();
            }
        }
        """),
    good(PERIODIC, "python", """
        import threading
        def tick():
            try:
                refresh()
            finally:
                threading.Timer(60, tick).start()
        """),
    good(PERIODIC, "java", """
        class Pool implements Runnable {
            public void run() {
                while (running) {
                    scheduler.signal(clock.next());
                    try { Thread.sleep(1000); } catch (InterruptedException e) { return; }
                }
            }
        }
        """),
]  # fmt: skip
