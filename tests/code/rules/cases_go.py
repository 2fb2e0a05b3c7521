"""Go snippets for the rules of reliability."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import Case, bad, good

_GO = "go"
_HEAD = 'package main\nimport ("net/http"; "database/sql"; "context"; "os"; "time"; "sync"; "os/exec"; "encoding/json"; "log")\n'
"""Two lines."""


def _bad(rule: str, code: str, *lines: int) -> Case:
    return bad(rule, _GO, _HEAD + code, *(line + 2 for line in lines))


def _good(rule: str, code: str) -> Case:
    return good(rule, _GO, _HEAD + code)


CASES = [
    _bad("http-call-without-timeout", "func f() { resp, err := http.Get(u) }", 1),
    _bad("http-call-without-timeout", "func f() {\n c := &http.Client{}\n c.Get(u)\n}", 3),
    bad("http-call-without-timeout", _GO, "resp, err := http.Get(u)\nif err != nil { return err }", 1),
    _good("http-call-without-timeout", "var c = &http.Client{Timeout: 5 * time.Second}\nfunc f() { c.Get(u) }"),
    _good("http-call-without-timeout", "func f(c *http.Client) { c.Get(u) }"),
    _good("http-call-without-timeout", "func f(ctx context.Context) {\n req, err := http.NewRequestWithContext(ctx, \"GET\", u, nil)\n http.DefaultClient.Do(req)\n}"),
    _bad("socket-without-timeout", "func f() { c, err := net.Dial(\"tcp\", a) }", 1),
    _good("socket-without-timeout", "func f() { c, err := net.DialTimeout(\"tcp\", a, d) }"),
    _bad("subprocess-without-timeout", "func f() error { return exec.Command(\"x\").Run() }", 1),
    _good("subprocess-without-timeout", "func f(ctx context.Context) error { return exec.CommandContext(ctx, \"x\").Run() }"),
    _bad("no-retry-on-idempotent-call", "func f() { resp, err := http.Get(u) }", 1),
    _good("no-retry-on-idempotent-call", "func f() error {\n return retry.Do(func() error { _, err := http.Get(u); return err })\n}"),
    _bad("retry-without-backoff", "func f() error {\n for i := 0; i < 3; i++ {\n  err := call()\n  if err == nil { return nil }\n }\n return last\n}", 2),
    _good("retry-without-backoff", "func f() error {\n for i := 0; i < 3; i++ {\n  err := call()\n  if err == nil { return nil }\n  time.Sleep(d << i)\n }\n return last\n}"),
    _bad("retry-without-limit", "func f() error {\n for {\n  err := call()\n  if err == nil { return nil }\n  time.Sleep(d)\n }\n}", 2),
    _good("retry-without-limit", "func f() error {\n for i := 0; i < 3; i++ {\n  err := call()\n  if err == nil { return nil }\n  time.Sleep(d)\n }\n return last\n}"),
    _bad("swallowed-error", "func f() { if err := go1(); err != nil { } }", 1),
    _good("swallowed-error", "func f() error { if err := go1(); err != nil { return err }; return nil }"),
    _bad("ignored-error", "func f() { resp, _ := http.Get(u); go1(resp) }", 1),
    _bad("ignored-error", "func f(b []byte) { json.Unmarshal(b, &v) }", 1),
    _good("ignored-error", "func f(b []byte) error { return json.Unmarshal(b, &v) }"),
    _good("ignored-error", "func f(b []byte) { if err := json.Unmarshal(b, &v); err != nil { log.Print(err) } }"),
    _bad("file-not-closed", "func f() { h, err := os.Open(p); read(1) }", 1),
    _good("file-not-closed", "func f() {\n h, err := os.Open(p)\n defer h.Close()\n}"),
    _good("file-not-closed", "func f() (*os.File, error) { return os.Open(p) }"),
    _bad("response-not-closed", "func f() { resp, err := http.Get(u); x(resp.StatusCode) }", 1),
    _good("response-not-closed", "func f() { resp, err := http.Get(u); defer resp.Body.Close() }"),
    _good("response-not-closed", "func f() (*http.Response, error) { resp, err := http.Get(u); return resp, err }"),
    _bad("connection-not-closed", "func f(db *sql.DB) { rows, err := db.Query(q); for rows.Next() { } }", 1),
    _good("connection-not-closed", "func f(db *sql.DB) { rows, err := db.Query(q); defer rows.Close() }"),
    _bad("writes-without-transaction", "func f(db *sql.DB) {\n db.Exec(\"UPDATE a SET n = 1\")\n db.Exec(\"UPDATE b SET n = 1\")\n}", 3),
    _good("writes-without-transaction", "func f(db *sql.DB) {\n tx, _ := db.Begin()\n tx.Exec(\"UPDATE a SET n = 1\")\n tx.Exec(\"UPDATE b SET n = 1\")\n}"),
    _bad("unbounded-cache", "var cache = map[string]int{}\nfunc f(k string) { cache[k] = 1 }", 1),
    _good("unbounded-cache", "var cache = map[string]int{}\nfunc f(k string) { cache[k] = 1; delete(cache, o) }"),
    _bad("unbounded-fan-out", "func f(us []string) {\n for _, u := range us {\n  go get(u)\n }\n}", 3),
    _good("unbounded-fan-out", "func f(us []string) {\n sem := make(chan struct{}, 5)\n for _, u := range us {\n  sem <- struct{}{}\n  go get(u)\n }\n}"),
    _good("unbounded-fan-out", "func f() {\n for i := 0; i < 4; i++ {\n  go work()\n }\n}"),
    _bad("shared-mutable-state", "var hits = map[string]int{}\nfunc h(w http.ResponseWriter, r *http.Request) { hits[r.URL.Path]++ }", 2),
    _good("shared-mutable-state", "var hits = map[string]int{}\nvar mu sync.Mutex\nfunc h(w http.ResponseWriter, r *http.Request) { mu.Lock(); defer mu.Unlock(); hits[r.URL.Path]++ }"),
    _bad("unchecked-response-status", "func f() { resp, err := http.Get(u); json.NewDecoder(resp.Body).Decode(&v) }", 1),
    _good("unchecked-response-status", "func f() { resp, err := http.Get(u); if resp.StatusCode != 200 { return }; json.NewDecoder(resp.Body).Decode(&v) }"),
    _bad("missing-cancellation", "func f(ctx context.Context, db *sql.DB) { db.Query(\"SELECT 1\") }", 1),
    _bad("missing-cancellation", "func h(w http.ResponseWriter, r *http.Request) { req, err := http.NewRequest(\"GET\", u, nil) }", 1),
    _good("missing-cancellation", "func f(ctx context.Context, db *sql.DB) { db.QueryContext(ctx, \"SELECT 1\") }"),
    _good("missing-cancellation", "func f() { req, err := http.NewRequest(\"GET\", u, nil) }"),
    _bad("abrupt-exit", "func load() { log.Fatal(\"no\") }", 1),
    _good("abrupt-exit", "func main() { log.Fatal(\"no\") }"),
    _bad("no-graceful-shutdown", "func main() { http.ListenAndServe(\":80\", nil) }", 1),
    _good("no-graceful-shutdown", "func main() { s := &http.Server{}; go s.ListenAndServe(); wait(); s.Shutdown(ctx) }"),
    _bad("tls-not-verified", "var t = &tls.Config{InsecureSkipVerify: true}", 1),
    _bad("busy-loop", "func f() { for { } }", 1),
    _good("busy-loop", "func f() { for { select { case m := <-ch: handle(m) } } }"),
    _bad("lock-not-released", "func f() { mu.Lock()\n if x { return }\n mu.Unlock() }", 1),
    _good("lock-not-released", "func f() { mu.Lock()\n defer mu.Unlock()\n if x { return } }"),
    _good("lock-not-released", "func f() { mu.Lock()\n n++\n mu.Unlock() }"),
]  # fmt: skip
