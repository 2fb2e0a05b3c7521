"""Transactions without effect, errors of callbacks and goroutines, endless repetitions, statuses of programs."""

# ruff: noqa: E501  (snippets of other languages)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_TRANSACTION, _ERROR, _DROPPED = "writes-without-transaction", "ignored-error", "task-results-dropped"
_SWALLOWED, _ENDLESS, _STATUS = "swallowed-error", "retry-without-limit", "exit-status-ignored"
_LOGGED, _ACK, _ROWS = "failure-only-logged", "acknowledged-before-work", "connection-not-closed"
_RESPONSE, _RELEASED, _TWICE = (
    "response-not-closed",
    "released-on-success-only",
    "retry-of-non-idempotent-call",
)
_SELF = "class S {{ void all(List<R> rows) {{ for (R row : rows) {{ {}(row); }} }} @Transactional public void one(R row) {{ products.save(row.a()); stock.save(row.b()); }} {} }}"
_THROWN = "class S {{ @Transactional{} public void f(R r) throws Refused {{ refunds.save(r); if (!ok(r)) {{ throw new Refused(); }} }} static class Refused extends {} {{ }} }}"
_MOVE = 'impl A {{ async fn f(&self) -> R {{ let mut tx = self.pool.begin().await?; sqlx::query("UPDATE a SET b = 1").execute(&mut *tx).await?; {} }} }}'
_WAIT = "package a\nfunc (s *S) All(ctx context.Context) error {{\n\tvar wg sync.WaitGroup\n\tfor _, t := range s.targets {{\n\t\twg.Add(1)\n\t\tgo func() {{\n\t\t\tdefer wg.Done()\n\t\t\tif err := t.Send(ctx); err != nil {{\n\t\t\t\tlog.Println(err)\n\t\t\t}}\n\t\t}}()\n\t}}\n\twg.Wait()\n\treturn {}\n}}"
_BREAK = "package a\nfunc f(rows []R) error {{\n\tdone, err := open()\n\tif err != nil {{\n\t\treturn err\n\t}}\n\tfor _, row := range rows {{\n\t\tif err {} save(done, row); err != nil {{\n\t\t\tbreak\n\t\t}}\n\t}}\n\treturn err\n}}"

CASES = [
    bad(_TRANSACTION, "java", _SELF.format("one", ""), 1),
    good(_TRANSACTION, "java", _SELF.format("other.one", "")),
    good(_TRANSACTION, "java", _SELF.format("one", "").replace("void all", "@Transactional void all")),
    bad("checked-exception-commits", "java", _THROWN.format("", "Exception"), 1),
    good("checked-exception-commits", "java", _THROWN.format("", "RuntimeException")),
    good("checked-exception-commits", "java", _THROWN.format("(rollbackFor = Refused.class)", "Exception")),
    bad(_TRANSACTION, "rust", _MOVE.format("Ok(())"), 1),
    good(_TRANSACTION, "rust", _MOVE.format("tx.commit().await")),
    good(_TRANSACTION, "rust", _MOVE.format("finish(tx).await")),
    bad(
        _TRANSACTION,
        "csharp",
        "class A { async Task F() { using var scope = new TransactionScope(); await S(); scope.Complete(); } }",
        1,
    ),
    good(
        _TRANSACTION,
        "csharp",
        "class A { async Task F() { using var scope = new TransactionScope(TransactionScopeAsyncFlowOption.Enabled); await S(); scope.Complete(); } }",
    ),
    bad(_DROPPED, "go", _WAIT.format("nil"), 8),
    good(_DROPPED, "go", _WAIT.format("s.check()")),
    bad(_ERROR, "go", _BREAK.format(":="), 8),
    good(_ERROR, "go", _BREAK.format("=")),
    bad(_SWALLOWED, "javascript", "execFile('dump', [], (err, out) => { resolve(out); });", 1),
    good(
        _SWALLOWED,
        "javascript",
        "execFile('dump', [], (err, out) => { if (err) reject(err); else resolve(out); });",
    ),
    good(_SWALLOWED, "javascript", "execFile('dump', [], (_err, out) => { resolve(out); });"),
    bad(_SWALLOWED, "kotlin", "import kotlinx.coroutines.flow.catch\nfun f(s: S) = s.stream().catch { }", 2),
    good(
        _SWALLOWED,
        "kotlin",
        "import kotlinx.coroutines.flow.catch\nfun f(s: S) = s.stream().catch { emit(last) }",
    ),
    bad(
        _ENDLESS,
        "javascript",
        "api.interceptors.response.use(undefined, async (error) => { if (error.response.status === 401) { await renew(); return api.request(error.config); } throw error; });",
        1,
    ),
    good(
        _ENDLESS,
        "javascript",
        "api.interceptors.response.use(undefined, async (error) => { if (error.response.status === 401 && !error.config.retried) { error.config.retried = true; return api.request(error.config); } throw error; });",
    ),
    bad(
        _ENDLESS,
        "kotlin",
        "val http = HttpClient { install(HttpRequestRetry) { retryOnServerErrors(maxRetries = Int.MAX_VALUE) } }",
        1,
    ),
    good(
        _ENDLESS,
        "kotlin",
        "val http = HttpClient { install(HttpRequestRetry) { retryOnServerErrors(maxRetries = 3) } }",
    ),
    bad(
        _STATUS,
        "java",
        'class A { void f() throws Exception { Process p = new ProcessBuilder("dump").start(); p.waitFor(); } }',
        1,
    ),
    good(
        _STATUS,
        "java",
        'class A { void f() throws Exception { Process p = new ProcessBuilder("dump").start(); if (p.waitFor() != 0) throw new E(); } }',
    ),
    bad(_STATUS, "rust", 'fn f() -> R {\n    Command::new("dump").status()?;\n    Ok(())\n}', 2),
    good(
        _STATUS,
        "rust",
        'fn f() -> R {\n    let status = Command::new("dump").status()?;\n    check(status.success())\n}',
    ),
    bad(
        _LOGGED,
        "typescript",
        "class J { async run() { for (const invoice of await this.open()) { try { await this.mail.sendInvoice(invoice); } catch (err) { this.logger.error(err); } await this.invoices.save(invoice); } } }",
        1,
    ),
    good(
        _LOGGED,
        "typescript",
        "class J { async run() { for (const invoice of await this.open()) { try { await this.mail.sendInvoice(invoice); } catch (err) { this.logger.error(err); continue; } await this.invoices.save(invoice); } } }",
    ),
    bad(
        _ACK,
        "python",
        "from aiokafka import AIOKafkaConsumer\nc = AIOKafkaConsumer('a', enable_auto_commit=True)",
        2,
    ),
    good(
        _ACK,
        "python",
        "from aiokafka import AIOKafkaConsumer\nc = AIOKafkaConsumer('a', enable_auto_commit=False)",
    ),
    bad(
        _ROWS,
        "csharp",
        "class A { void F(SqlCommand c) { var reader = c.ExecuteReader(); while (reader.Read()) { Use(reader.GetString(0)); } } }",
        1,
    ),
    good(
        _ROWS,
        "csharp",
        "class A { void F(SqlCommand c) { using var reader = c.ExecuteReader(); while (reader.Read()) { Use(reader.GetString(0)); } } }",
    ),
    bad(
        _RESPONSE,
        "java",
        "class A { String f(HttpURLConnection connection) throws IOException { BufferedReader in = new BufferedReader(new InputStreamReader(connection.getInputStream())); return in.readLine(); } }",
        1,
    ),
    good(
        _RESPONSE,
        "java",
        "class A { String f(HttpURLConnection connection) throws IOException { try (BufferedReader in = new BufferedReader(new InputStreamReader(connection.getInputStream()))) { return in.readLine(); } } }",
    ),
    bad(
        _RELEASED,
        "python",
        "class A:\n    def f(self):\n        try:\n            self.conn.execute('UPDATE a SET b = 1')\n            self.conn.commit()\n        except Error:\n            return False",
        6,
    ),
    good(
        _RELEASED,
        "python",
        "class A:\n    def f(self):\n        try:\n            self.conn.execute('UPDATE a SET b = 1')\n            self.conn.commit()\n        except Error:\n            self.conn.rollback()\n            return False",
    ),
    bad(
        _TWICE,
        "python",
        "from celery import shared_task\nfrom a import PayClient\npay = PayClient()\n@shared_task(autoretry_for=(Exception,), max_retries=3)\ndef f(key):\n    pay.charge(key, 5)",
        6,
    ),
]
