"""Rules about time limits and clocks show by default what the text has evidence for."""

from __future__ import annotations

import pytest

from faultkit.code.review.engine import RULES, findings_of
from faultkit.code.rules.rule import LIKELY
from tests.code.rules.cases import Case, bad, good

_PY, _JS, _TS, _GO = "python", "javascript", "typescript", "go"
_JAVA, _CS, _RS = "java", "csharp", "rust"
BY_SLUG = {rule.slug: rule for rule in RULES}

_CLOCKS = [
    # A deadline ends a wait; a duration that is returned or gates repeated work decides little.
    bad("wall-clock-for-durations", _PY, """
        import time
        def wait(job):
            end = time.time() + 5
            while time.time() < end:
                if job.done():
                    return True
    """, 4),
    good("wall-clock-for-durations", _PY, """
        import time
        def took(job):
            start = time.time()
            job.run()
            return time.time() - start
    """),
    good("wall-clock-for-durations", _PY, """
        import time
        class A:
            def tick(self):
                now = time.time()
                if now - self.last > 60:
                    self.check()
                    self.last = now
                self.last = time.time()
    """),
    bad("wall-clock-for-durations", _PY, """
        import time
        class A:
            def beat(self):
                self.last = time.time()
            def is_lost(self):
                return time.time() - self.last > self.limit
    """, 6),
    # A guard against a clock that was set back.
    good("wall-clock-for-durations", _PY, """
        import time
        def f(self):
            start = time.time()
            self.run()
            passed = time.time() - start
            if passed < 0:
                return None
            return passed
    """),
    good("wall-clock-for-durations", _JS, """
        function rate(n) {
          const start = Date.now();
          work(n);
          const took = Date.now() - start;
          return took;
        }
    """),
    # A variable of the same name in another function holds something else; a parameter is a time that is due.
    good("wall-clock-for-durations", _JAVA, """
        class A {
          void f() { long start = System.currentTimeMillis(); send(start); }
          long h() { long now = System.currentTimeMillis(); return now; }
          void g(long left) {
            long start = Clock.ticks();
            while (left > 0) {
              long now = Clock.ticks();
              if (now - start > left) { return; }
            }
          }
        }
    """),
    good("wall-clock-for-durations", _PY, """
        import time
        def plan(due, jobs):
            now = time.time()
            if due - now > 5:
                jobs.later()
        def other(jobs):
            due = time.time()
            jobs.put(due)
    """),
    # Naive times.
    bad("naive-time", _PY, """
        from datetime import datetime, timedelta
        def next_run(minutes):
            return datetime.now() + timedelta(minutes=minutes)
    """, 3),
    good("naive-time", _PY, """
        from datetime import datetime, timedelta
        def old(n):
            return datetime.now() - timedelta(days=n)
    """),
    good("naive-time", _PY, """
        from datetime import datetime
        def stamp():
            return datetime.utcnow().strftime("%a GMT")
    """),
    bad("naive-time", _PY, """
        from datetime import datetime
        def stamp():
            return datetime.utcnow().timestamp()
    """, 3),
    good("naive-time", _CS, """
        class A { void F(Token t) { t.Expires = DateTime.Now.AddMinutes(5); } }
    """),
    # A name that tells a unit, with a type that has one.
    good("wrong-time-unit", _GO, """
        package a
        import "time"
        type P struct { RefreshSeconds ptypes.Duration }
        func (p *P) Run() { t := time.NewTicker(time.Duration(p.RefreshSeconds)); use(t) }
    """),
    bad("wrong-time-unit", _GO, """
        package a
        import "time"
        type P struct { RefreshSeconds int }
        func (p *P) Run() { t := time.NewTicker(time.Duration(p.RefreshSeconds)); use(t) }
    """, 4),
]  # fmt: skip

_LIMITS = [
    # A command, a browser and this machine.
    good("http-call-without-timeout", _PY, """
        import argparse, requests
        def main():
            print(requests.get(argparse.ArgumentParser().parse_args().url).text)
    """),
    good("http-call-without-timeout", _PY, """
        import requests
        def pause(url):
            return requests.post(url)
        if __name__ == "__main__":
            pause("https://a.example")
    """),
    bad("http-call-without-timeout", _PY, """
        import requests
        def pause(url):
            return requests.post(url)
    """, 3),
    good("http-call-without-timeout", _TS, """
        export async function ready(): Promise<boolean> {
          const res = await fetch("http://localhost:3000/health");
          return res.ok;
        }
    """),
    good("http-call-without-timeout", _TS, """
        export async function load(id: string) {
          const token = localStorage.getItem("token");
          const res = await fetch(base + id, { headers: { token } });
          return res.ok;
        }
    """),
    bad("http-call-without-timeout", _TS, """
        export async function verify(token: string) {
          const res = await fetch(new URL("/verify", process.env.URL), { method: "POST", body: token });
          return res.ok;
        }
    """, 2),
    # Words of a browser in a text that a server sends, and a browser that a server drives.
    bad("http-call-without-timeout", _TS, """
        export async function page(browser: Browser, url: string) {
          const tab = await browser.newPage();
          await tab.setContent("<script>window.print()</script>"); // then window.close()
          const res = await fetch(url);
          return res.ok;
        }
    """, 4),
    # 100 s by default, where no request is seen to wait; a limit for each request.
    good("http-call-without-timeout", _CS, """
        class A {
          public async Task<string> Load(string url) {
            using var client = new HttpClient();
            return await client.GetStringAsync(url);
          }
        }
    """),
    good("http-call-without-timeout", _CS, """
        class A {
          private readonly HttpClient client = new HttpClient { Timeout = Timeout.InfiniteTimeSpan };
          public Task<Answer> Get(string url, CancellationToken ct)
            => Limits.WithTimeout(short, ct, token => client.GetAsync(url, token));
        }
    """),
    # A text that makes a client and sends nothing with it; a command of Go.
    good("http-call-without-timeout", _CS, """
        class A : Helper {
          static HttpClient Make() {
            var client = Clients.Create();
            client.Timeout = Timeout.InfiniteTimeSpan;
            return client;
          }
        }
    """),
    bad("http-call-without-timeout", _CS, """
        class A {
          private readonly HttpClient client = new HttpClient { Timeout = Timeout.InfiniteTimeSpan };
          public Task<string> Load(string url) => client.GetStringAsync(url);
        }
    """, 2),
    good("http-call-without-timeout", _GO, """
        package main
        import ("flag"; "net/http")
        func main() {
            flag.Parse()
            resp, err := http.Get(flag.Arg(0))
            show(resp, err)
        }
    """),
    # Sockets of this machine, datagrams, mocks, servers for operators, a free port.
    good("socket-without-timeout", _GO, """
        package a
        import "net"
        func a(to string) (net.Conn, error) { return net.Dial("udp", to) }
        func b(network, to string) (net.Conn, error) { return net.Dial(network, to) }
    """),
    bad("socket-without-timeout", _GO, """
        package a
        import "net"
        func a(to string) (net.Conn, error) { return net.Dial("tcp", to) }
    """, 3),
    good("socket-without-timeout", _TS, """
        import net from "node:net";
        export function open(fullPath: string) { return net.createConnection(fullPath, () => log("open")); }
        export function freePort(): Promise<number> {
          return new Promise((done) => {
            const server = net.createServer();
            server.listen(0, () => { const { port } = server.address(); server.close(() => done(port)); });
          });
        }
    """),
    good("socket-without-timeout", _CS, """
        class A { async Task StartMockedPeer() { var c = new TcpClient(); await c.ConnectAsync(host, 5); } }
    """),
    bad("socket-without-timeout", _CS, """
        class A { async Task StartPeer() { var c = new TcpClient(); await c.ConnectAsync(host, 5); } }
    """, 1),
    bad("socket-without-timeout", _GO, """
        package a
        import "net/http"
        func run(addr string) {
            if profile {
                mux := http.NewServeMux()
                mux.HandleFunc("/debug/pprof/", pprof.Index)
                p := &http.Server{Addr: addr, Handler: mux}
                go p.ListenAndServe()
            }
            mux := http.NewServeMux()
            mux.Handle("/metrics", metrics)
            m := &http.Server{Addr: addr, Handler: mux}
            go m.ListenAndServe()
        }
    """, 12),
    good("socket-without-timeout", _RS, """
        async fn channel(to: Uri) -> Channel {
            let made = Endpoint::from(to.clone()).connect_timeout(LIMIT);
            made.connect_with_connector_lazy(service_fn(move |_| async move {
                tokio::net::TcpStream::connect(addr).await
            }))
        }
    """),
    # Programs: a request waits, the program is known to hang, or neither.
    good("subprocess-without-timeout", _PY, """
        import subprocess
        def build(folder):
            return subprocess.check_output(["make", "-C", folder])
    """),
    bad("subprocess-without-timeout", _PY, """
        import subprocess
        def probe(video):
            return subprocess.check_output(["ffprobe", "-i", video])
    """, 3),
    bad("subprocess-without-timeout", _PY, """
        import subprocess
        from flask import Flask
        app = Flask(__name__)
        @app.route("/x")
        def x():
            return subprocess.check_output(["render", "page"])
    """, 6),
    good("subprocess-without-timeout", _CS, """
        class A { [HttpGet] public string Get() {
            var p = Process.Start(info);
            if (p.WaitForExit(5000)) { p.WaitForExit(); } else { p.Kill(); }
            return "";
        } }
    """),
    good("subprocess-without-timeout", _CS, """
        class A { [HttpGet] public string Get(int timeout) {
            var p = Process.Start(info);
            if (timeout <= 0) { p.WaitForExit(); } else { p.WaitForExit(timeout); p.Kill(); }
            return "";
        } }
    """),
    # An address that may have the limit.
    good("database-without-timeout", _PY, """
        import psycopg
        class A:
            def open(self):
                return psycopg.connect(self.conninfo, autocommit=True)
    """),
    bad("database-without-timeout", _PY, """
        import psycopg2
        def open(c):
            return psycopg2.connect(host=c.host, user=c.user)
    """, 3),
    good("grpc-call-without-deadline", _PY, """
        import click, grpc
        from api_pb2_grpc import EchoStub
        def run(to):
            stub = EchoStub(grpc.insecure_channel(to))
            print(stub.Say(message()))
    """),
    bad("grpc-call-without-deadline", _PY, """
        import grpc
        from api_pb2_grpc import EchoStub
        def run(to):
            stub = EchoStub(grpc.insecure_channel(to))
            print(stub.Say(message()))
    """, 5),
    # Contexts for logs, and with a reason.
    good("missing-cancellation", _GO, """
        package a
        import ("context"; "net/http")
        func (h *H) ServeHTTP(w http.ResponseWriter, r *http.Request) {
            log := middlewares.GetLogger(context.Background(), h.name)
            log.Debug("x")
            // The teardown must wait even when the caller
            // has been cancelled.
            h.pool.Wait(context.Background())
        }
    """),
    bad("missing-cancellation", _GO, """
        package a
        import ("context"; "net/http")
        func (h *H) ServeHTTP(w http.ResponseWriter, r *http.Request) {
            found, err := h.docker.Inspect(context.Background(), h.name)
            answer(w, found, err)
        }
    """, 4),
    # A context with a limit of its own, outside of requests and in one.
    good("missing-cancellation", _GO, """
        package a
        import "context"
        func (s *S) shadow(ctx context.Context) {
            other, cancel := context.WithTimeout(context.Background(), s.limit)
            defer cancel()
            s.store.Read(other)
        }
    """),
    bad("missing-cancellation", _GO, """
        package a
        import ("context"; "net/http")
        func (s *S) show(w http.ResponseWriter, r *http.Request) {
            other, cancel := context.WithTimeout(context.Background(), s.limit)
            defer cancel()
            rows, err := s.store.Read(other)
            answer(w, rows, err)
        }
    """, 4),
    # The source of a chain has the token.
    good("cancellation-not-passed-on", _CS, """
        class A { async Task F(AppDbContext db, CancellationToken ct) {
            var x = await db.Items.Where(i => i.Ok).WithCancellation(ct).ToListAsync();
        } }
    """),
    bad("cancellation-not-passed-on", _CS, """
        class A { async Task F(AppDbContext db, CancellationToken ct) {
            var x = await db.Items.Where(i => i.Ok).ToListAsync();
        } }
    """, 2),
]  # fmt: skip


@pytest.mark.parametrize("case", [*_CLOCKS, *_LIMITS], ids=str)
def test_only_what_has_evidence_is_shown(case: Case) -> None:
    found = findings_of(case.code, case.language, rules=[BY_SLUG[case.rule]])
    shown = tuple(each.line for each in found if each.confidence >= LIKELY)
    assert shown == case.lines, [(each.line, each.message, each.confidence) for each in found]
