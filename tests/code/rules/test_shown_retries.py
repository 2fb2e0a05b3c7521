"""Rules about retries, loops and cancellation show by default what the text has evidence for."""

# ruff: noqa: E101  (snippets)

from __future__ import annotations

import pytest

from faultkit.code.review.engine import RULES, findings_of
from faultkit.code.rules.rule import LIKELY
from tests.code.rules.cases import Case, bad, good

_PY, _JS, _TS, _GO = "python", "javascript", "typescript", "go"
_JAVA, _CS, _KT = "java", "csharp", "kotlin"
BY_SLUG = {rule.slug: rule for rule in RULES}

_AT_ONCE = [
    bad("retry-without-backoff", _GO, """
        package x
        func save(p *Provider, data []byte) error {
        	times := 0
        	for {
        		err := uploadFile(p, data)
        		if err != nil {
        			times += 1
        			if times >= 5 {
        				return err
        			}
        		} else {
        			break
        		}
        	}
        	return nil
        }
    """, 4),
    # Three tries are few.
    good("retry-without-backoff", _PY, """
        def load(url):
            for attempt in range(3):
                try:
                    return requests.get(url, timeout=3)
                except requests.ConnectionError:
                    log.warning("failed")
    """),
    # Nothing shows that it leaves the process.
    good("retry-without-backoff", _PY, """
        def parse(text):
            for attempt in range(10):
                try:
                    return convert(text)
                except ConvertError:
                    log.warning("failed")
    """),
    # What is awaited after a failure may wait.
    good("retry-without-backoff", _CS, """
        class A {
            async Task<string> Load() {
                for (var attempt = 0; attempt < 10; attempt++) {
                    try { return await client.GetStringAsync(url); }
                    catch (HttpRequestException e) { await recovery.RecoverAsync(e); }
                }
                throw new Exception();
            }
        }
    """),
    good("retry-without-backoff", _JAVA, """
        class A {
            String load() {
                while (true) {
                    try { return client.send(request); }
                    catch (IOException e) { retryer.continueOrPropagate(e); }
                }
            }
        }
    """),
    # Another name, or a new random one, is sent next; the next item is another try.
    good("retry-without-backoff", _TS, """
        async function create(params: Params) {
          let count = 1;
          while (true) {
            try {
              return await send('create', { name: params.name });
            } catch (error) {
              if (count >= 10) throw error;
              params.name = `${base} (${count})`;
              count += 1;
            }
          }
        }
    """),
    good("retry-without-backoff", _PY, """
        async def make(self, user):
            attempts = 0
            while attempts < 5:
                try:
                    token = random_string(32)
                    await self.store.set_token(user, token)
                    return token
                except StoreError:
                    attempts += 1
    """),
    good("retry-without-backoff", _JAVA, """
        class A {
            void accept() {
                Channel accepted;
                while (!stopped && (accepted = queue.poll()) != null) {
                    try { createConnection(accepted); }
                    catch (IOException e) { close(accepted); }
                }
            }
        }
    """),
    # A folder of this machine.
    good("retry-without-backoff", "rust", """
        async fn quarantine(folder: &str) -> std::io::Result<()> {
            for attempt in 0..1000 {
                match compio::fs::create_dir(folder).await {
                    Ok(()) => return Ok(()),
                    Err(error) if attempt == 999 => return Err(error),
                    Err(_) => {}
                }
            }
            Ok(())
        }
    """),
    # Each round begins with its pause, or with an event.
    good("retry-without-backoff", _JAVA, """
        class A {
            public void run() {
                while (!this.isStopped()) {
                    try {
                        int interval = config.getInterval();
                        pages.clear();
                        this.waitForRunning(interval);
                        this.publish(1);
                    } catch (Exception e) {
                        log.warn("failed", e);
                    }
                }
            }
        }
    """),
    good("retry-without-backoff", _GO, """
        package x
        func (t *Relay) handle(ctx context.Context, invitations chan Invitation) {
        	for {
        		select {
        		case invitation := <-invitations:
        			conn, err := t.client.Connect(ctx, invitation)
        			if err != nil {
        				log.Println(err)
        				continue
        			}
        			t.use(conn)
        		case <-ctx.Done():
        			return
        		}
        	}
        }
    """),
    # The same wait each time is shown only on request.
    good("retry-without-backoff", _PY, """
        import time
        def load(url):
            for attempt in range(10):
                try:
                    return requests.get(url, timeout=3)
                except requests.ConnectionError:
                    time.sleep(1)
    """),
    # The policy that a decorator stands for says how it waits and when it ends.
    good("retry-without-backoff", _PY, """
        from tenacity import retry, stop_after_attempt, wait_exponential
        again = retry(stop=stop_after_attempt(5), wait=wait_exponential())
        @again
        def load(url):
            return requests.get(url, timeout=3)
    """),
    good("retry-without-limit", _PY, """
        from tenacity import retry, stop_after_attempt, wait_exponential
        again = retry(stop=stop_after_attempt(5), wait=wait_exponential())
        @again
        def load(url):
            return requests.get(url, timeout=3)
    """),
    # Spring waits a second by default, and calls it `backOff`.
    good("retry-without-backoff", _JAVA, """
        import org.springframework.core.retry.RetryPolicy;
        class A {
            RetryTemplate template = new RetryTemplate(RetryPolicy.builder().maxRetries(9).build());
            RetryTemplate other = RetryTemplate.builder().backOff(new FixedBackOff(300, 20)).build();
        }
    """),
]  # fmt: skip

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

_LIMITS = [
    bad("retry-without-limit", _PY, """
        import time
        def deliver(message):
            while True:
                try:
                    return client.send(message)
                except OSError:
                    time.sleep(5)
    """, 3),
    # Nothing is given to it: it waits for a dependency, and no caller has work for it.
    good("retry-without-limit", _PY, """
        import time
        def wait_for_database():
            while True:
                try:
                    return client.connect(DATABASE)
                except OSError:
                    time.sleep(5)
    """),
    good("retry-without-limit", _CS, """
        class A {
            static void Eventually(Action act, CancellationToken token) {
                while (true) {
                    try { act(); break; }
                    catch (IOException) when (!token.IsCancellationRequested) { Thread.Sleep(500); }
                }
            }
        }
    """),
    # Each round has an event, or another disk.
    good("retry-without-limit", _GO, """
        package x
        func upgrade(app *App, events *Events, url string) {
        	for {
        		select {
        		case event := <-events.C():
        			app.Note(event)
        		case <-app.timer.C:
        		}
        		release, err := fetchLatest(url)
        		if err != nil {
        			app.timer.Reset(interval)
        			continue
        		}
        		app.Install(release)
        		return
        	}
        }
        func walk(ctx context.Context, path string, err error) {
        	for {
        		disk := fallback(err)
        		if disk == nil {
        			break
        		}
        		err = disk.Walk(ctx, path)
        		if err == nil {
        			break
        		}
        	}
        }
    """),
    good("retry-without-limit", "rust", """
        async fn clean(shard: Shard, stop: Receiver<()>, interval: Duration) {
            loop {
                match timeout(interval, stop.recv()).await {
                    Ok(_) => break,
                    Err(_) => shard.stage(),
                }
            }
        }
    """),
    # A failure leaves by `?`, and a full buffer is none.
    good("retry-without-limit", "rust", """
        async fn write(&mut self, mut record: T) -> Result<usize, Error> {
            loop {
                match self.send_record(record).await? {
                    Ok(written) => return Ok(written),
                    Err(same) => {
                        record = same;
                        self.ledger.wait_for_reader().await;
                    }
                }
            }
        }
    """),
    # It keeps a connection up.
    good("retry-without-limit", _GO, """
        package x
        import "github.com/cenkalti/backoff/v4"
        func (c *Charger) heartbeat() {
        	bo := backoff.NewExponentialBackOff()
        	bo.MaxElapsedTime = 0
        	backoff.Retry(func() error { return c.post("alive") }, bo)
        }
    """),
    # The row that another one made is found next.
    good("retry-without-limit", _CS, """
        class A {
            public async Task<long> AdvanceAsync(CancellationToken token) {
                try { await db.SaveChangesAsync(token); }
                catch (DbUpdateException) { return await AdvanceAsync(token); }
                return 2;
            }
        }
    """),
    # The other side of the comparison counts.
    good("retry-without-limit", _PY, """
        def ask(prompt):
            MAX_TRIES = 3
            count = 0
            while not valid and count < MAX_TRIES:
                answer = prompt()
                if not answer:
                    count += 1
                    continue
                return answer
    """),
    bad("retry-without-limit", _CS, """
        class A {
            static async Task<int> Probe(Func<int, Task<int>> probe, int maxTries) {
                var tried = 1;
                while (tried < maxTries) {
                    var id = await probe(1);
                    if (id < 0) return id;
                }
                throw new Exception();
            }
        }
    """, 4),
]  # fmt: skip

_SPINNING = [
    # Each round sets what the condition asks for: it ends when there is no more.
    good("busy-loop", _JAVA, """
        class A {
            void scan() {
                boolean more = true;
                while (more && !Thread.currentThread().isInterrupted()) {
                    more = scanBatch();
                }
            }
            boolean scanBatch() {
                List<Row> rows = repository.findFirst500ByIdGreaterThan(last);
                return rows.size() == 500;
            }
        }
    """),
    # It ends when the queue is empty, when there are no rows, and when nothing has changed.
    good("busy-loop", _JAVA, """
        class A {
            void drain() {
                while (queue != null && !queue.isEmpty()) {
                    Job job = queue.poll();
                    if (job != null) { refuse(job); }
                }
            }
        }
    """),
    good("busy-loop", _PY, """
        async def catch_up(self):
            while self.enabled:
                rows = await self.store.get_pending_rows(self.name)
                if not rows:
                    if self.skipped:
                        self.skipped = 0
                        continue
                    break
                await self.send(rows)
    """),
    # Only failures are repeated, after a pause.
    good("busy-loop", "rust", """
        async fn check_again(client: &Client, url: Url) -> Result<(), Error> {
            let mut attempt = 0;
            loop {
                match check(client, url.clone()).await {
                    Ok(()) => {
                        if attempt > 0 { info!("established"); }
                        return Ok(());
                    }
                    Err(error) => {
                        attempt += 1;
                        if attempt >= 5 { return Err(error); }
                        tokio::time::sleep(pause(attempt)).await;
                    }
                }
            }
        }
        async fn check(client: &Client, url: Url) -> Result<(), Error> {
            client.get(url).send().await?;
            Ok(())
        }
    """),
    # Another object's field of the same name is closed; the reader leaves as it closes its own.
    good("busy-loop", _GO, """
        package x
        func (l *logger) Serve(ctx context.Context) {
        	for {
        		select {
        		case e := <-l.events:
        			l.send(e)
        		case <-ctx.Done():
        			return
        		}
        	}
        }
        func (l *logger) leave(s *subscription) {
        	close(s.events)
        }
        func (s *session) Serve() {
        	for {
        		select {
        		case conn := <-s.conns:
        			s.add(conn)
        			if s.count() < 2 {
        				continue
        			}
        			close(s.conns)
        			goto done
        		case <-s.late:
        			goto done
        		}
        	}
        done:
        }
    """),
    bad("busy-loop", _GO, """
        package x
        func (l *logger) Serve(ctx context.Context) {
        	for {
        		select {
        		case e := <-l.events:
        			l.send(e)
        		case <-ctx.Done():
        			return
        		}
        	}
        }
        func (l *logger) Stop() {
        	close(l.events)
        }
    """, 5),
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
_CASES = (
    *_AT_ONCE,
    *_CONTEXTS,
    *_LIMITS,
    *_SPINNING,
    *_PERIODIC,
    *_SENT_AGAIN,
    *_CLOCKS,
    *_TOKENS,
    *_WORKERS,
    *_WAITS,
)


@pytest.mark.parametrize("case", _CASES, ids=str)
def test_what_is_shown_by_default_has_evidence(case: Case) -> None:
    found = findings_of(case.code, case.language, rules=[BY_SLUG[case.rule]])
    shown = tuple(each.line for each in found if each.confidence >= LIKELY)
    assert shown == case.lines, [each.message for each in found]
