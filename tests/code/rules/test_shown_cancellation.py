"""Rules about cancellation, clocks, workers and what is sent again show what the text has evidence for."""

# ruff: noqa: E101  (snippets)

from __future__ import annotations

import pytest

from faultkit.code.review.engine import RULES, findings_of
from faultkit.code.rules.rule import LIKELY
from tests.code.rules.cases import Case, bad, good

_PY, _JS, _TS, _GO = "python", "javascript", "typescript", "go"
_JAVA, _CS, _KT = "java", "csharp", "kotlin"
BY_SLUG = {rule.slug: rule for rule in RULES}

_CONTEXTS = [
    bad("missing-cancellation", _GO, """
        package x
        import "context"
        func (m *M) Load(ctx context.Context, id string) (*User, error) {
        	user, err := m.client.GetUser(context.Background(), id)
        	return user, err
        }
    """, 4),
    # The caller waits for no answer: it may have to be done in any case.
    good("missing-cancellation", _GO, """
        package x
        import "context"
        func (m *M) Save(ctx context.Context, id string) error {
        	if err := m.store.Save(context.Background(), id); err != nil {
        		return err
        	}
        	audit(context.Background(), id)
        	return nil
        }
    """),
    # A failure is cleaned up.
    good("missing-cancellation", _GO, """
        package x
        import "context"
        func (m *M) Load(ctx context.Context, id string) error {
        	err := m.check(ctx, id)
        	if err != nil {
        		left, err := m.removeIfBroken(context.Background(), id)
        		use(left, err)
        	}
        	return err
        }
    """),
    # It replaces a context that has ended, or another branch passes the context on.
    good("missing-cancellation", _GO, """
        package x
        import "context"
        func (m *M) Abort(ctx context.Context, id string) (*Answer, error) {
        	used := ctx
        	if used.Err() != nil {
        		used = context.Background()
        	}
        	answer, err := m.client.Abort(used, id)
        	return answer, err
        }
        func (m *M) Convert(ctx context.Context, id string) (*Answer, error) {
        	var used context.Context
        	if m.stops {
        		used = ctx
        	} else {
        		used = context.Background()
        	}
        	answer, err := m.client.Convert(used, id)
        	return answer, err
        }
    """),
    # GORM has no ExecContext.
    good("missing-cancellation", _GO, """
        package x
        import ("context"; "gorm.io/gorm")
        func rename(ctx context.Context, tx *gorm.DB) error {
        	return tx.Exec("UPDATE users SET id = ? WHERE id = ?", 1, 2).Error
        }
    """),
    # The program outlives its caller.
    good("missing-cancellation", _GO, """
        package x
        import ("context"; "os/exec")
        func update(ctx context.Context) error {
        	cmd := exec.Command("updater")
        	return cmd.Start()
        }
    """),
]  # fmt: skip

_PERIODIC = [
    bad("periodic-work-ends-with-first-error", _JAVA, """
        class A {
            private final OrderService orders;
            void start() {
                executor.scheduleWithFixedDelay(this::sync, 1, 1, TimeUnit.MINUTES);
            }
            private void sync() {
                orders.createOrUpdate(current);
            }
        }
    """, 4),
    # It computes, or what waits for others is caught.
    good("periodic-work-ends-with-first-error", _JAVA, """
        class A {
            void start() {
                executor.scheduleWithFixedDelay(() -> printer.print(item.snapshot()), 1, 1, TimeUnit.MINUTES);
                executor.scheduleWithFixedDelay(this::scan, 1, 1, TimeUnit.MINUTES);
            }
            private void scan() {
                Transaction transaction = Tracer.newTransaction("scan");
                try { rules.load(repository.findAll()); }
                catch (Throwable e) { transaction.fail(e); }
            }
        }
    """),
    # The class of the member is in this text, and catches.
    good("periodic-work-ends-with-first-error", _JAVA, """
        class A {
            private final CleanService cleaner = new CleanService();
            void start() {
                executor.scheduleWithFixedDelay(this::clean, 1, 1, TimeUnit.MINUTES);
            }
            private void clean() {
                this.cleaner.run();
            }
            class CleanService {
                void run() {
                    try { repository.deleteExpired(); } catch (Throwable e) { log.warn("failed", e); }
                }
            }
        }
    """),
    # It marks something in memory.
    good("periodic-work-ends-with-first-error", _JAVA, """
        class A {
            void start() {
                timer.scheduleWithFixedDelay(() -> readyService.markReady(LOADED), 1, 1, TimeUnit.SECONDS);
            }
        }
    """),
    # It ends with its session.
    good("periodic-work-ends-with-first-error", _KT, """
        fun ServerSession.heartbeat(period: Duration) {
            launch {
                while (true) {
                    client.send(event)
                    delay(period)
                }
            }
        }
    """),
]  # fmt: skip

_CLOCKS = [
    # Another object keeps the time, and may be stored.
    good("wall-clock-for-durations", _PY, """
        import time
        def add(task, limit):
            task.updated = time.time()
            if time.time() - task.updated < limit:
                return None
    """),
    # The work is done already.
    good("wall-clock-for-durations", _PY, """
        import time
        def run(report):
            start = time.time()
            report.execute()
            took = time.time() - start
            if took > 15:
                report.prepare_next_time()
    """),
    good("wall-clock-for-durations", _JAVA, """
        class A {
            void await(Job job) {
                long end = System.currentTimeMillis() + 5000;
                while (System.currentTimeMillis() < end) { if (job.isDone()) return; }
            }
        }
    """),
]  # fmt: skip
_TOKENS = [
    bad("cancellation-not-passed-on", _CS, """
        class A { async Task<int> F(AppDbContext db, CancellationToken ct) {
            var rows = await db.Items.Where(i => i.Ok).ToListAsync();
            return rows.Count;
        } }
    """, 2),
    # A change is finished, and one row is read soon.
    good("cancellation-not-passed-on", _CS, """
        class A { async Task F(AppDbContext db, int id, CancellationToken ct) {
            var row = await db.Items.FirstOrDefaultAsync(i => i.Id == id);
            row.Ok = true;
            await db.SaveChangesAsync();
        } }
    """),
    # The source is asked whether its time is up.
    good("cancellation-not-passed-on", _CS, """
        class A { async Task F() {
            using var cts = new CancellationTokenSource(limit);
            while (!cts.IsCancellationRequested) { await Look(); }
        } }
    """),
]  # fmt: skip
_WORKERS = [
    # A text alone is about a mistake of the program itself.
    good("worker-ends-with-one-item", _GO, """
        package x
        func (h *Hasher) Start() {
        	go h.hash()
        }
        func (h *Hasher) hash() {
        	for file := range h.inbox {
        		if file.IsDirectory() {
        			panic("asked to hash a directory")
        		}
        		h.add(file)
        	}
        }
    """),
    bad("worker-ends-with-one-item", _GO, """
        package x
        func (h *Hasher) Start() {
        	go h.hash()
        }
        func (h *Hasher) hash() {
        	for file := range h.inbox {
        		if err := h.add(file); err != nil {
        			panic(err)
        		}
        	}
        }
    """, 8),
    # The outer loop begins anew; a queue that is emptied once is no work for ever.
    good("worker-ends-with-one-item", "rust", """
        fn watch() {
            std::thread::spawn(move || loop {
                while let Ok(event) = receiver.recv() {
                    if let Err(error) = watcher.add(event) {
                        error!("failed {}", error);
                        break;
                    }
                }
                watcher = create();
            });
        }
    """),
    good("worker-ends-with-one-item", _JAVA, """
        class A extends Thread {
            public void run() {
                while (queue != null && !queue.isEmpty()) {
                    Job job = queue.poll();
                    helper.refuse(job);
                }
            }
        }
    """),
    # The lines of one answer are no work that comes for ever.
    good("worker-ends-with-one-item", "rust", """
        async fn answer(child: Child) -> Response {
            spawn_blocking(move || {
                for line in reader.lines() {
                    let key = line.parse::<HeaderName>().unwrap();
                    headers.push(key);
                }
            }).await
        }
    """),
]  # fmt: skip
_WAITS = [
    # Random parts of a second, a constant that is short, and the clean-up.
    good("wait-not-cancelled", _GO, """
        package x
        import ("context"; "math/rand"; "time")
        const pause = 200 * time.Millisecond
        func load(ctx context.Context) error {
        	for attempt := 0; attempt < 5; attempt++ {
        		err := fetch(ctx)
        		if err == nil {
        			return nil
        		}
        		time.Sleep(pause)
        	}
        	for attempt := 0; attempt < 5; attempt++ {
        		err := fetch(ctx)
        		if err == nil {
        			return nil
        		}
        		time.Sleep(time.Duration(rand.Int63n(int64(time.Second))))
        	}
        	return nil
        }
    """),
    bad("wait-not-cancelled", _GO, """
        package x
        import ("context"; "time")
        const pause = 20 * time.Second
        func load(ctx context.Context) error {
        	for attempt := 0; attempt < 5; attempt++ {
        		err := fetch(ctx)
        		if err == nil {
        			return nil
        		}
        		time.Sleep(pause)
        	}
        	return nil
        }
    """, 10),
]  # fmt: skip
_INTERRUPTS = [
    # A broad handler takes the interrupt that shutdownNow() sends.
    bad("swallowed-cancellation", _JAVA, """
        import java.util.concurrent.*;
        class Feed implements AutoCloseable {
            private final BlockingQueue<Item> items = new ArrayBlockingQueue<>(100);
            private final ExecutorService pool = Executors.newSingleThreadExecutor();
            void work() {
                while (true) {
                    try {
                        send(items.take());
                    } catch (Exception e) {
                        log.warn("not sent", e);
                    }
                }
            }
            public void close() { pool.shutdownNow(); }
        }
    """, 9),
    # Nothing interrupts the thread.
    good("swallowed-cancellation", _JAVA, """
        import java.util.concurrent.*;
        class Feed implements AutoCloseable {
            private final BlockingQueue<Item> items = new ArrayBlockingQueue<>(100);
            private final ExecutorService pool = Executors.newSingleThreadExecutor();
            void work() {
                while (true) {
                    try {
                        send(items.take());
                    } catch (Exception e) {
                        log.warn("not sent", e);
                    }
                }
            }
            public void close() { pool.shutdown(); }
        }
    """),
    good("swallowed-cancellation", _JAVA, """
        import java.util.concurrent.*;
        class Feed implements AutoCloseable {
            private final BlockingQueue<Item> items = new ArrayBlockingQueue<>(100);
            private final ExecutorService pool = Executors.newSingleThreadExecutor();
            void work() {
                while (true) {
                    try {
                        send(items.take());
                    } catch (InterruptedException e) {
                        return;
                    } catch (Exception e) {
                        log.warn("not sent", e);
                    }
                }
            }
            public void close() { pool.shutdownNow(); }
        }
    """),
    # A lookup without a time does not wait.
    good("swallowed-cancellation", _JAVA, """
        import java.util.concurrent.*;
        class Feed implements AutoCloseable {
            private final BlockingQueue<Item> items = new ArrayBlockingQueue<>(100);
            private final ExecutorService pool = Executors.newSingleThreadExecutor();
            void work() {
                while (true) {
                    try {
                        send(items.poll());
                    } catch (Exception e) {
                        log.warn("not sent", e);
                    }
                }
            }
            public void close() { pool.shutdownNow(); }
        }
    """),
    bad("swallowed-cancellation", _JAVA, """
        class Beat implements Runnable {
            public void run() {
                while (!Thread.currentThread().isInterrupted()) {
                    try {
                        beat();
                        Thread.sleep(1000);
                    } catch (Exception e) {
                        log.warn("no beat", e);
                    }
                }
            }
        }
    """, 7),
]  # fmt: skip
_SENT_AGAIN = [
    # The address says that it only asks.
    good("retry-of-non-idempotent-call", _TS, """
        async function load(query: string) {
          for (let attempt = 0; attempt < 3; attempt++) {
            try {
              return await api.post(`/graphql`, { query });
            } catch (error) {
              await sleep(attempt * 100);
            }
          }
        }
    """),
    bad("retry-of-non-idempotent-call", _TS, """
        async function order(items: Item[]) {
          for (let attempt = 0; attempt < 3; attempt++) {
            try {
              return await api.post(`/orders`, { items });
            } catch (error) {
              await sleep(attempt * 100);
            }
          }
        }
    """, 4),
    # Only what was refused is sent again.
    good("retry-of-non-idempotent-call", _CS, """
        class A {
            public Task<Order> Place(Order order) =>
                Again<Order>(async () => await client.PostAsync("/orders", order));
            private async Task<T> Again<T>(Func<Task<T>> operation) {
                for (var attempt = 0; attempt < 3; attempt++) {
                    try { return await operation(); }
                    catch (UnauthorizedAccessException) { await Refresh(); }
                }
                throw new UnauthorizedAccessException();
            }
        }
    """),
    # Subscribers are told at least once.
    good("retry-of-non-idempotent-call", _PY, """
        import requests
        from urllib3.util import Retry
        def create_webhook_session():
            session = requests.Session()
            session.mount("https://", HTTPAdapter(max_retries=Retry(total=3, allowed_methods=["POST"])))
            return session
        def deliver(session, url, event):
            session.post(url, json=event)
    """),
    # `post()` of an object of the program is no request.
    good("retry-of-non-idempotent-call", _JAVA, """
        class A {
            Mono<Post> draft(PostRequest form) {
                return Mono.defer(() -> Mono.just(form.post()))
                    .flatMap(store::create)
                    .retryWhen(Retry.backoff(5, Duration.ofMillis(100)));
            }
        }
    """),
]  # fmt: skip

_CASES = (*_INTERRUPTS, *_SENT_AGAIN, *_CONTEXTS, *_PERIODIC, *_CLOCKS, *_TOKENS, *_WORKERS, *_WAITS)


@pytest.mark.parametrize("case", _CASES, ids=str)
def test_what_is_shown_by_default_has_evidence(case: Case) -> None:
    found = findings_of(case.code, case.language, rules=[BY_SLUG[case.rule]])
    shown = tuple(each.line for each in found if each.confidence >= LIKELY)
    assert shown == case.lines, [each.message for each in found]
