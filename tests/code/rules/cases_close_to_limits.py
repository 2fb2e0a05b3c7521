"""Correct code that looks like a missing limit, a lost cancellation or a client for one use."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

_HTTP = "http-call-without-timeout"
_GRPC = "grpc-call-without-deadline"
_TASK = "task-waited-for-by-thread"
_FUTURE = "future-without-timeout"
_TIME = "naive-time"
_ASSERT = "assert-for-validation"
_CANCEL = "swallowed-cancellation"
_TOKEN = "cancellation-not-passed-on"
_CLOSED = "connection-not-closed"
_CLIENT = "http-client-per-call"
_BLOCKS = "blocking-call-in-async-code"
_STATUS = "unchecked-response-status"

CASES = [
    # The branch for those who asked for no limit.
    good(
        _HTTP,
        "rust",
        """
        impl Sender {
            async fn run(&self, req: Request) -> Result<Response, Error> {
                let client = reqwest::Client::new();
                if let Some(timeout) = req.timeout {
                    client.get(&req.url).timeout(timeout).send().await
                } else {
                    client.get(&req.url).send().await
                }
            }
        }
        """,
    ),
    # The transport sets the limit.
    good(
        _HTTP,
        "python",
        """
        import httpx
        async def load(url):
            async with httpx.AsyncClient(transport=SafeTransport()) as client:
                return (await client.get(url)).content
        """,
    ),
    # What the time between two readings is used for is said by another rule.
    good(
        _TIME,
        "python",
        """
        from datetime import datetime
        def timed(work):
            start = datetime.now()
            work()
            end = datetime.now()
            report((end - start).total_seconds(), datetime.now() - start)
        """,
    ),
    bad(
        _TIME,
        "python",
        """
        from datetime import datetime, timedelta
        def since():
            return datetime.now() - timedelta(days=7)
        """,
        3,
    ),
    # A local `DateTime` knows that it is local, and a cookie converts it.
    good(
        _TIME,
        "csharp",
        """
        class C {
            Cookie Gone(string name) => new Cookie(name, "", "/") {
                Expires = DateTime.Now.AddDays(-1) };
            string ExpirationDate => DateTime.Now.AddYears(1).ToString("yyyy-MM-dd");
        }
        """,
    ),
    # These asserts serve a type checker, or are about settings and objects of the program.
    good(
        _ASSERT,
        "python",
        """
        from flask import Flask, request
        app = Flask(__name__)
        @app.post("/login")
        def login():
            form = LoginForm(request.form)
            assert isinstance(form.user, User)
            assert settings.KEY
            check = load()
            assert check.alert_after
            return "ok"
        """,
    ),
    bad(
        _ASSERT,
        "python",
        """
        from flask import Flask, request
        app = Flask(__name__)
        @app.post("/pay")
        def pay():
            data = request.get_json()
            assert data["amount"] > 0
            return "ok"
        """,
        6,
    ),
    # Nothing that could be interrupted comes after the end.
    good(
        _CANCEL,
        "java",
        """
        class Pool {
            void close() {
                pool.shutdown();
                try {
                    pool.awaitTermination(2, TimeUnit.SECONDS);
                } catch (InterruptedException e) {
                    pool.shutdownNow();
                }
            }
        }
        """,
    ),
    # The worker ends after the handler, as if it returned there.
    good(
        _CANCEL,
        "python",
        """
        import asyncio
        async def worker(queue):
            try:
                while True:
                    await handle(await queue.get())
            except asyncio.CancelledError:
                log.debug("cancelled")
                await flush()
        """,
    ),
    good(
        _CANCEL,
        "python",
        """
        import asyncio
        async def ask(task):
            task.cancel()
            try:
                await task
            except BaseException:
                pass
        """,
    ),
    # Code that is not async cannot await; `Task.Run` has no context that could deadlock.
    good(
        _TASK,
        "csharp",
        """
        class Client {
            public Client(Store store) { _key = store.LoadAsync("key").GetAwaiter().GetResult(); }
            public Response Head(Request r) { return Task.Run(() => HeadAsync(r)).GetAwaiter().GetResult(); }
            public Response Send(Request r) { return SendAsync(r).GetAwaiter().GetResult(); }
            async Task<Response> SendAsync(Request r) => await _http.SendAsync(r).ConfigureAwait(false);
        }
        """,
    ),
    bad(
        _TASK,
        "csharp",
        """
        class Search {
            public void Execute(Command c) { Everything(c).GetAwaiter().GetResult(); }
        }
        """,
        2,
    ),
    # When all are complete, `join` does not wait.
    good(
        _FUTURE,
        "java",
        """
        class Health {
            CompletableFuture<List<State>> ask(List<Part> parts) {
                var all = parts.stream().map(p -> CompletableFuture.supplyAsync(p::check)).toList();
                return CompletableFuture.allOf(all.toArray(new CompletableFuture[0]))
                    .thenApply(none -> all.stream().map(CompletableFuture::join).toList());
            }
        }
        """,
    ),
    # A method of a repository that is declared elsewhere may take no token.
    good(
        _TOKEN,
        "csharp",
        """
        class Handler {
            private readonly IOrderRepository _orderRepository;
            public async Task<bool> Handle(Command c, CancellationToken cancellationToken) {
                var order = await _orderRepository.GetAsync(c.Number);
                await Task.Delay(1000, cancellationToken);
                return order != null;
            }
        }
        """,
    ),
    # The connection is that of the outer session.
    good(
        _CLOSED,
        "python",
        """
        from sqlalchemy import orm
        def after_flush(session):
            local = orm.Session(bind=session.connection())
            local.query(Row).first()
            local.commit()
        """,
    ),
    # Each webhook is another host.
    good(
        _CLIENT,
        "python",
        """
        import requests
        def publish(event, urls):
            for url in urls:
                requests.post(url, json=event, timeout=15)
        """,
    ),
    # The database runs what stands in a query.
    good(
        _BLOCKS,
        "csharp",
        """
        using Microsoft.EntityFrameworkCore;
        class Repo {
            public async Task<List<Org>> Search(AppDbContext dbContext) {
                var query =
                    from o in dbContext.Organizations
                    where !dbContext.ProviderOrganizations.Any(p => p.Id == o.Id)
                    select o;
                return await query.ToListAsync();
            }
        }
        """,
    ),
    # A schema refuses an answer that is an error.
    good(
        _STATUS,
        "typescript",
        """
        export async function token(url: string) {
          const res = await fetch(url, { method: "POST", signal });
          return TokenSchema.parse(await res.json());
        }
        """,
    ),
    # A client that is made here has no limit from a factory.
    bad(
        _GRPC,
        "csharp",
        """
        class Basket {
            async Task Load(string id) {
                using var channel = GrpcChannel.ForAddress("http://basket");
                var client = new Basket.BasketClient(channel);
                await client.GetBasketAsync(new GetBasketRequest { Id = id });
            }
        }
        """,
        5,
    ),
]
