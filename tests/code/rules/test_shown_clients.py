"""Rules about clients, answers and expressions show by default what the text has evidence for."""

from __future__ import annotations

import pytest

from faultkit.code.review.engine import RULES, findings_of
from faultkit.code.rules.rule import LIKELY
from tests.code.rules.cases import Case, bad, good

_PY, _JS, _TS, _GO = "python", "javascript", "typescript", "go"
_CS = "csharp"
BY_SLUG = {rule.slug: rule for rule in RULES}

_CASES = [
    good("compiled-per-call", _PY, """
        from flask import Flask
        import jinja2
        app = Flask(__name__)
        @app.route("/x")
        def x():
            return jinja2.Environment().from_string("a").render()
    """),
    bad("compiled-per-call", _PY, """
        from flask import Flask
        import joblib
        app = Flask(__name__)
        @app.route("/x")
        def x():
            return joblib.load("model").predict([1])
    """, 6),
    bad("compiled-per-call", _TS, """
        export function format(rows: Row[]) {
          return rows.map((row) => new Intl.DateTimeFormat("de", { dateStyle: "short" }).format(row.at));
        }
    """, 2),
    good("compiled-per-call", _CS, """
        class A { string Encode(Item item) {
            var options = new JsonSerializerOptions { WriteIndented = true };
            return JsonSerializer.Serialize(item, options);
        } }
    """),
    good("pool-per-call", _PY, """
        from concurrent.futures import ThreadPoolExecutor
        def ask(plugins):
            for plugin in plugins:
                with ThreadPoolExecutor() as pool:
                    pool.submit(plugin.run).result(5)
    """),
    bad("pool-per-call", _PY, """
        from concurrent.futures import ThreadPoolExecutor
        from flask import Flask
        app = Flask(__name__)
        @app.route("/x")
        def x():
            with ThreadPoolExecutor() as pool:
                return pool.submit(work).result(5)
    """, 6),
    good("client-not-closed", _PY, """
        import requests
        def load(url):
            session = requests.Session()
            return session.get(url, timeout=5).text
    """),
    bad("client-not-closed", _PY, """
        import aiohttp
        async def load(url):
            session = aiohttp.ClientSession()
            return await (await session.get(url)).text()
    """, 3),
    good("connection-not-closed", _CS, """
        class A {
          public ClientWebSocket Raw { get; set; } = new();
          public async Task Connect(Uri to) {
            foreach (var one in hosts) { Raw = new ClientWebSocket(); await Raw.ConnectAsync(to, default); }
          }
        }
    """),
    # What always calls itself would fail at once: it calls another function of that name.
    good("unbounded-recursion", _JS, """
        class Tokens {
          static sign(user) { return jwt.sign(user.id); }
          sign(user) { return Tokens.sign(user); }
        }
    """),
    bad("unbounded-recursion", _JS, """
        async function connect(url) {
          try { await open(url); } catch (e) { await connect(url); }
        }
    """, 2),
    # A failed parse is handled; or the body is asked for an error.
    good("unchecked-response-status", _PY, """
        import requests
        def load(url):
            try:
                return requests.get(url, timeout=5).json()["items"]
            except ValueError as error:
                log.warning("no items: %s", error)
                return None
    """),
    good("unchecked-response-status", _PY, """
        import requests
        def load(url):
            body = requests.get(url, timeout=5).json()
            if body.get("error"):
                raise Failed(body["error"])
            return body["items"]
    """),
    bad("unchecked-response-status", _PY, """
        import requests
        def load(url):
            return requests.get(url, timeout=5).json()["items"]
    """, 3),
    # A warning that is silenced turns nothing off; and the peer may be checked in another way.
    good("tls-not-verified", _PY, """
        import urllib3
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
    """),
    good("tls-not-verified", _GO, """
        package a
        func (c *C) config() *tls.Config {
            return &tls.Config{InsecureSkipVerify: true, RootCAs: c.pool, VerifyPeerCertificate: c.check}
        }
    """),
    bad("tls-not-verified", _GO, """
        package a
        func (c *C) config() *tls.Config {
            return &tls.Config{InsecureSkipVerify: true, RootCAs: c.pool}
        }
    """, 3),
    # A constant that only other files use.
    good("catastrophic-expression", _TS, """
        export const WORDS = /^(\\w+\\s?)+$/;
    """),
    bad("catastrophic-expression", _TS, """
        const WORDS = /^(\\w+\\s?)+$/;
        export const isName = (text: string) => WORDS.test(text);
    """, 1),
    good("catastrophic-expression", _TS, """
        export function isName(text: string) {
          document.title = text;
          return /^(\\w+\\s?)+$/.test(text);
        }
    """),
    # Clients.
    good("http-client-per-call", _CS, """
        using System.CommandLine;
        class A { async Task<int> Load(string url) {
            using var client = new HttpClient();
            return (await client.GetStringAsync(url)).Length;
        } }
    """),
    bad("http-client-per-call", _CS, """
        class A { async Task<int> Load(string url) {
            using var client = new HttpClient();
            return (await client.GetStringAsync(url)).Length;
        } }
    """, 2),
    good("http-client-per-call", _PY, """
        import requests
        from flask import Flask
        app = Flask(__name__)
        @app.route("/share")
        def share():
            return requests.post("https://a.example", timeout=5).text
    """),
    bad("http-client-per-call", _PY, """
        import requests
        def sync(orders):
            for order in orders:
                requests.put(f"https://a.example/{order.id}", json=order.body, timeout=5)
    """, 4),
    good("http-client-per-call", _TS, """
        import nodemailer from "nodemailer";
        export async function send(to: string) {
          const transport = nodemailer.createTransport({ host: "x" });
          await transport.sendMail({ to });
        }
    """),
    good("http-client-per-call", _CS, """
        var builder = WebAssemblyHostBuilder.CreateDefault(args);
        builder.Services.AddScoped(sp => new HttpClient { BaseAddress = new Uri(builder.Host) });
    """),
    bad("http-client-per-call", _CS, """
        var builder = WebApplication.CreateBuilder(args);
        builder.Services.AddScoped(sp => new HttpClient { BaseAddress = new Uri("https://a.example") });
    """, 2),
    good("http-client-per-call", _GO, """
        package a
        import "net/http"
        func (m *Manager) createTransport(cfg *Config) (http.RoundTripper, error) {
            transport := &http.Transport{MaxIdleConns: cfg.Max}
            if _, err := http.Get(cfg.Ready); err != nil {
                return nil, err
            }
            return wrap(transport), nil
        }
    """),
    good("http-client-per-call", _CS, """
        class Telemetry {
            Task? _report;
            public void Start() { _report ??= Task.Run(() => Report("x")); }
            async Task Report(string name) {
                var http = new HttpClient();
                await http.PostAsync("https://usage.example/" + name, null);
            }
        }
    """),
    bad("http-client-per-call", _CS, """
        class Telemetry {
            public void Start() { _report = Task.Run(() => Report("x")); }
            async Task Report(string name) {
                var http = new HttpClient();
                await http.PostAsync("https://usage.example/" + name, null);
            }
        }
    """, 4),
    good("http-client-per-call", "rust", """
        async fn policy(domain: &str) -> Result<Bytes, Error> {
            let client = reqwest::Client::builder().timeout(LIMIT).build()?;
            client.get(format!("https://policy.{domain}/rules.txt")).send().await?.bytes().await
        }
        async fn policy_of(domain: &str) -> Result<Bytes, Error> {
            let client = reqwest::Client::builder().timeout(LIMIT).build()?;
            client.get(format!("https://{}/rules.txt", domain)).send().await?.bytes().await
        }
    """),
    bad("http-client-per-call", "rust", """
        impl Rules {
            async fn policy(&self, domain: &str) -> Result<Bytes, Error> {
                let client = reqwest::Client::builder().timeout(LIMIT).build()?;
                client.get(format!("https://rules.example/{domain}")).send().await?.bytes().await
            }
        }
    """, 3),
    good("http-client-per-call", "rust", """
        #[tauri::command]
        pub async fn load(url: String) -> Result<String, Error> {
            let client = reqwest::Client::new();
            client.get(url).send().await?.text().await
        }
        pub async fn exchange_code(url: String) -> Result<String, Error> {
            let client = reqwest::Client::new();
            client.post(url).send().await?.text().await
        }
    """),
    good("http-client-per-call", "kotlin", """
        package shop.client
        import shop.model.Order
        class Orders {
            suspend fun send(order: Order): String {
                val client = HttpClient()
                return client.post("https://orders.example/" + order.id).bodyAsText()
            }
        }
    """),
    bad("http-client-per-call", "kotlin", """
        package shop.client
        import io.ktor.client.*
        import shop.model.Order
        class Orders {
            suspend fun send(order: Order): String {
                val client = HttpClient()
                val answer = client.post("https://orders.example/" + order.id)
                client.close()
                return answer.bodyAsText()
            }
        }
    """, 6),
    good("http-client-per-call", "java", """
        class Stores {
            Bundle of(Settings settings) {
                var client = software.amazon.awssdk.services.s3.S3Client.builder().region(settings.region());
                return new Bundle(client.build(), settings.bucket());
            }
        }
    """),
    good("connection-per-call", _PY, """
        import pymysql
        class A:
            def _connection(self):
                return pymysql.connect(host=self.host)
            def _cancel(self, thread_id):
                connection = self._connection()
                connection.cursor().execute("KILL %d" % thread_id)
                connection.close()
    """),
    bad("connection-per-call", _PY, """
        import pymysql
        class A:
            def _connection(self):
                return pymysql.connect(host=self.host)
            def load(self, user_id):
                connection = self._connection()
                connection.cursor().execute("SELECT %d" % user_id)
                connection.close()
    """, 6),
]  # fmt: skip


@pytest.mark.parametrize("case", _CASES, ids=str)
def test_only_what_has_evidence_is_shown(case: Case) -> None:
    found = findings_of(case.code, case.language, rules=[BY_SLUG[case.rule]])
    shown = tuple(each.line for each in found if each.confidence >= LIKELY)
    assert shown == case.lines, [(each.line, each.message, each.confidence) for each in found]
