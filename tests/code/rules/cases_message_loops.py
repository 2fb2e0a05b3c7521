"""One task for every message or connection that comes, and pools as large as the list."""

# ruff: noqa: E101, E501  (snippets of Go; a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_RULE = "unbounded-fan-out"

CASES = [
    bad(
        _RULE,
        "go",
        """
        package relay

        func (r *Relay) Run(ctx context.Context) error {
        	for {
        		note, err := r.inbox.Next(ctx)
        		if err != nil {
        			return err
        		}
        		go func() {
        			r.forward(ctx, note)
        		}()
        	}
        }

        func (r *Relay) Drain(notes <-chan Note, stop chan struct{}) {
        	for {
        		select {
        		case note := <-notes:
        			go r.forward(ctx, note)
        		case <-stop:
        			return
        		}
        	}
        }

        func (r *Relay) Each(notes <-chan Note) {
        	for note := range notes {
        		go r.forward(ctx, note)
        	}
        }
        """,
        9,
        19,
        28,
    ),
    good(
        _RULE,
        "go",
        """
        package relay

        func (r *Relay) Run(ctx context.Context, notes <-chan Note) {
        	slots := make(chan struct{}, 8)
        	for note := range notes {
        		slots <- struct{}{}
        		go func() {
        			defer func() { <-slots }()
        			r.forward(ctx, note)
        		}()
        	}
        }

        func (r *Relay) Start(notes <-chan Note) {
        	for range 4 {
        		go r.work(notes)
        	}
        	for {
        		<-r.ticks
        		go r.report()
        	}
        }
        """,
    ),
    bad(
        _RULE,
        "python",
        """
        import asyncio
        import threading
        from concurrent.futures import ThreadPoolExecutor

        class Relay:
            async def run(self, queue):
                while True:
                    note = await queue.get()
                    self._tasks.add(asyncio.create_task(self._forward(note)))

            async def each(self, consumer):
                async for note in consumer:
                    self._tasks.add(asyncio.create_task(self._forward(note)))

        def listen(server):
            while True:
                conn, peer = server.accept()
                threading.Thread(target=talk, args=(conn,)).start()

        def check(urls):
            with ThreadPoolExecutor(max_workers=len(urls)) as pool:
                return list(pool.map(head, urls))
        """,
        9,
        13,
        18,
        21,
    ),
    good(
        _RULE,
        "python",
        """
        import asyncio
        from concurrent.futures import ThreadPoolExecutor

        class Relay:
            def __init__(self):
                self._free = asyncio.Semaphore(8)

            async def run(self, queue):
                while True:
                    note = await queue.get()
                    await self._free.acquire()
                    self._tasks.add(asyncio.create_task(self._forward(note)))

            async def watch(self):
                while True:
                    settings = self._options.get("interval")
                    await asyncio.create_task(self._look(settings))

        def check(urls):
            with ThreadPoolExecutor(max_workers=min(len(urls), 16)) as pool:
                return list(pool.map(head, urls))
        """,
    ),
    bad(
        _RULE,
        "rust",
        """
        async fn serve(listener: TcpListener) -> io::Result<()> {
            loop {
                let (socket, _) = listener.accept().await?;
                tokio::spawn(async move { talk(socket).await });
            }
        }

        async fn drain(mut rx: Receiver<Note>, api: Api) {
            while let Some(note) = rx.recv().await {
                let api = api.clone();
                tokio::spawn(async move { api.forward(note).await });
            }
        }

        async fn consume(consumer: StreamConsumer) {
            loop {
                match consumer.recv().await {
                    Ok(message) => {
                        let body = message.payload().to_vec();
                        tokio::spawn(async move { forward(body).await });
                    }
                    Err(error) => tracing::warn!(%error, "receive"),
                }
            }
        }
        """,
        4,
        11,
        20,
    ),
    good(
        _RULE,
        "rust",
        """
        async fn serve(listener: TcpListener, slots: Arc<Semaphore>) -> io::Result<()> {
            loop {
                let permit = slots.clone().acquire_owned().await?;
                let (socket, _) = listener.accept().await?;
                tokio::spawn(async move {
                    let _permit = permit;
                    talk(socket).await
                });
            }
        }

        async fn restart(mut done: Receiver<()>) {
            while let Some(()) = done.recv().await {
                tokio::spawn(async { work().await });
            }
        }
        """,
    ),
    bad(
        _RULE,
        "csharp",
        """
        class Relay
        {
            async Task ListenAsync(TcpListener listener)
            {
                while (true)
                {
                    var client = await listener.AcceptTcpClientAsync();
                    _ = TalkAsync(client);
                }
            }

            async Task DrainAsync(ChannelReader<Note> notes)
            {
                await foreach (var note in notes.ReadAllAsync())
                {
                    _ = Task.Run(() => api.ForwardAsync(note));
                }
            }
        }
        """,
        8,
        16,
    ),
    bad(
        _RULE,
        "java",
        """
        import java.util.concurrent.CompletableFuture;
        import java.util.concurrent.ExecutorService;
        import java.util.concurrent.Executors;

        class Relay {
            private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();

            void listen(ServerSocket server) throws IOException {
                while (true) {
                    Socket socket = server.accept();
                    new Thread(() -> talk(socket)).start();
                }
            }

            List<CompletableFuture<Stock>> load(List<String> skus) {
                return skus.stream().map(sku -> CompletableFuture.supplyAsync(() -> supplier.fetchStock(sku), threads)).toList();
            }

            void all(List<Item> items) {
                ExecutorService own = Executors.newFixedThreadPool(items.size());
            }
        }
        """,
        11,
        16,
        20,
    ),
    good(
        _RULE,
        "java",
        """
        class Relay {
            void listen(ServerSocket server, ExecutorService pool) throws IOException {
                while (running) {
                    Socket socket = server.accept();
                    pool.execute(() -> talk(socket));
                }
            }
        }
        """,
    ),
    bad(
        _RULE,
        "kotlin",
        """
        import kotlinx.coroutines.*

        class Relay(private val scope: CoroutineScope) {
            suspend fun listen(server: ServerSocket) {
                while (true) {
                    val socket = server.accept()
                    scope.launch { talk(socket) }
                }
            }
        }
        """,
        7,
    ),
]
