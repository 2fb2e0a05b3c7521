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
]  # fmt: skip
