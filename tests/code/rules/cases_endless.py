"""Clients without a limit of time, or with one that is switched off, in less common libraries."""

# ruff: noqa: E501  (a row of a table is one line)

from __future__ import annotations

from tests.code.rules.cases import bad, good

_HTTP, _SOCKET, _DATABASE = "http-call-without-timeout", "socket-without-timeout", "database-without-timeout"

CASES = [
    bad(
        _HTTP,
        "go",
        'package a\nimport "github.com/go-resty/resty/v2"\nfunc f() *resty.Client { return resty.New().SetBaseURL("x") }',
        3,
    ),
    good(
        _HTTP,
        "go",
        'package a\nimport (\n\t"time"\n\t"github.com/go-resty/resty/v2"\n)\nfunc f() *resty.Client { return resty.New().SetTimeout(5 * time.Second) }',
    ),
    bad(
        _HTTP,
        "rust",
        "fn f(u: &str) -> R { let agent = ureq::AgentBuilder::new().build(); agent.get(u).call() }",
        1,
    ),
    good(
        _HTTP,
        "rust",
        "fn f(u: &str) -> R { let agent = ureq::AgentBuilder::new().timeout(Duration::from_secs(3)).build(); agent.get(u).call() }",
    ),
    bad(
        _HTTP,
        "rust",
        "use reqwest::blocking::Client;\nfn f() -> R { Client::builder().timeout(None).build() }",
        2,
    ),
    bad(_HTTP, "python", "from openai import OpenAI\nclient = OpenAI(timeout=None)", 2),
    good(_HTTP, "python", "from openai import OpenAI\nclient = OpenAI(timeout=30)"),
    bad(_HTTP, "csharp", "class A { void F(SqlCommand cmd) {\n cmd.CommandTimeout = 0; } }", 2),
    good(_HTTP, "csharp", "class A { void F(SqlCommand cmd) { cmd.CommandTimeout = 15; } }"),
    bad(
        _HTTP,
        "java",
        "import feign.Request;\nclass A { Request.Options f() {\n return new Request.Options(0, TimeUnit.SECONDS, 0, TimeUnit.SECONDS, true); } }",
        3,
    ),
    good(
        _HTTP,
        "java",
        "import feign.Request;\nclass A { Request.Options f() { return new Request.Options(2, TimeUnit.SECONDS, 5, TimeUnit.SECONDS, true); } }",
    ),
    bad(
        _HTTP,
        "java",
        'class A { A(Properties p) { p.put("mail.smtp.host", "x");\n s = Session.getInstance(p); } }',
        2,
    ),
    good(
        _HTTP,
        "java",
        'class A { A(Properties p) { p.put("mail.smtp.host", "x"); p.put("mail.smtp.timeout", "5000"); s = Session.getInstance(p); } }',
    ),
    bad(
        _HTTP,
        "kotlin",
        "import okhttp3.OkHttpClient\nval c = OkHttpClient.Builder().readTimeout(Duration.ZERO).build()",
        2,
    ),
    bad(
        _SOCKET,
        "go",
        'package a\nimport "net/smtp"\nfunc f(m []byte) error { return smtp.SendMail("x:25", nil, "a", nil, m) }',
        3,
    ),
    bad(
        _SOCKET,
        "python",
        "import ldap\ndef f(uri, dn, secret):\n    c = ldap.initialize(uri)\n    c.simple_bind_s(dn, secret)",
        3,
    ),
    good(
        _SOCKET,
        "python",
        "import ldap\ndef f(uri, dn, secret):\n    c = ldap.initialize(uri)\n    c.set_option(ldap.OPT_NETWORK_TIMEOUT, 5)\n    c.simple_bind_s(dn, secret)",
    ),
    bad(
        _SOCKET,
        "python",
        "import paramiko\ndef f(host):\n    c = paramiko.SSHClient()\n    c.connect(host)",
        4,
    ),
    good(_DATABASE, "python", "import os, psycopg\nconn = psycopg.connect(os.environ['DATABASE_URL'])"),
    good(_DATABASE, "typescript", "import Redis from 'ioredis';\nconst r = new Redis({ host: 'x' });"),
    bad(
        _HTTP,
        "java",
        "import java.net.*;\nclass A { int f(String u) throws Exception {\n HttpURLConnection c = (HttpURLConnection) URI.create(u).toURL().openConnection();\n return c.getResponseCode(); } }",
        3,
    ),
    bad(
        _HTTP,
        "java",
        'import java.net.*;\nclass A { byte[] f(String b) throws Exception {\n try (var in = new URL(b + "/x").openStream()) { return in.readNBytes(9); } } }',
        3,
    ),
    good(
        _HTTP,
        "java",
        "import java.net.*;\nclass A { byte[] f(URL resource) throws Exception { try (var in = resource.openStream()) { return in.readNBytes(9); } } }",
    ),
    bad(
        "wall-clock-for-durations",
        "kotlin",
        "class D(private val gap: Long) { private var last = 0L\n fun allow(): Boolean { val now = System.currentTimeMillis()\n if (now - last < gap) return false\n last = now\n return true } }",
        3,
    ),
]
