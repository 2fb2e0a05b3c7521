"""Rust snippets for the rules that know the language."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import Case, bad, good


def _bad(rule: str, code: str, *lines: int) -> Case:
    return bad(rule, "rust", code, *lines)


def _good(rule: str, code: str) -> Case:
    return good(rule, "rust", code)


CASES = [
    _bad("http-call-without-timeout", "async fn f(u: &str) -> Result<String, reqwest::Error> { reqwest::get(u).await?.text().await }", 1),
    _bad("http-call-without-timeout", "use reqwest::Client;\nstruct A { c: Client }\nimpl A {\n fn new() -> Self { Self { c: Client::new() } }\n async fn f(&self, u: &str) { let r = self.c.get(u).header(K, v).send().await; }\n}", 5),
    _bad("http-call-without-timeout", "fn f(u: &str) -> R { ureq::get(u).call() }", 1),
    _good("http-call-without-timeout", "async fn f(u: &str) { let c = reqwest::Client::builder().timeout(Duration::from_secs(3)).build().unwrap();\n c.get(u).send().await; }"),
    _good("http-call-without-timeout", "async fn f(u: &str) { let c = reqwest::Client::new();\n c.get(u).timeout(d).send().await; }"),
    _good("http-call-without-timeout", "async fn f(u: &str) { let c = reqwest::Client::new();\n tokio::time::timeout(d, c.get(u).send()).await; }"),
    _bad("http-call-without-timeout", "static C: LazyLock<Client> = LazyLock::new(|| reqwest::Client::new());\nasync fn f(u: &str) { C.get(u).send().await; }", 2),
    _good("http-call-without-timeout", "static C: LazyLock<Client> = LazyLock::new(|| { reqwest::Client::builder().timeout(d).build().unwrap() });\nasync fn f(u: &str) { C.get(u).send().await; }"),
    _good("http-call-without-timeout", "async fn f(c: &reqwest::Client, u: &str) { c.get(u).send().await; }"),
    _good("http-call-without-timeout", "fn f(u: &str) -> R { reqwest::blocking::get(u) }"),
    _good("http-call-without-timeout", "fn f(u: &str) -> Result<(), reqwest::Error> { Ok(()) }"),
    _bad("http-client-per-call", "async fn f(u: &str) -> R { let c = reqwest::Client::new(); let r = c.get(u).send().await?; r.text().await }", 1),
    _good("http-client-per-call", "fn make() -> C { let c = reqwest::Client::new(); A { client: c } }"),
    _good("http-client-per-call", "#[tokio::test]\nasync fn gets(u: &str) { let c = reqwest::Client::new(); c.get(u).send().await; }"),
    _bad("blocking-call-in-async-code", "async fn f() { std::thread::sleep(d); }", 1),
    _bad("blocking-call-in-async-code", "use std::fs;\nasync fn f(p: &Path) { let t = fs::read_to_string(p); }", 2),
    _bad("blocking-call-in-async-code", "async fn f() { tokio::spawn(async move { std::process::Command::new(\"ls\").output() }); }", 1),
    _good("blocking-call-in-async-code", "use tokio::fs;\nasync fn f(p: &Path) { let t = fs::read_to_string(p).await; }"),
    _good("blocking-call-in-async-code", "async fn f() { tokio::task::spawn_blocking(move || { std::thread::sleep(d) }).await; }"),
    _good("blocking-call-in-async-code", "fn f() { std::thread::sleep(d); }"),
    _bad("lock-held-across-await", "async fn f(m: &Mutex<u32>) { let g = m.lock().unwrap(); go(*g).await; }", 1),
    _good("lock-held-across-await", "async fn f(m: &Mutex<u32>) { let g = m.lock().unwrap(); drop(g); go().await; }"),
    _good("lock-held-across-await", "async fn f(m: &Mutex<u32>) { { let g = m.lock().unwrap(); } go().await; }"),
    _good("lock-held-across-await", "async fn f(m: &Mutex<u32>) { let g = m.lock().await; go().await; }"),
    _good("lock-held-across-await", "#[allow(clippy::await_holding_lock)]\nasync fn f(m: &Mutex<u32>) { let g = m.lock().unwrap(); go(*g).await; }"),
    _good("unbounded-queue", "#[cfg(test)]\nmod tests {\n fn f() { let (tx, rx) = tokio::sync::mpsc::unbounded_channel(); }\n}"),
    _good("secret-in-log", "fn f(password: &str) { log::info!(\"length {}\", password.len()); }"),
    _bad("panic-on-failure", "async fn load(c: &reqwest::Client, u: &str) -> V { c.get(u).send().await.unwrap().json().await.unwrap() }", 1, 1),
    _bad("panic-on-failure", "#[get(\"/x\")]\nasync fn x(body: String) -> Json<V> { let v: V = serde_json::from_str(&body).unwrap(); Json(v) }", 2),
    _good("panic-on-failure", "async fn load(c: &reqwest::Client, u: &str) -> R<V> { c.get(u).send().await?.json().await }"),
    _good("panic-on-failure", "#[tokio::test]\nasync fn loads() { reqwest::get(u).await.unwrap(); }"),
    _good("panic-on-failure", "fn f(s: &str) -> u32 { s.parse().unwrap() }"),
    _bad("unbounded-queue", "fn f() { let (tx, rx) = tokio::sync::mpsc::unbounded_channel(); }", 1),
    _bad("unbounded-queue", "use tokio::sync::mpsc;\nfn f() { let (tx, rx) = mpsc::unbounded_channel::<Job>(); }", 2),
    _good("unbounded-queue", "fn f() { let (tx, rx) = tokio::sync::mpsc::channel(100); }"),
    _bad("unbounded-fan-out", "use futures::future::join_all;\nasync fn f(ids: Vec<u32>) { join_all(ids.iter().map(|id| load(id))).await; }", 2),
    _bad("unbounded-fan-out", "async fn f(ids: Vec<u32>) { for id in ids { tokio::spawn(load(id)); } }", 1),
    _good("unbounded-fan-out", "async fn f(ids: Vec<u32>) { stream::iter(ids).map(load).buffer_unordered(8).collect::<Vec<_>>().await; }"),
    _good("unbounded-fan-out", "async fn f() { for _ in 0..4 { tokio::spawn(work()); } }"),
    _bad("swallowed-error", "fn f(p: &Path) { let _ = std::fs::write(p, b); }", 1),
    _bad("swallowed-error", "async fn f(db: &Pool) { sqlx::query(\"UPDATE a SET n = 1\").execute(db).await.ok(); }", 1),
    _bad("swallowed-error", "async fn f() { if let Err(_) = store.save(x).await { } }", 1),
    _bad("swallowed-error", "async fn f(u: &str) { if let Err(_) = ship(u).await {} }", 1),
    _bad("write-per-row", "#[post(\"/users\")]\nasync fn add(db: web::Data<PgPool>, users: web::Json<Vec<User>>) -> R { for u in users.iter() { sqlx::query(\"INSERT INTO users (n) VALUES ($1)\").bind(u.name).execute(&db).await?; } }", 2),
    _good("write-per-row", "#[post(\"/users\")]\nasync fn add(db: web::Data<PgPool>, names: web::Json<Vec<String>>) -> R { sqlx::query(\"INSERT INTO users (n) SELECT * FROM UNNEST($1)\").bind(names).execute(&db).await?; }"),
    _good("swallowed-error", "impl Drop for A { fn drop(&mut self) { let _ = std::fs::write(p, b); } }"),
    _good("swallowed-error", "fn f(tx: Sender<u32>) { let _ = tx.send(1); }"),
    _good("swallowed-error", "async fn f() { if let Err(e) = store.save(x).await { tracing::error!(\"{e}\"); } }"),
    _good("swallowed-error", "fn f(p: &Path) -> io::Result<()> { std::fs::write(p, b)?; Ok(()) }"),
    _bad("retry-without-backoff", "async fn f() -> R { for _ in 0..3 { match go().await { Ok(x) => return Ok(x), Err(e) => { last = e; } } } Err(E) }", 1),
    _good("retry-without-backoff", "async fn f() -> R { for i in 0..3 { match go().await { Ok(x) => return Ok(x), Err(e) => { tokio::time::sleep(base * 2u32.pow(i)).await; } } } Err(E) }"),
    _good("retry-without-backoff", "async fn f() { loop { match rx.recv().await { Ok(x) => work(x), Err(e) => break } } }"),
    _good("retry-without-backoff", "fn f() { loop { match tx.try_push(x) { Ok(()) => continue, Err(e) => { log(e); } } } }"),
    _bad("retry-without-limit", "async fn f() -> X { loop { match go().await { Ok(x) => return x, Err(e) => { tokio::time::sleep(d).await; } } } }", 1),
    _good("retry-without-limit", "async fn f() -> R { let mut n = 0; loop { match go().await { Ok(x) => return Ok(x), Err(e) => { n += 1; if n > 3 { return Err(e); } tokio::time::sleep(d).await; } } } }"),
    _bad("tls-not-verified", "fn client() -> C { reqwest::Client::builder().danger_accept_invalid_certs(true).build() }", 1),
    _good("tls-not-verified", "fn client() -> C { reqwest::Client::builder().danger_accept_invalid_certs(false).build() }"),
    _bad("wall-clock-for-durations", "use std::time::SystemTime;\nfn f() { let t = SystemTime::now(); go(); log(t.elapsed()); }", 2),
    _good("wall-clock-for-durations", "use std::time::Instant;\nfn f() { let t = Instant::now(); go(); log(t.elapsed()); }"),
    _good("wall-clock-for-durations", "use std::time::{SystemTime, UNIX_EPOCH};\nfn f() -> D { SystemTime::now().duration_since(UNIX_EPOCH).unwrap() }"),
    _bad("secret-in-code", "const API_KEY: &str = \"q8Zt71kfLw02mXv5\";", 1),
    _good("secret-in-code", "fn f() { let api_key = std::env::var(\"API_KEY\"); }"),
    _bad("secret-in-log", "fn f(password: &str) { log::info!(\"login {} {}\", user, password); }", 1),
    _good("secret-in-log", "fn f(password: &str) { log::info!(\"login {}\", user); }"),
    _bad("unchecked-response-status", "async fn f(c: &reqwest::Client, u: &str) -> R<V> { c.get(u).send().await?.json().await }", 1),
    _good("unchecked-response-status", "async fn f(c: &reqwest::Client, u: &str) -> R<V> { c.get(u).send().await?.error_for_status()?.json().await }"),
    _good("unchecked-response-status", "async fn f(c: &reqwest::Client, u: &str) -> R<V> { let r = c.get(u).send().await?; if !r.status().is_success() { return Err(E); } r.json().await }"),
    _bad("no-graceful-shutdown", "async fn main() { axum::serve(listener, app).await.unwrap(); }", 1),
    _good("no-graceful-shutdown", "async fn main() { axum::serve(listener, app).with_graceful_shutdown(signal()).await.unwrap(); }"),
    _bad("compiled-per-call", "fn f(lines: Vec<String>) { for l in lines { let r = regex::Regex::new(r\"a+b\").unwrap(); r.is_match(&l); } }", 1),
    _good("compiled-per-call", "fn f(lines: Vec<String>) { let r = regex::Regex::new(r\"a+b\").unwrap(); for l in lines { r.is_match(&l); } }"),
    _bad("call-per-item", "#[get(\"/orders\")]\nasync fn orders(db: web::Data<PgPool>) -> R { let orders = sqlx::query_as(\"SELECT * FROM orders WHERE open\").fetch_all(&db).await?;\n for o in orders { let c = sqlx::query(\"SELECT * FROM customers WHERE id = $1\").bind(o.id).fetch_one(&db).await?; } }", 3),
    _good("call-per-item", "#[get(\"/orders\")]\nasync fn orders(db: web::Data<PgPool>) -> R { let c = sqlx::query(\"SELECT * FROM customers WHERE id = ANY($1)\").bind(ids).fetch_all(&db).await?; for o in c { use_it(o); } }"),
    _bad("abrupt-exit", "fn load() { std::process::exit(1); }", 1),
    _good("abrupt-exit", "fn main() { std::process::exit(1); }"),
]  # fmt: skip
