"""Cases of ways out that leave something open, and of contexts at the end of a function."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

CASES = [
    bad(
        "file-not-closed",
        "java",
        """
        import java.nio.file.Files;
        class Inbox {
            List<Path> next(Path inbox) throws IOException {
                Stream<Path> entries = Files.list(inbox);
                return entries
                        .filter(Files::isRegularFile)
                        .limit(50)
                        .toList();
            }
        }
        """,
        4,
    ),
    good(
        "file-not-closed",
        "java",
        """
        import java.nio.file.Files;
        class Inbox {
            List<Path> next(Path inbox) throws IOException {
                try (Stream<Path> entries = Files.list(inbox)) {
                    return entries.filter(Files::isRegularFile).limit(50).toList();
                }
            }
            Stream<Path> all(Path inbox) throws IOException {
                Stream<Path> entries = Files.list(inbox);
                return entries;
            }
        }
        """,
    ),
    bad(
        "response-not-closed",
        "go",
        """
        package export
        import ("net/http"; "time")
        func fetch(client *http.Client, req *http.Request) (*Page, error) {
            for attempt := 1; ; attempt++ {
                resp, err := client.Do(req)
                if err != nil {
                    return nil, err
                }
                if resp.StatusCode == 429 && attempt < 5 {
                    attempt += 0
                    time.Sleep(time.Second)
                    continue
                }
                return decode(resp)
            }
        }
        """,
        9,
    ),
    good(
        "response-not-closed",
        "go",
        """
        package export
        import ("net/http"; "time")
        func fetch(client *http.Client, req *http.Request) (*Page, error) {
            for attempt := 1; ; attempt++ {
                resp, err := client.Do(req)
                if err != nil {
                    return nil, err
                }
                if resp.StatusCode == 429 && attempt < 5 {
                    resp.Body.Close()
                    time.Sleep(time.Second)
                    continue
                }
                return decode(resp)
            }
        }
        """,
    ),
    bad(
        "unbounded-fan-out",
        "rust",
        """
        use tokio::sync::Semaphore;
        use tokio::task::JoinSet;
        pub async fn export(pool: &PgPool, registry: RegistryClient) -> Result<()> {
            let permits = Arc::new(Semaphore::new(16));
            let mut tasks = JoinSet::new();
            let mut rows = sqlx::query_as::<_, Row>("SELECT id FROM export_rows").fetch(pool);
            while let Some(record) = rows.try_next().await? {
                let registry = registry.clone();
                let permits = permits.clone();
                tasks.spawn(async move {
                    let _permit = permits.acquire_owned().await;
                    registry.send(&record).await
                });
            }
            Ok(())
        }
        """,
        10,
    ),
    good(
        "unbounded-fan-out",
        "rust",
        """
        use tokio::sync::Semaphore;
        use tokio::task::JoinSet;
        pub async fn export(pool: &PgPool, registry: RegistryClient) -> Result<()> {
            let permits = Arc::new(Semaphore::new(16));
            let mut tasks = JoinSet::new();
            let mut rows = sqlx::query_as::<_, Row>("SELECT id FROM export_rows").fetch(pool);
            while let Some(record) = rows.try_next().await? {
                let registry = registry.clone();
                let permit = permits.clone().acquire_owned().await?;
                tasks.spawn(async move {
                    let _permit = permit;
                    registry.send(&record).await
                });
            }
            Ok(())
        }
        """,
    ),
    bad(
        "grpc-call-without-deadline",
        "go",
        """
        package notify
        import ("context"; "time"; "google.golang.org/grpc/codes"; pushpb "example.com/gen/pushpb")
        type Notifier struct { client pushpb.PushServiceClient }
        func (n *Notifier) Announce(ctx context.Context, id string) {
            detached := context.WithoutCancel(ctx)
            go func() {
                sending := context.WithoutCancel(detached)
                n.send(sending, id)
            }()
        }
        func (n *Notifier) send(ctx context.Context, id string) {
            _, err := n.client.SendBatch(ctx, &pushpb.SendBatchRequest{Id: id})
            _, _ = codes.OK, err
        }
        """,
        12,
    ),
    good(
        "grpc-call-without-deadline",
        "go",
        """
        package notify
        import ("context"; "time"; "google.golang.org/grpc/codes"; pushpb "example.com/gen/pushpb")
        type Notifier struct { client pushpb.PushServiceClient }
        func (n *Notifier) Announce(ctx context.Context, id string) {
            detached := context.WithoutCancel(ctx)
            go func() {
                sending, cancel := context.WithTimeout(detached, time.Second)
                defer cancel()
                n.send(sending, id)
            }()
        }
        func (n *Notifier) send(ctx context.Context, id string) {
            _, err := n.client.SendBatch(ctx, &pushpb.SendBatchRequest{Id: id})
            _, _ = codes.OK, err
        }
        """,
    ),
    bad(
        "request-outlived",
        "go",
        """
        package records
        import ("context"; "database/sql"; "net/http"; "time")
        type Handler struct { db *sql.DB; locks Locks }
        func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
            defer func() { h.audit(r.Context(), r.PathValue("id")) }()
            w.WriteHeader(200)
        }
        func (h *Handler) audit(ctx context.Context, id string) {
            ctx, cancel := context.WithTimeout(ctx, time.Second)
            defer cancel()
            _, _ = h.db.ExecContext(ctx, `INSERT INTO record_access (record_id) VALUES ($1)`, id)
        }
        """,
        5,
    ),
    good(
        "request-outlived",
        "go",
        """
        package records
        import ("context"; "database/sql"; "net/http"; "time")
        type Handler struct { db *sql.DB; locks Locks }
        func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
            defer func() { h.audit(r.Context(), r.PathValue("id")) }()
            w.WriteHeader(200)
        }
        func (h *Handler) audit(ctx context.Context, id string) {
            ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
            defer cancel()
            _, _ = h.db.ExecContext(ctx, `INSERT INTO record_access (record_id) VALUES ($1)`, id)
        }
        """,
    ),
    bad(
        "request-outlived",
        "go",
        """
        package jobs
        import "context"
        type Runner struct { locks Locks }
        func (r *Runner) Run(ctx context.Context, key string) error {
            if err := r.locks.Acquire(ctx, key); err != nil {
                return err
            }
            defer r.locks.Release(ctx, key)
            return r.work(ctx)
        }
        """,
        8,
    ),
    good(
        "request-outlived",
        "go",
        """
        package jobs
        import "context"
        type Runner struct { locks Locks; pool Pool }
        func (r *Runner) Run(ctx context.Context, key string) error {
            tx, err := r.pool.Begin(ctx)
            if err != nil {
                return err
            }
            defer tx.Rollback(ctx)
            defer func() {
                r.locks.Release(context.WithoutCancel(ctx), key)
            }()
            return r.work(ctx)
        }
        """,
    ),
    bad(
        "request-outlived",
        "csharp",
        """
        class Worker {
            public async Task RunAsync(Job job, CancellationToken ct) {
                try {
                    await _work.DoAsync(job, ct);
                } catch (OperationCanceledException) {
                    await _jobs.ReturnAsync(job.Id, ct);
                    throw;
                }
            }
        }
        """,
        6,
    ),
    good(
        "request-outlived",
        "csharp",
        """
        class Worker {
            public async Task RunAsync(Job job, CancellationToken ct) {
                try {
                    await _work.DoAsync(job, ct);
                } catch (OperationCanceledException) {
                    await _jobs.ReturnAsync(job.Id, CancellationToken.None);
                    throw;
                }
            }
        }
        """,
    ),
    bad(
        "work-cut-off-at-the-end",
        "go",
        """
        package main
        import ("context"; "net/http"; "os"; "os/signal")
        func main() {
            ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
            defer stop()
            srv := &http.Server{Addr: ":8080"}
            mode := "x"
            go func() {
                _ = mode
                <-ctx.Done()
                drain(srv)
            }()
            srv.ListenAndServe()
            _ = mode
        }
        func drain(srv *http.Server) {
            srv.Shutdown(context.Background())
        }
        """,
        8,
    ),
    good(
        "work-cut-off-at-the-end",
        "go",
        """
        package main
        import ("context"; "net/http"; "os"; "os/signal")
        func main() {
            ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
            defer stop()
            srv := &http.Server{Addr: ":8080"}
            drained := make(chan struct{})
            go func() {
                defer close(drained)
                <-ctx.Done()
                drain(srv)
            }()
            srv.ListenAndServe()
            <-drained
        }
        func drain(srv *http.Server) {
            srv.Shutdown(context.Background())
        }
        """,
    ),
]
