"""Code about async work that lacks the proof without which a finding is not shown."""

from __future__ import annotations

_PY, _JS, _TS, _JAVA, _GO = "python", "javascript", "typescript", "java", "go"
_CS, _KT, _RS = "csharp", "kotlin", "rust"

NOT_SHOWN = [
    # Awaited for its result alone, or more often not awaited: the file does not show an omission.
    ("fire-and-forget", _JS, """
        async function remove(id) { const left = await hooks.run("left", id); await store.drop(left); }
        async function clear(id) { await store.drop(id); hooks.run("cleared", id); }
    """),
    ("fire-and-forget", _JS, """
        async function remove(id) { await store.drop(id); await bus.tell(id); }
        async function clear(id) { await store.drop(id); bus.tell(id); }
        async function reset(id) { await store.drop(id); bus.tell(id); }
    """),
    # A class of the program itself, by an alias of its folder.
    ("fire-and-forget", _TS, """
        import { CountQueue } from "@/misc/count-queue.js";
        class A {
          constructor() { this.countQueue = new CountQueue(); }
          async f(id: string) { await this.check(id); this.countQueue.enqueue(id, 1); }
        }
    """),
    # Operations of a bulk are sent by execute().
    ("fire-and-forget", _JS, """
        async function put(rows) {
          const bulk = db.collection("rows").initializeUnorderedBulkOp();
          for (const row of rows) bulk.find({ id: row.id }).upsert().updateOne({ $set: row });
          await bulk.execute();
        }
    """),
    # A method of another object is not the function of the same name.
    ("fire-and-forget", _JS, """
        const names = new (class { drop(id) { this.all.delete(id); } })();
        exports.drop = async (id) => { const done = db.remove(id); names.drop(id); await done; };
    """),
    ("fire-and-forget", _JS, """
        async function load() { throw new Error("no"); }
        function f() { $("#list").show(); load(); }
    """),
    # The type of the object does not show that something outside is asked.
    ("fire-and-forget", _TS, """
        class A {
          constructor(private readonly notifications: NotificationsService) {}
          async f(data: Data) { await this.check(data); this.notifications.sendToAll(data); }
        }
    """),
    ("fire-and-forget", _TS, """
        async function save(row: Row) { await collect(row); }
        function f(row: Row) { void save(row); }
    """),
    ("fire-and-forget", _JS, """
        function mount(app, parts) { Object.keys(parts).map(async (p) => { app.use(p, parts[p]); }); }
    """),
    ("fire-and-forget", _CS, """
        class OrderController { [HttpPost] async Task F(Order o) { await G(); await index?.DeleteAsync(o); } }
    """),
    ("fire-and-forget", _CS, """
        class A {
          async Task F(Node node) {
            #pragma warning disable CS4014
            Evict(node);
            #pragma warning restore CS4014
            await G();
          }
          async Task Evict(Node node) { await node.Value; }
        }
    """),
    # Declared in another part of the class, and awaited nowhere.
    ("fire-and-forget", _CS, """
        partial class A { async Task F() { SetStateAsync(1); await G(); } }
    """),
    ("fire-and-forget", _KT, """
        import android.content.Context
        import kotlinx.coroutines.GlobalScope
        import kotlinx.coroutines.launch
        fun note(order: Order) { GlobalScope.launch(Dispatchers.IO) { store.save(order) } }
    """),
    # The context has the parent of the coroutine, and the job is returned.
    ("fire-and-forget", _KT, """
        import kotlinx.coroutines.GlobalScope
        import kotlinx.coroutines.launch
        fun send(body: Body, context: CoroutineContext): Job = GlobalScope.launch(context) { body.write() }
    """),
    # The work ends with the handler.
    ("swallowed-cancellation", _JAVA, """
        class A {
          void put(String key, String value) {
            try { lock.lockInterruptibly(); table.put(key, value); }
            catch (InterruptedException e) { log.error("failed", e); }
          }
        }
    """),
    ("swallowed-cancellation", _JAVA, """
        class A {
          void scan() {
            while (running.get() && !Thread.currentThread().isInterrupted()) {
              read();
              try { Thread.sleep(500); } catch (InterruptedException e) { }
            }
          }
        }
    """),
    ("swallowed-cancellation", _JAVA, """
        class A {
          void destroy() {
            for (Thread each : threads) {
              try { each.join(); } catch (InterruptedException e) { log.error("failed", e); }
            }
          }
        }
    """),
    ("swallowed-cancellation", _JAVA, """
        class A {
          void poll() {
            try { timer.run(c -> read(c)); lock.lockInterruptibly(); }
            catch (InterruptedException e) { timer.run(c -> free(c)); }
          }
        }
    """),
    ("swallowed-cancellation", _PY, """
        async def run(jobs):
            for job in jobs:
                try:
                    await job.done()
                except (Exception, asyncio.CancelledError) as e:
                    if isinstance(e, asyncio.CancelledError):
                        job.mark_aborted()
    """),
    ("swallowed-cancellation", _KT, """
        suspend fun load(): Boolean {
          val key = runCatching { source.await() }.getOrNull()
          log.info("key")
          if (key == null) return false
          return open(key)
        }
    """),
    ("swallowed-cancellation", _KT, """
        suspend fun open(intent: Intent) {
          if (isOld()) {
            runCatching { register(intent).await() }.onFailure { log.warn("failed", it) }
            return
          }
          send(intent)
        }
    """),
    # The handler leaves the loop, something ends, or the first error is thrown afterwards.
    ("swallowed-cancellation", _KT, """
        suspend fun serve() {
          while (true) { try { channel.send(next()) } catch (e: Throwable) { release(); break } }
        }
    """),
    # What follows once is often the end that must be done.
    ("swallowed-cancellation", _KT, """
        suspend fun signOut() {
          runCatching { identity.await() }.onFailure { log.warn("failed") }
          session.cleanup()
        }
    """),
    ("swallowed-cancellation", _KT, """
        suspend fun flushAndClose() {
          runCatching { channel.send(rest) }
          slot.free()
          socket.end()
        }
    """),
    ("swallowed-cancellation", _KT, """
        suspend fun open(): Session {
          try { shake.await() } catch (e: Throwable) { runCatching { shake.join() }; throw e }
          return Session(shake)
        }
    """),
    ("blocking-call-in-async-code", _CS, """
        class Program { static async Task Main() { while (true) { await SendAsync(); Thread.Sleep(50); } } }
    """),
    # It only sets a flag.
    ("blocking-call-in-async-code", _KT, """
        import java.util.zip.Deflater
        suspend fun pack(deflater: Deflater) { deflater.finish(); out.emit(deflater) }
    """),
    ("blocking-call-in-async-code", _CS, """
        class PageController : ControllerBase {
          [HttpGet("page")]
          public async Task F() { await G(); process.Kill(); process.WaitForExit(); }
          Process process = new Process();
        }
    """),
    # The last call of the chain sends the query, and is awaited; what follows is in memory.
    ("blocking-call-in-async-code", _CS, """
        using Microsoft.EntityFrameworkCore;
        class A { async Task<Row[]> F() { return (await db.QueryAsync<Row>("SELECT 1")).ToArray(); } }
    """),
    ("blocking-call-in-async-code", _CS, """
        using Dapper;
        class A { async Task F() { var users = await session.Query<User>().ListAsync(); } }
    """),
    # Files that are a part of the program, and results that are kept.
    ("blocking-call-in-async-code", _RS, """
        async fn index(State(app): State<App>, request: axum::extract::Request) -> String {
            std::fs::read_to_string(app.root.join("index.html")).unwrap()
        }
    """),
    ("blocking-call-in-async-code", _RS, """
        async fn channel(State(cfg): State<Config>, request: axum::extract::Request) -> String {
            std::fs::read_to_string(&cfg.tls.root_path).unwrap()
        }
    """),
    ("blocking-call-in-async-code", _TS, """
        import fs from "fs";
        import express from "express";
        let page: string;
        function html() { if (page) return page; page = fs.readFileSync(root); return page; }
        app.get("/", (req, res) => { res.send(html()); });
    """),
    ("blocking-call-in-async-code", _TS, """
        import ivm from "isolated-vm";
        app.get("/run", async (req, res) => { ivm.createSnapshotSync(req.body); });
    """),
    ("blocking-call-in-async-code", _PY, """
        import threading
        lock = threading.Lock()
        async def f():
            if not lock.acquire(blocking=False):
                return
    """),
    ("blocking-call-in-async-code", _PY, """
        @app.get("/picture")
        async def picture(path):
            return Streamed(open(path, "rb"))
    """),
    ("blocking-call-in-async-code", _PY, """
        import asyncio
        @app.post("/picture")
        async def picture(path, request):
            with open(path, "wb") as f:
                async for chunk in request.stream():
                    await asyncio.to_thread(f.write, chunk)
    """),
    # To call a generator does not run it.
    ("blocking-call-in-async-code", _PY, """
        @app.get("/picture")
        async def picture(path):
            def parts():
                with open(path, "rb") as f:
                    while part := f.read(4096):
                        yield part
            return StreamingResponse(parts())
    """),
    # The only socket of a client.
    ("rejection-in-callback", _TS, """
        import socket from "../socket";
        socket.on("join", async (room) => { await rooms.enter(room); });
    """),
    # The task handles its errors, works in memory, or its future is seen elsewhere.
    ("dropped-future", _JAVA, """
        class A {
          void f(Order order) { executor.submit(() -> push(order)); }
          void push(Order order) {
            try { gateway.send(order); } catch (IOException e) { log.warn("failed", e); }
          }
        }
    """),
    ("dropped-future", _JAVA, """
        class A {
          private final Map<String, Order> orders = new ConcurrentHashMap<>();
          void f(Order order) { executor.submit(() -> { this.orders.put(order.id, order); }); }
        }
    """),
    ("dropped-future", _JAVA, """
        class A {
          CompletableFuture<Void> f(Order order) {
            CompletableFuture<Void> sent = gateway.send(order);
            sent.thenAccept(it -> note(order));
            return sent;
          }
        }
    """),
    ("dropped-future", _JAVA, """
        class A {
          void read(Query query, CompletableFuture<Row> future) { commit(query, future); }
          CompletableFuture<Row> commit(Query q, CompletableFuture<Row> future) { send(q); return future; }
        }
    """),
    ("dropped-future", _CS, """
        class A {
          async Task F(CancellationToken ct) {
            var grace = Task.WhenAll(Task.Delay(1000), ct.WhenCancelled());
            await Task.WhenAny(grace, Task.WhenAll(tasks));
          }
        }
    """),
    # Tasks that were started elsewhere, and futures that log their errors.
    ("task-results-dropped", _JS, """
        const pending = [];
        async function settle() { while (pending.length) { await Promise.allSettled(pending); } }
    """),
    ("task-results-dropped", _RS, """
        async fn store_all(rows: Vec<Row>) {
            let stored = rows.into_iter().map(|row| async move {
                if let Err(e) = store(row).await { error!("{e}"); }
            });
            futures::future::join_all(stored).await;
        }
    """),
    # Each request of a servlet has a thread of its own.
    ("task-waited-for-by-thread", _KT, """
        import kotlinx.coroutines.runBlocking
        class A : HttpServlet() {
          override fun doGet(request: HttpServletRequest, response: HttpServletResponse) {
            runBlocking { pipeline.execute(request, response) }
          }
        }
    """),
    ("rejection-in-callback", _TS, """
        import ora from "ora";
        watcher.on("event", async (event) => { await build(event); });
    """),
    ("task-results-dropped", _TS, """
        const useRemoval = () => useMutation({
          mutationFn: async (ids: string[]) => { await Promise.allSettled(ids.map((id) => api.drop(id))); },
        });
    """),
    ("promise-leaves-try", _CS, """
        class A {
          public Task Drop(string table) {
            try { return client.DeleteTableAsync(table); } catch (Exception e) { LogDropFailed(e); throw; }
          }
        }
    """),
    ("promise-leaves-try", _CS, """
        class A {
          ValueTask<Row> Next() {
            try { if (IsDone()) return EndAsync(null); return ReadAsync(); }
            catch (Exception e) { return EndAsync(e); }
          }
          async ValueTask<Row> ReadAsync() {
            try { return await reader.Next(); } catch (Exception e) { await EndAsync(e); return null; }
          }
        }
    """),
    ("dropped-future", _CS, """
        class A {
          async Task F() {
            var tick = timer.WaitForNextTickAsync(token).AsTask();
            await Task.WhenAny(tick, signal.WaitAsync(token));
          }
        }
    """),
    # What is undone after an error that the caller is told.
    ("task-results-dropped", _GO, """
        package a
        import "golang.org/x/sync/errgroup"
        func f(items []Item) error {
            err := store(items)
            if err != nil {
                var g errgroup.Group
                for _, item := range items { g.Go(func() error { return remove(item) }) }
                g.Wait()
            }
            return err
        }
    """),
    ("task-results-dropped", _JS, """
        async function paint(blocks) {
          const found = document.querySelectorAll("code");
          await Promise.allSettled(blocks.map((block) => highlight(block, found)));
        }
    """),
    # A property named Result of something else.
    ("task-waited-for-by-thread", _CS, """
        class A {
          async Task F(FilterContext context) {
            context.Result = kind switch { 1 => new Text(await LoadAsync()), _ => context.Result };
          }
        }
    """),
    ("async-void", _CS, """
        using Microsoft.Extensions.Hosting;
        class A {
          HubConnection hub;
          void F() { hub.Closed += async (e) => { await hub.StartAsync(); }; }
        }
    """),
    ("async-void", _CS, "class A { async void OnOpenClicked() { await dialog.ShowAsync(); } }"),
]  # fmt: skip
