"""Rules about limits, transactions and messages see what the code around a place does."""

from __future__ import annotations

import pytest

from faultkit.code.review.engine import RULES, findings_of
from faultkit.code.rules.rule import LIKELY
from tests.code.rules.cases import Case, bad, good

_PY, _JS, _TS, _GO = "python", "javascript", "typescript", "go"
_JAVA, _KT, _CS, _RS = "java", "kotlin", "csharp", "rust"
BY_SLUG = {rule.slug: rule for rule in RULES}

_CONTEXTS = [
    # A context in place of a missing one hides nothing.
    good("missing-cancellation", _GO, """
        package a
        import "context"
        func load(ctx context.Context, id string) error {
            if ctx == nil {
                ctx = context.Background()
            }
            return store.Load(ctx, id)
        }
    """),
    bad("missing-cancellation", _GO, """
        package a
        import "context"
        func load(ctx context.Context, id string) error {
            if id == nil {
                ctx = context.Background()
            }
            return store.Load(ctx, id)
        }
    """, 5),
    # A closure that a scheduler keeps runs when the caller has gone.
    good("missing-cancellation", _GO, """
        package a
        import "context"
        func (s *S) plan(ctx context.Context, id string) error {
            run := func() { s.call(context.Background(), id) }
            return s.cron.Add(s.rule, run)
        }
    """),
    good("missing-cancellation", _GO, """
        package a
        import "context"
        func (s *S) plan(ctx context.Context, id string) {
            time.AfterFunc(s.pause, func() { s.call(context.Background(), id) })
        }
    """),
    good("missing-cancellation", _GO, """
        package a
        import "context"
        func (s *S) open(ctx context.Context, id string) func() {
            return func() { s.release(context.Background(), id) }
        }
    """),
    bad("missing-cancellation", _GO, """
        package a
        import "context"
        func (s *S) plan(ctx context.Context, id string) error {
            run := func() error { return s.call(context.Background(), id) }
            return run()
        }
    """, 4),
    bad("missing-cancellation", _GO, """
        package a
        import "context"
        func (s *S) plan(ctx context.Context, id string) error {
            return s.retry(func() error { return s.call(context.Background(), id) })
        }
    """, 4),
    # A short wait between tries soon sees that it was cancelled.
    good("wait-not-cancelled", _GO, """
        package a
        import ("context"; "time")
        func f(ctx context.Context) error {
            var err error
            for i := 0; i < 3; i++ {
                if err = send(ctx); err == nil { return nil }
                time.Sleep(200 * time.Millisecond)
            }
            return err
        }
    """),
    bad("wait-not-cancelled", _GO, """
        package a
        import ("context"; "time")
        func f(ctx context.Context) error {
            var err error
            for i := 0; i < 3; i++ {
                if err = send(ctx); err == nil { return nil }
                time.Sleep(20 * time.Second)
            }
            return err
        }
    """, 7),
]  # fmt: skip

_GOROUTINES = [
    # A select that goes on when its time is over is followed by another one.
    good("goroutine-leak", _GO, """
        package a
        func run(s *Source) error {
            done := make(chan error)
            go func() { done <- s.work() }()
            select {
            case err := <-done:
                return err
            case <-time.After(time.Second):
                log.Print("still working")
            }
            select {
            case err := <-done:
                return err
            }
        }
    """),
    bad("goroutine-leak", _GO, """
        package a
        func run(s *Source) error {
            done := make(chan error)
            go func() { done <- s.work() }()
            select {
            case err := <-done:
                return err
            case <-time.After(time.Second):
                return errLate
            }
            select {
            case err := <-done:
                return err
            }
        }
    """, 4),
    # A server ends with the process.
    good("goroutine-leak", _GO, """
        package a
        func run(ctx context.Context, s *http.Server) error {
            failed := make(chan error)
            go func() { failed <- s.ListenAndServe() }()
            select {
            case err := <-failed:
                return err
            case <-ctx.Done():
            }
            return s.Shutdown(ctx)
        }
    """),
]  # fmt: skip

_LIMITS = [
    # A function of the text makes the request, with a context that ends.
    good("http-call-without-timeout", _GO, """
        package a
        import ("context"; "net/http"; "time")
        func build(ctx context.Context, u string) (*http.Request, context.CancelFunc, error) {
            ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
            req, err := http.NewRequestWithContext(ctx, "GET", u, nil)
            return req, cancel, err
        }
        func ask(ctx context.Context) (*http.Response, error) {
            client := http.Client{}
            req, cancel, err := build(ctx, "https://a.example")
            if err != nil { return nil, err }
            defer cancel()
            return client.Do(req)
        }
    """),
    bad("http-call-without-timeout", _GO, """
        package a
        import ("context"; "net/http")
        func build(ctx context.Context, u string) (*http.Request, error) {
            return http.NewRequestWithContext(ctx, "GET", u, nil)
        }
        func ask(ctx context.Context) (*http.Response, error) {
            client := http.Client{}
            req, err := build(ctx, "https://a.example")
            if err != nil { return nil, err }
            return client.Do(req)
        }
    """, 10),
    # The caller of a function that gives its socket away can set the limit.
    good("socket-without-timeout", _JS, """
        const net = require('net');
        function open(options) {
          const socket = net.connect(options);
          return socket;
        }
    """),
    good("socket-without-timeout", _TS, """
        import { createConnection } from "net";
        class Connector {
          connect(options): Promise<Socket> {
            return new Promise((resolve) => {
              this.stream = createConnection(options);
              resolve(this.stream);
            });
          }
        }
    """),
    bad("socket-without-timeout", _JS, """
        const net = require('net');
        function ask(options, done) {
          const socket = net.connect(options);
          socket.on('data', (data) => done(data));
        }
    """, 3),
    # An address of this machine, in a variable.
    good("socket-without-timeout", _RS, """
        use tokio::net::TcpStream;
        async fn open(port: u16) -> std::io::Result<TcpStream> {
            let address = format!("127.0.0.1:{port}");
            TcpStream::connect(address).await
        }
    """),
    bad("socket-without-timeout", _RS, """
        use tokio::net::TcpStream;
        async fn open(host: &str) -> std::io::Result<TcpStream> {
            let address = format!("{host}:25");
            TcpStream::connect(address).await
        }
    """, 4),
    # A function of the type makes a client: it is no method of the service.
    good("grpc-call-without-deadline", _RS, """
        use tonic::transport::Endpoint;
        async fn open(s: &Settings) -> Result<QuoteClient, Error> {
            let e = Endpoint::from_static("http://quotes:50051");
            QuoteClient::from_settings(s).await
        }
    """),
    # What is stored is the callback that completes the reply, and the request calls one of both.
    good("future-without-timeout", _KT, """
        suspend fun ask(queue: RequestQueue, url: String): Json {
            val reply = CompletableDeferred<Json>()
            queue.add(JsonRequest(url, { reply.complete(it) }, { reply.completeExceptionally(it) }))
            return reply.await()
        }
    """),
    bad("future-without-timeout", _KT, """
        suspend fun ask(queue: Outgoing, id: String): Json {
            val reply = CompletableDeferred<Json>()
            pending.put(id, reply)
            queue.send(id)
            return reply.await()
        }
    """, 5),
    # An age that callers give may be in any unit; that of an answer is in seconds.
    good("wrong-time-unit", _KT, """
        fun isFresh(row: Row, maxAge: Long): Boolean = row.time > System.currentTimeMillis() - maxAge
    """),
    bad("wrong-time-unit", _KT, """
        fun until(cookie: Cookie): Long = System.currentTimeMillis() + cookie.maxAge
    """, 1),
    # Two bytes name at most 65535.
    good("length-from-peer", _PY, """
        import struct
        async def read(reader):
            head = await reader.readexactly(2)
            length = struct.unpack("!H", head)[0]
            return await reader.readexactly(length)
    """),
    bad("length-from-peer", _PY, """
        import struct
        async def read(reader):
            head = await reader.readexactly(4)
            length = struct.unpack("!I", head)[0]
            return await reader.readexactly(length)
    """, 4),
    # The wall clock is coarse enough for a duration that only ends a batch; not for a deadline of a wait.
    good("wall-clock-for-durations", _TS, """
        async function clean(limit: number) {
          const start = Date.now();
          while (await step()) {
            const passed = Date.now() - start;
            if (passed > limit) break;
          }
        }
    """),
    # A local time in a text is not calculated with.
    good("naive-time", _JAVA, """
        import java.time.LocalDateTime;
        class A { String f(String m) { return LocalDateTime.now().toString() + ": " + m; } }
    """),
]  # fmt: skip

_TRANSACTIONS = [
    # The database layer is what the transaction is for.
    good("request-in-transaction", _CS, """
        class Rows {
          private readonly IShopDataProvider _data;
          async Task Insert(IList<Row> rows) {
            using var scope = new TransactionScope(TransactionScopeAsyncFlowOption.Enabled);
            await _data.BulkInsertAsync(rows);
            scope.Complete();
          }
        }
    """),
    # A service of the same program reads; one that charges asks the provider.
    good("request-in-transaction", _JAVA, """
        class A {
          private final TeamBilling billingService;
          @Transactional public void cap(Long team) { billingService.forTeam(team); repository.save(team); }
        }
    """),
    bad("request-in-transaction", _JAVA, """
        class A {
          private final TeamBilling billingService;
          @Transactional public void pay(Long team) { repository.save(team); billingService.charge(team); }
        }
    """, 3),
    # What a provider renders is made in this process.
    good("request-in-transaction", _PY, """
        from django.db import transaction
        class A:
            @transaction.atomic
            def post(self, refund):
                refund.save()
                return refund.payment_provider.refund_control_render(refund)
    """),
    # The function is given the transaction.
    good("query-outside-transaction", _GO, """
        package a
        import ("context"; "database/sql")
        func put(ctx context.Context, db execer, key string) error {
            _, err := db.ExecContext(ctx, "INSERT INTO p (k) VALUES ($1)", key)
            return err
        }
        func save(ctx context.Context, db *sql.DB, key string) error {
            tx, err := db.BeginTx(ctx, nil)
            if err != nil { return err }
            defer tx.Rollback()
            if err = put(ctx, tx, key); err != nil { return err }
            return tx.Commit()
        }
    """),
    bad("query-outside-transaction", _GO, """
        package a
        import ("context"; "database/sql")
        func put(ctx context.Context, db *sql.DB, key string) error {
            _, err := db.ExecContext(ctx, "INSERT INTO p (k) VALUES ($1)", key)
            return err
        }
        func save(ctx context.Context, db *sql.DB, key string) error {
            tx, err := db.BeginTx(ctx, nil)
            if err != nil { return err }
            defer tx.Rollback()
            if err = put(ctx, db, key); err != nil { return err }
            return tx.Commit()
        }
    """, 11),
    # Spring clears its own contexts after the chain; a value that is removed first is overwritten.
    good("thread-local-not-removed", _JAVA, """
        class F extends OncePerRequestFilter {
          protected void doFilterInternal(Request q, Response s, FilterChain chain) {
            SecurityContextHolder.setContext(contextOf(q));
            chain.doFilter(q, s);
          }
        }
    """),
    good("thread-local-not-removed", _JAVA, """
        class F extends OncePerRequestFilter {
          protected void doFilterInternal(Request q, Response s, FilterChain chain) {
            MDC.remove("key");
            MDC.put("key", q.getHeader("key"));
            chain.doFilter(q, s);
          }
        }
    """),
    bad("thread-local-not-removed", _JAVA, """
        class F extends OncePerRequestFilter {
          protected void doFilterInternal(Request q, Response s, FilterChain chain) {
            MDC.put("key", q.getHeader("key"));
            chain.doFilter(q, s);
          }
        }
    """, 3),
]  # fmt: skip

_MESSAGES = [
    # What makes a value of the message cannot fail.
    good("acknowledged-before-work", _RS, """
        impl Messages {
            async fn next(&mut self) -> Option<Event> {
                let m = self.consumer.recv().await.ok()?;
                self.consumer.commit_message(&m, CommitMode::Async);
                Event::Raw(m.payload().unwrap_or_default().to_vec()).into()
            }
        }
    """),
    # The end of the tries that the queue made.
    good("failed-message-dropped", _PY, """
        from celery import shared_task
        @shared_task(bind=True)
        def load(self, id):
            try:
                fetch(id)
            except OSError:
                try:
                    raise self.retry(countdown=5)
                except MaxRetriesExceededError:
                    logger.error("given up")
    """),
    # The rest of the work goes on without a part; the items of the message are the work.
    good("failed-message-dropped", _PY, """
        from celery import shared_task
        @shared_task
        def send(id):
            mail = Mail.get(id)
            for part in mail.parts:
                try:
                    mail.attach(load(part))
                except Exception:
                    logger.exception("not attached")
            mail.send()
    """),
    bad("failed-message-dropped", _PY, """
        from celery import shared_task
        @shared_task
        def send(ids):
            for id in ids:
                try:
                    deliver(id)
                except Exception:
                    logger.exception("not sent")
    """, 7),
    # The base class of the task waits for the commit; a replica has nothing to commit.
    good("message-apart-from-data", _PY, """
        from django.db import transaction
        @app.task(base=TransactionAwareTask)
        def export(id): ...
        def f(order):
            with transaction.atomic():
                order.save()
                export.apply_async(args=(order.id,))
    """),
    good("message-apart-from-data", _PY, """
        from django.db import transaction
        from shop.tasks import export
        def f(order):
            with transaction.atomic(using=settings.REPLICA_NAME):
                export.apply_async(args=(order.id,))
    """),
    bad("message-apart-from-data", _PY, """
        from django.db import transaction
        @app.task
        def export(id): ...
        def f(order):
            with transaction.atomic():
                order.save()
                export.apply_async(args=(order.id,))
    """, 7),
]  # fmt: skip


_UNITS = [
    # Redis takes seconds.
    bad("wrong-time-unit", _KT, """
        fun keep(id: String) { redis.setex(id, lifetime.toMillis(), "1") }
    """, 1),
    good("wrong-time-unit", _KT, """
        fun keep(id: String) { redis.setex(id, lifetime.toSeconds(), "1") }
    """),
    # The helper of a handler has no context of its own.
    bad("missing-cancellation", _GO, """
        package a
        import ("context"; "net/http")
        func (h *H) show(w http.ResponseWriter, r *http.Request) { x, err := h.load(); use(x, err) }
        func (h *H) load() (X, error) { return h.store.Read(context.Background()) }
    """, 4),
    bad("request-in-transaction", _TS, """
        class A {
          constructor(private readonly http: HttpService) {}
          async f() { return this.source.transaction(async (tx) => { await tx.save(x); await this.ask(); }); }
          async ask() { return (await firstValueFrom(this.http.post('/a', {}))).data; }
        }
    """, 3),
]  # fmt: skip


@pytest.mark.parametrize(
    "case", [*_CONTEXTS, *_GOROUTINES, *_LIMITS, *_TRANSACTIONS, *_MESSAGES, *_UNITS], ids=str
)
def test_what_the_code_does_is_seen(case: Case) -> None:
    found = findings_of(case.code, case.language, rules=[BY_SLUG[case.rule]])
    shown = tuple(each.line for each in found if each.confidence >= LIKELY)
    assert shown == case.lines, [(each.line, each.message, each.confidence) for each in found]
