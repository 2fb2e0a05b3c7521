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
    # How often a plain function runs is not known.
    good("http-client-per-call", _RS, """
        async fn policy(domain: &str) -> Result<Bytes, Error> {
            let client = reqwest::Client::builder().timeout(LIMIT).build()?;
            client.get(format!("https://rules.example/{domain}")).send().await?.bytes().await
        }
    """),
    bad("http-client-per-call", _RS, """
        async fn policy(domain: &str) -> Result<Bytes, Error> {
            let client = reqwest::Client::builder().timeout(LIMIT).build()?;
            client.get(format!("https://rules.example/{domain}")).send().await?.bytes().await
        }
        async fn policies(domains: Vec<String>) {
            for domain in domains { policy(&domain).await; }
        }
    """, 2),
    good("http-client-per-call", _CS, """
        class A {
            public async Task<string> RegisterAsync(string name) {
                using var client = new HttpClient();
                return await client.GetStringAsync("https://a.example/" + name);
            }
            public async Task<string> Today(CancellationToken ct) {
                using var client = new HttpClient();
                return await client.GetStringAsync("https://a.example/today");
            }
        }
    """),
    # Connections are not to be kept.
    good("http-client-per-call", _GO, """
        package a
        import "net/http"
        func (p *Process) Post(path string) error {
            client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
            _, err := client.Get(p.addr + path)
            return err
        }
    """),
    bad("http-client-per-call", _GO, """
        package a
        import "net/http"
        func (p *Process) Post(path string) error {
            client := &http.Client{Transport: &http.Transport{MaxIdleConns: 3}}
            _, err := client.Get(p.addr + path)
            return err
        }
    """, 4),
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
    # Callers look at the body that a function hands out; a page shows it.
    good("unchecked-response-status", _JS, """
        export function orders(page) {
          return fetch(`${base}/orders?page=${page}`).then((answer) => answer.json());
        }
    """),
    bad("unchecked-response-status", _JS, """
        export function orders(page) {
          return fetch(`${base}/orders?page=${page}`).then((answer) => answer.json());
        }
        export async function remove(id) {
          const answer = await fetch(`${base}/orders/${id}`, { method: "DELETE" });
          if (!answer.ok) throw new Error("refused");
        }
    """, 2),
    good("unchecked-response-status", _TS, """
        const answer = await fetch("/settings.json");
        window.settings = await answer.json();
    """),
    bad("unchecked-response-status", _TS, """
        export async function rate(from: string) {
          const answer = await fetch(`https://rates.example/${from}`);
          const found = await answer.json();
          cache.set(from, found);
          return found.rate;
        }
    """, 2),
    good("unchecked-response-status", _PY, """
        import requests
        def call(path):
            answer = requests.get(f"https://a.example/{path}", timeout=5)
            return answer.json()
    """),
    bad("unchecked-response-status", _PY, """
        import requests
        def names():
            answer = requests.get("https://a.example/users", timeout=5)
            return answer.json()["names"]
    """, 3),
    # What has no fields of the type is refused.
    good("unchecked-response-status", _RS, """
        async fn user(id: u32) -> Result<User, Error> {
            let answer = reqwest::get(format!("https://a.example/{id}")).await?;
            let user: User = answer.json().await?;
            Ok(user)
        }
    """),
    # The body is closed, not read.
    good("unchecked-response-status", _GO, """
        package a
        import "net/http"
        func reach(u string) error {
            resp, err := http.Get(u)
            if err != nil { return err }
            defer closer(resp.Body)
            return nil
        }
    """),
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
    # How often a function runs whose callers are not seen is not known; clients of a session share it.
    good("connection-per-call", _GO, """
        package a
        import "database/sql"
        func (s *Shop) count(name string) (int, error) {
            db, err := sql.Open("postgres", s.url)
            if err != nil { return 0, err }
            defer db.Close()
            return scan(db.QueryRow(name))
        }
    """),
    bad("connection-per-call", _GO, """
        package a
        import ("database/sql"; "net/http")
        func (s *Shop) count(w http.ResponseWriter, r *http.Request) {
            db, err := sql.Open("postgres", s.url)
            if err != nil { return }
            defer db.Close()
            db.QueryRow(r.URL.Path)
        }
    """, 4),
    good("connection-per-call", _GO, """
        package a
        import ("github.com/aws/aws-sdk-go/service/s3"; "net/http")
        func (s *Store) list(w http.ResponseWriter, r *http.Request) {
            client := s3.New(s.session)
            client.ListObjectsV2(inputOf(r))
        }
    """),
    good("connection-per-call", _GO, """
        package a
        import ("github.com/go-ldap/ldap/v3"; "net/http")
        func (a *Auth) check(w http.ResponseWriter, r *http.Request) {
            connection, err := ldap.Dial("tcp", a.address)
            if err != nil { return }
            defer connection.Close()
            connection.Bind(r.FormValue("user"), r.FormValue("password"))
        }
    """),
    # Connections of ADO.NET come from a pool.
    good("connection-per-call", _CS, """
        [ApiController]
        class A : ControllerBase { [HttpGet] public async Task<int> Count(string name) {
            await using var connection = _store.ConnectionFactory.CreateConnection();
            return await connection.QueryAsync(name);
        } }
    """),
    # Each item is another host.
    good("http-client-per-call", _RS, """
        async fn report(targets: Vec<String>) {
            for target in targets {
                let client = reqwest::Client::builder().timeout(LIMIT).build().unwrap();
                client.post(target).body(text()).send().await;
            }
        }
    """),
    good("http-client-per-call", _PY, """
        from celery import shared_task
        import opensearchpy
        @shared_task
        def reindex(name):
            client = opensearchpy.OpenSearch(hosts=["search"])
            client.indices.create(name)
    """),
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
    # The caller gets the body; a double for tests leaves it.
    good("response-not-closed", _GO, """
        package a
        import ("io"; "net/http")
        func open(u string) (io.ReadCloser, error) {
            resp, err := http.Get(u)
            if err != nil { return nil, err }
            return resp.Body, nil
        }
        func MockLogin(u string) error {
            _, err := http.Get(u)
            return err
        }
    """),
    bad("response-not-closed", _GO, """
        package a
        import ("io"; "net/http")
        func open(u string) ([]byte, error) {
            resp, err := http.Get(u)
            if err != nil { return nil, err }
            return io.ReadAll(resp.Body)
        }
    """, 4),
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
    good("unchecked-response-status", _GO, """
        package a
        import ("io"; "net/http")
        func call(u string) ([]byte, error) {
            resp, err := http.Get(u)
            if err != nil { return nil, err }
            defer resp.Body.Close()
            data, err := io.ReadAll(resp.Body)
            return data, err
        }
    """),
    bad("unchecked-response-status", _GO, """
        package a
        import ("encoding/json"; "net/http")
        func user(u string) (*User, error) {
            resp, err := http.Get(u)
            if err != nil { return nil, err }
            defer resp.Body.Close()
            user := &User{}
            return user, json.NewDecoder(resp.Body).Decode(user)
        }
    """, 4),
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
