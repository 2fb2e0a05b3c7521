"""Code around errors that reads like a fault and is none, by what depends on what; each beside its wrong twin."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_PY, _JS, _TS, _GO, _JAVA, _CS, _RUST, _KT = (
    "python", "javascript", "typescript", "go", "java", "csharp", "rust", "kotlin",
)  # fmt: skip
_ACTED, _EMPTY, _OUTCOME, _OPEN = (
    "failure-taken-for-data", "failure-looks-empty", "outcome-ignored", "response-not-closed",
)  # fmt: skip

_IGNORED, _ANSWERED, _SECRET = "ignored-error", "error-answered-as-success", "secret-in-log"

CASES = [
    # What is deleted does not depend on the answer, or is not reached without one.
    bad(_ACTED, _PY, "class A:\n    def rows(self):\n        try:\n            return self.api.list()\n        except Exception:\n            return []\n    def sync(self, store, users):\n        known = {row.id for row in self.rows()}\n        for user in users:\n            if user not in known:\n                store.delete(user)\n", 6),
    good(_ACTED, _PY, "class A:\n    def rows(self):\n        try:\n            return self.api.list()\n        except Exception:\n            return []\n    def sync(self, store, users):\n        self.show(self.rows())\n        for user in users:\n            store.delete(user)\n"),
    good(_ACTED, _PY, "class A:\n    def rows(self):\n        try:\n            return self.api.list()\n        except Exception:\n            return []\n    def sync(self, store, users):\n        known = self.rows()\n        if not known:\n            return\n        for user in users:\n            if user not in known:\n                store.delete(user)\n"),
    good(_ACTED, _TS, "class A {\n  async names() { try { return await this.doc.names(); } catch { return []; } }\n  async read(docs, id) { try { return this.join(await this.names()); } finally { await docs.destroyDocument(id); } }\n}"),
    # One error that has a meaning, and a handler that has a second answer.
    good(_ACTED, _PY, "class A:\n    def pay(self, cart, store):\n        try:\n            fees = self.fees.of(cart)\n        except SaleNotAllowed:\n            fees = []\n        for each in cart:\n            if each not in fees:\n                store.remove(each)\n"),
    bad(_ACTED, _PY, "class A:\n    def pay(self, cart, store):\n        try:\n            fees = self.fees.of(cart)\n        except Exception:\n            fees = []\n        for each in cart:\n            if each not in fees:\n                store.remove(each)\n", 6),
    good(_ACTED, _PY, "class A:\n    def rows(self, held):\n        try:\n            return self.api.list()\n        except Exception:\n            if not held:\n                return held.error()\n            return []\n    def sync(self, store, users):\n        known = self.rows(users)\n        for user in users:\n            if user not in known:\n                store.delete(user)\n"),
    # Rust: `?` gives the error up, and the default is for None.
    bad(_ACTED, _RUST, "async fn f(s: &Store, all: Vec<Id>) -> Result<()> {\n    let known = s.ids().await.unwrap_or_default();\n    for id in all {\n        if !known.contains(&id) {\n            s.delete(id).await?;\n        }\n    }\n    Ok(())\n}", 2),
    good(_ACTED, _RUST, "async fn f(s: &Store, all: Vec<Id>) -> Result<()> {\n    let known = s.ids().await?.unwrap_or_default();\n    for id in all {\n        if !known.contains(&id) {\n            s.delete(id).await?;\n        }\n    }\n    Ok(())\n}"),
    good(_ACTED, _RUST, "async fn f(s: &Store, id: Id) -> Result<()> {\n    let row = s.read(id).await;\n    let event = row.next_event().unwrap_or_default();\n    s.remove(event).await?;\n    Ok(())\n}"),
    # A map in memory, and a loop over the answer itself, in which nothing is done without items.
    good(_ACTED, _RUST, "async fn f(s: &Store, all: Vec<Id>) -> Vec<Row> {\n    let mut jobs = s.jobs().await.unwrap_or_default();\n    all.iter().map(|id| row(jobs.remove(id))).collect()\n}"),
    good(_ACTED, _RUST, "async fn f(s: &Store) -> Result<()> {\n    let old = s.old_files().await.unwrap_or_default();\n    for each in old {\n        s.delete(each).await?;\n    }\n    Ok(())\n}"),
    bad(_ACTED, _RUST, "async fn f(s: &Store, all: Vec<Id>) -> Result<()> {\n    let known = s.ids().await.unwrap_or_default();\n    let gone: Vec<Id> = all.into_iter().filter(|id| !known.contains(id)).collect();\n    for each in gone {\n        s.delete(each).await?;\n    }\n    Ok(())\n}", 2),
    good(_ACTED, _GO, "package m\nfunc (m *M) find(id string) *Row {\n\trow, err := m.db.Load(id)\n\tif err != nil {\n\t\tm.log.Error(\"failed\", err)\n\t\treturn nil\n\t}\n\treturn row\n}\nfunc (m *M) f(id string) {\n\tif row := m.find(id); row != nil {\n\t\tm.db.Delete(row.ID)\n\t}\n}"),
    # A loop around begins again.
    good(_ACTED, _PY, "def run(source, out):\n    while True:\n        rows = source.open_rows()\n        while True:\n            try:\n                row = rows.next_row()\n            except OSError:\n                logger.error('no row')\n                break\n            out.append(row)\n        out.flush()"),
    # What the loop wrote is not used behind it.
    good(_ACTED, _PY, "def run(source, out):\n    while True:\n        try:\n            row = source.next_row()\n        except OSError:\n            logger.error('no row')\n            break\n        out.append(row)\n    source.finish()"),
    # A source that says that there is no more.
    good(_ACTED, _PY, "def read(source):\n    rows = []\n    while True:\n        try:\n            row = source.next_row()\n        except EOFError:\n            logger.info('the end')\n            break\n        rows.append(row)\n    return rows"),
    bad(_ACTED, _PY, "def read(source):\n    rows = []\n    while True:\n        try:\n            row = source.next_row()\n        except OSError:\n            logger.info('the end')\n            break\n        rows.append(row)\n    return rows", 6),
    # The default has a branch of its own, or the error went up before.
    bad(_EMPTY, _RUST, "use sqlx::PgPool;\nasync fn f(pool: &PgPool) -> i64 {\n    sqlx::query_scalar(\"SELECT count(*) FROM jobs\").fetch_one(pool).await.unwrap_or(0)\n}", 3),
    good(_EMPTY, _RUST, "use sqlx::PgPool;\nasync fn f(pool: &PgPool) -> Result<i64> {\n    let n: Option<i64> = sqlx::query_scalar(\"SELECT max(id) FROM jobs\").fetch_one(pool).await?;\n    Ok(n.unwrap_or(0))\n}"),
    good(_EMPTY, _RUST, "use sqlx::PgPool;\nasync fn f(pool: &PgPool, failed: &mut Vec<i64>) {\n    if sqlx::query_scalar(\"SELECT is_open FROM jobs\").fetch_one(pool).await.unwrap_or(false) {\n        open(pool);\n    } else {\n        failed.push(1);\n    }\n}"),
    good(_EMPTY, _RUST, "use sqlx::PgPool;\nasync fn f(pool: &PgPool, failed: &mut Vec<i64>) {\n    let is_open = sqlx::query_scalar(\"SELECT is_open FROM jobs\").fetch_one(pool).await;\n    if is_open.unwrap_or_default() {\n        open(pool);\n    } else {\n        failed.push(1);\n    }\n}"),
    good(_EMPTY, _JAVA, "@RestController\nclass A {\n  @GetMapping(\"/a\")\n  ResponseEntity<F> get() { Optional<ResponseEntity<F>> r = direct(); if (r.isPresent()) return r.get(); return stream(); }\n  private Optional<ResponseEntity<F>> direct() {\n    try { return Optional.of(files.sign()); } catch (IOException e) { log.warn(\"not signed\", e); return Optional.empty(); }\n  }\n}"),
    # A channel gives its next item, a datagram is sent as a whole.
    good(_OUTCOME, _CS, "class A { async Task F() { await _channel.Reader.ReadAsync(CancellationToken.None); } }"),
    bad(_OUTCOME, _CS, "class A { async Task F(byte[] b) { await _stream.ReadAsync(b, token); } }", 1),
    good(_OUTCOME, _PY, "import socket\nsock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ndef f(data):\n    sock.send(data)"),
    # A deferred function that is given the body, an answer that is read at once, the value of a block.
    good(_OPEN, _GO, "package m\nimport (\"io\"; \"net/http\")\nfunc f(c *http.Client, r *http.Request, w io.Writer) {\n resp, err := c.Do(r)\n if err != nil {\n  return\n }\n defer func(body io.ReadCloser) {\n  _ = body.Close()\n }(resp.Body)\n io.Copy(w, resp.Body)\n}"),
    bad(_OPEN, _GO, "package m\nimport (\"io\"; \"net/http\")\nfunc f(c *http.Client, r *http.Request, w io.Writer) {\n resp, err := c.Do(r)\n if err != nil {\n  return\n }\n io.Copy(w, resp.Body)\n}", 4),
    good(_OPEN, _PY, "from urllib.request import urlopen\ndef f(url):\n    return json.loads(urlopen(url, timeout=2).read())"),
    bad(_OPEN, _PY, "from urllib.request import urlopen\ndef f(url):\n    answer = urlopen(url, timeout=2)\n    return json.loads(answer.read())", 3),
    good(_OPEN, _KT, "import okhttp3.OkHttpClient\nclass A(private val http: OkHttpClient) {\n    fun f(r: Request): Response? = runCatching {\n        val answer = http.newCall(r).execute()\n        if (!answer.isSuccessful) {\n            log.warn(answer.body.string())\n            null\n        } else {\n            answer\n        }\n    }.getOrNull()\n}"),
    # The branch ends before the next write; a comment says that the write may fail.
    good("failure-only-logged", _GO, "package m\nimport \"log\"\nfunc (q *Q) f(row Row) {\n switch row.Kind {\n case 1:\n  if row.Late {\n   if err := q.store.SaveLate(row); err != nil {\n    log.Printf(\"%v\", err)\n   }\n   break\n  }\n  q.store.RecordEnd(row)\n }\n}"),
    bad("failure-only-logged", _GO, "package m\nimport \"log\"\nfunc (q *Q) f(row Row) {\n switch row.Kind {\n case 1:\n  if row.Late {\n   if err := q.store.SaveLate(row); err != nil {\n    log.Printf(\"%v\", err)\n   }\n  }\n  q.store.RecordEnd(row)\n }\n}", 7),
    good("failure-only-logged", _JAVA, "@RestController\nclass A {\n  @PostMapping(\"/a\")\n  ResponseEntity<Void> add(Row row) {\n    // Best effort: the note is not needed.\n    try {\n      rows.save(row);\n    } catch (RuntimeException e) {\n      log.warn(\"not saved\", e);\n    }\n    return ResponseEntity.ok().build();\n  }\n}"),
    bad("failure-only-logged", _JAVA, "@RestController\nclass A {\n  @PostMapping(\"/a\")\n  ResponseEntity<Void> add(Row row) {\n    try {\n      rows.save(row);\n    } catch (RuntimeException e) {\n      log.warn(\"not saved\", e);\n    }\n    return ResponseEntity.ok().build();\n  }\n}", 7),
    # What a caller in the program gives is no input.
    good("assert-for-validation", _PY, "from flask import Flask\napp = Flask('a')\n@app.get('/a')\ndef show(request, **kwargs):\n    assert 'mode' not in kwargs\n    return 'ok'"),
    # An answer that sends a client elsewhere.
    good(_ANSWERED, _JS, "app.use((err, req, res, next) => {\n  if (err.status === 302) { return res.set('X-Redirect', err.path).status(200).json(err.path); }\n  res.status(500).json({ error: err.message });\n});"),
    # A signal, a lock of another kind, a writer of records.
    good(_OUTCOME, _JAVA, "class A {\n  private final BlockingQueue<Object> bell = new ArrayBlockingQueue<>(1);\n  private final Object ring = new Object();\n  void wake() { bell.offer(ring); }\n}"),
    bad(_OUTCOME, _JAVA, "class A {\n  private final BlockingQueue<Object> jobs = new ArrayBlockingQueue<>(9);\n  void add(Object job) { jobs.offer(job); }\n}", 3),
    good(_OUTCOME, _JAVA, "class A {\n  private BlockingQueue<Object> pool;\n  void start(int size) {\n    pool = new LinkedBlockingQueue<>(size);\n    for (int i = 0; i < size; i++) { Object one = make(i); pool.offer(one); }\n  }\n}"),
    good(_OUTCOME, _JAVA, "class A {\n  Object ask(Pool pool) {\n    BlockingQueue<Object> answer = new ArrayBlockingQueue<>(1);\n    pool.run(() -> { Object one = make(); answer.offer(one); });\n    return answer.poll(1, TimeUnit.SECONDS);\n  }\n}"),
    good("swallowed-error", "kotlin", "fun f(context: C, builder: B) {\n  runCatching {\n    builder.apply { name = context.nameOf(builder) }\n  }\n}"),
    good(_OUTCOME, _JAVA, "class A { void f(Row row) { lockService.tryLock(row); } }"),
    bad(_OUTCOME, _JAVA, "class A { void f(Row row) { lock.tryLock(); write(row); } }", 1),
    good(_OUTCOME, _RUST, "use std::io::Cursor;\nfn f(all: Vec<Batch>) -> Result<Vec<u8>> {\n    let mut writer = StreamWriter::try_new(Vec::new())?;\n    for batch in all {\n        writer.write(&batch)?;\n    }\n    writer.finish()?;\n    Ok(writer.into_inner()?)\n}"),
    good(_OUTCOME, "kotlin", "class A(private val input: InputStream) {\n  fun read(buffer: ByteArray): Int {\n    return if (ready) {\n      input.read(buffer)\n    } else {\n      0\n    }\n  }\n}"),
    # One status, and a function that says only whether it worked.
    good(_EMPTY, _CS, "class A { async Task<P> Get(HttpClient http, string id) { try { return Read(await http.GetStringAsync(id)); } catch (HttpRequestException e) when (e.StatusCode == HttpStatusCode.NotFound) { return null; } } }"),
    bad(_EMPTY, _CS, "class A { async Task<P> Get(HttpClient http, string id) { try { return Read(await http.GetStringAsync(id)); } catch (HttpRequestException e) { return null; } } }", 1),
    good(_EMPTY, _JAVA, "import java.net.http.HttpClient;\nclass A {\n  private boolean probe(HttpClient client, HttpRequest request) {\n    try { client.send(request, BodyHandlers.ofString()); return true; }\n    catch (Exception e) { return false; }\n  }\n}"),
    # WriteAll flushes.
    good(_OUTCOME, _GO, "package m\nimport (\"bytes\"; \"encoding/csv\")\nfunc f(rows [][]string) (string, error) {\n\tbuf := &bytes.Buffer{}\n\tw := csv.NewWriter(buf)\n\terr := w.WriteAll(rows)\n\treturn buf.String(), err\n}"),
    # An event of use, a lock that raises, a method that may return nothing.
    good("failure-only-logged", _PY, "def f(doc):\n    with suppress(Exception):\n        capture('document_created', 'app', kind=doc.kind)"),
    bad("failure-only-logged", _PY, "def f(payment):\n    with suppress(Exception):\n        payments.capture(payment.id, payment.amount)", 3),
    good(_OUTCOME, _PY, "def f(path):\n    try:\n        lock = FileLock(path)\n        lock.acquire(blocking=False)\n    except Timeout:\n        return\n    run()"),
    good(_IGNORED, _GO, "package m\nfunc f(db *Database) {\n\tdb.exec(\"DELETE FROM users WHERE name = ?\", db.user)\n}"),
    bad(_IGNORED, _GO, "package m\nfunc f(db *Database) {\n\tdb.Exec(\"DELETE FROM users WHERE name = ?\", db.user)\n}", 3),
    # A dictionary.
    good("failure-only-logged", _PY, "def f(texts, lang):\n    with suppress(Exception):\n        texts.update(texts_of(lang))\n    return texts"),
    # Memory, a type with a status of its own, a writer that was made of another.
    good(_IGNORED, _GO, "package m\nimport (\"bytes\"; \"compress/gzip\")\nfunc f(b []byte) []byte {\n\tout := new(bytes.Buffer)\n\tgw := gzip.NewWriter(out)\n\tgw.Write(b)\n\tgw.Close()\n\treturn out.Bytes()\n}"),
    good(_ANSWERED, _JAVA, "@Path(\"/a\")\nclass A {\n  @POST\n  @Path(\"/b\")\n  public Response b(String x) {\n    try { save(x); } catch (SaveException e) { return Answers.createErrorResponse(UNPROCESSABLE, e.getMessage()); }\n    if (x == null) { return Response.status(400).build(); }\n    return Response.ok(x).build();\n  }\n}"),
    good(_ANSWERED, _GO, "package m\nimport \"net/http\"\nfunc f(w http.ResponseWriter, r *http.Request) {\n\tout := stream(w)\n\tdefer func() {\n\t\tif v := recover(); v != nil {\n\t\t\tout.CloseWithError(v)\n\t\t}\n\t}()\n\twork(out, r)\n}"),
    good(_SECRET, _GO, "package m\ntype Conn struct {\n\tpassword string\n}\nfunc f(channels []int) (*Conn, error) {\n\tfor _, c := range channels {\n\t\tif c > 8 {\n\t\t\treturn nil, fmt.Errorf(\"no channel: %d\", c)\n\t\t}\n\t}\n\tc := &Conn{password: \"\"}\n\treturn c, nil\n}"),
    good(_SECRET, _GO, "package m\ntype session struct {\n\tToken string\n}\nfunc f(body []byte, status int) (*session, error) {\n\tif status != 201 {\n\t\treturn nil, fmt.Errorf(\"%d: %s\", status, string(body))\n\t}\n\tvar s session\n\terr := json.Unmarshal(body, &s)\n\treturn login(s), err\n}"),
    bad(_SECRET, _GO, "package m\ntype session struct {\n\tAccessToken string\n}\nfunc f(body []byte) (*session, error) {\n\tvar s session\n\terr := json.Unmarshal(body, &s)\n\tlog.Printf(\"answer %s\", string(body))\n\treturn login(s), err\n}", 8),
    good(_SECRET, _GO, "package m\ntype Config struct {\n\tResortsToPassword bool\n}\nfunc f(c *Config) {\n\tlog.Println(\"kerberos\", c.ResortsToPassword)\n}"),
]  # fmt: skip
