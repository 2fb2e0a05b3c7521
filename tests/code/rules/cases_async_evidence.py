"""Async code beside code that looks like it: what shows that an error is lost, or that something waits."""

from __future__ import annotations

from tests.code.rules.cases import bad, good

_PY, _JS, _TS, _JAVA = "python", "javascript", "typescript", "java"
_CS, _KT, _RS = "csharp", "kotlin", "rust"

CASES = [
    # An async twin waits for nothing, also if it is awaited by a method of its own.
    good("blocking-call-in-async-code", _CS, """
        class A {
          async Task<IPAddress[]> F(string host) { return await Dns.GetHostAddressesAsync(host).Quietly(); }
        }
    """),
    bad("blocking-call-in-async-code", _CS, """
        class A {
          async Task<IPAddress[]> F(string host) { await G(); return Dns.GetHostAddresses(host); }
        }
    """, 2),
    # A list that has been loaded is in memory; a query for each of its items is not.
    good("blocking-call-in-async-code", _CS, """
        using Microsoft.EntityFrameworkCore;
        class A {
          async Task<List<string>> F() {
            return (await _db.Orders.ToListAsync()).Select(o => o.Name).ToList();
          }
        }
    """),
    bad("blocking-call-in-async-code", _CS, """
        using Microsoft.EntityFrameworkCore;
        class A {
          async Task<List<Order>> F() {
            return (await _db.Orders.ToListAsync())
              .OrderBy(o => _db.Lines.Count(l => l.OrderId == o.Id))
              .ToList();
          }
        }
    """, 5),
    # An annotation gives the method to threads that may wait.
    good("blocking-call-in-async-code", _JAVA, """
        import reactor.core.publisher.Flux;
        class A {
          @Get("/{id}") @ExecuteOn(TaskExecutors.IO)
          public Flux<Event> follow(String id) { Job job = jobs.findById(id).orElse(null); return of(job); }
        }
    """),
    bad("blocking-call-in-async-code", _JAVA, """
        import reactor.core.publisher.Flux;
        class A {
          @Get("/{id}")
          public Flux<Event> follow(String id) { Job job = jobs.findById(id).orElse(null); return of(job); }
        }
    """, 4),
    # Functions of the text whose errors go nowhere, because they have none.
    good("fire-and-forget", _TS, """
        class Batches {
          schedule() { setTimeout(() => { void this.flush(); }, 10); }
          async flush() {
            await this.lock.runExclusive(async () => { await this.send(this.items); });
          }
          async send(items) {
            try { await this.api.post(items); } catch (error) { items.forEach((i) => i.reject(error)); }
          }
        }
    """),
    bad("fire-and-forget", _TS, """
        class Batches {
          schedule() { setTimeout(() => { void this.flush(); }, 10); }
          async flush() {
            await this.lock.runExclusive(async () => { await this.send(this.items); });
          }
          async send(items) { await this.api.post(items); }
        }
    """, 2),
    good("fire-and-forget", _JS, """
        async function start() {
          const { error } = await tryCatch(open());
          if (error) setTimeout(() => { start(); }, 5000);
        }
    """),
    bad("fire-and-forget", _JS, """
        async function start() {
          const error = await open();
          if (error) setTimeout(() => { start(); }, 5000);
        }
    """, 3),
    good("fire-and-forget", _JS, """
        class A {
          async reset() { if (this.child) { this.child.kill(); await this.ended(); } this.again = true; }
          async ended() { await new Promise((resolve) => this.child.once('exit', resolve)); }
          onError() { this.reset(); }
        }
    """),
    bad("fire-and-forget", _JS, """
        const remove = async (path) => fs.unlink(path);
        function f(path) { remove(path); }
    """, 2),
    good("fire-and-forget", _JS, """
        const remove = async (path) => fs.unlink(path).catch((error) => report(error));
        function f(path) { remove(path); }
    """),
    # The promise is that of a structure of this program, which may return nothing.
    good("fire-and-forget", _TS, """
        import { TaskQueue } from './task-queue';
        async function f(job) {
          const taskQueue = new TaskQueue();
          taskQueue.add(work(job));
          await taskQueue.idle();
        }
    """),
    bad("fire-and-forget", _TS, """
        async function f(mailQueue: Mails, job) {
          mailQueue.add(job);
          await done();
        }
    """, 2),
    good("fire-and-forget", _TS, """
        class A {
          constructor(private client: RedisClient) {}
          async wait() { await this.ready(); this.client.removeListener('end', this.onEnd); }
        }
    """),
    # C#: names that end in Async, and overloads of which one waits itself.
    good("fire-and-forget", _CS, """
        class A {
          async Task F(ILogger log) { log.LogBeginConnectAsync(1); await G(); Retry(() => Put()); }
          async Task Retry(Func<Task> f) { await f(); }
          void Retry(Action f) { f(); }
        }
    """),
    bad("fire-and-forget", _CS, """
        class A {
          async Task F(ILogger log) { await G(); Retry(() => Put()); }
          async Task Retry(Func<Task> f) { await f(); }
        }
    """, 2),
    # The flag is set again after the wait.
    good("swallowed-cancellation", _JAVA, """
        class A {
          boolean stop(Thread t) {
            boolean cut = false;
            try { t.join(); } catch (InterruptedException e) { cut = true; }
            if (cut) { Thread.currentThread().interrupt(); }
            return !cut;
          }
        }
    """),
    bad("swallowed-cancellation", _JAVA, """
        class A {
          boolean wait(Thread t) {
            boolean cut = false;
            try { t.join(); } catch (InterruptedException e) { cut = true; }
            return !cut;
          }
        }
    """, 4),
    # Messages that may be forgotten when they are sent.
    good("acknowledged-before-work", _PY, """
        def purge(self, queue):
            receiver = self.client.receiver(queue, receive_mode=ServiceBusReceiveMode.RECEIVE_AND_DELETE)
            return len(receiver.receive_messages(10))

        def receive(self, queue):
            mode = (ServiceBusReceiveMode.RECEIVE_AND_DELETE
                    if queue in self.unacknowledged else ServiceBusReceiveMode.PEEK_LOCK)
            return self.client.receiver(queue, receive_mode=mode)

        def collect(self, ticket):
            queue = self.reply_queue(ticket)
            with Consumer(self.channel, [queue], no_ack=True) as consumer:
                return consumer.wait()
    """),
    bad("acknowledged-before-work", _PY, """
        def receive(self, queue):
            receiver = self.client.receiver(queue, receive_mode=ServiceBusReceiveMode.RECEIVE_AND_DELETE)
            for message in receiver:
                self.book(message)

        def consume(self, queue):
            with Consumer(self.channel, [queue], no_ack=True) as consumer:
                return consumer.wait()
    """, 2, 7),
    good("acknowledged-before-work", _JAVA, """
        class A {
          Config f() { return Config.builder().ordered(true).ackPolicy(AckPolicy.None).build(); }
        }
    """),
    # The function is the acknowledgement.
    good("acknowledged-before-work", _RS, """
        impl Queue {
            async fn acknowledge(&self, ids: &[String]) -> Result<()> {
                for batch in ids.chunks(10) {
                    self.client.delete_message_batch().queue_url(&self.url).set_entries(to_entries(batch)).send().await?;
                    self.report(batch).await?;
                }
                Ok(())
            }
        }
    """),
    # An await with type arguments, of what passes on the outcome of a function that catches its errors.
    good("rejection-in-callback", _TS, """
        class Locks {
          start() { setTimeout(async () => { await this.extend(); }, 10); }
          async extend() {
            await this.worker.trace<void>('extend', async (span) => {
              try { await this.store.extend(); } catch (error) { this.emit('error', error); }
            });
          }
        }
    """),
    bad("rejection-in-callback", _TS, """
        class Locks {
          start() { setTimeout(async () => { await this.extend(); }, 10); }
          async extend() {
            await this.worker.trace<void>('extend', async (span) => { await this.store.extend(); });
          }
        }
    """, 2),
    # A log does not fail.
    good("rejection-in-callback", _JS, """
        process.on('uncaughtException', async (error) => { await logger.error(error); });
    """),
    bad("rejection-in-callback", _JS, """
        const schedule = require('node-schedule');
        schedule.scheduleJob('0 1 * * *', async () => { await sweep(); });
        process.on('uncaughtException', async (error) => { await send(error); });
    """, 2, 3),
    # The called function of this text catches its errors.
    good("rejection-in-handler", _JS, """
        const express = require('express');
        app.get('/', async (req, res) => { res.json(await load(req)); });
        async function load(req) { try { return await db.find(req.id); } catch (error) { return null; } }
    """),
    bad("rejection-in-handler", _JS, """
        const express = require('express');
        app.get('/', async (req, res) => { res.json(await load(req)); });
        async function load(req) { return await db.find(req.id); }
    """, 2),
    # Lambdas that do the same for several events have one cause.
    bad("async-void", _CS, """
        using Microsoft.Extensions.Hosting;
        class A {
          A(Events events) {
            events.Added += async (_, _) => { await SendAsync(1); };
            events.Removed += async (_, _) => { await SendAsync(2); };
            events.Ended += async (_, _) => { await CloseAsync(); };
          }
        }
    """, 4, 6),
    good("async-void", _CS, """
        using Avalonia.Controls;
        class A { async void OnOpened() { await Load(); } }
    """),
    # On a screen, an error ends the app, and the loop starts again with the screen.
    good("periodic-work-ends-with-first-error", _KT, """
        import androidx.lifecycle.lifecycleScope
        class A {
          fun f() { lifecycleScope.launch { while (isActive) { client.fetch(url); delay(1000) } } }
        }
    """),
    bad("periodic-work-ends-with-first-error", _KT, """
        class A {
          fun f() { scope.launch { while (isActive) { client.fetch(url); delay(1000) } } }
        }
    """, 2),
    # The process ends at the second signal only.
    good("work-cut-off-at-the-end", _CS, """
        class A {
          static void Main() {
            var signals = 0;
            Console.CancelKeyPress += (s, e) => {
              if (Interlocked.Increment(ref signals) > 1) Environment.Exit(1); else server.Stop();
            };
          }
        }
    """),
    bad("work-cut-off-at-the-end", _CS, """
        class A {
          static void Main() { Console.CancelKeyPress += (s, e) => { server.Stop(); Environment.Exit(1); }; }
        }
    """, 2),
    # The output is read after the child has ended, or by another object.
    good("undrained-pipe", _CS, """
        class A {
          string F(ProcessStartInfo info) {
            info.RedirectStandardOutput = true; info.RedirectStandardError = true;
            var p = Process.Start(info);
            if (p.HasExited) return p.StandardError.ReadToEnd();
            return "";
          }
          void G(ProcessStartInfo info) {
            info.RedirectStandardOutput = true;
            using var p = Process.Start(info);
            var reader = new OutputReader(p);
            p.WaitForExit();
          }
        }
    """),
    bad("undrained-pipe", _CS, """
        class A {
          string F(ProcessStartInfo info) {
            info.RedirectStandardOutput = true; info.RedirectStandardError = true;
            var p = Process.Start(info);
            return p.StandardError.ReadToEnd();
          }
          void G(ProcessStartInfo info) {
            info.RedirectStandardOutput = true;
            using var p = Process.Start(info);
            p.WaitForExit();
          }
        }
    """, 5, 10),
    # Tasks that were told to end.
    good("task-results-dropped", _RS, """
        async fn serve(mut tasks: JoinSet<Result<()>>) {
            tasks.spawn(async move { work().await?; Ok(()) });
            token.cancel();
            while tasks.join_next().await.is_some() {}
        }
    """),
    bad("task-results-dropped", _RS, """
        async fn serve(mut tasks: JoinSet<Result<()>>) {
            tasks.spawn(async move { work().await?; Ok(()) });
            while tasks.join_next().await.is_some() {}
        }
    """, 3),
    # Tasks that were started elsewhere, and files that are removed at the end.
    good("task-results-dropped", _JS, """
        class A {
          async settled() { await Promise.allSettled([...this.running.values()].map((t) => t.promise)); }
          async save() {
            try { await this.store(); } finally { await Promise.allSettled(this.paths.map((p) => rm(p))); }
          }
        }
    """),
    bad("task-results-dropped", _JS, """
        class A {
          async save(rows) { await Promise.allSettled(rows.map((row) => this.store(row))); }
        }
    """, 2),
    # What is unwrapped is data of the program itself; a task that is kept fails where it is awaited.
    good("worker-ends-with-one-item", _RS, """
        fn start(mut items: Receiver<Item>) {
            tokio::spawn(async move {
                while let Some(item) = items.recv().await {
                    let last = chunks.last_mut().expect("a chunk was pushed");
                    last.push(item);
                }
            });
        }
    """),
    bad("worker-ends-with-one-item", _RS, """
        fn start(mut items: Receiver<Item>) {
            tokio::spawn(async move {
                while let Some(item) = items.recv().await {
                    let order = serde_json::from_slice(&item.body).expect("an order");
                    last.push(order);
                }
            });
        }
    """, 4),
    good("worker-ends-with-one-item", _CS, """
        class A : BackgroundService {
          protected override async Task ExecuteAsync(CancellationToken stop) {
            await foreach (var chunk in Chunks(stop)) { tasks.Add(ProcessAsync(chunk)); }
            await Task.WhenAll(tasks);
          }
          async Task ProcessAsync(Chunk chunk) { await _db.Write(chunk); }
        }
    """),
    bad("worker-ends-with-one-item", _CS, """
        class A : BackgroundService {
          protected override async Task ExecuteAsync(CancellationToken stop) {
            await foreach (var chunk in Chunks(stop)) { await ProcessAsync(chunk); }
          }
          async Task ProcessAsync(Chunk chunk) { await _db.Write(chunk); }
        }
    """, 3),
    # The started function makes a context of its own; the session is not that of the request.
    good("request-outlived", "go", """
        package a
        func (s *Server) Get(w http.ResponseWriter, r *http.Request) {
            go s.shadow(r.Context())
        }
        func (s *Server) shadow(parent context.Context) {
            ctx, cancel := context.WithTimeout(context.Background(), time.Second)
            defer cancel()
            s.compare(ctx, trace.SpanFromContext(parent))
        }
    """),
    bad("request-outlived", "go", """
        package a
        func (s *Server) Get(w http.ResponseWriter, r *http.Request) {
            go s.shadow(r.Context())
        }
        func (s *Server) shadow(ctx context.Context) { s.compare(ctx) }
    """, 3),
    good("request-outlived", _PY, """
        import threading
        import requests
        from flask import session

        def notify():
            session = requests.Session()
            session.verify = True
            session.get(URL)

        threading.Thread(target=notify).start()
    """),
    # The default of a parameter, which callers change.
    good("connection-not-restored", _PY, """
        import amqp
        class Connection:
            def __init__(self, host, heartbeat=0):
                self.heartbeat = heartbeat
    """),
    bad("connection-not-restored", _PY, """
        import pika
        parameters = pika.ConnectionParameters(host, heartbeat=0)
    """, 2),
    # The catch makes the same of an error as the task does.
    good("promise-leaves-try", _CS, """
        class A {
          Task F() {
            try { return WriteAsync(1); } catch (Exception e) { return Task.FromException(e); }
          }
        }
    """),
    bad("promise-leaves-try", _CS, """
        class A {
          Task F() {
            try { return WriteAsync(1); } catch (Exception e) { Drop(e); return Task.CompletedTask; }
          }
        }
    """, 3),
    # The promise is that of a function of this text that cannot fail.
    good("promise-awaited-late", _JS, """
        async function f(id) {
          const ended = this.ended();
          const row = await rows.find(id);
          await ended;
          return row;
        }
        class A { async ended() { await new Promise((resolve) => this.once('end', resolve)); } }
    """),
]  # fmt: skip
