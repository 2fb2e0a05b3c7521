"""Rules about clients, connections and answers show by default what the text proves."""

from __future__ import annotations

import pytest

from faultkit.code.languages import language_named
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
    # The item has the address.
    good("http-client-per-call", _PY, """
        import requests
        def broken(links):
            found = []
            for link in links:
                url = link.attrs.get("href")
                if requests.head(url, timeout=5).status_code >= 400:
                    found.append(url)
            return found
    """),
    bad("http-client-per-call", _PY, """
        import requests
        def names(ids):
            found = []
            for one in ids:
                url = f"https://users.example/{one}"
                found.append(requests.get(url, timeout=5).json()["name"])
            return found
    """, 6),
    # A websocket keeps the connection; a parameter names the host.
    good("http-client-per-call", _GO, """
        package a
        import ("net/http"; "github.com/coder/websocket")
        func (f *Feed) open(id string) error {
            conn, _, err := websocket.Dial(f.ctx, f.url+id, &websocket.DialOptions{
                HTTPClient: &http.Client{Transport: &http.Transport{TLSClientConfig: f.tls}},
            })
            f.conn = conn
            return err
        }
        func (f *Feed) reach(ip string) bool {
            uri := fmt.Sprintf("https://%s/ping", ip)
            client := http.Client{Transport: &http.Transport{TLSClientConfig: f.tls}}
            _, err := client.Get(uri)
            return err == nil
        }
    """),
    # All of the body is read; a function that is handed out closes it.
    good("response-not-closed", _PY, """
        import requests
        def image(url):
            answer = requests.get(url, stream=True, timeout=5)
            answer.raise_for_status()
            return decode(answer.content)
    """),
    bad("response-not-closed", _PY, """
        import requests
        def image(url):
            answer = requests.get(url, stream=True, timeout=5)
            answer.raise_for_status()
            return decode(answer.iter_content(4096))
    """, 3),
    good("response-not-closed", _PY, """
        import httpx
        client = httpx.AsyncClient()
        async def relay(request):
            answer = await client.send(request, stream=True)
            async def parts():
                try:
                    async for part in answer.aiter_bytes():
                        yield part
                finally:
                    await answer.aclose()
            return StreamingResponse(parts())
    """),
    # Statistics may be lost.
    good("unchecked-response-status", _TS, """
        class Telemetry {
          async send(data: Data) {
            await fetch(this.url, { method: "POST", body: JSON.stringify(data), signal });
          }
        }
        class Orders {
          async hint(data: Data) {
            try {
              await fetch(this.url, { method: "POST", body: JSON.stringify(data) });
            } catch {
              // best effort
            }
          }
        }
    """),
    bad("unchecked-response-status", _TS, """
        class Orders {
          async send(data: Data) {
            await fetch(this.url, { method: "POST", body: JSON.stringify(data), signal });
          }
        }
    """, 3),
    good("unchecked-response-status", _RS, """
        use clap::Parser;
        fn hash(url: &str) -> Result<Vec<u8>, Error> {
            let data = reqwest::blocking::get(url)?.bytes()?;
            Ok(digest(&data))
        }
    """),
    good("unchecked-response-status", _PY, """
        import requests
        from invoke import task
        @task
        def load(c, ref):
            runs = requests.get(f"https://a.example/runs/{ref}", timeout=5).json()
            print(runs["all"])
        def check():
            requests.get("https://a.example", timeout=5).raise_for_status()
    """),
    # Kept in a collection of others.
    good("connection-per-call", _RS, """
        async fn client_of(region: &str) -> Arc<Client> {
            if let Some(client) = CLIENTS.get(region) { return client.clone(); }
            let client = Arc::new(aws_sdk_lambda::Client::new(&settings(region).await));
            CLIENTS.insert(region.to_owned(), client.clone());
            client
        }
        async fn run(jobs: Vec<Job>) {
            for job in jobs { client_of(&job.region).await.invoke(job).await; }
        }
    """),
    good("http-client-per-call", _CS, """
        class Accounts {
            public async Task<string> LoginAsync(string name) {
                using var client = new HttpClient();
                return await client.GetStringAsync("https://a.example/" + name);
            }
        }
    """),
]  # fmt: skip


@pytest.mark.parametrize("case", _CASES, ids=str)
def test_only_what_is_proved_is_shown(case: Case) -> None:
    found = findings_of(case.code, case.language, rules=[BY_SLUG[case.rule]])
    shown = tuple(each.line for each in found if each.confidence >= LIKELY)
    assert shown == case.lines, [(each.line, each.message, each.confidence) for each in found]


_RETURNED = {
    "a body": (_PY, "import requests\ndef f(u):\n    return requests.get(u, timeout=3).json()@\n"),
    "a text": (_PY, "import requests\ndef f(u):\n    r = requests.get(u, timeout=3)@\n    return r.text@\n"),
    "a body over lines": (
        _PY,
        "import requests\ndef f(u):\n    return (@\n        requests.get(u, timeout=3)@\n"
        "        .json()@\n    )@\n",
    ),
    "a body of fetch": (_TS, "async function f(u: string) {@\n  return (await fetch(u)).json();@\n}\n"),
    "a body with a type": (
        _TS,
        "async function f(u: string) {\n  const r = await fetch(u);@\n  return (await r.json()) as A;@\n}\n",
    ),
    "a body that is used": (_PY, "import requests\ndef f(u):\n    return requests.get(u).json()['a']@\n"),
}


@pytest.mark.parametrize(("language", "text"), _RETURNED.values(), ids=_RETURNED)
def test_a_comment_does_not_change_how_sure_an_unchecked_status_is(language: str, text: str) -> None:
    sign = "#" if language == _PY else "//"
    plain, *others = (
        [
            (each.line, each.confidence)
            for each in findings_of(text.replace("@", comment), language_named(language))
            if each.rule.id == "FK-R026"
        ]
        for comment in ("", f"  {sign} x", f"  {sign} asks for result.errors", f"  {sign} {'long ' * 40}")
    )
    assert plain
    assert others == [plain] * 3
