"""Rules about retries and loops show by default what the text has evidence for."""

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

_CASES = (*_AT_ONCE, *_LIMITS, *_SPINNING)


@pytest.mark.parametrize("case", _CASES, ids=str)
def test_what_is_shown_by_default_has_evidence(case: Case) -> None:
    found = findings_of(case.code, case.language, rules=[BY_SLUG[case.rule]])
    shown = tuple(each.line for each in found if each.confidence >= LIKELY)
    assert shown == case.lines, [each.message for each in found]
