"""Findings about errors and secrets are shown if the file has evidence, and only counted if it has none."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent

import pytest

from faultkit.code.review.engine import RULES, findings_of
from faultkit.code.rules.rule import LIKELY

BY_SLUG = {rule.slug: rule for rule in RULES}
_PY, _JS, _TS, _GO, _JAVA, _CS, _RUST = "python", "javascript", "typescript", "go", "java", "csharp", "rust"


@dataclass(frozen=True)
class Shown:
    rule: str
    language: str
    code: str
    is_shown: bool

    def __str__(self) -> str:
        first = next(line for line in self.code.splitlines() if line.strip())
        return f"{self.rule}-{self.language}-{'shown' if self.is_shown else 'counted'}-{first.strip()[:30]}"


def shown(rule: str, language: str, code: str) -> Shown:
    return Shown(rule, language, dedent(code).strip("\n") + "\n", True)


def hidden(rule: str, language: str, code: str) -> Shown:
    return Shown(rule, language, dedent(code).strip("\n") + "\n", False)


_SWALLOWED, _LOGGED, _OUTCOME = "swallowed-error", "secret-in-log", "outcome-ignored"
_ANSWERED, _IGNORED, _FAILED = "error-answered-as-success", "ignored-error", "failure-only-logged"
_NOT_FOUND, _EMPTY = "failure-answered-as-not-found", "failure-looks-empty"

CASES = [
    # Several handlers that answer in the same words.
    hidden(_ANSWERED, _JS, "app.get('/a', async (req, res) => { try { res.send({ data: await a(req.query.id) }); } catch (e) { res.send({ error: e.message }); } });\napp.get('/b', async (req, res) => { try { res.send({ data: await b(req.query.id) }); } catch (e) { res.send({ error: e.message }); } });\napp.get('/c', (req, res) => { res.status(401).send({}); });"),
    shown(_ANSWERED, _JS, "app.get('/a', async (req, res) => { try { res.send({ data: await a(req.query.id) }); } catch (e) { res.send({ error: e.message }); } });\napp.get('/c', (req, res) => { res.status(401).send({}); });"),
    # What looks for a thing, and what draws a page.
    shown(_NOT_FOUND, _GO, "package m\nimport \"net/http\"\nfunc f(w http.ResponseWriter, r *http.Request) {\n\ta, err := store.FindAlbum(id(r))\n\tif err != nil {\n\t\thttp.Error(w, \"no album\", http.StatusNotFound)\n\t\treturn\n\t}\n\tsend(w, a)\n}"),
    hidden(_NOT_FOUND, _GO, "package m\nimport \"net/http\"\nfunc f(w http.ResponseWriter, r *http.Request) {\n\tif err := pages.Album(w, r); err != nil {\n\t\thttp.Error(w, \"no page\", http.StatusNotFound)\n\t}\n}"),
    # A wait behind which only an interrupt is handled.
    hidden(_OUTCOME, _JAVA, "class A { static void f(CountDownLatch latch, long time, TimeUnit unit) { try { latch.await(time, unit); } catch (InterruptedException e) { Thread.currentThread().interrupt(); } } }"),
    # A page of one user.
    shown(_EMPTY, _TS, "export async function load(id: string) {\n  try {\n    const res = await fetch(`/api/a/${id}`);\n    return await res.json();\n  } catch {\n    return null;\n  }\n}"),
    hidden(_EMPTY, _TS, "const key = localStorage.getItem('key');\nexport async function load(id: string) {\n  try {\n    const res = await fetch(`/api/a/${id}`);\n    return await res.json();\n  } catch {\n    return null;\n  }\n}"),
    # What fails after another write, and what says itself that it failed.
    hidden(_FAILED, _JAVA, "@RestController\nclass A {\n  @PostMapping(\"/apps\")\n  App create(@RequestBody App app) {\n    App made = repository.save(app);\n    try { keys.create(made.getId(), key(made)); } catch (Exception e) { log.warn(\"no key\", e); }\n    return made;\n  }\n}"),
    shown(_FAILED, _JAVA, "@RestController\nclass A {\n  @PostMapping(\"/apps\")\n  App create(@RequestBody App app) {\n    try { repository.save(app); } catch (Exception e) { log.warn(\"not saved\", e); }\n    return app;\n  }\n}"),
    hidden(_FAILED, _RUST, "async fn add(db: &Db, key: &str, user: &User) -> Result<()> {\n    db.add_user(user).await?;\n    let _ = put_into_store(key, user).await;\n    Ok(())\n}"),
    shown(_FAILED, _RUST, "async fn add(db: &Db, key: &str) -> Result<()> {\n    let user = db.get_user(key).await?;\n    let _ = put_into_store(key, user).await;\n    Ok(())\n}"),
    hidden(_FAILED, _RUST, "/// Ignores errors: the next run does it again.\nasync fn mark(key: &str, user: &User) {\n    let _ = put_into_store(key, user).await;\n}"),
    # Steps of their own, and a mark that the work is done.
    hidden(_FAILED, _PY, "def f(self, task, room):\n    try:\n        self.rooms.update_member(room, task)\n    except Exception:\n        logger.warning('no update')\n    self.tasks.update_result(task.id, last=room)"),
    shown(_FAILED, _PY, "def f(self, task, room):\n    try:\n        self.rooms.insert_member(room, task)\n    except Exception:\n        logger.warning('no update')\n    self.tasks.mark_done(task.id, last=room)"),
    # An error of Go that can hardly be, is found by the next check, or comes after another one.
    hidden(_IGNORED, _GO, "package m\nimport \"net/http\"\nfunc f() *http.Request {\n\treq, _ := http.NewRequest(\"GET\", base+\"/a\", nil)\n\treturn req\n}"),
    hidden(_IGNORED, _GO, "package m\nimport \"io\"\nfunc f(r io.Reader) (a A, err error) {\n\tb, _ := io.ReadAll(r)\n\terr = json.Unmarshal(b, &a)\n\treturn a, err\n}"),
    shown(_IGNORED, _GO, "package m\nimport \"io\"\nfunc f(r io.Reader) string {\n\tb, _ := io.ReadAll(r)\n\treturn string(b)\n}"),
    hidden(_IGNORED, _GO, "package m\nimport \"io\"\nfunc f(resp *Resp) ([]byte, error) {\n\tif resp.StatusCode != 200 {\n\t\tb, _ := io.ReadAll(resp.Body)\n\t\treturn b, fail(resp)\n\t}\n\treturn nil, nil\n}"),
    hidden(_IGNORED, _GO, "package m\nimport \"os\"\nfunc f(a, b, c string) error {\n\tif err := os.Rename(a, b); err != nil {\n\t\tos.Rename(c, b)\n\t\treturn err\n\t}\n\treturn nil\n}"),
    shown(_IGNORED, _GO, "package m\nimport \"os\"\nfunc f(a, b string) {\n\tos.Rename(a, b)\n\tuse(b)\n}"),
    hidden(_IGNORED, _GO, "package m\nimport \"time\"\nfunc f(t time.Time) time.Time {\n\tu, _ := time.Parse(time.RFC3339, t.Format(time.RFC3339))\n\treturn u\n}"),
    shown(_IGNORED, _GO, "package m\nimport \"time\"\nfunc f(s string) time.Time {\n\tu, _ := time.Parse(time.RFC3339, s)\n\treturn u\n}"),
    shown(_IGNORED, _GO, "package m\nimport \"compress/gzip\"\nfunc f(out *File, b []byte) {\n\tgw := gzip.NewWriter(out)\n\tgw.Write(b)\n\tgw.Close()\n}"),
    # Answers of a type that has a status of its own, and rules of all answers of a class or a function.
    hidden(_ANSWERED, _JAVA, "@RestControllerAdvice\nclass A {\n  @ExceptionHandler(NotFoundException.class)\n  Result a(NotFoundException e) { log.warn(\"x\", e); return Result.error(e.getMessage()); }\n  @ExceptionHandler(Exception.class)\n  Result b(Exception e) { log.warn(\"x\", e); return Result.error(\"busy\"); }\n}"),
    shown(_ANSWERED, _JAVA, "@RestControllerAdvice\nclass A {\n  @ExceptionHandler(NotFoundException.class)\n  @ResponseStatus(HttpStatus.NOT_FOUND)\n  Result a(NotFoundException e) { log.warn(\"x\", e); return Result.error(e.getMessage()); }\n  @ExceptionHandler(Exception.class)\n  Result b(Exception e) { log.warn(\"x\", e); return Result.error(\"busy\"); }\n}"),
    # A dropped error: a write, a message or given code is lost.
    shown(_SWALLOWED, _PY, "def f(rows):\n    try:\n        publish_rows(rows)\n    except Exception:\n        pass"),
    shown(_SWALLOWED, _PY, "async def f(self, n):\n    try:\n        await self._run('count', n)\n    except Exception:\n        pass"),
    # Errors of given code are those of its owner, and a wait for tasks is no work of its own.
    hidden(_SWALLOWED, _CS, "class A { void F(H handler, E e) { try { handler(this, e); } catch { } } }"),
    hidden(_SWALLOWED, _CS, "class A { async Task F(T[] all, C token) { try { await Task.WhenAll(all).WithCancellation(token); } catch (Exception) { } } }"),
    shown(_SWALLOWED, _CS, "class A { async Task F(R row, C token) { try { await store.SaveAsync(row).ConfigureAwait(false); } catch (Exception) { } } }"),
    # A module of the project may handle errors before it calls back.
    hidden(_SWALLOWED, _TS, "import http from './lib/http';\nfunction f() { http.get('stats', function (err, data) { show(data); }); }"),
    shown(_SWALLOWED, _TS, "import http from 'request';\nfunction f() { http.get('stats', function (err, data) { show(data); }); }"),
    # A function that reports its own errors, and a cache.
    hidden(_SWALLOWED, _TS, "async function saveData(x) { try { await upload(x); } catch (e) { notify(e); throw e; } }\nfunction f(x) { return saveData(x).catch(() => {}); }"),
    hidden(_SWALLOWED, _PY, "def save_to_cache(self):\n    try:\n        self.redis_store.publish('a', self)\n    except Exception:\n        pass"),
    hidden(_SWALLOWED, _TS, "async function f(x) { try { await axios.post('https://telemetry.example.com/v1', x); } catch (e) {} }"),
    # A later part of the chain that looks at what was done.
    hidden(_SWALLOWED, _JS, "function f(api, url) {\n  let done = false;\n  api.patch(url).then(() => { done = true; }).catch(() => {}).finally(() => { if (!done) { showError(); } });\n}"),
    # A file without a log can only print.
    hidden(_SWALLOWED, _JAVA, "class A { void f(R row) { try { store.write(row); } catch (IOException e) { e.printStackTrace(); } } }"),
    shown(_SWALLOWED, _JS, "function f(row) { return upload(row).catch(() => {}); }"),
    # Clean-up by another name, an optional call, a default that stays, a collection.
    hidden(_SWALLOWED, _PY, "def f(pool):\n    try:\n        pool.force_close_all()\n    except Exception:\n        pass"),
    hidden(_SWALLOWED, _PY, "def f(lib):\n    try:\n        lib.malloc_trim(0)\n    except Exception:\n        pass"),
    hidden(_SWALLOWED, _PY, "def f(kind, body):\n    try:\n        json.loads(body)\n        kind.mark()\n    except Exception:\n        pass"),
    hidden(_SWALLOWED, _PY, "async def f(page):\n    try:\n        await page.click('#ok')\n    except Exception:\n        pass"),
    hidden(_SWALLOWED, _JS, "function f(channel, m) { channel.write(m).catch(() => {}); }"),
    # Reports of use, and a comment above that says so.
    hidden(_SWALLOWED, _CS, "class UsageReporter { void Send(E e) { try { queue.WriteNow(e); } catch { } } }"),
    hidden(_SWALLOWED, _CS, "class A { void F(E e) {\n // Best effort, the caller does not wait.\n try { Publish(e); }\n catch { } } }"),
    hidden(_SWALLOWED, _CS, "class LogWriteHandler { void Send(E e) { try { SendNow(e); } catch { } } }"),
    shown(_SWALLOWED, _CS, "class Catalog { void SaveReport(E e) { try { SendNow(e); } catch { } } }"),
    shown(_SWALLOWED, _JS, "async function f(payout) { try { await payout.submit(); } catch (e) { } }"),
    hidden(_SWALLOWED, _JS, "async function f(itemList, x) { try { await itemList.insert(x); } catch (e) { } }"),
    # An awaited function of this file that writes nothing.
    hidden(_SWALLOWED, _JS, "async function walk(p) { names.push(p); }\nasync function f(p) { try { await walk(p); } catch (e) { } }"),
    # An error that is only printed: of a write, and of a guess.
    shown(_SWALLOWED, _JAVA, "class A { void save(W w, R r) { log.debug(\"save\"); try { w.write(r.text()); } catch (IOException e) { e.printStackTrace(); } } }"),
    hidden(_SWALLOWED, _JAVA, "class A { void guessFormat(W w, R r) { try { w.write(r.text()); } catch (IOException e) { e.printStackTrace(); } } }"),
    hidden(_SWALLOWED, _JAVA, "class A { void fill(W w, R r) { try { w.write(r.text()); } catch (NoSuchFieldException e) { e.printStackTrace(); } } }"),
    # A token that was refused, or whose record is gone, and one that counts.
    shown(_LOGGED, _PY, "def login(token):\n    logger.info('login with %s', token)\n    return authenticate(token)"),
    hidden(_LOGGED, _PY, "def login(token):\n    try:\n        return authenticate(token)\n    except SignatureExpired:\n        logger.warning('expired %s', token)"),
    hidden(_LOGGED, _JS, "async function login(token) {\n  await tokens.remove(token);\n  authorize();\n  logger.info(`used ${token}`);\n}"),
    # The body of a request in a handler of errors, and in what all requests go through.
    shown(_LOGGED, _JS, "function audit(req, res, next) { logger.info('request', req.body, req.headers.host); next(); }"),
    hidden(_LOGGED, _JS, "function failed(err, req, res, next) { logger.error('failed', req.body, req.headers.host); res.status(500).end(); }"),
    # An address with a key: the service may ask for it there.
    hidden(_LOGGED, _JS, "const load = (id) => fetch(`https://api.example.org/items/${id}?api_key=${settings.apiKey}`);"),
    # What is offered to a queue: an item, if the file makes the queue with a limit.
    shown(_OUTCOME, _JAVA, "class A { BlockingQueue<E> q = new ArrayBlockingQueue<>(9); void f(E e) { q.offer(e); } }"),
    hidden(_OUTCOME, _JAVA, "class A { BlockingQueue<E> q; void f(E e) { q.offer(e); } }"),
    # What stands behind a latch: work, or only a value that may say itself that the time is over.
    shown(_OUTCOME, _JAVA, "class A { void f(CountDownLatch latch) { latch.await(5, TimeUnit.SECONDS); store.publish(rows); } }"),
    hidden(_OUTCOME, _JAVA, "class A { String f(CountDownLatch latch) { latch.await(5, TimeUnit.SECONDS); return answer.get(); } }"),
    # A status of 200 in a file whose other failures have one of failure, and in one with rules of its own.
    shown(_ANSWERED, _JS, "app.get('/a', async (req, res) => { if (!req.query.id) { return res.status(400).json({ error: 'no id' }); } try { res.json(await load(req)); } catch (err) { log.error(err); res.json({ success: false }); } });"),
    hidden(_ANSWERED, _JS, "app.get('/a', async (req, res) => { try { res.json(await load(req)); } catch (err) { log.error(err); res.json({ success: false }); } });"),
    shown(_ANSWERED, _JS, "app.get('/a', async (req, res) => { try { res.json(await load(req)); } catch (err) { res.json({ success: false }); } });"),
    hidden(_ANSWERED, _JS, "const no = (res) => res.status(404).end();\napp.get('/a', async (req, res) => { try { await save(req); res.json({ success: true }); } catch (err) { log.error(err); res.json({ success: false }); } });"),
    hidden(_ANSWERED, _PY, "from flask import Flask, abort, jsonify\napp = Flask('a')\n@app.get('/a')\ndef check_address():\n    if not given():\n        abort(400)\n    try:\n        return ask()\n    except OSError as e:\n        log.error(e)\n        return jsonify(ok=False)"),
    shown(_ANSWERED, _PY, "from flask import Flask, abort, jsonify\napp = Flask('a')\n@app.get('/a')\ndef address():\n    if not given():\n        abort(400)\n    try:\n        return ask()\n    except OSError as e:\n        log.error(e)\n        return jsonify(ok=False)"),
    # Go: what the program has made itself can be encoded.
    hidden(_ANSWERED, _GO, "package m\nimport (\"log\"; \"net/http\"; \"encoding/json\")\nfunc f(w http.ResponseWriter, r *http.Request) {\n data, err := json.Marshal(made())\n if err != nil {\n  log.Printf(\"%v\", err)\n  return\n }\n w.Write(data)\n}"),
    shown(_ANSWERED, _GO, "package m\nimport (\"log\"; \"net/http\")\nfunc f(w http.ResponseWriter, r *http.Request) {\n data, err := store.Load(r.Context())\n if err != nil {\n  log.Printf(\"%v\", err)\n  return\n }\n w.Write(data)\n}"),
    # Go: a method of another file may return nothing.
    hidden("ignored-error", _GO, "package m\nfunc (h *H) f(ctx context.Context) {\n h.ip.Record(ctx, 3)\n}"),
    shown("ignored-error", _GO, "package m\ntype Store interface {\n Record(ctx context.Context, n int) error\n}\nfunc (h *H) f(ctx context.Context) {\n h.ip.Record(ctx, 3)\n}"),
    shown("ignored-error", _GO, "package m\nfunc (h *H) f(ctx context.Context) {\n h.ip.SetLimit(ctx, &api.SetLimitRequest{N: 3})\n}"),
    hidden("ignored-error", _GO, "package m\nimport (\"io\"; \"net/http\")\nfunc f(w http.ResponseWriter, r *http.Request) {\n io.Copy(w, r.Body)\n}"),
    # A default that is kept, and one that the class changes.
    hidden("mutable-default-argument", _PY, "class A:\n    def __init__(self, opts={}):\n        self.opts = opts\n"),
    shown("mutable-default-argument", _PY, "class A:\n    def __init__(self, opts={}):\n        self.opts = opts\n    def set(self, k, v):\n        self.opts[k] = v\n"),
    # A program that runs for a request, and one that a script runs.
    hidden("exit-status-ignored", _PY, "def build(name):\n    os.system('make ' + name)"),
    shown("exit-status-ignored", _PY, "import os\nfrom flask import Flask\napp = Flask('a')\n@app.get('/thumb')\ndef thumb():\n    os.system('convert a b')\n    return 'ok'"),
    # Text that is parsed: of a request, or of the program itself.
    shown("unguarded-parse", _JS, "router.post('/', (req, _res, next) => { req.body = JSON.parse(req.body.payload); next(); });"),
    hidden("unguarded-parse", _JS, "function send(outgoing) { return post(JSON.parse(outgoing.body)); }"),
    hidden("unguarded-parse", _JS, "const convert = (req, res, next) => { req.body = made(req); next(); };\nrouter.post('/', convert, (req, _res, next) => { req.body = JSON.parse(req.body.payload); next(); });"),
    # A service of another company, and one whose address is a setting.
    shown("upstream-error-not-mapped", _JS, "router.get('/', async (req, res) => { const a = await fetch('https://api.example.org/games'); res.json(await a.json()); });"),
    hidden("upstream-error-not-mapped", _JS, "router.get('/', async (req, res) => { const a = await fetch(`${config.cdn}/games`); res.json(await a.json()); });"),
    shown("upstream-error-not-mapped", _JS, "const app = express(); app.get('/', async (req, res) => { const a = await fetch(`${config.cdn}/games`); res.json(await a.json()); });"),
    # A key that signs, and a password that a server checks.
    shown("default-for-secret", _PY, "SECRET_KEY = os.getenv('SECRET_KEY', 'keep-me-safe')"),
    hidden("default-for-secret", _PY, "PASSWORD = os.getenv('DB_PASSWORD', 'postgres')"),
    # A failure that the text above the function tells of.
    hidden("failure-looks-empty", _PY, "import requests\nclass A:\n    # Returns None on error.\n    def get_user(self, key):\n        try:\n            return requests.get(self.url + key)\n        except Exception:\n            return None"),
    # A loop that does it again after its pause, and one that does not.
    hidden("failure-only-logged", _RUST, "async fn run(&self) { loop { self.timer.tick().await; let _ = self.store.save(&self.lease).await; } }"),
    shown("failure-only-logged", _RUST, "async fn run(&self) { let _ = self.store.save(&self.lease).await; }"),
    # A stream that another task of the program fills.
    hidden("iteration-error-ignored", _RUST, "async fn all(mut parts: ReceiverStream<Result<Part, Status>>) -> Result<Vec<Part>> { let mut out = Vec::new(); while let Some(Ok(part)) = parts.next().await { out.push(part); } Ok(out) }"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_finding_is_shown_if_the_file_has_evidence(case: Shown) -> None:
    found = findings_of(case.code, case.language, rules=[BY_SLUG[case.rule]])
    assert found
    assert any(each.confidence >= LIKELY for each in found) == case.is_shown, [each.message for each in found]
