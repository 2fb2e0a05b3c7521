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
        "fn f() -> R { let plain = ureq::Agent::config_builder().http_status_as_error(false).build();\n keep(ureq::agent()) }",
        2,
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
    bad(
        _HTTP,
        "java",
        'import jakarta.mail.Session;\nclass A { A(Properties p) { p.put("mail.smtp.host", "x");\n s = Session.getDefaultInstance(p); } }',
        3,
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
    bad(
        "retry-without-limit",
        "typescript",
        "import got from 'got';\nexport const api = got.extend({ retry: { limit: Infinity } });",
        2,
    ),
    good(
        "retry-without-limit",
        "typescript",
        "import got from 'got';\nexport const api = got.extend({ retry: { limit: 3 } });",
    ),
    bad(
        "response-not-closed",
        "go",
        'package a\nimport (\n\t"fmt"\n\t"net/http"\n)\nfunc f(c *http.Client, u string) (*http.Response, error) {\n\tresp, err := c.Get(u)\n\tif err != nil { return nil, err }\n\tif resp.StatusCode >= 400 {\n\t\treturn nil, fmt.Errorf("x: %s", resp.Status)\n\t}\n\treturn resp, nil\n}',
        9,
    ),
    good(
        "response-not-closed",
        "go",
        'package a\nimport (\n\t"fmt"\n\t"net/http"\n)\nfunc f(c *http.Client, u string) (*http.Response, error) {\n\tresp, err := c.Get(u)\n\tif err != nil { return nil, err }\n\tif resp.StatusCode >= 400 {\n\t\tresp.Body.Close()\n\t\treturn nil, fmt.Errorf("x: %s", resp.Status)\n\t}\n\treturn resp, nil\n}',
    ),
    bad(
        "whole-file-loaded",
        "javascript",
        "const express = require('express');\nconst app = express();\napp.use(express.json({ limit: '500mb' }));",
        3,
    ),
    good(
        "whole-file-loaded",
        "javascript",
        "const express = require('express');\nconst app = express();\napp.use(express.json({ limit: '10mb' }));",
    ),
    bad(
        "whole-file-loaded",
        "python",
        "import zipfile\nfrom fastapi import FastAPI\napp = FastAPI()\n@app.post('/b')\ndef up(file):\n    with zipfile.ZipFile(file.file) as z:\n        z.extractall('/srv')",
        7,
    ),
    bad(
        "list-membership-in-loop",
        "go",
        'package a\nimport "slices"\nfunc f(events []Event) []string {\n\tvar seen []string\n\tfor _, e := range events {\n\t\tif !slices.Contains(seen, e.ID) {\n\t\t\tseen = append(seen, e.ID)\n\t\t}\n\t}\n\treturn seen\n}',
        6,
    ),
    bad(
        "http-client-per-call",
        "csharp",
        "class A { string F(string u) {\n using var c = new WebClient();\n return c.DownloadString(u); } }",
        2,
    ),
    bad(
        "connection-per-call",
        "javascript",
        "const { Kafka } = require('kafkajs');\nasync function publish(event) {\n const kafka = new Kafka({ brokers: ['x'] });\n const producer = kafka.producer();\n await producer.send(event);\n await producer.disconnect();\n}",
        3,
    ),
]
