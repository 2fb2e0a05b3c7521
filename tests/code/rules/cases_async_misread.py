"""Async code whose parts look like a wait, a lost error or a request that ends, and are none."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

_PY, _JS, _TS, _JAVA, _GO = "python", "javascript", "typescript", "java", "go"
_CS, _KT, _RS = "csharp", "kotlin", "rust"

CASES = [
    # What a function was given is called `block`, too.
    good("blocking-call-in-async-code", _KT, """
        import io.netty.channel.ChannelDuplexHandler
        import io.netty.channel.ChannelHandlerContext
        class Handler : ChannelDuplexHandler() {
          private fun inSpan(block: () -> Unit) { try { begin(); block() } finally { end() } }
          private fun note(text: String) { inSpan { log.info(text) } }
          override fun channelActive(ctx: ChannelHandlerContext) { note("new client") }
        }
    """),
    # An Optional of a map in memory is no answer of a store.
    good("blocking-call-in-async-code", _JAVA, """
        import reactor.core.publisher.Mono;
        class A {
          Mono<Page> page(String name) {
            var site = siteRegistry.getSiteByName(name).orElseThrow(() -> new Unknown(name));
            if (dto.getOwner().isPresent()) { return Mono.empty(); }
            return render(site);
          }
        }
    """),
    bad("blocking-call-in-async-code", _JAVA, """
        import reactor.core.publisher.Mono;
        class A {
          Mono<Page> page(String name) {
            var site = siteRepository.findByName(name).orElseThrow();
            return render(site);
          }
        }
    """, 4),
    # A mapper of objects asks no database; one of rows does.
    good("blocking-call-in-async-code", _JAVA, """
        import reactor.core.publisher.Mono;
        class A {
          Mono<View> view(Site site) { return Mono.just(siteMapper.toView(site)); }
        }
    """),
    bad("blocking-call-in-async-code", _JAVA, """
        import reactor.core.publisher.Mono;
        class A {
          Mono<View> view(String id) { return Mono.just(siteMapper.selectById(id)); }
        }
    """, 3),
    # A context of a filter or a message is no context of a database.
    good("blocking-call-in-async-code", _CS, """
        class A {
          async Task F(ActionExecutingContext context) {
            await G();
            var own = context.ActionDescriptor.FilterDescriptors.Where(f => f.Scope == 1).FirstOrDefault();
          }
        }
    """),
    good("blocking-call-in-async-code", _CS, """
        using Microsoft.EntityFrameworkCore;
        class A {
          async Task F(ConsumeContext<Job> context) {
            await G();
            var old = context.Headers.Where(h => h.Value == null).ToList();
            var entry = _dbContext.ChangeTracker.Entries<Job>().FirstOrDefault(e => e.Entity.Id == 1);
          }
        }
    """),
    bad("blocking-call-in-async-code", _CS, """
        class A {
          private readonly ShopDbContext _context;
          async Task F() { await G(); var all = _context.Orders.Where(o => o.Open).ToList(); }
        }
    """, 3),
    # `Result` of what has been awaited is a field of it.
    good("task-waited-for-by-thread", _CS, """
        class A {
          async Task<Rate> F() { return (await AskAsync(async () => await _rates.LoadAsync())).Result; }
        }
    """),
    bad("task-waited-for-by-thread", _CS, """
        class A {
          async Task<Rate> F() { return Parse((await OpenAsync()).LoadAsync().Result); }
        }
    """, 2),
    # The function that is returned has handlers of its own.
    good("promise-leaves-try", _CS, """
        class A {
          Task F(Task started) {
            try {
              Check();
              async Task RunAsync() {
                try { await started.ConfigureAwait(false); }
                catch (Exception e) { _done.TrySetException(e); throw; }
              }
              return RunAsync();
            } catch (Exception e) { _done.TrySetException(e); throw; }
          }
        }
    """),
    bad("promise-leaves-try", _CS, """
        class A {
          Task F(Task started) {
            try {
              async Task RunAsync() { await started.ConfigureAwait(false); }
              return RunAsync();
            } catch (Exception e) { _done.TrySetException(e); return null; }
          }
        }
    """, 5),
    # A task that others have, too, is not lost with what goes on after it.
    good("fire-and-forget", _CS, """
        class A {
          Job F(Job job, Task ready) {
            job.Completed.ContinueWith(_ => Forget(job));
            ready.ContinueWith(Finish, TaskScheduler.Default);
            return job;
          }
        }
    """),
    bad("fire-and-forget", _CS, """
        class A { void F(Job job) { Upload(job).ContinueWith(_ => Forget(job)); } }
    """, 1),
    bad("fire-and-forget", _CS, """
        class A { void F(Job job) { var sent = Upload(job); sent.ContinueWith(_ => Forget(job)); } }
    """, 1),
    good("fire-and-forget", _KT, """
        import kotlinx.coroutines.GlobalScope
        import kotlinx.coroutines.launch
        fun close() {
          GlobalScope.launch(Dispatchers.IO) { try { pool.end() } catch (e: Exception) { log.warn("e", e) } }
        }
    """),
    bad("fire-and-forget", _KT, """
        import kotlinx.coroutines.GlobalScope
        import kotlinx.coroutines.launch
        fun close() { GlobalScope.launch(Dispatchers.IO) { pool.end() } }
    """, 3),
    # An answer of a server is sent at once, also if it is awaited elsewhere.
    good("fire-and-forget", _TS, """
        app.get("/a", async (request, reply) => { return await reply.redirect("/b"); });
        app.get("/c", async (request, reply) => { await check(request); reply.redirect("/d"); });
    """),
    # The goroutine waits for the end of the request; and the handler waits in a helper.
    good("request-outlived", _GO, """
        package a
        func (s *Server) Login(ctx context.Context, in *pb.LoginRequest) (*pb.LoginReply, error) {
          own, cancel := context.WithCancel(s.root)
          go func() { select { case <-ctx.Done(): cancel(); case <-own.Done(): } }()
          return s.login(own, in)
        }
    """),
    good("request-outlived", _GO, """
        package a
        func (p *Proxy) handle(w http.ResponseWriter, r *http.Request) {
          go func() { serve(r.Context(), p.pipe) }()
          p.copyBoth(w, r)
        }
        func (p *Proxy) copyBoth(w http.ResponseWriter, r *http.Request) {
          var wg sync.WaitGroup
          wg.Add(1)
          go p.copy(&wg)
          wg.Wait()
        }
    """),
    bad("request-outlived", _GO, """
        package a
        func (p *Proxy) handle(w http.ResponseWriter, r *http.Request) {
          go func() { serve(r.Context(), p.pipe) }()
          p.answer(w)
        }
        func (p *Proxy) answer(w http.ResponseWriter) { w.WriteHeader(202) }
    """, 3),
    # An arm of a switch that a lambda returns; and a future that is kept and asked.
    good("dropped-future", _JAVA, """
        class A {
          Mono<Void> turn(Action action) {
            return client().mono(c -> switch (action) {
              case STOP -> c.stop();
              case RESTART -> restartAll(c);
            });
          }
          private Mono<Void> restartAll(Client c) { return c.restart(); }
        }
    """),
    good("dropped-future", _JAVA, """
        import java.util.concurrent.CompletableFuture;
        class A {
          String load() throws Exception {
            CompletableFuture<String> work = CompletableFuture.supplyAsync(() -> source.read());
            try { return work.get(5, SECONDS); } catch (TimeoutException e) { work.cancel(true); throw e; }
          }
        }
    """),
    # A queue that another one replaces is not written by its timer.
    good("work-cut-off-at-the-end", _JAVA, """
        class Jobs implements SmartLifecycle {
          void start() { timer.scheduleWithFixedDelay(this::resize, 1, 1, TimeUnit.SECONDS); }
          void enqueue(Job job) { queue.offer(job); }
          private void resize() {
            BlockingQueue<Job> larger = new LinkedBlockingQueue<>(size());
            queue.drainTo(larger);
            queue = larger;
          }
          public void stop() { timer.shutdown(); }
        }
    """),
    # What an executor runs fails on its thread, and a question has an answer.
    good("periodic-work-ends-with-first-error", _JAVA, """
        class Jobs {
          void start() { timer.scheduleWithFixedDelay(this::round, 1, 1, TimeUnit.SECONDS); }
          private void round() {
            if (!cluster.shouldRunHere()) { return; }
            jobExecutor.execute(() -> store.load().run());
          }
        }
    """),
    bad("periodic-work-ends-with-first-error", _JAVA, """
        class Jobs {
          void start() { timer.scheduleWithFixedDelay(this::round, 1, 1, TimeUnit.SECONDS); }
          private void round() { store.load().run(); }
        }
    """, 2),
    good("periodic-work-ends-with-first-error", _PY, """
        import asyncio
        class Protocol:
            def connection_made(self): self.task = asyncio.create_task(self._handle_connection())
            async def _handle_connection(self):
                while not self.closed:
                    await self.ready.wait()
                    await self.app.answer(self.request)
    """),
    # A part of what is built for one call.
    good("request-state-shared", _JAVA, """
        class AuthRequest {
          private String service;
          public AuthRequest service(String service) { this.service = service; return this; }
        }
    """),
    # Constants and texts of the function are right or wrong each time.
    good("panic-on-failure", _RS, """
        async fn label(request: axum::extract::Request, headers: HeaderMap) -> Response {
            let name = "some text";
            response.insert(KEY, name.parse().unwrap());
            response.insert(OTHER, VERSION.parse().unwrap());
            response
        }
    """),
    # Promises that are kept have owners.
    good("task-results-dropped", _TS, """
        export async function settled() { await Promise.allSettled([...refs].map(r => r.deref())); }
    """),
    good("task-results-dropped", _PY, """
        import asyncio
        async def reap(stop):
            while not stop.is_set():
                try:
                    await store.reap()
                except Exception:
                    log.exception("reaping")
        async def serve():
            tasks = [asyncio.create_task(reap(stop))]
            await asyncio.wait(tasks, timeout=5)
    """),
]  # fmt: skip
