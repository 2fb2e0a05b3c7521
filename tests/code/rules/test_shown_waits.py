"""Rules about waits and connections show by default what the text proves."""

from __future__ import annotations

import pytest

from faultkit.code.facts import Project
from faultkit.code.review.engine import RULES, findings_of
from faultkit.code.rules.rule import LIKELY
from tests.code.rules.cases import Case, bad, good

_PY, _JS, _TS, _GO, _JAVA = "python", "javascript", "typescript", "go", "java"
_CS, _KT, _RS = "csharp", "kotlin", "rust"
BY_SLUG = {rule.slug: rule for rule in RULES}

_CASES = [
    # A transport from elsewhere may have a limit for the answer.
    good("http-call-without-timeout", _GO, """
        package a
        import "net/http"
        func load(u string, transport http.RoundTripper) (*http.Response, error) {
            client := &http.Client{Transport: transport}
            return client.Get(u)
        }
    """),
    bad("http-call-without-timeout", _GO, """
        package a
        import "net/http"
        func load(u string) (*http.Response, error) {
            transport := &http.Transport{MaxIdleConns: 3}
            client := &http.Client{Transport: transport}
            return client.Get(u)
        }
        func again(u string) (*http.Response, error) {
            client := &http.Client{Transport: trace(http.DefaultTransport)}
            return client.Get(u)
        }
    """, 6, 10),
    # A comment says why there is none.
    good("http-call-without-timeout", _GO, """
        package a
        import "net/http"
        func follow(u string) (*http.Response, error) {
            // No timeout: the log is followed until it ends.
            client := &http.Client{}
            return client.Get(u)
        }
    """),
    # The limit is in options of a variable.
    good("http-call-without-timeout", _TS, """
        import axios from "axios";
        export async function send(request: Request) {
          const config = { url: request.url, timeout: request.limit };
          return (await axios(config)).data;
        }
    """),
    bad("http-call-without-timeout", _TS, """
        import axios from "axios";
        export async function send(request: Request) {
          const config = { url: request.url };
          return (await axios(config)).data;
        }
    """, 4),
    # The library has a limit of its own.
    good("http-call-without-timeout", _JAVA, """
        import org.elasticsearch.client.RestClient;
        class Search { void open(HttpHost host) { this.client = RestClient.builder(host).build(); } }
    """),
    good("http-call-without-timeout", _KT, """
        import io.ktor.client.HttpClient
        import io.ktor.client.engine.cio.CIO
        class Weather { val http = HttpClient(CIO) { expectSuccess = true } }
    """),
    bad("http-call-without-timeout", _KT, """
        import io.ktor.client.HttpClient
        import io.ktor.client.engine.okhttp.OkHttp
        class Weather { val http = HttpClient(OkHttp) { expectSuccess = true } }
    """, 3),
    # A file that only registers a client sends nothing.
    good("http-call-without-timeout", _CS, """
        class Startup { void Add(IServiceCollection services) {
            services.AddSingleton(p => p.GetRequiredService<Index>());
            services.AddHttpClient("index", http => { http.Timeout = Timeout.InfiniteTimeSpan; });
        } }
    """),
    # The caller gets the socket, and sets its limit.
    good("socket-without-timeout", _TS, """
        import { createConnection } from "net";
        class Connector {
          async connect(to: Options) {
            this.stream = createConnection(to);
            this.stream.once("error", (error) => { this.first = error; });
            return this.stream;
          }
        }
    """),
    bad("socket-without-timeout", _TS, """
        import { createConnection } from "net";
        class Connector {
          async connect(to: Options) {
            this.stream = createConnection(to);
            this.stream.once("error", (error) => { this.first = error; });
          }
        }
    """, 4),
    # The wait for the future has the limit.
    good("grpc-call-without-deadline", _JAVA, """
        class A { Answer check(CheckGrpc.CheckFutureStub stub, Ask ask) throws Exception {
            ListenableFuture<Answer> future = stub.check(ask);
            return future.get(limit, TimeUnit.MILLISECONDS);
        } }
    """),
    bad("grpc-call-without-deadline", _JAVA, """
        class A { Answer check(CheckGrpc.CheckFutureStub stub, Ask ask) throws Exception {
            ListenableFuture<Answer> future = stub.check(ask);
            return future.get();
        } }
    """, 2),
    # All are done when the first is asked.
    good("future-without-timeout", _JAVA, """
        class A { List<String> all(List<String> names) throws Exception {
            List<CompletableFuture<String>> futures = new ArrayList<>();
            for (String name : names) { futures.add(CompletableFuture.supplyAsync(() -> load(name))); }
            CompletableFuture.allOf(futures.toArray(new CompletableFuture[0])).join();
            List<String> found = new ArrayList<>();
            for (CompletableFuture<String> future : futures) { found.add(future.get()); }
            return found;
        } }
    """),
    bad("future-without-timeout", _JAVA, """
        class A { List<String> all(List<String> names) throws Exception {
            List<CompletableFuture<String>> futures = new ArrayList<>();
            for (String name : names) { futures.add(CompletableFuture.supplyAsync(() -> load(name))); }
            List<String> found = new ArrayList<>();
            for (CompletableFuture<String> future : futures) { found.add(future.get()); }
            return found;
        } }
    """, 5),
    # The end of the context is what it waits for.
    good("request-outlived", _GO, """
        package a
        import "net/http"
        func (a *API) measure(w http.ResponseWriter, r *http.Request) {
            ctx := r.Context()
            a.freeze(ctx, true)
            go func() {
                <-ctx.Done()
                a.freeze(ctx, false)
            }()
            a.run()
        }
    """),
    bad("request-outlived", _GO, """
        package a
        import "net/http"
        func (a *API) measure(w http.ResponseWriter, r *http.Request) {
            ctx := r.Context()
            go func() {
                a.freeze(ctx, false)
            }()
            a.run()
        }
    """, 5),
    # The builder has the limit; the context may have it.
    good("http-call-without-timeout", _JAVA, """
        import java.net.http.*;
        class A { HttpResponse<String> load(HttpClient client, String url) throws Exception {
            HttpRequest.Builder request = HttpRequest.newBuilder().uri(URI.create(url)).timeout(LIMIT).GET();
            addHeaders(request);
            return client.send(request.build(), HttpResponse.BodyHandlers.ofString());
        } }
    """),
    bad("http-call-without-timeout", _JAVA, """
        import java.net.http.*;
        class A { HttpResponse<String> load(HttpClient client, String url) throws Exception {
            HttpRequest.Builder request = HttpRequest.newBuilder().uri(URI.create(url)).GET();
            addHeaders(request);
            return client.send(request.build(), HttpResponse.BodyHandlers.ofString());
        } }
    """, 5),
    good("http-call-without-timeout", _GO, """
        package a
        import ("context"; "net/http")
        func load(ctx context.Context, u string) (*http.Response, error) {
            client := &http.Client{}
            req, err := http.NewRequest("GET", u, nil)
            if err != nil { return nil, err }
            req = req.WithContext(ctx)
            return client.Do(req)
        }
    """),
    good("http-call-without-timeout", _GO, """
        package shopcmd
        import "net/http"
        func download(u string) (*http.Response, error) { return http.Get(u) }
    """),
    # A short text is sent; nothing is read.
    good("socket-without-timeout", _GO, """
        package a
        import ("io"; "net"; "strings"; "time")
        func send(address, text string) error {
            conn, err := net.DialTimeout("tcp", address, time.Second)
            if err != nil { return err }
            defer conn.Close()
            _, err = io.Copy(conn, strings.NewReader(text))
            return err
        }
    """),
    bad("socket-without-timeout", _GO, """
        package a
        import ("io"; "net"; "os"; "time")
        func load(address string) error {
            conn, err := net.DialTimeout("tcp", address, time.Second)
            if err != nil { return err }
            defer conn.Close()
            _, err = io.Copy(os.Stdout, conn)
            return err
        }
    """, 7),
    # Streams may last.
    good("grpc-call-without-deadline", _JAVA, """
        class A { StreamObserver<Ask> open(FeedGrpc.FeedStub stub) {
            return stub.follow(new StreamObserver<Answer>() { public void onNext(Answer a) { take(a); } });
        } }
    """),
    # A caller gives the request, and with it the context.
    good("http-call-without-timeout", _GO, """
        package a
        import "net/http"
        func send(req *http.Request) (*http.Response, error) {
            sign(req)
            client := &http.Client{}
            return client.Do(req)
        }
    """),
    # The limit is in options of a variable, and ends the request.
    good("http-call-without-timeout", _TS, """
        import http from "http";
        export function isUp(port: number) {
          return new Promise((resolve) => {
            const options = { hostname: host, port, path: "/health", timeout: 5000 };
            const req = http.request(options, (res) => resolve(res.statusCode === 200));
            req.on("timeout", () => { req.destroy(); resolve(false); });
            req.end();
          });
        }
    """),
    bad("http-call-without-timeout", _TS, """
        import http from "http";
        export function isUp(port: number) {
          return new Promise((resolve) => {
            const options = { hostname: host, port, path: "/health", timeout: 5000 };
            const req = http.request(options, (res) => resolve(res.statusCode === 200));
            req.end();
          });
        }
    """, 5),
]  # fmt: skip


@pytest.mark.parametrize("case", _CASES, ids=str)
def test_only_what_is_proved_is_shown(case: Case) -> None:
    found = findings_of(case.code, case.language, rules=[BY_SLUG[case.rule]])
    shown = tuple(each.line for each in found if each.confidence >= LIKELY)
    assert shown == case.lines, [(each.line, each.message, each.confidence) for each in found]


_LOAD = """\
use reqwest::Client;
async fn load(url: &str) -> Result<String, Error> {
    Client::new().get(url).send().await?.text().await
}
"""


@pytest.mark.parametrize(
    ("dependencies", "is_shown"),
    [((), True), (("ratatui",), False), (("ratatui", "axum"), True), (("tauri",), False)],
)
def test_a_program_of_one_user_is_known_by_its_manifest(dependencies: list[str], is_shown: bool) -> None:
    project = Project({name: () for name in dependencies})
    rule = BY_SLUG["http-call-without-timeout"]
    (found,) = findings_of(_LOAD, "rust", rules=[rule], project=project)
    assert (found.confidence >= LIKELY) is is_shown


_PAGE = "export const load = async (host: string) => (await fetch(`${host}/api/items`)).json();\n"


@pytest.mark.parametrize(
    ("code", "dependencies", "is_shown"),
    [
        (_PAGE, ("next", "react-dom"), False),
        ("import { prisma } from './db';\n" + _PAGE, ("next", "react-dom"), True),
        (_PAGE, ("express",), True),
    ],
)
def test_what_a_page_may_send_is_not_shown(code: str, dependencies: list[str], is_shown: bool) -> None:
    project = Project({name: () for name in dependencies})
    rule = BY_SLUG["http-call-without-timeout"]
    (found,) = findings_of(code, "typescript", rules=[rule], project=project)
    assert (found.confidence >= LIKELY) is is_shown
