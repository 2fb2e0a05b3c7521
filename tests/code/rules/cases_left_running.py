"""Tasks, programs, subscriptions and token sources that are left when their work has ended."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

_TASK = "task-left-running"
_LISTENER = "listener-leak"
_PROGRAM = "subprocess-without-timeout"

CASES = [
    bad(
        _TASK,
        "rust",
        """
        async fn follow(mut socket: WebSocket, hall: Arc<Hall>) {
            let mut bids = hall.subscribe(7);
            tokio::spawn(async move {
                loop {
                    match bids.recv().await {
                        Ok(price) => slot.set(price),
                        Err(_) => break,
                    }
                }
            });
            while let Some(Ok(_)) = socket.recv().await {}
        }

        fn start(zone: u16, bus: Arc<Bus>) -> Regulator {
            let task = tokio::spawn(async move {
                loop {
                    bus.adjust(zone).await;
                }
            });
            Regulator { task }
        }

        async fn supervise(mut profiles: Receiver<Profile>, bus: Arc<Bus>) {
            let mut one = start(1, bus.clone());
            while profiles.changed().await.is_ok() {
                one = start(1, bus.clone());
            }
        }
        """,
        3,
        15,
    ),
    good(
        _TASK,
        "rust",
        """
        async fn follow(mut socket: WebSocket, hall: Arc<Hall>) {
            let mut bids = hall.subscribe(7);
            let feed = tokio::spawn(async move {
                while let Ok(price) = bids.recv().await {
                    slot.set(price);
                }
            });
            while let Some(Ok(_)) = socket.recv().await {}
            feed.abort();
        }
        """,
    ),
    bad(
        _LISTENER,
        "csharp",
        """
        public sealed class SensorHub : Hub
        {
            private readonly ISensorFeed _feed;

            public SensorHub(ISensorFeed feed) => _feed = feed;

            public override async Task OnConnectedAsync()
            {
                Action<Tick> handler = tick => Push(tick);
                _feed.Ticked += handler;
            }

            private static CancellationToken Within(TimeSpan limit, CancellationToken outer)
            {
                var source = CancellationTokenSource.CreateLinkedTokenSource(outer);
                source.CancelAfter(limit);
                return source.Token;
            }
        }
        """,
        10,
        15,
    ),
    good(
        _LISTENER,
        "csharp",
        """
        public sealed class Worker
        {
            private static CancellationTokenSource Within(TimeSpan limit, CancellationToken outer)
            {
                var source = CancellationTokenSource.CreateLinkedTokenSource(outer);
                source.CancelAfter(limit);
                return source;
            }
        }
        """,
    ),
    good(
        _LISTENER,
        "go",
        """
        import "net/http"

        func Stream(b *Broker) http.HandlerFunc {
            return func(w http.ResponseWriter, r *http.Request) {
                events, unsubscribe := b.Subscribe()
                defer unsubscribe()
                for ev := range events {
                    w.Write(ev)
                }
            }
        }
        """,
    ),
    bad(
        "goroutine-leak",
        "go",
        """
        func (h *Hedger) Complete(ctx context.Context) (string, error) {
            results := make(chan string)
            ask := func(p Provider) {
                results <- p.Complete(ctx)
            }
            go ask(h.primary)
            select {
            case out := <-results:
                return out, nil
            case <-ctx.Done():
                return "", ctx.Err()
            }
        }
        """,
        6,
    ),
    bad(
        _PROGRAM,
        "rust",
        """
        use tokio::process::Command;
        use tokio::time::timeout;

        async fn probe(upload: &Path) -> Result<Output, Error> {
            let child = Command::new("ffprobe").arg(upload).stdout(Stdio::piped()).spawn()?;
            Ok(timeout(LIMIT, child.wait_with_output()).await??)
        }
        """,
        6,
    ),
    good(
        _PROGRAM,
        "rust",
        """
        use tokio::process::Command;
        use tokio::time::timeout;

        async fn probe(upload: &Path) -> Result<Output, Error> {
            let child = Command::new("ffprobe").arg(upload).kill_on_drop(true).spawn()?;
            Ok(timeout(LIMIT, child.wait_with_output()).await??)
        }
        """,
    ),
    bad(
        _PROGRAM,
        "python",
        """
        import asyncio

        async def probe(path):
            proc = await asyncio.create_subprocess_exec("ffprobe", path)
            try:
                out, _ = await asyncio.wait_for(proc.communicate(), 20)
            except TimeoutError:
                return None
            return out
        """,
        6,
    ),
    good(
        _PROGRAM,
        "python",
        """
        import asyncio

        async def probe(path):
            proc = await asyncio.create_subprocess_exec("ffprobe", path)
            try:
                out, _ = await asyncio.wait_for(proc.communicate(), 20)
            except TimeoutError:
                proc.kill()
                raise
            return out
        """,
    ),
    bad(
        _PROGRAM,
        "java",
        """
        class Probe {
            void run(String path) throws Exception {
                Process process = new ProcessBuilder("ffprobe", path).inheritIO().start();
                if (!process.waitFor(20, TimeUnit.SECONDS)) {
                    throw new TimeoutException();
                }
            }
        }
        """,
        4,
    ),
    bad(
        _PROGRAM,
        "csharp",
        """
        class Probe
        {
            async Task Run(Process process, CancellationToken ct)
            {
                try
                {
                    await process.WaitForExitAsync(ct);
                }
                catch (OperationCanceledException)
                {
                    throw new TimeoutException();
                }
            }
        }
        """,
        7,
    ),
]
